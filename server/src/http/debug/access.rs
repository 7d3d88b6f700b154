//! Who may look at `/debug`: this machine, unless `--debug-address` says otherwise.
//!
//! A page that some website shows can ask a port of this machine by a name of its own that leads here. So on loopback only
//! names of this machine are answered.

use actix_web::{
    Error, HttpResponse,
    body::{BoxBody, MessageBody},
    dev::{ServiceRequest, ServiceResponse},
    middleware::Next,
};
use std::net::IpAddr;

/// Lets a request through, or says how it would be let through. `open`: an address that is not loopback was asked for.
///
/// # Errors
/// Those of what is behind it.
pub async fn gate(
    open: bool,
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let host = request.connection_info().host().to_owned();
    let near = request.peer_addr().is_some_and(|peer| peer.ip().is_loopback());
    if open || (near && is_of_this_machine(&host)) {
        return next.call(request).await.map(ServiceResponse::map_into_boxed_body);
    }
    let why = format!(
        "/debug answers on this machine only, by its address or as localhost, and not as {host:?}. Use kubectl port-forward, \
         or start haptic with --debug-address\n"
    );
    Ok(request.into_response(HttpResponse::Forbidden().content_type("text/plain").body(why)))
}

/// Whether nobody else can give that name to this machine: an address, `localhost`, or a name without a dot.
fn is_of_this_machine(host: &str) -> bool {
    let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => host.split_once(':').map_or(host, |(name, _)| name),
    };
    name.parse::<IpAddr>().is_ok() || !name.contains('.') || name.ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_nobody_else_can_give_are_answered() {
        for host in ["localhost:6060", "127.0.0.1:6060", "[::1]:6060", "::1", "controller", "a.localhost"] {
            assert!(is_of_this_machine(host), "{host}");
        }
        for host in ["evil.example:6060", "127.0.0.1.evil.example", "localhost.evil.example:80"] {
            assert!(!is_of_this_machine(host), "{host}");
        }
    }
}
