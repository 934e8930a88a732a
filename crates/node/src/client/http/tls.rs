//! TLS by rustls. The root certificates come from the system, or from `SSL_CERT_FILE` and `SSL_CERT_DIR`.

use std::{io, sync::Arc};

use rustls::{CertificateError, ClientConfig, Error, RootCertStore, crypto::ring, pki_types::ServerName};
use tokio_rustls::TlsConnector;

use super::{CertificateFault, HttpError, connect::IoStream};

/// Starts TLS on a connection. Fails unless the certificate of the server is valid for `host`.
pub(super) async fn secure(stream: IoStream, host: &str) -> Result<IoStream, HttpError> {
    let name = ServerName::try_from(host.to_owned()).map_err(|_| HttpError::Url { got: host.to_owned() })?;
    let connector = TlsConnector::from(Arc::new(config()?));
    match connector.connect(name, stream).await {
        Ok(stream) => Ok(Box::new(stream)),
        Err(error) => Err(fault(host, &error)),
    }
}

fn config() -> Result<ClientConfig, HttpError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    // Ignore root certificates that the library cannot parse. The other root certificates suffice for most servers.
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        return Err(HttpError::NoRoots { reason: found.errors.first().map(ToString::to_string) });
    }
    let versions = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| HttpError::Tls { reason: error.to_string() })?;
    let mut config = versions.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

fn fault(host: &str, error: &io::Error) -> HttpError {
    let Some(cause) = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) else {
        let is_closed = matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset);
        return if is_closed { HttpError::NoTls } else { HttpError::Tls { reason: error.to_string() } };
    };
    #[expect(clippy::wildcard_enum_match_arm, reason = "the library has some twenty errors, and may add others")]
    match cause {
        Error::InvalidCertificate(error) => {
            HttpError::Certificate { host: host.to_owned(), fault: certificate_fault(error) }
        }
        Error::InvalidMessage(_) => HttpError::NoTls,
        other => HttpError::Tls { reason: other.to_string() },
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the library has some twenty faults, and may add others")]
fn certificate_fault(error: &CertificateError) -> CertificateFault {
    match error {
        CertificateError::UnknownIssuer => CertificateFault::UnknownIssuer,
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => CertificateFault::Expired,
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => CertificateFault::NotYetValid,
        CertificateError::NotValidForNameContext { presented, .. } => {
            CertificateFault::OtherName { names: crate::terminal::visible(&presented.join(", ")) }
        }
        other => CertificateFault::Other(other.to_string()),
    }
}
