//! Rules of HTTPRoutes for the paths of one Ingress.

use super::{
    KnownManifests, filters,
    leftovers::Leftovers,
    manifest::{MovedPath, MovedService, MovedTls},
    paths,
};
use haptic_routes::{
    conditions::{Condition, RouteConditions},
    matching::Match,
    options::{RouteOptions, Settings, groups::Annotations, value::OptionValue},
    patterns::Rewrite,
};
use serde_json::{Map, Value, json};

/// What becomes of the paths of a host.
#[derive(Debug, Default, PartialEq)]
pub(super) struct HostRules {
    pub all: Vec<Value>,
    /// The same over HTTP, where some of it is redirected to HTTPS.
    pub in_clear: Vec<Value>,
    pub is_redirected: bool,
}

/// What rules are made with.
pub(super) struct RuleMaker<'m> {
    pub namespace: &'m str,
    pub settings: &'m Settings,
    /// The status of redirects to HTTPS where no annotation says one.
    pub https_code: u64,
    pub known: &'m KnownManifests,
    pub written: Annotations,
    /// What is so without any annotation.
    pub plain: RouteOptions,
    pub tls: &'m [MovedTls],
    pub left: Leftovers<'m>,
}

impl RuleMaker<'_> {
    /// The rules of a host, longer paths first.
    pub fn host(&mut self, host: &str, all: &[&MovedPath]) -> HostRules {
        let mut rules = HostRules::default();
        // Of expressions of an Ingress the longest counts first, of a route the first.
        let mut all = all.to_vec();
        all.sort_by(|a, b| (b.path.len(), &b.path).cmp(&(a.path.len(), &a.path)));
        for path in all {
            let before = rules.all.len();
            let to_https = self.path(host, path, &mut rules.all);
            let new = rules.all.get(before..).unwrap_or_default().to_vec();
            // The last rule of a path is that for all of its requests.
            let matches = new.last().and_then(|rule| rule.get("matches").cloned());
            match to_https.zip(matches) {
                Some((filter, matches)) => {
                    rules.is_redirected = true;
                    rules.in_clear.push(json!({"matches": matches, "filters": [filter]}));
                }
                None => rules.in_clear.extend(new),
            }
        }
        if !rules.is_redirected {
            rules.in_clear.clear();
        }
        rules
    }

    /// A rule for all requests that no path takes.
    pub fn rest(&mut self, service: &MovedService) -> Option<Value> {
        let backend = self.backend(&service.name, service.port.text())?;
        let path = json!({"type": "PathPrefix", "value": "/"});
        Some(json!({"matches": [{"path": path}], "backendRefs": [backend]}))
    }

    /// Adds the rules of a path, and returns the filter that leads its requests over HTTP to HTTPS.
    fn path(&mut self, host: &str, path: &MovedPath, rules: &mut Vec<Value>) -> Option<Value> {
        let Some(service) = &path.backend.service else {
            self.left.keep(format!("path {:?} leads to something else than a Service", path.path));
            return None;
        };
        let options = self.options(host, path);
        self.left.options(&options, &self.plain);
        let backend = self.backend(&service.name, service.port.text())?;
        let (wanted, rewrite) = self.compared(host, path)?;
        let redirect = filters::redirect(&options, &mut self.left);
        let is_first = redirect.is_some() && options.is_on("redirect-first");
        let to_https = if is_first { None } else { self.redirected_to_https(host, path, &options) };
        let matches = self.matches(path, &wanted);
        if let Some(redirect) = redirect {
            rules.push(json!({"matches": matches, "filters": [redirect]}));
            return to_https;
        }
        let mut common = Map::new();
        let filters: Vec<Value> = [
            filters::headers(&options, &filters::REQUEST_HEADERS, &mut self.left),
            filters::headers(&options, &filters::RESPONSE_HEADERS, &mut self.left),
            self.url_rewrite(&options, rewrite.as_ref(), &wanted),
            filters::cors(&options, &mut self.left),
            self.mirror(&options),
        ]
        .into_iter()
        .flatten()
        .collect();
        if !filters.is_empty() {
            common.insert("filters".to_owned(), Value::Array(filters));
        }
        if let Some(time) = filters::number(&options, "timeout-server") {
            common.insert("timeouts".to_owned(), json!({"request": filters::duration(time)}));
        }
        for (matches, backends) in self.choices(&options, matches, backend) {
            let mut rule = common.clone();
            rule.insert("matches".to_owned(), Value::Array(matches));
            rule.insert("backendRefs".to_owned(), Value::Array(backends));
            rules.push(Value::Object(rule));
        }
        to_https
    }

    /// What counts for a path.
    fn options(&mut self, host: &str, path: &MovedPath) -> RouteOptions {
        let text = path.path.as_str();
        let service = path.service().map(|service| (service, None));
        let mut options = self.written.of(Some(text), service, self.settings);
        let Some(rules) = self.written.path_rules(text) else { return options };
        if let Some(canary) = self.known.canary(self.namespace, host, path) {
            options.values.extend(canary.iter().map(|(name, value)| (*name, value.clone())));
        }
        if rules.without_auth.iter().any(|start| text.starts_with(start.as_str())) {
            options.values.retain(|option, _| !["auth-url", "auth-secret"].contains(option));
        }
        let is_literal = !self.known.has_patterns(self.namespace, host);
        if is_literal && path.kind() != "Exact" && text.len() > 1 && text.ends_with('/') {
            self.left.say(format!(
                "path {text:?}: requests without the slash at its end are not redirected to it"
            ));
        }
        options
    }

    /// The requests of a path, and what takes its place; nothing where no request has it.
    fn compared(&mut self, host: &str, path: &MovedPath) -> Option<(Match, Option<Rewrite>)> {
        let (text, kind) = (path.path.as_str(), path.kind());
        let has_patterns = self.known.has_patterns(self.namespace, host);
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
            (None, "Prefix") => Some((Match::prefix("", text), None)),
            (None, "ImplementationSpecific") => {
                let is_of_characters = rules.is_some() && !text.ends_with('/');
                let of = if is_of_characters {
                    Match::beginning("", text, false)
                } else {
                    Match::prefix("", text)
                };
                Some((of, None))
            }
            (None, other) => {
                self.left.keep(format!("pathType {other:?} is unknown"));
                None
            }
        }
    }

    /// `matches` of a rule: of several methods one each.
    fn matches(&self, path: &MovedPath, wanted: &Match) -> Vec<Value> {
        let RouteConditions { methods, headers, query } =
            self.written.conditions(&path.path).unwrap_or_default();
        let condition = |one: &Condition| {
            let kind = if one.longest.is_some() { "RegularExpression" } else { "Exact" };
            json!({"type": kind, "name": one.name, "value": one.value})
        };
        let mut one = Map::from_iter([("path".to_owned(), paths::path_match(wanted))]);
        for (field, all) in [("headers", headers), ("queryParams", query)] {
            if !all.is_empty() {
                one.insert(field.to_owned(), all.iter().map(condition).collect());
            }
        }
        if methods.is_empty() {
            return vec![Value::Object(one)];
        }
        let with = |method: String| {
            let mut one = one.clone();
            one.insert("method".to_owned(), Value::String(method));
            Value::Object(one)
        };
        methods.into_iter().map(with).collect()
    }

    /// The filter that leads requests over HTTP to HTTPS, where they are.
    fn redirected_to_https(&mut self, host: &str, path: &MovedPath, options: &RouteOptions) -> Option<Value> {
        let over_http = &self.written.foreign().over_http;
        if over_http.iter().any(|start| path.path.starts_with(start.as_str())) {
            return None;
        }
        let has_tls = self.tls.iter().any(|tls| tls.covers(host));
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
        matches: Vec<Value>,
        main: Value,
    ) -> Vec<(Vec<Value>, Vec<Value>)> {
        let mut all = Vec::new();
        let mut shares: Vec<(Value, u64)> = Vec::new();
        if let Some((service, port)) = options.text("canary-service").and_then(|text| text.rsplit_once(':'))
            && let Some(canary) = self.backend(service, port)
        {
            for (condition, is_canary) in canary_headers(options) {
                let backend = if is_canary { canary.clone() } else { main.clone() };
                all.push((with_header(&matches, &condition), vec![backend]));
            }
            shares.push((canary, filters::number(options, "canary-weight").unwrap_or(0)));
        } else if let Some(OptionValue::Weights(weights)) = options.values.get("weights") {
            for (service, weight) in weights {
                let Some((service, port)) = service.rsplit_once(':') else { continue };
                shares.extend(self.backend(service, port).map(|backend| (backend, *weight)));
            }
        }
        shares.retain(|(_, weight)| *weight > 0);
        let rest = 100_u64.saturating_sub(shares.iter().map(|(_, weight)| weight).sum());
        let backends = match shares.is_empty() {
            true => vec![main],
            false => std::iter::once((main, rest)).chain(shares).map(weighted).collect(),
        };
        all.push((matches, backends));
        all
    }

    /// A reference to a Service; its port must be known by number.
    fn backend(&mut self, service: &str, port: &str) -> Option<Value> {
        let number = port.parse::<u16>().ok();
        let number = number.or_else(|| self.known.port(self.namespace, service, port));
        if number.is_none() {
            self.left.keep(format!(
                "port {port:?} of Service {service}: a route has its number, and no Service of that name with such a port is among the manifests"
            ));
        }
        number.map(|port| json!({"name": service, "port": port}))
    }
}

fn weighted((mut backend, weight): (Value, u64)) -> Value {
    if let Some(fields) = backend.as_object_mut() {
        fields.insert("weight".to_owned(), json!(weight));
    }
    backend
}

/// The headers by which requests go to the canary, or do not.
fn canary_headers(options: &RouteOptions) -> Vec<(Value, bool)> {
    let Some(name) = options.text("canary-header") else { return Vec::new() };
    let header = |kind: &str, value: &str| json!({"type": kind, "name": name, "value": value});
    if let Some(value) = options.text("canary-header-value") {
        return vec![(header("Exact", value), true)];
    }
    let mut all = vec![(header("Exact", "always"), true), (header("Exact", "never"), false)];
    if let Some(OptionValue::Regex { pattern, .. }) = options.values.get("canary-header-pattern") {
        all = vec![(header("RegularExpression", pattern), true)];
    }
    all
}

fn with_header(matches: &[Value], header: &Value) -> Vec<Value> {
    let mut matches = matches.to_vec();
    for one in matches.iter_mut().filter_map(Value::as_object_mut) {
        let headers = one.entry("headers").or_insert_with(|| json!([]));
        if let Some(headers) = headers.as_array_mut() {
            headers.push(header.clone());
        }
    }
    matches
}
