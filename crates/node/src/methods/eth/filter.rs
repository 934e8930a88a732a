//! The filter of a request for logs: addresses, topics and blocks.

use std::{borrow::Cow, collections::BTreeSet};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use silica_chain::BlockSpan;
use silica_protocol::{BlockHash, BlockNumber};

use super::params::{BlockTag, EthAddress, EthBlockHash, EthFault, HexBytes, MOST_BLOCKS};
use crate::{
    log_filter::{LogFilter, LogRange, MOST_VALUES, Topic},
    rpc::params::{FromParam, Text, beginning},
};

/// Maximum number of positions of `topics`, as in Ethereum.
const MOST_POSITIONS: usize = 4;

/// The parameter with a filter for logs. Members that are null count as absent. The parser ignores unknown members.
#[derive(Clone, Debug)]
pub(crate) struct LogQueryParam(Result<LogQuery, String>);

/// The logs that a client requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LogQuery {
    /// The contracts and topics.
    pub(super) filter: LogFilter,
    /// The blocks.
    pub(super) blocks: QueryBlocks,
}

/// The blocks whose logs a client requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueryBlocks {
    /// The block with this hash.
    Hash(BlockHash),
    /// The blocks of a range.
    Range(LogRange),
}

impl Default for QueryBlocks {
    fn default() -> Self {
        Self::Range(LogRange::default())
    }
}

impl LogQueryParam {
    /// Returns the filter. The error names the position of the parameter, and the member.
    pub(super) fn get(self, position: usize) -> Result<LogQuery, EthFault> {
        self.0.map_err(|fault| EthFault::Member { position, fault })
    }
}

/// The filter of a subscription without this parameter: all events.
impl Default for LogQueryParam {
    fn default() -> Self {
        Self(Ok(LogQuery::default()))
    }
}

impl<'de> Deserialize<'de> for LogQueryParam {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(read(&Map::deserialize(deserializer)?)))
    }
}

impl JsonSchema for LogQueryParam {
    fn schema_name() -> Cow<'static, str> {
        "EthLogFilter".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let address = generator.subschema_for::<Text<EthAddress>>();
        let hash = generator.subschema_for::<Text<EthBlockHash>>();
        let tag = generator.subschema_for::<Text<BlockTag>>();
        let topic = json_schema!({ "type": "string", "pattern": "^0x[0-9a-fA-F]{64}$" });
        json_schema!({
            "type": "object",
            "description": "Filter for logs. All members are optional.",
            "properties": {
                "address": {
                    "description": "The contracts whose events match: an address, or an array of at most 1,000 addresses. All contracts if absent or empty.",
                    "anyOf": [{ "type": "null" }, address, { "type": "array", "items": address, "maxItems": MOST_VALUES }],
                },
                "blockHash": {
                    "description": "The only block. It excludes fromBlock and toBlock.",
                    "anyOf": [{ "type": "null" }, hash],
                },
                "fromBlock": {
                    "description": "The first block; the latest block if absent.",
                    "anyOf": [{ "type": "null" }, tag],
                },
                "toBlock": {
                    "description": "The last block; the latest block if absent.",
                    "anyOf": [{ "type": "null" }, tag],
                },
                "topics": {
                    "description": "For each position a topic, an array of at most 1,000 topics of which one matches, or null for any topic. An event has one topic. So a filter with a topic at a later position matches no event.",
                    "type": ["array", "null"],
                    "maxItems": MOST_POSITIONS,
                    "items": {
                        "anyOf": [
                            { "type": "null" },
                            topic,
                            { "type": "array", "items": { "anyOf": [{ "type": "null" }, topic] }, "maxItems": MOST_VALUES },
                        ],
                    },
                },
            },
        })
    }
}

/// Reads the members of a filter. The error has the first invalid member.
fn read(object: &Map<String, Value>) -> Result<LogQuery, String> {
    let member = |name: &str| object.get(name).filter(|value| !value.is_null());
    let mut filter = LogFilter::default();
    if let Some(address) = member("address") {
        filter.contracts = addresses(address)?;
    }
    if let Some(topics) = member("topics") {
        (filter.topics, filter.needs_more) = all_topics(topics)?;
    }
    let block = |name: &str| -> Result<Option<BlockNumber>, String> {
        let tag = member(name).map(|value| text::<BlockTag>(name, value)).transpose()?;
        Ok(match tag {
            Some(BlockTag::Number(number)) => Some(number),
            Some(BlockTag::Earliest) => Some(BlockNumber::new(0)),
            Some(BlockTag::Latest | BlockTag::Pending) | None => None,
        })
    };
    let range = LogRange { first: block("fromBlock")?, last: block("toBlock")? };
    if let LogRange { first: Some(first), last: Some(last) } = range
        && last < first
    {
        let (first, last) = (first.get(), last.get());
        return Err(format!("toBlock: expected block {first:#x} or later, as fromBlock, got {last:#x}"));
    }
    let blocks = match member("blockHash") {
        Some(hash) => {
            let EthBlockHash(hash) = text("blockHash", hash)?;
            if let Some(name) = ["fromBlock", "toBlock"].into_iter().find(|name| member(name).is_some()) {
                return Err(format!("expected either blockHash or {name}, got both"));
            }
            QueryBlocks::Hash(hash)
        }
        None => QueryBlocks::Range(range),
    };
    Ok(LogQuery { filter, blocks })
}

/// Reads a member that is a text.
fn text<T: FromParam>(name: &str, value: &Value) -> Result<T, String> {
    let read = value.as_str().and_then(|text| T::from_param(text).ok());
    read.ok_or_else(|| {
        let got = value.to_string();
        format!("{name}: expected {}, got {}", T::DESCRIPTION, beginning(&got))
    })
}

fn addresses(value: &Value) -> Result<BTreeSet<silica_protocol::Address>, String> {
    let read = |value| text("address", value).map(|EthAddress(address)| address);
    match value.as_array() {
        Some(list) => {
            check_count("address", list)?;
            list.iter().map(read).collect()
        }
        None => Ok(BTreeSet::from([read(value)?])),
    }
}

/// Reads the topics of the first position. An empty set matches any topic. Also returns whether a later position has a
/// topic.
fn all_topics(value: &Value) -> Result<(BTreeSet<Topic>, bool), String> {
    let positions = value.as_array().filter(|positions| positions.len() <= MOST_POSITIONS).ok_or_else(|| {
        let got =
            value.as_array().map_or_else(|| value.to_string(), |positions| format!("{} elements", positions.len()));
        format!("topics: expected an array of at most {MOST_POSITIONS} elements, got {}", beginning(&got))
    })?;
    let mut all = positions.iter().map(topics);
    let first = all.next().transpose()?.unwrap_or_default();
    let mut needs_more = false;
    for later in all {
        needs_more |= !later?.is_empty();
    }
    Ok((first, needs_more))
}

/// Reads the topics of one position. An empty result matches any topic.
fn topics(value: &Value) -> Result<BTreeSet<Topic>, String> {
    match value {
        Value::Null => Ok(BTreeSet::new()),
        Value::Array(list) => {
            check_count("topics", list)?;
            let read = list.iter().filter(|value| !value.is_null()).map(topic).collect::<Result<_, _>>()?;
            // As in other clients, null in an array matches any topic.
            Ok(if list.iter().any(Value::is_null) { BTreeSet::new() } else { read })
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => Ok(BTreeSet::from([topic(value)?])),
    }
}

fn topic(value: &Value) -> Result<Topic, String> {
    let bytes = value.as_str().and_then(|text| HexBytes::from_param(text).ok());
    bytes.and_then(|HexBytes(bytes)| bytes.try_into().ok()).ok_or_else(|| {
        let got = value.to_string();
        format!("topics: expected 0x and 64 hexadecimal digits, got {}", beginning(&got))
    })
}

fn check_count(name: &str, list: &[Value]) -> Result<(), String> {
    let got = list.len();
    if got > MOST_VALUES {
        return Err(format!("{name}: expected at most {MOST_VALUES} elements, got {got}"));
    }
    Ok(())
}

/// Returns the blocks of a range that exist, up to block `head`.
///
/// # Errors
///
/// [`EthFault::TooManyBlocks`]: the blocks are more than [`MOST_BLOCKS`].
pub(super) fn span(range: LogRange, head: BlockNumber) -> Result<BlockSpan, EthFault> {
    let span = BlockSpan { first: range.first.unwrap_or(head), last: range.last.unwrap_or(head).min(head) };
    let count = span.last.get().saturating_add(1).saturating_sub(span.first.get());
    if count > MOST_BLOCKS { Err(EthFault::TooManyBlocks { got: count }) } else { Ok(span) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const CONTRACT: &str = "0x381f4008505e940ad7681ec3468a719060caf796";

    fn get(json: Value) -> Result<LogQuery, String> {
        serde_json::from_value::<LogQueryParam>(json).unwrap().0
    }

    fn word(byte: u8) -> String {
        format!("0x{}", hex::encode([byte; 32]))
    }

    #[test]
    fn members_select_contracts_topics_and_blocks() {
        for json in [
            json!({}),
            json!({"address": null, "topics": null, "fromBlock": null, "other": 7}),
            json!({"address": [], "topics": []}),
        ] {
            assert_eq!(get(json), Ok(LogQuery::default()));
        }
        let contract = CONTRACT[2..].parse().unwrap();
        for address in [json!(CONTRACT), json!([CONTRACT]), json!([CONTRACT, CONTRACT])] {
            assert_eq!(get(json!({"address": address})).unwrap().filter.contracts, BTreeSet::from([contract]));
        }
        let topics = |topics: Value| {
            let LogFilter { topics, needs_more, .. } = get(json!({"topics": topics})).unwrap().filter;
            (topics.iter().map(|topic| topic[0]).collect::<Vec<_>>(), needs_more)
        };
        assert_eq!(topics(json!([word(1)])), (vec![1], false));
        assert_eq!(topics(json!([[word(2), word(1)], null, [], [null, word(3)]])), (vec![1, 2], false));
        assert_eq!(topics(json!([null, word(1)])), (vec![], true));
        assert_eq!(topics(json!([[null, word(1)]])), (vec![], false));
        assert_eq!(topics(json!([word(1), null, null, [word(1)]])), (vec![1], true));
        let hash = BlockHash::new([7; 32]);
        assert_eq!(get(json!({"blockHash": word(7)})).unwrap().blocks, QueryBlocks::Hash(hash));
        let range = |json| match get(json).unwrap().blocks {
            QueryBlocks::Range(LogRange { first, last }) => (first.map(BlockNumber::get), last.map(BlockNumber::get)),
            QueryBlocks::Hash(_) => panic!("it is a range"),
        };
        assert_eq!(range(json!({"fromBlock": "earliest", "toBlock": "0x10"})), (Some(0), Some(16)));
        assert_eq!(range(json!({"fromBlock": "pending", "toBlock": "finalized"})), (None, None));
    }

    #[test]
    fn errors_name_the_member_and_the_value() {
        let tag = BlockTag::DESCRIPTION;
        for (json, error) in [
            (json!({"address": "0x1"}), "address: expected 0x and 40 hexadecimal digits, got \"0x1\"".to_owned()),
            (json!({"address": [7]}), "address: expected 0x and 40 hexadecimal digits, got 7".to_owned()),
            (json!({"address": {}}), "address: expected 0x and 40 hexadecimal digits, got {}".to_owned()),
            (json!({"address": vec![CONTRACT; 1001]}), "address: expected at most 1000 elements, got 1001".to_owned()),
            (json!({"topics": "0x"}), "topics: expected an array of at most 4 elements, got \"0x\"".to_owned()),
            (
                json!({"topics": [null, null, null, null, null]}),
                "topics: expected an array of at most 4 elements, got 5 elements".to_owned(),
            ),
            (json!({"topics": ["0x00"]}), "topics: expected 0x and 64 hexadecimal digits, got \"0x00\"".to_owned()),
            (json!({"topics": [null, [[]]]}), "topics: expected 0x and 64 hexadecimal digits, got []".to_owned()),
            (json!({"topics": [vec![word(1); 1001]]}), "topics: expected at most 1000 elements, got 1001".to_owned()),
            (json!({"fromBlock": 5}), format!("fromBlock: expected {tag}, got 5")),
            (json!({"toBlock": "0x05"}), format!("toBlock: expected {tag}, got \"0x05\"")),
            (
                json!({"fromBlock": "0x6", "toBlock": "0x5"}),
                "toBlock: expected block 0x6 or later, as fromBlock, got 0x5".to_owned(),
            ),
            (json!({"blockHash": "0x"}), "blockHash: expected 0x and 64 hexadecimal digits, got \"0x\"".to_owned()),
            (
                json!({"blockHash": word(1), "toBlock": "latest"}),
                "expected either blockHash or toBlock, got both".to_owned(),
            ),
        ] {
            assert_eq!(get(json), Err(error));
        }
        let long = get(json!({"address": "é".repeat(1000)})).unwrap_err();
        assert!(long.len() < 160, "{long}");
    }

    #[test]
    fn span_ends_at_the_head_and_has_a_limit() {
        let head = BlockNumber::new(200_000);
        let span = |first: Option<u64>, last: Option<u64>| {
            let range = LogRange { first: first.map(BlockNumber::new), last: last.map(BlockNumber::new) };
            let BlockSpan { first, last } = span(range, head).map_err(|fault| fault.to_string())?;
            Ok((first.get(), last.get()))
        };
        assert_eq!(span(None, None), Ok((200_000, 200_000)));
        assert_eq!(span(Some(150_000), Some(u64::MAX)), Ok((150_000, 200_000)));
        assert_eq!(span(Some(200_001), None), Ok((200_001, 200_000)), "it has no blocks");
        assert_eq!(span(Some(100_001), None), Ok((100_001, 200_000)));
        let many = "expected at most 100000 blocks, got 100001; request a smaller range of blocks";
        assert_eq!(span(Some(100_000), None), Err(many.to_owned()));
    }
}
