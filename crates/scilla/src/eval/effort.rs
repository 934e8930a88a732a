//! Limits of work that has no gas charge, or a charge out of proportion to the work.
//!
//! The gas charges are those of the reference. Most kinds of nodes of the program tree cost one unit of the
//! interpreter, even if a node copies a large value. The charge for a value that leaves the run is its size, and empty
//! maps have size 0. A program that exploits these charges could run for hours on little gas. Therefore this module
//! counts the parts of values that a node processes, and limits their number in proportion to the gas used. Small
//! numbers of parts are not counted.

use crate::{
    gas::{Exhausted, Meter},
    value::Value,
    work::weight,
};

/// Largest work of a node or statement that is not counted, in parts of values.
const SMALL: u64 = 64;
/// [Work](crate::work) that the gas of a node or statement covers, in parts of values.
pub(super) const PAID: u64 = 8;
/// Work that a run may do without any use of gas, in parts of values.
const FREE: u64 = 250_000;
/// Work that a run may do in addition for each used unit of the interpreter, in parts of values.
const PER_UNIT: u64 = 32;

/// Number of parts of values that may leave a run without a charge. A value leaves a run if the run stores, sends or
/// emits the value. A part may have 100 bytes as JSON, and the record keeps these bytes.
const FREE_TO_LEAVE: u64 = 16_384;
/// Number of further parts that may leave a run for each used unit of the interpreter. A part with a charge costs at
/// least one unit. In a list of empty options, one part in five has a charge.
const LEAVING_PER_UNIT: u64 = 8;

/// Weight of a node of a constructed type. A node of a type takes about this many times the memory of a part of a
/// value.
pub(super) const TYPE_NODE: u64 = 8;
/// Weight of an entry of a constructed message.
pub(super) const MESSAGE_ENTRY: u64 = 8;
/// Weight of a value that is copied into a function or a constructor.
pub(super) const COPY: u64 = 2;

/// The work of a run, as this module counts it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    done: u64,
    /// Parts of values that have left the run.
    left: u64,
    /// The remaining units at the beginning of the run.
    start: u64,
}

/// Reason why a run exceeds the work that its gas covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TooMuch {
    /// The run processed too many parts of values, or the values that left the run have too many parts.
    #[error("Data of more than {allowed} parts for little gas")]
    Parts { allowed: u64 },
    /// The [work](crate::work) in nanoseconds exceeds its limit.
    #[error(transparent)]
    Work(#[from] Exhausted),
}

impl Effort {
    pub(super) const fn begin(gas: Meter) -> Self {
        Self { done: 0, left: 0, start: gas.units() }
    }

    /// Counts work before it is done.
    ///
    /// # Errors
    ///
    /// [`TooMuch`] if the work is out of proportion to the gas used.
    pub(super) fn spend(&mut self, parts: u64, gas: &mut Meter) -> Result<(), TooMuch> {
        self.count(parts, *gas)?;
        if parts > PAID { Ok(gas.spend(parts.saturating_mul(weight::PART))?) } else { Ok(()) }
    }

    fn count(&mut self, parts: u64, gas: Meter) -> Result<(), TooMuch> {
        if parts <= SMALL {
            return Ok(());
        }
        self.done = self.done.saturating_add(parts);
        self.check(self.done, PER_UNIT, FREE, gas)
    }

    /// Counts the nodes of the type of a value, before the run determines or compares the type.
    ///
    /// # Errors
    ///
    /// The errors of [`Self::spend`].
    pub(super) fn find_type(&mut self, nodes: u64, gas: &mut Meter) -> Result<(), TooMuch> {
        self.count(nodes, *gas)?;
        if nodes > PAID { Ok(gas.spend(nodes.saturating_mul(weight::KIND_NODE))?) } else { Ok(()) }
    }

    /// Counts a value before the run reads all its parts.
    ///
    /// # Errors
    ///
    /// The errors of [`Self::spend`].
    pub(super) fn go_through(&mut self, value: &Value, gas: &mut Meter) -> Result<(), TooMuch> {
        self.spend(value.parts(), gas)
    }

    /// Counts a value before the run hashes it.
    ///
    /// # Errors
    ///
    /// The errors of [`Self::spend`].
    pub(super) fn hash(&mut self, value: &Value, gas: &mut Meter) -> Result<(), TooMuch> {
        self.count(value.parts(), *gas)?;
        Ok(gas.spend(value.parts().saturating_mul(weight::HASHED_PART))?)
    }

    /// Counts a value before the run stores it, or sends it in a message or event.
    ///
    /// # Errors
    ///
    /// [`TooMuch::Parts`] if the run has stored, sent and emitted too many parts for the gas that it has used.
    pub(super) fn leave(&mut self, value: &Value, gas: Meter) -> Result<(), TooMuch> {
        self.left = self.left.saturating_add(value.parts());
        self.check(self.left, LEAVING_PER_UNIT, FREE_TO_LEAVE, gas)
    }

    const fn check(&self, done: u64, per_unit: u64, free: u64, gas: Meter) -> Result<(), TooMuch> {
        let used = self.start.saturating_sub(gas.units());
        let allowed = used.saturating_mul(per_unit).saturating_add(free);
        if done > allowed { Err(TooMuch::Parts { allowed }) } else { Ok(()) }
    }

    /// Returns the counted work.
    pub(super) const fn done(self) -> u64 {
        self.done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gas_allows_effort() {
        let mut effort = Effort::begin(Meter::with_units(1000));
        assert_eq!(effort.spend(FREE, &mut Meter::with_units(1000)), Ok(()));
        assert_eq!(effort.spend(SMALL, &mut Meter::with_units(1000)), Ok(()));
        assert_eq!(effort.spend(100 * PER_UNIT, &mut Meter::with_units(900)), Ok(()));
        let allowed = FREE + 102 * PER_UNIT;
        assert_eq!(effort.spend(100 * PER_UNIT, &mut Meter::with_units(898)), Err(TooMuch::Parts { allowed }));
    }

    #[test]
    fn gas_allows_parts_to_leave() {
        let mut effort = Effort::begin(Meter::with_units(1000));
        let value = Value::nat(u32::try_from(FREE_TO_LEAVE).unwrap() - 1);
        assert_eq!(effort.leave(&value, Meter::with_units(1000)), Ok(()));
        let small = Value::nat(79);
        assert_eq!(effort.leave(&small, Meter::with_units(990)), Ok(()));
        let allowed = FREE_TO_LEAVE + 19 * LEAVING_PER_UNIT;
        assert_eq!(effort.leave(&small, Meter::with_units(981)), Err(TooMuch::Parts { allowed }));
    }

    #[test]
    fn gas_below_nothing_allows_no_more() {
        let mut effort = Effort::begin(Meter::with_units(10));
        assert_eq!(effort.spend(FREE, &mut Meter::with_units(u64::MAX)), Ok(()));
        assert!(effort.spend(SMALL + 1, &mut Meter::with_units(u64::MAX)).is_err());
    }
}
