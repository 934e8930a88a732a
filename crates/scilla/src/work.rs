//! Work: the processor time of a transaction as every node counts it.
//!
//! The gas charges are those of the reference. Some operations take thousands of times as long as others with the same
//! gas. Therefore this module counts the operations whose gas is too low, with fixed weights in nanoseconds from
//! measurements. The gas used limits the work of a transaction. The total work of the transactions in a block also has
//! a limit. The weights and limits are part of the rules: a change of a weight or a limit is a new revision.
//!
//! Work depends only on the program, its data and its gas. Caches, the machine and the other transactions of a block
//! do not change it, with one exception: [`Work::load`].

use crate::gas_unit::{Exhausted, UNITS_PER_GAS};

/// Work that each transaction may do without regard to its gas, in nanoseconds.
pub const FIXED: u64 = 200_000;
/// Further work for each gas used, including evaluation, in nanoseconds.
pub const PER_GAS: u64 = 5_000;
/// Work of the evaluation that one gas covers, in nanoseconds.
pub const EVALUATION_PER_GAS: u64 = 640;
/// Largest work of a block, in nanoseconds. The goal is one second for a block. The remaining time is for slower
/// machines, and for the tries of the block.
pub const PER_BLOCK: u64 = 700_000_000;
/// Largest work of a transaction for loading programs, in nanoseconds.
pub const LOADED: u64 = 100_000_000;
/// Work of a transaction in addition to its execution, in nanoseconds. Most of it is the check of the signature. This
/// work counts only for the block.
pub const TRANSACTION: u64 = 50_000;
/// Further work of a deployment for each byte of its texts, in nanoseconds, without regard to the gas in its receipt.
/// This work covers the evaluation that the gas of a byte pays for, [`weight::CHECKED_BYTE`], and the checks of types
/// and patterns.
pub const PER_TEXT_BYTE: u64 = 400;
/// Largest work for loading after which the node can still drop a deployment or call, in nanoseconds. After more work,
/// the transaction fails with a receipt instead.
pub const FREE_SEARCH: u64 = 200_000;
/// Largest work of a transaction without loading, in nanoseconds. Together with the largest work for loading, it fits
/// into an empty block. So the work of other transactions in the block never decides how a transaction ends.
pub const PER_TRANSACTION: u64 = PER_BLOCK - LOADED - TRANSACTION;

const PER_UNIT: u64 = (PER_GAS - EVALUATION_PER_GAS) / UNITS_PER_GAS;
const EVALUATION_PER_UNIT: u64 = EVALUATION_PER_GAS / UNITS_PER_GAS;

/// The weights of operations, in nanoseconds for one operation, part or byte.
///
/// Most comments have a processor time that was measured on an AMD EPYC. Of two numbers, the first is for the benchmark
/// alone, and the second for the benchmark while compilers use both cores. The bench `worst` repeats the measurement.
pub mod weight {
    /// A part of a value that is read or copied, or an eighth of a node of a constructed type. Measured: an argument
    /// of a pattern 15 to 30 ns. A captured or constructed value counts as two parts, and takes 67 to 75 ns.
    pub const PART: u64 = 40;
    /// A node of the type of a value that is determined or compared. Measured: 50 to 104 ns.
    pub const KIND_NODE: u64 = 120;
    /// A part of a numeral that is made and dropped. Measured: 175 to 230 ns, of which the gas covers 80 ns.
    pub const NUMERAL: u64 = 120;
    /// A hash, without its parts and bytes. Measured: 450 to 600 ns for a key.
    pub const HASH: u64 = 1_000;
    /// A part of a value that is hashed, without its bytes. Measured: 100 ns in a tree of 31 parts.
    pub const HASHED_PART: u64 = 100;
    /// A digit of a block number in a calculation. Measured: 0.2 to 0.7 ns.
    pub const DIGIT: u64 = 1;
    /// A digit of a computed block number, which may become text. Measured: 3.1 ns, including its SHA-256 hash.
    pub const NEW_DIGIT: u64 = 4;
    /// A byte of text, of bytes or of digits that a built-in function reads. Measured: 2 ns for a reversal, 0.1 ns
    /// for a comparison.
    pub const BYTE: u64 = 2;
    /// A byte of Keccak-256 input. Measured: 2.6 to 5.4 ns.
    pub const KECCAK256_BYTE: u64 = 4;
    /// A byte of RIPEMD-160 input. Measured: 3.3 to 5.9 ns.
    pub const RIPEMD160_BYTE: u64 = 6;
    /// A byte of SHA-256 input. Measured: 0.8 to 1.1 ns.
    pub const SHA256_BYTE: u64 = 1;
    /// The verification of a signature, or the recovery of a key from it. Measured: 50 to 63 µs.
    pub const SIGNATURE: u64 = 60_000;
    /// A product of pairings, without its pairs. Measured: 640 to 840 µs.
    pub const PAIRING: u64 = 700_000;
    /// A pair in a product of pairings. Measured: 800 to 1,400 µs. A higher weight would bring the verification of a
    /// proof with four pairs and one public input near its limit.
    pub const PAIR: u64 = 880_000;
    /// A sum or a negation of points of `alt_bn128`. Measured: 8 to 13 µs for a sum, 2.5 to 4.7 µs for a negation.
    pub const POINT: u64 = 10_000;
    /// A multiple of a point. Measured: 28 µs for a factor of 8 bits. The gas for a factor of 256 bits permits 2.2 ms.
    pub const MULTIPLE: u64 = 150_000;
    /// A byte of a program that is parsed, checked and compiled. Measured: 150 ns for contracts with comments, 300 to
    /// 370 ns for a chain of `let`, 340 to 680 ns for constructors with names of two letters. In addition, the gas of
    /// a byte covers 80 ns.
    pub const CHECKED_BYTE: u64 = 200;
    /// A byte of a program, or of its init data, that is parsed and compiled. Measured: 60 ns for contracts with
    /// comments.
    pub const LOADED_BYTE: u64 = 130;
    /// A byte of a contract's texts that is read and hashed.
    pub const SOURCE_BYTE: u64 = 4;
    /// A node of a type that the checker reads.
    pub const TYPE_NODE: u64 = 60;
    /// A step of the check of patterns.
    pub const PATTERN_STEP: u64 = 150;
    /// A lookup of an entry of the state. Measured: 1.4 to 2.1 µs for a state in memory.
    pub const LOOKUP: u64 = 2_000;
    /// An entry of a map that is read as a whole, without its bytes. Measured: 1.2 to 3.3 µs, including its bytes.
    pub const ENTRY: u64 = 1_500;
    /// An entry of the state that is written or removed, including the change of the tries of the block. Measured: 2 µs
    /// for an entry that the block has written before, 7 to 12 µs for a new entry in memory. With a higher weight,
    /// ordinary contracts with many writes in a loop would come near their limit.
    pub const WRITTEN: u64 = 6_000;
    /// A byte of a key in a lookup. Measured: 1 to 2 ns.
    pub const KEY_BYTE: u64 = 3;
    /// A byte of a value that is read from the state. Measured: 15 to 21 ns for nested constructors, 2 ns for a text.
    pub const READ_BYTE: u64 = 16;
    /// A byte of a key or value that is written to the state. Measured: 4 to 6 ns for a text, 6 to 9 ns for
    /// constructors.
    pub const WRITTEN_BYTE: u64 = 8;
    /// A lookup of the timestamp of a block. Measured: 0.4 µs for a chain in memory.
    pub const TIME: u64 = 2_000;
    /// A byte of JSON in a message, an event or an exception. Measured: 24 to 32 ns for constructors in an event.
    pub const JSON_BYTE: u64 = 40;
}

/// The work of a transaction, with its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Used units of the interpreter. Their evaluation counts as work.
    units: u64,
    /// Work without evaluation and loading, in nanoseconds.
    done: u64,
    /// Work of loading programs, in nanoseconds.
    loaded: u64,
    /// The part of `loaded` that counts for the block, plus [`TRANSACTION`], in nanoseconds.
    fresh: u64,
    /// Work that remains in the block, in nanoseconds, or `None` if there is no limit.
    room: Option<u64>,
    /// The limit that the transaction has reached, or `None`. A reached limit never changes.
    end: Option<End>,
}

/// A limit that a transaction has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// A limit of the transaction. The transaction fails as if out of gas.
    Transaction,
    /// The remaining work of the block. The next block tries the transaction again.
    Block,
}

impl Work {
    /// Work without a limit. It is only counted.
    pub const UNLIMITED: Self = Self { units: 0, done: 0, loaded: 0, fresh: 0, room: None, end: None };

    /// Returns the work of a transaction with its limits. The block has `room` nanoseconds left.
    pub const fn limited(room: u64) -> Self {
        Self { fresh: TRANSACTION, room: Some(room), ..Self::UNLIMITED }
    }

    /// Counts the units of the interpreter that an action used.
    ///
    /// # Errors
    ///
    /// [`Exhausted`] if a limit is reached.
    pub const fn pay(&mut self, units: u64) -> Result<(), Exhausted> {
        self.units = self.units.saturating_add(units);
        self.check()
    }

    /// Counts work before it is done.
    ///
    /// # Errors
    ///
    /// [`Exhausted`] if a limit is reached. The caller must then do no further work.
    pub const fn spend(&mut self, work: u64) -> Result<(), Exhausted> {
        if self.end.is_some() {
            return Err(Exhausted);
        }
        if work > self.left() {
            let beyond = work > self.left_for_transaction(0);
            return self.stop(if beyond { End::Transaction } else { End::Block });
        }
        self.done = self.done.saturating_add(work);
        Ok(())
    }

    /// Counts work after it was done, even if it exceeds a limit.
    ///
    /// # Errors
    ///
    /// [`Exhausted`] if a limit is reached.
    pub const fn record(&mut self, work: u64) -> Result<(), Exhausted> {
        let beyond = work > self.left_for_transaction(0);
        self.done = self.done.saturating_add(work);
        if beyond && self.room.is_some() {
            return self.stop(End::Transaction);
        }
        self.check()
    }

    /// Ends the transaction if its work is above the limit for `units`, plus `texts` nanoseconds. `units` are the
    /// units that the sender pays, which can be fewer than the units used.
    ///
    /// # Errors
    ///
    /// [`Exhausted`] if the work is above this limit.
    pub const fn end_unless_paid(&mut self, units: u64, texts: u64) -> Result<(), Exhausted> {
        let allowed = FIXED.saturating_add(units.saturating_mul(PER_GAS / UNITS_PER_GAS)).saturating_add(texts);
        if self.room.is_some() && self.own() > allowed {
            return self.stop(End::Transaction);
        }
        self.check()
    }

    /// Counts work, and ends the transaction because this work exceeds [`Self::left_before`]. The work was done before
    /// the charge of its `units`.
    pub const fn exceed_before(&mut self, work: u64, units: u64) -> Exhausted {
        let beyond = work > self.left_for_transaction(units);
        self.done = self.done.saturating_add(work);
        let _ = self.stop(if beyond { End::Transaction } else { End::Block });
        Exhausted
    }

    /// Counts the load of a program of `bytes` bytes. The load parses and compiles the program. Gas does not limit this
    /// work, because caches keep programs, and loading takes longer than most calls. A `fresh` program is used for the
    /// first time in the block, and its work counts for the block.
    ///
    /// # Errors
    ///
    /// [`Exhausted`] if a limit is reached.
    pub const fn load(&mut self, bytes: u64, fresh: bool) -> Result<(), Exhausted> {
        let work = bytes.saturating_mul(weight::LOADED_BYTE);
        self.loaded = self.loaded.saturating_add(work);
        if self.room.is_some() && self.loaded > LOADED {
            return self.stop(End::Transaction);
        }
        if fresh {
            self.fresh = self.fresh.saturating_add(work);
        }
        self.check()
    }

    /// Ends the transaction because of work that was not done and is not counted. The work would be more than is
    /// [left](Self::left).
    pub const fn exceed(&mut self) -> Exhausted {
        let end = if self.left_for_transaction(0) > self.left() { End::Block } else { End::Transaction };
        let _ = self.stop(end);
        Exhausted
    }

    /// Compares the counted work with the limits of transaction and block.
    const fn check(&mut self) -> Result<(), Exhausted> {
        let Some(room) = self.room else { return Ok(()) };
        if self.end.is_some() {
            return Err(Exhausted);
        }
        if self.own() > PER_TRANSACTION {
            return self.stop(End::Transaction);
        }
        if self.total() > room {
            return self.stop(End::Block);
        }
        Ok(())
    }

    const fn stop(&mut self, end: End) -> Result<(), Exhausted> {
        if self.end.is_none() {
            self.end = Some(end);
        }
        Err(Exhausted)
    }

    /// Returns the work that the limits of the transaction and of the block still permit, in nanoseconds. Returns
    /// `u64::MAX` if there is no limit.
    pub const fn left(&self) -> u64 {
        self.left_before(0)
    }

    /// Returns the work that the limits of the transaction and of the block still permit if its `units` are charged
    /// after the work, in nanoseconds. Returns `u64::MAX` if there is no limit.
    pub const fn left_before(&self, units: u64) -> u64 {
        let Some(room) = self.room else { return u64::MAX };
        let own = self.left_for_transaction(units);
        let block = room.saturating_sub(self.total());
        if own < block { own } else { block }
    }

    /// Returns the work that the limits of the transaction permit if its `units` are charged after the work, in
    /// nanoseconds.
    const fn left_for_transaction(&self, units: u64) -> u64 {
        if self.end.is_some() {
            return 0;
        }
        let units = self.units.saturating_add(units);
        let allowed = FIXED.saturating_add(units.saturating_mul(PER_UNIT)).saturating_sub(self.done);
        let rest = PER_TRANSACTION.saturating_sub(self.own());
        if allowed < rest { allowed } else { rest }
    }

    /// Returns the work without loading, in nanoseconds.
    const fn own(&self) -> u64 {
        self.units.saturating_mul(EVALUATION_PER_UNIT).saturating_add(self.done)
    }

    /// Returns the work that counts for the block, in nanoseconds.
    pub const fn total(&self) -> u64 {
        self.own().saturating_add(self.fresh)
    }

    /// Returns the work of loading programs, in nanoseconds.
    pub const fn loaded(&self) -> u64 {
        self.loaded
    }

    /// Returns the maximum work, in nanoseconds, that a transaction with gas limit `gas` can count for its block.
    pub const fn most(gas: u64) -> u64 {
        let own = FIXED.saturating_add(gas.saturating_mul(PER_GAS));
        let own = if own < PER_TRANSACTION { own } else { PER_TRANSACTION };
        TRANSACTION + LOADED + own
    }

    /// Returns the work of a payment with gas limit `gas`, in nanoseconds.
    pub const fn payment(gas: u64) -> u64 {
        gas.saturating_mul(EVALUATION_PER_GAS).saturating_add(TRANSACTION)
    }

    /// Returns the work without evaluation and loading, in nanoseconds.
    pub const fn done(&self) -> u64 {
        self.done
    }

    /// Returns the limit that the transaction has reached, or `None`.
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
        assert_eq!(work.pay(UNITS_PER_GAS), Ok(()));
        assert_eq!(work.spend(PER_GAS - EVALUATION_PER_GAS), Ok(()));
        assert_eq!(work.total(), TRANSACTION + FIXED + PER_GAS);
        assert_eq!((work.spend(1), work.end()), (Err(Exhausted), Some(End::Transaction)));
        assert_eq!((work.pay(UNITS_PER_GAS), work.spend(0)), (Err(Exhausted), Err(Exhausted)), "the end is final");
    }

    #[test]
    fn evaluation_alone_reaches_the_limit_of_a_transaction() {
        let mut work = Work::limited(u64::MAX);
        assert_eq!(work.pay(PER_TRANSACTION / EVALUATION_PER_UNIT), Ok(()));
        assert_eq!((work.pay(1), work.end()), (Err(Exhausted), Some(End::Transaction)));
    }

    #[test]
    fn transaction_does_not_exceed_the_room_of_its_block() {
        let mut work = Work::limited(TRANSACTION + 1_000);
        assert_eq!(work.pay(UNITS_PER_GAS), Ok(()));
        assert_eq!(work.spend(360), Ok(()));
        assert_eq!((work.spend(1), work.end()), (Err(Exhausted), Some(End::Block)));
        let mut work = Work::limited(TRANSACTION + EVALUATION_PER_UNIT);
        assert_eq!(work.pay(1), Ok(()));
        assert_eq!((work.pay(1), work.end()), (Err(Exhausted), Some(End::Block)));
    }

    #[test]
    fn work_of_unpaid_units_ends() {
        let mut work = Work::limited(PER_BLOCK);
        assert_eq!((work.pay(16), work.record(FIXED + 16 * PER_UNIT)), (Ok(()), Ok(())));
        let mut paid = work;
        assert_eq!((paid.end_unless_paid(16, 0), paid.end()), (Ok(()), None));
        assert_eq!((paid.end_unless_paid(8, PER_GAS), paid.end()), (Ok(()), None));
        assert_eq!((work.end_unless_paid(8, 0), work.end()), (Err(Exhausted), Some(End::Transaction)));
        let mut unlimited = Work::UNLIMITED;
        assert_eq!(
            (unlimited.pay(16), unlimited.record(PER_BLOCK), unlimited.end_unless_paid(0, 0)),
            (Ok(()), Ok(()), Ok(()))
        );
    }

    #[test]
    fn later_charge_allows_work() {
        let mut work = Work::limited(PER_BLOCK);
        let allowed = FIXED + 8 * PER_UNIT;
        assert_eq!((work.left(), work.left_before(8)), (FIXED, allowed));
        let mut unpaid = work;
        assert_eq!((unpaid.record(allowed), unpaid.end()), (Err(Exhausted), Some(End::Transaction)));
        assert_eq!(unpaid.done(), allowed, "the work was done");
        assert_eq!((work.pay(8), work.record(allowed), work.end()), (Ok(()), Ok(()), None));
        assert_eq!((work.record(1), work.end()), (Err(Exhausted), Some(End::Transaction)));
    }

    #[test]
    fn work_before_its_charge_ends_at_the_nearer_limit() {
        for (room, end) in [(PER_BLOCK, End::Transaction), (TRANSACTION + FIXED, End::Block)] {
            let mut work = Work::limited(room);
            let more = work.left_before(8) + 1;
            assert_eq!((work.exceed_before(more, 8), work.end()), (Exhausted, Some(end)));
            assert_eq!(work.done(), more, "the work was done");
        }
    }

    #[test]
    fn nearer_limit_is_exceeded() {
        for (room, end) in [(PER_BLOCK, End::Transaction), (TRANSACTION + FIXED / 2, End::Block)] {
            let mut work = Work::limited(room);
            assert_eq!((work.exceed(), work.end()), (Exhausted, Some(end)));
        }
    }

    #[test]
    fn transaction_fits_into_an_empty_block() {
        let mut work = Work::limited(PER_BLOCK);
        assert_eq!(work.load(LOADED / weight::LOADED_BYTE, true), Ok(()));
        assert_eq!(work.pay(PER_TRANSACTION / EVALUATION_PER_UNIT), Ok(()));
        assert_eq!((work.spend(1), work.end()), (Err(Exhausted), Some(End::Transaction)));
    }

    #[test]
    fn work_without_limit_is_counted() {
        let mut work = Work::UNLIMITED;
        assert_eq!((work.spend(PER_BLOCK), work.spend(1)), (Ok(()), Ok(())));
        assert_eq!((work.pay(u64::MAX), work.load(u64::MAX, true)), (Ok(()), Ok(())));
        assert_eq!((work.done(), work.end()), (PER_BLOCK + 1, None));
    }

    #[test]
    fn loaded_programs_count_for_the_block_once() {
        let bytes = LOADED / weight::LOADED_BYTE;
        let mut work = Work::limited(PER_BLOCK);
        assert_eq!((work.load(bytes, true), work.total()), (Ok(()), TRANSACTION + bytes * weight::LOADED_BYTE));
        assert_eq!((work.load(1, false), work.end()), (Err(Exhausted), Some(End::Transaction)));
        let mut work = Work::limited(TRANSACTION + weight::LOADED_BYTE);
        assert_eq!((work.load(2, false), work.total()), (Ok(()), TRANSACTION));
        assert_eq!((work.load(2, true), work.end()), (Err(Exhausted), Some(End::Block)));
    }
}
