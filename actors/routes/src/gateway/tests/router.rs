//! Random routes and requests: what HAProxy finds in the maps is what a router says that was written from the specification.

use super::{World, name};
use haptic_model::Snapshots;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::{cmp::Reverse, collections::BTreeMap};

const HOSTS: [&str; 5] = ["a.e", "b.e", "x.a.e", "y.x.a.e", "z"];
const PATTERNS: [&str; 5] = ["", "a.e", "*.e", "*.a.e", "x.a.e"];
const PATHS: [&str; 6] = ["/", "/a", "/a/", "/a/b", "/ab", "/a/b/c"];
const METHODS: [&str; 3] = ["", "GET", "PUT"];

#[derive(Clone, Debug)]
struct RandomMatch {
    exact: bool,
    path: usize,
    method: usize,
    headers: Vec<(char, char)>,
    query: Option<char>,
}

#[derive(Clone, Debug)]
struct RandomRoute {
    age: u8,
    hostnames: Vec<usize>,
    section: Option<usize>,
    rules: Vec<Vec<RandomMatch>>,
}

#[derive(Clone, Debug)]
struct RandomRequest {
    host: usize,
    path: usize,
    method: usize,
    headers: BTreeMap<char, char>,
    query: Option<char>,
}

fn a_match() -> impl Strategy<Value = RandomMatch> {
    let headers = proptest::collection::btree_map(
        prop::sample::select(vec!['p', 'q']),
        prop::sample::select(vec!['1', '2']),
        0..3,
    );
    let query = proptest::option::weighted(0.3, prop::sample::select(vec!['1', '2']));
    (any::<bool>(), 0..PATHS.len(), 0..METHODS.len(), headers, query).prop_map(
        |(exact, path, method, headers, query)| RandomMatch {
            exact,
            path,
            method,
            headers: headers.into_iter().collect(),
            query,
        },
    )
}

fn a_route() -> impl Strategy<Value = RandomRoute> {
    let rules = proptest::collection::vec(proptest::collection::vec(a_match(), 1..3), 1..4);
    let hostnames = proptest::collection::btree_set(1..PATTERNS.len(), 0..3);
    (1_u8..4, hostnames, proptest::option::weighted(0.2, 0..3_usize), rules).prop_map(
        |(age, hostnames, section, rules)| RandomRoute {
            age,
            hostnames: hostnames.into_iter().collect(),
            section,
            rules,
        },
    )
}

fn a_request() -> impl Strategy<Value = RandomRequest> {
    let headers = proptest::collection::btree_map(
        prop::sample::select(vec!['p', 'q']),
        prop::sample::select(vec!['1', '2']),
        0..3,
    );
    let query = proptest::option::of(prop::sample::select(vec!['1', '2']));
    (0..HOSTS.len(), 0..PATHS.len(), 1..METHODS.len(), headers, query)
        .prop_map(|(host, path, method, headers, query)| RandomRequest { host, path, method, headers, query })
}

fn covers(pattern: &str, host: &str) -> bool {
    match pattern.strip_prefix('*') {
        _ if pattern.is_empty() => true,
        Some(end) => host.ends_with(end) && host.len() > end.len(),
        None => pattern == host,
    }
}

/// The most specific pattern for a host.
fn best<'p>(patterns: impl Iterator<Item = &'p str>, host: &str) -> Option<&'p str> {
    patterns
        .filter(|pattern| covers(pattern, host))
        .max_by_key(|pattern| (!pattern.is_empty(), !pattern.starts_with('*'), pattern.len()))
}

impl RandomMatch {
    fn takes(&self, request: &RandomRequest) -> bool {
        let (wanted, path) = (PATHS[self.path], PATHS[request.path]);
        let has_path = if self.exact {
            wanted == path
        } else {
            let wanted = wanted.trim_end_matches('/');
            path.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        has_path
            && (self.method == 0 || self.method == request.method)
            && self.headers.iter().all(|(name, value)| request.headers.get(name) == Some(value))
            && self.query.is_none_or(|value| request.query == Some(value))
    }

    fn spec(&self) -> Value {
        let named = |name: char, value: char| json!({"name": format!("h{name}"), "value": value.to_string()});
        let mut spec = json!({"path": {"type": if self.exact { "Exact" } else { "PathPrefix" }, "value": PATHS[self.path]}});
        spec["headers"] = self.headers.iter().map(|(name, value)| named(*name, *value)).collect();
        if self.method > 0 {
            spec["method"] = METHODS[self.method].into();
        }
        if let Some(value) = self.query {
            spec["queryParams"] = json!([{"name": "q", "value": value.to_string()}]);
        }
        spec
    }
}

/// Route and rule, by the words of the specification.
fn by_specification(
    listeners: &[usize],
    routes: &[RandomRoute],
    request: &RandomRequest,
) -> Option<(usize, usize)> {
    let host = HOSTS[request.host];
    let listener = best(listeners.iter().map(|pattern| PATTERNS[*pattern]), host)?;
    let number = listeners.iter().position(|pattern| PATTERNS[*pattern] == listener)?;
    let mut found = Vec::new();
    for (of, route) in routes.iter().enumerate() {
        if route.section.is_some_and(|section| section != number) {
            continue;
        }
        let patterns: Vec<&str> = if route.hostnames.is_empty() {
            vec![""]
        } else {
            route.hostnames.iter().map(|one| PATTERNS[*one]).collect()
        };
        let Some(pattern) = best(patterns.into_iter(), host) else { continue };
        // A route with a narrower hostname has a say first, and with its wider ones where that takes nothing: it is the same rules.
        for (rule, matches) in route.rules.iter().enumerate() {
            for (index, one) in matches.iter().enumerate().filter(|(_, one)| one.takes(request)) {
                let length = if one.exact {
                    PATHS[one.path].len()
                } else {
                    PATHS[one.path].trim_end_matches('/').len()
                };
                let rank = Reverse((
                    (!pattern.is_empty(), !pattern.starts_with('*'), pattern.len()),
                    (one.exact, length, one.method > 0, one.headers.len(), one.query.is_some()),
                ));
                found.push(((rank, route.age, of, rule, index), (of, rule)));
            }
        }
    }
    found.into_iter().min().map(|(_, found)| found)
}

/// All entries of a map, made of sets as the library's templates do.
struct Maps {
    routes: BTreeMap<(String, String), String>,
    levels: BTreeMap<String, String>,
    listeners: BTreeMap<String, String>,
    /// The place of each rule in its route, by its name.
    rules: BTreeMap<String, usize>,
}

fn maps(all: &Snapshots) -> Maps {
    let mut maps = Maps {
        routes: BTreeMap::new(),
        levels: BTreeMap::new(),
        listeners: BTreeMap::new(),
        rules: BTreeMap::new(),
    };
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    for object in all.get("routes of httproutes").unwrap().iter() {
        let set = object.value().unwrap();
        for route in set["routes"].as_array().unwrap() {
            let key = (text(&route["kind"]), text(&route["key"]));
            assert!(maps.routes.insert(key, text(&route["value"])).is_none(), "two have {route}");
        }
        for (number, rule) in set["rules"].as_array().unwrap().iter().enumerate() {
            assert_eq!(maps.rules.insert(text(&rule["name"]), number), None, "two have {rule}");
        }
        for level in set["levels"].as_array().unwrap() {
            let chunks: Vec<String> = level["chunks"].as_array().unwrap().iter().map(text).collect();
            assert!(maps.levels.insert(text(&level["key"]), chunks.concat()).is_none(), "two have {level}");
        }
    }
    for object in all.get("routes of gateways").unwrap().iter() {
        for listener in object.value().unwrap()["listeners"].as_array().unwrap() {
            maps.listeners.insert(text(&listener["hostname"]), text(&listener["id"]));
        }
    }
    maps
}

/// A host, its wildcards from the longest on, and all.
fn levels(host: &str) -> Vec<String> {
    let below = host.match_indices('.').filter_map(|(at, _)| host.get(at..)).map(|end| format!("*{end}"));
    std::iter::once(host.to_owned()).chain(below).chain(["*".to_owned()]).collect()
}

fn fits(conditions: &str, request: &RandomRequest) -> bool {
    conditions.split(',').filter(|one| !one.is_empty()).all(|one| {
        let words: Vec<&str> = one.split('|').collect();
        match words.as_slice() {
            ["method", methods @ ..] => methods.contains(&METHODS[request.method]),
            ["header", name, value] => request
                .headers
                .get(&name.chars().nth(1).unwrap())
                .is_some_and(|sent| sent.to_string() == *value),
            ["query", _, value] => request.query.is_some_and(|sent| sent.to_string() == *value),
            other => panic!("{other:?}"),
        }
    })
}

/// Route and rule, as HAProxy and its Lua look for them.
fn by_maps(maps: &Maps, request: &RandomRequest) -> Option<(usize, usize)> {
    let (host, path) = (HOSTS[request.host], PATHS[request.path]);
    let listener = levels(host).iter().find_map(|level| maps.listeners.get(level))?;
    let route = levels(host).iter().map(|level| format!("{listener}|{level}")).find_map(|rules| {
        let list = maps.levels.get(&rules)?;
        let exact = maps.routes.get(&("exact".to_owned(), format!("{rules}{path}")));
        let slashed = format!("{rules}{path}/");
        let prefixes = maps
            .routes
            .iter()
            .filter(|((kind, key), _)| kind == "prefix" && slashed.starts_with(key.as_str()));
        let keyed = exact.or_else(|| prefixes.max_by_key(|((_, key), _)| key.len()).map(|(_, value)| value));
        let length = keyed.map_or(-1, |value| value.rsplit('/').next().unwrap().parse::<i64>().unwrap());
        for entry in
            list.split_once(';').map_or("", |(_, rest)| rest).split(';').filter(|entry| !entry.is_empty())
        {
            let words: Vec<&str> = entry.splitn(6, ',').collect();
            let (number, kind, begins) = (words[0], words[1], words[3]);
            if kind != "exact" && (exact.is_some() || i64::try_from(begins.len()).unwrap() < length) {
                break;
            }
            let rest = path.strip_prefix(begins);
            let takes =
                rest.is_some_and(|rest| rest.is_empty() || (kind == "prefix" && rest.starts_with('/')));
            if takes && fits(words.get(5).copied().unwrap_or_default(), request) {
                return maps.routes.get(&("listed".to_owned(), format!("{rules}|{number}")));
            }
        }
        keyed
    })?;
    let (rule, _) = route.rsplit_once('/')?;
    let route = rule.split(':').nth(1)?.trim_start_matches('r').parse().ok()?;
    Some((route, *maps.rules.get(rule)?))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn maps_and_specification_agree(
        listeners in proptest::collection::btree_set(0..PATTERNS.len(), 1..4),
        mut routes in proptest::collection::vec(a_route(), 1..7),
        requests in proptest::collection::vec(a_request(), 1..30),
        later in a_route(),
    ) {
        let listeners: Vec<usize> = listeners.into_iter().collect();
        let mut world = World::new();
        let all: Vec<Value> = listeners.iter().enumerate().map(|(number, pattern)| {
            let hostname = Some(PATTERNS[*pattern]).filter(|pattern| !pattern.is_empty());
            super::http(&format!("l{number}"), hostname)
        }).collect();
        world.gateway("gw", Value::Array(all));
        let put = |world: &mut World, number: usize, route: &RandomRoute| {
            let mut parent = json!({"name": "gw", "namespace": "edge"});
            if let Some(section) = route.section {
                parent["sectionName"] = format!("l{section}").into();
            }
            let hostnames: Vec<&str> = route.hostnames.iter().map(|one| PATTERNS[*one]).collect();
            let rules: Vec<Value> = route.rules.iter().map(|matches| {
                let matches: Vec<Value> = matches.iter().map(RandomMatch::spec).collect();
                json!({"matches": matches, "backendRefs": [{"name": "s1", "port": 80}]})
            }).collect();
            let metadata = json!({"namespace": "shop", "name": format!("r{number}"), "generation": 1,
                "creationTimestamp": format!("2026-01-0{}T00:00:00Z", route.age)});
            world.apply("HTTPRoute", &json!({"metadata": metadata,
                "spec": {"parentRefs": [parent], "hostnames": hostnames, "rules": rules}}));
        };
        routes.iter().enumerate().for_each(|(number, route)| put(&mut world, number, route));
        for _ in 0..2 {
            let found = maps(&world.resolved().1);
            for request in &requests {
                prop_assert_eq!(by_maps(&found, request), by_specification(&listeners, &routes, request), "{:?}", request);
            }
            put(&mut world, 0, &later);
            routes[0] = later.clone();
        }
        world.delete("HTTPRoute", &name("shop", "r0"));
        let found = maps(&world.resolved().1);
        let gone = found.routes.values().all(|value| !value.contains(":r0:"));
        prop_assert!(gone);
    }
}
