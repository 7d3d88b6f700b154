//! Options of clients' certificates: who needs one, whose it must be, and what servers are told of it.

use super::{
    form::Form,
    kind::Kind,
    level::Level,
    row::{ROW, Reload, Row, With},
};

const WITH_CA: Row = Row {
    levels: &[Level::Path, Level::Ingress],
    with: With::Needs("client-ca-secret"),
    guards: true,
    ..ROW
};

/// `client-certificate`.
pub const CERTIFICATE: Row = Row {
    name: "client-certificate",
    kind: Kind::Choice(&["required", "optional"]),
    example: "optional",
    about: "`required` (default): who has no certificate gets 403. `optional`: who has none comes in, too; a certificate that another \
        CA signed or that is out of date ends the connection in any case. Requests in a TLS session of another host get 421.",
    ..WITH_CA
};

/// `client-certificate-error-page`.
pub const ERROR_PAGE: Row = Row {
    name: "client-certificate-error-page",
    kind: Kind::Text { most: 1000, form: Form::Location },
    example: "/no-certificate.html",
    guards: false,
    about: "Clients without a certificate are redirected there (303) instead of 403: a URL, or a path with a route that needs none.",
    ..WITH_CA
};

/// `client-certificate-headers`.
pub const HEADERS: Row = Row {
    name: "client-certificate-headers",
    kind: Kind::CertificateHeaders,
    example: "X-Client-DN: subject",
    reload: Reload::FirstUse,
    about: "Lines of `NAME: FACT`: headers that tell servers `subject` or `issuer` (as in RFC 2253), `cn` (the last common name of the subject), \
        `sha256` (of the certificate, in hexadecimal), `sha1` (the same in capitals), `pem` (the certificate, URL-encoded), `der` (the certificate in base64) or `verify` (`SUCCESS`, or `NONE` of clients without one, of whom nothing else is told). What clients send under \
        these names, in any spelling, is removed. A request that has no room for them gets 503. Without `client-ca-secret` no client has one.",
    with: With::Nothing,
    ..WITH_CA
};

/// `client-certificate-names`.
pub const NAMES: Row = Row {
    name: "client-certificate-names",
    kind: Kind::CertificateNames,
    example: "anna, *.clients.example, *@shop.example",
    reload: Reload::FirstUse,
    about: "Only certificates that have one of these names come in, others get 403: the last common name of the subject, or a host name, e-mail address or \
        URI of the subject alternative names. `*.` and `*@` stand for anything in front. Not together with `client-certificate: optional`.",
    ..WITH_CA
};

/// `client-certificate-names-in`.
pub const NAMES_IN: Row = Row {
    name: "client-certificate-names-in",
    kind: Kind::Choice(&["any", "subject"]),
    example: "subject",
    with: With::Needs("client-certificate-names"),
    reload: Reload::FirstUse,
    about: "`subject`: of the names that a certificate has only the last common name of its subject counts. `any` (default): its subject alternative names \
        do, too.",
    ..WITH_CA
};

/// `client-certificate-status`.
pub const STATUS: Row = Row {
    name: "client-certificate-status",
    kind: Kind::Choice(&["403", "400", "495"]),
    example: "400",
    reload: Reload::FirstUse,
    guards: false,
    about: "What clients get whose certificate is missing or wrong: `403` (without it), `400`, or `495`, and `496` of those without one. With it \
        certificates that are wrong for a host do not end connections, where any Ingress has it.",
    ..WITH_CA
};
