//! Services, and ports of theirs, that an object leads to and that are not there.

use crate::{
    claims::{Claims, auth},
    objects::services::{Missing, Services},
    options,
};
use haptic_model::{Finding, FindingKind};
use std::collections::HashSet;

/// Each Service and port that is not there, once.
pub(crate) fn found(claims: &Claims, namespace: &str, services: &Services) -> Vec<Finding> {
    let mut known = HashSet::new();
    let each_once = claims.routes.iter().filter(|route| known.insert(&route.backend));
    let missing = each_once.filter_map(|route| Some((route, services.missing(namespace, &route.backend)?)));
    let mut found: Vec<Finding> = missing
        .map(|(route, missing)| {
            let sentence = format!("{} leads to {missing}: such requests get 503", route.wanted);
            route.wanted.finding(kind(&missing), sentence)
        })
        .collect();
    let mut known = HashSet::new();
    let others = claims.groups.iter().flat_map(|group| &group.others).filter(|other| known.insert(*other));
    let missing = others.filter_map(|other| services.missing(namespace, other));
    found.extend(missing.map(|missing| {
        let sentence = format!(
            "canary-service, weights, mirror-service, default-service or error-service name {missing}: it gets neither requests nor copies, and makes no answers"
        );
        Finding::new(kind(&missing), sentence)
    }));
    let missing = claims.asked.iter().filter_map(|(of, asked)| Some((of, services.missing(of, asked)?)));
    found.extend(missing.map(|(of, missing)| {
        let sentence =
            format!("auth-url asks, in namespace {of}, {missing}: requests that it guards are refused");
        options::finding(kind(&missing), auth::OPTION, sentence)
    }));
    found
}

fn kind(missing: &Missing) -> FindingKind {
    match missing {
        Missing::Service(_) => FindingKind::ServiceMissing,
        Missing::Port { .. } => FindingKind::PortMissing,
    }
}
