//! Connections between members that are slow, break, and stop.

use std::{
    collections::BTreeSet,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use chacha20::{
    ChaCha8Rng,
    rand_core::{Rng as _, SeedableRng as _},
};
use silica_council::NetworkFile;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    runtime::{Builder, Runtime},
    sync::{Notify, watch},
    time::sleep,
};

/// Longest delay of a chunk of bytes, in milliseconds.
const DELAY: u64 = 50;

/// Shortest time between two breaks of connections, in milliseconds. The longest one is twice as long.
const BREAK: u64 = 1_000;

/// The way of bytes from one member to another.
pub(crate) type Way = (usize, usize);

/// The ways on which all bytes wait.
type Stopped = watch::Receiver<BTreeSet<Way>>;

/// A relay for the connections that one member makes to another.
struct Relay {
    /// The member that connects, and the other one.
    ends: Way,
    /// The address at which the relay listens.
    address: SocketAddr,
    /// The address at which the other member listens.
    target: String,
    breaks: Notify,
    /// Number of connections that the relay has broken.
    broken: AtomicU64,
}

/// A relay for each ordered pair of members. The members encrypt their connections, so a relay reads no message.
pub(crate) struct Relays {
    _runtime: Runtime,
    pairs: Vec<Arc<Relay>>,
    stopped: watch::Sender<BTreeSet<Way>>,
}

/// Returns a random number below a limit.
pub(crate) fn draw(random: &mut ChaCha8Rng, below: u64) -> u64 {
    random.next_u64() % below
}

/// Copies bytes in their order. A chunk waits for a random time, and while its way is stopped.
async fn copy(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, way: Way, mut stopped: Stopped, mut random: ChaCha8Rng) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(len @ 1..) = from.read(&mut bytes).await {
        sleep(Duration::from_millis(draw(&mut random, DELAY + 1))).await;
        let is_open = stopped.wait_for(|stopped| !stopped.contains(&way)).await.is_ok();
        if !is_open || to.write_all(&bytes[..len]).await.is_err() {
            return;
        }
    }
}

impl Relay {
    async fn serve(self: Arc<Self>, listener: std::net::TcpListener, stopped: Stopped, mut random: ChaCha8Rng) {
        let listener = TcpListener::from_std(listener).unwrap();
        while let Ok((near, _)) = listener.accept().await {
            let random = ChaCha8Rng::seed_from_u64(random.next_u64());
            tokio::spawn(Arc::clone(&self).connect(near, stopped.clone(), random));
        }
    }

    /// Connects to the other member. The connection ends if there is no such member, or if one end closes.
    async fn connect(self: Arc<Self>, near: TcpStream, stopped: Stopped, mut random: ChaCha8Rng) {
        let Ok(far) = TcpStream::connect(&self.target).await else { return };
        let ((from_near, to_near), (from_far, to_far)) = (near.into_split(), far.into_split());
        let ((near, far), back) = (self.ends, ChaCha8Rng::seed_from_u64(random.next_u64()));
        tokio::select! {
            () = copy(from_near, to_far, (near, far), stopped.clone(), random) => {}
            () = copy(from_far, to_near, (far, near), stopped, back) => {}
            () = self.breaks.notified() => {
                self.broken.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

/// Breaks all connections between two random members, again and again.
async fn break_connections(relays: Vec<Arc<Relay>>, mut random: ChaCha8Rng) {
    loop {
        sleep(Duration::from_millis(BREAK + draw(&mut random, BREAK))).await;
        let relay = usize::try_from(random.next_u32()).unwrap() % relays.len();
        let (near, far) = relays[relay].ends;
        for relay in relays.iter().filter(|relay| [(near, far), (far, near)].contains(&relay.ends)) {
            relay.breaks.notify_waiters();
        }
    }
}

impl Relays {
    /// Starts the relays between the members of a network. Their faults follow from a seed.
    pub(crate) fn start(file: &NetworkFile, seed: u64) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let (stopped, receiver) = watch::channel(BTreeSet::new());
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let members = file.addresses().iter().map(|address| address.member);
        let ends = members.flat_map(|near| file.addresses().iter().map(move |far| (near, far)));
        let mut pairs = Vec::new();
        for (near, far) in ends.filter(|(near, far)| *near != far.member) {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            listener.set_nonblocking(true).unwrap();
            let relay = Arc::new(Relay {
                ends: (near, far.member),
                address: listener.local_addr().unwrap(),
                target: far.agreement.clone(),
                breaks: Notify::new(),
                broken: AtomicU64::new(0),
            });
            let random = ChaCha8Rng::seed_from_u64(random.next_u64());
            runtime.spawn(Arc::clone(&relay).serve(listener, receiver.clone(), random));
            pairs.push(relay);
        }
        runtime.spawn(break_connections(pairs.clone(), random));
        Self { _runtime: runtime, pairs, stopped }
    }

    /// Replaces the addresses of the others in the network file of a member by those of the relays.
    pub(crate) fn route(&self, member: usize, text: &str) -> String {
        let relays = self.pairs.iter().filter(|relay| relay.ends.0 == member);
        relays.fold(text.to_owned(), |text, relay| {
            text.replace(&format!("\"{}\"", relay.target), &format!("\"{}\"", relay.address))
        })
    }

    /// Stops all bytes on these ways, and on no others. The connections stay open.
    pub(crate) fn stop(&self, ways: impl IntoIterator<Item = Way>) {
        self.stopped.send_replace(ways.into_iter().collect());
    }

    /// Returns the number of connections that the relays have broken.
    pub(crate) fn broken(&self) -> u64 {
        self.pairs.iter().map(|relay| relay.broken.load(Ordering::Relaxed)).sum()
    }
}
