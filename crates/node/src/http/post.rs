//! Responses to POST requests.

use std::sync::Arc;

use hyper::{
    Request, Response, StatusCode,
    body::{Bytes, Incoming},
};

use super::{
    Answered, Caller, Handler, Memory, RejectReason, Reply, ResponseBody, Text,
    budget::ResourceLimits,
    deadline::ConnectionDeadline,
    gzip::{self, Gzip},
    request_body::{BodyError, read_body},
    response::{TOO_OFTEN, encoded, json, refused, retried_after, varied},
    response_body::Chunked,
    routes::RequestContext,
};

/// The error text if the memory budget has no free memory for a response.
pub(crate) const TOO_MANY_ANSWERS: &str = "too many large answers at once, try again later";

/// Returns the response to a POST request.
pub(super) async fn post<A: Handler>(
    request: Request<Incoming>,
    caller: &Caller,
    context: &RequestContext<'_, '_, A>,
) -> Response<ResponseBody> {
    let RequestContext { handler, resources, deadline, .. } = *context;
    let gzip = gzip::is_accepted(request.headers());
    match read_body(request, resources, deadline).await {
        Ok((body, memory)) => {
            deadline.request_complete();
            let memory_of_answer = Memory::new(Arc::clone(resources), deadline.limits.bodies_timeout);
            let Answered { reply, wait } = handler.answer(body, caller, memory_of_answer).await;
            drop(memory);
            if let Some(wait) = wait {
                return retried_after(wait, refused(handler, RejectReason::TooOften, TOO_OFTEN));
            }
            let response = match reply {
                None => None,
                Some(reply) if gzip && (reply.rest.is_some() || reply.beginning.len() >= gzip::SMALLEST) => {
                    Box::pin(compressed(reply, resources, deadline)).await
                }
                Some(reply) if reply.is_small() => Some(json(StatusCode::OK, reply.beginning.into_bytes())),
                Some(reply) => Box::pin(whole(reply, resources, deadline)).await,
            };
            response.unwrap_or_else(|| refused(handler, RejectReason::NoMemory, TOO_MANY_ANSWERS))
        }
        Err(BodyError::TooLarge { limit }) => {
            refused(handler, RejectReason::TooLarge, &format!("request body exceeds {limit} bytes"))
        }
        Err(BodyError::NoMemory) => {
            refused(handler, RejectReason::NoMemory, "too many large requests at once, try again later")
        }
        Err(BodyError::Broken(error)) => {
            refused(handler, RejectReason::Unreadable, &format!("request body cannot be read: {error}"))
        }
    }
}

/// Returns the response with a plain body after the reservation of its memory, or `None` if the reservation failed.
async fn whole(
    reply: Reply,
    resources: &Arc<ResourceLimits>,
    deadline: &Arc<ConnectionDeadline>,
) -> Option<Response<ResponseBody>> {
    let body = resources.body(reply, deadline).await?;
    Some(json(StatusCode::OK, Bytes::new()).map(|_| body))
}

/// Returns the response with a body that is compressed in chunks, after the reservation of its memory, or `None` if the
/// reservation failed. The body is plain if [`gzip::AT_ONCE`] other compressions are in progress.
async fn compressed(
    reply: Reply,
    resources: &Arc<ResourceLimits>,
    deadline: &Arc<ConnectionDeadline>,
) -> Option<Response<ResponseBody>> {
    let Ok(turn) = Arc::clone(&resources.compressions).try_acquire_owned() else {
        return whole(reply, resources, deadline).await.map(varied);
    };
    let Reply { beginning, rest, mut memory } = reply;
    let there = beginning.memory();
    let needed = if rest.is_some() { resources.stream_memory(there) } else { there };
    if !memory.reserve_response(there, needed).await {
        return None;
    }
    let source = Box::new(Gzip::new(beginning, rest, turn));
    let chunked = Chunked::new(Text::default(), source, Arc::clone(resources), Arc::clone(deadline), memory);
    Some(encoded(json(StatusCode::OK, Bytes::new()).map(|_| ResponseBody::Chunked(chunked))))
}
