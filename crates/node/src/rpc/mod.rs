//! The JSON-RPC service. It computes the response to a request body, which has a single request or a batch.

mod chunked;
mod dispatch;
mod entry;
mod error;
mod growth;
mod method;
mod openrpc;
pub(crate) mod params;
mod table;
#[cfg(test)]
pub(crate) mod tests;

use std::{
    num::NonZeroU32,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use hyper::body::Bytes;
use serde_json::value::RawValue;
use silica_protocol::rpc::{
    envelope::{self, Body, Id, Request, write_error, write_result_in_parts},
    error::{RpcError, RpcErrorCode},
};
use tokio::{sync::Semaphore, task::yield_now};

pub(crate) use self::{
    chunked::{ChunkedResult, RESULT_CHUNK},
    entry::{Action, Entry, Shape},
    error::{CallError, HashErrors},
    method::{Command, Method, SessionMethod, Streamed, TransactionQuery},
    openrpc::document_of,
    table::MethodTable,
};
use self::{
    dispatch::Call,
    growth::{Growth, LARGE_ANSWERS, PATIENCE},
    table::Row,
};
use crate::{
    driver::NodeHandle,
    head::Context,
    http::{self, Allowance, Answered, Caller, Foreign, Mark, Memory, RejectReason, Reply, SMALL_RESPONSE, Text},
    log_filter::EthSubscriptions,
    metrics::Metrics,
};

/// The methods that a service offers.
#[derive(Clone, Debug)]
pub(crate) struct Offer {
    /// All methods.
    pub(crate) table: &'static MethodTable,
    /// Whether the service offers methods for developers.
    pub(crate) developer: bool,
    /// Whether the node is a member of a network, which has no methods for developers.
    pub(crate) is_member: bool,
    /// For each position of the table, whether the service offers the method; `None` if it offers all methods.
    pub(crate) listed: Option<Box<[bool]>>,
}

/// Bounds on the calls in one request body, and on their responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RpcLimits {
    /// Maximum number of calls in one batch. The reference limits only the size of the body.
    pub batch: usize,
    /// Maximum size of the response to a batch, in bytes. The node rejects the calls whose results do not fit.
    pub batch_answer_bytes: usize,
    /// Maximum size of the response to one call, in bytes. A response with several chunks has no such limit.
    pub answer_bytes: usize,
}

impl Default for RpcLimits {
    fn default() -> Self {
        Self { batch: 1_000, batch_answer_bytes: 25 << 20, answer_bytes: 32 << 20 }
    }
}

/// Time after which the task of a batch yields to other connections.
const TURN: Duration = Duration::from_micros(200);
/// Number of bytes of the response to a batch after which the task yields to other connections.
const TURN_BYTES: usize = 64 << 10;

/// Initial capacity for the response to a single request, in bytes.
const USUAL_ANSWER: usize = 1024;
/// Initial capacity for each response in a batch, in bytes.
const SHORT_ANSWER: usize = 128;

/// The JSON-RPC service: finds the method, calls it, and writes the response.
#[derive(Debug)]
pub(crate) struct Service {
    node: NodeHandle,
    offer: Offer,
    /// The OpenRPC document for callers with access to methods for developers, and for other callers.
    documents: [OnceLock<Bytes>; 2],
    /// Whether a foreign caller has called a method for developers. The first such call is logged as a warning, later
    /// calls as debug.
    foreign_seen: AtomicBool,
    limits: RpcLimits,
    metrics: Arc<Metrics>,
    /// Permits for batches whose responses are large or contain a stream.
    large: Semaphore,
    patience: Duration,
    turn: Duration,
}

impl Service {
    pub(crate) fn new(node: NodeHandle, offer: Offer, limits: RpcLimits, metrics: Arc<Metrics>) -> Self {
        Self {
            node,
            offer,
            documents: Default::default(),
            foreign_seen: AtomicBool::new(false),
            limits,
            metrics,
            large: Semaphore::new(LARGE_ANSWERS),
            patience: PATIENCE,
            turn: TURN,
        }
    }

    /// Returns the reply to the body of a request, single or batch. The rate limit has already counted `paid` units of
    /// the first call. Returns no reply if the response must reserve memory first, and the reservation fails.
    pub(crate) async fn answer(&self, body: Bytes, caller: &Caller, paid: u32, memory: Memory) -> Answered {
        let permit = Permit::new(caller, paid, None);
        self.answer_with(body, permit, memory).await
    }

    /// Answers a message of a WebSocket session with these subscriptions, as [`answer`](Self::answer) does.
    pub(crate) async fn answer_session(
        &self,
        body: Bytes,
        caller: &Caller,
        session: &EthSubscriptions,
        memory: Memory,
    ) -> Answered {
        let permit = Permit::new(caller, 0, Some(session));
        self.answer_with(body, permit, memory).await
    }

    async fn answer_with(&self, body: Bytes, mut permit: Permit<'_>, memory: Memory) -> Answered {
        let reply = match Body::parse(&body, self.limits.batch) {
            Body::Single(entry) => self.answer_single(&entry, memory, &mut permit).await,
            // In a box, so that the future of a single request stays small.
            Body::Batch(entries) => Box::pin(self.answer_batch(&entries, memory, &mut permit)).await,
        };
        Answered { reply, wait: permit.allowance.wait_for_first() }
    }

    async fn answer_single(
        &self,
        entry: &envelope::Entry<'_>,
        memory: Memory,
        permit: &mut Permit<'_>,
    ) -> Option<Reply> {
        let (mut text, mut growth) = (Text::with_capacity(USUAL_ANSWER), Growth::single(memory));
        let rest = if self.answer_now(&mut text, entry, permit, &growth) {
            None
        } else {
            self.answer_entry(&mut text, entry, permit, &mut growth).await
        };
        if growth.has_ended() {
            return None;
        }
        if rest.is_none() {
            growth.shrink(&text);
        }
        Some(Reply { beginning: text, rest: rest.map(|rest| Box::new(rest) as _), memory: growth.into_memory() })
    }

    /// Returns an error with the text `reason`, as the response to a body whose results get no memory.
    pub(crate) fn decline(&self, body: &[u8], reason: &'static str) -> Vec<u8> {
        let id = match Body::parse(body, self.limits.batch) {
            Body::Single(Ok(Request { id: Some(id), .. })) => id,
            Body::Single(_) | Body::Batch(_) => Id::NULL,
        };
        let mut out = Vec::new();
        write_error(&mut out, &id, &RpcError::new(RpcErrorCode::MISC_ERROR, reason));
        out
    }

    /// Returns the response to a body that the server rejects. The id of the response is null, because the
    /// server does not parse the body.
    pub(crate) fn reject_body(reason: RejectReason, text: &str) -> Vec<u8> {
        let code = match reason {
            RejectReason::Encoded | RejectReason::TooLarge | RejectReason::Transferred | RejectReason::Unreadable => {
                RpcErrorCode::INVALID_REQUEST
            }
            RejectReason::TooOften | RejectReason::NoMemory => RpcErrorCode::SERVER_ERROR,
        };
        let mut out = Vec::new();
        write_error(&mut out, &Id::NULL, &RpcError::new(code, text.to_owned()));
        out
    }

    /// Answers one element after another, because later elements can depend on earlier ones.
    async fn answer_batch(
        &self,
        entries: &[envelope::Entry<'_>],
        memory: Memory,
        permit: &mut Permit<'_>,
    ) -> Option<Reply> {
        let ids = entries.iter().map(|entry| match entry {
            Ok(request) => request.id.as_ref().map_or(0, |id| id.as_json().len()),
            Err(rejection) => rejection.id.as_json().len(),
        });
        let (size, limit) = ((entries.len(), ids.fold(0, usize::saturating_add)), self.limits.batch_answer_bytes);
        let mut growth = Growth::batch(memory, size, limit, (&self.large, self.patience)).await?;
        let mut text = Text::with_capacity(entries.len().saturating_mul(SHORT_ANSWER).min(SMALL_RESPONSE));
        let (mut yielded, mut turn, mut refused) = (0, Instant::now(), 0_usize);
        permit.call_ended = Some(turn);
        for (position, entry) in entries.iter().enumerate() {
            text.end().push(if position == 0 { b'[' } else { b',' });
            let start = text.mark();
            let answered = if self.answer_now(&mut text, entry, permit, &growth) {
                if growth.is_small(&text) { Ok(()) } else { growth.check(&text).await }
            } else {
                // Such a call can wait, change the chain, or end without a measurement.
                (permit.context, permit.call_ended) = (None, None);
                self.answer_element(&mut text, entry, permit, &mut growth).await
            };
            if let Err(error) = answered {
                refused = refused.saturating_add(1);
                text.rewind(start);
                let id = entry.as_ref().ok().and_then(|request| request.id.as_ref());
                self.refuse(&mut text, id.unwrap_or(&Id::NULL), &error);
            }
            text.divide();
            let ended = permit.call_ended.unwrap_or_else(Instant::now);
            if ended.saturating_duration_since(turn) > self.turn || text.len().saturating_sub(yielded) > TURN_BYTES {
                permit.context = None;
                yield_now().await;
                (yielded, turn) = (text.len(), Instant::now());
                permit.call_ended = Some(turn);
            }
        }
        if refused > 0 {
            tracing::warn!(
                refused,
                "rejected calls of a batch: the response is too large, no memory is free, or a result cannot be read"
            );
        }
        text.end().push(b']');
        growth.shrink(&text);
        Some(Reply::whole(text, growth.into_memory()))
    }

    /// Writes the response to a request with a query that needs no wait. Most requests have such a query, and an
    /// asynchronous call takes longer than a short query. Returns whether the response was written.
    fn answer_now(
        &self,
        out: &mut Text,
        entry: &envelope::Entry<'_>,
        permit: &mut Permit<'_>,
        growth: &Growth<'_>,
    ) -> bool {
        let Ok(request) = entry else { return false };
        let Some(row) = permit.row.filter(|row| row.name == request.method).or_else(|| self.find(&request.method))
        else {
            return false;
        };
        permit.row = Some(row);
        let Action::Query(query) = row.action else { return false };
        if !growth.is_small(out) {
            return false;
        }
        let (start, length) = (out.mark(), out.len());
        let outcome = permit.charge(row.weight).and_then(|()| {
            let call = self.admit(row, request, permit)?;
            let begun = permit.call_ended.unwrap_or_else(Instant::now);
            let context = permit.context.get_or_insert_with(|| self.node.context());
            let outcome = query(call, context, out.end());
            self.count(row, begun, permit);
            outcome.and_then(|()| self.check_size(out, start, length))
        });
        if let Err(error) = outcome {
            self.refuse(out, request.id.as_ref().unwrap_or(&Id::NULL), &error);
        }
        true
    }

    /// Returns the row of a method.
    fn find(&self, method: &str) -> Option<&'static Row> {
        self.offer.table.find(method)
    }

    /// Checks that the caller may call the method of `row`, and that the request has an id.
    fn admit<'request>(
        &self,
        row: &Row,
        request: &'request Request<'_>,
        permit: &Permit<'_>,
    ) -> Result<Call<'request>, RpcError> {
        if !self.is_listed(row.position) {
            return Err(RpcError::METHOD_NOT_FOUND);
        }
        let call = Call { id: request.require_id()?, params: request.params.as_deref(), fields: row.fields };
        if row.for_developers {
            self.check_developer(row.name, permit.foreign)?;
        }
        Ok(call)
    }

    /// Counts a call that began at `begun` and ends now.
    fn count(&self, row: &Row, begun: Instant, permit: &mut Permit<'_>) {
        let ended = Instant::now();
        self.metrics.called(row.position, ended.saturating_duration_since(begun));
        permit.call_ended = Some(ended);
    }

    /// Removes a response that began at `start` from `out` if it has too many bytes, and returns the error. `length` is
    /// the length of the text at `start`.
    fn check_size(&self, out: &mut Text, start: Mark, length: usize) -> Result<(), RpcError> {
        if out.len().saturating_sub(length) <= self.limits.answer_bytes {
            return Ok(());
        }
        out.rewind(start);
        let text = format!("The answer has more than {} bytes, ask for less at once", self.limits.answer_bytes);
        Err(RpcError::new(RpcErrorCode::MISC_ERROR, text))
    }

    /// Writes the whole response to an element of a batch, with all chunks of a streamed result. The response to a
    /// batch is complete before the node sends it.
    async fn answer_element(
        &self,
        text: &mut Text,
        entry: &envelope::Entry<'_>,
        permit: &mut Permit<'_>,
        growth: &mut Growth<'_>,
    ) -> Result<(), RpcError> {
        if entry.is_ok() {
            growth.begin(text).await?;
        }
        match self.answer_entry(text, entry, permit, growth).await {
            Some(rest) => rest.append(text, growth).await,
            None if entry.is_ok() => growth.check(text).await,
            None => Ok(()),
        }
    }

    /// Writes a response or its first chunk. Returns the remaining chunks.
    async fn answer_entry(
        &self,
        out: &mut Text,
        entry: &envelope::Entry<'_>,
        permit: &mut Permit<'_>,
        growth: &mut Growth<'_>,
    ) -> Option<ChunkedResult> {
        match entry {
            Ok(request) => match self.answer_request(out, request, permit, growth).await {
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

    fn refuse(&self, out: &mut Text, id: &Id<'_>, error: &RpcError) {
        self.metrics.failed(error.code);
        write_error(out.end(), id, error);
    }

    /// Writes the response to a request or its first chunk, and returns the remaining chunks. If the call fails, the
    /// caller writes the error.
    async fn answer_request(
        &self,
        out: &mut Text,
        request: &Request<'_>,
        permit: &mut Permit<'_>,
        growth: &mut Growth<'_>,
    ) -> Result<Option<ChunkedResult>, RpcError> {
        let table = self.offer.table;
        let row = self.find(&request.method);
        permit.charge(row.map_or(NonZeroU32::MIN, |row| row.weight))?;
        let developer = self.offer.developer && permit.foreign.is_none();
        let row = row.ok_or_else(|| {
            table.absent(&request.method, |position| {
                table.entries().get(position).is_some_and(|entry| self.is_offered(position, entry, developer))
            })
        })?;
        let call = self.admit(row, request, permit)?;
        let begun = permit.call_ended.unwrap_or_else(Instant::now);
        let outcome = self.act(out, row, call, (developer, permit.session), growth).await;
        self.count(row, begun, permit);
        outcome
    }

    /// Returns whether the operator offers the method at a position.
    fn is_listed(&self, position: usize) -> bool {
        self.offer.listed.as_ref().is_none_or(|listed| listed.get(position) == Some(&true))
    }

    /// Returns whether a client may call a method. `developer` is true if the client may call methods for developers.
    fn is_offered(&self, position: usize, entry: &Entry, developer: bool) -> bool {
        self.is_listed(position) && (developer || !entry.for_developers)
    }

    /// Returns the text of the OpenRPC document, which all responses share. `developer` has the same meaning as in
    /// [`is_offered`](Self::is_offered).
    fn document(&self, developer: bool) -> &Bytes {
        let [whole, ordinary] = &self.documents;
        let text = if developer { whole } else { ordinary };
        text.get_or_init(|| {
            let entries = self.offer.table.entries().iter().enumerate();
            let offered = entries.filter(|(position, entry)| self.is_offered(*position, entry, developer));
            document_of(offered.map(|(_, entry)| entry)).to_string().into()
        })
    }

    /// Checks that the client may call methods for developers.
    fn check_developer(&self, method: &str, foreign: Option<&Foreign>) -> Result<(), RpcError> {
        if !self.offer.developer {
            let remedy = if self.offer.is_member {
                "a network has no such methods"
            } else {
                "start the node with --developer on"
            };
            let text = format!("{method} is for developers and switched off, {remedy}");
            return Err(RpcError::new(RpcErrorCode::INVALID_REQUEST, text));
        }
        let Some(foreign) = foreign else { return Ok(()) };
        if self.foreign_seen.swap(true, Relaxed) {
            tracing::debug!(method, %foreign, "rejected a call of a method for developers");
        } else {
            tracing::warn!(
                method,
                %foreign,
                "rejected a call of a method for developers; the node logs further rejections at level debug"
            );
        }
        let text = format!("{method} is for developers on this machine: {foreign}");
        Err(RpcError::new(RpcErrorCode::INVALID_REQUEST, text))
    }

    async fn act(
        &self,
        out: &mut Text,
        row: &Row,
        call: Call<'_>,
        (developer, session): (bool, Option<&EthSubscriptions>),
        growth: &mut Growth<'_>,
    ) -> Result<Option<ChunkedResult>, RpcError> {
        let (start, length) = (out.mark(), out.len());
        match row.action {
            Action::Query(query) => query(call, &self.node.context(), out.end())?,
            Action::SizeDependent(weigh) => {
                if let Some(later) = weigh(call, &self.node, out.end())? {
                    write_raw(out, call.id, later.await?);
                }
            }
            Action::CachedPerHead(render) => {
                let end = write_result_in_parts(out.end(), call.id, b"");
                match self.node.context().per_head((row.position, self.offer.table.entries().len()), render) {
                    Ok(answer) => out.share(answer),
                    Err(error) => {
                        out.rewind(start);
                        return Err(error);
                    }
                }
                out.end().extend_from_slice(end);
            }
            Action::Discover => {
                let end = write_result_in_parts(out.end(), call.id, b"");
                out.share(self.document(developer));
                out.end().extend_from_slice(end);
            }
            Action::InSession(run) => run(call, session, &self.node, out.end())?,
            Action::Async(start) => write_raw(out, call.id, start(call, self.node.clone())?.await?),
            Action::Streamed(begin) => {
                let mut result = begin(call, self.node.clone())?.await?;
                if !result.is_complete() && !growth.try_begin_stream(out) {
                    // The first chunk uses memory that is not reserved. Drop the chunk before the wait, and make it
                    // again after the wait.
                    drop(result);
                    growth.begin_stream(out).await?;
                    result = begin(call, self.node.clone())?.await?;
                }
                let end = write_result_in_parts(out.end(), call.id, b"");
                if let Some(rest) = result.write_head(out, end) {
                    return Ok(Some(rest));
                }
            }
        }
        self.check_size(out, start, length).map(|()| None)
    }
}

/// Returns whether a body is a well-formed request or a batch.
pub(crate) fn is_request(body: &[u8]) -> bool {
    matches!(Body::parse(body, 1), Body::Single(Ok(_)) | Body::Batch(_))
}

/// The rights of the caller of a request.
struct Permit<'a> {
    /// Reason why the caller has no access to methods for developers; `None` if the caller has access.
    foreign: Option<&'a Foreign>,
    allowance: Allowance<'a>,
    /// The subscriptions of the WebSocket session; `None` over HTTP.
    session: Option<&'a EthSubscriptions>,
    /// The time at which the previous call of a batch ended; `None` if it is not known. The next call begins at this
    /// time, which saves a read of the clock.
    call_ended: Option<Instant>,
    /// The row of the previous query. Most calls of a batch have the same method.
    row: Option<&'static Row>,
    /// The head of the previous query. The queries of a batch share it until the task yields, or makes another call.
    context: Option<Context>,
}

impl<'a> Permit<'a> {
    fn new(caller: &'a Caller, paid: u32, session: Option<&'a EthSubscriptions>) -> Self {
        let (foreign, allowance) = (caller.foreign(), caller.allowance(paid));
        Self { foreign, allowance, session, call_ended: None, row: None, context: None }
    }

    fn charge(&mut self, weight: NonZeroU32) -> Result<(), RpcError> {
        let charged = self.allowance.charge(weight);
        charged.map_err(|wait| RpcError::new(RpcErrorCode::SERVER_ERROR, too_often(wait)))
    }
}

/// Returns the error text for a call above the rate limit.
pub(crate) fn too_often(wait: Duration) -> String {
    format!("too many calls, try again in {} s", http::whole_seconds(wait))
}

fn write_raw(out: &mut Text, id: &Id<'_>, result: Box<RawValue>) {
    let end = write_result_in_parts(out.end(), id, b"");
    out.append(String::from(Box::<str>::from(result)).into_bytes());
    out.end().extend_from_slice(end);
}
