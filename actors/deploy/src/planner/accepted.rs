//! Which server parameters `add server` takes.
//!
//! Measured by sending each keyword of `haproxy -dKsrv` to HAProxy 3.0.11, 3.2.26 and 3.4.7; the manual's list
//! (Management Guide 9.3, `add server`) is older than the code. A keyword that a version does not know is not in
//! that version's configurations either, so one list serves all.

use haptic_haproxy::views::Parameter;

/// Taken as they are. `id` and `guid` are taken too, but may still belong to a server that drains.
const ACCEPTED: &[&str] = &[
    "addr",
    "agent-addr",
    "agent-check",
    "agent-inter",
    "agent-port",
    "agent-send",
    "allow-0rtt",
    "alpn",
    "ca-file",
    "check",
    "check-alpn",
    "check-pool-conn-name",
    "check-proto",
    "check-reuse-pool",
    "check-send-proxy",
    "check-sni",
    "check-ssl",
    "check-via-socks4",
    "ciphers",
    "ciphersuites",
    "client-sigalgs",
    "cookie",
    "crl-file",
    "crt",
    "curves",
    "downinter",
    "error-limit",
    "fall",
    "fastinter",
    "force-sslv3",
    "force-tlsv10",
    "force-tlsv11",
    "force-tlsv12",
    "force-tlsv13",
    "hash-key",
    "healthcheck",
    "idle-ping",
    "init-state",
    "inter",
    "maxconn",
    "maxqueue",
    "minconn",
    "no-check-sni-auto",
    "no-renegotiate",
    "no-sni-auto",
    "no-ssl-reuse",
    "no-sslv3",
    "no-tls-tickets",
    "no-tlsv10",
    "no-tlsv11",
    "no-tlsv12",
    "no-tlsv13",
    "npn",
    "observe",
    "on-error",
    "on-marked-down",
    "on-marked-up",
    "pool-conn-name",
    "pool-low-conn",
    "pool-max-conn",
    "pool-purge-delay",
    "port",
    "proto",
    "proxy-v2-options",
    "renegotiate",
    "rise",
    "send-proxy",
    "send-proxy-v2",
    "send-proxy-v2-ssl",
    "send-proxy-v2-ssl-cn",
    "shard",
    "sigalgs",
    "slowstart",
    "sni",
    "source",
    "ssl",
    "ssl-max-ver",
    "ssl-min-ver",
    "strict-maxconn",
    "tfo",
    "tls-tickets",
    "verify",
    "verifyhost",
    "weight",
    "ws",
];

/// What a server has anyway. `add server` refuses most of them, and none changes a server that never had the
/// opposite, as one has not when this is its effective parameter.
const DEFAULTS: &[&str] = &[
    "enabled",
    "no-agent-check",
    "no-backup",
    "no-check",
    "no-check-reuse-pool",
    "no-check-send-proxy",
    "no-check-ssl",
    "no-send-proxy",
    "no-send-proxy-v2",
    "no-send-proxy-v2-ssl",
    "no-send-proxy-v2-ssl-cn",
    "no-ssl",
    "no-tfo",
    "ssl-reuse",
    "stick",
];

/// Parameters whose value names a file that HAProxy must have loaded when it started. Those of `ca-file` can be loaded
/// later, too.
const FILES: &[&str] = &["crl-file", "crt"];

/// Whether `add server` takes the parameter.
pub(super) fn is_accepted(parameter: &Parameter) -> bool {
    ACCEPTED.contains(&parameter.name.as_str())
}

/// Whether leaving the parameter out changes nothing.
pub(super) fn is_default(parameter: &Parameter) -> bool {
    DEFAULTS.contains(&parameter.name.as_str())
}

/// Whether the parameter's value is the name of a file.
pub(super) fn names_a_file(parameter: &Parameter) -> bool {
    FILES.contains(&parameter.name.as_str())
}

/// Whether HAProxy's socket takes `word` for one word of a command.
pub(super) fn is_word(word: &str) -> bool {
    !word.is_empty()
        && !word.contains(|c: char| c == ';' || c.is_control())
        && !word.starts_with("<<")
        && !word.starts_with('#')
}

/// Whether a value needs what only HAProxy's own start knows: an environment variable.
pub(super) fn has_variable(parameter: &Parameter) -> bool {
    parameter.values.iter().any(|value| value.contains('$'))
}
