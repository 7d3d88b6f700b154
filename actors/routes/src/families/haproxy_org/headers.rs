//! Headers that servers and clients get (`pkg/annotations/ingress/reqSetHdr.go`, `resSetHdr.go`).

use super::values;
use crate::families::{
    annotations::ReadAnnotations,
    header_steps::{HeaderStep, HeadersTo},
    log_format,
    translation::Translation,
};

/// Headers that are set for servers, before the lines of a snippet are read. `set-host` counts behind them.
pub(super) fn to_servers(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    host(said, out);
    let mut steps = steps("request-set-header", said, out);
    if out.has("host-rewrite") {
        steps.retain(|step| !matches!(step, HeaderStep::Set(name, _) if name.eq_ignore_ascii_case("host")));
    }
    HeadersTo::SERVERS.take(&steps, "request-set-header", out);
}

/// Headers that are set for clients, behind what the lines of a snippet say.
pub(super) fn to_clients(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    let steps = steps("response-set-header", said, out);
    HeadersTo::CLIENTS.take(&steps, "response-set-header", out);
}

/// The lines of a key. Behind one that is none no more are read.
fn steps(key: &str, said: &ReadAnnotations<'_>, out: &mut Translation<'_>) -> Vec<HeaderStep> {
    let mut steps = Vec::new();
    let mut are_read = true;
    for line in said.text(key).into_iter().flat_map(values::lines) {
        let name = line.split_whitespace().next().unwrap_or_default();
        steps.push(match values::header(line).filter(|_| are_read) {
            Some((name, value)) if value.is_empty() => HeaderStep::Remove(name.to_owned()),
            Some((name, value)) => match log_format::text(&value) {
                Ok(value) => HeaderStep::Set(name.to_owned(), value),
                Err(expression) => {
                    out.differs(key, &format!("has {expression:?} in {line:?}: the line is left out"));
                    HeaderStep::Unsaid(name.to_owned())
                }
            },
            None => {
                if are_read {
                    let how = "which is not NAME VALUE: it is left out, and so is what is behind it";
                    out.differs(key, &format!("has {line:?}, {how}"));
                }
                are_read = false;
                HeaderStep::Unsaid(name.to_owned())
            }
        });
    }
    steps
}

/// The host that servers get; hosts have no case.
fn host(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    if let Some(host) = said.text("set-host") {
        out.set("host-rewrite", &host.to_ascii_lowercase(), "set-host");
    }
}
