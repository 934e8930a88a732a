//! JSON: the values, types, inputs and outputs of the tools and of the chain.
//!
//! The reader turns a text into a flat [`Document`]. Values are read from documents and written to documents without
//! recursion, so a list of a million elements as nested objects cannot overflow the stack.

mod checked;
mod document;
mod input;
mod outcome;
mod print;
mod reader;
mod report;
mod tree;
mod types;
mod unchanged;
mod value;

pub use self::{
    checked::{CheckReport, expression_types},
    document::{Builder, Document, Elements, Json, Kind, Members},
    input::{
        Account, ChainInput, InputError, MessageInput, Pair, StateInput, missing_this_address, read_document,
        read_init, read_origin,
    },
    outcome::{RunReport, library_deployment, library_message},
    print::{Compact, Pretty, quoted},
    reader::{JsonError, Problem, parse},
    report::FailureReport,
    tree::tree_json,
    types::parse_type,
    value::{ListForm, ValueError, ValueReader},
};
