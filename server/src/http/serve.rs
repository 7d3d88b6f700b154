//! Starts one small HTTP server, or one over TLS.

use actix_web::{
    App, HttpServer,
    dev::{Server, ServerHandle},
    middleware::DefaultHeaders,
    web::ServiceConfig,
};
use std::{net::SocketAddr, time::Duration};

/// Connections of callers at once; an API server needs a few. All of them may be in a handshake: those that say nothing are in
/// nobody's way until there are so many.
const CONNECTIONS: usize = 1024;

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
    Ok(run(what, server))
}

/// As [`serve`], over TLS, for callers that may mean harm: their handshakes, headers and numbers are bounded.
///
/// # Errors
/// As [`serve`], or the settings of TLS are none.
pub fn serve_tls(
    (what, field): (&'static str, &'static str),
    address: SocketAddr,
    settings: Result<rustls::ServerConfig, rustls::Error>,
    routes: impl Fn(&mut ServiceConfig) + Clone + Send + 'static,
) -> Result<ServerHandle, ServeError> {
    let failed = |cause| ServeError { what, address, field, cause };
    let settings = settings.map_err(|error| failed(std::io::Error::other(error)))?;
    let server = HttpServer::new(move || App::new().configure(routes.clone()))
        .workers(1)
        .disable_signals()
        .shutdown_timeout(2)
        .max_connections(CONNECTIONS)
        .max_connection_rate(CONNECTIONS)
        .tls_handshake_timeout(Duration::from_secs(3))
        .client_request_timeout(Duration::from_secs(5))
        .client_disconnect_timeout(Duration::from_secs(1))
        .keep_alive(Duration::from_secs(90))
        .bind_rustls_0_23(address, settings)
        .map_err(failed)?
        .run();
    Ok(run(what, server))
}

fn run(what: &'static str, server: Server) -> ServerHandle {
    let handle = server.handle();
    actix_rt::spawn(async move {
        if let Err(error) = server.await {
            tracing::error!(what, %error, "HTTP server ended");
        }
    });
    handle
}
