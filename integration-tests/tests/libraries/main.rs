//! The built-in libraries, as real requests over HTTP and HTTPS to HAProxy 3.0, 3.2 and 3.4.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod around;
mod auth;
mod auth_server;
mod balancing;
mod bodies;
mod canaries;
mod class_objects;
mod class_settings;
mod classes;
mod client;
mod client_certificates;
mod closing;
mod conditions;
mod cookbook;
mod costs;
mod data_plane_api;
mod descriptors;
mod destinations;
mod echo;
mod failing;
mod families;
mod frontends;
mod gateway;
mod grpc;
mod hostile;
mod languages;
mod levels;
mod limits;
mod mirrors;
mod names;
mod options;
mod owners;
mod pages;
mod passthrough;
mod passwords;
mod paths;
mod patience;
mod patterns;
mod ports;
mod protocols;
mod random;
mod requests;
mod scripts;
mod secrets;
mod servers;
mod settings;
mod site;
mod specification;
mod tcp;

use integration_tests::program::HaproxySeries;
use site::Site;

const SERIES: [HaproxySeries; 3] = [HaproxySeries::V3_0, HaproxySeries::V3_2, HaproxySeries::V3_4];

/// Asks a site of each HAProxy, with a configuration that `change` changes.
fn on_each_haproxy_with(
    manifests: &[serde_json::Value],
    change: impl Fn(&mut serde_json::Value),
    ask: impl Fn(&Site),
) {
    for series in SERIES {
        ask(&Site::start_with(series, manifests, &change));
    }
}

/// Asks a site of each HAProxy.
fn on_each_haproxy(manifests: &[serde_json::Value], ask: impl Fn(&Site)) {
    for series in SERIES {
        ask(&Site::start(series, manifests));
    }
}
