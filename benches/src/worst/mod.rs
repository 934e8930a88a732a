//! Programs that take the most processor time for their gas. A search found them.
//!
//! A [`Template`] makes a [`Case`] from a [`Shape`]: programs, and the measured transaction. [`search`] changes the
//! shape of a template as long as the case becomes slower. [`TEMPLATES`] has the slowest known shapes.

mod chain;
mod search;
mod templates;

use serde_json::{Value as Json, json};

pub use self::{
    chain::{Cost, FullBlock, Measured, Net, Prepared, block_of_case, block_of_payments},
    search::{LIMIT, Slowest, block_of, least_limit, search, slowest},
    templates::TEMPLATES,
};

/// A contract or library to deploy. In its texts, `OTHER0` is a placeholder for the address of the first other program.
#[derive(Clone, Debug, Default)]
pub struct Deployment {
    /// Source code of the program.
    pub code: String,
    /// Init data, without the version of Scilla.
    pub init: Vec<Json>,
}

impl Deployment {
    /// Returns a contract without parameters.
    pub fn contract(code: impl Into<String>) -> Self {
        Self { code: code.into(), init: Vec::new() }
    }

    /// Returns a library.
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
    /// Name of the transition.
    pub tag: &'static str,
    /// Parameters of the transition.
    pub params: Vec<Json>,
}

/// A measured transaction, with the transactions before it.
#[derive(Clone, Debug)]
pub struct Case {
    /// Programs that are deployed before the main program.
    pub others: Vec<Deployment>,
    /// The main program.
    pub program: Deployment,
    /// Calls of the main program before the measured transaction.
    pub setup: Vec<Message>,
    /// The measured call of the main program, with an additional parameter `times : Uint32`; `None` measures the
    /// deployment of the main program.
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

/// The numbers of a program that a search changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Number of repetitions of a step.
    pub times: u32,
    /// Number of copies of the statement or expression in a step.
    pub copies: u32,
    /// Size of a value, in bytes, entries or digits.
    pub size: u32,
    /// Number of levels of a value, or another number, depending on the template.
    pub depth: u32,
}

/// A kind of program.
#[derive(Clone, Copy, Debug)]
pub struct Template {
    /// Name of the template in the table.
    pub name: &'static str,
    /// The slowest known shape.
    pub shape: Shape,
    /// Makes a case with this shape.
    pub case: fn(&Shape) -> Case,
}
