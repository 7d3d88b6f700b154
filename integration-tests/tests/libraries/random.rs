//! Random Ingresses and requests: HAProxy with the whole libraries does what the route model says, which is what the
//! specification says (`actors/render/tests/routes.rs`).

use crate::{
    SERIES,
    site::{SCHEMES, Site},
};
use haptic_model::ObjectRef;
use haptic_routes::{
    class::Classes,
    families::Neighbours,
    index::RouteIndex,
    ingress::{self, IngressInputs},
    path::{self, Doubt},
    referenced::ReferencedObjects,
    services::Services,
};
pub use integration_tests::dice::Dice;
use serde_json::{Value, json};
use std::sync::Arc;

const HOSTS: [&str; 6] = ["", "a.example", "A.example", "*.example", "b.a.example", "*.a.example"];
const PATHS: [&str; 9] = ["/", "/x", "/x/", "/x/y", "/xy", "/X", "/x/y/z", "/x.y", "/%20"];
const PATTERNS: [&str; 9] =
    ["/", "/x", "/x(/|$)(.*)", "/x/.*", "/[a-z]+", "/x/[yz]/?", "/x.y$", "/(?:x|q)/[a-z]", "/X/[A-Z]"];
const PATH_TYPES: [&str; 2] = ["regex", "regex-ignore-case"];
const KINDS: [&str; 3] = ["Exact", "Prefix", "ImplementationSpecific"];
const ASKED: [(&str, &str); 28] = [
    ("a.example", "/"),
    ("a.example", "/x"),
    ("a.example", "/x/"),
    ("a.example", "/x/y"),
    ("A.EXAMPLE", "/x/y/"),
    ("a.example", "/xy"),
    ("a.example", "/X"),
    ("z.example", "/x/y/z"),
    ("z.example", "/x/z"),
    ("b.a.example", "/x.y"),
    ("b.a.example", "/x.y/z"),
    ("b.a.example", "/%20"),
    ("c.a.example", "/y"),
    ("c.a.example", "/x"),
    ("c.b.a.example", "/x"),
    ("example", "/x"),
    ("other", "/"),
    ("other", "/x/y"),
    ("a.example", "//x/y"),
    ("a.example", "/%78/y"),
    ("a.example", "/x;v=1/y"),
    ("a.example", "/x%2Fy"),
    ("a.example", "/./x/y/."),
    ("a.example", "/x/y/../y"),
    ("z.example", "/q/../x/y/z"),
    ("a.example", "/x/..%2Fx"),
    ("a.example", "/q/%2e%2e/x"),
    ("b.a.example", "/%2520"),
];
/// Sets of Ingresses for each HAProxy; the numbers that they come of are always the same.
const SETS: u64 = 6;

/// Each backend is another of the site's 40 services, so that an answer says which path it came of.
fn ingresses(dice: &mut Dice) -> Vec<Value> {
    let mut service = 0;
    let mut backend = || {
        service += 1;
        json!({"service": {"name": format!("s{service}"), "port": {"number": 80}}})
    };
    let mut all = Vec::new();
    for number in 0..5 {
        let path_type = (dice.below(2) == 0).then(|| PATH_TYPES[dice.below(2)]);
        let mut rules = Vec::new();
        for _ in 0..dice.below(3) {
            let known = if path_type.is_some() { PATTERNS } else { PATHS };
            let paths: Vec<Value> = (0..dice.below(3) + 1)
                .map(|_| json!({"path": known[dice.below(9)], "pathType": KINDS[dice.below(3)], "backend": backend()}))
                .collect();
            rules.push(json!({"host": HOSTS[dice.below(6)], "http": {"paths": paths}}));
        }
        let mut spec = json!({"ingressClassName": "haptic", "rules": rules});
        if dice.below(3) == 0 {
            spec["defaultBackend"] = backend();
        }
        let created = format!("2026-01-0{}T00:00:00Z", dice.below(3) + 1);
        let annotations: serde_json::Map<_, _> = path_type
            .map(|path_type| ("haproxy-haptic.org/path-type".to_owned(), json!(path_type)))
            .into_iter()
            .collect();
        all.push(json!({"kind": "Ingress", "spec": spec,
            "metadata": {"namespace": "shop", "name": format!("i{number}"), "creationTimestamp": created,
                "annotations": annotations}}));
    }
    all
}

fn model(ingresses: &[Value]) -> RouteIndex {
    let mut index = RouteIndex::default();
    let _records_are_not_read = index.update(ingresses.iter().map(|object| {
        let name = object["metadata"]["name"].as_str().unwrap();
        let claims = ingress::claims(
            object.to_string().as_bytes(),
            &Classes::all(),
            &IngressInputs {
                services: &Services::default(),
                neighbours: &Neighbours::default(),
                referenced: &ReferencedObjects::default(),
            },
        )
        .unwrap();
        (Arc::new(ObjectRef::new("ingresses", "shop", name)), Some(claims))
    }));
    index
}

/// The service that a request goes to: by the normal form of its path, unless servers may read another route in it.
fn expected(model: &RouteIndex, host: &str, path: &str) -> Option<String> {
    let normal = path::normal(path).ok()?;
    let of =
        |path: &str| model.answer(host, path).map(|(object, backend)| (object, backend.service.to_string()));
    let found = of(&normal.text)?;
    match normal.doubt {
        Doubt::None => Some(found.1),
        Doubt::Unresolved(other) => (of(&other) == Some(found.clone())).then_some(found.1),
        Doubt::Ambiguous => None,
    }
}

#[test]
fn haproxy_answers_as_the_route_model_for_any_ingresses_and_requests() {
    let mut found = 0;
    for (number, series) in (0..SETS).flat_map(|number| SERIES.map(|series| (number, series))) {
        let ingresses = ingresses(&mut Dice(number));
        let model = model(&ingresses);
        let site = Site::start(series, &ingresses);
        for ((host, path), scheme) in ASKED.iter().flat_map(|asked| SCHEMES.map(|scheme| (asked, scheme))) {
            let answer = site.get(scheme, host, path);
            let expected = expected(&model, host, path);
            let got = answer.service().map(|service| format!("s{service}"));
            assert_eq!(
                got, expected,
                "set {number}, {series:?}, {scheme:?} {host}{path}: {answer:?} of {ingresses:#?}"
            );
            found += usize::from(expected.is_some());
        }
    }
    assert!(found > 100, "only {found} requests had a route");
}
