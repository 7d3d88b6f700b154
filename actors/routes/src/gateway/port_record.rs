//! The ports of Gateways as they are written down for the next controller, beside what is kept of hosts: who may edit a Service may write
//! there whatever is another's, and nobody but controllers writes this.

use super::ports::{AskedPort, GivenPorts, PortTransport};
use haptic_model::{HostHold, host_holds::HeldByText};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeSet, sync::Arc};

/// The name under which they are written. No watched resource has such a name.
pub(crate) const RECORDED_AS: &str = "ports of gateways";

/// A port that was given. The namespace stands beside it.
#[derive(Serialize, Deserialize)]
struct RecordedPort {
    gateway: Arc<str>,
    port: u16,
    transport: PortTransport,
    target: u16,
}

/// `given` as it is written. No time passes for any of them.
pub(super) fn written(given: &GivenPorts) -> HeldByText {
    let written = |(one, target): (&AskedPort, &u16)| {
        let (namespace, gateway) = one.gateway.clone();
        let port = RecordedPort { gateway, port: one.port, transport: one.transport, target: *target };
        let text = serde_json::to_string(&port).ok()?;
        Some((Arc::from(text), HostHold { namespace, age: None, gone: None }))
    };
    given.iter().filter_map(written).collect()
}

/// `known` with what was written, which counts before it: that is what pods run. What is no port is of a later revision, and passed over.
pub(super) fn joined(known: &GivenPorts, written: &HeldByText) -> GivenPorts {
    let mut taken = BTreeSet::new();
    let mut joined = GivenPorts::new();
    for (text, HostHold { namespace, .. }) in written {
        let Ok(recorded) = serde_json::from_str::<RecordedPort>(text) else { continue };
        let RecordedPort { gateway, port, transport, target } = recorded;
        if taken.insert(target) {
            joined.insert(AskedPort { gateway: (namespace.clone(), gateway), port, transport }, target);
        }
    }
    for (one, target) in known {
        if !joined.contains_key(one) && taken.insert(*target) {
            joined.insert(one.clone(), *target);
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(gateway: &str, transport: PortTransport) -> AskedPort {
        AskedPort { gateway: ("shop".into(), gateway.into()), port: 80, transport }
    }

    #[test]
    fn what_is_written_is_read_and_counts_before_what_was_found_otherwise() {
        let recorded = GivenPorts::from([
            (one("a", PortTransport::Plain), 100),
            (one("a", PortTransport::Tls), 200),
            (one("b", PortTransport::Plain), 101),
        ]);
        assert_eq!(joined(&GivenPorts::new(), &written(&recorded)), recorded);
        let found = GivenPorts::from([
            (one("b", PortTransport::Plain), 100),
            (one("c", PortTransport::Plain), 101),
            (one("d", PortTransport::Plain), 103),
        ]);
        let both = joined(&found, &written(&recorded));
        assert_eq!(both.get(&one("b", PortTransport::Plain)), Some(&101));
        assert_eq!(both.get(&one("c", PortTransport::Plain)), None, "it is another's");
        assert_eq!(both.get(&one("d", PortTransport::Plain)), Some(&103));
        let later = [(Arc::from("{}"), HostHold { namespace: "n".into(), age: None, gone: None })];
        assert!(joined(&GivenPorts::new(), &later.into_iter().collect()).is_empty());
    }
}
