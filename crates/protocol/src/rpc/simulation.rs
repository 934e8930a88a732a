//! Simulated transactions: parameters and results of `silica_simulateTransaction` and `silica_estimateGas`.
//!
//! Both methods are extensions of this node, so their requests and errors have forms that the reference does not have.
//! Most members are optional. An error names the expected and the given value.

#[cfg(feature = "schema")]
use alloc::borrow::Cow;
use alloc::{
    string::{String, ToString},
    vec::Vec,
};

#[cfg(feature = "schema")]
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

/// Reason why a JSON object is not a valid [`SimulationRequest`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SimulatedTransactionError {
    /// A required member is absent.
    #[error("{member}: expected {expected}, got nothing")]
    Missing {
        /// The name of the member.
        member: &'static str,
        /// A description of valid values.
        expected: &'static str,
    },
    /// The object has an unknown member.
    #[error("expected a member of a simulated transaction, got {member:?}")]
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

const ADDRESS: &str = "an address as bech32 or as forty hexadecimal digits";
const AMOUNT: &str = "a number of Qa as decimal text without leading zeros, below 2^128, or as a number, below 2^64";
const GAS: &str = "a number of units below 2^64, as decimal text without leading zeros or as a number";

impl SimulationRequest {
    /// Reads a simulated transaction from a JSON object. Optional members can be null or absent.
    ///
    /// # Errors
    ///
    /// [`SimulatedTransactionError`] for the first fault: an invalid member, an unknown member, or an absent member.
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

/// From 2^53 on, a floating-point number can be a rounded value.
const ROUNDED: u128 = 1 << 53;

/// Reads a non-negative number from a text of digits or from an integral number. Returns `None` for any other value.
/// Text with a leading zero is not accepted, because `CreateTransaction` reads such text as octal digits.
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

/// Returns the first 64 characters of `text`, so that errors stay short.
fn beginning(text: &str) -> String {
    text.chars().take(64).collect()
}

/// The parameter of the methods that simulate a transaction. An object with faults is an error of the method, so the
/// deserializer keeps this error as a value, like [`SubmittedTransaction`](super::transaction::SubmittedTransaction).
#[derive(Clone, Debug)]
pub struct SimulatedTransactionParam(pub Result<SimulationRequest, SimulatedTransactionError>);

impl<'de> Deserialize<'de> for SimulatedTransactionParam {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Map::deserialize(deserializer).map(|object| Self(SimulationRequest::from_json(object)))
    }
}

#[cfg(feature = "schema")]
impl JsonSchema for SimulatedTransactionParam {
    fn schema_name() -> Cow<'static, str> {
        SimulatedTransactionJson::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        SimulatedTransactionJson::json_schema(generator)
    }
}

/// An unsigned transaction for a simulation.
#[cfg(feature = "schema")]
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", schemars(rename = "SimulatedTransaction"))]
#[expect(dead_code, reason = "it is only described")]
struct SimulatedTransactionJson {
    /// Amount of money for the recipient, in Qa; 0 if absent.
    amount: Option<Dec<Qa>>,
    /// Source code of the contract to deploy.
    code: Option<String>,
    /// JSON text: init data of a deployment, or message of a call.
    data: Option<String>,
    /// Gas limit, in gas units. If absent, it is the largest gas limit that the committee accepts and the sender can
    /// pay.
    gas_limit: Option<Dec<Gas>>,
    /// Gas price, in Qa; the minimum gas price if absent.
    gas_price: Option<Dec<GasPrice>>,
    /// Whether the DS committee executes the transaction.
    priority: Option<bool>,
    /// Address of the sender, as bech32 or in hexadecimal.
    sender_addr: String,
    /// Address of the recipient, as bech32 or in hexadecimal; optional for a deployment.
    to_addr: Option<String>,
}

/// The result of a simulated transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", schemars(rename = "Simulation"))]
pub struct SimulationJson {
    /// The accounts that the transaction would change, by address.
    pub changes: Vec<AccountChangeJson>,
    /// Address of the contract that a deployment would create, even if the deployment fails; absent for other
    /// transactions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contract_address: Option<Hex<Address>>,
    /// The fee that the sender would pay, in Qa.
    pub fee: Dec<Qa>,
    /// The gas limit of the simulation, in gas units.
    pub gas_limit: Dec<Gas>,
    /// The gas that the transaction would pay for, in gas units.
    pub gas_used: Dec<Gas>,
    /// The committee that would execute the transaction, with a text of `CreateTransaction`.
    pub info: SubmissionInfo,
    /// The receipt of the transaction, with the events and messages of contracts.
    pub receipt: ReceiptJson,
}

/// Changes of an account. Members that would not change are absent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", schemars(rename = "AccountChange"))]
pub struct AccountChangeJson {
    /// Address of the account.
    pub address: Hex<Address>,
    /// Balance, in Qa; `old` is null if the account does not exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balance: Option<ChangeJson<Dec<Qa>>>,
    /// Hash of code and init data of the contract that the transaction would create.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code_hash: Option<Hex<CodeHash>>,
    /// Nonce of the account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nonce: Option<ChangeJson<u64>>,
    /// The variables of the contract that would change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<VariableChangeJson>,
}

/// A value before and after a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(inline))]
pub struct ChangeJson<T> {
    /// The value after the transaction.
    pub new: T,
    /// The value before the transaction; null if it does not exist.
    pub old: Option<T>,
}

/// Change of a field of a contract, or of an entry of a map field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "VariableChange"))]
pub struct VariableChangeJson {
    /// Keys of nested maps as text without quotes, from the outermost map; empty for a whole field.
    pub indices: Vec<String>,
    /// The value after the transaction, in the JSON form of Scilla. A deeply nested value is the text of this JSON.
    /// Null if there is no value.
    pub new: Option<Value>,
    /// The value before the transaction, in the same form; null if there is no value.
    pub old: Option<Value>,
    /// Name of the field.
    pub variable: String,
}

/// A gas estimate for a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", schemars(rename = "GasEstimate"))]
pub struct GasEstimateJson {
    /// The lowest gas limit with which the transaction succeeds, in gas units.
    pub gas_limit: Dec<Gas>,
    /// The gas that the transaction pays for with this limit, in gas units.
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
    fn most_members_are_optional() {
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
        check(json!({"nonce": 1}), &["\"nonce\"", "expected a member"]);
        check(json!({"signature": "x".repeat(1_000)}), &["\"signature\""]);
    }
}
