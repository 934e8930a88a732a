//! The routes: the response to each kind of request.

use std::{convert::Infallible, net::IpAddr, sync::Arc};

use hyper::{
    HeaderMap, Method, Request, Response, StatusCode, Version,
    body::{Bytes, Incoming},
    header::{self, HeaderValue},
};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_tungstenite::tungstenite::handshake::server::create_response;

use super::{
    Caller, Handler, RejectReason, ResponseBody,
    access::HOSTS_OF_PAGES,
    budget::ResourceLimits,
    connection::Upgrading,
    deadline::ConnectionDeadline,
    gzip,
    listener::{Gate, Serves},
    post::post,
    request_body::discard,
    response::{
        EXPOSED, TOO_OFTEN, guarded, json, not_allowed, options, refusal, refused, retried_after, shown, with_header,
        with_vary,
    },
    studio,
};
use crate::request_id::{self, RequestId};

/// The data of the server and of the connection for the response to a request.
pub(super) struct RequestContext<'a, 'resources, A> {
    pub(super) handler: &'a A,
    pub(super) gate: &'a Gate,
    pub(super) resources: &'resources Arc<ResourceLimits>,
    pub(super) peer: IpAddr,
    pub(super) deadline: &'a Arc<ConnectionDeadline>,
    pub(super) upgrading: &'a Mutex<Option<Upgrading<'resources>>>,
    pub(super) stop: &'a watch::Receiver<bool>,
}

/// Returns the response to a request, and counts the response. The work runs with the id of the request.
pub(super) async fn respond<A: Handler>(
    request: Request<Incoming>,
    context: &RequestContext<'_, '_, A>,
) -> Result<Response<ResponseBody>, Infallible> {
    context.deadline.request_begins();
    let id = RequestId::of(request.headers());
    let header = id.header();
    let is_for_operators = context.gate.is_for_operators(&request);
    let mut response = id.scope(route(request, context)).await;
    let headers = response.headers_mut();
    if is_for_operators {
        headers.remove(header::ACCESS_CONTROL_ALLOW_ORIGIN);
    }
    headers.insert(request_id::HEADER, header);
    if headers.contains_key(header::ACCESS_CONTROL_ALLOW_ORIGIN) {
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
    }
    context.resources.metrics.answered(response.status().as_u16());
    context.deadline.answer_begins();
    Ok(response)
}

/// Routes a request. Rare requests have a boxed future, so that the future of a POST stays small.
async fn route<A: Handler>(request: Request<Incoming>, context: &RequestContext<'_, '_, A>) -> Response<ResponseBody> {
    let response = if *request.method() != Method::POST || context.gate.serves == Serves::Pages {
        Box::pin(route_others(request, context)).await
    } else if let Some((refusal, text)) = fault(&request) {
        tokio::spawn(discard(request.into_body(), context.deadline.limits.body_bytes));
        refused(context.handler, refusal, &text)
    } else {
        let caller = context.caller(&request);
        match caller.arrive() {
            Err(wait) => {
                tokio::spawn(discard(request.into_body(), context.deadline.limits.body_bytes));
                retried_after(wait, refused(context.handler, RejectReason::TooOften, TOO_OFTEN))
            }
            Ok(()) => post(request, &caller, context).await,
        }
    };
    tracing::debug!(status = response.status().as_u16(), "sent a response");
    response
}

/// Returns the response to a request other than POST, or at an address that serves pages only.
async fn route_others<A: Handler>(
    request: Request<Incoming>,
    context: &RequestContext<'_, '_, A>,
) -> Response<ResponseBody> {
    if let Some((reason, text)) = fault(&request) {
        return refusal(reason.status(), text);
    }
    let (method, path, serves) = (request.method(), request.uri().path(), context.gate.serves);
    if *method == Method::GET && serves != Serves::Pages && asks_for_websocket(&request) {
        let caller = context.caller(&request);
        return match caller.arrive() {
            Err(wait) => retried_after(wait, refusal(StatusCode::TOO_MANY_REQUESTS, TOO_OFTEN)),
            Ok(()) => upgrade(request, caller, context.resources, context.upgrading),
        };
    }
    let opens_home = path == HOME && accepts_html(request.headers());
    if let Some(studio) = &context.gate.studio
        && let Some(response) = studio.answer(&request, &context.gate.access, opens_home)
    {
        return response;
    }
    let is_hidden = serves == Serves::Public && FOR_OPERATORS.contains(&path);
    let is_of_studio = context.gate.studio.is_some() && studio::is_of_studio(path);
    let is_page = path == HEALTH || is_of_studio || (context.handler.has_page(path) && !is_hidden);
    // Only `/metrics` has data of the operator. Health checks of proxies may have any host.
    if is_page
        && path == METRICS
        && let Some(got) = context.gate.access.unknown_name(request.uri(), request.headers())
    {
        return refusal(StatusCode::FORBIDDEN, format!("expected {HOSTS_OF_PAGES}, got the host {got:?}"));
    }
    let allowed = match (serves, is_page) {
        (Serves::Pages, true) => "GET, HEAD, OPTIONS",
        (Serves::Pages, false) => return refusal(StatusCode::NOT_FOUND, "the page does not exist"),
        (Serves::All | Serves::Public, true) => "GET, HEAD, POST, OPTIONS",
        (Serves::All | Serves::Public, false) => "POST, OPTIONS",
    };
    match *method {
        Method::OPTIONS => options(allowed),
        // hyper sends no body in a response to HEAD.
        Method::GET | Method::HEAD if path == HEALTH => json(StatusCode::OK, r#"{"health":true}"#),
        Method::GET | Method::HEAD if is_page && path == READY && *context.stop.borrow() => {
            json(StatusCode::SERVICE_UNAVAILABLE, r#"{"ready":false,"reason":"the node is stopping"}"#)
        }
        Method::GET | Method::HEAD if path == HOME => {
            let page = if opens_home { context.handler.page(path).await } else { None };
            with_vary(page.map_or_else(|| not_allowed(allowed), |page| guarded(shown(page, false))), "accept")
        }
        Method::GET | Method::HEAD if is_page => match context.handler.page(path).await {
            Some(page) => shown(page, gzip::is_accepted(request.headers())),
            None => not_allowed(allowed),
        },
        _ => not_allowed(allowed),
    }
}

/// The page that shows that the process responds.
const HEALTH: &str = "/health";

/// The page with the readiness of the node.
pub(crate) const READY: &str = "/ready";

/// The page with the metrics.
pub(crate) const METRICS: &str = "/metrics";

/// Pages for operators. If operators have an address of their own, other addresses do not serve these pages.
pub(super) const FOR_OPERATORS: [&str; 2] = [READY, METRICS];

/// The page about the node, for browsers only.
pub(crate) const HOME: &str = "/";

/// Returns whether a client names HTML among the types that it accepts, as browsers do. A client that accepts any type
/// does not request a page.
fn accepts_html(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|list| list.split(',')).any(|range| {
        let mut parts = range.split(';').map(str::trim);
        let is_html = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("text/html"));
        let weight = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
        is_html && !weight.is_some_and(|weight| weight.parse() == Ok(0.0))
    })
}

impl<A> RequestContext<'_, '_, A> {
    fn caller(&self, request: &Request<Incoming>) -> Caller {
        let Gate { access, limiter, .. } = self.gate;
        Caller::of(access, limiter.as_ref(), self.peer, request.uri(), request.headers())
    }
}

/// Returns the fault of a request's head that hyper accepts and HTTP forbids (RFC 9112, sections 3.2 and 6.1; RFC 9110,
/// section 8.4). Returns `None` without such a fault.
fn fault(request: &Request<Incoming>) -> Option<(RejectReason, String)> {
    let headers = request.headers();
    let hosts = headers.get_all(header::HOST).iter().count();
    if hosts > 1 || (hosts == 0 && request.version() == Version::HTTP_11) {
        return Some((RejectReason::Unreadable, format!("expected one header Host, got {hosts}")));
    }
    let other = |name, known: &str| {
        let mut values = headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
        values.find(|value| !value.trim().eq_ignore_ascii_case(known))
    };
    if let Some(got) = other(header::TRANSFER_ENCODING, "chunked") {
        return Some((RejectReason::Transferred, format!("expected the Transfer-Encoding chunked, got {got:?}")));
    }
    let got = other(header::CONTENT_ENCODING, "identity")?;
    Some((RejectReason::Encoded, format!("expected a body without Content-Encoding, got {got:?}")))
}

/// Returns whether a client requests a WebSocket. The server ignores other protocols in the header `Upgrade`.
fn asks_for_websocket(request: &Request<Incoming>) -> bool {
    let names = request.headers().get_all(header::UPGRADE).iter().filter_map(|value| value.to_str().ok());
    names.flat_map(|names| names.split(',')).any(|name| name.trim().eq_ignore_ascii_case("websocket"))
}

/// Returns the response to the handshake of a WebSocket. The status is 400 if the handshake is invalid, and 503 if no
/// connection slot for a WebSocket is free.
fn upgrade<'a>(
    mut request: Request<Incoming>,
    caller: Caller,
    resources: &'a ResourceLimits,
    upgrading: &Mutex<Option<Upgrading<'a>>>,
) -> Response<ResponseBody> {
    let upgrade = hyper::upgrade::on(&mut request);
    let (parts, _) = request.into_parts();
    let response = match create_response(&Request::from_parts(parts, ())) {
        Ok(response) => response,
        Err(error) => {
            let version = (header::SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
            let refused = refusal(StatusCode::BAD_REQUEST, format!("expected a WebSocket handshake: {error}"));
            return with_header(refused, version.0, version.1);
        }
    };
    let Ok(place) = resources.upgrades.try_acquire() else {
        return refusal(StatusCode::SERVICE_UNAVAILABLE, "too many subscribers at once, try again later");
    };
    *upgrading.lock() = Some(Upgrading { upgrade, caller, place });
    response.map(|()| ResponseBody::from(Bytes::new()))
}
