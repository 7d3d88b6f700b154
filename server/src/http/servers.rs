//! Keeps the servers on the ports that the configuration asks for, also when it changes.

use super::{
    debug, health, metrics,
    serve::{ServeError, serve, serve_tls},
};
use actix_web::dev::ServerHandle;
use haptic_inspect::Readers;
use haptic_model::{ActiveConfig, crd::ControllerSpec};
use haptic_runtime::Topic;
use haptic_webhook::{
    service::{self, Admission},
    tls,
};
use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

/// How long the configuration's ports are waited for before the first ones are used: probes must find somebody.
const TIMEOUT: Duration = Duration::from_secs(1);
/// When the webhook ends: nobody has asked for so long.
const QUIET: Duration = Duration::from_millis(500);

/// What is served, and on which addresses.
#[derive(Clone)]
pub struct Front {
    /// Of health and metrics.
    pub address: IpAddr,
    pub debug_address: IpAddr,
    /// The ports, until a configuration is in force.
    pub first_ports: ControllerSpec,
    /// What the pipeline publishes.
    pub readers: Readers,
    /// Behind the metrics server.
    pub metrics: metrics::Scraped,
    /// Behind the debug server.
    pub debug: debug::DebugState,
    /// Behind the webhook's, where there is an API server to call it.
    pub admission: Option<Admission>,
}

/// What listens now.
#[derive(Debug, Default)]
pub struct HttpServers {
    health: Option<Listening>,
    metrics: Option<Listening>,
    debug: Option<Listening>,
    webhook: Option<Listening>,
}

#[derive(Debug)]
struct Listening {
    address: SocketAddr,
    handle: ServerHandle,
}

impl HttpServers {
    /// Serves `front` for as long as it is polled.
    ///
    /// # Errors
    /// When a port cannot be listened on at the start. Later, with a changed configuration, that is logged and the
    /// server stays where it is.
    pub async fn serve(
        &mut self,
        front: &Front,
        mut config: Topic<Option<Arc<ActiveConfig>>>,
    ) -> Result<(), ServeError> {
        let first = tokio::time::timeout(TIMEOUT, config.wait_for(Option::is_some)).await;
        self.follow(front, &ports(first.ok().as_deref(), &front.first_ports)).await?;
        loop {
            let changed = config.changed().await;
            if let Err(error) = self.follow(front, &ports(Some(&changed), &front.first_ports)).await {
                tracing::error!("{error}");
            }
        }
    }

    /// Waits until nobody asks the webhook any more, and whoever has asked has an answer. Connections are taken until then: an
    /// orderly stop of the server drops those on which nothing was read yet.
    pub async fn end_webhook(self, admission: &Admission) {
        let Some(webhook) = self.webhook else { return };
        admission.all_answered(QUIET).await;
        webhook.handle.stop(false).await;
    }

    /// Starts, moves and stops servers; port 0 is none.
    async fn follow(&mut self, front: &Front, ports: &ControllerSpec) -> Result<(), ServeError> {
        let at = |ip: IpAddr, port: u16| (port != 0).then(|| SocketAddr::new(ip, port));
        let (health, metrics, debug) = (
            at(front.address, ports.healthz_port),
            at(front.address, ports.metrics_port),
            at(front.debug_address, ports.debug_port),
        );
        relocate(&mut self.health, health, |address| {
            serve("health", "controller.healthzPort", address, health::routes(front.readers.clone()))
        })
        .await?;
        relocate(&mut self.metrics, metrics, |address| {
            serve("metrics", "controller.metricsPort", address, metrics::routes(front.metrics.clone()))
        })
        .await?;
        relocate(&mut self.debug, debug, |address| {
            serve(
                "debug",
                "controller.debugPort",
                address,
                debug::routes(front.debug.clone(), !address.ip().is_loopback()),
            )
        })
        .await?;
        let Some(admission) = &front.admission else { return Ok(()) };
        let webhook = ports.webhook.as_ref().and_then(|_| at(front.address, ports.webhook_port));
        relocate(&mut self.webhook, webhook, |address| {
            let (endpoint, config) = (admission.endpoint.clone(), admission.readers.config.clone());
            let what = ("webhook", "controller.webhookPort");
            serve_tls(what, address, tls::server_config(endpoint, config), service::routes(admission.clone()))
        })
        .await
    }
}

/// Moves one server to `wanted`: the new one listens before the old one stops.
async fn relocate(
    server: &mut Option<Listening>,
    wanted: Option<SocketAddr>,
    start: impl FnOnce(SocketAddr) -> Result<ServerHandle, ServeError>,
) -> Result<(), ServeError> {
    if server.as_ref().map(|s| s.address) == wanted {
        return Ok(());
    }
    let next = match wanted {
        Some(address) => Some(Listening { address, handle: start(address)? }),
        None => None,
    };
    if let Some(old) = std::mem::replace(server, next) {
        old.handle.stop(true).await;
    }
    Ok(())
}

fn ports(config: Option<&Option<Arc<ActiveConfig>>>, first: &ControllerSpec) -> ControllerSpec {
    let spec = config.and_then(Option::as_ref).map(|config| &config.spec);
    let ports = spec.map(|spec| ControllerSpec { webhook: spec.webhook(), ..spec.controller.clone() });
    ports.unwrap_or_else(|| first.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_at_the_first_ports_until_a_configuration_is_in_force() {
        let first = ControllerSpec { healthz_port: 8081, ..ControllerSpec::default() };
        assert_eq!(ports(None, &first).healthz_port, 8081);
        assert_eq!(ports(Some(&None), &first).healthz_port, 8081);
    }
}
