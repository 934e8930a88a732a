//! Control of a development node: blocks, time, the pool, savepoints and dumps.

use schemars::JsonSchema;
use serde::Deserialize;
use silica_chain::{Submitted, consensus::MAX_DEMAND};
use silica_protocol::{
    BlockNumber, Timestamp, TxHash,
    rpc::{
        error::RpcErrorCode, simulation::SimulatedTransactionParam, text::Dec, transaction::CreateTransactionResult,
    },
};

use super::transaction::info;
use crate::{
    block_mode::BlockMode,
    blocking::BlockingError,
    driver::{ImpersonationError, NodeHandle},
    dump::{self, DumpError, DumpName, DumpReport},
    rpc::{
        CallError, Command, Entry,
        params::{FromParam, Integral, Text},
    },
};

/// Rows of the method table for the methods in this file.
pub(super) const ENTRIES: &[Entry] = &[
    Entry::for_developers::<DropAllTransactions>(),
    Entry::for_developers::<DropTransaction>(),
    Entry::for_developers::<Dump>(),
    Entry::for_developers::<IncreaseTime>(),
    Entry::for_developers::<Mine>(),
    Entry::for_developers::<Revert>(),
    Entry::for_developers::<SendTransaction>(),
    Entry::for_developers::<SetBlockMode>(),
    Entry::for_developers::<SetNextBlockTimestamp>(),
    Entry::for_developers::<TakeSnapshot>(),
];

/// Produces Tx blocks, in every block mode. Returns the block number that transactions of the next block read.
///
/// Pending transactions get into these blocks.
#[derive(Debug, Deserialize, JsonSchema)]
struct Mine {
    /// Number of blocks, at most 10,000,000; the default is 1.
    #[serde(default = "one")]
    #[schemars(extend("maximum" = MAX_DEMAND))]
    blocks: Integral,
}

const fn one() -> Integral {
    Integral(1)
}

impl Command for Mine {
    const NAME: &'static str = "silica_mine";
    type Output = Dec<BlockNumber>;

    async fn run(self, node: &NodeHandle) -> Result<Self::Output, CallError> {
        mine(node, "blocks", u64::from(self.blocks.0)).await
    }
}

/// Produces `blocks` blocks, and returns the logical number of the next block. Errors name the parameter `name`.
pub(super) async fn mine(node: &NodeHandle, name: &'static str, blocks: u64) -> Result<Dec<BlockNumber>, CallError> {
    if blocks > MAX_DEMAND {
        return Err(CallError::parameter(name, &format!("expected at most {MAX_DEMAND} blocks, got {blocks}")));
    }
    node.mine(blocks).await?;
    Ok(node.context().snapshot.next_logical_number().into())
}

/// Sets the block mode, and returns the previous one.
///
/// In a mode with instant blocks, pending transactions get their block before the response. A restart of the node
/// restores the block mode of its options.
#[derive(Debug, Deserialize, JsonSchema)]
struct SetBlockMode {
    /// With `instant`, the node makes a block for each transaction. With `interval=MS`, it makes a block every MS
    /// milliseconds. With `instant+interval=MS`, it does both. With `manual`, it makes a block on request. With
    /// `manual-immediate`, it makes a block for each transaction, and only requests increase the logical block number.
    mode: Text<BlockMode>,
}

impl Command for SetBlockMode {
    const NAME: &'static str = "silica_setBlockMode";
    type Output = String;

    async fn run(self, node: &NodeHandle) -> Result<String, CallError> {
        let mode = self.mode.get().map_err(|error| CallError::parameter("mode", &error))?;
        let before = node.mode();
        node.set_mode(mode).await?;
        Ok(before.to_string())
    }
}

/// Moves the clock of the running node forward, and returns the time in microseconds since 1970.
///
/// If `silica_setNextBlockTimestamp` has set the time of the next block, this time also moves forward, and the method
/// returns it. After a restart, the clock begins at the time of the latest block, or at the time of the system if that
/// is later.
#[derive(Debug, Deserialize, JsonSchema)]
struct IncreaseTime {
    /// Number of seconds.
    seconds: Integral,
}

impl Command for IncreaseTime {
    const NAME: &'static str = "silica_increaseTime";
    type Output = Dec<Timestamp>;

    async fn run(self, node: &NodeHandle) -> Result<Self::Output, CallError> {
        let advanced = node.clock().advance(self.seconds.0);
        Ok(advanced.map_err(|error| CallError::parameter("seconds", &error))?.into())
    }
}

/// Sets and returns the time of the next Tx block. The clock continues from this time.
///
/// The time must be later than the time of the latest Tx block. If the node produces several blocks together, the first
/// block gets this time. The time of each further block is one microsecond later.
#[derive(Debug, Deserialize, JsonSchema)]
struct SetNextBlockTimestamp {
    /// The time, in microseconds since 1970.
    timestamp: Text<Timestamp>,
}

impl Command for SetNextBlockTimestamp {
    const NAME: &'static str = "silica_setNextBlockTimestamp";
    type Output = Dec<Timestamp>;

    async fn run(self, node: &NodeHandle) -> Result<Self::Output, CallError> {
        let wrong = |problem: &dyn ToString| CallError::parameter("timestamp", &problem.to_string());
        let time = self.timestamp.get().map_err(|error| wrong(&error))?;
        node.set_next_time(time).await?.map_err(|error| wrong(&error))?;
        Ok(time.into())
    }
}

/// Sends a transaction of any sender without a signature. The sender can be a contract.
///
/// The parameter has the members of a simulated transaction. The node makes the checks of `CreateTransaction` except
/// the check of the signature, with the same errors. The nonce follows the last nonce of the sender, pending
/// transactions included. Without a gas limit, a payment gets the gas that it needs, and every other transaction gets
/// the highest limit. A block has space for one transaction with the highest limit. In the results of other methods,
/// the signature of the transaction is all zeros, and its public key is 13 zero bytes and the address of the sender.
#[derive(Debug, Deserialize, JsonSchema)]
struct SendTransaction {
    /// The unsigned transaction.
    transaction: SimulatedTransactionParam,
}

impl Command for SendTransaction {
    const NAME: &'static str = "silica_sendTransaction";
    type Output = CreateTransactionResult;

    async fn run(self, node: &NodeHandle) -> Result<CreateTransactionResult, CallError> {
        let request = self.transaction.0?;
        let sent = node.impersonate(&request).await.map_err(|error| match error {
            ImpersonationError::Admission(error) => CallError::from(error),
            ImpersonationError::Submission(error) => error.into(),
        });
        let Submitted { hash, routing, contract } = sent?;
        Ok(CreateTransactionResult { contract: contract.map(Into::into), info: info(routing), id: hash.into() })
    }
}

/// Creates a savepoint at the latest block, and returns its number for `silica_revert`.
///
/// A savepoint has the blocks, the state, the pending transactions, the time, the block mode and the gas price. A
/// restart of the node deletes all savepoints. The node keeps at most 1,000 savepoints with at most 1,000,000 pending
/// and dropped transactions together, and deletes the oldest above that. It deletes all savepoints after 256 MiB of
/// changes since the newest checkpoint, or after 262,144 blocks. Blocks of empty block ranges that do not change the
/// state do not count.
#[derive(Debug, Deserialize, JsonSchema)]
struct TakeSnapshot {}

impl Command for TakeSnapshot {
    const NAME: &'static str = "silica_snapshot";
    type Output = u32;

    async fn run(self, node: &NodeHandle) -> Result<u32, CallError> {
        Ok(node.snapshot().await?)
    }
}

/// Reverts the chain to a savepoint, and returns `true`. Deletes this savepoint and all later ones.
///
/// The clock continues from the time of the savepoint. Subscribers get the blocks that replace the removed ones.
#[derive(Debug, Deserialize, JsonSchema)]
struct Revert {
    /// Number of the savepoint, from `silica_snapshot`.
    id: Integral,
}

impl Command for Revert {
    const NAME: &'static str = "silica_revert";
    type Output = bool;

    async fn run(self, node: &NodeHandle) -> Result<bool, CallError> {
        node.revert(self.id.0).await?.map_err(|error| CallError::parameter("id", &error))?;
        Ok(true)
    }
}

impl FromParam for DumpName {
    type Fault = String;
    const NAME: &'static str = "DumpName";
    const DESCRIPTION: &'static str = Self::DESCRIPTION;
    const EXAMPLE: &'static str = "before-upgrade.dump";

    fn from_param(text: &str) -> Result<Self, String> {
        Self::new(text)
    }
}

/// Writes the chain to a file in the directory `dumps` of the data directory. Returns a summary of the file.
///
/// The file has the blocks, the parameters, the accounts, the pending transactions and the secret key of the node.
/// `silica db load` creates a data directory from this file.
#[derive(Debug, Deserialize, JsonSchema)]
struct Dump {
    /// Name of the new file, without a directory.
    name: Text<DumpName>,
}

impl From<DumpError> for CallError {
    fn from(error: DumpError) -> Self {
        let code = RpcErrorCode::MISC_ERROR;
        match &error {
            DumpError::Record(_) | DumpError::Source(_) => Self::internal(error),
            DumpError::Write { source, .. } => Self::api(code, format!("{error}: {source}")),
            DumpError::Empty | DumpError::InMemory | DumpError::StandardOutput | DumpError::Exists { .. } => {
                Self::with_text_of(code, &error)
            }
        }
    }
}

impl Command for Dump {
    const NAME: &'static str = "silica_dump";
    type Output = DumpReport;

    async fn run(self, node: &NodeHandle) -> Result<DumpReport, CallError> {
        let name = self.name.get().map_err(|error| CallError::parameter("name", &error))?;
        let dumping = node.clone();
        let dumped = node.blocking().dump(move || dump::dump_running(&dumping, &name)).await;
        Ok(dumped.ok_or(BlockingError::Panicked)??)
    }
}

/// Removes a pending transaction from the pool. Returns whether the pool had the transaction.
///
/// The status of the transaction becomes dropped, with the general reason (255). A client can submit the transaction
/// again.
#[derive(Debug, Deserialize, JsonSchema)]
struct DropTransaction {
    /// Hash of the transaction.
    hash: Text<TxHash>,
}

impl Command for DropTransaction {
    const NAME: &'static str = "silica_dropTransaction";
    type Output = bool;

    async fn run(self, node: &NodeHandle) -> Result<bool, CallError> {
        let hash = self.hash.named("hash")?;
        Ok(node.chain().withdraw(&hash, node.clock().now()))
    }
}

/// Removes all pending transactions from the pool, and returns their number.
#[derive(Debug, Deserialize, JsonSchema)]
struct DropAllTransactions {}

impl Command for DropAllTransactions {
    const NAME: &'static str = "silica_dropAllTransactions";
    type Output = usize;

    async fn run(self, node: &NodeHandle) -> Result<usize, CallError> {
        Ok(node.chain().withdraw_all(node.clock().now()))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;
    use crate::{Config, Node, blocking::QUERIES};

    #[tokio::test]
    async fn dump_needs_no_permit_of_a_query() {
        let node = Node::start(Config { data_dir: None, listen: ([127, 0, 0, 1], 0).into(), ..Config::default() })
            .await
            .unwrap();
        let mut turns = Vec::new();
        for _ in 0..QUERIES {
            turns.push(node.handle().blocking().query_permit().await);
        }
        let dump: Dump = serde_json::from_str(r#"["a"]"#).unwrap();
        let answer = timeout(Duration::from_secs(10), dump.run(node.handle())).await.unwrap();
        let Err(CallError::Api(error)) = answer else { panic!("{answer:?}") };
        assert_eq!(error.message, DumpError::InMemory.to_string());
        drop(turns);
        node.stop().await.unwrap();
    }
}
