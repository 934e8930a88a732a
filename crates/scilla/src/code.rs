//! Programs made ready to run: no names to look up, no types to work out.
//!
//! Variables are places in frames; builtins, constructors and procedures are what their names stand for. Where each
//! node stands in the source is kept beside the nodes, and only asked when something fails.

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

/// A place among the nodes of a [`Code`].
pub(crate) type NodeId = u32;

/// A program made ready to run.
#[derive(Debug)]
pub struct Code {
    pub(crate) nodes: Vec<Node>,
    /// Where each node stands.
    pub(crate) places: Vec<Place>,
    pub(crate) sources: Vec<Source>,
    pub(crate) functions: Vec<Function>,
    pub(crate) unbound: Vec<UnboundName>,
    pub(crate) data_types: Arc<DataTypes>,
    /// The number after `scilla_version`; that of expressions is right.
    pub(crate) version: Arc<str>,
    /// The recursion principles, the imported libraries that leave values behind, each behind those that it imports, and
    /// at last the library of the module itself.
    pub(crate) libraries: Vec<LibraryCode>,
    /// How many values the libraries leave behind.
    pub(crate) globals: usize,
    pub(crate) contract: Option<ContractCode>,
    /// The expression, if the program is one.
    pub(crate) expression: Option<NodeId>,
    /// Of the expression: what leads to each node in the place of a result.
    pub(crate) tails: std::collections::HashMap<NodeId, Tail>,
    /// The bytes of the texts of the imported libraries.
    pub(crate) imported_bytes: u64,
    pub(crate) library_cache: std::sync::OnceLock<LibraryValues>,
}

/// What the libraries left behind once, and for how much.
#[derive(Debug)]
pub(crate) struct LibraryValues {
    pub(crate) values: Arc<[Value]>,
    pub(crate) units: u64,
    /// By which formulas of built-in functions that is so.
    pub(crate) costs: BuiltinCosts,
}

/// What leads to a node in the place of a result: the node around it, and the names that this binds, with their slots.
#[derive(Debug)]
pub(crate) struct Tail {
    pub(crate) around: NodeId,
    pub(crate) names: Vec<(Arc<str>, u32)>,
}

/// A place in one of the sources of a program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) source: u32,
    pub(crate) span: Span,
}

/// A library, of which every import is evaluated anew.
#[derive(Debug)]
pub(crate) struct LibraryCode {
    /// The libraries that are evaluated first; those without values are left out. They stand before this one.
    pub(crate) imports: Vec<usize>,
    pub(crate) values: Vec<LibraryValue>,
}

/// One value of a library.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LibraryValue {
    pub(crate) node: NodeId,
    pub(crate) global: u32,
}

/// Where a variable is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variable {
    /// Among what the running function captured.
    Captured(u32),
    /// Among the values of the libraries.
    Global(u32),
    /// It is the running function itself.
    Itself,
    /// In the running frame.
    Local(u32),
    /// Among `_sender`, `_origin`, `_amount`.
    Message(u32),
    /// Among the parameters of the contract.
    Parameter(u32),
    /// Nowhere, as far as the source tells: the index of its name in a list of such names.
    Unbound(u32),
}

/// The name of a variable that is bound nowhere.
#[derive(Clone, Debug)]
pub(crate) struct UnboundName {
    pub(crate) name: Name,
    pub(crate) place: Place,
}

/// Types that may contain variables for which the running frame knows types.
#[derive(Clone, Debug)]
pub(crate) struct Types {
    pub(crate) types: Arc<[Type]>,
    /// The variables in scope, the outermost first; none if the types contain none of them.
    pub(crate) variables: Option<Arc<[TypeVariable]>>,
}

/// An expression.
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

/// The value of an entry of a message.
#[derive(Debug)]
pub(crate) enum Payload {
    Literal(Value),
    Variable(Variable),
}

/// What a clause fits.
#[derive(Debug)]
pub(crate) enum Pattern {
    Binder(u32),
    Constructor(Arc<Constructor>, Box<[Self]>),
    /// An unknown constructor, or one with a wrong number of parts.
    Nothing,
    Wildcard,
}

/// A function of one or more values, a function of a type, or a recursion principle.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) kind: FunctionKind,
    /// Where each of the nested functions stands that this one is made of: as many as it takes arguments.
    pub(crate) layers: Box<[Place]>,
    pub(crate) captures: Box<[Variable]>,
    pub(crate) body: NodeId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FunctionKind {
    /// It knows itself. Its first layer is evaluated anew each time it is applied.
    Fixpoint,
    OfTypes,
    Plain,
}

/// A contract made ready to run.
#[derive(Debug)]
pub(crate) struct ContractCode {
    /// The parameters, the implicit ones first.
    pub(crate) parameters: Vec<(Name, Type)>,
    pub(crate) constraint: NodeId,
    pub(crate) fields: Vec<FieldCode>,
    pub(crate) components: Vec<ComponentCode>,
}

/// A field.
#[derive(Debug)]
pub(crate) struct FieldCode {
    pub(crate) field: Field,
    pub(crate) initial: NodeId,
}

/// A field of a contract.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its name.
    pub name: Arc<str>,
    /// Its type.
    pub kind: Type,
}

/// A transition or procedure.
#[derive(Debug)]
pub(crate) struct ComponentCode {
    pub(crate) kind: ComponentKind,
    pub(crate) name: Name,
    pub(crate) place: Place,
    pub(crate) parameters: Vec<(Name, Type)>,
    pub(crate) body: Statements,
}

pub(crate) type Statements = Arc<[Statement]>;

/// A statement in its place.
#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) kind: StatementKind,
    pub(crate) place: Place,
    /// Beside what runs, so that it costs a run nothing.
    pub(crate) names: Box<StatementNames>,
}

/// The names of the variables of a statement, for observers.
#[derive(Debug)]
pub(crate) struct StatementNames {
    /// What it uses, in the order of the text.
    pub(crate) used: Box<[(Name, Variable)]>,
    /// What it binds.
    pub(crate) bound: Option<(Name, Variable)>,
}

/// The field a statement works on.
#[derive(Debug)]
pub(crate) struct FieldUse {
    /// The field; none if the contract declares none of this name.
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
    Cast { slot: u32, address: Variable, kind: AddressType },
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

/// About how much memory a byte of the text stands for, besides the nodes.
const BYTES_PER_CHARACTER: usize = 16;
/// About how much memory the values take at most that are made for a unit of gas.
const BYTES_PER_UNIT: u64 = 160;

impl Code {
    /// Returns the bytes of the texts of the libraries that a contract imports, those of the standard library included.
    pub const fn imported_bytes(&self) -> u64 {
        self.imported_bytes
    }

    /// Returns where a place is.
    pub(crate) fn location(&self, place: Place) -> Location {
        self.sources.get(place.source as usize).map_or_else(Location::default, |source| source.start(place.span))
    }

    /// Returns the text at a place, up to the end of the line.
    pub(crate) fn line_of(&self, place: Place) -> &[u8] {
        let text = self.sources.get(place.source as usize).map_or(&[][..], Source::text);
        let text = text.get(place.span.start as usize..place.span.end as usize).unwrap_or_default();
        text.split(|byte| matches!(byte, b'\n' | b'\r')).next().unwrap_or_default()
    }

    /// Returns where a node stands.
    pub(crate) fn node_location(&self, node: NodeId) -> Location {
        self.places.get(node as usize).map_or_else(Location::default, |place| self.location(*place))
    }

    /// Returns the names that are bound at a node of the expression, and their slots, the outermost first.
    pub(crate) fn bound_at(&self, mut node: NodeId) -> Vec<(Arc<str>, u32)> {
        let mut names = Vec::new();
        while let Some(tail) = self.tails.get(&node) {
            names.extend(tail.names.iter().rev().cloned());
            node = tail.around;
        }
        names.reverse();
        names
    }

    /// Returns about how many bytes the program takes, texts and the values of its libraries included.
    ///
    /// Whatever hangs on the nodes was written in the texts: names, types and literals are no longer in memory, but for
    /// a constant factor, than they are there.
    pub fn weight(&self) -> u64 {
        let texts: usize = self.sources.iter().map(|source| source.text().len()).sum();
        let nodes = self.nodes.len() * (size_of::<Node>() + size_of::<Place>());
        let functions = self.functions.len() * size_of::<Function>();
        let bytes = size_of::<Self>() + nodes + functions + texts * BYTES_PER_CHARACTER;
        (bytes as u64).saturating_add(self.max_library_units().saturating_mul(BYTES_PER_UNIT))
    }

    /// Returns how much gas and effort may go into values of libraries that are kept with the program.
    pub(crate) fn max_library_units(&self) -> u64 {
        1000 + self.nodes.len() as u64
    }

    /// Returns the data types that the program knows.
    pub fn data_types(&self) -> &Arc<DataTypes> {
        &self.data_types
    }

    /// Returns the fields of the contract, in the order of their declaration.
    pub fn fields(&self) -> impl Iterator<Item = &Field> {
        self.contract.iter().flat_map(|contract| contract.fields.iter().map(|field| &field.field))
    }
}
