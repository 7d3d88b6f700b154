//! The routes of an Ingress's rules: which requests each path takes, and where they go.

use super::{
    Reading,
    manifest::{HttpPath, IngressBackend, Rule, backend_of, paths_of},
};
use crate::{
    claims::{Backend, RouteClaim},
    matching::{
        Match,
        path::{self, Spelling},
        patterns::Pattern,
        regex_cost::PatternCost,
    },
    options::{
        self,
        groups::{OwnOptions, RouteSays},
        is_like_a_pattern,
        value::OptionValue,
    },
    ownership::contest::ClaimPriority,
    sentences::shortened,
};
use haptic_model::{Finding, FindingKind};
use std::{collections::BTreeMap, sync::Arc};

/// A path that is a regular expression, or why it is none.
enum PathPattern {
    /// By an option of ours.
    Ours(Result<Pattern, String>),
    /// As a family has it.
    OfFamily(Result<Pattern, String>),
}

impl Reading<'_> {
    pub(super) fn rule(&mut self, host: &Arc<str>, rule: &Rule) {
        for (text, path) in paths_of(rule) {
            let service = path.service();
            if self.foreign().level(service).left_out {
                continue;
            }
            let own = self.of_route(host, text, path.path_type.as_deref(), service);
            if let Some(pattern) = self.pattern_of(host, text, path) {
                self.lead_pattern(host, text, pattern, path.backend.as_ref(), own);
            } else if let Some(wanted) = self.literal(host, text, path.path_type.as_deref()) {
                self.lead(wanted, text, path.backend.as_ref(), None, own);
            }
        }
    }

    fn pattern_of(&self, host: &Arc<str>, text: &str, path: &HttpPath) -> Option<PathPattern> {
        let (annotations, path_type) = (self.grouping.annotations(), path.path_type.as_deref());
        let rules = annotations.path_rules(text).filter(|_| self.context.has_patterns(host));
        if let Some(rules) = rules {
            return Some(PathPattern::OfFamily(rules.pattern(text)));
        }
        let is_raw = self.spelling == Spelling::Raw;
        let of_family = || annotations.foreign_pattern(text, path_type, path.service(), is_raw);
        let ours = annotations.pattern(text, path_type).map(PathPattern::Ours);
        ours.or_else(|| of_family().map(PathPattern::OfFamily))
    }

    /// Requests for a path that is a regular expression. What is not served is taken by shorter paths, which may let more in: of an Ingress
    /// that keeps somebody out nothing is served.
    fn lead_pattern(
        &mut self,
        host: &str,
        text: &str,
        pattern: PathPattern,
        backend: Option<&IngressBackend>,
        own: Option<OwnOptions>,
    ) {
        match pattern {
            PathPattern::Ours(Ok(pattern)) | PathPattern::OfFamily(Ok(pattern)) => {
                self.lead(pattern.of(host), text, backend, Some(&pattern), own);
            }
            PathPattern::OfFamily(Err(why)) if !self.grouping.annotations().is_guarded() => {
                self.not_served(host, text, &why);
            }
            PathPattern::Ours(Err(why)) | PathPattern::OfFamily(Err(why)) => {
                let sentence = format!(
                    "path {:?} is a regular expression by {}path-type, and it {why}",
                    shortened(text),
                    options::PREFIX
                );
                if !self.faults.contains(&sentence) {
                    self.faults.push(sentence);
                }
            }
        }
    }

    fn not_served(&mut self, host: &str, text: &str, why: &str) {
        let shown = shortened(text);
        let sentence = format!("path {shown:?} {why}: it is not served");
        self.found(Finding::new(FindingKind::PathInvalid, sentence).at_host(host).at_path(&shown));
    }

    /// The requests for a path that is compared as it stands.
    fn literal(&mut self, host: &str, text: &str, path_type: Option<&str>) -> Option<Match> {
        let is_like_a_pattern = path_type != Some("Exact") && is_like_a_pattern(text);
        if is_like_a_pattern {
            let shown = shortened(text);
            let sentence = format!(
                "path {shown:?} is compared as it stands: only with {}path-type: regex it is a regular expression, and a prefix needs no * behind it",
                options::PREFIX
            );
            self.found(Finding::new(FindingKind::TakenLiterally, sentence).at_host(host).at_path(&shown));
        }
        let compared = self.compared(text, !is_like_a_pattern)?;
        match path_type {
            Some("Exact") => Some(Match::exact(host, &compared)),
            // What ImplementationSpecific means is up to us: the same as Prefix.
            Some("Prefix" | "ImplementationSpecific") | None => Some(Match::prefix(host, &compared)),
            Some(other) => {
                let (other, text) = (shortened(other), shortened(text));
                let sentence = format!("pathType {other:?} of {host}{text} is unknown");
                self.found(Finding::new(FindingKind::PathInvalid, sentence).at_host(host).at_path(&text));
                None
            }
        }
    }

    /// A path as requests' paths are compared with it; a path that no request can have is refused. `tells`: of another spelling.
    pub(super) fn compared(&mut self, path: &str, tells: bool) -> Option<String> {
        let (shown, written) = (shortened(path), path);
        // Requests have no blanks: without a route of its own the path would be that of a broader one.
        let path = &*path.replace(' ', "%20");
        if !path.starts_with('/') || path.contains(char::is_whitespace) {
            let sentence = format!("path {shown:?} must begin with / and have no blanks but spaces");
            self.found(Finding::new(FindingKind::PathInvalid, sentence).at_path(&shown));
            return None;
        }
        if self.spelling == Spelling::Raw {
            return Some(path.to_owned());
        }
        match path::normal(path) {
            Ok(normal) => {
                if tells && (path != written || path::is_reshaped(path, &normal) || path.contains(['?', '#']))
                {
                    let read = shortened(&normal.text);
                    let sentence = format!(
                        "path {shown:?} is compared as {read:?}, as requests' paths are: write it so"
                    );
                    self.found(Finding::new(FindingKind::PathRespelled, sentence).at_path(&shown));
                }
                Some(normal.text)
            }
            Err(why) => {
                let sentence = format!("path {shown:?} {why}, and such requests are refused");
                self.found(Finding::new(FindingKind::PathInvalid, sentence).at_path(&shown));
                None
            }
        }
    }

    fn lead(
        &mut self,
        wanted: Match,
        path: &str,
        backend: Option<&IngressBackend>,
        pattern: Option<&Pattern>,
        own: Option<OwnOptions>,
    ) {
        match backend.map(|backend| self.backend(backend)) {
            Some(Ok(backend)) => self.route(wanted, Some(path), backend, pattern, own),
            Some(Err(why)) => {
                self.found(wanted.finding(FindingKind::BackendInvalid, format!("{wanted} {why}")))
            }
            None => {
                self.found(wanted.finding(FindingKind::BackendInvalid, format!("{wanted} has no backend")))
            }
        }
    }

    /// The Service that it leads to, at the port that is meant.
    pub(super) fn backend(&self, backend: &IngressBackend) -> Result<Backend, String> {
        backend_of(backend).map(|backend| self.context.at_port(backend))
    }

    /// `path`: as it is written; without one it is for what no path takes.
    pub(super) fn route(
        &mut self,
        mut wanted: Match,
        path: Option<&str>,
        backend: Backend,
        pattern: Option<&Pattern>,
        own: Option<OwnOptions>,
    ) {
        let annotations = self.grouping.annotations();
        wanted.conditions = annotations.conditions(path.unwrap_or_default(), &backend.service).map(Arc::new);
        let standing = if path.is_none() { ClaimPriority::Fallback } else { ClaimPriority::Asked };
        let tls = self.has_tls(&wanted.host);
        let rewrite = pattern.and_then(|pattern| pattern.rewrite.clone());
        let protocol = self.context.protocol(&backend);
        let says = RouteSays { protocol, own };
        let group = self.grouping.number(path.unwrap_or_default(), &backend.service, rewrite, says);
        let cost = PatternCost::sum(
            pattern.and_then(|pattern| pattern.cost),
            wanted.conditions.as_ref().and_then(|conditions| conditions.cost()),
        );
        if wanted.conditions.is_some() && self.foreign().ingress.refuses {
            let refused = Match { conditions: None, ..wanted.clone() };
            self.refuse(refused, path, &backend, pattern.and_then(|pattern| pattern.cost));
        }
        self.claims.routes.push(RouteClaim { wanted, cost, backend, standing, tls, group, repeated: false });
    }

    /// Requests that a route refuses lead to no other route of the host, which another path or a wildcard may have.
    fn refuse(&mut self, wanted: Match, path: Option<&str>, backend: &Backend, cost: Option<PatternCost>) {
        let own = OwnOptions {
            label: " refused".to_owned(),
            options: BTreeMap::from([("closed", OptionValue::Switch(true))]),
            without: Vec::new(),
        };
        let says = RouteSays { protocol: None, own: Some(own) };
        let group = self.grouping.number(path.unwrap_or_default(), &backend.service, None, says);
        let (standing, tls) = (ClaimPriority::Fallback, self.has_tls(&wanted.host));
        let backend = backend.clone();
        self.claims.routes.push(RouteClaim { wanted, cost, backend, standing, tls, group, repeated: false });
    }
}
