//! Bounds on the memory of a response during its creation.

use std::time::Duration;

use silica_protocol::rpc::error::{RpcError, RpcErrorCode};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::{Instant, timeout},
};

use crate::http::{Memory, SMALL_RESPONSE, Text};

/// Size in bytes above which the response to a batch is large, and needs a permit to grow.
pub(super) const LARGE_ANSWER: usize = 256 << 10;

/// Maximum number of batches whose responses may grow large at the same time. Other batches wait for a permit.
pub(super) const LARGE_ANSWERS: usize = 2;

/// Time for which a batch waits for a permit to grow large. After this time, the node rejects the remaining calls.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// Time after which a batch returns its permit, and waits for a permit behind other batches. The calls of one batch can
/// take minutes.
const TURN: Duration = Duration::from_secs(2);

/// Bytes of memory that the response to a batch reserves in one step.
const STEP: usize = 512 << 10;

/// Bytes of reserved memory that a large response to a batch must have left before each call.
const AHEAD: usize = 64 << 10;

/// Bytes of memory for a stream that is appended to the response to a batch. Only one of its chunks is in memory. A
/// stream to a client has two chunks in memory.
const MAKING: usize = 4 << 20;

/// Maximum size of the error of a rejected call without its id, in bytes.
const REFUSAL: usize = 192;

/// The texts for calls of a batch that the node rejects.
const TOO_LARGE: &str = "The answer to the batch is too large, ask for less at once";
const NO_MEMORY: &str = "There is no memory for the rest of the answer to the batch, try again later";

/// The bounds of a response.
///
/// The response to a batch reserves memory before it grows, one step at a time. Before the first call, the response
/// reserves enough memory to reject all calls. A streamed response reserves the memory for its chunks. Several
/// responses can each hold memory and wait for more. Therefore each wait is bounded. After a wait without success, the
/// node rejects the remaining calls of the batch. The response returns its memory after the client has read the
/// response.
#[derive(Debug)]
pub(super) struct Growth<'a> {
    memory: Memory,
    /// Maximum number of bytes of text.
    limit: usize,
    /// Bytes of memory for the rejection of all calls.
    refusals: usize,
    /// Bytes of memory for the stream that the node appends; 0 without a stream.
    stream: usize,
    /// Permits for large responses, and the maximum wait for a permit; `None` for a single call, which needs no permit.
    turns: Option<(&'a Semaphore, Duration)>,
    /// The permit of the response, and the time at which the response got the permit; `None` without a permit.
    turn: Option<(SemaphorePermit<'a>, Instant)>,
    /// Reason for the rejection of the remaining calls.
    end: Option<&'static str>,
}

impl<'a> Growth<'a> {
    /// Returns the bounds for the response to a single call. The memory of its text is reserved when the text is
    /// complete.
    pub(super) const fn single(memory: Memory) -> Self {
        Self { memory, limit: usize::MAX, refusals: 0, stream: 0, turns: None, turn: None, end: None }
    }

    /// Returns the bounds for the response to a batch of `calls` calls, whose ids have `ids` bytes together. Returns
    /// `None` if no memory for the rejection of these calls becomes free in time.
    pub(super) async fn batch(
        mut memory: Memory,
        (calls, ids): (usize, usize),
        limit: usize,
        turns: (&'a Semaphore, Duration),
    ) -> Option<Self> {
        // An error repeats the id of its call.
        let refusals = calls.saturating_mul(REFUSAL).saturating_add(ids).saturating_add(AHEAD);
        if refusals > SMALL_RESPONSE + AHEAD && !memory.reserve(refusals).await {
            return None;
        }
        Some(Self { limit, refusals, turns: Some(turns), ..Self::single(memory) })
    }

    /// Waits for the permit and the memory that the next call needs.
    ///
    /// # Errors
    ///
    /// The error of the call, if the response has reached its limit or a wait has failed.
    pub(super) async fn begin(&mut self, text: &Text) -> Result<(), RpcError> {
        if let Some(reason) = self.end {
            return Err(refusal(reason));
        }
        // Check the length before the call: a call that changes the chain must not run if its response does not fit.
        if text.len().saturating_add(AHEAD.min(self.limit / 2)) > self.limit {
            return Err(self.end(TOO_LARGE));
        }
        if self.stream > 0 {
            self.stream = 0;
            self.memory.shrink(self.taken(text).saturating_add(STEP));
            // Return the permit, because calls with short responses can follow for minutes.
            if text.memory() <= LARGE_ANSWER {
                self.turn = None;
            }
        }
        if text.memory() > LARGE_ANSWER {
            self.take_turn().await?;
        }
        if text.memory() > SMALL_RESPONSE
            && self.memory.bytes() < self.taken(text).saturating_add(AHEAD)
            && !self.memory.reserve(self.taken(text).saturating_add(STEP)).await
        {
            return Err(self.end(NO_MEMORY));
        }
        Ok(())
    }

    /// Returns whether the response is so short that the next call needs neither a permit nor memory.
    pub(super) fn is_small(&self, text: &Text) -> bool {
        let fits = text.len().saturating_add(AHEAD.min(self.limit / 2)) <= self.limit;
        fits && text.memory() <= SMALL_RESPONSE && self.stream == 0 && self.end.is_none()
    }

    /// Checks the length of the text, and waits for memory for text that has no reserved memory.
    pub(super) async fn check(&mut self, text: &Text) -> Result<(), RpcError> {
        if text.len() > self.limit {
            return Err(self.end(TOO_LARGE));
        }
        let made = self.taken(text);
        if text.memory() > SMALL_RESPONSE && !self.memory.reserve_response(made, made).await {
            return Err(self.end(NO_MEMORY));
        }
        Ok(())
    }

    /// Reserves memory for a stream without a wait. Returns `false` if the memory, or the permit of a batch, is not
    /// free.
    pub(super) fn try_begin_stream(&mut self, text: &Text) -> bool {
        self.end_long_turn();
        if let (Some((turns, _)), None) = (self.turns, &self.turn) {
            let Ok(turn) = turns.try_acquire() else { return false };
            self.turn = Some((turn, Instant::now()));
        }
        let needed = self.with_stream(text);
        self.memory.try_reserve(needed)
    }

    /// Waits for memory for a stream. For a batch, also waits for a permit.
    pub(super) async fn begin_stream(&mut self, text: &Text) -> Result<(), RpcError> {
        self.take_turn().await?;
        let needed = self.with_stream(text);
        if self.memory.reserve(needed).await { Ok(()) } else { Err(self.end(NO_MEMORY)) }
    }

    /// Returns the bytes of memory that the response needs with a stream.
    fn with_stream(&mut self, text: &Text) -> usize {
        if self.turns.is_none() {
            return self.memory.stream(text.memory());
        }
        self.stream = MAKING;
        self.taken(text)
    }

    /// Returns the bytes of memory that the response uses. A stream does not raise the result above the whole budget.
    fn taken(&self, text: &Text) -> usize {
        let own = text.memory().saturating_add(self.refusals);
        own.saturating_add(self.stream.min(self.memory.all().saturating_sub(own)))
    }

    /// Returns the permit after [`TURN`], so that waiting batches get it first.
    fn end_long_turn(&mut self) {
        if self.turn.as_ref().is_some_and(|(_, begun)| begun.elapsed() > TURN) {
            self.turn = None;
        }
    }

    /// Waits for a permit for a large response. The response to a single call needs no permit.
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

    /// Returns whether a limit or a wait has ended the response.
    pub(super) const fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    /// Frees the memory that a complete text does not need.
    pub(super) fn shrink(&mut self, text: &Text) {
        self.memory.shrink(text.memory());
    }

    /// Returns the memory of the response.
    pub(super) fn into_memory(self) -> Memory {
        self.memory
    }
}

fn refusal(reason: &'static str) -> RpcError {
    RpcError::new(RpcErrorCode::INTERNAL_ERROR, reason)
}
