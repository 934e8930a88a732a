//! The Scilla language, version 0: from source text to the effects of a transition.
//!
//! ```text
//! text ─▶ syntax ─▶ resolve ─▶ typecheck ─▶ analysis ─▶ contract summary, warnings
//!                      │
//!                      └─────▶ lower ─▶ eval ─▶ messages, events, stored fields
//!                                         ▲
//!                                    host │ the questions a running contract may ask
//! ```
//!
//! # Modules, in reading order
//!
//! - [`source`]: texts, and places in them.
//! - [`name`]: names as written, and as they are known everywhere.
//! - [`types`]: the types, how they print, and which may stand for which.
//! - [`syntax`]: tokens, the tree, the parser.
//! - [`check`]: whether a program may run, and what is known of it.
//! - [`value`]: what expressions have, and what fields and messages are made of.
//! - [`gas`]: what work costs.
//! - [`resolve`]: imports, and the module that defines each name.
//! - [`builtins`]: the built-in functions, one row each.
//! - [`code`]: programs made ready to run.
//! - [`cache`]: keeping them for the next call.
//! - [`host`]: the questions a running contract may ask.
//! - [`eval`]: running programs.
//! - [`report`]: what is told about a rejected program or a failed run.
//! - [`json`]: values, types, inputs and outputs as JSON.
//! - [`stdlib`]: the standard library.
//! - `cli`: the `scilla` command (feature `cli`).
//!
//! # Invariants
//!
//! - The crate knows no trie, account or block.
//! - No clock, randomness, floating point or hash-map order: the same text, state and message give the same result and
//!   the same gas everywhere.
//! - Gas is the only limit on work, depth of data included: nothing here overflows the stack of its caller.

#[expect(clippy::wildcard_enum_match_arm, reason = "a pass looks for its few kinds of node among all of them")]
mod analysis;
pub mod builtins;
pub mod cache;
pub mod check;
#[cfg(feature = "cli")]
pub mod cli;
pub mod code;
pub mod eval;
pub mod gas;
pub mod host;
mod implicit;
pub mod json;
mod lower;
pub mod name;
pub mod report;
pub mod resolve;
pub mod source;
pub mod stdlib;
pub mod syntax;
mod typecheck;
pub mod types;
pub mod value;
