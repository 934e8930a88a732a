//! The Scilla language, version 0: from source text to the effects of a transition.
//!
//! ```text
//! text ─▶ syntax ─▶ resolve ─▶ typecheck ─▶ analysis ─▶ contract summary, warnings
//!                      │
//!                      └─────▶ lower ─▶ eval ─▶ messages, events, stored fields
//!                                         ▲
//!                                    host │ reads and writes of state
//! ```
//!
//! # Examples
//!
//! The following program checks a contract, deploys it in memory, and calls a transition:
//!
//! ```
//! use serde_json::json;
//! use silica_scilla::{Contract, Value};
//!
//! let contract = Contract::compile(
//!     "scilla_version 0
//!      contract Counter (start : Uint32)
//!      field count : Uint32 = start
//!      transition Add (number : Uint32)
//!        before <- count;
//!        after = builtin add before number;
//!        count := after
//!      end",
//! )?;
//! let mut counter = contract.deploy(json!({ "start": 4 }))?;
//! let outcome = counter.call("Add", json!({ "number": 3 })).gas_limit(100).run()?;
//! assert_eq!(counter.field("count"), Some(&Value::from(7_u32)));
//! assert_eq!(outcome.gas_used.to_string(), "3");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Items by task
//!
//! | Task | Item |
//! |---|---|
//! | parse and check a contract | [`Contract::compile`], [`Contract::compile_with`] with [`CompileOptions`] |
//! | read parameters, fields, transitions and events | [`Contract::interface`] |
//! | deploy in memory and call | [`Contract::deploy`], [`Instance::call`], [`Call::run`] |
//! | give parameters | [`IntoParams`]: JSON, pairs of name and [`Value`], or init data |
//! | read results | [`CallOutcome`], [`Event`], [`OutMessage`], [`Instance::field`], [`Instance::state_json`] |
//! | see each statement | [`Trace`], or another [`eval::Observer`] with [`Call::observe`] |
//! | convert values | `From` and `TryFrom` of [`Value`], [`Value::to_json`] and its `Display`, [`json::ValueReader`] |
//! | read and write types | `FromStr` of [`Type`] and [`Type::global`]; `Display` is for people |
//! | format a source | [`syntax`] |
//!
//! # For node builders
//!
//! A node keeps the state itself and counts gas and work across the calls of a transaction. It uses the steps
//! one by one:
//!
//! ```text
//! parse_contract ─▶ resolve::contract ─▶ check::contract ─▶ Code::of_contract ─▶ Code::load ─▶ deploy, call
//!                                                                                              on a host::Host
//! ```
//!
//! [`Code::load`](code::Code::load) takes a [`gas::Meter`] and costs little after the first time, so a node loads the
//! program for each call. The meter counts units, eight of which are one gas.
//!
//! Layers, lowest first:
//!
//! - [`source`], `gas_unit`, [`rules`], [`stdlib`], `version`:
//!   - `source` has texts and the positions in them.
//!   - `gas_unit` has the number of units in one gas.
//!   - `rules` has the differences between released interpreters.
//!   - `stdlib` has the standard library, and `version` the version of the language.
//! - [`work`]: the processor time of a transaction, and its limits.
//! - [`gas`]: the costs of operations.
//! - [`name`], [`report`]:
//!   - `name` has the names of a text, and the resolved names.
//!   - `report` has the errors of a rejected program or a failed run.
//! - [`types`], [`diagnosis`]:
//!   - `types` has the types, their texts, and their assignability.
//!   - `diagnosis` has error reports for people.
//! - [`value`], `implicit`:
//!   - `value` has the values of expressions, fields and messages.
//!   - `implicit` has the parameters that every contract and every transition has.
//! - [`builtins`]: the built-in functions, one row each.
//! - [`syntax`]: tokens, the tree, the parser and the formatter.
//! - [`resolve`], [`code`]:
//!   - `resolve` loads imports, and finds the module that defines each name.
//!   - `code` has compiled programs.
//! - [`cache`], [`host`], `lower`, `vocabulary`:
//!   - `cache` has a cache of programs.
//!   - `host` has the interface to the state of contracts during a run.
//!   - `lower` compiles a program to code.
//!   - `vocabulary` has the names for suggestions.
//! - `argument`, `typecheck`: `argument` has the inputs of a run, and `typecheck` is the type checker.
//! - `analysis`: the passes of the checker before and after the type check.
//! - [`check`]: accepts or rejects a program, and returns a summary.
//! - [`json`]: values, types, inputs and outputs as JSON.
//! - [`eval`]: the execution of programs.
//! - `contract`: contracts in memory, the items at the root of the crate.
//! - `cli`: the `scilla` command (feature `cli`).
//!
//! # Invariants
//!
//! - The crate contains no trie, account or block.
//! - Results do not depend on a clock, on randomness, on floating point or on the order of hash maps. The same text,
//!   state and message give the same result and the same gas on every machine.
//! - Gas and [`work`] limit the execution of a program, and gas limits the depth of its data. The nesting of texts has
//!   a separate limit ([`syntax::MAX_NESTING`]). No function overflows the stack of its caller.

#[expect(clippy::wildcard_enum_match_arm, reason = "a pass looks for its few kinds of node among all of them")]
mod analysis;
mod argument;
pub mod builtins;
pub mod cache;
pub mod check;
#[cfg(feature = "cli")]
pub mod cli;
pub mod code;
mod contract;
pub mod diagnosis;
pub mod eval;
pub mod gas;
mod gas_unit;
pub mod host;
mod implicit;
pub mod json;
mod lower;
pub mod name;
pub mod report;
pub mod resolve;
pub mod rules;
pub mod source;
pub mod stdlib;
pub mod syntax;
mod typecheck;
pub mod types;
pub mod value;
mod version;
mod vocabulary;
pub mod work;

pub use silica_protocol as protocol;

pub use crate::{
    contract::{
        Call, CallError, CallOutcome, CompileError, CompileOptions, Contract, DEFAULT_GAS_LIMIT, DeployError, Event,
        Instance, IntoParams, OutMessage, ParamError, Params, Trace, TraceStep,
    },
    types::Type,
    value::Value,
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
