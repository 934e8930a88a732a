//! The studio: the web page of the node, with its files.
//!
//! The server sends the stored bytes of a file to a client that accepts gzip, and inflated bytes to other clients. It
//! compresses nothing, and inflates each file at most once. The routes are exact: a path below [`BELOW`] is a path of
//! the table, or the status is 404. Therefore no path leads out of the table.

use std::{io::Read, sync::OnceLock};

use flate2::read::GzDecoder;
use hyper::{
    HeaderMap, Method, Request, Response, StatusCode,
    body::Bytes,
    header::{self, HeaderName, HeaderValue},
};
use silica_studio::{ASSETS, Asset};

use super::{
    Access, ResponseBody, gzip,
    response::{refusal, response, varied, with_header, with_vary},
};

/// The path that a browser is redirected from, because the page needs the slash at the end for its own paths.
const WITHOUT_SLASH: &str = "/studio";

/// The path of the page. The paths of its files begin with this path.
const BELOW: &str = "/studio/";

/// The file at the path of the page.
const INDEX: &str = "index.html";

/// Headers of each response of the studio. With these headers, a browser loads scripts and styles of the same origin
/// only, and converts no text to a script. The browser does not show the page in a frame, and does not let pages of
/// other origins read it.
const SECURITY: [(HeaderName, HeaderValue); 5] = [
    (
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
             base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
             trusted-types 'none'",
        ),
    ),
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
    (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
];

/// The files of the studio.
#[derive(Debug)]
pub(super) struct Studio {
    files: Vec<File>,
}

impl Default for Studio {
    fn default() -> Self {
        Self { files: ASSETS.iter().map(File::new).collect() }
    }
}

impl Studio {
    /// Returns the response to a request, or `None` if the request is not for the studio. `opens_home` states whether a
    /// browser requests the home page of the node, which leads to the studio.
    pub(super) fn answer<B>(
        &self,
        request: &Request<B>,
        access: &Access,
        opens_home: bool,
    ) -> Option<Response<ResponseBody>> {
        let (path, headers) = (request.uri().path(), request.headers());
        if ![Method::GET, Method::HEAD].contains(request.method()) || !(opens_home || is_of_studio(path)) {
            return None;
        }
        let response = if let Some(text) = access.foreign_to_studio(request.uri(), headers) {
            unstored(refusal(StatusCode::FORBIDDEN, text))
        } else if opens_home {
            with_vary(redirect(), "accept")
        } else {
            match path.strip_prefix(BELOW) {
                None => redirect(),
                Some(path) => match self.file(path) {
                    Some(file) => file.answer(headers),
                    None => unstored(response(StatusCode::NOT_FOUND, "text/plain", "the studio has no such file")),
                },
            }
        };
        Some(secured(response))
    }

    fn file(&self, path: &str) -> Option<&File> {
        let path = if path.is_empty() { INDEX } else { path };
        self.files.iter().find(|file| file.asset.path == path)
    }
}

/// Returns whether a path belongs to the studio.
pub(super) fn is_of_studio(path: &str) -> bool {
    path == WITHOUT_SLASH || path.starts_with(BELOW)
}

/// A file, with the values that its responses share.
#[derive(Debug)]
struct File {
    asset: &'static Asset,
    /// The tag of both forms of the file. It is weak, because the forms have different bytes (RFC 9110, section 8.8.1).
    tag: HeaderValue,
    /// The file without compression, after the first response that needs it.
    plain: OnceLock<Bytes>,
}

impl File {
    fn new(asset: &'static Asset) -> Self {
        let tag = HeaderValue::try_from(format!("W/{}", asset.etag)).expect("a test of the table checks each tag");
        Self { asset, tag, plain: OnceLock::new() }
    }

    fn answer(&self, headers: &HeaderMap) -> Response<ResponseBody> {
        let found = if self.is_known(headers) {
            let mut response = Response::new(ResponseBody::from(Bytes::new()));
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            response
        } else if gzip::is_accepted(headers) {
            let body = Bytes::from_static(self.asset.gzip);
            let response = response(StatusCode::OK, self.asset.content_type, body);
            with_header(response, header::CONTENT_ENCODING, HeaderValue::from_static("gzip"))
        } else {
            response(StatusCode::OK, self.asset.content_type, self.plain())
        };
        let lifetime = if self.asset.immutable { "public, max-age=31536000, immutable" } else { "no-cache" };
        let found = with_header(found, header::CACHE_CONTROL, HeaderValue::from_static(lifetime));
        varied(with_header(found, header::ETAG, self.tag.clone()))
    }

    /// Returns whether the client has the file (RFC 9110, section 13.1.2).
    fn is_known(&self, headers: &HeaderMap) -> bool {
        let values = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
        values
            .flat_map(|tags| tags.split(','))
            .map(str::trim)
            .any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == self.asset.etag)
    }

    /// Returns the file without compression. All responses share these bytes, so slow clients take no further memory.
    fn plain(&self) -> Bytes {
        let inflate = || {
            let mut plain = Vec::with_capacity(self.asset.length);
            let read = GzDecoder::new(self.asset.gzip).read_to_end(&mut plain);
            read.expect("a test inflates each file of the table");
            plain.into()
        };
        self.plain.get_or_init(inflate).clone()
    }
}

/// Returns the redirect to the page. The target is relative to the last slash of the path of the request, so it is also
/// valid behind a proxy that adds a prefix to the path.
fn redirect() -> Response<ResponseBody> {
    let response = unstored(response(StatusCode::FOUND, "text/plain", "the page is at studio/"));
    with_header(response, header::LOCATION, HeaderValue::from_static("studio/"))
}

/// Adds the header with which a browser stores no copy, because another value of `--studio` changes the response.
fn unstored(response: Response<ResponseBody>) -> Response<ResponseBody> {
    with_header(response, header::CACHE_CONTROL, HeaderValue::from_static("no-store"))
}

/// Adds the security headers, and removes the permission for pages of other origins.
fn secured(mut response: Response<ResponseBody>) -> Response<ResponseBody> {
    let headers = response.headers_mut();
    headers.remove(header::ACCESS_CONTROL_ALLOW_ORIGIN);
    headers.extend(SECURITY);
    response
}
