//! Executing the blocks of a store again: to compute a state that was lost, or to see that the record is right.

use std::ops::RangeInclusive;

use silica_protocol::{BlockNumber, DsBlockHeader, PublicKey, Receipt, TxBlockHeader};
use silica_state::{BlockRecord, CommitError, PreparedState, Snapshot, StateDiff, Store};

use crate::{
    builder::{Head, Network},
    config::ChainConfig,
    consensus::{Signed, seal_as},
    error::{ReplayError, SealError},
    genesis::Genesis,
    judge::Judge,
    open::genesis_header,
    parallel,
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
    replay.run(store, 0..=last.get(), &mut |record, state| scratch.commit(record, state), progress)?;
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
    replay.run(store, first.get()..=last.get(), &mut |_, state| store.replay(state), progress)
}

/// Blocks that are read together, so that their signatures are verified on all processors, and transactions beyond which
/// no other block joins them.
const TOGETHER: usize = 64;
const TRANSACTIONS_TOGETHER: usize = 8_000;
/// Blocks below which verifying their signatures on another thread costs more than it saves.
const WORTH_A_THREAD: usize = 2;

/// Reads the next blocks, up to one that cannot be read; that it cannot is told after them.
fn read_some(
    store: &Store,
    numbers: &mut impl Iterator<Item = BlockNumber>,
) -> (Vec<(BlockRecord, Proposal)>, Result<(), ReplayError>) {
    let (mut blocks, mut transactions) = (Vec::new(), 0_usize);
    while blocks.len() < TOGETHER && transactions < TRANSACTIONS_TOGETHER {
        let Some(number) = numbers.next() else { break };
        match read(store, number) {
            Ok(record) => {
                transactions = transactions.saturating_add(record.transactions.len());
                blocks.push((record.clone(), Proposal::from(record)));
            }
            Err(error) => return (blocks, Err(error)),
        }
    }
    (blocks, Ok(()))
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

/// What is done with a block that is right, and its state.
type Write<'a> = &'a mut dyn FnMut(&BlockRecord, PreparedState) -> Result<Snapshot, CommitError>;

impl Replay<'_> {
    /// Executes the blocks `numbers` of `store`.
    fn run(
        &mut self,
        store: &Store,
        numbers: RangeInclusive<u64>,
        write: Write<'_>,
        progress: Progress<'_>,
    ) -> Result<(), ReplayError> {
        let last = BlockNumber::new(*numbers.end());
        let mut numbers = numbers.map(BlockNumber::new).peekable();
        while numbers.peek().is_some() {
            let (blocks, outcome) = read_some(store, &mut numbers);
            let member = [self.network.member];
            let signed = parallel::map(&blocks, WORTH_A_THREAD, |(_, proposal)| Signed::verify(proposal, &member));
            for ((record, proposal), signed) in blocks.iter().zip(signed) {
                self.step(record, proposal, signed, write)?;
                progress(record.tx_block.header.number, last);
            }
            outcome?;
        }
        Ok(())
    }

    /// Executes a block and hands it on when it is right.
    fn step(
        &mut self,
        record: &BlockRecord,
        proposal: &Proposal,
        signed: Result<Signed<'_>, SealError>,
        write: Write<'_>,
    ) -> Result<(), ReplayError> {
        let number = record.tx_block.header.number;
        let state = match &mut self.head {
            // Nobody signs the first block.
            None => self.check_genesis(record)?,
            Some(tip) => {
                let block = tip.execute(proposal, self.network, self.target, number)?;
                check_receipts(&block, record, number)?;
                let sealed = signed.and_then(|signed| seal_as(block, signed));
                let SealedBlock { block } = sealed.map_err(|source| ReplayError::Seal { number, source })?;
                block.state
            }
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
        proposal: &Proposal,
        network: &Network,
        target: &Store,
        number: BlockNumber,
    ) -> Result<ExecutedBlock, ReplayError> {
        let judge =
            Judge { network, head: &self.head, state: &target.snapshot(), price: self.head.ds_block.header.gas_price };
        let block = judge.judge(proposal, target, &mut self.full_blocks);
        block.map_err(|source| ReplayError::Block { number, source })
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
