//! Redirects, and what becomes of paths.

use super::values;
use crate::families::{
    annotations::ReadAnnotations, forms::PathForm, log_format, redirects::code, translation::Translation,
};

/// Where HTTPS is without `ssl-redirect-port`.
const PORT: i64 = 8443;

/// From HTTP to HTTPS: for all hosts of an Ingress that has TLS for any (`pkg/annotations/ingress/httpsRedirect.go`).
pub(super) fn to_https(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    let unless_said = out.about().names_tls_hosts && !said.names("ssl-redirect");
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
pub(super) fn to_host(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    let Some(target) = said.text("request-redirect") else { return };
    let target = if target.contains("://") { target.to_owned() } else { format!("http://{target}") };
    // Whom a redirect leads away nobody lets in. Theirs puts something in the place of expressions.
    if log_format::text(&target).as_deref() != Ok(&*target) || !out.is_value("redirect-to", &target) {
        let why = "is no host or URL without blanks and expressions";
        return out.close("request-redirect", why);
    }
    out.set("redirect-to", &target, "request-redirect");
    out.set("redirect-keep-path", "true", "request-redirect");
    let code = code(said, "request-redirect-code", out);
    out.set("redirect-code", code, "request-redirect-code");
}

/// Rewrites of paths: one word is the whole path, two are what is looked for and the path
/// (`pkg/annotations/ingress/reqPathRewrite.go`). A line that cannot be said is left out by itself.
pub(super) fn rewrites(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    const KEY: &str = "path-rewrite";
    const OPTION: &str = "rewrite-rules";
    for line in said.text(KEY).into_iter().flat_map(values::lines) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ([path] | [_, path]) = words[..] else {
            let how = format!("has {line:?}, which is neither PATH nor PATTERN PATH: it is left out");
            out.differs(KEY, &how);
            continue;
        };
        // Theirs puts something in the place of expressions; a path of ours has none.
        if log_format::text(path).as_deref() != Ok(path) {
            out.differs(KEY, &format!("has an expression in {line:?}: the line is left out"));
            continue;
        }
        let rule = match words[..] {
            [pattern, path] => rule(pattern, path),
            _ => format!("^(/.*) {path}"),
        };
        if let Err(wanted) = out.read(OPTION, &rule) {
            out.differs(KEY, &format!("has {line:?}, which {wanted}: the line is left out"));
            continue;
        }
        if !out.add_line(OPTION, &rule, KEY) {
            return;
        }
    }
}

/// Expressions for a whole path, whatever it is.
const ANY: [&str; 6] = ["(.*)", "^(.*)", "(.*)$", "^(.*)$", "^/?(.*)", "^/?(.*)$"];
/// The same with the query behind it in groups 2 and 3, as upstream's documentation has it: no path has one, so they are empty.
const BEFORE_QUERY: [&str; 4] =
    ["([^?]*)(\\?(.*))?", "^([^?]*)(\\?(.*))?", "([^?]*)(\\?(.*))?$", "^([^?]*)(\\?(.*))?$"];

/// A rule of ours. Of what takes any path, too, HAProxy is asked with one that is not empty: each begins with a slash.
fn rule(pattern: &str, path: &str) -> String {
    if BEFORE_QUERY.contains(&pattern) {
        return rule("(.*)", &path.replace("\\2", "").replace("\\3", ""));
    }
    if pattern.starts_with("^/?") && ANY.contains(&pattern) {
        return format!("^/(.*) {path}");
    }
    // A path that begins with what was found begins with its slash.
    if ANY.contains(&pattern) && path.starts_with("\\1") && path.matches('\\').count() == 1 {
        return format!("^/(.*) /{path}");
    }
    match ANY.contains(&pattern) || pattern == ".*" {
        true => format!("^(/.*) {path}"),
        false => format!("{pattern} {path}"),
    }
}

/// A path of the type ImplementationSpecific takes whatever begins with its characters (`pkg/route/route.go`).
pub(super) fn forms(_: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    out.level.forms.unspecific = PathForm::Characters;
}
