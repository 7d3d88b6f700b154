//! The options of a GatewayClass for all requests of its Gateways: those that the configuration has for all routes (`extraContext.routes`), and
//! those of the ConfigMap that the class names by its parameters.
//!
//! They are no part of any route. HAProxy finds them by the Gateway, and puts what is enforced before the settings of the request's rule, and
//! defaults behind them: of a setting that is there twice the first counts.

use super::{
    named_config_maps::NamedConfigMaps,
    values::{LONGEST, header},
};
use crate::options::{
    RouteOptions, Settings, class::Class, header::Header, header::Part, network::Network, value::OptionValue,
};
use haptic_model::{Object, gateway::NamespacedName};
use serde::Deserialize;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// The most bytes of the settings of a class together: what a line of HAProxy's socket takes is for those of a rule, too.
const MOST_BYTES: usize = LONGEST / 4;

/// Lists of clients.
const SOURCES: [&str; 2] = ["allow-from", "deny-from"];
/// Times in milliseconds: those that are enforced are ceilings.
const TIMES: [&str; 4] = ["timeout-connect", "timeout-queue", "timeout-server", "timeout-tunnel"];
/// Headers, with what becomes of them, in the order in which that is done.
const HEADERS: [(&str, &str, &str); 6] = [
    ("remove-request-headers", "class-request-headers", "del"),
    ("request-headers", "class-request-headers", "set"),
    ("add-request-headers", "class-request-headers", "add"),
    ("remove-response-headers", "class-response-headers", "del"),
    ("response-headers", "class-response-headers", "set"),
    ("add-response-headers", "class-response-headers", "add"),
];
/// Those that stay as they are.
const OTHERS: [&str; 7] =
    ["access-log", "closed", "hsts-max-age", "hsts-preload", "hsts-subdomains", "min-tls-version", "retry"];

/// The data of a ConfigMap.
pub(super) type ClassParameters = Arc<BTreeMap<String, String>>;

/// Options of all requests of a class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ClassOptions {
    /// `NAME=VALUE|NAME=VALUE`, before what rules say.
    pub enforced: String,
    /// The same behind what rules say.
    pub defaults: String,
    /// Networks of lists of clients.
    pub sources: Vec<(&'static str, Arc<[Network]>)>,
    /// Whether any headers are changed.
    pub changes_headers: bool,
    /// Options that do not count for requests of Gateways.
    pub ignored: BTreeSet<&'static str>,
}

impl Default for NamedConfigMaps<ClassParameters> {
    fn default() -> Self {
        Self::new(parameters)
    }
}

/// The data of a ConfigMap.
///
/// # Errors
/// That it cannot be read.
fn parameters(config_map: &Object) -> Result<ClassParameters, String> {
    #[derive(Deserialize)]
    struct ConfigMap {
        #[serde(default)]
        data: Option<BTreeMap<String, String>>,
    }
    let value: Value = config_map.value().map_err(|_| "it cannot be read".to_owned())?;
    let ConfigMap { data } =
        serde_json::from_value(value).map_err(|why| format!("it cannot be read: {why}"))?;
    Ok(Arc::new(data.unwrap_or_default()))
}

/// The ConfigMap that parameters name, if it is one.
pub(super) fn named_by(reference: &Value) -> Option<NamespacedName> {
    let text = |field: &str| reference.get(field).and_then(Value::as_str).unwrap_or_default();
    let name: NamespacedName = (text("namespace").into(), text("name").into());
    (text("group").is_empty() && text("kind") == "ConfigMap").then_some(name)
}

impl ClassOptions {
    /// Of what the configuration says of all classes.
    pub fn of(settings: &Settings) -> Self {
        Self::read(&settings.class, settings)
    }

    /// The same where a ConfigMap says more.
    ///
    /// # Errors
    /// The faults of it.
    pub fn with(data: &BTreeMap<String, String>, settings: &Settings) -> Result<Self, String> {
        let class = settings.class.with(data, settings);
        if let Some(why) = class.problems.first() {
            return Err(why.clone());
        }
        let options = Self::read(&class, settings);
        let own = Class::default().with(data, settings);
        if let Some(name) = options.ignored.iter().find(|name| own.enforced.contains_key(*name)) {
            return Err(format!("data.enforced.{name} cannot be enforced for routes of Gateways"));
        }
        let bytes = options.enforced.len() + options.defaults.len();
        if bytes > MOST_BYTES {
            return Err(format!("its options may have {MOST_BYTES} bytes together, they have {bytes}"));
        }
        Ok(options)
    }

    fn read(class: &Class, settings: &Settings) -> Self {
        let settings = Settings { class: class.clone(), ..settings.clone() };
        let values = RouteOptions::of_levels([], &settings).values;
        let mut options = Self::default();
        let mut parts = (Vec::new(), Vec::new());
        for (name, value) in &values {
            let is_enforced = class.enforced.contains_key(name);
            let is_own = is_enforced || class.defaults.contains_key(name);
            match (*name, value) {
                (name, OptionValue::Networks(networks)) if SOURCES.contains(&name) => {
                    parts.0.push(format!("{name}=1"));
                    options.sources.push((name, networks.clone()));
                }
                (name, OptionValue::Number(time)) if TIMES.contains(&name) => match is_enforced {
                    true => parts.0.push(format!("most-{name}={time}")),
                    false => parts.1.push(format!("{name}={time}")),
                },
                (name, value) if OTHERS.contains(&name) => {
                    let text = value.to_json();
                    let text = text.as_str().map_or_else(|| text.to_string(), str::to_owned);
                    let of_kind = if name == "retry" && !is_enforced { &mut parts.1 } else { &mut parts.0 };
                    of_kind.push(format!("{name}={text}"));
                }
                (name, _) if HEADERS.iter().any(|(header, ..)| *header == name) => {}
                (name, _) if is_own => drop(options.ignored.insert(name)),
                _ => {}
            }
        }
        for (values, parts) in [(&class.enforced, &mut parts.0), (&class.defaults, &mut parts.1)] {
            let changes = changed_headers(values, &mut options.ignored);
            options.changes_headers |= !changes.is_empty();
            parts.extend(changes.into_iter().map(|(setting, text)| format!("{setting}={text}")));
        }
        (options.enforced, options.defaults) = (parts.0.join("|"), parts.1.join("|"));
        options
    }

    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.enforced.is_empty() && self.defaults.is_empty()
    }

    /// The settings that do not count, in a sentence.
    pub fn ignored_sentence(&self) -> Option<String> {
        let names: Vec<&str> = self.ignored.iter().copied().collect();
        (!names.is_empty())
            .then(|| format!("these options do not count for its routes: {}", names.join(", ")))
    }
}

/// The headers that Lua changes, by the setting. Variables stand for nothing there: such an option does not count.
fn changed_headers(
    values: &BTreeMap<&'static str, OptionValue>,
    ignored: &mut BTreeSet<&'static str>,
) -> BTreeMap<&'static str, String> {
    let mut changes: BTreeMap<&'static str, String> = BTreeMap::new();
    for (name, setting, what) in HEADERS {
        let text = match values.get(name) {
            Some(OptionValue::Names(names)) => names.iter().map(|name| header(what, name, "")).collect(),
            Some(OptionValue::Headers(headers)) if !headers.iter().any(has_variable) => {
                headers.iter().map(|one| header(what, &one.name, &one.value)).collect()
            }
            Some(_) => Err(String::new()),
            None => continue,
        };
        let text: Result<String, String> = text;
        match text {
            Ok(text) => changes.entry(setting).or_default().push_str(&text),
            Err(_) => drop(ignored.insert(name)),
        }
    }
    changes
}

fn has_variable(header: &Header) -> bool {
    header.parts().iter().any(|part| matches!(part, Part::Variable(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(routes: &Value, data: &[(&str, &str)]) -> Result<ClassOptions, String> {
        let settings = Settings::of(json!({ "routes": routes }).as_object().unwrap());
        let data = data.iter().map(|(part, text)| ((*part).to_owned(), (*text).to_owned())).collect();
        ClassOptions::with(&data, &settings)
    }

    #[test]
    fn what_is_enforced_comes_before_rules_and_defaults_come_behind() {
        let routes = json!({"enforced": {"timeout-server": "30s"}, "defaults": {"retry": "idempotent", "timeout-queue": "9s"}});
        let data = [
            ("defaults", "response-headers: 'X-A: 1'\ntimeout-queue: 5s"),
            (
                "enforced",
                "timeout-server: 1m\nresponse-headers: 'X-B: 2'\nremove-response-headers: Server\nallow-from: 10.0.0.0/8\nclosed: true",
            ),
        ];
        let options = read(&routes, &data).unwrap();
        assert_eq!(
            options.enforced,
            "allow-from=1|closed=true|most-timeout-server=30000|class-response-headers=del,server,;set,X-B,2;"
        );
        assert_eq!(options.defaults, "retry=idempotent|timeout-queue=5000|class-response-headers=set,X-A,1;");
        assert!(options.changes_headers && options.sources.len() == 1 && options.ignored.is_empty());
        assert!(read(&json!({}), &[]).unwrap().is_empty());
    }

    #[test]
    fn what_cannot_be_enforced_is_refused_and_a_default_that_does_not_count_is_told() {
        for (part, text, why) in [
            ("enforced", "max-body-size: 1k", "data.enforced.max-body-size cannot be enforced"),
            (
                "enforced",
                "request-headers: 'X-A: ${host}'",
                "data.enforced.request-headers cannot be enforced",
            ),
            ("enforced", "closed: maybe", "data.enforced.closed is \"maybe\", it must be true or false"),
            ("options", "closed: true", "data.options is neither defaults nor enforced"),
            ("defaults", "- a", "data.defaults must be YAML of options"),
        ] {
            assert!(read(&json!({}), &[(part, text)]).unwrap_err().contains(why), "{text}");
        }
        let long = format!(
            "response-headers: |-\n{}",
            "  X-A: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n".repeat(30)
        );
        assert!(
            read(&json!({}), &[("defaults", &long)]).unwrap_err().contains("may have 1500 bytes together")
        );
        let options =
            read(&json!({"enforced": {"max-body-size": "1k"}}), &[("defaults", "compression: gzip")]);
        assert_eq!(
            options.unwrap().ignored_sentence().unwrap(),
            "these options do not count for its routes: compression, max-body-size"
        );
    }
}
