//! Programs with the most processor time for their gas that a search has found.
//!
//! A [`Template`] makes a [`Case`] from a [`Shape`]: programs, and the measured transaction. [`search`] changes the
//! shape of a template as long as the case becomes slower. [`TEMPLATES`] has the slowest shapes that were found.

mod chain;
mod search;
mod templates;

use serde_json::{Value as Json, json};

pub use self::{
    chain::{Cost, FullBlock, Measured, Net, Prepared, block_of_case, block_of_payments},
    search::{LIMIT, Slowest, block_of, least_limit, search, slowest},
    templates::TEMPLATES,
};

/// A contract or library that is deployed. In its texts `OTHER0` stands for the address of the first other program.
#[derive(Clone, Debug, Default)]
pub struct Deployment {
    /// The program.
    pub code: String,
    /// The init data, without the version.
    pub init: Vec<Json>,
}

impl Deployment {
    /// A contract without parameters.
    pub fn contract(code: impl Into<String>) -> Self {
        Self { code: code.into(), init: Vec::new() }
    }

    /// A library.
    pub fn library(code: impl Into<String>) -> Self {
        let flag = json!({
            "vname": "_library", "type": "Bool", "value": {"constructor": "True", "argtypes": [], "arguments": []}
        });
        Self { code: code.into(), init: vec![flag] }
    }
}

/// A call of a transition.
#[derive(Clone, Debug)]
pub struct Message {
    /// The name of the transition.
    pub tag: &'static str,
    /// Its parameters.
    pub params: Vec<Json>,
}

/// The measured transaction, and the transactions before it.
#[derive(Clone, Debug)]
pub struct Case {
    /// Programs that are deployed first.
    pub others: Vec<Deployment>,
    /// The program.
    pub program: Deployment,
    /// Calls of the program before the measured one.
    pub setup: Vec<Message>,
    /// The call of the program that is measured, to which `times : Uint32` is added; none for its deployment.
    pub measured: Option<Message>,
}

impl Case {
    fn call(code: String) -> Self {
        let measured = Some(Message { tag: "Go", params: Vec::new() });
        Self { others: Vec::new(), program: Deployment::contract(code), setup: Vec::new(), measured }
    }

    fn deployment(code: String) -> Self {
        Self { measured: None, ..Self::call(code) }
    }
}

/// The numbers that a search changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// How often a step is repeated.
    pub times: u32,
    /// How often a step does the same.
    pub copies: u32,
    /// The bytes, entries or digits of a value.
    pub size: u32,
    /// Levels of a value, or another number.
    pub depth: u32,
}

/// A kind of programs.
#[derive(Clone, Copy, Debug)]
pub struct Template {
    /// Its name in the table.
    pub name: &'static str,
    /// The slowest shape that was found.
    pub shape: Shape,
    /// Makes a program.
    pub case: fn(&Shape) -> Case,
}
