//! Connections that are passed on as they are: those of TLSRoutes and TCPRoutes.
//!
//! https://gateway-api.sigs.k8s.io/reference/spec/, `TLSRouteRule` and `TCPRouteRule`. A rule takes all connections of its route, so that of several the
//! first counts. What leads nowhere has no backend, and such connections end.

use super::{
    matches::WantedRequests,
    objects::RouteRule,
    rules::{MapSettings, ResolvedRule, RuleReader, RuleSettings, backend_name, chosen},
};
use crate::matching::Match;
use serde_json::Value;
use std::collections::BTreeSet;

/// The most that the API takes; files are not checked by it.
const MOST_BACKENDS: usize = 16;

/// The name of a rule that is for all connections of its route.
const ALL: &str = "0";

impl RuleReader<'_> {
    pub fn read_stream(&mut self, rule: &Value) -> ResolvedRule {
        let matches = vec![WantedRequests { wanted: Match::exact("", ""), cost: None, doubt: None }];
        let short_name = ALL.to_owned();
        let done = serde_json::from_value::<RouteRule>(rule.clone())
            .map_err(|why| format!("it cannot be read: {why}"))
            .and_then(|rule| self.stream(&rule));
        match done {
            Ok((settings, backends)) => {
                ResolvedRule { matches, short_name, settings, backends, unsupported: None, dropped: None }
            }
            Err(why) => ResolvedRule {
                matches,
                short_name,
                settings: closed(),
                backends: BTreeSet::new(),
                unsupported: Some(why),
                dropped: None,
            },
        }
    }

    fn stream(&mut self, rule: &RouteRule) -> Result<RuleSettings, String> {
        let many = rule.backend_refs.len();
        if many > MOST_BACKENDS {
            return Err(format!("it has {many} backendRefs; {MOST_BACKENDS} are the most"));
        }
        let mut backends = BTreeSet::new();
        let mut choices = Vec::new();
        for reference in &rule.backend_refs {
            let own = match self.backend(&reference.target, reference.port, None) {
                Some(backend) => {
                    let own = MapSettings::from([("backend", backend_name(&backend))]);
                    backends.insert(backend);
                    own
                }
                None => MapSettings::from([("status", "closed".into())]),
            };
            choices.push((reference.weight.unwrap_or(1), own));
        }
        choices.retain(|(weight, _)| *weight > 0);
        let settings = match choices.len() {
            0 => closed(),
            1 if many == 1 => choices.into_iter().map(|(_, own)| (String::new(), own)).collect(),
            // As in rules of requests: the steps of a rollout are entries of a map.
            _ => chosen(choices),
        };
        Ok((settings, backends))
    }
}

/// Of connections that end.
fn closed() -> Vec<(String, MapSettings)> {
    vec![(String::new(), MapSettings::from([("status", "closed".into())]))]
}
