//! Who gets what they ask for: all claims of one kind of object, with conflicts resolved, kept up to date change by
//! change. A change costs as much as there are objects that ask for the same.

use super::{
    claims::{Backend, CertificateClaim, Claims, RouteClaim},
    matching::{Match, candidates},
    options::Options,
    record,
};
use haptic_model::{Object, ObjectRef, Snapshot};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
};

/// All claims and their winners.
#[derive(Clone, Debug)]
pub struct RouteIndex {
    claims: BTreeMap<Arc<ObjectRef>, Claims>,
    /// Who asks for what; the winner first.
    claimants: HashMap<Wanted, Vec<Arc<ObjectRef>>>,
    /// For each object what it got, as an object that templates read.
    sets: Snapshot,
    options: Options,
}

/// What only one can have.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Wanted {
    Requests(Match),
    /// To answer TLS for a host.
    Tls(Arc<str>),
}

/// Whether a claim was granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict<'i> {
    Granted,
    /// The object itself asked for the same before.
    Repeated,
    /// It was only for what nobody else takes, and somebody does.
    Yielded,
    /// Another one brings the very same.
    Shared,
    /// Another one has it.
    Taken {
        by: &'i ObjectRef,
        older: bool,
    },
}

impl Default for RouteIndex {
    fn default() -> Self {
        let mut sets = Snapshot::full();
        sets.set_synced();
        Self { claims: BTreeMap::new(), claimants: HashMap::new(), sets, options: Options::default() }
    }
}

impl RouteIndex {
    /// Objects that changed, each with what it asks for now; `None` when it is gone or asks for nothing.
    pub fn update(&mut self, changes: impl IntoIterator<Item = (Arc<ObjectRef>, Option<Claims>)>) {
        let (mut touched, mut contested) = (BTreeSet::new(), HashSet::new());
        for (object, claims) in changes {
            if let Some(before) = self.claims.remove(&object) {
                self.withdraw(&object, &before, &mut contested);
                self.options.remove(&before);
            }
            if let Some(claims) = claims {
                self.enter(&object, &claims, &mut contested);
                self.options.add(&claims);
                self.claims.insert(object.clone(), claims);
            }
            touched.insert(object);
        }
        for wanted in contested {
            touched.extend(self.claimants.get(&wanted).into_iter().flatten().cloned());
        }
        for object in touched {
            self.write(&object);
        }
    }

    /// For each object what it got, under its own name; an object that asks for nothing is not there.
    #[must_use]
    pub fn sets(&self) -> &Snapshot {
        &self.sets
    }

    /// An object for each option that any object asks for.
    #[must_use]
    pub fn options(&self) -> &Snapshot {
        self.options.store()
    }

    /// Where a request goes whose path is in the form in which paths are compared: the object that has it, and its backend.
    #[must_use]
    pub fn answer(&self, host: &str, path: &str) -> Option<(&ObjectRef, &Backend)> {
        candidates(host, path).find_map(|wanted| {
            let wanted = Wanted::Requests(wanted);
            let winner = self.claimants.get(&wanted)?.first()?;
            let claims = self.claims.get(winner)?;
            let rank = claims.rank(&wanted)?;
            let of = |r: &&RouteClaim| Wanted::Requests(r.wanted.clone()) == wanted && r.fallback == rank.0;
            claims.routes.iter().find(of).map(|route| (&**winner, &route.backend))
        })
    }

    fn enter(&mut self, object: &Arc<ObjectRef>, claims: &Claims, contested: &mut HashSet<Wanted>) {
        for wanted in claims.wanted() {
            let rank = claims.rank(&wanted);
            let all = self.claimants.entry(wanted.clone()).or_default();
            let order = |other: &Arc<ObjectRef>| {
                let theirs = self.claims.get(other).and_then(|c| c.rank(&wanted));
                theirs.cmp(&rank).then_with(|| other.cmp(object))
            };
            if let Err(place) = all.binary_search_by(order) {
                all.insert(place, object.clone());
                if place == 0 && all.len() > 1 {
                    contested.insert(wanted);
                }
            }
        }
    }

    fn withdraw(&mut self, object: &Arc<ObjectRef>, claims: &Claims, contested: &mut HashSet<Wanted>) {
        for wanted in claims.wanted() {
            let Some(all) = self.claimants.get_mut(&wanted) else { continue };
            let had_it = all.first() == Some(object);
            all.retain(|other| other != object);
            if all.is_empty() {
                self.claimants.remove(&wanted);
            } else if had_it {
                contested.insert(wanted);
            }
        }
    }

    fn write(&mut self, object: &Arc<ObjectRef>) {
        let Some(claims) = self.claims.get(object) else {
            self.sets.remove(object);
            return;
        };
        let routes =
            claims.routes.iter().enumerate().map(|(number, r)| self.route(object, claims, number, r));
        let routes: Vec<_> = routes.collect();
        let certificates = claims.certificates.iter().enumerate();
        let certificates: Vec<_> =
            certificates.map(|(number, c)| self.certificate(object, claims, number, c)).collect();
        let json = record::of(object, claims, &routes, &certificates);
        let key = [object.namespace.clone(), object.name.clone()].into();
        self.sets.apply(Object { reference: object.clone(), version: 0, json }, key);
    }

    fn route<'i>(
        &'i self,
        object: &ObjectRef,
        claims: &Claims,
        number: usize,
        claim: &RouteClaim,
    ) -> Verdict<'i> {
        let better = |(other, theirs): (usize, &RouteClaim)| {
            theirs.wanted == claim.wanted && (theirs.fallback, other) < (claim.fallback, number)
        };
        if claims.routes.iter().enumerate().any(better) {
            return if claim.fallback { Verdict::Yielded } else { Verdict::Repeated };
        }
        let wanted = Wanted::Requests(claim.wanted.clone());
        let Some((winner, theirs)) = self.winner(object, &wanted) else { return Verdict::Granted };
        let (ours, theirs) = (claims.rank(&wanted), theirs.rank(&wanted));
        if claim.fallback && theirs.as_ref().is_some_and(|(fallback, ..)| !fallback) {
            return Verdict::Yielded;
        }
        Verdict::Taken { by: winner, older: ours != theirs }
    }

    fn certificate<'i>(
        &'i self,
        object: &ObjectRef,
        claims: &Claims,
        number: usize,
        claim: &CertificateClaim,
    ) -> Verdict<'i> {
        // Several certificates of one object for one host are wanted: one ECDSA, one RSA.
        if claims.certificates.iter().take(number).any(|c| c == claim) {
            return Verdict::Repeated;
        }
        let wanted = Wanted::Tls(claim.host.clone());
        let Some((winner, theirs)) = self.winner(object, &wanted) else { return Verdict::Granted };
        if winner.namespace == object.namespace && theirs.certificates.contains(claim) {
            return Verdict::Shared;
        }
        Verdict::Taken { by: winner, older: claims.rank(&wanted) != theirs.rank(&wanted) }
    }

    /// Who has what `object` wants, if it is another one.
    fn winner(&self, object: &ObjectRef, wanted: &Wanted) -> Option<(&ObjectRef, &Claims)> {
        let winner = self.claimants.get(wanted)?.first().filter(|winner| ***winner != *object)?;
        Some((winner, self.claims.get(winner)?))
    }
}

impl Claims {
    fn wanted(&self) -> impl Iterator<Item = Wanted> {
        let routes = self.routes.iter().map(|r| Wanted::Requests(r.wanted.clone()));
        routes.chain(self.certificates.iter().map(|c| Wanted::Tls(c.host.clone())))
    }

    /// The place among all that ask for the same, the smallest gets it: fallbacks last, then by age.
    fn rank(&self, wanted: &Wanted) -> Option<(bool, bool, Option<Arc<str>>)> {
        let fallback = match wanted {
            Wanted::Requests(wanted) => {
                let own = self.routes.iter().filter(|r| r.wanted == *wanted);
                own.map(|r| r.fallback).min()?
            }
            Wanted::Tls(_) => false,
        };
        Some((fallback, self.created.is_none(), self.created.clone()))
    }
}
