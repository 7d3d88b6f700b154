//! The settings of `extraContext.gateway`.

use crate::{matching::path::Spelling, options::Settings, ownership::owners::Owners, tcp::ListedPorts};
use haptic_model::{
    ActiveConfig,
    gateway::{NamespacedName, controller_name},
};
use serde_json::{Map, Value};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// The ports of HAProxy's containers that listeners have, and what else the operator sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GatewaySettings {
    pub controller: String,
    /// Namespace and name of the HAProxyTemplateConfig in force.
    pub config: NamespacedName,
    pub ports: PortMode,
    /// Of the ports for one kind of connections, how many percent Gateways of one namespace may have.
    pub namespace_share: u16,
    /// Whether Services of Gateways get any labels or annotations that these ask for.
    pub has_infrastructure: bool,
    /// How many entries of maps one route may become.
    pub routes_per_object: usize,
    /// How paths are compared.
    pub spelling: Spelling,
    /// The settings of options of all routes.
    pub options: Settings,
    /// The hosts that belong to some namespaces.
    pub owners: Arc<Owners>,
}

/// How a listener's port becomes one of HAProxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PortMode {
    /// Each Gateway has ports of its own, out of these ranges: first and number of those for HTTP, with TLS, and for TCP.
    Allocated { plain: (u16, u16), tls: (u16, u16), tcp: (u16, u16) },
    /// The port itself, or what `targets` has for it: Gateways share ports. None of them has one of HAProxy's `own`.
    Same { targets: BTreeMap<u16, u16>, own: BTreeSet<u16> },
}

impl PortMode {
    /// Whether ports are what Gateways name, so that there is nothing to remember.
    pub fn is_same(&self) -> bool {
        matches!(self, Self::Same { .. })
    }
}

impl GatewaySettings {
    pub fn of(config: &ActiveConfig) -> Self {
        let settings = config.spec.templating_settings.extra_context.get("gateway");
        let setting = |key: &str| settings.and_then(|settings| settings.get(key));
        let controller = controller_name(&config.spec.templating_settings.extra_context).to_owned();
        let ports = match setting("portMode").and_then(Value::as_str) {
            Some("same") => {
                PortMode::Same { targets: ports_of(setting("portTargets")), own: own_ports(config) }
            }
            _ => {
                let [plain, tls, tcp] = ranges(settings);
                PortMode::Allocated { plain, tls, tcp }
            }
        };
        let has_infrastructure = !config.spec.controller.gateway.annotation_prefixes.is_empty();
        let namespace_share = number(settings, "namespaceShare", 50);
        let in_force = (config.namespace.clone(), config.name.clone());
        let routes_per_object = config.spec.controller.limits.routes_per_object;
        let options = Settings::of(&config.spec.templating_settings.extra_context);
        Self {
            controller,
            config: in_force,
            ports,
            namespace_share,
            has_infrastructure,
            routes_per_object,
            spelling: Spelling::of(&config.spec.templating_settings.extra_context),
            options,
            owners: Arc::new(Owners::of(&config.spec)),
        }
    }
}

/// Whether HAProxy may listen at `port` for Gateways, as far as settings say. Where Gateways share the ports that they name, those are
/// what `portTargets` has.
#[must_use]
pub fn may_listen(context: &Map<String, Value>, port: u16) -> bool {
    let Some(settings) = context.get("gateway") else { return false };
    if settings.get("portMode").and_then(Value::as_str) == Some("same") {
        return ports_of(settings.get("portTargets")).values().any(|target| *target == port);
    }
    ranges(Some(settings)).iter().any(|(first, count)| (*first..first.saturating_add(*count)).contains(&port))
}

/// First and number of the ports for HTTP, with TLS, and for TCP.
fn ranges(settings: Option<&Value>) -> [(u16, u16); 3] {
    let range = |first, from, count, many| (number(settings, first, from), number(settings, count, many));
    [
        range("firstPort", 20_000, "ports", 128),
        range("firstTlsPort", 20_200, "tlsPorts", 32),
        range("firstTcpPort", 20_300, "tcpPorts", 64),
    ]
}

fn number(settings: Option<&Value>, key: &str, otherwise: u16) -> u16 {
    let number = settings.and_then(|settings| settings.get(key)).and_then(Value::as_u64);
    number.and_then(|number| u16::try_from(number).ok()).unwrap_or(otherwise)
}

/// Where HAProxy listens for something else.
fn own_ports(config: &ActiveConfig) -> BTreeSet<u16> {
    let context = &config.spec.templating_settings.extra_context;
    let single =
        ["httpPort", "httpsPort", "healthPort"].iter().filter_map(|name| context.get(*name)?.as_u64());
    let single = single.filter_map(|port| u16::try_from(port).ok());
    single.chain(ListedPorts::of(context).iter()).chain([config.spec.dataplane.port]).collect()
}

/// `{"80": 8080}`.
fn ports_of(value: Option<&Value>) -> BTreeMap<u16, u16> {
    let entries = value.and_then(Value::as_object).into_iter().flatten();
    let read =
        |(port, target): (&String, &Value)| Some((port.parse().ok()?, u16::try_from(target.as_u64()?).ok()?));
    entries.filter_map(read).collect()
}
