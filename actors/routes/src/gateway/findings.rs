//! Verdicts that refuse something, as findings: for Events, the webhook, `haptic status` and `haptic explain`.

use super::levels::LevelShare;
use crate::{matching::lists::MOST, sentences::few};
use haptic_model::{
    Finding, FindingKind, Findings, ObjectRef,
    gateway::{
        ClassVerdict, GatewayVerdict, ListenerSetVerdict, ListenerVerdict, NamespacedName, ParentVerdict,
        PolicyVerdict, RouteVerdict, StatusCondition,
    },
};
use litemap::LiteMap;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// The findings at objects of the Gateway API.
#[derive(Clone, Debug, Default)]
pub(super) struct GatewayFindings {
    all: Findings,
    /// The objects at which something is found, by kind and name.
    at: BTreeMap<(&'static str, NamespacedName), Arc<ObjectRef>>,
}

impl GatewayFindings {
    pub fn all(&self) -> &Findings {
        &self.all
    }

    /// Sets the findings at one object; one that is gone has no reference.
    pub fn set(
        &mut self,
        kind: &'static str,
        name: &NamespacedName,
        object: Option<Arc<ObjectRef>>,
        found: Vec<Finding>,
    ) {
        let key = (kind, name.clone());
        match object.filter(|_| !found.is_empty()) {
            Some(object) => {
                self.all.set(&object, found);
                self.at.insert(key, object);
            }
            None => {
                if let Some(object) = self.at.remove(&key) {
                    self.all.set(&object, Vec::new());
                }
            }
        }
    }

    /// Sets the findings at all objects of a kind.
    pub fn set_all(
        &mut self,
        kind: &'static str,
        now: Vec<(NamespacedName, Option<Arc<ObjectRef>>, Vec<Finding>)>,
    ) {
        let there: BTreeSet<&NamespacedName> = now.iter().map(|(name, _, _)| name).collect();
        let known = self.at.keys().filter(|(of, name)| *of == kind && !there.contains(name));
        let gone: Vec<NamespacedName> = known.map(|(_, name)| name.clone()).collect();
        for name in gone {
            self.set(kind, &name, None, Vec::new());
        }
        for (name, object, found) in now {
            self.set(kind, &name, object, found);
        }
    }
}

pub(super) fn of_class(verdict: &ClassVerdict) -> Vec<Finding> {
    unmet(&verdict.conditions, "", FindingKind::ListenerRefused)
}

pub(super) fn of_gateway(verdict: &GatewayVerdict) -> Vec<Finding> {
    let own = unmet(&verdict.conditions, "", FindingKind::ListenerRefused);
    own.into_iter().chain(of_listeners(&verdict.listeners)).collect()
}

pub(super) fn of_listener_set(verdict: &ListenerSetVerdict) -> Vec<Finding> {
    let own = unmet(&verdict.conditions, "", FindingKind::ListenerRefused);
    own.into_iter().chain(of_listeners(&verdict.listeners)).collect()
}

pub(super) fn of_route(verdict: &RouteVerdict) -> Vec<Finding> {
    let mut found = of_parents(&verdict.parents, FindingKind::RouteNotTaken);
    if is_unservable(verdict) {
        let dropped = found.iter_mut().filter(|one| one.kind == FindingKind::RulesDropped);
        dropped.for_each(|one| one.kind = FindingKind::RouteUnservable);
    }
    found
}

/// Whether nothing of a route can be served, here or by anybody else whom it names.
fn is_unservable(verdict: &RouteVerdict) -> bool {
    let mut conditions = verdict.parents.iter().flat_map(|parent| &parent.conditions);
    !verdict.has_others
        && conditions.any(|one| (one.kind, one.holds, one.reason) == ("Accepted", false, "UnsupportedValue"))
}

/// The first of the findings at routes that are served otherwise than their users may think.
pub(super) fn of_doubts(doubts: &BTreeSet<Finding>) -> Vec<Finding> {
    few(doubts.iter().cloned().collect())
}

/// The findings at routes for which the lists of hostnames have no room.
pub(super) fn of_shares(shares: &LiteMap<Arc<str>, LevelShare>) -> Vec<Finding> {
    let cut = shares.iter().filter(|(_, share)| share.left_out > 0);
    let findings = cut.filter_map(|(level, share)| {
        let (listener, host) = level.split_once('|')?;
        let sentence = format!(
            "{} matches for {host} at listener {listener} are not served, so that other rules get their requests: of regular expressions and conditions a hostname has {MOST}, and less where they are expensive, none of more than some thousand bytes; those count that come first, and each namespace has its part",
            share.left_out
        );
        Some(Finding::new(FindingKind::TooManyRoutes, sentence).at_host(host))
    });
    findings.collect()
}

pub(super) fn of_policy(verdict: &PolicyVerdict) -> Vec<Finding> {
    of_parents(&verdict.ancestors, FindingKind::PolicyRefused)
}

fn of_listeners(listeners: &[ListenerVerdict]) -> Vec<Finding> {
    let of = |listener: &ListenerVerdict| {
        unmet(&listener.conditions, &format!("listener {}: ", listener.name), FindingKind::ListenerRefused)
    };
    listeners.iter().flat_map(of).collect()
}

/// Each once, where several parents say the same.
fn of_parents(parents: &[ParentVerdict], refused: FindingKind) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    for parent in parents {
        let place = match parents.len() {
            1 => String::new(),
            _ => format!("{}: ", named(&parent.reference.value())),
        };
        let own = unmet(&parent.conditions, &place, refused);
        found.extend(own.into_iter().filter(|one| !found.contains(one)).collect::<Vec<_>>());
    }
    found
}

/// `Gateway infra/web, listener https`.
fn named(reference: &Value) -> String {
    let text = |field: &str| reference.get(field).and_then(Value::as_str);
    let name = [text("namespace"), text("name")].into_iter().flatten().collect::<Vec<_>>().join("/");
    let listener = text("sectionName").map(|name| format!(", listener {name}")).unwrap_or_default();
    format!("{} {name}{listener}", text("kind").unwrap_or("Gateway"))
}

/// Conditions that are other than they should be. What only sums up others is not among them.
fn unmet(conditions: &[StatusCondition], place: &str, refused: FindingKind) -> Vec<Finding> {
    let kind = |condition: &StatusCondition| match (condition.kind, condition.holds, condition.reason) {
        (_, false, "ListenersNotValid" | "ListenersNotResolved") => None,
        ("Accepted", false, "UnsupportedValue") | ("PartiallyInvalid", true, _) => {
            Some(FindingKind::RulesDropped)
        }
        ("Accepted", false, _) => Some(refused),
        ("ResolvedRefs", false, _) => Some(FindingKind::ReferenceUnresolved),
        ("OverlappingTLSConfig", true, _) => Some(FindingKind::ListenersOverlap),
        _ => None,
    };
    let found = conditions.iter().filter_map(|condition| Some((kind(condition)?, condition)));
    found.map(|(kind, condition)| Finding::new(kind, format!("{place}{}", condition.message))).collect()
}
