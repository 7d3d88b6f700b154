//! Proxies that HAProxy reads and then leaves alone, so that names in them need not exist.

use crate::document::{Document, Section};

/// For each section, whether it is a proxy that is disabled, or may be.
pub(crate) fn disabled(document: &Document<'_>) -> Vec<bool> {
    let own: Vec<_> = document.sections.iter().map(says_itself).collect();
    if own.iter().all(Option::is_none) {
        return vec![false; own.len()];
    }
    let inheritance = document.inheritance();
    (0..own.len())
        .map(|at| {
            let parents = std::iter::successors(Some(at), |at| {
                inheritance.get(*at).copied().flatten().filter(|parent| parent < at)
            });
            parents.flat_map(|at| own.get(at)).find_map(|said| *said).unwrap_or_default()
        })
        .collect()
}

/// Whether a section certainly is disabled, or may be, whatever it starts from.
pub(super) fn is_disabled(section: &Section<'_>) -> bool {
    says_itself(section).unwrap_or_default()
}

/// What the last `enabled` or `disabled` of the section says; where that depends on `.if`, the proxy may be disabled.
fn says_itself(section: &Section<'_>) -> Option<bool> {
    if !section.kind.is_proxy() {
        return None;
    }
    let mut said = None;
    for line in &section.lines {
        match line.keyword() {
            "disabled" => said = Some(true),
            "enabled" if !line.conditional => said = Some(false),
            _ => {}
        }
    }
    said
}
