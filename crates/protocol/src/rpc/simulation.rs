//! Simulated transactions: parameters and results of `silica_simulateTransaction` and `silica_estimateGas`.
//!
//! Both methods are extensions of this node, so the spellings of the reference do not bind them. Members with a
//! sensible default are optional. An error names the expected and the given value.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::{
    number,
    receipt::ReceiptJson,
    text::{Dec, Hex},
    transaction::SubmissionInfo,
};
use crate::{
    address::Address,
    amount::Qa,
    gas::{Gas, GasPrice},
    hash::CodeHash,
    simulation::SimulationRequest,
};

/// Reason why an object is not a transaction to be simulated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SimulatedTransactionError {
    /// A member is missing.
    #[error("{member}: expected {expected}, got nothing")]
    Missing {
        /// The member.
        member: &'static str,
        /// What it has to be.
        expected: &'static str,
    },
    /// There is a member that means nothing here.
    #[error("{member:?} is no member of a simulated transaction")]
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

const ADDRESS: &str = "an address as bech32 or as forty hexadecimal digits";
const AMOUNT: &str = "a number of Qa as decimal text without leading zeros, below 2^128, or as a number, below 2^64";
const GAS: &str = "a number of units below 2^64, as decimal text without leading zeros or as a number";

impl SimulationRequest {
    /// Reads the JSON object of a transaction to be simulated.
    ///
    /// # Errors
    ///
    /// [`SimulatedTransactionError`] names the first member that is wrong.
    pub fn from_json(mut object: Map<String, Value>) -> Result<Self, SimulatedTransactionError> {
        let mut take = |member: &'static str| object.remove(member).filter(|value| !value.is_null());
        let sender = take("senderAddr").map(|json| address("senderAddr", &json)).transpose()?;
        let to = take("toAddr").map(|json| address("toAddr", &json)).transpose()?;
        let amount = take("amount").map(|json| amount("amount", &json)).transpose()?;
        let gas_price = take("gasPrice").map(|json| self::amount("gasPrice", &json)).transpose()?;
        let gas_limit = take("gasLimit").map(|json| gas("gasLimit", &json)).transpose()?;
        let code = take("code").map(|json| text("code", json)).transpose()?.unwrap_or_default();
        let data = take("data").map(|json| text("data", json)).transpose()?.unwrap_or_default();
        let priority = take("priority").map(|json| flag("priority", &json)).transpose()?.unwrap_or(false);
        if let Some(member) = object.keys().next() {
            return Err(SimulatedTransactionError::Unknown { member: beginning(member) });
        }
        let missing = |member| SimulatedTransactionError::Missing { member, expected: ADDRESS };
        Ok(Self {
            sender: sender.ok_or(missing("senderAddr"))?,
            to: match to {
                None if code.is_empty() => return Err(missing("toAddr")),
                to => to.unwrap_or(Address::ZERO),
            },
            amount: amount.map_or(Qa::ZERO, Qa::new),
            gas_price: gas_price.map(|price| GasPrice::new(Qa::new(price))),
            gas_limit: gas_limit.map(Gas::new),
            code,
            data,
            priority,
        })
    }
}

fn unfit(member: &'static str, expected: &'static str, json: &Value) -> SimulatedTransactionError {
    SimulatedTransactionError::Value { member, expected, got: beginning(&json.to_string()) }
}

fn address(member: &'static str, json: &Value) -> Result<Address, SimulatedTransactionError> {
    let read = |text: &str| {
        if text.starts_with("zil1") { Address::from_bech32(text).ok() } else { text.parse().ok() }
    };
    json.as_str().and_then(read).ok_or_else(|| unfit(member, ADDRESS, json))
}

fn amount(member: &'static str, json: &Value) -> Result<u128, SimulatedTransactionError> {
    decimal(json).ok_or_else(|| unfit(member, AMOUNT, json))
}

fn gas(member: &'static str, json: &Value) -> Result<u64, SimulatedTransactionError> {
    let number = decimal(json).and_then(|number| u64::try_from(number).ok());
    number.ok_or_else(|| unfit(member, GAS, json))
}

/// From here on a number that is written with a point or an exponent may have been rounded.
const ROUNDED: u128 = 1 << 53;

/// Reads a number that is not negative, from text without anything but digits or from a number without a fraction. Text that
/// begins with a zero is refused, since `CreateTransaction` takes it for octal digits.
fn decimal(json: &Value) -> Option<u128> {
    match json {
        Value::String(text) => {
            let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
            text.parse().ok().filter(|_| is_plain)
        }
        Value::Number(number) => match number.as_u64() {
            Some(number) => Some(number.into()),
            None => u128::try_from(number::integral(&number.to_string())?).ok().filter(|number| *number < ROUNDED),
        },
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn text(member: &'static str, json: Value) -> Result<String, SimulatedTransactionError> {
    if let Value::String(text) = json { Ok(text) } else { Err(unfit(member, "text", &json)) }
}

fn flag(member: &'static str, json: &Value) -> Result<bool, SimulatedTransactionError> {
    json.as_bool().ok_or_else(|| unfit(member, "true or false", json))
}

/// Returns so much of `text` that an error says what came without carrying a whole request.
fn beginning(text: &str) -> String {
    text.chars().take(64).collect()
}

/// The parameter of both methods: any JSON object, and what it amounts to. What is wrong with the object is kept for the
/// method, as with [`SubmittedTransaction`](super::transaction::SubmittedTransaction).
#[derive(Clone, Debug)]
pub struct SimulatedTransactionParam(pub Result<SimulationRequest, SimulatedTransactionError>);

impl<'de> Deserialize<'de> for SimulatedTransactionParam {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Map::deserialize(deserializer).map(|object| Self(SimulationRequest::from_json(object)))
    }
}

impl JsonSchema for SimulatedTransactionParam {
    fn schema_name() -> Cow<'static, str> {
        SimulatedTransactionJson::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        SimulatedTransactionJson::json_schema(generator)
    }
}

/// A transaction to be simulated.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SimulatedTransaction")]
#[expect(dead_code, reason = "it is only described")]
struct SimulatedTransactionJson {
    /// Money that moves to the recipient, in Qa; none if left out.
    amount: Option<Dec<Qa>>,
    /// Source of the contract to deploy.
    code: Option<String>,
    /// JSON text: init parameters of a deployment, message of a call.
    data: Option<String>,
    /// Gas that the transaction may use at most, in units; if left out, as much as its committee takes and the sender can
    /// pay.
    gas_limit: Option<Dec<Gas>>,
    /// Price of a unit of gas, in Qa; the lowest in force if left out.
    gas_price: Option<Dec<GasPrice>>,
    /// Whether the DS committee shall execute the transaction.
    priority: Option<bool>,
    /// Who would sign it, as bech32 or in hexadecimal.
    sender_addr: String,
    /// Recipient, as bech32 or in hexadecimal; may be left out for a deployment.
    to_addr: Option<String>,
}

/// What would become of a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Simulation")]
pub struct SimulationJson {
    /// The accounts that would change, by address.
    pub changes: Vec<AccountChangeJson>,
    /// Where a deployment would put the contract, whether it succeeds or not; absent for anything else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contract_address: Option<Hex<Address>>,
    /// What the sender would pay for gas, in Qa.
    pub fee: Dec<Qa>,
    /// The gas limit with which it was executed, in units.
    pub gas_limit: Dec<Gas>,
    /// The gas it would be charged, in units.
    pub gas_used: Dec<Gas>,
    /// Where it would be sent, in the words of `CreateTransaction`.
    pub info: SubmissionInfo,
    /// The receipt it would have, with events and with the messages that contracts send.
    pub receipt: ReceiptJson,
}

/// How an account would change. Members that would stay as they are are absent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AccountChange")]
pub struct AccountChangeJson {
    /// Whose account.
    pub address: Hex<Address>,
    /// Money, in Qa; the old value is null where there is no account yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balance: Option<ChangeJson<Dec<Qa>>>,
    /// The contract that would be there from now on, by the hash of code and init data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code_hash: Option<Hex<CodeHash>>,
    /// Transactions of the account that were executed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nonce: Option<ChangeJson<u64>>,
    /// The variables of the contract that would change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<VariableChangeJson>,
}

/// What something is, and what it would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct ChangeJson<T> {
    /// Afterwards.
    pub new: T,
    /// Now, or null when it is not there yet.
    pub old: Option<T>,
}

/// How a variable of a contract, or an entry of its map, would change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "VariableChange")]
pub struct VariableChangeJson {
    /// Keys of the map, as text without quotes, from the outermost; empty for a whole variable.
    pub indices: Vec<String>,
    /// The value afterwards, in the JSON form of the contract language, or the text of that where it nests deep; null when
    /// there is none.
    pub new: Option<Value>,
    /// The value now.
    pub old: Option<Value>,
    /// Name of the variable.
    pub variable: String,
}

/// The gas that a transaction needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "GasEstimate")]
pub struct GasEstimateJson {
    /// The lowest gas limit with which the transaction succeeds, in units.
    pub gas_limit: Dec<Gas>,
    /// The gas it is charged with that limit, in units.
    pub gas_used: Dec<Gas>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SENDER: &str = "zil1fwh4ltdguhde9s7nysnp33d5wye6uqpugufkz7";

    fn read(json: &Value) -> Result<SimulationRequest, String> {
        let Value::Object(object) = json else { panic!("it is an object") };
        SimulationRequest::from_json(object.clone()).map_err(|error| error.to_string())
    }

    #[test]
    fn most_members_may_be_left_out() {
        let sender = Address::from_bech32(SENDER).unwrap();
        let least = read(&json!({"senderAddr": SENDER, "toAddr": "0x".to_owned() + &"Ab".repeat(20)})).unwrap();
        let expected = SimulationRequest {
            sender,
            to: Address::new([0xab; 20]),
            amount: Qa::ZERO,
            gas_price: None,
            gas_limit: None,
            code: String::new(),
            data: String::new(),
            priority: false,
        };
        assert_eq!(least, expected);
        let deployment = read(&json!({"senderAddr": sender.to_string(), "code": "scilla_version 0", "data": null}));
        assert_eq!(deployment.unwrap().to, Address::ZERO);
        let numbers = |limit: Value, amount: Value| {
            let read = read(&json!({"senderAddr": SENDER, "toAddr": SENDER, "gasLimit": limit, "amount": amount}));
            read.map(|it| (it.gas_limit.unwrap().get(), it.amount.get())).unwrap()
        };
        assert_eq!(numbers(json!(50), json!("7")), (50, 7));
        assert_eq!(numbers(json!("0"), json!("0")), (0, 0));
        assert_eq!(numbers(json!("50"), json!(u128::MAX.to_string())), (50, u128::MAX));
        assert_eq!(numbers(json!(50.0), json!(u64::MAX)), (50, u64::MAX.into()));
        assert_eq!(numbers(json!(50), json!(9_007_199_254_740_991.0)), (50, ROUNDED - 1));
    }

    #[test]
    fn numbers_that_were_rounded_are_refused() {
        for text in ["9007199254740993.0", "9007199254740993e0", "18446744073709551616", "1e20"] {
            let amount: Value = serde_json::from_str(text).unwrap();
            let error = read(&json!({"senderAddr": SENDER, "toAddr": SENDER, "amount": amount})).unwrap_err();
            assert!(
                error.contains("as decimal text without leading zeros, below 2^128, or as a number, below 2^64"),
                "{error}"
            );
        }
    }

    #[test]
    fn errors_say_what_was_expected_and_what_came() {
        let check = |changes: Value, words: &[&str]| {
            let mut whole = json!({"senderAddr": SENDER, "toAddr": SENDER});
            for (member, value) in changes.as_object().unwrap() {
                whole[member] = value.clone();
            }
            let error = read(&whole).unwrap_err();
            for word in words {
                assert!(error.contains(word), "{word} is missing in {error}");
            }
        };
        check(json!({"senderAddr": null}), &["senderAddr", "an address", "nothing"]);
        check(json!({"senderAddr": "zil1abc"}), &["senderAddr", "zil1abc"]);
        check(json!({"senderAddr": 7}), &["senderAddr", "got 7"]);
        check(json!({"toAddr": null}), &["toAddr", "nothing"]);
        check(json!({"toAddr": "12"}), &["toAddr", "forty", "\"12\""]);
        let texts = ["1.5", "-1", "+1", "", "0x10", "010", "00"].map(|text| json!(text));
        for wrong in texts.into_iter().chain([json!(-1), json!(true), json!(1.5)]) {
            check(json!({"amount": wrong}), &["amount", "Qa", &wrong.to_string()]);
            check(json!({"gasPrice": wrong}), &["gasPrice", "Qa", &wrong.to_string()]);
            check(json!({"gasLimit": wrong}), &["gasLimit", "units", &wrong.to_string()]);
        }
        check(json!({"gasLimit": "18446744073709551616"}), &["gasLimit", "2^64"]);
        check(json!({"amount": "340282366920938463463374607431768211456"}), &["amount", "2^128"]);
        check(json!({"code": ["x"]}), &["code", "text"]);
        check(json!({"data": {"_tag": "x"}}), &["data", "text", "_tag"]);
        check(json!({"priority": "yes"}), &["priority", "true or false", "\"yes\""]);
        check(json!({"nonce": 1}), &["\"nonce\"", "no member"]);
        check(json!({"signature": "x".repeat(1_000)}), &["\"signature\""]);
    }
}
