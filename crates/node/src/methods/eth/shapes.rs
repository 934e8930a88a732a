//! Blocks, transactions and receipts in the JSON of Ethereum.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use serde_json::Value;
use silica_protocol::{Address, BlockHash, StateRoot, TxBlock, TxHash, TxRoot, rpc::text::PrefixedHex};

use super::{
    log::Log,
    values::{Bytes, Quantity, Wei},
};

/// Keccak-256 of the RLP of an empty list. Ethereum blocks have this value in `sha3Uncles` since proof of stake.
const NO_UNCLES: &str = "0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347";

/// Size of a Bloom filter for logs, in bytes.
const BLOOM: usize = 256;

/// Position of a transaction in the chain.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Place {
    /// Hash of the block of the transaction.
    block_hash: PrefixedHex<BlockHash>,
    /// Number of the block of the transaction.
    block_number: Quantity,
    /// Position of the transaction in the block, from 0.
    transaction_index: Quantity,
}

impl Place {
    pub(super) fn new(block: &TxBlock, position: u32) -> Self {
        Self {
            block_hash: block.header.hash().into(),
            block_number: block.header.number.get().into(),
            transaction_index: u64::from(position).into(),
        }
    }
}

/// A Tx block in the form of Ethereum. Members without a counterpart in Zilliqa are zeros.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "EthBlock")]
pub(crate) struct Block {
    /// Always 0: a block needs no proof of work.
    difficulty: Quantity,
    /// Always empty: a Tx block has no such data.
    extra_data: Bytes,
    /// Gas limit of the block.
    gas_limit: Quantity,
    /// Gas used in the block.
    gas_used: Quantity,
    /// Hash of the block.
    hash: PrefixedHex<BlockHash>,
    /// Bloom filter of the logs. All bits are set if the block has transactions, so that the filter excludes no log.
    /// Otherwise all bits are zero.
    logs_bloom: Bytes,
    /// Account of the leader that proposed the block.
    miner: PrefixedHex<Address>,
    /// Always zeros: a block needs no proof of work.
    mix_hash: PrefixedHex<TxRoot>,
    /// Always zeros: a block needs no proof of work.
    nonce: Bytes,
    /// Number of the block.
    number: Quantity,
    /// Hash of the block before it.
    parent_hash: PrefixedHex<BlockHash>,
    /// Always zeros: the header of a Tx block has no root of its receipts.
    receipts_root: PrefixedHex<TxRoot>,
    /// Hash of an empty list of uncles.
    sha3_uncles: Cow<'static, str>,
    /// Size of the serialized block without its transactions, in bytes.
    size: Quantity,
    /// Root of the account trie after the block.
    state_root: PrefixedHex<StateRoot>,
    /// Time of the block, in seconds since 1970.
    timestamp: Quantity,
    /// Always 0: a block needs no proof of work.
    total_difficulty: Quantity,
    /// The transactions of the block, or their hashes.
    transactions: Transactions,
    /// Always zeros: the header of a Tx block has no root of its transactions. Each micro block has one.
    transactions_root: PrefixedHex<TxRoot>,
    /// Always empty: a Tx block has no uncles.
    uncles: [Bytes; 0],
}

/// The transactions of a block.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(crate) enum Transactions {
    /// The hashes of the transactions.
    #[serde(serialize_with = "prefixed")]
    Hashes(#[schemars(with = "Vec<PrefixedHex<TxHash>>")] Vec<TxHash>),
    /// The whole transactions.
    Full(Vec<Transaction>),
}

fn prefixed<S: Serializer>(hashes: &[TxHash], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(hashes.iter().copied().map(PrefixedHex))
}

impl Block {
    pub(super) fn new(block: &TxBlock, transactions: Transactions) -> Self {
        let header = &block.header;
        Self {
            difficulty: Quantity::from(0),
            extra_data: Bytes::default(),
            gas_limit: header.gas_limit.get().into(),
            gas_used: header.gas_used.get().into(),
            hash: header.hash().into(),
            logs_bloom: Bytes::from(vec![if header.tx_count > 0 { u8::MAX } else { 0 }; BLOOM]),
            miner: Address::from_public_key(&header.miner).into(),
            mix_hash: TxRoot::ZERO.into(),
            nonce: Bytes::from(vec![0; 8]),
            number: header.number.get().into(),
            parent_hash: header.prev_hash.into(),
            receipts_root: TxRoot::ZERO.into(),
            sha3_uncles: NO_UNCLES.into(),
            size: u64::try_from(block.encode().len()).unwrap_or(u64::MAX).into(),
            state_root: header.state_root.into(),
            timestamp: (block.timestamp.get() / 1_000_000).into(),
            total_difficulty: Quantity::from(0),
            transactions,
            transactions_root: TxRoot::ZERO.into(),
            uncles: [],
        }
    }
}

/// Returns the header of a Tx block in the form of Ethereum.
pub(crate) fn header(block: &TxBlock) -> Value {
    let mut header = serde_json::to_value(Block::new(block, Transactions::Full(Vec::new()))).unwrap_or_default();
    if let Some(members) = header.as_object_mut() {
        for name in ["size", "totalDifficulty", "transactions", "uncles"] {
            members.remove(name);
        }
    }
    header
}

/// A transaction in the form of Ethereum.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "EthTransaction")]
pub(crate) struct Transaction {
    #[serde(flatten)]
    place: Place,
    /// The chain id of `eth_chainId`.
    chain_id: Quantity,
    /// Address of the sender.
    from: PrefixedHex<Address>,
    /// Gas limit of the transaction, in gas units of Zilliqa.
    gas: Quantity,
    /// Gas price, in wei for each gas unit.
    gas_price: Wei,
    /// Hash of the transaction.
    hash: PrefixedHex<TxHash>,
    /// The code of a deployment, or the message of a call.
    input: Bytes,
    /// Nonce of the sender, from 0.
    nonce: Quantity,
    /// First half of the EC-Schnorr signature.
    r: Bytes,
    /// Second half of the EC-Schnorr signature.
    s: Bytes,
    /// Address of the recipient; null for a deployment.
    to: Option<PrefixedHex<Address>>,
    /// Always 0, the type of a legacy transaction of Ethereum.
    #[serde(rename = "type")]
    kind: Quantity,
    /// Always 0: the public key cannot be recovered from an EC-Schnorr signature.
    v: Quantity,
    /// The amount in wei.
    value: Wei,
}

impl Transaction {
    pub(super) fn new(place: Place, chain_id: u64, transaction: &silica_protocol::Transaction) -> Self {
        let signature = transaction.signature().to_bytes();
        let (r, s) = signature.split_at(signature.len() / 2);
        let input = if transaction.code.is_empty() { &transaction.data } else { &transaction.code };
        Self {
            place,
            chain_id: chain_id.into(),
            from: transaction.sender().into(),
            gas: transaction.gas_limit.get().into(),
            gas_price: transaction.gas_price.get().into(),
            hash: transaction.hash().into(),
            input: input.clone().into_bytes().into(),
            nonce: transaction.nonce.get().saturating_sub(1).into(),
            r: r.to_vec().into(),
            s: s.to_vec().into(),
            to: recipient(transaction),
            kind: Quantity::from(0),
            v: Quantity::from(0),
            value: transaction.amount.into(),
        }
    }
}

/// The receipt of a transaction in the form of Ethereum.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "EthReceipt")]
pub(crate) struct Receipt {
    #[serde(flatten)]
    place: Place,
    /// Address of the deployed contract; null for a failed deployment and for other transactions.
    contract_address: Option<PrefixedHex<Address>>,
    /// Gas of the transactions of the block up to and including this transaction.
    cumulative_gas_used: Quantity,
    /// Gas price, in wei for each gas unit.
    effective_gas_price: Wei,
    /// Address of the sender.
    from: PrefixedHex<Address>,
    /// Charged gas, in gas units of Zilliqa.
    gas_used: Quantity,
    /// The events of contracts.
    logs: Vec<Log>,
    /// Bloom filter of the logs.
    logs_bloom: Bytes,
    /// 1 for success, 0 for failure.
    status: Quantity,
    /// Address of the recipient; null for a deployment.
    to: Option<PrefixedHex<Address>>,
    /// Hash of the transaction.
    transaction_hash: PrefixedHex<TxHash>,
    /// Always 0, the type of a legacy transaction of Ethereum.
    #[serde(rename = "type")]
    kind: Quantity,
}

impl Receipt {
    /// Creates the receipt. `gas_before` is the gas of the earlier transactions of the block.
    pub(super) fn new(
        place: Place,
        transaction: &silica_protocol::Transaction,
        receipt: &silica_protocol::Receipt,
        gas_before: u64,
        logs: Vec<Log>,
    ) -> Self {
        let gas = receipt.cumulative_gas.get();
        let mut bloom = vec![0; BLOOM];
        for log in &logs {
            log.add_to_bloom(&mut bloom);
        }
        Self {
            place,
            contract_address: transaction.contract_address().filter(|_| receipt.success).map(PrefixedHex),
            cumulative_gas_used: gas_before.saturating_add(gas).into(),
            effective_gas_price: transaction.gas_price.get().into(),
            from: transaction.sender().into(),
            gas_used: gas.into(),
            logs,
            logs_bloom: Bytes::from(bloom),
            status: u64::from(receipt.success).into(),
            to: recipient(transaction),
            transaction_hash: transaction.hash().into(),
            kind: Quantity::from(0),
        }
    }
}

fn recipient(transaction: &silica_protocol::Transaction) -> Option<PrefixedHex<Address>> {
    (!transaction.to.is_zero()).then(|| transaction.to.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_uncles_have_the_hash_of_an_empty_list() {
        use sha3::{Digest, Keccak256};
        assert_eq!(NO_UNCLES, Bytes::from(Keccak256::digest([0xc0]).to_vec()).to_string());
    }
}
