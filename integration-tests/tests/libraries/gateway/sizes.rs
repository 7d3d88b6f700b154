//! Many routes of one host, and routes that are as large as they may be.

use super::{around, gateway, listener, on_each, route, site, to};
use serde_json::{Value, json};

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

#[test]
fn the_largest_route_is_served_at_each_of_four_listeners() {
    let listeners = ["a", "b", "c", "d"].into_iter().zip(80..);
    let listeners = listeners.map(|(name, port)| {
        let mut listener = listener(name, None);
        listener["port"] = port.into();
        listener
    });
    let rule = |rule: u8| {
        let paths =
            (0..8).map(|number| json!({"path": {"value": format!("/of-a-longer-path/{rule}/{number}")}}));
        json!({"matches": paths.collect::<Vec<_>>(), "backendRefs": to(1 + rule)})
    };
    let hostnames: Vec<String> =
        (0..16).map(|number| format!("host-{number}.some.customer.example")).collect();
    let hostnames: Vec<&str> = hostnames.iter().map(String::as_str).collect();
    let mut all = around();
    all.push(gateway("gw", listeners.collect()));
    all.push(route("large", &hostnames, (0..16).map(rule).collect()));
    on_each(&all, |site| {
        for (port, host, rule) in [(80, hostnames[0], 0), (81, hostnames[7], 7), (83, hostnames[15], 15)] {
            let path = format!("/of-a-longer-path/{rule}/7");
            let answer = site.ask(port, None, "GET", host, &path, "");
            assert_eq!(answer.service(), Some(1 + rule), "{port} {host}: {answer:?}");
        }
    });
}
