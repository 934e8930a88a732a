//! The subscriptions of one client (Reference: subscriptions#client-messages, subscriptions#notifications).

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::{Map, Value};
use silica_protocol::{
    Address, BlockNumber,
    rpc::subscription::{
        AccountTransactions, AccountTransfers, ContractEvents, Notification, RevertNews, Topic, TopicNews,
    },
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::block_events::{BlockEvents, BlockTransfers, Detail, Emitted, transactions_bytes, transfers_bytes};
use crate::rpc::params::beginning;

/// Maximum number of addresses that one client follows for a topic.
const MOST_ADDRESSES: usize = 10_000;

/// Maximum number of addresses that all clients together follow, over all topics with addresses.
pub(super) const MOST_OF_ALL: usize = 1_000_000;

/// Upper bound of the size of a notification without its contents, in bytes.
const AROUND: usize = 512;

/// The subscriptions of one client.
#[derive(Debug, Default)]
pub(super) struct Topics {
    /// The next block of each topic to which the client is subscribed.
    next: BTreeMap<Topic, BlockNumber>,
    /// The latest block at the time of the last message with `fromBlock`. A notification of this block, or of an
    /// earlier block, belongs to the replay.
    replay_to: Option<BlockNumber>,
    contracts: Followed,
    accounts: Followed,
    transfers: Followed,
    /// Whether the client is subscribed to reverts.
    has_reverts: bool,
    /// The highest block that remained after all reverts of which the client has no notification yet; `None` without
    /// such a revert.
    reverted_to: Option<BlockNumber>,
    /// Topics that end after the next notification, because the client has unsubscribed.
    ending: BTreeSet<Topic>,
}

/// The addresses that a client follows for a topic, and one permit of the common limit for each address.
#[derive(Debug, Default)]
struct Followed {
    addresses: BTreeSet<Address>,
    places: Option<OwnedSemaphorePermit>,
}

/// Reason why a message is rejected. An error of the reference has the text of the reference
/// (Reference: subscriptions#replies).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum QueryError {
    /// The message is not an object, or the member `query` is neither a topic nor `Unsubscribe`.
    #[error("invalid query field")]
    Query,
    /// The member `addresses` is missing or empty.
    #[error("invalid addresses field")]
    Addresses,
    /// The address of a contract is not `0x` and 40 characters.
    #[error("Invalid hex address")]
    ContractSize,
    /// The address of an account is not `0x` and 40 characters.
    #[error("invalid hex address")]
    AccountSize,
    /// An address has a character that is not a hexadecimal digit.
    #[error("invalid address")]
    Digit,
    /// No address is a contract. If an address is invalid, only the addresses before it count.
    #[error("no contract found in list")]
    NoContract,
    /// The first address is invalid.
    #[error("no valid address found")]
    NoAddress,
    /// The topic of an unsubscription is unknown.
    #[error("invalid type field")]
    Type,
    /// The number of the first block is invalid, or is above the number of the next block.
    #[error("fromBlock: expected the decimal digits of a block number up to {most} as text, got {got}")]
    FromBlock {
        /// The number of the next block.
        most: BlockNumber,
        /// The beginning of the value as JSON.
        got: String,
    },
    /// A subscription to reverts has the number of a first block.
    #[error("fromBlock: expected no value for the topic Reverts, got {got}")]
    RevertsFromBlock {
        /// The beginning of the value as JSON.
        got: String,
    },
    /// The client would follow more than [`MOST_ADDRESSES`] addresses for a topic.
    #[error("too many addresses, expected at most {MOST_ADDRESSES} for a topic")]
    TooMany,
    /// The chain was reverted while the node looked up the contracts. The message has no effect.
    #[error("The chain was reverted meanwhile, try again")]
    Reverted,
    /// All clients together would follow more than [`MOST_OF_ALL`] addresses.
    #[error("too many addresses, expected at most {MOST_OF_ALL} for all clients together; try again later")]
    Full,
}

impl Topics {
    /// Returns the number of the block of the next notification, or `None` without a subscription.
    pub(super) fn next_block(&self) -> Option<BlockNumber> {
        self.next.values().min().copied()
    }

    /// Returns the parts of the next block that its notification needs.
    pub(super) fn detail(&self) -> Detail {
        let has_events = self.is_due(Topic::EventLog) || self.is_due(Topic::TxnLog);
        if self.is_due(Topic::Transfers) {
            Detail::Transfers
        } else if self.replays() && self.is_due(Topic::NewBlock) && !has_events {
            Detail::Block
        } else {
            Detail::Events
        }
    }

    /// Returns whether the next notification belongs to a replay.
    pub(super) fn replays(&self) -> bool {
        self.next_block() <= self.replay_to && self.next_block().is_some()
    }

    /// Applies a message that subscribes or unsubscribes. A new topic starts after the block `head`, or at the block
    /// that the message names. If an address is invalid, adds the addresses before this address and returns the error
    /// of this address. For events, adds only the addresses of contracts. Each new address takes one permit of
    /// `places`.
    ///
    /// # Errors
    ///
    /// The error for the client.
    pub(super) fn take(
        &mut self,
        query: &Value,
        head: BlockNumber,
        places: &Arc<Semaphore>,
        is_contract: impl Fn(&Address) -> Result<bool, QueryError>,
    ) -> Result<(), QueryError> {
        let query = query.as_object().ok_or(QueryError::Query)?;
        let name = query.get("query").ok_or(QueryError::Query)?;
        let Some(topic) = topic(name) else {
            if name != "Unsubscribe" {
                return Err(QueryError::Query);
            }
            let topic = query.get("type").and_then(topic).ok_or(QueryError::Type)?;
            if topic == Topic::Reverts {
                (self.has_reverts, self.reverted_to) = (false, None);
            } else if self.has(topic) {
                self.ending.insert(topic);
            }
            return Ok(());
        };
        if topic == Topic::Reverts {
            if let Some(value) = first_block(query) {
                return Err(QueryError::RevertsFromBlock { got: beginning(&value.to_string()).to_owned() });
            }
            self.has_reverts = true;
            return Ok(());
        }
        let from = from_block(query, head)?;
        let fault = match topic {
            Topic::NewBlock | Topic::Reverts => None,
            Topic::EventLog => self.follow_contracts(query, places, is_contract)?,
            Topic::TxnLog | Topic::Transfers => self.follow_accounts(topic, query, places)?,
        };
        self.ending.remove(&topic);
        match from {
            Some(from) => {
                self.next.insert(topic, from);
                self.replay_to = Some(head);
            }
            None => drop(self.next.entry(topic).or_insert(following(head))),
        }
        fault.map_or(Ok(()), Err)
    }

    /// Records that the notification of the next block was sent, and ends the topics from which the client has
    /// unsubscribed.
    pub(super) fn advance(&mut self) {
        if let Some(sent) = self.next_block() {
            self.next.values_mut().filter(|next| **next == sent).for_each(|next| *next = following(sent));
        }
        self.end_topics();
    }

    /// Records that the chain was reverted to a block. The client gets the blocks that replace the removed ones.
    pub(super) fn revert_to(&mut self, lowest: BlockNumber) {
        self.next.values_mut().for_each(|next| *next = (*next).min(following(lowest)));
        self.replay_to = self.replay_to.map(|last| last.min(lowest));
        if self.has_reverts {
            self.reverted_to = Some(self.reverted_to.map_or(lowest, |earlier| earlier.min(lowest)));
        }
    }

    /// Returns the notification of the reverts since the last call, if the client is subscribed to reverts.
    pub(super) fn take_revert(&mut self) -> Option<Notification<'static>> {
        let value = RevertNews { block: self.reverted_to.take()?.into() };
        Some(Notification { values: vec![TopicNews::Reverts { value }] })
    }

    /// Adds the addresses of contracts. Returns the fault of the first invalid address.
    fn follow_contracts(
        &mut self,
        query: &Map<String, Value>,
        places: &Arc<Semaphore>,
        is_contract: impl Fn(&Address) -> Result<bool, QueryError>,
    ) -> Result<Option<QueryError>, QueryError> {
        let (addresses, fault) = addresses(query, &QueryError::ContractSize)?;
        let mut found = Vec::new();
        for address in addresses {
            if is_contract(&address)? {
                found.push(address);
            }
        }
        if found.is_empty() {
            return Err(QueryError::NoContract);
        }
        self.contracts.add(found, places)?;
        Ok(fault)
    }

    /// Adds the addresses of accounts. Returns the fault of the first invalid address.
    fn follow_accounts(
        &mut self,
        topic: Topic,
        query: &Map<String, Value>,
        places: &Arc<Semaphore>,
    ) -> Result<Option<QueryError>, QueryError> {
        let (addresses, fault) = addresses(query, &QueryError::AccountSize)?;
        if addresses.is_empty() {
            return Err(QueryError::NoAddress);
        }
        let followed = if topic == Topic::Transfers { &mut self.transfers } else { &mut self.accounts };
        followed.add(addresses, places)?;
        Ok(fault)
    }

    fn has(&self, topic: Topic) -> bool {
        self.next.contains_key(&topic)
    }

    /// Returns whether the next notification has this topic.
    fn is_due(&self, topic: Topic) -> bool {
        self.has(topic) && self.next.get(&topic).copied() == self.next_block()
    }

    /// Returns the notification of the next block for this client.
    pub(super) fn notification<'a>(&self, news: &'a BlockEvents) -> Notification<'a> {
        let mut values = Vec::new();
        if self.is_due(Topic::NewBlock) {
            values.push(TopicNews::NewBlock { value: Box::new(Cow::Borrowed(&news.block)) });
        }
        if self.is_due(Topic::EventLog) {
            let shape = |(contract, news): (&Address, &'a Emitted)| ContractEvents {
                address: (*contract).into(),
                event_logs: news.events.iter().map(Cow::Borrowed).collect(),
            };
            let value =
                news.events.iter().flat_map(|events| common(&self.contracts.addresses, events)).map(shape).collect();
            values.push(TopicNews::EventLog { value });
        }
        if self.is_due(Topic::TxnLog) {
            let shape = |(account, positions): (&Address, &'a Vec<usize>)| AccountTransactions {
                address: (*account).into(),
                log: news.at(positions).map(Cow::Borrowed).collect(),
            };
            values.push(TopicNews::TxnLog {
                value: common(&self.accounts.addresses, &news.by_account).map(shape).collect(),
            });
        }
        if self.is_due(Topic::Transfers) {
            let of_accounts = |news: &'a BlockTransfers| -> Vec<AccountTransfers<'a>> {
                let shape = |(account, positions): (&Address, &'a Vec<usize>)| AccountTransfers {
                    address: (*account).into(),
                    transfers: news.at(positions).map(Cow::Borrowed).collect(),
                };
                common(&self.transfers.addresses, &news.by_account).map(shape).collect()
            };
            values.push(TopicNews::Transfers { value: news.transfers().map(of_accounts).unwrap_or_default() });
        }
        if !self.ending.is_empty() {
            values.push(TopicNews::Unsubscribe { value: self.ending.iter().copied().collect() });
        }
        Notification { values }
    }

    /// Returns an upper bound for the size of the next notification, in bytes. Returns `None` if the notification needs
    /// the events or the transfers of the block, and these are too large to send.
    pub(super) fn notification_bytes(&self, news: &BlockEvents) -> Option<usize> {
        let mut bytes = AROUND;
        if self.is_due(Topic::NewBlock) {
            bytes = news.block_bytes().saturating_add(bytes);
        }
        if self.is_due(Topic::EventLog) {
            let matches = common(&self.contracts.addresses, news.events.as_ref()?);
            bytes = matches.fold(bytes, |bytes, (_, events)| bytes.saturating_add(events.bytes()));
        }
        if self.is_due(Topic::TxnLog) {
            let matches = common(&self.accounts.addresses, &news.by_account);
            bytes = matches.fold(bytes, |bytes, (_, of)| bytes.saturating_add(transactions_bytes(of.len())));
        }
        if self.is_due(Topic::Transfers) {
            let transfers = news.transfers().filter(|transfers| transfers.is_complete())?;
            let matches = common(&self.transfers.addresses, &transfers.by_account);
            bytes = matches.fold(bytes, |bytes, (_, of)| bytes.saturating_add(transfers_bytes(of.len())));
        }
        Some(bytes)
    }

    /// Ends the topics from which the client has unsubscribed, after their last notification.
    fn end_topics(&mut self) {
        for topic in std::mem::take(&mut self.ending) {
            self.next.remove(&topic);
            match topic {
                Topic::NewBlock | Topic::Reverts => {}
                Topic::EventLog => self.contracts = Followed::default(),
                Topic::TxnLog => self.accounts = Followed::default(),
                Topic::Transfers => self.transfers = Followed::default(),
            }
        }
    }
}

/// Returns the number of the block after a block.
fn following(block: BlockNumber) -> BlockNumber {
    block.next().unwrap_or(block)
}

/// Returns the member `fromBlock`, or `None` if it is null or absent.
fn first_block(query: &Map<String, Value>) -> Option<&Value> {
    query.get("fromBlock").filter(|value| !value.is_null())
}

/// Reads the member `fromBlock`, which can be null or absent.
fn from_block(query: &Map<String, Value>, head: BlockNumber) -> Result<Option<BlockNumber>, QueryError> {
    let Some(value) = first_block(query) else { return Ok(None) };
    let most = following(head);
    let number = value.as_str().and_then(|text| text.parse().ok()).filter(|number| *number <= most);
    let refused = || QueryError::FromBlock { most, got: beginning(&value.to_string()).to_owned() };
    number.map(Some).ok_or_else(refused)
}

fn topic(name: &Value) -> Option<Topic> {
    match name.as_str()? {
        "NewBlock" => Some(Topic::NewBlock),
        "EventLog" => Some(Topic::EventLog),
        "TxnLog" => Some(Topic::TxnLog),
        "Transfers" => Some(Topic::Transfers),
        "Reverts" => Some(Topic::Reverts),
        _ => None,
    }
}

impl Followed {
    /// Adds all addresses, or none if they exceed a limit.
    fn add(&mut self, addresses: Vec<Address>, places: &Arc<Semaphore>) -> Result<(), QueryError> {
        let new: BTreeSet<Address> = addresses.into_iter().filter(|it| !self.addresses.contains(it)).collect();
        if self.addresses.len().saturating_add(new.len()) > MOST_ADDRESSES {
            return Err(QueryError::TooMany);
        }
        let count = u32::try_from(new.len()).map_err(|_| QueryError::TooMany)?;
        let more = Arc::clone(places).try_acquire_many_owned(count).map_err(|_| QueryError::Full)?;
        match &mut self.places {
            Some(places) => places.merge(more),
            places => *places = Some(more),
        }
        self.addresses.extend(new);
        Ok(())
    }
}

/// Returns the entries of `news` for the followed addresses, in the order of the addresses. Iterates over the smaller
/// of the two collections.
fn common<'f, 'n: 'f, T>(
    followed: &'f BTreeSet<Address>,
    news: &'n BTreeMap<Address, T>,
) -> Box<dyn Iterator<Item = (&'n Address, &'n T)> + 'f> {
    if news.len() < followed.len() {
        Box::new(news.iter().filter(|(address, _)| followed.contains(*address)))
    } else {
        Box::new(followed.iter().filter_map(|address| news.get_key_value(address)))
    }
}

/// Returns the addresses of a message before the first invalid address, and the fault of the invalid address.
/// The fault is `None` if all addresses are valid.
fn addresses(
    query: &Map<String, Value>,
    wrong_size: &QueryError,
) -> Result<(Vec<Address>, Option<QueryError>), QueryError> {
    let list = query.get("addresses").and_then(Value::as_array).filter(|list| !list.is_empty());
    let mut addresses = Vec::new();
    for entry in list.ok_or(QueryError::Addresses)? {
        match address(entry, wrong_size) {
            Ok(address) => addresses.push(address),
            Err(fault) => return Ok((addresses, Some(fault))),
        }
    }
    Ok((addresses, None))
}

fn address(entry: &Value, wrong_size: &QueryError) -> Result<Address, QueryError> {
    let digits = entry.as_str().and_then(|text| text.strip_prefix("0x"));
    let digits = digits.filter(|digits| digits.len() == 2 * Address::LEN).ok_or_else(|| wrong_size.clone())?;
    digits.parse().map_err(|_| QueryError::Digit)
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use serde_json::json;
    use silica_protocol::rpc::{
        block::TransactionsByShard,
        subscription::{EventNews, NewBlock},
    };

    use super::*;
    use crate::{block_mode::BlockMode, rpc::tests::fixture};

    const CONTRACT: &str = "0x1111111111111111111111111111111111111111";
    const OTHER: &str = "0x2222222222222222222222222222222222222222";
    const STRANGER: &str = "0x00000000000000000000000000000000000000FF";

    /// An unlimited number of permits.
    static PLACES: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(Semaphore::MAX_PERMITS)));

    /// The latest block when a message arrives.
    const HEAD: BlockNumber = BlockNumber::new(7);

    fn take(topics: &mut Topics, query: &Value) -> Result<(), QueryError> {
        take_at(topics, query, HEAD)
    }

    fn take_at(topics: &mut Topics, query: &Value, head: BlockNumber) -> Result<(), QueryError> {
        let contracts = [CONTRACT, OTHER].map(|address| address.parse::<Address>().unwrap());
        topics.take(query, head, &PLACES, |address| Ok(contracts.contains(address)))
    }

    #[track_caller]
    fn refuses(query: &Value, text: &str) {
        let mut topics = Topics::default();
        assert_eq!(take(&mut topics, query).unwrap_err().to_string(), text);
        assert_eq!(topics.next_block(), None);
    }

    #[test]
    fn malformed_messages_are_rejected() {
        for query in [json!(null), json!([]), json!("NewBlock"), json!({}), json!({"query": 1})] {
            refuses(&query, "invalid query field");
        }
        refuses(&json!({"query": "newblock"}), "invalid query field");
        for topic in ["EventLog", "TxnLog"] {
            for addresses in [json!(null), json!([]), json!(CONTRACT), json!({})] {
                refuses(&json!({"query": topic, "addresses": addresses}), "invalid addresses field");
            }
            refuses(&json!({"query": topic}), "invalid addresses field");
        }
        for name in [json!(null), json!("Unsubscribe"), json!("newBlock"), json!(0), json!({"NewBlock": null})] {
            refuses(&json!({"query": "Unsubscribe", "type": name}), "invalid type field");
        }
        refuses(&json!({"query": "Unsubscribe"}), "invalid type field");
    }

    #[test]
    fn addresses_without_a_contract_are_ignored() {
        refuses(&json!({"query": "EventLog", "addresses": [STRANGER]}), "no contract found in list");
        refuses(&json!({"query": "EventLog", "addresses": [STRANGER, "0x12", CONTRACT]}), "no contract found in list");
        let mut topics = Topics::default();
        take(&mut topics, &json!({"query": "EventLog", "addresses": [STRANGER, CONTRACT]})).unwrap();
        assert_eq!(topics.contracts.addresses.len(), 1);
        take(&mut topics, &json!({"query": "EventLog", "addresses": [OTHER]})).unwrap();
        assert_eq!(topics.contracts.addresses.len(), 2);
    }

    #[test]
    fn failed_lookup_of_a_contract_adds_no_address() {
        let mut topics = Topics::default();
        let query = json!({"query": "EventLog", "addresses": [CONTRACT, OTHER]});
        let other: Address = OTHER.parse().unwrap();
        let refused =
            topics.take(
                &query,
                HEAD,
                &PLACES,
                |address| if *address == other { Err(QueryError::Reverted) } else { Ok(true) },
            );
        assert_eq!((refused, topics.next_block()), (Err(QueryError::Reverted), None));
    }

    #[test]
    fn addresses_before_an_invalid_one_are_accepted() {
        let digit = format!("0x{}", "g".repeat(40));
        for (topic, bad, text) in [
            ("EventLog", &CONTRACT[2..], "Invalid hex address"),
            ("TxnLog", &CONTRACT[2..], "invalid hex address"),
            ("EventLog", "0x11", "Invalid hex address"),
            ("EventLog", &digit, "invalid address"),
            ("TxnLog", &digit, "invalid address"),
            ("TxnLog", "zil1fwh4ltdguhde9s7nysnp33d5wye6uqpugufkz7", "invalid hex address"),
        ] {
            let mut topics = Topics::default();
            let refused = take(&mut topics, &json!({"query": topic, "addresses": [CONTRACT, bad, OTHER]}));
            assert_eq!(refused.unwrap_err().to_string(), text, "{topic} {bad}");
            assert_eq!(
                (topics.contracts.addresses.len() + topics.accounts.addresses.len(), topics.next_block().is_some()),
                (1, true),
                "{topic} {bad}"
            );
        }
        refuses(&json!({"query": "TxnLog", "addresses": ["0x11", CONTRACT]}), "no valid address found");
    }

    #[test]
    fn addresses_of_a_client_have_a_limit() {
        let mut topics = Topics::default();
        let addresses = |from: usize, to: usize| -> Vec<String> { (from..to).map(|i| format!("0x{i:040x}")).collect() };
        take(&mut topics, &json!({"query": "TxnLog", "addresses": addresses(0, MOST_ADDRESSES)})).unwrap();
        take(&mut topics, &json!({"query": "TxnLog", "addresses": addresses(5, 10)})).unwrap();
        let more = json!({"query": "TxnLog", "addresses": addresses(MOST_ADDRESSES, MOST_ADDRESSES + 1)});
        take(&mut topics, &json!({"query": "Unsubscribe", "type": "TxnLog"})).unwrap();
        assert_eq!(take(&mut topics, &more), Err(QueryError::TooMany));
        assert_eq!(topics.ending, [Topic::TxnLog].into(), "what is refused changes nothing");
        let mut topics = Topics::default();
        take(&mut topics, &json!({"query": "TxnLog", "addresses": addresses(1, MOST_ADDRESSES)})).unwrap();
        let twice = vec![CONTRACT; 20];
        take(&mut topics, &json!({"query": "TxnLog", "addresses": twice})).unwrap();
    }

    #[test]
    fn addresses_of_all_clients_have_a_limit() {
        let places = Arc::new(Semaphore::new(3));
        let follow = |topics: &mut Topics, topic: &str, addresses: &[&str]| {
            topics.take(&json!({"query": topic, "addresses": addresses}), HEAD, &places, |_| Ok(true))
        };
        let (mut one, mut other) = (Topics::default(), Topics::default());
        follow(&mut one, "TxnLog", &[CONTRACT, CONTRACT]).unwrap();
        follow(&mut one, "EventLog", &[CONTRACT]).unwrap();
        assert_eq!(follow(&mut other, "TxnLog", &[CONTRACT, OTHER]), Err(QueryError::Full));
        assert_eq!(other.next_block(), None);
        follow(&mut other, "TxnLog", &[CONTRACT]).unwrap();
        follow(&mut one, "TxnLog", &[CONTRACT]).unwrap();
        assert_eq!(follow(&mut one, "TxnLog", &[OTHER]), Err(QueryError::Full));
        // Permits become free when a topic ends, or when a client disconnects.
        one.take(&json!({"query": "Unsubscribe", "type": "EventLog"}), HEAD, &places, |_| Ok(true)).unwrap();
        one.end_topics();
        follow(&mut one, "TxnLog", &[OTHER]).unwrap();
        drop(one);
        assert_eq!(places.available_permits(), 2);
    }

    #[test]
    fn addresses_are_in_order_for_each_side_that_is_smaller() {
        let address = |i: u8| Address::new([i; Address::LEN]);
        let followed = |range: std::ops::Range<u8>| -> BTreeSet<Address> { range.map(address).collect() };
        let news = |range: std::ops::Range<u8>| -> BTreeMap<Address, u8> { range.map(|i| (address(i), i)).collect() };
        for (follows, new, both) in [(0..3, 1..100, 1..3), (0..100, 7..9, 7..9), (0..5, 5..9, 0..0)] {
            let (follows, new) = (followed(follows), news(new));
            let matches: Vec<u8> = common(&follows, &new).map(|(_, i)| *i).collect();
            assert_eq!(matches, both.collect::<Vec<u8>>());
        }
    }

    #[test]
    fn size_of_a_notification_is_known_before_it_is_written() {
        let block = silica_protocol::rpc::block::TxBlockJson::missing();
        let genesis = Arc::clone(fixture(BlockMode::Manual).context().snapshot.latest_tx_block());
        let mut news = BlockEvents::of(genesis, NewBlock { block, transactions: TransactionsByShard::default() });
        let (contract, other) = (CONTRACT.parse().unwrap(), OTHER.parse().unwrap());
        for length in [0, 10, 100_000] {
            news.add_event(contract, EventNews { name: "\n".repeat(length), params: Vec::new() }, 0);
        }
        news.add_event(other, EventNews { name: "x".repeat(100_000), params: Vec::new() }, 0);
        let mut topics = Topics::default();
        for query in ["NewBlock", "EventLog"] {
            take(&mut topics, &json!({"query": query, "addresses": [CONTRACT]})).unwrap();
            let written = serde_json::to_vec(&topics.notification(&news)).unwrap().len();
            let known = topics.notification_bytes(&news).unwrap();
            assert!((written..written + 20_000).contains(&known), "{written} {known}");
        }
        // 70 MB of events, which exceeds the limit of 32 MiB.
        for _ in 0..700 {
            news.add_event(other, EventNews { name: "x".repeat(100_000), params: Vec::new() }, 0);
        }
        assert_eq!(topics.notification_bytes(&news), None);
        take(&mut topics, &json!({"query": "Unsubscribe", "type": "EventLog"})).unwrap();
        topics.end_topics();
        assert!(topics.notification_bytes(&news).is_some(), "a client without contracts gets a notification");
    }

    fn new_block(from: &Value) -> Value {
        json!({"query": "NewBlock", "fromBlock": from})
    }

    #[test]
    fn first_block_is_a_block_of_the_chain_or_the_next_one() {
        for from in ["0", "3", "7", "8"] {
            let mut topics = Topics::default();
            take(&mut topics, &new_block(&json!(from))).unwrap();
            assert_eq!(topics.next_block().unwrap().to_string(), from);
            assert_eq!((topics.replays(), topics.detail() == Detail::Block), (from != "8", from != "8"), "{from}");
        }
        let mut topics = Topics::default();
        take(&mut topics, &new_block(&Value::Null)).unwrap();
        assert_eq!((topics.next_block(), topics.replays()), (Some(BlockNumber::new(8)), false));
        for from in [
            json!("9"),
            json!(""),
            json!("-1"),
            json!("+1"),
            json!("1.0"),
            json!("0x1"),
            json!(" 1"),
            json!("99999999999999999999"),
            json!(1),
            json!(true),
            json!([]),
            json!({"a": "1"}),
        ] {
            let text = format!("fromBlock: expected the decimal digits of a block number up to 8 as text, got {from}");
            refuses(&new_block(&from), &text);
            refuses(&json!({"query": "TxnLog", "addresses": [CONTRACT], "fromBlock": from}), &text);
        }
        let long =
            take(&mut Topics::default(), &new_block(&json!("\u{1f980}".repeat(10_000)))).unwrap_err().to_string();
        assert!(long.len() < 200, "{long}");
    }

    /// Returns the topics of the next `count` notifications with their blocks.
    fn sent(topics: &mut Topics, count: usize) -> Vec<(u64, Vec<Topic>)> {
        let mut sent = Vec::new();
        for _ in 0..count {
            let due = [Topic::NewBlock, Topic::EventLog, Topic::TxnLog];
            sent.push((topics.next_block().unwrap().get(), due.into_iter().filter(|it| topics.is_due(*it)).collect()));
            topics.advance();
        }
        sent
    }

    #[test]
    fn replay_of_a_topic_does_not_repeat_other_topics() {
        use Topic::{EventLog, NewBlock, TxnLog};
        let mut topics = Topics::default();
        take(&mut topics, &json!({"query": "TxnLog", "addresses": [CONTRACT]})).unwrap();
        take(&mut topics, &new_block(&json!("5"))).unwrap();
        assert_eq!(topics.detail(), Detail::Block);
        let expected = [(5, vec![NewBlock]), (6, vec![NewBlock]), (7, vec![NewBlock]), (8, vec![NewBlock, TxnLog])];
        assert_eq!(sent(&mut topics, 4), expected);
        // A topic that starts during a replay starts after the latest block, or at the block that its message names.
        take(&mut topics, &new_block(&json!("6"))).unwrap();
        take_at(&mut topics, &json!({"query": "EventLog", "addresses": [CONTRACT]}), BlockNumber::new(9)).unwrap();
        let expected = [(6, vec![NewBlock]), (7, vec![NewBlock]), (8, vec![NewBlock]), (9, vec![NewBlock, TxnLog])];
        assert_eq!(sent(&mut topics, 4), expected);
        assert_eq!(sent(&mut topics, 1), [(10, vec![NewBlock, EventLog, TxnLog])]);
        // A second message without a number does not move the topic.
        take_at(&mut topics, &json!({"query": "NewBlock"}), BlockNumber::new(20)).unwrap();
        assert_eq!(topics.next_block(), Some(BlockNumber::new(11)));
        let query = json!({"query": "EventLog", "addresses": [OTHER], "fromBlock": "9"});
        take_at(&mut topics, &query, BlockNumber::new(20)).unwrap();
        assert!(topics.replays() && topics.detail() == Detail::Events);
        assert_eq!(
            sent(&mut topics, 3),
            [(9, vec![EventLog]), (10, vec![EventLog]), (11, vec![NewBlock, EventLog, TxnLog])]
        );
        // The end of a replayed topic does not end the others.
        take_at(&mut topics, &new_block(&json!("0")), BlockNumber::new(20)).unwrap();
        take(&mut topics, &json!({"query": "Unsubscribe", "type": "NewBlock"})).unwrap();
        assert_eq!(sent(&mut topics, 2), [(0, vec![NewBlock]), (12, vec![EventLog, TxnLog])]);
    }

    #[test]
    fn revert_moves_each_topic_back_to_the_first_replaced_block() {
        let mut topics = Topics::default();
        take(&mut topics, &json!({"query": "TxnLog", "addresses": [CONTRACT]})).unwrap();
        take(&mut topics, &new_block(&json!("2"))).unwrap();
        topics.revert_to(BlockNumber::new(4));
        let next = |topics: &Topics, topic| topics.next.get(&topic).unwrap().get();
        assert_eq!((next(&topics, Topic::NewBlock), next(&topics, Topic::TxnLog)), (2, 5));
        assert_eq!(sent(&mut topics, 3).len(), 3);
        assert_eq!((topics.next_block(), topics.replays()), (Some(BlockNumber::new(5)), false));
        topics.revert_to(BlockNumber::new(0));
        assert_eq!(sent(&mut topics, 1), [(1, vec![Topic::NewBlock, Topic::TxnLog])]);
    }

    #[test]
    fn client_is_notified_of_the_lowest_block_of_reverts() {
        let mut topics = Topics::default();
        topics.revert_to(BlockNumber::new(6));
        assert_eq!(topics.take_revert(), None, "the client is not subscribed");
        take(&mut topics, &json!({"query": "Reverts"})).unwrap();
        assert_eq!(topics.take_revert(), None, "the revert was before the subscription");
        assert_eq!(topics.next_block(), None, "no block has a notification");
        for lowest in [5, 3, 4] {
            topics.revert_to(BlockNumber::new(lowest));
        }
        let notification = serde_json::to_value(topics.take_revert()).unwrap();
        assert_eq!(notification["values"], json!([{"query": "Reverts", "value": {"block": "3"}}]));
        assert_eq!(topics.take_revert(), None);
        topics.revert_to(BlockNumber::new(2));
        take(&mut topics, &json!({"query": "Unsubscribe", "type": "Reverts"})).unwrap();
        topics.revert_to(BlockNumber::new(1));
        assert_eq!(topics.take_revert(), None, "the client has unsubscribed");
        refuses(
            &json!({"query": "Reverts", "fromBlock": "3"}),
            "fromBlock: expected no value for the topic Reverts, got \"3\"",
        );
        take(&mut topics, &json!({"query": "Reverts", "fromBlock": null})).unwrap();
    }

    #[test]
    fn topic_ends_after_its_last_notification() {
        let mut topics = Topics::default();
        take(&mut topics, &json!({"query": "NewBlock"})).unwrap();
        take(&mut topics, &json!({"query": "TxnLog", "addresses": [CONTRACT]})).unwrap();
        for name in ["EventLog", "NewBlock"] {
            take(&mut topics, &json!({"query": "Unsubscribe", "type": name})).unwrap();
        }
        assert_eq!(topics.ending, [Topic::NewBlock].into());
        topics.end_topics();
        assert!(!topics.has(Topic::NewBlock) && topics.has(Topic::TxnLog));
        // A client that subscribes again before the next block keeps its addresses.
        take(&mut topics, &json!({"query": "Unsubscribe", "type": "TxnLog"})).unwrap();
        take(&mut topics, &json!({"query": "TxnLog", "addresses": [OTHER]})).unwrap();
        topics.end_topics();
        assert_eq!(topics.accounts.addresses.len(), 2);
        take(&mut topics, &json!({"query": "Unsubscribe", "type": "TxnLog"})).unwrap();
        topics.end_topics();
        assert_eq!(topics.next_block(), None);
    }
}
