//! The stages of a block. Each type has one module that creates its values, so no stage can be skipped.
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

/// A block as its proposer sends it, without receipts and states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// The Tx block.
    pub tx_block: TxBlock,
    /// The micro blocks, ascending by shard.
    pub micro_blocks: Vec<MicroBlock>,
    /// The DS block before the Tx block, if one is due.
    pub ds_block: Option<DsBlock>,
    /// The transactions of all micro blocks in order.
    pub transactions: Vec<Transaction>,
    /// The accounts and entries that edits set; empty for a block without edits.
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

/// A block whose transactions were executed on top of the head. Its headers are complete and have no signatures.
#[derive(Debug)]
pub struct ExecutedBlock {
    pub(crate) blocks: Blocks,
    pub(crate) transactions: Vec<(VerifiedTransaction, Receipt)>,
    pub(crate) edits: StateDiff,
    pub(crate) repeats_number: bool,
    /// The changed accounts, in their state after the block.
    pub(crate) accounts: Vec<(Address, Account)>,
    pub(crate) state: PreparedState,
    pub(crate) vacuous: bool,
    pub(crate) dropped: Vec<(VerifiedTransaction, DropReason)>,
    pub(crate) postponed: Vec<(VerifiedTransaction, Postponed)>,
    pub(crate) work: u64,
}

/// All blocks of one Tx epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Blocks {
    pub(crate) tx: TxBlock,
    pub(crate) micro: Vec<MicroBlock>,
    pub(crate) ds: Option<DsBlock>,
}

impl ExecutedBlock {
    /// Returns the Tx block without signatures.
    pub fn tx_block(&self) -> &TxBlock {
        &self.blocks.tx
    }

    /// Returns the micro blocks without signatures, ascending by shard.
    pub fn micro_blocks(&self) -> &[MicroBlock] {
        &self.blocks.micro
    }

    /// Returns the unsigned DS block before the Tx block, or `None` if no DS block is due.
    pub fn ds_block(&self) -> Option<&DsBlock> {
        self.blocks.ds.as_ref()
    }

    /// Returns the transactions with their receipts, in the order of execution.
    pub fn transactions(&self) -> &[(VerifiedTransaction, Receipt)] {
        &self.transactions
    }

    /// Returns whether the block is vacuous.
    pub fn is_vacuous(&self) -> bool {
        self.vacuous
    }

    /// Returns whether the next block has the same logical block number.
    pub fn repeats_number(&self) -> bool {
        self.repeats_number
    }

    /// Returns the transactions that were dropped while the block was built.
    pub fn dropped(&self) -> &[(VerifiedTransaction, DropReason)] {
        &self.dropped
    }

    /// Returns the work of the transactions in the block, in nanoseconds (`silica_scilla::work`).
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
    /// The executed block with signatures.
    pub(crate) block: ExecutedBlock,
}

impl SealedBlock {
    /// Returns the Tx block.
    pub fn tx_block(&self) -> &TxBlock {
        self.block.tx_block()
    }

    /// Returns the micro blocks, ascending by shard.
    pub fn micro_blocks(&self) -> &[MicroBlock] {
        self.block.micro_blocks()
    }

    /// Returns the DS block before the Tx block, if one was due.
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

/// A written block, and the data to settle the pool. The flush makes the block a committed block.
#[derive(Debug)]
pub(crate) struct WrittenBlock {
    pub(crate) block: CommittedBlock,
    pub(crate) postponed: Vec<(VerifiedTransaction, Postponed)>,
    /// The changed accounts, in their state after the block.
    pub(crate) accounts: Vec<(Address, Account)>,
}

impl CommittedBlock {
    /// Returns the hash of the Tx block.
    pub fn hash(&self) -> BlockHash {
        self.hash
    }

    /// Returns the Tx block.
    pub fn tx_block(&self) -> &Arc<TxBlock> {
        &self.tx_block
    }

    /// Returns the DS block before the Tx block, if one was due.
    pub fn ds_block(&self) -> Option<&Arc<DsBlock>> {
        self.ds_block.as_ref()
    }

    /// Returns the micro blocks, ascending by shard.
    pub fn micro_blocks(&self) -> &[MicroBlock] {
        &self.micro_blocks
    }

    /// Returns the transactions with their receipts, in the order of execution.
    pub fn transactions(&self) -> &[(VerifiedTransaction, Receipt)] {
        &self.transactions
    }

    /// Returns the transactions that were dropped while the block was built.
    pub fn dropped(&self) -> &[(VerifiedTransaction, DropReason)] {
        &self.dropped
    }
}
