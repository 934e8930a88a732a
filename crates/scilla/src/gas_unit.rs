//! The number of units in one gas, and the error for exhausted gas.

/// Number of units in one gas.
pub const UNITS_PER_GAS: u64 = 8;

/// The error for an action that exceeds the remaining gas or a limit of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Insufficient gas")]
pub struct Exhausted;
