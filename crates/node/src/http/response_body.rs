//! Bodies of responses: full, metered or chunked.

use std::{
    error::Error,
    fmt,
    future::{Future, poll_fn},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::{
    sync::Semaphore,
    task::{JoinHandle, spawn_blocking},
};

use super::{
    budget::{Memory, ResourceLimits, SMALL_RESPONSE},
    deadline::ConnectionDeadline,
    text::Text,
};
use crate::request_id::carried;

/// The response to one request body.
pub(crate) struct Reply {
    /// The first chunk. Without `rest`, it is the whole response.
    pub(crate) beginning: Text,
    /// The other chunks.
    pub(crate) rest: Option<BodyChunks>,
    /// The memory that is reserved for the response.
    pub(crate) memory: Memory,
}

impl Reply {
    /// Returns a complete response.
    pub(crate) fn whole(text: impl Into<Text>, memory: Memory) -> Self {
        Self { beginning: text.into(), rest: None, memory }
    }

    /// Returns whether the response is complete, and takes no memory of the budget.
    pub(super) fn is_small(&self) -> bool {
        self.rest.is_none() && self.beginning.len() <= SMALL_RESPONSE && self.beginning.memory() <= 2 * SMALL_RESPONSE
    }
}

/// A source of the chunks of a response.
pub(crate) trait Chunks: Send + 'static {
    /// Reason why a chunk cannot be made.
    type Error;

    /// Appends the next chunk. The call can block. Returns whether more chunks follow. After an error, `out` can have a
    /// part of the chunk.
    fn next_chunk(&mut self, out: &mut Vec<u8>) -> Result<bool, Self::Error>;
}

/// The chunks of a response body. Their source logs the reason of an error.
pub(crate) type BodyChunks = Box<dyn Chunks<Error = Truncated>>;

impl Chunks for BodyChunks {
    type Error = Truncated;

    fn next_chunk(&mut self, out: &mut Vec<u8>) -> Result<bool, Truncated> {
        self.as_mut().next_chunk(out)
    }
}

/// Permits to make chunks. The node completes a chunk even if its client has disconnected. Without a limit, clients
/// that connect and disconnect would cause many such chunks at once, each with memory and a thread.
static TURNS: Semaphore = Semaphore::const_new(4);

/// Makes the next chunk on a blocking thread. Returns the chunk, and the source of the following chunks; `None` after
/// the last chunk.
///
/// # Errors
///
/// The source failed or panicked.
pub(crate) async fn make_chunk<C: Chunks<Error = Truncated>>(mut chunks: C) -> Result<(Vec<u8>, Option<C>), Truncated> {
    let turn = TURNS.acquire().await.map_err(|_| Truncated)?;
    let made = spawn_blocking(carried(move || {
        let mut chunk = Vec::new();
        let more = chunks.next_chunk(&mut chunk);
        drop(turn);
        Ok((chunk, more?.then_some(chunks)))
    }));
    // The panic hook of the process has logged a panic.
    made.await.unwrap_or(Err(Truncated))
}

/// The node cannot make the next chunk of a response. If a part of the response is sent, the node closes the connection
/// without the end mark of the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Truncated;

impl fmt::Display for Truncated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the response is truncated")
    }
}

impl Error for Truncated {}

/// The body of a response. The server sends each body in parts of at most [`CHUNK`] bytes, and so detects a client that
/// does not read.
pub(crate) enum ResponseBody {
    /// A small body, without memory of the budget.
    Full(Bytes),
    /// A complete body that holds memory of the budget.
    Metered(Metered),
    /// A body whose chunks are made while the client reads.
    Chunked(Chunked),
}

impl ResponseBody {
    /// Returns the next part, or `None` after the last part.
    pub(crate) async fn next(&mut self) -> Option<Result<Bytes, Truncated>> {
        let frame = poll_fn(|cx| Pin::new(&mut *self).poll_frame(cx)).await?;
        Some(frame.map(|frame| frame.into_data().unwrap_or_default()))
    }
}

impl From<Bytes> for ResponseBody {
    fn from(bytes: Bytes) -> Self {
        Self::Full(bytes)
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Truncated;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Truncated>>> {
        let part = match &mut *self {
            Self::Full(bytes) => take_part(bytes).map(Ok),
            Self::Metered(metered) => metered.next_part().map(Ok),
            Self::Chunked(chunked) => ready!(chunked.poll_part(cx)),
        };
        Poll::Ready(part.map(|part| part.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Full(bytes) => bytes.is_empty(),
            Self::Metered(metered) => metered.rest.is_empty(),
            Self::Chunked(chunked) => chunked.current.is_empty() && chunked.next.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Metered(metered) => SizeHint::with_exact(metered.rest.len() as u64),
            Self::Chunked(_) => SizeHint::default(),
        }
    }
}

/// Maximum size of a part that is sent at once, in bytes.
pub(crate) const CHUNK: usize = 64 << 10;

fn take_part(bytes: &mut Bytes) -> Option<Bytes> {
    (!bytes.is_empty()).then(|| bytes.split_to(CHUNK.min(bytes.len())))
}

/// A complete body that holds memory of the budget.
pub(crate) struct Metered {
    rest: Text,
    deadline: Arc<ConnectionDeadline>,
}

/// The resources of a metered body, until its last byte is sent or the connection ends.
struct Held {
    deadline: Arc<ConnectionDeadline>,
    _memory: Vec<Memory>,
}

impl Metered {
    pub(super) fn new(text: Text, deadline: Arc<ConnectionDeadline>, memory: Vec<Memory>) -> Self {
        let rest = text.owned_by(Held { deadline: Arc::clone(&deadline), _memory: memory });
        Self { rest, deadline }
    }

    fn next_part(&mut self) -> Option<Bytes> {
        let part = self.rest.take(CHUNK)?;
        self.deadline.part_taken();
        Some(part)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.deadline.parts_end();
    }
}

/// Memory that a chunked body reserves, in bytes. The body reserves more for a chunk above [`USUAL_CHUNK`].
const CHUNKED_BYTES: usize = 16 << 20;

/// Size in bytes up to which a chunk needs no further memory. At most two chunks are in memory: the chunk that is being
/// sent, and the next chunk.
const USUAL_CHUNK: usize = CHUNKED_BYTES / 2;

/// A chunk, and the source of the following chunks; `None` after the last chunk.
type ChunkResult = Result<(Text, Option<BodyChunks>), Truncated>;

/// A body whose chunks are made while the client reads. While the server sends one chunk, a blocking thread makes the
/// next chunk, and no further chunk. No thread waits for the client.
pub(crate) struct Chunked {
    /// The rest of the chunk that is being sent.
    current: Text,
    /// The task that makes the next chunk; `None` after the last chunk.
    next: Option<JoinHandle<ChunkResult>>,
    resources: Arc<ResourceLimits>,
    deadline: Arc<ConnectionDeadline>,
    /// The reserved memory, until the drop of the body.
    _memory: Memory,
}

impl Chunked {
    pub(super) fn new(
        first: Text,
        rest: BodyChunks,
        resources: Arc<ResourceLimits>,
        deadline: Arc<ConnectionDeadline>,
        memory: Memory,
    ) -> Self {
        let mut chunked = Self { current: first, next: None, resources, deadline, _memory: memory };
        chunked.make_next(rest);
        chunked
    }

    /// Returns the memory in bytes of a chunked body whose first chunk has `first` bytes.
    pub(super) fn memory(first: usize) -> usize {
        CHUNKED_BYTES.saturating_add(first.saturating_sub(USUAL_CHUNK))
    }

    fn make_next(&mut self, rest: BodyChunks) {
        let resources = Arc::clone(&self.resources);
        let longest = self.deadline.limits.bodies_timeout;
        self.next = Some(tokio::spawn(async move {
            let (chunk, rest) = make_chunk(rest).await?;
            let more = chunk.len().saturating_sub(USUAL_CHUNK);
            if more == 0 {
                return Ok((chunk.into(), rest));
            }
            let mut memory = Memory::new(resources, longest);
            if !memory.reserve_response(chunk.len(), more).await {
                tracing::info!(bytes = chunk.len(), "truncated a response: no memory is free for its next chunk");
                return Err(Truncated);
            }
            Ok((Text::from(chunk).owned_by(memory), rest))
        }));
    }

    fn poll_part(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Truncated>>> {
        while self.current.is_empty() {
            let Some(next) = &mut self.next else { return Poll::Ready(None) };
            // The client cannot read before the chunk is made, so its deadline does not apply.
            self.deadline.part_awaited();
            let made = ready!(Pin::new(next).poll(cx));
            self.next = None;
            match made.unwrap_or(Err(Truncated)) {
                Ok((chunk, rest)) => {
                    self.current = chunk;
                    if let Some(rest) = rest {
                        self.make_next(rest);
                    }
                }
                Err(truncated) => {
                    self.deadline.part_taken();
                    return Poll::Ready(Some(Err(truncated)));
                }
            }
        }
        self.deadline.part_taken();
        Poll::Ready(self.current.take(CHUNK).map(Ok))
    }
}

impl Drop for Chunked {
    fn drop(&mut self) {
        self.deadline.parts_end();
    }
}
