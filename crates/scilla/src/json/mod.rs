//! JSON: the values, types, inputs and outputs of the tools and of the chain.
//!
//! Texts are read into a flat [`Document`], and values are read from and written to documents without recursion: a list
//! of a million elements as nested objects is as harmless as a number.

mod document;
mod input;
mod print;
mod reader;
mod types;
mod value;

pub use self::{
    document::{Builder, Document, Elements, Json, Kind, Members},
    input::{
        Account, ChainInput, InputError, MessageInput, ModuleIdentity, Named, Pair, StateInput, missing_this_address,
        read_document, read_init,
    },
    print::{Compact, Pretty, quoted},
    reader::{JsonError, Problem, parse},
    types::parse_type,
    value::{ListForm, ValueError, ValueReader},
};
