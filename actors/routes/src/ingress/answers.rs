//! Single paths that a family answers itself.

use super::Reading;
use crate::{
    claims::{ClaimPriority, RouteClaim},
    families::PathAnswer,
    matching::Match,
    options::groups::{OwnOptions, RouteSays},
};
use std::{collections::BTreeMap, sync::Arc};

impl Reading<'_> {
    /// What a family answers on all hosts that there are routes for by now. What counts for whole hosts counts first, then what is said
    /// first.
    pub(super) fn answers(&mut self) {
        let answers = self.grouping.annotations().foreign().answers.clone();
        let mut hosts: BTreeMap<Arc<str>, ClaimPriority> = BTreeMap::new();
        for route in self.claims.routes.iter().filter(|_| !answers.is_empty()) {
            let standing = hosts.entry(route.wanted.host.clone()).or_insert(route.standing);
            *standing = route.standing.min(*standing);
        }
        let (of_routes, of_hosts): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.of_routes);
        for (host, standing) in hosts {
            for answer in of_routes.iter().rev() {
                self.answer(&host, standing, answer);
            }
            // What is said of a whole host is not for that of another namespace.
            for answer in of_hosts.iter().rev() {
                self.answer(&host, ClaimPriority::Spare, answer);
            }
        }
    }

    fn answer(&mut self, host: &Arc<str>, standing: ClaimPriority, answer: &PathAnswer) {
        let Some(path) = self.compared(&answer.path, false) else { return };
        let of_host: Vec<&RouteClaim> =
            self.claims.routes.iter().filter(|route| route.wanted.host == *host).collect();
        let taking = of_host.iter().find(|route| route.wanted.takes(&path));
        let Some(route) = taking.or_else(|| of_host.first().filter(|_| !answer.of_routes)) else { return };
        let (backend, tls) = (route.backend.clone(), route.tls);
        let own = OwnOptions {
            label: format!(" answer at {path}"),
            options: answer.options.clone(),
            without: PathAnswer::WITHOUT.to_vec(),
        };
        let group =
            self.grouping.number("", &backend.service, None, RouteSays { protocol: None, own: Some(own) });
        let wanted = Match::exact(host, &path);
        let route = RouteClaim { wanted, cost: None, backend, standing, tls, group, repeated: false };
        // The first of two routes for the same counts.
        self.claims.routes.insert(0, route);
    }
}
