//! Annotations of kubernetes/ingress-nginx.

mod access;
mod balancing;
mod browsers;
mod canary;
mod client_certificates;
mod config_maps;
mod nginx_addresses;
mod nginx_conditions;
mod nginx_rewrites;
mod nginx_text;
mod passwords;
mod redirects;
mod servers;
mod snippets;
pub(super) mod table;
mod tls;
mod values;

use super::{annotations::ReadAnnotations, translation::Translation};
pub use table::{PREFIXES, TABLE};

/// The translations that take several keys.
pub(super) const GROUPS: &[fn(&ReadAnnotations<'_>, &mut Translation<'_>)] = &[
    redirects::paths,
    redirects::redirects,
    redirects::https,
    servers::bodies_and_times,
    servers::tries,
    servers::protocol,
    servers::over_tls,
    servers::passthrough,
    balancing::balance,
    balancing::affinity,
    balancing::others,
    browsers::cors,
    browsers::compression,
    browsers::hsts,
    passwords::passwords,
    access::blocked,
    access::asked,
    passwords::satisfied,
    access::limits,
    client_certificates::client_certificates,
    tls::tls,
    config_maps::headers,
    snippets::snippets,
    servers::hidden,
    canary::canary,
    redirects::aliases,
    access::clients_of_proxies,
];
