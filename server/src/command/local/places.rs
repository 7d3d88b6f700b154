//! Where everything listens on this machine: on loopback, at ports that are free, unless somebody says otherwise. Pure but for
//! [`PortClaims`], which asks whether a port is free.

use crate::cli::ListenArgs;
use haptic_config::FileOverlay;
use haptic_model::{HAProxyTemplateConfigSpec, crd::ControllerSpec};
use serde_json::{Map, Value, json};
use std::{
    collections::BTreeSet,
    net::{IpAddr, Ipv4Addr, TcpListener},
    os::{
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr as UnixAddress, UnixListener},
    },
};

/// Where libraries listen unless told otherwise.
const EVERYWHERE: &str = "*";
/// So many ports after a taken one are tried.
const TRIED: u16 = 100;

/// What is laid over the configuration, and what is to be told of it.
#[derive(Debug, Default)]
pub struct LocalAddresses {
    /// Addresses and ports.
    pub overlay: FileOverlay,
    /// Which ports are other ones, and why.
    pub moved: Vec<String>,
}

/// Of the controller's servers.
#[derive(Clone, Copy, Debug)]
pub struct ServerAddresses {
    /// Health and metrics.
    pub bind: IpAddr,
    /// `/debug`.
    pub debug: IpAddr,
}

/// Ports that this process will listen at, so that another `haptic local` does not choose them meanwhile.
#[derive(Debug, Default)]
pub struct PortClaims {
    held: Vec<UnixListener>,
}

/// Chooses for `spec`. `is_free`: whether nobody listens at an address and port, which is ours then.
///
/// # Errors
/// An option that this configuration has no use for, or that asks for a port that is taken.
pub fn choose(
    spec: &HAProxyTemplateConfigSpec,
    args: &ListenArgs,
    servers: ServerAddresses,
    is_free: impl FnMut(IpAddr, u16) -> bool,
) -> Result<LocalAddresses, String> {
    let mut choice = AddressChoice { places: LocalAddresses::default(), chosen: BTreeSet::new(), is_free };
    choice.haproxy(&spec.templating_settings.extra_context, args)?;
    choice.controller(&spec.controller, args, servers)?;
    Ok(choice.places)
}

/// Refuses an address that nobody can listen at on this machine.
///
/// # Errors
/// A sentence that names it.
pub fn must_be_here(listen: Option<IpAddr>) -> Result<(), String> {
    let Some(address) = listen else { return Ok(()) };
    TcpListener::bind((address, 0)).map(drop).map_err(|why| {
        format!(
            "nobody can listen at {address}, which --listen names: {why}; name an address of this machine"
        )
    })
}

impl PortClaims {
    /// Whether a listener can be had at `address` and `port`, and no other process has claimed the port. It is claimed then.
    pub fn claim(&mut self, address: IpAddr, port: u16) -> bool {
        // A name that the kernel forgets with the process, and that is known as far as the port is: in one network namespace.
        let name = UnixAddress::from_abstract_name(format!("haptic-local-port-{port}"));
        let Ok(claim) = name.and_then(|name| UnixListener::bind_addr(&name)) else { return false };
        let free = TcpListener::bind((address, port)).is_ok();
        if free {
            self.held.push(claim);
        }
        free
    }
}

/// What an option says of a port.
struct PortWanted<'w> {
    option: &'w str,
    asked: Option<u16>,
    /// Who listens there.
    what: &'w str,
}

struct AddressChoice<F> {
    places: LocalAddresses,
    chosen: BTreeSet<u16>,
    is_free: F,
}

impl<F: FnMut(IpAddr, u16) -> bool> AddressChoice<F> {
    /// The variables of the libraries; templates that read none listen where they say.
    fn haproxy(&mut self, context: &Map<String, Value>, args: &ListenArgs) -> Result<(), String> {
        let listen = args.listen.unwrap_or(Ipv4Addr::LOCALHOST.into());
        for (name, everywhere, here) in [
            ("bindAddresses", json!([EVERYWHERE]), json!([listen])),
            ("healthAddress", json!(EVERYWHERE), json!(listen)),
        ] {
            let found = context.get(name);
            if found.is_some() && (args.listen.is_some() || found == Some(&everywhere)) {
                self.places.overlay.extra_context.insert(name.into(), here);
            }
        }
        if args.listen.is_some() && !context.contains_key("bindAddresses") {
            return Err(unread("--listen", "bindAddresses"));
        }
        let address = match self.places.overlay.extra_context.contains_key("bindAddresses") {
            true => listen,
            false => Ipv4Addr::UNSPECIFIED.into(),
        };
        for (name, option, asked, usual) in [
            ("httpPort", "--http-port", args.http_port, 7080),
            ("httpsPort", "--https-port", args.https_port, 7443),
            ("healthPort", "--health-port", args.health_port, 7084),
        ] {
            let Some(before) = context.get(name) else {
                if asked.is_some() {
                    return Err(unread(option, name));
                }
                continue;
            };
            let configured = before.as_u64().and_then(|port| u16::try_from(port).ok()).unwrap_or_default();
            let asked = PortWanted { option, asked, what: &format!("HAProxy's {name}") };
            let Some(port) = self.port(address, configured, usual, asked)? else { continue };
            self.places.overlay.extra_context.insert(name.into(), json!(port));
            // Redirects lead to the port that clients see, which is the same one here.
            if name == "httpsPort" && context.get("httpsPublicPort") == Some(before) {
                self.places.overlay.extra_context.insert("httpsPublicPort".into(), json!(port));
            }
        }
        Ok(())
    }

    fn controller(
        &mut self,
        spec: &ControllerSpec,
        args: &ListenArgs,
        servers: ServerAddresses,
    ) -> Result<(), String> {
        let usual = ControllerSpec::default();
        let wanted = |option, asked, what| PortWanted { option, asked, what };
        let healthz = wanted("--healthz-port", args.healthz_port, "health of HAPTIC");
        let healthz = self.port(servers.bind, spec.healthz_port, usual.healthz_port, healthz)?;
        let metrics = wanted("--metrics-port", args.metrics_port, "metrics of HAPTIC");
        let metrics = self.port(servers.bind, spec.metrics_port, usual.metrics_port, metrics)?;
        let debug = wanted("--debug-port", args.debug_port, "/debug");
        let debug = self.port(servers.debug, spec.debug_port, usual.debug_port, debug)?;
        let overlay = &mut self.places.overlay;
        (overlay.healthz_port, overlay.metrics_port, overlay.debug_port) = (healthz, metrics, debug);
        Ok(())
    }

    /// The port to use in place of the `configured` one: that which is asked for, or a free one if it is the `usual` and taken.
    fn port(
        &mut self,
        at: IpAddr,
        configured: u16,
        usual: u16,
        PortWanted { option, asked, what }: PortWanted<'_>,
    ) -> Result<Option<u16>, String> {
        let Self { chosen, is_free, .. } = self;
        // Port 0 is none.
        let mut free = |port: &u16| *port == 0 || (!chosen.contains(port) && is_free(at, *port));
        let found = match asked {
            Some(port) if !free(&port) => {
                return Err(format!(
                    "port {port} of {option} is taken at {at}: give another one, or none, and a free one is found"
                ));
            }
            Some(port) => Some(port),
            None if configured != usual || free(&configured) => None,
            None => (configured..configured.saturating_add(TRIED)).skip(1).find(free),
        };
        self.chosen.insert(found.unwrap_or(configured));
        if let (None, Some(port)) = (asked, found) {
            self.places.moved.push(format!("port {configured} is taken: {what} is at {port}"));
        }
        Ok(found)
    }
}

fn unread(option: &str, variable: &str) -> String {
    format!(
        "{option} changes nothing: no library reads {variable} here, HAProxy listens where the templates say"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVERS: ServerAddresses =
        ServerAddresses { bind: IpAddr::V4(Ipv4Addr::LOCALHOST), debug: IpAddr::V4(Ipv4Addr::LOCALHOST) };

    fn spec(context: Value) -> HAProxyTemplateConfigSpec {
        let spec = json!({
            "credentialsSecretRef": {"name": "c"}, "podSelector": {"matchLabels": {"a": "b"}},
            "templatingSettings": {"extraContext": context},
        });
        serde_json::from_value(spec).unwrap()
    }

    fn libraries() -> Value {
        json!({
            "bindAddresses": ["*"], "healthAddress": "*", "httpPort": 7080, "httpsPort": 7443, "healthPort": 7084,
            "httpsPublicPort": 7443,
        })
    }

    #[test]
    fn everything_is_on_loopback_and_stays_at_its_ports() {
        let LocalAddresses { overlay, moved } =
            choose(&spec(libraries()), &ListenArgs::default(), SERVERS, |_, _| true).unwrap();
        assert_eq!(overlay.extra_context["bindAddresses"], json!(["127.0.0.1"]));
        assert_eq!(overlay.extra_context["healthAddress"], json!("127.0.0.1"));
        assert_eq!((overlay.extra_context.len(), overlay.debug_port, moved), (2, None, vec![]));
    }

    #[test]
    fn usual_ports_that_are_taken_move_to_free_ones_of_their_own_and_that_is_told() {
        let taken = [7080, 7081, 7443, 6060, 8080];
        let LocalAddresses { overlay, moved } =
            choose(&spec(libraries()), &ListenArgs::default(), SERVERS, |_, port| !taken.contains(&port))
                .unwrap();
        assert_eq!(
            (&overlay.extra_context["httpPort"], &overlay.extra_context["httpsPort"]),
            (&json!(7082), &json!(7444))
        );
        assert_eq!(overlay.extra_context["httpsPublicPort"], json!(7444), "redirects lead to it");
        assert_eq!(
            (overlay.healthz_port, overlay.metrics_port, overlay.debug_port),
            (Some(8081), None, Some(6061))
        );
        assert_eq!(moved.len(), 4);
        assert!(moved.contains(&"port 6060 is taken: /debug is at 6061".to_owned()), "{moved:?}");
    }

    #[test]
    fn what_the_configuration_or_an_option_says_stays() {
        let mut own = libraries();
        own["httpPort"] = json!(8000);
        own["bindAddresses"] = json!(["192.0.2.1"]);
        let nothing_free = |_, _| false;
        let places = choose(&spec(own.clone()), &ListenArgs::default(), SERVERS, nothing_free).unwrap();
        assert!(!places.overlay.extra_context.contains_key("httpPort"), "{places:?}");
        assert!(!places.overlay.extra_context.contains_key("bindAddresses"), "{places:?}");
        let args = ListenArgs {
            listen: Some("::1".parse().unwrap()),
            http_port: Some(9000),
            debug_port: Some(9001),
            ..ListenArgs::default()
        };
        let few_free = |_, port| port >= 9000;
        let LocalAddresses { overlay, .. } = choose(&spec(own.clone()), &args, SERVERS, few_free).unwrap();
        assert_eq!(overlay.extra_context["bindAddresses"], json!(["::1"]));
        assert_eq!((&overlay.extra_context["httpPort"], overlay.debug_port), (&json!(9000), Some(9001)));
        let refused = |args: &ListenArgs| choose(&spec(own.clone()), args, SERVERS, few_free).unwrap_err();
        let taken = ListenArgs { http_port: Some(80), ..args.clone() };
        assert!(refused(&taken).starts_with("port 80 of --http-port is taken at ::1: give another one"));
        let twice = ListenArgs { debug_port: Some(9000), ..args };
        assert!(refused(&twice).starts_with("port 9000 of --debug-port is taken at 127.0.0.1"));
    }

    #[test]
    fn a_port_that_one_process_will_listen_at_is_not_free_for_another_until_it_ends() {
        let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let port = TcpListener::bind((here, 0)).unwrap().local_addr().unwrap().port();
        let (mut one, mut other) = (PortClaims::default(), PortClaims::default());
        assert!(one.claim(here, port));
        assert!(!other.claim(here, port), "nobody listens there yet, and still it is the first one's");
        drop(one);
        assert!(other.claim(here, port));
    }

    #[test]
    fn an_address_of_another_machine_is_refused_at_once() {
        assert_eq!(must_be_here(None), Ok(()));
        assert_eq!(must_be_here(Some(Ipv4Addr::LOCALHOST.into())), Ok(()));
        let why = must_be_here(Some(Ipv4Addr::new(192, 0, 2, 1).into())).unwrap_err();
        assert!(why.starts_with("nobody can listen at 192.0.2.1, which --listen names"), "{why}");
    }

    #[test]
    fn templates_of_ones_own_listen_where_they_say() {
        let places = choose(&spec(json!({})), &ListenArgs::default(), SERVERS, |_, _| true).unwrap();
        assert_eq!(places.overlay, FileOverlay::default());
        let args = ListenArgs { http_port: Some(9000), ..ListenArgs::default() };
        let why = choose(&spec(json!({})), &args, SERVERS, |_, _| true).unwrap_err();
        assert!(why.contains("--http-port") && why.contains("httpPort"), "{why}");
    }
}
