//! Work that is not charged for, or not in proportion.
//!
//! Gas is that of the reference, which charges one unit for a node whatever it has to copy, and for a value that
//! leaves its size, in which empty maps count for nothing. Programs that make use of this could work for hours on
//! little gas. So what goes beyond the small change of a node is counted, and must stay in proportion to the gas that
//! was used.

use crate::{
    gas::{Exhausted, Meter},
    value::Value,
    work::weight,
};

/// What is free for each node and each statement.
const SMALL: u64 = 64;
/// What the gas of a node or statement pays for, as [work](crate::work).
pub(super) const PAID: u64 = 8;
/// What is free in a run.
const FREE: u64 = 250_000;
/// What each unit of gas that was used allows beyond that.
const PER_UNIT: u64 = 32;

/// How many parts of values may leave in a run for nothing. As JSON, a part may be a hundred bytes, which stay in the
/// state or in a receipt for ever.
const FREE_TO_LEAVE: u64 = 16_384;
/// How many more may leave for each unit of gas that was used. A part that is charged for costs a unit at least; of a
/// list of options with nothing in them, one in five is.
const LEAVING_PER_UNIT: u64 = 8;

/// How much a node of a type counts that is put together: it takes about so much more memory than a part of a value.
pub(super) const TYPE_NODE: u64 = 8;
/// How much an entry of a message counts that is put together.
pub(super) const MESSAGE_ENTRY: u64 = 8;
/// How much a value counts that is copied into a function or a constructor.
pub(super) const COPY: u64 = 2;

/// What a run has done so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    done: u64,
    /// The parts of values that left.
    left: u64,
    /// The units of gas at the beginning.
    start: u64,
}

/// More was done than the gas pays for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TooMuch {
    /// More parts than these.
    #[error("Data of more than {allowed} parts for little gas")]
    Parts { allowed: u64 },
    /// More work.
    #[error(transparent)]
    Work(#[from] Exhausted),
}

impl Effort {
    pub(super) const fn begin(gas: Meter) -> Self {
        Self { done: 0, left: 0, start: gas.units() }
    }

    /// Counts something that is about to be done.
    ///
    /// # Errors
    ///
    /// [`TooMuch`] if it is out of proportion to the gas that was used.
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

    /// Counts the nodes of the type of a value, which is about to be found or compared.
    ///
    /// # Errors
    ///
    /// As for [`Self::spend`].
    pub(super) fn find_type(&mut self, nodes: u64, gas: &mut Meter) -> Result<(), TooMuch> {
        self.count(nodes, *gas)?;
        if nodes > PAID { Ok(gas.spend(nodes.saturating_mul(weight::KIND_NODE))?) } else { Ok(()) }
    }

    /// Counts a value that is about to be gone through as a whole.
    ///
    /// # Errors
    ///
    /// As for [`Self::spend`].
    pub(super) fn go_through(&mut self, value: &Value, gas: &mut Meter) -> Result<(), TooMuch> {
        self.spend(value.parts(), gas)
    }

    /// Counts a value that is about to be hashed.
    ///
    /// # Errors
    ///
    /// As for [`Self::spend`].
    pub(super) fn hash(&mut self, value: &Value, gas: &mut Meter) -> Result<(), TooMuch> {
        self.count(value.parts(), *gas)?;
        Ok(gas.spend(value.parts().saturating_mul(weight::HASHED_PART))?)
    }

    /// Counts a value that is about to be stored, or sent in a message or event.
    ///
    /// # Errors
    ///
    /// As for [`Self::spend`].
    pub(super) fn leave(&mut self, value: &Value, gas: Meter) -> Result<(), TooMuch> {
        self.left = self.left.saturating_add(value.parts());
        self.check(self.left, LEAVING_PER_UNIT, FREE_TO_LEAVE, gas)
    }

    const fn check(&self, done: u64, per_unit: u64, free: u64, gas: Meter) -> Result<(), TooMuch> {
        let used = self.start.saturating_sub(gas.units());
        let allowed = used.saturating_mul(per_unit).saturating_add(free);
        if done > allowed { Err(TooMuch::Parts { allowed }) } else { Ok(()) }
    }

    /// Returns what has been counted.
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
