//! Options of tries: what is sent again, after which failures, and how often.

use super::{
    kind::Kind,
    level::Level::{Class, Ingress, Path, Service},
    row::{ROW, Reload, Row},
};

/// After what HAProxy may send a request again; all of it where no option says otherwise.
const FAILURES: [&str; 4] = ["conn-failure", "empty-response", "junk-response", "response-timeout"];

pub(super) const RETRIES: Row = Row {
    name: "retries",
    kind: Kind::Number { least: 0, most: 10, what: "a number" },
    example: "1",
    reload: Reload::Change,
    about: "How often a connection is tried again; 3 times without it.",
    levels: &[Path, Ingress, Service, Class],
    ..ROW
};

pub(super) const RETRY: Row = Row {
    name: "retry",
    kind: Kind::Choice(&["idempotent", "all"]),
    example: "idempotent",
    about: "`idempotent` or `all`: which requests are sent again when a server failed to answer. Without it only those that reached none.",
    levels: &[Path, Ingress, Service, Class],
    ..ROW
};

pub(super) const RETRY_ON: Row = Row {
    name: "retry-on",
    kind: Kind::Several(&FAILURES),
    example: "conn-failure, empty-response",
    reload: Reload::Change,
    about: "After which failures, by HAProxy's names for them: `conn-failure` (no server got the request), `empty-response` (the connection ended \
        without an answer), `junk-response` (the answer was none of HTTP) and `response-timeout` (there was none within `timeout-server`); all of \
        them without it. But for the first they count for what `retry` has sent again.",
    levels: &[Path, Ingress, Service, Class],
    ..ROW
};
