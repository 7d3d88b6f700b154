//! Single paths that a family answers itself.

use super::Reading;
use crate::{
    claims::RouteClaim,
    families::PathAnswer,
    matching::Match,
    options::groups::{OwnOptions, RouteSays},
    ownership::contest::ClaimPriority,
};
use std::{collections::BTreeMap, sync::Arc};

impl Reading<'_> {
    /// Adds the answers of a family on all hosts that there are routes for by now. Those for whole hosts count first, then those that are said
    /// first.
    pub(super) fn answers(&mut self) {
        let answers = self.foreign().ingress.answers.clone();
        let compared =
            answers.into_iter().filter_map(|answer| Some((self.compared(&answer.path, false)?, answer)));
        let (of_routes, of_hosts): (Vec<_>, Vec<_>) = compared.partition(|(_, answer)| answer.of_routes);
        if of_routes.is_empty() && of_hosts.is_empty() {
            return;
        }
        let mut routes = std::mem::take(&mut self.claims.routes);
        let mut hosts: BTreeMap<Arc<str>, Vec<&RouteClaim>> = BTreeMap::new();
        for route in &routes {
            hosts.entry(route.wanted.host.clone()).or_default().push(route);
        }
        let mut answering = Vec::new();
        for (host, of_host) in hosts.into_iter().rev() {
            let standing = of_host.iter().map(|route| route.standing).min().unwrap_or(ClaimPriority::Spare);
            let of_host: Vec<_> =
                of_host.into_iter().map(|route| (route, route.wanted.test_of_paths())).collect();
            // What is said of a whole host is not for that of another namespace.
            let for_host = of_hosts.iter().map(|answer| (answer, ClaimPriority::Spare));
            for ((path, answer), standing) in
                for_host.chain(of_routes.iter().map(|answer| (answer, standing)))
            {
                let taking = of_host.iter().find(|(_, takes)| takes(path));
                let of_any = || of_host.first().filter(|_| !answer.of_routes);
                if let Some((route, _)) = taking.or_else(of_any) {
                    let wanted = Match::exact(&host, path);
                    answering.push(self.answering(wanted, standing, route, answer));
                }
            }
        }
        // The first of two routes for the same counts.
        answering.append(&mut routes);
        self.claims.routes = answering;
    }

    fn answering(
        &mut self,
        wanted: Match,
        standing: ClaimPriority,
        instead_of: &RouteClaim,
        answer: &PathAnswer,
    ) -> RouteClaim {
        let (backend, tls) = (instead_of.backend.clone(), instead_of.tls);
        let own = OwnOptions {
            label: format!(" answer at {}", wanted.path),
            options: answer.options.clone(),
            without: PathAnswer::WITHOUT.to_vec(),
        };
        let group =
            self.grouping.number("", &backend.service, None, RouteSays { protocol: None, own: Some(own) });
        RouteClaim { wanted, cost: None, backend, standing, tls, group, repeated: false }
    }
}
