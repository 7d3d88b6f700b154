//! The settings that cannot be read of those that are read here: `extraContext`, as far as no template looks at it.
//!
//! A setting of another type would count as one that is not there: what it closes would be open.

use crate::{families::Family, sentences::shortened};
use haptic_text::suggest::did_you_mean;
use serde_json::{Map, Value as Json};

/// The shape of a value.
#[derive(Clone, Copy, Debug)]
enum SettingShape {
    Text,
    Switch,
    /// A whole number that is not negative.
    Number,
    /// A list of texts.
    Texts,
    OneOf(&'static [&'static str]),
    /// A dict with names of the user's own.
    Dict,
    /// A dict with these.
    Fields(&'static [(&'static str, SettingShape)]),
}

use SettingShape::{Dict, Fields, Number, OneOf, Switch, Text, Texts};

const FAMILY: SettingShape = Fields(&[
    ("classes", Texts),
    ("takeClasses", Texts),
    ("takeControllers", Texts),
    ("config", Dict),
    ("configMap", Text),
    ("snippets", OneOf(&["refuse", "translate"])),
    ("tcpServices", Text),
    ("udpServices", Text),
]);

const SETTINGS: &[(&str, SettingShape)] = &[
    ("ingressClass", Fields(&[("controller", Text), ("name", Text), ("withoutClass", Switch)])),
    (
        "passwordLimits",
        Fields(&[("rounds", Number), ("bcryptCost", Number), ("users", Number), ("milliseconds", Number)]),
    ),
    ("annotationLimits", Fields(&[("networks", Number), ("origins", Number), ("headers", Number)])),
    ("routes", Fields(&[("defaults", Dict), ("enforced", Dict)])),
    ("reloadsPerMinute", Fields(&[("object", Number), ("namespace", Number)])),
    ("ingressOptions", Texts),
    ("passthrough", Switch),
    ("annotationFamilies", Dict),
];

/// Each setting that is no such thing, in a sentence.
#[must_use]
pub fn unreadable_settings(context: &Map<String, Json>) -> Vec<String> {
    let mut problems = Vec::new();
    for (name, shape) in SETTINGS {
        if let Some(value) = context.get(*name) {
            shape.judge(value, &format!("extraContext.{name}"), &mut problems);
        }
    }
    let families = context.get("annotationFamilies").and_then(Json::as_object);
    for family in Family::ALL.map(Family::name) {
        if let Some(value) = families.and_then(|families| families.get(family)) {
            FAMILY.judge(value, &format!("extraContext.annotationFamilies.{family}"), &mut problems);
        }
    }
    problems
}

impl SettingShape {
    /// Nothing at all is what a setting is where it is taken back.
    fn judge(self, value: &Json, at: &str, problems: &mut Vec<String>) {
        let is_text = |value: &Json| value.is_string();
        let fits = match self {
            _ if value.is_null() => true,
            Text => is_text(value),
            Switch => value.is_boolean(),
            Number => value.is_u64(),
            Texts => value.as_array().is_some_and(|all| all.iter().all(is_text)),
            OneOf(words) => value.as_str().is_some_and(|word| words.contains(&word)),
            Dict | Fields(_) => value.is_object(),
        };
        if !fits {
            problems.push(format!("{at} is {}, it must be {}", shortened(&value.to_string()), self.wanted()));
            return;
        }
        let (Fields(fields), Some(given)) = (self, value.as_object()) else { return };
        for (name, value) in given {
            match fields.iter().find(|(known, _)| known == name) {
                Some((_, shape)) => shape.judge(value, &format!("{at}.{name}"), problems),
                None => {
                    let near = did_you_mean(name, fields.iter().map(|(known, _)| *known));
                    problems.push(format!("{at} has no {:?}{near}", shortened(name)));
                }
            }
        }
    }

    fn wanted(self) -> String {
        match self {
            Text => "a text".to_owned(),
            Switch => "true or false".to_owned(),
            Number => "a whole number".to_owned(),
            Texts => "a list of texts".to_owned(),
            OneOf(words) => words.join(" or "),
            Dict => "a dict".to_owned(),
            Fields(fields) => {
                let names: Vec<_> = fields.iter().map(|(name, _)| *name).collect();
                format!("a dict with any of {}", names.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn said(context: Json) -> String {
        unreadable_settings(context.as_object().unwrap()).join("\n")
    }

    #[test]
    fn a_setting_of_another_type_is_told_and_no_less_strict_for_it() {
        for (context, expected) in [
            (
                json!({"routes": 5}),
                "extraContext.routes is 5, it must be a dict with any of defaults, enforced",
            ),
            (
                json!({"routes": {"enforced": ["x"]}}),
                r#"extraContext.routes.enforced is ["x"], it must be a dict"#,
            ),
            (
                json!({"routes": {"enforce": {"closed": true}}}),
                r#"extraContext.routes has no "enforce" (did you mean "enforced"?)"#,
            ),
            (
                json!({"passwordLimits": {"rounds": "many"}}),
                r#"passwordLimits.rounds is "many", it must be a"#,
            ),
            (
                json!({"annotationLimits": {"headers": -1}}),
                "annotationLimits.headers is -1, it must be a whole",
            ),
            (json!({"ingressOptions": "mine"}), r#"ingressOptions is "mine", it must be a list of texts"#),
            (json!({"ingressOptions": [1]}), "ingressOptions is [1], it must be a list of texts"),
            (
                json!({"ingressClass": {"withoutClass": "yes"}}),
                r#"ingressClass.withoutClass is "yes", it must be true or false"#,
            ),
            (json!({"annotationFamilies": 1}), "annotationFamilies is 1, it must be a dict"),
            (
                json!({"annotationFamilies": {"ingress-nginx": {"classes": "nginx"}}}),
                r#"annotationFamilies.ingress-nginx.classes is "nginx", it must be a list of texts"#,
            ),
            (
                json!({"annotationFamilies": {"haproxy-org": {"clases": []}}}),
                r#"annotationFamilies.haproxy-org has no "clases" (did you mean "classes"?)"#,
            ),
            (
                json!({"annotationFamilies": {"haproxy-ingress": {"snippets": "print"}}}),
                r#"annotationFamilies.haproxy-ingress.snippets is "print", it must be refuse or translate"#,
            ),
        ] {
            let said = said(context.clone());
            assert!(said.contains(expected) && !said.contains('\n'), "{context}: {said}");
        }
    }

    #[test]
    fn what_can_be_read_is_no_problem() {
        assert_eq!(
            said(json!({
                "routes": {"defaults": {"retry": "all"}, "enforced": {}},
                "passwordLimits": {"rounds": 1000},
                "annotationLimits": null,
                "ingressOptions": ["mine"],
                "ingressClass": {"name": "", "withoutClass": true},
                "annotationFamilies": {"ingress-nginx": {"classes": ["nginx"], "config": {"x": 1}, "snippets": "translate"}},
                "mine": 5,
            })),
            ""
        );
    }
}
