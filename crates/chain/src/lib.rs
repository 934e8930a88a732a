//! Admission, pool, execution, blocks and the consensus seam of a Zilliqa chain, generation 8.1.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

pub mod difficulty;
mod epoch;
pub mod gas_price;
pub mod reward;

pub use crate::epoch::Epochs;
