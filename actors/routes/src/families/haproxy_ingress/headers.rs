//! Headers that servers and clients get.

use super::values;
use crate::families::{
    header_steps::{HeaderStep, HeadersTo},
    log_format,
    translation::{Said, Translation},
};

/// What becomes of a header by its name and value.
type Verb = fn(String, String) -> HeaderStep;

const SETS: [(&str, HeadersTo, Verb); 4] = [
    ("request-set-headers", HeadersTo::SERVERS, HeaderStep::Set),
    ("request-add-headers", HeadersTo::SERVERS, HeaderStep::Add),
    ("response-set-headers", HeadersTo::CLIENTS, HeaderStep::Set),
    ("response-add-headers", HeadersTo::CLIENTS, HeaderStep::Add),
];

/// Headers that are set and removed. A line that is none is left out.
pub(super) fn all(said: &Said<'_>, out: &mut Translation<'_>) {
    for (key, to, verb) in SETS {
        let Some(text) = said.text(key) else { continue };
        let lines = text.lines().filter(|line| !line.is_empty());
        let steps: Vec<HeaderStep> = lines.filter_map(|line| step(line, verb, key, out)).collect();
        to.take(&steps, key, out);
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

/// What a line says.
fn step(line: &str, verb: Verb, key: &str, out: &mut Translation<'_>) -> Option<HeaderStep> {
    let Some((name, value)) = values::header(line) else {
        out.differs(key, &format!("has {line:?}, which is not NAME: VALUE: it is left out"));
        return None;
    };
    let value = value.replace("%[namespace]", out.about.namespace);
    match log_format::text_of_service(&value) {
        Ok(value) => Some(verb(name.to_owned(), value)),
        Err(expression) => {
            out.differs(key, &format!("has {expression:?} in {line:?}: the line is left out"));
            None
        }
    }
}
