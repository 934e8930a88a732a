//! Compiles a resolved tree to [`Code`].

mod expression;
mod principles;
mod scope;
mod statement;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

pub(crate) use self::expression::empty_map;
use self::scope::Scope;
use crate::{
    builtins::without_addresses,
    code::{
        Code, ContractCode, DeclaredField, FieldCode, Function, LibraryCode, LibraryValue, Node, NodeId, Place, Tail,
        Types, UnboundName,
    },
    implicit,
    name::{Ident, Name},
    resolve::{Imported, Program},
    source::{Source, Span},
    syntax::ast::{Arena, Contract, ContractModule, ExprId, ExpressionModule, Library, LibraryEntry, LibraryModule},
    types::{
        Type,
        adt::{self, DataType, DataTypes},
    },
    value::Constructor,
    version::VERSION,
};

/// The names that every transition and procedure can read, in the order of
/// [`Variable::Message`](crate::code::Variable).
pub(crate) const MESSAGE_NAMES: [&str; 3] = ["_sender", "_origin", "_amount"];

impl Code {
    /// Compiles a contract that has passed the check before.
    ///
    /// This function does not check the program. It is for programs that a check has accepted earlier, for example the
    /// contracts in the state of a chain. A second check of such a program would only take time. The code of a program
    /// that no check has accepted can give values of wrong types: use [`Code::of_contract`] for such a program. The
    /// commands `scilla run` and `scilla eval` also use this function and the two functions below, because the
    /// reference does not check programs in these commands.
    pub fn of_contract_unchecked(program: &Program<ContractModule>) -> Self {
        let main = &program.main;
        let (mut lowering, imports) = Lowering::begin(&program.imports, main.library.as_ref());
        lowering.module(&main.source);
        let values = main.library.as_ref().map(|library| lowering.values(library, &main.arena)).unwrap_or_default();
        lowering.libraries.push(LibraryCode { imports, values });
        let contract = lowering.contract(main);
        let imported_bytes = program.imported_bytes();
        Self { contract: Some(contract), imported_bytes, ..lowering.finish(&main.version) }
    }

    /// Compiles a library that has passed the check before: see [`Code::of_contract_unchecked`].
    pub fn of_library_unchecked(program: &Program<LibraryModule>) -> Self {
        let main = &program.main;
        let (mut lowering, imports) = Lowering::begin(&program.imports, Some(&main.library));
        lowering.module(&main.source);
        let values = lowering.values(&main.library, &main.arena);
        lowering.libraries.push(LibraryCode { imports, values });
        lowering.finish(&main.version)
    }

    /// Compiles a single expression that has passed the check before: see [`Code::of_contract_unchecked`].
    pub fn of_expression_unchecked(program: &Program<ExpressionModule>) -> Self {
        let main = &program.main;
        let (mut lowering, imports) = Lowering::begin(&program.imports, None);
        lowering.libraries.push(LibraryCode { imports, values: Vec::new() });
        lowering.module(&main.source);
        lowering.tails = Some(HashMap::new());
        let root = lowering.outermost(&main.arena, main.root);
        Self { expression: Some(root), ..lowering.finish(&VERSION.into()) }
    }
}

/// The state of the compilation of one program.
struct Lowering {
    nodes: Vec<Node>,
    places: Vec<Place>,
    sources: Vec<Source>,
    functions: Vec<Function>,
    unbound: Vec<UnboundName>,
    /// The enclosing nodes of the nodes in result position, or `None` if the program is not an expression.
    tails: Option<HashMap<NodeId, Tail>>,
    constructors: HashMap<Name, Arc<Constructor>>,
    data_types: DataTypes,
    libraries: Vec<LibraryCode>,
    globals: u32,
    scope: Scope,
}

impl Lowering {
    /// Compiles the recursion principles and the libraries. Returns the indexes of the libraries that are evaluated
    /// before the module.
    fn begin(imports: &[Arc<Imported>], local: Option<&Library>) -> (Self, Vec<usize>) {
        let mut lowering = Self {
            nodes: Vec::new(),
            places: Vec::new(),
            sources: Vec::new(),
            functions: Vec::new(),
            unbound: Vec::new(),
            tails: None,
            constructors: HashMap::new(),
            data_types: DataTypes::built_in(),
            libraries: Vec::new(),
            globals: 0,
            scope: Scope::default(),
        };
        lowering.collect_types(imports, &mut HashSet::new());
        if let Some(library) = local {
            lowering.add_types(library);
        }
        lowering.intern_constructors();
        let (source, arena, principles) = principles::principles();
        lowering.module(&source);
        let principles =
            principles.into_iter().map(|(name, body)| lowering.library_value(&arena, name, body)).collect();
        lowering.libraries.push(LibraryCode { imports: Vec::new(), values: principles });
        let before = std::iter::once(0).chain(lowering.imports(imports, &mut HashMap::new())).collect();
        (lowering, before)
    }

    fn finish(self, version: &Arc<str>) -> Code {
        Code {
            version: Arc::clone(version),
            nodes: self.nodes,
            places: self.places,
            sources: self.sources,
            functions: self.functions,
            unbound: self.unbound,
            tails: self.tails.unwrap_or_default(),
            data_types: Arc::new(self.data_types),
            libraries: self.libraries,
            globals: self.globals as usize,
            contract: None,
            expression: None,
            imported_bytes: 0,
            library_cache: std::sync::OnceLock::new(),
        }
    }

    /// Adds the data types of libraries. The types of imports come first.
    fn collect_types(&mut self, imports: &[Arc<Imported>], done: &mut HashSet<*const Imported>) {
        for library in imports {
            if done.insert(Arc::as_ptr(library)) {
                self.collect_types(&library.imports, done);
                self.add_types(&library.module.library);
            }
        }
    }

    fn add_types(&mut self, library: &Library) {
        for entry in &library.entries {
            if let LibraryEntry::Type { name, constructors } = entry {
                let constructors = constructors.iter().map(|constructor| adt::Constructor {
                    name: constructor.name.name.clone(),
                    arguments: constructor.arguments.clone(),
                });
                let data_type =
                    DataType { name: name.name.clone(), parameters: Vec::new(), constructors: constructors.collect() };
                // The checker rejects a second type of the same name. In a program that was not checked, the first
                // type counts.
                self.data_types.add(data_type).ok();
            }
        }
    }

    fn intern_constructors(&mut self) {
        for data_type in self.data_types.iter() {
            for (index, constructor) in data_type.constructors.iter().enumerate() {
                let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
                let made = Constructor {
                    name: constructor.name.clone(),
                    data_type: data_type.name.clone(),
                    index: count(index),
                    arity: count(constructor.arguments.len()),
                    type_arity: count(data_type.parameters.len()),
                };
                self.constructors.insert(constructor.name.clone(), Arc::new(made));
            }
        }
        for constructor in Constructor::built_in() {
            self.constructors.insert(constructor.name.clone(), Arc::clone(constructor));
        }
    }

    /// Begins a module. The source positions of later nodes are in the source of this module.
    fn module(&mut self, source: &Source) {
        self.sources.push(source.clone());
    }

    fn place(&self, span: Span) -> Place {
        Place { source: u32::try_from(self.sources.len().saturating_sub(1)).unwrap_or(u32::MAX), span }
    }

    /// Compiles libraries, each only once. Returns the indexes of the libraries that have values, or that import such
    /// libraries.
    fn imports(&mut self, imports: &[Arc<Imported>], done: &mut HashMap<*const Imported, Option<usize>>) -> Vec<usize> {
        imports.iter().filter_map(|library| self.import(library, done)).collect()
    }

    fn import(&mut self, library: &Arc<Imported>, done: &mut HashMap<*const Imported, Option<usize>>) -> Option<usize> {
        if let Some(known) = done.get(&Arc::as_ptr(library)) {
            return *known;
        }
        let imports = self.imports(&library.imports, done);
        self.module(&library.module.source);
        let values = self.values(&library.module.library, &library.module.arena);
        let code = (!imports.is_empty() || !values.is_empty()).then_some(LibraryCode { imports, values });
        let index = code.map(|code| {
            self.libraries.push(code);
            self.libraries.len() - 1
        });
        done.insert(Arc::as_ptr(library), index);
        index
    }

    fn values(&mut self, library: &Library, arena: &Arena) -> Vec<LibraryValue> {
        let values = library.entries.iter().filter_map(|entry| match entry {
            LibraryEntry::Type { .. } => None,
            LibraryEntry::Value { name, body, .. } => Some((name.name.clone(), *body)),
        });
        values.map(|(name, body)| self.library_value(arena, name, body)).collect()
    }

    /// Compiles an entry of a library. Later entries can use the name of the entry.
    fn library_value(&mut self, arena: &Arena, name: Name, body: ExprId) -> LibraryValue {
        let node = self.outermost(arena, body);
        let global = self.globals;
        self.globals += 1;
        self.scope.add_global(name, global);
        LibraryValue { node, global }
    }

    /// Compiles an expression outside of functions.
    fn outermost(&mut self, arena: &Arena, root: ExprId) -> NodeId {
        self.scope.open(None, &[]);
        let node = self.expression(arena, root);
        self.scope.close(None);
        node
    }

    fn node(&mut self, span: Span, node: Node) -> NodeId {
        let id = NodeId::try_from(self.nodes.len()).unwrap_or(NodeId::MAX);
        self.nodes.push(node);
        self.places.push(self.place(span));
        id
    }

    /// Converts types to the form of the evaluator: without address types, and with the variables that must be
    /// replaced.
    fn types(&self, types: &[Type]) -> Types {
        let types: Arc<[Type]> = types.iter().map(without_addresses).collect();
        Types { variables: self.scope.type_variables_in(&types), types }
    }

    fn contract(&mut self, main: &ContractModule) -> ContractCode {
        let Contract { parameters, constraint, fields, components, .. } = &main.contract;
        let given = implicit::contract_parameters().map(|(name, ty)| (Name::simple(name), ty));
        let declared = parameters.iter().map(|parameter| (parameter.name.name.clone(), parameter.ty.clone()));
        let all: Vec<_> = given.into_iter().chain(declared).collect();
        for (index, (name, _)) in all.iter().enumerate() {
            self.scope.add_parameter(name.clone(), index);
        }
        let constraint = self.outermost(&main.arena, *constraint);
        let fields: Vec<FieldCode> = (fields.iter())
            .map(|field| FieldCode {
                field: DeclaredField { name: Arc::clone(field.name.name.base()), ty: field.ty.clone() },
                initial: self.outermost(&main.arena, field.initial),
            })
            .collect();
        for name in MESSAGE_NAMES {
            self.scope.add_message_name(name);
        }
        let components = self.components(&main.arena, &fields, components);
        ContractCode { parameters: all, constraint, fields, components }
    }

    fn constructor(&self, name: &Ident) -> Option<Arc<Constructor>> {
        self.constructors.get(&name.name).map(Arc::clone)
    }
}
