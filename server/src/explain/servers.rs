//! The servers of a backend, and what its own rules do.

use super::{Explanation, Ground, Step};
use haptic_haproxy::{Document, SectionKind};

/// Adds the backend and its servers.
pub fn list(ground: &Ground<'_>, document: &Document<'_>, name: &str, explanation: &mut Explanation) {
    let config = &ground.bundle.config;
    let kinds = [SectionKind::Backend, SectionKind::Listen];
    let Some(section) = kinds.iter().find_map(|kind| document.section(kind, name)) else {
        explanation.why_not.push(format!("haproxy.cfg has no backend {name}: HAProxy answers 503"));
        return;
    };
    explanation.steps.push(Step::at("backend", config, section.line));
    for line in &section.lines {
        match (line.keyword(), line.value(1)) {
            ("server" | "server-template", _) => {
                explanation.servers.push(Step::at("server", config, line.number));
            }
            ("http-request", "return" | "deny")
                if line.words.iter().all(|w| !matches!(&*w.value, "if" | "unless")) =>
            {
                explanation.why_not.push(format!("backend {name} answers by itself: {}", line.text().trim()));
            }
            _ => {}
        }
    }
    if explanation.servers.is_empty() && explanation.why_not.is_empty() {
        explanation.why_not.push(format!("backend {name} has no servers: HAProxy answers 503"));
    }
}
