//! JSON-RPC requests to a node.

use std::time::Duration;

use clap::{Args, value_parser};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, value::RawValue};
use silica_protocol::rpc::{
    envelope::{Id, Response, write_request},
    error::{RpcError, RpcErrorCode},
    text::Dec,
};
use tokio::time::timeout;

use super::{error::ClientError, hide::hide_keys};
use crate::{
    client::{
        http::{Client, HttpError},
        url::NodeUrl,
    },
    terminal::visible,
};

/// Maximum length of the part of a node's error that is printed, in characters.
const REASON: usize = 2_000;
/// Maximum length of the printed part of a response that is not JSON-RPC, in characters.
const EXCERPT: usize = 80;

/// Options for the node and the form of the output.
#[derive(Clone, Debug, Args)]
pub(crate) struct NodeArgs {
    /// URL of the node: http://HOST:PORT or https://HOST:PORT, with or without a path.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:5555", env = "SILICA_URL")]
    pub url: NodeUrl,
    /// Time limit of one request with its connection, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = value_parser!(u64).range(1..=86_400),
          env = "SILICA_TIMEOUT")]
    pub timeout: u64,
    /// Print the output as JSON.
    #[arg(long)]
    pub json: bool,
}

impl NodeArgs {
    pub(super) const fn rpc(&self) -> Rpc<'_> {
        Rpc { url: &self.url, timeout: Duration::from_secs(self.timeout) }
    }
}

/// Sends JSON-RPC requests to a node. Each request has its own connection, because minutes can pass between two
/// requests.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rpc<'a> {
    pub(super) url: &'a NodeUrl,
    pub(super) timeout: Duration,
}

impl Rpc<'_> {
    /// Calls a method, and returns the result or the error in the response.
    pub(super) async fn try_ask(
        &self,
        method: &str,
        params: &(impl Serialize + ?Sized),
    ) -> Result<Result<Box<RawValue>, RpcError>, ClientError> {
        let mut request = Vec::new();
        write_request(&mut request, &Id::from(1), method, params)
            .map_err(|error| ClientError::answer(method, &error))?;
        let outcome = timeout(self.timeout, self.post(&request)).await;
        let answer = outcome.unwrap_or(Err(HttpError::Timeout { limit: self.timeout }));
        let answer = answer.map_err(|source| ClientError::Connection { url: self.url.to_string(), source })?;
        let response = Response::parse(&answer).map_err(|error| {
            let got: String = hide_keys(&answer).chars().take(EXCERPT).collect();
            let url = self.url;
            ClientError::answer(method, &format!("expected JSON-RPC from {url}, got {got:?}: {error}"))
        })?;
        Ok(response.outcome.map(ToOwned::to_owned))
    }

    /// Calls a method, and returns its result. An error in the response becomes [`ClientError::Refused`].
    pub(super) async fn ask(
        &self,
        method: &str,
        params: &(impl Serialize + ?Sized),
    ) -> Result<Box<RawValue>, ClientError> {
        self.try_ask(method, params).await?.map_err(|error| refused(method, &error))
    }

    /// Calls a method, and parses its result as a `T`.
    pub(super) async fn get<T: DeserializeOwned>(
        &self,
        method: &str,
        params: &(impl Serialize + ?Sized),
    ) -> Result<T, ClientError> {
        read(method, &self.ask(method, params).await?)
    }

    /// Calls a method whose result is a number in a string.
    pub(super) async fn figure<T>(&self, method: &str) -> Result<T, ClientError>
    where
        Dec<T>: DeserializeOwned,
    {
        self.get(method, &[""; 0]).await.map(|Dec(figure)| figure)
    }

    async fn post(&self, request: &[u8]) -> Result<String, HttpError> {
        Client::connect(self.url).await?.post(request).await.map(str::to_owned)
    }
}

/// Parses the result of a method as a `T`.
pub(super) fn read<T: DeserializeOwned>(method: &str, answer: &RawValue) -> Result<T, ClientError> {
    serde_json::from_str(answer.get()).map_err(|error| ClientError::answer(method, &error))
}

/// Returns the [`ClientError`] for a request that the node rejected.
pub(super) fn refused(method: &str, error: &RpcError) -> ClientError {
    ClientError::Refused { method: visible(method), reason: reason(error) }
}

/// Returns the error of a node as text without control characters.
pub(super) fn reason(error: &RpcError) -> String {
    let cut = |text: &str| visible(&text.chars().take(REASON).collect::<String>());
    let member = |name| match error.data.as_ref()?.get(name)? {
        Value::String(text) => Some(cut(text)),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    let details = match (member("expected"), member("got")) {
        (Some(expected), Some(got)) => format!(": expected {expected}, got {got}"),
        _ => String::new(),
    };
    format!("{}{details} ({})", cut(&error.message), error.code)
}

/// Returns whether an error means that the account, transaction or block does not exist.
pub(super) fn is_unknown(error: &RpcError) -> bool {
    [RpcErrorCode::DATABASE_ERROR, RpcErrorCode::INVALID_ADDRESS_OR_KEY].contains(&error.code)
}
