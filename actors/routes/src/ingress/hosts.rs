//! Routes of an Ingress beside the paths of its rules: under other names of its hosts, at `/`, and where no path takes a request.

use super::{
    Reading, app_root,
    manifest::{IngressBackend, Rule, named_hosts},
};
use crate::{
    claims::RouteClaim,
    families::{Family, FamilySettings},
    matching::{ANY_HOST, Match, host_of},
    options::{
        groups::{OwnOptions, RouteSays},
        value::OptionValue,
    },
    ownership::contest::ClaimPriority,
    sentences::shortened,
};
use haptic_model::{Finding, FindingKind, host_name::is_host};
use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::Arc,
};

/// With more routes none are made of other names: `Claims::within` leaves out most of them, and says so.
const MOST_ROUTES: usize = 50_000;

impl Reading<'_> {
    /// A host as routes compare it, if it is one; "" for every host where that is possible.
    pub(super) fn host(&mut self, text: &str, may_be_every: bool) -> Option<Arc<str>> {
        let lower = text.to_ascii_lowercase();
        if is_host(&lower) || (may_be_every && text.is_empty()) {
            return Some(host_of(&lower));
        }
        let host = shortened(text);
        let sentence = format!("host {host:?} is no host name, and none like *.shop.example");
        self.found(Finding::new(FindingKind::HostInvalid, sentence).at_host(&host));
        None
    }

    /// Adds the rules for other names of their hosts, too, whichever Ingress of the namespace says these, as far as no
    /// Ingress asks for the same there.
    pub(super) fn aliases(&mut self, rules: &[Rule]) {
        let named: HashSet<Arc<str>> = named_hosts(rules).collect();
        for rule in rules {
            let host = rule.compared_host();
            let aliases = self.context.aliases(&host).iter().filter(|alias| !named.contains(*alias));
            for alias in aliases.cloned().collect::<Vec<_>>() {
                if self.claims.routes.len() > MOST_ROUTES {
                    return;
                }
                self.context.name(&alias, &host);
                let before = self.claims.routes.len();
                self.rule(&alias, rule);
                for route in self.claims.routes.iter_mut().skip(before) {
                    route.standing = ClaimPriority::Spare;
                }
            }
        }
    }

    /// Requests that no rule takes: of the hosts that the rules name, or of all when there are no rules.
    pub(super) fn default_backend(&mut self, of_rules: Option<&Vec<Arc<str>>>, backend: &IngressBackend) {
        let backend = match self.backend(backend) {
            Ok(backend) => backend,
            Err(why) => {
                let sentence = format!("defaultBackend {why}");
                return self.found(Finding::new(FindingKind::BackendInvalid, sentence));
            }
        };
        let every = [ANY_HOST.into()];
        let mut known = HashSet::new();
        for host in of_rules.map_or(&every[..], Vec::as_slice) {
            if known.insert(host) {
                let mut own = OwnOptions::default();
                self.add_sign_in(host, "", Some(&backend.service), &mut own);
                if of_rules.is_none() && self.foreign().ingress.paths.is_some() {
                    own.label.push_str(" of all hosts");
                    own.without.extend(["app-root", "redirect-to", "redirect-keep-path", "redirect-code"]);
                    own.options.insert("ssl-redirect", OptionValue::Text("false".to_owned()));
                }
                let own = (!own.label.is_empty()).then_some(own);
                let forms = &self.foreign().level(Some(&backend.service)).forms;
                let pattern = forms.of_rest();
                self.route(Match::prefix(host, ""), None, backend.clone(), pattern.as_ref(), own);
            }
        }
    }

    /// Requests for `/` of hosts where a family's `app-root` counts, and no route of the Ingress takes them, or one that leads all of them
    /// elsewhere.
    pub(super) fn roots(&mut self, hosts: &[Arc<str>]) {
        let routes = &self.claims.routes;
        let Some(backend) = routes.first().map(|route| route.backend.clone()) else { return };
        let taken = routes.iter().filter(|route| app_root::takes_root(&route.wanted));
        let taken: HashSet<Arc<str>> = taken.map(|route| route.wanted.host.clone()).collect();
        let is_of_rest = self.foreign().ingress.paths.is_some();
        let leads_away = self.grouping.own().text("redirect-to").is_some();
        let hosts: BTreeSet<&Arc<str>> = hosts.iter().filter(|host| &***host != ANY_HOST).collect();
        for host in hosts.into_iter().filter(|host| !is_of_rest && (leads_away || !taken.contains(*host))) {
            let mut own = OwnOptions::default();
            self.add_root(host, &mut own);
            if own.label.is_empty() {
                continue;
            }
            own.label.push_str(" alone");
            own.without.push("redirect-to");
            let says = RouteSays { protocol: None, own: Some(own) };
            let group = self.grouping.number("", &backend.service, None, says);
            let (wanted, tls) = (Match::exact(host, "/"), self.has_tls(host));
            let standing =
                if taken.contains(host) { ClaimPriority::Fallback } else { ClaimPriority::Redirect };
            let backend = backend.clone();
            let route = RouteClaim { wanted, cost: None, backend, standing, tls, group, repeated: false };
            self.claims.routes.push(route);
        }
    }

    /// Takes the rest of its hosts, where a family's own controller leaves it to nobody else: of ingress-nginx what the Ingress
    /// says of requests counts there, too.
    pub(super) fn rest(&mut self) {
        let Some(family) = self.ingress.family_that(FamilySettings::keeps_hosts) else { return };
        let Some(backend) = self.claims.routes.first().map(|route| route.backend.clone()) else { return };
        // Of each host, whether a route of it takes what is left, and whether one has TLS.
        let mut hosts: BTreeMap<Arc<str>, (bool, bool)> = BTreeMap::new();
        for route in self.claims.routes.iter().filter(|route| *route.wanted.host != *ANY_HOST) {
            let (is_whole, has_tls) = hosts.entry(route.wanted.host.clone()).or_default();
            *is_whole |= route.wanted == Match::prefix(&route.wanted.host, "");
            *has_tls |= route.tls;
        }
        for (host, (is_whole, route_has_tls)) in hosts {
            if is_whole {
                continue;
            }
            let wanted = Match::prefix(&host, "");
            let mut own = OwnOptions::default();
            self.add_root(&host, &mut own);
            let group = self.grouping.of_rest((family == Family::IngressNginx).then_some(own));
            let tls = self.has_tls(&host) || route_has_tls;
            let standing = ClaimPriority::Rest;
            let backend = backend.clone();
            let route = RouteClaim { wanted, cost: None, backend, standing, tls, group, repeated: false };
            self.claims.routes.push(route);
        }
    }

    /// Where it is asked for, the hosts with `www.` in front of these, or without it, lead to these.
    pub(super) fn www(&mut self, hosts: &[Arc<str>]) {
        if !self.grouping.own().is_on("redirect-www") {
            return;
        }
        let known: HashSet<&Arc<str>> = hosts.iter().collect();
        for host in known.iter().filter(|host| is_host(host) && !host.starts_with('*')) {
            let other = host.strip_prefix("www.").map_or_else(|| format!("www.{host}"), str::to_owned);
            let other: Arc<str> = other.into();
            if is_host(&other) && !known.contains(&other) {
                self.redirect(&other, host, ClaimPriority::Spare);
            }
        }
    }

    /// Redirects hosts that families have redirected to the first of these.
    pub(super) fn redirected(&mut self, hosts: &[Arc<str>]) {
        let Some(host) = hosts.iter().find(|host| is_host(host) && !host.starts_with('*')) else { return };
        let others: Vec<Arc<str>> =
            self.foreign().ingress.redirected.iter().map(|other| (**other).into()).collect();
        for other in others.into_iter().filter(|other| !hosts.contains(other)) {
            self.redirect(&other, host, ClaimPriority::Redirect);
        }
    }

    /// Requests for another host lead to `host`, as far as nobody has routes there.
    fn redirect(&mut self, other: &Arc<str>, host: &str, standing: ClaimPriority) {
        let Some(backend) = self.claims.routes.first().map(|route| route.backend.clone()) else { return };
        let (tls, group) = (self.ingress.tls_hosts.cover(other), self.grouping.redirecting_to(host));
        let wanted = Match::prefix(other, "");
        let route = RouteClaim { wanted, cost: None, backend, standing, tls, group, repeated: false };
        self.claims.routes.push(route);
    }
}
