//! Errors of a request over HTTP.

use std::{io, time::Duration};

/// Reason why a request got no usable response.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum HttpError {
    /// The URL cannot be part of a request.
    #[error("expected a URL that HTTP permits, got {got:?}")]
    Url {
        /// The part that HTTP does not permit.
        got: String,
    },
    /// The connection failed.
    #[error("cannot connect to {address}")]
    Connect {
        /// Host and port of the node or of the proxy.
        address: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The connection was not ready in time.
    #[error("no connection within {limit:?}")]
    ConnectTimeout {
        /// The time limit.
        limit: Duration,
    },
    /// The environment names a proxy of a kind that the client does not support.
    #[error("expected a proxy http://HOST:PORT in the environment, got one with the scheme {scheme}")]
    ProxyScheme {
        /// The scheme of the proxy URL.
        scheme: String,
    },
    /// The proxy did not open a tunnel.
    #[error("expected the proxy {proxy} to open a tunnel, got status {status}")]
    ProxyStatus {
        /// Host and port of the proxy.
        proxy: String,
        /// Status of the response.
        status: String,
    },
    /// The system has no root certificates.
    #[error("no root certificates: expected the package ca-certificates, or SSL_CERT_FILE=FILE{}", after_colon(reason.as_deref()))]
    NoRoots {
        /// The first error of the system; `None` if the system reports no error.
        reason: Option<String>,
    },
    /// The certificate of the server does not prove its identity.
    #[error("certificate of {host}: {fault}")]
    Certificate {
        /// The host of the URL.
        host: String,
        /// The fault of the certificate.
        fault: CertificateFault,
    },
    /// The server does not use TLS.
    #[error("expected TLS, got other data; a node without TLS has a URL that begins with http://")]
    NoTls,
    /// The TLS handshake failed.
    #[error("the TLS handshake failed: {reason}")]
    Tls {
        /// The error text of the library.
        reason: String,
    },
    /// The server closed the connection before the end of the response.
    #[error("the node closed the connection before the end of its response")]
    Closed,
    /// The response is not HTTP/1.1, or exceeds the limits of its head.
    #[error("expected a response of HTTP/1.1: {reason}")]
    Protocol {
        /// The error text of the library.
        reason: String,
    },
    /// The response has a status other than 200.
    #[error("expected status 200, got {status}{}", redirect(location.as_deref()))]
    Status {
        /// The status code and its name.
        status: String,
        /// The value of the header `Location`, if the response has this header.
        location: Option<String>,
    },
    /// The body of the response exceeds its size limit.
    #[error("expected a response of at most {limit} bytes, got a larger one")]
    TooLarge {
        /// The size limit, in bytes.
        limit: usize,
    },
    /// The body is not UTF-8.
    #[error("expected a response in UTF-8, got other bytes")]
    NotText,
    /// The response was not complete in time.
    #[error("no response within {limit:?}")]
    Timeout {
        /// The time limit.
        limit: Duration,
    },
}

/// Reason why a certificate does not prove the identity of a server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum CertificateFault {
    /// No trusted root certificate signed the chain of the certificate.
    #[error(
        "expected an issuer that this system trusts, got another one; set SSL_CERT_FILE to a file of trusted issuers"
    )]
    UnknownIssuer,
    /// The certificate is for other hosts.
    #[error("expected a certificate for this host, got one for {}", if names.is_empty() { "no host" } else { names })]
    OtherName {
        /// The hosts of the certificate, separated by commas.
        names: String,
    },
    /// The period of the certificate has ended.
    #[error("expected a valid certificate, got one that has expired")]
    Expired,
    /// The period of the certificate has not begun.
    #[error("expected a valid certificate, got one for a later time; the clock of this machine may be wrong")]
    NotYetValid,
    /// Another fault.
    #[error("{0}")]
    Other(String),
}

impl HttpError {
    /// Converts an error of the HTTP library.
    #[expect(clippy::needless_pass_by_value, reason = "map_err passes errors by value")]
    pub(super) fn of_exchange(error: hyper::Error) -> Self {
        use std::error::Error as _;
        if error.is_incomplete_message() || error.is_canceled() || error.is_closed() {
            return Self::Closed;
        }
        let source = error.source().and_then(|source| source.downcast_ref::<io::Error>());
        match source.map(io::Error::kind) {
            Some(io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe) => {
                Self::Closed
            }
            _ => Self::Protocol {
                reason: match error.source() {
                    Some(source) => format!("{error}: {source}"),
                    None => error.to_string(),
                },
            },
        }
    }
}

fn after_colon(reason: Option<&str>) -> String {
    reason.map(|reason| format!(": {reason}")).unwrap_or_default()
}

fn redirect(location: Option<&str>) -> String {
    let target = |url| format!(" to {url:?}; the client does not follow redirects");
    location.map(target).unwrap_or_default()
}
