//! The deadline of a connection: how long the server waits for its client.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::Instant,
};

use super::HttpLimits;

/// The time until which the server waits for the client of a connection.
///
/// A connection is idle, has sent a part of a request, or waits for its response. Each change of this state sets the
/// deadline. One timer for each connection reads the deadline periodically, so that a request needs no timer.
#[derive(Debug)]
pub(super) struct ConnectionDeadline {
    pub(super) limits: HttpLimits,
    accepted: Instant,
    /// The start of the current wait for the client, in milliseconds after `accepted`.
    since: AtomicU64,
    /// The end of the current wait, in milliseconds after `accepted`; `u64::MAX` while the client waits for the server.
    deadline: AtomicU64,
    idle: AtomicBool,
    /// Whether the request in progress is complete.
    complete: AtomicBool,
    holds_memory: AtomicBool,
}

impl ConnectionDeadline {
    pub(super) fn new(limits: HttpLimits) -> Self {
        let deadline = Self {
            limits,
            accepted: Instant::now(),
            since: AtomicU64::new(0),
            deadline: AtomicU64::new(0),
            idle: AtomicBool::new(true),
            complete: AtomicBool::new(false),
            holds_memory: AtomicBool::new(false),
        };
        deadline.wait(limits.idle_timeout);
        deadline
    }

    fn wait(&self, time: Duration) {
        let now = self.accepted.elapsed();
        self.since.store(milliseconds(now), Relaxed);
        self.deadline.store(milliseconds(now.saturating_add(time)), Relaxed);
    }

    /// Records the arrival of bytes, which begin a request on an idle connection.
    fn bytes_arrived(&self) {
        if self.idle.load(Relaxed) {
            self.request_begins();
        }
    }

    pub(super) fn request_begins(&self) {
        if self.idle.swap(false, Relaxed) {
            self.complete.store(false, Relaxed);
            self.wait(self.limits.request_timeout);
        }
    }

    pub(super) fn memory_awaited(&self) {
        self.deadline.store(u64::MAX, Relaxed);
    }

    /// Begins a wait for the client. The server waits for the rest of the request if memory was granted, and otherwise
    /// until the client has read the rejection.
    pub(super) fn memory_decided(&self, granted: bool) {
        self.holds_memory.store(granted, Relaxed);
        self.wait(self.limits.request_timeout);
    }

    pub(super) fn request_complete(&self) {
        self.complete.store(true, Relaxed);
        self.deadline.store(u64::MAX, Relaxed);
    }

    pub(super) fn answer_begins(&self) {
        self.holds_memory.store(false, Relaxed);
        self.idle.store(true, Relaxed);
        self.wait(self.limits.idle_timeout);
    }

    /// Records that the server sends a part of a response. Begins the wait until the client has read this part.
    pub(super) fn part_taken(&self) {
        self.holds_memory.store(true, Relaxed);
        self.wait(self.limits.idle_timeout);
    }

    /// Records that the client waits for the next part of a response.
    pub(super) fn part_awaited(&self) {
        self.deadline.store(u64::MAX, Relaxed);
    }

    /// Records that the connection holds no memory: its response has ended, or its long message is complete.
    pub(super) fn parts_end(&self) {
        self.holds_memory.store(false, Relaxed);
    }

    pub(super) fn has_passed(&self) -> bool {
        milliseconds(self.accepted.elapsed()) >= self.deadline.load(Relaxed)
    }

    pub(super) fn holds_memory(&self) -> bool {
        self.holds_memory.load(Relaxed)
    }

    /// Returns whether a part of a request has arrived, and the rest has not.
    pub(super) fn is_incomplete(&self) -> bool {
        !self.idle.load(Relaxed) && !self.complete.load(Relaxed)
    }

    /// Returns whether the server has waited for the client for [`HttpLimits::contended_timeout`]. If other connections
    /// wait for resources, the server then evicts this connection.
    pub(super) fn should_evict(&self) -> bool {
        let waited = milliseconds(self.accepted.elapsed()).saturating_sub(self.since.load(Relaxed));
        self.deadline.load(Relaxed) != u64::MAX && waited >= milliseconds(self.limits.contended_timeout)
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// A stream that records the arrival of bytes in its [`ConnectionDeadline`].
#[derive(Debug)]
pub(super) struct TrackedStream {
    pub(super) stream: TcpStream,
    pub(super) deadline: Arc<ConnectionDeadline>,
}

impl AsyncRead for TrackedStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        if buf.filled().len() > before {
            self.deadline.bytes_arrived();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for TrackedStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
