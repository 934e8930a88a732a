//! One WebSocket connection. It receives JSON-RPC requests and messages of subscribers, and sends responses and
//! notifications.

use std::{convert::Infallible, mem, sync::Arc};

use hyper::body::Bytes;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;
use silica_chain::{ChainTip, Snapshot};
use silica_protocol::{Account, Address, BlockNumber};
use silica_state::StateError;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::{Semaphore, SemaphorePermit, watch},
    time::sleep,
};
use tokio_tungstenite::tungstenite::{Utf8Bytes, protocol::frame::coding::CloseCode};

use super::{
    block_events::{BlockEventCache, BlockEvents, Detail, Unread},
    eth::{self, Batch, Next},
    topics::{MOST_OF_ALL, QueryError, Topics},
    wire::{End, Text, Wire},
};
use crate::{
    driver::NodeHandle,
    head::Context,
    http::{Caller, MemoryLease, PushLease, SMALL_RESPONSE, TOO_MANY_ANSWERS},
    log_filter::{EthSubscriptions, following},
    metrics::{Metrics, Open},
    rpc::{self, Service, too_often},
};

/// Maximum size of a message whose addresses are looked up on the async thread, in bytes. Longer messages use a
/// blocking thread, because each lookup can read from disk.
const SHORT: usize = 4 << 10;

/// Number of steps of a replay that cost one unit of the rate limit. A replayed block takes one step, and one more for
/// each [`TRANSACTIONS_OF_A_STEP`] transactions, because the node reads all of them.
const STEPS_OF_A_UNIT: u32 = 100;
/// Number of replayed transactions that take a step. So one unit of the rate limit pays for 2,000 transactions, as in
/// the methods for lists.
const TRANSACTIONS_OF_A_STEP: u32 = 20;

/// Number of sessions that write a large text at once. Each can hold the events of a block that is not in the cache.
/// The memory budget counts the text, not these events.
const LARGE_AT_ONCE: usize = 2;

/// The data that all WebSocket connections share.
#[derive(Debug)]
pub(crate) struct SubscriptionHub {
    node: NodeHandle,
    events: BlockEventCache,
    /// Permits for the addresses that all clients together follow.
    places: Arc<Semaphore>,
    /// Permits to write a large text.
    large: Semaphore,
    metrics: Arc<Metrics>,
}

impl SubscriptionHub {
    pub(crate) fn new(node: NodeHandle, metrics: Arc<Metrics>) -> Self {
        let (events, places) = (BlockEventCache::default(), Arc::new(Semaphore::new(MOST_OF_ALL)));
        Self { node, events, places, large: Semaphore::new(LARGE_AT_ONCE), metrics }
    }

    /// Runs a session after the handshake, until the client or the node ends it, or `stop` becomes true. The handshake
    /// has determined `caller`. `service` responds to JSON-RPC requests. Large messages reserve memory of `lease`.
    pub(crate) async fn receive<S>(
        &self,
        service: &Service,
        (stream, caller): (S, Caller),
        lease: MemoryLease,
        stop: watch::Receiver<bool>,
    ) where
        S: AsyncRead + AsyncWrite + Unpin + Send,
    {
        let _open = Open::count(&self.metrics.sessions);
        let wire = Wire::new(stream, lease.clone(), stop).await;
        let heads = self.node.new_heads();
        let ChainTip { number, reverts } = self.node.context().snapshot.tip();
        let (topics, eth, next_eth) = (Topics::default(), self.node.filters().session(), Next::of(following(number)));
        let mut session =
            Session { hub: self, service, caller, wire, lease, topics, eth, next_eth, heads, reverts, owed: 0 };
        let Err(end) = session.run().await;
        session.wire.end(end).await;
    }
}

struct Session<'a, S> {
    hub: &'a SubscriptionHub,
    service: &'a Service,
    caller: Caller,
    wire: Wire<S>,
    lease: MemoryLease,
    topics: Topics,
    /// The subscriptions of `eth_subscribe`, and their next notification.
    eth: EthSubscriptions,
    next_eth: Next,
    /// Notified after each new head.
    heads: watch::Receiver<()>,
    /// The number of reverts of the chain that the next blocks take into account.
    reverts: u64,
    /// Number of steps of replays that the client has not paid for.
    owed: u32,
}

impl<'a, S: AsyncRead + AsyncWrite + Unpin + Send> Session<'a, S> {
    async fn run(&mut self) -> Result<Infallible, End> {
        loop {
            let head = self.hub.node.context();
            self.observe(&head.snapshot);
            let number = head.snapshot.tip().number;
            // A session that waits must not keep the state of a head in memory.
            drop(head);
            if let Some(revert) = self.topics.take_revert() {
                let text = serde_json::to_vec(&revert).map_err(|_| FAILED)?;
                self.wire.send(Bytes::from(text).into()).await?;
            }
            let behind = self.next_block().is_some_and(|next| next <= number);
            tokio::select! {
                biased;
                text = self.wire.next() => self.on_message(text?).await?,
                // Send one block in each round, even if the client is far behind. No block is lost, and no queue grows.
                () = std::future::ready(()), if behind => self.notify().await?,
                head = self.heads.changed(), if !behind => head.map_err(|_| End::Gone)?,
            }
        }
    }

    /// Takes the reverts of the chain up to a head into account.
    fn observe(&mut self, head: &Snapshot) {
        if let Some(lowest) = head.reverted_to(self.reverts) {
            self.topics.revert_to(lowest);
            self.eth.revert(lowest);
            self.next_eth.revert(lowest);
            self.reverts = head.tip().reverts;
        }
    }

    /// Returns the number of the next block to send, or `None` without a subscription.
    fn next_block(&self) -> Option<BlockNumber> {
        let of_eth = self.eth.any().then_some(self.next_eth.block);
        self.topics.next_block().into_iter().chain(of_eth).min()
    }

    async fn on_message(&mut self, Text { text, memory }: Text) -> Result<(), End> {
        if !is_rpc(&text) {
            return self.subscribe(text).await;
        }
        let body = Bytes::from(text);
        if !self.eth.any() {
            // Read the head before the request. The request can subscribe, and a new block can arrive before its
            // response.
            let context = self.hub.node.context();
            self.observe(&context.snapshot);
            self.next_eth = Next::of(following(context.head()));
        }
        let (lease, eth) = (&self.lease, &self.eth);
        let answer = async {
            let answered = self.service.answer_session(body.clone(), &self.caller, eth, lease.memory()).await;
            lease.body(answered.reply?).await
        };
        let answer = match self.wire.meanwhile(answer).await? {
            Some(answer) => answer,
            None => Bytes::from(self.service.decline(&body, TOO_MANY_ANSWERS)).into(),
        };
        // Free the request before the client reads the response.
        drop((body, memory));
        self.wire.send(answer).await
    }

    /// Applies a message that subscribes or unsubscribes, and sends the acknowledgement or the error.
    async fn subscribe(&mut self, text: Utf8Bytes) -> Result<(), End> {
        if let Err(wait) = self.caller.arrive() {
            return self.wire.send(Bytes::from(too_often(wait)).into()).await;
        }
        let context = self.hub.node.context();
        self.observe(&context.snapshot);
        let taken = if text.len() <= SHORT {
            let taken = take(&mut self.topics, &text, &self.hub.places, &context);
            // The client may read slowly, and must not keep the state of a head in memory.
            drop(context);
            taken
        } else {
            let (mut topics, query) = (mem::take(&mut self.topics), text.clone());
            let places = Arc::clone(&self.hub.places);
            let looked_up = self.hub.node.blocking().query(move || {
                let taken = take(&mut topics, &query, &places, &context);
                (topics, taken)
            });
            let (topics, taken) = self.wire.meanwhile(looked_up).await?.ok_or(FAILED)?;
            self.topics = topics;
            taken
        };
        let answer = taken.map_or_else(|error| Bytes::from(error.to_string()), |()| text.into());
        self.wire.send(answer.into()).await
    }

    /// Sends the notifications of the next block to the client.
    async fn notify(&mut self) -> Result<(), End> {
        let next = self.next_block();
        if self.topics.next_block() == next {
            self.notify_topics().await?;
        }
        if self.eth.any() && Some(self.next_eth.block) == next && self.notify_eth().await? {
            self.next_eth = Next::of(following(self.next_eth.block));
        }
        Ok(())
    }

    /// Sends the notification of the topics.
    async fn notify_topics(&mut self) -> Result<(), End> {
        let Some(number) = self.topics.next_block() else { return Ok(()) };
        let replays = self.topics.replays();
        if replays && self.owed >= STEPS_OF_A_UNIT {
            // Return, so that the session processes messages of the client before the next attempt or the next unit.
            return match self.caller.arrive() {
                Ok(()) => {
                    self.owed = self.owed.saturating_sub(STEPS_OF_A_UNIT);
                    Ok(())
                }
                Err(wait) => self.wire.meanwhile(sleep(wait)).await,
            };
        }
        let Some(news) = self.news(number, self.topics.detail()).await? else { return Ok(()) };
        let steps = replay_steps(news.tx_block.header.tx_count);
        let bytes = self.topics.notification_bytes(&news).ok_or(TOO_MANY_EVENTS)?;
        let text = if bytes <= SMALL_RESPONSE {
            let text = serde_json::to_vec(&self.topics.notification(&news)).map_err(|_| FAILED)?;
            // Free the events before the client reads the notification.
            drop(news);
            Bytes::from(text).into()
        } else {
            drop(news);
            // The end of this scope returns the permit, before the client reads.
            let (memory, _permit) = self.reserve_large(bytes).await?;
            let Some(news) = self.news(number, self.topics.detail()).await? else { return Ok(()) };
            let topics = mem::take(&mut self.topics);
            let written = self.hub.node.blocking().query(move || {
                // Reserve the whole vector: a growing vector would take more memory than the lease has.
                let mut text = Vec::with_capacity(bytes);
                let written = serde_json::to_writer(&mut text, &topics.notification(&news));
                (topics, written.map(|()| text))
            });
            let (topics, text) = self.wire.meanwhile(written).await?.ok_or(FAILED)?;
            self.topics = topics;
            self.lease.reserved(text.map_err(|_| FAILED)?, memory)
        };
        self.wire.send(text).await?;
        self.topics.advance();
        if replays {
            self.owed = self.owed.saturating_add(steps);
        }
        Ok(())
    }

    /// Sends the remaining notifications of a block for `eth_subscribe`. Returns `false` if the chain was reverted.
    async fn notify_eth(&mut self) -> Result<bool, End> {
        let number = self.next_eth.block;
        loop {
            let Some(news) = self.news(number, Detail::Events).await? else { return Ok(false) };
            let mut at = self.next_eth.place;
            let batch = eth::batch(&self.eth, &news, &mut at);
            // Free the events before the client reads the notifications.
            drop(news);
            match batch {
                Batch::Texts(texts) if texts.is_empty() => return Ok(true),
                Batch::Texts(texts) => {
                    for text in texts {
                        self.wire.send(Bytes::from(text).into()).await?;
                    }
                }
                Batch::Large(bytes) => {
                    let (memory, permit) = self.reserve_large(bytes).await?;
                    let Some(news) = self.news(number, Detail::Events).await? else { return Ok(false) };
                    let written = self.hub.node.blocking().query(move || eth::large(&news, at, bytes));
                    let (text, next) = self.wire.meanwhile(written).await?.flatten().ok_or(FAILED)?;
                    at = next;
                    // Return the permit before the client reads.
                    drop(permit);
                    self.wire.send(self.lease.reserved(text, memory)).await?;
                }
                Batch::TooMany => return Err(TOO_MANY_EVENTS),
            }
            self.next_eth.place = at;
        }
    }

    /// Waits for memory for a large text, and then for the permit to write it.
    async fn reserve_large(&mut self, bytes: usize) -> Result<(PushLease, SemaphorePermit<'a>), End> {
        let memory = self.wire.meanwhile(self.lease.reserve(bytes)).await?.ok_or(TOO_MANY_EVENTS)?;
        let permit = self.wire.meanwhile(self.hub.large.acquire()).await?.map_err(|_| FAILED)?;
        Ok((memory, permit))
    }

    /// Returns the events of a block, or `None` if the chain was reverted.
    async fn news(&mut self, number: BlockNumber, detail: Detail) -> Result<Option<Arc<BlockEvents>>, End> {
        let block = ChainTip { number, reverts: self.reverts };
        let node = &self.hub.node;
        match self.wire.meanwhile(self.hub.events.of(node, block, detail)).await? {
            Ok(news) => Ok(Some(news)),
            Err(Unread::Gone) => {
                let heads = &mut self.heads;
                let reverted = async {
                    // The store retires a head shortly before the chain publishes the head after the revert.
                    while node.context().snapshot.tip().reverts <= block.reverts {
                        heads.changed().await?;
                    }
                    Ok::<_, watch::error::RecvError>(())
                };
                self.wire.meanwhile(reverted).await?.map_err(|_| End::Gone)?;
                Ok(None)
            }
            Err(Unread::Failed) => Err(End::ClosedByNode(CloseCode::Error, "a block cannot be read")),
        }
    }
}

/// Returns the number of steps of a replayed block with this number of transactions.
const fn replay_steps(transactions: u32) -> u32 {
    1_u32.saturating_add(transactions / TRANSACTIONS_OF_A_STEP)
}

/// The end of a session after a fault of the node.
const FAILED: End = End::ClosedByNode(CloseCode::Error, "the node failed to process a message");

/// The end of a session whose notification exceeds a memory limit.
const TOO_MANY_EVENTS: End = End::ClosedByNode(CloseCode::Error, "the events of a block are too large");

/// Applies a message of a subscriber to the topics. Looks up which addresses are contracts.
fn take(topics: &mut Topics, text: &str, places: &Arc<Semaphore>, at: &Context) -> Result<(), QueryError> {
    let query: Value = serde_json::from_str(text).unwrap_or_default();
    let is_contract = |address: &Address| is_contract(address, at.snapshot.account(address));
    topics.take(&query, at.head(), places, is_contract)
}

/// Returns whether the account at an address is a contract. Returns `false` for a missing or unreadable account.
///
/// # Errors
///
/// [`QueryError::Reverted`] if the chain was reverted during the read.
fn is_contract(address: &Address, found: Result<Option<Account>, StateError>) -> Result<bool, QueryError> {
    match found {
        Ok(account) => Ok(account.is_some_and(|account| account.contract.is_some())),
        Err(error) if error.is_retired() => Err(QueryError::Reverted),
        Err(error) => {
            tracing::error!(
                %address,
                error = &error as &dyn std::error::Error,
                "failed to read an account; the subscription treats the address as no contract"
            );
            Ok(false)
        }
    }
}

/// Returns whether a message is for JSON-RPC: a batch, an object with the member `jsonrpc` or `method`, or a
/// well-formed request. Every other message belongs to subscriptions.
fn is_rpc(text: &str) -> bool {
    #[derive(Deserialize)]
    struct Members {
        jsonrpc: Option<IgnoredAny>,
        method: Option<IgnoredAny>,
    }

    if text.trim_start().starts_with('[') {
        return true;
    }
    match serde_json::from_str(text) {
        Ok(Members { jsonrpc, method }) => jsonrpc.is_some() || method.is_some(),
        // A valid request can have comments, a repeated member, or trailing text, as over HTTP.
        Err(_) => rpc::is_request(text.as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use silica_state::DbError;

    use super::*;

    #[test]
    fn unit_of_a_replay_pays_for_blocks_and_transactions() {
        let of_blocks = |blocks, transactions| blocks * replay_steps(transactions);
        assert_eq!(of_blocks(100, 0), STEPS_OF_A_UNIT);
        assert_eq!(of_blocks(1, 2_000) - of_blocks(1, 0), STEPS_OF_A_UNIT);
        assert_eq!(of_blocks(100, 19), STEPS_OF_A_UNIT);
    }

    #[test]
    fn contract_that_a_revert_makes_unreadable_does_not_count_as_none() {
        let check = |found, expected| assert_eq!(is_contract(&Address::ZERO, found), expected);
        check(Ok(None), Ok(false));
        check(Ok(Some(Account::default())), Ok(false));
        check(Err(StateError::Db(DbError::Retired)), Err(QueryError::Reverted));
        check(Err(StateError::Expired), Ok(false));
    }
}
