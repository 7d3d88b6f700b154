//! Hostnames of listeners and routes: what both have in common, and which of them come first.
//!
//! https://gateway-api.sigs.k8s.io/reference/spec/, `Listener.hostname` and `HTTPRouteSpec.hostnames`. A wildcard stands for one or more labels.

use haptic_model::host_name::{is_host, suffix};
use std::sync::Arc;

/// For every host.
pub(super) const ANY: &str = "*";

/// The most labels behind a wildcard: HAProxy asks for each number of labels.
pub(super) const MOST_LABELS: usize = 8;

/// As hostnames are compared. `None` where it is none that can be served.
pub(super) fn read(text: &str) -> Option<Arc<str>> {
    let text = text.to_ascii_lowercase();
    let is_short = suffix(&text).is_none_or(|rest| rest.matches('.').count() <= MOST_LABELS);
    (is_host(&text) && is_short).then(|| text.into())
}

/// Whether there are hosts that both are for; [`ANY`] is for all.
pub(super) fn intersect(listener: &str, route: &str) -> bool {
    listener == ANY || route == ANY || listener == route || covers(listener, route) || covers(route, listener)
}

/// Whether all hosts of `hostname` are ones of `wider`, too; [`ANY`] is for all.
pub(super) fn is_within(hostname: &str, wider: &str) -> bool {
    wider == ANY || hostname == wider || covers(wider, hostname)
}

/// The endings of wildcards over a hostname, the longest first: `.b.example` and `.example` of `a.b.example`.
pub(super) fn endings(hostname: &str) -> impl Iterator<Item = &str> {
    let host = suffix(hostname).unwrap_or(hostname);
    let ends = host.match_indices('.').filter_map(move |(at, _)| host.get(at..));
    ends.filter(move |end| end.len() < host.len())
}

/// Whether `wildcard` is one, and for `host` or all hosts of the wildcard `host`.
fn covers(wildcard: &str, host: &str) -> bool {
    let host = suffix(host).unwrap_or(host);
    suffix(wildcard).is_some_and(|end| host.len() > end.len() && host.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostnames_intersect_as_the_specification_says() {
        for (listener, route, both) in [
            (ANY, "a.com", true),
            ("a.b.com", ANY, true),
            ("a.b.com", "*.b.com", true),
            ("*.b.com", "x.y.b.com", true),
            ("*.b.com", "*.y.b.com", true),
            ("*.y.b.com", "*.b.com", true),
            ("*.b.com", "b.com", false),
            ("*.b.com", "xb.com", false),
            ("a.com", "b.com", false),
            ("*.a.com", "*.b.com", false),
        ] {
            assert_eq!(intersect(listener, route), both, "{listener} {route}");
        }
    }

    #[test]
    fn wildcards_over_a_hostname_end_with_its_ends() {
        assert_eq!(endings("a.b.example").collect::<Vec<_>>(), [".b.example", ".example"]);
        assert_eq!(endings("*.b.example").collect::<Vec<_>>(), [".example"]);
        assert!(endings(ANY).next().is_none() && endings("example").next().is_none());
    }

    #[test]
    fn what_is_no_host_or_too_deep_is_none() {
        assert_eq!(read("A.Example").as_deref(), Some("a.example"));
        assert!(read("*.a.b.c.d.e.f.g.h").is_some() && read("*.a.b.c.d.e.f.g.h.i").is_none());
        for none in ["", "*", "a|b", "10.0.0.1/8", "a b"] {
            assert!(read(none).is_none(), "{none}");
        }
    }
}
