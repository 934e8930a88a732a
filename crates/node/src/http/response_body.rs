//! Bodies of responses: small, large, or streamed.

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

/// The answer to one request body.
pub(crate) struct Reply {
    /// The beginning of the answer, or all of it if there is no rest.
    pub(crate) beginning: Text,
    pub(crate) rest: Option<Box<dyn ChunkSource>>,
    /// The memory that was reserved while it was made.
    pub(crate) memory: Memory,
}

impl Reply {
    /// An answer that was made as a whole.
    pub(crate) fn whole(text: impl Into<Text>, memory: Memory) -> Self {
        Self { beginning: text.into(), rest: None, memory }
    }

    /// Returns whether the answer is complete, and takes no memory of the budget.
    pub(super) fn is_small(&self) -> bool {
        self.rest.is_none() && self.beginning.len() <= SMALL_RESPONSE && self.beginning.memory() <= 2 * SMALL_RESPONSE
    }
}

/// The source of the rest of an answer.
pub(crate) trait ChunkSource: Send + 'static {
    /// Appends the next chunk, which may block. Returns whether more follow.
    fn write(&mut self, out: &mut Vec<u8>) -> Result<bool, Truncated>;
}

impl ChunkSource for Box<dyn ChunkSource> {
    fn write(&mut self, out: &mut Vec<u8>) -> Result<bool, Truncated> {
        self.as_mut().write(out)
    }
}

/// Permits for chunks that are being written. A chunk is written to its end even if its client has gone. Without a
/// bound, clients that connect and leave would cause many such writes at once, each with memory and a thread.
static TURNS: Semaphore = Semaphore::const_new(4);

/// Writes the next chunk on a blocking thread. Returns it with the source of the following ones, if there are any.
pub(crate) async fn next_chunk<S: ChunkSource>(mut source: S) -> Result<(Vec<u8>, Option<S>), Truncated> {
    let turn = TURNS.acquire().await.map_err(|_| Truncated)?;
    let written = spawn_blocking(carried(move || {
        let mut chunk = Vec::new();
        let more = source.write(&mut chunk);
        drop(turn);
        Ok((chunk, more?.then_some(source)))
    }));
    // The hook of the process has logged a panic.
    written.await.unwrap_or(Err(Truncated))
}

/// An answer has begun and cannot be completed. Its connection is closed without the mark of the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Truncated;

impl fmt::Display for Truncated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the response is truncated")
    }
}

impl Error for Truncated {}

/// The body of a response. It is sent in chunks, so that the server sees whether the client reads.
pub(crate) enum ResponseBody {
    Small(Bytes),
    Large(Large),
    Stream(Stream),
}

impl ResponseBody {
    /// Returns the next chunk; `None` after the last one.
    pub(crate) async fn next(&mut self) -> Option<Result<Bytes, Truncated>> {
        let frame = poll_fn(|cx| Pin::new(&mut *self).poll_frame(cx)).await?;
        Some(frame.map(|frame| frame.into_data().unwrap_or_default()))
    }
}

impl From<Bytes> for ResponseBody {
    fn from(bytes: Bytes) -> Self {
        Self::Small(bytes)
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Truncated;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Truncated>>> {
        let chunk = match &mut *self {
            Self::Small(bytes) => take_chunk(bytes).map(Ok),
            Self::Large(large) => large.next_chunk().map(Ok),
            Self::Stream(stream) => ready!(stream.poll_chunk(cx)),
        };
        Poll::Ready(chunk.map(|chunk| chunk.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Small(bytes) => bytes.is_empty(),
            Self::Large(large) => large.rest.is_empty(),
            Self::Stream(stream) => stream.made.is_empty() && stream.making.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Small(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Large(large) => SizeHint::with_exact(large.rest.len() as u64),
            Self::Stream(_) => SizeHint::default(),
        }
    }
}

/// Maximum size of a chunk in bytes.
pub(crate) const CHUNK: usize = 64 << 10;

fn take_chunk(bytes: &mut Bytes) -> Option<Bytes> {
    (!bytes.is_empty()).then(|| bytes.split_to(CHUNK.min(bytes.len())))
}

/// An answer that was made as a whole.
pub(crate) struct Large {
    rest: Text,
    deadline: Arc<ConnectionDeadline>,
}

/// The resources of a large answer, until its last byte is sent or the connection ends.
struct Held {
    deadline: Arc<ConnectionDeadline>,
    _memory: Vec<Memory>,
}

impl Large {
    pub(super) fn new(answer: Text, deadline: Arc<ConnectionDeadline>, memory: Vec<Memory>) -> Self {
        let rest = answer.owned_by(Held { deadline: Arc::clone(&deadline), _memory: memory });
        Self { rest, deadline }
    }

    fn next_chunk(&mut self) -> Option<Bytes> {
        let chunk = self.rest.take(CHUNK)?;
        self.deadline.part_taken();
        Some(chunk)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.deadline.parts_end();
    }
}

/// Approximate memory of a streamed answer in bytes, unless one of its parts is large.
const STREAM_BYTES: usize = 16 << 20;

/// Size of a part in bytes that is included in them: while one part is sent, the next one is made.
const USUAL_PART: usize = STREAM_BYTES / 2;

/// A part of an answer, and the source of the next one, if there is one.
type Made = Result<(Text, Option<Box<dyn ChunkSource>>), Truncated>;

/// A streamed answer. While a part is sent the next one is made, and no further one. Parts are made on blocking
/// threads. No thread waits for the client.
pub(crate) struct Stream {
    /// The part that is being sent.
    made: Text,
    /// The next part; `None` after the last one.
    making: Option<JoinHandle<Made>>,
    resources: Arc<ResourceLimits>,
    deadline: Arc<ConnectionDeadline>,
    /// The memory, until the stream ends or is dropped.
    _memory: Memory,
}

impl Stream {
    pub(super) fn new(
        beginning: Text,
        rest: Box<dyn ChunkSource>,
        resources: Arc<ResourceLimits>,
        deadline: Arc<ConnectionDeadline>,
        memory: Memory,
    ) -> Self {
        let mut stream = Self { made: beginning, making: None, resources, deadline, _memory: memory };
        stream.make(rest);
        stream
    }

    /// Returns the memory in bytes of a streamed answer with a beginning of this size.
    pub(super) fn memory(beginning: usize) -> usize {
        STREAM_BYTES.saturating_add(beginning.saturating_sub(USUAL_PART))
    }

    fn make(&mut self, rest: Box<dyn ChunkSource>) {
        let (resources, longest) = (Arc::clone(&self.resources), self.deadline.limits.bodies_timeout);
        self.making = Some(tokio::spawn(async move {
            let (part, rest) = next_chunk(rest).await?;
            let more = part.len().saturating_sub(USUAL_PART);
            if more == 0 {
                return Ok((part.into(), rest));
            }
            let mut memory = Memory::new(resources, longest);
            if !memory.reserve_response(part.len(), more).await {
                tracing::info!(bytes = part.len(), "truncated a response: no memory is free for its next chunk");
                return Err(Truncated);
            }
            Ok((Text::from(part).owned_by(memory), rest))
        }));
    }

    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Truncated>>> {
        while self.made.is_empty() {
            let Some(making) = &mut self.making else { return Poll::Ready(None) };
            // The deadline does not apply until the part is made.
            self.deadline.part_awaited();
            let made = ready!(Pin::new(making).poll(cx));
            self.making = None;
            match made.unwrap_or(Err(Truncated)) {
                Ok((part, rest)) => {
                    self.made = part;
                    if let Some(rest) = rest {
                        self.make(rest);
                    }
                }
                Err(broken) => {
                    self.deadline.part_taken();
                    return Poll::Ready(Some(Err(broken)));
                }
            }
        }
        self.deadline.part_taken();
        Poll::Ready(self.made.take(CHUNK).map(Ok))
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.deadline.parts_end();
    }
}
