//! Responses and their headers.

use std::time::Duration;

use hyper::{
    Response, StatusCode,
    body::Bytes,
    header::{self, HeaderValue},
};

use super::{Handler, Page, RejectReason, ResponseBody, gzip};

/// Adds security headers. With these headers, a browser loads only inline styles, runs no script, does not show the
/// page in a frame, and stores no copy of the page.
pub(super) fn guarded(mut response: Response<ResponseBody>) -> Response<ResponseBody> {
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(
            "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        ),
    );
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Returns the response with a page, compressed if `gzip` is true and the page has at least [`gzip::SMALLEST`] bytes.
pub(super) fn shown(Page { is_well, media_type, text }: Page, gzip: bool) -> Response<ResponseBody> {
    let status = if is_well { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    if gzip && text.len() >= gzip::SMALLEST {
        return encoded(response(status, media_type, gzip::whole(text.as_bytes())));
    }
    response(status, media_type, text)
}

/// The text for a client above its rate limit.
pub(super) const TOO_OFTEN: &str = "too many requests, try again later";

/// Adds the header with the time after which the client may repeat the request.
pub(super) fn retried_after(wait: Duration, response: Response<ResponseBody>) -> Response<ResponseBody> {
    with_header(response, header::RETRY_AFTER, HeaderValue::from(whole_seconds(wait)))
}

/// Returns a time in seconds, rounded up.
pub(crate) const fn whole_seconds(time: Duration) -> u64 {
    time.as_secs().saturating_add((time.subsec_nanos() > 0) as u64)
}

/// Returns the response to a request with another HTTP method than `allowed`. As in the reference, the media type is
/// JSON, although the text is not JSON (Reference: interface#http).
pub(super) fn not_allowed(allowed: &'static str) -> Response<ResponseBody> {
    with_header(
        json(StatusCode::METHOD_NOT_ALLOWED, "Not allowed HTTP Method"),
        header::ALLOW,
        HeaderValue::from_static(allowed),
    )
}

/// Adds the headers of a compressed body.
pub(super) fn encoded(response: Response<ResponseBody>) -> Response<ResponseBody> {
    varied(with_header(response, header::CONTENT_ENCODING, HeaderValue::from_static("gzip")))
}

/// Adds the header with which a cache stores compressed and plain responses separately.
pub(super) fn varied(response: Response<ResponseBody>) -> Response<ResponseBody> {
    with_vary(response, "accept-encoding")
}

/// Adds the header with which a cache stores a separate response for each value of the request header `on`.
pub(super) fn with_vary(response: Response<ResponseBody>, on: &'static str) -> Response<ResponseBody> {
    with_header(response, header::VARY, HeaderValue::from_static(on))
}

/// Returns the response that rejects a POST. The handler writes the body of the response.
pub(super) fn refused(handler: &impl Handler, reason: RejectReason, text: &str) -> Response<ResponseBody> {
    closing(json(reason.status(), handler.reject(reason, text)))
}

/// Returns the response that rejects a request other than POST, with a plain text.
pub(super) fn refusal(status: StatusCode, text: impl Into<Bytes>) -> Response<ResponseBody> {
    closing(response(status, "text/plain", text))
}

/// Adds the header `Connection: close`, with which the connection ends after the response.
fn closing(response: Response<ResponseBody>) -> Response<ResponseBody> {
    with_header(response, header::CONNECTION, HeaderValue::from_static("close"))
}

/// Response headers that web pages of other origins may read.
pub(super) const EXPOSED: &str = "x-request-id, retry-after";

/// Returns the response to an OPTIONS request. It has the headers of the reference (Reference: interface#http), and
/// also permits `x-request-id`.
pub(super) fn options(allowed: &'static str) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::from(Bytes::new()));
    let headers = response.headers_mut();
    headers.insert(header::ALLOW, HeaderValue::from_static(allowed));
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(
        header::ACCESS_CONTROL_ALLOW_HEADERS,
        HeaderValue::from_static("origin, content-type, accept, x-request-id"),
    );
    headers.insert("DAV", HeaderValue::from_static("1"));
    response
}

/// Returns a response with JSON.
pub(super) fn json(status: StatusCode, body: impl Into<Bytes>) -> Response<ResponseBody> {
    response(status, "application/json", body)
}

/// Returns a response that web pages of every origin may read.
pub(super) fn response(status: StatusCode, media_type: &'static str, body: impl Into<Bytes>) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::from(body.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    response
}

/// Sets a header.
pub(super) fn with_header(
    mut response: Response<ResponseBody>,
    name: header::HeaderName,
    value: HeaderValue,
) -> Response<ResponseBody> {
    response.headers_mut().insert(name, value);
    response
}
