//! The node that is asked.

use std::{io, time::Duration};

use clap::Args;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, value::RawValue};
use silica_protocol::rpc::{
    envelope::{Id, Response, write_request},
    error::{RpcError, RpcErrorCode},
    text::Dec,
};
use tokio::time::timeout;

use super::error::ClientError;
use crate::{
    client::{http::Client, url::NodeUrl},
    terminal::visible,
};

/// How long a node may take for an answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// So much of what a node says of an error is shown.
const REASON: usize = 2_000;

/// Which node, and how its answers are shown.
#[derive(Clone, Debug, Args)]
pub struct NodeArgs {
    /// The node to ask; plain HTTP.
    #[arg(long, value_name = "http://HOST:PORT", default_value = "http://127.0.0.1:5555", env = "SILICA_URL")]
    pub url: NodeUrl,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

impl NodeArgs {
    pub(super) const fn rpc(&self) -> Rpc<'_> {
        Rpc { url: &self.url }
    }
}

/// A node that is spoken to in JSON-RPC, over a connection of its own for each question: minutes may lie between two.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rpc<'a> {
    pub(super) url: &'a NodeUrl,
}

impl Rpc<'_> {
    /// Calls a method, and returns what it answered or the error with which it refused.
    pub(super) async fn try_ask(
        &self,
        method: &str,
        params: &(impl Serialize + ?Sized),
    ) -> Result<Result<Box<RawValue>, RpcError>, ClientError> {
        let mut request = Vec::new();
        write_request(&mut request, &Id::from(1), method, params)
            .map_err(|error| ClientError::answer(method, &error))?;
        let answer = match timeout(PATIENCE, self.post(&request)).await {
            Ok(answer) => answer,
            Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, format!("no answer within {PATIENCE:?}"))),
        };
        let answer = answer.map_err(|source| ClientError::Connection { url: self.url.to_string(), source })?;
        let response = Response::parse(&answer).map_err(|error| ClientError::answer(method, &error))?;
        Ok(response.outcome.map(ToOwned::to_owned))
    }

    /// Calls a method that should not refuse.
    pub(super) async fn ask(
        &self,
        method: &str,
        params: &(impl Serialize + ?Sized),
    ) -> Result<Box<RawValue>, ClientError> {
        self.try_ask(method, params).await?.map_err(|error| refused(method, &error))
    }

    /// Calls a method, and reads what it answered.
    pub(super) async fn get<T: DeserializeOwned>(
        &self,
        method: &str,
        params: &(impl Serialize + ?Sized),
    ) -> Result<T, ClientError> {
        read(method, &self.ask(method, params).await?)
    }

    /// Calls a method that answers with a number as text.
    pub(super) async fn figure<T>(&self, method: &str) -> Result<T, ClientError>
    where
        Dec<T>: DeserializeOwned,
    {
        self.get(method, &[""; 0]).await.map(|Dec(figure)| figure)
    }

    async fn post(&self, request: &[u8]) -> io::Result<String> {
        let NodeUrl { host, port, path } = self.url;
        let name = format!("{host}:{port}");
        let mut client = Client::connect((host.trim_matches(['[', ']']), *port), &name, path).await?;
        client.post(request).await.map(str::to_owned)
    }
}

/// Reads what a method answered.
pub(super) fn read<T: DeserializeOwned>(method: &str, answer: &RawValue) -> Result<T, ClientError> {
    serde_json::from_str(answer.get()).map_err(|error| ClientError::answer(method, &error))
}

/// The error for what a node refused.
pub(super) fn refused(method: &str, error: &RpcError) -> ClientError {
    ClientError::Refused { method: visible(method), reason: reason(error) }
}

/// What a node says of an error, as it can be shown.
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

/// Whether an error says that the node has no such account, transaction or block.
pub(super) fn is_unknown(error: &RpcError) -> bool {
    [RpcErrorCode::DATABASE_ERROR, RpcErrorCode::INVALID_ADDRESS_OR_KEY].contains(&error.code)
}
