//! Random HTTPRoutes and requests: HAProxy sends each request where a small router does that was written from the specification.
//!
//! https://gateway-api.sigs.k8s.io/reference/spec/, `HTTPRouteRule.matches` and `HTTPRouteSpec.hostnames`. Where regular expressions stand is ours to say:
//! docs/gateway.md, "Which route gets a request".

use super::{GatewaySite, aged, around, gateway, listener, on_each, route, to};
use crate::client::Answer;
use integration_tests::dice::Dice;
use serde_json::{Value, json};
use std::{cmp::Reverse, env, ops::RangeInclusive};

/// The hostnames of listeners; one has none.
const LISTENERS: [&str; 3] = ["", "*.e", "x.a.e"];
const HOSTNAMES: [&str; 5] = ["a.e", "*.e", "*.a.e", "x.a.e", "z"];
const HOSTS: [&str; 5] = ["a.e", "b.e", "x.a.e", "y.x.a.e", "z"];
const PATHS: [&str; 8] = ["/", "/a", "/a/", "/a/b", "/ab", "/a/b/c", "/a/x", "/b7"];
/// Regular expressions, what each begins with, and which of the paths it takes.
const EXPRESSIONS: [(&str, &str, &[&str]); 3] = [
    ("/a/[a-z]+", "/a/", &["/a/b", "/a/x"]),
    ("/a/[a-z]+/c", "/a/", &["/a/b/c"]),
    ("/[a-z]+[0-9]", "/", &["/b7"]),
];
const METHODS: [&str; 2] = ["GET", "PUT"];
const HEADERS: [&str; 2] = ["h-p", "h-q"];
const VALUES: [&str; 2] = ["1", "2"];

/// So many sets of routes; the numbers that they come of are the same unless `HAPTIC_SEED` says where they begin.
const SETS: usize = 2;
const ROUTES: usize = 20;
const REQUESTS: usize = 300;

/// A path that a match asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DicedPath {
    Exact(&'static str),
    Prefix(&'static str),
    /// One of [`EXPRESSIONS`].
    Expression(usize),
}

#[derive(Debug)]
struct DicedMatch {
    path: DicedPath,
    method: Option<&'static str>,
    headers: Vec<(&'static str, &'static str)>,
    query: Option<&'static str>,
}

#[derive(Debug)]
struct DicedRoute {
    age: u8,
    hostnames: Vec<&'static str>,
    /// The one listener that it wants, by its number.
    section: Option<usize>,
    /// Each with the number of its service.
    rules: Vec<(u8, Vec<DicedMatch>)>,
}

#[derive(Debug)]
struct DicedRequest {
    host: &'static str,
    path: &'static str,
    method: &'static str,
    headers: Vec<(&'static str, &'static str)>,
    query: Option<&'static str>,
}

/// One of `all`.
fn one_of<T: Copy>(dice: &mut Dice, all: &[T]) -> T {
    all[dice.below(all.len())]
}

/// One of `all` in one of `times` times.
fn sometimes<T: Copy>(dice: &mut Dice, times: usize, all: &[T]) -> Option<T> {
    (dice.below(times) == 0).then(|| one_of(dice, all))
}

fn headers(dice: &mut Dice, times: usize) -> Vec<(&'static str, &'static str)> {
    HEADERS.iter().filter_map(|name| Some((*name, sometimes(dice, times, &VALUES)?))).collect()
}

impl DicedPath {
    fn rolled(dice: &mut Dice) -> Self {
        match dice.below(5) {
            0 | 1 => Self::Exact(one_of(dice, &PATHS)),
            2 => Self::Expression(dice.below(EXPRESSIONS.len())),
            _ => Self::Prefix(one_of(dice, &PATHS)),
        }
    }

    fn takes(self, path: &str) -> bool {
        match self {
            Self::Exact(exact) => exact == path,
            Self::Prefix(prefix) => {
                let rest = path.strip_prefix(prefix.trim_end_matches('/'));
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            }
            Self::Expression(number) => EXPRESSIONS[number].2.contains(&path),
        }
    }

    /// How much of a path it is for sure.
    fn length(self) -> usize {
        match self {
            Self::Exact(exact) => exact.len(),
            Self::Prefix(prefix) => prefix.trim_end_matches('/').len(),
            Self::Expression(number) => EXPRESSIONS[number].1.len(),
        }
    }

    fn spec(self) -> Value {
        let (kind, value) = match self {
            Self::Exact(exact) => ("Exact", exact),
            Self::Prefix(prefix) => ("PathPrefix", prefix),
            Self::Expression(number) => ("RegularExpression", EXPRESSIONS[number].0),
        };
        json!({"type": kind, "value": value})
    }
}

impl DicedMatch {
    fn rolled(dice: &mut Dice) -> Self {
        Self {
            path: DicedPath::rolled(dice),
            method: sometimes(dice, 3, &METHODS),
            headers: headers(dice, 3),
            query: sometimes(dice, 4, &VALUES),
        }
    }

    fn takes(&self, request: &DicedRequest) -> bool {
        self.path.takes(request.path)
            && self.method.is_none_or(|method| method == request.method)
            && self.headers.iter().all(|header| request.headers.contains(header))
            && self.query.is_none_or(|value| request.query == Some(value))
    }

    /// What asks for more is the larger one.
    fn rank(&self) -> (bool, usize, bool, usize, bool) {
        let is_exact = matches!(self.path, DicedPath::Exact(_));
        (is_exact, self.path.length(), self.method.is_some(), self.headers.len(), self.query.is_some())
    }

    fn spec(&self) -> Value {
        let named = |name: &str, value: &str| json!({"name": name, "value": value});
        let headers: Vec<Value> = self.headers.iter().map(|(name, value)| named(name, value)).collect();
        let query: Vec<Value> = self.query.iter().map(|value| named("q", value)).collect();
        let mut spec = json!({"path": self.path.spec(), "headers": headers, "queryParams": query});
        if let Some(method) = self.method {
            spec["method"] = method.into();
        }
        spec
    }
}

impl DicedRoute {
    fn rolled(dice: &mut Dice, services: &mut RangeInclusive<u8>) -> Self {
        let mut hostnames: Vec<&str> = (0..dice.below(3)).map(|_| one_of(dice, &HOSTNAMES)).collect();
        hostnames.sort_unstable();
        hostnames.dedup();
        let rules = services.by_ref().take(1 + dice.below(2));
        let rules = rules.collect::<Vec<u8>>().into_iter().map(|service| {
            let matches = (0..=dice.below(2)).map(|_| DicedMatch::rolled(dice)).collect();
            (service, matches)
        });
        let rules = rules.collect();
        let section = (dice.below(5) == 0).then(|| dice.below(LISTENERS.len()));
        Self { age: u8::try_from(1 + dice.below(3)).unwrap(), hostnames, section, rules }
    }

    fn manifest(&self, number: usize) -> Value {
        let rule = |(service, matches): &(u8, Vec<DicedMatch>)| {
            let matches: Vec<Value> = matches.iter().map(DicedMatch::spec).collect();
            json!({"matches": matches, "backendRefs": to(*service)})
        };
        let rules = self.rules.iter().map(rule).collect();
        let mut route = aged(route(&format!("r{number:02}"), &self.hostnames, rules), self.age);
        if let Some(section) = self.section {
            route["spec"]["parentRefs"][0]["sectionName"] = format!("l{section}").into();
        }
        route
    }
}

impl DicedRequest {
    fn rolled(dice: &mut Dice) -> Self {
        Self {
            host: one_of(dice, &HOSTS),
            path: one_of(dice, &PATHS),
            method: one_of(dice, &METHODS),
            headers: headers(dice, 2),
            query: sometimes(dice, 2, &VALUES),
        }
    }

    fn sent_to(&self, site: &GatewaySite) -> Answer {
        let query = self.query.map(|value| format!("?q={value}")).unwrap_or_default();
        let headers: String =
            self.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        site.ask(80, None, self.method, self.host, &format!("{}{query}", self.path), &headers)
    }
}

/// By what the most specific of the hostnames that are for a host is found; nothing where none is.
fn specificity<'h>(hostnames: impl IntoIterator<Item = &'h str>, host: &str) -> Option<(bool, bool, usize)> {
    let is_for = |hostname: &&str| match hostname.strip_prefix('*') {
        _ if hostname.is_empty() => true,
        Some(end) => host.len() > end.len() && host.ends_with(end),
        None => *hostname == host,
    };
    let all = hostnames.into_iter().filter(is_for);
    all.map(|one| (!one.is_empty(), !one.starts_with('*'), one.len())).max()
}

/// The service that a request goes to, by the words of the specification.
fn by_specification(routes: &[DicedRoute], request: &DicedRequest) -> Option<u8> {
    let of = |number: &usize| specificity([LISTENERS[*number]], request.host);
    let listener = (0..LISTENERS.len()).filter(|number| of(number).is_some()).max_by_key(of)?;
    let mut found = Vec::new();
    for (number, route) in routes.iter().enumerate() {
        let hostnames: &[&str] = if route.hostnames.is_empty() { &[""] } else { &route.hostnames };
        let Some(hostname) = specificity(hostnames.iter().copied(), request.host) else { continue };
        if route.section.is_some_and(|section| section != listener) {
            continue;
        }
        for (rule, (service, matches)) in route.rules.iter().enumerate() {
            let taking = matches.iter().filter(|one| one.takes(request));
            found.extend(
                taking.map(|one| (Reverse((hostname, one.rank())), route.age, number, rule, *service)),
            );
        }
    }
    found.into_iter().min().map(|(.., service)| service)
}

fn manifests(routes: &[DicedRoute]) -> Vec<Value> {
    let listeners: Vec<Value> = LISTENERS
        .iter()
        .enumerate()
        .map(|(number, hostname)| {
            listener(&format!("l{number}"), Some(*hostname).filter(|hostname| !hostname.is_empty()))
        })
        .collect();
    let mut all = around();
    all.push(gateway("gw", listeners.into()));
    all.extend(routes.iter().enumerate().map(|(number, route)| route.manifest(number)));
    all
}

#[test]
fn haproxy_sends_any_request_where_the_specification_does_for_any_routes() {
    let first: u64 = env::var("HAPTIC_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_default();
    let mut sent = 0;
    for seed in (first..).take(SETS) {
        let (mut dice, mut services) = (Dice(seed), 1..=40);
        let routes: Vec<DicedRoute> =
            (0..ROUTES).map(|_| DicedRoute::rolled(&mut dice, &mut services)).collect();
        let requests: Vec<DicedRequest> = (0..REQUESTS).map(|_| DicedRequest::rolled(&mut dice)).collect();
        on_each(&manifests(&routes), |site| {
            for request in &requests {
                let expected = by_specification(&routes, request);
                let answer = request.sent_to(site);
                let status = if expected.is_some() { 200 } else { 404 };
                assert_eq!(
                    (answer.service(), answer.status),
                    (expected, status),
                    "HAPTIC_SEED={seed}: {request:?}: {answer:?} of {routes:#?}"
                );
            }
        });
        sent += requests.iter().filter(|request| by_specification(&routes, request).is_some()).count();
    }
    assert!(sent > 100, "only {sent} requests had a route");
}
