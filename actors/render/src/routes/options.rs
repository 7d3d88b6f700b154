//! Which options any object asks for, as a store: a template that needs to know reads one object of it, not all routes.

use super::claims::Claims;
use haptic_model::{Object, ObjectRef, Snapshot};
use std::{collections::BTreeMap, sync::Arc};

/// How many objects ask for each option, and an object for each option.
#[derive(Clone, Debug)]
pub(super) struct Options {
    counts: BTreeMap<Arc<str>, usize>,
    store: Snapshot,
}

impl Default for Options {
    fn default() -> Self {
        let mut store = Snapshot::full();
        store.set_synced();
        Self { counts: BTreeMap::new(), store }
    }
}

impl Options {
    pub(super) fn store(&self) -> &Snapshot {
        &self.store
    }

    pub(super) fn add(&mut self, claims: &Claims) {
        for option in names(claims) {
            let count = self.counts.entry(option.clone()).or_default();
            *count += 1;
            if *count == 1 {
                let object =
                    Object { reference: reference(&option), version: 0, json: b"{}".as_slice().into() };
                self.store.apply(object, [option].into());
            }
        }
    }

    pub(super) fn remove(&mut self, claims: &Claims) {
        for option in names(claims) {
            let Some(count) = self.counts.get_mut(&option) else { continue };
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&option);
                self.store.remove(&reference(&option));
            }
        }
    }
}

fn names(claims: &Claims) -> Vec<Arc<str>> {
    let fields = claims.fields.read();
    let options = fields.get("options").and_then(serde_json::Value::as_object);
    options.into_iter().flat_map(|options| options.keys().map(|option| option.as_str().into())).collect()
}

fn reference(option: &str) -> Arc<ObjectRef> {
    Arc::new(ObjectRef::new("options", "", option))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Map, json};

    #[test]
    fn an_option_is_there_as_long_as_one_object_asks_for_it() {
        let claims = |options: serde_json::Value| Claims {
            fields: Map::from_iter([("options".to_owned(), options)]).into(),
            ..Claims::default()
        };
        let (both, one) =
            (claims(json!({"retry": "all", "affinity": "cookie"})), claims(json!({"retry": "idempotent"})));
        let mut options = Options::default();
        let names = |options: &Options| -> Vec<String> {
            options.store().iter().map(|object| object.reference.name.to_string()).collect()
        };
        options.add(&both);
        options.add(&one);
        assert_eq!(names(&options), ["affinity", "retry"]);
        options.remove(&both);
        assert_eq!(names(&options), ["retry"]);
        options.remove(&one);
        assert!(names(&options).is_empty());
    }
}
