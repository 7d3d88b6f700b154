//! Options of what clients see where a route cannot serve them: pages, maintenance, another Service.

use super::{
    kind::Kind,
    level::Level::{Ingress, Path},
    table::{ROW, Reload, Row, With},
};

pub(super) const DEFAULT_SERVICE: Row = Row {
    name: "default-service",
    kind: Kind::ServicePort,
    example: "sorry:80",
    reload: Reload::FirstUse,
    levels: &[Path, Ingress],
    about: "A Service of the same namespace that gets the requests while that of the path has no ready server.",
    ..ROW
};

pub(super) const ERROR_PAGES: Row = Row {
    name: "error-pages",
    kind: Kind::ConfigMap,
    example: "pages",
    reload: Reload::Change,
    about: "Labelled ConfigMap of the same namespace with pages of up to 12,000 bytes by their statuses: `503` or `503.html`, `404.json`, `500.txt`. They take the place of what HAProxy answers once a route is chosen: no ready server, one that fails or is too slow, `maintenance`.",
    levels: &[Path, Ingress],
    ..ROW
};

pub(super) const ERROR_PAGES_REPLACE: Row = Row {
    name: "error-pages-replace",
    kind: Kind::Choice(&["own", "all"]),
    example: "all",
    default: "own",
    with: With::Beside("error-pages"),
    reload: Reload::Change,
    about: "`all`: pages take the place of servers' answers with these statuses, too.",
    levels: &[Path, Ingress],
    ..ROW
};

pub(super) const MAINTENANCE: Row = Row {
    name: "maintenance",
    example: "true",
    reload: Reload::FirstUse,
    about: "`true`: every request gets 503, with the page for it that `error-pages` has.",
    ..ROW
};

pub(super) const MAINTENANCE_EXCEPT: Row = Row {
    name: "maintenance-except",
    kind: Kind::Networks,
    example: "10.0.0.0/8, fd00::/8",
    with: With::Beside("maintenance"),
    about: "Clients from there are served all the same.",
    ..ROW
};
