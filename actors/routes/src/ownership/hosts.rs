//! The certificate and the client verification of each host.
//!
//! A host belongs to the namespaces that `spec.hosts` names for it. Where it names none it belongs to the namespace that
//! has the host's first route; a host without routes to that of the wildcard over it, or of the routes for every host,
//! for its requests go there. Nobody else's certificate is served and nobody else's CA asked for.

use super::{
    contest::{Age, ClaimPriority, Claimant, Claimants, Contest, Holder},
    owners::Owners,
    separate_hosts::SeparateHosts,
};
use crate::{
    claims::Claims,
    matching::{ANY_HOST, wildcard_over},
};
use haptic_model::ObjectRef;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

/// All hosts that anybody asks for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hosts {
    all: HashMap<Arc<str>, Host>,
    /// The hosts right below each wildcard, whether anybody asks for that or not.
    below: HashMap<Arc<str>, BTreeSet<Arc<str>>>,
    /// The hosts that each wildcard's certificates are not for.
    apart: HashMap<Arc<str>, SeparateHosts>,
}

/// One host, or wildcard.
#[derive(Clone, Debug, Default)]
pub(crate) struct Host {
    /// The contest for its routes.
    pub routes: Contest,
    /// The objects that bring certificates for it.
    pub certificates: Claimants,
    /// The outcome.
    pub tls: Tls,
}

/// How TLS is answered for a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tls {
    /// The namespace whose host it is.
    pub holder: Option<Holder>,
    /// The certificates of its own; without them it has those of the wildcard over it, or the default one.
    pub certificates: Option<Certificates>,
    /// The CA of its clients.
    pub client_ca: Option<ClientCa>,
    /// Whether the certificates of the wildcard over it must not be served for it, for they are of a namespace that the host
    /// does not belong to, or ask clients for another CA.
    pub is_apart: bool,
    /// The object in whose set the host is listed, if it needs a line of its own.
    pub listed_by: Option<Arc<ObjectRef>>,
}

/// The certificates that an object brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Certificates {
    pub object: Arc<ObjectRef>,
    pub age: Age,
    /// That of the Secrets.
    pub namespace: Arc<str>,
    /// Without a name it is the default one.
    pub secrets: Arc<[Arc<str>]>,
    pub source: CertificateSource,
}

/// Why these certificates are a host's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CertificateSource {
    /// The object brings them.
    Object,
    /// The object's class has one for want of another.
    Class,
    /// There is none, and clients are verified: the default one is shown, with a line for the host.
    Default,
}

/// A Secret with a CA that clients' certificates are verified with.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ClientCa {
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

    /// The host, to be changed, if anybody asks for it or has it.
    pub fn get_mut(&mut self, host: &str) -> Option<&mut Host> {
        self.all.get_mut(host)
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
    pub fn tls(
        &self,
        host: &Arc<str>,
        owners: &Owners,
        claims: &BTreeMap<Arc<ObjectRef>, Arc<Claims>>,
    ) -> Tls {
        let Some(own) = self.all.get(host) else { return Tls::default() };
        let holder = self.holder(host);
        let entitled = self.entitled(host, owners, holder);
        let client_ca = self.client_ca(host, &entitled, claims);
        let brought = |name: &str, by: &Claimants| {
            let claimant = by.iter().find(|claimant| entitled.has(&claimant.object.namespace))?;
            let secrets = claims.get(&claimant.object)?.certificates.get(name)?.clone();
            let (object, age) = (claimant.object.clone(), claimant.age.clone());
            let namespace = object.namespace.clone();
            Some(Certificates { object, age, namespace, secrets, source: CertificateSource::Object })
        };
        let tls = Tls { holder: holder.cloned(), client_ca, ..Tls::default() };
        let over = wildcard_over(host).and_then(|wildcard| self.all.get_key_value(&*wildcard));
        let above = over.and_then(|(_, over)| over.tls.certificates.as_ref());
        let is_foreign = above.is_some_and(|above| !entitled.has(&above.object.namespace));
        let other_ca = above.is_some() && over.is_some_and(|(_, over)| over.tls.client_ca != tls.client_ca);
        if let Some(certificates) = brought(host, &own.certificates) {
            let listed_by = Some(certificates.object.clone());
            return Tls {
                certificates: Some(certificates),
                is_apart: is_foreign || other_ca,
                listed_by,
                ..tls
            };
        }
        let first = own.routes.holder.as_ref().and_then(|holder| holder.object.as_ref());
        let certificates = match above {
            Some(above) if !is_foreign => other_ca.then(|| above.clone()),
            _ => over
                .and_then(|(wildcard, over)| brought(wildcard, &over.certificates))
                .or_else(|| default_of_class(host, own, &entitled, claims))
                .or_else(|| tls.client_ca.as_ref().and_then(|_| default_of_all(host, own))),
        };
        let Some((first, certificates)) = first.zip(certificates) else {
            return Tls { is_apart: is_foreign, ..tls };
        };
        let listed_by = Some(first.object.clone());
        Tls { certificates: Some(certificates), is_apart: is_foreign || other_ca, listed_by, ..tls }
    }

    /// Notes whether a host is apart from the wildcard over it, and gives that if it is news there.
    pub fn note_apart(&mut self, host: &Arc<str>) -> Option<Arc<str>> {
        let wildcard: Arc<str> = wildcard_over(host)?.into();
        let tls = self.all.get(host).map(|host| &host.tls).filter(|tls| tls.is_apart);
        let namespace = tls.map(|tls| {
            let listed_by = tls.listed_by.as_ref().map(|object| &object.namespace);
            let holder = tls.holder.as_ref().map(|holder| &holder.namespace);
            listed_by.or(holder).cloned().unwrap_or_default()
        });
        if namespace.is_none() && !self.apart.contains_key(&wildcard) {
            return None;
        }
        let apart = self.apart.entry(wildcard.clone()).or_default();
        apart.note(host, namespace).then_some(wildcard)
    }

    /// Chooses again which hosts a wildcard's line leaves out, and gives those for which that is different.
    pub fn choose_apart(&mut self, wildcard: &Arc<str>) -> Vec<Arc<str>> {
        let Some(apart) = self.apart.get_mut(wildcard) else { return Vec::new() };
        let different = apart.choose();
        if apart.is_empty() {
            self.apart.remove(wildcard);
        }
        different
    }

    /// The hosts that a wildcard's line leaves out.
    pub fn apart_from(&self, wildcard: &str) -> Option<&BTreeSet<Arc<str>>> {
        self.apart.get(wildcard).map(SeparateHosts::chosen).filter(|chosen| !chosen.is_empty())
    }

    /// Whether no other certificates than its own are served for a host, so that no other CA verifies its clients.
    pub fn is_alone(&self, host: &str) -> bool {
        let is_apart = self.all.get(host).is_some_and(|host| host.tls.is_apart);
        !is_apart
            || wildcard_over(host)
                .and_then(|wildcard| self.apart_from(&wildcard))
                .is_some_and(|chosen| chosen.contains(host))
    }

    /// The holder of the requests for a host: of its own routes, of those of the wildcard over it, or of those for every host.
    fn holder(&self, host: &str) -> Option<&Holder> {
        self.routed(host).and_then(|routed| routed.routes.holder.as_ref())
    }

    fn routed(&self, host: &str) -> Option<&Host> {
        let wildcard = wildcard_over(host);
        let names = [Some(host), wildcard.as_deref(), Some(ANY_HOST)];
        let mut hosts = names.into_iter().flatten().filter(|name| !self.yields(name));
        hosts.find_map(|name| self.all.get(name).filter(|host| host.routes.holder.is_some()))
    }

    /// Whether a host is only redirected, and the wildcard over it has routes: then these have its requests.
    pub fn yields(&self, host: &str) -> bool {
        let first = |name: &str| self.all.get(name)?.routes.holder.as_ref()?.object.as_ref();
        first(host).is_some_and(|first| first.standing == ClaimPriority::Redirect)
            && wildcard_over(host).is_some_and(|over| first(&over).is_some_and(Claimant::asks))
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

    /// The first of those that the host belongs to counts, so there are never two. A host without routes has that of those which
    /// take its requests.
    fn client_ca(
        &self,
        host: &str,
        entitled: &Entitled<'_>,
        claims: &BTreeMap<Arc<ObjectRef>, Arc<Claims>>,
    ) -> Option<ClientCa> {
        let own = &self.all.get(host)?.routes;
        if own.holder.is_none() {
            let over = self.routed(host)?.tls.client_ca.clone();
            return over.filter(|ca| entitled.has(&ca.namespace));
        }
        let verifying = own.claimants.iter().filter(|claimant| claimant.verifies);
        let first =
            &verifying.map(|claimant| &claimant.object).find(|object| entitled.has(&object.namespace))?;
        let secret = claims.get(*first)?.client_ca.clone()?;
        Some(ClientCa { namespace: first.namespace.clone(), secret })
    }
}

/// The certificate that the class of who wants TLS for the host has for want of another one.
fn default_of_class(
    host: &str,
    known: &Host,
    entitled: &Entitled<'_>,
    claims: &BTreeMap<Arc<ObjectRef>, Arc<Claims>>,
) -> Option<Certificates> {
    let mut claimants = known.routes.claimants.iter();
    claimants.find_map(|claimant| {
        let of_object = claims.get(&claimant.object).filter(|_| entitled.has(&claimant.object.namespace))?;
        let (namespace, secret) = of_object.default_certificate.clone()?;
        of_object.has_tls_at(host).then(|| Certificates {
            object: claimant.object.clone(),
            age: claimant.age.clone(),
            namespace,
            secrets: [secret].into(),
            source: CertificateSource::Class,
        })
    })
}

/// The certificate that hosts without one are shown, for a host whose clients are verified. Beside the names that nobody has it would ask
/// the clients of all others.
fn default_of_all(host: &str, known: &Host) -> Option<Certificates> {
    let first = known.routes.holder.as_ref()?.object.as_ref().filter(|_| host != ANY_HOST)?;
    Some(Certificates {
        object: first.object.clone(),
        age: first.age.clone(),
        namespace: "".into(),
        secrets: ["".into()].into(),
        source: CertificateSource::Default,
    })
}
