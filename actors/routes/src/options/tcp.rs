//! Options of Services that are reached at TCP ports.

use super::{
    form::Form,
    kind::Kind,
    level::Level::Service,
    row::{ROW, Reload, Row, With},
};

pub(super) const PORTS: Row = Row {
    name: "tcp-ports",
    kind: Kind::Text { most: 1000, form: Form::TcpPorts },
    example: "5432, 9000:admin",
    levels: &[Service],
    about: "What comes in at these ports of HAProxy goes to the Service, to its port of the same number or to the one that is named. The operator lists the ports that there are (`tcpPorts`); of two Services that ask for one the older has it. `proxy-protocol` counts, too.",
    ..ROW
};

pub(super) const ALLOW_FROM: Row = Row {
    name: "tcp-allow-from",
    kind: Kind::Networks,
    example: "10.0.0.0/8, fd00::/8",
    with: With::Beside("tcp-ports"),
    levels: &[Service],
    guards: true,
    about: "Connections of clients from elsewhere end.",
    ..ROW
};

pub(super) const TLS_SECRET: Row = Row {
    name: "tcp-tls-secret",
    kind: Kind::Secret,
    example: "db-tls",
    with: With::Beside("tcp-ports"),
    levels: &[Service],
    reload: Reload::Change,
    guards: true,
    about: "Secret in the Service's namespace, of type `kubernetes.io/tls` or labelled, with `tls.crt` and `tls.key`: TLS ends at HAProxy, with that certificate. Without the Secret nobody is served.",
    ..ROW
};
