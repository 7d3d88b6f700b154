//! Times and sizes as people write them, as HAProxy's rules compute with them.

/// The longest time HAProxy's timers can hold is below 2^31 ms.
const LONGEST: u64 = i32::MAX as u64;

/// A time with its unit (us, ms, s, m, h or d) in milliseconds.
#[must_use]
pub fn milliseconds(text: &str) -> Option<u64> {
    let (number, unit) = split(text)?;
    let milliseconds = match unit {
        "us" => number / 1000,
        "ms" => number,
        "s" => number.checked_mul(1000)?,
        "m" => number.checked_mul(60_000)?,
        "h" => number.checked_mul(3_600_000)?,
        "d" => number.checked_mul(86_400_000)?,
        _ => return None,
    };
    (milliseconds <= LONGEST).then_some(milliseconds)
}

/// A size (k, m or g, each 1024 times the one before; bytes without a unit) in bytes.
#[must_use]
pub fn byte_count(text: &str) -> Option<u64> {
    let (number, unit) = split(text)?;
    let factor = match unit {
        "" => 1,
        "k" | "K" => 1 << 10,
        "m" | "M" => 1 << 20,
        "g" | "G" => 1 << 30,
        _ => return None,
    };
    number.checked_mul(factor).filter(|n| *n < 1 << 53)
}

/// In which requests are counted: HAProxy has a table for each.
pub const PERIODS: &[&str] =
    &["second", "minute", "hour", "2s", "5s", "10s", "15s", "30s", "2m", "5m", "10m", "15m", "30m"];

/// In how many milliseconds requests are counted by one of [`PERIODS`].
#[must_use]
pub fn milliseconds_of(period: &str) -> Option<u64> {
    match period {
        "second" => Some(1000),
        "minute" => Some(60_000),
        "hour" => Some(3_600_000),
        time => milliseconds(time),
    }
}

/// Digits and nothing else.
pub(super) fn number(text: &str) -> Option<u64> {
    split(text).filter(|(_, unit)| unit.is_empty()).map(|(number, _)| number)
}

/// Digits, then a unit.
fn split(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at_checked(end)?;
    Some((digits.parse().ok()?, unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_are_numbers_with_known_units_and_fit() {
        assert_eq!(["500ms", "1h", "2d"].map(milliseconds), [500, 3_600_000, 172_800_000].map(Some));
        assert_eq!(["", "30", "s", "-1s", "1.5s", "1w", "99999999d"].map(milliseconds), [None; 7]);
        assert_eq!(["7", "1k", "2G"].map(byte_count), [7, 1024, 2 << 30].map(Some));
        assert_eq!(["", "k", "1kb", "99999999999999999999"].map(byte_count), [None; 4]);
    }
}
