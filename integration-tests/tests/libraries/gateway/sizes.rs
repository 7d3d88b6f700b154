//! Many routes of one host, and routes that are as large as they may be.

use super::{around, gateway, listener, on_each, route, to};
use serde_json::{Value, json};

fn site(routes: impl IntoIterator<Item = Value>) -> Vec<Value> {
    let mut all = around();
    all.push(gateway("gw", json!([listener("http", None)])));
    all.extend(routes);
    all
}

#[test]
fn a_thousand_routes_of_one_host_are_served() {
    let service = |number: usize| u8::try_from(1 + number % 40).unwrap();
    let routes = (0..1000).map(|number| {
        let matches = json!([{"path": {"type": "PathPrefix", "value": format!("/of/{number}")}}]);
        let rules = json!([{"matches": matches, "backendRefs": to(service(number))}]);
        route(&format!("r{number}"), &["a.example"], rules)
    });
    on_each(&site(routes), |site| {
        for number in (0..1000).step_by(37).chain([499, 500, 999]) {
            let answer = site.get("a.example", &format!("/of/{number}/x"));
            assert_eq!(answer.service(), Some(service(number)), "{number}: {answer:?}");
        }
        assert_eq!(site.get("a.example", "/of/1000").status, 404);
    });
}

#[test]
fn a_route_with_sixteen_rules_of_eight_matches_each_is_served() {
    // Half of the matches are decided by paths alone, the others by a header, too.
    let asked = |rule: u8, number: u8| match number % 2 {
        0 => json!({"path": {"value": format!("/{rule}/{number}")}}),
        _ => {
            json!({"path": {"value": format!("/{rule}")}, "headers": [{"name": "m", "value": number.to_string()}]})
        }
    };
    let rule = |rule: u8| {
        let matches: Vec<Value> = (0..8).map(|number| asked(rule, number)).collect();
        json!({"matches": matches, "backendRefs": to(1 + rule)})
    };
    let rules: Vec<Value> = (0..16).map(rule).collect();
    on_each(&site([route("large", &["a.example"], rules.into())]), |site| {
        for (rule, number) in (0..16).flat_map(|rule| (0..8).map(move |number| (rule, number))) {
            let (path, header) = match number % 2 {
                0 => (format!("/{rule}/{number}"), String::new()),
                _ => (format!("/{rule}/x"), format!("m: {number}\r\n")),
            };
            let answer = site.ask(80, None, "GET", "a.example", &path, &header);
            assert_eq!(answer.service(), Some(1 + rule), "{path} {header:?}: {answer:?}");
        }
        assert_eq!(site.get("a.example", "/0/x").status, 404);
    });
}
