//! The holders of ports: of those that ask for one and may have it, the oldest object.

use super::{
    claims::{self, AskedBy, AskedPorts, TcpClaim, TcpTls},
    empty, enter,
    ports::ListedPorts,
};
use crate::{findings::certificates::NamedCertificates, ownership::contest::Age};
use haptic_model::{Finding, FindingKind, ObjectRef, Snapshot};
use std::{collections::BTreeMap, sync::Arc};

/// A demand for a port, and whose it is.
struct PortClaim<'a> {
    age: &'a Age,
    object: &'a Arc<ObjectRef>,
    by: AskedBy,
    claim: &'a TcpClaim,
}

/// Why nobody is served at a port by a claim.
enum PortRefusal<'a> {
    /// The port is for other namespaces.
    NotAdmitted,
    /// The operator does not list it.
    NotListed,
    /// Another claim has it.
    Taken(&'a ObjectRef),
}

/// The things that decide besides the claims.
pub(super) struct PortContest<'c> {
    pub listed: &'c ListedPorts,
    pub services: &'c Arc<Snapshot>,
    pub certificates: &'c NamedCertificates,
}

/// The ports that somebody has, and what is found at all that ask for some.
pub(super) struct PortHolders {
    pub sets: Snapshot,
    /// Of ports whose holder has TLS end here.
    pub tls: BTreeMap<u16, TcpTls>,
    pub found: BTreeMap<Arc<ObjectRef>, Vec<Finding>>,
}

impl PortHolders {
    pub fn of(asked: &BTreeMap<Arc<ObjectRef>, AskedPorts>, contest: &PortContest<'_>) -> Self {
        let found = asked.iter().map(|(object, asked)| (object.clone(), asked.findings.clone())).collect();
        let mut holders = Self { sets: empty(), tls: BTreeMap::new(), found };
        for asking in by_port(asked).values() {
            holders.decide(asking, contest);
        }
        holders
    }

    /// Decides about the claims for one port.
    fn decide(&mut self, asking: &[PortClaim<'_>], contest: &PortContest<'_>) {
        let holder = holder_of(asking, contest.listed);
        for one in asking {
            let PortClaim { object, claim, .. } = *one;
            let refusal = one.refusal(contest.listed);
            let is_holders = refusal.is_none() && holder.is_some_and(|holder| holder.object == object);
            let other = holder.filter(|holder| !std::ptr::eq(*holder, one));
            let refusal = refusal.or_else(|| Some(PortRefusal::Taken(other?.object)));
            let why = match refusal {
                Some(refusal) => Some((refusal.kind(), refusal.sentence(claim.port))),
                None => claims::missing(contest.services, claim),
            };
            let found = self.found.entry(object.clone()).or_default();
            found.extend(why.map(|(kind, sentence)| claim.finding(kind, sentence)));
            if is_holders {
                found.extend(claims::found_at_certificate(contest.certificates, claim));
                enter(&mut self.sets, claim);
                self.tls.extend(claim.tls.clone().map(|tls| (claim.port, tls)));
            }
        }
    }
}

/// The claims for each port, those of older objects first.
fn by_port(asked: &BTreeMap<Arc<ObjectRef>, AskedPorts>) -> BTreeMap<u16, Vec<PortClaim<'_>>> {
    let mut all: BTreeMap<u16, Vec<PortClaim<'_>>> = BTreeMap::new();
    for (object, AskedPorts { age, claims, by, .. }) in asked {
        for claim in claims {
            all.entry(claim.port).or_default().push(PortClaim { age, object, by: *by, claim });
        }
    }
    all.values_mut().for_each(|asking| asking.sort_by_key(|one| (one.age, one.object)));
    all
}

/// The first claim for a port that may have it.
fn holder_of<'a, 'c>(asking: &'a [PortClaim<'c>], listed: &ListedPorts) -> Option<&'a PortClaim<'c>> {
    asking.iter().find(|one| one.refusal(listed).is_none())
}

impl PortClaim<'_> {
    /// The reason why it serves no client, whichever other object asks for the port.
    fn refusal(&self, listed: &ListedPorts) -> Option<PortRefusal<'static>> {
        let TcpClaim { port, namespace, .. } = self.claim;
        if self.by != AskedBy::ConfigMap && !listed.admits(*port, namespace) {
            return Some(PortRefusal::NotAdmitted);
        }
        (!listed.has(*port)).then_some(PortRefusal::NotListed)
    }
}

impl PortRefusal<'_> {
    fn kind(&self) -> FindingKind {
        match self {
            Self::NotAdmitted => FindingKind::HostConflict,
            Self::NotListed => FindingKind::OptionWithoutEffect,
            Self::Taken(_) => FindingKind::RouteConflict,
        }
    }

    fn sentence(&self, port: u16) -> String {
        match self {
            Self::NotAdmitted => format!(
                "port {port} is for other namespaces, which tcpPorts names: nobody is served there by this one"
            ),
            Self::NotListed => {
                format!("port {port} is none that the operator lists in tcpPorts: nobody is served there")
            }
            Self::Taken(other) => format!("port {port} is taken by {other}, which has it first"),
        }
    }
}
