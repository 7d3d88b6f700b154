//! Options of affinity: the cookie by which requests of a client go to the same server.

use super::{
    form::Form,
    kind::Kind,
    level::Level::{Class, Ingress, Path, Service},
    row::{ROW, Reload, Row, With},
};

pub(super) const AFFINITY: Row = Row {
    name: "affinity",
    kind: Kind::Choice(&["cookie"]),
    example: "cookie",
    about: "`cookie`: requests of a client go to the same server. Over HTTPS the cookie is `Secure`.",
    levels: &[Path, Ingress, Service, Class],
    ..ROW
};

pub(super) const COOKIE_DOMAIN: Row = Row {
    name: "affinity-cookie-domain",
    kind: Kind::Text { most: 253, form: Form::HostName },
    example: "shop.example",
    with: With::Beside("affinity"),
    about: "The cookie is for that domain and what is below it; for the host of the request without it.",
    levels: &[Path, Ingress, Service],
    ..ROW
};

pub(super) const COOKIE_MAX_AGE: Row = Row {
    name: "affinity-cookie-max-age",
    kind: Kind::Number { least: 1, most: 999_999_999, what: "a number of seconds" },
    example: "86400",
    with: With::Beside("affinity"),
    about: "So long browsers keep the cookie; until they are closed without it.",
    levels: &[Path, Ingress, Service, Class],
    ..ROW
};

pub(super) const COOKIE_NAME: Row = Row {
    name: "affinity-cookie-name",
    kind: Kind::Text { most: 64, form: Form::Cookie },
    example: "SHOP",
    with: With::Needs("affinity"),
    reload: Reload::Change,
    about: "Another name for that cookie.",
    levels: &[Path, Ingress, Service],
    ..ROW
};

pub(super) const COOKIE_PATH: Row = Row {
    name: "affinity-cookie-path",
    kind: Kind::Text { most: 500, form: Form::CookiePath },
    example: "/shop",
    with: With::Beside("affinity"),
    about: "The cookie is for paths below that one; for `/` without it.",
    levels: &[Path, Ingress, Service],
    ..ROW
};

pub(super) const COOKIE_SAME_SITE: Row = Row {
    name: "affinity-cookie-same-site",
    kind: Kind::Choice(&["Lax", "Strict", "None", "unset"]),
    example: "None",
    with: With::Beside("affinity"),
    about: "Which requests from other sites have the cookie; `Lax` without it, with `unset` as browsers have it. They take `None` over HTTPS only.",
    levels: &[Path, Ingress, Service, Class],
    ..ROW
};

pub(super) const COOKIE_SECURE: Row = Row {
    name: "affinity-cookie-secure",
    example: "true",
    with: With::Beside("affinity"),
    about: "`true`: the cookie is `Secure` over HTTP, too, for a proxy in front that speaks HTTPS.",
    levels: &[Path, Ingress, Service, Class],
    ..ROW
};
