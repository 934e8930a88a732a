//! Requests for logs, filters that clients poll, and subscriptions (docs/explorers.md).

use std::time::Instant;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use silica_chain::{BlockSpan, ChainTip, EventCursor, EventListRequest, HistoryOrder, ListedEvent, Snapshot};
use silica_protocol::{BlockHash, BlockNumber, rpc::text::PrefixedHex};

use super::{
    filter::{LogQuery, LogQueryParam, QueryBlocks, span},
    log::{Log, LogWriter},
    params::{EthFault, EthId, MOST_LOGS, MOST_LOOKED_AT, SubscriptionKind},
    values::Quantity,
};
use crate::{
    block_hashes::HashLookup,
    blocking::BlockingError,
    driver::NodeHandle,
    log_filter::{EthSubscriptions, Followed, Kept, LogFilter, Progress, Subscribed, following},
    methods::written::Written,
    rpc::{CallError, Command, Entry, SessionMethod, params::Text},
};

/// Rows of the method table for the methods in this file.
pub(in crate::methods) const ENTRIES: &[Entry] = &[
    Entry::command::<EthGetFilterChanges>().of_weight(10),
    Entry::command::<EthGetFilterLogs>().of_weight(50),
    Entry::command::<EthGetLogs>().of_weight(50),
    Entry::command::<EthNewBlockFilter>().of_weight(5),
    Entry::command::<EthNewFilter>().of_weight(5),
    Entry::in_session::<EthSubscribe>().of_weight(5),
    Entry::command::<EthUninstallFilter>(),
    Entry::in_session::<EthUnsubscribe>(),
];

/// Maximum work for one request for logs, in the unit of `EventListRequest::effort`: about 25 MB of the record.
const EFFORT: usize = 100_000;

/// Size of the logs of one poll after which the poll ends, in bytes of JSON. The next poll continues.
const POLL_BYTES: usize = 4 << 20;

/// Maximum number of block hashes of one poll.
const MOST_HASHES: u64 = 1000;

/// Logs of the events of contracts, in the order of the chain.
///
/// Each event of a successful transaction is a log with one topic, Keccak-256 of the text `NAME(string)` with the name
/// of the event. The data is a string in the Solidity ABI: a JSON object with `address`, `_eventname` and `params`. A
/// request has at most 100,000 blocks, and reads at most about 25 MB of the record. A result has at most 10,000 logs.
#[derive(Debug, Deserialize, JsonSchema)]
struct EthGetLogs {
    /// Contracts, topics and blocks.
    filter: LogQueryParam,
}

impl Command for EthGetLogs {
    const NAME: &'static str = "eth_getLogs";
    type Output = Written<Vec<Log>>;

    async fn run(self, node: &NodeHandle) -> Result<Self::Output, CallError> {
        let LogQuery { filter, blocks } = self.filter.get(0)?;
        on_thread(node, move |node| {
            let (at, blocks) = match blocks {
                QueryBlocks::Hash(hash) => match node.find_block(&hash, MOST_LOOKED_AT)? {
                    (at, HashLookup::Found(number)) => (at.snapshot, BlockSpan::of(number)),
                    (_, HashLookup::Absent) => return Err(EthFault::UnknownBlock { hash }.into()),
                    (_, HashLookup::NotScanned(oldest)) => return Err(EthFault::Unseen { oldest }.into()),
                    (_, HashLookup::OutOfRange(oldest)) => return Err(EthFault::TooOld { oldest }.into()),
                },
                QueryBlocks::Range(range) => {
                    let at = node.context();
                    let blocks = span(range, at.head())?;
                    (at.snapshot, blocks)
                }
            };
            logs(&at, &filter, blocks)
        })
        .await
    }
}

/// Creates a filter for the logs of new blocks, and returns its id. `eth_getFilterChanges` returns the logs.
///
/// If the filter has blocks, only the logs of these blocks match. A tag other than `earliest` does not limit the
/// blocks. The node has at most 1,000 filters of all clients. A filter expires after 5 minutes without a poll, and at a
/// restart.
#[derive(Debug, Deserialize, JsonSchema)]
struct EthNewFilter {
    /// Contracts, topics and blocks. A filter with a block hash is invalid.
    filter: LogQueryParam,
}

impl Command for EthNewFilter {
    const NAME: &'static str = "eth_newFilter";
    type Output = Quantity;

    async fn run(self, node: &NodeHandle) -> Result<Self::Output, CallError> {
        let LogQuery { filter, blocks } = self.filter.get(0)?;
        let QueryBlocks::Range(range) = blocks else {
            let fault = "blockHash: expected fromBlock and toBlock, because a filter follows new blocks".to_owned();
            return Err(EthFault::Member { position: 0, fault }.into());
        };
        keep(node, Followed::Logs(filter, range))
    }
}

/// Creates a filter for the hashes of new blocks, and returns its id.
#[derive(Debug, Deserialize, JsonSchema)]
struct EthNewBlockFilter {}

impl Command for EthNewBlockFilter {
    const NAME: &'static str = "eth_newBlockFilter";
    type Output = Quantity;

    async fn run(self, node: &NodeHandle) -> Result<Self::Output, CallError> {
        keep(node, Followed::Blocks)
    }
}

/// The new logs or block hashes of a filter.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
enum Changes {
    /// The logs of new blocks.
    Logs(Vec<Log>),
    /// The hashes of new blocks.
    Blocks(Vec<PrefixedHex<BlockHash>>),
}

/// The logs or block hashes since the creation of a filter, or since its last poll.
///
/// A poll returns at most 10,000 logs, about 4 MB, or 1,000 hashes. The next poll returns the following ones. After a
/// revert of the chain, a poll returns the logs of the blocks that replace removed blocks.
#[derive(Debug, Deserialize, JsonSchema)]
struct EthGetFilterChanges {
    /// The id of the filter.
    id: Text<EthId>,
}

impl Command for EthGetFilterChanges {
    const NAME: &'static str = "eth_getFilterChanges";
    type Output = Written<Changes>;

    async fn run(self, node: &NodeHandle) -> Result<Self::Output, CallError> {
        let kept = node.filters().get(id(self.id)?, Instant::now()).ok_or(EthFault::NoSuchFilter)?;
        // Wait for the previous poll before this poll takes a thread.
        let mut progress = std::sync::Arc::clone(&kept.progress).lock_owned().await;
        on_thread(node, move |node| changes(&node.context().snapshot, &kept.followed, &mut progress)).await
    }
}

/// All logs that match a filter for logs, as `eth_getLogs` returns them. The call does not change the logs of the next
/// poll.
#[derive(Debug, Deserialize, JsonSchema)]
struct EthGetFilterLogs {
    /// The id of the filter.
    id: Text<EthId>,
}

impl Command for EthGetFilterLogs {
    const NAME: &'static str = "eth_getFilterLogs";
    type Output = Written<Vec<Log>>;

    async fn run(self, node: &NodeHandle) -> Result<Self::Output, CallError> {
        let kept = node.filters().get(id(self.id)?, Instant::now()).ok_or(EthFault::NoSuchFilter)?;
        on_thread(node, move |node| {
            let Kept { followed: Followed::Logs(filter, range), .. } = &*kept else {
                return Err(EthFault::NoSuchFilter.into());
            };
            let at = node.context();
            logs(&at.snapshot, filter, span(*range, at.head())?)
        })
        .await
    }
}

/// Removes a filter. Returns whether the filter existed.
#[derive(Debug, Deserialize, JsonSchema)]
struct EthUninstallFilter {
    /// The id of the filter.
    id: Text<EthId>,
}

impl Command for EthUninstallFilter {
    const NAME: &'static str = "eth_uninstallFilter";
    type Output = bool;

    async fn run(self, node: &NodeHandle) -> Result<Self::Output, CallError> {
        Ok(node.filters().remove(id(self.id)?, Instant::now()))
    }
}

/// Subscribes a WebSocket connection to the logs or to the headers of new blocks. Returns the id of the subscription.
///
/// For each log or header, the client gets a message with the method `eth_subscription`. A connection has at most 100
/// subscriptions.
#[derive(Debug, Deserialize, JsonSchema)]
struct EthSubscribe {
    /// `logs` or `newHeads`.
    subscription: Text<SubscriptionKind>,
    /// Contracts and topics of a subscription to logs; optional. Blocks are ignored.
    #[serde(default)]
    filter: LogQueryParam,
}

impl SessionMethod for EthSubscribe {
    const NAME: &'static str = "eth_subscribe";
    type Output = Quantity;

    fn run(self, session: &EthSubscriptions, node: &NodeHandle) -> Result<Self::Output, CallError> {
        let kind = self.subscription.get().map_err(|fault| CallError::from(fault.of(0)))?;
        let LogQuery { filter, .. } = self.filter.get(1)?;
        let subscribed = match kind {
            SubscriptionKind::Logs => Subscribed::Logs(filter),
            SubscriptionKind::NewHeads => Subscribed::Heads,
        };
        let (id, head) = (new_id()?, node.context().head());
        let added = node.filters().subscribe(session, (id, subscribed), following(head), Instant::now());
        added.map_err(EthFault::from)?;
        Ok(id.into())
    }
}

/// Ends a subscription of the WebSocket connection. Returns whether the subscription existed.
#[derive(Debug, Deserialize, JsonSchema)]
struct EthUnsubscribe {
    /// The id of the subscription.
    id: Text<EthId>,
}

impl SessionMethod for EthUnsubscribe {
    const NAME: &'static str = "eth_unsubscribe";
    type Output = bool;

    fn run(self, session: &EthSubscriptions, _: &NodeHandle) -> Result<Self::Output, CallError> {
        Ok(session.remove(id(self.id)?))
    }
}

/// Runs a query on a blocking thread, and serializes the result there.
async fn on_thread<T: Serialize + 'static>(
    node: &NodeHandle,
    query: impl FnOnce(&NodeHandle) -> Result<T, CallError> + Send + 'static,
) -> Result<Written<T>, CallError> {
    let queried = node.clone();
    node.blocking().query(move || Written::new(&query(&queried)?)).await.ok_or(BlockingError::Panicked)?
}

fn id(id: Text<EthId>) -> Result<u64, CallError> {
    id.get().map(|EthId(id)| id).map_err(|fault| CallError::from(fault.of(0)))
}

/// Returns a random id, so that a client cannot find the filters of other clients.
fn new_id() -> Result<u64, CallError> {
    // An id below 2^63 has a successor.
    getrandom::u64().map(|id| id >> 1).map_err(|error| CallError::internal(error.to_string()))
}

/// Adds a filter for the blocks after the head, and returns the id of the filter.
fn keep(node: &NodeHandle, followed: Followed) -> Result<Quantity, CallError> {
    let (id, ChainTip { number, reverts }) = (new_id()?, node.context().snapshot.tip());
    let progress = Progress::from(number, reverts);
    node.filters().add(id, followed, progress, Instant::now()).map_err(EthFault::from)?;
    Ok(id.into())
}

fn request(
    filter: &LogFilter,
    blocks: BlockSpan,
    after: Option<EventCursor>,
    limit: usize,
) -> EventListRequest<'static> {
    EventListRequest {
        contract: filter.only_contract(),
        name: None,
        blocks,
        order: HistoryOrder::OldestFirst,
        after,
        limit,
        effort: EFFORT,
        numbered: true,
    }
}

/// Returns all logs of a filter in some blocks.
fn logs(at: &Snapshot, filter: &LogFilter, blocks: BlockSpan) -> Result<Vec<Log>, CallError> {
    if filter.needs_more {
        return Ok(Vec::new());
    }
    // Request one event above the limit, to detect that too many events match.
    let request = request(filter, blocks, None, MOST_LOGS.saturating_add(1));
    let page = at.event_list(&request, |event| filter.matches(&event.address, &event.name))?;
    if let Some(beyond) = page.events.get(MOST_LOGS) {
        return Err(EthFault::TooManyLogs { block: beyond.place.block }.into());
    }
    if let Some(next) = page.next {
        return Err(EthFault::TooMuchWork { block: next.place.block }.into());
    }
    Ok(written(&page.events, usize::MAX)?.0)
}

/// Writes the logs of events until they have `most` bytes. Also returns the place of the last log, if events remain.
fn written(events: &[ListedEvent], most: usize) -> Result<(Vec<Log>, Option<EventCursor>), CallError> {
    let (mut writer, mut logs) = (LogWriter::default(), Vec::with_capacity(events.len()));
    let mut bytes = 0_usize;
    for event in events {
        let log =
            writer.log(event).ok_or_else(|| CallError::internal(format!("event of {} has no number", event.hash)))?;
        bytes = bytes.saturating_add(log.bytes());
        logs.push(log);
        if bytes >= most && logs.len() < events.len() {
            return Ok((logs, Some(EventCursor { place: event.place, index: Some(event.index) })));
        }
    }
    Ok((logs, None))
}

fn hash_of(at: &Snapshot, block: BlockNumber) -> Result<BlockHash, CallError> {
    at.tx_block_hash(block)?.ok_or_else(|| CallError::internal(format!("block {block} is not in the record")))
}

/// Returns the new logs or block hashes of a filter, and advances the progress of the filter.
fn changes(at: &Snapshot, followed: &Followed, progress: &mut Progress) -> Result<Changes, CallError> {
    let ChainTip { number: head, reverts } = at.tip();
    if let Some(lowest) = at.reverted_to(progress.reverts) {
        progress.revert(lowest, reverts);
    }
    match followed {
        Followed::Blocks => {
            let first = progress.next.get();
            let last = head.get().min(first.saturating_add(MOST_HASHES).saturating_sub(1));
            let hashes = (first..=last).map(|number| hash_of(at, BlockNumber::new(number)).map(PrefixedHex));
            let hashes = hashes.collect::<Result<_, _>>()?;
            progress.next = progress.next.max(following(BlockNumber::new(last)));
            Ok(Changes::Blocks(hashes))
        }
        Followed::Logs(LogFilter { needs_more: true, .. }, _) => Ok(Changes::Logs(Vec::new())),
        Followed::Logs(filter, range) => {
            let blocks = progress.blocks(*range, head);
            let request = request(filter, blocks, progress.after, MOST_LOGS);
            let page = at.event_list(&request, |event| filter.matches(&event.address, &event.name))?;
            let (logs, end) = written(&page.events, POLL_BYTES)?;
            let (next, after) = match end.or(page.next) {
                Some(end) => (end.place.block, Some(end)),
                None => (following(head), None),
            };
            (progress.next, progress.after) = (progress.next.max(next), after);
            Ok(Changes::Logs(logs))
        }
    }
}
