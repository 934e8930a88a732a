//! Transitions and procedures.

use std::{collections::BTreeSet, mem, sync::Arc};

use super::{
    address::{Claim, cost},
    machine::{Evaluation, Frame, Machine, failure, internal},
    observer::{Observer, Step},
};
use crate::{
    argument::Argument,
    code::{Code, ComponentCode, Field, FieldUse, Place, Statement, StatementKind, Statements, Variable},
    gas::Exhausted,
    host::{Address, BALANCE, Host, HostError, RemoteWant, type_behind},
    name::Name,
    report::{Entry, Failure},
    rules::Exceptions,
    source::Location,
    syntax::ast::Want,
    types::{AddressType, Primitive, Type, Width},
    value::{Hex, Integer, Key, Message, Value},
    work::weight,
};

/// A stack of the remaining work. The next item is the last.
enum Work {
    /// Leave a procedure, and bind its result. `completed` was the length of the list of completed procedures at the
    /// call.
    Leave { caller: Frame, result: Option<(u32, Name)>, completed: usize },
    /// Call a procedure for each of these elements.
    ForEach { rest: Value, procedure: u32 },
    /// The statements from this one on.
    Statements(Statements, usize),
}

/// A transition that runs.
pub(super) struct Execution<'m, 'c, 'h> {
    machine: &'m mut Machine<'c>,
    host: &'h mut dyn Host,
    observer: Option<&'h mut dyn Observer>,
    /// The running components, the transition first.
    running: Vec<&'c ComponentCode>,
    /// The completed procedures that an exception lists, the newest last; empty if the rules list running procedures
    /// instead.
    completed: Vec<&'c ComponentCode>,
    /// The units of gas at the beginning.
    units: u64,
    work: Vec<Work>,
    /// Work of the statement that reads values, before their sizes are charged for.
    unpaid: u64,
    /// The value of the last `_return`.
    returned: Option<Value>,
    pub(super) balance: u128,
    pub(super) accepted: bool,
    pub(super) messages: Vec<Arc<Message>>,
    /// In the order in which they happened.
    pub(super) events: Vec<Arc<Message>>,
}

/// Bytes of completed procedures that an exception lists, whatever the gas.
const FREE_LISTED: u64 = 16_384;
/// Further bytes for each unit of gas that the run used. A completed procedure has used at least one.
const LISTED_PER_UNIT: u64 = 128;
/// Most bytes that an exception lists.
const MOST_LISTED: u64 = 10_000_000;
/// Bytes of an entry besides the name, as a receipt has them.
const LISTED_ENTRY: u64 = 64;

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

    /// Runs a transition with its own arguments.
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

    /// Opens the frame of a component and begins with its statements.
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
        // The next work after the procedure must lie below the work of the procedure.
        let place = self.work.len();
        let caller = self.begin(component, arguments);
        self.work.insert(place, Work::Leave { caller, result, completed: self.completed.len() });
        Ok(())
    }

    fn leave(&mut self, caller: Frame, result: Option<(u32, Name)>, completed: usize) -> Evaluation<()> {
        self.machine.close(caller);
        let left = self.running.pop();
        if self.machine.settings.rules.exceptions() == Exceptions::CompletedProcedures {
            // The list has its length at the call again: entries of the procedure are removed.
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
        // After a call, the open frame is that of the procedure.
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
        // A failed read, or one beyond the gas, has done its work too.
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
                // Each argument is copied twice: into a list, and into the frame.
                self.machine.spend_beyond(arguments.len() as u64, 2 * arguments.len())?;
                let arguments = self.look_up_all(arguments)?;
                self.call(known(procedure)?, arguments, slot.clone())
            }
            StatementKind::Cast { slot, address, kind } => self.cast(*slot, *address, kind, place),
            StatementKind::ChainId { slot } => {
                self.charge(1, place)?;
                let id = self.host.chain_id().map_err(|error| host_failure(error, None))?;
                self.machine.set(*slot, Value::uint32(id));
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
                let value = Value::uint128(self.balance);
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
                let kind = "Value does not match any clause of pattern matching statement";
                Err(failure(format!("{kind}: {text}\ndoes not match any clause.")))
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
                let kind = Type::Primitive(Primitive::Uint(Width::W64));
                self.machine.set(*slot, Value::option(kind, time));
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

    /// Charges for the size of a value that leaves the run, and `more`.
    fn charge_size(&mut self, variable: Variable, more: u64, place: Place) -> Evaluation<Value> {
        let value = self.nowhere(variable)?;
        self.charge(value.size().saturating_add(more), place)?;
        self.machine.leave(&value)?;
        Ok(value)
    }

    /// Charges for a value that was read, and `more`. Puts the value into the frame.
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

    /// Calls the host, whose work the gas so far pays for.
    fn paid<T>(&mut self, act: impl FnOnce(&mut dyn Host) -> Result<T, HostError>) -> Result<T, HostError> {
        self.host.limit(self.machine.gas.units(), self.machine.gas.work().left());
        let answer = act(self.host);
        self.machine.gas.record(self.host.worked()).map_err(|_| HostError::too_large())?;
        answer
    }

    /// Calls the host for a value whose size is charged for afterwards. Until then, its work is unpaid.
    fn unpaid<T>(&mut self, act: impl FnOnce(&mut dyn Host) -> Result<T, HostError>) -> Result<T, HostError> {
        let left = self.machine.gas.left_before_charge();
        self.host.limit(self.machine.gas.units(), left.saturating_sub(self.unpaid));
        let answer = act(self.host);
        self.unpaid = self.unpaid.saturating_add(self.host.worked());
        if self.unpaid > left {
            self.machine.gas.exceed_before_charge(mem::take(&mut self.unpaid));
            return Err(HostError::too_large());
        }
        answer
    }

    /// Counts the unpaid work of a statement.
    fn count_unpaid(&mut self, place: Place) -> Evaluation<()> {
        self.machine.gas.record(mem::take(&mut self.unpaid)).map_err(|_| self.out_of_gas(place))
    }

    /// Returns the failure of a statement that reads or writes a value.
    fn read_failure(&self, error: HostError, field: &FieldUse, place: Place) -> Failure {
        if error.is_too_large { self.out_of_gas(place) } else { host_failure(error, Some(self.location(field.place))) }
    }

    /// Reads a value whose size is charged for afterwards.
    fn load(&mut self, declared: &Field, keys: &[Key], field: &FieldUse, place: Place) -> Evaluation<Option<Value>> {
        self.unpaid(|host| host.load(declared, keys)).map_err(|error| self.read_failure(error, field, place))
    }

    /// Looks up a variable for a charge. An unbound variable is then reported without a place.
    fn nowhere(&self, variable: Variable) -> Evaluation<Value> {
        self.machine.look_up(variable).map_err(|failed| {
            let entries = failed.into_entries().into_iter().map(|entry| Entry::nowhere(entry.message)).collect();
            Failure::from_entries(entries).unwrap_or_else(|| internal("a failure says nothing"))
        })
    }

    fn look_up_all(&self, variables: &[Variable]) -> Evaluation<Vec<Value>> {
        variables.iter().map(|variable| self.machine.look_up(*variable)).collect()
    }

    fn keys(&self, variables: &[Variable]) -> Evaluation<Vec<Key>> {
        let key = |value| {
            Key::new(value).map_err(|value| {
                failure(format!("Map key is not of a primitive type: {}", self.machine.settings.print(&value)))
            })
        };
        variables.iter().map(|variable| key(self.machine.look_up(*variable)?)).collect()
    }

    fn field(&self, field: &FieldUse) -> Option<&'c Field> {
        let code: &'c Code = self.machine.code;
        let contract = code.contract.as_ref()?;
        Some(&contract.fields.get(field.field? as usize)?.field)
    }

    /// Returns the declaration of a field that is changed.
    fn declared(&self, field: &FieldUse) -> Evaluation<&'c Field> {
        let missing = || self.at(field, format!("StateService: Field \"{}\" not found.\n", field.name));
        self.field(field).ok_or_else(missing)
    }

    fn map_get(&mut self, slot: u32, map: &FieldUse, keys: &[Variable], want: Want, place: Place) -> Evaluation<()> {
        let count = keys.len();
        let keys = self.keys(keys)?;
        let declared = self.declared(map)?;
        let value = match want {
            Want::Existence => {
                let found = self.unpaid(|host| host.exists(declared, &keys));
                Value::bool(found.map_err(|error| self.read_failure(error, map, place))?)
            }
            Want::Value => {
                let found = self.load(declared, &keys, map, place)?;
                Value::option(behind(&declared.kind, count)?, found)
            }
        };
        self.charge_and_set(slot, value, count as u64, place)
    }

    fn address(&self, variable: Variable, otherwise: &str) -> Evaluation<Address> {
        let value = self.machine.look_up(variable)?;
        let bytes = if let Value::ByStrX(bytes) = &value { bytes.as_ref().try_into().ok() } else { None };
        bytes.ok_or_else(|| failure(otherwise))
    }

    /// Reads a field of another account. The balance of the sender does not include an accepted amount.
    fn remote_load(
        &mut self,
        address: &Address,
        name: &str,
        statement: Option<(&FieldUse, Place)>,
    ) -> Evaluation<Value> {
        let location = statement.map(|(field, _)| self.location(field.place));
        let found =
            self.unpaid(|host| host.remote(address, name, &[], RemoteWant::Value)).map_err(
                |error| match statement {
                    Some((field, place)) => self.read_failure(error, field, place),
                    None => host_failure(error, None),
                },
            )?;
        let Some(value) = found.and_then(|found| found.value) else {
            let message = format!("Error loading field: {name}");
            return Err(Failure::of(Entry::at(location.unwrap_or_default(), message)));
        };
        let [sender, _, amount] = self.machine.message.as_slice() else { return Err(internal("no message")) };
        let is_sender = sender.as_bytes().is_some_and(|sender| **sender == *address);
        if !(self.accepted && is_sender && name == "_balance") {
            return Ok(value);
        }
        let left = value.as_integer().zip(amount.as_integer()).and_then(|(balance, amount)| balance.sub(amount));
        left.map(Value::Integer).ok_or_else(|| {
            let (value, amount) = (self.machine.settings.print(&value), self.machine.settings.print(amount));
            let text = "Unexpected sender balance or amount literal";
            failure(format!("{text}: sender balance = {value}, amount = {amount}"))
        })
    }

    fn remote_map_get(
        &mut self,
        address: &Address,
        map: &FieldUse,
        keys: &[Variable],
        want: Want,
        place: Place,
    ) -> Evaluation<Value> {
        let keys = self.keys(keys)?;
        let remote = |execution: &mut Self, keys: &[Key], want| {
            let found = execution.unpaid(|host| host.remote(address, &map.name, keys, want));
            found.map_err(|error| execution.read_failure(error, map, place))
        };
        if want == Want::Existence {
            return Ok(Value::bool(remote(self, &keys, RemoteWant::Kind)?.is_some()));
        }
        // The type is queried first, because a missing entry has no type.
        let Some(field) = remote(self, &[], RemoteWant::Kind)? else {
            let (name, address) = (&map.name, Hex(address));
            let text = "Unable to fetch type for field at address";
            return Err(failure(format!("{text}: field {name}, address {address}")));
        };
        let kind = behind(&field.kind, keys.len())?;
        let found = remote(self, &keys, RemoteWant::Value)?;
        Ok(Value::option(kind, found.and_then(|found| found.value)))
    }

    fn cast(&mut self, slot: u32, address: Variable, kind: &AddressType, place: Place) -> Evaluation<()> {
        self.charge(cost(kind), place)?;
        let address = self.address(address, "Expected address or ByStr20 in type cast")?;
        let claim = Claim { address, kind: kind.clone() };
        let checked = self.paid(|host| claim.check(host)).map_err(|error| host_failure(error, None))?;
        let holds = checked.is_ok();
        let value = holds.then(|| Value::bystrx(address));
        self.machine.set(slot, Value::option(Type::Address(kind.clone()), value));
        Ok(())
    }

    /// Accepts the amount of the message. A second call has no effect.
    fn accept(&mut self) -> Evaluation<()> {
        if self.accepted {
            return Ok(());
        }
        let [sender, _, amount] = self.machine.message.as_slice() else { return Err(internal("no message")) };
        let bytes = sender.as_bytes().and_then(|bytes| bytes.as_ref().try_into().ok());
        let amount = amount.as_integer().and_then(Integer::to_u128);
        let (Some(sender), Some(amount)) = (bytes, amount) else {
            let text = self.machine.settings.print(sender);
            return Err(failure(format!("Incorrect type of _sender in environment: {text}")));
        };
        let balance = self.remote_load(&sender, "_balance", None)?;
        let Some(balance) = balance.as_integer().and_then(Integer::to_u128) else {
            let text = self.machine.settings.print(&balance);
            return Err(failure(format!("Unrecognized balance literal at sender: {text}")));
        };
        if amount > balance {
            let text = "Insufficient sender balance for acceptance: Incoming vs sender_balance";
            return Err(failure(format!("{text}: {amount} vs {balance}")));
        }
        self.balance = self.balance.wrapping_add(amount);
        self.accepted = true;
        Ok(())
    }

    fn send(&mut self, messages: &Value) -> Evaluation<()> {
        length(messages)?;
        for message in messages.elements() {
            let Value::Message(sent) = message else {
                let text = self.machine.settings.print(message);
                return Err(failure(format!("Literal is not a message, cannot be sent: {text}")));
            };
            if !has_each_once(sent, &["_tag", "_amount", "_recipient"]) {
                let text = self.machine.settings.print(message);
                let kind = "Message is missing a mandatory field or has duplicate fields";
                return Err(failure(format!("{kind}: {text}")));
            }
            self.messages.push(Arc::clone(sent));
        }
        Ok(())
    }

    fn event(&mut self, event: &Value) -> Evaluation<()> {
        let text = || self.machine.settings.print(event);
        let Value::Message(created) = event else {
            return Err(failure(format!("Incorrect event parameter(s): {}", text())));
        };
        if !has_each_once(created, &["_eventname"]) {
            let kind = "Event is missing a mandatory field or has duplicate fields";
            return Err(failure(format!("{kind}: {}", text())));
        }
        self.events.push(Arc::clone(created));
        Ok(())
    }

    /// Returns the failure of an exception, with the components that the rules list.
    fn throw(&mut self, exception: Option<Variable>, place: Place) -> Evaluation<Failure> {
        let message = if let Some(exception) = exception {
            let value = self.charge_size(exception, 0, place)?;
            format!("Exception thrown: {}", self.machine.settings.print(&value))
        } else {
            self.charge(1, place)?;
            "Exception thrown".to_owned()
        };
        let bytes = (message.len() as u64).saturating_mul(weight::JSON_BYTE);
        self.machine.gas.spend(bytes).map_err(|_| self.out_of_gas(place))?;
        let exception = Failure::of(Entry::at(self.location(place), message));
        Ok(match self.machine.settings.rules.exceptions() {
            Exceptions::CallStack => {
                self.running.iter().rev().map(|component| self.raised(component)).fold(exception, Failure::followed_by)
            }
            Exceptions::CompletedProcedures => {
                let listed = self.listed();
                let bytes: u64 = listed.iter().map(|component| bytes_of(component)).sum();
                self.machine.gas.spend(bytes.saturating_mul(weight::JSON_BYTE)).map_err(|_| self.out_of_gas(place))?;
                let raised = |component| self.raised(component);
                let transition = self.running.first();
                let listed = listed.into_iter().chain(transition.copied());
                listed.map(raised).fold(exception, Failure::followed_by)
            }
        })
    }

    fn raised(&self, component: &ComponentCode) -> Entry {
        Entry::at(self.location(component.place), format!("Raised from {}", component.name.as_written()))
    }

    /// Returns the completed procedures, the newest first, up to the limit for the gas used.
    fn listed(&self) -> Vec<&'c ComponentCode> {
        let used = self.units.saturating_sub(self.machine.gas.units());
        let mut left = used.saturating_mul(LISTED_PER_UNIT).saturating_add(FREE_LISTED).min(MOST_LISTED);
        let fits =
            |component: &&&'c ComponentCode| left.checked_sub(bytes_of(component)).map(|rest| left = rest).is_some();
        self.completed.iter().rev().take_while(fits).copied().collect()
    }
}

/// Returns the bytes of a component in the list of an exception.
fn bytes_of(component: &ComponentCode) -> u64 {
    LISTED_ENTRY.saturating_add(component.name.base().len() as u64)
}

fn known(procedure: &Result<u32, Name>) -> Evaluation<u32> {
    procedure.clone().map_err(|name| failure(format!("Procedure not found: {}", name.as_written())))
}

/// Returns the failure for an error of the host, with the place if the error asks for it.
pub(super) fn host_failure(error: HostError, location: Option<Location>) -> Failure {
    if error.is_too_large {
        return failure(Exhausted.to_string());
    }
    let location = location.filter(|_| error.at_field).unwrap_or_default();
    Failure::of(Entry::at(location, error.message))
}

/// Returns the type of the values of a map behind `keys` keys.
fn behind(kind: &Type, keys: usize) -> Evaluation<Type> {
    type_behind(kind, keys).cloned().ok_or_else(|| failure("Type failure in map access. Cannot index into key"))
}

/// Returns the number of elements of a list, or of entries of a map.
fn length(of: &Value) -> Evaluation<u64> {
    if let Value::Map(map) = of {
        return Ok(map.len() as u64);
    }
    let mut elements = of.elements();
    let count = elements.by_ref().count() as u64;
    let is_list = elements.rest().as_adt().is_some_and(|end| end.is(crate::value::Constructor::nil()));
    is_list.then_some(count).ok_or_else(|| failure("eval_gas_charge: Can only take length of Maps and Lists"))
}

/// Returns whether a message has each of these labels, and none twice.
fn has_each_once(message: &Message, labels: &[&str]) -> bool {
    let mut seen = BTreeSet::new();
    labels.iter().all(|label| message.get(label).is_some())
        && message.entries().iter().all(|entry| seen.insert(&*entry.label))
}

/// Returns the sum of the amounts of messages. A carry beyond 128 bits is lost, as in the reference.
pub(super) fn total_amount(messages: &[Arc<Message>]) -> Evaluation<u128> {
    messages.iter().try_fold(0, |sum: u128, message| {
        let amount = message.get("_amount").and_then(Value::as_integer);
        let amount = amount.filter(|amount| Type::from(Primitive::from(amount.kind())) == BALANCE);
        let amount =
            amount.and_then(Integer::to_u128).ok_or_else(|| failure("Message contents have no \"_amount\" field"))?;
        Ok(sum.wrapping_add(amount))
    })
}
