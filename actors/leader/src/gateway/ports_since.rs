//! Since which generation each port of HAProxy is a Gateway's: a Service leads there once every ready pod runs that, so that nobody's clients get
//! the answers of whoever had the port before.

use super::progress::FleetProgress;
use haptic_model::{
    Generation,
    gateway::{GatewayVerdict, NamespacedName},
};
use std::{collections::BTreeMap, sync::Arc};

/// By Gateway, its ports of HAProxy.
#[derive(Clone, Debug, Default)]
pub(crate) struct PortsSince(BTreeMap<NamespacedName, BTreeMap<u16, Generation>>);

impl PortsSince {
    /// The same after `generation`, which is rendered with these verdicts.
    pub(crate) fn after(
        &self,
        generation: Generation,
        gateways: &BTreeMap<NamespacedName, Arc<GatewayVerdict>>,
    ) -> Self {
        let of = |(name, verdict): (&NamespacedName, &Arc<GatewayVerdict>)| {
            let before = self.0.get(name);
            let since = |target: u16| before.and_then(|before| before.get(&target)).copied();
            let ports = verdict.ports.iter().map(|port| port.target);
            (name.clone(), ports.map(|target| (target, since(target).unwrap_or(generation))).collect())
        };
        Self(gateways.iter().map(of).collect())
    }

    /// Since when `target` is this Gateway's; `None`: it is not.
    pub(crate) fn of(&self, gateway: &NamespacedName, target: u16) -> Option<Generation> {
        self.0.get(gateway)?.get(&target).copied()
    }

    /// Whether every ready pod runs all ports of this Gateway.
    pub(crate) fn are_run(&self, gateway: &NamespacedName, fleet: &FleetProgress) -> bool {
        self.0.get(gateway).is_none_or(|ports| ports.values().all(|since| fleet.has_run(*since)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::gateway::GatewayPort;

    fn gateways(targets: &[u16]) -> BTreeMap<NamespacedName, Arc<GatewayVerdict>> {
        let ports = targets.iter().map(|target| GatewayPort { port: 80, target: *target }).collect();
        let verdict = GatewayVerdict { ports, ..GatewayVerdict::default() };
        [(name(), Arc::new(verdict))].into()
    }

    fn name() -> NamespacedName {
        ("shop".into(), "web".into())
    }

    #[test]
    fn a_port_is_a_gateways_since_the_first_generation_in_which_it_is_without_a_gap() {
        let first = PortsSince::default().after(Generation(3), &gateways(&[20_000]));
        let second = first.after(Generation(4), &gateways(&[20_000, 20_001]));
        assert_eq!(second.of(&name(), 20_000), Some(Generation(3)));
        assert_eq!(second.of(&name(), 20_001), Some(Generation(4)));
        let gone = second.after(Generation(5), &gateways(&[20_001]));
        assert_eq!(gone.of(&name(), 20_000), None);
        let again = gone.after(Generation(6), &gateways(&[20_000]));
        assert_eq!(again.of(&name(), 20_000), Some(Generation(6)), "somebody else may have had it");
        let fleet =
            |pods: &[u64]| FleetProgress { pods: pods.iter().map(|pod| Some(Generation(*pod))).collect() };
        assert!(again.are_run(&name(), &fleet(&[6, 7])) && !again.are_run(&name(), &fleet(&[6, 5])));
        assert!(again.are_run(&name(), &fleet(&[])), "nobody is led anywhere");
    }
}
