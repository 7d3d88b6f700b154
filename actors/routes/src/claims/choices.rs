//! The choice between several backends of a route: a canary, backends with weights, and one that gets a copy.
//!
//! One text of the group decides, which HAProxy's Lua reads: a change of it is a change of a map's entry.

use super::Backend;
use crate::{
    matching::{lists::encoded, regex_cost::asked_of_values},
    options::difference::GroupOptions,
};
use haptic_text::Digest;
use serde_json::Value;

/// The option that names a Service which gets copies of requests.
pub(crate) const MIRROR: &str = "mirror-service";

/// The option that says whether clients stay where they were led first.
const STICKY: &str = "canary-sticky";

/// The digits that tell the cookies of canaries apart.
const DIGITS: usize = 8;

/// The backends of a group of routes besides the Services that its paths lead to.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Choices {
    canary: Option<Backend>,
    weighted: Vec<(Backend, u64)>,
    mirror: Option<Backend>,
    default: Option<Backend>,
    errors: Option<Backend>,
}

impl Choices {
    /// The choices that a group's options ask for.
    pub fn of(options: GroupOptions<'_>) -> Self {
        let named = |option: &str| options.text(option).and_then(Backend::of);
        let (canary, mirror) = (named("canary-service"), named(MIRROR));
        let (default, errors) = (named("default-service"), named("error-service"));
        let weights = options.get("weights").and_then(Value::as_array).into_iter().flatten();
        let weighted = weights.filter_map(|one| {
            Some((Backend::of(one.get("service")?.as_str()?)?, one.get("weight")?.as_u64()?))
        });
        Self { canary, weighted: weighted.collect(), mirror, default, errors }
    }

    pub fn backends(&self) -> Vec<Backend> {
        let weighted = self.weighted.iter().map(|(backend, _)| backend);
        let others = self.mirror.iter().chain(&self.default).chain(&self.errors);
        self.canary.iter().chain(weighted).chain(others).cloned().collect()
    }

    /// The backend that gets copies.
    pub fn mirror(&self) -> Option<&Backend> {
        self.mirror.as_ref()
    }

    /// The backend that gets requests while that of a path has no server.
    pub fn default(&self) -> Option<&Backend> {
        self.default.as_ref()
    }

    /// The backend that makes answers in place of servers'.
    pub fn errors(&self) -> Option<&Backend> {
        self.errors.as_ref()
    }

    /// As HAProxy's Lua reads it, with the names of backends.
    pub fn text(&self, options: GroupOptions<'_>, name_of: impl Fn(&Backend) -> String) -> Option<String> {
        let mut parts: Vec<[String; 3]> = Vec::new();
        let mut push = |what: &str, value: &str, more: &str| {
            parts.push([what.to_owned(), encoded(value), encoded(more)]);
        };
        if let Some(canary) = &self.canary {
            let name = name_of(canary);
            push("canary", &name, "");
            if let Some(how) = stickiness(options) {
                let digest = Digest::of(name.as_bytes()).to_string();
                push("sticky", digest.get(..DIGITS).unwrap_or_default(), how);
            }
            for option in ["header", "header-value", "cookie", "weight"] {
                match options.get(&format!("canary-{option}")) {
                    Some(Value::String(text)) => push(option, text, ""),
                    Some(Value::Number(number)) => push(option, &number.to_string(), ""),
                    _ => {}
                }
            }
            if let Some(regex) = options.get("canary-header-pattern") {
                let pattern = regex.get("pattern").and_then(Value::as_str).unwrap_or_default();
                let longest = regex.get("longestPath").map_or_else(String::new, Value::to_string);
                push("header-pattern", &asked_of_values(pattern), &longest);
            }
        }
        for (backend, weight) in &self.weighted {
            push("to", &name_of(backend), &weight.to_string());
        }
        let text: String = parts.iter().map(|part| part.join(",") + ";").collect();
        (!text.is_empty()).then_some(text)
    }
}

/// Where clients keep their server, they keep their version: that which chance led them to, or, as `all`, whatever led them there.
fn stickiness(options: GroupOptions<'_>) -> Option<&'static str> {
    let has_affinity = options.get("affinity").is_some();
    match options.text(STICKY) {
        Some("true") => Some(""),
        Some("false") => None,
        Some(_) => has_affinity.then_some("all"),
        None => has_affinity.then_some(""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Map, json};

    #[test]
    fn what_decides_is_one_text_without_what_settings_are_split_at() {
        let options = json!({"canary-service": "v2:80", "canary-weight": 20, "canary-header": "X-Try", "affinity": "cookie",
            "canary-header-pattern": {"pattern": "a|b;,\\d", "longestPath": 2048},
            "weights": [{"service": "v3:web", "weight": 5}]});
        let (options, none) = (options.as_object().unwrap(), Map::new());
        let options = GroupOptions { own: options, of_object: &none };
        let choices = Choices::of(options);
        let text = choices.text(options, |backend| format!("shop_{}", backend.service)).unwrap();
        assert_eq!(
            text,
            "canary,shop_v2,;sticky,1b4c3dd0,;header,X-Try,;weight,20,;header-pattern,a%7Cb%3B%2C%5Cd,2048;to,shop_v3,5;"
                .replace("1b4c3dd0", text.split(',').nth(3).unwrap())
        );
        assert_eq!(choices.backends().len(), 2);
        let nothing = GroupOptions { own: &none, of_object: &none };
        assert_eq!(Choices::of(nothing).text(nothing, |_| String::new()), None);
    }

    #[test]
    fn clients_stay_where_chance_led_them_or_whatever_did() {
        for (more, stays) in [
            (json!({}), None),
            (json!({"affinity": "cookie"}), Some("")),
            (json!({"affinity": "cookie", "canary-sticky": "false"}), None),
            (json!({"canary-sticky": "true"}), Some("")),
            (json!({"canary-sticky": "all"}), None),
            (json!({"affinity": "cookie", "canary-sticky": "all"}), Some("all")),
        ] {
            let none = Map::new();
            let options = GroupOptions { own: more.as_object().unwrap(), of_object: &none };
            assert_eq!(stickiness(options), stays, "{more}");
        }
    }
}
