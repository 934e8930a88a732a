//! The tree of a module, before its types are known.
//!
//! The parser leaves names as written. The resolver adds the defining module to each name that has one. The expressions
//! of a module are in one [`Arena`] and refer to each other by [`ExprId`]. So a chain of ten thousand `let`s is flat in
//! memory, and later phases can keep their results in tables next to the tree.

use std::sync::Arc;

use crate::{
    name::Ident,
    source::{Source, Span},
    types::{AddressType, Primitive, Type, TypeVariable},
};

/// A contract module: imports, library and contract.
#[derive(Clone, Debug)]
pub struct ContractModule {
    /// The text.
    pub source: Source,
    /// The number after `scilla_version`, as written (plain decimal).
    pub version: Arc<str>,
    /// The imports, in order.
    pub imports: Vec<Import>,
    /// The library before the contract.
    pub library: Option<Library>,
    /// The contract.
    pub contract: Contract,
    /// All expressions of the module.
    pub arena: Arena,
}

/// A library module.
#[derive(Clone, Debug)]
pub struct LibraryModule {
    /// The text.
    pub source: Source,
    /// The number after `scilla_version`, as written (plain decimal).
    pub version: Arc<str>,
    /// The imports, in order.
    pub imports: Vec<Import>,
    /// The library.
    pub library: Library,
    /// All expressions of the module.
    pub arena: Arena,
}

/// A single expression: a `.scilexp` file.
#[derive(Clone, Debug)]
pub struct ExpressionModule {
    /// The text.
    pub source: Source,
    /// The expression.
    pub root: ExprId,
    /// All expressions of the module.
    pub arena: Arena,
}

/// One imported library.
#[derive(Clone, Debug)]
pub struct Import {
    /// The name of the library.
    pub library: Ident,
    /// The namespace after `as`.
    pub namespace: Option<Ident>,
}

/// A library: values and types.
#[derive(Clone, Debug)]
pub struct Library {
    /// The name after `library`; its span is that of the keyword, which is the place of the library in reports.
    pub name: Ident,
    /// The place of the name itself.
    pub name_span: Span,
    /// The entries, in order.
    pub entries: Vec<LibraryEntry>,
}

/// One entry of a library.
#[derive(Clone, Debug)]
pub enum LibraryEntry {
    /// A type.
    Type {
        /// Its name; its span is that of the keyword, which is the place of the type in reports.
        name: Ident,
        /// Its constructors, in order.
        constructors: Vec<ConstructorDefinition>,
    },
    /// A value.
    Value {
        /// Its name.
        name: Ident,
        /// The annotation.
        annotation: Option<Type>,
        /// The expression.
        body: ExprId,
    },
}

/// One constructor of a type.
#[derive(Clone, Debug)]
pub struct ConstructorDefinition {
    /// Its name; its span is that of the bar in front of it.
    pub name: Ident,
    /// The place of the name itself.
    pub name_span: Span,
    /// Types of its arguments.
    pub arguments: Vec<Type>,
}

/// A contract.
#[derive(Clone, Debug)]
pub struct Contract {
    /// Its name.
    pub name: Ident,
    /// Parameters of a deployment.
    pub parameters: Vec<Parameter>,
    /// The condition for the parameters. If none is written, it is the literal `True` without a place.
    pub constraint: ExprId,
    /// The fields, in order.
    pub fields: Vec<Field>,
    /// Transitions and procedures, in order.
    pub components: Vec<Component>,
}

/// A parameter of a contract, transition or procedure.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: Ident,
    /// Its type.
    pub kind: Type,
}

/// A field.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its name.
    pub name: Ident,
    /// Its type.
    pub kind: Type,
    /// The expression of its first value.
    pub initial: ExprId,
}

/// A transition or a procedure.
#[derive(Clone, Debug)]
pub struct Component {
    /// Transition or procedure.
    pub kind: ComponentKind,
    /// Its name.
    pub name: Ident,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// The type of its result; procedures only.
    pub result: Option<Type>,
    /// Its statements.
    pub body: Vec<Statement>,
    /// From the keyword to `end`.
    pub span: Span,
}

/// The kind of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComponentKind {
    /// A procedure, called by components below it.
    Procedure,
    /// A transition, called by a message.
    Transition,
}

/// A statement in its place.
#[derive(Clone, Debug)]
pub struct Statement {
    /// The kind of the statement.
    pub kind: StatementKind,
    /// Its place, from the variable on the left or the keyword to its last token.
    pub span: Span,
}

/// The kinds of statements.
#[derive(Clone, Debug)]
pub enum StatementKind {
    /// `accept`.
    Accept,
    /// `x = e`.
    Bind {
        /// The variable that is bound.
        to: Ident,
        /// The expression.
        value: ExprId,
    },
    /// `x <- & BLOCKNUMBER` and its like.
    ReadChain {
        /// The variable that is bound.
        to: Ident,
        /// The fact of the chain.
        what: ChainRead,
    },
    /// `p a b`, or `x = p a b` where p has a result.
    Call {
        /// The variable that is bound to the result.
        to: Option<Ident>,
        /// The procedure.
        procedure: Ident,
        /// The arguments.
        arguments: Vec<Ident>,
    },
    /// `x <- & a as T`.
    Cast {
        /// The variable that is bound.
        to: Ident,
        /// The address.
        address: Ident,
        /// The address type.
        kind: AddressType,
        /// The place of the type.
        kind_span: Span,
    },
    /// `event e`.
    Event(Ident),
    /// `forall l p`.
    ForEach {
        /// The list.
        list: Ident,
        /// The procedure.
        procedure: Ident,
    },
    /// `x <- f`.
    Load {
        /// The variable that is bound.
        to: Ident,
        /// The field.
        field: Ident,
    },
    /// `delete m[k]…`.
    MapDelete {
        /// The field.
        map: Ident,
        /// The keys, from the outermost map inwards.
        keys: Vec<Ident>,
    },
    /// `x <- m[k]…` or `x <- exists m[k]…`.
    MapGet {
        /// The variable that is bound.
        to: Ident,
        /// The field.
        map: Ident,
        /// The keys, from the outermost map inwards.
        keys: Vec<Ident>,
        /// Whether to read the value or its existence.
        want: Want,
    },
    /// `m[k]… := v`.
    MapPut {
        /// The field.
        map: Ident,
        /// The keys, from the outermost map inwards.
        keys: Vec<Ident>,
        /// The new value.
        value: Ident,
    },
    /// `match x with … end`.
    Match {
        /// The matched variable.
        scrutinee: Ident,
        /// The clauses, in order.
        clauses: Vec<StatementClause>,
    },
    /// `x <- & a.f`.
    RemoteLoad {
        /// The variable that is bound.
        to: Ident,
        /// The address.
        address: Ident,
        /// The field.
        field: Ident,
    },
    /// `x <- & a.m[k]…` or `x <- & exists a.m[k]…`.
    RemoteMapGet {
        /// The variable that is bound.
        to: Ident,
        /// The address.
        address: Ident,
        /// The field.
        map: Ident,
        /// The keys, from the outermost map inwards.
        keys: Vec<Ident>,
        /// Whether to read the value or its existence.
        want: Want,
    },
    /// `_return := x`.
    Return(Ident),
    /// `send l`.
    Send(Ident),
    /// `f := x`.
    Store {
        /// The field.
        field: Ident,
        /// The stored value.
        value: Ident,
    },
    /// `throw`, `throw e`.
    Throw(Option<Ident>),
}

/// The part of a map entry that a statement reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// Whether the entry exists.
    Existence,
    /// Its value.
    Value,
}

/// A fact of the chain that a statement reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChainRead {
    /// `BLOCKNUMBER`.
    BlockNumber,
    /// `CHAINID`.
    ChainId,
    /// `TIMESTAMP(b)`.
    Timestamp(Ident),
}

/// One clause of a match statement.
#[derive(Clone, Debug)]
pub struct StatementClause {
    /// Its pattern.
    pub pattern: Pattern,
    /// Its statements.
    pub body: Vec<Statement>,
}

/// The index of an expression in an [`Arena`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExprId(u32);

impl ExprId {
    /// Returns the index, for tables next to the arena.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The expressions of a module. Parts come before the whole: an expression refers to smaller indexes only.
#[derive(Clone, Debug, Default)]
pub struct Arena {
    expressions: Vec<Expression>,
}

impl Arena {
    /// Adds an expression.
    pub fn add(&mut self, expression: Expression) -> ExprId {
        // A node takes at least one byte of text, and places in a text have 32 bits.
        let id = ExprId(u32::try_from(self.expressions.len()).unwrap_or(u32::MAX));
        self.expressions.push(expression);
        id
    }

    /// Returns an expression.
    ///
    /// # Panics
    ///
    /// If the index belongs to another arena.
    #[expect(clippy::indexing_slicing, reason = "places are only made by the arena they belong to")]
    pub fn get(&self, id: ExprId) -> &Expression {
        &self.expressions[id.index()]
    }

    /// Returns an expression to change it in place.
    ///
    /// # Panics
    ///
    /// If the index belongs to another arena.
    #[expect(clippy::indexing_slicing, reason = "places are only made by the arena they belong to")]
    pub fn get_mut(&mut self, id: ExprId) -> &mut Expression {
        &mut self.expressions[id.index()]
    }

    /// Returns the number of expressions.
    pub fn len(&self) -> usize {
        self.expressions.len()
    }

    /// Returns whether the arena is empty.
    pub fn is_empty(&self) -> bool {
        self.expressions.is_empty()
    }

    /// Iterates over all expressions, parts before the whole.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Expression> {
        self.expressions.iter_mut()
    }
}

/// An expression in its place.
#[derive(Clone, Debug)]
pub struct Expression {
    /// The kind of the expression.
    pub kind: ExpressionKind,
    /// Its place, from its first token to its last.
    pub span: Span,
}

/// The kinds of expressions.
#[derive(Clone, Debug)]
pub enum ExpressionKind {
    /// `f a b`.
    Apply {
        /// The function.
        function: Ident,
        /// At least one argument.
        arguments: Vec<Ident>,
    },
    /// `builtin b a b`.
    Builtin {
        /// Its name and place.
        name: Ident,
        /// The type arguments in braces. No builtin uses them.
        types: Vec<Type>,
        /// The arguments.
        arguments: Vec<Ident>,
    },
    /// `C {T} a b`.
    Construct {
        /// The constructor.
        constructor: Ident,
        /// The type arguments.
        types: Vec<Type>,
        /// The arguments.
        arguments: Vec<Ident>,
    },
    /// The self-reference of the recursion principles. It cannot be written in a contract.
    Fixpoint {
        /// The name of the function within itself.
        name: Ident,
        /// Its type.
        kind: Type,
        /// The function.
        body: ExprId,
    },
    /// `fun (x : T) => e`.
    Function {
        /// The parameter.
        parameter: Ident,
        /// Its type.
        kind: Type,
        /// The body.
        body: ExprId,
    },
    /// `let x = e1 in e2`.
    Let {
        /// The variable.
        name: Ident,
        /// The annotation.
        annotation: Option<Type>,
        /// The bound expression.
        value: ExprId,
        /// The scope of the variable.
        body: ExprId,
    },
    /// A literal.
    Literal(Literal),
    /// `match x with … end`.
    Match {
        /// The matched variable.
        scrutinee: Ident,
        /// The clauses, in order.
        clauses: Vec<Clause>,
    },
    /// `{ label : value; … }`: a message, event or exception.
    Message(Vec<MessageEntry>),
    /// `@f T U`.
    Instantiate {
        /// The type function.
        function: Ident,
        /// At least one type.
        types: Vec<Type>,
    },
    /// `tfun 'A => e`.
    TypeFunction {
        /// The type variable.
        parameter: TypeVariable,
        /// Its place.
        parameter_span: Span,
        /// The body.
        body: ExprId,
    },
    /// `x`.
    Variable(Ident),
}

/// One clause of a match expression.
#[derive(Clone, Debug)]
pub struct Clause {
    /// Its pattern.
    pub pattern: Pattern,
    /// Its expression.
    pub body: ExprId,
}

/// One entry of a message literal.
#[derive(Clone, Debug)]
pub struct MessageEntry {
    /// The label, as written: `X.y` if it is qualified.
    pub label: Arc<str>,
    /// The place of the label.
    pub span: Span,
    /// The value.
    pub value: Payload,
}

/// The value of an entry of a message literal.
#[derive(Clone, Debug)]
pub enum Payload {
    /// A literal.
    Literal(Literal),
    /// A variable.
    Variable(Ident),
}

/// A literal, of the right form for its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Literal {
    /// `BNum 5`: decimal digits.
    BNum(Arc<str>),
    /// `0x…`: of type `ByStrN`, where N is the number of bytes.
    Bytes(Arc<[u8]>),
    /// `Emp K V`.
    EmptyMap {
        /// The type of the keys.
        key: Type,
        /// The type of the values.
        value: Type,
    },
    /// An integer that fits its type, in plain decimal.
    Integer(Primitive, Arc<str>),
    /// A text of printable ASCII and BS, FF, LF, CR, TAB.
    String(Arc<str>),
}

/// A pattern in its place.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// The kind of the pattern.
    pub kind: PatternKind,
    /// Its place.
    pub span: Span,
}

/// The kinds of patterns.
#[derive(Clone, Debug)]
pub enum PatternKind {
    /// Matches any value, and binds it to a name.
    Binder(Ident),
    /// Matches a value of this constructor whose parts match.
    Constructor(Ident, Vec<Pattern>),
    /// Matches any value.
    Wildcard,
}
