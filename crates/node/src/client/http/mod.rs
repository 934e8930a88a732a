//! An HTTP/1.1 client for JSON-RPC, with one keep-alive connection and one request at a time. If the URL has the scheme
//! `https`, the connection has TLS. If the environment names a proxy, requests go through the proxy. If the node has
//! closed the idle connection, the client opens a new one.

mod connect;
mod error;
mod proxy;
#[cfg(test)]
mod tests;
mod tls;

use std::{future::Future, pin::Pin};

use http_body_util::{BodyExt, Full};
use hyper::{
    HeaderMap, Method, Request, Response, StatusCode, Uri,
    body::{Body, Bytes, Incoming},
    client::conn::http1::{Builder, Connection, SendRequest},
    header::{ACCEPT, CONTENT_TYPE, HOST, HeaderValue, LOCATION, PROXY_AUTHORIZATION, USER_AGENT},
};
use hyper_util::rt::TokioIo;

pub(crate) use self::error::{CertificateFault, HttpError};
use self::{
    connect::{CONNECT_TIMEOUT, IoStream},
    proxy::Proxy,
};
use crate::{client::url::NodeUrl, terminal::visible};

/// Maximum size of the head of a response, in bytes. The trailers have the same limit. The limit bounds the memory that
/// a false node can take.
const MAX_HEAD: usize = 16 * 1024;
/// Maximum size of the body of a response, in bytes.
pub(crate) const MAX_BODY: usize = 64 << 20;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const AGENT: HeaderValue = HeaderValue::from_static(concat!("silica/", env!("CARGO_PKG_VERSION")));

/// The future that reads and writes the bytes of a connection. It ends when the connection ends.
type Driver = Pin<Box<dyn Future<Output = hyper::Result<()>> + Send>>;

/// A connection to a node.
pub(crate) struct Client {
    url: NodeUrl,
    sender: SendRequest<Full<Bytes>>,
    /// `None` after the connection has ended.
    driver: Option<Driver>,
    uri: Uri,
    headers: HeaderMap,
    answer: Vec<u8>,
}

impl Client {
    /// Connects to a node. Fails after [`CONNECT_TIMEOUT`].
    pub(crate) async fn connect(url: &NodeUrl) -> Result<Self, HttpError> {
        let opened = tokio::time::timeout(CONNECT_TIMEOUT, connect::open(url, Proxy::from_environment(url)?)).await;
        let (stream, proxy) = opened.map_err(|_| HttpError::ConnectTimeout { limit: CONNECT_TIMEOUT })??;
        Self::over(stream, url, proxy).await
    }

    /// Returns a client over an open connection. If the requests go to a proxy without a tunnel, each request has the
    /// whole URL.
    async fn over(stream: IoStream, url: &NodeUrl, proxy: Option<Proxy>) -> Result<Self, HttpError> {
        let (sender, connection) = handshake(stream).await?;
        let mut headers = HeaderMap::new();
        headers.insert(HOST, header(&url.authority())?);
        headers.insert(CONTENT_TYPE, JSON);
        headers.insert(ACCEPT, JSON);
        headers.insert(USER_AGENT, AGENT);
        let target = match proxy.filter(|_| !url.is_tls) {
            Some(proxy) => {
                headers.extend(proxy.credentials.map(|value| (PROXY_AUTHORIZATION, value)));
                url.to_string()
            }
            None => url.path.clone(),
        };
        let uri = target.parse().map_err(|_| HttpError::Url { got: target })?;
        let (url, driver) = (url.clone(), Some(Box::pin(connection) as Driver));
        Ok(Self { url, sender, driver, uri, headers, answer: Vec::new() })
    }

    /// Sends `body` in a POST request, and returns the body of the response.
    ///
    /// If the connection ended before the client sent a byte of the request, the client sends the request on a new
    /// connection. The client never sends a request twice, because the node can have executed it.
    pub(crate) async fn post(&mut self, body: &[u8]) -> Result<&str, HttpError> {
        let mut outcome = self.exchange(body).await;
        if matches!(outcome, Err(Failure::Unsent(_))) {
            *self = Self::connect(&self.url.clone()).await?;
            outcome = self.exchange(body).await;
        }
        outcome.map_err(|(Failure::Unsent(error) | Failure::Sent(error))| error)?;
        std::str::from_utf8(&self.answer).map_err(|_| HttpError::NotText)
    }

    /// Sends a request, and reads its response to `answer`.
    async fn exchange(&mut self, body: &[u8]) -> Result<(), Failure> {
        let mut request = Request::new(Full::new(Bytes::copy_from_slice(body)));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = self.headers.clone();
        self.answer.clear();
        let (sender, answer) = (&mut self.sender, &mut self.answer);
        let mut is_unsent = false;
        let exchange = async {
            sender.ready().await.map_err(|error| {
                is_unsent = true;
                HttpError::of_exchange(error)
            })?;
            let response = sender.try_send_request(request).await.map_err(|mut error| {
                is_unsent = error.take_message().is_some();
                HttpError::of_exchange(error.into_error())
            })?;
            check_status(&response)?;
            read_body(response.into_body(), answer).await
        };
        let outcome = drive(&mut self.driver, exchange).await;
        outcome.map_err(if is_unsent { Failure::Unsent } else { Failure::Sent })
    }
}

/// The failure of an exchange.
enum Failure {
    /// The connection ended before the client sent a byte of the request.
    Unsent(HttpError),
    /// The client can have sent the request.
    Sent(HttpError),
}

/// The sender of requests on a connection, and the future that reads and writes the bytes of the connection.
type Ends = (SendRequest<Full<Bytes>>, Connection<TokioIo<IoStream>, Full<Bytes>>);

/// Starts HTTP/1.1 on a connection.
async fn handshake(stream: IoStream) -> Result<Ends, HttpError> {
    let handshake = Builder::new().max_header_size(MAX_HEAD).handshake(TokioIo::new(stream));
    handshake.await.map_err(HttpError::of_exchange)
}

/// Waits for the result of an exchange. During the wait, polls the future of the connection too. One task polls both,
/// so that a response wakes only one task.
async fn drive<T>(
    driver: &mut Option<Driver>,
    exchange: impl Future<Output = Result<T, HttpError>>,
) -> Result<T, HttpError> {
    tokio::pin!(exchange);
    if let Some(connection) = driver {
        let ended = tokio::select! {
            biased;
            outcome = &mut exchange => return outcome,
            ended = connection => ended,
        };
        *driver = None;
        // The rest of a response may be in memory, so the exchange can succeed. If it fails, only the error of the
        // connection has the reason.
        if let Err(error) = ended {
            return exchange.await.map_err(|_| HttpError::of_exchange(error));
        }
    }
    exchange.await
}

fn check_status(response: &Response<Incoming>) -> Result<(), HttpError> {
    let status = response.status();
    if status == StatusCode::OK {
        return Ok(());
    }
    let location = response.headers().get(LOCATION).filter(|_| status.is_redirection());
    Err(HttpError::Status {
        status: status.to_string(),
        location: location.map(|value| visible(&String::from_utf8_lossy(value.as_bytes()))),
    })
}

async fn read_body(mut body: Incoming, answer: &mut Vec<u8>) -> Result<(), HttpError> {
    if body.size_hint().lower() > MAX_BODY as u64 {
        return Err(HttpError::TooLarge { limit: MAX_BODY });
    }
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(HttpError::of_exchange)?.into_data() else { continue };
        if answer.len().saturating_add(data.len()) > MAX_BODY {
            return Err(HttpError::TooLarge { limit: MAX_BODY });
        }
        answer.extend_from_slice(&data);
    }
    Ok(())
}

fn header(value: &str) -> Result<HeaderValue, HttpError> {
    value.parse().map_err(|_| HttpError::Url { got: value.to_owned() })
}
