//! How long a connection is waited for.

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

/// When a connection has been waited for long enough.
///
/// A connection is idle, or has sent part of a request, or awaits its answer; the deadline is set at each change. One
/// timer for each connection looks at it now and then, so that a request costs no timer.
#[derive(Debug)]
pub(super) struct Patience {
    pub(super) limits: HttpLimits,
    accepted: Instant,
    /// When the client was last waited for anew, in milliseconds since `accepted`.
    since: AtomicU64,
    /// Until when it is waited for, likewise; `u64::MAX` while the server is the one to act.
    deadline: AtomicU64,
    idle: AtomicBool,
    /// The request that began has come whole.
    complete: AtomicBool,
    holds_memory: AtomicBool,
}

impl Patience {
    pub(super) fn new(limits: HttpLimits) -> Self {
        let patience = Self {
            limits,
            accepted: Instant::now(),
            since: AtomicU64::new(0),
            deadline: AtomicU64::new(0),
            idle: AtomicBool::new(true),
            complete: AtomicBool::new(false),
            holds_memory: AtomicBool::new(false),
        };
        patience.wait(limits.idle_timeout);
        patience
    }

    fn wait(&self, time: Duration) {
        let now = self.accepted.elapsed();
        self.since.store(milliseconds(now), Relaxed);
        self.deadline.store(milliseconds(now.saturating_add(time)), Relaxed);
    }

    /// Bytes came in; if none were expected, they open a request.
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

    /// The client is waited for again, for the rest of its request or until it has read that there is no memory.
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

    /// The client has taken a part of an answer, and is to take the next.
    pub(super) fn part_taken(&self) {
        self.holds_memory.store(true, Relaxed);
        self.wait(self.limits.idle_timeout);
    }

    /// The next part of an answer is not made yet.
    pub(super) fn part_awaited(&self) {
        self.deadline.store(u64::MAX, Relaxed);
    }

    /// The last part of an answer was taken, or none will be.
    pub(super) fn parts_end(&self) {
        self.holds_memory.store(false, Relaxed);
    }

    pub(super) fn exhausted(&self) -> bool {
        milliseconds(self.accepted.elapsed()) >= self.deadline.load(Relaxed)
    }

    pub(super) fn holds_memory(&self) -> bool {
        self.holds_memory.load(Relaxed)
    }

    /// Whether a part of a request has come, and the rest has not.
    pub(super) fn is_incomplete(&self) -> bool {
        !self.idle.load(Relaxed) && !self.complete.load(Relaxed)
    }

    /// Whether the connection should end for the sake of others: the client is waited for, and not only just now.
    pub(super) fn gives_way(&self) -> bool {
        let waited = milliseconds(self.accepted.elapsed()).saturating_sub(self.since.load(Relaxed));
        self.deadline.load(Relaxed) != u64::MAX && waited >= milliseconds(self.limits.crowded_timeout)
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// A stream that tells its [`Patience`] when bytes come in.
#[derive(Debug)]
pub(super) struct Watched {
    pub(super) stream: TcpStream,
    pub(super) patience: Arc<Patience>,
}

impl AsyncRead for Watched {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        if buf.filled().len() > before {
            self.patience.bytes_arrived();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Watched {
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
