//! Results that can be larger than memory permits: JSON text in chunks.

use std::mem;

use silica_protocol::rpc::error::RpcError;
use silica_state::StateError;

use super::growth::Growth;
use crate::http::{Chunks, Text, Truncated, make_chunk};

/// Minimum size of a chunk of a result in bytes. The last chunk can be smaller.
pub(crate) const RESULT_CHUNK: usize = 128 << 10;

/// A complete result is a single chunk.
impl Chunks for String {
    type Error = StateError;

    fn next_chunk(&mut self, out: &mut Vec<u8>) -> Result<bool, StateError> {
        out.extend(mem::take(self).as_bytes());
        Ok(false)
    }
}

/// The JSON text of a result. The first chunk exists. The node makes the other chunks while the client reads.
pub(crate) struct ChunkedResult {
    /// The first chunk, until it is taken.
    head: Vec<u8>,
    /// The source of the other chunks; `None` after the last chunk.
    tail: Option<Box<dyn Chunks<Error = StateError>>>,
    /// The method, for the log.
    method: &'static str,
    /// The text after the last chunk.
    end: &'static [u8],
}

impl ChunkedResult {
    /// Makes the first chunk. The call can block.
    ///
    /// # Errors
    ///
    /// The error of the first chunk. An error of a later chunk truncates the response to a single request. In a batch,
    /// the request gets an internal error instead.
    pub(crate) fn begin(method: &'static str, mut chunks: impl Chunks<Error = StateError>) -> Result<Self, StateError> {
        let mut head = Vec::new();
        let more = chunks.next_chunk(&mut head)?;
        let tail: Option<Box<dyn Chunks<Error = StateError>>> = if more { Some(Box::new(chunks)) } else { None };
        Ok(Self { head, tail, method, end: b"" })
    }

    /// Returns whether the first chunk is the whole result.
    pub(super) fn is_complete(&self) -> bool {
        self.tail.is_none()
    }

    /// Appends the first chunk to a response, and sets the text after the last chunk. Returns the other chunks. Without
    /// other chunks, the function also appends the text after the last chunk.
    pub(super) fn write_head(mut self, text: &mut Text, end: &'static [u8]) -> Option<Self> {
        text.append(mem::take(&mut self.head));
        if self.is_complete() {
            text.end().extend_from_slice(end);
            return None;
        }
        Some(Self { end, ..self })
    }

    /// Appends all remaining chunks to a response in memory.
    ///
    /// # Errors
    ///
    /// A chunk cannot be made, or the response exceeds the bounds of `growth`.
    pub(super) async fn append(self, text: &mut Text, growth: &mut Growth<'_>) -> Result<(), RpcError> {
        let mut next = Some(self);
        while let Some(rest) = next {
            let (chunk, more) = make_chunk(rest).await.map_err(|Truncated| RpcError::INTERNAL_ERROR)?;
            text.append(chunk);
            growth.check(text).await?;
            next = more;
        }
        Ok(())
    }
}

/// The chunks after the first chunk.
impl Chunks for ChunkedResult {
    type Error = Truncated;

    fn next_chunk(&mut self, out: &mut Vec<u8>) -> Result<bool, Truncated> {
        let Some(tail) = &mut self.tail else { return Ok(false) };
        let more = tail.next_chunk(out).map_err(|error| {
            // While a slow client reads, the state of the result can leave the state history, and a revert can remove
            // its blocks. Neither is a fault of the node.
            if matches!(error, StateError::Expired) || error.is_retired() {
                tracing::info!(
                    method = self.method,
                    "truncated a response, because the state history no longer has its state"
                );
            } else {
                tracing::error!(
                    method = self.method,
                    %error,
                    "failed to read the state of a response; the client gets a truncated response, or an error in a batch"
                );
            }
            Truncated
        })?;
        if !more {
            self.tail = None;
            out.extend(self.end);
        }
        Ok(more)
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use tokio::sync::Semaphore;

    use super::*;
    use crate::http::{HttpLimits, MemoryLease};

    /// A positive number is the number of chunks, which have one byte each. A negative number ends the chunks with an
    /// error.
    impl Chunks for i32 {
        type Error = StateError;

        fn next_chunk(&mut self, out: &mut Vec<u8>) -> Result<bool, StateError> {
            if *self == -1 {
                return Err(StateError::Expired);
            }
            *self -= self.signum();
            out.push(b'x');
            Ok(*self != 0)
        }
    }

    /// Begins a result, and writes its first chunk. Returns the written text, and the other chunks.
    fn begun(chunks: i32) -> (Vec<u8>, Option<ChunkedResult>) {
        let mut text = Text::default();
        let rest = ChunkedResult::begin("Method", chunks).unwrap().write_head(&mut text, b"}");
        (text.into_bytes().to_vec(), rest)
    }

    #[test]
    fn last_chunk_has_the_closing_text() {
        let (text, rest) = begun(1);
        assert!(rest.is_none());
        assert_eq!(text, b"x}");
        let (mut text, rest) = begun(4);
        let mut rest = rest.unwrap();
        while rest.next_chunk(&mut text).unwrap() {}
        assert_eq!(text, b"xxxx}");
    }

    #[test]
    fn fault_in_the_first_chunk_is_an_error_and_a_later_one_truncates() {
        assert!(ChunkedResult::begin("Method", -1).is_err());
        let (_, rest) = begun(-2);
        assert_eq!(rest.unwrap().next_chunk(&mut Vec::new()), Err(Truncated));
    }

    #[tokio::test]
    async fn rest_is_appended_up_to_a_limit() {
        let turns = Semaphore::new(1);
        let append = async |chunks: i32, most: usize| {
            let memory = MemoryLease::alone(HttpLimits::default(), Arc::default()).memory();
            let mut growth = Growth::batch(memory, (1, 0), most, (&turns, Duration::ZERO)).await.unwrap();
            let mut text = Text::default();
            let (_, rest) = begun(chunks);
            rest.unwrap().append(&mut text, &mut growth).await.map(|()| text.into_bytes())
        };
        assert_eq!(append(5, 5).await.unwrap(), b"xxxx}".as_slice());
        assert!(append(6, 4).await.unwrap_err().message.contains("too large"));
        assert_eq!(append(-3, 100).await, Err(RpcError::INTERNAL_ERROR));
    }
}
