//! The machine that evaluates expressions.
//!
//! The machine has a stack of values, with a frame for each running function, and a stack of continuations.
//! Evaluation does not recurse. A right fold over a long list makes these stacks long, and gas limits their length.
//!
//! The machine enters a function of several arguments once, with all arguments. The reference instead makes a function
//! of the remaining arguments after each argument. The charges of the machine are those of the reference.

use std::sync::Arc;

use smallvec::SmallVec;

use super::{
    effort::{COPY, Effort, MESSAGE_ENTRY, PAID, TYPE_NODE, TooMuch},
    run::Settings,
};
use crate::{
    builtins::{Builtin, Refusal},
    code::{Code, Function, FunctionKind, Node, NodeId, Pattern, Payload, Place, Types, Variable},
    gas::Meter,
    lower::empty_map,
    report::{Entry, Failure},
    source::Location,
    types::{Type, substitution::replace, usage::Use},
    value::{AdtValue, Closure, Message, MessageEntry, Value},
    work::weight,
};

/// A result, or the failure with which the run ends.
pub(super) type Evaluation<T> = Result<T, Failure>;

/// A frame on the stack of values.
#[derive(Clone, Default)]
pub(super) struct Frame {
    base: usize,
    /// Captured values of the running function; `None` outside of functions.
    closure: Option<Arc<Closure>>,
}

/// The next step with the result of an expression.
enum Continuation {
    /// Apply the result, a function, to these values.
    Apply(Vec<Value>),
    /// Apply the result, a type function, to the types from this index on.
    Instantiate(Arc<[Type]>, usize),
    /// Put the result into a slot of the frame, and evaluate the body.
    Let { slot: u32, body: NodeId },
    /// Close the open frame, and return to this frame.
    Return(Frame),
}

/// The result of a step.
enum Step {
    /// A body to evaluate, in a frame that is already open.
    Enter(NodeId),
    /// A result.
    Value(Value),
}

/// The state of a run.
pub(super) struct Machine<'c> {
    pub(super) code: &'c Code,
    pub(super) settings: Settings,
    pub(super) gas: Meter,
    effort: Effort,
    pub(super) globals: Arc<[Value]>,
    /// The parameters of the contract.
    pub(super) parameters: Vec<Value>,
    /// `_sender`, `_origin`, `_amount`.
    pub(super) message: Vec<Value>,
    /// The entries of the message by name. A name that the program does not bind refers to an entry.
    pub(super) message_entries: Vec<(Arc<str>, Value)>,
    stack: Vec<Value>,
    frame: Frame,
    continuations: Vec<Continuation>,
    /// The last node that was evaluated outside of functions.
    last: NodeId,
}

impl<'c> Machine<'c> {
    pub(super) fn new(code: &'c Code, settings: Settings, gas: Meter, globals: Arc<[Value]>) -> Self {
        Self {
            code,
            settings,
            gas,
            effort: Effort::begin(gas),
            globals,
            parameters: Vec::new(),
            message: Vec::new(),
            message_entries: Vec::new(),
            stack: Vec::new(),
            frame: Frame::default(),
            continuations: Vec::new(),
            last: 0,
        }
    }

    /// Counts the parts of a value before the run reads all of them.
    pub(super) fn go_through(&mut self, value: &Value) -> Evaluation<()> {
        self.effort.go_through(value, &mut self.gas).map_err(too_much)
    }

    /// Counts the parts of a value before the run stores it, or sends it in a message or event.
    pub(super) fn leave(&mut self, value: &Value) -> Evaluation<()> {
        self.effort.leave(value, self.gas).map_err(too_much)
    }

    /// Counts the parts of values that one node of the program tree processes. A small number of parts is free.
    pub(super) fn spend(&mut self, parts: u64) -> Evaluation<()> {
        self.effort.spend(parts, &mut self.gas).map_err(too_much)
    }

    /// Counts the nodes of the type of a value.
    fn find_type(&mut self, value: &Value) -> Evaluation<()> {
        self.effort.find_type(value.type_parts(), &mut self.gas).map_err(too_much)
    }

    /// Counts the copies of values before the run makes them.
    pub(super) fn copy(&mut self, values: usize) -> Evaluation<()> {
        self.spend(COPY * values as u64)
    }

    /// Returns the work that the run has counted, in parts of values.
    pub(super) const fn effort(&self) -> u64 {
        self.effort.done()
    }

    /// Evaluates an expression in a frame of its own.
    pub(super) fn outermost(&mut self, node: NodeId) -> Evaluation<Value> {
        let outer = self.open();
        let value = self.evaluate(node)?;
        self.close(outer);
        Ok(value)
    }

    /// Evaluates an expression in a new frame. Also returns the last node that was evaluated outside of functions, and
    /// the values of the new frame.
    pub(super) fn traced(&mut self, node: NodeId) -> Evaluation<(Value, NodeId, Vec<Value>)> {
        let outer = self.open();
        let value = self.evaluate(node)?;
        let frame = self.stack.get(self.frame.base..).unwrap_or_default().to_vec();
        self.close(outer);
        Ok((value, self.last, frame))
    }

    /// Opens a frame, and returns the previous frame.
    pub(super) fn open(&mut self) -> Frame {
        std::mem::replace(&mut self.frame, Frame { base: self.stack.len(), closure: None })
    }

    /// Closes the open frame, and makes `outer` the open frame.
    pub(super) fn close(&mut self, outer: Frame) {
        self.stack.truncate(self.frame.base);
        self.frame = outer;
    }

    /// Puts a value into a slot of the frame. The frame grows if it does not have the slot.
    pub(super) fn set(&mut self, slot: u32, value: Value) {
        let place = self.frame.base + slot as usize;
        if let Some(place) = self.stack.get_mut(place) {
            *place = value;
        } else {
            self.stack.resize(place, Value::from(0_u32));
            self.stack.push(value);
        }
    }

    /// Evaluates an expression in the open frame.
    pub(super) fn evaluate(&mut self, node: NodeId) -> Evaluation<Value> {
        let floor = self.continuations.len();
        let mut node = node;
        loop {
            let mut step = self.step(node, floor)?;
            node = loop {
                let value = match step {
                    Step::Enter(body) => break body,
                    Step::Value(value) => value,
                };
                if self.continuations.len() == floor {
                    return Ok(value);
                }
                step = match self.continuations.pop() {
                    None => return Ok(value),
                    Some(Continuation::Apply(arguments)) => {
                        let from = self.stack.len();
                        self.stack.extend(arguments);
                        self.apply(&value, from, floor)?
                    }
                    Some(Continuation::Instantiate(types, given)) => self.instantiate(&value, types, given, floor)?,
                    Some(Continuation::Let { slot, body }) => {
                        self.set(slot, value);
                        Step::Enter(body)
                    }
                    Some(Continuation::Return(frame)) => {
                        self.close(frame);
                        Step::Value(value)
                    }
                }
            };
        }
    }

    /// Charges for a node, and evaluates the node until there is a result or a next body to evaluate.
    fn step(&mut self, id: NodeId, floor: usize) -> Evaluation<Step> {
        let code: &'c Code = self.code;
        if self.frame.closure.is_none() {
            self.last = id;
        }
        let Some(node) = code.nodes.get(id as usize) else { return Err(internal("a node is missing")) };
        match node {
            Node::Builtin { builtin, types, arguments, name } => {
                self.builtin(*builtin, types, arguments, *name).map(Step::Value)
            }
            Node::Match { scrutinee, clauses } => {
                self.charge(clauses.len() as u64, id)?;
                let value = self.look_up(*scrutinee)?;
                for (pattern, body) in clauses {
                    if self.fits(pattern, &value)? {
                        return Ok(Step::Enter(*body));
                    }
                }
                Err(Failure::of(Entry::at(code.node_location(id), "Match expression failed. No clause matched.")))
            }
            Node::Apply { .. }
            | Node::Construct { .. }
            | Node::EmptyMap { .. }
            | Node::Fail { .. }
            | Node::Function { .. }
            | Node::Instantiate { .. }
            | Node::Let { .. }
            | Node::Literal(_)
            | Node::Message { .. }
            | Node::Variable(_) => {
                self.charge(1, id)?;
                self.simple(node, floor)
            }
        }
    }

    /// Evaluates a node for which one unit has been charged.
    fn simple(&mut self, node: &'c Node, floor: usize) -> Evaluation<Step> {
        match node {
            Node::Apply { function, arguments } => {
                let from = self.push(arguments)?;
                let function = self.look_up(*function)?;
                self.apply(&function, from, floor)
            }
            Node::Construct { constructor, types, arguments } => {
                self.copy(arguments.len())?;
                let arguments = arguments.iter().map(|name| self.look_up(*name)).collect::<Result<_, _>>()?;
                let types = self.types(types)?;
                let value = Value::Adt(Arc::new(AdtValue::new(Arc::clone(constructor), types, arguments)));
                // The count comes after the construction, because `AdtValue::new` computes the number of nodes of the
                // types.
                self.find_type(&value)?;
                Ok(Step::Value(value))
            }
            Node::EmptyMap { types } => {
                let types = self.types(types)?;
                empty_map(&types).map(Step::Value).ok_or_else(|| internal("a map has two types"))
            }
            Node::Fail { message, place } => Err(Failure::of(Entry::at(self.code.location(*place), message.clone()))),
            Node::Function { function } => self.closure(*function).map(Step::Value),
            Node::Instantiate { function, types } => {
                let function = self.look_up(*function)?;
                let types = self.types(types)?;
                self.instantiate(&function, types, 0, floor)
            }
            Node::Let { slot, value, body } => {
                self.continuations.push(Continuation::Let { slot: *slot, body: *body });
                Ok(Step::Enter(*value))
            }
            Node::Literal(value) => Ok(Step::Value(value.clone())),
            Node::Message { entries } => self.message_of(entries).map(Step::Value),
            Node::Variable(variable) => self.look_up(*variable).map(Step::Value),
            Node::Builtin { .. } | Node::Match { .. } => Err(internal("a node is evaluated twice")),
        }
    }

    /// Charges for a node.
    fn charge(&mut self, units: u64, node: NodeId) -> Evaluation<()> {
        self.gas.charge(units).map_err(|_| Failure::of(Entry::at(self.code.node_location(node), "Insufficient gas")))
    }

    fn charge_at(&mut self, units: u64, place: Option<&Place>) -> Evaluation<()> {
        self.gas.charge(units).map_err(|_| {
            let location = place.map_or_else(Location::default, |place| self.code.location(*place));
            Failure::of(Entry::at(location, "Insufficient gas"))
        })
    }

    /// Returns the value of a variable.
    pub(super) fn look_up(&self, variable: Variable) -> Evaluation<Value> {
        let found = match variable {
            Variable::Captured(index) => {
                self.frame.closure.as_ref().and_then(|closure| closure.captured.get(index as usize))
            }
            Variable::Global(index) => self.globals.get(index as usize),
            Variable::Itself => {
                return self.frame.closure.clone().map(Value::Closure).ok_or_else(|| internal("no function runs"));
            }
            Variable::Local(slot) => self.stack.get(self.frame.base + slot as usize),
            Variable::Message(index) => self.message.get(index as usize),
            Variable::Parameter(index) => self.parameters.get(index as usize),
            Variable::Unbound(index) => return self.look_up_name(index),
        };
        found.cloned().ok_or_else(|| internal("a variable has no value"))
    }

    /// Looks up an unbound name among the entries of the message. In the reference, procedures can read the parameters
    /// of the transition, although the checker rejects such programs.
    fn look_up_name(&self, index: u32) -> Evaluation<Value> {
        let Some(unbound) = self.code.unbound.get(index as usize) else { return Err(internal("a name is missing")) };
        let simple = unbound.name.module().is_none() && unbound.name.namespace().is_none();
        let found = self.message_entries.iter().find(|(name, _)| simple && name == unbound.name.base());
        found.map(|(_, value)| value.clone()).ok_or_else(|| {
            let message = format!("Identifier is not bound in environment: {}", unbound.name.as_written());
            Failure::of(Entry::at(self.code.location(unbound.place), message))
        })
    }

    /// Returns the types, with their variables replaced by the types of the frame.
    fn types(&mut self, of: &Types) -> Evaluation<Arc<[Type]>> {
        let Some(variables) = &of.variables else { return Ok(Arc::clone(&of.types)) };
        let known = self.frame.closure.as_ref().map(|closure| &*closure.types).unwrap_or_default();
        // An inner variable hides an outer one of the same name.
        let pairs: Vec<_> = variables.iter().zip(known).rev().collect();
        let types: Arc<[Type]> = of.types.iter().map(|of| replace(of, &pairs)).collect();
        let parts = types.iter().try_fold(0, |parts, of| Some(parts + moderate_parts(of)?));
        self.spend(TYPE_NODE * parts.ok_or_else(|| failure("Type is too large"))?)?;
        Ok(types)
    }

    /// Returns a function with its captured values.
    fn closure(&mut self, index: u32) -> Evaluation<Value> {
        let function = self.function(index)?;
        self.copy(function.captures.len())?;
        let captured: Arc<[Value]> =
            function.captures.iter().map(|name| self.look_up(*name)).collect::<Result<_, _>>()?;
        let types = self.frame.closure.as_ref().map_or_else(|| Arc::from([]), |closure| Arc::clone(&closure.types));
        let closure = Arc::new(Closure::new(index, captured, types, SmallVec::new()));
        Ok(match function.kind {
            FunctionKind::OfTypes => Value::TypeClosure(closure),
            FunctionKind::Fixpoint | FunctionKind::Plain => Value::Closure(closure),
        })
    }

    fn function(&self, index: u32) -> Evaluation<&'c Function> {
        self.code.functions.get(index as usize).ok_or_else(|| internal("a function is missing"))
    }

    /// Pushes the values of variables, and returns the stack position of the first value.
    fn push(&mut self, variables: &[Variable]) -> Evaluation<usize> {
        let from = self.stack.len();
        for variable in variables {
            let value = self.look_up(*variable)?;
            self.stack.push(value);
        }
        Ok(from)
    }

    /// Applies a function to the values on the stack from the index `from` on. There must be at least one value.
    fn apply(&mut self, function: &Value, from: usize, floor: usize) -> Evaluation<Step> {
        let Value::Closure(closure) = function else {
            let text = self.settings.print(function);
            return Err(failure(format!("Trying to apply a non-functional value: {text}")));
        };
        let function = self.function(closure.function)?;
        let (had, arity) = (closure.applied.len(), function.layers.len());
        let has = (had + self.stack.len() - from).min(arity);
        if function.kind == FunctionKind::Fixpoint && had == 0 {
            self.charge_at(1, function.layers.first())?;
        }
        // In the reference, each argument except the last one evaluates the function that takes the next argument.
        for layer in function.layers.get(had + 1..(has + 1).min(arity)).unwrap_or_default() {
            self.charge_at(1, Some(layer))?;
        }
        self.spend_beyond(had as u64, had)?;
        if has < arity {
            let applied = closure.applied.iter().cloned().chain(self.stack.drain(from..)).collect();
            let (captured, types) = (closure.captured.clone(), Arc::clone(&closure.types));
            let partial = Closure::new(closure.function, captured, types, applied);
            return Ok(Step::Value(Value::Closure(Arc::new(partial))));
        }
        let rest: Vec<Value> = self.stack.drain(from + arity - had..).collect();
        self.stack.splice(from..from, closure.applied.iter().cloned());
        let running = if had > 0 && function.kind == FunctionKind::Fixpoint {
            // A recursive function must not get the arguments of an earlier application.
            let (captured, types) = (closure.captured.clone(), Arc::clone(&closure.types));
            Arc::new(Closure::new(closure.function, captured, types, SmallVec::new()))
        } else {
            Arc::clone(closure)
        };
        self.enter(running, from, floor);
        if !rest.is_empty() {
            self.continuations.push(Continuation::Apply(rest));
        }
        Ok(Step::Enter(function.body))
    }

    /// Applies a type function to types, from the index `given` on.
    fn instantiate(&mut self, function: &Value, types: Arc<[Type]>, given: usize, floor: usize) -> Evaluation<Step> {
        let Some(next) = types.get(given) else { return Ok(Step::Value(function.clone())) };
        let Value::TypeClosure(closure) = function else {
            let text = self.settings.print(function);
            return Err(failure(format!("Trying to type-apply a non-type closure: {text}")));
        };
        let function = self.function(closure.function)?;
        let known = closure.types.iter().chain([next]).cloned().collect();
        let running = Closure::new(closure.function, closure.captured.clone(), known, SmallVec::new());
        self.enter(Arc::new(running), self.stack.len(), floor);
        if given + 1 < types.len() {
            self.continuations.push(Continuation::Instantiate(types, given + 1));
        }
        Ok(Step::Enter(function.body))
    }

    /// Opens the frame of a function. The stack values from `base` on are the first slots of the frame. If the open
    /// frame has no further step, the new frame replaces it.
    fn enter(&mut self, running: Arc<Closure>, base: usize, floor: usize) {
        let is_tail =
            self.continuations.len() > floor && matches!(self.continuations.last(), Some(Continuation::Return(_)));
        if is_tail {
            self.stack.drain(self.frame.base..base);
            self.frame.closure = Some(running);
        } else {
            let outer = std::mem::replace(&mut self.frame, Frame { base, closure: Some(running) });
            self.continuations.push(Continuation::Return(outer));
        }
    }

    /// Returns whether a value matches a pattern. If it does, binds the variables of the pattern.
    pub(super) fn fits(&mut self, pattern: &Pattern, value: &Value) -> Evaluation<bool> {
        self.part_fits(pattern, value, &mut 0)
    }

    /// Returns whether a part of a value matches a pattern. `parts` is the number of parts that earlier comparisons
    /// read.
    fn part_fits(&mut self, pattern: &Pattern, value: &Value, parts: &mut u64) -> Evaluation<bool> {
        match pattern {
            Pattern::Binder(slot) => {
                self.set(*slot, value.clone());
                Ok(true)
            }
            Pattern::Constructor(constructor, inner) => {
                let Value::Adt(adt) = value else { return Ok(false) };
                if !adt.is(constructor) || adt.arguments().len() != inner.len() {
                    return Ok(false);
                }
                *parts += inner.len() as u64;
                self.spend_beyond(*parts, inner.len())?;
                for (part, argument) in inner.iter().zip(adt.arguments()) {
                    if !self.part_fits(part, argument, parts)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Pattern::Nothing => Ok(false),
            Pattern::Wildcard => Ok(true),
        }
    }

    /// Counts the work of the last `more` of `parts` parts. Does nothing if the gas of the present program node covers
    /// all `parts`.
    pub(super) fn spend_beyond(&mut self, parts: u64, more: usize) -> Evaluation<()> {
        if parts <= PAID {
            return Ok(());
        }
        self.gas.spend(weight::PART.saturating_mul(more as u64)).map_err(|exhausted| failure(exhausted.to_string()))
    }

    fn builtin(&mut self, builtin: Builtin, types: &Types, arguments: &[Variable], name: Place) -> Evaluation<Value> {
        let from = self.push(arguments)?;
        let values = self.stack.get(from..).unwrap_or_default();
        for value in values {
            // A comparison of this value may also compare the types.
            self.effort.find_type(value.type_parts(), &mut self.gas).map_err(too_much)?;
        }
        let cost = match builtin.cost_by(values, self.settings.rules.builtin_costs()) {
            Some(cost) if types.types.is_empty() => cost,
            found => {
                let kinds = values.iter().map(Value::ty).collect::<Result<Vec<_>, _>>();
                let kinds = kinds.map_err(|untyped| failure(untyped.to_string()))?;
                let fits = builtin.result_type(&kinds, !types.types.is_empty(), &self.code.data_types).is_some();
                match found {
                    Some(cost) if fits => cost,
                    _ => return Err(self.misapplied(builtin, types, &kinds, name)),
                }
            }
        };
        self.gas.charge(cost).map_err(|exhausted| failure(exhausted.to_string()))?;
        if builtin.is_hash() {
            values.iter().try_for_each(|value| self.effort.hash(value, &mut self.gas)).map_err(too_much)?;
        }
        self.gas.spend(builtin.work(values)).map_err(|exhausted| failure(exhausted.to_string()))?;
        let result = builtin.run(values).map_err(|refusal| self.refused(&refusal, values))?;
        self.stack.truncate(from);
        Ok(result)
    }

    fn misapplied(&self, builtin: Builtin, types: &Types, kinds: &[Type], name: Place) -> Failure {
        let list = |types: &[Type]| {
            let texts: Vec<String> = types.iter().map(|of| of.as_written().to_string()).collect();
            format!("[{}]", texts.join("; "))
        };
        let braces = if types.types.is_empty() { String::new() } else { format!("{{{}}} ", list(&types.types)) };
        let kinds = list(kinds);
        let message =
            format!("Type error: cannot apply \"{builtin}\" built-in to argument(s) of type(s): {braces} {kinds}");
        Failure::of(Entry::at(self.code.location(name), message))
    }

    fn refused(&self, refusal: &Refusal, arguments: &[Value]) -> Failure {
        match refusal {
            Refusal::Arguments { .. } => {
                let texts: Vec<String> =
                    arguments.iter().map(|argument| format!(" {}", self.settings.print(argument))).collect();
                failure(format!("{refusal}: [ {}]", texts.join(",\n ")))
            }
            Refusal::Text(text) => failure(*text),
        }
    }

    fn message_of(&mut self, entries: &[(Arc<str>, Payload)]) -> Evaluation<Value> {
        self.spend(MESSAGE_ENTRY * entries.len() as u64)?;
        let ready = entries.iter().map(|(label, payload)| {
            let value = match payload {
                Payload::Literal(value) => value.clone(),
                Payload::Variable(name) => self.look_up(*name)?,
            };
            self.find_type(&value)?;
            let ty = value.ty().map_err(|untyped| failure(untyped.to_string()))?;
            if !ty.is_legal(Use::Payload, &self.code.data_types) {
                return Err(failure(format!("Cannot serialize literal: {}", self.settings.print(&value))));
            }
            Ok(MessageEntry { label: Arc::clone(label), ty, value })
        });
        Ok(Value::Message(Arc::new(Message::new(ready.collect::<Result<_, _>>()?))))
    }
}

/// Returns a failure without a location.
pub(super) fn failure(message: impl Into<String>) -> Failure {
    Failure::of(Entry::nowhere(message))
}

/// Returns the failure for an internal error of the interpreter. No program can cause such an error.
pub(super) fn internal(what: &str) -> Failure {
    failure(format!("Internal error: {what}"))
}

fn too_much(reason: TooMuch) -> Failure {
    failure(reason.to_string())
}

/// Largest depth of a type that a running program constructs. Types in source texts are far smaller. The checker has
/// already charged for the work on the types of a checked program.
const MAX_TYPE_DEPTH: usize = 512;
/// Largest number of nodes of a type that a running program constructs.
const MAX_TYPE_PARTS: u64 = 10_000;

/// Returns the number of nodes of a type, or `None` if depth or number exceeds the limit.
fn moderate_parts(of: &Type) -> Option<u64> {
    let (mut pending, mut parts) = (SmallVec::<[(&Type, usize); 8]>::new(), 0);
    pending.push((of, 0));
    while let Some((of, depth)) = pending.pop() {
        parts += 1;
        if depth > MAX_TYPE_DEPTH || parts > MAX_TYPE_PARTS {
            return None;
        }
        pending.extend(of.parts().map(|part| (part, depth + 1)));
    }
    Some(parts)
}
