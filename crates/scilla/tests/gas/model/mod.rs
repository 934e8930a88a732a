//! The gas of a call, computed by an independent model.
//!
//! The model walks the tree instead of the compiled code. It keeps names in a list, caches no sizes, and has a cost
//! table of its own, written from the documented rules. It notes every charge with its place, so it also predicts where
//! a run with less gas ends. It takes only checked programs whose data is not deep, with numbers of up to 127 bits.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "what does not fit the model fails the test")]

mod builtin;
mod expression;
mod statement;
mod value;

use std::{collections::BTreeMap, rc::Rc, sync::Arc};

use silica_scilla::{
    eval::{Argument, Failed, Message, Outcome},
    host::MemoryHost,
    name::Name,
    resolve::{Imported, Program},
    source::{Location, Source},
    syntax::ast::{Arena, Component, ComponentKind, ContractModule, ExprId, Library, LibraryEntry},
    types::{AddressType, Type},
};

use self::value::Value;

/// Something that was paid for.
#[derive(Clone, Debug)]
struct Charge {
    units: u64,
    /// What is said if it cannot be paid.
    text: &'static str,
    /// File and line of the place where that is said.
    place: (Arc<str>, u32),
    /// Whether it takes all that is left if it cannot be paid.
    takes_the_rest: bool,
}

/// Why a run ends early.
#[derive(Debug)]
enum Stop {
    /// The model does not know.
    Beyond(String),
    /// It fails, for another reason than gas.
    Failed,
}

/// What a call comes to.
#[derive(Debug)]
pub(crate) struct Costs {
    /// All charges, in order.
    charges: Vec<Charge>,
    /// Whether the call fails after them.
    pub(crate) fails: bool,
}

/// The end of a run: the gas that is left, and for a failure the first error, with file and line.
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
    /// What the call costs, in units.
    pub(crate) fn units(&self) -> u64 {
        self.charges.iter().map(|charge| charge.units).sum()
    }

    /// Says whether the call fails before it begins, because a parameter is not what it claims to be: how much gas there
    /// is makes no difference then.
    pub(crate) fn is_refused(&self) -> bool {
        self.fails && self.charges.last().is_some_and(|charge| charge.takes_the_rest)
    }

    /// Where a run with so many units must end, unless it has enough.
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

/// Works out what a message to a contract costs, its libraries included; none if that is beyond the model.
pub(crate) fn costs(
    program: &Program<ContractModule>,
    init: &[Argument],
    message: &Message,
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

/// The text to which an expression belongs.
#[derive(Clone, Copy)]
struct Text<'p> {
    arena: &'p Arena,
    source: &'p Source,
}

/// Names and what they stand for, the latest first.
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

/// A call under way.
struct Run<'p> {
    program: &'p Program<ContractModule>,
    host: &'p MemoryHost,
    fields: BTreeMap<String, Value<'p>>,
    sender: Option<Value<'p>>,
    amount: i128,
    balance: i128,
    accepted: bool,
    /// What every component knows.
    base: Scope<'p>,
    returned: Option<Value<'p>>,
    charges: Vec<Charge>,
}

impl<'p> Run<'p> {
    fn message(&mut self, init: &[Argument], message: &Message) -> Result<(), Stop> {
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
            self.claim(&parameter.kind, value)?;
        }
        self.component(transition, given)
    }

    fn bind(&mut self, name: &str, value: Value<'p>) {
        self.base = self.base.with(&Name::simple(name), value);
    }

    /// The principles, the imported libraries, each as often as it is imported and behind those that it imports, and the
    /// library of the contract.
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

    /// Checks a parameter that is an address.
    fn claim(&mut self, kind: &Type, value: &Value<'p>) -> Result<(), Stop> {
        if let Type::Address(kind) = kind {
            let (units, place) = (address_units(kind), ("".into(), 0));
            self.charges.push(Charge { units, text: INSUFFICIENT, place, takes_the_rest: true });
            return if self.is_such(value, kind) { Ok(()) } else { Err(Stop::Failed) };
        }
        let written = kind.global().to_string();
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

/// What it costs to look whether an address is what it claims to be.
fn address_units(kind: &AddressType) -> u64 {
    match kind {
        AddressType::Contract(fields) => 2 + 1 + fields.len() as u64,
        AddressType::Any | AddressType::Code | AddressType::Library => 2,
    }
}
