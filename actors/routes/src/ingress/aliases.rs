//! Other names of hosts.

use super::{
    Reading,
    manifest::{Rule, named_hosts},
};
use crate::{contest::ClaimPriority, matching::host_of};
use std::{collections::HashSet, sync::Arc};

/// With more routes none are made of other names: `Claims::within` leaves out most of them, and says so.
const MOST_ROUTES: usize = 50_000;

impl Reading<'_> {
    /// What the rules say counts for other names of their hosts, too, whichever Ingress of the namespace says these, as far as no
    /// Ingress asks for the same there.
    pub(super) fn aliases(&mut self, rules: &[Rule]) {
        let named: HashSet<Arc<str>> = named_hosts(rules).collect();
        for rule in rules {
            let host = host_of(rule.host.as_deref().unwrap_or_default());
            let aliases = self.around.aliases(&host).iter().filter(|alias| !named.contains(*alias));
            for alias in aliases.cloned().collect::<Vec<_>>() {
                if self.claims.routes.len() > MOST_ROUTES {
                    return;
                }
                self.around.name(&alias, &host);
                let before = self.claims.routes.len();
                self.rule(&alias, rule);
                for route in self.claims.routes.iter_mut().skip(before) {
                    route.standing = ClaimPriority::Spare;
                }
            }
        }
    }
}
