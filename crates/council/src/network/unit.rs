//! Texts with a unit: durations and sizes.

use std::time::Duration;

/// Names of the units of time, with their length in milliseconds.
const TIMES: [(&str, u64); 3] = [("ms", 1), ("s", 1_000), ("m", 60_000)];
/// Names of the units of size, with their bytes.
const SIZES: [(&str, u64); 2] = [("KiB", 1 << 10), ("MiB", 1 << 20)];

/// Parses a duration, for example `250ms`, `1s` or `5m`.
pub(super) fn duration(text: &str) -> Option<Duration> {
    parse(text, &TIMES).map(Duration::from_millis)
}

/// Parses a size, for example `512KiB` or `4MiB`. Returns bytes.
pub(super) fn size(text: &str) -> Option<u64> {
    parse(text, &SIZES)
}

fn parse(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let (digits, unit) = text.split_at_checked(text.bytes().take_while(u8::is_ascii_digit).count())?;
    let (_, factor) = units.iter().find(|(name, _)| *name == unit)?;
    digits.parse::<u64>().ok()?.checked_mul(*factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_one_unit() {
        assert_eq!(duration("250ms"), Some(Duration::from_millis(250)));
        assert_eq!(duration("1s"), Some(Duration::from_secs(1)));
        assert_eq!(duration("2m"), Some(Duration::from_mins(2)));
        assert_eq!(size("512KiB"), Some(512 * 1024));
        assert_eq!(size("4MiB"), Some(4 * 1024 * 1024));
        for text in ["", "1", "s", "1 s", "-1s", "+1s", "1.5s", "1h", "1S", "1sms", "18446744073709551615s", "é1s"] {
            assert_eq!(duration(text), None, "{text}");
        }
        for text in ["4", "4MB", "4mib", "4GiB", "18446744073709551615KiB"] {
            assert_eq!(size(text), None, "{text}");
        }
    }
}
