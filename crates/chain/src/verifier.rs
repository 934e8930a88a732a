//! The verification of a block: the verifier computes each member of its headers again and compares the results.

use parking_lot::Mutex;
use silica_protocol::{
    DsBlock, DsBlockHeader, GasPrice, MicroBlock, MicroBlockHeader, ShardId, StateRoot, Transaction, TxBlock,
    TxBlockHeader, TxHash,
};
use silica_state::{Snapshot, Store};

use crate::{
    admission::{InvalidTransaction, VerifiedTransaction},
    builder::Builder,
    config::ChainConfig,
    epoch_accounting::{FullBlockCounter, price_by_rules, uncredited_fees},
    network::{Head, Network},
    parallel,
    pool::{self, Pool},
    stage::{Blocks, BuildError, ExecutedBlock, InvalidBlock, Proposal},
};

/// The input of the verification of a block.
pub(crate) struct BlockVerifier<'a> {
    pub(crate) network: &'a Network,
    /// The block before the block to verify.
    pub(crate) head: &'a Head,
    /// The state after `head`.
    pub(crate) state: &'a Snapshot,
    /// The minimum gas price.
    pub(crate) price: GasPrice,
    /// The transactions that this node admitted, or `None` if the verifier verifies all signatures.
    pub(crate) pool: Option<&'a Mutex<Pool>>,
}

impl BlockVerifier<'_> {
    /// Executes a proposal on top of the head, and compares its headers with the result.
    pub(crate) fn verify_block(
        &self,
        proposal: &Proposal,
        store: &Store,
        full_blocks: &mut FullBlockCounter,
    ) -> Result<ExecutedBlock, InvalidBlock> {
        let Self { network, head, state, price, pool } = *self;
        check_order(proposal, head)?;
        let free_price = network.config.operator_price;
        let timestamp = proposal.tx_block.timestamp;
        let mut builder = Builder::new(network, head, state.clone(), timestamp, (!free_price).then_some(price))?;
        match (&proposal.ds_block, builder.is_ds_block_due()) {
            (Some(ds_block), true) if free_price => builder.make_ds_block(ds_block.header.gas_price),
            (Some(_), true) => {
                let price = price_by_rules(network, head, state, full_blocks).map_err(BuildError::from)?;
                builder.make_ds_block(price);
            }
            (None, false) => {}
            (_, expected) => return Err(InvalidBlock::DsBlock { number: builder.number(), expected }),
        }
        check_edits(proposal, &network.config, builder.is_vacuous())?;
        if !proposal.edits.is_empty() {
            builder.edit(&proposal.edits)?;
        }
        if proposal.repeats_number {
            builder.repeat_number();
        }
        let transactions = transactions_by_micro_block(proposal, &network.config, pool)?;
        if builder.is_vacuous() {
            builder.pay_reward(uncredited_fees(builder.number(), network.epochs, state))?;
        } else {
            for (committee, transactions) in builder.committees().zip(&transactions) {
                builder.replay(committee, transactions)?;
            }
        }
        let block = builder.finish(store)?;
        compare(&block.blocks, proposal)?;
        Ok(block)
    }
}

/// Least number of transactions for which several threads are faster than one.
const WORTH_A_THREAD: usize = 64;

/// Checks that number, parent hash and timestamp of a block follow the head.
fn check_order(proposal: &Proposal, head: &Head) -> Result<(), InvalidBlock> {
    let (block, last) = (&proposal.tx_block, &head.tx_block);
    let order = |field, expected: String, got: String| Err(InvalidBlock::Order { field, expected, got });
    if Some(block.header.number) != last.header.number.next() {
        return order("number", format!("the number after {}", last.header.number), block.header.number.to_string());
    }
    if block.header.prev_hash != head.hash {
        return order("previous hash", head.hash.to_string(), block.header.prev_hash.to_string());
    }
    if block.timestamp <= last.timestamp {
        return order("timestamp", format!("later than {}", last.timestamp), block.timestamp.to_string());
    }
    Ok(())
}

/// Checks the edits and the repeat of the logical block number. The configuration must permit both. A block with edits
/// has no transactions and is not vacuous.
fn check_edits(proposal: &Proposal, config: &ChainConfig, vacuous: bool) -> Result<(), InvalidBlock> {
    let refused = |expected, got| Err(InvalidBlock::Edits { expected, got });
    if proposal.repeats_number && !config.edits {
        return Err(InvalidBlock::RepeatedNumber);
    }
    if proposal.edits.is_empty() {
        return Ok(());
    }
    if !config.edits {
        return refused("none on this network", "at least one".to_owned());
    }
    let expected = "a block that is not vacuous and has no transactions";
    if vacuous {
        return refused(expected, "a vacuous block".to_owned());
    }
    if !proposal.transactions.is_empty() {
        return refused(expected, format!("a block whose number of transactions is {}", proposal.transactions.len()));
    }
    Ok(())
}

/// Assigns the transactions to their micro blocks, and makes the checks that do not depend on the state.
fn transactions_by_micro_block(
    proposal: &Proposal,
    config: &ChainConfig,
    pool: Option<&Mutex<Pool>>,
) -> Result<Vec<Vec<VerifiedTransaction>>, InvalidBlock> {
    let committees = usize::try_from(config.shards).unwrap_or(usize::MAX).saturating_add(1);
    if proposal.micro_blocks.len() != committees {
        return Err(InvalidBlock::MicroBlocks { expected: committees, got: proposal.micro_blocks.len() });
    }
    let named =
        proposal.micro_blocks.iter().flat_map(|block| block.tx_hashes.iter().map(|hash| (*hash, block.header.shard)));
    let named: Vec<(TxHash, ShardId)> = named.collect();
    let (expected, got) = (named.len(), proposal.transactions.len());
    if expected != got {
        return Err(InvalidBlock::Transactions { expected, got });
    }
    let place = |((hash, shard), transaction)| Placed { hash, shard, transaction, admitted: None };
    let mut placed: Vec<_> = named.into_iter().zip(&proposal.transactions).map(place).collect();
    if let Some(pool) = pool {
        find_admitted(&mut placed, pool);
    }
    let mut verified = verify_all(&placed, config)?.into_iter();
    let take = |block: &MicroBlock| verified.by_ref().take(block.tx_hashes.len()).collect();
    Ok(proposal.micro_blocks.iter().map(take).collect())
}

/// A transaction of a block and its place.
struct Placed<'a> {
    /// The hash in the micro block.
    hash: TxHash,
    shard: ShardId,
    transaction: &'a Transaction,
    /// The transaction with this hash that this node admitted.
    admitted: Option<VerifiedTransaction>,
}

/// Finds the transactions that this node admitted. Between two batches, other threads can use the pool.
fn find_admitted(placed: &mut [Placed<'_>], pool: &Mutex<Pool>) {
    for batch in placed.chunks_mut(pool::BATCH) {
        let pool = pool::lock(pool);
        for it in batch {
            it.admitted = pool.record(&it.hash).map(|record| record.transaction.clone());
        }
    }
}

/// Checks transactions on all processors, because signatures that this node has not verified take the most time.
/// Returns the first error in the order of the block.
fn verify_all(placed: &[Placed<'_>], config: &ChainConfig) -> Result<Vec<VerifiedTransaction>, InvalidBlock> {
    parallel::map(placed, WORTH_A_THREAD, |placed| verify(placed, config)).into_iter().collect()
}

fn verify(placed: &Placed<'_>, config: &ChainConfig) -> Result<VerifiedTransaction, InvalidBlock> {
    let Placed { hash, shard, transaction, admitted } = placed;
    let fault = |reason| InvalidBlock::Transaction { hash: *hash, reason };
    let verified = VerifiedTransaction::in_block(transaction, admitted.as_ref(), *shard, config).map_err(fault)?;
    if verified.hash() != *hash {
        return Err(fault(InvalidTransaction::Hash { expected: *hash, got: verified.hash() }));
    }
    Ok(verified)
}

/// Returns an error for the first listed member with different values. The pattern must list all members.
macro_rules! compare_members {
    ($block:literal, $root:expr, $expected:expr, $got:expr, $type:ident { $($field:ident),* $(,)? } ignoring { $($ignored:ident),* }) => {{
        let $type { $($field,)* $($ignored: _,)* } = $expected;
        $(
            if *$field != $got.$field {
                return Err(InvalidBlock::Field {
                    block: $block,
                    field: stringify!($field),
                    expected: format!("{:?}", $field),
                    got: format!("{:?}", $got.$field),
                    state_root: $root,
                });
            }
        )*
    }};
}

/// Compares a proposal with the result of its execution, without the signatures.
fn compare(expected: &Blocks, got: &Proposal) -> Result<(), InvalidBlock> {
    let root = expected.tx.header.state_root;
    if let (Some(expected), Some(got)) = (&expected.ds, &got.ds_block) {
        compare_ds_block(root, expected, got)?;
    }
    for (expected, got) in expected.micro.iter().zip(&got.micro_blocks) {
        compare_micro_block(root, expected, got)?;
    }
    compare_tx_block(&expected.tx, &got.tx_block)
}

fn compare_tx_block(expected: &TxBlock, got: &TxBlock) -> Result<(), InvalidBlock> {
    let root = expected.header.state_root;
    compare_members!("Tx block", root, &expected.header, got.header, TxBlockHeader {
        version, committee_hash, prev_hash, gas_limit, gas_used, rewards, number, state_root, state_delta_hash,
        mb_info_hash, tx_count, miner, ds_block,
    } ignoring {});
    compare_members!("Tx block", root, expected, got, TxBlock { micro_blocks, timestamp } ignoring { header, cosignatures });
    Ok(())
}

fn compare_micro_block(root: StateRoot, expected: &MicroBlock, got: &MicroBlock) -> Result<(), InvalidBlock> {
    compare_members!("micro block", root, &expected.header, got.header, MicroBlockHeader {
        version, committee_hash, prev_hash, shard, gas_limit, gas_used, rewards, epoch, tx_root, tx_count, miner,
        ds_block, state_delta_hash, receipts_hash,
    } ignoring {});
    compare_members!("micro block", root, expected, got, MicroBlock { tx_hashes, timestamp } ignoring {
        header, cosignatures
    });
    Ok(())
}

fn compare_ds_block(root: StateRoot, expected: &DsBlock, got: &DsBlock) -> Result<(), InvalidBlock> {
    compare_members!("DS block", root, &expected.header, got.header, DsBlockHeader {
        version, committee_hash, prev_hash, ds_difficulty, difficulty, leader, number, epoch, gas_price, software,
        pow_winners, sharding_hash, reserved, removed, proposals,
    } ignoring {});
    compare_members!("DS block", root, expected, got, DsBlock { timestamp } ignoring { header, cosignatures });
    Ok(())
}
