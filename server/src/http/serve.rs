//! Starts one small HTTP server.

use actix_web::{App, HttpServer, dev::ServerHandle, middleware::DefaultHeaders, web::ServiceConfig};
use std::net::SocketAddr;

/// A server that cannot listen.
#[derive(Debug, thiserror::Error)]
#[error(
    "the {what} server cannot listen on {address}: {cause}; change {field} in the configuration, or end what uses that port"
)]
pub struct ServeError {
    what: &'static str,
    address: SocketAddr,
    field: &'static str,
    cause: std::io::Error,
}

/// Serves `routes` on `address` until the handle is stopped. `what` and `field` (the configuration's field of the
/// port) are for the error message.
///
/// # Errors
/// When the address is in use or not ours.
pub fn serve(
    what: &'static str,
    field: &'static str,
    address: SocketAddr,
    routes: impl Fn(&mut ServiceConfig) + Clone + Send + 'static,
) -> Result<ServerHandle, ServeError> {
    let server = HttpServer::new(move || {
        App::new()
            .wrap(DefaultHeaders::new().add(("X-Content-Type-Options", "nosniff")))
            .configure(routes.clone())
    });
    let server = server.workers(1).disable_signals().shutdown_timeout(2).bind(address);
    let server = server.map_err(|cause| ServeError { what, address, field, cause })?.run();
    let handle = server.handle();
    actix_rt::spawn(async move {
        if let Err(error) = server.await {
            tracing::error!(what, %error, "HTTP server ended");
        }
    });
    Ok(handle)
}
