//! Bodies of answers: small, large, or sent as they are made.

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
    budget::{Memory, ResourceLimits, SMALL_ANSWER},
    deadline::ConnectionDeadline,
    text::Text,
};
use crate::request_id::carried;

/// The answer to one request body.
pub(crate) struct Reply {
    /// The beginning of the answer, which is all of it if there is no rest.
    pub(crate) beginning: Text,
    pub(crate) rest: Option<Box<dyn ChunkSource>>,
    /// What was reserved while it was made.
    pub(crate) memory: Memory,
}

impl Reply {
    /// An answer that was made as a whole.
    pub(crate) fn whole(text: impl Into<Text>, memory: Memory) -> Self {
        Self { beginning: text.into(), rest: None, memory }
    }

    /// Whether the answer is complete and does not draw on the common memory.
    pub(super) fn is_small(&self) -> bool {
        self.rest.is_none() && self.beginning.len() <= SMALL_ANSWER && self.beginning.memory() <= 2 * SMALL_ANSWER
    }
}

/// Where the rest of an answer comes from.
pub(crate) trait ChunkSource: Send + 'static {
    /// Appends the next piece, which may take its time, and returns whether there is more.
    fn write(&mut self, out: &mut Vec<u8>) -> Result<bool, Truncated>;
}

impl ChunkSource for Box<dyn ChunkSource> {
    fn write(&mut self, out: &mut Vec<u8>) -> Result<bool, Truncated> {
        self.as_mut().write(out)
    }
}

/// Turns for pieces that are being written. A piece is written to its end even if its client is gone, so that clients which
/// ask and leave would have many written at once, each with memory and a thread.
static TURNS: Semaphore = Semaphore::const_new(4);

/// Has the next piece written on a thread that may take its time, and returns it with the source of what follows, if
/// there is more.
pub(crate) async fn next_chunk<S: ChunkSource>(mut source: S) -> Result<(Vec<u8>, Option<S>), Truncated> {
    let turn = TURNS.acquire().await.map_err(|_| Truncated)?;
    let written = spawn_blocking(carried(move || {
        let mut piece = Vec::new();
        let more = source.write(&mut piece);
        drop(turn);
        Ok((piece, more?.then_some(source)))
    }));
    // A panic was logged by the process-wide hook.
    written.await.unwrap_or(Err(Truncated))
}

/// An answer has begun and cannot be ended. Its connection is closed without the mark of the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Truncated;

impl fmt::Display for Truncated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the answer is truncated")
    }
}

impl Error for Truncated {}

/// The body of an answer, which is handed on in pieces, by which a client that reads is told from one that does not.
pub(crate) enum AnswerBody {
    Small(Bytes),
    Large(Large),
    Stream(Stream),
}

impl AnswerBody {
    /// The next piece, once it is there; `None` behind the last.
    pub(crate) async fn next(&mut self) -> Option<Result<Bytes, Truncated>> {
        let frame = poll_fn(|cx| Pin::new(&mut *self).poll_frame(cx)).await?;
        Some(frame.map(|frame| frame.into_data().unwrap_or_default()))
    }
}

impl From<Bytes> for AnswerBody {
    fn from(bytes: Bytes) -> Self {
        Self::Small(bytes)
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Truncated;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Truncated>>> {
        let piece = match &mut *self {
            Self::Small(bytes) => take_piece(bytes).map(Ok),
            Self::Large(large) => large.next_chunk().map(Ok),
            Self::Stream(stream) => ready!(stream.poll_piece(cx)),
        };
        Poll::Ready(piece.map(|piece| piece.map(Frame::data)))
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

/// Most bytes that are handed on at once.
pub(crate) const PIECE: usize = 64 << 10;

fn take_piece(bytes: &mut Bytes) -> Option<Bytes> {
    (!bytes.is_empty()).then(|| bytes.split_to(PIECE.min(bytes.len())))
}

/// An answer that was made as a whole.
pub(crate) struct Large {
    rest: Text,
    deadline: Arc<ConnectionDeadline>,
}

/// What a large answer holds until its last byte was sent, or will not be.
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
        let piece = self.rest.take(PIECE)?;
        self.deadline.part_taken();
        Some(piece)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.deadline.parts_end();
    }
}

/// Bytes of the common memory that the making of an answer takes which is sent as it is made, about, unless one of its
/// parts is large.
const STREAM_BYTES: usize = 16 << 20;

/// Bytes of a part that are among these: while one is sent, the next is made.
const USUAL_PART: usize = STREAM_BYTES / 2;

/// A part of an answer, and where the next one comes from, if there is one.
type Made = Result<(Text, Option<Box<dyn ChunkSource>>), Truncated>;

/// An answer that is sent as it is made: while a part is on its way the next one is made, and no further one. Parts are
/// made on threads that may take their time; no thread waits for the client.
pub(crate) struct Stream {
    /// What was made and is still to be handed on.
    made: Text,
    /// The next part; `None` behind the last.
    making: Option<JoinHandle<Made>>,
    resources: Arc<ResourceLimits>,
    deadline: Arc<ConnectionDeadline>,
    /// Given back when the stream ends, in whichever way.
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

    /// Bytes of memory that an answer with this beginning takes.
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
                tracing::info!(
                    bytes = part.len(),
                    "an answer was broken off, since there is no memory for its next part"
                );
                return Err(Truncated);
            }
            Ok((Text::from(part).owned_by(memory), rest))
        }));
    }

    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Truncated>>> {
        while self.made.is_empty() {
            let Some(making) = &mut self.making else { return Poll::Ready(None) };
            // Until it is made, nobody waits for the client.
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
        Poll::Ready(self.made.take(PIECE).map(Ok))
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.deadline.parts_end();
    }
}
