//! The subscriptions of one client (Reference: subscriptions#client-messages, subscriptions#notifications).

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::{Map, Value};
use silica_protocol::{
    Address,
    rpc::subscription::{AccountTransactions, ContractEvents, Notification, Topic, TopicNews},
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::block_events::{BlockEvents, Events, transactions_bytes};

/// Maximum number of addresses that one client follows for a topic.
const MOST_ADDRESSES: usize = 10_000;

/// Maximum number of addresses that all clients together follow, over both topics with addresses.
pub(super) const MOST_OF_ALL: usize = 1_000_000;

/// Upper bound of the size of a notification without its contents, in bytes.
const AROUND: usize = 512;

/// The subscriptions of one client.
#[derive(Debug, Default)]
pub(super) struct Topics {
    blocks: bool,
    contracts: Followed,
    accounts: Followed,
    /// Topics that end after the next notification, because the client has unsubscribed.
    ending: BTreeSet<Topic>,
}

/// The addresses that a client follows for a topic, and one permit of the common limit for each address.
#[derive(Debug, Default)]
struct Followed {
    addresses: BTreeSet<Address>,
    places: Option<OwnedSemaphorePermit>,
}

/// Reason why a message is rejected. An error that the reference has too has the text of the reference
/// (Reference: subscriptions#replies).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
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
    /// Returns whether the client gets notifications of the next block.
    pub(super) fn any(&self) -> bool {
        self.blocks || self.has(Topic::EventLog) || self.has(Topic::TxnLog) || !self.ending.is_empty()
    }

    /// Applies a message that subscribes or unsubscribes. If an address is invalid, adds the addresses before this
    /// address and returns the error of this address. For events, adds only the addresses of contracts. Each new address
    /// takes one permit of `places`.
    ///
    /// # Errors
    ///
    /// The error for the client.
    pub(super) fn take(
        &mut self,
        query: &Value,
        places: &Arc<Semaphore>,
        is_contract: impl Fn(&Address) -> Result<bool, QueryError>,
    ) -> Result<(), QueryError> {
        let query = query.as_object().ok_or(QueryError::Query)?;
        match query.get("query").and_then(Value::as_str) {
            Some("NewBlock") => {
                self.blocks = true;
                self.ending.remove(&Topic::NewBlock);
                Ok(())
            }
            Some("EventLog") => self.follow_contracts(query, places, is_contract),
            Some("TxnLog") => self.follow_accounts(query, places),
            Some("Unsubscribe") => {
                let topic = query.get("type").and_then(topic).ok_or(QueryError::Type)?;
                if self.has(topic) {
                    self.ending.insert(topic);
                }
                Ok(())
            }
            Some(_) | None => Err(QueryError::Query),
        }
    }

    fn follow_contracts(
        &mut self,
        query: &Map<String, Value>,
        places: &Arc<Semaphore>,
        is_contract: impl Fn(&Address) -> Result<bool, QueryError>,
    ) -> Result<(), QueryError> {
        let (addresses, fault) = addresses(query, QueryError::ContractSize)?;
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
        self.ending.remove(&Topic::EventLog);
        fault.map_or(Ok(()), Err)
    }

    fn follow_accounts(&mut self, query: &Map<String, Value>, places: &Arc<Semaphore>) -> Result<(), QueryError> {
        let (addresses, fault) = addresses(query, QueryError::AccountSize)?;
        if addresses.is_empty() {
            return Err(QueryError::NoAddress);
        }
        self.accounts.add(addresses, places)?;
        self.ending.remove(&Topic::TxnLog);
        fault.map_or(Ok(()), Err)
    }

    fn has(&self, topic: Topic) -> bool {
        match topic {
            Topic::NewBlock => self.blocks,
            Topic::EventLog => !self.contracts.addresses.is_empty(),
            Topic::TxnLog => !self.accounts.addresses.is_empty(),
        }
    }

    /// Returns the notification of a block for this client.
    pub(super) fn notification<'a>(&self, news: &'a BlockEvents) -> Notification<'a> {
        let mut values = Vec::new();
        if self.has(Topic::NewBlock) {
            values.push(TopicNews::NewBlock { value: Box::new(Cow::Borrowed(&news.block)) });
        }
        if self.has(Topic::EventLog) {
            let shape = |(contract, news): (&Address, &'a Events)| ContractEvents {
                address: (*contract).into(),
                event_logs: news.events.iter().map(Cow::Borrowed).collect(),
            };
            let value =
                news.events.iter().flat_map(|events| common(&self.contracts.addresses, events)).map(shape).collect();
            values.push(TopicNews::EventLog { value });
        }
        if self.has(Topic::TxnLog) {
            let shape = |(account, positions): (&Address, &'a Vec<usize>)| AccountTransactions {
                address: (*account).into(),
                log: news.at(positions).map(Cow::Borrowed).collect(),
            };
            values.push(TopicNews::TxnLog {
                value: common(&self.accounts.addresses, &news.by_account).map(shape).collect(),
            });
        }
        if !self.ending.is_empty() {
            values.push(TopicNews::Unsubscribe { value: self.ending.iter().copied().collect() });
        }
        Notification { values }
    }

    /// Returns an upper bound of the size of the notification of a block, in bytes. Returns `None` if the client
    /// follows events, and the events of the block are too large to send.
    pub(super) fn notification_bytes(&self, news: &BlockEvents) -> Option<usize> {
        let mut bytes = AROUND;
        if self.has(Topic::NewBlock) {
            bytes = news.block_bytes().saturating_add(bytes);
        }
        if self.has(Topic::EventLog) {
            let matches = common(&self.contracts.addresses, news.events.as_ref()?);
            bytes = matches.fold(bytes, |bytes, (_, events)| bytes.saturating_add(events.bytes()));
        }
        let matches = common(&self.accounts.addresses, &news.by_account);
        Some(matches.fold(bytes, |bytes, (_, of)| bytes.saturating_add(transactions_bytes(of.len()))))
    }

    /// Ends the topics from which the client has unsubscribed, after their last notification.
    pub(super) fn end_topics(&mut self) {
        for topic in std::mem::take(&mut self.ending) {
            match topic {
                Topic::NewBlock => self.blocks = false,
                Topic::EventLog => self.contracts = Followed::default(),
                Topic::TxnLog => self.accounts = Followed::default(),
            }
        }
    }
}

fn topic(name: &Value) -> Option<Topic> {
    match name.as_str()? {
        "NewBlock" => Some(Topic::NewBlock),
        "EventLog" => Some(Topic::EventLog),
        "TxnLog" => Some(Topic::TxnLog),
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
    wrong_size: QueryError,
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

fn address(entry: &Value, wrong_size: QueryError) -> Result<Address, QueryError> {
    let digits = entry.as_str().and_then(|text| text.strip_prefix("0x"));
    let digits = digits.filter(|digits| digits.len() == 2 * Address::LEN).ok_or(wrong_size)?;
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

    const CONTRACT: &str = "0x1111111111111111111111111111111111111111";
    const OTHER: &str = "0x2222222222222222222222222222222222222222";
    const STRANGER: &str = "0x00000000000000000000000000000000000000FF";

    /// An unlimited number of permits.
    static PLACES: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(Semaphore::MAX_PERMITS)));

    fn take(topics: &mut Topics, query: &Value) -> Result<(), QueryError> {
        let contracts = [CONTRACT, OTHER].map(|address| address.parse::<Address>().unwrap());
        topics.take(query, &PLACES, |address| Ok(contracts.contains(address)))
    }

    #[track_caller]
    fn refuses(query: &Value, text: &str) {
        let mut topics = Topics::default();
        assert_eq!(take(&mut topics, query).unwrap_err().to_string(), text);
        assert!(!topics.any());
    }

    #[test]
    fn messages_that_are_none_are_refused() {
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
    fn contracts_that_are_none_are_passed_over() {
        refuses(&json!({"query": "EventLog", "addresses": [STRANGER]}), "no contract found in list");
        refuses(&json!({"query": "EventLog", "addresses": [STRANGER, "0x12", CONTRACT]}), "no contract found in list");
        let mut topics = Topics::default();
        take(&mut topics, &json!({"query": "EventLog", "addresses": [STRANGER, CONTRACT]})).unwrap();
        assert_eq!(topics.contracts.addresses.len(), 1);
        take(&mut topics, &json!({"query": "EventLog", "addresses": [OTHER]})).unwrap();
        assert_eq!(topics.contracts.addresses.len(), 2);
    }

    #[test]
    fn no_contract_is_lost_where_one_cannot_be_looked_for() {
        let mut topics = Topics::default();
        let query = json!({"query": "EventLog", "addresses": [CONTRACT, OTHER]});
        let other: Address = OTHER.parse().unwrap();
        let refused = topics
            .take(&query, &PLACES, |address| if *address == other { Err(QueryError::Reverted) } else { Ok(true) });
        assert_eq!((refused, topics.any()), (Err(QueryError::Reverted), false));
    }

    #[test]
    fn what_comes_before_a_bad_address_is_taken() {
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
                (topics.contracts.addresses.len() + topics.accounts.addresses.len(), topics.any()),
                (1, true),
                "{topic} {bad}"
            );
        }
        refuses(&json!({"query": "TxnLog", "addresses": ["0x11", CONTRACT]}), "no valid address found");
    }

    #[test]
    fn client_follows_only_so_many_addresses() {
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
    fn all_clients_together_follow_only_so_many_addresses() {
        let places = Arc::new(Semaphore::new(3));
        let follow = |topics: &mut Topics, topic: &str, addresses: &[&str]| {
            topics.take(&json!({"query": topic, "addresses": addresses}), &places, |_| Ok(true))
        };
        let (mut one, mut other) = (Topics::default(), Topics::default());
        follow(&mut one, "TxnLog", &[CONTRACT, CONTRACT]).unwrap();
        follow(&mut one, "EventLog", &[CONTRACT]).unwrap();
        assert_eq!(follow(&mut other, "TxnLog", &[CONTRACT, OTHER]), Err(QueryError::Full));
        assert!(!other.any());
        follow(&mut other, "TxnLog", &[CONTRACT]).unwrap();
        follow(&mut one, "TxnLog", &[CONTRACT]).unwrap();
        assert_eq!(follow(&mut one, "TxnLog", &[OTHER]), Err(QueryError::Full));
        // Permits become free when a topic ends, or when a client disconnects.
        one.take(&json!({"query": "Unsubscribe", "type": "EventLog"}), &places, |_| Ok(true)).unwrap();
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
        let mut news = BlockEvents::of(NewBlock { block, transactions: TransactionsByShard::default() });
        let (contract, other) = (CONTRACT.parse().unwrap(), OTHER.parse().unwrap());
        for length in [0, 10, 100_000] {
            news.add_event(contract, EventNews { name: "\n".repeat(length), params: Vec::new() });
        }
        news.add_event(other, EventNews { name: "x".repeat(100_000), params: Vec::new() });
        let mut topics = Topics::default();
        for query in ["NewBlock", "EventLog"] {
            take(&mut topics, &json!({"query": query, "addresses": [CONTRACT]})).unwrap();
            let written = serde_json::to_vec(&topics.notification(&news)).unwrap().len();
            let known = topics.notification_bytes(&news).unwrap();
            assert!((written..written + 20_000).contains(&known), "{written} {known}");
        }
        // 70 MB of events, which exceeds the limit of 32 MiB.
        for _ in 0..700 {
            news.add_event(other, EventNews { name: "x".repeat(100_000), params: Vec::new() });
        }
        assert_eq!(topics.notification_bytes(&news), None);
        take(&mut topics, &json!({"query": "Unsubscribe", "type": "EventLog"})).unwrap();
        topics.end_topics();
        assert!(topics.notification_bytes(&news).is_some(), "a client without contracts gets a notification");
    }

    #[test]
    fn topic_ends_when_its_last_news_are_sent() {
        let mut topics = Topics::default();
        take(&mut topics, &json!({"query": "NewBlock"})).unwrap();
        take(&mut topics, &json!({"query": "TxnLog", "addresses": [CONTRACT]})).unwrap();
        for name in ["EventLog", "NewBlock"] {
            take(&mut topics, &json!({"query": "Unsubscribe", "type": name})).unwrap();
        }
        assert_eq!(topics.ending, [Topic::NewBlock].into());
        topics.end_topics();
        assert!(!topics.blocks && topics.any());
        // A client that subscribes again before the next block keeps its addresses.
        take(&mut topics, &json!({"query": "Unsubscribe", "type": "TxnLog"})).unwrap();
        take(&mut topics, &json!({"query": "TxnLog", "addresses": [OTHER]})).unwrap();
        topics.end_topics();
        assert_eq!(topics.accounts.addresses.len(), 2);
        take(&mut topics, &json!({"query": "Unsubscribe", "type": "TxnLog"})).unwrap();
        topics.end_topics();
        assert!(!topics.any());
    }
}
