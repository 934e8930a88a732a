//! Repeated execution of the blocks of a store. It reconstructs a lost state, or verifies the record.

use std::{iter::Peekable, ops::RangeInclusive};

use silica_protocol::{BlockNumber, DsBlockHeader, Receipt, TxBlockHeader, TxHash};
use silica_state::{
    Append, ArchiveError, BlockRecord, EmptyBlockRange, PreparedState, Snapshot, StateDiff, StateError, Store,
};

use crate::{
    committee::Committees,
    config::{ChainConfig, ConfigError},
    consensus::{SealError, Signed, seal_as},
    epoch_accounting::{FullBlockCounter, Prices},
    genesis::{Genesis, genesis_header},
    network::{Head, Network},
    parallel,
    range::{ParentState, RangeLength},
    scilla_rules::{self, RulesError},
    stage::{BuildError, ExecutedBlock, InvalidBlock, Proposal, SealedBlock},
    verifier::BlockVerifier,
};

/// A function that gets the number of each executed block, and the number of the last block.
type Progress<'a> = &'a mut dyn FnMut(BlockNumber, BlockNumber);

/// Repeats the execution of the blocks whose state `store` has lost. [`open`](crate::open()) does the same without
/// progress reports.
///
/// # Errors
///
/// [`ReplayError`]: the parameters are invalid or belong to another chain, a block differs from the result of its
/// execution, or the store could not be read or written.
pub fn rebuild(
    store: &Store,
    config: ChainConfig,
    genesis: &Genesis,
    committees: impl Into<Committees>,
    progress: Progress<'_>,
) -> Result<(), ReplayError> {
    let network = Network::new(config, committees.into())?;
    scilla_rules::check(store, &network.config)?;
    catch_up(store, &network, genesis, progress)
}

/// Executes the blocks of `store` again in the store `scratch`. Compares every header, state root and receipt with the
/// result, and verifies every signature. Returns the number of the last block. If `scratch` has blocks from an earlier
/// call, the function begins after these blocks.
///
/// # Errors
///
/// [`ReplayError`] in these cases:
///
/// - The parameters are invalid, or belong to another chain.
/// - A block differs from the result of its execution.
/// - A store could not be read or written.
/// - The newest block of `scratch` is not in `store`.
pub fn check(
    store: &Store,
    scratch: &Store,
    config: ChainConfig,
    genesis: &Genesis,
    committees: impl Into<Committees>,
    progress: Progress<'_>,
) -> Result<BlockNumber, ReplayError> {
    let network = Network::new(config, committees.into())?;
    scilla_rules::check(store, &network.config)?;
    let last = store.snapshot().head().map(|head| head.number);
    let last = last.ok_or(ReplayError::Missing { number: BlockNumber::new(0) })?;
    if let Some(seal) = store.seal() {
        scratch.set_signer(seal);
    }
    let (mut head, mut first) = (None, 0);
    let done = scratch.snapshot();
    if let Some(newest) = done.head() {
        if store.snapshot().hash_of(newest.number)? != Some(newest.hash) {
            return Err(ReplayError::Missing { number: newest.number });
        }
        (head, first) = (Some(Tip::read(&done, newest.number)?), newest.number.get().saturating_add(1));
    }
    let mut replay = Replay { network: &network, genesis, target: scratch, purpose: Purpose::Check, head };
    replay.range(store, first..=last.get(), progress)?;
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
    let mut replay = Replay { network, genesis, target: store, purpose: Purpose::CatchUp, head };
    replay.range(store, first.get()..=last.get(), progress)
}

/// Maximum number of blocks that the node reads together, so that all processors verify signatures.
const TOGETHER: usize = 64;
/// Number of transactions at which the node reads no further blocks together.
const TRANSACTIONS_TOGETHER: usize = 8_000;
/// Minimum number of blocks for which several threads are faster than one.
const WORTH_A_THREAD: usize = 2;

/// Reads the next blocks up to a limit, to an empty block range, or to a block that cannot be read. Returns the blocks
/// that were read, and the error if a block could not be read.
fn read_some(
    store: &Store,
    numbers: &mut Peekable<impl Iterator<Item = BlockNumber>>,
) -> (Vec<(BlockRecord, Proposal)>, Result<(), ReplayError>) {
    let (mut blocks, mut transactions) = (Vec::new(), 0_usize);
    while blocks.len() < TOGETHER && transactions < TRANSACTIONS_TOGETHER {
        let Some(number) = numbers.peek().copied() else { break };
        match read(store, number) {
            Ok(None) => break,
            Ok(Some(record)) => {
                numbers.next();
                transactions = transactions.saturating_add(record.transactions.len());
                blocks.push((record.clone(), Proposal::from(record)));
            }
            Err(error) => return (blocks, Err(error)),
        }
    }
    (blocks, Ok(()))
}

/// Reads a block. Returns `None` if the block is in an empty block range.
fn read(store: &Store, number: BlockNumber) -> Result<Option<BlockRecord>, ReplayError> {
    if store.range_at(number)?.is_some() {
        return Ok(None);
    }
    store.record(number)?.ok_or(ReplayError::Missing { number }).map(Some)
}

/// The repeated execution of blocks, one after another.
struct Replay<'a> {
    network: &'a Network,
    genesis: &'a Genesis,
    /// The store that gets the states.
    target: &'a Store,
    purpose: Purpose,
    head: Option<Tip>,
}

/// The use of the verified blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// The target gets the blocks and their states.
    Check,
    /// The target has the blocks, and gets their states.
    CatchUp,
}

/// The last executed block.
struct Tip {
    head: Head,
    full_blocks: FullBlockCounter,
}

impl Tip {
    fn read(state: &Snapshot, number: BlockNumber) -> Result<Self, ReplayError> {
        let head = Head::read(state, number)?.ok_or(ReplayError::Missing { number })?;
        Ok(Self { full_blocks: FullBlockCounter::uncounted(&head), head })
    }
}

impl Replay<'_> {
    /// Executes the blocks `numbers` of `store`.
    fn range(
        &mut self,
        store: &Store,
        numbers: RangeInclusive<u64>,
        progress: Progress<'_>,
    ) -> Result<(), ReplayError> {
        let last = BlockNumber::new(*numbers.end());
        let mut numbers = numbers.map(BlockNumber::new).peekable();
        while let Some(next) = numbers.peek().copied() {
            if let Some(range) = store.range_at(next)? {
                self.pass(&range, next)?;
                while numbers.next_if(|number| *number <= range.last()).is_some() {}
                progress(range.last(), last);
                continue;
            }
            let (blocks, outcome) = read_some(store, &mut numbers);
            let committees = &self.network.committees;
            let signed = parallel::map(&blocks, WORTH_A_THREAD, |(_, proposal)| Signed::verify(proposal, committees));
            for ((record, proposal), signed) in blocks.iter().zip(signed) {
                self.step(record, proposal, signed)?;
                progress(record.tx_block.header.number, last);
            }
            outcome?;
        }
        Ok(())
    }

    /// Executes a block. If the block is valid, writes the block or its state to the target.
    fn step(
        &mut self,
        record: &BlockRecord,
        proposal: &Proposal,
        signed: Result<Signed<'_>, SealError>,
    ) -> Result<(), ReplayError> {
        let number = record.tx_block.header.number;
        let state = match &mut self.head {
            // Block 0 has no signature.
            None => self.check_genesis(record)?,
            Some(tip) => {
                let block = tip.execute(proposal, self.network, self.target, number)?;
                check_receipts(&block, record, number)?;
                let sealed = signed.and_then(|signed| seal_as(block, signed));
                let SealedBlock { block } = sealed.map_err(|source| ReplayError::BlockSigner { number, source })?;
                block.state
            }
        };
        let snapshot = match self.purpose {
            Purpose::Check => self.target.commit(record, state),
            Purpose::CatchUp => self.target.replay(state),
        };
        let snapshot = snapshot.map_err(|source| ReplayError::Commit { number, source })?;
        self.advance(&snapshot, &record.tx_block.header)
    }

    /// Plans the blocks of an empty block range from `number` on. If the stored range is valid, writes the blocks or
    /// their states to the target.
    fn pass(&mut self, range: &EmptyBlockRange, number: BlockNumber) -> Result<(), ReplayError> {
        let tip = self.head.as_mut().ok_or(ReplayError::Missing { number })?;
        let (ours, states) = tip.pass(range, number, self.network, self.target)?;
        let committed = match self.purpose {
            Purpose::Check => self.target.append(Append::EmptyRange(ours), states).and_then(|_| self.target.flush()),
            Purpose::CatchUp => self.target.replay(states),
        };
        let snapshot = committed.map_err(|source| ReplayError::Commit { number, source })?;
        let next = Tip::read(&snapshot, range.last())?;
        tip.full_blocks.pass(&next.head.tx_block.header, self.network.epochs);
        tip.head = next.head;
        Ok(())
    }

    fn check_genesis(&self, record: &BlockRecord) -> Result<PreparedState, ReplayError> {
        let member = self.network.committees.of_genesis().first();
        let diff = StateDiff { accounts: self.genesis.accounts().clone(), ..StateDiff::default() };
        let state = self.target.extend(self.target.prepare(), &diff)?;
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
        let verifier = BlockVerifier {
            network,
            head: &self.head,
            state: &target.snapshot(),
            price: self.head.ds_block.header.gas_price,
            pool: None,
        };
        let block = verifier.verify_block(proposal, target, &mut self.full_blocks);
        block.map_err(|source| ReplayError::Block { number, source })
    }

    /// Plans the blocks of an empty block range from `number` on, and compares them with the stored range.
    fn pass(
        &mut self,
        range: &EmptyBlockRange,
        number: BlockNumber,
        network: &Network,
        target: &Store,
    ) -> Result<(EmptyBlockRange, PreparedState), ReplayError> {
        let invalid = |source| ReplayError::Block { number, source };
        let (head, state) = (&self.head, &target.snapshot());
        let timestamp = range.time_of(number);
        if timestamp <= head.tx_block.timestamp {
            let expected = format!("later than {}", head.tx_block.timestamp);
            return Err(invalid(InvalidBlock::Order { field: "timestamp", expected, got: timestamp.to_string() }));
        }
        let by_rules = Prices::after(network, head, state, &mut self.full_blocks);
        let mut by_rules = by_rules.map_err(|error| invalid(BuildError::from(error).into()))?;
        let mut price = |before, last: &DsBlockHeader| {
            let free = last.number.next().filter(|_| network.config.operator_price);
            Ok(free.and_then(|ds_block| range.gas_price_of(ds_block)).unwrap_or_else(|| by_rules.next(before, last)))
        };
        let blocks = range.last().get().saturating_sub(number.get()).saturating_add(1);
        let parent_state = ParentState { network, head, state, timestamp };
        let planned = parent_state.plan(target, RangeLength::Exactly(blocks), &mut price);
        let (ours, states, _) = planned.map_err(|error| invalid(error.into()))?;
        let results = |range: &EmptyBlockRange| (range.last_hash(), range.last_ds_block());
        if results(&ours) != results(range) {
            let field = |range: &EmptyBlockRange| format!("{:?}", results(range));
            let (expected, got, state_root) = (field(&ours), field(range), ours.state_root());
            let (block, field) = ("block range", "last block");
            return Err(invalid(InvalidBlock::Field { block, field, expected, got, state_root }));
        }
        Ok((ours, states))
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

/// Reason why the repeated execution of blocks failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The chain cannot run with these parameters.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The Scilla rules of the chain differ from the configuration, or could not be read.
    #[error(transparent)]
    Rules(#[from] RulesError),
    /// Block 0 does not belong to the given accounts and key.
    #[error("block 0: {what} does not match the given accounts and key")]
    Genesis {
        /// The header that differs.
        what: &'static str,
    },
    /// A block is missing.
    #[error("block {number} is missing")]
    Missing {
        /// Number of the block.
        number: BlockNumber,
    },
    /// A block differs from the result of its execution.
    #[error("failed to verify block {number}")]
    Block {
        /// Number of the block.
        number: BlockNumber,
        /// The fault of the block.
        source: InvalidBlock,
    },
    /// A receipt differs from the result of the execution.
    #[error("block {number}: the receipt of transaction {hash} differs from the result of the execution")]
    Receipt {
        /// Number of the block.
        number: BlockNumber,
        /// Hash of the transaction.
        hash: TxHash,
    },
    /// The signatures of a block are invalid.
    #[error("failed to verify the signatures of block {number}")]
    BlockSigner {
        /// Number of the block.
        number: BlockNumber,
        /// The error of the verification.
        source: SealError,
    },
    /// The computation of the state failed.
    #[error("failed to read state")]
    State(#[from] StateError),
    /// A read of blocks failed.
    #[error("failed to read blocks")]
    Archive(#[from] ArchiveError),
    /// A write of the state of a block failed.
    #[error("failed to write the state of block {number}")]
    Commit {
        /// Number of the block.
        number: BlockNumber,
        /// The error of the store.
        source: silica_state::CommitError,
    },
}
