//! Relays between members. Each relay can delay or refuse the messages of its two members.

use std::{
    io::{self, Read, Write},
    net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream},
    process::Command,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use silica_tests::node::binary;

use super::{
    MEMBERS,
    plan::{Kind, Mix},
    topology::{State, Topology, crosses},
};

/// Time between two checks whether a delay is over.
const RHYTHM: Duration = Duration::from_millis(20);

/// The kinds of trials, of which 28 trials have 20 that kill one member and 2 that kill all.
pub(super) const MIX: Mix = Mix {
    once: &[
        Kind::Kill,
        Kind::KillAll,
        Kind::Halves,
        Kind::Alone,
        Kind::FullDisk,
        Kind::Frozen,
        Kind::Slow,
        Kind::Rolling,
    ],
    more: &[(Kind::KillAll, 1), (Kind::Kill, 19)],
    longest_cut: Duration::from_secs(5),
};

/// Four members at the loopback address, with a relay for each direction of each pair.
#[derive(Debug)]
pub(super) struct Relays {
    /// Port of the first member. The ports of the others follow.
    first: u16,
    /// The relays from the first member to the second.
    relays: Vec<((usize, usize), Relay)>,
}

impl Relays {
    /// Starts the relays to members that listen at successive ports from `first` on.
    pub(super) fn start(first: u16) -> Self {
        let pairs = (0..MEMBERS).flat_map(|from| (0..MEMBERS).zip(first..).map(move |(to, port)| (from, to, port)));
        let pairs = pairs.filter(|(from, to, _)| from != to);
        let relays = pairs.map(|(from, to, port)| ((from, to), Relay::start(port).expect("a port is free")));
        Self { first, relays: relays.collect() }
    }
}

impl Topology for Relays {
    fn agreement(&self, from: usize, to: usize) -> SocketAddr {
        let relay = self.relays.iter().find(|(pair, _)| *pair == (from, to)).map(|(_, relay)| relay.address());
        let port = (self.first..).nth(to).unwrap_or_default();
        relay.unwrap_or_else(|| (Ipv4Addr::LOCALHOST, port).into())
    }

    fn service(&self, _: usize) -> IpAddr {
        Ipv4Addr::LOCALHOST.into()
    }

    fn starter(&self, _: usize) -> Command {
        Command::new(binary())
    }

    fn separate(&mut self, side: &[usize], state: State) {
        for ((from, to), relay) in &self.relays {
            if crosses(side, *from, *to) {
                relay.set(state);
            }
        }
    }

    fn cut(&self, _: &[usize], state: State) -> &'static str {
        if state == State::Closed { "closed connections" } else { "delayed messages" }
    }
}

#[derive(Debug)]
struct Shared {
    state: Mutex<(State, Vec<TcpStream>)>,
}

impl Shared {
    fn state(&self) -> State {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).0
    }
}

/// A listener that connects to a member.
#[derive(Debug)]
pub(super) struct Relay {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl Relay {
    /// Starts a relay to a port of this machine, on a free port. Its thread ends with this process.
    pub(super) fn start(to: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared { state: Mutex::new((State::Open, Vec::new())) });
        let relay = Self { address, shared: Arc::clone(&shared) };
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // The member can be down. Then both streams end here.
                drop(connect(stream, to, &shared));
            }
        });
        Ok(relay)
    }

    /// Returns the address of the listener.
    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Changes the state.
    pub(super) fn set(&self, state: State) {
        let mut current = self.shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        current.0 = state;
        if state == State::Closed {
            for stream in current.1.drain(..) {
                // The other end can have closed the connection.
                drop(stream.shutdown(Shutdown::Both));
            }
        }
    }
}

/// Connects a stream to a port, and starts a thread for each direction.
fn connect(stream: TcpStream, to: u16, shared: &Arc<Shared>) -> io::Result<()> {
    if shared.state() == State::Closed {
        return Ok(());
    }
    let member = TcpStream::connect((Ipv4Addr::LOCALHOST, to))?;
    for stream in [&stream, &member] {
        stream.set_nodelay(true)?;
    }
    let copies = [(stream.try_clone()?, member.try_clone()?), (member.try_clone()?, stream.try_clone()?)];
    let mut current = shared.state.lock().unwrap_or_else(PoisonError::into_inner);
    if current.0 == State::Closed {
        return Ok(());
    }
    current.1.retain(|stream| stream.peer_addr().is_ok());
    current.1.extend([stream, member]);
    drop(current);
    for (from, to) in copies {
        let shared = Arc::clone(shared);
        thread::spawn(move || {
            // An error ends the connection, as the end of the stream does.
            drop(copy(&from, &to, &shared));
            drop(from.shutdown(Shutdown::Both));
            drop(to.shutdown(Shutdown::Both));
        });
    }
    Ok(())
}

/// Copies bytes until the end of the stream.
fn copy(mut from: &TcpStream, mut to: &TcpStream, shared: &Shared) -> io::Result<()> {
    let mut bytes = vec![0; 64 << 10];
    loop {
        let count = from.read(&mut bytes)?;
        while shared.state() == State::Delayed {
            thread::sleep(RHYTHM);
        }
        match bytes.get(..count) {
            None | Some([]) => return Ok(()),
            Some(read) => to.write_all(read)?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relay_delays_and_closes() {
        let member = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let relay = Relay::start(member.local_addr().unwrap().port()).unwrap();
        let mut client = TcpStream::connect(relay.address()).unwrap();
        let mut other = member.accept().unwrap().0;
        let mut byte = [0];
        client.write_all(b"a").unwrap();
        other.read_exact(&mut byte).unwrap();
        other.write_all(b"b").unwrap();
        client.read_exact(&mut byte).unwrap();
        assert_eq!(byte, *b"b");

        relay.set(State::Delayed);
        client.write_all(b"c").unwrap();
        other.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        other.read_exact(&mut byte).unwrap_err();
        relay.set(State::Open);
        other.set_read_timeout(None).unwrap();
        other.read_exact(&mut byte).unwrap();
        assert_eq!(byte, *b"c");

        relay.set(State::Closed);
        assert_eq!(client.read(&mut byte).unwrap(), 0);
        assert_eq!(other.read(&mut byte).unwrap(), 0);
        let mut refused = TcpStream::connect(relay.address()).unwrap();
        assert!(matches!(refused.read(&mut byte), Ok(0) | Err(_)));
        relay.set(State::Open);
        let mut again = TcpStream::connect(relay.address()).unwrap();
        member.accept().unwrap().0.write_all(b"d").unwrap();
        again.read_exact(&mut byte).unwrap();
        assert_eq!(byte, *b"d");
    }
}
