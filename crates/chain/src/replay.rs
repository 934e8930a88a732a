//! Executing the blocks of a store again: to compute a state that was lost, or to see that the record is right.

use silica_protocol::{BlockNumber, DsBlockHeader, PublicKey, Receipt, TxBlockHeader};
use silica_state::{BlockRecord, CommitError, PreparedState, Snapshot, StateDiff, Store};

use crate::{
    builder::{Head, Network},
    config::ChainConfig,
    consensus::seal_with,
    error::ReplayError,
    genesis::Genesis,
    judge::Judge,
    open::genesis_header,
    stage::{ExecutedBlock, Proposal, SealedBlock},
    terms::FullBlocks,
};

/// Told of each block that was executed, and of the last there is.
type Progress<'a> = &'a mut dyn FnMut(BlockNumber, BlockNumber);

/// Executes again the blocks whose state `store` has lost, if it has lost any. [`open`](crate::open()) does so too,
/// without telling anybody how far it is.
///
/// # Errors
///
/// [`ReplayError`] names the first block that is not what executing it yields.
pub fn rebuild(
    store: &Store,
    config: ChainConfig,
    genesis: &Genesis,
    member: PublicKey,
    progress: Progress<'_>,
) -> Result<(), ReplayError> {
    catch_up(store, &Network::new(config, member)?, genesis, progress)
}

/// Executes all blocks of `store` again in `scratch`, which must be empty, and compares every header, root, receipt and
/// signature. Returns the number of the last block.
///
/// # Errors
///
/// [`ReplayError`] names the first block that is not what executing it yields.
pub fn check(
    store: &Store,
    scratch: &Store,
    config: ChainConfig,
    genesis: &Genesis,
    member: PublicKey,
    progress: Progress<'_>,
) -> Result<BlockNumber, ReplayError> {
    let network = Network::new(config, member)?;
    let last = store.snapshot().head().map(|head| head.number);
    let last = last.ok_or(ReplayError::Missing { number: BlockNumber::new(0) })?;
    let mut replay = Replay { network: &network, genesis, target: scratch, head: None };
    for number in (0..=last.get()).map(BlockNumber::new) {
        replay.step(number, &read(store, number)?, |record, state| scratch.commit(record, state))?;
        progress(number, last);
    }
    Ok(last)
}

pub(crate) fn catch_up(
    store: &Store,
    network: &Network,
    genesis: &Genesis,
    progress: Progress<'_>,
) -> Result<(), ReplayError> {
    let Some((first, last)) = store.replaying() else { return Ok(()) };
    let head = match first.previous() {
        Some(before) => Some(Tip::read(&store.snapshot(), before)?),
        None => None,
    };
    let mut replay = Replay { network, genesis, target: store, head };
    for number in (first.get()..=last.get()).map(BlockNumber::new) {
        replay.step(number, &read(store, number)?, |_, state| store.replay(state))?;
        progress(number, last);
    }
    Ok(())
}

fn read(store: &Store, number: BlockNumber) -> Result<BlockRecord, ReplayError> {
    store.record(number)?.ok_or(ReplayError::Missing { number })
}

/// Blocks being executed again, one after the other.
struct Replay<'a> {
    network: &'a Network,
    genesis: &'a Genesis,
    /// Where the state is computed.
    target: &'a Store,
    head: Option<Tip>,
}

/// The last block that was executed.
struct Tip {
    head: Head,
    full_blocks: FullBlocks,
}

impl Tip {
    fn read(state: &Snapshot, number: BlockNumber) -> Result<Self, ReplayError> {
        let head = Head::read(state, number)?.ok_or(ReplayError::Missing { number })?;
        Ok(Self { full_blocks: FullBlocks::uncounted(&head), head })
    }
}

impl Replay<'_> {
    /// Executes a block and hands it on when it is right.
    fn step(
        &mut self,
        number: BlockNumber,
        record: &BlockRecord,
        write: impl FnOnce(&BlockRecord, PreparedState) -> Result<Snapshot, CommitError>,
    ) -> Result<(), ReplayError> {
        let state = match &mut self.head {
            None => self.check_genesis(record)?,
            Some(tip) => tip.execute(record, self.network, self.target, number)?,
        };
        let snapshot = write(record, state).map_err(|source| ReplayError::Commit { number, source })?;
        self.advance(&snapshot, &record.tx_block.header)
    }

    fn check_genesis(&self, record: &BlockRecord) -> Result<PreparedState, ReplayError> {
        let member = self.network.member;
        let diff = StateDiff { accounts: self.genesis.accounts().clone(), ..StateDiff::default() };
        let state = self.target.prepare(diff)?;
        if record.tx_block.header != genesis_header(member, state.root()) {
            return Err(ReplayError::Genesis { what: "the Tx block" });
        }
        if record.ds_block.as_ref().map(|block| &block.header) != Some(&DsBlockHeader::genesis(member)) {
            return Err(ReplayError::Genesis { what: "the DS block" });
        }
        Ok(state)
    }

    fn advance(&mut self, state: &Snapshot, header: &TxBlockHeader) -> Result<(), ReplayError> {
        let next = Tip::read(state, header.number)?;
        self.head = Some(match self.head.take() {
            Some(Tip { mut full_blocks, .. }) => {
                full_blocks.add(header);
                Tip { full_blocks, ..next }
            }
            None => next,
        });
        Ok(())
    }
}

impl Tip {
    fn execute(
        &mut self,
        record: &BlockRecord,
        network: &Network,
        target: &Store,
        number: BlockNumber,
    ) -> Result<PreparedState, ReplayError> {
        let proposal = Proposal::from(record.clone());
        let judge =
            Judge { network, head: &self.head, state: &target.snapshot(), price: self.head.ds_block.header.gas_price };
        let block = judge.judge(&proposal, target, &mut self.full_blocks);
        let block = block.map_err(|source| ReplayError::Block { number, source })?;
        check_receipts(&block, record, number)?;
        let sealed = seal_with(block, &proposal, &[network.member]);
        let SealedBlock { block } = sealed.map_err(|source| ReplayError::Seal { number, source })?;
        Ok(block.state)
    }
}

fn check_receipts(block: &ExecutedBlock, record: &BlockRecord, number: BlockNumber) -> Result<(), ReplayError> {
    let stored = record.transactions.iter().map(|(_, receipt)| receipt);
    let differs = |((_, receipt), stored): &(&(_, Receipt), &Receipt)| receipt != *stored;
    match block.transactions.iter().zip(stored).find(differs) {
        Some(((transaction, _), _)) => Err(ReplayError::Receipt { number, hash: transaction.hash() }),
        None => Ok(()),
    }
}
