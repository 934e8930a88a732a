//! Request bodies, within the memory budget.

use http_body_util::BodyExt;
use hyper::{
    Request,
    body::{Body, Bytes, Incoming},
};
use tokio::sync::OwnedSemaphorePermit;

use super::{budget::ResourceLimits, deadline::ConnectionDeadline};

/// Maximum bytes of a rejected body that the server reads and discards, as a multiple of the limit of a body. The
/// factor bounds the work for such a client.
const DISCARDED_BODIES: usize = 8;

/// Bytes of the read buffer of a connection. A body of at most this size takes no memory of the budget.
pub(super) const READ_AT_ONCE: usize = 32 * 1024;

/// Reason why a request body is rejected.
#[derive(Debug)]
pub(super) enum BodyError {
    /// The body has more bytes than the limit.
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// The memory budget had too little free memory until the timeout.
    NoMemory,
    /// The connection broke, or the body is not valid HTTP.
    Broken(hyper::Error),
}

/// Reads a body up to the limit. Returns the body and, if it is large, its lease of memory. A body that arrives in one
/// read is not copied.
///
/// A body above the limit is rejected as soon as its length or its read bytes exceed the limit. A client may send all
/// of its body before it reads. Such a client would lose the response if the server closed the connection at once.
/// Therefore the server reads and discards the rest of the body while it sends the response.
pub(super) async fn read_body(
    request: Request<Incoming>,
    resources: &ResourceLimits,
    deadline: &ConnectionDeadline,
) -> Result<(Bytes, Option<OwnedSemaphorePermit>), BodyError> {
    let mut body = request.into_body();
    let limit = deadline.limits.body_bytes;
    if body.size_hint().lower() > u64::try_from(limit).unwrap_or(u64::MAX) {
        return refuse(body, limit, BodyError::TooLarge { limit });
    }
    let first = next_data(&mut body).await?.unwrap_or_default();
    if first.len() <= limit && body.is_end_stream() {
        return Ok((first, None));
    }
    Box::pin(read_rest(first, body, resources, deadline)).await
}

/// Reads the rest of a body that begins with `first`.
async fn read_rest(
    first: Bytes,
    mut body: Incoming,
    resources: &ResourceLimits,
    deadline: &ConnectionDeadline,
) -> Result<(Bytes, Option<OwnedSemaphorePermit>), BodyError> {
    let limit = deadline.limits.body_bytes;
    let left = body.size_hint().exact().and_then(|bytes| usize::try_from(bytes).ok());
    let expected = left.map_or(limit, |left| left.saturating_add(first.len()));
    let (mut whole, mut memory) = (Vec::from(first), None);
    while whole.len() <= limit {
        if memory.is_none() && whole.len() >= READ_AT_ONCE {
            // Reserve the memory of the whole body at once. Otherwise two bodies with half of the budget each could
            // wait for each other.
            deadline.memory_awaited();
            memory = resources.reserve(expected, deadline.limits.bodies_timeout).await;
            deadline.memory_decided(memory.is_some());
            if memory.is_none() {
                return refuse(body, limit, BodyError::NoMemory);
            }
            whole.reserve_exact(expected.saturating_sub(whole.len()));
        }
        match next_data(&mut body).await? {
            Some(data) => whole.extend_from_slice(&data),
            None => return Ok((whole.into(), memory)),
        }
    }
    refuse(body, limit, BodyError::TooLarge { limit })
}

/// Returns `error`, and discards the rest of the body in a task.
fn refuse<T>(body: Incoming, limit: usize, error: BodyError) -> Result<T, BodyError> {
    tokio::spawn(discard(body, limit.saturating_mul(DISCARDED_BODIES)));
    Err(error)
}

/// Reads up to `limit` bytes and discards them.
pub(super) async fn discard(mut body: Incoming, mut limit: usize) {
    while let Ok(Some(data)) = next_data(&mut body).await {
        match limit.checked_sub(data.len()) {
            Some(rest) => limit = rest,
            None => return,
        }
    }
}

/// Reads the next bytes; `None` at the end.
async fn next_data(body: &mut Incoming) -> Result<Option<Bytes>, BodyError> {
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame.map_err(BodyError::Broken)?.into_data() {
            return Ok(Some(data));
        }
    }
    Ok(None)
}
