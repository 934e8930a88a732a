//! Compiles expressions without recursion, so that a chain of 100,000 `let`s cannot overflow the stack.

use std::sync::Arc;

use super::Lowering;
use crate::{
    builtins::Builtin,
    code::{Function, FunctionKind, Node, NodeId, Pattern, Payload, Place, Tail, UnboundName, Variable},
    name::{Ident, Name},
    syntax::ast::{self, Arena, ExprId, Expression, ExpressionKind, Literal, PatternKind},
    types::Type,
    value::{BNum, Integer, IntegerType, Map, Value},
};

/// An item on the stack of the remaining work. The last item of the stack is compiled next.
enum Work<'a> {
    /// Bind a name to the next slot.
    Bind(&'a Name),
    /// Close the frame of a function after its body has been compiled.
    Close(Opened<'a>),
    /// Compile an expression, and store it at this node.
    Expression(ExprId, NodeId),
    /// End the binding of a name.
    Unbind(&'a Name),
}

/// A function whose body remains to be compiled.
struct Opened<'a> {
    /// Index of the function in [`Code::functions`](crate::code::Code::functions).
    function: u32,
    head: Head<'a>,
    body: NodeId,
}

/// The parts of a function that precede its body, except the parameters.
struct Head<'a> {
    kind: FunctionKind,
    layers: Vec<Place>,
    /// The name of the function inside its own body, for recursion.
    itself: Option<&'a Name>,
}

impl Lowering {
    pub(super) fn expression(&mut self, arena: &Arena, root: ExprId) -> NodeId {
        let first = self.reserve(arena, root);
        let mut work = vec![Work::Expression(root, first)];
        while let Some(next) = work.pop() {
            match next {
                Work::Bind(name) => {
                    self.scope.bind(name);
                }
                Work::Close(opened) => self.close_function(opened),
                Work::Expression(expression, node) => {
                    let made = self.node_of(arena, node, arena.get(expression), &mut work);
                    if let Some(node) = self.nodes.get_mut(node as usize) {
                        *node = made;
                    }
                }
                Work::Unbind(name) => self.scope.unbind(name),
            }
        }
        first
    }

    /// Adds a node for an expression. The compiler stores the expression there later.
    fn reserve(&mut self, arena: &Arena, expression: ExprId) -> NodeId {
        self.node(arena.get(expression).span, Node::Variable(Variable::Local(0)))
    }

    fn node_of<'a>(&mut self, arena: &'a Arena, node: NodeId, of: &'a Expression, work: &mut Vec<Work<'a>>) -> Node {
        match &of.kind {
            ExpressionKind::Apply { function, arguments } => {
                let arguments = self.variables(arguments);
                Node::Apply { function: self.variable(function), arguments }
            }
            ExpressionKind::Builtin { name, types, arguments } => self.builtin(name, types, arguments),
            ExpressionKind::Construct { constructor, types, arguments } => {
                self.construct(constructor, types, arguments)
            }
            ExpressionKind::Fixpoint { name, body, .. } => {
                let (parameters, layers, body) = self.layers(arena, *body);
                let head = Head { kind: FunctionKind::Fixpoint, layers, itself: Some(&name.name) };
                self.open_function(arena, head, &parameters, body, work)
            }
            ExpressionKind::Function { parameter, body, .. } => {
                let (mut parameters, mut layers, body) = self.layers(arena, *body);
                parameters.insert(0, parameter.name.clone());
                layers.insert(0, self.place(of.span));
                let head = Head { kind: FunctionKind::Plain, layers, itself: None };
                self.open_function(arena, head, &parameters, body, work)
            }
            ExpressionKind::Instantiate { function, types } => {
                Node::Instantiate { function: self.variable(function), types: self.types(types) }
            }
            ExpressionKind::Let { name, value, body, .. } => self.let_in(arena, node, &name.name, *value, *body, work),
            ExpressionKind::Literal(literal) => self.literal(literal),
            ExpressionKind::Match { scrutinee, clauses } => {
                let scrutinee = self.variable(scrutinee);
                let mut ready = Vec::new();
                let mut all = Vec::new();
                for clause in clauses {
                    let mut names = Vec::new();
                    let pattern = self.pattern(&clause.pattern, &mut names);
                    let body = self.reserve(arena, clause.body);
                    self.tail(body, node, &names, self.scope.next());
                    ready.push((pattern, body));
                    all.push((names, clause.body, body));
                }
                for (names, expression, body) in all.into_iter().rev() {
                    work.extend(names.iter().map(|name| Work::Unbind(name)));
                    work.push(Work::Expression(expression, body));
                    work.extend(names.into_iter().rev().map(Work::Bind));
                }
                Node::Match { scrutinee, clauses: ready.into() }
            }
            ExpressionKind::Message(entries) => {
                Node::Message { entries: entries.iter().map(|entry| self.message_entry(entry)).collect() }
            }
            ExpressionKind::TypeFunction { parameter, body, .. } => {
                self.scope.bind_type(parameter);
                let head = Head { kind: FunctionKind::OfTypes, layers: vec![self.place(of.span)], itself: None };
                self.open_function(arena, head, &[], *body, work)
            }
            ExpressionKind::Variable(name) => Node::Variable(self.variable(name)),
        }
    }

    fn let_in<'a>(
        &mut self,
        arena: &Arena,
        around: NodeId,
        name: &'a Name,
        first: ExprId,
        second: ExprId,
        work: &mut Vec<Work<'a>>,
    ) -> Node {
        let slot = self.scope.next();
        let (value, body) = (self.reserve(arena, first), self.reserve(arena, second));
        self.tail(body, around, &[name], slot);
        work.push(Work::Unbind(name));
        work.push(Work::Expression(second, body));
        work.push(Work::Bind(name));
        work.push(Work::Expression(first, value));
        Node::Let { slot, value, body }
    }

    /// Records the node that contains a node in result position.
    fn tail(&mut self, node: NodeId, around: NodeId, names: &[&Name], first_slot: u32) {
        if let Some(tails) = &mut self.tails {
            let names = names.iter().map(|name| Arc::clone(name.base())).zip(first_slot..).collect();
            tails.insert(node, Tail { around, names });
        }
    }

    /// Returns the parameters of directly nested functions, the source positions of the functions, and the body of the
    /// innermost function.
    fn layers(&self, arena: &Arena, mut body: ExprId) -> (Vec<Name>, Vec<Place>, ExprId) {
        let (mut parameters, mut layers) = (Vec::new(), Vec::new());
        while let Expression { kind: ExpressionKind::Function { parameter, body: inner, .. }, span } = arena.get(body) {
            parameters.push(parameter.name.clone());
            layers.push(self.place(*span));
            body = *inner;
        }
        (parameters, layers, body)
    }

    fn open_function<'a>(
        &mut self,
        arena: &Arena,
        head: Head<'a>,
        parameters: &[Name],
        body: ExprId,
        work: &mut Vec<Work<'a>>,
    ) -> Node {
        let function = u32::try_from(self.functions.len()).unwrap_or(u32::MAX);
        let node = self.reserve(arena, body);
        self.functions.push(Function { kind: head.kind, layers: Box::default(), captures: Box::default(), body: node });
        self.scope.open(head.itself, parameters);
        work.push(Work::Close(Opened { function, head, body: node }));
        work.push(Work::Expression(body, node));
        Node::Function { function }
    }

    fn close_function(&mut self, opened: Opened<'_>) {
        let Opened { function, head: Head { kind, layers, itself }, body } = opened;
        let captures = self.scope.close(itself);
        if kind == FunctionKind::OfTypes {
            self.scope.unbind_type();
        }
        if let Some(unfinished) = self.functions.get_mut(function as usize) {
            *unfinished = Function { kind, layers: layers.into(), captures, body };
        }
    }

    fn builtin(&mut self, name: &Ident, types: &[Type], arguments: &[Ident]) -> Node {
        match Builtin::find(name.name.base()) {
            Some(builtin) => Node::Builtin {
                builtin,
                types: self.types(types),
                arguments: self.variables(arguments),
                name: self.place(name.span),
            },
            // The parser rejects unknown built-in functions, so no parsed text leads to this node.
            None => Node::Fail {
                message: format!("\"{}\" is not a builtin", name.name.as_written()),
                place: self.place(name.span),
            },
        }
    }

    fn construct(&mut self, constructor: &Ident, types: &[Type], arguments: &[Ident]) -> Node {
        let place = self.place(constructor.span);
        let written = constructor.name.as_written();
        match self.constructor(constructor) {
            None => Node::Fail { message: format!("No data type with this constructor found: {written}"), place },
            Some(found) if found.arity as usize != arguments.len() => {
                let (expected, given) = (found.arity, arguments.len());
                let message =
                    format!("Constructor arity mismatch: {written} expects {expected} arguments, but got {given}.");
                Node::Fail { message, place }
            }
            Some(found) => {
                Node::Construct { constructor: found, types: self.types(types), arguments: self.variables(arguments) }
            }
        }
    }

    fn literal(&self, literal: &Literal) -> Node {
        if let Literal::EmptyMap { key, value } = literal {
            let types = self.types(&[key.clone(), value.clone()]);
            if types.variables.is_some() {
                return Node::EmptyMap { types };
            }
        }
        Node::Literal(self.literal_value(literal))
    }

    fn literal_value(&self, literal: &Literal) -> Value {
        match literal {
            Literal::BNum(digits) => BNum::parse(digits).map_or_else(|| Value::of_text(&**digits), Value::BNum),
            Literal::Bytes(bytes) => Value::ByStrX(Arc::clone(bytes)),
            Literal::EmptyMap { key, value } => {
                let types = self.types(&[key.clone(), value.clone()]);
                empty_map(&types.types).unwrap_or_else(|| Value::bool(false))
            }
            Literal::Integer(ty, digits) => {
                let integer = IntegerType::of(*ty).and_then(|ty| Integer::parse(ty, digits));
                // The parser accepts only numbers that fit.
                integer.map_or_else(|| Value::of_text(&**digits), Value::Integer)
            }
            Literal::String(text) => Value::String(Arc::clone(text)),
        }
    }

    fn message_entry(&mut self, entry: &ast::MessageEntry) -> (Arc<str>, Payload) {
        let payload = match &entry.value {
            ast::Payload::Literal(literal) => Payload::Literal(self.literal_value(literal)),
            ast::Payload::Variable(name) => Payload::Variable(self.variable(name)),
        };
        (Arc::clone(&entry.label), payload)
    }

    /// Compiles a pattern. Its variables get the next slots in order, and are added to `names`.
    pub(super) fn pattern<'a>(&self, pattern: &'a ast::Pattern, names: &mut Vec<&'a Name>) -> Pattern {
        match &pattern.kind {
            PatternKind::Wildcard => Pattern::Wildcard,
            PatternKind::Binder(name) => {
                let slot = self.scope.next() + u32::try_from(names.len()).unwrap_or(u32::MAX);
                names.push(&name.name);
                Pattern::Binder(slot)
            }
            PatternKind::Constructor(name, parts) => {
                let parts: Box<[Pattern]> = parts.iter().map(|part| self.pattern(part, names)).collect();
                match self.constructor(name) {
                    Some(found) if found.arity as usize == parts.len() => Pattern::Constructor(found, parts),
                    _ => Pattern::Nothing,
                }
            }
        }
    }

    pub(super) fn variables(&mut self, names: &[Ident]) -> Box<[Variable]> {
        names.iter().map(|name| self.variable(name)).collect()
    }

    pub(super) fn variable(&mut self, name: &Ident) -> Variable {
        self.scope.find(&name.name).unwrap_or_else(|| {
            let index = u32::try_from(self.unbound.len()).unwrap_or(u32::MAX);
            self.unbound.push(UnboundName { name: name.name.clone(), place: self.place(name.span) });
            Variable::Unbound(index)
        })
    }
}

/// Returns the empty map of two types, or `None` for any other number of types.
pub(crate) fn empty_map(types: &[Type]) -> Option<Value> {
    let [key, value] = types else { return None };
    Some(Value::Map(Map::new(key.clone(), value.clone())))
}
