//! Whose certificate and whose client verification a host has.
//!
//! A host belongs to the namespaces that `spec.hosts` names for it. Where it names none it belongs to the namespace that
//! has the host's first route; a host without routes to that of the wildcard over it, or of the routes for every host,
//! for its requests go there. Nobody else's certificate is served and nobody else's CA asked for.

use super::{
    claims::Claims,
    contest::{Age, Claimants, Contest, Holder},
    matching::{ANY_HOST, wildcard_over},
    owners::Owners,
};
use haptic_model::ObjectRef;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

/// All hosts that anybody asks for.
#[derive(Clone, Debug, Default)]
pub(super) struct Hosts {
    all: HashMap<Arc<str>, Host>,
    /// The hosts right below each wildcard, whether anybody asks for that or not.
    below: HashMap<Arc<str>, BTreeSet<Arc<str>>>,
}

/// One host, or wildcard.
#[derive(Clone, Debug, Default)]
pub(super) struct Host {
    /// Who has routes on it.
    pub routes: Contest,
    /// Who brings certificates for it.
    pub certificates: Claimants,
    /// What came of it.
    pub tls: Tls,
}

/// How TLS is answered for a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tls {
    /// Whose host it is.
    pub holder: Option<Holder>,
    /// The certificates of its own; without them it has those of the wildcard over it, or the default one.
    pub certificates: Option<Certificates>,
    /// The CA of its clients.
    pub client_ca: Option<ClientCa>,
    /// Whether the wildcard over it has certificates of a namespace that the host does not belong to.
    pub foreign_wildcard: bool,
    /// The object in whose set the host is listed, if it needs a line of its own.
    pub listed_by: Option<Arc<ObjectRef>>,
}

/// The certificates that an object brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Certificates {
    pub object: Arc<ObjectRef>,
    pub age: Age,
    pub secrets: Arc<[Arc<str>]>,
}

/// A Secret with a CA that clients' certificates are verified with.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ClientCa {
    pub namespace: Arc<str>,
    pub secret: Arc<str>,
}

/// The namespaces whose certificates and CAs count for a host.
enum Entitled<'h> {
    Listed(&'h [Arc<str>]),
    One(&'h str),
    Nobody,
}

impl Entitled<'_> {
    fn has(&self, namespace: &str) -> bool {
        match self {
            Self::Listed(all) => all.iter().any(|listed| **listed == *namespace),
            Self::One(one) => *one == namespace,
            Self::Nobody => false,
        }
    }
}

impl Hosts {
    pub fn get(&self, host: &str) -> Option<&Host> {
        self.all.get(host)
    }

    /// The host, to be changed.
    pub fn entry(&mut self, host: &Arc<str>) -> &mut Host {
        if !self.all.contains_key(host)
            && let Some(wildcard) = wildcard_over(host)
        {
            self.below.entry(wildcard.into()).or_default().insert(host.clone());
        }
        self.all.entry(host.clone()).or_default()
    }

    /// Forgets a host that nobody asks for or has.
    pub fn forget_unused(&mut self, host: &str) {
        let unused = |known: &Host| known.routes.holder.is_none() && known.certificates.first().is_none();
        if !self.all.get(host).is_some_and(unused) {
            return;
        }
        self.all.remove(host);
        let Some(wildcard) = wildcard_over(host) else { return };
        if let Some(below) = self.below.get_mut(&*wildcard) {
            below.remove(host);
            if below.is_empty() {
                self.below.remove(&*wildcard);
            }
        }
    }

    /// Every host, or those right below a wildcard.
    pub fn covered_by(&self, wildcard: &str) -> Vec<Arc<str>> {
        if wildcard == ANY_HOST {
            return self.all.keys().filter(|host| ***host != *ANY_HOST).cloned().collect();
        }
        self.below.get(wildcard).into_iter().flatten().cloned().collect()
    }

    /// How TLS is answered for `host`. The wildcard over it must be known already.
    pub fn tls(&self, host: &Arc<str>, owners: &Owners, claims: &BTreeMap<Arc<ObjectRef>, Arc<Claims>>) -> Tls {
        let Some(own) = self.all.get(host) else { return Tls::default() };
        let holder = self.holder(host);
        let entitled = self.entitled(host, owners, holder);
        let client_ca = self.client_ca(host, &entitled, claims);
        let brought = |name: &str, by: &Claimants| {
            let claimant = by.iter().find(|claimant| entitled.has(&claimant.object.namespace))?;
            let secrets = claims.get(&claimant.object)?.certificates.get(name)?.clone();
            Some(Certificates { object: claimant.object.clone(), age: claimant.age.clone(), secrets })
        };
        let tls = Tls { holder: holder.cloned(), client_ca, ..Tls::default() };
        let over = wildcard_over(host).and_then(|wildcard| self.all.get_key_value(&*wildcard));
        let above = over.and_then(|(_, over)| over.tls.certificates.as_ref());
        let foreign_wildcard = above.is_some_and(|above| !entitled.has(&above.object.namespace));
        if let Some(certificates) = brought(host, &own.certificates) {
            let listed_by = Some(certificates.object.clone());
            return Tls { certificates: Some(certificates), foreign_wildcard, listed_by, ..tls };
        }
        let first = own.routes.holder.as_ref().and_then(|holder| holder.object.as_ref());
        let Some(first) = first.map(|first| first.object.clone()) else { return tls };
        let certificates = match above {
            Some(above) if !foreign_wildcard => {
                let other_ca = over.is_some_and(|(_, over)| over.tls.client_ca != tls.client_ca);
                other_ca.then(|| above.clone())
            }
            _ => over.and_then(|(wildcard, over)| brought(wildcard, &over.certificates)),
        };
        let listed_by = (certificates.is_some() || foreign_wildcard).then_some(first);
        Tls { certificates, foreign_wildcard, listed_by, ..tls }
    }

    /// Who has the requests for a host: its own routes, those of the wildcard over it, or those for every host.
    fn holder(&self, host: &str) -> Option<&Holder> {
        self.routed(host).and_then(|routed| routed.routes.holder.as_ref())
    }

    fn routed(&self, host: &str) -> Option<&Host> {
        let wildcard = wildcard_over(host);
        let names = [Some(host), wildcard.as_deref(), Some(ANY_HOST)];
        let mut hosts = names.into_iter().flatten().filter_map(|name| self.all.get(name));
        hosts.find(|host| host.routes.holder.is_some())
    }

    fn entitled<'h>(&'h self, host: &str, owners: &'h Owners, holder: Option<&'h Holder>) -> Entitled<'h> {
        if let Some(listed) = owners.of_host(host) {
            return Entitled::Listed(listed);
        }
        // No request goes there: the first one that brings a certificate may do no harm with it.
        let first = || self.all.get(host).and_then(|host| host.certificates.first());
        match holder {
            Some(holder) => Entitled::One(&holder.namespace),
            None => first().map_or(Entitled::Nobody, |first| Entitled::One(&first.object.namespace)),
        }
    }

    /// The first of those that the host belongs to counts, so there are never two.
    fn client_ca(
        &self,
        host: &str,
        entitled: &Entitled<'_>,
        claims: &BTreeMap<Arc<ObjectRef>, Arc<Claims>>,
    ) -> Option<ClientCa> {
        let routed = self.routed(host)?.routes.claimants.iter();
        let first = routed.filter(|claimant| claimant.verifies);
        let first = &first.map(|claimant| &claimant.object).find(|object| entitled.has(&object.namespace))?;
        let secret = claims.get(*first)?.client_ca.clone()?;
        Some(ClientCa { namespace: first.namespace.clone(), secret })
    }
}
