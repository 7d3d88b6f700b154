//! Options of redirects: to another place, and from HTTP to HTTPS.

use super::{
    form::Form,
    kind::Kind,
    level::Level::{Ingress, Path},
    row::{ROW, Reload, Row, With},
};

pub(super) const ABSOLUTE: Row = Row {
    name: "redirect-absolute",
    example: "true",
    reload: Reload::FirstUse,
    levels: &[Path, Ingress],
    about: "`true`: where redirects lead to a path, scheme and host of the request stand before it.",
    ..ROW
};

pub(super) const CODE: Row = Row {
    name: "redirect-code",
    kind: Kind::Choice(&["301", "302", "303", "307", "308"]),
    example: "301",
    about: "The status of redirects that other options ask for; `302` without it.",
    levels: &[Path, Ingress],
    ..ROW
};

pub(super) const EARLY: Row = Row {
    name: "redirect-early",
    example: "true",
    reload: Reload::FirstUse,
    levels: &[Path, Ingress],
    about: "`true`: redirects come before lists of clients and limits.",
    ..ROW
};

pub(super) const FIRST: Row = Row {
    name: "redirect-first",
    example: "true",
    reload: Reload::FirstUse,
    levels: &[Path, Ingress],
    about: "`true`: `redirect-to` and `app-root` come before the redirect to HTTPS.",
    ..ROW
};

pub(super) const HOST: Row = Row {
    name: "redirect-host",
    kind: Kind::Text { most: 260, form: Form::Host },
    example: "shop.example",
    levels: &[Path, Ingress],
    about: "Every request is redirected there, with its scheme, path and query.",
    ..ROW
};

pub(super) const KEEP_PATH: Row = Row {
    name: "redirect-keep-path",
    example: "true",
    with: With::Beside("redirect-to"),
    levels: &[Path, Ingress],
    about: "`true`: path and query of the request stand behind `redirect-to`, which must be a URL.",
    ..ROW
};

pub(super) const KEEP_QUERY: Row = Row {
    name: "redirect-keep-query",
    example: "true",
    with: With::Beside("redirect-to"),
    levels: &[Path, Ingress],
    about: "`true`: the query of the request stands behind `redirect-to`, which must have none itself.",
    ..ROW
};

pub(super) const PORT: Row = Row {
    name: "redirect-port",
    example: "true",
    levels: &[Path, Ingress],
    with: With::Beside("redirect-www"),
    about: "`true`: locations of `redirect-www` have the scheme of the request and its port, even if it is 80 or 443.",
    ..ROW
};

pub(super) const TO: Row = Row {
    name: "redirect-to",
    kind: Kind::Text { most: 2000, form: Form::Location },
    example: "https://shop.example/new",
    about: "The answer to every request leads there.",
    levels: &[Path, Ingress],
    ..ROW
};

pub(super) const WWW: Row = Row {
    name: "redirect-www",
    example: "true",
    levels: &[Ingress],
    about: "`true`: requests for the hosts with `www.` in front, or without it, are redirected to those of the Ingress, as far as nobody has routes there.",
    ..ROW
};

pub(super) const HTTPS: Row = Row {
    name: "ssl-redirect",
    kind: Kind::Choice(&["true", "false", "always"]),
    example: "true",
    about: "Whether HTTP is redirected to HTTPS where the Ingress has TLS for the host, or `always`; `sslRedirect` without it.",
    ..ROW
};

pub(super) const HTTPS_CODE: Row = Row {
    name: "ssl-redirect-code",
    kind: Kind::Choice(&["301", "302", "303", "307", "308"]),
    example: "301",
    reload: Reload::FirstUse,
    about: "The status of redirects from HTTP to HTTPS; `sslRedirectCode` without it.",
    ..ROW
};

pub(super) const HTTPS_PORT: Row = Row {
    name: "ssl-redirect-port",
    kind: Kind::Number { least: 1, most: 65_535, what: "a port" },
    example: "8443",
    reload: Reload::FirstUse,
    about: "The port in them, which is written even if it is 443; `httpsPublicPort` without it.",
    ..ROW
};

pub(super) const HTTPS_SLASH: Row = Row {
    name: "ssl-redirect-slash",
    kind: Kind::Choice(&["keep", "cut"]),
    example: "cut",
    reload: Reload::FirstUse,
    about: "`cut`: they leave out one slash at the very end of the URL.",
    ..ROW
};
