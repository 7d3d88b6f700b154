//! Options of what clients see where a route cannot serve them: pages, maintenance, another Service.

use super::{
    kind::Kind,
    level::Level::{Class, Ingress, Path},
    row::{ROW, Reload, Row, With},
};

pub(super) const DEFAULT_SERVICE: Row = Row {
    name: "default-service",
    kind: Kind::ServicePort,
    example: "sorry:80",
    reload: Reload::FirstUse,
    levels: &[Path, Ingress, Class],
    about: "A Service of the same namespace that gets the requests while that of the path has no ready server. One of the class is in any namespace, and also gets the requests for hosts of the class that no route takes; where `extraContext.routes.defaults` names it, those for all other hosts, too.",
    ..ROW
};

pub(super) const ERROR_PAGES: Row = Row {
    name: "error-pages",
    kind: Kind::ConfigMap,
    example: "pages",
    reload: Reload::Change,
    about: "Labelled ConfigMap of the same namespace with pages of up to 12,000 bytes by their statuses: `503` or `503.html`, `404.json`, `500.txt`. They take the place of what HAProxy answers once a route is chosen: no ready server, one that fails or is too slow, a limit that is reached, `maintenance`. Those of the class are in a ConfigMap of any namespace, and take no reload for one more route.",
    levels: &[Path, Ingress, Class],
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
    levels: &[Path, Ingress, Class],
    ..ROW
};

pub(super) const ERROR_SERVICE: Row = Row {
    name: "error-service",
    kind: Kind::ServicePort,
    example: "errors:80",
    reload: Reload::FirstUse,
    levels: &[Path, Ingress],
    about: "A Service of the same namespace that makes the answers in place of servers' with the statuses of `error-service-statuses`: it gets a GET (HEAD for HEAD) \
        for `/` with `X-Code` (the status), `X-Format` (the request's `Accept`), `X-Original-URI`, `X-Namespace` and `X-Ingress-Name`, and its status, headers and body of up to 8 KB are \
        the answer. Where it gives none within 5 seconds, or more are made at a time than `errorConcurrency` has, the server's own passes. What HAProxy answers itself is no server's: `error-pages` has \
        pages for it, `default-service` takes its place while no server is ready.",
    ..ROW
};

pub(super) const ERROR_SERVICE_STATUSES: Row = Row {
    name: "error-service-statuses",
    kind: Kind::Statuses,
    example: "404, 503",
    default: "500, 502, 503, 504",
    with: With::Beside("error-service"),
    levels: &[Path, Ingress],
    about: "Which.",
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
