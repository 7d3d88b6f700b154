//! Host names as Kubernetes writes them, and the patterns that stand for many of them.

/// The pattern that covers every host.
pub const EVERY_HOST: &str = "*";

/// The longest name that DNS knows, and its longest part between two dots.
const LONGEST: usize = 253;
const LONGEST_LABEL: usize = 63;

/// Whether `host`, in lower case, is a host name such as `shop.example`, or a wildcard such as `*.shop.example`.
#[must_use]
pub fn is_host(host: &str) -> bool {
    let name = host.strip_prefix("*.").unwrap_or(host);
    host.len() <= LONGEST && name.split('.').all(is_label)
}

fn is_label(label: &str) -> bool {
    let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    (1..=LONGEST_LABEL).contains(&label.len())
        && label.bytes().all(inner)
        && !label.starts_with('-')
        && !label.ends_with('-')
}

/// The part of a wildcard that every host below it ends with, `.shop.example` of `*.shop.example`.
#[must_use]
pub fn suffix(pattern: &str) -> Option<&str> {
    pattern.strip_prefix('*').filter(|suffix| suffix.starts_with('.'))
}

/// The wildcard over the first label of a host that is none itself.
#[must_use]
pub fn wildcard_over(host: &str) -> Option<String> {
    let (first, parent) = host.split_once('.')?;
    (!first.is_empty() && first != "*").then(|| format!("*.{parent}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_told_from_what_only_looks_like_them() {
        let longest =
            format!("{}.example", ["a".repeat(63), "b".repeat(63), "c".repeat(63), "d".repeat(53)].join("."));
        for host in ["example", "a.example", "*.example", "a-b.1.example", "10.0.0.1", &longest] {
            assert!(is_host(host), "{host}");
        }
        let label = format!("{}.example", "a".repeat(64));
        let long = format!("a{longest}");
        for host in [
            "",
            "*",
            "*.",
            "a.*.example",
            "*a.example",
            "a.example/auth",
            "a..example",
            "a.example.",
            ".example",
            "-a.example",
            "a-.example",
            "A.example",
            "a b",
            "a_b.example",
            "ä.example",
            "a\n.example",
            &label,
            &long,
        ] {
            assert!(!is_host(host), "{host}");
        }
    }

    #[test]
    fn the_wildcard_over_a_host_covers_one_label() {
        assert_eq!(wildcard_over("a.b.example").as_deref(), Some("*.b.example"));
        assert_eq!(wildcard_over("*.b.example"), None);
        assert_eq!(wildcard_over("example"), None);
        assert_eq!(suffix("*.b.example"), Some(".b.example"));
        assert_eq!((suffix("*"), suffix("b.example")), (None, None));
    }
}
