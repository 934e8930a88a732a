//! The parser of a response of `GetStateProof`. The response comes from a node or a file, and can have any content.

use alloc::{
    borrow::ToOwned,
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use serde_json::{Map, Value};

/// A result of `GetStateProof`: the nodes of two tries, which can be in any order.
///
/// `FromStr` reads the JSON of the result, or of the whole JSON-RPC response. `Deserialize` and `Serialize` have the
/// JSON of the result. A parsed proof proves nothing before its verification.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateProof {
    /// RLP of the nodes of the account trie, from the state root to the account (`accountProof`).
    pub account: Vec<Vec<u8>>,
    /// RLP of the nodes of the contract's storage trie, from its root to the variable (`stateProof`). Empty if the
    /// response has no such list.
    pub state: Vec<Vec<u8>>,
}

/// Reason why a text is not a response of `GetStateProof`.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ResponseError {
    /// The text is not JSON.
    #[error("response: expected JSON: {reason}")]
    Json {
        /// The error of the JSON parser, with its position.
        reason: String,
    },
    /// A value has an unexpected JSON type.
    #[error("{member}: expected {expected}, got {got}")]
    Kind {
        /// Position of the value in the response.
        member: String,
        /// The expected JSON type.
        expected: &'static str,
        /// The actual JSON type.
        got: &'static str,
    },
    /// A required member is missing.
    #[error("{member} is missing")]
    Missing {
        /// Name of the member.
        member: &'static str,
    },
    /// The response has an unknown member.
    #[error("{parent}: expected only members of a proof, got {member:?}")]
    Unknown {
        /// The object that has the unknown member.
        parent: &'static str,
        /// Name of the member.
        member: String,
    },
    /// A trie node is not an even number of hexadecimal digits.
    #[error("{member}: expected an even number of hexadecimal digits, without prefix: {reason}")]
    Hex {
        /// Position of the trie node in the response.
        member: String,
        /// The fault of the digits.
        reason: String,
    },
    /// The response is an error of the node.
    #[error("the node returned no proof: {error}")]
    Refused {
        /// The error of the node, as JSON text.
        error: String,
    },
    /// A trie node is an empty string.
    #[error("{member}: expected hexadecimal digits, got none")]
    Empty {
        /// Position of the trie node in the response.
        member: String,
    },
}

impl FromStr for StateProof {
    type Err = ResponseError;

    /// Parses a response. The text is the whole JSON-RPC response, or only its result.
    fn from_str(text: &str) -> Result<Self, ResponseError> {
        let json = serde_json::from_str(text).map_err(|error| ResponseError::Json { reason: error.to_string() })?;
        let mut object = object("the response", json)?;
        if !["error", "jsonrpc", "result"].iter().any(|member| object.contains_key(*member)) {
            return Self::of_object(object);
        }
        let (error, result) = (object.remove("error"), object.remove("result"));
        only(&object, "the response", &["id", "jsonrpc"])?;
        match (error, result) {
            (None | Some(Value::Null), Some(result)) => Self::of_object(self::object("result", result)?),
            (None | Some(Value::Null), None) => Err(ResponseError::Missing { member: "result" }),
            (Some(error), _) => Err(ResponseError::Refused { error: error.to_string() }),
        }
    }
}

impl StateProof {
    fn of_object(mut object: Map<String, Value>) -> Result<Self, ResponseError> {
        let (account, state) = (object.remove("accountProof"), object.remove("stateProof"));
        only(&object, "the result", &[])?;
        let account = account.ok_or(ResponseError::Missing { member: "accountProof" })?;
        Ok(Self {
            account: nodes("accountProof", account)?,
            state: state.map_or(Ok(Vec::new()), |state| nodes("stateProof", state))?,
        })
    }
}

impl<'de> Deserialize<'de> for StateProof {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::of_object(Map::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl Serialize for StateProof {
    /// Writes the result of `GetStateProof`. An empty list `state` is absent, as in a response.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let nodes = |nodes: &[Vec<u8>]| nodes.iter().map(silica_protocol::hex::encode_upper).collect::<Value>();
        let mut object = Map::from_iter([("accountProof".to_owned(), nodes(&self.account))]);
        if !self.state.is_empty() {
            object.insert("stateProof".to_owned(), nodes(&self.state));
        }
        object.serialize(serializer)
    }
}

fn object(what: &str, json: Value) -> Result<Map<String, Value>, ResponseError> {
    if let Value::Object(object) = json {
        return Ok(object);
    }
    Err(ResponseError::Kind { member: what.to_owned(), expected: "an object", got: kind(&json) })
}

fn only(object: &Map<String, Value>, parent: &'static str, known: &[&str]) -> Result<(), ResponseError> {
    match object.keys().find(|member| !known.contains(&member.as_str())) {
        Some(member) => Err(ResponseError::Unknown { parent, member: member.clone() }),
        None => Ok(()),
    }
}

fn nodes(member: &'static str, json: Value) -> Result<Vec<Vec<u8>>, ResponseError> {
    let Value::Array(nodes) = json else {
        return Err(ResponseError::Kind { member: member.to_owned(), expected: "an array", got: kind(&json) });
    };
    nodes.iter().enumerate().map(|(position, node)| self::node(format!("{member}[{position}]"), node)).collect()
}

fn node(member: String, json: &Value) -> Result<Vec<u8>, ResponseError> {
    match json.as_str() {
        None => Err(ResponseError::Kind { member, expected: "a string", got: kind(json) }),
        Some("") => Err(ResponseError::Empty { member }),
        Some(digits) => silica_protocol::hex::decode(digits)
            .map_err(|error| ResponseError::Hex { member, reason: error.to_string() }),
    }
}

fn kind(json: &Value) -> &'static str {
    match json {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<StateProof, String> {
        text.parse().map_err(|error: ResponseError| error.to_string())
    }

    #[test]
    fn answers_come_alone_or_in_an_envelope() {
        let expected = StateProof { account: vec![vec![0xab, 0xcd]], state: vec![vec![1]] };
        let alone = r#"{"accountProof":["ABcd"],"stateProof":["01"]}"#;
        assert_eq!(read(alone), Ok(expected.clone()));
        assert_eq!(read(&format!(r#"{{"id":"1","jsonrpc":"2.0","result":{alone}}}"#)), Ok(expected.clone()));
        assert_eq!(read(&format!(r#"{{"result":{alone},"error":null}}"#)), Ok(expected));
        assert_eq!(read(r#"{"accountProof":[]}"#), Ok(StateProof::default()));
    }

    #[test]
    fn serde_has_the_json_of_the_result() {
        for (text, state) in [
            (r#"{"accountProof":["ABCD"],"stateProof":["01"]}"#, vec![vec![1]]),
            (r#"{"accountProof":["ABCD"]}"#, vec![]),
        ] {
            let proof: StateProof = serde_json::from_str(text).unwrap();
            assert_eq!(proof, StateProof { account: vec![vec![0xab, 0xcd]], state });
            assert_eq!(serde_json::to_string(&proof).unwrap(), text);
        }
        let error = serde_json::from_str::<StateProof>(r#"{"accountProof":["0xAB"]}"#).unwrap_err().to_string();
        assert!(error.contains("accountProof[0]") && error.contains("without prefix"), "{error}");
    }

    #[test]
    fn rejections_are_reported() {
        let refused =
            r#"{"error":{"code":-5,"data":null,"message":"Address does not exist"},"id":"1","jsonrpc":"2.0"}"#;
        let text = read(refused).unwrap_err();
        assert!(text.contains("-5") && text.contains("Address does not exist"), "{text}");
    }

    #[track_caller]
    fn check(text: &str, words: &[&str]) {
        let error = read(text).unwrap_err();
        for word in words {
            assert!(error.contains(word), "{word} is missing in {error}");
        }
    }

    #[test]
    fn errors_name_what_is_wrong() {
        check("", &["expected JSON", "line 1"]);
        check("proof", &["expected JSON"]);
        check(r#"{"accountProof":["AB"]"#, &["expected JSON", "EOF"]);
        check(r#"{"accountProof":[]} {}"#, &["expected JSON", "trailing"]);
        check(&"[".repeat(100_000), &["expected JSON", "recursion"]);
        check("[]", &["the response", "an object", "an array"]);
        check(r#"{"result":null}"#, &["result", "an object", "null"]);
        check(r#"{"jsonrpc":"2.0"}"#, &["result is missing"]);
        check(r#"{"result":{},"proof":1}"#, &["the response", "\"proof\""]);
        check("{}", &["accountProof is missing"]);
        check(r#"{"stateProof":[]}"#, &["accountProof is missing"]);
        check(r#"{"accountProof":[],"proofs":[]}"#, &["\"proofs\""]);
        check(r#"{"accountProof":{}}"#, &["accountProof", "an array", "an object"]);
        check(r#"{"accountProof":["AB",7]}"#, &["accountProof[1]", "a string", "a number"]);
        check(r#"{"accountProof":["AB","ABC"]}"#, &["accountProof[1]", "even number"]);
        check(r#"{"accountProof":["AB"],"stateProof":["AX"]}"#, &["stateProof[0]", "'X'"]);
        check(r#"{"accountProof":["0xAB"]}"#, &["accountProof[0]", "without prefix"]);
        check(r#"{"accountProof":[""]}"#, &["accountProof[0]", "got none"]);
    }
}
