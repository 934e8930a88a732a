//! Calls of methods: functions that read the parameters, run the body, and write the result. A panic of a method ends
//! only its call.

use std::{
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::{Pin, pin},
};

use hyper::body::Bytes;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use silica_protocol::rpc::{
    envelope::{Id, write_result, write_result_in_parts},
    error::{RpcError, RpcErrorCode},
};

use super::{
    chunked::ChunkedResult,
    error::CallError,
    method::{Command, Method, SessionMethod, Streamed, TransactionQuery},
    params,
};
use crate::{driver::NodeHandle, head::Context, log_filter::EthSubscriptions};

/// Size of a stored transaction, in bytes, above which a blocking thread computes the result.
const LARGE_TRANSACTION: usize = 64 << 10;

/// The parts of a request that its method reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call<'a> {
    /// The id of the request.
    pub(crate) id: &'a Id<'a>,
    /// The JSON text of the parameters, as the client sent them.
    pub(crate) params: Option<&'a str>,
    /// The names of the parameters that the method declares.
    pub(crate) fields: &'static [&'static str],
}

/// A future that makes the first chunk of a result.
pub(crate) type Beginning = Pin<Box<dyn Future<Output = Result<ChunkedResult, RpcError>> + Send>>;

/// A future that computes a result.
pub(crate) type Running = Pin<Box<dyn Future<Output = Result<Box<RawValue>, RpcError>> + Send>>;

/// Runs a query and writes its response.
pub(super) fn query<M: Method>(request: Call<'_>, at: &Context, out: &mut Vec<u8>) -> Result<(), RpcError> {
    let method: M = params::read(request.params, request.fields)?;
    write_result(out, request.id, &call(method, at)?).map_err(|error| internal(M::NAME, &error))
}

/// Runs a query about a transaction: at once, or on a blocking thread if the transaction is large.
pub(super) fn weigh<M: TransactionQuery>(
    request: Call<'_>,
    node: &NodeHandle,
    out: &mut Vec<u8>,
) -> Result<Option<Running>, RpcError> {
    let method: M = params::read(request.params, request.fields)?;
    let at = node.context();
    let hash = method.hash().map_err(|error| error.into_rpc(M::NAME))?;
    if M::IS_CACHED
        && let Some(text) = at.snapshot.state().cached_text(&hash)
    {
        let end = write_result_in_parts(out, request.id, &text);
        out.extend_from_slice(end);
        return Ok(None);
    }
    let found = catch_panic(M::NAME, || Ok(at.snapshot.find_transaction(&hash)?))?;
    if found.bytes() > LARGE_TRANSACTION {
        // Find the transaction again, because the head may change before the query gets a thread.
        let answer = move |at: &Context| M::answer(&at.snapshot.find_transaction(&hash)?, at);
        return Ok(Some(run_blocking(M::NAME, node.clone(), answer)));
    }
    let answer = catch_panic(M::NAME, || M::answer(&found, &at))?;
    let start = out.len();
    let end = write_result_in_parts(out, request.id, b"");
    let begin = out.len();
    if let Err(error) = serde_json::to_writer(&mut *out, &answer) {
        out.truncate(start);
        return Err(internal(M::NAME, &error));
    }
    if M::IS_CACHED {
        at.snapshot.state().cache_text(&found, out.get(begin..).unwrap_or_default());
    }
    out.extend_from_slice(end);
    Ok(None)
}

/// Runs a query without parameters and returns its result as JSON.
pub(super) fn render<M: Method>(at: &Context) -> Result<Bytes, RpcError> {
    let result = call::<M>(params::read(None, &[])?, at)?;
    serde_json::to_vec(&result).map(Bytes::from).map_err(|error| internal(M::NAME, &error))
}

fn call<M: Method>(method: M, at: &Context) -> Result<M::Output, RpcError> {
    catch_panic(M::NAME, || method.call(at))
}

/// Runs a part of a method. A panic becomes an internal error.
fn catch_panic<T>(name: &'static str, work: impl FnOnce() -> Result<T, CallError>) -> Result<T, RpcError> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result.map_err(|error| error.into_rpc(name)),
        Err(_) => Err(panicked(name)),
    }
}

/// Runs a query on a blocking thread.
pub(super) fn ask<M: Method + Send + 'static>(request: Call<'_>, node: NodeHandle) -> Result<Running, RpcError> {
    let method: M = params::read_for(M::NAME, request.params, request.fields)?;
    Ok(run_blocking(M::NAME, node, move |at| method.call(at)))
}

/// Computes a result on a blocking thread.
fn run_blocking<T: Serialize>(
    name: &'static str,
    node: NodeHandle,
    answer: impl FnOnce(&Context) -> Result<T, CallError> + Send + 'static,
) -> Running {
    Box::pin(async move {
        let queried = node.clone();
        let answer = node.blocking().query(move || {
            let at = queried.context();
            to_raw_value(&catch_panic(name, || answer(&at))?).map_err(|error| internal(name, &error))
        });
        answer.await.unwrap_or_else(|| Err(panicked(name)))
    })
}

/// Runs a method of a WebSocket session and writes its response. Outside of a session, returns an error with which
/// clients of Ethereum choose another method.
pub(super) fn in_session<M: SessionMethod>(
    request: Call<'_>,
    session: Option<&EthSubscriptions>,
    node: &NodeHandle,
    out: &mut Vec<u8>,
) -> Result<(), RpcError> {
    let method: M = params::read(request.params, request.fields)?;
    let session = session.ok_or_else(|| {
        let text = format!("the method {} does not exist over HTTP: open a WebSocket connection", M::NAME);
        RpcError::new(RpcErrorCode::METHOD_NOT_FOUND, text)
    })?;
    let result = catch_panic(M::NAME, || method.run(session, node))?;
    write_result(out, request.id, &result).map_err(|error| internal(M::NAME, &error))
}

/// Makes the first chunk of a result on a blocking thread.
pub(super) fn begin<M: Streamed>(request: Call<'_>, node: NodeHandle) -> Result<Beginning, RpcError> {
    let method: M = params::read_for(M::NAME, request.params, request.fields)?;
    Ok(Box::pin(async move {
        let queried = node.clone();
        // The first chunk can be large, and need many reads.
        let begun = node.blocking().query(move || {
            let at = queried.context();
            method.begin(&at).map_err(|error| error.into_rpc(M::NAME))
        });
        begun.await.unwrap_or_else(|| Err(panicked(M::NAME)))
    }))
}

/// Runs a command.
pub(super) fn run<C: Command>(request: Call<'_>, node: NodeHandle) -> Result<Running, RpcError> {
    let command: C = params::read_for(C::NAME, request.params, request.fields)?;
    Ok(Box::pin(async move {
        match catch_panic_async(command.run(&node)).await {
            Some(Ok(result)) => to_raw_value(&result).map_err(|error| internal(C::NAME, &error)),
            Some(Err(error)) => Err(error.into_rpc(C::NAME)),
            None => Err(panicked(C::NAME)),
        }
    }))
}

/// Runs `future`. Returns its output, or `None` if it panics.
async fn catch_panic_async<F: Future>(future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    std::future::poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
        Ok(poll) => poll.map(Some),
        Err(_) => std::task::Poll::Ready(None),
    })
    .await
}

/// Logs the name of a method that panicked, and returns the error for the client. The panic hook of the process has
/// logged the panic itself.
fn panicked(method: &str) -> RpcError {
    tracing::error!(method, "a method panicked; the client gets an internal error");
    RpcError::INTERNAL_ERROR
}

fn internal(method: &str, error: &serde_json::Error) -> RpcError {
    tracing::error!(method, %error, "failed to write the result of a method as JSON; the client gets an internal error");
    RpcError::INTERNAL_ERROR
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicBool, Ordering},
        time::Duration,
    };

    use schemars::JsonSchema;
    use serde::Deserialize;
    use tokio::time::timeout;

    use super::*;
    use crate::{
        block_mode::BlockMode,
        blocking::QUERIES,
        rpc::{
            entry::{Action, Entry},
            tests::fixture,
        },
    };

    /// A method that panics.
    #[derive(Debug, Deserialize, JsonSchema)]
    struct Panics {}

    impl Method for Panics {
        const NAME: &'static str = "Panics";
        type Output = ();

        fn call(self, _: &Context) -> Result<(), CallError> {
            panic!("as it does")
        }
    }

    #[tokio::test]
    async fn panic_of_a_query_is_an_internal_error() {
        let fixture = fixture(BlockMode::Manual);
        let context = fixture.context();
        assert_eq!(call(Panics {}, &context), Err(RpcError::INTERNAL_ERROR));
        assert_eq!(render::<Panics>(&context).unwrap_err(), RpcError::INTERNAL_ERROR);
    }

    static RELEASED: AtomicBool = AtomicBool::new(false);

    /// A query that runs until another task has run. It returns whether the other task has run.
    #[derive(Debug, Deserialize, JsonSchema)]
    struct Waits {}

    impl Method for Waits {
        const NAME: &'static str = "Waits";
        type Output = bool;

        fn call(self, _: &Context) -> Result<bool, CallError> {
            for _ in 0..2_000 {
                if RELEASED.load(Ordering::Relaxed) {
                    return Ok(true);
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok(false)
        }
    }

    #[tokio::test]
    async fn slow_query_does_not_block_the_only_thread() {
        let fixture = fixture(BlockMode::Manual);
        let Action::Async(ask) = Entry::slow::<Waits>().action else { panic!("the method is not asynchronous") };
        let answer = ask(Call { id: &Id::NULL, params: None, fields: &[] }, fixture.node()).unwrap();
        let (answer, ()) = tokio::join!(answer, async { RELEASED.store(true, Ordering::Relaxed) });
        assert_eq!(answer.unwrap().get(), "true");
    }

    /// A query that returns a text.
    #[derive(Debug, Deserialize, JsonSchema)]
    struct Constant {}

    impl Method for Constant {
        const NAME: &'static str = "Constant";
        type Output = String;

        fn call(self, _: &Context) -> Result<String, CallError> {
            Ok("1".to_owned())
        }
    }

    #[tokio::test]
    async fn slow_queries_wait_for_a_permit() {
        let node = fixture(BlockMode::Manual).node();
        let Action::Async(ask) = Entry::slow::<Constant>().action else { panic!("the method is not asynchronous") };
        let call = Call { id: &Id::NULL, params: None, fields: &[] };
        let mut turns = Vec::new();
        while turns.len() < QUERIES - 1 {
            turns.push(node.blocking().query_permit().await);
        }
        // Each call returns the only free permit.
        for _ in 0..3 {
            assert_eq!(ask(call, node.clone()).unwrap().await.unwrap().get(), "\"1\"");
        }
        let last = node.blocking().query_permit().await;
        let mut waits = ask(call, node.clone()).unwrap();
        assert!(timeout(Duration::from_millis(20), &mut waits).await.is_err());
        drop(last);
        assert_eq!(waits.await.unwrap().get(), "\"1\"");
        drop(turns);
    }

    #[tokio::test]
    async fn panic_of_a_slow_query_is_an_internal_error() {
        let fixture = fixture(BlockMode::Manual);
        let answer = ask::<Panics>(Call { id: &Id::NULL, params: None, fields: &[] }, fixture.node()).unwrap();
        assert_eq!(answer.await.unwrap_err(), RpcError::INTERNAL_ERROR);
    }

    #[tokio::test]
    async fn panic_of_a_command_is_caught() {
        assert_eq!(catch_panic_async(async { 7 }).await, Some(7));
        assert_eq!(catch_panic_async(async { panic!("as it does") }).await, None::<()>);
        let later = async {
            tokio::task::yield_now().await;
            panic!("only now")
        };
        assert_eq!(catch_panic_async(later).await, None::<()>);
    }
}
