//! The stream below a WebSocket. It reads the rest of a long message only after it has reserved memory for the message.

use std::{
    fmt,
    future::Future,
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::http::{Memory, MemoryLease, SMALL_RESPONSE};

/// Number of bytes of a message after which the stream reserves memory.
pub(super) const SHORT_MESSAGE: usize = SMALL_RESPONSE;

/// Size of the header of a client's control frame, in bytes: two bytes and the mask of four (RFC 6455, section 5.2).
const CONTROL_HEAD: usize = 6;

/// A stream that limits the memory of long messages. The user of the stream reports the end of each message. After
/// [`SHORT_MESSAGE`] bytes of a message, the stream reserves memory of the common budget. It reads nothing until the
/// budget has enough free memory. If the reservation fails, the read fails with [`io::ErrorKind::OutOfMemory`].
pub(super) struct Metered<S> {
    stream: S,
    lease: MemoryLease,
    /// Memory that the stream reserves for a long message, in bytes.
    most: usize,
    /// Number of bytes that the stream has read since the end of the last message.
    read: usize,
    claim: Claim,
}

/// The reservation of memory for a long message.
enum Claim {
    None,
    Waiting(Pin<Box<dyn Future<Output = Option<Memory>> + Send>>),
    Held(Memory),
}

impl<S> Metered<S> {
    pub(super) fn new(stream: S, lease: MemoryLease, most: usize) -> Self {
        Self { stream, lease, most, read: 0, claim: Claim::None }
    }

    /// Reports the end of a message. Returns the memory that the stream reserved for the message, or `None` for a short
    /// message.
    pub(super) fn end_message(&mut self) -> Option<Memory> {
        self.read = 0;
        match std::mem::replace(&mut self.claim, Claim::None) {
            Claim::Held(memory) => {
                self.lease.message_ends();
                Some(memory)
            }
            Claim::None | Claim::Waiting(_) => None,
        }
    }

    /// Subtracts a control frame with a payload of `payload` bytes from the number of read bytes, because a control
    /// frame is not a part of a message.
    pub(super) fn take_control_frame(&mut self, payload: usize) {
        self.read = self.read.saturating_sub(payload.saturating_add(CONTROL_HEAD));
    }

    /// Returns whether memory is reserved for a message of which only a part has arrived.
    pub(super) const fn holds_memory(&self) -> bool {
        matches!(self.claim, Claim::Held(_))
    }

    pub(super) fn into_inner(self) -> S {
        self.stream
    }

    fn poll_memory(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            match &mut self.claim {
                Claim::Held(_) => return Poll::Ready(Ok(())),
                Claim::None => {
                    let (mut memory, most) = (self.lease.memory(), self.most);
                    self.claim = Claim::Waiting(Box::pin(async move { memory.reserve(most).await.then_some(memory) }));
                }
                Claim::Waiting(waiting) => {
                    let Some(memory) = ready!(waiting.as_mut().poll(cx)) else {
                        return Poll::Ready(Err(io::ErrorKind::OutOfMemory.into()));
                    };
                    self.lease.message_begins();
                    self.claim = Claim::Held(memory);
                }
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.read > SHORT_MESSAGE {
            ready!(self.poll_memory(cx))?;
        }
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        self.read = self.read.saturating_add(buf.filled().len().saturating_sub(before));
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl<S> fmt::Debug for Metered<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metered").field("read", &self.read).finish_non_exhaustive()
    }
}
