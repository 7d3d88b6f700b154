//! `spec.validationTests`: a list of tests with names, as Kubernetes merges it, held by name.

use super::ValidationTest;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Value, json};
use std::{borrow::Cow, collections::BTreeMap, fmt};

/// The tests of a configuration, no two with one name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ValidationTests {
    /// By name.
    pub by_name: BTreeMap<String, ValidationTest>,
    /// Whether it was written as the map that it was once.
    pub is_old_map: bool,
}

/// A test as it stands in the list.
#[derive(Deserialize)]
struct Named {
    name: String,
    #[serde(flatten)]
    test: ValidationTest,
}

#[derive(Serialize)]
struct NamedRef<'t> {
    name: &'t str,
    #[serde(flatten)]
    test: &'t ValidationTest,
}

impl ValidationTests {
    pub(super) fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }
}

impl Serialize for ValidationTests {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.by_name.iter().map(|(name, test)| NamedRef { name, test }))
    }
}

impl<'de> Deserialize<'de> for ValidationTests {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> de::Visitor<'de> for Either {
            type Value = ValidationTests;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of validationTests, each with a name")
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<ValidationTests, A::Error> {
                let mut by_name = BTreeMap::new();
                while let Some(Named { name, test }) = list.next_element()? {
                    if by_name.contains_key(&name) {
                        return Err(de::Error::custom(format!("two validationTests are called {name:?}")));
                    }
                    by_name.insert(name, test);
                }
                Ok(ValidationTests { by_name, is_old_map: false })
            }

            // Resources that were stored before it became a list are read as they are.
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<ValidationTests, A::Error> {
                let by_name = BTreeMap::deserialize(de::value::MapAccessDeserializer::new(map))?;
                Ok(ValidationTests { by_name, is_old_map: true })
            }
        }

        from.deserialize_any(Either)
    }
}

impl JsonSchema for ValidationTests {
    fn schema_name() -> Cow<'static, str> {
        "ValidationTests".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut items = ValidationTest::json_schema(generator);
        let fields = items.ensure_object();
        if let Some(properties) = fields.entry("properties").or_insert_with(|| json!({})).as_object_mut() {
            let name =
                json!({"type": "string", "minLength": 1, "description": "Its name; no other test has it."});
            properties.insert("name".to_owned(), name);
        }
        if let Some(required) = fields.entry("required").or_insert_with(|| json!([])).as_array_mut() {
            required.push(Value::from("name"));
        }
        json_schema!({
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": items,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: Value) -> Result<ValidationTests, serde_json::Error> {
        serde_json::from_value(value)
    }

    #[test]
    fn a_list_comes_back_as_it_was_written() {
        let list = json!([
            {"name": "a", "description": "one", "fixtures": {"services": [{"kind": "Service"}]},
             "externalNames": {"db.example": ["10.0.0.1"]}, "extraContext": {"x": 1},
             "assertions": [{"type": "match_count", "target": "maps.a", "pattern": "x", "expected": "3"}]},
            {"name": "b", "description": "", "fixtures": {}, "extraContext": {}, "assertions": []},
        ]);
        let tests = read(list.clone()).unwrap();
        assert!(!tests.is_old_map);
        assert_eq!(serde_json::to_value(&tests).unwrap(), list);
    }

    #[test]
    fn the_map_of_old_is_still_read_and_is_written_as_a_list() {
        let tests = read(json!({"a": {"description": "one"}})).unwrap();
        assert!(tests.is_old_map);
        let written = serde_json::to_value(&tests).unwrap();
        assert_eq!((&written[0]["name"], &written[0]["description"]), (&json!("a"), &json!("one")));
        assert_eq!(read(written).unwrap().by_name, tests.by_name);
    }

    #[test]
    fn two_tests_of_one_name_and_one_without_are_refused() {
        for (wrong, said) in [
            (json!([{"name": "a"}, {"name": "a"}]), "two validationTests are called \"a\""),
            (json!([{"assertions": []}]), "missing field `name`"),
            (json!("a"), "a list of validationTests"),
        ] {
            let error = read(wrong.clone()).unwrap_err().to_string();
            assert!(error.contains(said), "{wrong}: {error}");
        }
    }
}
