//! The unit in which gas is counted, and the error when none is left.

/// Number of units in one gas.
pub const UNITS_PER_GAS: u64 = 8;

/// There is less gas than an action costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Insufficient gas")]
pub struct Exhausted;
