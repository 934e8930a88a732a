//! The parser of a response of `GetStateProof`. The response comes from a node or a file, and can have any content.

use serde_json::{Map, Value};

/// The result of `GetStateProof`: the nodes of the account trie and of the storage trie, from the root down.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) account_proof: Vec<Vec<u8>>,
    /// Empty if the response has no list of storage nodes.
    pub(super) state_proof: Vec<Vec<u8>>,
}

/// Reason why a text is not a response of `GetStateProof`.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
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
        reason: hex::FromHexError,
    },
    /// A trie node is an empty string.
    #[error("{member}: expected hexadecimal digits, got none")]
    Empty {
        /// Position of the trie node in the response.
        member: String,
    },
}

/// The content of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    /// The trie nodes of a proof.
    Proof(Answer),
    /// The error of the node, as JSON text.
    Refusal(String),
}

impl Reply {
    /// Parses a response. The text is the whole JSON-RPC response, or only its result.
    pub(super) fn read(text: &str) -> Result<Self, AnswerError> {
        let json = serde_json::from_str(text).map_err(|error| AnswerError::Json { reason: error.to_string() })?;
        let mut object = object("the answer", json)?;
        if !["error", "jsonrpc", "result"].iter().any(|member| object.contains_key(*member)) {
            return Answer::read(object).map(Self::Proof);
        }
        let (error, result) = (object.remove("error"), object.remove("result"));
        only(&object, "the answer", &["id", "jsonrpc"])?;
        match (error, result) {
            (None | Some(Value::Null), Some(result)) => Answer::read(self::object("result", result)?).map(Self::Proof),
            (None | Some(Value::Null), None) => Err(AnswerError::Missing { member: "result" }),
            (Some(error), _) => Ok(Self::Refusal(error.to_string())),
        }
    }
}

impl Answer {
    fn read(mut object: Map<String, Value>) -> Result<Self, AnswerError> {
        let (account, state) = (object.remove("accountProof"), object.remove("stateProof"));
        only(&object, "the result", &[])?;
        let account = account.ok_or(AnswerError::Missing { member: "accountProof" })?;
        Ok(Self {
            account_proof: nodes("accountProof", account)?,
            state_proof: state.map_or(Ok(Vec::new()), |state| nodes("stateProof", state))?,
        })
    }
}

fn object(what: &str, json: Value) -> Result<Map<String, Value>, AnswerError> {
    if let Value::Object(object) = json {
        return Ok(object);
    }
    Err(AnswerError::Kind { member: what.to_owned(), expected: "an object", got: kind(&json) })
}

fn only(object: &Map<String, Value>, parent: &'static str, known: &[&str]) -> Result<(), AnswerError> {
    match object.keys().find(|member| !known.contains(&member.as_str())) {
        Some(member) => Err(AnswerError::Unknown { parent, member: member.clone() }),
        None => Ok(()),
    }
}

fn nodes(member: &'static str, json: Value) -> Result<Vec<Vec<u8>>, AnswerError> {
    let Value::Array(nodes) = json else {
        return Err(AnswerError::Kind { member: member.to_owned(), expected: "an array", got: kind(&json) });
    };
    nodes.iter().enumerate().map(|(position, node)| self::node(format!("{member}[{position}]"), node)).collect()
}

fn node(member: String, json: &Value) -> Result<Vec<u8>, AnswerError> {
    match json.as_str() {
        None => Err(AnswerError::Kind { member, expected: "a string", got: kind(json) }),
        Some("") => Err(AnswerError::Empty { member }),
        Some(digits) => hex::decode(digits).map_err(|reason| AnswerError::Hex { member, reason }),
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

    fn read(text: &str) -> Result<Reply, String> {
        Reply::read(text).map_err(|error| error.to_string())
    }

    #[test]
    fn answers_come_alone_or_in_an_envelope() {
        let expected = Reply::Proof(Answer { account_proof: vec![vec![0xab, 0xcd]], state_proof: vec![vec![1]] });
        let alone = r#"{"accountProof":["ABcd"],"stateProof":["01"]}"#;
        assert_eq!(read(alone), Ok(expected.clone()));
        assert_eq!(read(&format!(r#"{{"id":"1","jsonrpc":"2.0","result":{alone}}}"#)), Ok(expected.clone()));
        assert_eq!(read(&format!(r#"{{"result":{alone},"error":null}}"#)), Ok(expected));
        assert_eq!(read(r#"{"accountProof":[]}"#), Ok(Reply::Proof(Answer::default())));
    }

    #[test]
    fn rejections_are_reported() {
        let refused =
            r#"{"error":{"code":-5,"data":null,"message":"Address does not exist"},"id":"1","jsonrpc":"2.0"}"#;
        let Ok(Reply::Refusal(text)) = read(refused) else { panic!("it is a refusal") };
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
        check("[]", &["the answer", "an object", "an array"]);
        check(r#"{"result":null}"#, &["result", "an object", "null"]);
        check(r#"{"jsonrpc":"2.0"}"#, &["result is missing"]);
        check(r#"{"result":{},"proof":1}"#, &["the answer", "\"proof\""]);
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
