//! Annotations of haproxytech/kubernetes-ingress.
//!
//! Of its values only what is wrong for HAProxy itself is refused there, and a route is open where a guard is wrong; here it is closed.

mod access;
pub(super) mod custom_resources;
mod headers;
mod paths;
mod route_acl;
mod servers;
pub(super) mod table;
mod values;

use super::{annotations::ReadAnnotations, backend_lines, tls, translation::Translation};
pub use table::{PREFIXES, TABLE};

/// The translations that take several keys.
pub(super) const GROUPS: &[fn(&ReadAnnotations<'_>, &mut Translation<'_>)] = &[
    access::sources,
    access::unknown_guards,
    route_acl::conditions,
    access::passwords,
    access::rates,
    access::cors,
    headers::to_servers,
    paths::to_https,
    paths::to_host,
    paths::rewrites,
    paths::forms,
    servers::queue,
    custom_resources::defaults,
    servers::balance,
    servers::checks,
    servers::protocol,
    servers::proxy_protocol,
    servers::affinity,
    tls::passthrough,
    |said, out| {
        if let Some(list) = said.text("tls-alpn") {
            tls::alpn(list, "tls-alpn", out);
        }
    },
    custom_resources::backend,
    |said, out| backend_lines::translate(&["backend-config-snippet"], said, out),
    headers::to_clients,
];
