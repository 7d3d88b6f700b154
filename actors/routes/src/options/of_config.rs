//! The options of the configuration, and those that the ConfigMaps of classes add: they are read by the table.

use super::{
    annotation::{MOST_BYTES, text_of},
    class::Class,
    level::Level,
    paths,
    settings::Settings,
    value::OptionValues,
    written::Written,
};
use crate::{families::FamilySettings, sentences::shortened};
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;

impl Settings {
    /// Of `extraContext`: `annotationLimits`, `balanceAlgorithms`, `ingressOptions`, `sslRedirect`, `appProtocol`, `passthrough`, `trustedProxies`,
    /// `annotationFamilies` and `routes`.
    #[must_use]
    pub fn of(context: &Map<String, Json>) -> Self {
        let default = Self::default();
        let limit = |name: &str, otherwise: usize| {
            let limit = context.get("annotationLimits").and_then(|all| all.get(name)).and_then(Json::as_u64);
            limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(otherwise)
        };
        let texts = |name: &str| {
            let all = context.get(name).and_then(Json::as_array)?;
            Some(all.iter().filter_map(Json::as_str).map(str::to_owned).collect())
        };
        let on = |value: &Json| matches!(value, Json::Bool(true)) || value.as_str() == Some("true");
        let settings = Self {
            networks: limit("networks", default.networks),
            origins: limit("origins", default.origins),
            headers: limit("headers", default.headers),
            balance: texts("balanceAlgorithms").unwrap_or(default.balance),
            own: texts("ingressOptions").unwrap_or_default(),
            ssl_redirect: context.get("sslRedirect").is_some_and(on),
            app_protocol: context.get("appProtocol").is_none_or(on),
            passthrough: context.get("passthrough").is_some_and(on),
            trusts_proxies: context
                .get("trustedProxies")
                .and_then(Json::as_array)
                .is_some_and(|all| !all.is_empty()),
            class: Class::default(),
            families: FamilySettings::of(context).into(),
        };
        Self { class: Class::of(context, &settings), ..settings }
    }
}

impl Class {
    /// Of the settings `extraContext`.
    #[must_use]
    pub fn of(context: &Map<String, Json>, settings: &Settings) -> Self {
        let texts = |part: &str| {
            let given = context.get("routes").and_then(|routes| routes.get(part)).and_then(Json::as_object);
            given.into_iter().flatten().map(|(name, value)| (name.clone(), text_of(value))).collect()
        };
        let mut class = Self::default();
        class.defaults = class.part(&texts("defaults"), "extraContext.routes.defaults", settings);
        class.enforced = class.part(&texts("enforced"), "extraContext.routes.enforced", settings);
        class
    }

    /// The same where a ConfigMap says more: its defaults are nearer, and of what is enforced both count. What is wrong with it is in
    /// [`Self::problems`].
    #[must_use]
    pub fn with(&self, data: &BTreeMap<String, String>, settings: &Settings) -> Self {
        let mut class = Self::default();
        for (part, text) in data {
            if !["defaults", "enforced"].contains(&part.as_str()) {
                class.problems.push(format!("data.{} is neither defaults nor enforced", shortened(part)));
                continue;
            }
            let read = if text.len() > MOST_BYTES {
                Err(format!("may have {MOST_BYTES} bytes, it has {}", text.len()))
            } else {
                paths::options(text)
            };
            let at = format!("data.{part}");
            match read {
                Ok(texts) if part == "defaults" => class.defaults = class.part(&texts, &at, settings),
                Ok(texts) => class.enforced = class.part(&texts, &at, settings),
                Err(wanted) => class.problems.push(format!("{at} {wanted}")),
            }
        }
        self.enforce(&mut class.enforced);
        self.enforce_rate(&mut class.enforced);
        class.defaults = self.defaults.clone().into_iter().chain(class.defaults).collect();
        class
    }

    fn part(&mut self, texts: &BTreeMap<String, String>, place: &str, settings: &Settings) -> OptionValues {
        let texts = texts.iter().map(|(name, text)| (name.as_str(), text.as_str()));
        let written = Written::read(Level::Class, texts, settings);
        let at = |option: &str| format!("{place}.{option}");
        let refused =
            written.refused.iter().map(|refusal| format!("{} {}", at(&refusal.option), refusal.why));
        self.problems.extend(refused);
        self.problems.extend(written.names_of_others().map(|name| format!("{} is no option", at(name))));
        let misplaced = written.misplaced.iter().map(|row| row.name);
        self.problems.extend(misplaced.map(|name| format!("{} stands at other levels only", at(name))));
        written.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::RouteOptions;
    use serde_json::json;

    #[test]
    fn of_configuration_and_config_map_the_nearer_default_and_both_ceilings_count() {
        let context = json!({"routes": {
            "defaults": {"retry": "all", "timeout-server": "10s"},
            "enforced": {"max-body-size": "1m", "timeout-queue": "5s", "rate-limit": 10, "closed": false},
        }});
        let settings = Settings::of(context.as_object().unwrap());
        let data = |defaults: &str, enforced: &str| {
            BTreeMap::from_iter(
                [("defaults", defaults), ("enforced", enforced)].map(|(k, v)| (k.to_owned(), v.to_owned())),
            )
        };
        let class = settings.class.with(
            &data(
                "timeout-server: 20s",
                "max-body-size: 2m\ntimeout-queue: 1s\nrate-limit: 5\nclosed: true\nretries: 1",
            ),
            &settings,
        );
        assert_eq!(class.problems, Vec::<String>::new());
        let settings = Settings { class, ..settings };
        let read =
            RouteOptions::read([("max-body-size", "3m"), ("timeout-queue", "9s")], &settings).to_json();
        let expected = json!({"retry": "all", "timeout-server": 20_000, "max-body-size": 1 << 20, "timeout-queue": 1000,
            "rate-limit": 5, "rate-limit-period": "second", "closed": false, "retries": 1});
        assert_eq!(read, expected);
        let said = |defaults: &str, enforced: &str| {
            settings.class.with(&data(defaults, enforced), &settings).problems.join("\n")
        };
        assert!(said("- a", "").contains("data.defaults must be YAML of options"));
        assert!(said("retry: x", "").contains("data.defaults.retry is \"x\", it must be idempotent or all"));
        assert!(said("", "nonesuch: 1").contains("data.enforced.nonesuch is no option"));
        assert!(said("", &"a: b\n".repeat(20_000)).contains("data.enforced may have 65536 bytes"));
    }

    #[test]
    fn what_the_class_cannot_say_is_told() {
        let context = json!({"routes": {"defaults": {"retry": "x", "auth-secret": "users"}, "enforced": {"nonesuch": 1}}});
        let said = Settings::of(context.as_object().unwrap()).class.problems.join("\n");
        for part in [
            "defaults.retry is \"x\", it must be idempotent or all",
            "defaults.auth-secret stands",
            "enforced.nonesuch is no option",
        ] {
            assert!(said.contains(part), "{said}");
        }
    }
}
