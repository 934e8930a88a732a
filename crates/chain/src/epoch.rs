//! The numbers of Tx blocks, DS blocks and DS epochs (Reference: execution#epochs).

use std::num::NonZeroU64;

use silica_protocol::{BlockNumber, DsBlockNumber};

/// The division of Tx blocks into DS epochs.
///
/// # Examples
///
/// ```
/// use silica_chain::Epochs;
/// use silica_protocol::{BlockNumber, DsBlockNumber};
///
/// let epochs = Epochs::new(100).unwrap();
/// assert_eq!(epochs.ds_block_of(BlockNumber::new(1_002_353)), DsBlockNumber::new(10_024));
/// assert!(epochs.is_vacuous(BlockNumber::new(99)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epochs {
    length: NonZeroU64,
}

impl Epochs {
    /// Returns DS epochs of `length` Tx blocks, or `None` if `length` is below 2. One Tx block of each DS epoch is
    /// vacuous.
    pub fn new(length: u64) -> Option<Self> {
        NonZeroU64::new(length).filter(|length| length.get() >= 2).map(|length| Self { length })
    }

    /// Returns the number of Tx blocks in a DS epoch.
    pub fn length(self) -> u64 {
        self.length.get()
    }

    /// Returns whether `block` is vacuous: the last Tx block of its DS epoch.
    pub fn is_vacuous(self, block: BlockNumber) -> bool {
        block.next().is_some_and(|next| next.get() % self.length == 0)
    }

    /// Returns the number of blocks from `block` on before the next vacuous block.
    pub(crate) fn before_vacuous(self, block: BlockNumber) -> u64 {
        self.length().saturating_sub(1).saturating_sub(block.get() % self.length)
    }

    /// Returns the first vacuous block from `block` on.
    pub(crate) fn vacuous_from(self, block: BlockNumber) -> BlockNumber {
        BlockNumber::new(block.get().saturating_add(self.before_vacuous(block)))
    }

    /// Returns the last vacuous block up to `block`, or `None` if no block up to it is vacuous.
    pub(crate) fn vacuous_up_to(self, block: BlockNumber) -> Option<BlockNumber> {
        self.complete_at(block).checked_sub(1).map(|epoch| self.vacuous_block_of(epoch))
    }

    /// Returns the number of vacuous blocks up to `block`.
    pub(crate) fn complete_at(self, block: BlockNumber) -> u64 {
        block.get().saturating_add(1) / self.length
    }

    /// Returns the vacuous block with `before` vacuous blocks before it.
    pub(crate) fn vacuous_block_of(self, before: u64) -> BlockNumber {
        let next = before.saturating_add(1).saturating_mul(self.length());
        BlockNumber::new(next.saturating_sub(1))
    }

    /// Returns whether a DS block comes directly before `block`.
    pub fn starts_with(self, block: BlockNumber) -> bool {
        block.get() == 1 || (block.get() != 0 && block.get() % self.length == 0)
    }

    /// Returns the number of the latest DS block at `block`. For the genesis block this is 0.
    pub fn ds_block_of(self, block: BlockNumber) -> DsBlockNumber {
        if block.get() == 0 {
            return DsBlockNumber::new(0);
        }
        DsBlockNumber::new((block.get() / self.length).saturating_add(1))
    }

    /// Returns the number of the first Tx block after the DS block `ds_block`. The header of the DS block has this
    /// number as its epoch.
    pub fn first_block_of(self, ds_block: DsBlockNumber) -> BlockNumber {
        match ds_block.get() {
            0 => BlockNumber::new(0),
            1 => BlockNumber::new(1),
            later => BlockNumber::new(later.saturating_sub(1).saturating_mul(self.length())),
        }
    }

    /// Returns the number of the block that is `ds_epochs` DS epochs after `block`.
    pub(crate) fn after(self, block: BlockNumber, ds_epochs: u64) -> BlockNumber {
        BlockNumber::new(block.get().saturating_add(ds_epochs.saturating_mul(self.length())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn epochs(length: u64) -> Epochs {
        Epochs::new(length).unwrap()
    }

    #[test]
    fn an_epoch_has_at_least_two_blocks() {
        assert_eq!(Epochs::new(0), None);
        assert_eq!(Epochs::new(1), None);
        assert!(Epochs::new(2).is_some());
    }

    #[test]
    fn vacuous_blocks_end_an_epoch() {
        let vacuous: Vec<u64> = (0..30).filter(|&n| epochs(10).is_vacuous(BlockNumber::new(n))).collect();
        assert_eq!(vacuous, [9, 19, 29]);
        let vacuous: Vec<u64> = (0..8).filter(|&n| epochs(2).is_vacuous(BlockNumber::new(n))).collect();
        assert_eq!(vacuous, [1, 3, 5, 7]);
    }

    #[test]
    fn blocks_are_counted_up_to_the_vacuous_one() {
        for length in [2, 3, 10] {
            for number in (0..50).map(BlockNumber::new) {
                let passed = epochs(length).before_vacuous(number);
                let vacuous =
                    (number.get()..number.get() + length).find(|&n| epochs(length).is_vacuous(BlockNumber::new(n)));
                assert_eq!(vacuous, Some(number.get() + passed), "length {length}, block {number}");
            }
        }
    }

    #[test]
    fn ds_blocks_come_before_block_1_and_every_multiple() {
        let starts: Vec<u64> = (0..35).filter(|&n| epochs(10).starts_with(BlockNumber::new(n))).collect();
        assert_eq!(starts, [1, 10, 20, 30]);
    }

    #[test]
    fn ds_block_numbers_of_published_blocks() {
        assert_eq!(epochs(100).ds_block_of(BlockNumber::new(1_002_353)).get(), 10_024);
        assert_eq!(epochs(100).ds_block_of(BlockNumber::new(589_777)).get(), 5_898);
        assert_eq!(epochs(100).ds_block_of(BlockNumber::new(3_167)).get(), 32);
    }

    #[test]
    fn first_blocks_and_ds_numbers_agree() {
        for length in [2, 3, 10, 100] {
            let epochs = epochs(length);
            let mut ds = DsBlockNumber::new(0);
            for number in 1..1_000 {
                let block = BlockNumber::new(number);
                if epochs.starts_with(block) {
                    ds = ds.next().unwrap();
                    assert_eq!(epochs.first_block_of(ds), block, "length {length}");
                }
                assert_eq!(epochs.ds_block_of(block), ds, "length {length}, block {number}");
            }
        }
        assert_eq!(epochs(10).ds_block_of(BlockNumber::new(0)).get(), 0);
        assert_eq!(epochs(10).first_block_of(DsBlockNumber::new(0)).get(), 0);
    }

    #[test]
    fn vacuous_blocks_are_found_from_both_sides() {
        for length in [2, 3, 7] {
            let epochs = Epochs::new(length).unwrap();
            for block in (0..40).map(BlockNumber::new) {
                let vacuous = |numbers: std::ops::RangeInclusive<u64>| {
                    numbers.map(BlockNumber::new).filter(|number| epochs.is_vacuous(*number)).collect::<Vec<_>>()
                };
                assert_eq!(Some(&epochs.vacuous_from(block)), vacuous(block.get()..=100).first());
                let before = vacuous(0..=block.get());
                assert_eq!(epochs.vacuous_up_to(block).as_ref(), before.last());
                assert_eq!(epochs.complete_at(block), before.len() as u64);
            }
        }
    }
}
