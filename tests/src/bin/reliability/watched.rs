//! A connection that measures how late its client reads.

use std::{
    collections::VecDeque,
    io::{self, Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

/// Time between two polls of an idle connection.
const RHYTHM: Duration = Duration::from_millis(20);

/// Length of the period before the last poll in which delays count.
const KNOWN: Duration = Duration::from_secs(5);

/// A connection whose client polls for incoming bytes. If the time between two polls is longer than [`RHYTHM`], the
/// client was busy or not scheduled.
#[derive(Debug)]
pub(crate) struct Watched {
    stream: TcpStream,
    patience: Duration,
    looks: Looks,
}

impl Watched {
    /// Polls a connection whose client waits at most `patience` for bytes.
    pub(crate) fn new(stream: TcpStream, patience: Duration) -> io::Result<Self> {
        stream.set_read_timeout(Some(RHYTHM))?;
        Ok(Self { stream, patience, looks: Looks::begin(Instant::now()) })
    }

    /// Returns the sum of the delays in the last five seconds of polls.
    pub(crate) fn late(&self) -> Duration {
        self.looks.late()
    }
}

impl Read for Watched {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let begun = Instant::now();
        loop {
            let read = self.stream.read(buffer);
            self.looks.add(Instant::now());
            match read {
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
                        && begun.elapsed() < self.patience => {}
                read => return read,
            }
        }
    }
}

impl Write for Watched {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// The polls of a connection.
#[derive(Debug)]
struct Looks {
    last: Instant,
    /// The late polls, with their delays.
    late: VecDeque<(Instant, Duration)>,
}

impl Looks {
    fn begin(now: Instant) -> Self {
        Self { last: now, late: VecDeque::new() }
    }

    fn add(&mut self, now: Instant) {
        let late = now.saturating_duration_since(self.last).saturating_sub(RHYTHM);
        self.last = now;
        self.late.retain(|(at, _)| now.saturating_duration_since(*at) < KNOWN);
        if !late.is_zero() {
            self.late.push_back((now, late));
        }
    }

    fn late(&self) -> Duration {
        self.late.iter().map(|(_, late)| *late).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_that_polls_in_time_is_never_late() {
        let begun = Instant::now();
        let mut looks = Looks::begin(begun);
        for number in 1..1000 {
            looks.add(begun + number * RHYTHM);
        }
        assert_eq!(looks.late(), Duration::ZERO);
    }

    #[test]
    fn delays_add_up_and_expire() {
        let begun = Instant::now();
        let mut looks = Looks::begin(begun);
        looks.add(begun + RHYTHM + Duration::from_millis(700));
        looks.add(begun + 2 * RHYTHM + Duration::from_millis(1_200));
        assert_eq!(looks.late(), Duration::from_millis(1_200));
        looks.add(begun + 3 * RHYTHM + Duration::from_millis(1_200));
        assert_eq!(looks.late(), Duration::from_millis(1_200));
        // A delay that is as long as the counted time counts in full.
        looks.add(begun + 4 * RHYTHM + Duration::from_millis(1_200) + KNOWN);
        assert_eq!(looks.late(), KNOWN);
    }
}
