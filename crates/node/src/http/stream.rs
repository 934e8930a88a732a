//! Bodies of answers: small, large, or sent as they are made.

use std::{
    error::Error,
    fmt, mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::{
    sync::OwnedSemaphorePermit,
    task::{JoinHandle, spawn_blocking},
};

use super::Patience;
use crate::request_id::carried;

/// The answer to one request body.
pub(crate) struct Reply {
    /// The beginning of the answer, which is all of it if there is no rest.
    pub(crate) beginning: Vec<u8>,
    pub(crate) rest: Option<Box<dyn Source>>,
}

/// Where the rest of an answer comes from.
pub(crate) trait Source: Send + 'static {
    /// Appends the next piece, which may take its time, and returns whether there is more.
    fn write(&mut self, out: &mut Vec<u8>) -> Result<bool, Broken>;
}

/// An answer has begun and cannot be ended. Its connection is closed without the mark of the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the rest of the answer is not to be had")
    }
}

impl Error for Broken {}

/// The body of an answer.
pub(super) enum AnswerBody {
    Small(Bytes),
    Large(Large),
    Stream(Stream),
}

impl From<Bytes> for AnswerBody {
    fn from(bytes: Bytes) -> Self {
        Self::Small(bytes)
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        match &mut *self {
            Self::Small(bytes) => {
                let bytes = mem::take(bytes);
                Poll::Ready((!bytes.is_empty()).then(|| Ok(Frame::data(bytes))))
            }
            Self::Large(large) => Poll::Ready(large.next_piece().map(|piece| Ok(Frame::data(piece)))),
            Self::Stream(stream) => stream.poll_piece(cx).map(|piece| piece.map(|piece| piece.map(Frame::data))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Small(bytes) => bytes.is_empty(),
            Self::Large(large) => large.rest.is_empty(),
            Self::Stream(_) => false,
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

/// Bytes of a large answer that are handed on at once.
const PIECE: usize = 64 << 10;

/// An answer that was made as a whole. It is handed on in pieces, by which a client that reads is told from one that does
/// not.
pub(super) struct Large {
    rest: Bytes,
    patience: Arc<Patience>,
}

/// The bytes of a large answer. They go, and their memory is given back, when the last of them was sent or will not be.
struct Kept {
    answer: Vec<u8>,
    patience: Arc<Patience>,
    _memory: OwnedSemaphorePermit,
}

impl Large {
    pub(super) fn new(answer: Vec<u8>, patience: Arc<Patience>, memory: OwnedSemaphorePermit) -> Self {
        let rest = Bytes::from_owner(Kept { answer, patience: Arc::clone(&patience), _memory: memory });
        Self { rest, patience }
    }

    fn next_piece(&mut self) -> Option<Bytes> {
        if self.rest.is_empty() {
            return None;
        }
        self.patience.part_taken();
        Some(self.rest.split_to(PIECE.min(self.rest.len())))
    }
}

impl AsRef<[u8]> for Kept {
    fn as_ref(&self) -> &[u8] {
        &self.answer
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.patience.parts_end();
    }
}

/// A piece, and where the next one comes from, if there is one.
type Made = Result<(Vec<u8>, Option<Box<dyn Source>>), Broken>;

/// An answer that is sent as it is made: while a piece is on its way the next one is made, and no further one. Pieces are
/// made on threads that may take their time; no thread waits for the client.
pub(super) struct Stream {
    /// What was written already.
    beginning: Option<Bytes>,
    /// The next piece; `None` behind the last.
    making: Option<JoinHandle<Made>>,
    patience: Arc<Patience>,
    /// Given back when the stream ends, in whichever way.
    _memory: OwnedSemaphorePermit,
}

impl Stream {
    pub(super) fn new(
        beginning: Vec<u8>,
        rest: Box<dyn Source>,
        patience: Arc<Patience>,
        memory: OwnedSemaphorePermit,
    ) -> Self {
        let beginning = (!beginning.is_empty()).then(|| beginning.into());
        Self { beginning, making: Some(make(rest)), patience, _memory: memory }
    }

    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Broken>>> {
        if let Some(beginning) = self.beginning.take() {
            self.patience.part_taken();
            return Poll::Ready(Some(Ok(beginning)));
        }
        let Some(making) = &mut self.making else { return Poll::Ready(None) };
        // Until it is made, nobody waits for the client.
        self.patience.part_awaited();
        let made = ready!(Pin::new(making).poll(cx));
        self.patience.part_taken();
        // A panic was logged by the process-wide hook.
        match made.unwrap_or(Err(Broken)) {
            Ok((piece, rest)) => {
                self.making = rest.map(make);
                Poll::Ready(Some(Ok(piece.into())))
            }
            Err(broken) => {
                self.making = None;
                Poll::Ready(Some(Err(broken)))
            }
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.patience.parts_end();
    }
}

fn make(mut source: Box<dyn Source>) -> JoinHandle<Made> {
    spawn_blocking(carried(move || {
        let mut piece = Vec::new();
        let more = source.write(&mut piece)?;
        Ok((piece, more.then_some(source)))
    }))
}
