//! The error codes, and the error object of a response.

use alloc::{borrow::Cow, string::String};
use core::fmt;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::SerializeStruct};
use serde_json::{Value, json};

/// An error code of a response.
///
/// The crate `silica-node` chooses the code of each failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(transparent)]
#[cfg_attr(feature = "schema", schemars(inline))]
pub struct RpcErrorCode(i32);

impl RpcErrorCode {
    /// The body or a JSON text in it is not JSON, or stored data are not JSON (`RPC_PARSE_ERROR`).
    pub const PARSE_ERROR: Self = Self(-32700);
    /// The request has no `id`. The C++ node has no name for this code.
    pub const PROCEDURE_IS_METHOD: Self = Self(-32604);
    /// The node failed (`RPC_INTERNAL_ERROR`).
    pub const INTERNAL_ERROR: Self = Self(-32603);
    /// The number, type or form of the parameters is wrong (`RPC_INVALID_PARAMS`).
    pub const INVALID_PARAMS: Self = Self(-32602);
    /// The method does not exist (`RPC_METHOD_NOT_FOUND`).
    pub const METHOD_NOT_FOUND: Self = Self(-32601);
    /// The request is malformed, or the method is disabled (`RPC_INVALID_REQUEST`).
    pub const INVALID_REQUEST: Self = Self(-32600);
    /// The node has no resources left for the request. Methods of Ethereum also return this code for a block or state
    /// that the node does not have. Ethereum clients call this code "server error".
    pub const SERVER_ERROR: Self = Self(-32000);
    /// A request for logs of Ethereum exceeds a limit. Ethereum clients call this code "limit exceeded".
    pub const LIMIT_EXCEEDED: Self = Self(-32005);
    /// The C++ node declares this code, and never returns it (`RPC_METHOD_DEPRECATED`).
    pub const METHOD_DEPRECATED: Self = Self(-32);
    /// The C++ node has no blocks to return (`RPC_IN_WARMUP`). Silica never returns this code.
    pub const IN_WARMUP: Self = Self(-28);
    /// Admission rejects a transaction for its chain id, version, code size, gas price or signature
    /// (`RPC_VERIFY_REJECTED`).
    pub const VERIFY_REJECTED: Self = Self(-26);
    /// The C++ node declares this code, and never returns it (`RPC_VERIFY_ERROR`).
    pub const VERIFY_ERROR: Self = Self(-25);
    /// The C++ node declares this code, and never returns it (`RPC_DESERIALIZATION_ERROR`).
    pub const DESERIALIZATION_ERROR: Self = Self(-22);
    /// A transaction or proof does not exist, or the pool is full (`RPC_DATABASE_ERROR`).
    pub const DATABASE_ERROR: Self = Self(-20);
    /// A parameter, or a member of a transaction, is invalid (`RPC_INVALID_PARAMETER`).
    pub const INVALID_PARAMETER: Self = Self(-8);
    /// The account does not exist or is not a contract, or the address is invalid (`RPC_INVALID_ADDRESS_OR_KEY`).
    pub const INVALID_ADDRESS_OR_KEY: Self = Self(-5);
    /// The C++ node declares this code, and never returns it (`RPC_TYPE_ERROR`).
    pub const TYPE_ERROR: Self = Self(-3);
    /// Any other failure (`RPC_MISC_ERROR`).
    pub const MISC_ERROR: Self = Self(-1);

    /// Returns the code as a number.
    pub const fn get(self) -> i32 {
        self.0
    }
}

impl fmt::Display for RpcErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The `error` member of a response.
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
    /// The code of the error, which clients compare.
    pub code: RpcErrorCode,
    /// A description for people.
    pub message: Cow<'static, str>,
    /// Details for programs. Without details, an error of a method has null, and an error of the protocol layer has no
    /// `data`.
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
    /// The method does not exist.
    pub const METHOD_NOT_FOUND: Self = Self::protocol(
        RpcErrorCode::METHOD_NOT_FOUND,
        "METHOD_NOT_FOUND: The method being requested is not available on this server",
    );
    /// The parameters do not fit the method.
    pub const INVALID_PARAMS: Self = Self::protocol(
        RpcErrorCode::INVALID_PARAMS,
        "INVALID_PARAMS: Invalid method parameters (invalid name and/or type) recognised",
    );
    /// The request has no `id`. The server accepts no notifications.
    pub const PROCEDURE_IS_METHOD: Self = Self::protocol(
        RpcErrorCode::PROCEDURE_IS_METHOD,
        "PROCEDURE_IS_METHOD: The requested notification is declared as a method",
    );
    /// The node failed. The details are in the log of the node.
    ///
    /// The text ends with a blank, because the C++ library appends the details.
    pub const INTERNAL_ERROR: Self = Self::protocol(RpcErrorCode::INTERNAL_ERROR, "INTERNAL_ERROR: ");

    /// Returns an error of a method, with null as `data`.
    pub fn new(code: RpcErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into(), data: Some(Value::Null) }
    }

    /// Returns an error of a method with a constant text, and with null as `data`.
    pub const fn from_static(code: RpcErrorCode, message: &'static str) -> Self {
        Self { code, message: Cow::Borrowed(message), data: Some(Value::Null) }
    }

    const fn protocol(code: RpcErrorCode, message: &'static str) -> Self {
        Self { code, message: Cow::Borrowed(message), data: None }
    }

    /// Replaces `data` with an object of the members `expected` and `got`. Code and message do not change, because
    /// clients compare them.
    #[must_use]
    pub fn with_expected(self, expected: impl Into<Value>, got: impl Into<Value>) -> Self {
        let (expected, got): (Value, Value) = (expected.into(), got.into());
        Self { data: Some(json!({ "expected": expected, "got": got })), ..self }
    }

    /// Replaces `data` with an object that suggests `name` in its member `didYouMean`.
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
    /// Reads the error object of a server. `data` can be absent.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Object {
            code: RpcErrorCode,
            #[serde(default, deserialize_with = "present")]
            data: Option<Value>,
            message: String,
        }

        /// Returns `Some` for null, which differs from an absent member.
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
