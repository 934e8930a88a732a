//! From the bytes of a request body to the bytes of its answer, single and batch.

mod context;
mod document;
mod error;
mod method;
pub(crate) mod openrpc;
pub(crate) mod params;
#[cfg(test)]
mod tests;

use std::time::Duration;

use hyper::body::Bytes;
use serde_json::value::RawValue;
use silica_protocol::rpc::{
    envelope::{Body, Entry, Id, Request, write_error, write_result, write_result_in_parts},
    error::RpcError,
};
use tokio::{sync::Semaphore, task::yield_now, time::timeout};

pub(crate) use self::{
    context::Context,
    document::Document,
    error::CallError,
    method::{Command, METHODS, Method, Streamed},
};
use self::{
    document::{Begun, Rest},
    method::{Action, Call},
};
use crate::{driver::NodeHandle, http::Reply};

/// Requests in one batch. The reference has no limit but that of the body; this one keeps a body of five megabytes
/// that holds nothing but `[1,1,1,…]` from growing into an answer of three hundred.
const BATCH_LIMIT: usize = 50_000;

/// Bytes of an answer after which the rest of a batch is refused.
const ANSWER_LIMIT: usize = 256 << 20;

/// Bytes of the answer to a batch beyond which it is large.
const LARGE_ANSWER: usize = 1 << 20;

/// Batches whose answers become large at once; others wait, with what they have of theirs.
const LARGE_ANSWERS: usize = 2;

/// How long they wait before the rest of them is refused.
const PATIENCE: Duration = Duration::from_secs(30);

/// Requests of a batch after which other connections have their turn.
const TURN: usize = 16;

/// Room for most answers.
const USUAL_ANSWER: usize = 512;

/// The JSON-RPC service: finds the method, calls it, writes its answer.
#[derive(Debug)]
pub(crate) struct Service {
    node: NodeHandle,
    /// Whether methods for developers are answered.
    developer: bool,
    answer_limit: usize,
    /// Held by batches while their answers grow large.
    large: Semaphore,
    patience: Duration,
}

impl Service {
    pub(crate) fn new(node: NodeHandle, developer: bool) -> Self {
        Self { node, developer, answer_limit: ANSWER_LIMIT, large: Semaphore::new(LARGE_ANSWERS), patience: PATIENCE }
    }

    /// Answers the body of a request, single or batch.
    pub(crate) async fn answer(&self, body: Bytes) -> Reply {
        let mut out = Vec::with_capacity(USUAL_ANSWER);
        let rest = match Body::parse(&body, BATCH_LIMIT) {
            Body::Single(entry) => self.answer_entry(&mut out, entry).await,
            Body::Batch(entries) => {
                self.answer_batch(&mut out, entries).await;
                None
            }
        };
        Reply { beginning: out, rest: rest.map(|rest| Box::new(rest) as _) }
    }

    /// Answers one element after the other, since later ones may build on earlier ones.
    async fn answer_batch(&self, out: &mut Vec<u8>, entries: Vec<Entry<'_>>) {
        let (mut limit, mut turn, mut refused) = (self.answer_limit, None, 0_usize);
        for (position, entry) in entries.into_iter().enumerate() {
            if turn.is_none() && refused == 0 && out.len() > LARGE_ANSWER {
                turn = timeout(self.patience, self.large.acquire()).await.ok().and_then(Result::ok);
                limit = if turn.is_some() { limit } else { LARGE_ANSWER };
            }
            out.push(if position == 0 { b'[' } else { b',' });
            match entry {
                Ok(request) if out.len() > limit => {
                    refused += 1;
                    write_error(out, request.id.as_ref().unwrap_or(&Id::NULL), &RpcError::INTERNAL_ERROR);
                }
                entry => self.answer_element(out, entry).await,
            }
            if position % TURN == TURN - 1 {
                yield_now().await;
            }
        }
        if refused > 0 {
            tracing::warn!(limit, refused, "the answer to a batch is too large");
        }
        out.push(b']');
    }

    /// Answers an element of a batch, whole: the answer to a batch is in memory.
    async fn answer_element(&self, out: &mut Vec<u8>, entry: Entry<'_>) {
        let start = out.len();
        let id = entry.as_ref().ok().and_then(|request| request.id.clone());
        if let Some(rest) = self.answer_entry(out, entry).await
            && !rest.append(out, self.answer_limit).await
        {
            tracing::warn!(
                limit = self.answer_limit,
                "a part of the answer to a batch is too large, or was not to be had"
            );
            out.truncate(start);
            write_error(out, id.as_ref().unwrap_or(&Id::NULL), &RpcError::INTERNAL_ERROR);
        }
    }

    /// Writes an answer, or its beginning, and returns the rest.
    async fn answer_entry(&self, out: &mut Vec<u8>, entry: Entry<'_>) -> Option<Rest> {
        match entry {
            Ok(request) => match self.answer_request(out, &request).await {
                Ok(rest) => return rest,
                Err(error) => write_error(out, request.id.as_ref().unwrap_or(&Id::NULL), &error),
            },
            Err(rejection) => write_error(out, &rejection.id, &rejection.error),
        }
        None
    }

    /// Writes the answer to a request, or its beginning, and returns the rest; or the error that is to be written.
    async fn answer_request(&self, out: &mut Vec<u8>, request: &Request<'_>) -> Result<Option<Rest>, RpcError> {
        let row = method::find(&request.method).ok_or_else(|| method::absent(&request.method))?;
        let call = Call { id: request.require_id()?, params: request.params.as_deref(), fields: row.fields };
        if row.for_developers && !self.developer {
            return Err(CallError::DeveloperOff.into_rpc(row.name));
        }
        match row.action {
            Action::Query(query) => query(call, &self.node.context(), out)?,
            Action::PerHead(render) => write_raw(out, call.id, self.node.context().per_head(row.position, render)?)?,
            Action::Later(start) => write_raw(out, call.id, &start(call, self.node.clone())?.await?)?,
            Action::Streamed(begin) => {
                let Begun { text, rest } = begin(call, self.node.clone())?.await?;
                let end = write_result_in_parts(out, call.id, &text);
                match rest {
                    Some(rest) => return Ok(Some(rest.closed_by(end))),
                    None => out.extend_from_slice(end),
                }
            }
        }
        Ok(None)
    }
}

fn write_raw(out: &mut Vec<u8>, id: &Id<'_>, result: &RawValue) -> Result<(), RpcError> {
    write_result(out, id, result).map_err(|_| RpcError::INTERNAL_ERROR)
}

/// Returns the OpenRPC document of the interface, as text.
pub fn openrpc() -> String {
    format!("{:#}", openrpc::document())
}
