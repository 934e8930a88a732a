//! The transaction in a request of `CreateTransaction`, and the checks that need only the transaction.
//!
//! The checks are rows 3 to 14 of the admission checks (Reference: execution#admission-checks). They run in this order,
//! and the first one that fails determines the error.
//!
//! | Row | Checked | Rule |
//! |---|---|---|
//! | 3 | members | eight are required; `code`, `data` and `priority` are optional; other members are rejected |
//! | 4 | `nonce` | an integral JSON number (`1.0` is integral) |
//! | 5 | `amount` | a string with a number below 2^128: decimal, `0x` hexadecimal or `0` octal; `""` is 0 |
//! | 6 | `version` | an integral JSON number |
//! | 7, 8 | `pubKey`, `signature` | 66 and 128 characters |
//! | 9 | `toAddr` | forty digits, with or without `0x`, in the letter case of Zilliqa's checksum or of EIP-55 |
//! | 10 | `priority` | a boolean |
//! | 11 | | `version` fits 32 bits; members that are read as text are not an array or object; `nonce` is not negative |
//! | 12 | `toAddr` | hexadecimal; row 9 has checked it |
//! | 12a | `gasPrice` | a string or number, read like `amount` |
//! | 13, 14 | `pubKey`, `signature` | hexadecimal |
//!
//! `gasLimit` is a string or number. Its text is read with the rules of C, and any text is valid. Where the C++ node
//! expects text, the node converts a number or boolean to its text, and null to the empty text.

use alloc::{
    borrow::Cow,
    string::{String, ToString},
};
use core::fmt;

#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{IgnoredAny, MapAccess, Visitor},
};
use serde_json::value::RawValue;
use sha3::{Digest, Keccak256};

use crate::{
    address::{Address, AddressError},
    amount::Qa,
    bytes::HexError,
    gas::{Gas, GasPrice},
    key::{PublicKey, Signature},
    number::Nonce,
    rpc::{
        envelope::read_string,
        number::{self, integral},
        text::{Dec, Hex},
    },
    transaction::{Transaction, UnsignedTransaction},
    version::Version,
};

/// A transaction of a client, before admission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionRequest {
    /// The signed transaction.
    pub transaction: Transaction,
    /// Whether the DS committee executes the transaction. The signature does not cover this member.
    pub priority: bool,
}

/// Reason why a JSON object is not a valid transaction. Its text is the message of the error response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TransactionRequestError {
    /// A required member is absent (Reference: execution#admission-3).
    #[error("Missing components in Json Data Object")]
    Missing {
        /// The name of the member.
        member: &'static str,
    },
    /// The object has an unknown member (Reference: execution#admission-3).
    #[error("Missing components in Json Data Object")]
    Unexpected {
        /// The first 64 characters of the name of the member.
        member: String,
    },
    /// The nonce is not an integral number (Reference: execution#admission-4).
    #[error("Nonce is not integral")]
    Nonce {
        /// The first 64 characters of the JSON of the value.
        got: String,
    },
    /// The amount is not text with a number below 2^128 (Reference: execution#admission-5).
    #[error("Amount invalid string")]
    Amount {
        /// The first 64 characters of the JSON of the value.
        got: String,
    },
    /// The version is not an integral number (Reference: execution#admission-6).
    #[error("Version not integral")]
    Version {
        /// The first 64 characters of the JSON of the value.
        got: String,
    },
    /// The public key does not have 66 characters (Reference: execution#admission-7).
    #[error("Invalid PubKey Size")]
    PublicKeySize {
        /// The number of bytes of the given text.
        got: usize,
    },
    /// The signature does not have 128 characters (Reference: execution#admission-8).
    #[error("Invalid Signature size")]
    SignatureSize {
        /// The number of bytes of the given text.
        got: usize,
    },
    /// The recipient is not an address with a valid checksum (Reference: execution#admission-9).
    #[error("To Addr checksum wrong")]
    Checksum(#[source] AddressError),
    /// The priority is not a boolean (Reference: execution#admission-10).
    #[error("Priority should be boolean")]
    Priority {
        /// The first 64 characters of the JSON of the value.
        got: String,
    },
    /// A number is outside the range of its member (Reference: execution#admission-11).
    #[error("Unable to Process")]
    Range {
        /// The name of the member.
        member: &'static str,
        /// The number in the request.
        got: i128,
    },
    /// A text member is an array, an object, or text with an invalid escape (Reference: execution#admission-11).
    #[error("Unable to Process")]
    NotText {
        /// The name of the member.
        member: &'static str,
    },
    /// The gas price is not a number below 2^128 (Reference: execution#admission-12a).
    #[error("Unable to Process")]
    GasPrice {
        /// The first 64 characters of the JSON of the value.
        got: String,
    },
    /// The public key is not hexadecimal (Reference: execution#admission-13).
    #[error("Invalid Hex Str for PubKey")]
    PublicKey(#[source] HexError),
    /// The signature is not hexadecimal (Reference: execution#admission-14).
    #[error("Invalid Hex Str for Signature")]
    Signature(#[source] HexError),
}

impl TransactionRequest {
    /// Reads a transaction from a JSON object. For text that is not a JSON object, the error is
    /// [`TransactionRequestError::Missing`].
    ///
    /// # Errors
    ///
    /// The first [`TransactionRequestError`] in the order of the rows in the module documentation.
    ///
    /// # Examples
    ///
    /// ```
    /// use silica_protocol::rpc::transaction::{TransactionRequest, TransactionRequestError};
    /// let error = TransactionRequest::from_json(r#"{"nonce":1}"#).unwrap_err();
    /// assert_eq!(error, TransactionRequestError::Missing { member: "amount" });
    /// assert_eq!(error.to_string(), "Missing components in Json Data Object");
    /// ```
    pub fn from_json(json: &str) -> Result<Self, TransactionRequestError> {
        let members: Members<'_> = serde_json::from_str(json).unwrap_or_default();
        members.check()
    }
}

/// The parameter of `CreateTransaction`.
///
/// The deserializer fails only if the JSON is not an object. This failure is an error of the protocol layer
/// (Reference: execution#admission-1). A faulty object is an error of the method, so the deserializer keeps this error
/// as a value.
#[derive(Clone, Debug)]
pub struct SubmittedTransaction(pub Result<TransactionRequest, TransactionRequestError>);

impl<'de> Deserialize<'de> for SubmittedTransaction {
    /// Reads from JSON text only, because the members borrow from the text.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Members::deserialize(deserializer).map(|members| Self(members.check()))
    }
}

#[cfg(feature = "schema")]
impl JsonSchema for SubmittedTransaction {
    fn schema_name() -> Cow<'static, str> {
        TransactionRequestJson::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        TransactionRequestJson::json_schema(generator)
    }
}

/// The members of the object as JSON text. Of members with the same name, the last one counts.
#[derive(Default)]
struct Members<'a> {
    amount: Option<&'a RawValue>,
    code: Option<&'a RawValue>,
    data: Option<&'a RawValue>,
    gas_limit: Option<&'a RawValue>,
    gas_price: Option<&'a RawValue>,
    nonce: Option<&'a RawValue>,
    priority: Option<&'a RawValue>,
    pub_key: Option<&'a RawValue>,
    signature: Option<&'a RawValue>,
    to_addr: Option<&'a RawValue>,
    version: Option<&'a RawValue>,
    unexpected: Option<Cow<'a, str>>,
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the object of a transaction")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Value, A::Error> {
        #[derive(Deserialize)]
        struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

        let mut members = Members::default();
        while let Some(Name(name)) = object.next_key()? {
            let member = match &*name {
                "amount" => &mut members.amount,
                "code" => &mut members.code,
                "data" => &mut members.data,
                "gasLimit" => &mut members.gas_limit,
                "gasPrice" => &mut members.gas_price,
                "nonce" => &mut members.nonce,
                "priority" => &mut members.priority,
                "pubKey" => &mut members.pub_key,
                "signature" => &mut members.signature,
                "toAddr" => &mut members.to_addr,
                "version" => &mut members.version,
                _ => {
                    object.next_value::<IgnoredAny>()?;
                    members.unexpected = Some(name);
                    continue;
                }
            };
            *member = Some(object.next_value()?);
        }
        Ok(members)
    }
}

impl Members<'_> {
    /// Runs the checks, in the order of the rows in the module documentation.
    fn check(&self) -> Result<TransactionRequest, TransactionRequestError> {
        use TransactionRequestError as Error;

        let amount = require("amount", self.amount)?;
        let gas_limit = require("gasLimit", self.gas_limit)?;
        let gas_price = require("gasPrice", self.gas_price)?;
        let nonce = require("nonce", self.nonce)?;
        let pub_key = require("pubKey", self.pub_key)?;
        let signature = require("signature", self.signature)?;
        let to_addr = require("toAddr", self.to_addr)?;
        let version = require("version", self.version)?;
        if let Some(member) = &self.unexpected {
            return Err(Error::Unexpected { member: beginning(member) });
        }

        let got = |json: &RawValue| beginning(json.get());
        let nonce = integral(nonce.get()).ok_or_else(|| Error::Nonce { got: got(nonce) })?;
        let amount = read_string(amount)
            .ok()
            .flatten()
            .and_then(|text| number::amount(&text))
            .ok_or_else(|| Error::Amount { got: got(amount) })?;
        let version = integral(version.get()).ok_or_else(|| Error::Version { got: got(version) })?;

        // This check accepts a value that cannot be read as text. The checks below reject such a value.
        let pub_key = as_text(pub_key);
        if let Some(got) = pub_key.as_deref().map(str::len).filter(|got| *got != 2 * PublicKey::LEN) {
            return Err(Error::PublicKeySize { got });
        }
        let signature = as_text(signature);
        if let Some(got) = signature.as_deref().map(str::len).filter(|got| *got != 2 * Signature::LEN) {
            return Err(Error::SignatureSize { got });
        }
        let to = as_text(to_addr).map(|text| with_checksum(&text)).transpose().map_err(Error::Checksum)?;
        let priority = match self.priority.map(RawValue::get) {
            None | Some("false") => false,
            Some("true") => true,
            Some(other) => return Err(Error::Priority { got: beginning(other) }),
        };

        let version = u32::try_from(version).map_err(|_| Error::Range { member: "version", got: version })?;
        let nonce = u64::try_from(nonce).map_err(|_| Error::Range { member: "nonce", got: nonce })?;
        let not_text = |member| Error::NotText { member };
        let pub_key = pub_key.ok_or(not_text("pubKey"))?;
        let signature = signature.ok_or(not_text("signature"))?;
        let to = to.ok_or(not_text("toAddr"))?;
        let price_text = as_text(gas_price).ok_or(not_text("gasPrice"))?;
        let gas_limit = as_text(gas_limit).ok_or(not_text("gasLimit"))?;
        let optional = |member, json: Option<_>| json.map_or(Some(Cow::Borrowed("")), as_text).ok_or(not_text(member));
        let code = optional("code", self.code)?;
        let data = optional("data", self.data)?;

        let gas_price = number::amount(&price_text).ok_or_else(|| Error::GasPrice { got: got(gas_price) })?;
        let unsigned = UnsignedTransaction {
            version: Version::from_packed(version),
            nonce: Nonce::new(nonce),
            to,
            amount: Qa::new(amount),
            gas_price: GasPrice::new(Qa::new(gas_price)),
            gas_limit: Gas::new(number::c_unsigned(&gas_limit)),
            code: code.into_owned(),
            data: data.into_owned(),
            sender_key: pub_key.parse().map_err(Error::PublicKey)?,
        };
        let signature = signature.parse().map_err(Error::Signature)?;
        Ok(TransactionRequest { transaction: unsigned.with_signature(signature), priority })
    }
}

fn require<'a>(member: &'static str, json: Option<&'a RawValue>) -> Result<&'a RawValue, TransactionRequestError> {
    json.ok_or(TransactionRequestError::Missing { member })
}

/// Returns the text that the C++ node reads from a JSON value, or `None` for an array, an object or an invalid escape.
fn as_text(json: &RawValue) -> Option<Cow<'_, str>> {
    match json.get().as_bytes().first() {
        Some(b'"') => read_string(json).ok().flatten(),
        Some(b'[' | b'{') => None,
        Some(b'n') => Some(Cow::Borrowed("")),
        _ => Some(integral(json.get()).map_or(Cow::Borrowed(json.get()), |number| Cow::Owned(number.to_string()))),
    }
}

/// Reads an address with the checksum of Zilliqa or of EIP-55 (Reference: formats#checksum).
fn with_checksum(text: &str) -> Result<Address, AddressError> {
    Address::from_checksum(text).or_else(|error| {
        let address: Address = text.parse()?;
        if text.strip_prefix("0x").unwrap_or(text) == to_eip55(&address) { Ok(address) } else { Err(error) }
    })
}

/// Returns the checksummed form of EIP-55. A letter is in upper case if and only if one digit of a hash is 8 or more.
/// The hash is the Keccak-256 of the lower-case text, and the digit is the hexadecimal digit at the position of the
/// letter.
fn to_eip55(address: &Address) -> String {
    let lower = address.to_string();
    let hash = Keccak256::digest(&lower);
    let digits = hash.iter().flat_map(|byte| [byte >> 4, byte & 0x0f]);
    let spell = |(letter, digit): (char, u8)| if digit >= 8 { letter.to_ascii_uppercase() } else { letter };
    lower.chars().zip(digits).map(spell).collect()
}

/// Returns the first 64 characters of `text`, so that errors stay short.
fn beginning(text: &str) -> String {
    text.chars().take(64).collect()
}

impl Serialize for TransactionRequest {
    /// Writes the JSON object that a client sends.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        TransactionRequestJson::from(self).serialize(serializer)
    }
}

/// A signed transaction for `CreateTransaction`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", schemars(rename = "TransactionRequest"))]
struct TransactionRequestJson<'a> {
    /// Amount of money for the recipient, in Qa.
    amount: Dec<Qa>,
    /// Source code of the contract to deploy.
    #[cfg_attr(feature = "schema", schemars(default))]
    code: &'a str,
    /// JSON text: init data of a deployment, or message of a call.
    #[cfg_attr(feature = "schema", schemars(default))]
    data: &'a str,
    /// Gas limit of the transaction, in gas units.
    gas_limit: Dec<Gas>,
    /// Gas price, in Qa.
    gas_price: Dec<GasPrice>,
    /// Nonce of the transaction: the nonce of the account of the sender plus 1.
    nonce: u64,
    /// Whether the DS committee executes the transaction.
    #[cfg_attr(feature = "schema", schemars(default))]
    priority: bool,
    /// Public key of the sender.
    pub_key: Hex<PublicKey>,
    /// Signature of the sender over all other members except `priority`.
    signature: Hex<Signature>,
    /// Address of the recipient, with checksum; the null address for a deployment.
    to_addr: String,
    /// Chain id and message version in one number: `chain id * 65536 + message version`.
    version: u32,
}

impl<'a> From<&'a TransactionRequest> for TransactionRequestJson<'a> {
    fn from(TransactionRequest { transaction, priority }: &'a TransactionRequest) -> Self {
        Self {
            amount: transaction.amount.into(),
            code: &transaction.code,
            data: &transaction.data,
            gas_limit: transaction.gas_limit.into(),
            gas_price: transaction.gas_price.into(),
            nonce: transaction.nonce.get(),
            priority: *priority,
            pub_key: transaction.sender_key.into(),
            signature: transaction.signature().into(),
            to_addr: transaction.to.to_checksum(),
            version: transaction.version.packed(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, Value, json};

    use super::*;
    use crate::arbitrary::any_transaction;

    const SIGNATURE: &str = "29ad673848dcd7f5168f205f7a9fcd1e8109408e6c4d7d03e4e869317b9067e6\
                             36b216a32314dd37176c35d51f9d4c24e0e519ba80e66206457c83c9029a490d";
    const KEY: &str = "0205273e54f262f8717a687250591dcfb5755b8ce4e3bd340c7abefd0de1276574";
    const TO: &str = "4BAF5faDA8e5Db92C3d3242618c5B47133AE003C";

    /// Returns the eight members that a transaction requires.
    fn valid() -> Map<String, Value> {
        let members = json!({
            "version": 65537, "nonce": 1, "toAddr": TO, "amount": "1000000000000", "pubKey": KEY,
            "gasPrice": "2000000000", "gasLimit": "50", "signature": SIGNATURE,
        });
        members.as_object().unwrap().clone()
    }

    fn read(members: &Map<String, Value>) -> Result<TransactionRequest, TransactionRequestError> {
        TransactionRequest::from_json(&Value::from(members.clone()).to_string())
    }

    fn with(member: &str, value: &Value) -> Map<String, Value> {
        let mut members = valid();
        members.insert(member.to_owned(), value.clone());
        members
    }

    fn accepted(member: &str, value: impl Into<Value>) -> TransactionRequest {
        let value = value.into();
        read(&with(member, &value)).unwrap_or_else(|error| panic!("{member} {value}: {error:?}"))
    }

    const MEMBERS: &str = "Missing components in Json Data Object";
    const UNREADABLE: &str = "Unable to Process";

    /// Returns the faults of each row: an invalid value of a member, or `None` for an absent member.
    fn faults() -> Vec<(&'static str, &'static str, Vec<Option<Value>>)> {
        let some = |values: &[Value]| values.iter().cloned().map(Some).collect::<Vec<_>>();
        let structures = || some(&[json!([]), json!({}), json!(["a"]), json!({"a": 1})]);
        let mut faults: Vec<_> = valid().keys().map(|member| (&*member.clone().leak(), MEMBERS, vec![None])).collect();
        faults.extend([
            ("extra", MEMBERS, some(&[json!(1), json!(null)])),
            ("Priority", MEMBERS, some(&[json!(true)])),
            (
                "nonce",
                "Nonce is not integral",
                some(&[
                    json!("1"),
                    json!(1.5),
                    json!(null),
                    json!(true),
                    json!([1]),
                    json!({}),
                    json!(18_446_744_073_709_551_616_f64),
                ]),
            ),
            (
                "amount",
                "Amount invalid string",
                some(&[
                    json!(1),
                    json!(null),
                    json!("abc"),
                    json!("-1"),
                    json!("1.5"),
                    json!(" 1"),
                    json!("1e3"),
                    json!("08"),
                    json!("0xg"),
                    json!("340282366920938463463374607431768211456"),
                    json!([]),
                    json!({}),
                ]),
            ),
            ("version", "Version not integral", some(&[json!("65537"), json!(1.5), json!(null), json!([65537])])),
            (
                "pubKey",
                "Invalid PubKey Size",
                some(&[
                    json!(""),
                    json!(null),
                    json!(7),
                    json!(true),
                    json!(format!("0x{KEY}")),
                    json!(format!("{KEY}0")),
                    json!(KEY[1..]),
                ]),
            ),
            (
                "signature",
                "Invalid Signature size",
                some(&[json!(""), json!(null), json!(7), json!(format!("0x{SIGNATURE}")), json!(SIGNATURE[1..])]),
            ),
            (
                "toAddr",
                "To Addr checksum wrong",
                some(&[
                    json!(""),
                    json!(null),
                    json!(7),
                    json!(TO.to_lowercase()),
                    json!(TO.to_uppercase()),
                    json!(TO[1..]),
                    json!(format!("{TO}0")),
                    json!(format!("0X{TO}")),
                    json!(format!("0x0x{TO}")),
                    json!("g".repeat(40)),
                    json!("zil1fwh4ltdguhde9s7nysnp33d5wye6uqpugufkz7"),
                    json!(format!("0x{}", &TO[2..])),
                ]),
            ),
            (
                "priority",
                "Priority should be boolean",
                some(&[json!(null), json!(1), json!(0), json!("true"), json!([]), json!({})]),
            ),
            ("version", UNREADABLE, some(&[json!(-1), json!(4_294_967_296_u64), json!(u64::MAX)])),
            ("nonce", UNREADABLE, some(&[json!(-1), json!(i64::MIN)])),
            ("pubKey", UNREADABLE, structures()),
            ("signature", UNREADABLE, structures()),
            ("toAddr", UNREADABLE, structures()),
            ("gasPrice", UNREADABLE, structures()),
            ("gasLimit", UNREADABLE, structures()),
            ("code", UNREADABLE, structures()),
            ("data", UNREADABLE, structures()),
            (
                "gasPrice",
                UNREADABLE,
                some(&[
                    json!("abc"),
                    json!("1.5"),
                    json!(1.5),
                    json!(-1),
                    json!(true),
                    json!("340282366920938463463374607431768211456"),
                ]),
            ),
            (
                "pubKey",
                "Invalid Hex Str for PubKey",
                some(&[json!("g".repeat(66)), json!(format!("0x{}", &KEY[2..])), json!(format!("{}é", &KEY[2..]))]),
            ),
            (
                "signature",
                "Invalid Hex Str for Signature",
                some(&[json!("g".repeat(128)), json!(format!("0x{}", &SIGNATURE[2..]))]),
            ),
        ]);
        faults
    }

    fn spoil(members: &mut Map<String, Value>, member: &str, fault: Option<&Value>) {
        match fault {
            Some(value) => members.insert(member.to_owned(), value.clone()),
            None => members.remove(member),
        };
    }

    #[test]
    fn each_fault_has_its_text() {
        for (member, text, faults) in faults() {
            for fault in faults {
                let mut members = valid();
                spoil(&mut members, member, fault.as_ref());
                let error = read(&members).expect_err(&format!("{member} {fault:?}"));
                assert_eq!(error.to_string(), text, "{member} {fault:?}");
            }
        }
    }

    #[test]
    fn first_of_two_faults_is_reported() {
        let faults = faults();
        let mut pairs = 0;
        for (position, (member, text, first)) in faults.iter().enumerate() {
            for (later, _, second) in &faults[position + 1..] {
                if later == member {
                    continue;
                }
                for first in first {
                    for second in second {
                        let mut members = valid();
                        spoil(&mut members, later, second.as_ref());
                        spoil(&mut members, member, first.as_ref());
                        let error = read(&members).unwrap_err();
                        assert_eq!(error.to_string(), *text, "{member} {first:?}, then {later} {second:?}");
                        pairs += 1;
                    }
                }
            }
        }
        assert!(pairs > 2000);
    }

    #[test]
    fn errors_say_what_came() {
        let error = |member: &str, value: Value| read(&with(member, &value)).unwrap_err();
        assert_eq!(error("nonce", json!("1")), TransactionRequestError::Nonce { got: "\"1\"".to_owned() });
        assert_eq!(error("version", json!(-1)), TransactionRequestError::Range { member: "version", got: -1 });
        assert_eq!(error("code", json!([])), TransactionRequestError::NotText { member: "code" });
        assert_eq!(error("pubKey", json!("ab")), TransactionRequestError::PublicKeySize { got: 2 });
        let long = "x".repeat(100_000);
        assert_eq!(error(&long, json!(1)), TransactionRequestError::Unexpected { member: "x".repeat(64) });
        assert_eq!(
            error("amount", json!(long)),
            TransactionRequestError::Amount { got: format!("\"{}", "x".repeat(63)) }
        );
        let expected = AddressError::Checksum { expected: TO.to_owned(), got: TO.to_lowercase() };
        assert_eq!(error("toAddr", json!(TO.to_lowercase())), TransactionRequestError::Checksum(expected));
    }

    #[test]
    fn json_that_is_no_object_lacks_all_members() {
        for json in ["{}", "[]", "null", "1", "\"text\"", "not json"] {
            let error = TransactionRequest::from_json(json).unwrap_err();
            assert_eq!(error.to_string(), MEMBERS);
        }
    }

    #[test]
    fn json_that_is_no_object_is_no_parameter() {
        for json in ["[]", "null", "1", "\"text\"", "[{}]"] {
            serde_json::from_str::<SubmittedTransaction>(json).unwrap_err();
        }
        let SubmittedTransaction(outcome) = serde_json::from_str("{}").unwrap();
        assert_eq!(outcome, Err(TransactionRequestError::Missing { member: "amount" }));
    }

    #[test]
    fn needed_members_are_enough() {
        let request = read(&valid()).unwrap();
        let expected = UnsignedTransaction {
            version: Version::from_packed(65537),
            nonce: Nonce::new(1),
            to: TO.parse().unwrap(),
            amount: Qa::new(1_000_000_000_000),
            gas_price: GasPrice::new(Qa::new(2_000_000_000)),
            gas_limit: Gas::new(50),
            code: String::new(),
            data: String::new(),
            sender_key: KEY.parse().unwrap(),
        };
        let expected = expected.with_signature(SIGNATURE.parse().unwrap());
        assert_eq!(request, TransactionRequest { transaction: expected, priority: false });
    }

    #[test]
    fn code_and_data_may_be_absent_null_or_empty() {
        let expected = read(&valid()).unwrap();
        for member in ["code", "data"] {
            assert_eq!(accepted(member, json!(null)), expected);
            assert_eq!(accepted(member, json!("")), expected);
        }
        assert_eq!(accepted("code", json!("a\n\"é\"")).transaction.code, "a\n\"é\"");
        assert_eq!(accepted("data", json!("{\"_tag\":\"t\"}")).transaction.data, "{\"_tag\":\"t\"}");
    }

    #[test]
    fn priority_is_a_boolean_if_present() {
        assert!(accepted("priority", json!(true)).priority);
        assert!(!accepted("priority", json!(false)).priority);
    }

    #[test]
    fn integral_numbers_may_be_spelled_with_a_fraction() {
        for spelling in ["65537.0", "6.5537e4", "655370e-1"] {
            let json = Value::from(valid()).to_string().replace("65537", spelling);
            assert_eq!(TransactionRequest::from_json(&json), read(&valid()));
        }
        assert_eq!(accepted("nonce", json!(u64::MAX)).transaction.nonce, Nonce::new(u64::MAX));
        assert_eq!(accepted("nonce", json!(0)).transaction.nonce, Nonce::new(0));
        assert_eq!(accepted("version", json!(u32::MAX)).transaction.version, Version::from_packed(u32::MAX));
    }

    #[test]
    fn amounts_follow_the_rules_of_the_node() {
        let amount = |text: &str| accepted("amount", json!(text)).transaction.amount.get();
        assert_eq!([amount(""), amount("0"), amount("010"), amount("0x10"), amount("10")], [0, 0, 8, 16, 10]);
        assert_eq!(amount("340282366920938463463374607431768211455"), u128::MAX);
    }

    #[test]
    fn gas_price_is_text_or_number() {
        let price = |value: Value| accepted("gasPrice", value).transaction.gas_price.get().get();
        assert_eq!(price(json!("2000000000")), 2_000_000_000);
        assert_eq!(price(json!(2_000_000_000)), 2_000_000_000);
        assert_eq!(price(json!(2e9)), 2_000_000_000);
        assert_eq!(price(json!("0x10")), 16);
        assert_eq!(price(json!(null)), 0);
    }

    #[test]
    fn gas_limit_is_text_or_number_and_never_refused() {
        let limit = |value: Value| accepted("gasLimit", value).transaction.gas_limit.get();
        assert_eq!(limit(json!("50")), 50);
        assert_eq!(limit(json!(50)), 50);
        assert_eq!(limit(json!(50.5)), 50);
        assert_eq!(limit(json!("0x32")), 50);
        assert_eq!(limit(json!("062")), 50);
        for unreadable in [json!("many"), json!(""), json!(null), json!(true)] {
            assert_eq!(limit(unreadable), 0);
        }
        assert_eq!(limit(json!("99999999999999999999")), u64::MAX);
    }

    #[test]
    fn numbers_and_booleans_are_their_own_text() {
        assert_eq!(accepted("code", json!(5)).transaction.code, "5");
        assert_eq!(accepted("data", json!(false)).transaction.data, "false");
    }

    #[test]
    fn recipient_may_have_a_prefix_and_either_checksum() {
        let to = |text: &str| accepted("toAddr", json!(text)).transaction.to;
        assert_eq!(to(&format!("0x{TO}")), to(TO));
        assert_eq!(to("0x0000000000000000000000000000000000000000"), Address::ZERO);
        // The first examples in EIP-55.
        for text in ["52908400098527886E0F7030069857D2E4169EE7", "de709f2102306220921060314715629080e2fb77"] {
            assert_eq!(to(text).to_string(), text.to_lowercase());
        }
        assert_eq!(
            to("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"),
            "5aaeb6053f3e94c9b9a09f33669435e7ef1beaed".parse().unwrap()
        );
    }

    #[test]
    fn checksum_vectors_hold() {
        const VECTORS: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/vectors/addresses.json"));
        const EIP55: [&str; 5] = [
            "4bAf5fada8E5dB92C3D3242618C5b47133ae003c",
            "7587A6D9B4DEF93C9c02475F5854C45eB4D9DAC4",
            "9a65dF55B2668a0f9F5f749267cB351A37e1f3D9",
            "53e909Ae8a481f75C64f75449DcDb010E9a10552",
            "415C337B0ef6BafAEE7669D973603dee91F5E3b4",
        ];
        let vectors: Value = serde_json::from_str(VECTORS).unwrap();
        let (mut valid, mut invalid, mut eip55) = (0, 0, 0);
        for case in vectors["cases"].as_array().unwrap() {
            let check = |text: &Value| with_checksum(text.as_str().unwrap());
            match case["kind"].as_str().unwrap() {
                "checksum" => {
                    assert_eq!(check(&case["checksummed"]).unwrap().to_string(), case["address"], "{case}");
                    valid += 1;
                }
                // The vectors contain only the checksum of Zilliqa. The addresses in `EIP55` have the other checksum.
                "checksum_invalid" if EIP55.iter().any(|text| *text == case["input"]) => {
                    check(&case["input"]).unwrap();
                    eip55 += 1;
                }
                "checksum_invalid" => {
                    assert!(check(&case["input"]).is_err(), "{case}");
                    invalid += 1;
                }
                _ => {}
            }
        }
        assert_eq!((valid, invalid, eip55), (17, 43, EIP55.len()));
    }

    #[test]
    fn last_of_equal_members_counts() {
        let json = Value::from(valid()).to_string().replacen('{', r#"{"nonce":{"a":[1]},"amount":"9","#, 1);
        assert_eq!(TransactionRequest::from_json(&json), read(&valid()));
    }

    #[test]
    fn text_with_a_bad_escape_is_no_text() {
        let json = Value::from(with("code", &json!("ESCAPE"))).to_string().replace("ESCAPE", r"\ud800");
        assert_eq!(TransactionRequest::from_json(&json), Err(TransactionRequestError::NotText { member: "code" }));
    }

    #[test]
    fn vectors_of_requests_give_their_bytes() {
        const VECTORS: &str =
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/vectors/transactions.json"));
        let vectors: Value = serde_json::from_str(VECTORS).unwrap();
        let cases = vectors["cases"].as_array().unwrap();
        assert_eq!(cases.len(), 37);
        for case in cases {
            let request = TransactionRequest::from_json(&case["request"].to_string()).unwrap();
            let transaction = request.transaction;
            assert_eq!(hex::encode(transaction.signing_payload()), case["core_info"], "{}", case["name"]);
            assert_eq!(transaction.hash().to_string(), case["hash"], "{}", case["name"]);
            assert_eq!(transaction.sender().to_string(), case["sender_address"], "{}", case["name"]);
        }
    }

    #[test]
    fn documented_requests_are_read() {
        const EXAMPLES: &str =
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/rpc-examples/CreateTransaction.json"));
        let examples: Value = serde_json::from_str(EXAMPLES).unwrap();
        let examples = examples["examples"].as_array().unwrap();
        assert_eq!(examples.len(), 3);
        for example in examples {
            let params = example["request"]["params"].to_string();
            let [SubmittedTransaction(outcome)] = serde_json::from_str(&params).unwrap();
            outcome.unwrap();
        }
    }

    #[test]
    fn schema_requires_the_needed_members() {
        let schema = SchemaGenerator::default().into_root_schema_for::<SubmittedTransaction>();
        let mut required: Vec<_> = schema.get("required").unwrap().as_array().unwrap().iter().collect();
        required.sort_by_key(ToString::to_string);
        let needed: Vec<_> = valid().keys().cloned().map(Value::from).collect();
        assert_eq!(required, needed.iter().collect::<Vec<_>>());
        let known: Vec<_> = schema.get("properties").unwrap().as_object().unwrap().keys().collect();
        assert_eq!(known.len(), 11);
    }

    proptest! {
        #[test]
        fn requests_of_clients_are_read_back(transaction in any_transaction(), priority: bool) {
            let request = TransactionRequest { transaction, priority };
            let json = serde_json::to_string(&request).unwrap();
            prop_assert_eq!(TransactionRequest::from_json(&json), Ok(request));
        }

        #[test]
        fn arbitrary_members_never_panic(
            members in prop::collection::btree_map(
                prop::sample::select(vec!["version", "nonce", "toAddr", "amount", "pubKey", "gasPrice", "gasLimit",
                    "signature", "code", "data", "priority"]),
                crate::arbitrary::any_json(), 0..11,
            ),
        ) {
            let mut object = valid();
            object.extend(members.into_iter().map(|(name, value)| (name.to_owned(), value)));
            let _ = read(&object);
        }
    }
}
