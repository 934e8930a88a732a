//! JSON of the tools and of the chain: values, types, inputs and outputs.
//!
//! The reader parses a text into a flat [`Document`]. The conversions between values and documents do not recurse. So
//! a list of a million elements, as nested objects, cannot overflow the stack.

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
