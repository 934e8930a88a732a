//! From a resolved tree to [`Code`].

mod expression;
mod principles;
mod scope;
mod statement;

use std::{collections::HashMap, sync::Arc};

pub(crate) use self::expression::empty_map;
use self::scope::Scope;
use crate::{
    builtins::without_addresses,
    code::{
        Block, Code, ContractCode, Field, FieldCode, Function, LibraryValue, Node, NodeId, Place, Tail, Types,
        UnboundName,
    },
    name::{Ident, Name},
    resolve::{Imported, Program},
    source::{Source, Span},
    syntax::ast::{Arena, Contract, ContractModule, ExprId, ExpressionModule, Library, LibraryEntry, LibraryModule},
    types::{
        AddressType, Primitive, Type, Width,
        adt::{self, DataType, DataTypes},
    },
    value::Constructor,
};

/// The names every transition and procedure knows, in the order of [`Variable::Message`](crate::code::Variable).
pub(crate) const MESSAGE_NAMES: [&str; 3] = ["_sender", "_origin", "_amount"];

impl Code {
    /// Makes a contract ready to run.
    pub fn of_contract(program: &Program<ContractModule>) -> Self {
        let main = &program.main;
        let mut lowering = Lowering::begin(&program.imports, main.library.as_ref());
        lowering.module(&main.source);
        if let Some(library) = &main.library {
            lowering.library(library, &main.arena);
        }
        let contract = lowering.contract(main);
        Self { contract: Some(contract), ..lowering.finish(&main.version) }
    }

    /// Makes a library ready to run.
    pub fn of_library(program: &Program<LibraryModule>) -> Self {
        let main = &program.main;
        let mut lowering = Lowering::begin(&program.imports, Some(&main.library));
        lowering.module(&main.source);
        lowering.library(&main.library, &main.arena);
        lowering.finish(&main.version)
    }

    /// Makes a single expression ready to run.
    pub fn of_expression(program: &Program<ExpressionModule>) -> Self {
        let main = &program.main;
        let mut lowering = Lowering::begin(&program.imports, None);
        lowering.module(&main.source);
        lowering.tails = Some(HashMap::new());
        let block = lowering.block(&main.arena, main.root);
        Self { expression: Some(block), ..lowering.finish(&crate::eval::VERSION.into()) }
    }
}

/// The work of making one program ready.
struct Lowering {
    nodes: Vec<Node>,
    places: Vec<Place>,
    sources: Vec<Source>,
    functions: Vec<Function>,
    unbound: Vec<UnboundName>,
    /// Kept for expressions only.
    tails: Option<HashMap<NodeId, Tail>>,
    constructors: HashMap<Name, Arc<Constructor>>,
    data_types: DataTypes,
    entries: Vec<LibraryValue>,
    globals: u32,
    /// The libraries that have been made ready, and their entries.
    done: Vec<(Arc<Imported>, Vec<LibraryValue>)>,
    scope: Scope,
}

impl Lowering {
    fn begin(imports: &[Arc<Imported>], local: Option<&Library>) -> Self {
        let mut lowering = Self {
            nodes: Vec::new(),
            places: Vec::new(),
            sources: Vec::new(),
            functions: Vec::new(),
            unbound: Vec::new(),
            tails: None,
            constructors: HashMap::new(),
            data_types: DataTypes::built_in(),
            entries: Vec::new(),
            globals: 0,
            done: Vec::new(),
            scope: Scope::default(),
        };
        lowering.collect_types(imports);
        if let Some(library) = local {
            lowering.add_types(library);
        }
        lowering.intern_constructors();
        let (source, arena, principles) = principles::principles();
        lowering.module(&source);
        for (name, body) in principles {
            let value = lowering.library_value(&arena, name, body);
            lowering.entries.push(value);
        }
        for library in imports {
            lowering.import(library);
        }
        lowering
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
            entries: self.entries,
            globals: self.globals as usize,
            contract: None,
            expression: None,
            library_cache: std::sync::OnceLock::new(),
        }
    }

    /// Adds the types of libraries, dependencies first.
    fn collect_types(&mut self, imports: &[Arc<Imported>]) {
        for library in imports {
            if self.data_types_of_done(library) {
                continue;
            }
            self.done.push((Arc::clone(library), Vec::new()));
            self.collect_types(&library.imports);
            self.add_types(&library.module.library);
        }
    }

    fn data_types_of_done(&self, library: &Arc<Imported>) -> bool {
        self.done.iter().any(|(done, _)| Arc::ptr_eq(done, library))
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
                // A second type of the same name is for the checker to refuse; the first one counts here.
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

    /// Begins a module: places are in its source from now on.
    fn module(&mut self, source: &Source) {
        self.sources.push(source.clone());
    }

    fn place(&self, span: Span) -> Place {
        Place { source: u32::try_from(self.sources.len().saturating_sub(1)).unwrap_or(u32::MAX), span }
    }

    /// Adds the entries of a library and of what it imports, once for each import.
    fn import(&mut self, library: &Arc<Imported>) {
        for dependency in &library.imports {
            self.import(dependency);
        }
        let position = self.done.iter().position(|(done, _)| Arc::ptr_eq(done, library));
        let known = position.and_then(|position| self.done.get(position)).map(|(_, entries)| entries.clone());
        match known {
            Some(entries) if !entries.is_empty() => self.entries.extend(entries),
            _ => {
                self.module(&library.module.source);
                let start = self.entries.len();
                self.library(&library.module.library, &library.module.arena);
                let entries = self.entries.get(start..).unwrap_or_default().to_vec();
                if let Some(done) = position.and_then(|position| self.done.get_mut(position)) {
                    done.1 = entries;
                }
            }
        }
    }

    fn library(&mut self, library: &Library, arena: &Arena) {
        for entry in &library.entries {
            if let LibraryEntry::Value { name, body, .. } = entry {
                let value = self.library_value(arena, name.name.clone(), *body);
                self.entries.push(value);
            }
        }
    }

    /// Makes an entry ready; its name is known from the next one on.
    fn library_value(&mut self, arena: &Arena, name: Name, body: ExprId) -> LibraryValue {
        let block = self.block(arena, body);
        let global = self.globals;
        self.globals += 1;
        self.scope.add_global(name, global);
        LibraryValue { block, global }
    }

    /// Makes an expression ready that stands in no function.
    fn block(&mut self, arena: &Arena, root: ExprId) -> Block {
        self.scope.open(None, &[]);
        let node = self.expression(arena, root);
        let (slots, _) = self.scope.close(None);
        Block { node, slots }
    }

    fn node(&mut self, span: Span, node: Node) -> NodeId {
        let id = NodeId::try_from(self.nodes.len()).unwrap_or(NodeId::MAX);
        self.nodes.push(node);
        self.places.push(self.place(span));
        id
    }

    /// Types as the evaluator keeps them: without addresses, and knowing whether variables must be replaced.
    fn types(&self, types: &[Type]) -> Types {
        let types: Arc<[Type]> = types.iter().map(without_addresses).collect();
        Types { variables: self.scope.type_variables_in(&types), types }
    }

    fn contract(&mut self, main: &ContractModule) -> ContractCode {
        let Contract { parameters, constraint, fields, components, .. } = &main.contract;
        let mut all = implicit_parameters();
        all.extend(parameters.iter().map(|parameter| (parameter.name.name.clone(), parameter.kind.clone())));
        for (index, (name, _)) in all.iter().enumerate() {
            self.scope.add_parameter(name.clone(), index);
        }
        let constraint = self.block(&main.arena, *constraint);
        let fields: Vec<FieldCode> = (fields.iter())
            .map(|field| FieldCode {
                field: Field { name: Arc::clone(field.name.name.base()), kind: field.kind.clone() },
                initial: self.block(&main.arena, field.initial),
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

/// The parameters that every contract has, in the order in which they are looked at.
fn implicit_parameters() -> Vec<(Name, Type)> {
    vec![
        (Name::simple("_creation_block"), Primitive::BNum.into()),
        (Name::simple("_scilla_version"), Primitive::Uint(Width::W32).into()),
        (Name::simple("_this_address"), Type::bystr(20)),
    ]
}

/// The parameters that every transition has, in the order in which they are looked at.
pub(crate) fn implicit_message_parameters() -> [(Name, Type); 3] {
    [
        (Name::simple("_amount"), Primitive::Uint(Width::W128).into()),
        (Name::simple("_origin"), Type::Address(AddressType::Any)),
        (Name::simple("_sender"), Type::Address(AddressType::Any)),
    ]
}
