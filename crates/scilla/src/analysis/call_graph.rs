//! The call graph of components and library functions.
//!
//! The graph has no calls through partial applications of functions. Source of the rules and of the drawing:
//! `Zilliqa/scilla: src/base/Callgraph.ml`.

use std::{
    collections::{BTreeSet, HashMap},
    fmt,
};

use crate::{
    name::Name,
    syntax::ast::{
        Arena, Component, ComponentKind, Contract, ExprId, ExpressionKind, Library, LibraryEntry, Statement,
        StatementKind,
    },
};

/// The calls of a contract and its own library.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallGraph {
    nodes: Vec<Node>,
    by_name: HashMap<Name, usize>,
    edges: Vec<Edge>,
}

/// A component or function in the graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) name: Name,
    pub(crate) kind: NodeKind,
    /// Indexes of the nodes that this node calls.
    pub(crate) calls: Vec<usize>,
}

/// The kind of a node. The drawing lists the kinds in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NodeKind {
    Transition,
    Procedure,
    Function,
    /// Another name of a function.
    FunctionAlias,
    TypeFunction,
    /// Another name of a type function.
    TypeFunctionAlias,
}

impl NodeKind {
    pub(crate) const fn is_type_function(self) -> bool {
        matches!(self, Self::TypeFunction | Self::TypeFunctionAlias)
    }

    const fn of_alias(self) -> Self {
        if self.is_type_function() { Self::TypeFunctionAlias } else { Self::FunctionAlias }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Edge {
    from: usize,
    to: usize,
    kind: EdgeKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EdgeKind {
    Alias,
    Call,
    /// The use of a type function with type arguments as a function.
    Instance,
}

impl CallGraph {
    /// Builds the graph of a contract.
    pub(crate) fn of(arena: &Arena, library: Option<&Library>, contract: &Contract) -> Self {
        let mut graph = Self::default();
        for component in &contract.components {
            let kind = match component.kind {
                ComponentKind::Procedure => NodeKind::Procedure,
                ComponentKind::Transition => NodeKind::Transition,
            };
            graph.nodes.push(Node { name: component.name.name.clone(), kind, calls: vec![] });
        }
        let values = values(library);
        graph.nodes.extend(functions(arena, &values));
        for (index, node) in graph.nodes.iter().enumerate() {
            graph.by_name.entry(node.name.clone()).or_insert(index);
        }
        for component in &contract.components {
            let called = graph.called_by_component(arena, component);
            graph.connect(&component.name.name, &called);
        }
        for (name, body) in values {
            let mut called = BTreeSet::new();
            graph.called_by_expression(arena, body, &mut called);
            graph.connect(name, &called);
        }
        graph
    }

    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns the index of the node with this name, or `None` if there is no such node.
    pub(crate) fn find(&self, name: &Name) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// Returns the indexes of the nodes. A node comes after the nodes that it calls.
    pub(crate) fn callees_first(&self) -> Vec<usize> {
        enum Step {
            Enter(usize),
            Leave(usize),
        }
        let mut seen = vec![false; self.nodes.len()];
        let mut order = Vec::with_capacity(self.nodes.len());
        for root in 0..self.nodes.len() {
            let mut pending = vec![Step::Enter(root)];
            while let Some(step) = pending.pop() {
                let index = match step {
                    Step::Enter(index) => index,
                    Step::Leave(index) => {
                        order.push(index);
                        continue;
                    }
                };
                let (Some(seen), Some(node)) = (seen.get_mut(index), self.nodes.get(index)) else { continue };
                if std::mem::replace(seen, true) {
                    continue;
                }
                pending.push(Step::Leave(index));
                pending.extend(node.calls.iter().rev().copied().map(Step::Enter));
            }
        }
        order
    }

    fn connect(&mut self, from: &Name, called: &BTreeSet<Name>) {
        let Some(from) = self.find(from) else { return };
        for name in called {
            let Some(to) = self.find(name) else { continue };
            let kind = self.edge_kind(from, to);
            if let Some(node) = self.nodes.get_mut(from) {
                node.calls.push(to);
            }
            self.edges.push(Edge { from, to, kind });
        }
    }

    fn edge_kind(&self, from: usize, to: usize) -> EdgeKind {
        let kind = |index: usize| self.nodes.get(index).map(|node| node.kind);
        match (kind(from), kind(to)) {
            (Some(NodeKind::Function), Some(NodeKind::TypeFunction)) => EdgeKind::Instance,
            (Some(NodeKind::TypeFunctionAlias), Some(NodeKind::TypeFunction))
            | (Some(NodeKind::TypeFunction), Some(NodeKind::TypeFunctionAlias))
            | (Some(NodeKind::FunctionAlias), Some(NodeKind::Function))
            | (Some(NodeKind::Function), Some(NodeKind::FunctionAlias)) => EdgeKind::Alias,
            _ => EdgeKind::Call,
        }
    }

    fn called_by_component(&self, arena: &Arena, component: &Component) -> BTreeSet<Name> {
        let mut called = BTreeSet::new();
        for statement in &component.body {
            statement.visit(&mut |statement: &Statement| match &statement.kind {
                StatementKind::Bind { value, .. } => self.called_by_expression(arena, *value, &mut called),
                StatementKind::Call { procedure, .. } | StatementKind::ForEach { procedure, .. }
                    if self.find(&procedure.name).is_some() =>
                {
                    called.insert(procedure.name.clone());
                }
                _ => {}
            });
        }
        called
    }

    fn called_by_expression(&self, arena: &Arena, root: ExprId, called: &mut BTreeSet<Name>) {
        arena.visit(root, |_, part| {
            if let ExpressionKind::Apply { function: ident, .. }
            | ExpressionKind::Instantiate { function: ident, .. }
            | ExpressionKind::Variable(ident) = &part.kind
                && self.find(&ident.name).is_some()
            {
                called.insert(ident.name.clone());
            }
        });
    }
}

fn values(library: Option<&Library>) -> Vec<(&Name, ExprId)> {
    let entries = library.into_iter().flat_map(|library| &library.entries);
    let value = |entry| match entry {
        &LibraryEntry::Value { ref name, body, .. } => Some((&name.name, body)),
        LibraryEntry::Type { .. } => None,
    };
    entries.filter_map(value).collect()
}

/// Returns the nodes of a library: its functions and their aliases, in the order of their names.
fn functions(arena: &Arena, values: &[(&Name, ExprId)]) -> Vec<Node> {
    let mut found: HashMap<&Name, NodeKind> = HashMap::new();
    for &(name, body) in values {
        let kind = match &arena.get(body).kind {
            ExpressionKind::Function { .. } | ExpressionKind::Instantiate { .. } => Some(NodeKind::Function),
            ExpressionKind::TypeFunction { .. } => Some(NodeKind::TypeFunction),
            ExpressionKind::Variable(of) => found.get(&of.name).map(|kind| kind.of_alias()),
            _ => None,
        };
        if let Some(kind) = kind {
            found.entry(name).or_insert(kind);
        }
    }
    let node = |(name, kind): (&Name, NodeKind)| Node { name: name.clone(), kind, calls: vec![] };
    let mut nodes: Vec<_> = found.into_iter().map(node).collect();
    nodes.sort_by(|a, b| a.name.cmp(&b.name));
    nodes
}

/// Prints the graph in the language of the program `dot`, as the reference does.
impl fmt::Display for CallGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("digraph G {\n")?;
        let mut nodes: Vec<_> = self.nodes.iter().collect();
        nodes.sort_by_key(|node| node.kind);
        for node in nodes {
            let colour = match node.kind {
                NodeKind::Transition => "#D3869B",
                NodeKind::Procedure => "#83A598",
                NodeKind::Function => "#8EC07C",
                NodeKind::FunctionAlias => "#689D6A",
                NodeKind::TypeFunction => "#98971A",
                NodeKind::TypeFunctionAlias => "#79740E",
            };
            let attributes =
                [format!("fillcolor=\"{colour}\","), "shape=box,".to_owned(), "style=\"filled\",".to_owned()];
            line(f, node.name.base(), &attributes)?;
        }
        f.write_str("  \n  \n")?;
        for edge in &self.edges {
            let attributes: &[&str] = match edge.kind {
                EdgeKind::Alias => &["style=\"dotted\","],
                EdgeKind::Call => &["style=\"solid\","],
                EdgeKind::Instance => &["color=\"#7C6F64\",", "arrowhead=dot,", "style=\"dotted\","],
            };
            let attributes: Vec<_> = attributes.iter().map(|&attribute| attribute.to_owned()).collect();
            let name = |index: usize| self.nodes.get(index).map_or("", |node| node.name.base());
            line(f, &format!("{} -> {}", name(edge.from), name(edge.to)), &attributes)?;
        }
        f.write_str("  \n  }")
    }
}

/// Maximum width of a line, in columns.
const WIDTH: usize = 78;

fn line(f: &mut fmt::Formatter<'_>, what: &str, attributes: &[String]) -> fmt::Result {
    let start = format!("  {what} [");
    let indent = start.len();
    let mut column = indent;
    f.write_str(&start)?;
    for (index, word) in attributes.iter().map(String::as_str).chain(["];"]).enumerate() {
        if index > 0 && column + 1 + word.len() > WIDTH {
            write!(f, "\n{:indent$}", "")?;
            column = indent;
        } else if index > 0 {
            f.write_str(" ")?;
            column += 1;
        }
        f.write_str(word)?;
        column += word.len();
    }
    f.write_str("\n")
}
