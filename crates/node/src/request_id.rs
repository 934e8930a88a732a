//! The id of a request. It is in the header `X-Request-Id` of the request and of its response, and in the log lines of
//! the request.

use std::{
    fmt,
    future::Future,
    io::{Cursor, Write},
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use hyper::header::{HeaderMap, HeaderName, HeaderValue};

/// The header with the id.
pub(crate) const HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// Maximum length in bytes of an id of a client. The node replaces a longer id, so that log lines stay short.
const LONGEST: usize = 64;

tokio::task_local! {
    static CURRENT: RequestId;
}

/// The id of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RequestId {
    /// An id from the client.
    Given(HeaderValue),
    /// An id from this node: a random number of the process, and the number of ids that the process has made before.
    /// The id is unique in the process, and with high probability among nodes.
    Made(u32, u64),
}

impl RequestId {
    /// Returns the id in the headers of a request if it is valid, or a new id.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        match headers.get(&HEADER) {
            Some(given) if is_sane(given.as_bytes()) => Self::Given(given.clone()),
            _ => Self::new(),
        }
    }

    fn new() -> Self {
        static PROCESS: LazyLock<u32> = LazyLock::new(|| getrandom::u32().unwrap_or_default());
        static MADE: AtomicU64 = AtomicU64::new(0);
        Self::Made(*PROCESS, MADE.fetch_add(1, Relaxed))
    }

    /// Returns the id of the request that the current task or thread handles, or `None` outside of requests.
    pub(crate) fn current() -> Option<Self> {
        CURRENT.try_with(Clone::clone).ok()
    }

    /// Returns the future `answer`, inside which this id is the [current](Self::current) id.
    pub(crate) fn scope<F: Future>(self, answer: F) -> impl Future<Output = F::Output> {
        CURRENT.scope(self, answer)
    }

    /// Returns the value of the response header.
    pub(crate) fn header(&self) -> HeaderValue {
        if let Self::Given(name) = self {
            return name.clone();
        }
        let mut text = Cursor::new([0; LONGEST]);
        let written = write!(text, "{self}").ok().and_then(|()| usize::try_from(text.position()).ok());
        let text = written.and_then(|length| text.get_ref().get(..length)).unwrap_or(b"-");
        HeaderValue::from_bytes(text).unwrap_or(HeaderValue::from_static("-"))
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Given(name) => f.write_str(name.to_str().unwrap_or_default()),
            Self::Made(process, number) => write!(f, "{process:08x}-{number:x}"),
        }
    }
}

/// Returns `work` for another thread, with the id of the current request.
pub(crate) fn carried<T>(work: impl FnOnce() -> T + Send) -> impl FnOnce() -> T + Send {
    let id = RequestId::current();
    move || match id {
        Some(id) => CURRENT.sync_scope(id, work),
        None => work(),
    }
}

/// Returns whether an id of a client is valid: 1 to 64 letters, digits and `-_.`. A valid id cannot forge log lines.
fn is_sane(name: &[u8]) -> bool {
    (1..=LONGEST).contains(&name.len()) && name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(given: &'static [u8]) -> String {
        RequestId::of(&HeaderMap::from_iter([(HEADER, HeaderValue::from_bytes(given).unwrap())])).to_string()
    }

    #[test]
    fn sane_name_is_taken_and_another_made() {
        assert_eq!(of(b"Ab-1_2.3"), "Ab-1_2.3");
        for given in [&b""[..], b"a b", b"a\"b", b"{}", b"\xff", &[b'a'; LONGEST + 1]] {
            let made = of(given);
            assert!(made.len() >= 10 && made != String::from_utf8_lossy(given), "{made}");
        }
        assert_ne!(RequestId::of(&HeaderMap::new()), RequestId::of(&HeaderMap::new()));
    }

    #[tokio::test]
    async fn name_is_known_wherever_the_request_is_answered() {
        assert_eq!(RequestId::current(), None);
        let id = RequestId::new();
        let seen = id.clone().scope(async {
            let aside = tokio::task::spawn_blocking(carried(RequestId::current));
            (RequestId::current(), aside.await.unwrap())
        });
        assert_eq!(seen.await, (Some(id.clone()), Some(id)));
    }
}
