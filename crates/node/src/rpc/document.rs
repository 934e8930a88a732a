//! Answers that are too large to be held: text that is written a piece at a time.

use std::fmt;

use silica_chain::StateDocument;
use silica_protocol::rpc::error::RpcError;
use silica_state::StateError;

use super::growth::Growth;
use crate::{
    http::{Broken, Source, Text, next_piece},
    methods::tx_block::Bodies,
};

/// The JSON text of a result, to be written.
pub(crate) enum Document {
    /// What is written at once.
    Short(String),
    /// The state of a contract.
    State(Box<StateDocument>),
    /// Transactions of a block in an array, and what stands around them.
    Bodies { head: String, bodies: Bodies, tail: String },
    /// So many pieces of one byte; below none it breaks.
    #[cfg(test)]
    Pieces(i32),
}

/// Bytes of a piece, at least, unless it is the last.
const PIECE: usize = 128 << 10;

impl Document {
    fn write(&mut self, out: &mut Vec<u8>) -> Result<bool, StateError> {
        match self {
            Self::Short(text) => {
                out.extend(std::mem::take(text).as_bytes());
                Ok(false)
            }
            Self::State(document) => document.write(out, PIECE),
            Self::Bodies { head, bodies, tail } => write_bodies(head, bodies, tail, out),
            #[cfg(test)]
            Self::Pieces(-1) => Err(StateError::Expired),
            #[cfg(test)]
            Self::Pieces(pieces) => {
                *pieces -= pieces.signum();
                out.push(b'x');
                Ok(*pieces != 0)
            }
        }
    }
}

fn write_bodies(head: &mut String, bodies: &mut Bodies, tail: &str, out: &mut Vec<u8>) -> Result<bool, StateError> {
    let end = out.len().saturating_add(PIECE);
    while out.len() < end {
        let next = bodies.next()?;
        if next.is_empty() {
            out.extend(tail.as_bytes());
            return Ok(false);
        }
        for body in next {
            // What stands before the first, and between two.
            let before = std::mem::replace(head, ",".to_owned());
            out.extend(before.as_bytes());
            serde_json::to_writer(&mut *out, &body)
                .map_err(|_| StateError::Damaged { what: "a transaction".to_owned(), reason: "it has no JSON form" })?;
        }
    }
    Ok(true)
}

impl From<StateDocument> for Document {
    fn from(document: StateDocument) -> Self {
        Self::State(Box::new(document))
    }
}

impl From<Option<StateDocument>> for Document {
    fn from(document: Option<StateDocument>) -> Self {
        document.map_or_else(|| Self::Short("null".to_owned()), Self::from)
    }
}

/// A document that has begun.
pub(crate) struct Begun {
    /// The beginning, which is all unless there is a rest.
    pub(super) text: Vec<u8>,
    pub(super) rest: Option<Rest>,
}

/// What is still to be written of the answer to one request.
pub(crate) struct Rest {
    document: Document,
    method: &'static str,
    /// Closes the answer.
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
    /// Adds what comes behind the document.
    pub(super) fn closed_by(self, end: &'static [u8]) -> Self {
        Self { end, ..self }
    }

    /// Appends all to the text of an answer, as far as that may grow.
    pub(super) async fn append(self, text: &mut Text, growth: &mut Growth<'_>) -> Result<(), RpcError> {
        let mut next = Some(self);
        while let Some(rest) = next {
            let (piece, more) = next_piece(rest).await.map_err(|Broken| RpcError::INTERNAL_ERROR)?;
            text.append(piece);
            growth.check(text).await?;
            next = more;
        }
        Ok(())
    }
}

impl Source for Rest {
    fn write(&mut self, out: &mut Vec<u8>) -> Result<bool, Broken> {
        let more = self.document.write(out).map_err(|error| {
            // A reader so slow that the state has left the window is no fault of ours.
            if matches!(error, StateError::Expired) {
                tracing::info!(method = self.method, "an answer was broken off, since its state is no longer kept");
            } else {
                tracing::error!(method = self.method, %error, "an answer was broken off");
            }
            Broken
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
    use crate::http::{HttpLimits, Share};

    fn begun(pieces: i32) -> Begun {
        Begun::new(Document::Pieces(pieces), "Pieces").unwrap()
    }

    #[test]
    fn rest_is_closed_behind_its_last_piece() {
        assert!(begun(1).rest.is_none());
        let Begun { mut text, rest } = begun(4);
        let mut rest = rest.unwrap().closed_by(b"}");
        while rest.write(&mut text).unwrap() {}
        assert_eq!(text, b"xxxx}");
    }

    #[test]
    fn what_breaks_at_once_is_an_error_and_later_a_broken_answer() {
        assert!(Begun::new(Document::Pieces(-1), "Pieces").is_err());
        let mut rest = begun(-2).rest.unwrap().closed_by(b"}");
        assert_eq!(rest.write(&mut Vec::new()), Err(Broken));
    }

    #[tokio::test]
    async fn rest_is_appended_up_to_a_limit() {
        let turns = Semaphore::new(1);
        let append = async |pieces: i32, most: usize| {
            let memory = Share::alone(HttpLimits::default()).memory();
            let mut growth = Growth::batch(memory, (1, 0), most, (&turns, Duration::ZERO)).await.unwrap();
            let mut text = Text::default();
            begun(pieces).rest.unwrap().closed_by(b"}").append(&mut text, &mut growth).await.map(|()| text.into_bytes())
        };
        assert_eq!(append(5, 5).await.unwrap(), b"xxxx}".as_slice());
        assert!(append(6, 4).await.unwrap_err().message.contains("too large"));
        assert_eq!(append(-3, 100).await, Err(RpcError::INTERNAL_ERROR));
    }
}
