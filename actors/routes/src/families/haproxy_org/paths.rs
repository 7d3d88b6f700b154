//! Redirects, and what becomes of paths.

use super::values;
use crate::families::{
    forms::PathForm,
    log_format,
    redirects::code,
    translation::{Said, Translation},
};

/// Where HTTPS is without `ssl-redirect-port`.
const PORT: i64 = 8443;

/// From HTTP to HTTPS: for all hosts of an Ingress that has TLS for any (`pkg/annotations/ingress/httpsRedirect.go`).
pub(super) fn to_https(said: &Said<'_>, out: &mut Translation<'_>) {
    let unless_said = out.about.names_tls_hosts && !said.names("ssl-redirect");
    // There a code that is no number makes no rule.
    let has_no_code = said.names("ssl-redirect-code") && !said.has("ssl-redirect-code");
    if has_no_code || !said.switch("ssl-redirect").unwrap_or(unless_said) {
        return out.set("ssl-redirect", "false", "ssl-redirect");
    }
    out.set("ssl-redirect", "always", "ssl-redirect");
    let code = code(said, "ssl-redirect-code", out);
    out.set("ssl-redirect-code", code, "ssl-redirect-code");
    let port = said.number("ssl-redirect-port").unwrap_or(PORT);
    out.set("ssl-redirect-port", &port.to_string(), "ssl-redirect-port");
}

/// To another host, with path and query (`pkg/annotations/ingress/hostRedirect.go`).
pub(super) fn to_host(said: &Said<'_>, out: &mut Translation<'_>) {
    let Some(target) = said.text("request-redirect") else { return };
    let target = if target.contains("://") { target.to_owned() } else { format!("http://{target}") };
    out.set("redirect-to", &target, "request-redirect");
    out.set("redirect-keep-path", "true", "request-redirect");
    let code = code(said, "request-redirect-code", out);
    out.set("redirect-code", code, "request-redirect-code");
}

/// What takes the place of paths: one word is the whole path, two are what is looked for and the path
/// (`pkg/annotations/ingress/reqPathRewrite.go`).
pub(super) fn rewrites(said: &Said<'_>, out: &mut Translation<'_>) {
    let Some(text) = said.text("path-rewrite") else { return };
    let mut rules = Vec::new();
    for line in values::lines(text) {
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            // Theirs puts something in the place of expressions; a path of ours has none.
            [path] | [_, path] if log_format::text(path).as_deref() != Ok(path) => {
                out.differs("path-rewrite", &format!("has an expression in {line:?}: the line is left out"));
            }
            [path] => rules.push(format!("^(/.*) {path}")),
            // Of what takes any path, too, HAProxy is asked with one that is not empty.
            // A path that begins with what was found begins with its slash.
            ["(.*)" | "^(.*)" | "(.*)$" | "^(.*)$", path]
                if path.starts_with("\\1") && path.matches('\\').count() == 1 =>
            {
                rules.push(format!("^/(.*) /{path}"));
            }
            ["(.*)" | "^(.*)" | "(.*)$" | "^(.*)$" | ".*", path] => rules.push(format!("^(/.*) {path}")),
            [pattern, path] => rules.push(format!("{pattern} {path}")),
            _ => out.differs(
                "path-rewrite",
                &format!("has {line:?}, which is neither PATH nor PATTERN PATH: it is left out"),
            ),
        }
    }
    if !rules.is_empty() {
        out.set("rewrite-rules", &rules.join("\n"), "path-rewrite");
    }
}

/// A path of the type ImplementationSpecific takes whatever begins with its characters (`pkg/route/route.go`).
pub(super) fn forms(_: &Said<'_>, out: &mut Translation<'_>) {
    out.forms.unspecific = PathForm::Characters;
}
