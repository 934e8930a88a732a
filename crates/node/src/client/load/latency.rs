//! Percentiles of the response times of requests.

use std::{fmt, time::Duration};

/// Response times, in ascending order.
#[derive(Clone, Debug, Default)]
pub(super) struct Latencies(Vec<Duration>);

impl Latencies {
    pub(super) fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self(times)
    }

    /// Returns the percentile `per_mille`, in thousandths, by nearest rank: at least `per_mille` of 1000 requests took
    /// at most this time. Returns `None` if there are no requests.
    pub(super) fn percentile(&self, per_mille: usize) -> Option<Duration> {
        let rank = self.0.len().saturating_mul(per_mille).div_ceil(1000).max(1);
        self.0.get(rank - 1).copied()
    }
}

impl fmt::Display for Latencies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [("p50", 500), ("p90", 900), ("p99", 990), ("p99.9", 999), ("max", 1000)];
        let mut separator = "";
        for (name, per_mille) in names {
            let time = self.percentile(per_mille).unwrap_or_default();
            write!(f, "{separator}{name} {}.{:03} ms", time.as_micros() / 1000, time.as_micros() % 1000)?;
            separator = ", ";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_ranks() {
        let latencies = Latencies::of((1..=200).rev().map(Duration::from_millis).collect());
        let check = |per_mille, ms| assert_eq!(latencies.percentile(per_mille), Some(Duration::from_millis(ms)));
        check(500, 100);
        check(990, 198);
        check(999, 200);
        check(1000, 200);
        check(0, 1);
        assert_eq!(Latencies::default().percentile(500), None);
    }

    #[test]
    fn text_is_in_milliseconds() {
        let text = Latencies::of(vec![Duration::from_micros(1_234)]).to_string();
        assert_eq!(text, "p50 1.234 ms, p90 1.234 ms, p99 1.234 ms, p99.9 1.234 ms, max 1.234 ms");
    }
}
