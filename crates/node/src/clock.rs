//! The only reading of the time.

use std::time::{SystemTime, UNIX_EPOCH};

use silica_protocol::Timestamp;

/// Returns the time of the system's clock; the beginning of 1970 if the clock is set before it.
#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the time")]
pub(crate) fn now() -> Timestamp {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::new(u64::try_from(since_1970.as_micros()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_in_microseconds_of_this_century() {
        let year_2020 = 1_577_836_800_000_000;
        let year_2100 = 4_102_444_800_000_000;
        assert!((year_2020..year_2100).contains(&now().get()));
    }
}
