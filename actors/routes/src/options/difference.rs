//! The difference of a group of paths from its object: an object whose paths lead to a thousand Services with options of their own
//! has a thousand groups, and its own options once.

use serde_json::{Map, Value as Json};

/// The field of a record that has what each group has otherwise than `options`, null where it has nothing. A reader of the JSON makes
/// `groups` of it, in which each has all of them: so the options of an object are there once, however many groups there are.
pub const OPTIONS_OF_GROUPS: &str = "optionsOfGroups";

/// The options of a group, found in what it has otherwise and in those of its object.
#[derive(Clone, Copy, Debug)]
pub struct GroupOptions<'o> {
    /// The options that the group has otherwise: null where it has none.
    pub own: &'o Map<String, Json>,
    /// Those of the object as a whole.
    pub of_object: &'o Map<String, Json>,
}

impl<'o> GroupOptions<'o> {
    /// The value of an option.
    #[must_use]
    pub fn get(self, name: &str) -> Option<&'o Json> {
        self.own.get(name).or_else(|| self.of_object.get(name)).filter(|value| !value.is_null())
    }

    /// The text of an option that is one.
    #[must_use]
    pub fn text(self, name: &str) -> Option<&'o str> {
        self.get(name).and_then(Json::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{RouteOptions, Settings};
    use serde_json::json;

    fn options(texts: &[(&'static str, &'static str)]) -> RouteOptions {
        let settings = Settings { own: vec!["mine".to_owned()], ..Settings::default() };
        RouteOptions::read(texts.iter().copied(), &settings)
    }

    #[test]
    fn what_is_the_same_is_not_said_again_and_what_is_gone_is() {
        let of_object = options(&[("allow-from", "10.0.0.0/8"), ("retries", "2"), ("mine", "x")]);
        let group = options(&[("allow-from", "10.0.0.0/8"), ("timeout-server", "5s"), ("mine", "y")]);
        let own = group.difference_from(&of_object);
        assert_eq!(Json::Object(own.clone()), json!({"retries": null, "timeout-server": 5000, "mine": "y"}));
        let (of_object, all) = (of_object.to_map(), group.to_map());
        let found = GroupOptions { own: &own, of_object: &of_object };
        for name in ["allow-from", "retries", "timeout-server", "mine", "balance"] {
            assert_eq!(found.get(name), all.get(name), "{name}");
        }
    }
}
