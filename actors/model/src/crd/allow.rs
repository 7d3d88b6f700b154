//! What a configuration is allowed beyond what is safe in anybody's hands. Nothing by default.

use super::{Allowance, AllowedNetwork};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};
use std::fmt;

/// `spec.allow`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Allow {
    /// What the rendered haproxy.cfg may use though it reaches beyond HAProxy's own files and processes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<Allowance>,
    /// Networks, such as 10.0.0.0/8, where servers may be though they are refused otherwise: loopback, link-local, reserved
    /// and multicast addresses, those of a cloud's metadata, and HAProxy's own ports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub destinations: Vec<AllowedNetwork>,
    /// Whether it was written as the list that it was once.
    #[serde(skip)]
    pub is_old_list: bool,
}

impl Allow {
    pub(super) fn is_empty(&self) -> bool {
        self.features.is_empty() && self.destinations.is_empty()
    }
}

/// As it is written now.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AllowFields {
    #[serde(default)]
    features: Vec<Allowance>,
    #[serde(default)]
    destinations: Vec<AllowedNetwork>,
}

impl<'de> Deserialize<'de> for Allow {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> de::Visitor<'de> for Either {
            type Value = Allow;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("allow with features and destinations, such as {features: [Lua], destinations: [10.0.0.0/8]}")
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Allow, A::Error> {
                let AllowFields { features, destinations } =
                    AllowFields::deserialize(de::value::MapAccessDeserializer::new(map))?;
                Ok(Allow { features, destinations, is_old_list: false })
            }

            // Resources that were stored before it became an object are read as they are.
            fn visit_seq<A: de::SeqAccess<'de>>(self, list: A) -> Result<Allow, A::Error> {
                let features = Vec::deserialize(de::value::SeqAccessDeserializer::new(list))?;
                Ok(Allow { features, destinations: Vec::new(), is_old_list: true })
            }
        }

        from.deserialize_any(Either)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn it_is_an_object_and_the_list_of_old_is_still_read() {
        let read = |value| serde_json::from_value::<Allow>(value).unwrap();
        let now = read(json!({"features": ["Lua"], "destinations": ["10.1.0.0/16", "fd00::1"]}));
        assert_eq!((&*now.features, now.is_old_list), (&[Allowance::Lua][..], false));
        assert_eq!(
            serde_json::to_value(&now).unwrap(),
            json!({"features": ["Lua"], "destinations": ["10.1.0.0/16", "fd00::1/128"]})
        );
        let old = read(json!(["Lua", "HostNames"]));
        assert_eq!((old.features.len(), old.is_old_list), (2, true));
        assert_eq!(read(json!({})), Allow::default());
    }

    #[test]
    fn what_it_does_not_know_is_refused() {
        for wrong in
            [json!({"feature": []}), json!(["Everything"]), json!({"destinations": ["here"]}), json!("Lua")]
        {
            assert!(serde_json::from_value::<Allow>(wrong).is_err());
        }
    }
}
