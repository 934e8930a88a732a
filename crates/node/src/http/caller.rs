//! The caller of a request, judged by the address of its peer and by the headers: which address pays for its calls, and
//! whether it may call methods for developers.
//!
//! A web page can send requests to a node on the machine of its visitor, and a reverse proxy passes on requests of the
//! public from a loopback address. The peer's address alone therefore proves nothing. A browser always sends `Origin` with
//! what a page posts and with a WebSocket handshake, a page whose name was bound to another address (DNS rebinding) still
//! has the foreign name in `Host`, and a proxy adds headers of its own. A caller with none of these marks is a program
//! of a user of this machine, or a page that this machine serves.

use std::{fmt, net::IpAddr, num::NonZeroU32, str::FromStr, sync::Arc, time::Duration};

use hyper::{
    Uri,
    header::{self, HeaderMap, HeaderName, HeaderValue},
};
use ipnet::IpNet;

use super::limit::{Allowance, Limiter};

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

/// The caller of a request, or of a WebSocket session.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// Why it may call no method for developers.
    foreign: Option<Arc<Foreign>>,
    /// What limits its calls, and the address that they are counted for.
    limit: Option<(Arc<Limiter>, IpAddr)>,
}

impl Caller {
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

    /// A caller that may call everything, as often as it likes.
    #[cfg(test)]
    pub(crate) const fn local() -> Self {
        Self { foreign: None, limit: None }
    }

    /// A caller whose pages are of another origin.
    #[cfg(test)]
    pub(crate) fn of_foreign_page() -> Self {
        Self { foreign: Some(Arc::new(Foreign::Origin { got: "https://evil.example".to_owned() })), limit: None }
    }

    /// A caller with a limit of `each_second` calls a second.
    #[cfg(test)]
    pub(crate) fn limited(each_second: NonZeroU32) -> Self {
        Self { foreign: None, limit: Some((Arc::new(Limiter::new(each_second)), [127, 0, 0, 1].into())) }
    }

    /// Returns why it may call no method for developers; `None` if it may.
    pub(crate) fn foreign(&self) -> Option<&Foreign> {
        self.foreign.as_deref()
    }

    /// Counts the arrival of a request, which pays for the first unit of its first call.
    ///
    /// # Errors
    ///
    /// The time after which it may be sent again.
    pub(crate) fn arrive(&self) -> Result<(), Duration> {
        self.limit.as_ref().map_or(Ok(()), |(limiter, address)| limiter.check(*address, NonZeroU32::MIN))
    }

    /// What the calls of one request or message may cost, of which `paid` units have been counted.
    pub(crate) fn allowance(&self, paid: u32) -> Allowance<'_> {
        Allowance::new(self.limit.as_ref().map(|(limiter, address)| (&**limiter, *address)), paid)
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

/// Values separated by commas, as an option has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List<T>(Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: FromStr> FromStr for List<T> {
    type Err = T::Err;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        text.split(',').map(|element| element.trim().parse()).collect::<Result<_, _>>().map(Self)
    }
}

/// Reason why an element of a list is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, got {got:?}")]
pub struct ListError {
    expected: &'static str,
    got: String,
}

/// A name or an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// An address; one of IPv4 in the form of IPv6 is that of IPv4.
    Address(IpAddr),
    /// A name in lower case, without the dot of the root.
    Name(String),
}

impl Host {
    /// Whether it stands for this machine: names below `localhost` do, wherever they are looked up (RFC 6761).
    fn is_loopback(&self) -> bool {
        match self {
            Self::Address(address) => address.is_loopback(),
            Self::Name(name) => name == "localhost" || name.ends_with(".localhost"),
        }
    }

    fn named(text: &str) -> Option<Self> {
        if let Ok(address) = text.parse::<std::net::Ipv4Addr>() {
            return Some(Self::Address(address.into()));
        }
        let name = text.strip_suffix('.').unwrap_or(text);
        let is_name =
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        is_name.then(|| Self::Name(name.to_ascii_lowercase()))
    }

    fn bracketed(text: &str) -> Option<Self> {
        let address = text.parse::<std::net::Ipv6Addr>().ok()?;
        Some(Self::Address(IpAddr::from(address).to_canonical()))
    }
}

impl FromStr for Host {
    type Err = ListError;

    fn from_str(text: &str) -> Result<Self, ListError> {
        let host = match text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
            Some(address) => Self::bracketed(address),
            None => Self::named(text).or_else(|| Self::bracketed(text)),
        };
        host.ok_or_else(|| ListError {
            expected: "host names or addresses without ports, separated by commas, as node.example,192.168.0.7",
            got: cut(text),
        })
    }
}

/// Reads `HOST` or `HOST:PORT`, an address of IPv6 in brackets.
fn host_and_port(text: &str) -> Option<(Host, Option<u16>)> {
    let (host, port) = if let Some(rest) = text.strip_prefix('[') {
        let (address, port) = rest.split_once(']')?;
        (Host::bracketed(address)?, port)
    } else {
        let (host, port) = text.split_at(text.find(':').unwrap_or(text.len()));
        (Host::named(host)?, port)
    };
    match port.strip_prefix(':') {
        None if port.is_empty() => Some((host, None)),
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => Some((host, Some(digits.parse().ok()?))),
        None | Some(_) => None,
    }
}

/// Where a page comes from, as browsers write it: scheme, host and port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageOrigin {
    scheme: String,
    host: Host,
    /// `None` for the scheme's own.
    port: Option<u16>,
}

impl PageOrigin {
    fn is_loopback(&self) -> bool {
        ["http", "https"].contains(&self.scheme.as_str()) && self.host.is_loopback()
    }
}

impl FromStr for PageOrigin {
    type Err = ListError;

    fn from_str(text: &str) -> Result<Self, ListError> {
        let read = || {
            let (scheme, authority) = text.split_once("://")?;
            let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
                && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
            let (host, port) = host_and_port(authority).filter(|_| is_scheme)?;
            let scheme = scheme.to_ascii_lowercase();
            let own = match scheme.as_str() {
                "http" => Some(80),
                "https" => Some(443),
                _ => None,
            };
            Some(Self { scheme, host, port: port.filter(|port| Some(*port) != own) })
        };
        read().ok_or_else(|| ListError {
            expected: "origins separated by commas, as https://ide.example,http://192.168.0.7:3000",
            got: cut(text),
        })
    }
}

/// An address, or all addresses that begin alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network(IpNet);

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Network {
    type Err = ListError;

    fn from_str(text: &str) -> Result<Self, ListError> {
        let address = || text.parse::<IpAddr>().map(|address| IpNet::from(address.to_canonical()));
        text.parse().or_else(|_| address()).map(Self).map_err(|_| ListError {
            expected: "addresses or networks separated by commas, as 127.0.0.1,10.0.0.0/8,fd00::/8",
            got: cut(text),
        })
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn access() -> Access {
        Access {
            hosts: "node.example,192.168.0.7,[2001:db8::1]".parse().unwrap(),
            origins: "https://ide.example,http://ide.example:3000,HTTPS://Upper.example:443,chrome-extension://abc"
                .parse()
                .unwrap(),
            proxies: "10.0.0.0/8,192.168.0.1,fd00::/8".parse().unwrap(),
        }
    }

    fn headers(lines: &[(&str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&str, &str)| {
            (HeaderName::from_str(name).unwrap(), HeaderValue::from_bytes(value.as_bytes()).unwrap())
        };
        let mut map = HeaderMap::new();
        for (name, value) in lines.iter().map(pair) {
            map.append(name, value);
        }
        map
    }

    const LOOPBACK: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn judge(target: &str, lines: &[(&str, &str)]) -> Option<Foreign> {
        access().foreign(LOOPBACK, &target.parse().unwrap(), &headers(lines))
    }

    const OWN_HOSTS: [&str; 16] = [
        "localhost",
        "LOCALHOST:5555",
        "localhost.",
        "app.localhost:80",
        "127.0.0.1",
        "127.0.0.1:5555",
        "127.8.9.1",
        "[::1]",
        "[::1]:5555",
        "[::ffff:127.0.0.1]:1",
        "node.example",
        "Node.Example:65535",
        "node.example.:1",
        "192.168.0.7:5555",
        "[2001:db8::1]",
        "[2001:db8:0::1]:80",
    ];

    const FOREIGN_HOSTS: [&str; 22] = [
        "",
        ":5555",
        "x",
        "evil.example",
        "evil.example:5555",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "evil.node.example",
        "notlocalhost",
        "localhost@evil.example",
        "evil.example@localhost",
        "localhost:80@evil.example",
        "localhost:80.evil.example",
        "localhost:70000",
        "0.0.0.0:5555",
        "127.1",
        "0x7f.0.0.1",
        "128.0.0.1",
        "::1",
        "[::1",
        "[::1]evil.example",
        "[::]:5555",
    ];

    #[test]
    fn host_has_to_be_loopback_or_listed() {
        for host in OWN_HOSTS {
            assert_eq!(judge("/", &[("host", host)]), None, "{host}");
        }
        for host in FOREIGN_HOSTS {
            assert_eq!(judge("/", &[("host", host)]), Some(Foreign::Host { got: host.to_owned() }), "{host}");
        }
        assert_eq!(judge("/", &[]), Some(Foreign::NoHost));
        let two = judge("/", &[("host", "localhost"), ("host", "localhost")]);
        assert!(matches!(two, Some(Foreign::Host { .. })), "{two:?}");
    }

    #[test]
    fn host_of_the_target_counts_as_well() {
        assert_eq!(judge("http://127.0.0.1:5555/", &[("host", "localhost")]), None);
        let target = judge("http://evil.example/", &[("host", "localhost")]);
        assert_eq!(target, Some(Foreign::Target { got: "evil.example".to_owned() }));
        let host = judge("http://localhost/", &[("host", "evil.example")]);
        assert!(matches!(host, Some(Foreign::Host { .. })), "{host:?}");
    }

    #[test]
    fn metrics_are_returned_for_every_address_and_for_known_names() {
        let name =
            |target: &str, lines: &[(&str, &str)]| access().unknown_name(&target.parse().unwrap(), &headers(lines));
        let addresses = ["0.0.0.0:5555", "128.0.0.1", "10.1.2.3:9100", "[::]:5555", "[2001:db8::9]:9100", ""];
        for host in OWN_HOSTS.into_iter().chain(addresses) {
            assert_eq!(name("/metrics", &[("host", host)]), None, "{host}");
        }
        for host in FOREIGN_HOSTS.into_iter().filter(|host| !addresses.contains(host)) {
            assert_eq!(name("/metrics", &[("host", host)]).as_deref(), Some(host));
        }
        assert_eq!(name("/metrics", &[]), None);
        assert_eq!(name("http://10.1.2.3/metrics", &[("host", "node.example")]), None);
        let evil = Some("evil.example".to_owned());
        assert_eq!(name("http://evil.example/metrics", &[]), evil);
        assert_eq!(name("http://evil.example/metrics", &[("host", "10.1.2.3")]), evil);
        assert_eq!(name("http://10.1.2.3/metrics", &[("host", "evil.example")]), evil);
        assert_eq!(name("/metrics", &[("host", &"x".repeat(5000))]).map(|shown| shown.len()), Some(SHOWN));
    }

    const OWN_ORIGINS: [&str; 11] = [
        "http://localhost",
        "http://localhost:3000",
        "https://localhost:3000",
        "http://app.localhost:1",
        "http://127.0.0.1:8080",
        "https://[::1]:8443",
        "https://ide.example",
        "https://ide.example:443",
        "http://ide.example:3000",
        "https://upper.example",
        "chrome-extension://abc",
    ];

    const FOREIGN_ORIGINS: [&str; 16] = [
        "",
        "null",
        "localhost",
        "http://evil.example",
        "http://ide.example",
        "https://ide.example:3000",
        "https://ide.example.evil.example",
        "https://sub.ide.example",
        "http://localhost.evil.example",
        "http://localhost@evil.example",
        "http://localhost:80.evil.example",
        "http://localhost:3000/path",
        "http://localhost, http://evil.example",
        "file://localhost",
        "chrome-extension://localhost",
        "http://0.0.0.0:5555",
    ];

    #[test]
    fn origin_has_to_be_absent_loopback_or_listed() {
        for origin in OWN_ORIGINS {
            assert_eq!(judge("/", &[("host", "localhost"), ("origin", origin)]), None, "{origin}");
        }
        for origin in FOREIGN_ORIGINS {
            let expected = Some(Foreign::Origin { got: origin.to_owned() });
            assert_eq!(judge("/", &[("host", "localhost"), ("origin", origin)]), expected, "{origin}");
        }
        let two = judge("/", &[("host", "localhost"), ("origin", "http://localhost"), ("origin", "http://localhost")]);
        assert!(matches!(two, Some(Foreign::Origin { .. })), "{two:?}");
    }

    #[test]
    fn request_that_a_proxy_has_passed_on_is_foreign() {
        let further =
            ["X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Anything", "X-Forwarded"];
        for name in further.into_iter().chain(OF_PROXIES) {
            let judged = judge("/", &[("host", "localhost"), (name, "127.0.0.1")]);
            assert!(matches!(judged, Some(Foreign::Proxied { .. })), "{name}: {judged:?}");
        }
        for name in ["x-request-id", "user-agent", "referer", "cookie", "x-forward", "content-type"] {
            assert_eq!(judge("/", &[("host", "localhost"), (name, "127.0.0.1")]), None, "{name}");
        }
        let local = headers(&[("host", "localhost")]);
        for peer in ["10.1.2.3", "192.168.0.1", "::ffff:10.0.0.1", "fd00::7"] {
            let judged = access().foreign(peer.parse().unwrap(), &Uri::from_static("/"), &local);
            assert!(matches!(judged, Some(Foreign::FromProxy { .. })), "{peer}: {judged:?}");
        }
    }

    #[test]
    fn reason_names_what_came_what_is_expected_and_the_option() {
        let check = |lines: &[(&str, &str)], words: &[&str]| {
            let reason = judge("/", lines).unwrap().to_string();
            for word in words {
                assert!(reason.contains(word), "{word:?} is missing in {reason}");
            }
        };
        check(&[("host", "evil.example")], &["Host", "\"evil.example\"", "loopback", "--allowed-hosts"]);
        check(&[], &["Host", "missing", "loopback", "--allowed-hosts"]);
        check(&[("host", "localhost"), ("origin", "null")], &["Origin", "\"null\"", "loopback", "--allowed-origins"]);
        check(&[("host", "localhost"), ("via", "1.1 proxy")], &["via", "\"1.1 proxy\"", "without a proxy"]);
        let long = judge("/", &[("host", &"x".repeat(5000))]).unwrap().to_string();
        assert!(long.len() < 300, "{long}");
    }

    /// Checks which address pays for a request of `peer`.
    #[track_caller]
    fn check_client(peer: &str, lines: &[(&str, &str)], expected: &str) {
        let client = access().client(peer.parse().unwrap(), &headers(lines));
        assert_eq!(client, expected.parse::<IpAddr>().unwrap(), "{peer} {lines:?}");
    }

    #[test]
    fn client_of_a_trusted_proxy_is_the_last_address_that_is_no_proxy() {
        const FOR: &str = "x-forwarded-for";
        check_client("10.0.0.1", &[(FOR, "1.2.3.4")], "1.2.3.4");
        check_client("::ffff:10.0.0.1", &[(FOR, "1.2.3.4")], "1.2.3.4");
        check_client("10.0.0.1", &[(FOR, "9.9.9.9, 1.2.3.4, 10.0.0.2")], "1.2.3.4");
        check_client("10.0.0.1", &[(FOR, "9.9.9.9"), (FOR, "1.2.3.4"), (FOR, "10.0.0.2,192.168.0.1")], "1.2.3.4");
        check_client("10.0.0.1", &[(FOR, "1.2.3.4:567")], "1.2.3.4");
        check_client("10.0.0.1", &[(FOR, "[2001:db8::5]:567")], "2001:db8::5");
        check_client("10.0.0.1", &[(FOR, "2001:db8::5")], "2001:db8::5");
        // The text of the client, to the left of the first proxy, is not read.
        check_client("10.0.0.1", &[(FOR, "nonsense, 1.2.3.4")], "1.2.3.4");
        // What cannot be read counts for the proxy that has written it.
        check_client("10.0.0.1", &[(FOR, "1.2.3.4, unknown")], "10.0.0.1");
        check_client("10.0.0.1", &[(FOR, "1.2.3.4, unknown, 10.0.0.2")], "10.0.0.2");
        check_client("10.0.0.1", &[(FOR, "")], "10.0.0.1");
        check_client("10.0.0.1", &[(FOR, "10.0.0.3, 10.0.0.2")], "10.0.0.3");
        check_client("10.0.0.1", &[], "10.0.0.1");
    }

    #[test]
    fn client_may_be_named_by_forwarded() {
        let check = |value: &str, expected| check_client("10.0.0.1", &[("forwarded", value)], expected);
        check("for=1.2.3.4", "1.2.3.4");
        check("for=9.9.9.9, For=\"1.2.3.4:80\";proto=http;by=10.0.0.2, for=10.0.0.2", "1.2.3.4");
        check("proto=http;for=\"[2001:db8::5]:4711\"", "2001:db8::5");
        check("for=\"9.9.9.9, for=1.2.3.4", "1.2.3.4");
        check("for=_hidden", "10.0.0.1");
        check("proto=http", "10.0.0.1");
        let both = |one, other| [("x-forwarded-for", one), ("forwarded", other)];
        check_client("10.0.0.1", &both("1.2.3.4", "for=1.2.3.4"), "1.2.3.4");
        check_client("10.0.0.1", &both("1.2.3.4", "for=9.9.9.9"), "10.0.0.1");
        // One of the headers comes from the proxy, which does not name its client there; the other is the client's own text.
        check_client("10.0.0.1", &both("9.9.9.9", "for=_hidden"), "10.0.0.1");
        check_client("10.0.0.1", &both("unknown", "for=9.9.9.9"), "10.0.0.1");
    }

    #[test]
    fn no_other_peer_can_say_who_it_is() {
        for peer in ["127.0.0.1", "8.8.8.8", "192.168.0.2", "::1"] {
            for lines in [[("x-forwarded-for", "1.2.3.4")], [("forwarded", "for=1.2.3.4")]] {
                check_client(peer, &lines, peer);
            }
        }
        let without_proxies = Access::default();
        assert_eq!(without_proxies.client(LOOPBACK, &headers(&[("x-forwarded-for", "1.2.3.4")])), LOOPBACK);
    }

    #[test]
    fn lists_that_cannot_be_read_are_refused_with_what_came() {
        fn check<T: FromStr<Err = ListError> + fmt::Debug>(text: &str, word: &str) {
            let error = text.parse::<List<T>>().unwrap_err().to_string();
            assert!(error.contains("expected ") && error.contains(word), "{error}");
        }
        for (text, word) in [("a,,b", "\"\""), ("a:80", "\"a:80\""), ("*", "\"*\""), ("http://a", "\"http://a\"")] {
            check::<Host>(text, word);
        }
        for (text, word) in [("null", "\"null\""), ("*", "\"*\""), ("http://a/", "\"http://a/\""), ("a", "\"a\"")] {
            check::<PageOrigin>(text, word);
        }
        for (text, word) in [("10.0.0.0/33", "/33"), ("proxy", "\"proxy\""), ("10.0.0", "\"10.0.0\"")] {
            check::<Network>(text, word);
        }
        assert_eq!("".parse::<List<Host>>().unwrap(), List::default());
        assert_eq!("fd00::/8".parse::<Network>().unwrap().to_string(), "fd00::/8");
    }
}
