//! The caller of a request: its rate limit, and whether it may call methods for developers.

use std::{net::IpAddr, num::NonZeroU32, sync::Arc, time::Duration};

use hyper::{Uri, header::HeaderMap};

use super::{
    access::{Access, Foreign},
    rate_limit::{Allowance, Limiter},
};

/// The caller of a request, or of a WebSocket session.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// The reason why the caller may call no method for developers; `None` if the caller may call them.
    foreign: Option<Arc<Foreign>>,
    /// The rate limit and the address to which the limit applies; `None` without a limit.
    limit: Option<(Arc<Limiter>, IpAddr)>,
}

impl Caller {
    /// Reads the caller from the address of the peer and the head of a request.
    pub(super) fn of(
        access: &Access,
        limiter: Option<&Arc<Limiter>>,
        peer: IpAddr,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Self {
        Self {
            foreign: access.foreign(peer, uri, headers).map(Arc::new),
            limit: limiter.map(|limiter| (Arc::clone(limiter), access.client(peer, headers))),
        }
    }

    /// Returns a caller that may call all methods, without a rate limit.
    pub(crate) const fn local() -> Self {
        Self { foreign: None, limit: None }
    }

    /// Returns a caller that is a web page of another origin.
    #[cfg(test)]
    pub(crate) fn of_foreign_page() -> Self {
        Self { foreign: Some(Arc::new(Foreign::Origin { got: "https://evil.example".to_owned() })), limit: None }
    }

    /// Returns a caller with a rate limit of `each_second` units per second.
    #[cfg(test)]
    pub(crate) fn limited(each_second: NonZeroU32) -> Self {
        Self { foreign: None, limit: Some((Arc::new(Limiter::new(each_second)), [127, 0, 0, 1].into())) }
    }

    /// Returns the reason why the caller may call no method for developers; `None` if the caller may call them.
    pub(crate) fn foreign(&self) -> Option<&Foreign> {
        self.foreign.as_deref()
    }

    /// Counts the arrival of a request, as the first unit of its first call.
    ///
    /// # Errors
    ///
    /// The time after which the client may send the request again.
    pub(crate) fn arrive(&self) -> Result<(), Duration> {
        self.limit.as_ref().map_or(Ok(()), |(limiter, address)| limiter.check(*address, NonZeroU32::MIN))
    }

    /// Returns the allowance for the calls of one request or message. The rate limit has already counted `paid` units
    /// for these calls.
    pub(crate) fn allowance(&self, paid: u32) -> Allowance<'_> {
        Allowance::new(self.limit.as_ref().map(|(limiter, address)| (&**limiter, *address)), paid)
    }
}
