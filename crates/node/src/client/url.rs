//! URLs of nodes (`--url`).

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    str::FromStr,
};

/// The URL of a node: plain HTTP, or HTTP over TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NodeUrl {
    pub(crate) is_tls: bool,
    /// A host name or an IP address. An IPv6 address is in brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) path: String,
}

/// Reason why a text is not the URL of a node.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum NodeUrlError {
    /// The text does not have the form of such a URL.
    #[error("expected http://HOST:PORT or https://HOST:PORT, with or without a port and a path, got {got:?}")]
    Form {
        /// The text.
        got: String,
    },
}

impl NodeUrl {
    /// Returns the host without brackets.
    pub(crate) fn host_name(&self) -> &str {
        self.host.trim_matches(['[', ']'])
    }

    /// Returns the value of the header `Host`: host and port, or the host only if the port is the default.
    pub(crate) fn authority(&self) -> String {
        let Self { host, port, .. } = self;
        if *port == default_port(self.is_tls) { host.clone() } else { format!("{host}:{port}") }
    }

    /// Returns whether the host is `localhost` or a loopback address.
    pub(crate) fn is_loopback(&self) -> bool {
        let host = self.host_name();
        host == "localhost" || host.parse().is_ok_and(|ip: IpAddr| ip.to_canonical().is_loopback())
    }
}

impl From<SocketAddr> for NodeUrl {
    /// Returns the URL of a node without TLS at this address.
    fn from(address: SocketAddr) -> Self {
        let host = match address.ip() {
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        };
        Self { is_tls: false, host, port: address.port(), path: "/".to_owned() }
    }
}

impl FromStr for NodeUrl {
    type Err = NodeUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let read = || {
            let uri: hyper::Uri = text.parse().ok()?;
            // The URL of a node has no query.
            let scheme = uri.scheme_str().filter(|_| uri.query().is_none())?;
            let is_tls = match scheme {
                "http" => false,
                "https" => true,
                _ => return None,
            };
            let host = uri.host()?.to_owned();
            let port = match uri.authority()?.as_str().strip_prefix(&host)? {
                "" => default_port(is_tls),
                _ => uri.port_u16()?,
            };
            Some(Self { is_tls, host, port, path: uri.path().to_owned() })
        };
        read().ok_or_else(|| NodeUrlError::Form { got: text.to_owned() })
    }
}

impl fmt::Display for NodeUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { is_tls, host, port, path } = self;
        let scheme = if *is_tls { "https" } else { "http" };
        write!(f, "{scheme}://{host}:{port}{path}")
    }
}

const fn default_port(is_tls: bool) -> u16 {
    if is_tls { 443 } else { 80 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_may_omit_port_and_path() {
        let check = |text: &str, expected: &str| assert_eq!(text.parse::<NodeUrl>().unwrap().to_string(), expected);
        check("http://127.0.0.1:5555", "http://127.0.0.1:5555/");
        check("http://node", "http://node:80/");
        check("http://[::1]:5555/api", "http://[::1]:5555/api");
        check("https://node", "https://node:443/");
        check("https://node:4202/api", "https://node:4202/api");
        for text in ["", "http://", "http://a?key=b", "ftp://a", "http://a:", "http://u@a", "//a", "https://"] {
            assert!(text.parse::<NodeUrl>().is_err(), "{text}");
        }
    }

    #[test]
    fn host_header_omits_the_default_port() {
        for (url, expected) in [
            ("http://node", "node"),
            ("https://node:443", "node"),
            ("https://node:80", "node:80"),
            ("http://[::1]:5555", "[::1]:5555"),
        ] {
            assert_eq!(url.parse::<NodeUrl>().unwrap().authority(), expected);
        }
    }

    #[test]
    fn address_is_a_url_without_tls() {
        for address in ["127.0.0.1:5555", "[::1]:5555"] {
            let url = NodeUrl::from(address.parse::<SocketAddr>().unwrap());
            assert_eq!(url.to_string(), format!("http://{address}/"));
            assert!(url.is_loopback());
        }
    }
}
