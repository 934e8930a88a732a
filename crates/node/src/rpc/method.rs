//! The traits of methods.
//!
//! A method is a struct: its fields are its parameters, its doc comment is its description in the OpenRPC document, and
//! `call`, `run` or `begin` is its body. An [`Entry`](super::Entry) of the method table makes it callable.

use std::future::Future;

use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use silica_protocol::TxHash;
use silica_state::FoundTransaction;

use super::{chunked::ChunkedResult, error::CallError};
use crate::{driver::NodeHandle, head::Context, log_filter::EthSubscriptions};

/// A query whose result depends on one head of the chain only.
pub(crate) trait Method: DeserializeOwned + JsonSchema {
    /// Name on the wire.
    const NAME: &'static str;
    /// Other names under which clients call the method.
    const ALIASES: &'static [&'static str] = &[];
    /// Type of the result.
    type Output: Serialize + JsonSchema;

    /// Computes the result.
    fn call(self, at: &Context) -> Result<Self::Output, CallError>;
}

/// A query about one transaction. The receipt of the transaction can have several megabytes. The hash of the
/// transaction is the only parameter of the query.
pub(crate) trait TransactionQuery: DeserializeOwned + JsonSchema {
    /// Name on the wire.
    const NAME: &'static str;
    /// Whether the result depends only on the transaction. The node then caches the text of the result. All queries
    /// with the value `true` share this text, so they must have the same result.
    const IS_CACHED: bool = false;
    /// Type of the result.
    type Output: Serialize + JsonSchema;

    /// Returns the hash of the transaction.
    fn hash(self) -> Result<TxHash, CallError>;

    /// Computes the result from the stored transaction.
    fn answer(found: &FoundTransaction, at: &Context) -> Result<Self::Output, CallError>;
}

/// A method with an asynchronous body. For example, the body waits for a new block.
pub(crate) trait Command: DeserializeOwned + JsonSchema + Send + 'static {
    /// Name on the wire.
    const NAME: &'static str;
    /// Type of the result.
    type Output: Serialize + JsonSchema;

    /// Runs the command and returns the result.
    fn run(self, node: &NodeHandle) -> impl Future<Output = Result<Self::Output, CallError>> + Send;
}

/// A method that reads or changes the subscriptions of a WebSocket session. Over HTTP, a call returns an error.
pub(crate) trait SessionMethod: DeserializeOwned + JsonSchema {
    /// Name on the wire.
    const NAME: &'static str;
    /// Type of the result.
    type Output: Serialize + JsonSchema;

    /// Computes the result.
    fn run(self, session: &EthSubscriptions, node: &NodeHandle) -> Result<Self::Output, CallError>;
}

/// A query whose result can be larger than memory permits. The node writes the result in chunks.
pub(crate) trait Streamed: DeserializeOwned + JsonSchema + Send + 'static {
    /// Name on the wire.
    const NAME: &'static str;
    /// Type of the result.
    type Output: JsonSchema;

    /// Makes the first chunk of the result.
    fn begin(self, at: &Context) -> Result<ChunkedResult, CallError>;
}
