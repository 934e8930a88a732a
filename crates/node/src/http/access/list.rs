//! The values of `--allowed-hosts`, `--allowed-origins` and `--trusted-proxies`.

use std::{fmt, net::IpAddr, str::FromStr};

use ipnet::IpNet;

/// The value of an option with a list of values, separated by commas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List<T>(pub(super) Vec<T>);

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

/// Reason why an element of a list is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, got {got:?}")]
pub struct ListError {
    expected: &'static str,
    got: String,
}

/// A name or an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// An address. An IPv4 address in the form of IPv6 counts as the IPv4 address.
    Address(IpAddr),
    /// A name in lower case, without a dot at the end.
    Name(String),
}

impl Host {
    /// Returns whether the host is this machine: a loopback address, `localhost`, or a name below it (RFC 6761).
    pub(super) fn is_loopback(&self) -> bool {
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
            expected: "host names or addresses without ports, separated by commas, such as node.example,192.168.0.7",
            got: cut(text),
        })
    }
}

/// Parses `HOST` or `HOST:PORT`, where an IPv6 address is in brackets.
pub(super) fn host_and_port(text: &str) -> Option<(Host, Option<u16>)> {
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

/// The origin of a web page in the form of the header `Origin`: scheme, host and port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageOrigin {
    scheme: String,
    host: Host,
    /// `None` for the default port of the scheme.
    port: Option<u16>,
}

impl PageOrigin {
    pub(super) fn is_loopback(&self) -> bool {
        ["http", "https"].contains(&self.scheme.as_str()) && self.host.is_loopback()
    }

    pub(super) fn has_host(&self, host: &Host) -> bool {
        self.host == *host
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
            expected: "origins separated by commas, such as https://ide.example,http://192.168.0.7:3000",
            got: cut(text),
        })
    }
}

/// An address, or the addresses with a common prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network(pub(super) IpNet);

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
            expected: "addresses or networks separated by commas, such as 127.0.0.1,10.0.0.0/8,fd00::/8",
            got: cut(text),
        })
    }
}

/// Maximum number of characters of a header or an option that an error text repeats.
pub(super) const SHOWN: usize = 100;

/// Returns the beginning of a text, for an error text.
pub(super) fn cut(text: &str) -> String {
    text.chars().take(SHOWN).collect()
}
