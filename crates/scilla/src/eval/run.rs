//! Deployments, messages, libraries and single expressions, from beginning to end.
//!
//! The caller decides which files to read, and when. Each step starts with the gas that remains after the previous
//! step.
//!
//! ```text
//! Meter ─▶ Code::load ─▶ Loaded ─▶ check_version ─▶ deploy ─▶ Deployment
//!          libraries                              └▶ call ──▶ Outcome
//! ```

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    address::{Claim, check_all, check_type},
    machine::{Evaluation, Machine, failure, internal},
    observer::Observer,
    statement::{Execution, host_failure, total_amount},
};
use crate::{
    argument::{Argument, IncomingMessage},
    code::{Code, ComponentCode, ContractCode, LibraryValues},
    gas::{Exhausted, Meter},
    host::{Host, StateField},
    implicit,
    json::ListForm,
    name::Name,
    report::Failure,
    rules::Rules,
    syntax::ast::ComponentKind,
    types::Type,
    value::{Message as Sent, Value},
    version::VERSION,
};

/// Options of a run and of its error texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Whether error texts show values as literals. Nodes set this option. If false, error texts show values as JSON.
    pub pretty_literals: bool,
    /// The rules of the run. They should be the rules under which the names of the program were resolved.
    pub rules: Rules,
}

impl Default for Settings {
    fn default() -> Self {
        Self { pretty_literals: true, rules: Rules::default() }
    }
}

/// Largest size of a value that an error text shows, in units of the interpreter. With the default gas limits of
/// blocks, no transaction pays for a larger value.
const MAX_PRINTED_SIZE: u64 = 1 << 24;
/// Largest number of parts of a value that an error text shows.
const MAX_PRINTED_PARTS: u64 = 1 << 20;

impl Settings {
    /// Returns a value as text, or a placeholder for a value above [`MAX_PRINTED_SIZE`] or [`MAX_PRINTED_PARTS`].
    pub(super) fn print(self, value: &Value) -> String {
        if value.size() > MAX_PRINTED_SIZE || value.parts() > MAX_PRINTED_PARTS {
            "<a large value>".to_owned()
        } else if self.pretty_literals {
            value.literal().to_string()
        } else {
            value.to_json(ListForm::Constructors).root().compact().to_string()
        }
    }
}

/// A failed run, with the remaining gas.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{failure}")]
pub struct Failed {
    /// Reason of the failure.
    pub failure: Failure,
    /// The remaining gas. A report of this gas does not include the minimum charge of a successful run.
    pub gas: Meter,
}

/// The result of a deployment.
#[derive(Clone, Debug)]
pub struct Deployment {
    /// The fields with their initial values, in the order of their declaration.
    pub fields: Vec<StateField>,
    /// The remaining gas.
    pub gas: Meter,
}

/// The result of a message, in addition to the changes that the host received.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Whether the contract accepted the amount.
    pub accepted: bool,
    /// The balance of the contract, in Qa. It includes an accepted amount, and excludes the amounts of sent messages.
    pub balance: u128,
    /// The sent messages, the oldest first.
    pub messages: Vec<Arc<Sent>>,
    /// The events, the newest first.
    pub events: Vec<Arc<Sent>>,
    /// The remaining gas.
    pub gas: Meter,
}

/// The result of an expression.
#[derive(Clone, Debug)]
pub struct Evaluated {
    /// The value of the expression.
    pub value: Value,
    /// The variables in scope at the last node of the program tree outside of functions, the latest binding first.
    pub bindings: Vec<(Arc<str>, Value)>,
    /// The remaining gas.
    pub gas: Meter,
}

/// A program whose libraries have been evaluated.
#[derive(Clone, Debug)]
pub struct Loaded {
    code: Arc<Code>,
    settings: Settings,
    globals: Arc<[Value]>,
    /// The remaining gas.
    pub gas: Meter,
}

impl Code {
    /// Evaluates the libraries of the program.
    ///
    /// The program keeps the values for later runs under two conditions. The evaluation counts no nanoseconds of work.
    /// Its cost in units plus its work in parts of values is at most 1000 plus the number of nodes. A later run with
    /// the same cost formulas and enough gas pays the same charge, and does not evaluate the libraries.
    ///
    /// # Errors
    ///
    /// If an entry of a library fails, or the gas does not suffice.
    pub fn load(self: &Arc<Self>, settings: Settings, gas: Meter) -> Result<Loaded, Failed> {
        let loaded = |globals: &Arc<[Value]>, gas| Loaded {
            code: Arc::clone(self),
            settings,
            globals: Arc::clone(globals),
            gas,
        };
        let costs = settings.rules.builtin_costs();
        // The charge can exceed a limit of work. The libraries are then evaluated, because the evaluation has to fail
        // at the entry that exceeds the limit. This evaluation starts with the meter from before the charge.
        let mut charged = gas;
        if let Some(cached) = self.library_cache.get()
            && cached.costs == costs
            && charged.charge(cached.units).is_ok()
        {
            return Ok(loaded(&cached.values, charged));
        }
        let (before, worked) = (gas.units(), gas.work().done());
        let unset: Arc<[Value]> = std::iter::repeat_n(Value::from(0_u32), self.globals).collect();
        let mut machine = Machine::new(self, settings, gas, unset);
        machine.libraries().map_err(|failure| Failed { failure, gas: machine.gas })?;
        let effort = machine.effort();
        let (globals, gas) = (machine.globals, machine.gas);
        let units = before - gas.units();
        // Whether work exceeds its limit depends on the gas used at that point. So libraries with counted work are
        // evaluated in each run.
        if units.saturating_add(effort) <= self.max_library_units() && gas.work().done() == worked {
            // Another thread may have set the values first. Its values are equal to these.
            self.library_cache.set(LibraryValues { values: Arc::clone(&globals), units, costs }).ok();
        }
        Ok(loaded(&globals, gas))
    }
}

impl Machine<'_> {
    /// Evaluates each library after its imports, and once for each import.
    ///
    /// A program may have far more imports than libraries. Each of these imports evaluates at least one value, which
    /// costs gas. So gas limits the number of imports.
    fn libraries(&mut self) -> Evaluation<()> {
        let libraries = &self.code.libraries;
        let mut pending = vec![(libraries.len().saturating_sub(1), 0)];
        while let Some((index, imported)) = pending.pop() {
            let Some(library) = libraries.get(index) else { return Err(internal("a library is missing")) };
            if let Some(import) = library.imports.get(imported) {
                pending.extend([(index, imported + 1), (*import, 0)]);
                continue;
            }
            for entry in &library.values {
                let value = self.outermost(entry.node)?;
                let globals = Arc::get_mut(&mut self.globals);
                if let Some(place) = globals.and_then(|globals| globals.get_mut(entry.global as usize)) {
                    *place = value;
                }
            }
        }
        Ok(())
    }
}

/// Interpreter units that the reference charges before it reports different versions.
const VERSION_CHARGE: u64 = 97;

impl Loaded {
    /// Checks that the module, the init parameters and this implementation have the same version of the language.
    ///
    /// # Errors
    ///
    /// If the versions differ. The charge may exceed the remaining gas, because the reference does not check the gas
    /// here. The number of remaining units then wraps around, and a report shows a huge number.
    pub fn check_version(&self, init: Option<&Value>) -> Result<(), Failed> {
        let stated = init.is_some_and(|version| *version == Value::from(0_u32));
        if stated && *self.code.version == *VERSION {
            return Ok(());
        }
        let mut gas = self.gas;
        gas.charge_unchecked(VERSION_CHARGE);
        Err(Failed { failure: failure("Scilla version mismatch"), gas })
    }

    /// Evaluates the constraint of a contract and the initial values of its fields.
    ///
    /// # Errors
    ///
    /// If the program has no contract, the constraint does not hold, an expression fails, or an initial value contains
    /// a function.
    pub fn initial_fields(&self, init: &[Argument]) -> Result<Deployment, Failed> {
        let mut machine = self.machine();
        let contract = self.contract().map_err(|failure| self.failed(failure))?;
        machine.parameters = parameters(contract, init);
        let fields = initial_fields(contract, &mut machine);
        let gas = machine.gas;
        match fields {
            Ok(fields) => Ok(Deployment { fields, gas }),
            Err(failure) => Err(Failed { failure, gas }),
        }
    }

    /// Deploys a contract. If there is a host, also checks the addresses among the parameters, and stores the fields.
    ///
    /// # Errors
    ///
    /// If the constraint does not hold, an expression fails, the parameters do not match the contract, or the host
    /// fails.
    pub fn deploy(&self, init: &[Argument], host: Option<&mut dyn Host>) -> Result<Deployment, Failed> {
        let deployment = match self.initialised(init)? {
            Some(again) => again.initial_fields(init)?,
            None => self.initial_fields(init)?,
        };
        let mut gas = deployment.gas;
        let finish = || {
            let claims = self.check_parameters(init)?;
            let Some(host) = host else { return Ok(()) };
            check_all(claims, &mut gas, host)?;
            for (field, made) in self.code.fields().zip(&deployment.fields) {
                host.limit(gas.units(), gas.work().left());
                let stored = host.store(field, &[], made.value.clone());
                gas.record(host.worked()).map_err(|exhausted| failure(exhausted.to_string()))?;
                stored.map_err(|error| host_failure(error, None))?;
            }
            Ok(())
        };
        // The reported gas includes the charges of the checks only if a check fails. The work of the checks always
        // counts.
        finish().map_err(|failure| Failed { failure, gas })?;
        Ok(Deployment { gas: deployment.gas.with_work(gas.work()), ..deployment })
    }

    /// Evaluates the libraries again, if the rules require an evaluation in each run. Otherwise, returns `None`.
    ///
    /// # Errors
    ///
    /// If the parameters do not match the contract. The errors of [`Code::load`] too.
    fn initialised(&self, init: &[Argument]) -> Result<Option<Self>, Failed> {
        if !self.settings.rules.initialises_each_run() {
            return Ok(None);
        }
        self.check_parameters(init).map_err(|failure| self.failed(failure))?;
        self.code.load(self.settings, self.gas).map(Some)
    }

    /// Checks that the init parameters match the parameters of the contract. Returns the addresses whose types the
    /// host must confirm.
    fn check_parameters(&self, init: &[Argument]) -> Evaluation<Vec<Claim>> {
        let mut claims = Vec::new();
        let contract = self.contract()?;
        let entries = init.iter().filter(|entry| is_parameter(&entry.name));
        let given = Given::of(entries.map(|entry| (&*entry.name, &entry.value)));
        for (name, ty) in &contract.parameters {
            let found = given.get(name.base()).ok_or_else(|| {
                failure(format!("No init entry found matching contract parameter: {}", name.as_written()))
            })?;
            self.check_value(ty, found, &mut claims)?;
        }
        if let Some(unknown) = given.other_than(contract.parameters.iter().map(|(name, _)| name)) {
            return Err(failure(format!("Parameter is not specified in the contract: {unknown}")));
        }
        if !given.are_distinct() {
            return Err(failure("Duplicate init arguments entries found"));
        }
        Ok(claims)
    }

    fn check_value(&self, ty: &Type, value: &Value, claims: &mut Vec<Claim>) -> Evaluation<()> {
        check_type(ty, value, &self.code.data_types, &|value| self.settings.print(value), claims)
    }

    /// Runs the transition that a message names.
    ///
    /// If the transition fails, the caller must discard the changes that the host received.
    ///
    /// # Errors
    ///
    /// If the init parameters do not match the contract, the message does not match the transition, or the transition
    /// fails.
    pub fn call(
        &self,
        init: &[Argument],
        message: &IncomingMessage,
        balance: u128,
        host: &mut dyn Host,
    ) -> Result<Outcome, Failed> {
        self.call_observed(init, message, balance, host, None)
    }

    /// Runs the transition that a message names, and sends each statement to the observer.
    ///
    /// # Errors
    ///
    /// The errors of [`Self::call`].
    pub fn call_observed(
        &self,
        init: &[Argument],
        message: &IncomingMessage,
        balance: u128,
        host: &mut dyn Host,
        observer: Option<&mut dyn Observer>,
    ) -> Result<Outcome, Failed> {
        let mut machine = self.machine();
        if let Some(again) = self.initialised(init)? {
            // The run pays for the initial values of the fields, and drops them.
            machine = self.machine_with(again.initial_fields(init)?.gas);
        }
        let outcome = self.check_parameters(init).and_then(|_| {
            let contract = self.contract()?;
            machine.parameters = parameters(contract, init);
            self.transition(contract, &mut machine, message, balance, host, observer)
        });
        let gas = machine.gas;
        outcome.map_err(|failure| Failed { failure, gas })
    }

    fn transition<'c>(
        &'c self,
        contract: &'c ContractCode,
        machine: &mut Machine<'c>,
        message: &IncomingMessage,
        balance: u128,
        host: &mut dyn Host,
        observer: Option<&mut dyn Observer>,
    ) -> Evaluation<Outcome> {
        let transitions = || contract.components.iter().filter(|it| it.kind == ComponentKind::Transition);
        let transition = transitions().find(|transition| *transition.name.base() == message.tag);
        let transition =
            transition.ok_or_else(|| failure(format!("No contract transition for tag found: {}", message.tag)))?;
        let given = Given::of(message.entries.iter().map(|entry| (&*entry.name, &entry.value)));
        let claims = self.check_message(transition, &given)?;
        let before = machine.gas.units();
        check_all(claims, &mut machine.gas, host)?;
        if machine.gas.units() > before {
            // The unchecked charges went below zero, and the number of units wrapped around. The reference continues
            // with this number. Here the run fails, because no sender could pay for so much gas.
            machine.gas = Meter::with_units(0).with_work(machine.gas.work());
            return Err(failure(Exhausted.to_string()));
        }
        let value = |name: &str| given.get(name).cloned();
        let message_values: Option<Vec<Value>> = crate::lower::MESSAGE_NAMES.iter().map(|name| value(name)).collect();
        machine.message = message_values.ok_or_else(|| internal("a message has no sender"))?;
        machine.message_entries =
            message.entries.iter().map(|entry| (Arc::clone(&entry.name), entry.value.clone())).collect();
        // In procedures too, a parameter of the transition hides the contract parameter of the same name. The reason is
        // that `Zilliqa/scilla: src/eval/Eval.ml` runs procedures in the environment that has the message.
        for (place, (name, _)) in machine.parameters.iter_mut().zip(&contract.parameters) {
            if let Some(hiding) = value(name.base()) {
                *place = hiding;
            }
        }
        let arguments = transition.parameters.iter().filter_map(|(name, _)| value(name.base())).collect();
        // The cast shortens the lifetime of the observer, because the host has another lifetime.
        let observer = observer.map(|observer| observer as &mut dyn Observer);
        let mut execution = Execution::new(machine, host, balance, observer);
        execution.run(transition, arguments)?;
        let (accepted, balance) = (execution.accepted, execution.balance);
        let (messages, mut events) = (std::mem::take(&mut execution.messages), std::mem::take(&mut execution.events));
        events.reverse();
        let sent = total_amount(&messages)?;
        let left = balance.checked_sub(sent).ok_or_else(|| {
            let text = "The balance is too low to transfer all the funds in the messages";
            failure(format!("{text}: balance = {balance}, amount to transfer = {sent}"))
        })?;
        Ok(Outcome { accepted, balance: left, messages, events, gas: machine.gas })
    }

    /// Checks that a message has the parameters of a transition. Returns the addresses whose types the host must
    /// confirm.
    fn check_message(&self, transition: &ComponentCode, given: &Given<'_>) -> Evaluation<Vec<Claim>> {
        let implicit = implicit::message_parameters().map(|(name, ty)| (Name::simple(name), ty));
        let parameters = || implicit.iter().chain(&transition.parameters);
        let mut claims = Vec::new();
        for (name, ty) in parameters() {
            let found = given
                .get(name.base())
                .ok_or_else(|| failure(format!("No message entry found matching parameter: {}", name.as_written())))?;
            let before = claims.len();
            self.check_value(ty, found, &mut claims)?;
            if matches!(&**name.base(), "_sender" | "_origin") {
                // The accounts of `_sender` and `_origin` exist, so their claims need no check.
                claims.truncate(before);
            }
        }
        if let Some(unknown) = given.other_than(parameters().map(|(name, _)| name)) {
            return Err(failure(format!("No parameter found matching message entry: {unknown}")));
        }
        if !given.are_distinct() {
            return Err(failure("Duplicate message entries found"));
        }
        Ok(claims)
    }

    /// Evaluates the expression of the program.
    ///
    /// # Errors
    ///
    /// If the evaluation fails, or the program is not an expression.
    pub fn evaluate(&self) -> Result<Evaluated, Failed> {
        let mut machine = self.machine();
        let node = self.code.expression.ok_or_else(|| self.failed(internal("this is no expression")))?;
        let traced = machine.traced(node);
        let gas = machine.gas;
        let (value, last, frame) = traced.map_err(|failure| Failed { failure, gas })?;
        machine.go_through(&value).map_err(|failure| Failed { failure, gas })?;
        let names = self.code.bound_at(last);
        let mut bindings: Vec<(Arc<str>, Value)> = Vec::new();
        for (name, slot) in names {
            // A binding replaces an earlier one of the same name, and counts as the latest.
            bindings.retain(|(bound, _)| *bound != name);
            bindings.extend(frame.get(slot as usize).map(|value| (name, value.clone())));
        }
        for (_, value) in &bindings {
            machine.go_through(value).map_err(|failure| Failed { failure, gas })?;
        }
        bindings.reverse();
        Ok(Evaluated { value, bindings, gas })
    }

    fn contract(&self) -> Evaluation<&ContractCode> {
        self.code.contract.as_ref().ok_or_else(|| internal("this is no contract"))
    }

    fn machine(&self) -> Machine<'_> {
        self.machine_with(self.gas)
    }

    fn machine_with(&self, gas: Meter) -> Machine<'_> {
        Machine::new(&self.code, self.settings, gas, Arc::clone(&self.globals))
    }

    const fn failed(&self, failure: Failure) -> Failed {
        Failed { failure, gas: self.gas }
    }
}

/// Returns whether an init parameter is a parameter of the program. `_extlibs` is not.
fn is_parameter(name: &str) -> bool {
    name != "_extlibs"
}

/// The parameter values that the caller gives.
struct Given<'a> {
    in_order: Vec<(&'a str, &'a Value)>,
    /// The values by name. If a name has several values, the map has the first one.
    by_name: BTreeMap<&'a str, &'a Value>,
}

impl<'a> Given<'a> {
    fn of(entries: impl Iterator<Item = (&'a str, &'a Value)>) -> Self {
        let in_order: Vec<_> = entries.collect();
        let by_name = in_order.iter().rev().copied().collect();
        Self { in_order, by_name }
    }

    fn get(&self, name: &str) -> Option<&'a Value> {
        self.by_name.get(name).copied()
    }

    /// Returns the first given name that is not among `names`, or `None` if all given names are among them.
    fn other_than<'n>(&self, names: impl Iterator<Item = &'n Name>) -> Option<&'a str> {
        let known: BTreeSet<&str> = names.map(|name| &**name.base()).collect();
        self.in_order.iter().map(|(name, _)| *name).find(|name| !known.contains(name))
    }

    fn are_distinct(&self) -> bool {
        self.by_name.len() == self.in_order.len()
    }
}

/// Returns the values of the parameters, in the order of the contract. A missing value becomes `False`, and a later
/// check reports it.
fn parameters(contract: &ContractCode, init: &[Argument]) -> Vec<Value> {
    let by_name: BTreeMap<_, _> = init.iter().map(|entry| (&*entry.name, &entry.value)).collect();
    let value = |name: &Name| by_name.get(&**name.base()).map_or_else(|| Value::bool(false), |value| (*value).clone());
    contract.parameters.iter().map(|(name, _)| value(name)).collect()
}

fn initial_fields(contract: &ContractCode, machine: &mut Machine<'_>) -> Evaluation<Vec<StateField>> {
    let constraint = machine.outermost(contract.constraint)?;
    if constraint.as_bool() != Some(true) {
        return Err(failure("Contract constraint violation"));
    }
    let fields = contract.fields.iter().map(|code| {
        let value = machine.outermost(code.initial)?;
        machine.leave(&value)?;
        let (name, ty) = (Arc::clone(&code.field.name), code.field.ty.clone());
        if is_storable(&value) {
            Ok(StateField { name, ty, value })
        } else {
            Err(failure(format!("Closure cannot be stored in a field: {name}")))
        }
    });
    fields.collect()
}

/// Returns whether a value contains no functions. Does not check values inside maps.
fn is_storable(value: &Value) -> bool {
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        match value {
            Value::Closure(_) | Value::TypeClosure(_) => return false,
            Value::Adt(adt) => pending.extend(adt.arguments()),
            Value::Message(message) => pending.extend(message.entries().iter().map(|entry| &entry.value)),
            Value::BNum(_)
            | Value::ByStr(_)
            | Value::ByStrX(_)
            | Value::Integer(_)
            | Value::Map(_)
            | Value::String(_) => {}
        }
    }
    true
}

/// Merges the initial values of fields with a state file.
///
/// Fields that are missing in the file keep their initial values, and come first in the result.
///
/// # Errors
///
/// If the file has a field twice, a field that the contract does not declare with the same type, or an invalid value.
pub fn local_state(
    loaded: &Loaded,
    initial: Vec<StateField>,
    current: Vec<StateField>,
) -> Result<Vec<StateField>, Failure> {
    let declared: BTreeMap<&str, &StateField> = initial.iter().rev().map(|field| (&*field.name, field)).collect();
    for field in &current {
        let (name, ty) = (&field.name, field.ty.global());
        let Some(declared) = declared.get(&**name) else {
            return Err(failure(format!("Field not defined in the contract: field {name} of type {ty}")));
        };
        if declared.ty != field.ty {
            let declared = declared.ty.global();
            let text = "State type of field does not match the declared type";
            return Err(failure(format!("{text}: Field {name} : {ty} does not match the declared type {declared}")));
        }
        loaded.check_value(&field.ty, &field.value, &mut Vec::new())?;
    }
    let current_names: BTreeSet<&str> = current.iter().map(|field| &*field.name).collect();
    if current_names.len() != current.len() {
        return Err(failure("Duplicate field entries found"));
    }
    let mut fields: Vec<StateField> =
        initial.into_iter().filter(|field| !current_names.contains(&*field.name)).collect();
    fields.extend(current);
    Ok(fields)
}
