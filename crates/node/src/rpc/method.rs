//! What a method is, and the table of all of them.
//!
//! A method is a struct: its fields are its parameters, its doc comment is its description, `call` is its body.
//! Dispatch and the OpenRPC document read [`METHODS`]; to add a method is to add a struct and its row.

use std::{
    collections::HashMap,
    future::Future,
    num::NonZeroU32,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::{Pin, pin},
    sync::{Arc, LazyLock},
};

use hyper::body::Bytes;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::value::{RawValue, to_raw_value};
use silica_protocol::{
    TxHash,
    rpc::{
        envelope::{Id, write_result},
        error::{RpcError, RpcErrorCode},
    },
};
use silica_state::FoundTransaction;

use super::{
    document::{Begun, Document},
    error::CallError,
    openrpc, params,
};
use crate::{
    driver::NodeHandle,
    head::Context,
    methods::{
        account, contract, developer, ds_block, edit, eth, isolated, network, simulation, status, status_server, trace,
        transaction, tx_block,
    },
};

/// A question, answered from what is known at one head.
pub(crate) trait Method: DeserializeOwned + JsonSchema {
    /// Name on the wire.
    const NAME: &'static str;
    /// Other spellings that clients use.
    const ALIASES: &'static [&'static str] = &[];
    /// What it answers with.
    type Output: Serialize + JsonSchema;

    /// Answers.
    fn call(self, at: &Context) -> Result<Self::Output, CallError>;
}

/// A question about a transaction, which may have a receipt of megabytes. It says which transaction, and nothing else.
pub(crate) trait AboutTransaction: DeserializeOwned + JsonSchema {
    /// Name on the wire.
    const NAME: &'static str;
    /// What it answers with.
    type Output: Serialize + JsonSchema;

    /// The hash of the transaction.
    fn hash(self) -> Result<TxHash, CallError>;

    /// Answers, from what was found under the hash.
    fn answer(found: &FoundTransaction, at: &Context) -> Result<Self::Output, CallError>;
}

/// A request to change something, answered when it is done.
pub(crate) trait Command: DeserializeOwned + JsonSchema + Send + 'static {
    /// Name on the wire.
    const NAME: &'static str;
    /// What it answers with.
    type Output: Serialize + JsonSchema;

    /// Does it, and answers.
    fn run(self, node: &NodeHandle) -> impl Future<Output = Result<Self::Output, CallError>> + Send;
}

/// A question whose answer may be larger than memory should hold: it is written a piece at a time.
pub(crate) trait Streamed: DeserializeOwned + JsonSchema + Send + 'static {
    /// Name on the wire.
    const NAME: &'static str;
    /// What the answer is, when it is read.
    type Output: JsonSchema;

    /// Finds the answer.
    fn begin(self, at: &Context) -> Result<Document, CallError>;
}

/// Bytes of the record that are read for a transaction beyond which it takes long to answer with it.
const LARGE_TRANSACTION: usize = 64 << 10;

/// Every method there is, by name.
pub(crate) const METHODS: &[Entry] = &[
    Entry::command::<isolated::CheckPause>().of_weight(10),
    Entry::command::<transaction::CreateTransaction>().of_weight(5),
    Entry::of::<ds_block::DsBlockListing>().of_weight(5),
    Entry::per_head::<eth::EthAccounts>(),
    Entry::per_head::<eth::EthBlockNumber>(),
    Entry::per_head::<eth::EthChainId>(),
    Entry::per_head::<eth::EthGasPrice>(),
    Entry::slow::<eth::EthGetBalance>(),
    Entry::command::<eth::EthGetBlockByHash>().of_weight(20),
    Entry::slow::<eth::EthGetBlockByNumber>().of_weight(10),
    Entry::slow::<eth::EthGetCode>(),
    Entry::about::<eth::EthGetTransactionByHash>(),
    Entry::slow::<eth::EthGetTransactionCount>(),
    Entry::slow::<eth::EthGetTransactionReceipt>(),
    Entry::per_head::<eth::EthSyncing>(),
    Entry::per_head::<status_server::GetAverageBlockTime>(),
    Entry::of::<account::GetBalance>(),
    Entry::per_head::<network::GetBlockchainInfo>(),
    Entry::per_head::<isolated::GetBlocknum>(),
    Entry::of::<contract::GetContractAddressFromTransactionID>(),
    Entry::per_head::<ds_block::GetCurrentDsComm>(),
    Entry::per_head::<ds_block::GetCurrentDsEpoch>(),
    Entry::per_head::<tx_block::GetCurrentMiniEpoch>(),
    Entry::of::<ds_block::GetDsBlock>(),
    Entry::per_head::<ds_block::GetDsBlockRate>(),
    Entry::of::<ds_block::GetDsBlockVerbose>(),
    Entry::per_head::<status_server::GetDsCommittee>(),
    Entry::per_head::<status_server::GetEpochFin>(),
    Entry::per_head::<ds_block::GetLatestDsBlock>(),
    Entry::per_head::<status_server::GetLatestEpochStatesUpdated>(),
    Entry::per_head::<tx_block::GetLatestTxBlock>(),
    Entry::of::<ds_block::GetMinerInfo>(),
    Entry::per_head::<network::GetMinimumGasPrice>(),
    Entry::per_head::<network::GetNetworkId>(),
    Entry::per_head::<network::GetNodeType>(),
    Entry::per_head::<ds_block::GetNumDsBlocks>(),
    Entry::per_head::<network::GetNumPeers>(),
    Entry::per_head::<tx_block::GetNumTransactions>(),
    Entry::per_head::<tx_block::GetNumTxBlocks>(),
    Entry::per_head::<tx_block::GetNumTxnsDsEpoch>(),
    Entry::per_head::<tx_block::GetNumTxnsTxEpoch>(),
    Entry::about::<status::GetPendingTxn>(),
    Entry::of::<status::GetPendingTxns>().of_weight(10),
    Entry::per_head::<ds_block::GetPrevDifficulty>(),
    Entry::per_head::<ds_block::GetPrevDsDifficulty>(),
    Entry::of::<ds_block::GetRawDsBlock>(),
    Entry::of::<tx_block::GetRawTxBlock>(),
    Entry::per_head::<transaction::GetRecentTransactions>(),
    Entry::per_head::<network::GetShardingStructure>(),
    Entry::of::<network::GetShardMembers>(),
    Entry::of::<contract::GetSmartContractCode>(),
    Entry::of::<contract::GetSmartContractInit>(),
    Entry::slow::<contract::GetSmartContracts>().of_weight(5),
    Entry::streamed::<contract::GetSmartContractState>().of_weight(10),
    Entry::streamed::<contract::GetSmartContractSubState>().of_weight(5),
    Entry::about::<transaction::GetSoftConfirmedTransaction>(),
    Entry::slow::<contract::GetStateProof>().of_weight(5),
    Entry::per_head::<network::GetTotalCoinSupply>(),
    Entry::per_head::<network::GetTotalCoinSupplyAsInt>(),
    Entry::about::<transaction::GetTransaction>(),
    Entry::per_head::<tx_block::GetTransactionRate>(),
    Entry::of::<tx_block::GetTransactionsForTxBlock>().of_weight(5),
    Entry::of::<tx_block::GetTransactionsForTxBlockEx>().of_weight(5),
    Entry::about::<status::GetTransactionStatus>(),
    Entry::of::<tx_block::GetTxBlock>(),
    Entry::per_head::<tx_block::GetTxBlockRate>(),
    Entry::of::<tx_block::GetTxBlockVerbose>(),
    Entry::streamed::<tx_block::GetTxnBodiesForTxBlock>().of_weight(20),
    Entry::streamed::<tx_block::GetTxnBodiesForTxBlockEx>().of_weight(20),
    Entry::per_head::<network::GetVersion>(),
    Entry::per_head::<status_server::Healthcheck>(),
    Entry::for_developers::<isolated::IncreaseBlocknum>(),
    Entry::of::<status_server::IsTxnInMemPool>(),
    Entry::per_head::<eth::NetListening>(),
    Entry::per_head::<eth::NetVersion>(),
    Entry::new(openrpc::DISCOVER, Action::Discover, Shape::of::<openrpc::Discover, openrpc::Document>()).of_weight(20),
    Entry::for_developers::<isolated::SetMinimumGasPrice>(),
    Entry::for_developers::<edit::AddBalance>(),
    Entry::for_developers::<developer::DropAllTransactions>(),
    Entry::for_developers::<developer::DropTransaction>(),
    Entry::for_developers::<developer::Dump>(),
    Entry::command::<simulation::EstimateGas>().of_weight(50),
    Entry::slow::<contract::GetContractInterface>().of_weight(10),
    Entry::slow::<contract::GetSmartContractStatePage>().of_weight(5),
    Entry::slow::<transaction::GetTransactionsForAddress>().of_weight(10),
    Entry::for_developers::<developer::IncreaseTime>(),
    Entry::for_developers::<developer::Mine>(),
    Entry::for_developers::<developer::Revert>(),
    Entry::for_developers::<developer::SendTransaction>(),
    Entry::for_developers::<edit::SetBalance>(),
    Entry::for_developers::<developer::SetBlockMode>(),
    Entry::for_developers::<edit::SetContractField>(),
    Entry::for_developers::<developer::SetNextBlockTimestamp>(),
    Entry::for_developers::<edit::SetNonce>(),
    Entry::command::<simulation::SimulateTransaction>().of_weight(20),
    Entry::for_developers::<developer::TakeSnapshot>(),
    Entry::command::<trace::TraceCall>().of_weight(50),
    Entry::command::<trace::TraceTransaction>().of_weight(50),
    Entry::command::<isolated::TogglePause>().of_weight(10),
    Entry::of::<tx_block::TxBlockListing>().of_weight(5),
    Entry::per_head::<eth::Web3ClientVersion>(),
    Entry::of::<eth::Web3Sha3>(),
];

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) aliases: &'static [&'static str],
    pub(crate) action: Action,
    pub(crate) shape: Shape,
    /// Whether it does what no client of a real network can do, so that it can be switched off.
    pub(crate) for_developers: bool,
    /// What a call costs of what its client may make each second. A short answer from what is in memory costs 1.
    pub(crate) weight: NonZeroU32,
}

/// How a method is called.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Action {
    /// Writes its answer at once.
    Query(fn(Call<'_>, &Context, &mut Vec<u8>) -> Result<(), RpcError>),
    /// Writes its answer at once, or does not, since it takes long, and answers later.
    Weighed(Weigh),
    /// Has no parameters, and one answer for as long as the head stays.
    PerHead(fn(&Context) -> Result<Bytes, RpcError>),
    /// Reads its parameters at once and answers later.
    Later(fn(Call<'_>, NodeHandle) -> Result<Running, RpcError>),
    /// Has no parameters, and answers with the document of the methods that its caller may call.
    Discover,
    /// Reads its parameters at once and begins its answer later.
    Streamed(fn(Call<'_>, NodeHandle) -> Result<Beginning, RpcError>),
}

/// Writes an answer, or begins to make it.
type Weigh = fn(Call<'_>, &NodeHandle, &mut Vec<u8>) -> Result<Option<Running>, RpcError>;

/// What a request says to its method.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call<'a> {
    pub(crate) id: &'a Id<'a>,
    pub(crate) params: Option<&'a RawValue>,
    /// Names of the parameters that the method declares.
    pub(crate) fields: &'static [&'static str],
}

/// An answer whose first piece is being written.
pub(crate) type Beginning = Pin<Box<dyn Future<Output = Result<Begun, RpcError>> + Send>>;

/// A command at work.
pub(crate) type Running = Pin<Box<dyn Future<Output = Result<Box<RawValue>, RpcError>> + Send>>;

/// What the OpenRPC document says of a method.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Names of the parameters, in order.
    pub(crate) fields: fn() -> &'static [&'static str],
    /// Description and types of the parameters.
    pub(crate) params: fn(&mut SchemaGenerator) -> Schema,
    /// Type of the answer.
    pub(crate) result: fn(&mut SchemaGenerator) -> Schema,
}

impl Shape {
    const fn of<P: DeserializeOwned + JsonSchema, R: JsonSchema>() -> Self {
        Self { fields: params::fields::<P>, params: P::json_schema, result: SchemaGenerator::subschema_for::<R> }
    }
}

impl Entry {
    const fn new(name: &'static str, action: Action, shape: Shape) -> Self {
        Self { name, aliases: &[], action, shape, for_developers: false, weight: NonZeroU32::MIN }
    }

    const fn of<M: Method>() -> Self {
        let entry = Self::new(M::NAME, Action::Query(query::<M>), Shape::of::<M, M::Output>());
        Self { aliases: M::ALIASES, ..entry }
    }

    const fn per_head<M: Method>() -> Self {
        Self { action: Action::PerHead(render::<M>), ..Self::of::<M>() }
    }

    /// A question whose answer takes long enough to hold up others: it has a thread of its own.
    const fn slow<M: Method + Send + 'static>() -> Self {
        Self { action: Action::Later(ask::<M>), ..Self::of::<M>() }
    }

    /// A question that is answered at once, unless the transaction is large.
    const fn about<M: AboutTransaction>() -> Self {
        Self::new(M::NAME, Action::Weighed(weigh::<M>), Shape::of::<M, M::Output>())
    }

    const fn streamed<M: Streamed>() -> Self {
        Self::new(M::NAME, Action::Streamed(begin::<M>), Shape::of::<M, M::Output>())
    }

    const fn command<C: Command>() -> Self {
        Self::new(C::NAME, Action::Later(run::<C>), Shape::of::<C, C::Output>())
    }

    /// A command that does what no client of a real network can do.
    const fn for_developers<C: Command>() -> Self {
        Self { for_developers: true, ..Self::command::<C>() }
    }

    /// Returns the same method with this weight.
    const fn of_weight(self, weight: u32) -> Self {
        Self { weight: NonZeroU32::new(weight).expect("a call costs something"), ..self }
    }
}

/// A row, and what follows from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) position: usize,
    pub(crate) action: Action,
    pub(crate) fields: &'static [&'static str],
    pub(crate) for_developers: bool,
    /// What a call costs of what its client may make each second. A short answer from what is in memory costs 1.
    pub(crate) weight: NonZeroU32,
}

/// Finds a row by the name or an alias of its method.
pub(crate) fn find(name: &str) -> Option<&'static Row> {
    static BY_NAME: LazyLock<HashMap<&str, Row>> = LazyLock::new(|| {
        let rows = METHODS.iter().enumerate().flat_map(|(position, entry)| {
            let Entry { name, action, shape, for_developers, weight, .. } = *entry;
            let row = Row { name, position, action, fields: (shape.fields)(), for_developers, weight };
            std::iter::once(&entry.name).chain(entry.aliases).map(move |name| (*name, row))
        });
        rows.collect()
    });
    BY_NAME.get(name)
}

/// Returns the error for a name that no method has. It suggests only a method whose row is offered to the caller.
pub(crate) fn absent(name: &str, is_offered: impl Fn(usize) -> bool) -> RpcError {
    if status_server::NOT_ON_LOOKUP.contains(&name) {
        return RpcError::new(RpcErrorCode::INVALID_REQUEST, "Not to be queried on lookup");
    }
    eth::refusal(name).unwrap_or_else(|| match similar(name, is_offered) {
        Some(similar) => RpcError::METHOD_NOT_FOUND.with_suggestion(similar),
        None => RpcError::METHOD_NOT_FOUND,
    })
}

/// Returns the method with the most similar name among the rows that are offered, if it is similar. The name of a method has
/// none: a node that does not find it has switched it off, or is another program.
pub(crate) fn similar(name: &str, is_offered: impl Fn(usize) -> bool) -> Option<&'static str> {
    const SIMILAR: f64 = 0.9;
    /// Characters beyond which a name is like none: comparing takes time with the product of both lengths.
    const LONGEST: usize = 64;
    static LOWER: LazyLock<Vec<String>> =
        LazyLock::new(|| METHODS.iter().map(|entry| entry.name.to_lowercase()).collect());
    if name.len() > LONGEST || find(name).is_some() {
        return None;
    }
    let name = name.to_lowercase();
    let offered = LOWER.iter().zip(METHODS).enumerate().filter(|(position, _)| is_offered(*position));
    let known = offered.map(|(_, (lower, entry))| (strsim::jaro_winkler(lower, &name), entry.name));
    known.filter(|(likeness, _)| *likeness >= SIMILAR).max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, name)| name)
}

fn query<M: Method>(request: Call<'_>, at: &Context, out: &mut Vec<u8>) -> Result<(), RpcError> {
    let method: M = params::read(request.params, request.fields)?;
    write_result(out, request.id, &call(method, at)?).map_err(|error| internal(M::NAME, &error))
}

fn weigh<M: AboutTransaction>(
    request: Call<'_>,
    node: &NodeHandle,
    out: &mut Vec<u8>,
) -> Result<Option<Running>, RpcError> {
    let method: M = params::read(request.params, request.fields)?;
    let at = node.context();
    let hash = method.hash().map_err(|error| error.into_rpc(M::NAME))?;
    let found = confined(M::NAME, || Ok(at.snapshot.find_transaction(&hash)?))?;
    if found.bytes() > LARGE_TRANSACTION {
        // By the time of its turn the head may be another.
        let answer = move |at: &Context| M::answer(&at.snapshot.find_transaction(&hash)?, at);
        return Ok(Some(aside(M::NAME, node.clone(), answer)));
    }
    let answer = confined(M::NAME, || M::answer(&found, &at))?;
    write_result(out, request.id, &answer).map(|()| None).map_err(|error| internal(M::NAME, &error))
}

fn render<M: Method>(at: &Context) -> Result<Bytes, RpcError> {
    let result = call::<M>(params::read(None, &[])?, at)?;
    serde_json::to_vec(&result).map(Bytes::from).map_err(|error| internal(M::NAME, &error))
}

fn call<M: Method>(method: M, at: &Context) -> Result<M::Output, RpcError> {
    confined(M::NAME, || method.call(at))
}

/// Returns what a part of a method says, also when it panics.
fn confined<T>(name: &'static str, work: impl FnOnce() -> Result<T, CallError>) -> Result<T, RpcError> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result.map_err(|error| error.into_rpc(name)),
        Err(_) => Err(panicked(name)),
    }
}

fn ask<M: Method + Send + 'static>(request: Call<'_>, node: NodeHandle) -> Result<Running, RpcError> {
    let method: M = params::read_for(M::NAME, request.params, request.fields)?;
    Ok(aside(M::NAME, node, move |at| method.call(at)))
}

/// Answers on a thread that may take its time.
fn aside<T: Serialize>(
    name: &'static str,
    node: NodeHandle,
    answer: impl FnOnce(&Context) -> Result<T, CallError> + Send + 'static,
) -> Running {
    Box::pin(async move {
        let asked = node.clone();
        let answer = node.slowly(move || {
            let at = Arc::clone(&asked.context());
            to_raw_value(&confined(name, || answer(&at))?).map_err(|error| internal(name, &error))
        });
        answer.await.unwrap_or_else(|| Err(panicked(name)))
    })
}

fn begin<M: Streamed>(request: Call<'_>, node: NodeHandle) -> Result<Beginning, RpcError> {
    let method: M = params::read(request.params, request.fields)?;
    Ok(Box::pin(async move {
        let asked = node.clone();
        // A first piece may be large, and much is read for it.
        let begun = node.slowly(move || {
            let at = Arc::clone(&asked.context());
            let begun = method.begin(&at).and_then(|document| Ok(Begun::new(document, M::NAME)?));
            begun.map_err(|error| error.into_rpc(M::NAME))
        });
        begun.await.unwrap_or_else(|| Err(panicked(M::NAME)))
    }))
}

fn run<C: Command>(request: Call<'_>, node: NodeHandle) -> Result<Running, RpcError> {
    let command: C = params::read_for(C::NAME, request.params, request.fields)?;
    Ok(Box::pin(async move {
        match confined_future(command.run(&node)).await {
            Some(Ok(result)) => to_raw_value(&result).map_err(|error| internal(C::NAME, &error)),
            Some(Err(error)) => Err(error.into_rpc(C::NAME)),
            None => Err(panicked(C::NAME)),
        }
    }))
}

/// Returns what `future` does, or `None` when it panics.
async fn confined_future<F: Future>(future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    std::future::poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
        Ok(poll) => poll.map(Some),
        Err(_) => std::task::Poll::Ready(None),
    })
    .await
}

/// The panic itself was logged by the process-wide hook.
fn panicked(method: &str) -> RpcError {
    tracing::error!(method, "a method panicked");
    RpcError::INTERNAL_ERROR
}

fn internal(method: &str, error: &serde_json::Error) -> RpcError {
    tracing::error!(method, %error, "an answer has no JSON form");
    RpcError::INTERNAL_ERROR
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicBool, Ordering},
        time::Duration,
    };

    use serde::Deserialize;

    use tokio::time::timeout;

    use super::*;
    use crate::{block_mode::BlockMode, driver::SLOW_QUESTIONS, rpc::tests::fixture};

    /// A method that fails in the worst way.
    #[derive(Debug, Deserialize, JsonSchema)]
    struct Panics {}

    impl Method for Panics {
        const NAME: &'static str = "Panics";
        type Output = ();

        fn call(self, _: &Context) -> Result<(), CallError> {
            panic!("as it does")
        }
    }

    #[test]
    fn similar_names_are_of_methods_that_are_offered() {
        let nearest = |name: &str| similar(name, |_| true);
        assert_eq!(nearest("getbalance"), Some("GetBalance"));
        assert_eq!(nearest("GetBalnce"), Some("GetBalance"));
        assert_eq!(nearest("silica_snapshoot"), Some("silica_snapshot"));
        assert_eq!(nearest("eth_getBlockByNum"), Some("eth_getBlockByNumber"));
        assert_eq!(nearest("CheckPause"), None);
        assert_eq!(nearest("x"), None);
        assert_eq!(nearest(""), None);
        assert_eq!(nearest(&"GetBalance".repeat(7)), None);
        assert_eq!(nearest("GetMinimumGasPrise"), Some("GetMinimumGasPrice"));
        let position = find("GetMinimumGasPrice").unwrap().position;
        assert_eq!(similar("GetMinimumGasPrise", |row| row != position), Some("SetMinimumGasPrice"));
    }

    #[tokio::test]
    async fn panic_of_a_query_is_confined() {
        let fixture = fixture(BlockMode::Manual);
        let context = fixture.context();
        assert_eq!(call(Panics {}, &context), Err(RpcError::INTERNAL_ERROR));
        assert_eq!(render::<Panics>(&context).unwrap_err(), RpcError::INTERNAL_ERROR);
    }

    static RELEASED: AtomicBool = AtomicBool::new(false);

    /// A question that takes until others have had their turn. It answers whether they had.
    #[derive(Debug, Deserialize, JsonSchema)]
    struct Waits {}

    impl Method for Waits {
        const NAME: &'static str = "Waits";
        type Output = bool;

        fn call(self, _: &Context) -> Result<bool, CallError> {
            for _ in 0..2_000 {
                if RELEASED.load(Ordering::Relaxed) {
                    return Ok(true);
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok(false)
        }
    }

    #[tokio::test]
    async fn slow_question_does_not_hold_up_the_only_thread() {
        let fixture = fixture(BlockMode::Manual);
        let Action::Later(ask) = Entry::slow::<Waits>().action else { panic!("it is answered later") };
        let answer = ask(Call { id: &Id::NULL, params: None, fields: &[] }, fixture.node()).unwrap();
        let (answer, ()) = tokio::join!(answer, async { RELEASED.store(true, Ordering::Relaxed) });
        assert_eq!(answer.unwrap().get(), "true");
    }

    #[tokio::test]
    async fn slow_questions_are_answered_in_turn() {
        let node = fixture(BlockMode::Manual).node();
        let Action::Later(ask) = Entry::slow::<tx_block::GetNumTxBlocks>().action else {
            panic!("it is answered later")
        };
        let call = Call { id: &Id::NULL, params: None, fields: &[] };
        let mut turns = Vec::new();
        while turns.len() < SLOW_QUESTIONS - 1 {
            turns.push(node.slow_turn().await);
        }
        // The one that is left is given back after each.
        for _ in 0..3 {
            assert_eq!(ask(call, node.clone()).unwrap().await.unwrap().get(), "\"1\"");
        }
        let last = node.slow_turn().await;
        let mut waits = ask(call, node.clone()).unwrap();
        assert!(timeout(Duration::from_millis(20), &mut waits).await.is_err());
        drop(last);
        assert_eq!(waits.await.unwrap().get(), "\"1\"");
        drop(turns);
    }

    #[tokio::test]
    async fn panic_of_a_slow_question_is_confined() {
        let fixture = fixture(BlockMode::Manual);
        let answer = ask::<Panics>(Call { id: &Id::NULL, params: None, fields: &[] }, fixture.node()).unwrap();
        assert_eq!(answer.await.unwrap_err(), RpcError::INTERNAL_ERROR);
    }

    #[tokio::test]
    async fn panic_of_a_command_is_confined() {
        assert_eq!(confined_future(async { 7 }).await, Some(7));
        assert_eq!(confined_future(async { panic!("as it does") }).await, None::<()>);
        let later = async {
            tokio::task::yield_now().await;
            panic!("only now")
        };
        assert_eq!(confined_future(later).await, None::<()>);
    }
}
