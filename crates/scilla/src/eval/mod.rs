//! The execution of programs.
//!
//! # Modules, in reading order
//!
//! - [`run`]: deployments, messages, libraries and single expressions from beginning to end.
//! - `machine`: expressions.
//! - `statement`: transitions and procedures.
//! - `observer`: the interface that receives each statement.
//! - `effort`: the limits of work that gas does not pay for.
//! - `address`: the checks of address types.

mod address;
mod effort;
mod machine;
mod observer;
pub mod run;
mod statement;

#[cfg(test)]
mod tests;

pub use self::{
    observer::{Observer, Step},
    run::{Deployment, Evaluated, Failed, Loaded, Outcome, Settings, local_state},
};
pub use crate::{
    argument::{Argument, IncomingMessage},
    version::VERSION,
};
