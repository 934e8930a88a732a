//! The syntax tree of a module, before the type check.
//!
//! The parser leaves names as written. The resolver adds the defining module to the names of libraries and types. The
//! expressions of a module are in one [`Arena`], and refer to each other by [`ExprId`]. So a chain of 10,000 `let`s
//! is flat in memory, and later phases can store their results in tables with the same indexes.

use std::sync::Arc;

use crate::{
    name::Ident,
    source::{Source, Span},
    types::{AddressType, Primitive, Type, TypeVariable},
};

/// A contract module: imports, library and contract.
#[derive(Clone, Debug)]
pub struct ContractModule {
    /// Source text of the module.
    pub source: Source,
    /// The number after `scilla_version`, as written (plain decimal).
    pub version: Arc<str>,
    /// Imports, in the order of the source.
    pub imports: Vec<Import>,
    /// The library inside the module, if it has one.
    pub library: Option<Library>,
    /// The contract itself.
    pub contract: Contract,
    /// All expressions of the module.
    pub arena: Arena,
}

/// A library module.
#[derive(Clone, Debug)]
pub struct LibraryModule {
    /// Source text of the module.
    pub source: Source,
    /// The number after `scilla_version`, as written (plain decimal).
    pub version: Arc<str>,
    /// Imports, in the order of the source.
    pub imports: Vec<Import>,
    /// The library itself.
    pub library: Library,
    /// All expressions of the module.
    pub arena: Arena,
}

/// A single expression: a `.scilexp` file.
#[derive(Clone, Debug)]
pub struct ExpressionModule {
    /// Source text of the expression.
    pub source: Source,
    /// The outermost expression.
    pub root: ExprId,
    /// All expressions of the file.
    pub arena: Arena,
}

/// An import of one library.
#[derive(Clone, Debug)]
pub struct Import {
    /// Name of the imported library.
    pub library: Ident,
    /// Namespace after `as`, if there is one.
    pub namespace: Option<Ident>,
}

/// A library: values and types.
#[derive(Clone, Debug)]
pub struct Library {
    /// Name after `library`. Its span is the span of the keyword, because error messages give this position for the
    /// library.
    pub name: Ident,
    /// Span of the name itself.
    pub name_span: Span,
    /// Entries, in the order of the source.
    pub entries: Vec<LibraryEntry>,
}

/// A definition in a library.
#[derive(Clone, Debug)]
pub enum LibraryEntry {
    /// Definition of an algebraic data type.
    Type {
        /// Name of the type. Its span is the span of the keyword, because error messages give this position for the
        /// type.
        name: Ident,
        /// Constructors, in the order of the source.
        constructors: Vec<ConstructorDefinition>,
    },
    /// Definition of a value.
    Value {
        /// Name of the value.
        name: Ident,
        /// Annotated type of the value, if there is one.
        annotation: Option<Type>,
        /// Expression that defines the value.
        body: ExprId,
    },
}

/// One constructor of a type.
#[derive(Clone, Debug)]
pub struct ConstructorDefinition {
    /// Name of the constructor. Its span is the span of the bar in front of it.
    pub name: Ident,
    /// Span of the name itself.
    pub name_span: Span,
    /// Types of the arguments.
    pub arguments: Vec<Type>,
}

/// A contract.
#[derive(Clone, Debug)]
pub struct Contract {
    /// Name of the contract.
    pub name: Ident,
    /// Parameters that a deployment sets.
    pub parameters: Vec<Parameter>,
    /// Condition for the parameters. A contract without a condition has the constructor `True`, without a source
    /// position.
    pub constraint: ExprId,
    /// Fields, in the order of the source.
    pub fields: Vec<Field>,
    /// Transitions and procedures, in the order of the source.
    pub components: Vec<Component>,
}

/// A parameter of a contract, transition or procedure.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Name of the parameter.
    pub name: Ident,
    /// Type of the parameter.
    pub ty: Type,
}

/// A field of a contract.
#[derive(Clone, Debug)]
pub struct Field {
    /// Name of the field.
    pub name: Ident,
    /// Type of the field.
    pub ty: Type,
    /// Expression for the first value of the field.
    pub initial: ExprId,
}

/// A transition or a procedure.
#[derive(Clone, Debug)]
pub struct Component {
    /// Whether the component is a transition or a procedure.
    pub kind: ComponentKind,
    /// Name of the component.
    pub name: Ident,
    /// Parameters of the component, without implicit parameters.
    pub parameters: Vec<Parameter>,
    /// Type of the result. Only a procedure can have a result.
    pub result: Option<Type>,
    /// Statements of the component.
    pub body: Vec<Statement>,
    /// Span from the keyword to `end`.
    pub span: Span,
}

/// Whether messages or components call a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComponentKind {
    /// A procedure. Components after the procedure in the source can call it.
    Procedure,
    /// A transition. A message calls it.
    Transition,
}

/// A statement with its span.
#[derive(Clone, Debug)]
pub struct Statement {
    /// Kind of the statement, with its parts.
    pub kind: StatementKind,
    /// Span from the first token of the statement to the last token.
    pub span: Span,
}

/// The kinds of statements, with their parts.
#[derive(Clone, Debug)]
pub enum StatementKind {
    /// `accept`.
    Accept,
    /// `x = e`.
    Bind {
        /// Variable that the statement binds.
        to: Ident,
        /// Expression on the right.
        value: ExprId,
    },
    /// `x <- & BLOCKNUMBER`, `x <- & CHAINID` or `x <- & TIMESTAMP(b)`.
    ReadChain {
        /// Variable that the statement binds.
        to: Ident,
        /// Fact of the chain to read.
        what: ChainRead,
    },
    /// `p a b`, or `x = p a b` for a procedure with a result.
    Call {
        /// Variable that is bound to the result, if the statement has one.
        to: Option<Ident>,
        /// Name of the procedure.
        procedure: Ident,
        /// Arguments of the call, which are variables.
        arguments: Vec<Ident>,
    },
    /// `x <- & a as T`.
    Cast {
        /// Variable that the statement binds.
        to: Ident,
        /// Variable with the address.
        address: Ident,
        /// Address type to check.
        ty: AddressType,
        /// Span of the type.
        kind_span: Span,
    },
    /// `event e`.
    Event(Ident),
    /// `forall l p`.
    ForEach {
        /// Variable with the list.
        list: Ident,
        /// Name of the procedure.
        procedure: Ident,
    },
    /// `x <- f`.
    Load {
        /// Variable that the statement binds.
        to: Ident,
        /// Name of the field.
        field: Ident,
    },
    /// `delete m[k]…`.
    MapDelete {
        /// Name of the field.
        map: Ident,
        /// Keys, from the outermost map inwards.
        keys: Vec<Ident>,
    },
    /// `x <- m[k]…` or `x <- exists m[k]…`.
    MapGet {
        /// Variable that the statement binds.
        to: Ident,
        /// Name of the field.
        map: Ident,
        /// Keys, from the outermost map inwards.
        keys: Vec<Ident>,
        /// The part of the entry that the statement reads.
        want: Want,
    },
    /// `m[k]… := v`.
    MapPut {
        /// Name of the field.
        map: Ident,
        /// Keys, from the outermost map inwards.
        keys: Vec<Ident>,
        /// Variable with the new value.
        value: Ident,
    },
    /// `match x with … end`.
    Match {
        /// Variable to match.
        scrutinee: Ident,
        /// Clauses, in the order of the source.
        clauses: Vec<StatementClause>,
    },
    /// `x <- & a.f`.
    RemoteLoad {
        /// Variable that the statement binds.
        to: Ident,
        /// Variable with the address.
        address: Ident,
        /// Name of the field.
        field: Ident,
    },
    /// `x <- & a.m[k]…` or `x <- & exists a.m[k]…`.
    RemoteMapGet {
        /// Variable that the statement binds.
        to: Ident,
        /// Variable with the address.
        address: Ident,
        /// Name of the field.
        map: Ident,
        /// Keys, from the outermost map inwards.
        keys: Vec<Ident>,
        /// The part of the entry that the statement reads.
        want: Want,
    },
    /// `_return := x`.
    Return(Ident),
    /// `send l`.
    Send(Ident),
    /// `f := x`.
    Store {
        /// Name of the field.
        field: Ident,
        /// Variable with the new value.
        value: Ident,
    },
    /// `throw` or `throw e`.
    Throw(Option<Ident>),
}

/// The part of a map entry that a statement reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// Whether the entry exists.
    Existence,
    /// The value of the entry.
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
    /// Pattern of the clause.
    pub pattern: Pattern,
    /// Statements of the clause.
    pub body: Vec<Statement>,
}

/// The index of an expression in an [`Arena`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExprId(u32);

impl ExprId {
    /// Returns the index in the arena. Tables with data of expressions use this index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The expressions of a module. An expression refers only to expressions with smaller indexes.
#[derive(Clone, Debug, Default)]
pub struct Arena {
    expressions: Vec<Expression>,
}

impl Arena {
    /// Adds an expression, and returns its index.
    pub fn add(&mut self, expression: Expression) -> ExprId {
        // The index fits into 32 bits: each expression takes at least one byte of text, and offsets in a text have 32
        // bits.
        let id = ExprId(u32::try_from(self.expressions.len()).unwrap_or(u32::MAX));
        self.expressions.push(expression);
        id
    }

    /// Returns the expression with this index.
    ///
    /// # Panics
    ///
    /// If the arena has no expression with this index. An index from another arena can return a wrong expression
    /// instead.
    #[expect(clippy::indexing_slicing, reason = "places are only made by the arena they belong to")]
    pub fn get(&self, id: ExprId) -> &Expression {
        &self.expressions[id.index()]
    }

    /// Returns an expression for changes in place.
    ///
    /// # Panics
    ///
    /// If the arena has no expression with this index. An index from another arena can return a wrong expression
    /// instead.
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

    /// Iterates over all expressions. The parts of an expression come before the expression.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Expression> {
        self.expressions.iter_mut()
    }
}

/// An expression with its span.
#[derive(Clone, Debug)]
pub struct Expression {
    /// Kind of the expression, with its parts.
    pub kind: ExpressionKind,
    /// Span from the first token to the last one.
    pub span: Span,
}

/// The kinds of expressions, with their parts.
#[derive(Clone, Debug)]
pub enum ExpressionKind {
    /// `f a b`.
    Apply {
        /// Variable with the function.
        function: Ident,
        /// Arguments, which are variables. There is at least one.
        arguments: Vec<Ident>,
    },
    /// `builtin b a b`.
    Builtin {
        /// Name of the built-in function, with its span.
        name: Ident,
        /// Type arguments in braces. No built-in function uses them.
        types: Vec<Type>,
        /// Arguments, which are variables.
        arguments: Vec<Ident>,
    },
    /// `C {T} a b`.
    Construct {
        /// Name of the constructor.
        constructor: Ident,
        /// Type arguments in braces.
        types: Vec<Type>,
        /// Arguments, which are variables.
        arguments: Vec<Ident>,
    },
    /// The self-reference of the recursion principles. A source text cannot contain this expression.
    Fixpoint {
        /// Name of the function inside its own body.
        name: Ident,
        /// Type of the function.
        ty: Type,
        /// Expression of the function.
        body: ExprId,
    },
    /// `fun (x : T) => e`.
    Function {
        /// Name of the parameter.
        parameter: Ident,
        /// Type of the parameter.
        ty: Type,
        /// Body of the function.
        body: ExprId,
    },
    /// `let x = e1 in e2`.
    Let {
        /// Name of the variable.
        name: Ident,
        /// Annotated type of the variable, if there is one.
        annotation: Option<Type>,
        /// Expression that the variable is bound to.
        value: ExprId,
        /// Expression in which the variable is in scope.
        body: ExprId,
    },
    /// A literal.
    Literal(Literal),
    /// `match x with … end`.
    Match {
        /// Variable to match.
        scrutinee: Ident,
        /// Clauses, in the order of the source.
        clauses: Vec<Clause>,
    },
    /// `{ label : value; … }`: a message, event or exception.
    Message(Vec<MessageEntry>),
    /// `@f T U`.
    Instantiate {
        /// Variable with the type function.
        function: Ident,
        /// Type arguments. There is at least one.
        types: Vec<Type>,
    },
    /// `tfun 'A => e`.
    TypeFunction {
        /// Name of the type variable.
        parameter: TypeVariable,
        /// Span of the type variable.
        parameter_span: Span,
        /// Body of the type function.
        body: ExprId,
    },
    /// `x`.
    Variable(Ident),
}

/// One clause of a match expression.
#[derive(Clone, Debug)]
pub struct Clause {
    /// Pattern of the clause.
    pub pattern: Pattern,
    /// Expression of the clause.
    pub body: ExprId,
}

/// One entry of a message literal.
#[derive(Clone, Debug)]
pub struct MessageEntry {
    /// Label, as written: `X.y` if it is qualified.
    pub label: Arc<str>,
    /// Span of the label.
    pub span: Span,
    /// Value of the entry.
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

/// A literal. Its form is valid for its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Literal {
    /// `BNum 5`, as decimal digits.
    BNum(Arc<str>),
    /// `0x…` of type `ByStrN`, where N is the number of bytes.
    Bytes(Arc<[u8]>),
    /// `Emp K V`.
    EmptyMap {
        /// Type of the keys.
        key: Type,
        /// Type of the values.
        value: Type,
    },
    /// An integer that fits its type, in decimal without leading zeros.
    Integer(Primitive, Arc<str>),
    /// A text of printable ASCII and BS, FF, LF, CR, TAB.
    String(Arc<str>),
}

/// A pattern with its span.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// Kind of the pattern, with its parts.
    pub kind: PatternKind,
    /// Span of the whole pattern.
    pub span: Span,
}

/// The kinds of patterns, with their parts.
#[derive(Clone, Debug)]
pub enum PatternKind {
    /// Matches any value, and binds it to a name.
    Binder(Ident),
    /// Matches a value of this constructor if the arguments of the value match the inner patterns.
    Constructor(Ident, Vec<Pattern>),
    /// Matches any value.
    Wildcard,
}
