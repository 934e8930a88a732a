//! Running programs.
//!
//! # Modules, in reading order
//!
//! - [`run`]: deployments, messages, libraries and single expressions from beginning to end.
//! - `machine`: expressions.
//! - `statement`: transitions and procedures.
//! - `observer`: who watches these.
//! - `effort`: what bounds the work that gas does not.
//! - `address`: what an address must be, when it claims to be one.

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
    argument::{Argument, Message},
    version::VERSION,
};
