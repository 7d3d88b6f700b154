//! Headers that servers and clients get.

use super::values;
use crate::families::{
    log_format,
    translation::{Said, Translation},
};

const SETS: [(&str, &str); 4] = [
    ("request-set-headers", "request-headers"),
    ("request-add-headers", "add-request-headers"),
    ("response-set-headers", "response-headers"),
    ("response-add-headers", "add-response-headers"),
];

/// Headers that are set and removed. A line that is none is left out.
pub(super) fn all(said: &Said<'_>, out: &mut Translation<'_>) {
    for (key, option) in SETS {
        let Some(text) = said.text(key) else { continue };
        let lines = text.lines().filter(|line| !line.is_empty()).filter_map(|line| set(line, key, out));
        let lines: Vec<String> = lines.collect();
        if !lines.is_empty() {
            out.set(option, &lines.join("\n"), key);
        }
    }
    for (key, option) in [
        ("request-del-headers", "remove-request-headers"),
        ("response-del-headers", "remove-response-headers"),
    ] {
        if let Some(text) = said.text(key) {
            out.set(option, text, key);
        }
    }
}

/// A line of ours.
fn set(line: &str, key: &str, out: &mut Translation<'_>) -> Option<String> {
    let Some((name, value)) = values::header(line) else {
        out.differs(key, &format!("has {line:?}, which is not NAME: VALUE: it is left out"));
        return None;
    };
    let value = value.replace("%[namespace]", out.about.namespace);
    match log_format::text(&value) {
        Ok(value) => Some(format!("{name}: {value}")),
        Err(expression) => {
            out.differs(key, &format!("has {expression:?} in {line:?}: the line is left out"));
            None
        }
    }
}
