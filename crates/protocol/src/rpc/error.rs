//! The numeric error codes, each named once, and the error object of a response.

use std::{borrow::Cow, fmt};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::SerializeStruct};
use serde_json::{Value, json};

/// Code of an error, as the C++ node numbers them.
///
/// Which failure gets which code is chosen in `node::rpc::error`; here they only have names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct RpcErrorCode(i32);

impl RpcErrorCode {
    /// The body, or something in it, is not JSON; also stored data that is no JSON (`RPC_PARSE_ERROR`).
    pub const PARSE_ERROR: Self = Self(-32700);
    /// The request lacks its `id` (no name in the node's own list).
    pub const PROCEDURE_IS_METHOD: Self = Self(-32604);
    /// The node failed (`RPC_INTERNAL_ERROR`).
    pub const INTERNAL_ERROR: Self = Self(-32603);
    /// Parameters of the wrong number, type or form (`RPC_INVALID_PARAMS`).
    pub const INVALID_PARAMS: Self = Self(-32602);
    /// No such method (`RPC_METHOD_NOT_FOUND`).
    pub const METHOD_NOT_FOUND: Self = Self(-32601);
    /// The request is malformed, or the method is switched off (`RPC_INVALID_REQUEST`).
    pub const INVALID_REQUEST: Self = Self(-32600);
    /// The node has no time or memory for it just now; also, what was asked for in Ethereum's spelling is not there. Its
    /// clients take the number for "server error".
    pub const SERVER_ERROR: Self = Self(-32000);
    /// Declared by the node, never raised (`RPC_METHOD_DEPRECATED`).
    pub const METHOD_DEPRECATED: Self = Self(-32);
    /// There are no blocks yet (`RPC_IN_WARMUP`).
    pub const IN_WARMUP: Self = Self(-28);
    /// A transaction is refused: chain, version, code size, gas price or signature (`RPC_VERIFY_REJECTED`).
    pub const VERIFY_REJECTED: Self = Self(-26);
    /// Declared by the node, never raised (`RPC_VERIFY_ERROR`).
    pub const VERIFY_ERROR: Self = Self(-25);
    /// Declared by the node, never raised (`RPC_DESERIALIZATION_ERROR`).
    pub const DESERIALIZATION_ERROR: Self = Self(-22);
    /// Not found, or not to be stored (`RPC_DATABASE_ERROR`).
    pub const DATABASE_ERROR: Self = Self(-20);
    /// A parameter or member of a transaction is wrong (`RPC_INVALID_PARAMETER`).
    pub const INVALID_PARAMETER: Self = Self(-8);
    /// Unknown account, not a contract, or bad address (`RPC_INVALID_ADDRESS_OR_KEY`).
    pub const INVALID_ADDRESS_OR_KEY: Self = Self(-5);
    /// Declared by the node, never raised (`RPC_TYPE_ERROR`).
    pub const TYPE_ERROR: Self = Self(-3);
    /// Any other failure (`RPC_MISC_ERROR`).
    pub const MISC_ERROR: Self = Self(-1);

    /// Returns the number.
    pub const fn get(self) -> i32 {
        self.0
    }
}

impl fmt::Display for RpcErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The `error` member of an answer.
///
/// # Examples
///
/// ```
/// use silica_protocol::rpc::error::{RpcError, RpcErrorCode};
/// let error = RpcError::new(RpcErrorCode::INVALID_ADDRESS_OR_KEY, "Account is not created");
/// assert_eq!(serde_json::to_string(&error)?, r#"{"code":-5,"data":null,"message":"Account is not created"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} ({code})")]
pub struct RpcError {
    /// What kind of error.
    pub code: RpcErrorCode,
    /// What went wrong, for people.
    pub message: Cow<'static, str>,
    /// What programs can read of it. In an error that a method raises it is null unless there are details; in one of the
    /// protocol layer, raised before any method ran, it is absent unless there are details.
    pub data: Option<Value>,
}

impl RpcError {
    /// The body is not JSON.
    pub const PARSE_ERROR: Self =
        Self::protocol(RpcErrorCode::PARSE_ERROR, "JSON_PARSE_ERROR: The JSON-Object is not JSON-Valid");
    /// The JSON is not a request.
    pub const INVALID_REQUEST: Self = Self::protocol(
        RpcErrorCode::INVALID_REQUEST,
        "INVALID_JSON_REQUEST: The JSON sent is not a valid JSON-RPC Request object",
    );
    /// There is no such method.
    pub const METHOD_NOT_FOUND: Self = Self::protocol(
        RpcErrorCode::METHOD_NOT_FOUND,
        "METHOD_NOT_FOUND: The method being requested is not available on this server",
    );
    /// The parameters do not fit the method.
    pub const INVALID_PARAMS: Self = Self::protocol(
        RpcErrorCode::INVALID_PARAMS,
        "INVALID_PARAMS: Invalid method parameters (invalid name and/or type) recognised",
    );
    /// The request has no `id`; there are no notifications.
    pub const PROCEDURE_IS_METHOD: Self = Self::protocol(
        RpcErrorCode::PROCEDURE_IS_METHOD,
        "PROCEDURE_IS_METHOD: The requested notification is declared as a method",
    );
    /// The node failed; the details are for the operator only.
    ///
    /// The text ends in a blank because the C++ library appends details there. This node writes them to its log.
    pub const INTERNAL_ERROR: Self = Self::protocol(RpcErrorCode::INTERNAL_ERROR, "INTERNAL_ERROR: ");

    /// Returns the error that a method raises with this code and text.
    pub fn new(code: RpcErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into(), data: Some(Value::Null) }
    }

    /// Returns the error that a method raises with this code and constant text.
    pub const fn from_static(code: RpcErrorCode, message: &'static str) -> Self {
        Self { code, message: Cow::Borrowed(message), data: Some(Value::Null) }
    }

    const fn protocol(code: RpcErrorCode, message: &'static str) -> Self {
        Self { code, message: Cow::Borrowed(message), data: None }
    }

    /// Adds what was expected and what came instead, as members of `data`. Code and message stay as clients know them.
    #[must_use]
    pub fn with_expected(self, expected: impl Into<Value>, got: impl Into<Value>) -> Self {
        let (expected, got): (Value, Value) = (expected.into(), got.into());
        Self { data: Some(json!({ "expected": expected, "got": got })), ..self }
    }

    /// Adds the name that the caller may have meant, as a member of `data`.
    #[must_use]
    pub fn with_suggestion(self, name: &str) -> Self {
        Self { data: Some(json!({ "didYouMean": name })), ..self }
    }
}

impl Serialize for RpcError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let members = if self.data.is_some() { 3 } else { 2 };
        let mut object = serializer.serialize_struct("RpcError", members)?;
        object.serialize_field("code", &self.code)?;
        if let Some(data) = &self.data {
            object.serialize_field("data", data)?;
        }
        object.serialize_field("message", &self.message)?;
        object.end()
    }
}

impl<'de> Deserialize<'de> for RpcError {
    /// Reads the error object of any server.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Object {
            code: RpcErrorCode,
            #[serde(default, deserialize_with = "present")]
            data: Option<Value>,
            message: String,
        }

        /// Null is something else than nothing.
        fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
            Value::deserialize(deserializer).map(Some)
        }

        let Object { code, data, message } = Object::deserialize(deserializer)?;
        Ok(Self { code, message: message.into(), data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(error: &RpcError, expected: &str) {
        assert_eq!(serde_json::to_string(error).unwrap(), expected);
        assert_eq!(&serde_json::from_str::<RpcError>(expected).unwrap(), error);
    }

    #[test]
    fn errors_of_methods_carry_null_data() {
        check(
            &RpcError::new(RpcErrorCode::DATABASE_ERROR, "Txn Hash not Present"),
            r#"{"code":-20,"data":null,"message":"Txn Hash not Present"}"#,
        );
    }

    #[test]
    fn errors_of_the_protocol_carry_no_data() {
        check(
            &RpcError::METHOD_NOT_FOUND,
            r#"{"code":-32601,"message":"METHOD_NOT_FOUND: The method being requested is not available on this server"}"#,
        );
    }

    #[test]
    fn details_are_members_of_data() {
        check(
            &RpcError::new(RpcErrorCode::VERIFY_REJECTED, "CHAIN_ID incorrect").with_expected(222, 1),
            r#"{"code":-26,"data":{"expected":222,"got":1},"message":"CHAIN_ID incorrect"}"#,
        );
        check(
            &RpcError::METHOD_NOT_FOUND.with_suggestion("GetBalance"),
            r#"{"code":-32601,"data":{"didYouMean":"GetBalance"},"message":"METHOD_NOT_FOUND: The method being requested is not available on this server"}"#,
        );
    }

    #[test]
    fn unknown_members_of_an_error_are_noticed() {
        assert!(serde_json::from_str::<RpcError>(r#"{"code":-1,"message":"x","detail":1}"#).is_err());
    }
}
