//! Rules of HTTPRoutes for the paths of one Ingress.

use super::{
    canaries, cors, filters,
    hosts::KnownHosts,
    leftovers::Leftovers,
    manifest::{MovedIngress, MovedPath},
    matches::{self, has_place_for, with_header},
    order::AskedPath,
    paths,
    services::NotedServices,
};
use haptic_routes::{
    conditions::RouteConditions,
    matching::Match,
    options::{
        RouteOptions, Settings,
        groups::{Annotations, OwnOptions},
        value::OptionValue,
    },
    patterns::Rewrite,
};
use serde_json::{Map, Value, json};

/// What becomes of the paths of a host.
#[derive(Debug, Default)]
pub(super) struct HostRules {
    pub all: Vec<Value>,
    /// The same over HTTP, where some of it is redirected to HTTPS.
    pub in_clear: Vec<Value>,
    pub is_redirected: bool,
    /// Its paths in the order in which they are asked.
    pub asked: Vec<AskedPath>,
}

/// What rules are made with.
pub(super) struct RuleMaker<'m> {
    pub namespace: &'m str,
    pub ingress: &'m MovedIngress,
    pub settings: &'m Settings,
    /// The status of redirects to HTTPS where no annotation says one.
    pub https_code: u64,
    pub services: &'m NotedServices,
    pub hosts: &'m KnownHosts,
    pub written: Annotations,
    /// What is so without any annotation.
    pub plain: RouteOptions,
    pub left: Leftovers<'m>,
}

struct RulesOfPath {
    all: Vec<Value>,
    /// Where its requests over HTTP are led to HTTPS: the filter.
    to_https: Option<Value>,
    /// The matches of all of its requests.
    matches: Vec<Value>,
    asked: AskedPath,
}

impl RuleMaker<'_> {
    /// The rules of a host, longer paths first.
    pub fn host(&mut self, host: &str, all: &[&MovedPath]) -> HostRules {
        let mut rules = HostRules::default();
        // Of expressions of an Ingress the longest counts first, of a route the first.
        let mut all = all.to_vec();
        all.sort_by(|a, b| (b.path.len(), &b.path).cmp(&(a.path.len(), &a.path)));
        for path in all {
            let Some(made) = self.path(host, path) else { continue };
            match made.to_https {
                Some(filter) => {
                    rules.is_redirected = true;
                    rules.in_clear.push(json!({"matches": made.matches, "filters": [filter]}));
                }
                None => rules.in_clear.extend(made.all.iter().cloned()),
            }
            rules.all.extend(made.all);
            rules.asked.push(made.asked);
        }
        if !rules.is_redirected {
            rules.in_clear.clear();
        }
        rules
    }

    fn path(&mut self, host: &str, path: &MovedPath) -> Option<RulesOfPath> {
        let Some(service) = &path.backend.service else {
            self.left.keep(format!("path {:?} leads to something else than a Service", path.path));
            return None;
        };
        let options = self.options(host, path);
        self.left.options(&options, &self.plain);
        let backend = self.backend(&service.name, service.port.text())?;
        let (wanted, rewrite) = self.compared(host, path)?;
        let conditions = self.written.conditions(&path.path, &service.name).unwrap_or_default();
        let matches = self.matches(path, &wanted, &conditions)?;
        let redirect = filters::redirect(&options, &mut self.left);
        let is_first = redirect.is_some() && options.is_on("redirect-first");
        let to_https = if is_first { None } else { self.redirected_to_https(host, &options) };
        let least = matches::rank(&conditions);
        if let Some(redirect) = redirect {
            let all = vec![json!({"matches": matches, "filters": [redirect]})];
            let asked = AskedPath::new(&path.path, &wanted, least, String::new());
            return Some(RulesOfPath { all, to_https, matches, asked });
        }
        let mut common = Map::new();
        let filters: Vec<Value> = [
            filters::headers(&options, &filters::REQUEST_HEADERS, &mut self.left),
            filters::headers(&options, &filters::RESPONSE_HEADERS, &mut self.left),
            self.url_rewrite(&options, rewrite.as_ref(), &wanted),
            cors::cors(&options, &mut self.left),
            self.mirror(&options),
        ]
        .into_iter()
        .flatten()
        .collect();
        let is_prefix_replaced = filters.iter().any(replaces_prefix);
        if !filters.is_empty() {
            common.insert("filters".to_owned(), Value::Array(filters));
        }
        if let Some(time) = filters::number(&options, "timeout-server") {
            common.insert("timeouts".to_owned(), json!({"request": filters::duration(time)}));
        }
        let headers = canaries::headers(&options);
        if !headers.is_empty()
            && options.text("canary-header").is_some_and(|name| !has_place_for(name, &conditions))
        {
            self.left.deciding("canary-header", "a match asks for each header once, and for no more than 16");
        }
        let variants: Vec<&Value> = headers.iter().map(|(header, _)| header).collect();
        let variants = if variants.is_empty() { String::new() } else { json!(variants).to_string() };
        let asked = AskedPath::new(&path.path, &wanted, least, variants);
        let mut all = Vec::new();
        for (matches, backends) in self.choices(&options, &headers, &matches, backend) {
            // What takes the place of a prefix belongs to one match.
            let parts = if is_prefix_replaced { 1 } else { matches.len().max(1) };
            for matches in matches.chunks(parts) {
                let mut rule = common.clone();
                rule.insert("matches".to_owned(), json!(matches));
                rule.insert("backendRefs".to_owned(), json!(backends));
                all.push(Value::Object(rule));
            }
        }
        Some(RulesOfPath { all, to_https, matches, asked })
    }

    /// What counts for a path.
    fn options(&mut self, host: &str, path: &MovedPath) -> RouteOptions {
        let text = path.path.as_str();
        let service = path.service().map(|name| (name, self.services.options(self.namespace, name)));
        let mut options = self.written.of(Some(text), service, self.settings);
        self.written.add_own(text, self.own_options(host, path), &mut options);
        let is_literal =
            self.written.path_rules(text).is_some() && !self.hosts.has_patterns(self.namespace, host);
        if is_literal && path.kind() != "Exact" && text.len() > 1 && text.ends_with('/') {
            self.left.say(format!(
                "path {text:?}: requests without the slash at its end are not redirected to it"
            ));
        }
        options
    }

    /// What the family says of one path.
    fn own_options(&self, host: &str, path: &MovedPath) -> OwnOptions {
        let text = path.path.as_str();
        let is_below = |all: &[String]| all.iter().any(|start| text.starts_with(start.as_str()));
        let mut own = OwnOptions::default();
        if is_below(&self.written.foreign().ingress.over_http) {
            own.options.insert("ssl-redirect", OptionValue::Text("false".to_owned()));
        }
        let Some(rules) = self.written.path_rules(text) else { return own };
        let kind = if path.kind() == "Exact" { "Exact" } else { "Prefix" };
        if let Some(canary) = self.hosts.canary(self.namespace, host, text, kind) {
            own.options.extend(canary.iter().map(|(name, value)| (*name, value.clone())));
        }
        if is_below(&rules.without_auth) {
            own.without = vec!["auth-url", "auth-secret"];
        }
        own
    }

    /// The requests of a path, and what takes its place; nothing where no request has it.
    fn compared(&mut self, host: &str, path: &MovedPath) -> Option<(Match, Option<Rewrite>)> {
        let (text, kind) = (path.path.as_str(), path.kind());
        let has_patterns = self.hosts.has_patterns(self.namespace, host);
        let rules = self.written.path_rules(text);
        let pattern = match rules.filter(|_| has_patterns) {
            Some(rules) => Some(rules.pattern(text)),
            None => self.written.pattern(text, path.path_type.as_deref()).or_else(|| {
                self.written.foreign_pattern(text, path.path_type.as_deref(), path.service(), false)
            }),
        };
        match (pattern, kind) {
            (Some(Ok(pattern)), _) => Some((pattern.of(""), pattern.rewrite.clone())),
            (Some(Err(why)), _) => {
                self.left.keep(format!("path {text:?} {why}"));
                None
            }
            (None, "Exact") => Some((Match::exact("", text), None)),
            (None, "Prefix" | "ImplementationSpecific") => Some((Match::prefix("", text), None)),
            (None, other) => {
                self.left.keep(format!("pathType {other:?} is unknown"));
                None
            }
        }
    }

    /// `matches` of a path; nothing where they cannot be said.
    fn matches(
        &mut self,
        path: &MovedPath,
        wanted: &Match,
        conditions: &RouteConditions,
    ) -> Option<Vec<Value>> {
        let path_match = match paths::path_match(wanted) {
            Ok(path_match) => path_match,
            Err(why) => {
                self.left.keep(format!("path {:?} {why}", path.path));
                return None;
            }
        };
        match matches::matches(path_match, conditions) {
            Ok(matches) => Some(matches),
            Err((option, why)) => {
                self.left.deciding(option, why);
                None
            }
        }
    }

    /// The filter that leads requests over HTTP to HTTPS, where they are.
    fn redirected_to_https(&mut self, host: &str, options: &RouteOptions) -> Option<Value> {
        let has_tls = self.ingress.has_tls(host) || self.hosts.has_tls(self.namespace, host);
        match options.text("ssl-redirect") {
            Some("always") if !has_tls => {
                self.left.option(
                    "ssl-redirect",
                    "the Ingress has no TLS for the host, and a Gateway redirects only where it has an HTTPS listener",
                );
                return None;
            }
            Some("always" | "true") if has_tls => {}
            None if has_tls && self.settings.ssl_redirect => {}
            _ => return None,
        }
        let code = options.text("ssl-redirect-code").and_then(|code| code.parse::<u64>().ok());
        let mut to = Map::from_iter([
            ("scheme".to_owned(), json!("https")),
            ("statusCode".to_owned(), json!(code.unwrap_or(self.https_code))),
        ]);
        if let Some(port) = filters::number(options, "ssl-redirect-port") {
            to.insert("port".to_owned(), json!(port));
        }
        Some(json!({"type": "RequestRedirect", "requestRedirect": to}))
    }

    fn url_rewrite(
        &mut self,
        options: &RouteOptions,
        rewrite: Option<&Rewrite>,
        wanted: &Match,
    ) -> Option<Value> {
        let mut to = Map::new();
        if let Some(host) = options.text("host-rewrite") {
            match haptic_model::host_name::is_host(host) && !host.starts_with('*') {
                true => _ = to.insert("hostname".to_owned(), json!(host)),
                false => self.left.option("host-rewrite", "filter URLRewrite has a host without a port"),
            }
        }
        let (option, path) = match (options.text("rewrite-path"), rewrite) {
            (_, Some(rewrite)) => ("rewrite-target", Some(paths::rewritten(rewrite, wanted))),
            (Some(text), None) => ("rewrite-path", Some(paths::replaced(text, wanted))),
            (None, None) => ("", None),
        };
        match path {
            Some(Ok(path)) => _ = to.insert("path".to_owned(), path),
            Some(Err(why)) => self.left.deciding(option, why),
            None => {}
        }
        (!to.is_empty()).then(|| json!({"type": "URLRewrite", "urlRewrite": to}))
    }

    fn mirror(&mut self, options: &RouteOptions) -> Option<Value> {
        let (service, port) = options.text("mirror-service")?.rsplit_once(':')?;
        let mut mirror = Map::from_iter([("backendRef".to_owned(), self.backend(service, port)?)]);
        if let Some(percent) = filters::number(options, "mirror-percent").filter(|percent| *percent < 100) {
            mirror.insert("percent".to_owned(), json!(percent));
        }
        Some(json!({"type": "RequestMirror", "requestMirror": mirror}))
    }

    /// Which requests go to which Services.
    fn choices(
        &mut self,
        options: &RouteOptions,
        headers: &[(Value, bool)],
        matches: &[Value],
        main: Value,
    ) -> Vec<(Vec<Value>, Vec<Value>)> {
        let mut all = Vec::new();
        let mut shares: Vec<(Value, u64)> = Vec::new();
        if let Some((service, port)) = options.text("canary-service").and_then(|text| text.rsplit_once(':'))
            && let Some(canary) = self.backend(service, port)
        {
            for (header, is_canary) in headers {
                let backend = if *is_canary { canary.clone() } else { main.clone() };
                all.push((with_header(matches, header), vec![backend]));
            }
            shares.push((canary, filters::number(options, "canary-weight").unwrap_or(0)));
        } else if let Some(OptionValue::Weights(weights)) = options.values.get("weights") {
            for (service, weight) in weights {
                let Some((service, port)) = service.rsplit_once(':') else { continue };
                shares.extend(self.backend(service, port).map(|backend| (backend, *weight)));
            }
        }
        all.push((matches.to_vec(), canaries::shared(main, shares)));
        all
    }

    /// A reference to a Service; its port must be known by number.
    fn backend(&mut self, service: &str, port: &str) -> Option<Value> {
        if self.services.is_external_name(self.namespace, service) {
            self.left.keep(format!("Service {service} is of type ExternalName, to which no route leads"));
            return None;
        }
        let number = port.parse::<u16>().ok().filter(|number| *number > 0);
        let number = number.or_else(|| self.services.port(self.namespace, service, port));
        if number.is_none() {
            self.left.keep(format!(
                "port {port:?} of Service {service}: a route has its number, and no Service of that name with such a port is among the manifests"
            ));
        }
        number.map(|port| json!({"name": service, "port": port}))
    }
}

fn replaces_prefix(filter: &Value) -> bool {
    filter.pointer("/urlRewrite/path/replacePrefixMatch").is_some()
}
