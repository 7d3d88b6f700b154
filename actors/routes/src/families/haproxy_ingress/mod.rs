//! Annotations of jcmoraisjr/haproxy-ingress.
//!
//! A Service's annotations count before those of the Ingress, its ConfigMap's behind both. Some guards of its are open where they are
//! wrong; here they are closed.

pub(super) mod access;
mod external_auth;
mod headers;
mod paths;
mod scripts;
mod servers;
pub(super) mod table;
mod tls;
mod values;

use super::{annotations::ReadAnnotations, backend_lines, translation::Translation};
pub use table::{PREFIXES, TABLE};

/// The translations that take several keys.
pub(super) const GROUPS: &[fn(&ReadAnnotations<'_>, &mut Translation<'_>)] = &[
    access::clients,
    access::passwords,
    access::certificates,
    access::rates,
    external_auth::external,
    external_auth::oauth,
    scripts::cors,
    scripts::hsts,
    servers::balance,
    servers::checks,
    servers::agents,
    servers::upstream,
    servers::protocol,
    servers::proxy_protocol,
    servers::affinity,
    servers::passthrough,
    servers::queue,
    tls::all,
    headers::all,
    paths::not_of_http,
    paths::to_https,
    paths::to_url,
    paths::from_host,
    paths::body,
    paths::conditions,
    paths::forms,
    paths::alias,
    |said, out| {
        backend_lines::translate(
            &["config-backend-early", "config-backend", "config-backend-late"],
            said,
            out,
        )
    },
];
