//! Bounds on the answer to a batch while it is made.

use std::time::Duration;

use silica_protocol::rpc::error::{RpcError, RpcErrorCode};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::{Instant, timeout},
};

use crate::http::{Memory, SMALL_ANSWER, Text};

/// Bytes of the answer to a batch beyond which it is large.
pub(super) const LARGE_ANSWER: usize = 256 << 10;

/// Batches whose answers become large at once; others wait, with what they have of theirs.
pub(super) const LARGE_ANSWERS: usize = 2;

/// Time for which a batch waits until its answer may become large, before the rest of it is refused.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// Time for which a batch keeps its turn before others that wait for one come first: its calls may take long.
const TURN: Duration = Duration::from_secs(2);

/// Bytes of memory that the answer to a batch reserves at once, and that it has left, at least, before a call is answered.
const STEP: usize = 512 << 10;
const AHEAD: usize = 64 << 10;

/// Bytes of memory for making a stream whose pieces are appended to the answer to a batch: unlike a stream that is sent, only
/// one of its pieces exists at a time.
const MAKING: usize = 4 << 20;

/// Bytes of a refusal without its id, at most.
const REFUSAL: usize = 192;

/// Said of calls of a batch that are not answered.
const TOO_LARGE: &str = "The answer to the batch is too large, ask for less at once";
const NO_MEMORY: &str = "There is no memory for the rest of the answer to the batch, try again later";

/// How far an answer may grow.
///
/// The answer to a batch reserves memory before it grows, a step at a time, and enough to refuse all calls before the first is
/// answered. An answer that is sent as it is made reserves the memory that making it needs. Several answers may each hold memory
/// and wait for more. Therefore each of them waits for a bounded time. After that time the answer ends: the remaining calls are
/// refused, and what it holds is returned once the client has read it.
#[derive(Debug)]
pub(super) struct Growth<'a> {
    memory: Memory,
    /// Bytes of text that the answer may have.
    limit: usize,
    /// Bytes of memory for refusing all calls.
    refusals: usize,
    /// Bytes of memory for making the stream that is being appended.
    stream: usize,
    /// Turns to grow large, and the time for which the answer waits for one; `None` if it needs none.
    turns: Option<(&'a Semaphore, Duration)>,
    /// Held while the answer grows large.
    turn: Option<(SemaphorePermit<'a>, Instant)>,
    /// Why the remaining calls are refused.
    end: Option<&'static str>,
}

impl<'a> Growth<'a> {
    /// Bounds for the answer to a single call, which reserves memory for its text once that is known.
    pub(super) const fn single(memory: Memory) -> Self {
        Self { memory, limit: usize::MAX, refusals: 0, stream: 0, turns: None, turn: None, end: None }
    }

    /// Bounds for an answer to a batch, of which the number of calls and the bytes of their ids are given; `None` when there is
    /// not even memory for refusing them.
    pub(super) async fn batch(
        mut memory: Memory,
        (calls, ids): (usize, usize),
        limit: usize,
        turns: (&'a Semaphore, Duration),
    ) -> Option<Self> {
        // A refusal repeats the id of its call.
        let refusals = calls.saturating_mul(REFUSAL).saturating_add(ids).saturating_add(AHEAD);
        if refusals > SMALL_ANSWER + AHEAD && !memory.reserve(refusals).await {
            return None;
        }
        Some(Self { limit, refusals, turns: Some(turns), ..Self::single(memory) })
    }

    /// Waits for memory for the next call, before it is answered.
    pub(super) async fn begin(&mut self, text: &Text) -> Result<(), RpcError> {
        if let Some(reason) = self.end {
            return Err(refusal(reason));
        }
        // A call that changes the chain is not made when its answer has no place left.
        if text.len().saturating_add(AHEAD.min(self.limit / 2)) > self.limit {
            return Err(self.end(TOO_LARGE));
        }
        if self.stream > 0 {
            self.stream = 0;
            self.memory.shrink(self.taken(text).saturating_add(STEP));
            // Calls with short answers may follow for minutes.
            if text.memory() <= LARGE_ANSWER {
                self.turn = None;
            }
        }
        if text.memory() > LARGE_ANSWER {
            self.take_turn().await?;
        }
        if text.memory() > SMALL_ANSWER
            && self.memory.bytes() < self.taken(text).saturating_add(AHEAD)
            && !self.memory.reserve(self.taken(text).saturating_add(STEP)).await
        {
            return Err(self.end(NO_MEMORY));
        }
        Ok(())
    }

    /// Checks that the text is not too long, and waits for memory for what was not reserved.
    pub(super) async fn check(&mut self, text: &Text) -> Result<(), RpcError> {
        if text.len() > self.limit {
            return Err(self.end(TOO_LARGE));
        }
        let made = self.taken(text);
        if text.memory() > SMALL_ANSWER && !self.memory.reserve_response(made, made).await {
            return Err(self.end(NO_MEMORY));
        }
        Ok(())
    }

    /// Reserves memory for the making of an answer that is made a piece at a time, if it is there. Returns whether it is.
    pub(super) fn try_begin_stream(&mut self, text: &Text) -> bool {
        self.end_long_turn();
        if let (Some((turns, _)), None) = (self.turns, &self.turn) {
            let Ok(turn) = turns.try_acquire() else { return false };
            self.turn = Some((turn, Instant::now()));
        }
        let needed = self.with_stream(text);
        self.memory.try_reserve(needed)
    }

    /// Waits for memory for the making of an answer that is made a piece at a time.
    pub(super) async fn begin_stream(&mut self, text: &Text) -> Result<(), RpcError> {
        self.take_turn().await?;
        let needed = self.with_stream(text);
        if self.memory.reserve(needed).await { Ok(()) } else { Err(self.end(NO_MEMORY)) }
    }

    /// Bytes of memory of the answer while a stream is made, at most all memory.
    fn with_stream(&mut self, text: &Text) -> usize {
        if self.turns.is_none() {
            return self.memory.stream(text.memory());
        }
        self.stream = MAKING;
        self.taken(text)
    }

    /// Bytes of memory that the answer takes so far. A stream does with what the text leaves of all memory.
    fn taken(&self, text: &Text) -> usize {
        let own = text.memory().saturating_add(self.refusals);
        own.saturating_add(self.stream.min(self.memory.all().saturating_sub(own)))
    }

    /// Ends a turn that has lasted for long, so that others come first.
    fn end_long_turn(&mut self) {
        if self.turn.as_ref().is_some_and(|(_, begun)| begun.elapsed() > TURN) {
            self.turn = None;
        }
    }

    /// Waits until the answer may become large. An answer to a single call does not wait for others.
    async fn take_turn(&mut self) -> Result<(), RpcError> {
        let Some((turns, patience)) = self.turns else { return Ok(()) };
        self.end_long_turn();
        if self.turn.is_none() {
            let turn = timeout(patience, turns.acquire()).await.ok().and_then(Result::ok);
            self.turn = turn.map(|turn| (turn, Instant::now()));
        }
        if self.turn.is_some() { Ok(()) } else { Err(self.end(NO_MEMORY)) }
    }

    fn end(&mut self, reason: &'static str) -> RpcError {
        refusal(self.end.insert(reason))
    }

    /// Whether the answer cannot grow any more.
    pub(super) const fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    /// Returns what was reserved for more than a text that is complete.
    pub(super) fn shrink(&mut self, text: &Text) {
        self.memory.shrink(text.memory());
    }

    /// The memory that the answer holds.
    pub(super) fn into_memory(self) -> Memory {
        self.memory
    }
}

fn refusal(reason: &'static str) -> RpcError {
    RpcError::new(RpcErrorCode::INTERNAL_ERROR, reason)
}
