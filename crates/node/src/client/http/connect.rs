//! Connections to a node over TCP, optionally through the tunnel of a proxy and with TLS.

use std::time::Duration;

use http_body_util::Full;
use hyper::{
    Method, Request, Uri,
    body::Bytes,
    header::{HOST, PROXY_AUTHORIZATION},
};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};

use super::{Driver, HttpError, drive, handshake, header, proxy::Proxy, tls};
use crate::client::url::NodeUrl;

/// Time limit to open a connection, which covers name resolution, TCP, the proxy and TLS.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A connection over TCP, over TLS, or through a tunnel.
pub(super) type IoStream = Box<dyn Io>;

pub(super) trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// Opens a connection for requests to `url`. Returns the connection, and the proxy if the connection goes through one.
pub(super) async fn open(url: &NodeUrl, proxy: Option<Proxy>) -> Result<(IoStream, Option<Proxy>), HttpError> {
    let (host, port) = match &proxy {
        Some(proxy) => (proxy.host.as_str(), proxy.port),
        None => (url.host_name(), url.port),
    };
    let stream = tcp(host, port).await?;
    if !url.is_tls {
        return Ok((stream, proxy));
    }
    let stream = match &proxy {
        Some(proxy) => tunnel(stream, proxy, url).await?,
        None => stream,
    };
    Ok((tls::secure(stream, url.host_name()).await?, proxy))
}

async fn tcp(host: &str, port: u16) -> Result<IoStream, HttpError> {
    let failed = |source| HttpError::Connect { address: format!("{host}:{port}"), source };
    let stream = TcpStream::connect((host, port)).await.map_err(failed)?;
    stream.set_nodelay(true).map_err(failed)?;
    Ok(Box::new(stream))
}

/// Opens a tunnel through a proxy to the node (RFC 9110, section 9.3.6).
async fn tunnel(stream: IoStream, proxy: &Proxy, url: &NodeUrl) -> Result<IoStream, HttpError> {
    let target = format!("{}:{}", url.host, url.port);
    let mut request = Request::new(Full::<Bytes>::default());
    *request.method_mut() = Method::CONNECT;
    *request.uri_mut() = target.parse::<Uri>().map_err(|_| HttpError::Url { got: target.clone() })?;
    request.headers_mut().insert(HOST, header(&target)?);
    request.headers_mut().extend(proxy.credentials.clone().map(|value| (PROXY_AUTHORIZATION, value)));

    let (mut sender, connection) = handshake(stream).await?;
    let mut driver: Option<Driver> = Some(Box::pin(connection.with_upgrades()));
    let exchange = async {
        let response = sender.send_request(request).await.map_err(HttpError::of_exchange)?;
        if !response.status().is_success() {
            let (proxy, status) = (format!("{}:{}", proxy.host, proxy.port), response.status().to_string());
            return Err(HttpError::ProxyStatus { proxy, status });
        }
        hyper::upgrade::on(response).await.map_err(HttpError::of_exchange)
    };
    Ok(Box::new(TokioIo::new(drive(&mut driver, exchange).await?)))
}
