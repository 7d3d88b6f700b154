//! Options of servers' health: whether HAProxy asks them itself, how, and how it treats one that has come back.

use super::{
    form::Form,
    kind::Kind,
    level::Level::{Class, Ingress, Path, Service},
    row::{ROW, Reload, Row, With},
};

/// The row of all of them.
const OF_SERVERS: Row = Row { levels: &[Path, Ingress, Service, Class], reload: Reload::Change, ..ROW };
const OF_CHECKS: Row = Row { with: With::Beside("health-check"), ..OF_SERVERS };

pub(super) const AGENT_INTERVAL: Row = Row {
    name: "agent-check-interval",
    kind: Kind::TimeFromTo(500, 3_600_000, "500ms to 1h"),
    example: "5s",
    default: "2s",
    with: With::Beside("agent-check-port"),
    about: "From one question to an agent to the next.",
    ..OF_SERVERS
};

pub(super) const AGENT_PORT: Row = Row {
    name: "agent-check-port",
    kind: Kind::Number { least: 1, most: 65_535, what: "a port" },
    example: "9999",
    about: "At that port of each server each HAProxy asks how it does: it is told by a line such as `ready`, `drain`, `down` or `50%` (of the server's weight). While nobody answers there nothing changes.",
    ..OF_SERVERS
};

pub(super) const CHECK: Row = Row {
    name: "health-check",
    kind: Kind::Choice(&["tcp", "http"]),
    example: "http",
    about: "Each HAProxy asks each server whether it works, by a connection or by a request, besides what Kubernetes knows of it. One that does not gets no requests.",
    ..OF_SERVERS
};

pub(super) const FALL: Row = Row {
    name: "health-check-fall",
    kind: Kind::Number { least: 1, most: 100, what: "a number of checks" },
    example: "2",
    default: "3",
    about: "So many checks in a row must fail before a server gets no requests.",
    ..OF_CHECKS
};

pub(super) const HOST: Row = Row {
    name: "health-check-host",
    kind: Kind::Text { most: 253, form: Form::HostName },
    example: "shop.internal",
    about: "What the request has as `Host`, and what is asked for over TLS; `server-tls-name`, else `NAME.NAMESPACE.svc` of the Service without it.",
    ..OF_CHECKS
};

pub(super) const INTERVAL: Row = Row {
    name: "health-check-interval",
    kind: Kind::TimeFromTo(500, 3_600_000, "500ms to 1h"),
    example: "10s",
    default: "2s",
    about: "From one check of a server to the next.",
    ..OF_CHECKS
};

pub(super) const METHOD: Row = Row {
    name: "health-check-method",
    kind: Kind::Choice(&["GET", "HEAD", "OPTIONS"]),
    example: "HEAD",
    default: "GET",
    about: "The method of the request.",
    ..OF_CHECKS
};

pub(super) const PATH: Row = Row {
    name: "health-check-path",
    kind: Kind::Text { most: 1000, form: Form::Path },
    example: "/healthz",
    default: "/",
    about: "What `health-check: http` asks for.",
    ..OF_CHECKS
};

pub(super) const PORT: Row = Row {
    name: "health-check-port",
    kind: Kind::Number { least: 1, most: 65_535, what: "a port" },
    example: "9090",
    about: "The port of each server that is asked; that of requests without it. Another port than that of requests is asked in clear and without the PROXY protocol.",
    ..OF_CHECKS
};

pub(super) const RISE: Row = Row {
    name: "health-check-rise",
    kind: Kind::Number { least: 1, most: 100, what: "a number of checks" },
    example: "1",
    default: "2",
    about: "So many checks in a row must succeed before it gets requests again.",
    ..OF_CHECKS
};

pub(super) const STATUS: Row = Row {
    name: "health-check-status",
    kind: Kind::Text { most: 100, form: Form::Statuses },
    example: "200-299, 401",
    default: "200-399",
    about: "Which statuses of answers are good.",
    ..OF_CHECKS
};

pub(super) const TIMEOUT: Row = Row {
    name: "health-check-timeout",
    kind: Kind::TimeUpTo(60_000, "1m"),
    example: "1s",
    about: "So long the answer may take once there is a connection; as long as `health-check-interval` without it.",
    ..OF_CHECKS
};

pub(super) const PASSIVE: Row = Row {
    name: "passive-check",
    kind: Kind::Choice(&["connections", "answers"]),
    example: "answers",
    with: With::Needs("health-check"),
    about: "What becomes of real requests counts as well: `connections` that fail, or `answers` that are none or have a status of 500 or more (not 501 and 505). After ten in a row a server gets no requests until checks succeed.",
    ..OF_SERVERS
};

pub(super) const SLOW_START: Row = Row {
    name: "slow-start",
    kind: Kind::TimeUpTo(600_000, "10m"),
    example: "30s",
    about: "So long a server that comes, or comes back, gets fewer requests than its share at first.",
    ..OF_SERVERS
};
