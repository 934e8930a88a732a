//! One end of a WebSocket connection: whole messages in, texts in pieces out.

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
use crate::http::{AnswerBody, Broken, Memory, PIECE, Share, stopped};

/// Largest message of a client, in bytes. A batch of JSON-RPC may need more over HTTP.
const LARGEST_MESSAGE: usize = 256 << 10;

/// Bytes that are read at once.
const READ_AT_ONCE: usize = 8 << 10;

/// Bytes that wait to be sent, at most: a piece of a text, and what answers pings behind it.
const UNSENT: usize = 2 * PIECE;

/// How long a client is waited for.
#[derive(Clone, Copy, Debug)]
struct Times {
    /// After which a client that has been silent is asked whether it is there, and again until it is given up.
    silence: Duration,
    /// That a client may take to read one piece of a text.
    unread: Duration,
    /// That an answer in the making is given once the node stops.
    finish: Duration,
    /// That a client is given to take the last message, and again to close its side.
    linger: Duration,
}

const USUAL: Times = Times {
    silence: Duration::from_mins(1),
    unread: Duration::from_secs(30),
    finish: Duration::from_secs(2),
    linger: Duration::from_secs(1),
};

/// Why a session ends.
#[derive(Debug)]
pub(super) enum End {
    /// The client is told.
    Told(CloseCode, &'static str),
    /// The client has said that it ends.
    Closed,
    /// The connection is gone, or nobody reads.
    Gone,
}

impl End {
    const STOPPING: Self = Self::Told(CloseCode::Away, "the node is stopping");

    fn unread() -> Self {
        tracing::debug!("closed a connection that did not read");
        Self::Gone
    }
}

impl From<Broken> for End {
    /// An answer that has begun cannot be ended.
    fn from(_: Broken) -> Self {
        Self::Told(CloseCode::Error, "the rest of the answer is not to be had")
    }
}

impl From<tungstenite::Error> for End {
    fn from(error: tungstenite::Error) -> Self {
        use tungstenite::Error;
        tracing::debug!(%error, "connection ended");
        match error {
            Error::Capacity(_) => Self::Told(CloseCode::Size, "the message is too large"),
            Error::Utf8(_) => Self::Told(CloseCode::Invalid, "the message is not UTF-8"),
            Error::Protocol(_) => Self::Told(CloseCode::Protocol, "that is no frame"),
            Error::Io(error) if error.kind() == io::ErrorKind::OutOfMemory => {
                Self::Told(CloseCode::Again, "too many large messages at once")
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

/// What happened on the socket.
enum Traffic {
    /// What was to be sent was, or not in time.
    Sent(bool),
    Came(Option<Message>),
}

/// A message, with the memory that it holds if it is long.
#[derive(Debug)]
pub(super) struct Text {
    pub(super) text: Utf8Bytes,
    pub(super) memory: Option<Memory>,
}

/// One end of a WebSocket connection.
///
/// While something else is done, pings are answered and one message is kept; further ones stay with the client. What is
/// sent is handed to the socket a piece at a time, so that no more than a piece of it is in memory twice.
pub(super) struct Wire<S> {
    socket: WebSocketStream<Metered<S>>,
    times: Times,
    share: Share,
    stop: watch::Receiver<bool>,
    reminders: Interval,
    /// Whether the client has said anything since it was last asked.
    heard: bool,
    /// A message that came while something else was done.
    kept: Option<Text>,
    /// Until when the client has to take what answers its pings, or asks whether it is there.
    due: Option<Instant>,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Wire<S> {
    /// Speaks over a stream behind the handshake.
    pub(super) async fn new(stream: S, share: Share, stop: watch::Receiver<bool>) -> Self {
        Self::with_times(stream, USUAL, share, stop).await
    }

    async fn with_times(stream: S, times: Times, share: Share, stop: watch::Receiver<bool>) -> Self {
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_AT_ONCE)
            .write_buffer_size(0)
            .max_write_buffer_size(UNSENT)
            .max_message_size(Some(LARGEST_MESSAGE))
            .max_frame_size(Some(LARGEST_MESSAGE));
        let stream = Metered::new(stream, share.clone(), LARGEST_MESSAGE);
        let socket = WebSocketStream::from_raw_socket(stream, Role::Server, Some(config)).await;
        let mut reminders = interval_at(Instant::now() + times.silence, times.silence);
        reminders.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { socket, times, share, stop, reminders, heard: true, kept: None, due: None }
    }

    /// The next message. Nothing is lost when this is given up.
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

    /// Does something while the client is listened to.
    pub(super) async fn meanwhile<T>(&mut self, work: impl Future<Output = T>) -> Result<T, End> {
        let (mut stop, finish) = (self.stop.clone(), self.times.finish);
        let mut work = pin!(work);
        let mut late = pin!(async move {
            stopped(&mut stop).await;
            sleep(finish).await;
        });
        loop {
            tokio::select! {
                // A message is being worked on: as long as it is there, the buffer that it was read into, which may be long, is
                // not kept for what is read next.
                biased;
                step = self.step() => step?,
                done = work.as_mut() => return Ok(done),
                () = late.as_mut() => return Err(End::STOPPING),
            }
        }
    }

    /// Sends a text.
    pub(super) async fn send(&mut self, mut text: AnswerBody) -> Result<(), End> {
        let (mut data, mut open) = (Data::Text, false);
        while let Some(piece) = self.meanwhile(text.next()).await? {
            open = !text.is_end_stream();
            self.write(piece?, data, !open).await?;
            data = Data::Continue;
            if open {
                // Who reads is there, and may come late to what is asked.
                self.heard = true;
                self.reminders.reset();
            }
        }
        if open { self.write(Bytes::new(), data, true).await } else { Ok(()) }
    }

    async fn write(&mut self, piece: Bytes, data: Data, is_last: bool) -> Result<(), End> {
        let frame = Message::Frame(Frame::message(piece, OpCode::Data(data), is_last));
        tokio::select! {
            biased;
            sent = timeout(self.times.unread, self.socket.send(frame)) => {
                self.due = None;
                Ok(sent.map_err(|_| End::unread())??)
            }
            () = stopped(&mut self.stop) => Err(End::STOPPING),
            () = self.share.crowded() => Err(End::Told(CloseCode::Again, "too slow while others wait")),
        }
    }

    /// Waits for one thing to happen, and sees to it.
    async fn step(&mut self) -> Result<(), End> {
        let (socket, due, is_full) = (&mut self.socket, self.due, self.kept.is_some());
        let (share, holds_memory) = (&self.share, socket.get_ref().holds_memory());
        let traffic = async move {
            Ok::<_, End>(match due {
                Some(due) => Traffic::Sent(timeout_at(due, socket.flush()).await.is_ok_and(|sent| sent.is_ok())),
                None if is_full => pending().await,
                None => Traffic::Came(socket.next().await.transpose()?),
            })
        };
        tokio::select! {
            // Whoever has said something is not asked whether it is there, however late it is heard.
            biased;
            traffic = traffic => match traffic? {
                Traffic::Sent(true) => {
                    self.due = None;
                    // A client that pings without end does not keep the thread from others.
                    yield_now().await;
                    Ok(())
                }
                Traffic::Sent(false) => Err(End::unread()),
                Traffic::Came(message) => self.take(message.ok_or(End::Gone)?),
            },
            () = share.crowded(), if holds_memory => Err(End::Told(CloseCode::Again, "too slow while others wait")),
            _ = self.reminders.tick() => self.remind().await,
        }
    }

    fn take(&mut self, message: Message) -> Result<(), End> {
        self.heard = true;
        match message {
            Message::Text(text) => {
                let memory = self.socket.get_mut().end_message();
                self.kept = (!text.is_empty()).then_some(Text { text, memory });
            }
            // The answer is prepared already, and nothing more is read until it is sent.
            Message::Ping(payload) => {
                self.socket.get_mut().take_control_frame(payload.len());
                self.due = Some(Instant::now() + self.times.unread);
            }
            Message::Pong(payload) => self.socket.get_mut().take_control_frame(payload.len()),
            Message::Frame(_) => {}
            Message::Binary(_) => return Err(End::Told(CloseCode::Unsupported, "messages are text")),
            Message::Close(_) => return Err(End::Closed),
        }
        Ok(())
    }

    /// Asks whether the client is there, unless it has a message that waits, or is to take something anyway.
    async fn remind(&mut self) -> Result<(), End> {
        if self.kept.is_some() || self.due.is_some() {
            return Ok(());
        }
        if !std::mem::take(&mut self.heard) {
            return Err(End::Gone);
        }
        self.socket.feed(Message::Ping(Bytes::new())).await?;
        self.due = Some(Instant::now() + self.times.unread);
        Ok(())
    }

    /// Ends the connection.
    pub(super) async fn end(mut self, end: End) {
        let linger = self.times.linger;
        let last = async {
            match end {
                End::Told(code, reason) => {
                    let frame = CloseFrame { code, reason: Utf8Bytes::from_static(reason) };
                    self.socket.send(Message::Close(Some(frame))).await.is_ok()
                }
                End::Closed => SinkExt::close(&mut self.socket).await.is_ok(),
                End::Gone => false,
            }
        };
        if !timeout(linger, last).await.unwrap_or(false) {
            return;
        }
        // If bytes were left that nobody has read, the client might not see why it was closed.
        let mut stream = self.socket.into_inner().into_inner();
        let rest = async {
            stream.shutdown().await?;
            tokio::io::copy(&mut stream, &mut tokio::io::sink()).await
        };
        drop(timeout(linger, rest).await);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use tokio::io::{DuplexStream, duplex};

    use super::{super::metered::SHORT_MESSAGE, *};
    use crate::http::{HttpLimits, Reply};

    /// On the clock of these tests, which stands still for as long as anything else can happen.
    const QUICK: Times = Times {
        silence: Duration::from_millis(100),
        unread: Duration::from_millis(800),
        finish: Duration::from_millis(100),
        linger: Duration::from_millis(100),
    };

    /// Both ends of a connection that holds so many bytes on their way, and what stops the node.
    struct Pair {
        wire: Wire<DuplexStream>,
        client: WebSocketStream<DuplexStream>,
        stop: watch::Sender<bool>,
    }

    async fn pair(times: Times, limits: HttpLimits, bytes: usize) -> Pair {
        let (here, there) = duplex(bytes);
        let (stop, stopped) = watch::channel(false);
        let wire = Wire::with_times(here, times, Share::alone(limits), stopped).await;
        let client = WebSocketStream::from_raw_socket(there, Role::Client, None).await;
        Pair { wire, client, stop }
    }

    async fn quick_pair() -> Pair {
        pair(QUICK, HttpLimits::default(), 1000).await
    }

    impl Pair {
        /// A text of so many bytes, with characters of two.
        async fn text(&self, bytes: usize) -> AnswerBody {
            let beginning = "é".repeat(bytes / 2).into_bytes();
            self.wire.share.body(Reply::whole(beginning, self.wire.share.memory())).await.unwrap()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn large_text_is_one_message() {
        let mut pair = quick_pair().await;
        for bytes in [2, PIECE, PIECE + 2, 3 * PIECE + 1000] {
            let text = pair.text(bytes).await;
            let (sent, read) = tokio::join!(pair.wire.send(text), pair.client.next());
            sent.unwrap();
            let Message::Text(text) = read.unwrap().unwrap() else { panic!("it is a text") };
            assert!(text.len() == bytes && text.chars().all(|c| c == 'é'));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_pings_and_does_not_read_is_given_up() {
        let (here, mut there) = duplex(1000);
        let (_stop, stopped) = watch::channel(false);
        let mut wire = Wire::with_times(here, QUICK, Share::alone(HttpLimits::default()), stopped).await;
        let ping = [[0x89, 0xfd].as_slice(), &[0; 4 + 125]].concat();
        let mut taken = 0;
        let pings = async {
            while there.write_all(&ping).await.is_ok() {
                taken += ping.len();
            }
        };
        tokio::select! {
            () = pings => panic!("the connection is still open"),
            end = wire.next() => assert!(matches!(end, Err(End::Gone))),
        }
        assert!(taken < 30_000, "{taken} bytes of pings were taken");
    }

    #[tokio::test(start_paused = true)]
    async fn pings_are_answered_and_a_message_is_kept_meanwhile() {
        let Pair { mut wire, mut client, stop: _stop } = quick_pair().await;
        let asked = async {
            client.send(Message::Ping(Bytes::from_static(b"?"))).await.unwrap();
            assert_eq!(client.next().await.unwrap().unwrap(), Message::Pong(Bytes::from_static(b"?")));
            client.send(Message::text("one")).await.unwrap();
            client.send(Message::text("two")).await.unwrap();
        };
        wire.meanwhile(asked).await.unwrap();
        assert_eq!(wire.next().await.unwrap().text, "one");
        assert_eq!(wire.next().await.unwrap().text, "two");
    }

    #[tokio::test(start_paused = true)]
    async fn close_is_answered() {
        let Pair { mut wire, mut client, stop: _stop } = quick_pair().await;
        let frame = CloseFrame { code: CloseCode::Normal, reason: Utf8Bytes::from_static("done") };
        client.close(Some(frame.clone())).await.unwrap();
        let end = wire.next().await.unwrap_err();
        assert!(matches!(end, End::Closed));
        let ((), answer) = tokio::join!(wire.end(end), client.next());
        assert_eq!(answer.unwrap().unwrap(), Message::Close(Some(frame)));
        assert!(client.next().await.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn last_message_comes_though_something_was_not_read() {
        let Pair { mut wire, mut client, stop: _stop } = quick_pair().await;
        let large = Message::binary(vec![0; LARGEST_MESSAGE + 1]);
        let (sent, end) = tokio::join!(timeout(QUICK.unread, client.send(large)), async {
            let end = wire.next().await.unwrap_err();
            assert!(matches!(end, End::Told(CloseCode::Size, _)));
            wire.end(end).await;
        });
        drop((sent, end));
        let Message::Close(Some(frame)) = client.next().await.unwrap().unwrap() else { panic!("it is closed") };
        assert_eq!(frame.code, CloseCode::Size);
    }

    #[tokio::test(start_paused = true)]
    async fn silent_client_is_asked_and_given_up() {
        let begun = Instant::now();
        let Pair { mut wire, mut client, stop: _stop } = quick_pair().await;
        assert!(matches!(wire.next().await, Err(End::Gone)));
        assert!(begun.elapsed() >= 2 * QUICK.silence);
        assert!(matches!(client.next().now_or_never(), Some(Some(Ok(Message::Ping(_))))));
    }

    #[tokio::test(start_paused = true)]
    async fn who_reads_for_long_is_not_taken_for_silent() {
        let pair = quick_pair().await;
        let text = pair.text(5 * PIECE).await;
        let Pair { mut wire, mut client, stop: _stop } = pair;
        // Nothing is read at first, but within the time for a piece.
        let late = async {
            sleep(QUICK.silence * 5 / 2).await;
            client.next().await.unwrap().unwrap()
        };
        let (sent, _) = tokio::join!(wire.send(text), late);
        sent.unwrap();
        assert!(timeout(QUICK.silence / 2, wire.next()).await.is_err(), "it goes on");
    }

    #[tokio::test(start_paused = true)]
    async fn who_does_not_read_is_given_up_and_not_waited_for_at_a_stop() {
        let mut pair = quick_pair().await;
        let text = pair.text(2000).await;
        assert!(matches!(pair.wire.send(text).await, Err(End::Gone)));
        let mut pair = quick_pair().await;
        let text = pair.text(2000).await;
        let begun = Instant::now();
        let Pair { wire, stop, .. } = &mut pair;
        let (sent, ()) = tokio::join!(wire.send(text), async {
            sleep(Duration::from_millis(10)).await;
            stop.send_replace(true);
        });
        assert!(matches!(sent, Err(End::Told(CloseCode::Away, _))));
        assert!(begun.elapsed() < QUICK.unread);
    }

    #[tokio::test(start_paused = true)]
    async fn answer_in_the_making_is_given_time_at_a_stop() {
        let Pair { mut wire, client: _client, stop } = quick_pair().await;
        stop.send_replace(true);
        assert_eq!(wire.meanwhile(sleep(QUICK.finish / 2).map(|()| 7)).await.unwrap(), 7);
        assert!(matches!(wire.meanwhile(pending::<()>()).await, Err(End::Told(CloseCode::Away, _))));
        assert!(matches!(wire.next().await, Err(End::Told(CloseCode::Away, _))));
    }

    #[tokio::test(start_paused = true)]
    async fn who_holds_memory_and_does_not_read_gives_way() {
        let limits = HttpLimits {
            body_bytes: 1000,
            bodies_bytes: 4 * PIECE,
            crowded_timeout: Duration::from_millis(50),
            ..HttpLimits::default()
        };
        let slow = Times { unread: Duration::from_mins(1), ..QUICK };
        let mut pair = pair(slow, limits, 1000).await;
        let (text, share) = (pair.text(3 * PIECE).await, pair.wire.share.clone());
        let (sent, memory) = tokio::join!(
            async {
                let sent = pair.wire.send(text).await;
                assert!(matches!(sent, Err(End::Told(CloseCode::Again, _))), "{sent:?}");
            },
            share.reserve(2 * PIECE)
        );
        assert_eq!((sent, memory.is_some()), ((), true));
    }

    fn little_memory() -> HttpLimits {
        HttpLimits {
            body_bytes: 1000,
            bodies_bytes: LARGEST_MESSAGE,
            bodies_timeout: Duration::from_secs(2),
            crowded_timeout: Duration::from_millis(50),
            ..HttpLimits::default()
        }
    }

    /// Times in which nobody is too slow.
    const SLOW: Times = Times { silence: Duration::from_hours(1), unread: Duration::from_hours(1), ..QUICK };

    #[tokio::test(start_paused = true)]
    async fn long_message_holds_memory_until_it_was_worked_on() {
        let Pair { mut wire, mut client, stop: _stop } = pair(SLOW, little_memory(), 1000).await;
        let long = Message::text("x".repeat(LARGEST_MESSAGE));
        let (message, _) = tokio::join!(wire.next(), client.send(long));
        let message = message.unwrap();
        assert_eq!((message.text.len(), message.memory.as_ref().unwrap().bytes()), (LARGEST_MESSAGE, LARGEST_MESSAGE));
        let mut other = wire.share.memory();
        assert!(!other.reserve(1000).await);
        drop(message);
        assert!(wire.share.memory().reserve(LARGEST_MESSAGE).await);
        let (message, _) = tokio::join!(wire.next(), client.send(Message::text("x".repeat(SHORT_MESSAGE / 2))));
        assert!(message.unwrap().memory.is_none(), "it is short");
    }

    #[tokio::test(start_paused = true)]
    async fn message_is_not_read_on_without_memory() {
        let Pair { mut wire, mut client, stop: _stop } = pair(SLOW, little_memory(), 1000).await;
        let mut others = wire.share.memory();
        assert!(others.reserve(LARGEST_MESSAGE).await);
        let sent = tokio::spawn(async move { client.send(Message::text("x".repeat(LARGEST_MESSAGE))).await });
        assert!(timeout(Duration::from_secs(1), wire.next()).await.is_err() && !sent.is_finished());
        drop(others);
        assert_eq!(wire.next().await.unwrap().text.len(), LARGEST_MESSAGE);
        sent.await.unwrap().unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn message_without_memory_for_too_long_ends_the_connection() {
        let Pair { mut wire, mut client, stop: _stop } = pair(SLOW, little_memory(), 1000).await;
        let mut others = wire.share.memory();
        assert!(others.reserve(LARGEST_MESSAGE).await);
        tokio::spawn(async move { client.send(Message::text("x".repeat(LARGEST_MESSAGE))).await });
        let end = wire.next().await;
        assert!(matches!(end, Err(End::Told(CloseCode::Again, "too many large messages at once"))), "{end:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn half_a_long_message_gives_way() {
        let Pair { mut wire, mut client, stop: _stop } = pair(SLOW, little_memory(), 1000).await;
        let half = tokio::spawn(async move {
            let head = [&[0x81, 0xff][..], &(LARGEST_MESSAGE as u64).to_be_bytes(), &[0; 4]].concat();
            let stream = client.get_mut();
            stream.write_all(&head).await.unwrap();
            stream.write_all(&vec![b'x'; LARGEST_MESSAGE / 2]).await.unwrap();
            client
        });
        assert!(timeout(Duration::from_secs(10), wire.next()).await.is_err(), "it may take its time while it can");
        let share = wire.share.clone();
        let wanted = async { share.memory().reserve(1000).await };
        let end = async {
            let end = wire.next().await;
            assert!(matches!(end, Err(End::Told(CloseCode::Again, _))), "{end:?}");
            drop(wire);
        };
        assert!(tokio::join!(wanted, end).0);
        drop(half);
    }

    #[tokio::test(start_paused = true)]
    async fn those_who_are_told_leave_memory_to_those_who_ask() {
        let limits = HttpLimits { body_bytes: 1000, bodies_bytes: 8 * PIECE, ..HttpLimits::default() };
        let share = Share::alone(limits);
        let told = share.reserve(3 * PIECE).await;
        let mut waits = Box::pin(share.reserve(2 * PIECE));
        assert!(waits.as_mut().now_or_never().is_none(), "half of the memory is for them");
        let asked = Reply::whole(vec![b'x'; 4 * PIECE], share.memory());
        assert!(share.body(asked).now_or_never().is_some_and(|body| body.is_some()), "the other half is not");
        drop(told);
        assert!(waits.await.is_some());
        assert!(share.reserve(4 * PIECE).await.is_some());
        // What is larger than their half would never have all of its memory.
        assert!(share.reserve(4 * PIECE + 1).await.is_none());
    }
}
