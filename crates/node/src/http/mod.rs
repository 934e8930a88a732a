//! HTTP over hyper: reads request bodies, hands them to a [`Handler`], and sends its answers.
//!
//! ```text
//! listener ─▶ connection ─▶ routes ─▶ request_body ─▶ Handler
//!                │            │                         │
//!             deadline     response ◀── response_body ◀─┘
//! ```
//!
//! Nothing here knows JSON or a method. A body that was posted to any path is handed over whole. Every answer has
//! status 200, since JSON-RPC carries its own errors. If the server rejects a body, or its answer, the status says so,
//! and the [`Handler`] writes the body all the same, because some clients read nothing else.
//!
//! The resources that a client can hold are bounded: the number of connections, the size of a body and of all bodies
//! and answers together, the time from the first byte of a request to its last, the time of a connection without a
//! request or with an unread answer, and, if the operator wants it, the rate of calls. When all connections or all
//! memory are in use and a client waits, connections that are idle or slow are evicted. A streamed answer is made no
//! faster than its client reads.

mod access;
mod budget;
mod caller;
mod connection;
mod deadline;
mod gzip;
mod listener;
mod post;
mod rate_limit;
mod request_body;
mod response;
mod response_body;
mod routes;
#[cfg(test)]
mod tests;
mod text;

use std::{future::Future, num::NonZeroU32, time::Duration};

use hyper::{StatusCode, body::Bytes, upgrade::Upgraded};
use hyper_util::rt::TokioIo;
use tokio::sync::watch;

pub use self::access::{Access, Host, List, ListError, Network, PageOrigin};
pub(crate) use self::{
    access::Foreign,
    budget::{Memory, MemoryLease, SMALL_RESPONSE},
    caller::Caller,
    listener::{Server, Serves, stopped},
    post::TOO_MANY_ANSWERS,
    rate_limit::Allowance,
    response::whole_seconds,
    response_body::{CHUNK, ChunkSource, Reply, ResponseBody, Truncated, next_chunk},
    routes::{HOME, METRICS, READY},
    text::Text,
};

/// Bounds on what clients may ask of the server.
#[derive(Clone, Copy, Debug)]
pub struct HttpLimits {
    /// Largest request body in bytes; a larger one is answered with status 413.
    pub body_bytes: usize,
    /// Bytes of request bodies, and of answers, in memory, of all connections together; further ones wait. At least
    /// that of one body. What a connection reads at once, and a small answer, does not count.
    pub bodies_bytes: usize,
    /// Time that a body or an answer waits for memory before there is status 503 instead.
    pub bodies_timeout: Duration,
    /// Time from the first byte of a request to its last; a slower client is disconnected.
    pub request_timeout: Duration,
    /// Maximum time of a connection between two requests, and maximum time for which it leaves a response unread.
    pub idle_timeout: Duration,
    /// Time that either of these may last while other connections wait for a slot.
    pub contended_timeout: Duration,
    /// Connections open at once; further ones wait for a place.
    pub connections: usize,
    /// Units of calls that one client may make each second, and as many at once; `None` for as many as it likes.
    pub each_second: Option<NonZeroU32>,
    /// Time that requests in progress are given to finish once the server stops.
    pub grace: Duration,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            body_bytes: 5 * 1024 * 1024,
            bodies_bytes: 64 * 1024 * 1024,
            bodies_timeout: Duration::from_secs(10),
            request_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_mins(2),
            contended_timeout: Duration::from_secs(2),
            connections: 900,
            each_second: None,
            grace: Duration::from_secs(5),
        }
    }
}

/// The service behind the server. It turns the body of a request into the body of its answer.
pub(crate) trait Handler: Send + Sync + 'static {
    /// Answers one request body, whose arrival has been counted. Reserves `memory` for the answer if the answer is
    /// known to be large before it is made.
    fn answer(&self, body: Bytes, caller: &Caller, memory: Memory) -> impl Future<Output = Answered> + Send;

    /// Writes the body of a response that rejects a request, with a text for people.
    fn reject(&self, reason: RejectReason, text: &str) -> Vec<u8>;

    /// Returns whether there is a page for operators under a path.
    fn has_page(&self, path: &str) -> bool;

    /// Returns the page under a path; `None` if there is none.
    fn page(&self, path: &str) -> impl Future<Output = Option<Page>> + Send;

    /// Serves a WebSocket connection after the handshake, until one side closes it or `stop` becomes true.
    fn handle_websocket(
        &self,
        stream: Upgrade,
        caller: Caller,
        lease: MemoryLease,
        stop: watch::Receiver<bool>,
    ) -> impl Future<Output = ()> + Send;
}

/// The answer to a request body.
pub(crate) struct Answered {
    pub(crate) reply: Option<Reply>,
    /// The time until the client may make the first call of the body, if the rate limit rejected that one and all
    /// others.
    pub(crate) wait: Option<Duration>,
}

/// Reason why the server rejects a request that was posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RejectReason {
    /// The request is not valid HTTP.
    Unreadable,
    /// The content encoding of the body is not supported.
    Encoded,
    /// The transfer encoding of the body is not supported.
    Transferred,
    /// The body is too large.
    TooLarge,
    /// The client is above its rate limit.
    TooOften,
    /// There is no memory for the body or its answer at present.
    NoMemory,
}

impl RejectReason {
    /// Returns the status of the response.
    const fn status(self) -> StatusCode {
        match self {
            Self::Unreadable => StatusCode::BAD_REQUEST,
            Self::Encoded => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Transferred => StatusCode::NOT_IMPLEMENTED,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooOften => StatusCode::TOO_MANY_REQUESTS,
            Self::NoMemory => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

/// A page for operators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    /// Whether the status is 200, or 503.
    pub(crate) is_well: bool,
    pub(crate) media_type: &'static str,
    pub(crate) text: String,
}

/// A connection after its upgrade to a WebSocket.
pub(crate) type Upgrade = TokioIo<Upgraded>;
