//! The gas of a call, computed by an independent model.
//!
//! The model walks the tree instead of the compiled code. It stores names in a list, does not cache sizes, and has its
//! own cost table from the documented rules. The model records every charge with its source position, so it also
//! predicts the end of a run with less gas. It supports only checked programs whose data are not deep, and numbers of
//! at most 127 bits.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "what does not fit the model fails the test")]

mod builtin;
mod expression;
mod statement;
mod value;

use std::{collections::BTreeMap, rc::Rc, sync::Arc};

use silica_scilla::{
    eval::{Argument, Failed, IncomingMessage, Outcome},
    host::MemoryHost,
    name::Name,
    resolve::{Imported, Program},
    source::{Location, Source},
    syntax::ast::{Arena, Component, ComponentKind, ContractModule, ExprId, Library, LibraryEntry},
    types::{AddressType, Type},
};

use self::value::Value;

/// A charge of the run.
#[derive(Clone, Debug)]
struct Charge {
    units: u64,
    /// Error text if the gas does not suffice.
    text: &'static str,
    /// File and line of this error.
    place: (Arc<str>, u32),
    /// Whether the failure uses all remaining gas.
    takes_the_rest: bool,
}

/// Reason why a run ends early.
#[derive(Debug)]
enum Stop {
    /// The model does not support the program.
    Beyond(String),
    /// The run fails for a reason other than gas.
    Failed,
}

/// The cost of a call.
#[derive(Debug)]
pub(crate) struct Costs {
    /// All charges, in the order of the run.
    charges: Vec<Charge>,
    /// Whether the call fails after these charges.
    pub(crate) fails: bool,
}

/// The end of a run: the remaining units. A failure also has the first error text, with file and line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) left: u64,
    pub(crate) failure: Option<(String, Arc<str>, u32)>,
}

impl End {
    pub(crate) fn of(outcome: Result<&Outcome, &Failed>) -> Self {
        match outcome {
            Ok(outcome) => Self { left: outcome.gas.units(), failure: None },
            Err(failed) => {
                let entry = &failed.failure.entries()[0];
                let place = &entry.start;
                let failure = (entry.message.clone(), Arc::clone(&place.file), place.line);
                Self { left: failed.gas.units(), failure: Some(failure) }
            }
        }
    }
}

impl Costs {
    /// Returns the cost of the call, in units.
    pub(crate) fn units(&self) -> u64 {
        self.charges.iter().map(|charge| charge.units).sum()
    }

    /// Returns whether the call fails before it begins, because a parameter does not meet its address type. In this
    /// case, the gas limit makes no difference.
    pub(crate) fn is_refused(&self) -> bool {
        self.fails && self.charges.last().is_some_and(|charge| charge.takes_the_rest)
    }

    /// Returns the end of a run with this number of units, or `None` if the units suffice.
    pub(crate) fn end_with(&self, units: u64) -> Option<End> {
        let mut left = units;
        for charge in &self.charges {
            let Some(rest) = left.checked_sub(charge.units) else {
                let (file, line) = &charge.place;
                let left = if charge.takes_the_rest { 0 } else { left };
                return Some(End { left, failure: Some((charge.text.to_owned(), Arc::clone(file), *line)) });
            };
            left = rest;
        }
        None
    }
}

const INSUFFICIENT: &str = "Insufficient gas";
const RAN_OUT: &str = "Ran out of gas after evaluating statement";

/// Returns the cost of a message to a contract, including its libraries. Fails if the model does not support the
/// program.
pub(crate) fn costs(
    program: &Program<ContractModule>,
    init: &[Argument],
    message: &IncomingMessage,
    balance: u128,
    host: &MemoryHost,
) -> Result<Costs, String> {
    let fields = host.fields.iter().map(|field| (field.name.to_string(), Value::of(&field.value))).collect();
    let amount = message.entries.iter().find(|entry| &*entry.name == "_amount");
    let mut run = Run {
        program,
        host,
        fields,
        sender: message.entries.iter().find(|entry| &*entry.name == "_sender").map(|entry| Value::of(&entry.value)),
        amount: amount.map_or(0, |entry| Value::of(&entry.value).number()),
        balance: i128::try_from(balance).unwrap(),
        accepted: false,
        base: Scope::default(),
        returned: None,
        charges: Vec::new(),
    };
    match run.message(init, message) {
        Ok(()) => Ok(Costs { charges: run.charges, fails: false }),
        Err(Stop::Failed) => Ok(Costs { charges: run.charges, fails: true }),
        Err(Stop::Beyond(what)) => Err(what),
    }
}

/// The source and the expressions of a module.
#[derive(Clone, Copy)]
struct Text<'p> {
    arena: &'p Arena,
    source: &'p Source,
}

/// Names with their values, the latest binding first.
#[derive(Clone, Default)]
struct Scope<'p>(Option<Rc<Bound<'p>>>);

struct Bound<'p> {
    name: Name,
    value: Value<'p>,
    before: Scope<'p>,
}

impl<'p> Scope<'p> {
    fn with(&self, name: &Name, value: Value<'p>) -> Self {
        Self(Some(Rc::new(Bound { name: name.clone(), value, before: self.clone() })))
    }

    fn get(&self, name: &Name) -> Value<'p> {
        let mut scope = self;
        while let Some(bound) = &scope.0 {
            if bound.name == *name {
                return bound.value.clone();
            }
            scope = &bound.before;
        }
        panic!("{} is bound nowhere", name.as_written())
    }
}

/// The state of a call.
struct Run<'p> {
    program: &'p Program<ContractModule>,
    host: &'p MemoryHost,
    fields: BTreeMap<String, Value<'p>>,
    sender: Option<Value<'p>>,
    amount: i128,
    balance: i128,
    accepted: bool,
    /// Names that every component can use.
    base: Scope<'p>,
    returned: Option<Value<'p>>,
    charges: Vec<Charge>,
}

impl<'p> Run<'p> {
    fn message(&mut self, init: &[Argument], message: &IncomingMessage) -> Result<(), Stop> {
        let program = self.program;
        self.libraries()?;
        for entry in init {
            self.bind(&entry.name, Value::of(&entry.value));
        }
        for entry in &message.entries {
            self.bind(&entry.name, Value::of(&entry.value));
        }
        let components = &program.main.contract.components;
        let called = |it: &&Component| it.kind == ComponentKind::Transition && *it.name.name.base() == message.tag;
        let transition = components.iter().find(called).ok_or(Stop::Failed)?;
        let given: Vec<_> = transition.parameters.iter().map(|it| self.base.get(&it.name.name)).collect();
        for (parameter, value) in transition.parameters.iter().zip(&given).rev() {
            self.claim(&parameter.ty, value)?;
        }
        self.component(transition, given)
    }

    fn bind(&mut self, name: &str, value: Value<'p>) {
        self.base = self.base.with(&Name::simple(name), value);
    }

    /// Evaluates the recursion principles, the imported libraries, and the library of the contract. An imported
    /// library is evaluated for each import, after its own imports.
    fn libraries(&mut self) -> Result<(), Stop> {
        for (name, types, is_continued) in [
            ("nat_fold", 1, false),
            ("nat_foldk", 1, true),
            ("list_foldl", 2, false),
            ("list_foldr", 2, false),
            ("list_foldk", 2, true),
        ] {
            self.charge(1, &expression::prelude(), INSUFFICIENT);
            let principle = expression::Function::principle(name, types, is_continued);
            self.bind(name, Value::function(principle));
        }
        let program = self.program;
        for import in &program.imports {
            self.import(import)?;
        }
        let main = &program.main;
        let text = Text { arena: &main.arena, source: &main.source };
        main.library.iter().try_for_each(|library| self.library(library, text))
    }

    fn import(&mut self, library: &'p Imported) -> Result<(), Stop> {
        for import in &library.imports {
            self.import(import)?;
        }
        let text = Text { arena: &library.module.arena, source: &library.module.source };
        self.library(&library.module.library, text)
    }

    fn library(&mut self, library: &'p Library, text: Text<'p>) -> Result<(), Stop> {
        for entry in &library.entries {
            if let LibraryEntry::Value { name, body, .. } = entry {
                let value = self.expression(text, *body, &self.base.clone())?;
                self.base = self.base.with(&name.name, value);
            }
        }
        Ok(())
    }

    /// Charges and checks a parameter that has an address type.
    fn claim(&mut self, ty: &Type, value: &Value<'p>) -> Result<(), Stop> {
        if let Type::Address(ty) = ty {
            let (units, place) = (address_units(ty), ("".into(), 0));
            self.charges.push(Charge { units, text: INSUFFICIENT, place, takes_the_rest: true });
            return if self.is_such(value, ty) { Ok(()) } else { Err(Stop::Failed) };
        }
        let written = ty.global().to_string();
        if written.contains(" with ") { Err(Stop::Beyond(format!("a parameter of type {written}"))) } else { Ok(()) }
    }

    fn charge(&mut self, units: u64, place: &Location, text: &'static str) {
        let place = (Arc::clone(&place.file), place.line);
        self.charges.push(Charge { units, text, place, takes_the_rest: false });
    }

    fn main_text(&self) -> Text<'p> {
        let main = &self.program.main;
        Text { arena: &main.arena, source: &main.source }
    }

    fn main_expression(&mut self, id: ExprId, known: &Scope<'p>) -> Result<Value<'p>, Stop> {
        self.expression(self.main_text(), id, known)
    }
}

/// Returns the cost of the check of an address type, in units.
fn address_units(ty: &AddressType) -> u64 {
    match ty {
        AddressType::Contract(fields) => 2 + 1 + fields.len() as u64,
        AddressType::Any | AddressType::Code | AddressType::Library => 2,
    }
}
