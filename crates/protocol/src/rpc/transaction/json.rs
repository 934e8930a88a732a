//! The JSON text of one signed transaction, for programs that exchange transactions as text.

use alloc::{
    format,
    string::{String, ToString},
};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::{TransactionRequest, TransactionRequestError};
use crate::transaction::Transaction;

/// Reason why text is not the JSON of a signed transaction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TransactionJsonError {
    /// The text is not JSON.
    #[error("transaction is not JSON: {reason}")]
    Json {
        /// The error of the JSON parser.
        reason: String,
    },
    /// A member is absent, unknown or invalid. The inner error has the text that a node returns to clients.
    #[error("{}", description(.0))]
    Member(TransactionRequestError),
}

impl Transaction {
    /// Returns the JSON object that `CreateTransaction` accepts, without priority. [`TransactionRequest`] has a
    /// priority.
    ///
    /// # Examples
    ///
    /// ```
    /// use silica_protocol::{Address, ChainId, PublicKey, Qa, Signature, Transaction};
    /// let payment = Transaction::payment(Address::new([7; 20]), Qa::ZERO).chain_id(ChainId::new(222)).nonce(1);
    /// let payment = payment.build(PublicKey::new([2; 33]))?.with_signature(Signature::new([3; 64]));
    /// let json = payment.to_request_json();
    /// assert_eq!(Transaction::from_request_json(&json)?, payment);
    ///
    /// let error = Transaction::from_request_json(&json.replace("nonce", "once")).unwrap_err();
    /// assert_eq!(error.to_string(), "transaction has no member nonce");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[expect(clippy::missing_panics_doc, reason = "it does not panic")]
    pub fn to_request_json(&self) -> String {
        let request = TransactionRequest { transaction: self.clone(), priority: false };
        serde_json::to_string(&request).expect("the members are texts and numbers")
    }

    /// Reads the JSON object of a signed transaction with the rules of `CreateTransaction`, and ignores the priority.
    /// The function does not verify the signature.
    ///
    /// # Errors
    ///
    /// [`TransactionJsonError`] for the first member that is absent, unknown or invalid.
    pub fn from_request_json(json: &str) -> Result<Self, TransactionJsonError> {
        if let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(json) {
            return Err(TransactionJsonError::Json { reason: error.to_string() });
        }
        TransactionRequest::from_json(json).map(|request| request.transaction).map_err(TransactionJsonError::Member)
    }
}

impl Serialize for Transaction {
    /// Writes the object of [`to_request_json`](Transaction::to_request_json).
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        TransactionRequest { transaction: self.clone(), priority: false }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Transaction {
    /// Reads the object of [`from_request_json`](Transaction::from_request_json).
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = serde_json::Value::deserialize(deserializer)?;
        Self::from_request_json(&json.to_string()).map_err(D::Error::custom)
    }
}

/// Returns the text for a developer, with the member and the value.
fn description(error: &TransactionRequestError) -> String {
    use TransactionRequestError as Error;

    match error {
        Error::Missing { member } => format!("transaction has no member {member}"),
        Error::Unexpected { member } => format!("transaction has the unknown member {member:?}"),
        Error::Nonce { got } => format!("nonce: expected an integral number, got {got}"),
        Error::Amount { got } => format!("amount: expected text with a number below 2^128, got {got}"),
        Error::Version { got } => format!("version: expected an integral number, got {got}"),
        Error::PublicKeySize { got } => format!("pubKey: expected 66 characters, got {got}"),
        Error::SignatureSize { got } => format!("signature: expected 128 characters, got {got}"),
        Error::Checksum(error) => format!("toAddr: {error}"),
        Error::Priority { got } => format!("priority: expected a boolean, got {got}"),
        Error::Range { member, got } => {
            let bits = if *member == "version" { u32::BITS } else { u64::BITS };
            format!("{member}: expected a number from 0 to 2^{bits} - 1, got {got}")
        }
        Error::NotText { member } => format!("{member}: expected text, got an array, an object or an invalid escape"),
        Error::GasPrice { got } => format!("gasPrice: expected a number below 2^128, got {got}"),
        Error::PublicKey(error) => format!("pubKey: {error}"),
        Error::Signature(error) => format!("signature: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Address, ChainId, PublicKey, Qa, Signature};

    #[track_caller]
    fn check(json: &str, expected: &str) {
        assert_eq!(Transaction::from_request_json(json).unwrap_err().to_string(), expected);
    }

    #[test]
    fn serde_has_the_object_of_a_request() {
        let payment = Transaction::payment(Address::new([7; 20]), Qa::MAX).chain_id(ChainId::ISOLATED).nonce(u64::MAX);
        let payment = payment.build(PublicKey::new([2; 33])).unwrap().with_signature(Signature::new([3; 64]));
        let json = serde_json::to_string(&payment).unwrap();
        assert_eq!(json, payment.to_request_json());
        assert_eq!(serde_json::from_str::<Transaction>(&json).unwrap(), payment);
        let error = serde_json::from_str::<Transaction>(&json.replace("nonce", "once")).unwrap_err();
        assert_eq!(error.to_string(), "transaction has no member nonce");
    }

    #[test]
    fn errors_name_the_member() {
        check("{", "transaction is not JSON: EOF while parsing an object at line 1 column 1");
        check("{}", "transaction has no member amount");
        let with = |member: &str, value: &str| {
            let key = "0205273e54f262f8717a687250591dcfb5755b8ce4e3bd340c7abefd0de1276574";
            let mut object = serde_json::json!({
                "version": 65537, "nonce": 1, "toAddr": "0".repeat(40), "amount": "0", "pubKey": key,
                "gasPrice": "1", "gasLimit": "50", "signature": "0".repeat(128),
            });
            object[member] = serde_json::from_str(value).unwrap();
            object.to_string()
        };
        check(&with("nonce", "\"1\""), "nonce: expected an integral number, got \"1\"");
        check(&with("version", "-1"), "version: expected a number from 0 to 2^32 - 1, got -1");
        check(&with("nonce", "-1"), "nonce: expected a number from 0 to 2^64 - 1, got -1");
        check(&with("memo", "1"), "transaction has the unknown member \"memo\"");
        check(&with("pubKey", "\"ab\""), "pubKey: expected 66 characters, got 2");
        check(&with("code", "[]"), "code: expected text, got an array, an object or an invalid escape");
    }
}
