//! Redirects, and what becomes of paths.

use crate::{
    families::{
        annotations::ReadAnnotations,
        forms::PathForm,
        redirects::{ACME, code},
        translation::Translation,
    },
    options::{Settings, table::row},
};
use haptic_model::host_name::is_host;

/// From HTTP to HTTPS, where the Ingress has TLS for the host, or its servers have.
pub(super) fn to_https(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    out.set("redirect-early", "true", "ssl-redirect");
    out.ingress.over_http = said.list("no-tls-redirect-locations", ACME);
    let is_passed = out.may_pass_tls() && said.is_on("ssl-passthrough");
    // Hosts without TLS are there over HTTPS by the default certificate, and led to it.
    let follows = said.switch("ssl-always-follow-redirect").unwrap_or(true);
    let is_added = follows && said.is_on("ssl-always-add-https");
    if !out.about().tls && !is_passed && !is_added {
        return;
    }
    let to_https = match (said.switch("ssl-redirect").unwrap_or(true), is_added) {
        (true, true) => "always",
        (true, false) => "true",
        (false, _) => "false",
    };
    let is_on = to_https != "false";
    out.set("ssl-redirect", to_https, "ssl-redirect");
    if is_on {
        let code = code(said, "ssl-redirect-code", out);
        out.set("ssl-redirect-code", code, "ssl-redirect-code");
    }
}

/// To a URL, whatever the path.
pub(super) fn to_url(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    if let Some(url) = said.text("redirect-to") {
        out.set("redirect-to", url, "redirect-to");
        let code = code(said, "redirect-to-code", out);
        out.set("redirect-code", code, "redirect-to-code");
    }
}

/// From another host, with scheme, path and query.
pub(super) fn from_host(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    let Some(host) = said.text("redirect-from") else { return };
    let host = host.to_ascii_lowercase();
    if !is_host(&host) {
        return out.ignore("redirect-from", "is no host, and none like *.shop.example");
    }
    if out.about().has_wildcards_alone {
        let how = "has no effect: there is no host to redirect to, the Ingress has wildcards alone";
        return out.differs("redirect-from", how);
    }
    out.ingress.redirected.push(host);
    if !out.has("redirect-code") {
        let code = code(said, "redirect-from-code", out);
        out.set("redirect-code", code, "redirect-from-code");
    }
}

/// The most that a body may have.
pub(super) fn body(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    if let Some(size) = said.text("proxy-body-size").filter(|size| *size != "unlimited") {
        out.set("max-body-size", size, "proxy-body-size");
    }
}

/// Finds an Ingress that is not of HTTP, or is for other ports than those of all (`syncIngress` in `pkg/converters/ingress/ingress.go`).
pub(super) fn not_of_http(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    let is_of_tcp = said.number("tcp-service-port").is_some_and(|port| port != 0);
    out.ingress.dropped |= is_of_tcp || said.is_annotated("http-frontend");
}

/// Headers that requests must have.
pub(super) fn conditions(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    for (key, option) in
        [("http-header-match", "match-headers"), ("http-header-match-regex", "match-headers-regex")]
    {
        if let Some(text) = said.text(key) {
            out.set(option, text, key);
        }
    }
}

/// How paths of the type ImplementationSpecific are compared (`path-type`), and what takes their place (`rewrite-target`).
pub(super) fn forms(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    out.level.forms.unspecific = match said.text("path-type").map(str::to_ascii_lowercase).as_deref() {
        None | Some("begin") => PathForm::AnyCase,
        Some("exact") => PathForm::Whole,
        Some("prefix") => PathForm::Elements,
        Some("regex") => PathForm::Regex,
        Some(_) => {
            out.ignore("path-type", "is none of begin, exact, prefix and regex");
            PathForm::AnyCase
        }
    };
    let Some(target) = said.text("rewrite-target") else { return };
    let is_path =
        row("rewrite-target").is_some_and(|row| row.kind.read(target, &Settings::default()).is_ok());
    if is_path {
        out.level.forms.target = Some(target.to_owned());
    } else {
        out.ignore("rewrite-target", "is no path that begins with / or a group, without blanks, |, ? and #");
    }
}

/// One more host.
pub(super) fn alias(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    let Some(host) = said.text("server-alias").map(str::to_ascii_lowercase) else { return };
    if is_host(&host) {
        out.ingress.aliases.push(host);
    } else {
        out.ignore("server-alias", "is no host, and none like *.shop.example");
    }
}
