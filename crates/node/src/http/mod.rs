//! HTTP over hyper: connections in, request bodies to an [`Answer`], its answers out.
//!
//! Nothing here knows JSON or a method. A body that was posted to any path is handed over whole; every answer has
//! status 200, since JSON-RPC carries its own errors. Where a body is not taken, or its answer is not to be had, the status
//! says so, and the [`Answer`] writes the body all the same: there are clients who look at nothing else.
//!
//! What a client may hold up is bounded: the number of connections, the size of a body and of all bodies and answers
//! together, the time from the first byte of a request to its last, the time a connection may lie idle or leave an answer
//! unread, and, if that is wanted, how many calls a client makes.
//! When all places, or all memory, are taken and someone waits, those who only hold theirs have to give way soon. An answer
//! that is sent as it is made is made no faster than its client reads.

use std::{
    convert::Infallible,
    future::{Future, poll_fn},
    io,
    net::{IpAddr, SocketAddr},
    num::NonZeroU32,
    pin::{Pin, pin},
    sync::{Arc, Mutex, PoisonError},
    task::Poll,
    time::Duration,
};

use futures_util::{StreamExt, stream::FuturesUnordered};
use http_body_util::BodyExt;
use hyper::{
    HeaderMap, Method, Request, Response, StatusCode, Version,
    body::{Body, Bytes, Incoming},
    header::{self, HeaderValue},
    server::conn::http1::{self, UpgradeableConnection},
    service::{Service, service_fn},
    upgrade::{OnUpgrade, Upgraded},
};
use hyper_util::rt::TokioIo;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, SemaphorePermit, watch},
    task::JoinSet,
    time::{interval, timeout},
};
use tokio_tungstenite::tungstenite::handshake::server::create_response;

pub use self::caller::{Access, Host, List, ListError, Network, PageOrigin};
pub(crate) use self::{
    caller::{Caller, Foreign},
    limit::Allowance,
    room::{Memory, SMALL_ANSWER, Share},
    stream::{AnswerBody, Broken, PIECE, Reply, Source, next_piece},
    text::Text,
};
use self::{
    gzip::Gzip,
    limit::Limiter,
    patience::{Patience, Watched},
    room::Room,
    stream::Stream,
};
use crate::{
    metrics::{Metrics, Open},
    request_id::{self, RequestId},
};

mod caller;
mod gzip;
mod limit;
mod patience;
mod room;
mod stream;
mod text;

/// Bounds on what clients may ask of the server.
#[derive(Clone, Copy, Debug)]
pub struct HttpLimits {
    /// Largest request body in bytes; a larger one is answered with status 413.
    pub body_bytes: usize,
    /// Bytes of request bodies, and of answers, in memory, of all connections together; further ones wait. At least that
    /// of one body. What a connection reads at once, and a small answer, does not count.
    pub bodies_bytes: usize,
    /// Time that a body or an answer waits for memory before there is status 503 instead.
    pub bodies_timeout: Duration,
    /// Time from the first byte of a request to its last; a slower client is disconnected.
    pub request_timeout: Duration,
    /// Time a connection may lie idle between requests, or leave an answer unread.
    pub idle_timeout: Duration,
    /// Time that either of these may last while others wait for a place.
    pub crowded_timeout: Duration,
    /// Connections open at once; further ones wait for a place.
    pub connections: usize,
    /// Units of calls that one client may make each second, and as many at once; `None` for as many as it likes.
    pub each_second: Option<NonZeroU32>,
    /// Time that requests in progress are given to finish once the server stops.
    pub grace: Duration,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            body_bytes: 5 * 1024 * 1024,
            bodies_bytes: 64 * 1024 * 1024,
            bodies_timeout: Duration::from_secs(10),
            request_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_mins(2),
            crowded_timeout: Duration::from_secs(2),
            connections: 900,
            each_second: None,
            grace: Duration::from_secs(5),
        }
    }
}

/// Bytes of an oversized body that are taken and thrown away, as a multiple of the limit.
const DISCARDED_BODIES: usize = 8;

/// Bytes that a connection reads at once, and of a body that it keeps, before the body draws on the common memory.
const READ_AT_ONCE: usize = 32 * 1024;

/// What stands behind the server: turns the body of a request into the body of its answer.
pub(crate) trait Answer: Send + Sync + 'static {
    /// Answers one request body, whose arrival has been counted, and reserves `memory` for the answer where it is known to be
    /// large before it is made.
    fn answer(&self, body: Bytes, caller: &Caller, memory: Memory) -> impl Future<Output = Answered> + Send;

    /// Writes the body of an answer to a request that is not answered otherwise, with a text for people.
    fn refuse(&self, refusal: Refusal, text: &str) -> Vec<u8>;

    /// Whether something stands under a path for those who look after the node.
    fn has_page(&self, path: &str) -> bool;

    /// Returns what stands there; `None` where nothing does.
    fn page(&self, path: &str) -> impl Future<Output = Option<Page>> + Send;

    /// Talks with a client that has asked for a WebSocket, behind the handshake, until either ends it or `stop` becomes
    /// true.
    fn converse(
        &self,
        stream: Upgrade,
        caller: Caller,
        share: Share,
        stop: watch::Receiver<bool>,
    ) -> impl Future<Output = ()> + Send;
}

/// What became of a request body.
pub(crate) struct Answered {
    pub(crate) reply: Option<Reply>,
    /// The time after which the client may make the first call of the body, if the limit refused that one and all others.
    pub(crate) wait: Option<Duration>,
}

/// Reason why what was posted is not answered as it would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The request does not arrive as HTTP has it.
    Unreadable,
    /// The body is encoded in a way that is not read.
    Encoded,
    /// The body is transferred in a way that is not read.
    Transferred,
    /// The body is too large.
    TooLarge,
    /// The peer asks too often, and may ask again later.
    TooOften,
    /// There is no memory for the body or its answer; there will be some later.
    NoMemory,
}

impl Refusal {
    const fn status(self) -> StatusCode {
        match self {
            Self::Unreadable => StatusCode::BAD_REQUEST,
            Self::Encoded => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Transferred => StatusCode::NOT_IMPLEMENTED,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooOften => StatusCode::TOO_MANY_REQUESTS,
            Self::NoMemory => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

/// An answer for those who look after the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    /// Whether all is well.
    pub(crate) is_well: bool,
    pub(crate) media_type: &'static str,
    pub(crate) text: String,
}

/// A connection that is no longer HTTP.
pub(crate) type Upgrade = TokioIo<Upgraded>;

/// Bound listeners that have not accepted anything yet.
#[derive(Debug)]
pub(crate) struct Server {
    listeners: Vec<TcpListener>,
    limits: HttpLimits,
    gate: Gate,
    metrics: Arc<Metrics>,
}

/// What decides on a request before its body is read.
#[derive(Debug, Default)]
struct Gate {
    serves: Serves,
    access: Access,
    /// How many calls each client may make.
    limiter: Option<Arc<Limiter>>,
}

impl Gate {
    /// Whether the answer to a request is for operators, so that no page of another origin may read it. What is posted is
    /// JSON-RPC on every path.
    fn is_for_operators<B>(&self, request: &Request<B>) -> bool {
        let is_read = || [Method::GET, Method::HEAD].contains(request.method());
        self.serves == Serves::Pages || (is_read() && FOR_OPERATORS.contains(&request.uri().path()))
    }
}

/// What there is at the addresses of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Serves {
    /// JSON-RPC and every page.
    #[default]
    All,
    /// JSON-RPC and the pages that are not for operators alone.
    Public,
    /// Pages, and no JSON-RPC.
    Pages,
}

impl Server {
    /// A server that listens nowhere.
    pub(crate) fn new(limits: HttpLimits, serves: Serves, access: Access, metrics: Arc<Metrics>) -> Self {
        let gate = Gate { serves, access, limiter: limits.each_second.map(Limiter::new).map(Arc::new) };
        Self { listeners: Vec::new(), limits, gate, metrics }
    }

    /// Binds `address`, and returns the address in use, with the port that the system chose if port 0 was asked for.
    /// Connections wait in the system's queue until [`Server::serve`] runs.
    pub(crate) async fn bind(&mut self, address: SocketAddr) -> io::Result<SocketAddr> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        self.listeners.push(listener);
        Ok(address)
    }

    /// Accepts a connection from whichever listener has one.
    async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let mut accepted = Poll::Pending;
        poll_fn(|cx| {
            for listener in &self.listeners {
                accepted = listener.poll_accept(cx);
                if accepted.is_ready() {
                    break;
                }
            }
            std::mem::replace(&mut accepted, Poll::Pending)
        })
        .await
    }

    /// Serves until `stop` becomes true, then lets requests that came whole be answered within the grace period.
    pub(crate) async fn serve<A: Answer>(mut self, answer: Arc<A>, stop: watch::Receiver<bool>) {
        let mut stop_seen = stop.clone();
        let room = Arc::new(Room::new(self.limits, Arc::clone(&self.metrics)));
        let gate = Arc::new(std::mem::take(&mut self.gate));
        let mut connections = JoinSet::new();
        let mut waiting = None;
        loop {
            tokio::select! {
                accepted = self.accept(), if waiting.is_none() => match accepted {
                    Ok(accepted) => waiting = Some(accepted),
                    Err(error) => {
                        tracing::warn!(%error, "cannot accept connections");
                        // The system has too few descriptors left, perhaps, and those who hold one can give it back.
                        room.place_wanted.notify_waiters();
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                },
                place = room.enter(), if waiting.is_some() => if let Some((stream, peer)) = waiting.take() {
                    let (answer, limits, stop) = (Arc::clone(&answer), self.limits, stop.clone());
                    let (room, gate) = (Arc::clone(&room), Arc::clone(&gate));
                    connections.spawn(async move {
                        let _open = Open::count(&room.metrics.connections);
                        serve_connection((stream, peer.ip()), answer, limits, (&gate, &room), stop).await;
                        drop(place);
                    });
                },
                Some(_) = connections.join_next() => {}
                () = stopped(&mut stop_seen) => break,
            }
        }
        drop(self.listeners);
        let finished = async { while connections.join_next().await.is_some() {} };
        if timeout(self.limits.grace, finished).await.is_err() {
            tracing::warn!(connections = connections.len(), "closed connections whose requests did not finish");
        }
    }
}

/// Waits until the value is true or its sender is gone.
pub(crate) async fn stopped(stop: &mut watch::Receiver<bool>) {
    drop(stop.wait_for(|stop| *stop).await);
}

async fn serve_connection<A: Answer>(
    (stream, peer): (TcpStream, IpAddr),
    answer: Arc<A>,
    limits: HttpLimits,
    (gate, room): (&Gate, &Arc<Room>),
    stop: watch::Receiver<bool>,
) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "connection ended");
        return;
    }
    let patience = Arc::new(Patience::new(limits));
    let io = TokioIo::new(Watched { stream, patience: Arc::clone(&patience) });
    let upgrade = Mutex::new(None);
    let ended = {
        let asked = Asked { answer: &*answer, gate, room, peer, patience: &patience, upgrading: &upgrade, stop: &stop };
        let service = service_fn(|request| respond(request, &asked));
        let mut builder = http1::Builder::new();
        builder.header_read_timeout(None).half_close(true).max_buf_size(READ_AT_ONCE);
        let connection = pin!(builder.serve_connection(io, service).with_upgrades());
        speak_http(connection, limits, room, &patience, stop.clone()).await
    };
    let upgrade = upgrade.into_inner().unwrap_or_default();
    if let (Ended::InOrder, Some(Upgrading { upgrade, caller, place })) = (ended, upgrade) {
        match upgrade.await {
            Ok(upgraded) => {
                let share = Share::new(Arc::clone(room), limits);
                answer.converse(TokioIo::new(upgraded), caller, share, stop).await;
            }
            Err(error) => tracing::debug!(%error, "connection ended"),
        }
        drop(place);
    }
}

/// A client that has asked for a WebSocket, and its place.
struct Upgrading<'a> {
    upgrade: OnUpgrade,
    caller: Caller,
    place: SemaphorePermit<'a>,
}

/// How a connection ended, as far as HTTP is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    /// Both sides are done, or go on otherwise.
    InOrder,
    /// It was given up.
    Early,
}

/// Serves requests until the connection ends, has to end, or is upgraded.
async fn speak_http<S>(
    mut connection: Pin<&mut UpgradeableConnection<TokioIo<Watched>, S>>,
    limits: HttpLimits,
    room: &Room,
    patience: &Patience,
    mut stop: watch::Receiver<bool>,
) -> Ended
where
    S: Service<Request<Incoming>, Response = Response<AnswerBody>, Error = Infallible>,
{
    // What comes seldom is polled only when it comes: each request polls the connection several times, and what wakes
    // these is shared by all connections.
    let mut words = FuturesUnordered::<Pin<Box<dyn Future<Output = Word> + Send + '_>>>::new();
    words.push(Box::pin(async { Word::GiveUp(until_given_up(limits, room, patience).await) }));
    words.push(Box::pin(async {
        stopped(&mut stop).await;
        Word::Stop
    }));
    loop {
        let word = tokio::select! {
            biased;
            result = connection.as_mut() => {
                let Err(error) = result else { return Ended::InOrder };
                tracing::debug!(%error, "connection ended");
                return Ended::Early;
            }
            Some(word) = words.next() => word,
        };
        match word {
            Word::Stop if patience.is_incomplete() => {
                tracing::debug!("closed a connection whose request had not come whole");
                return Ended::Early;
            }
            Word::Stop => connection.as_mut().graceful_shutdown(),
            Word::GiveUp(reason) => {
                tracing::debug!("closed a connection that was {reason}");
                return Ended::Early;
            }
        }
    }
}

/// What a connection may have to be told.
enum Word {
    /// The server is stopping.
    Stop,
    /// It has been waited for long enough, and why.
    GiveUp(&'static str),
}

/// Waits until a connection has been waited for long enough, and says what it was.
async fn until_given_up(limits: HttpLimits, room: &Room, patience: &Patience) -> &'static str {
    let mut check = interval(limits.request_timeout / 2);
    loop {
        tokio::select! {
            _ = check.tick() => if patience.exhausted() {
                return "too slow or idle";
            },
            () = room.place_wanted.notified() => if patience.gives_way() {
                return "slow or idle while others waited";
            },
            () = room.memory_wanted.notified() => if patience.holds_memory() && patience.gives_way() {
                return "slow with a large body while others waited";
            },
        }
    }
}

/// What a request is answered with.
struct Asked<'a, 'room, A> {
    answer: &'a A,
    gate: &'a Gate,
    room: &'room Arc<Room>,
    peer: IpAddr,
    patience: &'a Arc<Patience>,
    upgrading: &'a Mutex<Option<Upgrading<'room>>>,
    stop: &'a watch::Receiver<bool>,
}

/// Answers a request under its name, and counts it.
async fn respond<A: Answer>(
    request: Request<Incoming>,
    asked: &Asked<'_, '_, A>,
) -> Result<Response<AnswerBody>, Infallible> {
    asked.patience.request_begins();
    let id = RequestId::of(request.headers());
    let header = id.header();
    let is_for_operators = asked.gate.is_for_operators(&request);
    let mut response = id.scope(route(request, asked)).await;
    let headers = response.headers_mut();
    if is_for_operators {
        headers.remove(header::ACCESS_CONTROL_ALLOW_ORIGIN);
    }
    headers.insert(request_id::HEADER, header);
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
    asked.room.metrics.answered(response.status().as_u16());
    asked.patience.answer_begins();
    Ok(response)
}

/// Answers what is posted; what is asked for seldom has a future of its own, that a post does not carry about.
async fn route<A: Answer>(request: Request<Incoming>, asked: &Asked<'_, '_, A>) -> Response<AnswerBody> {
    let response = if *request.method() != Method::POST || asked.gate.serves == Serves::Pages {
        Box::pin(route_others(request, asked)).await
    } else if let Some((refusal, text)) = fault(&request) {
        tokio::spawn(discard(request.into_body(), asked.patience.limits.body_bytes));
        refused(asked.answer, refusal, &text)
    } else {
        let caller = asked.caller(&request);
        match caller.arrive() {
            Err(wait) => {
                tokio::spawn(discard(request.into_body(), asked.patience.limits.body_bytes));
                retried_after(wait, refused(asked.answer, Refusal::TooOften, TOO_OFTEN))
            }
            Ok(()) => post(request, &caller, asked).await,
        }
    };
    tracing::debug!(status = response.status().as_u16(), "answered");
    response
}

async fn route_others<A: Answer>(request: Request<Incoming>, asked: &Asked<'_, '_, A>) -> Response<AnswerBody> {
    if let Some((reason, text)) = fault(&request) {
        return refusal(reason.status(), text);
    }
    let (method, path, serves) = (request.method(), request.uri().path(), asked.gate.serves);
    if *method == Method::GET && serves != Serves::Pages && asks_for_websocket(&request) {
        let caller = asked.caller(&request);
        return match caller.arrive() {
            Err(wait) => retried_after(wait, refusal(StatusCode::TOO_MANY_REQUESTS, TOO_OFTEN)),
            Ok(()) => upgrade(request, caller, asked.room, asked.upgrading),
        };
    }
    let is_hidden = serves == Serves::Public && FOR_OPERATORS.contains(&path);
    let is_page = path == HEALTH || (asked.answer.has_page(path) && !is_hidden);
    // Health checks of proxies may send any name, and what they get is one word or a reason.
    if is_page
        && path == METRICS
        && let Some(got) = asked.gate.access.unknown_name(request.uri(), request.headers())
    {
        return refusal(StatusCode::FORBIDDEN, format!("expected {HOSTS_OF_METRICS}, got the host {got:?}"));
    }
    let allowed = match (serves, is_page) {
        (Serves::Pages, true) => "GET, HEAD, OPTIONS",
        (Serves::Pages, false) => return refusal(StatusCode::NOT_FOUND, "there is no such page"),
        (Serves::All | Serves::Public, true) => "GET, HEAD, POST, OPTIONS",
        (Serves::All | Serves::Public, false) => "POST, OPTIONS",
    };
    match *method {
        Method::OPTIONS => options(allowed),
        // Of an answer to HEAD the body is not sent.
        Method::GET | Method::HEAD if path == HEALTH => json(StatusCode::OK, r#"{"health":true}"#),
        Method::GET | Method::HEAD if is_page && path == READY && *asked.stop.borrow() => {
            json(StatusCode::SERVICE_UNAVAILABLE, r#"{"ready":false,"reason":"the node is stopping"}"#)
        }
        Method::GET | Method::HEAD if path == HOME => {
            let page = if accepts_html(request.headers()) { asked.answer.page(path).await } else { None };
            with_vary(page.map_or_else(|| not_allowed(allowed), |page| guarded(shown(page, false))), "accept")
        }
        Method::GET | Method::HEAD if is_page => match asked.answer.page(path).await {
            Some(page) => shown(page, gzip::is_accepted(request.headers())),
            None => not_allowed(allowed),
        },
        _ => not_allowed(allowed),
    }
}

/// Where those who look after the node find whether the process answers, and whether requests are welcome.
const HEALTH: &str = "/health";
pub(crate) const READY: &str = "/ready";

/// Where the counts are.
pub(crate) const METRICS: &str = "/metrics";

/// Pages for operators. Where operators have an address of their own, the public does not see them.
const FOR_OPERATORS: [&str; 2] = [READY, METRICS];

/// Hosts under which operators find `/metrics`.
const HOSTS_OF_METRICS: &str = "an IP address, a loopback name, or one of --allowed-hosts as host";

/// Where a browser finds a page about the node; other clients find nothing there to get.
pub(crate) const HOME: &str = "/";

/// Whether a client names HTML among what it accepts, as browsers do: a client that takes anything did not ask for a page.
fn accepts_html(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|list| list.split(',')).any(|range| {
        let mut parts = range.split(';').map(str::trim);
        let is_html = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("text/html"));
        let weight = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
        is_html && !weight.is_some_and(|weight| weight.parse() == Ok(0.0))
    })
}

/// Keeps a page from loading or running anything, from being framed, and from being taken for another type.
fn guarded(mut response: Response<AnswerBody>) -> Response<AnswerBody> {
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

/// The answer that has a page, compressed if that is wanted and worth it.
fn shown(Page { is_well, media_type, text }: Page, gzip: bool) -> Response<AnswerBody> {
    let status = if is_well { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    if gzip && text.len() >= gzip::SMALLEST {
        return encoded(response(status, media_type, gzip::whole(text.as_bytes())));
    }
    response(status, media_type, text)
}

impl<A> Asked<'_, '_, A> {
    fn caller(&self, request: &Request<Incoming>) -> Caller {
        let Gate { access, limiter, .. } = self.gate;
        Caller::of(access, limiter.as_ref(), self.peer, request.uri(), request.headers())
    }
}

/// Returns what is wrong with the head of a request, as far as hyper takes it and HTTP does not (RFC 9112, sections 3.2 and
/// 6.1; RFC 9110, section 8.4).
fn fault(request: &Request<Incoming>) -> Option<(Refusal, String)> {
    let headers = request.headers();
    let hosts = headers.get_all(header::HOST).iter().count();
    if hosts > 1 || (hosts == 0 && request.version() == Version::HTTP_11) {
        return Some((Refusal::Unreadable, format!("expected one header Host, got {hosts}")));
    }
    let other = |name, known: &str| {
        let mut values = headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
        values.find(|value| !value.trim().eq_ignore_ascii_case(known))
    };
    if let Some(got) = other(header::TRANSFER_ENCODING, "chunked") {
        return Some((Refusal::Transferred, format!("expected the Transfer-Encoding chunked, got {got:?}")));
    }
    let got = other(header::CONTENT_ENCODING, "identity")?;
    Some((Refusal::Encoded, format!("expected a body without Content-Encoding, got {got:?}")))
}

/// Said to those who ask too often.
const TOO_OFTEN: &str = "too many requests, try again later";

fn retried_after(wait: Duration, response: Response<AnswerBody>) -> Response<AnswerBody> {
    with_header(response, header::RETRY_AFTER, HeaderValue::from(whole_seconds(wait)))
}

/// Rounds up.
pub(crate) const fn whole_seconds(time: Duration) -> u64 {
    time.as_secs().saturating_add((time.subsec_nanos() > 0) as u64)
}

/// The media type is the reference's, although the text is not JSON (rpc page, section 1.1).
fn not_allowed(allowed: &'static str) -> Response<AnswerBody> {
    with_header(
        json(StatusCode::METHOD_NOT_ALLOWED, "Not allowed HTTP Method"),
        header::ALLOW,
        HeaderValue::from_static(allowed),
    )
}

/// Whether a client asks for a WebSocket; other protocols that it names are not spoken, and need not be.
fn asks_for_websocket(request: &Request<Incoming>) -> bool {
    let names = request.headers().get_all(header::UPGRADE).iter().filter_map(|value| value.to_str().ok());
    names.flat_map(|names| names.split(',')).any(|name| name.trim().eq_ignore_ascii_case("websocket"))
}

/// Shakes hands with a client that asks for a WebSocket, if there is a place for it.
fn upgrade<'a>(
    mut request: Request<Incoming>,
    caller: Caller,
    room: &'a Room,
    upgrading: &Mutex<Option<Upgrading<'a>>>,
) -> Response<AnswerBody> {
    let upgrade = hyper::upgrade::on(&mut request);
    let (parts, _) = request.into_parts();
    let response = match create_response(&Request::from_parts(parts, ())) {
        Ok(response) => response,
        Err(error) => {
            let version = (header::SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
            let refused = refusal(StatusCode::BAD_REQUEST, format!("that is no WebSocket handshake: {error}"));
            return with_header(refused, version.0, version.1);
        }
    };
    let Ok(place) = room.upgrades.try_acquire() else {
        return refusal(StatusCode::SERVICE_UNAVAILABLE, "too many subscribers at once, try again later");
    };
    *upgrading.lock().unwrap_or_else(PoisonError::into_inner) = Some(Upgrading { upgrade, caller, place });
    response.map(|()| AnswerBody::from(Bytes::new()))
}

async fn post<A: Answer>(
    request: Request<Incoming>,
    caller: &Caller,
    asked: &Asked<'_, '_, A>,
) -> Response<AnswerBody> {
    let Asked { answer, room, patience, .. } = *asked;
    let gzip = gzip::is_accepted(request.headers());
    match read_body(request, room, patience).await {
        Ok((body, memory)) => {
            patience.request_complete();
            let memory_of_answer = Memory::new(Arc::clone(room), patience.limits.bodies_timeout);
            let Answered { reply, wait } = answer.answer(body, caller, memory_of_answer).await;
            drop(memory);
            if let Some(wait) = wait {
                return retried_after(wait, refused(answer, Refusal::TooOften, TOO_OFTEN));
            }
            let response = match reply {
                None => None,
                Some(reply) if gzip && (reply.rest.is_some() || reply.beginning.len() >= gzip::SMALLEST) => {
                    Box::pin(compressed(reply, room, patience)).await
                }
                Some(reply) if reply.is_small() => Some(json(StatusCode::OK, reply.beginning.into_bytes())),
                Some(reply) => Box::pin(whole(reply, room, patience)).await,
            };
            response.unwrap_or_else(|| refused(answer, Refusal::NoMemory, TOO_MANY_ANSWERS))
        }
        Err(BodyError::TooLarge { limit }) => {
            refused(answer, Refusal::TooLarge, &format!("request body exceeds {limit} bytes"))
        }
        Err(BodyError::NoMemory) => {
            refused(answer, Refusal::NoMemory, "too many large requests at once, try again later")
        }
        Err(BodyError::Broken(error)) => {
            refused(answer, Refusal::Unreadable, &format!("request body cannot be read: {error}"))
        }
    }
}

/// An answer as it is, once there is memory for it; `None` when there is none.
async fn whole(reply: Reply, room: &Arc<Room>, patience: &Arc<Patience>) -> Option<Response<AnswerBody>> {
    let body = room.body(reply, patience).await?;
    Some(json(StatusCode::OK, Bytes::new()).map(|_| body))
}

/// An answer that is compressed while it is sent, once there is memory for it; or sent as it is, if too many are; `None`
/// when there is no memory.
async fn compressed(reply: Reply, room: &Arc<Room>, patience: &Arc<Patience>) -> Option<Response<AnswerBody>> {
    let Ok(turn) = Arc::clone(&room.compressions).try_acquire_owned() else {
        return whole(reply, room, patience).await.map(varied);
    };
    let Reply { beginning, rest, mut memory } = reply;
    let there = beginning.memory();
    let needed = if rest.is_some() { room.stream_memory(there) } else { there };
    if !memory.keep(there, needed).await {
        return None;
    }
    let source = Box::new(Gzip::new(beginning, rest, turn));
    let stream = Stream::new(Text::default(), source, Arc::clone(room), Arc::clone(patience), memory);
    Some(encoded(json(StatusCode::OK, Bytes::new()).map(|_| AnswerBody::Stream(stream))))
}

/// Says that a body is compressed.
fn encoded(response: Response<AnswerBody>) -> Response<AnswerBody> {
    varied(with_header(response, header::CONTENT_ENCODING, HeaderValue::from_static("gzip")))
}

/// Tells caches that another client gets the answer in another form.
fn varied(response: Response<AnswerBody>) -> Response<AnswerBody> {
    with_vary(response, "accept-encoding")
}

fn with_vary(response: Response<AnswerBody>, on: &'static str) -> Response<AnswerBody> {
    with_header(response, header::VARY, HeaderValue::from_static(on))
}

/// Said to those for whose answer there is no memory.
pub(crate) const TOO_MANY_ANSWERS: &str = "too many large answers at once, try again later";

/// The answer to something posted that is not answered otherwise, in the form that those who post can read.
fn refused(answer: &impl Answer, reason: Refusal, text: &str) -> Response<AnswerBody> {
    closing(json(reason.status(), answer.refuse(reason, text)))
}

/// The answer to a handshake that is not taken.
fn refusal(status: StatusCode, text: impl Into<Bytes>) -> Response<AnswerBody> {
    closing(response(status, "text/plain", text))
}

fn closing(response: Response<AnswerBody>) -> Response<AnswerBody> {
    with_header(response, header::CONNECTION, HeaderValue::from_static("close"))
}

/// Headers that pages of other origins may read.
const EXPOSED: &str = "x-request-id, retry-after";

/// What the reference answers to a preflight (rpc page, section 1.1), with the header of ours that a page may send.
fn options(allowed: &'static str) -> Response<AnswerBody> {
    let mut response = Response::new(AnswerBody::from(Bytes::new()));
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

fn json(status: StatusCode, body: impl Into<Bytes>) -> Response<AnswerBody> {
    response(status, "application/json", body)
}

fn response(status: StatusCode, media_type: &'static str, body: impl Into<Bytes>) -> Response<AnswerBody> {
    let mut response = Response::new(AnswerBody::from(body.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    response
}

fn with_header(
    mut response: Response<AnswerBody>,
    name: header::HeaderName,
    value: HeaderValue,
) -> Response<AnswerBody> {
    response.headers_mut().insert(name, value);
    response
}

/// Reason why a request body was not taken.
#[derive(Debug)]
enum BodyError {
    TooLarge {
        limit: usize,
    },
    /// Too many others had too much.
    NoMemory,
    Broken(hyper::Error),
}

/// Reads a body of at most the limit, and returns the memory that it takes of all, if it is large. One that arrived in a
/// single piece is not copied.
///
/// A larger one is refused as soon as it is known to be larger. A client that sends all of it before it reads would lose
/// the answer if the connection were closed at once, so the rest is taken and thrown away while the answer is on its way.
async fn read_body(
    request: Request<Incoming>,
    room: &Room,
    patience: &Patience,
) -> Result<(Bytes, Option<OwnedSemaphorePermit>), BodyError> {
    let mut body = request.into_body();
    let limit = patience.limits.body_bytes;
    if body.size_hint().lower() > u64::try_from(limit).unwrap_or(u64::MAX) {
        return refuse(body, limit, BodyError::TooLarge { limit });
    }
    let first = next_data(&mut body).await?.unwrap_or_default();
    if first.len() <= limit && body.is_end_stream() {
        return Ok((first, None));
    }
    Box::pin(read_rest(first, body, room, patience)).await
}

/// Reads the body that begins so.
async fn read_rest(
    first: Bytes,
    mut body: Incoming,
    room: &Room,
    patience: &Patience,
) -> Result<(Bytes, Option<OwnedSemaphorePermit>), BodyError> {
    let limit = patience.limits.body_bytes;
    let left = body.size_hint().exact().and_then(|bytes| usize::try_from(bytes).ok());
    let expected = left.map_or(limit, |left| left.saturating_add(first.len()));
    let (mut whole, mut memory) = (Vec::from(first), None);
    while whole.len() <= limit {
        if memory.is_none() && whole.len() >= READ_AT_ONCE {
            // All at once, so that never two wait for each other with a half each.
            patience.memory_awaited();
            memory = room.reserve(expected, patience.limits.bodies_timeout).await;
            patience.memory_decided(memory.is_some());
            if memory.is_none() {
                return refuse(body, limit, BodyError::NoMemory);
            }
            whole.reserve_exact(expected.saturating_sub(whole.len()));
        }
        match next_data(&mut body).await? {
            Some(data) => whole.extend_from_slice(&data),
            None => return Ok((whole.into(), memory)),
        }
    }
    refuse(body, limit, BodyError::TooLarge { limit })
}

fn refuse<T>(body: Incoming, limit: usize, error: BodyError) -> Result<T, BodyError> {
    tokio::spawn(discard(body, limit.saturating_mul(DISCARDED_BODIES)));
    Err(error)
}

async fn discard(mut body: Incoming, mut limit: usize) {
    while let Ok(Some(data)) = next_data(&mut body).await {
        match limit.checked_sub(data.len()) {
            Some(rest) => limit = rest,
            None => return,
        }
    }
}

async fn next_data(body: &mut Incoming) -> Result<Option<Bytes>, BodyError> {
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame.map_err(BodyError::Broken)?.into_data() {
            return Ok(Some(data));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        sync::Notify,
        task::JoinHandle,
        time::Instant,
    };

    use super::*;
    use crate::endpoint::Endpoint;

    /// Answers with the length of the body; to the body `wait` only once it is told to.
    #[derive(Default)]
    struct Length {
        waiting: Notify,
        go_on: Notify,
        /// An answer in pieces was let go.
        dropped: Arc<Notify>,
    }

    /// Where there is something for those who look after the node.
    const PAGE: &str = "/page";

    impl Answer for Length {
        async fn answer(&self, body: Bytes, _: &Caller, memory: Memory) -> Answered {
            Answered { reply: Some(self.reply(body, memory).await), wait: None }
        }

        fn refuse(&self, refusal: Refusal, text: &str) -> Vec<u8> {
            format!("<{refusal:?}: {text}>").into_bytes()
        }

        fn has_page(&self, path: &str) -> bool {
            path == PAGE
        }

        async fn page(&self, path: &str) -> Option<Page> {
            let text = "x".repeat(100_000);
            self.has_page(path).then_some(Page { is_well: false, media_type: "text/x", text })
        }

        /// Sends back what comes, until the client or the server has enough.
        async fn converse(&self, mut stream: Upgrade, _: Caller, _: Share, mut stop: watch::Receiver<bool>) {
            let mut bytes = [0; 100];
            loop {
                tokio::select! {
                    read = stream.read(&mut bytes) => match read.unwrap() {
                        0 => return,
                        length => stream.write_all(&bytes[..length]).await.unwrap(),
                    },
                    () = stopped(&mut stop) => return stream.write_all(b"bye").await.unwrap(),
                }
            }
        }
    }

    impl Length {
        async fn reply(&self, body: Bytes, memory: Memory) -> Reply {
            if body == "wait" {
                self.waiting.notify_one();
                self.go_on.notified().await;
            }
            if let Some(length) = body.strip_prefix(b"whole ") {
                let length = std::str::from_utf8(length).unwrap().parse().unwrap();
                return Reply::whole(vec![b'x'; length], memory);
            }
            if let Some(length) = body.strip_prefix(b"giant ") {
                let length = std::str::from_utf8(length).unwrap().parse().unwrap();
                return Reply { rest: Some(Box::new(Giant { length })), ..Reply::whole(b"<".to_vec(), memory) };
            }
            if let Some(pieces) = body.strip_prefix(b"pieces ") {
                let pieces = std::str::from_utf8(pieces).unwrap().parse().unwrap();
                let dropped = Arc::clone(&self.dropped);
                let rest: Option<Box<dyn Source>> = Some(Box::new(Pieces { pieces, dropped }));
                return Reply { rest, ..Reply::whole(b"<".to_vec(), memory) };
            }
            Reply::whole(body.len().to_string().into_bytes(), memory)
        }
    }

    /// Pieces of 64 KB; below none, it breaks.
    struct Pieces {
        pieces: i64,
        dropped: Arc<Notify>,
    }

    impl Source for Pieces {
        fn write(&mut self, out: &mut Vec<u8>) -> Result<bool, Broken> {
            match self.pieces {
                0 => {
                    out.push(b'>');
                    return Ok(false);
                }
                -1 => return Err(Broken),
                _ => {}
            }
            self.pieces -= self.pieces.signum();
            out.resize(1 << 16, b'x');
            Ok(true)
        }
    }

    impl Drop for Pieces {
        fn drop(&mut self) {
            self.dropped.notify_one();
        }
    }

    /// One piece of so many bytes.
    struct Giant {
        length: usize,
    }

    impl Source for Giant {
        fn write(&mut self, out: &mut Vec<u8>) -> Result<bool, Broken> {
            out.resize(self.length, b'x');
            Ok(false)
        }
    }

    /// Bytes of a future that answers a request, which are moved for each.
    fn size<'a, 'room, F>(_: fn(Request<Incoming>, &'a Asked<'a, 'room, Endpoint>) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn request_does_not_carry_about_what_it_seldom_needs() {
        let size = size(respond::<Endpoint>);
        assert!(size < 4096, "{size} bytes");
    }

    struct Running {
        addr: SocketAddr,
        answer: Arc<Length>,
        stop: watch::Sender<bool>,
        served: JoinHandle<()>,
    }

    async fn start(limits: HttpLimits) -> Running {
        start_at([127, 0, 0, 1], limits).await
    }

    async fn start_at(ip: [u8; 4], limits: HttpLimits) -> Running {
        let mut server = Server::new(limits, Serves::All, Access::default(), Arc::default());
        let addr = server.bind((ip, 0).into()).await.unwrap();
        let (stop, stopped) = watch::channel(false);
        let answer = Arc::new(Length::default());
        Running { addr, answer: Arc::clone(&answer), stop, served: tokio::spawn(server.serve(answer, stopped)) }
    }

    impl Running {
        /// Posts `wait` and returns once the server is waiting.
        async fn post_wait(&self) -> JoinHandle<String> {
            let addr = self.addr;
            let answer = tokio::spawn(async move { exchange(addr, &post_of("wait", "")).await });
            self.answer.waiting.notified().await;
            answer
        }
    }

    /// Time after which a server that does nothing counts as hanging, on the slowest of machines.
    const HANGS: Duration = Duration::from_mins(3);

    /// A time that is not over before a test has ended, or been given up.
    const EVER: Duration = Duration::from_hours(1);

    /// Little memory, few places, and all the time there is.
    fn calm() -> HttpLimits {
        HttpLimits {
            body_bytes: 1000,
            bodies_bytes: 1000,
            bodies_timeout: EVER,
            request_timeout: EVER,
            idle_timeout: EVER,
            crowded_timeout: EVER,
            connections: 10,
            each_second: None,
            grace: EVER,
        }
    }

    /// As much as [`calm`], for clients that do not take their time.
    fn quick() -> HttpLimits {
        HttpLimits {
            request_timeout: Duration::from_millis(200),
            idle_timeout: Duration::from_millis(600),
            crowded_timeout: Duration::from_millis(400),
            ..calm()
        }
    }

    /// Sends `request` and returns all that comes until the server closes.
    async fn exchange(addr: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(addr).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        timeout(HANGS, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
        answer
    }

    fn post_of(body: &str, further: &str) -> String {
        format!("POST /any/path HTTP/1.1\r\nhost: x\r\n{further}content-length: {}\r\n\r\n{body}", body.len())
    }

    /// Checks the status line, that each of `headers` is there, and the body of one exchange.
    async fn check(request: String, status: &str, headers: &[&str], body: &str) {
        let server = start(calm()).await;
        let answer = exchange(server.addr, &request).await;
        let (head, got) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
        for header in headers {
            assert!(head.to_lowercase().contains(&header.to_lowercase()), "{header} is missing in {answer}");
        }
        assert_eq!(got, body);
    }

    const CLOSE: &str = "connection: close\r\n";

    #[tokio::test]
    async fn post_to_any_path_is_answered_as_json_for_any_origin() {
        let headers = ["content-type: application/json", "access-control-allow-origin: *", "content-length: 1"];
        check(post_of("hello", CLOSE), "200 OK", &headers, "5").await;
        check(post_of("", CLOSE), "200 OK", &headers, "0").await;
    }

    #[tokio::test]
    async fn answer_in_pieces_comes_whole() {
        let server = start(calm()).await;
        let answer = exchange(server.addr, &post_of("pieces 40", CLOSE)).await;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.to_lowercase().contains("transfer-encoding: chunked"), "{head}");
        let text: String = body.lines().skip(1).step_by(2).collect();
        assert_eq!(text, format!("<{}>", "x".repeat(40 << 16)));
        assert!(body.ends_with("\r\n0\r\n\r\n"));
        // The connection goes on, and so does the one that asks for something else next.
        let both = [post_of("pieces 2", ""), post_of("hello", CLOSE)].concat();
        assert!(exchange(server.addr, &both).await.ends_with("\r\n\r\n5"));
    }

    /// Puts chunks together.
    fn whole(mut chunks: &[u8]) -> Vec<u8> {
        let mut all = Vec::new();
        loop {
            let line = chunks.windows(2).position(|bytes| bytes == b"\r\n").expect("a chunk has a size");
            let size = usize::from_str_radix(std::str::from_utf8(&chunks[..line]).unwrap(), 16).unwrap();
            if size == 0 {
                return all;
            }
            all.extend_from_slice(&chunks[line + 2..line + 2 + size]);
            chunks = &chunks[line + 2 + size + 2..];
        }
    }

    #[tokio::test]
    async fn answer_in_pieces_is_compressed_as_it_is_made() {
        let server = start(calm()).await;
        let request = post_of("pieces 40", &format!("{CLOSE}accept-encoding: gzip\r\n"));
        let mut stream = TcpStream::connect(server.addr).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        timeout(HANGS, stream.read_to_end(&mut answer)).await.unwrap().unwrap();
        let head = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap() + 4;
        assert!(String::from_utf8_lossy(&answer[..head]).to_lowercase().contains("content-encoding: gzip"));
        let mut text = String::new();
        let packed = whole(&answer[head..]);
        io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&packed[..]), &mut text).unwrap();
        assert!(text == format!("<{}>", "x".repeat(40 << 16)));
    }

    #[tokio::test]
    async fn so_many_answers_are_compressed_at_once_and_others_go_as_they_are() {
        let server = start(HttpLimits { bodies_bytes: 100 << 20, ..calm() }).await;
        let request = post_of("pieces 1000000", "accept-encoding: gzip\r\n");
        let mut heads = Vec::new();
        for _ in 0..=gzip::AT_ONCE {
            let mut stream = TcpStream::connect(server.addr).await.unwrap();
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut head = vec![0; 300];
            stream.read_exact(&mut head).await.unwrap();
            heads.push((String::from_utf8_lossy(&head).to_lowercase(), stream));
        }
        let packed = heads.iter().filter(|(head, _)| head.contains("content-encoding: gzip")).count();
        assert_eq!(packed, gzip::AT_ONCE);
    }

    #[tokio::test]
    async fn answer_that_breaks_is_not_ended() {
        let server = start(calm()).await;
        let answer = exchange(server.addr, &post_of("pieces -5", "")).await;
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("xxx"), "{}", &answer[..200]);
        assert!(!answer.ends_with("0\r\n\r\n"), "what breaks has no end");
    }

    #[tokio::test]
    async fn answer_that_nobody_reads_is_let_go() {
        let server = start(quick()).await;
        let mut stream = TcpStream::connect(server.addr).await.unwrap();
        stream.write_all(post_of("pieces 1000000", "").as_bytes()).await.unwrap();
        timeout(HANGS, server.answer.dropped.notified()).await.unwrap();
        drop(stream);
        let server = start(calm()).await;
        let mut stream = TcpStream::connect(server.addr).await.unwrap();
        stream.write_all(post_of("pieces 1000000", "").as_bytes()).await.unwrap();
        let mut some = [0; 1000];
        stream.read_exact(&mut some).await.unwrap();
        drop(stream);
        timeout(HANGS, server.answer.dropped.notified()).await.unwrap();
    }

    #[tokio::test]
    async fn answers_in_pieces_share_the_memory() {
        let begin = async |server: &Running| {
            let mut unread = TcpStream::connect(server.addr).await.unwrap();
            unread.write_all(post_of("pieces 1000000", "").as_bytes()).await.unwrap();
            unread.read_exact(&mut [0; 1000]).await.unwrap();
            unread
        };
        let server = start(HttpLimits { bodies_timeout: MOMENT, ..calm() }).await;
        let unread = begin(&server).await;
        let refused = exchange(server.addr, &post_of("pieces 1", CLOSE)).await;
        assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
        drop(unread);
        // Who does not read has to give way, where others have the time to wait for that.
        let server = start(HttpLimits { crowded_timeout: MOMENT, ..calm() }).await;
        let unread = begin(&server).await;
        let answer = exchange(server.addr, &post_of("pieces 1", CLOSE)).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        drop(unread);
    }

    #[tokio::test]
    async fn large_pieces_count() {
        let server = start(HttpLimits { bodies_timeout: MOMENT, ..large_answers() }).await;
        let length = 30 << 20;
        let giant = post_of(&format!("giant {length}"), CLOSE);
        let mut unread = TcpStream::connect(server.addr).await.unwrap();
        unread.write_all(giant.as_bytes()).await.unwrap();
        unread.read_exact(&mut vec![0; 1 << 20]).await.unwrap();
        let refused = exchange(server.addr, &giant).await;
        assert!(refused.starts_with("HTTP/1.1 503"), "{refused:.100}");
        drop(unread);
        let answer = serve_in_the_end(async || exchange(server.addr, &giant).await).await;
        assert!(answer.starts_with("HTTP/1.1 200") && answer.len() > length && answer.ends_with("\r\n0\r\n\r\n"));
    }

    #[tokio::test]
    async fn large_answer_comes_whole() {
        let server = start(large_answers()).await;
        for length in [SMALL_ANSWER, SMALL_ANSWER + 1, 3 * SMALL_ANSWER, 10_000_001] {
            let answer = exchange(server.addr, &post_of(&format!("whole {length}"), CLOSE)).await;
            let (head, body) = answer.split_once("\r\n\r\n").unwrap();
            assert!(head.to_lowercase().contains(&format!("content-length: {length}")), "{head}");
            assert!(body.len() == length && body.bytes().all(|byte| byte == b'x'));
        }
        let both = [post_of("whole 1000000", ""), post_of("hello", CLOSE)].concat();
        assert!(exchange(server.addr, &both).await.ends_with("\r\n\r\n5"));
    }

    /// A size of which there is memory for two answers.
    const HALF: usize = 20 << 20;

    fn large_answers() -> HttpLimits {
        HttpLimits { bodies_bytes: 2 * HALF, ..calm() }
    }

    /// A time that is over soon.
    const MOMENT: Duration = Duration::from_millis(300);

    /// Asks again for as long as there is no memory, which has become free, but perhaps just now.
    async fn serve_in_the_end(ask: impl AsyncFn() -> String) -> String {
        let served = async {
            loop {
                let answer = ask().await;
                if !answer.starts_with("HTTP/1.1 503") {
                    return answer;
                }
            }
        };
        timeout(HANGS, served).await.unwrap()
    }

    /// Has two large answers made, of which only the beginnings are read.
    async fn unread_answers(addr: SocketAddr) -> [TcpStream; 2] {
        let unread = async || {
            let mut stream = TcpStream::connect(addr).await.unwrap();
            stream.write_all(post_of(&format!("whole {HALF}"), "").as_bytes()).await.unwrap();
            stream.read_exact(&mut [0; 1000]).await.unwrap();
            stream
        };
        [unread().await, unread().await]
    }

    #[tokio::test]
    async fn large_answer_without_memory_is_503_and_small_ones_go_on() {
        let server = start(HttpLimits { bodies_timeout: MOMENT, ..large_answers() }).await;
        let unread = unread_answers(server.addr).await;
        let refused = exchange(server.addr, &post_of(&format!("whole {HALF}"), CLOSE)).await;
        let expected = format!("<NoMemory: {TOO_MANY_ANSWERS}>");
        assert!(refused.starts_with("HTTP/1.1 503") && refused.ends_with(&expected), "{refused}");
        let expected = "content-type: application/json";
        assert!(refused.to_lowercase().contains(expected), "{refused}");
        assert!(exchange(server.addr, &post_of("hello", CLOSE)).await.ends_with("\r\n\r\n5"));
        drop(unread);
        let whole = post_of(&format!("whole {HALF}"), CLOSE);
        let answer = serve_in_the_end(async || exchange(server.addr, &whole).await).await;
        assert!(answer.starts_with("HTTP/1.1 200") && answer.len() > HALF);
    }

    #[tokio::test]
    async fn those_who_do_not_read_a_large_answer_give_way() {
        let server = start(HttpLimits { crowded_timeout: MOMENT, ..large_answers() }).await;
        let unread = unread_answers(server.addr).await;
        let answer = exchange(server.addr, &post_of(&format!("whole {HALF}"), CLOSE)).await;
        assert!(answer.starts_with("HTTP/1.1 200") && answer.len() > HALF);
        drop(unread);
    }

    /// The handshake that section 1.2 of RFC 6455 shows.
    const HANDSHAKE: &str = "GET /chat HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";

    /// Shakes hands and returns the head of the answer.
    async fn shake_hands(addr: SocketAddr) -> (TcpStream, String) {
        let mut stream = TcpStream::connect(addr).await.unwrap();
        stream.write_all(HANDSHAKE.as_bytes()).await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(timeout(HANGS, stream.read_u8()).await.unwrap().unwrap());
        }
        (stream, String::from_utf8(head).unwrap().to_lowercase())
    }

    #[tokio::test]
    async fn connection_is_upgraded_and_outlives_the_timeouts_of_http() {
        let limits = quick();
        let server = start(limits).await;
        let (mut stream, head) = shake_hands(server.addr).await;
        assert!(head.starts_with("http/1.1 101 "), "{head}");
        for header in
            ["sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo=", "upgrade: websocket", "connection: upgrade"]
        {
            assert!(head.contains(header), "{head}");
        }
        tokio::time::sleep(limits.idle_timeout * 2).await;
        stream.write_all(b"hello").await.unwrap();
        let mut echo = [0; 5];
        stream.read_exact(&mut echo).await.unwrap();
        assert_eq!(&echo, b"hello");
        server.stop.send_replace(true);
        let mut rest = String::new();
        stream.read_to_string(&mut rest).await.unwrap();
        assert_eq!(rest, "bye");
        server.served.await.unwrap();
    }

    #[tokio::test]
    async fn handshake_that_is_none_is_refused() {
        for (correct, wrong) in [
            ("Version: 13", "Version: 8"),
            ("Connection: Upgrade", "Connection: close"),
            ("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", ""),
        ] {
            let request = HANDSHAKE.replace(correct, wrong).replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n");
            let answer = exchange(start(calm()).await.addr, &request).await;
            assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("no WebSocket handshake"), "{answer}");
        }
    }

    #[tokio::test]
    async fn other_protocols_are_not_upgraded_to() {
        let request = "GET /health HTTP/1.1\r\nhost: x\r\nupgrade: h2c\r\nconnection: upgrade, close\r\n\r\n";
        let answer = exchange(start(calm()).await.addr, request).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }

    #[tokio::test]
    async fn only_place_is_not_for_an_upgraded_connection() {
        let server = start(HttpLimits { connections: 1, ..calm() }).await;
        assert!(shake_hands(server.addr).await.1.starts_with("http/1.1 503 "));
    }

    #[tokio::test]
    async fn upgraded_connections_leave_places_for_others() {
        let server = start(calm()).await;
        let mut upgraded = Vec::new();
        for _ in 0..5 {
            let (stream, head) = shake_hands(server.addr).await;
            assert!(head.starts_with("http/1.1 101 "), "{head}");
            upgraded.push(stream);
        }
        assert!(shake_hands(server.addr).await.1.starts_with("http/1.1 503 "));
        assert!(exchange(server.addr, &post_of("hello", CLOSE)).await.ends_with("\r\n\r\n5"));
        upgraded.pop();
        while !shake_hands(server.addr).await.1.starts_with("http/1.1 101 ") {}
    }

    #[tokio::test]
    async fn every_port_is_served() {
        let mut server = Server::new(calm(), Serves::All, Access::default(), Arc::default());
        let local: SocketAddr = ([127, 0, 0, 1], 0).into();
        let ports = [server.bind(local).await.unwrap(), server.bind(local).await.unwrap()];
        let (_stop, stopped) = watch::channel(false);
        tokio::spawn(server.serve(Arc::new(Length::default()), stopped));
        for port in ports {
            assert!(exchange(port, &post_of("hello", CLOSE)).await.ends_with("\r\n\r\n5"));
        }
    }

    #[tokio::test]
    async fn preflight_is_answered_as_the_reference_does() {
        let request = format!("OPTIONS / HTTP/1.1\r\nhost: x\r\n{CLOSE}\r\n");
        let headers = [
            "allow: POST, OPTIONS",
            "access-control-allow-origin: *",
            "access-control-allow-headers: origin, content-type, accept, x-request-id\r\n",
            "dav: 1",
        ];
        check(request, "200 OK", &headers, "").await;
    }

    #[tokio::test]
    async fn other_verbs_are_405() {
        for verb in ["GET", "PUT", "DELETE", "PATCH"] {
            let request = format!("{verb} / HTTP/1.1\r\nhost: x\r\n{CLOSE}\r\n");
            check(request, "405", &["allow: POST, OPTIONS"], "Not allowed HTTP Method").await;
        }
    }

    fn read_of(verb: &str, path: &str) -> String {
        format!("{verb} {path} HTTP/1.1\r\nhost: x\r\n{CLOSE}\r\n")
    }

    #[tokio::test]
    async fn health_is_a_get() {
        check(read_of("GET", "/health"), "200", &["application/json"], r#"{"health":true}"#).await;
    }

    #[tokio::test]
    async fn pages_are_asked_for_by_head_too() {
        check(read_of("HEAD", "/health"), "200", &["application/json", "content-length: 15"], "").await;
        check(read_of("HEAD", PAGE), "503", &["text/x", "content-length: 100000"], "").await;
        for path in ["/health", PAGE] {
            let allowed = "allow: GET, HEAD, POST, OPTIONS";
            check(read_of("PUT", path), "405", &[allowed], "Not allowed HTTP Method").await;
            check(read_of("OPTIONS", path), "200", &[allowed], "").await;
        }
        check(read_of("HEAD", "/other"), "405", &["allow: POST, OPTIONS"], "").await;
    }

    #[tokio::test]
    async fn pages_are_compressed_for_those_who_take_it() {
        let server = start(calm()).await;
        let mut stream = TcpStream::connect(server.addr).await.unwrap();
        let request = format!("GET {PAGE} HTTP/1.1\r\nhost: x\r\n{CLOSE}accept-encoding: gzip\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        timeout(HANGS, stream.read_to_end(&mut answer)).await.unwrap().unwrap();
        let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap() + 4;
        let head = String::from_utf8_lossy(&answer[..end]).to_lowercase();
        assert!(head.contains("content-encoding: gzip") && head.contains("vary: accept-encoding"), "{head}");
        let mut text = String::new();
        io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&answer[end..]), &mut text).unwrap();
        assert_eq!(text.len(), 100_000);
    }

    #[tokio::test]
    async fn pages_of_other_origins_may_read_the_name_of_a_request() {
        let exposed = "access-control-expose-headers: x-request-id, retry-after\r\n";
        check(post_of("hello", CLOSE), "200", &[exposed], "5").await;
        check(read_of("GET", "/health"), "200", &[exposed], r#"{"health":true}"#).await;
    }

    #[tokio::test]
    async fn body_up_to_the_limit_is_taken_and_a_larger_one_is_413() {
        check(post_of(&"x".repeat(1000), CLOSE), "200", &[], "1000").await;
        let refused = "<TooLarge: request body exceeds 1000 bytes>";
        let headers = ["connection: close", "content-type: application/json"];
        check(post_of(&"x".repeat(1001), ""), "413", &headers, refused).await;
        check(post_of(&"x".repeat(7000), ""), "413", &["access-control-allow-origin: *"], refused).await;
    }

    #[tokio::test]
    async fn chunked_body_is_counted_as_it_comes() {
        let head = format!("POST / HTTP/1.1\r\nhost: x\r\n{CLOSE}transfer-encoding: chunked\r\n\r\n");
        check(format!("{head}5\r\nhello\r\n3\r\nyou\r\n0\r\n\r\n"), "200", &[], "8").await;
        let chunk = format!("258\r\n{}\r\n", "x".repeat(600));
        check(format!("{head}{chunk}{chunk}0\r\n\r\n"), "413", &[], "<TooLarge: request body exceeds 1000 bytes>")
            .await;
    }

    #[tokio::test]
    async fn announced_size_is_refused_before_the_body_comes() {
        for expect in ["", "expect: 100-continue\r\n"] {
            let server = start(calm()).await;
            let mut stream = TcpStream::connect(server.addr).await.unwrap();
            let head = format!("POST / HTTP/1.1\r\nhost: x\r\n{expect}content-length: 2000\r\n\r\n");
            stream.write_all(head.as_bytes()).await.unwrap();
            let mut status = [0; 12];
            timeout(HANGS, stream.read_exact(&mut status)).await.unwrap().unwrap();
            assert_eq!(&status, b"HTTP/1.1 413");
        }
    }

    #[tokio::test]
    async fn endless_body_is_cut_off() {
        let server = start(calm()).await;
        let mut stream = TcpStream::connect(server.addr).await.unwrap();
        stream.write_all(b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n").await.unwrap();
        let chunk = format!("258\r\n{}\r\n", "x".repeat(600));
        let mut taken = 0;
        while timeout(HANGS, stream.write_all(chunk.as_bytes())).await.unwrap().is_ok() {
            taken += 600;
            assert!(taken < 100_000_000);
        }
        assert!(exchange(server.addr, &post_of("abc", CLOSE)).await.ends_with("\r\n\r\n3"));
    }

    #[tokio::test]
    async fn broken_request_line_is_400_and_the_server_goes_on() {
        let server = start(calm()).await;
        let answer = exchange(server.addr, "what is this\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
        assert!(exchange(server.addr, &post_of("abc", CLOSE)).await.ends_with("\r\n\r\n3"));
    }

    #[tokio::test]
    async fn connection_is_kept_for_further_and_pipelined_requests() {
        let server = start(calm()).await;
        let requests = [post_of("a", ""), post_of("bb", ""), post_of("ccc", CLOSE)].concat();
        let answer = exchange(server.addr, &requests).await;
        assert_eq!(answer.matches("HTTP/1.1 200 OK").count(), 3, "{answer}");
        assert!(answer.ends_with("\r\n\r\n3"), "{answer}");
    }

    /// Sends the beginning of a request and expects to be disconnected without an answer, but not before `expected`.
    async fn check_disconnected(half: &str, expected: Duration) {
        let server = start(quick()).await;
        let begun = Instant::now();
        assert_eq!(exchange(server.addr, half).await, "");
        let waited = begun.elapsed();
        assert!(waited >= expected, "{waited:?}");
        assert!(exchange(server.addr, &post_of("abc", CLOSE)).await.ends_with("\r\n\r\n3"));
    }

    #[tokio::test]
    async fn half_a_head_is_not_waited_for() {
        check_disconnected("POST / HTTP/1.1\r\nhos", quick().request_timeout).await;
    }

    #[tokio::test]
    async fn half_a_body_is_not_waited_for() {
        check_disconnected("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nabc", quick().request_timeout)
            .await;
    }

    #[tokio::test]
    async fn silent_connection_is_closed_in_the_end() {
        check_disconnected("", quick().idle_timeout).await;
    }

    #[tokio::test]
    async fn request_that_takes_longer_than_the_timeouts_is_still_answered() {
        let timeouts = Duration::from_millis(200);
        let server = start(HttpLimits { request_timeout: timeouts, idle_timeout: timeouts, ..calm() }).await;
        let answer = server.post_wait().await;
        tokio::time::sleep(2 * timeouts).await;
        server.answer.go_on.notify_one();
        assert!(answer.await.unwrap().ends_with("\r\n\r\n4"));
    }

    #[tokio::test]
    async fn client_that_closes_its_side_after_the_request_is_answered() {
        let server = start(calm()).await;
        let mut stream = TcpStream::connect(server.addr).await.unwrap();
        stream.write_all(post_of("wait", "").as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        server.answer.waiting.notified().await;
        server.answer.go_on.notify_one();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.ends_with("\r\n\r\n4"), "{answer}");
    }

    #[tokio::test]
    async fn connections_over_the_limit_wait_for_a_place() {
        let server = start(HttpLimits { connections: 1, ..calm() }).await;
        let first = TcpStream::connect(server.addr).await.unwrap();
        let second = tokio::spawn({
            let addr = server.addr;
            async move { exchange(addr, &post_of("abc", CLOSE)).await }
        });
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(!second.is_finished());
        drop(first);
        assert!(second.await.unwrap().ends_with("\r\n\r\n3"));
    }

    /// Lets one connection take the only place and say `bytes`, and another one ask, and returns when that has its answer.
    async fn wait_behind(bytes: &str) -> Duration {
        let server = start(HttpLimits { connections: 1, crowded_timeout: quick().crowded_timeout, ..calm() }).await;
        let begun = Instant::now();
        let mut first = TcpStream::connect(server.addr).await.unwrap();
        first.write_all(bytes.as_bytes()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(exchange(server.addr, &post_of("abc", CLOSE)).await.ends_with("\r\n\r\n3"));
        begun.elapsed()
    }

    #[tokio::test]
    async fn those_who_only_hold_a_place_give_way() {
        for bytes in ["", "POST / HT", "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n12", &post_of("abc", "")]
        {
            let waited = wait_behind(bytes).await;
            // Not at once, since they might have been about to go on.
            let rounding = Duration::from_millis(1);
            assert!(waited + rounding >= quick().crowded_timeout, "{bytes:?}: {waited:?}");
        }
    }

    #[tokio::test]
    async fn request_that_is_being_answered_keeps_its_place() {
        let server = start(HttpLimits { connections: 1, crowded_timeout: quick().crowded_timeout, ..calm() }).await;
        let begun = server.post_wait().await;
        let addr = server.addr;
        let second = tokio::spawn(async move { exchange(addr, &post_of("abc", CLOSE)).await });
        tokio::time::sleep(3 * quick().crowded_timeout).await;
        assert!(!second.is_finished());
        server.answer.go_on.notify_one();
        assert!(begun.await.unwrap().ends_with("\r\n\r\n4"));
        assert!(second.await.unwrap().ends_with("\r\n\r\n3"));
    }

    /// Room for two bodies of the largest size.
    fn large() -> HttpLimits {
        HttpLimits { body_bytes: 1 << 20, bodies_bytes: 2 << 20, connections: 100, ..calm() }
    }

    /// Sends the head of a request and half of its megabyte.
    async fn half_of_a_large_body(addr: SocketAddr) -> TcpStream {
        let mut stream = TcpStream::connect(addr).await.unwrap();
        let head = format!("POST / HTTP/1.1\r\nhost: x\r\n{CLOSE}content-length: {}\r\n\r\n", 1 << 20);
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&vec![b'x'; 1 << 19]).await.unwrap();
        stream
    }

    async fn rest_of_a_large_body(mut stream: TcpStream) -> String {
        // A server that has refused the body reads all of it nevertheless.
        stream.write_all(&vec![b'x'; 1 << 19]).await.unwrap();
        let mut answer = String::new();
        timeout(HANGS, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
        answer
    }

    #[tokio::test]
    async fn large_bodies_wait_for_memory_in_turn() {
        let server = start(large()).await;
        let mut clients = JoinSet::new();
        for _ in 0..20 {
            let addr = server.addr;
            clients.spawn(async move { rest_of_a_large_body(half_of_a_large_body(addr).await).await });
        }
        while let Some(answer) = clients.join_next().await {
            assert!(answer.unwrap().ends_with("\r\n\r\n1048576"));
        }
    }

    #[tokio::test]
    async fn large_body_without_memory_is_503_and_small_ones_go_on() {
        let server = start(HttpLimits { bodies_timeout: MOMENT, ..large() }).await;
        let begun = Instant::now();
        let first = [half_of_a_large_body(server.addr).await, half_of_a_large_body(server.addr).await];
        tokio::time::sleep(Duration::from_millis(100)).await;
        let further = rest_of_a_large_body(half_of_a_large_body(server.addr).await).await;
        assert!(begun.elapsed() >= MOMENT);
        assert!(further.starts_with("HTTP/1.1 503"), "{further}");
        assert!(further.ends_with("<NoMemory: too many large requests at once, try again later>"), "{further}");
        assert!(exchange(server.addr, &post_of(&"x".repeat(5000), CLOSE)).await.ends_with("\r\n\r\n5000"));
        for stream in first {
            assert!(rest_of_a_large_body(stream).await.ends_with("\r\n\r\n1048576"));
        }
        // What they had is free again.
        let ask = async || rest_of_a_large_body(half_of_a_large_body(server.addr).await).await;
        let further = serve_in_the_end(ask).await;
        assert!(further.ends_with("\r\n\r\n1048576"), "{further}");
    }

    #[tokio::test]
    async fn those_who_are_slow_with_a_large_body_give_way() {
        let server = start(HttpLimits { crowded_timeout: MOMENT, ..large() }).await;
        let slow = [half_of_a_large_body(server.addr).await, half_of_a_large_body(server.addr).await];
        tokio::time::sleep(Duration::from_millis(50)).await;
        let answer = rest_of_a_large_body(half_of_a_large_body(server.addr).await).await;
        assert!(answer.ends_with("\r\n\r\n1048576"), "{answer}");
        drop(slow);
    }

    #[tokio::test]
    async fn body_of_unknown_length_has_memory_for_the_largest() {
        let server = start(HttpLimits { bodies_bytes: 0, ..large() }).await;
        let head = format!("POST / HTTP/1.1\r\nhost: x\r\n{CLOSE}transfer-encoding: chunked\r\n\r\n");
        let chunks = format!("10000\r\n{}\r\n", "x".repeat(0x10000)).repeat(3);
        for _ in 0..3 {
            let answer = exchange(server.addr, &format!("{head}{chunks}0\r\n\r\n")).await;
            assert!(answer.ends_with(&format!("\r\n\r\n{}", 3 * 0x10000)), "{answer}");
        }
    }

    #[tokio::test]
    async fn stop_waits_for_no_request_that_has_not_come_whole() {
        let server = start(large()).await;
        let mut halves = Vec::new();
        for half in
            ["POST / HT", "POST / HTTP/1.1\r\nhost: x\r\n", "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n12"]
        {
            let mut stream = TcpStream::connect(server.addr).await.unwrap();
            stream.write_all(half.as_bytes()).await.unwrap();
            halves.push(stream);
        }
        // Two that have memory, and one that waits for it.
        for _ in 0..3 {
            halves.push(half_of_a_large_body(server.addr).await);
        }
        let whole = server.post_wait().await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        server.stop.send_replace(true);
        for mut stream in halves {
            let mut answer = Vec::new();
            // With an error, since there are bytes that nobody has read.
            drop(timeout(HANGS, stream.read_to_end(&mut answer)).await.unwrap());
            assert_eq!(answer, b"");
        }
        assert!(!server.served.is_finished());
        server.answer.go_on.notify_one();
        assert!(whole.await.unwrap().ends_with("\r\n\r\n4"));
        timeout(HANGS, server.served).await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn stop_finishes_what_was_begun_and_takes_nothing_new() {
        // An address that no other test uses, for the port is free in the end.
        let server = start_at([127, 0, 0, 2], calm()).await;
        let idle = TcpStream::connect(server.addr).await.unwrap();
        let begun = server.post_wait().await;
        server.stop.send_replace(true);
        server.answer.go_on.notify_one();
        assert!(begun.await.unwrap().ends_with("\r\n\r\n4"));
        timeout(HANGS, server.served).await.unwrap().unwrap();
        assert!(TcpStream::connect(server.addr).await.is_err());
        drop(idle);
    }

    #[tokio::test]
    async fn stop_waits_no_longer_than_the_grace_period() {
        let server = start(HttpLimits { grace: Duration::from_millis(20), ..calm() }).await;
        let begun = server.post_wait().await;
        server.stop.send_replace(true);
        timeout(HANGS, server.served).await.unwrap().unwrap();
        assert_eq!(begun.await.unwrap(), "");
    }
}
