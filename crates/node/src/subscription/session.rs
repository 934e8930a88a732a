//! One WebSocket connection: requests of JSON-RPC and of subscribers in, answers and notifications out.

use std::{sync::Arc, time::Duration};

use futures_util::{SinkExt, StreamExt};
use hyper::body::Bytes;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;
use silica_protocol::{Address, BlockNumber};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::{Semaphore, watch},
    task::spawn_blocking,
    time::{Instant, interval_at, timeout},
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        self, Message, Utf8Bytes,
        protocol::{
            CloseFrame, Role, WebSocketConfig,
            frame::{
                Frame,
                coding::{CloseCode, Data, OpCode},
            },
        },
    },
};

use super::{
    news::{Newspaper, Unread},
    topics::{QueryError, Topics},
};
use crate::{
    driver::NodeHandle,
    http::{Reply, Source, stopped},
    metrics::{Metrics, Open},
    rpc::Service,
};

/// Largest message of a client, in bytes. A batch of JSON-RPC may need more over HTTP, where memory for all bodies
/// together is bounded.
const LARGEST_MESSAGE: usize = 256 << 10;

/// Time after which a client that has been silent is asked whether it is there, and again until it is given up.
const SILENCE: Duration = Duration::from_mins(1);

/// Time that a client may take to read one message.
const UNREAD: Duration = Duration::from_secs(30);

/// Bytes of an answer that may be sent at any time; of larger ones, and of those that are sent as they are made, only so
/// many are sent at once, to all clients together, and others wait so long for their turn.
const SMALL_ANSWER: usize = 64 << 10;
const LARGE_ANSWERS: usize = 2;
const TURN: Duration = Duration::from_secs(10);

/// What all WebSocket connections share.
#[derive(Debug)]
pub(crate) struct Lobby {
    node: NodeHandle,
    newspaper: Newspaper,
    metrics: Arc<Metrics>,
    large_answers: Semaphore,
}

impl Lobby {
    pub(crate) fn new(node: NodeHandle, metrics: Arc<Metrics>) -> Self {
        Self { node, newspaper: Newspaper::default(), metrics, large_answers: Semaphore::new(LARGE_ANSWERS) }
    }

    /// Talks with a client behind the handshake, until either ends it or `stop` becomes true. Requests of JSON-RPC are for
    /// `service`.
    pub(crate) async fn receive<S>(&self, service: &Service, stream: S, stop: watch::Receiver<bool>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send,
    {
        let _open = Open::count(&self.metrics.sessions);
        let config =
            WebSocketConfig::default().max_message_size(Some(LARGEST_MESSAGE)).max_frame_size(Some(LARGEST_MESSAGE));
        let socket = WebSocketStream::from_raw_socket(stream, Role::Server, Some(config)).await;
        let heads = self.node.heads();
        let next = following(*heads.borrow());
        let mut session = Session { lobby: self, service, socket, topics: Topics::default(), heads, next };
        let Err(end) = session.run(stop).await;
        session.end(end).await;
    }
}

/// Why a session ends.
enum End {
    /// The client is told.
    Told(CloseCode, &'static str),
    /// The connection is gone, or nobody reads.
    Silent,
}

impl From<tungstenite::Error> for End {
    fn from(error: tungstenite::Error) -> Self {
        use tungstenite::Error;
        tracing::debug!(%error, "connection ended");
        match error {
            Error::Capacity(_) => Self::Told(CloseCode::Size, "the message is too large"),
            Error::Utf8(_) => Self::Told(CloseCode::Invalid, "the message is not UTF-8"),
            Error::Protocol(_) => Self::Told(CloseCode::Protocol, "that is no frame"),
            Error::ConnectionClosed
            | Error::AlreadyClosed
            | Error::Io(_)
            | Error::Tls(_)
            | Error::WriteBufferFull(_)
            | Error::AttackAttempt
            | Error::Url(_)
            | Error::Http(_)
            | Error::HttpFormat(_) => Self::Silent,
        }
    }
}

/// Never made.
enum Never {}

struct Session<'a, S> {
    lobby: &'a Lobby,
    service: &'a Service,
    socket: WebSocketStream<S>,
    topics: Topics,
    heads: watch::Receiver<BlockNumber>,
    /// The first block of which the client has not been told.
    next: BlockNumber,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Session<'_, S> {
    async fn run(&mut self, mut stop: watch::Receiver<bool>) -> Result<Never, End> {
        let mut reminders = interval_at(Instant::now() + SILENCE, SILENCE);
        let mut heard = true;
        loop {
            let behind = self.topics.any() && self.next <= *self.heads.borrow();
            tokio::select! {
                biased;
                () = stopped(&mut stop) => return Err(End::Told(CloseCode::Away, "the node is stopping")),
                message = self.socket.next() => {
                    heard = true;
                    self.hear(message.ok_or(End::Silent)??).await?;
                }
                _ = reminders.tick() => {
                    if !std::mem::take(&mut heard) {
                        return Err(End::Silent);
                    }
                    self.send(Message::Ping(Bytes::new())).await?;
                }
                // One block at a time, however far the client is behind: nothing is lost, and nothing is piled up.
                () = std::future::ready(()), if behind => self.tell().await?,
                head = self.heads.changed(), if !behind => head.map_err(|_| End::Silent)?,
            }
        }
    }

    async fn hear(&mut self, message: Message) -> Result<(), End> {
        match message {
            Message::Text(text) if text.is_empty() => Ok(()),
            Message::Text(text) if is_rpc(&text) => {
                let reply = self.service.answer(text.into()).await;
                self.answer(reply).await
            }
            Message::Text(text) => {
                let reply = self.subscribe(&text);
                self.send(reply.map_or_else(|error| Message::text(error.to_string()), |()| Message::Text(text))).await
            }
            Message::Binary(_) => Err(End::Told(CloseCode::Unsupported, "messages are text")),
            Message::Close(_) => Err(End::Silent),
            // Whoever asks whether the node is there was answered already.
            Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => Ok(()),
        }
    }

    fn subscribe(&mut self, text: &str) -> Result<(), QueryError> {
        let query: Value = serde_json::from_str(text).unwrap_or_default();
        let context = self.lobby.node.context();
        let is_contract = |address: &Address| match context.snapshot.account(address) {
            Ok(account) => account.is_some_and(|account| account.contract.is_some()),
            Err(error) => {
                tracing::error!(%address, error = &error as &dyn std::error::Error, "an account cannot be read");
                false
            }
        };
        if !self.topics.any() {
            self.next = following(context.head());
        }
        self.topics.take(&query, is_contract)
    }

    /// Tells the client of the next block.
    async fn tell(&mut self) -> Result<(), End> {
        let snapshot = self.lobby.node.context().snapshot.clone();
        let news = self.lobby.newspaper.of(&snapshot, self.next).await;
        let news = news.map_err(|Unread| End::Told(CloseCode::Error, "a block cannot be read"))?;
        let text = serde_json::to_string(&self.topics.notification(&news));
        let text = text.map_err(|_| End::Told(CloseCode::Error, "a block cannot be written"))?;
        self.send(Message::text(text)).await?;
        self.topics.end_topics();
        self.next = following(self.next);
        Ok(())
    }

    async fn answer(&mut self, Reply { beginning, rest }: Reply) -> Result<(), End> {
        let _turn = if rest.is_some() || beginning.len() > SMALL_ANSWER {
            let turn = timeout(TURN, self.lobby.large_answers.acquire()).await.ok().and_then(Result::ok);
            Some(turn.ok_or(End::Told(CloseCode::Again, "too many large answers at once"))?)
        } else {
            None
        };
        let Some(mut rest) = rest else {
            let text = Utf8Bytes::try_from(beginning).map_err(|_| broken())?;
            return self.send(Message::Text(text)).await;
        };
        self.send(fragment(beginning, Data::Text, false)).await?;
        loop {
            let (piece, following) = spawn_blocking(move || piece_of(rest)).await.ok().flatten().ok_or_else(broken)?;
            self.send(fragment(piece, Data::Continue, following.is_none())).await?;
            match following {
                Some(following) => rest = following,
                None => return Ok(()),
            }
        }
    }

    async fn send(&mut self, message: Message) -> Result<(), End> {
        if let Ok(sent) = timeout(UNREAD, self.socket.send(message)).await {
            return Ok(sent?);
        }
        tracing::debug!("closed a connection that did not read");
        Err(End::Silent)
    }

    async fn end(&mut self, end: End) {
        let frame = match end {
            End::Told(code, reason) => Some(CloseFrame { code, reason: Utf8Bytes::from_static(reason) }),
            End::Silent => None,
        };
        // Whether the client still listens is not this side's concern.
        drop(timeout(Duration::from_secs(1), self.socket.close(frame)).await);
    }
}

/// An answer that has begun cannot be ended.
fn broken() -> End {
    End::Told(CloseCode::Error, "the rest of the answer is not to be had")
}

/// A piece of an answer, and where the next one comes from, if there is one.
type Piece = (Vec<u8>, Option<Box<dyn Source>>);

fn piece_of(mut source: Box<dyn Source>) -> Option<Piece> {
    let mut piece = Vec::new();
    let more = source.write(&mut piece).ok()?;
    Some((piece, more.then_some(source)))
}

fn fragment(piece: Vec<u8>, data: Data, last: bool) -> Message {
    Message::Frame(Frame::message(piece, OpCode::Data(data), last))
}

fn following(block: BlockNumber) -> BlockNumber {
    BlockNumber::new(block.get().saturating_add(1))
}

/// Whether a message is a request of JSON-RPC, or a batch of them, rather than one of a subscriber.
fn is_rpc(text: &str) -> bool {
    #[derive(Deserialize)]
    struct Members {
        jsonrpc: Option<IgnoredAny>,
        method: Option<IgnoredAny>,
    }

    if text.trim_start().starts_with('[') {
        return true;
    }
    serde_json::from_str::<Members>(text).is_ok_and(|Members { jsonrpc, method }| jsonrpc.is_some() || method.is_some())
}
