//! The stages of a block. Each type has one maker, so that none can skip what comes before it.
//!
//! ```text
//! transactions ─▶ ExecutedBlock ─▶ SealedBlock ─▶ CommittedBlock
//!                 builder           consensus      producer
//!                 root is known     signed         on disk
//! ```

mod error;

use std::sync::Arc;

use silica_protocol::{Account, Address, BlockHash, DsBlock, MicroBlock, Receipt, Transaction, TxBlock};
use silica_state::{BlockRecord, PreparedState, StateDiff};

pub use self::error::{BuildError, InvalidBlock};
use crate::{
    admission::VerifiedTransaction,
    pool::{DropReason, Postponed},
};

/// A block as its proposer sends it: everything but what executing it yields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// The Tx block.
    pub tx_block: TxBlock,
    /// Its micro blocks, ascending by shard.
    pub micro_blocks: Vec<MicroBlock>,
    /// The DS block that was made just before it, if one was due.
    pub ds_block: Option<DsBlock>,
    /// The transactions of the micro blocks, in their order.
    pub transactions: Vec<Transaction>,
    /// The edits of the state, which precede the transactions.
    pub edits: StateDiff,
    /// Whether the next block has the same logical block number.
    pub repeats_number: bool,
}

impl From<BlockRecord> for Proposal {
    fn from(record: BlockRecord) -> Self {
        let BlockRecord { tx_block, micro_blocks, ds_block, transactions, edits, repeats_number } = record;
        let transactions = transactions.into_iter().map(|(transaction, _)| transaction).collect();
        Self { tx_block, micro_blocks, ds_block, transactions, edits, repeats_number }
    }
}

/// A block whose transactions were executed on top of the head. Its headers are complete but not signed.
#[derive(Debug)]
pub struct ExecutedBlock {
    pub(crate) blocks: Blocks,
    pub(crate) transactions: Vec<(VerifiedTransaction, Receipt)>,
    pub(crate) edits: StateDiff,
    pub(crate) repeats_number: bool,
    /// Accounts that the block changes, as they are after it.
    pub(crate) accounts: Vec<(Address, Account)>,
    pub(crate) state: PreparedState,
    pub(crate) vacuous: bool,
    pub(crate) dropped: Vec<(VerifiedTransaction, DropReason)>,
    pub(crate) postponed: Vec<(VerifiedTransaction, Postponed)>,
    pub(crate) work: u64,
}

/// The blocks that are made in one Tx epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Blocks {
    pub(crate) tx: TxBlock,
    pub(crate) micro: Vec<MicroBlock>,
    pub(crate) ds: Option<DsBlock>,
}

impl ExecutedBlock {
    /// The Tx block, without signatures.
    pub fn tx_block(&self) -> &TxBlock {
        &self.blocks.tx
    }

    /// The micro blocks, ascending by shard, without signatures.
    pub fn micro_blocks(&self) -> &[MicroBlock] {
        &self.blocks.micro
    }

    /// The DS block that precedes the Tx block, if one was due, without signatures.
    pub fn ds_block(&self) -> Option<&DsBlock> {
        self.blocks.ds.as_ref()
    }

    /// The transactions with their receipts, in the order of their execution.
    pub fn transactions(&self) -> &[(VerifiedTransaction, Receipt)] {
        &self.transactions
    }

    /// Whether the block ends its DS epoch, so that it has no transactions and pays the reward.
    pub fn is_vacuous(&self) -> bool {
        self.vacuous
    }

    /// Whether the next block has the same logical block number.
    pub fn repeats_number(&self) -> bool {
        self.repeats_number
    }

    /// Transactions that were found never to be executable.
    pub fn dropped(&self) -> &[(VerifiedTransaction, DropReason)] {
        &self.dropped
    }

    /// The work of its transactions, dropped ones included, in nanoseconds (`silica_scilla::work`).
    pub fn work(&self) -> u64 {
        self.work
    }

    /// Returns the message of the proposer to the other members of its committee.
    pub fn to_proposal(&self) -> Proposal {
        let Blocks { tx: tx_block, micro: micro_blocks, ds: ds_block } = self.blocks.clone();
        let transactions = self.transactions.iter().map(|(tx, _)| Transaction::clone(tx.transaction())).collect();
        let (edits, repeats_number) = (self.edits.clone(), self.repeats_number);
        Proposal { tx_block, micro_blocks, ds_block, transactions, edits, repeats_number }
    }
}

/// A block that its committees signed.
#[derive(Debug)]
pub struct SealedBlock {
    /// Executed, and signed since.
    pub(crate) block: ExecutedBlock,
}

impl SealedBlock {
    /// The Tx block.
    pub fn tx_block(&self) -> &TxBlock {
        self.block.tx_block()
    }

    /// The micro blocks, ascending by shard.
    pub fn micro_blocks(&self) -> &[MicroBlock] {
        self.block.micro_blocks()
    }

    /// The DS block that precedes the Tx block, if one was due.
    pub fn ds_block(&self) -> Option<&DsBlock> {
        self.block.ds_block()
    }
}

/// A block that is on disk and visible to readers.
#[derive(Clone, Debug)]
pub struct CommittedBlock {
    pub(crate) hash: BlockHash,
    pub(crate) tx_block: Arc<TxBlock>,
    pub(crate) ds_block: Option<Arc<DsBlock>>,
    pub(crate) micro_blocks: Vec<MicroBlock>,
    pub(crate) transactions: Vec<(VerifiedTransaction, Receipt)>,
    pub(crate) dropped: Vec<(VerifiedTransaction, DropReason)>,
}

/// A block that is written, and on disk once the writing is flushed: then it is the committed one.
#[derive(Debug)]
pub(crate) struct WrittenBlock {
    pub(crate) block: CommittedBlock,
    pub(crate) postponed: Vec<(VerifiedTransaction, Postponed)>,
    /// Accounts that the block changed, as they are after it.
    pub(crate) accounts: Vec<(Address, Account)>,
}

impl CommittedBlock {
    /// The hash of the Tx block.
    pub fn hash(&self) -> BlockHash {
        self.hash
    }

    /// The Tx block.
    pub fn tx_block(&self) -> &Arc<TxBlock> {
        &self.tx_block
    }

    /// The DS block that precedes the Tx block, if one was made.
    pub fn ds_block(&self) -> Option<&Arc<DsBlock>> {
        self.ds_block.as_ref()
    }

    /// The micro blocks, ascending by shard.
    pub fn micro_blocks(&self) -> &[MicroBlock] {
        &self.micro_blocks
    }

    /// The transactions with their receipts, in the order of their execution.
    pub fn transactions(&self) -> &[(VerifiedTransaction, Receipt)] {
        &self.transactions
    }

    /// Transactions that left the pool without being executed.
    pub fn dropped(&self) -> &[(VerifiedTransaction, DropReason)] {
        &self.dropped
    }
}
