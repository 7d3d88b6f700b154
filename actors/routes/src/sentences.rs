//! Sentences about an object: few, and short, whatever the object holds.

use haptic_model::Finding;
use std::{collections::HashSet, fmt::Display, sync::Arc};

/// The most findings that are told of an object.
const MOST: usize = 20;
/// The most bytes of a value that are quoted.
const LONGEST: usize = 200;

/// The first `MOST` findings, each once, and how many more there would be.
pub(crate) fn few(mut findings: Vec<Finding>) -> Vec<Finding> {
    let mut known = HashSet::new();
    findings.retain(|finding| known.insert(finding.clone()));
    let more = findings.len().saturating_sub(MOST);
    let first_untold = findings.get(MOST).map(|finding| finding.kind);
    if let Some(kind) = first_untold {
        findings.truncate(MOST);
        findings.push(Finding::new(kind, format!("and {more} more like these")));
    }
    findings
}

/// A value as a sentence quotes it.
pub(crate) fn shortened(value: &str) -> String {
    haptic_text::shortened(value, LONGEST).into_owned()
}

/// Namespaces, by name.
pub(crate) fn named(namespaces: &[Arc<str>]) -> String {
    const NAMED: usize = 3;
    let names: Vec<&str> = namespaces.iter().take(NAMED).map(|name| &**name).collect();
    let kind = if namespaces.len() == 1 { "namespace" } else { "the namespaces" };
    let more = namespaces.len().saturating_sub(NAMED);
    let rest: &dyn Display = if more > 0 { &format!(" and {more} more") } else { &"" };
    format!("{kind} {}{rest}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn however_much_there_is_to_say_little_is_said() {
        let one = |text: &str| Finding::new(haptic_model::FindingKind::RouteConflict, text);
        let all = few((0..5_000).map(|n| one(&n.to_string())).collect());
        assert_eq!((all.len(), &*all.last().unwrap().sentence), (21, "and 4980 more like these"));
        assert_eq!(few(vec![one("one"), one("one")]), [one("one")]);
        assert_eq!(shortened(&"ä".repeat(200)), format!("{}…", "ä".repeat(100)));
        let namespaces: Vec<Arc<str>> = ["a", "b", "c", "d", "e"].map(Arc::from).into();
        assert_eq!(named(&namespaces), "the namespaces a, b, c and 2 more");
        assert_eq!(named(&namespaces[..1]), "namespace a");
    }
}
