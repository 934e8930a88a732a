//! Results that can be larger than memory permits: JSON text in pieces.

use std::fmt;

use silica_protocol::rpc::error::RpcError;
use silica_state::StateError;

use super::growth::Growth;
use crate::http::{ChunkSource, Text, Truncated, next_chunk};

/// Size of a piece in bytes. A piece can be larger, and the last piece can be smaller.
const CHUNK: usize = 128 << 10;

/// JSON text in pieces.
pub(crate) trait Pieces: Send + 'static {
    /// Appends the next piece, and returns whether more pieces follow. All pieces except the last have at least `size`
    /// bytes.
    ///
    /// # Errors
    ///
    /// The state could not be read. `out` can have a part of the piece.
    fn write(&mut self, out: &mut Vec<u8>, size: usize) -> Result<bool, StateError>;
}

impl Pieces for String {
    fn write(&mut self, out: &mut Vec<u8>, _: usize) -> Result<bool, StateError> {
        out.extend(std::mem::take(self).as_bytes());
        Ok(false)
    }
}

/// The JSON text of a result before its first piece.
pub(crate) struct Document(Box<dyn Pieces>);

impl Document {
    pub(crate) fn new(chunks: impl Pieces) -> Self {
        Self(Box::new(chunks))
    }

    fn write(&mut self, out: &mut Vec<u8>) -> Result<bool, StateError> {
        self.0.write(out, CHUNK)
    }
}

/// A document after its first piece.
pub(crate) struct Begun {
    /// The first piece.
    pub(super) text: Vec<u8>,
    pub(super) rest: Option<Rest>,
}

/// The remaining pieces of the response to one request.
pub(crate) struct Rest {
    document: Document,
    method: &'static str,
    /// Text after the last piece.
    end: &'static [u8],
}

impl Begun {
    /// Writes the first piece.
    pub(super) fn new(mut document: Document, method: &'static str) -> Result<Self, StateError> {
        let mut text = Vec::new();
        let more = document.write(&mut text)?;
        Ok(Self { text, rest: more.then_some(Rest { document, method, end: b"" }) })
    }
}

impl Rest {
    /// Sets the text after the last piece.
    pub(super) fn closed_by(self, end: &'static [u8]) -> Self {
        Self { end, ..self }
    }

    /// Appends all pieces to the text of a response, within its bounds.
    pub(super) async fn append(self, text: &mut Text, growth: &mut Growth<'_>) -> Result<(), RpcError> {
        let mut next = Some(self);
        while let Some(rest) = next {
            let (chunk, more) = next_chunk(rest).await.map_err(|Truncated| RpcError::INTERNAL_ERROR)?;
            text.append(chunk);
            growth.check(text).await?;
            next = more;
        }
        Ok(())
    }
}

impl ChunkSource for Rest {
    fn write(&mut self, out: &mut Vec<u8>) -> Result<bool, Truncated> {
        let more = self.document.write(out).map_err(|error| {
            // The client was so slow that the node no longer keeps the state. This is no fault of the node.
            if matches!(error, StateError::Expired) {
                tracing::info!(method = self.method, "an answer was truncated: its state is no longer kept");
            } else {
                tracing::error!(method = self.method, %error, "an answer was truncated");
            }
            Truncated
        })?;
        if !more {
            out.extend(self.end);
        }
        Ok(more)
    }
}

impl fmt::Debug for Rest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rest").field("method", &self.method).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::sync::Semaphore;

    use super::*;
    use crate::http::{HttpLimits, MemoryLease};

    /// A number of pieces of one byte. A negative number ends with an error.
    impl Pieces for i32 {
        fn write(&mut self, out: &mut Vec<u8>, _: usize) -> Result<bool, StateError> {
            if *self == -1 {
                return Err(StateError::Expired);
            }
            *self -= self.signum();
            out.push(b'x');
            Ok(*self != 0)
        }
    }

    fn begun(chunks: i32) -> Begun {
        Begun::new(Document::new(chunks), "Pieces").unwrap()
    }

    #[test]
    fn last_piece_has_the_closing_text() {
        assert!(begun(1).rest.is_none());
        let Begun { mut text, rest } = begun(4);
        let mut rest = rest.unwrap().closed_by(b"}");
        while rest.write(&mut text).unwrap() {}
        assert_eq!(text, b"xxxx}");
    }

    #[test]
    fn fault_in_the_first_piece_is_an_error_and_a_later_one_truncates() {
        assert!(Begun::new(Document::new(-1), "Pieces").is_err());
        let mut rest = begun(-2).rest.unwrap().closed_by(b"}");
        assert_eq!(rest.write(&mut Vec::new()), Err(Truncated));
    }

    #[tokio::test]
    async fn rest_is_appended_up_to_a_limit() {
        let turns = Semaphore::new(1);
        let append = async |chunks: i32, most: usize| {
            let memory = MemoryLease::alone(HttpLimits::default()).memory();
            let mut growth = Growth::batch(memory, (1, 0), most, (&turns, Duration::ZERO)).await.unwrap();
            let mut text = Text::default();
            begun(chunks).rest.unwrap().closed_by(b"}").append(&mut text, &mut growth).await.map(|()| text.into_bytes())
        };
        assert_eq!(append(5, 5).await.unwrap(), b"xxxx}".as_slice());
        assert!(append(6, 4).await.unwrap_err().message.contains("too large"));
        assert_eq!(append(-3, 100).await, Err(RpcError::INTERNAL_ERROR));
    }
}
