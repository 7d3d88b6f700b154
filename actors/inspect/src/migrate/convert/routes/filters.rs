//! Filters of a rule, as far as options of an Ingress say what they can.

use super::{leftovers::Leftovers, matches::is_token};
use haptic_model::host_name::is_host;
use haptic_routes::options::{
    RouteOptions,
    header::{Header, Part},
    value::OptionValue,
};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// So many headers of one kind a filter has.
const MOST_HEADERS: usize = 16;

/// Options of headers, and the filter that says the same.
pub(super) struct HeaderOptions {
    set: &'static str,
    add: &'static str,
    remove: &'static str,
    filter: (&'static str, &'static str),
    /// Whether a client's own header must not stand where one of these is not set.
    is_trusted: bool,
}

pub(super) const REQUEST_HEADERS: HeaderOptions = HeaderOptions {
    set: "request-headers",
    add: "add-request-headers",
    remove: "remove-request-headers",
    filter: ("RequestHeaderModifier", "requestHeaderModifier"),
    is_trusted: true,
};

pub(super) const RESPONSE_HEADERS: HeaderOptions = HeaderOptions {
    set: "response-headers",
    add: "add-response-headers",
    remove: "remove-response-headers",
    filter: ("ResponseHeaderModifier", "responseHeaderModifier"),
    is_trusted: false,
};

/// The names of an option.
pub(super) fn names<'o>(options: &'o RouteOptions, option: &str) -> &'o [String] {
    match options.values.get(option) {
        Some(OptionValue::Names(names)) => names,
        _ => &[],
    }
}

pub(super) fn number(options: &RouteOptions, option: &str) -> Option<u64> {
    match options.values.get(option)? {
        OptionValue::Number(number) => Some(*number),
        _ => None,
    }
}

/// Lines of an option with values that stand in a filter as they are, no more than it has, and the names of others.
fn lines(
    options: &RouteOptions,
    option: &str,
    left: &mut Leftovers<'_>,
) -> (Vec<(String, String)>, Vec<String>) {
    let (mut all, mut others): (Vec<(String, String)>, Vec<String>) = Default::default();
    let Some(OptionValue::Headers(headers)) = options.values.get(option) else { return (all, others) };
    for header in headers.iter() {
        let Header { name, value } = header;
        let why = if header.parts().iter().any(|part| matches!(part, Part::Variable(_))) {
            format!("filters know no variables, as header {name} has")
        } else if has(&all, name) {
            format!("a filter has header {name} once")
        } else if all.len() == MOST_HEADERS {
            format!("a filter has no more than {MOST_HEADERS} headers")
        } else if !is_token(name) {
            "a filter has no name of more than 256 characters".to_owned()
        } else {
            all.push((name.clone(), value.clone()));
            continue;
        };
        left.option(option, &why);
        others.push(name.clone());
    }
    (all, others)
}

fn has(all: &[(String, String)], name: &str) -> bool {
    all.iter().any(|(known, _)| known.eq_ignore_ascii_case(name))
}

/// What sets, adds and removes headers. An Ingress removes first, a filter last.
pub(super) fn headers(options: &RouteOptions, of: &HeaderOptions, left: &mut Leftovers<'_>) -> Option<Value> {
    let (mut set, unset) = lines(options, of.set, left);
    let mut remove = names(options, of.remove).to_vec();
    // Servers may trust what clients could not say.
    remove.extend(unset.into_iter().filter(|_| of.is_trusted));
    let (replacing, add): (Vec<_>, Vec<_>) =
        lines(options, of.add, left).0.into_iter().partition(|(name, _)| {
            remove.iter().any(|removed| removed.eq_ignore_ascii_case(name)) && !has(&set, name)
        });
    set.extend(replacing);
    if set.len() > MOST_HEADERS {
        left.option(of.add, &format!("a filter sets no more than {MOST_HEADERS} headers"));
        set.truncate(MOST_HEADERS);
    }
    let mut known = BTreeSet::new();
    remove.retain(|name| !has(&set, name) && known.insert(name.to_ascii_lowercase()));
    let mut modifier = Map::new();
    for (action, all) in [("set", &set), ("add", &add)] {
        let all: Vec<Value> = all.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
        if !all.is_empty() {
            modifier.insert(action.to_owned(), Value::Array(all));
        }
    }
    if remove.len() > MOST_HEADERS {
        left.option(of.remove, &format!("a filter has no more than {MOST_HEADERS} headers"));
    } else if !remove.is_empty() {
        modifier.insert("remove".to_owned(), json!(remove));
    }
    let (kind, field) = of.filter;
    (!modifier.is_empty()).then(|| json!({"type": kind, field: modifier}))
}

/// Where all requests are redirected.
pub(super) fn redirect(options: &RouteOptions, left: &mut Leftovers<'_>) -> Option<Value> {
    let (mut to, option) = match (options.text("redirect-to"), options.text("redirect-host")) {
        (Some(place), _) => (location(place, options.is_on("redirect-keep-path")), "redirect-to"),
        (None, Some(host)) => (location(&format!("http://{host}"), true), "redirect-host"),
        (None, None) => return None,
    };
    let Some(filter) = &mut to else {
        left.deciding(option, "filter RequestRedirect has no such place");
        return None;
    };
    if option == "redirect-host" {
        filter.remove("scheme");
    }
    if filter.contains_key("path") {
        left.option(option, "filter RequestRedirect keeps the query of the request");
    }
    if let Some(code) = options.text("redirect-code").and_then(|code| code.parse::<u16>().ok()) {
        filter.insert("statusCode".to_owned(), json!(code));
    }
    to.map(|filter| json!({"type": "RequestRedirect", "requestRedirect": filter}))
}

/// The fields of filter RequestRedirect for a URL or a path.
fn location(text: &str, keeps_path: bool) -> Option<Map<String, Value>> {
    let uri: http::Uri = text.parse().ok()?;
    let is_plain = uri.query().is_none() && !text.contains(['#', '@', '%', '$']);
    let mut to = Map::new();
    if let Some(scheme) = uri.scheme_str() {
        to.insert("scheme".to_owned(), json!(scheme));
    }
    if let Some(host) = uri.host().map(str::to_ascii_lowercase) {
        if !is_host(&host) || host.starts_with('*') {
            return None;
        }
        to.insert("hostname".to_owned(), json!(host));
    }
    if let Some(port) = uri.port_u16() {
        if port == 0 {
            return None;
        }
        to.insert("port".to_owned(), json!(port));
    }
    if keeps_path {
        return (is_plain && uri.path() == "/").then_some(to);
    }
    let path = json!({"type": "ReplaceFullPath", "replaceFullPath": uri.path()});
    to.insert("path".to_owned(), path);
    is_plain.then_some(to)
}

/// A duration of the API: <https://gateway-api.sigs.k8s.io/geps/gep-2257/>
pub(super) fn duration(milliseconds: u64) -> String {
    let units = [("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];
    let mut rest = milliseconds;
    let mut text = String::new();
    for (name, unit) in units {
        if rest >= unit {
            text += &format!("{}{name}", rest / unit);
            rest %= unit;
        }
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::migrate::Family;
    use haptic_routes::options::Settings;
    use std::collections::BTreeMap;

    fn with<T>(
        options: &[(&str, &str)],
        ask: impl Fn(&RouteOptions, &mut Leftovers<'_>) -> T,
    ) -> (T, Vec<String>) {
        let options = RouteOptions::read(options.iter().copied(), &Settings::default());
        assert!(options.refused.is_empty(), "{:?}", options.refused);
        let nothing = BTreeMap::new();
        let mut left = Leftovers::new(Family::HaproxyOrg, &nothing);
        (ask(&options, &mut left), left.said)
    }

    #[test]
    fn headers_that_are_removed_and_set_are_set() {
        let options = [
            ("request-headers", "X-A: 1\nX-B: ${host}"),
            ("add-request-headers", "X-C: 2\nX-D: 3"),
            ("remove-request-headers", "X-A, X-C, X-E"),
        ];
        let (filter, said) = with(&options, |options, left| headers(options, &REQUEST_HEADERS, left));
        let wanted = json!({"type": "RequestHeaderModifier", "requestHeaderModifier": {
            "set": [{"name": "X-A", "value": "1"}, {"name": "X-C", "value": "2"}],
            "add": [{"name": "X-D", "value": "3"}],
            "remove": ["x-e", "X-B"],
        }});
        assert_eq!(filter, Some(wanted));
        assert_eq!(
            said,
            ["haproxy-haptic.org/request-headers: filters know no variables, as header X-B has"]
        );
    }

    #[test]
    fn what_clients_say_of_a_header_that_is_not_set_is_removed() {
        let many: String = (0..18).map(|number| format!("X-{number}: 1\n")).collect();
        let of = |options: &[(&str, &str)], of: &HeaderOptions| {
            let options = RouteOptions::read(options.iter().copied(), &Settings::default());
            let nothing = BTreeMap::new();
            let mut left = Leftovers::new(Family::HaproxyOrg, &nothing);
            let (_, field) = of.filter;
            let filter = headers(&options, of, &mut left).unwrap();
            (filter[field].clone(), left.stays)
        };
        let (filter, stays) = of(&[("request-headers", &*many)], &REQUEST_HEADERS);
        assert_eq!(filter["set"].as_array().unwrap().len(), MOST_HEADERS);
        assert_eq!((&filter["remove"], stays), (&json!(["X-16", "X-17"]), None));
        let (filter, stays) = of(&[("response-headers", &*many)], &RESPONSE_HEADERS);
        assert_eq!((&filter["remove"], stays), (&Value::Null, None));
        let more: Vec<String> = (0..15).map(|number| format!("X-R{number}")).collect();
        let more = more.join(",");
        let both = [("request-headers", &*many), ("remove-request-headers", &*more)];
        let (_, stays) = of(&both, &REQUEST_HEADERS);
        assert!(stays.is_some());
        let both = [("request-headers", "X-A: ${host}"), ("add-request-headers", "X-A: 1")];
        let (filter, _) = of(&both, &REQUEST_HEADERS);
        assert_eq!(filter, json!({"set": [{"name": "X-A", "value": "1"}]}));
    }

    #[test]
    fn a_redirect_has_the_parts_of_its_place() {
        let of = |options: &[(&str, &str)]| with(options, redirect);
        let (filter, said) = of(&[("redirect-host", "new.example:8080"), ("redirect-code", "308")]);
        let wanted = json!({"hostname": "new.example", "port": 8080, "statusCode": 308});
        assert_eq!((filter.map(|one| one["requestRedirect"].clone()), said.len()), (Some(wanted), 0));
        let keeps = ("redirect-keep-path", "true");
        let (filter, said) = of(&[("redirect-to", "https://new.example"), keeps]);
        let wanted = json!({"scheme": "https", "hostname": "new.example"});
        assert_eq!((filter.map(|one| one["requestRedirect"].clone()), said.len()), (Some(wanted), 0));
        let (filter, said) = of(&[("redirect-to", "https://new.example/a")]);
        assert_eq!(filter.unwrap()["requestRedirect"]["path"]["replaceFullPath"], "/a");
        assert!(said[0].contains("keeps the query"), "{said:?}");
        let (filter, _) = of(&[("redirect-to", "https://New.Example/a")]);
        assert_eq!(filter.unwrap()["requestRedirect"]["hostname"], "new.example");
        for wrong in ["https://[::1]/a", "https://new_one.example/a"] {
            assert!(of(&[("redirect-to", wrong)]).0.is_none(), "{wrong}");
        }
        let (filter, said) = of(&[("redirect-to", "https://new.example/a?b=c")]);
        assert!(filter.is_none() && said[0].contains("no such place"), "{said:?}");
    }

    #[test]
    fn times_are_durations_of_the_api() {
        for (time, text) in
            [(500, "500ms"), (30_000, "30s"), (90_000, "1m30s"), (86_400_000, "24h"), (0, "0s")]
        {
            assert_eq!(duration(time), text);
        }
    }
}
