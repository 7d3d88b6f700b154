//! The worst texts: long in each way that costs somebody, and of characters that mean something on the way to HAProxy.

/// Of a value that a careless reader multiplies.
pub const LARGE: usize = 16 << 10;
/// Of a value that fills an object's annotations.
pub const HUGE: usize = 240 << 10;

/// Texts of about `size` bytes, each with its name.
#[must_use]
pub fn shapes(size: usize) -> Vec<(&'static str, String)> {
    let of = |unit: &str| unit.repeat(size / unit.len());
    vec![
        ("lines", of("v\n")),
        ("header lines", (0..size / 12).fold(String::new(), |text, n| text + &format!("X-{n}: v\n"))),
        ("commas", of("v,")),
        ("networks", numbered(size, |n| format!("10.{}.{}.{}/32", n >> 16 & 255, n >> 8 & 255, n & 255))),
        ("origins", numbered(size, |n| format!("https://o{n}.example"))),
        ("one word", of("a")),
        ("one path", format!("/{}", of("a/"))),
        ("digits", of("9")),
        ("blanks", of(" ")),
        ("parentheses", of("(")),
        ("quotes", of("\"'\\")),
        ("percent signs", of("%[")),
        ("pipes", of("a=b|")),
        ("control characters", of("\u{1}\r\u{7f}")),
        ("zeros", of("\0")),
        // Characters of the private use area stand for something inside.
        ("marks", of("\u{e000}\u{e001}\u{e002}\u{f8ff}")),
        ("wide characters", of("\u{10ffff}\u{1f600}")),
    ]
}

fn numbered(size: usize, of: impl Fn(usize) -> String) -> String {
    let mut text = String::new();
    for number in 0.. {
        let next = of(number);
        if text.len() + next.len() + 1 > size {
            break;
        }
        if !text.is_empty() {
            text.push(',');
        }
        text.push_str(&next);
    }
    text
}

/// Regular expressions that cost time to match, or memory to compile.
#[must_use]
pub fn regexes() -> Vec<String> {
    vec![
        r"^/(a+)+$".into(),
        r"^/(a|aa)+$".into(),
        r"^/(.*)*(.*)*(.*)*x$".into(),
        r"^/((a{1,30}){1,30}){1,30}$".into(),
        r"^/(?:(?:a{1000}){1000}){1000}".into(),
        r"^/(a?){500}(a){500}$".into(),
        r"^/(?R)?b".into(),
        r"^/(?=(a+))\1+b".into(),
        r"^/(?<!a{1,100})b".into(),
        format!("^/{}", "a?".repeat(1000)),
        format!("^/{}b{}", "(".repeat(200), ")*".repeat(200)),
        format!("^/({})", "abc|".repeat(LARGE / 4) + "x"),
        format!("^/{}", "a".repeat(LARGE)),
        r"^/[\x{0}-\x{10ffff}]{1,1000}\p{L}*x".into(),
    ]
}

/// A path on which a regular expression of [`regexes`] is slow.
#[must_use]
pub fn slow_path() -> String {
    format!("/{}!", "a".repeat(4000))
}

/// Values of a number, a time or a size that no sane person writes, but an API server takes.
#[must_use]
pub fn numbers() -> Vec<String> {
    let long = "9".repeat(400);
    let all = [
        "0",
        "-1",
        "+1",
        "30",
        "1.5",
        "1e309",
        "0x10",
        "NaN",
        "inf",
        " 7 ",
        "7\n",
        "1_000",
        "٣",
        "2147483648",
        "4294967296",
        "9223372036854775807",
        "18446744073709551616",
        "25d",
        "99999999999d",
        "1us",
        "1ns",
        "1M",
        "1ms1s",
        "999999999999g",
        "16777216t",
        "",
        "true",
        "null",
    ];
    all.into_iter().map(str::to_owned).chain([long]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_about_as_large_as_asked_for_and_fit_into_annotations() {
        for (name, text) in shapes(HUGE) {
            assert!(text.len() > HUGE / 2 && text.len() < HUGE + (8 << 10), "{name}: {}", text.len());
        }
    }
}
