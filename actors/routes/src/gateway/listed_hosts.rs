//! Hosts that belong to some namespaces by the operator's word (`spec.hosts`): listeners and routes of others get nothing of them.
//!
//! Whom a hostname belongs to is asked once for each of a listener or route, of an index. What a listener and a route have in common is the narrower of their
//! two hostnames, so that whoever asks about both has the answer already. Requests for a listed host that a wider route takes are HAProxy's to refuse: it
//! knows the host.

use super::{
    hostname::{ANY, intersect, is_within},
    listeners::{GatewayListener, Protocol},
};
use crate::ownership::owners::Owners;
use haptic_model::{Finding, FindingKind, gateway::RouteKind};
use std::{collections::BTreeSet, sync::Arc};

/// The most hosts that a condition names.
const NAMED: usize = 3;
/// The most hosts that findings at a route name: less than findings at an object may be.
const FOUND: usize = 10;

/// A hostname of a route.
#[derive(Debug)]
pub(super) struct RouteHostname {
    /// As it is compared, `None` for all hosts.
    pub hostname: Option<Arc<str>>,
    /// Whether it belongs to other namespaces than the route's.
    is_of_others: bool,
}

/// What a listener and a hostname of a route have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HostShare<'h> {
    Nothing,
    /// Hosts that belong to other namespaces.
    Refused(&'h str),
    Taken,
}

impl RouteHostname {
    /// The hostnames of a route of `namespace`. Connections over TCP ask for no host.
    pub fn all_of(
        kind: RouteKind,
        hostnames: Vec<Option<Arc<str>>>,
        namespace: &str,
        owners: &Owners,
    ) -> Vec<Self> {
        let read = |hostname: Option<Arc<str>>| {
            let hosts = hostname.as_deref().unwrap_or(ANY);
            let is_of_others = kind != RouteKind::Tcp && !owners.admit_to(hosts, namespace);
            Self { hostname, is_of_others }
        };
        hostnames.into_iter().map(read).collect()
    }

    /// The hosts that it stands for.
    pub fn hosts(&self) -> &str {
        self.hostname.as_deref().unwrap_or(ANY)
    }

    /// What a route of `namespace` gets of the hostname at a listener.
    pub fn share<'h>(&'h self, listener: &'h GatewayListener, namespace: &str) -> HostShare<'h> {
        let hosts = self.hosts();
        if !intersect(&listener.hostname, hosts) {
            return HostShare::Nothing;
        }
        let (hosts, is_of_others) = match is_within(hosts, &listener.hostname) {
            true => (hosts, self.is_of_others),
            false => (&*listener.hostname, !is_among(listener.owners.as_deref(), namespace)),
        };
        if is_of_others { HostShare::Refused(hosts) } else { HostShare::Taken }
    }
}

/// Notes whom the hosts of a listener of `namespace` belong to. One without a hostname names none of them, whatever is listed.
///
/// # Errors
/// That they are not the namespace's.
pub(super) fn claim(listener: &mut GatewayListener, namespace: &str, owners: &Owners) -> Result<(), String> {
    if listener.protocol == Some(Protocol::Tcp) {
        return Ok(());
    }
    listener.owners = owners.of_host(&listener.hostname).cloned();
    if *listener.hostname == *ANY || is_among(listener.owners.as_deref(), namespace) {
        return Ok(());
    }
    let why = owners.refusal(&listener.hostname);
    Err(format!("{why}; where this Gateway is shared, the operator lists namespace {namespace}, too"))
}

/// What is found at a route that does not get these hosts of others.
pub(super) fn findings(refused: &BTreeSet<Arc<str>>, owners: &Owners) -> Vec<Finding> {
    let mut all: Vec<Finding> = refused.iter().take(FOUND).map(|host| owners.finding(host)).collect();
    let more = refused.len().saturating_sub(FOUND);
    if more > 0 {
        let sentence = format!("{more} more hosts that it names belong to others by spec.hosts");
        all.push(Finding::new(FindingKind::HostConflict, sentence));
    }
    all
}

/// Why a route gets nothing, of whose hosts all belong to others.
pub(super) fn refusal(refused: &BTreeSet<Arc<str>>, owners: &Owners) -> String {
    let mut all: Vec<String> = refused.iter().take(NAMED).map(|host| owners.refusal(host)).collect();
    let more = refused.len().saturating_sub(NAMED);
    if more > 0 {
        all.push(format!("and {more} more like these"));
    }
    all.join("; ")
}

/// Whether a namespace is among those that hosts belong to; hosts that are not listed belong to nobody.
fn is_among(owners: Option<&[Arc<str>]>, namespace: &str) -> bool {
    owners.is_none_or(|owners| owners.iter().any(|owner| **owner == *namespace))
}
