//! The node's end of a WebSocket connection. It receives whole messages, and sends texts in chunks.

#[cfg(test)]
mod tests;

use std::{
    future::{Future, pending, ready},
    io,
    pin::pin,
    time::Duration,
};

use futures_util::{SinkExt, StreamExt};
use hyper::body::{Body, Bytes};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt},
    sync::watch,
    task::yield_now,
    time::{Instant, Interval, MissedTickBehavior, interval_at, sleep, timeout, timeout_at},
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

use super::metered::Metered;
use crate::http::{CHUNK, Memory, MemoryLease, ResponseBody, Truncated, stopped};

/// Maximum size of a message of a client, in bytes. A larger batch of JSON-RPC needs HTTP.
const LARGEST_MESSAGE: usize = 256 << 10;

/// Size of the read buffer, in bytes.
const READ_AT_ONCE: usize = 8 << 10;

/// Maximum number of unsent bytes: one chunk of a text, and the replies to pings after it.
const UNSENT: usize = 2 * CHUNK;

/// Time limits of a connection.
#[derive(Clone, Copy, Debug)]
struct Times {
    /// Time after which a silent client gets a ping. If the client sends nothing in the same time again, the session
    /// ends.
    silence: Duration,
    /// Maximum time for a client to read one chunk of a text.
    unread: Duration,
    /// Time for the completion of a response after the node has begun to stop.
    finish: Duration,
    /// Time for a client to read the last message, and the same time again for the client to close its side.
    linger: Duration,
}

const USUAL: Times = Times {
    silence: Duration::from_mins(1),
    unread: Duration::from_secs(30),
    finish: Duration::from_secs(2),
    linger: Duration::from_secs(1),
};

/// Reason why a session ends.
#[derive(Debug)]
pub(super) enum End {
    /// The node closes the session, and sends the reason to the client.
    ClosedByNode(CloseCode, &'static str),
    /// The client has closed the session.
    ClosedByClient,
    /// The connection has ended, or the client neither reads nor responds.
    Gone,
}

impl End {
    const STOPPING: Self = Self::ClosedByNode(CloseCode::Away, "the node is stopping");

    fn unread() -> Self {
        tracing::debug!("closed a connection, because its client does not read");
        Self::Gone
    }
}

impl From<Truncated> for End {
    /// Maps a truncated response to the end of the session, because the node cannot mark the unfinished message as
    /// truncated.
    fn from(_: Truncated) -> Self {
        Self::ClosedByNode(CloseCode::Error, "the response is truncated")
    }
}

impl From<tungstenite::Error> for End {
    fn from(error: tungstenite::Error) -> Self {
        use tungstenite::Error;
        tracing::debug!(%error, "connection ended");
        match error {
            Error::Capacity(_) => Self::ClosedByNode(CloseCode::Size, "the message is too large"),
            Error::Utf8(_) => Self::ClosedByNode(CloseCode::Invalid, "the message is not UTF-8"),
            Error::Protocol(_) => Self::ClosedByNode(CloseCode::Protocol, "the frame is invalid"),
            Error::Io(error) if error.kind() == io::ErrorKind::OutOfMemory => {
                Self::ClosedByNode(CloseCode::Again, "too many large messages at once")
            }
            Error::ConnectionClosed
            | Error::AlreadyClosed
            | Error::Io(_)
            | Error::Tls(_)
            | Error::WriteBufferFull(_)
            | Error::AttackAttempt
            | Error::Url(_)
            | Error::Http(_)
            | Error::HttpFormat(_) => Self::Gone,
        }
    }
}

/// An event of the socket.
enum Traffic {
    /// The pending bytes were sent (`true`), or the flush has failed or passed its deadline (`false`).
    Sent(bool),
    Came(Option<Message>),
}

/// A message, with the memory that it holds if it is long.
#[derive(Debug)]
pub(super) struct Text {
    pub(super) text: Utf8Bytes,
    pub(super) memory: Option<Memory>,
}

/// The node's end of a WebSocket connection.
///
/// During other work, the wire responds to pings and keeps one message. Further messages stay in the socket. Texts go
/// to the socket in chunks, so that at most one chunk is in memory twice.
pub(super) struct Wire<S> {
    socket: WebSocketStream<Metered<S>>,
    times: Times,
    lease: MemoryLease,
    stop: watch::Receiver<bool>,
    reminders: Interval,
    /// Whether the client has sent anything since the last ping.
    is_alive: bool,
    /// A message that arrived during other work.
    kept: Option<Text>,
    /// Deadline for the client to read the replies to its pings, or the ping of the node; `None` if nothing is unsent.
    due: Option<Instant>,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Wire<S> {
    /// Creates the node's end over a stream, after the handshake.
    pub(super) async fn new(stream: S, lease: MemoryLease, stop: watch::Receiver<bool>) -> Self {
        Self::with_times(stream, USUAL, lease, stop).await
    }

    async fn with_times(stream: S, times: Times, lease: MemoryLease, stop: watch::Receiver<bool>) -> Self {
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_AT_ONCE)
            .write_buffer_size(0)
            .max_write_buffer_size(UNSENT)
            .max_message_size(Some(LARGEST_MESSAGE))
            .max_frame_size(Some(LARGEST_MESSAGE));
        let stream = Metered::new(stream, lease.clone(), LARGEST_MESSAGE);
        let socket = WebSocketStream::from_raw_socket(stream, Role::Server, Some(config)).await;
        let mut reminders = interval_at(Instant::now() + times.silence, times.silence);
        reminders.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { socket, times, lease, stop, reminders, is_alive: true, kept: None, due: None }
    }

    /// Returns the next message. Dropping the future loses no message.
    pub(super) async fn next(&mut self) -> Result<Text, End> {
        let mut stop = self.stop.clone();
        loop {
            tokio::select! {
                biased;
                () = stopped(&mut stop) => return Err(End::STOPPING),
                () = ready(()), if self.kept.is_some() => {}
                step = self.step() => step?,
            }
            if let Some(text) = self.kept.take() {
                return Ok(text);
            }
        }
    }

    /// Waits for the result of `work`, and handles pings and messages of the client in the meantime.
    pub(super) async fn meanwhile<T>(&mut self, work: impl Future<Output = T>) -> Result<T, End> {
        let (mut stop, finish) = (self.stop.clone(), self.times.finish);
        let mut work = pin!(work);
        let mut late = pin!(async move {
            stopped(&mut stop).await;
            sleep(finish).await;
        });
        loop {
            tokio::select! {
                // Poll the socket first. While the message of this work exists, the next read uses a new buffer,
                // because the buffer of the message can be long.
                biased;
                step = self.step() => step?,
                done = work.as_mut() => return Ok(done),
                () = late.as_mut() => return Err(End::STOPPING),
            }
        }
    }

    /// Sends a text in chunks. Handles pings and messages of the client between the chunks.
    pub(super) async fn send(&mut self, mut text: ResponseBody) -> Result<(), End> {
        let (mut data, mut open) = (Data::Text, false);
        while let Some(chunk) = self.meanwhile(text.next()).await? {
            open = !text.is_end_stream();
            self.write(chunk?, data, !open).await?;
            data = Data::Continue;
            if open {
                // A client that reads is alive, although it may be late to answer a ping.
                self.is_alive = true;
                self.reminders.reset();
            }
        }
        if open { self.write(Bytes::new(), data, true).await } else { Ok(()) }
    }

    async fn write(&mut self, chunk: Bytes, data: Data, is_last: bool) -> Result<(), End> {
        let frame = Message::Frame(Frame::message(chunk, OpCode::Data(data), is_last));
        tokio::select! {
            biased;
            sent = timeout(self.times.unread, self.socket.send(frame)) => {
                self.due = None;
                Ok(sent.map_err(|_| End::unread())??)
            }
            () = stopped(&mut self.stop) => Err(End::STOPPING),
            () = self.lease.crowded() => Err(End::ClosedByNode(CloseCode::Again, "too slow while others wait")),
        }
    }

    /// Waits for one event of the connection, and handles it.
    async fn step(&mut self) -> Result<(), End> {
        let (socket, due, is_full) = (&mut self.socket, self.due, self.kept.is_some());
        let (lease, holds_memory) = (&self.lease, socket.get_ref().holds_memory());
        let traffic = async move {
            Ok::<_, End>(match due {
                Some(due) => Traffic::Sent(timeout_at(due, socket.flush()).await.is_ok_and(|sent| sent.is_ok())),
                None if is_full => pending().await,
                None => Traffic::Came(socket.next().await.transpose()?),
            })
        };
        tokio::select! {
            // Poll the traffic before the timer. A client that has sent bytes gets no ping, even if the node reads the
            // bytes late.
            biased;
            traffic = traffic => match traffic? {
                Traffic::Sent(true) => {
                    self.due = None;
                    // Yield, so that a client with an endless sequence of pings does not occupy the thread.
                    yield_now().await;
                    Ok(())
                }
                Traffic::Sent(false) => Err(End::unread()),
                Traffic::Came(message) => self.take(message.ok_or(End::Gone)?),
            },
            () = lease.crowded(), if holds_memory => Err(End::ClosedByNode(CloseCode::Again, "too slow while others wait")),
            _ = self.reminders.tick() => self.remind().await,
        }
    }

    fn take(&mut self, message: Message) -> Result<(), End> {
        self.is_alive = true;
        match message {
            Message::Text(text) => {
                let memory = self.socket.get_mut().end_message();
                self.kept = (!text.is_empty()).then_some(Text { text, memory });
            }
            // The WebSocket library has prepared the reply. The node reads nothing more until the reply is sent.
            Message::Ping(payload) => {
                self.socket.get_mut().take_control_frame(payload.len());
                self.due = Some(Instant::now() + self.times.unread);
            }
            Message::Pong(payload) => self.socket.get_mut().take_control_frame(payload.len()),
            Message::Frame(_) => {}
            Message::Binary(_) => {
                return Err(End::ClosedByNode(CloseCode::Unsupported, "expected a text message, got a binary one"));
            }
            Message::Close(_) => return Err(End::ClosedByClient),
        }
        Ok(())
    }

    /// Sends a ping, unless the client has a pending message, or must read other bytes first. Returns [`End::Gone`] if
    /// the client has sent nothing since the last ping.
    async fn remind(&mut self) -> Result<(), End> {
        if self.kept.is_some() || self.due.is_some() {
            return Ok(());
        }
        if !std::mem::take(&mut self.is_alive) {
            return Err(End::Gone);
        }
        self.socket.feed(Message::Ping(Bytes::new())).await?;
        self.due = Some(Instant::now() + self.times.unread);
        Ok(())
    }

    /// Closes the connection, with a close frame if the node ends the session.
    pub(super) async fn end(mut self, end: End) {
        let linger = self.times.linger;
        let last = async {
            match end {
                End::ClosedByNode(code, reason) => {
                    let frame = CloseFrame { code, reason: Utf8Bytes::from_static(reason) };
                    self.socket.send(Message::Close(Some(frame))).await.is_ok()
                }
                End::ClosedByClient => SinkExt::close(&mut self.socket).await.is_ok(),
                End::Gone => false,
            }
        };
        if !timeout(linger, last).await.unwrap_or(false) {
            return;
        }
        // Read the remaining bytes: unread bytes would cause a reset, and the client could lose the reason of the
        // close.
        let mut stream = self.socket.into_inner().into_inner();
        let rest = async {
            stream.shutdown().await?;
            tokio::io::copy(&mut stream, &mut tokio::io::sink()).await
        };
        drop(timeout(linger, rest).await);
    }
}
