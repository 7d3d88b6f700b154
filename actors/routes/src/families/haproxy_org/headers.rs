//! Headers that servers and clients get (`pkg/annotations/ingress/reqSetHdr.go`, `resSetHdr.go`).

use super::values;
use crate::families::{
    log_format,
    translation::{Said, Translation},
};

/// Headers that are set. Behind a line that is none no more are read.
pub(super) fn set(said: &Said<'_>, out: &mut Translation<'_>) {
    for (key, option) in
        [("request-set-header", "request-headers"), ("response-set-header", "response-headers")]
    {
        let Some(text) = said.text(key) else { continue };
        let mut lines = Vec::new();
        for line in values::lines(text) {
            let Some((name, value)) = values::header(line) else {
                out.differs(
                    key,
                    &format!(
                        "has {line:?}, which is not NAME VALUE: it is left out, and so is what is behind it"
                    ),
                );
                break;
            };
            match log_format::text(&value) {
                Ok(value) => lines.push(format!("{name}: {value}")),
                Err(expression) => {
                    out.differs(key, &format!("has {expression:?} in {line:?}: the line is left out"));
                }
            }
        }
        if !lines.is_empty() {
            out.set(option, &lines.join("\n"), key);
        }
    }
}

/// The host that servers get; hosts have no case.
pub(super) fn host(said: &Said<'_>, out: &mut Translation<'_>) {
    if let Some(host) = said.text("set-host") {
        out.set("host-rewrite", &host.to_ascii_lowercase(), "set-host");
    }
}
