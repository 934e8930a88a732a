//! Inputs of the next block in addition to the state: the gas price, and the fees that a vacuous block returns.

use silica_protocol::{BlockNumber, DsBlockHeader, DsBlockNumber, GasPrice, Qa, TxBlockHeader};
use silica_state::{ArchiveError, Snapshot};

use crate::{
    epoch::Epochs,
    gas_price::{GasPriceInputs, is_full, mean_window},
    network::{Head, Network},
};

/// The number of full Tx blocks in the DS epoch of the head.
///
/// Blocks before `counted_from` are from before the start of this process, and are not counted yet. They are read when
/// the count is needed, so that the time of a start does not depend on the length of a DS epoch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FullBlockCounter {
    ds_block: DsBlockNumber,
    counted_from: BlockNumber,
    count: u64,
}

impl FullBlockCounter {
    /// Returns the counter for the DS epoch of `head`, without any counted block.
    pub(crate) fn uncounted(head: &Head) -> Self {
        let header = &head.tx_block.header;
        Self { ds_block: header.ds_block, counted_from: header.number.next().unwrap_or(header.number), count: 0 }
    }

    /// Counts the block that follows the head.
    pub(crate) fn add(&mut self, header: &TxBlockHeader) {
        if header.ds_block != self.ds_block {
            *self = Self { ds_block: header.ds_block, counted_from: header.number, count: 0 };
        }
        self.count(header);
    }

    /// Continues after empty blocks, which are never full. `last` is the header of the last empty block.
    pub(crate) fn pass(&mut self, last: &TxBlockHeader, epochs: Epochs) {
        if last.ds_block != self.ds_block {
            let (ds_block, counted_from) = (last.ds_block, epochs.first_block_of(last.ds_block));
            *self = Self { ds_block, counted_from, count: 0 };
        }
    }

    /// Adds the blocks from before the start of this process, and returns the complete count.
    fn complete(&mut self, epochs: Epochs, state: &Snapshot) -> Result<u64, ArchiveError> {
        let first = epochs.first_block_of(self.ds_block);
        for number in (first.get()..self.counted_from.get()).map(BlockNumber::new) {
            if let Some(header) = state.tx_header(number)? {
                self.count(&header);
            }
        }
        self.counted_from = self.counted_from.min(first);
        Ok(self.count)
    }

    fn count(&mut self, header: &TxBlockHeader) {
        self.count = self.count.saturating_add(u64::from(is_full(header)));
    }
}

/// Returns the gas price of the DS block after `head`, as the reference computes it (Reference: execution#gas-price).
/// The only proposal of the miners is the lowest permitted price.
pub(crate) fn price_by_rules(
    network: &Network,
    head: &Head,
    state: &Snapshot,
    full_blocks: &mut FullBlockCounter,
) -> Result<GasPrice, ArchiveError> {
    Ok(Prices::after(network, head, state, full_blocks)?.next(head.number(), &head.ds_block.header))
}

/// The gas prices of successive DS blocks, as the reference computes them, if all Tx blocks before and between them are
/// empty.
#[derive(Clone, Debug)]
pub(crate) struct Prices {
    floor: GasPrice,
    /// Number of full blocks in the DS epoch that ends.
    full_blocks: u64,
    /// Prices of the DS blocks in the average, the oldest first.
    recent: Vec<GasPrice>,
}

impl Prices {
    /// Returns the prices of the DS blocks after `head`.
    pub(crate) fn after(
        network: &Network,
        head: &Head,
        state: &Snapshot,
        full_blocks: &mut FullBlockCounter,
    ) -> Result<Self, ArchiveError> {
        let recent = mean_window(head.ds_block.header.number)
            .filter_map(|number| state.ds_header(number).transpose())
            .map(|header| header.map(|header| header.gas_price))
            .collect::<Result<_, _>>()?;
        let full_blocks = full_blocks.complete(network.epochs, state)?;
        Ok(Self { floor: network.config.minimum_gas_price, full_blocks, recent })
    }

    /// Returns the price of the DS block after Tx block `head`. `last` is the previous DS block.
    pub(crate) fn next(&mut self, head: BlockNumber, last: &DsBlockHeader) -> GasPrice {
        let Self { floor, full_blocks, recent } = self;
        let blocks = head.get().saturating_sub(last.epoch.get()).saturating_add(1);
        let (full_blocks, proposals) = (std::mem::take(full_blocks), [*floor]);
        let inputs =
            GasPriceInputs { blocks, full_blocks, recent, last: last.gas_price, proposals: &proposals, floor: *floor };
        let price = inputs.price();
        recent.push(price);
        let averaged = last.number.next().map_or(0, |number| mean_window(number).count());
        recent.drain(..recent.len().saturating_sub(averaged));
        price
    }
}

/// Returns the fees of the DS epoch of `block` that are not credited to the null account. `block` is the next block.
pub(crate) fn uncredited_fees(block: BlockNumber, epochs: Epochs, state: &Snapshot) -> Qa {
    if epochs.starts_with(block) {
        return Qa::ZERO;
    }
    state.head().map_or(Qa::ZERO, |head| head.totals.ds_epoch_fees)
}
