//! Filter CORS: lists that browsers get as one text are lists of a filter.

use super::{
    filters::{names, number},
    leftovers::Leftovers,
    matches::{METHODS, is_token},
};
use haptic_routes::options::RouteOptions;
use serde_json::{Map, Value, json};
use std::collections::HashSet;

/// What stands for all.
const ALL: &str = "*";
/// So many origins, methods or headers a list has, and so many characters an origin.
const MOST: usize = 64;
const LONGEST_ORIGIN: usize = 253;

/// A list of the filter, the option that says it, and what may stand in it.
type CorsList = (&'static str, &'static str, fn(&str) -> bool);

const LISTS: [CorsList; 3] = [
    ("allowMethods", "cors-allow-methods", is_method),
    ("allowHeaders", "cors-allow-headers", is_token),
    ("exposeHeaders", "cors-expose-headers", is_token),
];

pub(super) fn cors(options: &RouteOptions, left: &mut Leftovers<'_>) -> Option<Value> {
    let origins = list(options, ("allowOrigins", "cors-allow-origin", is_origin), left);
    if origins.is_empty() {
        return None;
    }
    let mut cors = Map::from_iter([("allowOrigins".to_owned(), json!(origins))]);
    for of in LISTS {
        let all = list(options, of, left);
        if !all.is_empty() {
            cors.insert(of.0.to_owned(), json!(all));
        }
    }
    if options.is_on("cors-allow-credentials") {
        cors.insert("allowCredentials".to_owned(), json!(true));
    }
    match number(options, "cors-max-age") {
        Some(0) => left.option("cors-max-age", "a filter's maxAge is 1 or more"),
        Some(age) => _ = cors.insert("maxAge".to_owned(), json!(age)),
        None => {}
    }
    Some(json!({"type": "CORS", "cors": cors}))
}

/// What an option has of a list, each once.
fn list<'o>(
    options: &'o RouteOptions,
    (_, option, may_stand): CorsList,
    left: &mut Leftovers<'_>,
) -> Vec<&'o str> {
    let written = names(options, option).iter().flat_map(|text| text.split(','));
    let all: Vec<&str> = written.map(str::trim).filter(|one| !one.is_empty()).collect();
    if all.contains(&ALL) {
        return vec![ALL];
    }
    let mut known = HashSet::new();
    let (mut good, others): (Vec<&str>, Vec<&str>) =
        all.into_iter().filter(|one| known.insert(*one)).partition(|one| may_stand(one));
    if !others.is_empty() {
        left.option(option, &format!("filter CORS knows no {}", others.join(", ")));
    }
    if good.len() > MOST {
        left.option(option, &format!("filter CORS has no more than {MOST} of them"));
        good.truncate(MOST);
    }
    good
}

fn is_method(text: &str) -> bool {
    METHODS.contains(&text)
}

/// Whether the filter may have it among its origins.
fn is_origin(text: &str) -> bool {
    let rest = ["http://", "https://"].into_iter().find_map(|scheme| text.strip_prefix(scheme));
    let is_label =
        |label: &str| !label.is_empty() && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    let is_port =
        |port: &str| (1..=5).contains(&port.len()) && port.bytes().all(|byte| byte.is_ascii_digit());
    text.len() <= LONGEST_ORIGIN
        && rest.is_some_and(|rest| {
            let (host, port) = rest.split_once(':').map_or((rest, None), |(host, port)| (host, Some(port)));
            let name = host.strip_prefix("*.").unwrap_or(host);
            (host == ALL || name.split('.').all(is_label)) && port.is_none_or(is_port)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::migrate::Family;
    use haptic_routes::options::Settings;
    use std::collections::BTreeMap;

    fn filter(options: &[(&str, &str)]) -> (Value, Vec<String>) {
        let origin = ("cors-allow-origin", "https://a.example, https://a.example");
        let options = RouteOptions::read(options.iter().copied().chain([origin]), &Settings::default());
        assert!(options.refused.is_empty(), "{:?}", options.refused);
        let nothing = BTreeMap::new();
        let mut left = Leftovers::new(Family::HaproxyOrg, &nothing);
        (cors(&options, &mut left).unwrap()["cors"].clone(), left.said)
    }

    #[test]
    fn a_text_with_commas_is_a_list() {
        let (filter, said) = filter(&[
            ("cors-allow-methods", "GET, PUT,POST, GET"),
            ("cors-allow-headers", "X-A, X-B"),
            ("cors-expose-headers", "X-C,X-D"),
        ]);
        assert_eq!(filter["allowOrigins"], json!(["https://a.example"]));
        assert_eq!(filter["allowMethods"], json!(["GET", "PUT", "POST"]));
        assert_eq!(filter["allowHeaders"], json!(["X-A", "X-B"]));
        assert_eq!((&filter["exposeHeaders"], said.len()), (&json!(["X-C", "X-D"]), 0), "{said:?}");
    }

    #[test]
    fn what_is_no_part_of_a_list_is_told() {
        let (filter, said) = filter(&[("cors-allow-methods", "GET, PROPFIND"), ("cors-allow-headers", "*")]);
        assert_eq!((&filter["allowMethods"], &filter["allowHeaders"]), (&json!(["GET"]), &json!(["*"])));
        assert_eq!(said, ["haproxy-haptic.org/cors-allow-methods: filter CORS knows no PROPFIND"]);
        let names: Vec<String> = (0..70).map(|number| format!("X-{number}")).collect();
        let (filter, said) = self::filter(&[("cors-expose-headers", &names.join(","))]);
        assert_eq!((filter["exposeHeaders"].as_array().unwrap().len(), said.len()), (MOST, 1), "{said:?}");
    }

    #[test]
    fn origins_are_those_of_the_definition() {
        for origin in ["https://a.example", "http://*.a.example:8080", "https://*"] {
            assert!(is_origin(origin), "{origin}");
        }
        for other in ["null", "https://", "https://a..example", "https://a.example:", "ftp://a.example"] {
            assert!(!is_origin(other), "{other}");
        }
    }
}
