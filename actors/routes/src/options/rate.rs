//! Options of rate limits: how many requests in which time, of whom, and what others get.

use super::{
    kind::Kind,
    quantity::PERIODS,
    row::{REFUSALS, ROW, Reload, Row, With},
};

/// The option for a table that is needed and is not there in any case.
#[must_use]
pub fn window(period: &str) -> Option<String> {
    let is_always = ["second", "minute", "hour"].contains(&period);
    (!is_always && PERIODS.contains(&period)).then(|| format!("rate-window-{period}"))
}

pub(super) const LIMIT: Row = Row {
    name: "rate-limit",
    kind: Kind::Number { least: 1, most: 999_999_999, what: "a number of requests" },
    example: "100",
    reload: Reload::FirstUse,
    about: "Requests of one client (an IPv4 address, an IPv6 /64) in each `rate-limit-period`; more get 429. Each HAProxy counts for itself, up to 100,000 clients; a namespace that would have more than 20,000 of these has its clients counted in 4,096 groups, so that it takes no other's counters.",
    ..ROW
};

pub(super) const BURST: Row = Row {
    name: "rate-limit-burst",
    kind: Kind::Number { least: 1, most: 1_000_000, what: "a number of requests" },
    example: "20",
    with: With::Beside("rate-limit"),
    reload: Reload::FirstUse,
    about: "So many requests more may come at once, up to 100 times `rate-limit`; then they are let in one by one at its pace, and what is refused does not count. Without it each `rate-limit-period` that ends now is counted, with what was refused.",
    ..ROW
};

pub(super) const EXEMPT: Row = Row {
    name: "rate-limit-exempt",
    kind: Kind::Networks,
    example: "10.0.0.0/8, fd00::/8",
    with: With::Beside("rate-limit"),
    about: "Clients from there have no limit.",
    ..ROW
};

pub(super) const KEY: Row = Row {
    name: "rate-limit-key",
    kind: Kind::RequestKey,
    example: "header:X-Api-Key",
    with: With::Beside("rate-limit"),
    reload: Reload::FirstUse,
    about: "What is counted instead of clients' addresses: requests with the same header, cookie or parameter of the query, or for the same host, path or URI. Those without it are counted by address.",
    ..ROW
};

pub(super) const PERIOD: Row = Row {
    name: "rate-limit-period",
    kind: Kind::Choice(PERIODS),
    example: "minute",
    default: "second",
    with: With::Beside("rate-limit"),
    reload: Reload::FirstUse,
    about: "In which `rate-limit` counts. The first use of another one than second, minute and hour takes a reload, and `rate-limit-burst` does not count with it.",
    ..ROW
};

pub(super) const STATUS: Row = Row {
    name: "rate-limit-status",
    kind: Kind::Choice(REFUSALS),
    example: "503",
    with: With::Beside("rate-limit"),
    reload: Reload::FirstUse,
    about: "What others get beyond it, with `Retry-After`; 429 without it.",
    ..ROW
};
