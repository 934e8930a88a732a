//! From the bytes of a request body to the bytes of its answer, single and batch.

mod context;
mod document;
mod error;
mod method;
pub(crate) mod openrpc;
pub(crate) mod params;
mod selection;
#[cfg(test)]
mod tests;

use std::{
    num::NonZeroU32,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use hyper::body::Bytes;
use serde_json::value::RawValue;
use silica_protocol::rpc::{
    envelope::{Body, Entry, Id, Request, write_error, write_result_in_parts},
    error::{RpcError, RpcErrorCode},
};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    task::yield_now,
    time::timeout,
};

pub(crate) use self::{
    context::Context,
    document::Document,
    error::CallError,
    method::{AboutTransaction, Command, METHODS, Method, Streamed, similar},
};
use self::{
    document::{Begun, Rest},
    method::{Action, Call, Row},
};
use crate::{
    driver::NodeHandle,
    http::{self, Allowance, Answered, Caller, Foreign, Refusal, Reply},
    metrics::Metrics,
};

pub use self::selection::{MethodList, MethodListError};

/// Which methods a node answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Offer {
    /// Whether it answers those for developers.
    pub(crate) developer: bool,
    /// Those that the operator has listed; `None` for all.
    pub(crate) methods: Option<MethodList>,
}

/// Bounds on what one request may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RpcLimits {
    /// Requests in one batch. The reference has no limit but that of the body; this one keeps a body of five megabytes
    /// that holds nothing but `[1,1,1,…]` from growing into an answer of three hundred.
    pub batch: usize,
    /// Bytes of the answer to a batch after which the rest of it is refused. A single answer has a bound of its own if it is
    /// made as a whole, and none if it is sent as it is made.
    pub batch_answer_bytes: usize,
}

impl Default for RpcLimits {
    fn default() -> Self {
        Self { batch: 50_000, batch_answer_bytes: 256 << 20 }
    }
}

/// Bytes of an answer that is made as a whole and of no batch.
const WHOLE_LIMIT: usize = 64 << 20;

/// Bytes of the answer to a batch beyond which it is large.
const LARGE_ANSWER: usize = 1 << 20;

/// Batches whose answers become large at once; others wait, with what they have of theirs.
const LARGE_ANSWERS: usize = 2;

/// How long they wait before the rest of them is refused.
const PATIENCE: Duration = Duration::from_secs(30);

/// Requests of a batch, and bytes of its answer, after which other connections have their turn.
const TURN: usize = 16;
const TURN_BYTES: usize = 64 << 10;

/// Room for most answers, for short ones, of which batches are made, and for what most have around their results.
const USUAL_ANSWER: usize = 1024;
const SHORT_ANSWER: usize = 128;
const USUAL_ENVELOPE: usize = 64;

/// The JSON-RPC service: finds the method, calls it, writes its answer.
#[derive(Debug)]
pub(crate) struct Service {
    node: NodeHandle,
    /// Whether methods for developers are answered.
    developer: bool,
    /// Whether the method of each row is answered; `None` for all.
    listed: Option<Box<[bool]>>,
    /// Whether a foreign caller has called one.
    foreign_seen: AtomicBool,
    whole_limit: usize,
    limits: RpcLimits,
    metrics: Arc<Metrics>,
    /// Held by batches while their answers grow large.
    large: Semaphore,
    patience: Duration,
}

impl Service {
    pub(crate) fn new(node: NodeHandle, offer: Offer, limits: RpcLimits, metrics: Arc<Metrics>) -> Self {
        let (whole_limit, large) = (WHOLE_LIMIT, Semaphore::new(LARGE_ANSWERS));
        let Offer { developer, methods } = offer;
        let (listed, foreign_seen) = (methods.map(|methods| methods.select()), AtomicBool::new(false));
        Self { node, developer, listed, foreign_seen, whole_limit, limits, metrics, large, patience: PATIENCE }
    }

    /// Answers the body of a request, single or batch, whose caller has paid for so many units of its first call.
    pub(crate) async fn answer(&self, body: Bytes, caller: &Caller, paid: u32) -> Answered {
        let mut out = Vec::with_capacity(USUAL_ANSWER);
        let mut request = Permit { foreign: caller.foreign(), allowance: caller.allowance(paid) };
        let rest = match Body::parse(&body, self.limits.batch) {
            Body::Single(entry) => self.answer_entry(&mut out, &entry, &mut request).await,
            Body::Batch(entries) => {
                // On its own, so that a single request does not carry the room for a batch about.
                Box::pin(self.answer_batch(&mut out, &entries, &mut request)).await;
                None
            }
        };
        let reply = Reply { beginning: out, rest: rest.map(|rest| Box::new(rest) as _) };
        Answered { reply, wait: request.allowance.wait_for_first() }
    }

    /// The answer to a body whose own answer is not to be had, since there is no memory for it.
    pub(crate) fn decline(&self, body: &[u8], reason: &'static str) -> Vec<u8> {
        let id = match Body::parse(body, self.limits.batch) {
            Body::Single(Ok(Request { id: Some(id), .. })) => id,
            Body::Single(_) | Body::Batch(_) => Id::NULL,
        };
        let mut out = Vec::new();
        write_error(&mut out, &id, &RpcError::new(RpcErrorCode::MISC_ERROR, reason));
        out
    }

    /// The answer to a body that was not taken, or whose answer is not to be had. Its id is not known, as nobody has read it.
    pub(crate) fn refuse_body(refusal: Refusal, text: &str) -> Vec<u8> {
        let code = match refusal {
            Refusal::Encoded | Refusal::TooLarge | Refusal::Transferred | Refusal::Unreadable => {
                RpcErrorCode::INVALID_REQUEST
            }
            Refusal::TooOften | Refusal::NoMemory => RpcErrorCode::SERVER_ERROR,
        };
        let mut out = Vec::new();
        write_error(&mut out, &Id::NULL, &RpcError::new(code, text.to_owned()));
        out
    }

    /// Answers one element after the other, since later ones may build on earlier ones.
    async fn answer_batch(&self, out: &mut Vec<u8>, entries: &[Entry<'_>], permit: &mut Permit<'_>) {
        out.reserve(entries.len().saturating_mul(SHORT_ANSWER).min(LARGE_ANSWER));
        let mut growth = Growth { limit: self.limits.batch_answer_bytes, turn: None, decided: false };
        let (mut yielded, mut refused) = (0, 0_usize);
        for (position, entry) in entries.iter().enumerate() {
            if out.len() > LARGE_ANSWER {
                self.grow(&mut growth).await;
            }
            out.push(if position == 0 { b'[' } else { b',' });
            match entry {
                Ok(request) if out.len() > growth.limit => {
                    refused += 1;
                    write_error(out, request.id.as_ref().unwrap_or(&Id::NULL), &RpcError::INTERNAL_ERROR);
                }
                entry => self.answer_element(out, entry, permit, &mut growth).await,
            }
            if position % TURN == TURN - 1 || out.len().saturating_sub(yielded) > TURN_BYTES {
                yielded = out.len();
                yield_now().await;
            }
        }
        if refused > 0 {
            tracing::warn!(limit = growth.limit, refused, "the answer to a batch is too large");
        }
        out.push(b']');
    }

    /// Waits until the answer to a batch may grow large, or decides that it may not.
    async fn grow<'a>(&'a self, growth: &mut Growth<'a>) {
        if !std::mem::replace(&mut growth.decided, true) {
            growth.turn = timeout(self.patience, self.large.acquire()).await.ok().and_then(Result::ok);
            growth.limit = if growth.turn.is_some() { growth.limit } else { LARGE_ANSWER };
        }
    }

    /// Answers an element of a batch, whole: the answer to a batch is in memory.
    async fn answer_element<'a>(
        &'a self,
        out: &mut Vec<u8>,
        entry: &Entry<'_>,
        permit: &mut Permit<'_>,
        growth: &mut Growth<'a>,
    ) {
        let start = out.len();
        let Some(rest) = self.answer_entry(out, entry, permit).await else { return };
        self.grow(growth).await;
        if !rest.append(out, growth.limit).await {
            tracing::warn!(limit = growth.limit, "a part of the answer to a batch is too large, or was not to be had");
            out.truncate(start);
            let id = entry.as_ref().ok().and_then(|request| request.id.as_ref());
            write_error(out, id.unwrap_or(&Id::NULL), &RpcError::INTERNAL_ERROR);
        }
    }

    /// Writes an answer, or its beginning, and returns the rest.
    async fn answer_entry(&self, out: &mut Vec<u8>, entry: &Entry<'_>, permit: &mut Permit<'_>) -> Option<Rest> {
        match entry {
            Ok(request) => match self.answer_request(out, request, permit).await {
                Ok(rest) => return rest,
                Err(error) => self.refuse(out, request.id.as_ref().unwrap_or(&Id::NULL), &error),
            },
            Err(rejection) => match permit.charge(NonZeroU32::MIN) {
                Ok(()) => self.refuse(out, &rejection.id, &rejection.error),
                Err(error) => self.refuse(out, &rejection.id, &error),
            },
        }
        None
    }

    fn refuse(&self, out: &mut Vec<u8>, id: &Id<'_>, error: &RpcError) {
        self.metrics.failed(error.code);
        write_error(out, id, error);
    }

    /// Writes the answer to a request, or its beginning, and returns the rest; or the error that is to be written.
    async fn answer_request(
        &self,
        out: &mut Vec<u8>,
        request: &Request<'_>,
        permit: &mut Permit<'_>,
    ) -> Result<Option<Rest>, RpcError> {
        let row = method::find(&request.method);
        permit.charge(row.map_or(NonZeroU32::MIN, |row| row.weight))?;
        let row = row.ok_or_else(|| method::absent(&request.method))?;
        if !self.listed.as_ref().is_none_or(|listed| listed.get(row.position) == Some(&true)) {
            return Err(CallError::NotListed.into_rpc(row.name));
        }
        let call = Call { id: request.require_id()?, params: request.params.as_deref(), fields: row.fields };
        if row.for_developers {
            self.check_developer(permit.foreign).map_err(|error| error.into_rpc(row.name))?;
        }
        let begun = Instant::now();
        let outcome = self.act(out, row, call).await;
        self.metrics.called(row.position, begun.elapsed());
        outcome
    }

    /// Checks that the caller may call methods for developers.
    fn check_developer(&self, foreign: Option<&Foreign>) -> Result<(), CallError> {
        if !self.developer {
            return Err(CallError::DeveloperOff);
        }
        let Some(foreign) = foreign else { return Ok(()) };
        if self.foreign_seen.swap(true, Relaxed) {
            tracing::debug!(%foreign, "a call of a method for developers was refused");
        } else {
            tracing::warn!(%foreign, "a call of a method for developers was refused; further ones are logged as debug");
        }
        Err(CallError::Foreign(foreign.clone()))
    }

    async fn act(&self, out: &mut Vec<u8>, row: &Row, call: Call<'_>) -> Result<Option<Rest>, RpcError> {
        let start = out.len();
        match row.action {
            Action::Query(query) => query(call, &self.node.context(), out)?,
            Action::Weighed(weigh) => {
                if let Some(later) = weigh(call, &self.node, out)? {
                    write_raw(out, call.id, &later.await?);
                }
            }
            Action::PerHead(render) => write_raw(out, call.id, self.node.context().per_head(row.position, render)?),
            Action::Later(start) => write_raw(out, call.id, &start(call, self.node.clone())?.await?),
            Action::Streamed(begin) => {
                let Begun { text, rest } = begin(call, self.node.clone())?.await?;
                let end = write_result_in_parts(out, call.id, &text);
                match rest {
                    Some(rest) => return Ok(Some(rest.closed_by(end))),
                    None => out.extend_from_slice(end),
                }
            }
        }
        if out.len().saturating_sub(start) > self.whole_limit {
            out.truncate(start);
            out.shrink_to_fit();
            return Err(CallError::AnswerTooLarge { most: self.whole_limit }.into_rpc(row.name));
        }
        Ok(None)
    }
}

/// Whether a body is a well-formed request, or a batch.
pub(crate) fn is_request(body: &[u8]) -> bool {
    matches!(Body::parse(body, 1), Body::Single(Ok(_)) | Body::Batch(_))
}

/// What the caller of a request may do.
struct Permit<'a> {
    /// Why it may call no method for developers.
    foreign: Option<&'a Foreign>,
    allowance: Allowance<'a>,
}

impl Permit<'_> {
    fn charge(&mut self, weight: NonZeroU32) -> Result<(), RpcError> {
        let charged = self.allowance.charge(weight);
        charged.map_err(|wait| RpcError::new(RpcErrorCode::SERVER_ERROR, too_often(wait)))
    }
}

/// The text for a call beyond what its client may make.
pub(crate) fn too_often(wait: Duration) -> String {
    format!("too many calls, try again in {} s", http::whole_seconds(wait))
}

/// How large the answer to a batch may become.
struct Growth<'a> {
    limit: usize,
    turn: Option<SemaphorePermit<'a>>,
    /// Whether it has asked for its turn.
    decided: bool,
}

fn write_raw(out: &mut Vec<u8>, id: &Id<'_>, result: &RawValue) {
    let text = result.get().as_bytes();
    out.reserve(text.len().saturating_add(USUAL_ENVELOPE));
    let end = write_result_in_parts(out, id, text);
    out.extend_from_slice(end);
}

/// Returns the OpenRPC document of the interface, as text.
pub fn openrpc() -> String {
    format!("{:#}", openrpc::document())
}
