//! What developers of contracts want of a node of their own: to say when blocks are made, what time it is, and what
//! waits.

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

/// The methods of this family.
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

/// Makes Tx blocks, in every block mode, and answers with the block number that transactions of the next one read.
///
/// Transactions that wait go into these blocks.
#[derive(Debug, Deserialize, JsonSchema)]
struct Mine {
    /// How many blocks, 10,000,000 at most; one if nothing is said.
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

/// Makes as many blocks as the parameter of this name says, and returns the logical number of the next one.
pub(super) async fn mine(node: &NodeHandle, name: &'static str, blocks: u64) -> Result<Dec<BlockNumber>, CallError> {
    if blocks > MAX_DEMAND {
        return Err(CallError::parameter(name, &format!("expected at most {MAX_DEMAND} blocks, got {blocks}")));
    }
    node.mine(blocks).await?;
    Ok(node.context().snapshot.next_logical_number().into())
}

/// Sets when blocks are made from now on, and answers with how it was before.
///
/// Transactions that wait get their block before the answer if from now on nothing is to wait. The next start of the
/// node goes by its flags again.
#[derive(Debug, Deserialize, JsonSchema)]
struct SetBlockMode {
    /// `instant` (with each transaction), `interval=MS` (every MS milliseconds), `instant+interval=MS` (both), `manual`
    /// (on request), or `manual-immediate` (with each transaction, while only requests move the block number).
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

/// Puts the clock forward for good, and answers with the time, in microseconds since 1970.
///
/// If the time of the next block was set, it is put forward as well, and is the answer.
#[derive(Debug, Deserialize, JsonSchema)]
struct IncreaseTime {
    /// By how many seconds.
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

/// Sets the time that the next Tx block gets, and from which the clock goes on, and answers with it.
///
/// It must be later than that of the latest Tx block. If several blocks are made together, it is that of the first, and
/// the others follow by a microsecond each.
#[derive(Debug, Deserialize, JsonSchema)]
struct SetNextBlockTimestamp {
    /// The time.
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

/// Sends a transaction for any address, a contract's included, without a signature.
///
/// It has the members of a simulated transaction, passes the checks of `CreateTransaction` but that of the signature,
/// with the same errors, and gets the nonce after those that the sender used and those that wait. Without a gas limit a
/// payment has what it takes, and anything else the highest there is, for which a block has room once. It is read back
/// with a signature of zeros, and with thirteen zero bytes and the address of the sender in place of the key.
#[derive(Debug, Deserialize, JsonSchema)]
struct SendTransaction {
    /// The transaction.
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

/// Keeps the chain as it is, and answers with a number for `silica_revert`.
///
/// What is kept is what the chain has of blocks, state and waiting transactions, the time, how blocks are made and the
/// price of gas. Snapshots are gone with the next start of the node, and when too much has changed since.
#[derive(Debug, Deserialize, JsonSchema)]
struct TakeSnapshot {}

impl Command for TakeSnapshot {
    const NAME: &'static str = "silica_snapshot";
    type Output = u32;

    async fn run(self, node: &NodeHandle) -> Result<u32, CallError> {
        Ok(node.snapshot().await?)
    }
}

/// Takes the chain back to a snapshot, for good, and answers `true`. The snapshot and all later ones are gone then.
///
/// The clock continues from the time of the snapshot. Subscribers get the blocks that replace the removed ones.
#[derive(Debug, Deserialize, JsonSchema)]
struct Revert {
    /// The number of the snapshot.
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

/// Writes the chain to a file in the directory `dumps` of the data directory, and answers with what it has.
///
/// Blocks, parameters, accounts, what waits and the node's secret key are in it. `silica db load` makes a data
/// directory of it.
#[derive(Debug, Deserialize, JsonSchema)]
struct Dump {
    /// Name of the file; there must be none of this name.
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
        let asked = node.clone();
        let dumped = node.blocking().dump(move || dump::dump_running(&asked, &name)).await;
        Ok(dumped.ok_or(BlockingError::Panicked)??)
    }
}

/// Takes a waiting transaction out of the pool, and answers whether there was one.
///
/// Its status is dropped from then on, for no particular reason (255). It can be sent again.
#[derive(Debug, Deserialize, JsonSchema)]
struct DropTransaction {
    /// The transaction.
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

/// Takes all waiting transactions out of the pool, and answers how many there were.
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
    async fn chain_is_written_to_a_file_without_the_turn_of_a_question() {
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
