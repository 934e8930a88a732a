//! The execution of transitions and procedures.

mod access;
mod effects;

use std::sync::Arc;

pub(super) use self::{access::host_failure, effects::total_amount};
use super::{
    machine::{Evaluation, Frame, Machine, failure, internal},
    observer::{Observer, Step},
};
use crate::{
    argument::Argument,
    code::{Code, ComponentCode, FieldUse, Place, Statement, StatementKind, Statements, Variable},
    host::Host,
    name::Name,
    report::{Entry, Failure},
    rules::Exceptions,
    source::Location,
    types::{Primitive, Type, Width},
    value::{Integer, Message, Value},
};

/// An item on the stack of the remaining work. The last item of the stack is executed next.
enum Work {
    /// Leave a procedure, and bind its result. `completed` is the length that the list of completed procedures had at
    /// the call.
    Leave { caller: Frame, result: Option<(u32, Name)>, completed: usize },
    /// Call a procedure for each of the remaining elements.
    ForEach { rest: Value, procedure: u32 },
    /// Execute the statements from this index on.
    Statements(Statements, usize),
}

/// The state of a running transition.
pub(super) struct Execution<'m, 'c, 'h> {
    machine: &'m mut Machine<'c>,
    host: &'h mut dyn Host,
    observer: Option<&'h mut dyn Observer>,
    /// The running components, the transition first.
    running: Vec<&'c ComponentCode>,
    /// The completed procedures that an exception lists, the newest last. The list is empty if the rules list running
    /// procedures instead.
    completed: Vec<&'c ComponentCode>,
    /// The remaining units at the beginning of the transition.
    units: u64,
    work: Vec<Work>,
    /// Work of a statement that reads values, in nanoseconds. The run counts this work after the statement has paid for
    /// the sizes of the values.
    unpaid: u64,
    /// The value of the last `_return`.
    returned: Option<Value>,
    pub(super) balance: u128,
    pub(super) accepted: bool,
    pub(super) messages: Vec<Arc<Message>>,
    /// The events, the oldest first.
    pub(super) events: Vec<Arc<Message>>,
}

impl<'m, 'c, 'h> Execution<'m, 'c, 'h> {
    pub(super) fn new(
        machine: &'m mut Machine<'c>,
        host: &'h mut dyn Host,
        balance: u128,
        observer: Option<&'h mut dyn Observer>,
    ) -> Self {
        Self {
            units: machine.gas.units(),
            machine,
            host,
            observer,
            running: Vec::new(),
            completed: Vec::new(),
            work: Vec::new(),
            unpaid: 0,
            returned: None,
            balance,
            accepted: false,
            messages: Vec::new(),
            events: Vec::new(),
        }
    }

    /// Runs a transition with the arguments of the message.
    pub(super) fn run(&mut self, transition: &'c ComponentCode, arguments: Vec<Value>) -> Evaluation<()> {
        let outer = self.begin(transition, arguments);
        while let Some(work) = self.work.pop() {
            match work {
                Work::ForEach { rest, procedure } => self.next_element(&rest, procedure)?,
                Work::Leave { caller, result, completed } => self.leave(caller, result, completed)?,
                Work::Statements(statements, at) => {
                    if at + 1 < statements.len() {
                        self.work.push(Work::Statements(Arc::clone(&statements), at + 1));
                    }
                    if let Some(statement) = statements.get(at) {
                        if self.observer.is_some() {
                            self.observed(statement)?;
                        } else {
                            self.statement(statement)?;
                        }
                    }
                }
            }
        }
        self.machine.close(outer);
        Ok(())
    }

    /// Opens the frame of a component, and queues its statements. Returns the previous frame.
    fn begin(&mut self, component: &'c ComponentCode, arguments: Vec<Value>) -> Frame {
        let outer = self.machine.open();
        for (argument, slot) in arguments.into_iter().zip(0..) {
            self.machine.set(slot, argument);
        }
        self.running.push(component);
        self.work.push(Work::Statements(Arc::clone(&component.body), 0));
        outer
    }

    fn call(&mut self, procedure: u32, arguments: Vec<Value>, result: Option<(u32, Name)>) -> Evaluation<()> {
        let code: &'c Code = self.machine.code;
        let component = code.contract.as_ref().and_then(|contract| contract.components.get(procedure as usize));
        let component = component.ok_or_else(|| internal("a procedure is missing"))?;
        if component.parameters.len() != arguments.len() {
            return Err(failure("Attempting to bind different number of keys and values in environment"));
        }
        // The work of the called procedure goes on top of the stack. `Leave` is inserted at `place`, below that work.
        let place = self.work.len();
        let caller = self.begin(component, arguments);
        self.work.insert(place, Work::Leave { caller, result, completed: self.completed.len() });
        Ok(())
    }

    fn leave(&mut self, caller: Frame, result: Option<(u32, Name)>, completed: usize) -> Evaluation<()> {
        self.machine.close(caller);
        let left = self.running.pop();
        if self.machine.settings.rules.exceptions() == Exceptions::CompletedProcedures {
            // Restore the length that the list had at the call: this removes the entries of inner procedures.
            self.completed.truncate(completed);
            self.completed.extend(left);
        }
        let Some((slot, name)) = result else { return Ok(()) };
        let missing = || failure(format!("Trying to bind to a procedure that doesn't return: {}", name.as_written()));
        let value = self.returned.take().ok_or_else(missing)?;
        if let Some(observer) = &mut self.observer {
            observer.returned(self.running.len(), Argument { name: Arc::clone(name.base()), value: value.clone() });
        }
        self.machine.set(slot, value);
        Ok(())
    }

    fn next_element(&mut self, list: &Value, procedure: u32) -> Evaluation<()> {
        let mut elements = list.elements();
        let Some(element) = elements.next() else { return Ok(()) };
        self.work.push(Work::ForEach { rest: elements.rest().clone(), procedure });
        self.call(procedure, vec![element.clone()], None)
    }

    /// Executes a statement, and notifies the observer.
    #[cold]
    fn observed(&mut self, statement: &Statement) -> Evaluation<()> {
        let code: &'c Code = self.machine.code;
        let (units_before, depth) = (self.machine.gas.units(), self.running.len());
        let component = self.running.last().map_or("", |component| &**component.name.base());
        let used = statement.names.used.iter().filter_map(|name| self.named(name)).collect();
        let outcome = self.statement(statement);
        // A call opens the frame of the procedure, so the bound variable is not in the open frame.
        let has_bound = outcome.is_ok() && !matches!(statement.kind, StatementKind::Call { .. });
        let bound = statement.names.bound.as_ref().filter(|_| has_bound).and_then(|name| self.named(name));
        let step = Step {
            component,
            depth,
            location: code.location(statement.place),
            text: code.line_of(statement.place),
            units_before,
            units_after: self.machine.gas.units(),
            used,
            bound,
            failed: outcome.is_err(),
        };
        if let Some(observer) = &mut self.observer {
            observer.statement(step);
        }
        outcome
    }

    fn named(&self, (name, variable): &(Name, Variable)) -> Option<Argument> {
        let value = self.machine.look_up(*variable).ok()?;
        Some(Argument { name: Arc::clone(name.base()), value })
    }

    fn statement(&mut self, statement: &Statement) -> Evaluation<()> {
        let outcome = self.execute(statement);
        // A failed read has done work too, so its work is counted before the failure is returned.
        if self.unpaid > 0 { self.count_unpaid(statement.place).and(outcome) } else { outcome }
    }

    fn execute(&mut self, statement: &Statement) -> Evaluation<()> {
        let place = statement.place;
        match &statement.kind {
            StatementKind::Accept => {
                self.charge(1, place)?;
                self.accept()
            }
            StatementKind::Bind { slot, value } => {
                self.charge(1, place)?;
                let value = self.machine.evaluate(*value)?;
                self.machine.set(*slot, value);
                Ok(())
            }
            StatementKind::BlockNumber { slot } => {
                self.charge(1, place)?;
                let number = self.host.block_number().map_err(|error| host_failure(error, None))?;
                self.machine.set(*slot, Value::BNum(number));
                Ok(())
            }
            StatementKind::Call { slot, procedure, arguments } => {
                self.charge(1, place)?;
                // Each argument is copied twice: into a list, and from the list into the frame.
                self.machine.spend_beyond(arguments.len() as u64, 2 * arguments.len())?;
                let arguments = self.look_up_all(arguments)?;
                self.call(known(procedure)?, arguments, slot.clone())
            }
            StatementKind::Cast { slot, address, ty } => self.cast(*slot, *address, ty, place),
            StatementKind::ChainId { slot } => {
                self.charge(1, place)?;
                let id = self.host.chain_id().map_err(|error| host_failure(error, None))?;
                self.machine.set(*slot, Value::from(id));
                Ok(())
            }
            StatementKind::Event(event) => {
                let event = self.charge_size(*event, 0, place)?;
                self.event(&event)
            }
            StatementKind::ForEach { list, procedure } => {
                let list = self.nowhere(*list)?;
                self.charge(length(&list)?, place)?;
                let procedure = known(procedure)?;
                self.work.push(Work::ForEach { rest: list, procedure });
                Ok(())
            }
            StatementKind::Load { slot, field } => {
                let missing = || self.at(field, format!("Error loading field: {}", field.name));
                let declared = self.field(field).ok_or_else(missing)?;
                let found = self.load(declared, &[], field, place)?;
                let value = found.ok_or_else(|| self.at(field, format!("Error loading field: {}", field.name)))?;
                self.charge_and_set(*slot, value, 0, place)
            }
            StatementKind::LoadBalance { slot } => {
                let value = Value::from(self.balance);
                self.charge_and_set(*slot, value, 0, place)
            }
            StatementKind::MapDelete { map, keys } => {
                self.charge(keys.len() as u64, place)?;
                let keys = self.keys(keys)?;
                let declared = self.declared(map)?;
                self.paid(|host| host.delete(declared, &keys)).map_err(|error| self.read_failure(error, map, place))
            }
            StatementKind::MapGet { slot, map, keys, want } => self.map_get(*slot, map, keys, *want, place),
            StatementKind::MapPut { map, keys, value } => {
                let value = self.charge_size(*value, keys.len() as u64, place)?;
                let keys = self.keys(keys)?;
                let declared = self.declared(map)?;
                self.paid(|host| host.store(declared, &keys, value))
                    .map_err(|error| self.read_failure(error, map, place))
            }
            StatementKind::Match { scrutinee, clauses } => {
                self.charge(clauses.len() as u64, place)?;
                let value = self.machine.look_up(*scrutinee)?;
                for (pattern, body) in clauses {
                    if self.machine.fits(pattern, &value)? {
                        self.work.push(Work::Statements(Arc::clone(body), 0));
                        return Ok(());
                    }
                }
                let text = self.machine.settings.print(&value);
                let ty = "Value does not match any clause of pattern matching statement";
                Err(failure(format!("{ty}: {text}\ndoes not match any clause.")))
            }
            StatementKind::RemoteLoad { slot, address, field } => {
                let missing = "Expected remote load address to be ByStr20 value";
                let address = self.address(*address, missing)?;
                let value = self.remote_load(&address, &field.name, Some((field, place)))?;
                self.charge_and_set(*slot, value, 0, place)
            }
            StatementKind::RemoteMapGet { slot, address, map, keys, want } => {
                let address = self.address(*address, "Expected address to be ByStr20 value")?;
                let value = self.remote_map_get(&address, map, keys, *want, place)?;
                self.charge_and_set(*slot, value, keys.len() as u64, place)
            }
            StatementKind::Return(value) => {
                self.charge(1, place)?;
                self.returned = Some(self.machine.look_up(*value)?);
                Ok(())
            }
            StatementKind::Send(messages) => {
                let messages = self.charge_size(*messages, 0, place)?;
                self.send(&messages)
            }
            StatementKind::Store { field, value } => {
                let value = self.charge_size(*value, 0, place)?;
                let declared = self.declared(field)?;
                self.paid(|host| host.store(declared, &[], value))
                    .map_err(|error| self.read_failure(error, field, place))
            }
            StatementKind::Throw(exception) => Err(self.throw(*exception, place)?),
            StatementKind::Timestamp { slot, block } => {
                self.charge(1, place)?;
                let block = self.machine.look_up(*block)?;
                let Value::BNum(block) = &block else {
                    let text = self.machine.settings.print(&block);
                    let message = format!("Timestamp argument of incorrect type. Expected BNum.: {text}");
                    return Err(Failure::of(Entry::at(self.location(place), message)));
                };
                let found = self.paid(|host| Ok(host.timestamp(block))).map_err(|_| self.out_of_gas(place))?;
                let time = found.map(|time| Value::Integer(Integer::from_u64(time)));
                let ty = Type::Primitive(Primitive::Uint(Width::W64));
                self.machine.set(*slot, Value::option(ty, time));
                Ok(())
            }
        }
    }

    fn charge(&mut self, units: u64, place: Place) -> Evaluation<()> {
        self.machine.gas.charge(units).map_err(|_| self.out_of_gas(place))
    }

    fn out_of_gas(&self, place: Place) -> Failure {
        Failure::of(Entry::at(self.location(place), "Ran out of gas after evaluating statement"))
    }

    /// Charges the size of a value that leaves the run, plus `more` units. Returns the value.
    fn charge_size(&mut self, variable: Variable, more: u64, place: Place) -> Evaluation<Value> {
        let value = self.nowhere(variable)?;
        self.charge(value.size().saturating_add(more), place)?;
        self.machine.leave(&value)?;
        Ok(value)
    }

    /// Charges the size and the sort cost of a value that the statement read, plus `more` units. Puts the value into
    /// the frame.
    fn charge_and_set(&mut self, slot: u32, value: Value, more: u64, place: Place) -> Evaluation<()> {
        self.charge(value.size().saturating_add(value.sort_cost()).saturating_add(more), place)?;
        self.count_unpaid(place)?;
        self.machine.go_through(&value)?;
        self.machine.set(slot, value);
        Ok(())
    }

    fn location(&self, place: Place) -> Location {
        self.machine.code.location(place)
    }

    fn at(&self, field: &FieldUse, message: String) -> Failure {
        Failure::of(Entry::at(self.location(field.place), message))
    }

    /// Looks up a variable for a charge. The failure for an unbound variable has no location.
    fn nowhere(&self, variable: Variable) -> Evaluation<Value> {
        self.machine.look_up(variable).map_err(|failed| {
            let entries = failed.into_entries().into_iter().map(|entry| Entry::nowhere(entry.message)).collect();
            Failure::from_entries(entries).unwrap_or_else(|| internal("a failure says nothing"))
        })
    }

    fn look_up_all(&self, variables: &[Variable]) -> Evaluation<Vec<Value>> {
        variables.iter().map(|variable| self.machine.look_up(*variable)).collect()
    }
}

fn known(procedure: &Result<u32, Name>) -> Evaluation<u32> {
    procedure.clone().map_err(|name| failure(format!("Procedure not found: {}", name.as_written())))
}

/// Returns the number of elements of a list, or of entries of a map. Fails for any other value.
fn length(of: &Value) -> Evaluation<u64> {
    if let Value::Map(map) = of {
        return Ok(map.len() as u64);
    }
    let mut elements = of.elements();
    let count = elements.by_ref().count() as u64;
    let is_list = elements.rest().as_adt().is_some_and(|end| end.is(crate::value::Constructor::nil()));
    is_list.then_some(count).ok_or_else(|| failure("eval_gas_charge: Can only take length of Maps and Lists"))
}
