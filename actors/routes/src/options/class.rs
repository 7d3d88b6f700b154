//! The options of the class: defaults, which nearer levels override, and enforced ones, which they cannot.

use super::{
    header::Header,
    network::Network,
    quantity::milliseconds_of,
    value::{OptionValue, OptionValues},
};
use std::sync::Arc;

/// The options that may be enforced, each with those that let in others besides: beside a bound that would be none.
const LET_IN_OTHERS: [(&str, &str); 5] = [
    ("allow-from", "satisfy"),
    ("concurrency-limit", "concurrency-limit-exempt"),
    ("cors-allow-origin", "cors-allow-origin-regex"),
    ("deny-from", "satisfy"),
    ("maintenance", "maintenance-except"),
];

/// `extraContext.routes`, and what the ConfigMap of an IngressClass says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Class {
    /// The values that count where nothing nearer says anything.
    pub defaults: OptionValues,
    /// The values that count whatever nearer levels say: numbers are ceilings, lists intersect, switches stay.
    pub enforced: OptionValues,
    /// The entries of both that cannot be read, in sentences.
    pub problems: Vec<String>,
}

impl Class {
    /// The same where nobody may get in.
    #[must_use]
    pub fn closed(&self) -> Self {
        let mut class = Self { problems: Vec::new(), ..self.clone() };
        class.enforced.insert("closed", OptionValue::Switch(true));
        class
    }

    /// Enforces the options of the class on `values`.
    pub fn enforce(&self, values: &mut OptionValues) {
        for (bound, besides) in LET_IN_OTHERS {
            if self.enforced.contains_key(bound) && !self.enforced.contains_key(besides) {
                values.remove(besides);
            }
        }
        for (name, limit) in &self.enforced {
            // They go together: see `rate`.
            if *name != "rate-limit-period" {
                let value = values.remove(name);
                values.insert(name, value.map_or_else(|| limit.clone(), |value| within(name, value, limit)));
            }
        }
    }

    /// Of two rates the lower one.
    pub fn enforce_rate(&self, values: &mut OptionValues) {
        if !self.enforced.contains_key("rate-limit") {
            return;
        }
        // Whom the class itself does not exempt, nobody does, and nobody counts otherwise than it.
        for option in ["rate-limit-exempt", "rate-limit-burst", "rate-limit-key"] {
            if !self.enforced.contains_key(option) {
                values.remove(option);
            }
        }
        let given = per_hour(values);
        if given.is_none_or(|given| per_hour(&self.enforced).is_some_and(|limit| limit < given)) {
            for option in ["rate-limit", "rate-limit-period"] {
                values.remove(option);
                values.extend(self.enforced.get(option).map(|value| (option, value.clone())));
            }
        }
    }
}

fn per_hour(values: &OptionValues) -> Option<u64> {
    let Some(OptionValue::Number(limit)) = values.get("rate-limit") else { return None };
    let period = match values.get("rate-limit-period") {
        Some(OptionValue::Text(period)) => milliseconds_of(period)?,
        _ => 1000,
    };
    // All periods are parts of an hour.
    limit.checked_mul(3_600_000_u64.checked_div(period)?)
}

/// Of these lists more is stricter.
const REMOVING: [&str; 2] = ["remove-request-headers", "remove-response-headers"];

fn within(name: &str, value: OptionValue, limit: &OptionValue) -> OptionValue {
    use OptionValue::{Headers, Names, Networks, Number, Text};
    match (value, limit) {
        // Elsewhere a rate is a number of requests in some time.
        (value @ Number(_), Number(_)) if name == "rate-limit" => value,
        (Number(value), Number(limit)) => Number(value.min(*limit)),
        (Networks(value), Networks(limit)) if name == "deny-from" => {
            Networks(value.iter().chain(&**limit).cloned().collect())
        }
        (Networks(value), Networks(limit)) => Networks(in_both(&value, limit).into()),
        (Names(value), Names(limit)) if REMOVING.contains(&name) => {
            let more = limit.iter().filter(|one| !value.contains(one));
            Names(value.iter().chain(more).cloned().collect())
        }
        (Names(value), Names(limit)) => Names(names_in_both(each(&value), &each(limit)).into()),
        (Headers(value), Headers(limit)) => Headers(with_headers(&value, limit)),
        // The newer version of TLS is the later text.
        (Text(value), Text(limit)) if name == "min-tls-version" => Text(value.max(limit.clone())),
        (_, limit) => limit.clone(),
    }
}

fn in_both(some: &[Network], others: &[Network]) -> Vec<Network> {
    let mut both: Vec<Network> = Vec::new();
    for found in some.iter().flat_map(|one| others.iter().filter_map(|other| one.within(other))) {
        if !both.contains(found) {
            both.push(found.clone());
        }
    }
    both
}

/// The names of lists that stay as they are written.
fn each(names: &[String]) -> Vec<String> {
    names.iter().flat_map(|name| name.split(',')).map(|name| name.trim().to_owned()).collect()
}

fn names_in_both(some: Vec<String>, others: &[String]) -> Vec<String> {
    let is_all = |names: &[String]| names.iter().any(|name| name == "*");
    match (is_all(&some), is_all(others)) {
        (_, true) => some,
        (true, false) => others.to_vec(),
        _ => {
            let below = others.iter().filter(|other| some.iter().any(|one| has(one, other))).cloned();
            let below: Vec<String> = below.collect();
            let mut both = some;
            both.retain(|one| others.iter().any(|other| other.eq_ignore_ascii_case(one) || has(other, one)));
            both.extend(below);
            both
        }
    }
}

/// Whether `one` is among the origins that `pattern` stands for, `https://*.shop.example`, and not the same.
fn has(pattern: &str, one: &str) -> bool {
    let rest = pattern
        .split_once("://*")
        .and_then(|(scheme, below)| one.strip_prefix(scheme)?.strip_prefix("://")?.strip_suffix(below));
    rest.is_some_and(|label| !label.is_empty() && label != "*" && !label.contains(['.', ':', '/']))
}

fn with_headers(own: &[Header], enforced: &[Header]) -> Arc<[Header]> {
    let is_enforced =
        |header: &Header| enforced.iter().any(|one| one.name.eq_ignore_ascii_case(&header.name));
    own.iter().filter(|header| !is_enforced(header)).chain(enforced).cloned().collect()
}

#[cfg(test)]
mod tests {
    use crate::options::{RouteOptions, Settings};
    use serde_json::{Map, Value as Json, json};

    fn options(class: Json, written: &[(&str, &str)]) -> Json {
        let context = Map::from_iter([("routes".to_owned(), class)]);
        let settings = Settings::of(&context);
        assert_eq!(settings.class.problems, Vec::<String>::new());
        RouteOptions::read(written.iter().copied(), &settings).to_json()
    }

    #[test]
    fn defaults_count_where_nothing_is_said() {
        let class = json!({"defaults": {"timeout-server": "30s", "retries": 1, "closed": false}});
        let expected = json!({"timeout-server": 30_000, "retries": 2, "closed": false});
        assert_eq!(options(class, &[("retries", "2")]), expected);
    }

    #[test]
    fn of_what_is_enforced_numbers_are_ceilings_lists_intersect_and_switches_stay() {
        for (option, enforced, own, expected) in [
            ("timeout-server", json!("30s"), "1m", json!(30_000)),
            ("timeout-server", json!("30s"), "1s", json!(1000)),
            ("max-body-size", json!("1m"), "2m", json!(1 << 20)),
            ("retry", json!("idempotent"), "all", json!("idempotent")),
            ("closed", json!(true), "false", json!(true)),
            ("min-tls-version", json!("TLSv1.2"), "TLSv1.3", json!("TLSv1.3")),
            ("min-tls-version", json!("TLSv1.3"), "TLSv1.2", json!("TLSv1.3")),
        ] {
            let class = json!({"enforced": {option: enforced}});
            assert_eq!(options(class.clone(), &[(option, own)])[option], expected, "{option} {own}");
            assert!(options(class, &[])[option] != Json::Null, "{option}");
        }
        let networks = |enforced: &str, option: &str, own: &str| -> Vec<String> {
            let all = options(json!({"enforced": {option: enforced}}), &[(option, own)]);
            let all = all[option].as_array().unwrap().iter();
            all.map(|one| one["network"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(networks("10.0.0.0/8", "allow-from", "10.1.0.0/16, 192.168.0.0/16"), ["10.1.0.0/16"]);
        assert_eq!(networks("10.0.0.0/8", "allow-from", "192.168.0.0/16"), Vec::<String>::new());
        assert_eq!(networks("10.0.0.0/8", "deny-from", "::1"), ["::1", "10.0.0.0/8"]);
        let class = json!({"enforced": {"response-headers": "X-A: class"}});
        let headers =
            options(class, &[("response-headers", "x-a: own\nX-B: own")])["response-headers"].clone();
        assert_eq!(headers, json!([{"name": "X-B", "value": "own"}, {"name": "X-A", "value": "class"}]));
    }

    #[test]
    fn who_writes_what_the_class_overrides_is_told() {
        let context = json!({"routes": {"defaults": {"retries": 1}, "enforced": {"max-body-size": "10k"}}});
        let settings = Settings::of(context.as_object().unwrap());
        let told = |text: &str| {
            let written = [("max-body-size", text), ("retries", "3")];
            let found = RouteOptions::read(written, &settings).ineffective;
            found.into_iter().map(|finding| finding.sentence).collect::<Vec<_>>()
        };
        let overridden = "annotation haproxy-haptic.org/max-body-size does not count as it is written: the class enforces something else";
        assert_eq!(told("1m"), [overridden]);
        assert_eq!(told("5k"), Vec::<String>::new());
    }

    #[test]
    fn an_enforced_rate_is_the_highest_whatever_its_period() {
        let rate = |own: &[(&str, &str)]| {
            let class = json!({"enforced": {"rate-limit": 100, "rate-limit-period": "minute"}});
            let all = options(class, own);
            (all["rate-limit"].clone(), all["rate-limit-period"].clone())
        };
        let enforced = (json!(100), json!("minute"));
        assert_eq!(rate(&[]), enforced);
        assert_eq!(rate(&[("rate-limit", "99")]), enforced);
        assert_eq!(rate(&[("rate-limit", "1")]), (json!(1), json!("second")));
        assert_eq!(rate(&[("rate-limit", "7000"), ("rate-limit-period", "hour")]), enforced);
        assert_eq!(rate(&[("rate-limit", "50"), ("rate-limit-period", "hour")]), (json!(50), json!("hour")));
        let half_an_hour = [("rate-limit", "200"), ("rate-limit-period", "30m")];
        assert_eq!(rate(&half_an_hour), (json!(200), json!("30m")), "less than 100 a minute");
        let class = json!({"enforced": {"rate-limit": 100, "rate-limit-period": "30m"}});
        let all = options(class, &[("rate-limit", "50")]);
        assert_eq!((&all["rate-limit"], &all["rate-limit-period"]), (&json!(100), &json!("30m")));
        let exempt = |class: Json| {
            let own = [("rate-limit", "1"), ("rate-limit-exempt", "0.0.0.0/0")];
            options(json!({ "enforced": class }), &own)["rate-limit-exempt"][0]["network"].clone()
        };
        assert_eq!(exempt(json!({"rate-limit": 5})), Json::Null);
        assert_eq!(exempt(json!({"rate-limit": 5, "rate-limit-exempt": "10.0.0.0/8"})), json!("10.0.0.0/8"));
        assert_eq!(exempt(json!({})), json!("0.0.0.0/0"));
    }

    #[test]
    fn nobody_lets_in_whom_what_is_enforced_keeps_out() {
        let of = |enforced: Json, own: &[(&str, &str)], option: &str| {
            options(json!({ "enforced": enforced }), own)[option].clone()
        };
        let either = [("satisfy", "any"), ("auth-secret", "users"), ("allow-from", "10.1.0.0/16")];
        assert_eq!(of(json!({}), &either, "satisfy"), json!("any"));
        for list in ["allow-from", "deny-from"] {
            assert_eq!(of(json!({list: "10.0.0.0/8"}), &either, "satisfy"), Json::Null, "{list}");
        }
        let all = [("concurrency-limit", "9"), ("concurrency-limit-exempt", "0.0.0.0/0")];
        let exempt = |enforced: Json| of(enforced, &all, "concurrency-limit-exempt")[0]["network"].clone();
        assert_eq!(exempt(json!({"concurrency-limit": 5})), Json::Null);
        assert_eq!(exempt(json!({})), json!("0.0.0.0/0"));
        let except = [("maintenance-except", "0.0.0.0/0")];
        let network = |enforced: Json| of(enforced, &except, "maintenance-except")[0]["network"].clone();
        assert_eq!(network(json!({"maintenance": true})), Json::Null);
        let both = json!({"maintenance": true, "maintenance-except": "10.0.0.0/8"});
        assert_eq!(network(both), json!("10.0.0.0/8"));
    }

    #[test]
    fn enforced_origins_and_removed_headers_are_those_that_both_want() {
        let names = |option: &'static str, enforced: &str, own: &str| {
            let all = options(json!({"enforced": {option: enforced}}), &[(option, own)]);
            let names = all[option].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned());
            names.collect::<Vec<_>>().join(" ")
        };
        for (enforced, own, both) in [
            (
                "https://*.shop.example",
                "https://a.shop.example, https://a.b.shop.example",
                "https://a.shop.example",
            ),
            ("https://a.shop.example", "https://*.shop.example", "https://a.shop.example"),
            ("https://*.shop.example", "https://*.shop.example", "https://*.shop.example"),
            ("https://*.shop.example", "http://a.shop.example", ""),
            ("https://*.shop.example", "*", "https://*.shop.example"),
        ] {
            assert_eq!(names("cors-allow-origin", enforced, own), both, "{enforced} {own}");
        }
        assert_eq!(names("remove-request-headers", "X-A", "X-B, x-a"), "x-b x-a");
    }
}
