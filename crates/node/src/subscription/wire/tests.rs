//! Tests of the wire over streams in memory.

use std::sync::Arc;

use futures_util::FutureExt;
use tokio::io::{DuplexStream, duplex};

use super::{super::metered::SHORT_MESSAGE, *};
use crate::http::{HttpLimits, Reply};

/// Short limits. The clock of these tests is paused, and advances only when all tasks are idle.
const QUICK: Times = Times {
    silence: Duration::from_millis(100),
    unread: Duration::from_millis(800),
    finish: Duration::from_millis(100),
    linger: Duration::from_millis(100),
};

/// Both ends of a connection with a buffer of limited size, and the sender that stops the node.
struct Pair {
    wire: Wire<DuplexStream>,
    client: WebSocketStream<DuplexStream>,
    stop: watch::Sender<bool>,
}

async fn pair(times: Times, limits: HttpLimits, bytes: usize) -> Pair {
    let (here, there) = duplex(bytes);
    let (stop, stopped) = watch::channel(false);
    let wire = Wire::with_times(here, times, MemoryLease::alone(limits, Arc::default()), stopped).await;
    let client = WebSocketStream::from_raw_socket(there, Role::Client, None).await;
    Pair { wire, client, stop }
}

async fn quick_pair() -> Pair {
    pair(QUICK, HttpLimits::default(), 1000).await
}

impl Pair {
    /// Returns a text of `bytes` bytes, whose characters have two bytes each.
    async fn text(&self, bytes: usize) -> ResponseBody {
        let beginning = "é".repeat(bytes / 2).into_bytes();
        self.wire.lease.body(Reply::whole(beginning, self.wire.lease.memory())).await.unwrap()
    }
}

#[tokio::test(start_paused = true)]
async fn large_text_is_one_message() {
    let mut pair = quick_pair().await;
    for bytes in [2, CHUNK, CHUNK + 2, 3 * CHUNK + 1000] {
        let text = pair.text(bytes).await;
        let (sent, read) = tokio::join!(pair.wire.send(text), pair.client.next());
        sent.unwrap();
        let Message::Text(text) = read.unwrap().unwrap() else { panic!("it is a text") };
        assert!(text.len() == bytes && text.chars().all(|c| c == 'é'));
    }
}

#[tokio::test(start_paused = true)]
async fn client_that_only_pings_is_disconnected() {
    let (here, mut there) = duplex(1000);
    let (_stop, stopped) = watch::channel(false);
    let mut wire =
        Wire::with_times(here, QUICK, MemoryLease::alone(HttpLimits::default(), Arc::default()), stopped).await;
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
async fn ping_during_a_message_gets_a_pong() {
    let Pair { mut wire, mut client, stop: _stop } = quick_pair().await;
    let requests = async {
        client.send(Message::Ping(Bytes::from_static(b"?"))).await.unwrap();
        assert_eq!(client.next().await.unwrap().unwrap(), Message::Pong(Bytes::from_static(b"?")));
        client.send(Message::text("one")).await.unwrap();
        client.send(Message::text("two")).await.unwrap();
    };
    wire.meanwhile(requests).await.unwrap();
    assert_eq!(wire.next().await.unwrap().text, "one");
    assert_eq!(wire.next().await.unwrap().text, "two");
}

#[tokio::test(start_paused = true)]
async fn close_is_answered() {
    let Pair { mut wire, mut client, stop: _stop } = quick_pair().await;
    let frame = CloseFrame { code: CloseCode::Normal, reason: Utf8Bytes::from_static("done") };
    client.close(Some(frame.clone())).await.unwrap();
    let end = wire.next().await.unwrap_err();
    assert!(matches!(end, End::ClosedByClient));
    let ((), answer) = tokio::join!(wire.end(end), client.next());
    assert_eq!(answer.unwrap().unwrap(), Message::Close(Some(frame)));
    assert!(client.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn last_message_arrives_although_the_client_left_data_unread() {
    let Pair { mut wire, mut client, stop: _stop } = quick_pair().await;
    let large = Message::binary(vec![0; LARGEST_MESSAGE + 1]);
    let (sent, end) = tokio::join!(timeout(QUICK.unread, client.send(large)), async {
        let end = wire.next().await.unwrap_err();
        assert!(matches!(end, End::ClosedByNode(CloseCode::Size, _)));
        wire.end(end).await;
    });
    drop((sent, end));
    let Message::Close(Some(frame)) = client.next().await.unwrap().unwrap() else { panic!("it is closed") };
    assert_eq!(frame.code, CloseCode::Size);
}

#[tokio::test(start_paused = true)]
async fn silent_client_gets_a_ping_and_is_disconnected() {
    let begun = Instant::now();
    let Pair { mut wire, mut client, stop: _stop } = quick_pair().await;
    assert!(matches!(wire.next().await, Err(End::Gone)));
    assert!(begun.elapsed() >= 2 * QUICK.silence);
    assert!(matches!(client.next().now_or_never(), Some(Some(Ok(Message::Ping(_))))));
}

#[tokio::test(start_paused = true)]
async fn slow_reader_is_not_disconnected() {
    let pair = quick_pair().await;
    let text = pair.text(5 * CHUNK).await;
    let Pair { mut wire, mut client, stop: _stop } = pair;
    // The client reads nothing at first, but continues within the time for a chunk.
    let late = async {
        sleep(QUICK.silence * 5 / 2).await;
        client.next().await.unwrap().unwrap()
    };
    let (sent, _) = tokio::join!(wire.send(text), late);
    sent.unwrap();
    assert!(timeout(QUICK.silence / 2, wire.next()).await.is_err(), "the session continues");
}

#[tokio::test(start_paused = true)]
async fn client_that_does_not_read_is_disconnected_and_delays_no_stop() {
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
    assert!(matches!(sent, Err(End::ClosedByNode(CloseCode::Away, _))));
    assert!(begun.elapsed() < QUICK.unread);
}

#[tokio::test(start_paused = true)]
async fn running_request_gets_its_response_during_a_stop() {
    let Pair { mut wire, client: _client, stop } = quick_pair().await;
    stop.send_replace(true);
    assert_eq!(wire.meanwhile(sleep(QUICK.finish / 2).map(|()| 7)).await.unwrap(), 7);
    assert!(matches!(wire.meanwhile(pending::<()>()).await, Err(End::ClosedByNode(CloseCode::Away, _))));
    assert!(matches!(wire.next().await, Err(End::ClosedByNode(CloseCode::Away, _))));
}

#[tokio::test(start_paused = true)]
async fn client_that_holds_memory_and_does_not_read_is_disconnected() {
    let limits = HttpLimits {
        body_bytes: 1000,
        bodies_bytes: 4 * CHUNK,
        contended_timeout: Duration::from_millis(50),
        ..HttpLimits::default()
    };
    let slow = Times { unread: Duration::from_mins(1), ..QUICK };
    let mut pair = pair(slow, limits, 1000).await;
    let (text, lease) = (pair.text(3 * CHUNK).await, pair.wire.lease.clone());
    let (sent, memory) = tokio::join!(
        async {
            let sent = pair.wire.send(text).await;
            assert!(matches!(sent, Err(End::ClosedByNode(CloseCode::Again, _))), "{sent:?}");
        },
        lease.reserve(2 * CHUNK)
    );
    assert_eq!((sent, memory.is_some()), ((), true));
}

fn little_memory() -> HttpLimits {
    HttpLimits {
        body_bytes: 1000,
        bodies_bytes: LARGEST_MESSAGE,
        bodies_timeout: Duration::from_secs(2),
        contended_timeout: Duration::from_millis(50),
        ..HttpLimits::default()
    }
}

/// Limits that no client exceeds.
const SLOW: Times = Times { silence: Duration::from_hours(1), unread: Duration::from_hours(1), ..QUICK };

#[tokio::test(start_paused = true)]
async fn long_message_holds_memory_until_its_request_ends() {
    let Pair { mut wire, mut client, stop: _stop } = pair(SLOW, little_memory(), 1000).await;
    let long = Message::text("x".repeat(LARGEST_MESSAGE));
    let (message, _) = tokio::join!(wire.next(), client.send(long));
    let message = message.unwrap();
    assert_eq!((message.text.len(), message.memory.as_ref().unwrap().bytes()), (LARGEST_MESSAGE, LARGEST_MESSAGE));
    let mut other = wire.lease.memory();
    assert!(!other.reserve(1000).await);
    drop(message);
    assert!(wire.lease.memory().reserve(LARGEST_MESSAGE).await);
    let (message, _) = tokio::join!(wire.next(), client.send(Message::text("x".repeat(SHORT_MESSAGE / 2))));
    assert!(message.unwrap().memory.is_none(), "it is short");
}

#[tokio::test(start_paused = true)]
async fn message_without_memory_is_not_read() {
    let Pair { mut wire, mut client, stop: _stop } = pair(SLOW, little_memory(), 1000).await;
    let mut others = wire.lease.memory();
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
    let mut others = wire.lease.memory();
    assert!(others.reserve(LARGEST_MESSAGE).await);
    tokio::spawn(async move { client.send(Message::text("x".repeat(LARGEST_MESSAGE))).await });
    let end = wire.next().await;
    assert!(matches!(end, Err(End::ClosedByNode(CloseCode::Again, "too many large messages at once"))), "{end:?}");
}

#[tokio::test(start_paused = true)]
async fn unfinished_long_message_is_disconnected_for_memory() {
    let Pair { mut wire, mut client, stop: _stop } = pair(SLOW, little_memory(), 1000).await;
    let half = tokio::spawn(async move {
        let head = [&[0x81, 0xff][..], &(LARGEST_MESSAGE as u64).to_be_bytes(), &[0; 4]].concat();
        let stream = client.get_mut();
        stream.write_all(&head).await.unwrap();
        stream.write_all(&vec![b'x'; LARGEST_MESSAGE / 2]).await.unwrap();
        client
    });
    assert!(timeout(Duration::from_secs(10), wire.next()).await.is_err(), "it may take its time while it can");
    let lease = wire.lease.clone();
    let wanted = async { lease.memory().reserve(1000).await };
    let end = async {
        let end = wire.next().await;
        assert!(matches!(end, Err(End::ClosedByNode(CloseCode::Again, _))), "{end:?}");
        drop(wire);
    };
    assert!(tokio::join!(wanted, end).0);
    drop(half);
}

#[tokio::test(start_paused = true)]
async fn notifications_leave_memory_to_requests() {
    let limits = HttpLimits { body_bytes: 1000, bodies_bytes: 8 * CHUNK, ..HttpLimits::default() };
    let lease = MemoryLease::alone(limits, Arc::default());
    let push = lease.reserve(3 * CHUNK).await;
    let mut waits = Box::pin(lease.reserve(2 * CHUNK));
    assert!(waits.as_mut().now_or_never().is_none(), "half of the memory is for them");
    let requests = Reply::whole(vec![b'x'; 4 * CHUNK], lease.memory());
    assert!(lease.body(requests).now_or_never().is_some_and(|body| body.is_some()), "the other half is not");
    drop(push);
    assert!(waits.await.is_some());
    assert!(lease.reserve(4 * CHUNK).await.is_some());
    // A text that is larger than half of the budget could never reserve its memory.
    assert!(lease.reserve(4 * CHUNK + 1).await.is_none());
}
