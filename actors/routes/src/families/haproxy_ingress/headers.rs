//! Headers that servers and clients get.

use super::values;
use crate::families::{
    annotations::ReadAnnotations,
    header_steps::{HeaderStep, HeadersTo},
    log_format,
    translation::Translation,
};

/// Makes a step of a header's name and value.
type Verb = fn(String, String) -> HeaderStep;

const SETS: [(&str, HeadersTo, Verb); 4] = [
    ("request-set-headers", HeadersTo::SERVERS, HeaderStep::Set),
    ("request-add-headers", HeadersTo::SERVERS, HeaderStep::Add),
    ("response-set-headers", HeadersTo::CLIENTS, HeaderStep::Set),
    ("response-add-headers", HeadersTo::CLIENTS, HeaderStep::Add),
];

/// Headers that are set and removed. A line that is none is left out.
pub(super) fn all(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    for (key, to, verb) in SETS {
        let Some(text) = said.text(key) else { continue };
        let lines = text.lines().filter(|line| !line.is_empty());
        let mut steps: Vec<HeaderStep> = lines.map(|line| step(line, verb, key, out)).collect();
        // What is only added leaves the client's.
        steps.retain(|step| key != "request-add-headers" || !matches!(step, HeaderStep::Unsaid(_)));
        to.take(&steps, key, out);
    }
    for (key, to) in
        [("request-del-headers", HeadersTo::SERVERS), ("response-del-headers", HeadersTo::CLIENTS)]
    {
        let names = said.text(key).into_iter().flat_map(|text| text.split(','));
        let names = names.map(str::trim).filter(|name| !name.is_empty());
        let steps: Vec<HeaderStep> = names.map(|name| HeaderStep::Remove(name.to_owned())).collect();
        to.take(&steps, key, out);
    }
}

/// The step that a line asks for.
fn step(line: &str, verb: Verb, key: &str, out: &mut Translation<'_>) -> HeaderStep {
    let Some((name, value)) = values::header(line) else {
        out.differs(key, &format!("has {line:?}, which is not NAME: VALUE: it is left out"));
        let name = line.split([':', ' ']).next().unwrap_or_default();
        return HeaderStep::Unsaid(name.to_owned());
    };
    let value = value.replace("%[namespace]", out.about().namespace);
    match log_format::text_of_service(&value) {
        Ok(value) => verb(name.to_owned(), value),
        Err(expression) => {
            out.differs(key, &format!("has {expression:?} in {line:?}: the line is left out"));
            HeaderStep::Unsaid(name.to_owned())
        }
    }
}
