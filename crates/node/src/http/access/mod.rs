//! Access: which address pays for the calls of a request, and whether its caller may call methods for developers.
//!
//! A web page can send requests to a node on the machine of its visitor, and a reverse proxy forwards requests of the
//! public from a loopback address. So the address of the peer alone proves nothing. But a browser always sends `Origin`
//! with a POST of a page and with a WebSocket handshake, a page whose name was bound to another address (DNS rebinding)
//! still has the foreign name in `Host`, and a proxy adds headers of its own. A caller with none of these marks is a
//! program of a user of this machine, or a page that this machine serves.

mod list;
#[cfg(test)]
mod tests;

use std::net::IpAddr;

use hyper::{
    Uri,
    header::{self, HeaderMap, HeaderName, HeaderValue},
};

use self::list::host_and_port;
pub use self::list::{Host, List, ListError, Network, PageOrigin};

/// Headers that a proxy adds, beside those that begin with `x-forwarded`. No client sends them on its own account.
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

/// Where proxies write the address of their client.
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Characters of a header that an error repeats.
const SHOWN: usize = 100;

/// Hosts, origins and proxies that the operator has listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Hosts, beside loopback, under which the node may be addressed by callers of methods for developers, and names under
    /// which `/metrics` is read.
    pub hosts: List<Host>,
    /// Origins, beside loopback, whose pages may call them.
    pub origins: List<PageOrigin>,
    /// Peers whose statement of their client's address is believed.
    pub proxies: List<Network>,
}

impl Access {
    /// Returns the address that pays for the calls of a request: that of the peer, or the one that a trusted proxy names.
    ///
    /// Proxies append to `X-Forwarded-For`, so the rightmost address that is no trusted proxy is the client; what stands to
    /// the left of it is the client's own text. If the header and `Forwarded` contradict each other, one of them may be the
    /// client's own, and the proxy pays.
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

    /// Returns the rightmost address of a list that is no trusted proxy. Before an element without an address, and at the
    /// left end, it is the proxy nearest to that, which is `peer` if the last element has no address. `None` without the header.
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

    /// Returns why a request is foreign, so that it may call no method for developers; `None` if it may.
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

    /// Returns the host of a request for `/metrics` if it is a name that is neither loopback nor listed. A web page
    /// of another origin can bind such a name to the address of the node (DNS rebinding). No page can do that with an
    /// address, and clients that name no host are not browsers.
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

    /// A request target may name the host too, before the path. Then both count.
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
        "the header Origin has {got:?}, expected none, a loopback origin as http://localhost:3000, or one of \
         --allowed-origins"
    )]
    Origin { got: String },
    #[error("the header {header} has {got:?}, expected none, as proxies add it: call the node without a proxy")]
    Proxied { header: HeaderName, got: String },
    #[error("the peer {peer} is one of --trusted-proxies: call the node without a proxy")]
    FromProxy { peer: IpAddr },
}

const HOSTS: &str = "a loopback name or address, or one of --allowed-hosts";

fn shown(value: Option<&HeaderValue>) -> String {
    cut(&String::from_utf8_lossy(value.map_or(b"", HeaderValue::as_bytes)))
}

fn cut(text: &str) -> String {
    text.chars().take(SHOWN).collect()
}

/// Reads an address, with or without a port, an address of IPv6 in brackets or without them.
fn address(text: &str) -> Option<IpAddr> {
    let address = text.parse().ok().or_else(|| match host_and_port(text)?.0 {
        Host::Address(address) => Some(address),
        Host::Name(_) => None,
    })?;
    Some(IpAddr::to_canonical(&address))
}

/// Reads the address of an element of `Forwarded` (RFC 7239).
fn forwarded_for(element: &str) -> Option<IpAddr> {
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=')?;
        name.trim().eq_ignore_ascii_case("for").then(|| address(value.trim().trim_matches('"')))
    };
    element.split(';').find_map(pair)?
}
