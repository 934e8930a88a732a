//! The transactions of an address: parameters and result of `silica_getTransactionsForAddress`.

#[cfg(feature = "schema")]
use alloc::borrow::Cow;
use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

#[cfg(feature = "schema")]
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
    /// Block and position of the transaction before the page; `None` for the first page.
    pub cursor: Option<(BlockNumber, u32)>,
    /// Largest number of transactions on the page.
    pub limit: usize,
    /// Whether the page begins with the oldest transaction.
    pub oldest_first: bool,
}

/// Largest number of transactions on a page if the request has no limit.
const USUAL_LIMIT: usize = 100;
/// Highest limit that a request can set, in transactions on a page.
const LARGEST_LIMIT: u64 = 1000;

impl Default for HistoryOptions {
    fn default() -> Self {
        Self { cursor: None, limit: USUAL_LIMIT, oldest_first: false }
    }
}

/// Reason why a JSON object has no valid [`HistoryOptions`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryOptionsError {
    /// The object has an unknown member.
    #[error("expected cursor, limit or order, got {member:?}")]
    Unknown {
        /// The first 64 characters of the name of the member.
        member: String,
    },
    /// A member has the wrong type or an invalid value.
    #[error("{member}: expected {expected}, got {got}")]
    Value {
        /// The name of the member.
        member: &'static str,
        /// A description of valid values.
        expected: &'static str,
        /// The first 64 characters of the JSON of the value.
        got: String,
    },
}

impl HistoryOptions {
    /// Reads the options from a JSON object. Members can be null or absent.
    ///
    /// # Errors
    ///
    /// [`HistoryOptionsError`] for an unknown member, or for the first invalid member, in the order `cursor`, `limit`,
    /// `order`.
    pub fn from_json(mut object: Map<String, Value>) -> Result<Self, HistoryOptionsError> {
        let mut take = |member: &'static str| object.remove(member).filter(|value| !value.is_null());
        let (cursor, limit, order) = (take("cursor"), take("limit"), take("order"));
        if let Some(member) = object.keys().next() {
            return Err(HistoryOptionsError::Unknown { member: beginning(member) });
        }
        let read_cursor =
            |json: Value| place(&json).ok_or_else(|| unfit("cursor", "the value of next in the previous page", &json));
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

/// Reads a cursor: block number and position, with a colon between them. Returns `None` for any other value.
fn place(json: &Value) -> Option<(BlockNumber, u32)> {
    let (block, position) = json.as_str()?.split_once(':')?;
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    Some((block.parse().ok()?, position.parse().ok().filter(|_| is_number(position))?))
}

fn unfit(member: &'static str, expected: &'static str, json: &Value) -> HistoryOptionsError {
    HistoryOptionsError::Value { member, expected, got: beginning(&json.to_string()) }
}

/// Returns the first 64 characters of `text`, so that errors stay short.
fn beginning(text: &str) -> String {
    text.chars().take(64).collect()
}

/// The parameter with the options. An object with invalid options is an error of the method, so the deserializer keeps
/// this error as a value. The deserializer fails only if the JSON is neither an object nor null.
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

#[cfg(feature = "schema")]
impl JsonSchema for HistoryOptionsParam {
    fn schema_name() -> Cow<'static, str> {
        HistoryOptionsJson::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        HistoryOptionsJson::json_schema(generator)
    }
}

/// Options for the list of the transactions of an address.
#[cfg(feature = "schema")]
#[derive(JsonSchema)]
#[cfg_attr(feature = "schema", schemars(rename = "HistoryOptions"))]
#[expect(dead_code, reason = "it is only described")]
struct HistoryOptionsJson {
    /// The `next` of the previous page; absent for the first page.
    cursor: Option<String>,
    /// Largest number of transactions on the page; 100 if absent.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 1000)))]
    limit: Option<u32>,
    /// Order of the transactions; the newest first if absent.
    order: Option<HistoryOrderJson>,
}

/// Order of a list of transactions.
#[cfg(feature = "schema")]
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", schemars(rename = "HistoryOrder"))]
#[expect(dead_code, reason = "it is only described")]
enum HistoryOrderJson {
    /// The newest transactions first.
    Newest,
    /// The oldest transactions first.
    Oldest,
}

/// A page of the transactions of an address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "AddressHistory"))]
pub struct AddressHistoryJson {
    /// The cursor of the next page; null on the last page.
    pub next: Option<String>,
    /// The transactions, in the requested order. A page that is not the last one can have fewer transactions than the
    /// limit, or none.
    pub transactions: Vec<AddressTransactionJson>,
}

/// A transaction in which an address has a role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "AddressTransaction"))]
pub struct AddressTransactionJson {
    /// Amount of the transaction, in Qa. A failed transaction does not move it.
    pub amount: Dec<Qa>,
    /// Number of the Tx block with the transaction.
    pub block: Dec<BlockNumber>,
    /// Hash of the transaction, for `GetTransaction`.
    pub hash: Hex<TxHash>,
    /// Position among the transactions of the block, from 0.
    pub position: u32,
    /// Address of the recipient; the null address for a deployment.
    pub recipient: Hex<Address>,
    /// The roles of the address in the transaction.
    pub roles: Vec<AddressRoleJson>,
    /// Address of the sender.
    pub sender: Hex<Address>,
    /// Whether the transaction succeeded.
    pub success: bool,
}

/// A role of an address in a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", schemars(rename = "AddressRole"))]
pub enum AddressRoleJson {
    /// The address is the contract of the deployment, which can have failed.
    Contract,
    /// The address is the recipient of the transaction.
    Recipient,
    /// The address is the sender of the transaction.
    Sender,
    /// A contract at the address sent a message in the transaction, or the address received a message from a contract.
    Transition,
}

impl AddressHistoryJson {
    /// Returns the cursor for a block and a position.
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
            (json!({"cursor": "7"}), "cursor: expected the value of next in the previous page, got \"7\""),
            (json!({"cursor": "7:+3"}), "cursor: expected the value of next in the previous page, got \"7:+3\""),
            (json!({"cursor": "7:"}), "cursor: expected the value of next in the previous page, got \"7:\""),
            (json!({"cursor": 7}), "cursor: expected the value of next in the previous page, got 7"),
            (json!({"offset": 7}), "expected cursor, limit or order, got \"offset\""),
        ] {
            assert_eq!(read(&json), Err(error.to_owned()));
        }
    }
}
