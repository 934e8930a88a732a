//! Work: the processor time of a transaction as a number that every node computes alike.
//!
//! Gas is that of the reference, and some operations take thousands of times as long as others of the same gas. So the
//! operations that gas does not cover are counted in nanoseconds, with fixed weights that were measured once. The work
//! of a transaction is limited by the gas that it has used, and a block by the sum of its transactions. The weights and
//! limits are part of the rules: a change of either is a new revision.
//!
//! Work depends on the program, its data and its gas alone. Caches, the machine and the other transactions of a block
//! do not change it, with one exception: [`Work::load`].

use crate::gas::{Exhausted, UNITS_PER_GAS};

/// Work that each transaction may do whatever its gas.
pub const FIXED: u64 = 200_000;
/// Work that each gas allows, evaluation included.
pub const PER_GAS: u64 = 5_000;
/// What the evaluation that a gas pays for counts.
pub const EVALUATION_PER_GAS: u64 = 640;
/// What the transactions of a block may do together, and so the most that one may do.
pub const PER_BLOCK: u64 = 700_000_000;
/// What a transaction may load.
pub const LOADED: u64 = 100_000_000;

const PER_UNIT: u64 = (PER_GAS - EVALUATION_PER_GAS) / UNITS_PER_GAS;
const EVALUATION_PER_UNIT: u64 = EVALUATION_PER_GAS / UNITS_PER_GAS;

/// Nanoseconds for one of each.
pub mod weight {
    /// A part of a value that is gone through, or a node of a type that is put together.
    pub const PART: u64 = 20;
    /// A part of a value that is hashed, besides its bytes.
    pub const HASHED_PART: u64 = 60;
    /// A digit of a block number in a calculation.
    pub const DIGIT: u64 = 1;
    /// A byte of text, of bytes or of digits that a built-in function goes through.
    pub const BYTE: u64 = 2;
    /// A byte that is hashed with Keccak-256.
    pub const KECCAK256_BYTE: u64 = 3;
    /// A byte that is hashed with RIPEMD-160.
    pub const RIPEMD160_BYTE: u64 = 5;
    /// A byte that is hashed with SHA-256.
    pub const SHA256_BYTE: u64 = 1;
    /// A signature that is verified, or from which a key is recovered.
    pub const SIGNATURE: u64 = 50_000;
    /// A product of pairings, besides its pairs.
    pub const PAIRING: u64 = 900_000;
    /// A pair of points.
    pub const PAIR: u64 = 700_000;
    /// A sum of points of `alt_bn128`, or an opposite.
    pub const POINT: u64 = 10_000;
    /// A multiple of a point.
    pub const MULTIPLE: u64 = 150_000;
    /// A byte of a program that is parsed, checked and made ready.
    pub const CHECKED_BYTE: u64 = 200;
    /// A byte of a program, or of its init data, that is made ready.
    pub const LOADED_BYTE: u64 = 130;
    /// A node of a type that a check goes through.
    pub const TYPE_NODE: u64 = 60;
    /// A step of the comparison of patterns.
    pub const PATTERN_STEP: u64 = 150;
    /// An entry of the state that is sought.
    pub const SOUGHT: u64 = 2_000;
    /// An entry of the state that is written or removed, with its place in the tries of the block.
    pub const WRITTEN: u64 = 5_000;
    /// A byte of a key that is sought.
    pub const KEY_BYTE: u64 = 10;
    /// A byte of a value that is read from the state.
    pub const READ_BYTE: u64 = 10;
    /// A byte of a key or value that is written to the state.
    pub const WRITTEN_BYTE: u64 = 20;
    /// A byte of JSON in a message, an event or an exception.
    pub const JSON_BYTE: u64 = 25;
}

/// The work of a transaction, and what limits it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// The units of gas that were used, the evaluation of which is work as well.
    units: u64,
    /// What was counted besides.
    done: u64,
    /// What was loaded.
    loaded: u64,
    /// The part of that which counts for the block.
    fresh: u64,
    /// What all of it may be; `None` if it is not limited.
    most: Option<u64>,
    /// Why there may be no more.
    end: Option<End>,
}

/// The limit that ended a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// That of its gas, or of what it may load.
    Transaction,
    /// What the block has room for.
    Block,
}

impl Work {
    /// Work that is counted and not limited.
    pub const UNLIMITED: Self = Self { units: 0, done: 0, loaded: 0, fresh: 0, most: None, end: None };

    /// Work that the gas limits, and the room that is left in the block.
    pub const fn limited(most: u64) -> Self {
        Self { most: Some(most), ..Self::UNLIMITED }
    }

    /// Takes note of units of gas that were used.
    pub const fn pay(&mut self, units: u64) {
        self.units = self.units.saturating_add(units);
    }

    /// Counts something that is about to be done.
    ///
    /// # Errors
    ///
    /// [`Exhausted`] if it is beyond a limit. Then it is not counted, and nothing may be done any more.
    pub const fn spend(&mut self, work: u64) -> Result<(), Exhausted> {
        if work > self.left() {
            let beyond = work > self.left_for_gas();
            self.stop(if beyond { End::Transaction } else { End::Block });
            return Err(Exhausted);
        }
        self.done = self.done.saturating_add(work);
        Ok(())
    }

    /// Counts a program that is made ready to run. `fresh` says that it was not used before in the block: this much
    /// is counted once in a block, since programs are kept, and not limited by the gas.
    ///
    /// # Errors
    ///
    /// As for [`Self::spend`].
    pub const fn load(&mut self, bytes: u64, fresh: bool) -> Result<(), Exhausted> {
        let work = bytes.saturating_mul(weight::LOADED_BYTE);
        let loaded = self.loaded.saturating_add(work);
        if self.most.is_some() && loaded > LOADED {
            self.stop(End::Transaction);
            return Err(Exhausted);
        }
        if fresh && work > self.left_for_block() {
            self.stop(End::Block);
            return Err(Exhausted);
        }
        self.loaded = loaded;
        if fresh {
            self.fresh = self.fresh.saturating_add(work);
        }
        Ok(())
    }

    const fn stop(&mut self, end: End) {
        if self.end.is_none() {
            self.end = Some(end);
        }
    }

    /// Returns what may still be done.
    pub const fn left(&self) -> u64 {
        let (gas, block) = (self.left_for_gas(), self.left_for_block());
        if gas < block { gas } else { block }
    }

    const fn left_for_gas(&self) -> u64 {
        if self.most.is_none() {
            return u64::MAX;
        }
        if self.end.is_some() {
            return 0;
        }
        FIXED.saturating_add(self.units.saturating_mul(PER_UNIT)).saturating_sub(self.done)
    }

    const fn left_for_block(&self) -> u64 {
        match self.most {
            None => u64::MAX,
            Some(most) => most.saturating_sub(self.total()),
        }
    }

    /// Returns what counts for the block: evaluation, what was counted besides, and what was loaded.
    pub const fn total(&self) -> u64 {
        let evaluation = self.units.saturating_mul(EVALUATION_PER_UNIT);
        evaluation.saturating_add(self.done).saturating_add(self.fresh)
    }

    /// Returns what was counted besides evaluation and loading.
    pub const fn done(&self) -> u64 {
        self.done
    }

    /// Returns the limit that was reached, if one was.
    pub const fn end(&self) -> Option<End> {
        self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gas_allows_work() {
        let mut work = Work::limited(PER_BLOCK);
        assert_eq!(work.spend(FIXED), Ok(()));
        work.pay(UNITS_PER_GAS);
        assert_eq!(work.spend(PER_GAS - EVALUATION_PER_GAS), Ok(()));
        assert_eq!(work.total(), FIXED + PER_GAS);
        assert_eq!((work.spend(1), work.end()), (Err(Exhausted), Some(End::Transaction)));
        work.pay(UNITS_PER_GAS);
        assert_eq!(work.spend(1), Err(Exhausted), "the end is final");
    }

    #[test]
    fn block_has_room_for_so_much() {
        let mut work = Work::limited(1_000);
        work.pay(UNITS_PER_GAS);
        assert_eq!(work.spend(360), Ok(()));
        assert_eq!((work.spend(1), work.end()), (Err(Exhausted), Some(End::Block)));
    }

    #[test]
    fn work_without_limit_is_counted() {
        let mut work = Work::UNLIMITED;
        assert_eq!((work.spend(PER_BLOCK), work.spend(1)), (Ok(()), Ok(())));
        assert_eq!(work.load(u64::MAX, true), Ok(()));
        assert_eq!((work.done(), work.end()), (PER_BLOCK + 1, None));
    }

    #[test]
    fn programs_count_for_the_block_once() {
        let bytes = LOADED / weight::LOADED_BYTE;
        let mut work = Work::limited(PER_BLOCK);
        assert_eq!((work.load(bytes, true), work.total()), (Ok(()), bytes * weight::LOADED_BYTE));
        assert_eq!((work.load(1, false), work.end()), (Err(Exhausted), Some(End::Transaction)));
        let mut work = Work::limited(weight::LOADED_BYTE);
        assert_eq!((work.load(2, false), work.total()), (Ok(()), 0));
        assert_eq!((work.load(2, true), work.end()), (Err(Exhausted), Some(End::Block)));
    }
}
