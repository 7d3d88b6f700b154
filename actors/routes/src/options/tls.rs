//! Options of the TLS of a host: what clients may speak with it.

use super::{
    kind::Kind,
    level::Level::{Class, Ingress},
    row::{ROW, Reload, Row, With},
};

/// Those of TLS 1.2 that are good today (Mozilla's intermediate ones, and AES-256 alone is a choice of its own).
pub(crate) const GOOD_CIPHERS: [&str; 6] = [
    "ECDHE-ECDSA-AES128-GCM-SHA256",
    "ECDHE-RSA-AES128-GCM-SHA256",
    "ECDHE-ECDSA-AES256-GCM-SHA384",
    "ECDHE-RSA-AES256-GCM-SHA384",
    "ECDHE-ECDSA-CHACHA20-POLY1305",
    "ECDHE-RSA-CHACHA20-POLY1305",
];

pub(super) const PASSTHROUGH: Row = Row {
    name: "ssl-passthrough",
    example: "true",
    levels: &[Ingress],
    guards: true,
    about: "`true`: what clients say over TLS to hosts of the Ingress goes to the servers of their path `/` as it comes, by the name that clients ask for (SNI); nothing opens it here. \
        It takes the setting `passthrough`, and only the namespace that has a host may have it. Of other options `allow-from`, `deny-from`, `maintenance`, `closed` and, at the Ingress, `proxy-protocol` count for such connections; \
        where one that guards access cannot be asked of them, TLS ends here. Requests over HTTP are redirected to HTTPS, unless `ssl-redirect` is false.",
    ..ROW
};

pub(super) const PASSTHROUGH_HTTP_PORT: Row = Row {
    name: "ssl-passthrough-http-port",
    kind: Kind::Number { least: 1, most: 65_535, what: "a port" },
    example: "8080",
    with: With::Beside("ssl-passthrough"),
    levels: &[Ingress],
    about: "The port of the Service that requests over HTTP for `/` go to; they are not redirected.",
    ..ROW
};

pub(super) const DEFAULT_CERTIFICATE: Row = Row {
    name: "default-certificate",
    kind: Kind::QualifiedName("Secret"),
    example: "edge/wildcard-tls",
    levels: &[Class],
    about: "Secret, of type `kubernetes.io/tls` or labelled, with the certificate for hosts that `spec.tls` has without one: in the place of `defaultCertificate`, which stays that of all other hosts.",
    ..ROW
};

pub(super) const ALPN: Row = Row {
    name: "tls-alpn",
    kind: Kind::Several(&["h2", "http/1.1"]),
    example: "http/1.1",
    levels: &[Ingress],
    about: "What clients may speak over TLS with the hosts that the Ingress brings certificates for, the best first; `h2, http/1.1` without it. HTTP/3 is none of them: with the option such hosts do not speak it, and answers of the Ingress do not offer it.",
    ..ROW
};

pub(super) const CIPHERS: Row = Row {
    name: "tls-ciphers",
    kind: Kind::Several(&GOOD_CIPHERS),
    example: "ECDHE-ECDSA-AES256-GCM-SHA384, ECDHE-RSA-AES256-GCM-SHA384",
    levels: &[Ingress],
    guards: true,
    about: "The ciphers of TLS 1.2 for the hosts that the Ingress brings certificates for.",
    ..ROW
};

pub(super) const MIN_VERSION: Row = Row {
    name: "tls-min-version",
    kind: Kind::Choice(&["TLSv1.2", "TLSv1.3"]),
    example: "TLSv1.3",
    levels: &[Ingress],
    guards: true,
    about: "The oldest version of TLS for the hosts that the Ingress brings certificates for, no older than `sslMinVersion`; others get no connection, and 403 where they have one by the name of another host. `min-tls-version` answers instead.",
    reload: Reload::FirstUse,
    ..ROW
};
