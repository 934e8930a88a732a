//! Addresses of nodes (`--url`).

use std::{fmt, str::FromStr};

/// A node that speaks plain HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeUrl {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) path: String,
}

/// Reason why text is not the address of a node.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NodeUrlError {
    /// It has another form.
    #[error("expected http://HOST or http://HOST:PORT, with or without a path, got {got:?}")]
    Form {
        /// What came.
        got: String,
    },
    /// It asks for TLS.
    #[error(
        "expected http://HOST or http://HOST:PORT: TLS is not spoken here, so that {got:?} takes a proxy or a tunnel on this \
         machine"
    )]
    Tls {
        /// What came.
        got: String,
    },
}

impl FromStr for NodeUrl {
    type Err = NodeUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let read = || {
            let uri: hyper::Uri = text.parse().ok()?;
            // What is asked for behind the path is no part of what is kept.
            let is_plain = uri.scheme_str() == Some("http") && uri.query().is_none();
            let host = uri.host().filter(|_| is_plain)?.to_owned();
            let port = match uri.authority()?.as_str().strip_prefix(&host)? {
                "" => 80,
                _ => uri.port_u16()?,
            };
            Some(Self { host, port, path: uri.path().to_owned() })
        };
        read().ok_or_else(|| {
            let got = text.to_owned();
            if text.starts_with("https:") { NodeUrlError::Tls { got } } else { NodeUrlError::Form { got } }
        })
    }
}

impl fmt::Display for NodeUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, path } = self;
        write!(f, "http://{host}:{port}{path}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_named_with_or_without_port_and_path() {
        let check = |text: &str, expected: &str| assert_eq!(text.parse::<NodeUrl>().unwrap().to_string(), expected);
        check("http://127.0.0.1:5555", "http://127.0.0.1:5555/");
        check("http://node", "http://node:80/");
        check("http://[::1]:5555/api", "http://[::1]:5555/api");
        for text in ["", "http://", "http://a?key=b", "ftp://a", "http://a:", "http://u@a", "//a"] {
            assert!(text.parse::<NodeUrl>().is_err(), "{text}");
        }
    }
}
