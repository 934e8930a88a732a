//! Calls of JSON-RPC methods in the process of the node.

use serde::{Serialize, de::DeserializeOwned};
use silica_protocol::rpc::{
    envelope::{Id, Response, write_request},
    error::RpcError,
};

use crate::{endpoint::Endpoint, http::HttpLimits};

/// Reason why [`RunningNode::request`](super::RunningNode::request) returns no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The parameters have no JSON form.
    #[error("the parameters cannot be written as JSON")]
    Params(#[source] serde_json::Error),
    /// The method returned an error.
    #[error("{method} failed: {error}")]
    Rpc {
        /// The method.
        method: String,
        /// The error in the response.
        error: RpcError,
    },
    /// The result does not have the form of the requested type.
    #[error("{method}: the result does not have the expected form, got {got}")]
    Result {
        /// The method.
        method: String,
        /// The first 200 characters of the result as JSON text, or of a response that is not valid.
        got: String,
        /// The fault.
        source: serde_json::Error,
    },
    /// The node has stopped, or the response exceeds the memory budget.
    #[error("no response: the node has stopped, or the response exceeds the memory budget of HttpLimits")]
    NoResponse,
}

/// Number of characters of a result in an error text.
const SHOWN: usize = 200;

pub(super) async fn request<T: DeserializeOwned>(
    endpoint: &Endpoint,
    limits: HttpLimits,
    method: &str,
    params: &(impl Serialize + ?Sized),
) -> Result<T, RequestError> {
    let mut body = Vec::new();
    write_request(&mut body, &Id::from(1), method, params).map_err(RequestError::Params)?;
    let response = endpoint.answer_local(body, limits).await.ok_or(RequestError::NoResponse)?;
    let text = String::from_utf8_lossy(&response);
    let unfit = |got: &str, source| RequestError::Result {
        method: method.to_owned(),
        got: got.chars().take(SHOWN).collect(),
        source,
    };
    let outcome = Response::parse(&text).map_err(|source| unfit(&text, source))?.outcome;
    let result = outcome.map_err(|error| RequestError::Rpc { method: method.to_owned(), error })?;
    serde_json::from_str(result.get()).map_err(|source| unfit(result.get(), source))
}
