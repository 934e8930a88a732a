//! Events of contracts as logs of Ethereum, in the encoding of the successor.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use sha3::{Digest, Keccak256};
use silica_chain::ListedEvent;
use silica_protocol::{
    Address, BlockHash, BlockNumber, ContractParam, EventLog, TxHash,
    rpc::{contract::ContractParamJson, text::PrefixedHex},
};

use super::values::{Bytes, Quantity};
use crate::log_filter::{Topic, topic_of};

/// Size of a word of the Solidity ABI, in bytes.
const WORD: usize = 32;

/// An upper bound of the size of a log as JSON without its data, in bytes.
const AROUND: usize = 1024;

/// An event of a contract, in the form of a log of Ethereum.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "EthLog")]
pub(crate) struct Log {
    /// Address of the contract.
    address: PrefixedHex<Address>,
    /// Hash of the block of the transaction.
    block_hash: PrefixedHex<BlockHash>,
    /// Number of the block of the transaction.
    block_number: Quantity,
    /// A string in the Solidity ABI: a JSON object with `address`, `_eventname` and `params`.
    data: Bytes,
    /// Number of the event among all events of the block, from 0.
    #[serde(rename = "logIndex")]
    number: Quantity,
    /// Always false: the node returns the logs of blocks of the chain.
    removed: bool,
    /// One topic: Keccak-256 of the text `NAME(string)` with the name of the event.
    topics: [Bytes; 1],
    /// Hash of the transaction.
    transaction_hash: PrefixedHex<TxHash>,
    /// Position of the transaction in the block, from 0.
    transaction_index: Quantity,
}

/// The place of a log in the chain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogPlace {
    /// Number and hash of the block.
    pub(crate) block: (BlockNumber, BlockHash),
    /// Hash of the transaction, and its position in the block.
    pub(crate) transaction: (TxHash, u32),
    /// Number of the event in the block.
    pub(crate) number: u32,
}

/// A parameter of an event.
#[derive(Clone, Copy, Debug, Serialize)]
struct Param<'a> {
    vname: &'a str,
    value: &'a Value,
    #[serde(rename = "type")]
    type_name: &'a str,
}

impl<'a> From<&'a ContractParam> for Param<'a> {
    fn from(ContractParam { name, type_name, value }: &'a ContractParam) -> Self {
        Self { vname: name, value, type_name }
    }
}

impl<'a> From<&'a ContractParamJson> for Param<'a> {
    fn from(ContractParamJson { name, type_name, value }: &'a ContractParamJson) -> Self {
        Self { vname: name, value, type_name }
    }
}

/// The JSON object in the data of a log.
#[derive(Debug, Serialize)]
struct EventText<'a> {
    address: PrefixedHex<Address>,
    #[serde(rename = "_eventname")]
    name: &'a str,
    params: Vec<Param<'a>>,
}

impl Log {
    /// Returns the log of an event with the parameters of a notification.
    pub(crate) fn of_news(place: &LogPlace, contract: Address, name: &str, params: &[ContractParamJson]) -> Self {
        Self::new(place, contract, (name, topic_of(name)), params.iter().map(Into::into).collect())
    }

    fn new(place: &LogPlace, contract: Address, (name, topic): (&str, Topic), params: Vec<Param<'_>>) -> Self {
        let text = EventText { address: contract.into(), name, params };
        // These types always have a JSON form.
        let text = serde_json::to_string(&text).unwrap_or_default();
        let LogPlace { block: (block_number, block_hash), transaction: (transaction, position), number } = *place;
        Self {
            address: contract.into(),
            block_hash: block_hash.into(),
            block_number: block_number.get().into(),
            data: abi_string(&text).into(),
            number: u64::from(number).into(),
            removed: false,
            topics: [topic.to_vec().into()],
            transaction_hash: transaction.into(),
            transaction_index: u64::from(position).into(),
        }
    }

    /// Sets the bits of the log in a Bloom filter of Ethereum: three bits for the contract, and three for the topic.
    pub(super) fn add_to_bloom(&self, bloom: &mut [u8]) {
        let [topic] = &self.topics;
        for bytes in [self.address.0.as_bytes().as_slice(), topic.as_slice()] {
            for pair in Keccak256::digest(bytes).chunks_exact(2).take(3) {
                let bit = pair.iter().fold(0_usize, |number, byte| number << 8 | usize::from(*byte)) % 2048;
                // The first bit is the last bit of the last byte.
                if let Some(byte) = bloom.iter_mut().rev().nth(bit / 8) {
                    *byte |= 1 << (bit % 8);
                }
            }
        }
    }

    /// Returns the size of the log as JSON, rounded up, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.data.as_slice().len().saturating_mul(2).saturating_add(AROUND)
    }
}

/// Returns an upper bound of the size of a log as JSON, in bytes. `event` is the size of the JSON of its event.
pub(crate) fn most_bytes(event: usize) -> usize {
    event.saturating_add(AROUND).saturating_mul(2)
}

/// Makes the logs of events. Events with the same name share the computation of the topic.
#[derive(Debug, Default)]
pub(super) struct LogWriter {
    topics: BTreeMap<String, Topic>,
}

/// Maximum number of topics that a [`LogWriter`] keeps.
const KEPT_TOPICS: usize = 64;

impl LogWriter {
    /// Returns the log of an event. Returns `None` for an event without a number.
    pub(super) fn log(&mut self, listed: &ListedEvent) -> Option<Log> {
        let ListedEvent { place, number, hash: transaction, block_hash, event, .. } = listed;
        let place = LogPlace {
            block: (place.block, *block_hash),
            transaction: (*transaction, place.position),
            number: (*number)?,
        };
        Some(self.log_at(&place, event))
    }

    /// Returns the log of an event at a place.
    pub(super) fn log_at(&mut self, place: &LogPlace, event: &EventLog) -> Log {
        let topic = self.topics.get(event.name.as_str()).copied().unwrap_or_else(|| {
            let topic = topic_of(&event.name);
            if self.topics.len() < KEPT_TOPICS {
                self.topics.insert(event.name.clone(), topic);
            }
            topic
        });
        Log::new(place, event.address, (&event.name, topic), event.params.iter().map(Into::into).collect())
    }
}

/// Returns a text in the Solidity ABI, as the only value: its place, its length, and its bytes with zeros up to a
/// multiple of 32 bytes.
fn abi_string(text: &str) -> Vec<u8> {
    let number = |number: usize| {
        let mut word = [0; WORD];
        let bytes = u64::try_from(number).unwrap_or(u64::MAX).to_be_bytes();
        for (to, from) in word.iter_mut().rev().zip(bytes.iter().rev()) {
            *to = *from;
        }
        word
    };
    let padded = text.len().next_multiple_of(WORD);
    let mut bytes = Vec::with_capacity(padded.saturating_add(2 * WORD));
    bytes.extend(number(WORD));
    bytes.extend(number(text.len()));
    bytes.extend(text.as_bytes());
    bytes.resize(padded.saturating_add(2 * WORD), 0);
    bytes
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn place() -> LogPlace {
        LogPlace {
            block: (BlockNumber::new(26), BlockHash::new([1; 32])),
            transaction: (TxHash::new([2; 32]), 3),
            number: 4,
        }
    }

    #[test]
    fn text_in_the_abi_has_whole_words() {
        let words = |text: &str| -> Vec<String> { abi_string(text).chunks(32).map(hex::encode).collect() };
        let word = |digits: &str| format!("{digits:0>64}");
        assert_eq!(words(""), [word("20"), word("0")]);
        assert_eq!(words("é"), [word("20"), word("2"), format!("{:0<64}", "c3a9")]);
        assert_eq!(words(&"a".repeat(32)), [word("20"), word("20"), "61".repeat(32)]);
        assert_eq!(words(&"a".repeat(33)), [word("20"), word("21"), "61".repeat(32), format!("{:0<64}", "61")]);
    }

    #[test]
    fn log_has_the_form_of_the_successor() {
        let contract = Address::new([0xab; 20]);
        let value = json!({"constructor": "True", "argtypes": [], "arguments": []});
        let event = EventLog {
            address: contract,
            name: "Sent".to_owned(),
            params: vec![ContractParam::new("amount", "Uint128", "5"), ContractParam::new("flag", "Bool", value)],
        };
        let log = LogWriter::default().log_at(&place(), &event);
        let text = concat!(
            r#"{"address":"0xabababababababababababababababababababab","_eventname":"Sent","#,
            r#""params":[{"vname":"amount","value":"5","type":"Uint128"},"#,
            r#"{"vname":"flag","value":{"argtypes":[],"arguments":[],"constructor":"True"},"type":"Bool"}]}"#,
        );
        let expected = json!({
            "address": format!("0x{}", "ab".repeat(20)),
            "blockHash": format!("0x{}", "01".repeat(32)),
            "blockNumber": "0x1a",
            "data": format!("0x{}", hex::encode(abi_string(text))),
            "logIndex": "0x4",
            "removed": false,
            "topics": [format!("0x{}", hex::encode(topic_of("Sent")))],
            "transactionHash": format!("0x{}", "02".repeat(32)),
            "transactionIndex": "0x3",
        });
        assert_eq!(serde_json::to_value(&log).unwrap(), expected);
        let params: Vec<ContractParamJson> = event.params.iter().cloned().map(Into::into).collect();
        assert_eq!(Log::of_news(&place(), contract, "Sent", &params), log);
        let mut bloom = [0; 256];
        log.add_to_bloom(&mut bloom);
        assert!((4..=6).contains(&bloom.iter().map(|byte: &u8| byte.count_ones()).sum::<u32>()));
        let bytes = serde_json::to_string(&log).unwrap().len();
        assert!(bytes <= log.bytes() && log.bytes() <= most_bytes(text.len()), "{bytes} {}", log.bytes());
    }
}
