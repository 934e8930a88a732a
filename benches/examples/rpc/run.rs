//! The choice of rows, and the comparison of servers in turns.

use std::{env, time::Duration};

use silica_benches::number_setting;

use crate::{Client, Requests, Server};

/// Number of turns of a comparison.
const TURNS: usize = 30;

/// The chosen rows, and the size of the measurements.
pub(crate) struct Run {
    /// A part of the names of the chosen rows.
    part: String,
    divisor: usize,
}

impl Run {
    /// Reads the argument and the variable of the program.
    ///
    /// # Errors
    ///
    /// No row has such a name, or the variable is malformed.
    pub(crate) fn from_environment(rows: &[&str]) -> Result<Self, String> {
        let part = env::args().nth(1).unwrap_or_default();
        if !rows.iter().any(|name| name.contains(&part)) {
            return Err(format!("NAME: expected a part of one of {rows:?}, got {part}"));
        }
        let divisor = number_setting("DIVISOR", env::var_os("DIVISOR").as_deref(), 1..=1000)?.unwrap_or(1);
        Ok(Self { part, divisor: usize::try_from(divisor).unwrap_or(1) })
    }

    /// Returns whether a row is chosen.
    pub(crate) fn has(&self, name: &str) -> bool {
        name.contains(&self.part)
    }

    /// Returns the share of a number that the run uses, at least 1.
    pub(crate) fn share(&self, number: usize) -> usize {
        (number / self.divisor).max(1)
    }

    pub(crate) fn turns(&self) -> usize {
        self.share(TURNS)
    }

    /// Measures the servers in turns, so that other load slows all of them equally. Returns the median times of a
    /// request.
    pub(crate) fn turn_by_turn<const N: usize>(&self, mut subjects: [Turn<'_>; N]) -> [Duration; N] {
        let mut times = [const { Vec::new() }; N];
        for _ in 0..self.turns() {
            for (subject, times) in subjects.iter_mut().zip(&mut times) {
                times.push(subject.measure());
            }
        }
        times.map(|mut times| {
            let middle = times.len() / 2;
            *times.select_nth_unstable(middle).1
        })
    }
}

/// Requests to one server in each turn, and the work after them.
pub(crate) struct Turn<'a> {
    server: &'a Server,
    client: Client,
    requests: usize,
    /// The measured work after the requests of a turn. The argument is the number of all requests.
    measured: Option<Box<dyn FnMut(usize) + 'a>>,
    /// Whether the server makes a block after each turn, outside of the measurement.
    makes_blocks: bool,
}

impl<'a> Turn<'a> {
    /// Returns turns of `requests` requests.
    pub(crate) fn new(server: &'a Server, all: &Requests, requests: usize) -> Self {
        Self { server, client: Client::connect(server, all), requests, measured: None, makes_blocks: false }
    }

    /// Measures also `work`, which gets the number of all requests.
    pub(crate) fn and_then(self, work: impl FnMut(usize) + 'a) -> Self {
        Self { measured: Some(Box::new(work)), ..self }
    }

    /// Makes a block after each turn. The block is not measured.
    pub(crate) fn and_a_block(self) -> Self {
        Self { makes_blocks: true, ..self }
    }

    /// Returns the processor time of the server for a request.
    fn measure(&mut self) -> Duration {
        let before = self.server.processor_time();
        self.client.ask(self.requests);
        if let Some(work) = &mut self.measured {
            work(self.client.sent());
        }
        let time = self.server.processor_time().saturating_sub(before);
        if self.makes_blocks {
            self.server.make_blocks(1);
        }
        time / u32::try_from(self.requests).expect("a turn has few requests")
    }
}
