//! Options of how many requests of a client are answered at a time, and what others get.

use super::{
    kind::Kind,
    row::{ROW, Reload, Row, With},
};

const BESIDE: Row = Row { with: With::Beside("concurrency-limit"), ..ROW };

pub(super) const LIMIT: Row = Row {
    name: "concurrency-limit",
    kind: Kind::Number { least: 1, most: 1_000_000, what: "a number of requests" },
    example: "10",
    reload: Reload::FirstUse,
    about: "Of each client (an IPv4 address, an IPv6 /64) no more requests are answered at a time; the next one gets 429. Each Ingress and each HAProxy counts for itself.",
    ..ROW
};

pub(super) const EXEMPT: Row = Row {
    name: "concurrency-limit-exempt",
    kind: Kind::Networks,
    example: "10.0.0.0/8, fd00::/8",
    about: "Clients from there have no limit.",
    ..BESIDE
};

pub(super) const STATUS: Row = Row {
    name: "concurrency-limit-status",
    kind: Kind::Choice(&["429", "503"]),
    example: "503",
    about: "What the next one gets; 429 without it.",
    ..BESIDE
};
