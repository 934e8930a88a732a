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
/// A connection is idle, or has sent a part of a request, or waits for its answer. Each change sets the deadline. One timer
/// for each connection reads it from time to time, so that a request costs no timer.
#[derive(Debug)]
pub(super) struct ConnectionDeadline {
    pub(super) limits: HttpLimits,
    accepted: Instant,
    /// When the present wait for the client began, in milliseconds since `accepted`.
    since: AtomicU64,
    /// Until when the server waits, in the same unit; `u64::MAX` while the client waits for the server.
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

    /// Notes that bytes came in. On an idle connection they begin a request.
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

    /// Waits for the client again: for the rest of its request, or until it has read that there is no memory.
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

    /// Notes that the client has read a part of an answer. It has to read the next one.
    pub(super) fn part_taken(&self) {
        self.holds_memory.store(true, Relaxed);
        self.wait(self.limits.idle_timeout);
    }

    /// Notes that the next part of an answer is not made yet.
    pub(super) fn part_awaited(&self) {
        self.deadline.store(u64::MAX, Relaxed);
    }

    /// Notes that the last part of an answer was read, or that the client reads no more.
    pub(super) fn parts_end(&self) {
        self.holds_memory.store(false, Relaxed);
    }

    pub(super) fn has_passed(&self) -> bool {
        milliseconds(self.accepted.elapsed()) >= self.deadline.load(Relaxed)
    }

    pub(super) fn holds_memory(&self) -> bool {
        self.holds_memory.load(Relaxed)
    }

    /// Returns whether a request has begun, and is not complete.
    pub(super) fn is_incomplete(&self) -> bool {
        !self.idle.load(Relaxed) && !self.complete.load(Relaxed)
    }

    /// Returns whether to evict the connection while others wait: the server has waited for its client for some time.
    pub(super) fn should_evict(&self) -> bool {
        let waited = milliseconds(self.accepted.elapsed()).saturating_sub(self.since.load(Relaxed));
        self.deadline.load(Relaxed) != u64::MAX && waited >= milliseconds(self.limits.contended_timeout)
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// A stream that notes in its [`ConnectionDeadline`] when bytes come in.
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
