//! Access: the address to which the rate limit of a request applies, and whether its caller may call methods for
//! developers.
//!
//! A web page can send requests to a node on the machine of its visitor, and a reverse proxy forwards public requests
//! from a loopback address. So the address of the peer alone does not identify a local program. Three marks identify
//! the other callers:
//!
//! - A browser sends `Origin` with each POST of a page and with each WebSocket handshake.
//! - After DNS rebinding, `Host` has the foreign name of the page.
//! - A proxy adds headers to the request.
//!
//! A caller without these marks is a program on this machine, or a page that this machine serves.

mod list;
#[cfg(test)]
mod tests;

use std::net::IpAddr;

use hyper::{
    Uri,
    header::{self, HeaderMap, HeaderName, HeaderValue},
};

pub use self::list::{Host, List, ListError, Network, PageOrigin};
use self::list::{cut, host_and_port};

/// Headers that proxies add, in addition to those that begin with `x-forwarded`. Clients do not send them.
const OF_PROXIES: [&str; 10] = [
    "forwarded",
    "via",
    "x-real-ip",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-original-forwarded-for",
    "true-client-ip",
    "cf-connecting-ip",
    "fastly-client-ip",
    "cdn-loop",
];

/// The header with the addresses of the clients of proxies.
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Hosts, origins and proxies that the operator has listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Hosts other than loopback that the header `Host` may have in a call of a method for developers, and in a request
    /// for `/metrics` or the studio.
    pub hosts: List<Host>,
    /// Origins other than loopback whose pages may call methods for developers and request the studio.
    pub origins: List<PageOrigin>,
    /// Peers that are trusted proxies. The node uses the address that their headers have for the client.
    pub proxies: List<Network>,
}

impl Access {
    /// Returns the address to which the rate limit of a request applies: the address of the peer, or the address of the
    /// client in the headers of a trusted proxy.
    ///
    /// Each proxy appends to `X-Forwarded-For`. So the rightmost address that is not a trusted proxy is the client. The
    /// client may have written the text to the left of this address. If `X-Forwarded-For` and `Forwarded` have
    /// different clients, the client may have written one of the headers, and the limit applies to the proxy.
    pub(super) fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let peer = peer.to_canonical();
        if !self.is_proxy(peer) {
            return peer;
        }
        let found = [(FORWARDED_FOR, address as fn(&str) -> _), (header::FORWARDED, forwarded_for)]
            .map(|(name, read)| self.last_client(peer, headers, &name, read));
        match found {
            [None, None] => peer,
            [Some(client), None] | [None, Some(client)] => client,
            [Some(one), Some(other)] => {
                if one == other {
                    one
                } else {
                    peer
                }
            }
        }
    }

    /// Returns the rightmost address of a header that is not a trusted proxy, or `None` without the header.
    ///
    /// An element without an address ends the search. In this case, or if all addresses are trusted proxies, the result
    /// is the last proxy that was read, or `peer` if no proxy was read.
    fn last_client(
        &self,
        peer: IpAddr,
        headers: &HeaderMap,
        name: &HeaderName,
        read: fn(&str) -> Option<IpAddr>,
    ) -> Option<IpAddr> {
        let values: Vec<&str> = headers.get_all(name).iter().map(|value| value.to_str().unwrap_or_default()).collect();
        if values.is_empty() {
            return None;
        }
        let mut nearest = peer;
        for element in values.iter().rev().flat_map(|value| value.rsplit(',')) {
            let Some(address) = read(element.trim()) else { break };
            nearest = address;
            if !self.is_proxy(address) {
                break;
            }
        }
        Some(nearest)
    }

    fn is_proxy(&self, address: IpAddr) -> bool {
        self.proxies.0.iter().any(|network| network.0.contains(&address))
    }

    /// Returns the reason why a request may not call methods for developers, or `None` if it may call these methods.
    pub(super) fn foreign(&self, peer: IpAddr, uri: &Uri, headers: &HeaderMap) -> Option<Foreign> {
        let of_proxy =
            |name: &&HeaderName| name.as_str().starts_with("x-forwarded") || OF_PROXIES.contains(&name.as_str());
        if let Some(name) = headers.keys().find(of_proxy) {
            return Some(Foreign::Proxied { header: name.clone(), got: shown(headers.get(name)) });
        }
        let peer = peer.to_canonical();
        if self.is_proxy(peer) {
            return Some(Foreign::FromProxy { peer });
        }
        self.foreign_host(uri, headers).or_else(|| self.foreign_origin(headers))
    }

    /// Returns the reason why a request gets no file of the studio, or `None` if it may get the file. The rule for the
    /// host is that of [`Self::unknown_name`].
    ///
    /// Some browsers send `Origin` also when a page loads its own files. Therefore the origin may have the host of the
    /// request.
    pub(super) fn foreign_to_studio(&self, uri: &Uri, headers: &HeaderMap) -> Option<String> {
        if let Some(got) = self.unknown_name(uri, headers) {
            return Some(format!("expected {HOSTS_OF_PAGES}, got the host {got:?}"));
        }
        let foreign = self.foreign_origin(headers)?;
        (!is_of_own_host(headers)).then(|| foreign.to_string())
    }

    /// Returns the host of a request for `/metrics` or the studio if the host is a name that is neither loopback nor
    /// listed.
    ///
    /// A web page of another origin can bind such a name to the address of the node (DNS rebinding). An IP address
    /// needs no binding, so it is permitted. A client without the header is not a browser, so a request without a host
    /// is permitted too.
    pub(super) fn unknown_name(&self, uri: &Uri, headers: &HeaderMap) -> Option<String> {
        let is_known = |text: &str| {
            text.is_empty()
                || host_and_port(text)
                    .is_some_and(|(host, _)| matches!(host, Host::Address(_)) || self.is_own_host(&host))
        };
        let values = headers.get_all(header::HOST).iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
        let target = uri.authority().map(|target| target.as_str().into());
        values.chain(target).find(|host| !is_known(host)).map(|host| cut(&host))
    }

    fn is_own_host(&self, host: &Host) -> bool {
        host.is_loopback() || self.hosts.0.contains(host)
    }

    /// Returns the reason if the host in `Host`, or in front of the path of the request target, is not permitted.
    fn foreign_host(&self, uri: &Uri, headers: &HeaderMap) -> Option<Foreign> {
        let is_known = |text: &str| host_and_port(text).is_some_and(|(host, _)| self.is_own_host(&host));
        let mut values = headers.get_all(header::HOST).iter();
        let Some(value) = values.next() else { return Some(Foreign::NoHost) };
        if values.next().is_some() || !value.to_str().is_ok_and(is_known) {
            return Some(Foreign::Host { got: shown(Some(value)) });
        }
        let target = uri.authority().map(hyper::http::uri::Authority::as_str).filter(|target| !is_known(target))?;
        Some(Foreign::Target { got: cut(target) })
    }

    /// Returns the reason if the header `Origin` is not permitted. Of several such headers, the reason shows the first
    /// one, which can be a permitted origin.
    fn foreign_origin(&self, headers: &HeaderMap) -> Option<Foreign> {
        let is_known = |value: &HeaderValue| {
            let origin = value.to_str().ok().and_then(|text| text.parse::<PageOrigin>().ok());
            origin.is_some_and(|origin| origin.is_loopback() || self.origins.0.contains(&origin))
        };
        let values = headers.get_all(header::ORIGIN);
        let foreign = match values.iter().count() {
            0 => return None,
            1 => values.iter().find(|value| !is_known(value))?,
            _ => values.iter().next()?,
        };
        Some(Foreign::Origin { got: shown(Some(foreign)) })
    }
}

/// Returns whether the header `Origin` has the host of the header `Host`.
fn is_of_own_host(headers: &HeaderMap) -> bool {
    let only = |name| {
        let mut values = headers.get_all(name).iter();
        values.next().filter(|_| values.next().is_none()).and_then(|value| value.to_str().ok())
    };
    let origin = only(header::ORIGIN).and_then(|text| text.parse::<PageOrigin>().ok());
    let host = only(header::HOST).and_then(host_and_port);
    origin.zip(host).is_some_and(|(origin, (host, _))| origin.has_host(&host))
}

/// Reason why a caller may call no method for developers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Foreign {
    #[error("the header Host is missing, expected {HOSTS}")]
    NoHost,
    #[error("the header Host has {got:?}, expected {HOSTS}")]
    Host { got: String },
    #[error("the request target has the host {got:?}, expected {HOSTS}")]
    Target { got: String },
    #[error(
        "the header Origin has {got:?}, expected none, a loopback origin such as http://localhost:3000, or one of \
         --allowed-origins"
    )]
    Origin { got: String },
    #[error(
        "the header {header} has {got:?}, expected none, because proxies add this header: call the node without a proxy"
    )]
    Proxied { header: HeaderName, got: String },
    #[error("the peer {peer} is one of --trusted-proxies: call the node without a proxy")]
    FromProxy { peer: IpAddr },
}

/// The hosts under which the server serves `/metrics` and the studio, for the text of an error.
pub(super) const HOSTS_OF_PAGES: &str = "an IP address, a loopback name, or one of --allowed-hosts as host";

const HOSTS: &str = "a loopback name or address, or one of --allowed-hosts";

fn shown(value: Option<&HeaderValue>) -> String {
    cut(&String::from_utf8_lossy(value.map_or(b"", HeaderValue::as_bytes)))
}

/// Parses an address with or without a port. An IPv6 address may be in brackets.
fn address(text: &str) -> Option<IpAddr> {
    let address = text.parse().ok().or_else(|| match host_and_port(text)?.0 {
        Host::Address(address) => Some(address),
        Host::Name(_) => None,
    })?;
    Some(IpAddr::to_canonical(&address))
}

/// Parses the address in the parameter `for` of an element of `Forwarded` (RFC 7239).
fn forwarded_for(element: &str) -> Option<IpAddr> {
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=')?;
        name.trim().eq_ignore_ascii_case("for").then(|| address(value.trim().trim_matches('"')))
    };
    element.split(';').find_map(pair)?
}
