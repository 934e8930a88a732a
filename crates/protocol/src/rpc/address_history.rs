//! The transactions of an address: parameters and result of `silica_getTransactionsForAddress`.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::{
    number,
    text::{Dec, Hex},
};
use crate::{address::Address, amount::Qa, hash::TxHash, number::BlockNumber};

/// Options of a query for the transactions of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryOptions {
    /// Block and position behind which the page begins.
    pub cursor: Option<(BlockNumber, u32)>,
    /// Transactions of the page at most.
    pub limit: usize,
    /// Whether the oldest come first.
    pub oldest_first: bool,
}

/// Transactions of a page if nothing is said.
const USUAL_LIMIT: usize = 100;
/// Transactions of the largest page.
const LARGEST_LIMIT: u64 = 1000;

impl Default for HistoryOptions {
    fn default() -> Self {
        Self { cursor: None, limit: USUAL_LIMIT, oldest_first: false }
    }
}

/// Reason why an object is none of these options.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HistoryOptionsError {
    /// There is a member that means nothing here.
    #[error("{member:?} is no option, expected cursor, limit or order")]
    Unknown {
        /// The beginning of its name.
        member: String,
    },
    /// A member has another type, or cannot be read.
    #[error("{member}: expected {expected}, got {got}")]
    Value {
        /// The member.
        member: &'static str,
        /// What it has to be.
        expected: &'static str,
        /// The beginning of what came.
        got: String,
    },
}

impl HistoryOptions {
    /// Reads the JSON object of the options. Members may be null or left out.
    ///
    /// # Errors
    ///
    /// [`HistoryOptionsError`] names the first member that is wrong.
    pub fn from_json(mut object: Map<String, Value>) -> Result<Self, HistoryOptionsError> {
        let mut take = |member: &'static str| object.remove(member).filter(|value| !value.is_null());
        let (cursor, limit, order) = (take("cursor"), take("limit"), take("order"));
        if let Some(member) = object.keys().next() {
            return Err(HistoryOptionsError::Unknown { member: beginning(member) });
        }
        let read_cursor =
            |json: Value| place(&json).ok_or_else(|| unfit("cursor", "what the page before has as next", &json));
        let read_limit = |json: Value| {
            let limit = number::integral(&json.to_string()).and_then(|limit| u64::try_from(limit).ok());
            let limit = limit.filter(|limit| json.is_number() && (1..=LARGEST_LIMIT).contains(limit));
            let limit = limit.and_then(|limit| usize::try_from(limit).ok());
            limit.ok_or_else(|| unfit("limit", "a number from 1 to 1000", &json))
        };
        let read_order = |json: Value| match json.as_str() {
            Some("newest") => Ok(false),
            Some("oldest") => Ok(true),
            _ => Err(unfit("order", "newest or oldest", &json)),
        };
        Ok(Self {
            cursor: cursor.map(read_cursor).transpose()?,
            limit: limit.map(read_limit).transpose()?.unwrap_or(USUAL_LIMIT),
            oldest_first: order.map(read_order).transpose()?.unwrap_or_default(),
        })
    }
}

/// Reads block and position as a cursor has them.
fn place(json: &Value) -> Option<(BlockNumber, u32)> {
    let (block, position) = json.as_str()?.split_once(':')?;
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    Some((block.parse().ok()?, position.parse().ok().filter(|_| is_number(position))?))
}

fn unfit(member: &'static str, expected: &'static str, json: &Value) -> HistoryOptionsError {
    HistoryOptionsError::Value { member, expected, got: beginning(&json.to_string()) }
}

/// Returns so much of `text` that an error says what came without carrying a whole request.
fn beginning(text: &str) -> String {
    text.chars().take(64).collect()
}

/// The parameter: any JSON object, and what it amounts to.
#[derive(Clone, Debug)]
pub struct HistoryOptionsParam(pub Result<HistoryOptions, HistoryOptionsError>);

impl Default for HistoryOptionsParam {
    fn default() -> Self {
        Self(Ok(HistoryOptions::default()))
    }
}

impl<'de> Deserialize<'de> for HistoryOptionsParam {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = Option::<Map<String, Value>>::deserialize(deserializer)?;
        Ok(Self(object.map_or_else(|| Ok(HistoryOptions::default()), HistoryOptions::from_json)))
    }
}

impl JsonSchema for HistoryOptionsParam {
    fn schema_name() -> Cow<'static, str> {
        HistoryOptionsJson::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        HistoryOptionsJson::json_schema(generator)
    }
}

/// The form of the transactions of an address.
#[derive(JsonSchema)]
#[schemars(rename = "HistoryOptions")]
#[expect(dead_code, reason = "it is only described")]
struct HistoryOptionsJson {
    /// What the page before has as `next`; left out for the first page.
    cursor: Option<String>,
    /// Transactions of the page at most; 100 if left out.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<u32>,
    /// Which come first; the newest if left out.
    order: Option<HistoryOrderJson>,
}

/// Which transactions come first.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "HistoryOrder")]
#[expect(dead_code, reason = "it is only described")]
enum HistoryOrderJson {
    /// The newest.
    Newest,
    /// The oldest.
    Oldest,
}

/// A page of the transactions of an address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AddressHistory")]
pub struct AddressHistoryJson {
    /// The cursor of the next page; null when there is nothing more.
    pub next: Option<String>,
    /// The transactions, in the order that was asked for. There may be fewer than were asked for, or none, although there
    /// are more pages.
    pub transactions: Vec<AddressTransactionJson>,
}

/// A transaction that concerns an address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AddressTransaction")]
pub struct AddressTransactionJson {
    /// Money that it moved, or would have, in Qa.
    pub amount: Dec<Qa>,
    /// Number of the Tx block that holds it.
    pub block: Dec<BlockNumber>,
    /// Its hash, by which `GetTransaction` tells more.
    pub hash: Hex<TxHash>,
    /// Position among the transactions of the block, from 0.
    pub position: u32,
    /// The recipient; zero for a deployment.
    pub recipient: Hex<Address>,
    /// What the address has to do with it.
    pub roles: Vec<AddressRoleJson>,
    /// The sender.
    pub sender: Hex<Address>,
    /// Whether it succeeded.
    pub success: bool,
}

/// What an address has to do with a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "AddressRole")]
pub enum AddressRoleJson {
    /// The transaction deployed it, or would have.
    Contract,
    /// The transaction was for it.
    Recipient,
    /// It sent the transaction.
    Sender,
    /// In the transaction, it sent or was sent a message of a contract.
    Transition,
}

impl AddressHistoryJson {
    /// Returns the cursor that stands for a block and a position.
    pub fn cursor(block: BlockNumber, position: u32) -> String {
        format!("{block}:{position}")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(json: &Value) -> Result<HistoryOptions, String> {
        let Value::Object(object) = json else { panic!("it is an object") };
        HistoryOptions::from_json(object.clone()).map_err(|error| error.to_string())
    }

    #[test]
    fn members_may_be_left_out() {
        assert_eq!(read(&json!({})), Ok(HistoryOptions::default()));
        assert_eq!(read(&json!({"cursor": null, "limit": null, "order": null})), Ok(HistoryOptions::default()));
        let cursor = AddressHistoryJson::cursor(BlockNumber::new(7), 3);
        let all = read(&json!({"cursor": cursor, "limit": 5.0, "order": "oldest"}));
        let expected = HistoryOptions { cursor: Some((BlockNumber::new(7), 3)), limit: 5, oldest_first: true };
        assert_eq!(all, Ok(expected));
    }

    #[test]
    fn errors_say_what_was_expected_and_what_came() {
        for (json, error) in [
            (json!({"limit": 0}), "limit: expected a number from 1 to 1000, got 0"),
            (json!({"limit": 1001}), "limit: expected a number from 1 to 1000, got 1001"),
            (json!({"limit": "5"}), "limit: expected a number from 1 to 1000, got \"5\""),
            (json!({"limit": 1.5}), "limit: expected a number from 1 to 1000, got 1.5"),
            (json!({"order": "up"}), "order: expected newest or oldest, got \"up\""),
            (json!({"order": 1}), "order: expected newest or oldest, got 1"),
            (json!({"cursor": "7"}), "cursor: expected what the page before has as next, got \"7\""),
            (json!({"cursor": "7:+3"}), "cursor: expected what the page before has as next, got \"7:+3\""),
            (json!({"cursor": "7:"}), "cursor: expected what the page before has as next, got \"7:\""),
            (json!({"cursor": 7}), "cursor: expected what the page before has as next, got 7"),
            (json!({"offset": 7}), "\"offset\" is no option, expected cursor, limit or order"),
        ] {
            assert_eq!(read(&json), Err(error.to_owned()));
        }
    }
}
