//! HTTP over hyper: reads request bodies, passes them to a [`Handler`], and sends its responses.
//!
//! ```text
//! listener ─▶ connection ─▶ routes ─▶ request_body ─▶ Handler
//!                │            │                         │
//!             deadline     response ◀── response_body ◀─┘
//! ```
//!
//! The module parses no JSON and has no RPC method. The handler gets each POST body as a whole, for every path. Each
//! response of the handler has status 200, because JSON-RPC has its own errors. If the server rejects a body or all its
//! calls, or has no memory for the response, the status shows the reason. The [`Handler`] also writes the body of such
//! a rejection, because some clients read the body only. The server also serves the files of the studio, which are
//! constant.
//!
//! [`HttpLimits`] bounds the resources of clients:
//!
//! - the number of connections, and optionally the rate of calls;
//! - the size of one body, and of all bodies and responses together;
//! - the time of a request from the first byte to the last;
//! - the time of a connection without a request, or with an unread response.
//!
//! When all connection slots or all memory are in use and a client waits, the server evicts idle and slow connections.
//! The server produces a streamed response as fast as the client reads.

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
mod studio;
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
    budget::{Memory, MemoryLease, PushLease, SMALL_RESPONSE},
    caller::Caller,
    listener::{Server, Serves, stopped},
    post::TOO_MANY_ANSWERS,
    rate_limit::Allowance,
    response::whole_seconds,
    response_body::{CHUNK, Chunks, Reply, ResponseBody, Truncated, make_chunk},
    routes::{HOME, METRICS, READY},
    text::{Mark, Text},
};

/// Limits of the resources that clients can use.
#[derive(Clone, Copy, Debug)]
pub struct HttpLimits {
    /// Maximum size of a request body in bytes. A larger body gets a response with status 413.
    pub body_bytes: usize,
    /// The memory budget: bytes of the request bodies and responses of all connections together. Further bodies and
    /// responses wait. The budget has at least the size of one body. Bodies of at most 32 KiB and responses of at most
    /// 64 KiB do not count.
    pub bodies_bytes: usize,
    /// Maximum time for which a body or a response waits for memory. After that, the client gets status 503.
    pub bodies_timeout: Duration,
    /// Maximum time from the first byte of a request to the last. After that, the server closes the connection.
    pub request_timeout: Duration,
    /// Maximum time of a connection between two requests, and maximum time for which the client leaves a response
    /// unread.
    pub idle_timeout: Duration,
    /// The limit in place of `idle_timeout` while other connections wait for a connection slot or for memory.
    pub contended_timeout: Duration,
    /// Maximum number of open connections. Further connections wait for a slot.
    pub connections: usize,
    /// Units of calls that one client may make each second, and as a burst; `None` for no rate limit.
    pub each_second: Option<NonZeroU32>,
    /// Maximum time for the responses to complete requests after the server begins to stop.
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

/// The service behind the server. It returns the body of the response for the body of a request.
pub(crate) trait Handler: Send + Sync + 'static {
    /// Returns the response to a request body. The rate limit has counted the arrival of the body. The handler reserves
    /// `memory` before it makes a response that it expects to be large.
    fn answer(&self, body: Bytes, caller: &Caller, memory: Memory) -> impl Future<Output = Answered> + Send;

    /// Returns the body of a response that rejects a request. `text` is the message for users.
    fn reject(&self, reason: RejectReason, text: &str) -> Vec<u8>;

    /// Returns whether a path has a page.
    fn has_page(&self, path: &str) -> bool;

    /// Returns the page of a path, or `None` if the path has no page.
    fn page(&self, path: &str) -> impl Future<Output = Option<Page>> + Send;

    /// Serves a WebSocket connection after the handshake, until the client or the handler closes it or `stop` becomes
    /// true.
    fn handle_websocket(
        &self,
        stream: Upgrade,
        caller: Caller,
        lease: MemoryLease,
        stop: watch::Receiver<bool>,
    ) -> impl Future<Output = ()> + Send;
}

/// The response to a request body.
pub(crate) struct Answered {
    pub(crate) reply: Option<Reply>,
    /// If the rate limit rejected all calls of the body, the time after which the client may repeat the first call.
    pub(crate) wait: Option<Duration>,
}

/// Reason why the server rejects a POST.
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
    /// The memory budget has no free memory for the body or the response.
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

/// A page for operators or browsers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    /// Whether the status is 200; otherwise it is 503.
    pub(crate) is_well: bool,
    pub(crate) media_type: &'static str,
    pub(crate) text: String,
}

/// A connection after its upgrade to a WebSocket.
pub(crate) type Upgrade = TokioIo<Upgraded>;
