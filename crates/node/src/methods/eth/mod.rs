//! Methods of Ethereum that read the chain, for tools like Hardhat (docs/interface.md).
//!
//! Results have the forms of Ethereum: quantities in hexadecimal without leading zeros, money in wei, nonces from 0,
//! and null for a missing object. The node has no EVM, and [rejects](refusal) the methods that need one.

mod filter;
mod log;
mod logs;
mod params;
mod shapes;
mod values;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use sha3::{Digest, Keccak256};
use silica_chain::{BlockTransactionsError, ProofError};
use silica_protocol::{
    Account, Address, BlockNumber, ChainId, TxBlock, TxHash,
    rpc::{
        error::{RpcError, RpcErrorCode},
        text::Dec,
    },
};
use silica_state::FoundTransaction;

use self::{
    log::LogWriter,
    params::{BlockTag, EthAddress, EthBlockHash, EthFault, EthTxHash, HexBytes},
    shapes::{Block, Place, Receipt, Transaction, Transactions},
    values::{Bytes, Quantity, Wei},
};
pub(crate) use self::{
    log::{Log, LogPlace, most_bytes},
    shapes::header,
};
pub(super) use self::{logs::ENTRIES as LOG_ENTRIES, params::MOST_LOOKED_AT};
use super::written::Written;
use crate::{
    block_hashes::HashLookup,
    blocking::BlockingError,
    driver::NodeHandle,
    head::Context,
    rpc::{CallError, Command, Entry, Method, TransactionQuery, params::Text},
};

/// Rows of the method table for the methods in this file.
pub(super) const ENTRIES: &[Entry] = &[
    Entry::per_head::<EthAccounts>(),
    Entry::per_head::<EthBlockNumber>(),
    Entry::per_head::<EthChainId>(),
    Entry::per_head::<EthGasPrice>(),
    Entry::slow::<EthGetBalance>(),
    Entry::command::<EthGetBlockByHash>().of_weight(20),
    Entry::slow::<EthGetBlockByNumber>().of_weight(10),
    Entry::slow::<EthGetCode>(),
    Entry::about::<EthGetTransactionByHash>(),
    Entry::slow::<EthGetTransactionCount>(),
    Entry::slow::<EthGetTransactionReceipt>(),
    Entry::per_head::<EthSyncing>(),
    Entry::per_head::<NetListening>(),
    Entry::per_head::<NetVersion>(),
    Entry::per_head::<Web3ClientVersion>(),
    Entry::of::<Web3Sha3>(),
];

/// Bit of the chain id in methods of Ethereum (Reference: interface#chain-id-for-tools-of-ethereum). With this bit, a
/// signature for one interface is invalid for the other.
const ETH_BIT: u64 = 0x8000;

/// Methods that this node does not have, because they need the EVM, the fees of Ethereum, or keys on the node.
const NEEDS_EVM: [&str; 11] = [
    "eth_call",
    "eth_createAccessList",
    "eth_estimateGas",
    "eth_feeHistory",
    "eth_getStorageAt",
    "eth_maxPriorityFeePerGas",
    "eth_sendRawTransaction",
    "eth_sendTransaction",
    "eth_sign",
    "eth_signTransaction",
    "eth_signTypedData_v4",
];

/// Returns the error for a method in [`NEEDS_EVM`], and `None` for any other name.
///
/// After this error, clients call another method. viem recognizes the error by the code, and ethers by the text
/// `the method … does not exist`.
pub(crate) fn refusal(name: &str) -> Option<RpcError> {
    NEEDS_EVM.contains(&name).then(|| {
        let text = format!("the method {name} does not exist: this node executes Scilla and has no EVM");
        RpcError::new(RpcErrorCode::METHOD_NOT_FOUND, text)
    })
}

fn eth_chain_id(chain_id: ChainId) -> u64 {
    u64::from(chain_id.get()) | ETH_BIT
}

/// Chain id for tools of Ethereum: the chain id of the network with the bit 0x8000.
#[derive(Debug, Deserialize, JsonSchema)]
struct EthChainId {}

impl Method for EthChainId {
    const NAME: &'static str = "eth_chainId";
    type Output = Quantity;

    fn call(self, at: &Context) -> Result<Quantity, CallError> {
        Ok(eth_chain_id(at.chain_id).into())
    }
}

/// The chain id of `eth_chainId` in decimal digits.
#[derive(Debug, Deserialize, JsonSchema)]
struct NetVersion {}

impl Method for NetVersion {
    const NAME: &'static str = "net_version";
    type Output = Dec<u64>;

    fn call(self, at: &Context) -> Result<Self::Output, CallError> {
        Ok(eth_chain_id(at.chain_id).into())
    }
}

/// Whether the node accepts connections: always true.
#[derive(Debug, Deserialize, JsonSchema)]
struct NetListening {}

impl Method for NetListening {
    const NAME: &'static str = "net_listening";
    type Output = bool;

    fn call(self, _: &Context) -> Result<bool, CallError> {
        Ok(true)
    }
}

/// Name and version of this node.
#[derive(Debug, Deserialize, JsonSchema)]
struct Web3ClientVersion {}

impl Method for Web3ClientVersion {
    const NAME: &'static str = "web3_clientVersion";
    type Output = String;

    fn call(self, _: &Context) -> Result<String, CallError> {
        Ok(concat!("silica/v", env!("CARGO_PKG_VERSION")).to_owned())
    }
}

/// Keccak-256 of bytes.
#[derive(Debug, Deserialize, JsonSchema)]
struct Web3Sha3 {
    /// The bytes in hexadecimal digits after `0x`.
    data: Text<HexBytes>,
}

impl Method for Web3Sha3 {
    const NAME: &'static str = "web3_sha3";
    type Output = Bytes;

    fn call(self, _: &Context) -> Result<Bytes, CallError> {
        let HexBytes(data) = self.data.get().map_err(|fault| CallError::from(fault.of(0)))?;
        Ok(Bytes::from(Keccak256::digest(data).to_vec()))
    }
}

/// Whether the node is behind the network: always false.
#[derive(Debug, Deserialize, JsonSchema)]
struct EthSyncing {}

impl Method for EthSyncing {
    const NAME: &'static str = "eth_syncing";
    type Output = bool;

    fn call(self, _: &Context) -> Result<bool, CallError> {
        Ok(false)
    }
}

/// Accounts for which the node signs: none.
#[derive(Debug, Deserialize, JsonSchema)]
struct EthAccounts {}

impl Method for EthAccounts {
    const NAME: &'static str = "eth_accounts";
    type Output = [Bytes; 0];

    fn call(self, _: &Context) -> Result<Self::Output, CallError> {
        Ok([])
    }
}

/// Number of the latest Tx block.
#[derive(Debug, Deserialize, JsonSchema)]
struct EthBlockNumber {}

impl Method for EthBlockNumber {
    const NAME: &'static str = "eth_blockNumber";
    type Output = Quantity;

    fn call(self, at: &Context) -> Result<Quantity, CallError> {
        Ok(at.head().get().into())
    }
}

/// Minimum gas price of a transaction, in wei.
#[derive(Debug, Deserialize, JsonSchema)]
struct EthGasPrice {}

impl Method for EthGasPrice {
    const NAME: &'static str = "eth_gasPrice";
    type Output = Wei;

    fn call(self, at: &Context) -> Result<Wei, CallError> {
        Ok(at.snapshot.minimum_gas_price().get().into())
    }
}

/// Balance of an account in wei. One Qa is 1,000,000 wei. The balance of a missing account is 0.
#[derive(Debug, Deserialize, JsonSchema)]
struct EthGetBalance {
    /// Address of the account.
    address: Text<EthAddress>,
    /// The block whose state the node reads; the default is the latest.
    #[serde(default)]
    block: Text<BlockTag>,
}

impl Method for EthGetBalance {
    const NAME: &'static str = "eth_getBalance";
    type Output = Wei;

    fn call(self, at: &Context) -> Result<Wei, CallError> {
        let (_, account) = account(at, self.address, self.block)?;
        Ok(account.unwrap_or_default().balance.into())
    }
}

/// Number of transactions that an account has sent. This number is the nonce of the next transaction, counted from 0.
///
/// With the block `pending`, the number includes pending transactions.
#[derive(Debug, Deserialize, JsonSchema)]
struct EthGetTransactionCount {
    /// Address of the account.
    address: Text<EthAddress>,
    /// The block whose state the node reads; the default is the latest.
    #[serde(default)]
    block: Text<BlockTag>,
}

impl Method for EthGetTransactionCount {
    const NAME: &'static str = "eth_getTransactionCount";
    type Output = Quantity;

    fn call(self, at: &Context) -> Result<Quantity, CallError> {
        let is_pending = self.block.peek() == Some(&BlockTag::Pending);
        let (address, account) = account(at, self.address, self.block)?;
        let last = if is_pending { at.snapshot.last_nonce(&address)? } else { account.unwrap_or_default().nonce };
        Ok(last.get().into())
    }
}

/// The source code of a contract, as bytes. For an account without code, the result is empty.
#[derive(Debug, Deserialize, JsonSchema)]
struct EthGetCode {
    /// Address of the contract.
    address: Text<EthAddress>,
    /// The block whose state the node reads; the default is the latest.
    #[serde(default)]
    block: Text<BlockTag>,
}

impl Method for EthGetCode {
    const NAME: &'static str = "eth_getCode";
    type Output = Bytes;

    fn call(self, at: &Context) -> Result<Bytes, CallError> {
        let (address, account) = account(at, self.address, self.block)?;
        if account.is_none_or(|account| account.contract.is_none()) {
            return Ok(Bytes::default());
        }
        // The code of a contract never changes.
        let contract = at.snapshot.contract(&address)?;
        Ok(contract.map(|contract| contract.code.into_bytes()).unwrap_or_default().into())
    }
}

/// Returns an address and its account in the state after a block; `None` if the account does not exist. Rejects a block
/// whose state the node does not keep.
fn account(
    at: &Context,
    address: Text<EthAddress>,
    block: Text<BlockTag>,
) -> Result<(Address, Option<Account>), CallError> {
    let EthAddress(address) = address.get().map_err(|fault| CallError::from(fault.of(0)))?;
    let tag = block.get().map_err(|fault| CallError::from(fault.of(1)))?;
    let number = tag.number(at.head());
    let account = at.snapshot.account_at(&address, number).map_err(|error| match error {
        ProofError::NotMined { block } => CallError::from(EthFault::NoSuchBlock { block }),
        ProofError::Expired { earliest } => CallError::from(EthFault::StateGone { block: number, earliest }),
        ProofError::UnknownAccount
        | ProofError::NotAContract
        | ProofError::NoStorage
        | ProofError::History(_)
        | ProofError::State(_) => error.into(),
        _ => error.into(),
    })?;
    Ok((address, account))
}

/// A Tx block by its number; null if it does not exist.
#[derive(Debug, Deserialize, JsonSchema)]
struct EthGetBlockByNumber {
    /// Number of the block, or a tag.
    block: Text<BlockTag>,
    /// Whether the result has the transactions; otherwise it has their hashes.
    #[serde(default)]
    full: bool,
}

impl Method for EthGetBlockByNumber {
    const NAME: &'static str = "eth_getBlockByNumber";
    type Output = Option<Block>;

    fn call(self, at: &Context) -> Result<Self::Output, CallError> {
        let tag = self.block.get().map_err(|fault| CallError::from(fault.of(0)))?;
        block(at, tag.number(at.head()), self.full)
    }
}

/// A Tx block by its hash; null if it does not exist.
///
/// With the kind `blocks` of the history index, the cost does not depend on the length of the chain. Without this kind,
/// a search reads the blocks from the latest one downwards. One call reads at most 100,000 older blocks. If none of
/// them has the hash, the call returns an error, and the next call continues with older blocks.
#[derive(Debug, Deserialize, JsonSchema)]
struct EthGetBlockByHash {
    /// Hash of the block.
    hash: Text<EthBlockHash>,
    /// Whether the result has the transactions; otherwise it has their hashes.
    #[serde(default)]
    full: bool,
}

impl Command for EthGetBlockByHash {
    const NAME: &'static str = "eth_getBlockByHash";
    type Output = Written<Option<Block>>;

    async fn run(self, node: &NodeHandle) -> Result<Self::Output, CallError> {
        let EthBlockHash(hash) = self.hash.get().map_err(|fault| CallError::from(fault.of(0)))?;
        let queried = node.clone();
        let answer = node.blocking().query(move || match queried.find_block(&hash, MOST_LOOKED_AT)? {
            (at, HashLookup::Found(number)) => Written::new(&block(&at, number, self.full)?),
            (_, HashLookup::Absent) => Written::new(&None),
            (_, HashLookup::NotScanned(oldest)) => Err(CallError::from(EthFault::Unseen { oldest })),
            (_, HashLookup::OutOfRange(oldest)) => Err(CallError::from(EthFault::TooOld { oldest })),
        });
        answer.await.ok_or(BlockingError::Panicked)?
    }
}

/// A transaction in a block; null if no block has the transaction.
#[derive(Debug, Deserialize, JsonSchema)]
struct EthGetTransactionByHash {
    /// Hash of the transaction.
    hash: Text<EthTxHash>,
}

impl TransactionQuery for EthGetTransactionByHash {
    const NAME: &'static str = "eth_getTransactionByHash";
    type Output = Option<Transaction>;

    fn hash(self) -> Result<TxHash, CallError> {
        self.hash.get().map(|EthTxHash(hash)| hash).map_err(|fault| CallError::from(fault.of(0)))
    }

    fn answer(found: &FoundTransaction, at: &Context) -> Result<Self::Output, CallError> {
        let Some(stored) = found.read()? else { return Ok(None) };
        let Some(block) = at.snapshot.tx_block(stored.block)? else { return Ok(None) };
        let place = Place::new(&block, stored.position);
        Ok(Some(Transaction::new(place, eth_chain_id(at.chain_id), &stored.transaction)))
    }
}

/// The receipt of a transaction; null if no block has the transaction.
///
/// The logs are the events of contracts, as `eth_getLogs` returns them.
#[derive(Debug, Deserialize, JsonSchema)]
struct EthGetTransactionReceipt {
    /// Hash of the transaction.
    hash: Text<EthTxHash>,
}

impl Method for EthGetTransactionReceipt {
    const NAME: &'static str = "eth_getTransactionReceipt";
    type Output = Option<Receipt>;

    fn call(self, at: &Context) -> Result<Self::Output, CallError> {
        let EthTxHash(hash) = self.hash.get().map_err(|fault| CallError::from(fault.of(0)))?;
        let Some(stored) = at.snapshot.transaction(&hash)? else { return Ok(None) };
        let Some(block) = at.snapshot.tx_block(stored.block)? else { return Ok(None) };
        let (mut gas_before, mut number) = (0_u64, 0_u32);
        for_each_body(at, stored.block, stored.position, |_, _, receipt| {
            gas_before = gas_before.saturating_add(receipt.cumulative_gas.get());
            number = number.saturating_add(log_count(receipt));
        })?;
        let place = Place::new(&block, stored.position);
        let (block, transaction) = ((stored.block, block.header.hash()), (hash, stored.position));
        let (mut writer, count) = (LogWriter::default(), log_count(&stored.receipt));
        let numbers = number..number.saturating_add(count);
        let logs = numbers.zip(&stored.receipt.event_logs);
        let logs = logs.map(|(number, event)| writer.log_at(&LogPlace { block, transaction, number }, event)).collect();
        Ok(Some(Receipt::new(place, &stored.transaction, &stored.receipt, gas_before, logs)))
    }
}

/// Returns the number of logs of a transaction. A failed transaction has none.
fn log_count(receipt: &silica_protocol::Receipt) -> u32 {
    if receipt.success { u32::try_from(receipt.event_logs.len()).unwrap_or(u32::MAX) } else { 0 }
}

fn block(at: &Context, number: BlockNumber, full: bool) -> Result<Option<Block>, CallError> {
    let Some(block) = at.snapshot.tx_block(number)? else { return Ok(None) };
    let transactions = if full { full_transactions(at, &block)? } else { Transactions::Hashes(hashes(at, number)?) };
    Ok(Some(Block::new(&block, transactions)))
}

fn hashes(at: &Context, number: BlockNumber) -> Result<Vec<TxHash>, CallError> {
    match at.snapshot.block_transactions(number) {
        Ok(by_shard) => Ok(by_shard.into_iter().flatten().collect()),
        Err(BlockTransactionsError::Empty) => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

/// Maximum number of transactions in one read. The number bounds memory, because a transaction and its receipt can have
/// 10 MB together.
const READ_AT_ONCE: u32 = 4;

/// Calls `each` for the first `count` transactions of a block, with their positions and receipts.
fn for_each_body(
    at: &Context,
    block: BlockNumber,
    count: u32,
    mut each: impl FnMut(u32, &silica_protocol::Transaction, &silica_protocol::Receipt),
) -> Result<(), CallError> {
    let mut first = 0;
    while first < count {
        let end = first.saturating_add(READ_AT_ONCE).min(count);
        for (position, (transaction, receipt)) in (first..).zip(at.snapshot.block_bodies(block, first..end)?) {
            each(position, &transaction, &receipt);
        }
        first = end;
    }
    Ok(())
}

fn full_transactions(at: &Context, block: &Arc<TxBlock>) -> Result<Transactions, CallError> {
    let chain_id = eth_chain_id(at.chain_id);
    let mut full = Vec::new();
    for_each_body(at, block.header.number, block.header.tx_count, |position, transaction, _| {
        full.push(Transaction::new(Place::new(block, position), chain_id, transaction));
    })?;
    Ok(Transactions::Full(full))
}
