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
//! The following program checks a contract, deploys it, and sends it a message:
//!
//! ```
//! use std::sync::Arc;
//!
//! use silica_scilla::{
//!     check::{self, Options},
//!     code::Code,
//!     eval::{Argument, Message, Settings},
//!     gas::Meter,
//!     host::MemoryHost,
//!     resolve::{self, Origin},
//!     stdlib::Standard,
//!     syntax::parse_contract,
//!     value::{BNum, Value},
//! };
//!
//! let text = b"scilla_version 0
//!     contract Counter ()
//!     field count : Uint32 = Uint32 4
//!     transition Add (number : Uint32)
//!       before <- count;
//!       after = builtin add before number;
//!       count := after
//!     end";
//! let program = resolve::contract(parse_contract("counter.scilla", text)?, &Origin::default(), &Standard)?;
//! let checked = check::contract(&program, &Options::with_limit(1_000))?;
//! assert_eq!(&*checked.summary.name, "Counter");
//!
//! let init = [
//!     ("_creation_block", Value::BNum(BNum::from_u64(7))),
//!     ("_scilla_version", Value::uint32(0)),
//!     ("_this_address", Value::bystrx([5; 20])),
//! ];
//! let init = init.map(|(name, value)| Argument { name: name.into(), value });
//! let code = Arc::new(Code::of_contract(&program));
//! let loaded = code.load(Settings::default(), Meter::with_limit(1_000))?;
//! let mut host = MemoryHost { fields: loaded.deploy(&init, None)?.fields, ..MemoryHost::default() };
//!
//! let entries = [
//!     ("_amount", Value::uint128(0)),
//!     ("_origin", Value::bystrx([6; 20])),
//!     ("_sender", Value::bystrx([6; 20])),
//!     ("number", Value::uint32(3)),
//! ];
//! let entries = entries.map(|(name, value)| Argument { name: name.into(), value });
//! let message = Message { tag: "Add".into(), entries: entries.into() };
//! let outcome = loaded.call(&init, &message, 0, &mut host)?;
//! assert_eq!(host.fields[0].value, Value::uint32(7));
//! assert_eq!(loaded.gas.units() - outcome.gas.units(), 4 + (1 + 4) + 4);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Modules
//!
//! Layers, lowest first:
//!
//! - [`source`], `gas_unit`, [`rules`], [`stdlib`], `version`: texts and positions in them; the unit of gas; the
//!   differences between released interpreters; the standard library; the version of the language.
//! - [`work`]: the processor time of a transaction, and its limits.
//! - [`gas`]: the costs of operations.
//! - [`name`], [`report`]: names as written and as resolved; the errors of a rejected program or a failed run.
//! - [`types`], [`diagnosis`]: the types, their texts, and their assignability; error reports for people.
//! - [`value`], `implicit`: the values of expressions, fields and messages; the parameters that every transition has.
//! - [`builtins`]: the built-in functions, one row each.
//! - [`syntax`]: tokens, the tree, the parser and the formatter.
//! - [`resolve`], [`code`]: imports, and the module that defines each name; compiled programs.
//! - [`cache`], [`host`], `lower`, `vocabulary`: a cache of programs; the state of contracts during a run; the compiler
//!   to code; the names for suggestions.
//! - `argument`, `typecheck`: the inputs of a run; the type checker.
//! - `analysis`: the passes of the checker before and after the type check.
//! - [`check`]: the verdict whether a program may run, and its summary.
//! - [`json`]: values, types, inputs and outputs as JSON.
//! - [`eval`]: the execution of programs.
//! - `cli`: the `scilla` command (feature `cli`).
//!
//! # Invariants
//!
//! - The crate contains no trie, account or block.
//! - Results do not depend on a clock, on randomness, on floating point or on the order of hash maps. The same text,
//!   state and message give the same result and the same gas on every machine.
//! - Gas and [`work`] limit the execution of a program, and gas limits the depth of its data. The nesting of texts has
//!   a limit of its own ([`syntax::MAX_NESTING`]). No function overflows the stack of its caller.

#[expect(clippy::wildcard_enum_match_arm, reason = "a pass looks for its few kinds of node among all of them")]
mod analysis;
mod argument;
pub mod builtins;
pub mod cache;
pub mod check;
#[cfg(feature = "cli")]
pub mod cli;
pub mod code;
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
