//! The list of transfers, in pages.
//!
//! The walk over the places of the record is separate from the [transfers of a place](crate::transfer). The walk skips
//! the ordinary blocks of empty block ranges. If the request names addresses, the walk reads only the
//! [parts](crate::transfer_parts) that the history index has, in the blocks that the index covers.

use std::{
    collections::BTreeSet,
    ops::{Range, RangeInclusive},
};

use silica_protocol::{Address, BlockNumber, Qa, Receipt, Timestamp, Transaction};
use silica_state::{ArchiveError, BlockOutline, DbError};

use crate::{
    network::Network,
    reserve_log::Reserves,
    snapshot::Snapshot,
    transaction_search::{HistoryOrder, HistoryPlace, weight},
    transfer::{BlockPart, Transfer, TransferPlace, TransferSource},
    transfer_parts::IndexedParts,
};

/// A request for a page of the list of transfers.
#[derive(Clone, Copy, Debug)]
pub struct TransferRequest<'a> {
    /// Addresses of which at least one pays or gets the money, or `None` for all transfers.
    pub addresses: Option<&'a BTreeSet<Address>>,
    /// The first block whose transfers are listed.
    pub first: BlockNumber,
    /// The last block whose transfers are listed. Blocks after the head have no transfers.
    pub last: BlockNumber,
    /// The order of the transfers.
    pub order: HistoryOrder,
    /// `next` of the previous page, or `None` for the first page.
    pub from: Option<TransferPlace>,
    /// Maximum number of transfers on a page. A limit of 0 means 1.
    pub limit: usize,
    /// Maximum number of steps of the walk for a page. A transaction takes steps as in
    /// [`HistoryRequest`](crate::HistoryRequest::effort). Each block, and each DS epoch whose reward is computed, takes
    /// one more step. An empty block range takes one step, and one more for each vacuous block. With the history index,
    /// each part of a block takes one step, and a query takes 16 steps for each address.
    pub effort: usize,
}

/// A page of the list of transfers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransferPage {
    /// The transfers in the requested order. A page can have fewer transfers than the limit, or none, although a later
    /// page has some.
    pub transfers: Vec<Transfer>,
    /// The place at which the next page begins, or `None` on the last page.
    pub next: Option<TransferPlace>,
}

impl TransferPlace {
    /// Returns the place before all transfers of a block.
    fn before(block: BlockNumber) -> Self {
        Self { block, part: BlockPart::Start, index: 0 }
    }

    /// Returns the place after all transfers of a block.
    fn behind(block: BlockNumber) -> Self {
        Self::behind_part(block, BlockPart::End)
    }

    /// Returns the place after all transfers of a part of a block.
    fn behind_part(block: BlockNumber, part: BlockPart) -> Self {
        Self { block, part, index: u32::MAX }
    }

    /// Returns the place before all transfers of a part of a block.
    fn before_part(block: BlockNumber, part: BlockPart) -> Self {
        Self { block, part, index: 0 }
    }
}

impl Snapshot {
    /// Returns a page of the list of transfers.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`]: the record could not be read.
    pub fn transfers(&self, request: &TransferRequest<'_>) -> Result<TransferPage, ArchiveError> {
        let head = self.latest_tx_block().header.number;
        let (first, last) = (TransferPlace::before(request.first), TransferPlace::behind(request.last.min(head)));
        let start = match request.order {
            HistoryOrder::NewestFirst => request.from.map_or(last, |from| from.min(last)),
            HistoryOrder::OldestFirst => request.from.map_or(first, |from| from.max(first)),
        };
        let source = self.transfer_source();
        let pays_reward = |addresses: &BTreeSet<Address>| {
            addresses.contains(&Address::ZERO) || source.committees.accounts().any(|member| addresses.contains(member))
        };
        let rewards = request.addresses.is_none_or(pays_reward);
        let blocks = match request.order {
            HistoryOrder::NewestFirst => (first.block, start.block),
            HistoryOrder::OldestFirst => (start.block, last.block),
        };
        let indexed = match request.addresses {
            Some(addresses) => IndexedParts::new(self, addresses, blocks, request.order, request.effort)?,
            None => None,
        };
        let mut walk = Walk {
            snapshot: self,
            source,
            request,
            bounds: (first, last),
            rewards,
            indexed,
            at: start,
            transfers: Vec::new(),
            steps: 0,
            has_read: false,
            reserves: None,
        };
        let is_over = match request.order {
            HistoryOrder::NewestFirst => walk.backward()?,
            HistoryOrder::OldestFirst => walk.forward()?,
        };
        let Walk { transfers, at, .. } = walk;
        let transfers = self.with_time(transfers)?;
        Ok(TransferPage { transfers, next: Some(at).filter(|_| !is_over) })
    }

    /// Returns the transfers of a transaction at its place in the record.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`]: the record could not be read.
    pub fn transfers_of(
        &self,
        place: HistoryPlace,
        transaction: &Transaction,
        receipt: &Receipt,
    ) -> Result<Vec<Transfer>, ArchiveError> {
        let transfers = self.transfer_source().of_transaction(place.block, place.position, transaction, receipt)?;
        self.with_time(with_hash(transfers, transaction))
    }

    /// Returns the transfers of a block before its transactions, and those after its transactions. The first call for a
    /// vacuous block computes the balances of the null account from the genesis on, which takes a step for each DS
    /// epoch.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`]: the record could not be read.
    pub fn transfers_around(&self, block: BlockNumber) -> Result<(Vec<Transfer>, Vec<Transfer>), ArchiveError> {
        let source = self.transfer_source();
        let has_edits = self.state().outline(block)?.is_some_and(|outline| outline.has_edits);
        let before = self.with_time(source.of_start(block, has_edits)?)?;
        if !source.epochs.is_vacuous(block) {
            return Ok((before, Vec::new()));
        }
        let epoch = source.epochs.complete_at(block).saturating_sub(1);
        let reserve = self.reserves(block, &mut 0, usize::MAX)?.and_then(|reserves| reserves.before(epoch));
        // The chain was reverted, so the record can lack the block of this snapshot.
        let reserve = reserve.ok_or(DbError::Retired)?;
        Ok((before, self.with_time(source.of_end(block, reserve)?.0)?))
    }

    /// Sets the timestamps of transfers.
    fn with_time(&self, mut transfers: Vec<Transfer>) -> Result<Vec<Transfer>, ArchiveError> {
        let mut time = (None, Timestamp::default());
        for transfer in &mut transfers {
            let block = transfer.place.block;
            if time.0 != Some(block) {
                time = (Some(block), self.state().time_of(block)?.unwrap_or_default());
            }
            transfer.timestamp = time.1;
        }
        Ok(transfers)
    }

    fn transfer_source(&self) -> TransferSource<'_> {
        let shared = self.shared();
        let Network { epochs, committees, .. } = &shared.network;
        TransferSource { state: self.state(), genesis: &shared.genesis, epochs: *epochs, committees }
    }

    /// Returns the balances of the null account before the vacuous blocks up to `block`, or `None` if their computation
    /// needs more steps than are left. `steps` gets the steps of the computation.
    fn reserves(&self, block: BlockNumber, steps: &mut usize, most: usize) -> Result<Option<Reserves>, ArchiveError> {
        let (source, log) = (self.transfer_source(), &self.shared().reserves);
        let (epochs, reverts) = (source.epochs, self.tip().reverts);
        let complete = |seen| self.reverted_to(seen).map_or(0, |block| epochs.complete_at(block));
        if !log.follow(reverts, complete) {
            return Ok(None);
        }
        // At least one stride, so that a repeated request comes to an end.
        let mut is_first = true;
        let may_go_on = |stride: u64| {
            let goes_on = std::mem::take(&mut is_first) || *steps < most;
            *steps = steps.saturating_add(usize::try_from(stride).unwrap_or(usize::MAX));
            goes_on
        };
        let epoch = epochs.complete_at(block).saturating_sub(1);
        log.up_to(epoch, reverts, may_go_on, |epoch, reserve| {
            source.of_end(epochs.vacuous_block_of(epoch), reserve).map(|(_, reserve)| reserve)
        })
    }
}

/// The result of a walk over the parts of the history index.
enum Walked {
    /// The page is full.
    Full,
    /// The walk has read all parts, up to this block.
    All(BlockNumber),
}

/// A walk for one page.
struct Walk<'a> {
    snapshot: &'a Snapshot,
    source: TransferSource<'a>,
    request: &'a TransferRequest<'a>,
    /// The first and the last place of the walk.
    bounds: (TransferPlace, TransferPlace),
    /// Whether the walk reads the rewards of vacuous blocks.
    rewards: bool,
    /// The parts to read according to the history index, or `None` for a walk without the index.
    indexed: Option<IndexedParts<'a>>,
    /// The next place to read.
    at: TransferPlace,
    transfers: Vec<Transfer>,
    steps: usize,
    /// Whether the walk has read a place. If a page read no place, the next page would begin at the same place.
    has_read: bool,
    /// The latest balances of the null account.
    reserves: Option<Reserves>,
}

impl Walk<'_> {
    /// Walks towards newer places. Returns whether the walk read the last place.
    fn forward(&mut self) -> Result<bool, ArchiveError> {
        let last = self.bounds.1.block;
        while self.at.block <= last {
            match self.walk_index()? {
                Some(Walked::Full) => return Ok(false),
                Some(Walked::All(newest)) => {
                    self.at = after(newest);
                    continue;
                }
                None => {}
            }
            let block = self.at.block;
            let Some(outline) = self.next_outline(block)? else { return Ok(false) };
            if let Some(range) = outline.empty_range {
                let (vacuous, end) = (self.source.epochs.vacuous_from(block), last.min(*range.end()));
                if self.rewards && vacuous <= end {
                    self.at = self.at.max(TransferPlace::before_part(vacuous, BlockPart::End));
                    if !self.read_end()? {
                        return Ok(false);
                    }
                    self.at = after(vacuous);
                } else {
                    self.at = after(end);
                }
                continue;
            }
            if self.at.part == BlockPart::Start {
                let transfers = self.source.of_start(block, outline.has_edits)?;
                if !self.take(transfers) {
                    return Ok(false);
                }
                self.at = TransferPlace::before_part(block, BlockPart::Transaction(0));
            }
            if !self.read_transactions(&outline)? {
                return Ok(false);
            }
            self.at = self.at.max(TransferPlace::before_part(block, BlockPart::End));
            if !self.read_end()? {
                return Ok(false);
            }
            self.at = after(block);
        }
        Ok(true)
    }

    /// Walks towards older places. Returns whether the walk read the first place.
    fn backward(&mut self) -> Result<bool, ArchiveError> {
        let first = self.bounds.0.block;
        while self.at >= self.bounds.0 {
            match self.walk_index()? {
                Some(Walked::Full) => return Ok(false),
                Some(Walked::All(_)) => return Ok(true),
                None => {}
            }
            let block = self.at.block;
            let Some(outline) = self.next_outline(block)? else { return Ok(false) };
            if let Some(range) = outline.empty_range {
                // A place before the end of a block is after the end of the block before it.
                let up_to = if self.at.part == BlockPart::End { Some(block) } else { block.previous() };
                let vacuous = up_to.and_then(|up_to| self.source.epochs.vacuous_up_to(up_to));
                let start = first.max(*range.start());
                let before = match vacuous.filter(|vacuous| self.rewards && *vacuous >= start) {
                    Some(vacuous) => {
                        self.at = self.at.min(TransferPlace::behind(vacuous));
                        if !self.read_end()? {
                            return Ok(false);
                        }
                        vacuous
                    }
                    None => start,
                };
                let Some(before) = before.previous() else { return Ok(true) };
                self.at = TransferPlace::behind(before);
                continue;
            }
            if self.at.part == BlockPart::End && !self.read_end()? {
                return Ok(false);
            }
            self.at = self.at.min(TransferPlace::behind_part(block, BlockPart::Transaction(u32::MAX)));
            if !self.read_transactions(&outline)? {
                return Ok(false);
            }
            self.at = self.at.min(TransferPlace::behind_part(block, BlockPart::Start));
            let transfers = self.source.of_start(block, outline.has_edits)?;
            if !self.take(transfers) {
                return Ok(false);
            }
            let Some(before) = block.previous() else { return Ok(true) };
            self.at = TransferPlace::behind(before);
        }
        Ok(true)
    }

    /// Walks over the parts of the history index, if the index covers the block of the next place. Returns `None` if
    /// the walk continues without the index.
    fn walk_index(&mut self) -> Result<Option<Walked>, ArchiveError> {
        while let Some(parts) = &mut self.indexed {
            let newest = parts.last();
            if self.at.block > newest {
                return Ok(None);
            }
            let Ok(part) = parts.next(self.at, &mut self.steps) else {
                self.indexed = None;
                break;
            };
            let Some((block, part)) = self.with_reward(part, newest) else { return Ok(Some(Walked::All(newest))) };
            if self.is_full() {
                return Ok(Some(Walked::Full));
            }
            self.steps = self.steps.saturating_add(1);
            let is_forward = self.request.order == HistoryOrder::OldestFirst;
            self.at = if is_forward {
                self.at.max(TransferPlace::before_part(block, part))
            } else {
                self.at.min(TransferPlace::behind_part(block, part))
            };
            let (is_whole, read) = match part {
                BlockPart::Start => {
                    let outline = self.snapshot.state().outline(block)?;
                    let has_edits = outline.is_some_and(|outline| outline.has_edits);
                    (self.take(self.source.of_start(block, has_edits)?), part..=part)
                }
                BlockPart::Transaction(position) => self.read_indexed(block, position)?,
                BlockPart::End => (self.read_end()?, part..=part),
            };
            if !is_whole {
                return Ok(Some(Walked::Full));
            }
            let next = if is_forward { Some(next_part(block, *read.end())) } else { part_before(block, *read.start()) };
            let Some(next) = next else { return Ok(Some(Walked::All(newest))) };
            self.at = next;
        }
        Ok(None)
    }

    /// Returns `part` or the next reward of a vacuous block up to block `newest`, whichever is first in the order.
    /// Returns `None` if there is neither a part nor a reward.
    fn with_reward(
        &self,
        part: Option<(BlockNumber, BlockPart)>,
        newest: BlockNumber,
    ) -> Option<(BlockNumber, BlockPart)> {
        let (at, epochs) = (self.at, self.source.epochs);
        let reward = match self.request.order {
            HistoryOrder::OldestFirst => Some(epochs.vacuous_from(at.block)).filter(|block| *block <= newest),
            HistoryOrder::NewestFirst => {
                let up_to = if at.part == BlockPart::End { Some(at.block) } else { at.block.previous() };
                up_to.and_then(|up_to| epochs.vacuous_up_to(up_to)).filter(|block| *block >= self.bounds.0.block)
            }
        };
        let reward = reward.filter(|_| self.rewards).map(|block| (block, BlockPart::End));
        match (part, reward, self.request.order) {
            (Some(part), Some(reward), HistoryOrder::OldestFirst) => Some(part.min(reward)),
            (Some(part), Some(reward), HistoryOrder::NewestFirst) => Some(part.max(reward)),
            (part, reward, _) => part.or(reward),
        }
    }

    /// Reads the transaction at a position, and those transactions of its group that the history index has next.
    /// Returns whether the page has room for all of them, and their parts.
    fn read_indexed(
        &mut self,
        block: BlockNumber,
        position: u32,
    ) -> Result<(bool, RangeInclusive<BlockPart>), ArchiveError> {
        let alone = BlockPart::Transaction(position)..=BlockPart::Transaction(position);
        let Some(group) = self.snapshot.state().transaction_group(block, position)? else { return Ok((true, alone)) };
        let of_group = self.indexed.as_ref().map(|parts| parts.positions(block, &group.positions));
        let wanted = of_group.unwrap_or_default();
        let (Some(first), Some(last)) = (wanted.first().copied(), wanted.last().copied()) else {
            return Ok((true, alone));
        };
        let is_whole =
            self.read_group(block, first..last.saturating_add(1), weight(&group), |at| wanted.contains(&at))?;
        Ok((is_whole, BlockPart::Transaction(first)..=BlockPart::Transaction(last)))
    }

    /// Returns the parts of the next block, or `None` if the page is full.
    fn next_outline(&mut self, block: BlockNumber) -> Result<Option<BlockOutline>, ArchiveError> {
        if self.is_full() {
            return Ok(None);
        }
        self.steps = self.steps.saturating_add(1);
        let outline = self.snapshot.state().outline(block)?;
        // The blocks of an empty block range up to the next reward count as read.
        self.has_read |= outline.as_ref().is_some_and(|outline| outline.empty_range.is_some());
        Ok(outline)
    }

    fn is_full(&self) -> bool {
        self.has_read && (self.transfers.len() >= self.request.limit.max(1) || self.steps >= self.request.effort)
    }

    /// Reads the transactions of a block from the next place on. Returns false if the page is full.
    fn read_transactions(&mut self, outline: &BlockOutline) -> Result<bool, ArchiveError> {
        let block = self.at.block;
        while let BlockPart::Transaction(position) = self.at.part {
            let is_forward = self.request.order == HistoryOrder::OldestFirst;
            let Some(last) = outline.transactions.checked_sub(1).filter(|last| !is_forward || position <= *last) else {
                return Ok(true);
            };
            let position = position.min(last);
            let Some(group) = self.snapshot.state().transaction_group(block, position)? else { return Ok(true) };
            let positions = if is_forward {
                position..group.positions.end
            } else {
                group.positions.start..position.saturating_add(1)
            };
            if !self.read_group(block, positions.clone(), weight(&group), |_| true)? {
                return Ok(false);
            }
            self.at = match positions.start.checked_sub(1) {
                _ if is_forward => TransferPlace::before_part(block, BlockPart::Transaction(positions.end)),
                Some(before) => TransferPlace::behind_part(block, BlockPart::Transaction(before)),
                None => TransferPlace::behind_part(block, BlockPart::Start),
            };
        }
        Ok(true)
    }

    /// Reads the wanted transactions of one group. Each takes `weight` steps. Returns false if the page is full.
    fn read_group(
        &mut self,
        block: BlockNumber,
        positions: Range<u32>,
        weight: usize,
        is_wanted: impl Fn(u32) -> bool,
    ) -> Result<bool, ArchiveError> {
        let read = self.snapshot.state().transactions(block, positions.clone())?.unwrap_or_default();
        let mut read: Vec<_> = positions.zip(&read).filter(|(position, _)| is_wanted(*position)).collect();
        if self.request.order == HistoryOrder::NewestFirst {
            read.reverse();
        }
        for (position, (transaction, receipt)) in read {
            let part = BlockPart::Transaction(position);
            self.at = match self.request.order {
                HistoryOrder::NewestFirst => self.at.min(TransferPlace::behind_part(block, part)),
                HistoryOrder::OldestFirst => self.at.max(TransferPlace::before_part(block, part)),
            };
            if self.is_full() {
                return Ok(false);
            }
            self.steps = self.steps.saturating_add(weight);
            let transfers = self.source.of_transaction(block, position, transaction, receipt)?;
            if !self.take(with_hash(transfers, transaction)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads the rewards of the block of the next place. Returns false if the page is full.
    fn read_end(&mut self) -> Result<bool, ArchiveError> {
        let (block, epochs) = (self.at.block, self.source.epochs);
        if !self.rewards || !epochs.is_vacuous(block) {
            return Ok(true);
        }
        self.steps = self.steps.saturating_add(1);
        let Some(reserve) = self.reserve_before(block)? else { return Ok(false) };
        let (transfers, _) = self.source.of_end(block, reserve)?;
        Ok(self.take(transfers))
    }

    /// Returns the balance of the null account before a vacuous block, or `None` if the page has no steps left for the
    /// computation.
    fn reserve_before(&mut self, block: BlockNumber) -> Result<Option<Qa>, ArchiveError> {
        let epoch = self.source.epochs.complete_at(block).saturating_sub(1);
        if let Some(reserve) = self.reserves.as_ref().and_then(|reserves| reserves.before(epoch)) {
            return Ok(Some(reserve));
        }
        self.reserves = self.snapshot.reserves(block, &mut self.steps, self.request.effort)?;
        Ok(self.reserves.as_ref().and_then(|reserves| reserves.before(epoch)))
    }

    /// Adds the transfers of a part from the next place on, if they have one of the addresses. Returns false if the
    /// page is full before the last of these transfers.
    fn take(&mut self, mut transfers: Vec<Transfer>) -> bool {
        match self.request.order {
            HistoryOrder::NewestFirst => {
                transfers.retain(|transfer| transfer.place <= self.at);
                transfers.reverse();
            }
            HistoryOrder::OldestFirst => transfers.retain(|transfer| transfer.place >= self.at),
        }
        self.has_read = true;
        let addresses = self.request.addresses;
        let has_one = |transfer: &Transfer| {
            addresses.is_none_or(|of| [transfer.from, transfer.to].iter().flatten().any(|address| of.contains(address)))
        };
        for transfer in transfers {
            if !has_one(&transfer) {
                continue;
            }
            self.at = transfer.place;
            if self.transfers.len() >= self.request.limit.max(1) {
                return false;
            }
            self.transfers.push(transfer);
        }
        true
    }
}

/// Sets the transaction hash of each transfer.
fn with_hash(mut transfers: Vec<Transfer>, transaction: &Transaction) -> Vec<Transfer> {
    let hash = transaction.hash();
    for transfer in &mut transfers {
        transfer.hash = Some(hash);
    }
    transfers
}

/// Returns the first place after a part of a block.
fn next_part(block: BlockNumber, part: BlockPart) -> TransferPlace {
    let next = match part {
        BlockPart::Start => 0,
        BlockPart::Transaction(position) => position.saturating_add(1),
        BlockPart::End => return after(block),
    };
    TransferPlace::before_part(block, BlockPart::Transaction(next))
}

/// Returns the last place before a part of a block, or `None` if it is the first part of the chain.
fn part_before(block: BlockNumber, part: BlockPart) -> Option<TransferPlace> {
    match part {
        BlockPart::Start => block.previous().map(TransferPlace::behind),
        BlockPart::Transaction(position) => {
            let before = position.checked_sub(1).map_or(BlockPart::Start, BlockPart::Transaction);
            Some(TransferPlace::behind_part(block, before))
        }
        BlockPart::End => Some(TransferPlace::behind_part(block, BlockPart::Transaction(u32::MAX))),
    }
}

/// Returns the place before all transfers of the block after `block`.
fn after(block: BlockNumber) -> TransferPlace {
    TransferPlace::before(block.next().unwrap_or(BlockNumber::MISSING))
}
