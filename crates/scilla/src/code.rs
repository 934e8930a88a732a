//! Compiled programs: names and types are resolved.
//!
//! Variables are slots in frames. Built-in functions, constructors and procedures are direct references. The source
//! positions of nodes are in a separate table, which only failures read.

use std::sync::Arc;

use crate::{
    builtins::Builtin,
    name::Name,
    rules::BuiltinCosts,
    source::{Location, Source, Span},
    syntax::ast::{ComponentKind, Want},
    types::{AddressType, Type, TypeVariable, adt::DataTypes},
    value::{Constructor, Value},
};

/// The index of a node in a [`Code`].
pub(crate) type NodeId = u32;

/// A compiled program.
#[derive(Debug)]
pub struct Code {
    pub(crate) nodes: Vec<Node>,
    /// Source position of each node.
    pub(crate) places: Vec<Place>,
    pub(crate) sources: Vec<Source>,
    pub(crate) functions: Vec<Function>,
    pub(crate) unbound: Vec<UnboundName>,
    pub(crate) data_types: Arc<DataTypes>,
    /// Version number after `scilla_version`. For an expression, it is the version number that this crate supports.
    pub(crate) version: Arc<str>,
    /// Libraries in the order of evaluation: the recursion principles, the imported libraries with values, and the
    /// library of the module itself. An imported library comes after its imports.
    pub(crate) libraries: Vec<LibraryCode>,
    /// Number of values of all libraries together.
    pub(crate) globals: usize,
    pub(crate) contract: Option<ContractCode>,
    /// Root node of the expression, if the program is an expression.
    pub(crate) expression: Option<NodeId>,
    /// For an expression: the enclosing node of each node in result position.
    pub(crate) tails: std::collections::HashMap<NodeId, Tail>,
    /// Length of the texts of the imported libraries, in bytes.
    pub(crate) imported_bytes: u64,
    pub(crate) library_cache: std::sync::OnceLock<LibraryValues>,
}

/// The values of the libraries after their first evaluation, and the units that this evaluation cost.
#[derive(Debug)]
pub(crate) struct LibraryValues {
    pub(crate) values: Arc<[Value]>,
    pub(crate) units: u64,
    /// The cost formulas of built-in functions that this evaluation used.
    pub(crate) costs: BuiltinCosts,
}

/// The enclosing node of a node in result position, and the names that the enclosing node binds, with their slots.
#[derive(Debug)]
pub(crate) struct Tail {
    pub(crate) around: NodeId,
    pub(crate) names: Vec<(Arc<str>, u32)>,
}

/// A source position: a range of bytes in one of the sources of a program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) source: u32,
    pub(crate) span: Span,
}

/// A library. Each import evaluates the library again.
#[derive(Debug)]
pub(crate) struct LibraryCode {
    /// Indexes of the imported libraries with values. Each index is smaller than the index of this library, and the
    /// imported libraries are evaluated first.
    pub(crate) imports: Vec<usize>,
    pub(crate) values: Vec<LibraryValue>,
}

/// One value of a library, as code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LibraryValue {
    pub(crate) node: NodeId,
    pub(crate) global: u32,
}

/// The storage of a variable at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variable {
    /// A captured value of the running function, by index.
    Captured(u32),
    /// A value of a library, by index.
    Global(u32),
    /// The running function itself.
    Itself,
    /// A value in the open frame, by slot.
    Local(u32),
    /// `_sender`, `_origin` or `_amount`, by index.
    Message(u32),
    /// A parameter of the contract, by index.
    Parameter(u32),
    /// A name that the source does not bind, by its index in [`Code::unbound`].
    Unbound(u32),
}

/// The name of a variable that is not bound.
#[derive(Clone, Debug)]
pub(crate) struct UnboundName {
    pub(crate) name: Name,
    pub(crate) place: Place,
}

/// Types that may contain type variables of the open frame.
#[derive(Clone, Debug)]
pub(crate) struct Types {
    pub(crate) types: Arc<[Type]>,
    /// The variables in scope, the outermost first, or `None` if the types contain none of them.
    pub(crate) variables: Option<Arc<[TypeVariable]>>,
}

/// An expression, as a node of the code.
#[derive(Debug)]
pub(crate) enum Node {
    Apply { function: Variable, arguments: Box<[Variable]> },
    Builtin { builtin: Builtin, types: Types, arguments: Box<[Variable]>, name: Place },
    Construct { constructor: Arc<Constructor>, types: Types, arguments: Box<[Variable]> },
    EmptyMap { types: Types },
    Fail { message: String, place: Place },
    Function { function: u32 },
    Instantiate { function: Variable, types: Types },
    Let { slot: u32, value: NodeId, body: NodeId },
    Literal(Value),
    Match { scrutinee: Variable, clauses: Box<[(Pattern, NodeId)]> },
    Message { entries: Box<[(Arc<str>, Payload)]> },
    Variable(Variable),
}

/// The value of an entry of a message, as code.
#[derive(Debug)]
pub(crate) enum Payload {
    Literal(Value),
    Variable(Variable),
}

/// The pattern of a clause, as code.
#[derive(Debug)]
pub(crate) enum Pattern {
    Binder(u32),
    Constructor(Arc<Constructor>, Box<[Self]>),
    /// An unknown constructor, or a constructor with the wrong number of parts. It matches no value.
    Nothing,
    Wildcard,
}

/// A function of one or more values, a function of a type, or a recursion principle.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) kind: FunctionKind,
    /// Source positions of the nested functions that are compiled into this function, one for each argument.
    pub(crate) layers: Box<[Place]>,
    pub(crate) captures: Box<[Variable]>,
    pub(crate) body: NodeId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FunctionKind {
    /// A function that can refer to itself. Each application evaluates its outermost layer again.
    Fixpoint,
    OfTypes,
    Plain,
}

/// A compiled contract.
#[derive(Debug)]
pub(crate) struct ContractCode {
    /// Parameters of the contract, the implicit ones first.
    pub(crate) parameters: Vec<(Name, Type)>,
    pub(crate) constraint: NodeId,
    pub(crate) fields: Vec<FieldCode>,
    pub(crate) components: Vec<ComponentCode>,
}

/// A field, as code.
#[derive(Debug)]
pub(crate) struct FieldCode {
    pub(crate) field: DeclaredField,
    pub(crate) initial: NodeId,
}

/// A field of a contract, with its declared type.
#[derive(Clone, Debug)]
pub struct DeclaredField {
    /// Name of the field.
    pub name: Arc<str>,
    /// Declared type of the field.
    pub ty: Type,
}

/// A transition or procedure, as code.
#[derive(Debug)]
pub(crate) struct ComponentCode {
    pub(crate) kind: ComponentKind,
    pub(crate) name: Name,
    pub(crate) place: Place,
    pub(crate) parameters: Vec<(Name, Type)>,
    pub(crate) body: Statements,
}

pub(crate) type Statements = Arc<[Statement]>;

/// A statement with its source position.
#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) kind: StatementKind,
    pub(crate) place: Place,
    /// Names of the variables, in a separate allocation because a run without an observer does not read them.
    pub(crate) names: Box<StatementNames>,
}

/// The names of the variables of a statement, for observers.
#[derive(Debug)]
pub(crate) struct StatementNames {
    /// Variables that the statement uses, in the order of the text.
    pub(crate) used: Box<[(Name, Variable)]>,
    /// Variable that the statement binds, if there is one.
    pub(crate) bound: Option<(Name, Variable)>,
}

/// A field that a statement uses.
#[derive(Debug)]
pub(crate) struct FieldUse {
    /// Index of the field, or `None` if the contract does not declare a field with this name.
    pub(crate) field: Option<u32>,
    pub(crate) name: Arc<str>,
    pub(crate) place: Place,
}

#[derive(Debug)]
pub(crate) enum StatementKind {
    Accept,
    Bind { slot: u32, value: NodeId },
    BlockNumber { slot: u32 },
    Call { slot: Option<(u32, Name)>, procedure: Result<u32, Name>, arguments: Box<[Variable]> },
    Cast { slot: u32, address: Variable, ty: AddressType },
    ChainId { slot: u32 },
    Event(Variable),
    ForEach { list: Variable, procedure: Result<u32, Name> },
    Load { slot: u32, field: FieldUse },
    LoadBalance { slot: u32 },
    MapDelete { map: FieldUse, keys: Box<[Variable]> },
    MapGet { slot: u32, map: FieldUse, keys: Box<[Variable]>, want: Want },
    MapPut { map: FieldUse, keys: Box<[Variable]>, value: Variable },
    Match { scrutinee: Variable, clauses: Box<[(Pattern, Statements)]> },
    RemoteLoad { slot: u32, address: Variable, field: FieldUse },
    RemoteMapGet { slot: u32, address: Variable, map: FieldUse, keys: Box<[Variable]>, want: Want },
    Return(Variable),
    Send(Variable),
    Store { field: FieldUse, value: Variable },
    Throw(Option<Variable>),
    Timestamp { slot: u32, block: Variable },
}

/// Estimated memory for each byte of the text in addition to the nodes, in bytes.
const BYTES_PER_CHARACTER: usize = 16;
/// Estimated largest memory of the values that the evaluator makes for one unit, in bytes.
const BYTES_PER_UNIT: u64 = 160;

impl Code {
    /// Returns the length of the texts of all imported libraries, including the standard library, in bytes.
    pub const fn imported_bytes(&self) -> u64 {
        self.imported_bytes
    }

    /// Returns the file, line and column at which a source position begins.
    pub(crate) fn location(&self, place: Place) -> Location {
        self.sources.get(place.source as usize).map_or_else(Location::default, |source| source.start(place.span))
    }

    /// Returns the first line of the source text at a source position.
    pub(crate) fn line_of(&self, place: Place) -> &[u8] {
        let text = self.sources.get(place.source as usize).map_or(&[][..], Source::text);
        let text = text.get(place.span.start as usize..place.span.end as usize).unwrap_or_default();
        text.split(|byte| matches!(byte, b'\n' | b'\r')).next().unwrap_or_default()
    }

    /// Returns the file, line and column at which a node begins.
    pub(crate) fn node_location(&self, node: NodeId) -> Location {
        self.places.get(node as usize).map_or_else(Location::default, |place| self.location(*place))
    }

    /// Returns the names that are bound at a node of the expression, with their slots. The outermost name comes first.
    pub(crate) fn bound_at(&self, mut node: NodeId) -> Vec<(Arc<str>, u32)> {
        let mut names = Vec::new();
        while let Some(tail) = self.tails.get(&node) {
            names.extend(tail.names.iter().rev().cloned());
            node = tail.around;
        }
        names.reverse();
        names
    }

    /// Returns the estimated memory of the program in bytes, including its texts and the values of its libraries.
    ///
    /// All data of the nodes comes from the texts: names, types and literals take memory in proportion to their length
    /// in the text.
    pub fn weight(&self) -> u64 {
        let texts: usize = self.sources.iter().map(|source| source.text().len()).sum();
        let nodes = self.nodes.len() * (size_of::<Node>() + size_of::<Place>());
        let functions = self.functions.len() * size_of::<Function>();
        let bytes = size_of::<Self>() + nodes + functions + texts * BYTES_PER_CHARACTER;
        (bytes as u64).saturating_add(self.max_library_units().saturating_mul(BYTES_PER_UNIT))
    }

    /// Returns the limit for library values that the program keeps: 1000, plus the number of nodes of the program. The
    /// limit is for the sum of their cost in units and their work in parts of values.
    pub(crate) fn max_library_units(&self) -> u64 {
        1000 + self.nodes.len() as u64
    }

    /// Returns the data types of the program.
    pub fn data_types(&self) -> &Arc<DataTypes> {
        &self.data_types
    }

    /// Returns the fields of the contract, in the order of their declarations. Other programs have no fields.
    pub fn fields(&self) -> impl Iterator<Item = &DeclaredField> {
        self.contract.iter().flat_map(|contract| contract.fields.iter().map(|field| &field.field))
    }
}
