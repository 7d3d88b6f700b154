//! Lines that most backends of a class have, because its options, or those of a family of annotations, say so where no object says
//! otherwise. They stand in profiles, which backends share: a backend of its own lines takes a reload, and so would each new route.

use super::{
    difference::GroupOptions,
    value::{OptionValue, OptionValues},
};
use haptic_text::Digest;
use serde_json::{Map, Value as Json};

/// The options whose lines profiles have.
pub(crate) const OPTIONS: [&str; 3] = ["remove-response-headers", "retries", "retry-on"];
/// The option that a filter of the frontend serves, where backends of a class have it by default.
const BODY: &str = "max-body-size";
/// Of a group the lines that its profile has.
pub(crate) const LINES_PROFILE: &str = "lines-profile";
/// Whether a group's backends count bodies themselves.
pub(crate) const BODY_FILTER: &str = "body-filter";
/// The digits that tell the profiles apart.
const DIGITS: usize = 8;

/// The lines of backends where nothing is said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SharedLines {
    all: Vec<SharedLinesProfile>,
    /// Whether bodies are limited, which then the frontend does.
    pub limits_bodies: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SharedLinesProfile {
    /// The ending of the names of its profiles.
    pub name: String,
    /// The options that they come from.
    pub options: Map<String, Json>,
}

impl SharedLines {
    /// Takes in what backends of a class, or of a family, have by default.
    pub fn add(&mut self, defaults: &OptionValues) {
        self.limits_bodies |= defaults.contains_key(BODY);
        let given = OPTIONS.iter().filter_map(|name| Some(((*name).to_owned(), defaults.get(name)?)));
        let options: Map<String, Json> =
            given.map(|(name, value)| (name, OptionValue::to_json(value))).collect();
        if options.is_empty() || self.all.iter().any(|known| known.options == options) {
            return;
        }
        let digest = Digest::of(Json::Object(options.clone()).to_string().as_bytes()).to_string();
        let name = format!("lines-{}", digest.get(..DIGITS).unwrap_or_default());
        self.all.push(SharedLinesProfile { name, options });
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &SharedLinesProfile> {
        self.all.iter()
    }

    /// The profile with all of these lines that backends with these options have, and no others.
    pub fn profile_of(&self, options: GroupOptions<'_>) -> Option<&str> {
        let are_same = |one: &&SharedLinesProfile| {
            OPTIONS.iter().all(|name| one.options.get(*name) == options.get(name))
        };
        self.all.iter().find(are_same).map(|found| &*found.name)
    }

    /// Whether backends with these options count bodies themselves.
    pub fn count_bodies_apart(&self, options: GroupOptions<'_>) -> bool {
        !self.limits_bodies && options.get(BODY).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn who_says_nothing_otherwise_has_the_lines_of_all_and_who_does_has_its_own() {
        let mut shared = SharedLines::default();
        let retries = |count| OptionValues::from([("retries", OptionValue::Number(count))]);
        shared.add(&OptionValues::new());
        assert_eq!(shared, SharedLines::default());
        for count in [2, 2, 5] {
            shared.add(&retries(count));
        }
        shared.add(&OptionValues::from([(BODY, OptionValue::Number(1000))]));
        let names: Vec<&str> = shared.iter().map(|one| &*one.name).collect();
        assert_eq!(names.len(), 2);
        let profile_of = |own: Json, of_object: Json| {
            let map = |value: Json| value.as_object().cloned().unwrap();
            shared.profile_of(GroupOptions { own: &map(own), of_object: &map(of_object) }).map(str::to_owned)
        };
        let first = Some(names[0].to_owned());
        assert_eq!(profile_of(json!({"retries": 2, "balance": "source"}), json!({})), first);
        assert_eq!(profile_of(json!({}), json!({"retries": 2})), first);
        assert_eq!(profile_of(json!({"retries": 5}), json!({"retries": 2})).as_deref(), Some(names[1]));
        for own in [json!({"retries": 3}), json!({"retries": null}), json!({"retry-on": ["conn-failure"]})] {
            assert_eq!(profile_of(own.clone(), json!({"retries": 2})), None, "{own}");
        }
        assert!(shared.limits_bodies);
    }
}
