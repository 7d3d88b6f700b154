//! A watched object in a template: a handle that is parsed from its bytes when something reads it.

use crate::{
    read_json::{self, KeyInterner},
    value::Value,
};
use haptic_model::{Object, ObjectRef, Snapshot};
use haptic_routes::OPTIONS_OF_GROUPS;
use std::{
    fmt,
    sync::{Arc, OnceLock},
};

thread_local! {
    /// KeyInterner met by this thread: a cache, nothing depends on it.
    static KEYS: KeyInterner = KeyInterner::default();
}

/// A watched object, parsed at most once in the life of this handle.
pub struct Watched {
    object: Arc<Object>,
    store: Arc<Snapshot>,
    read: OnceLock<Value>,
}

impl Watched {
    /// A handle to `object` of `store`, not read yet.
    #[must_use]
    pub fn new(object: Arc<Object>, store: Arc<Snapshot>) -> Self {
        Self { object, store, read: OnceLock::new() }
    }

    /// Another handle, not read yet: whoever walks many objects takes these, so that a list never holds them all
    /// parsed.
    #[must_use]
    pub fn fresh(&self) -> Arc<Self> {
        Arc::new(Self::new(self.object.clone(), self.store.clone()))
    }

    /// Whether both are the same version of the same object.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.object, &other.object)
    }

    /// That version of the object, as its store holds it.
    #[must_use]
    pub fn object(&self) -> &Arc<Object> {
        &self.object
    }

    /// Whether reading it asks the API server.
    #[must_use]
    pub fn is_on_demand(&self) -> bool {
        self.store.is_on_demand()
    }

    /// Who it is.
    #[must_use]
    pub fn reference(&self) -> &Arc<ObjectRef> {
        &self.object.reference
    }

    /// Its version in its store.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.object.version
    }

    /// Its fields.
    ///
    /// # Errors
    /// When an on-demand store cannot fetch it, or it is gone meanwhile: a sentence that names it.
    pub fn read(&self) -> Result<&Value, String> {
        if let Some(value) = self.read.get() {
            return Ok(value);
        }
        let object = self.store.load(&self.object)?.ok_or_else(|| {
            format!("{} was deleted while it was being read; the next render leaves it out", self.reference())
        })?;
        // Checked once as a whole, not string by string.
        let text = std::str::from_utf8(&object.json)
            .map_err(|e| format!("{} is not text: {e}", self.reference()))?;
        let value = KEYS
            .with(|keys| read_json::read(text, keys))
            .map_err(|e| format!("{} is not JSON at byte {}", self.reference(), e.position))?;
        let value = with_groups(knowing_secrets(value));
        Ok(self.read.get_or_init(|| value))
    }
}

/// A Secret's data is known for what it is, wherever it is printed.
fn knowing_secrets(value: Value) -> Value {
    let Value::Dict(fields) = &value else { return value };
    if !matches!(fields.get("kind"), Some(Value::Text(kind)) if **kind == *"Secret") {
        return value;
    }
    let known = |key: &str, value: &Value| match key {
        "data" | "stringData" => value.secret(),
        _ => value.clone(),
    };
    Value::dict(fields.iter().map(|(key, value)| (key.clone(), known(key, value))))
}

/// Of routes the options of each group in whole, which share the memory of those of the object.
fn with_groups(value: Value) -> Value {
    let Value::Dict(fields) = &value else { return value };
    let (Some(Value::Dict(of_groups)), Some(Value::Dict(of_object))) =
        (fields.get(OPTIONS_OF_GROUPS), fields.get("options"))
    else {
        return value;
    };
    let all = |own: &Value| match own {
        Value::Dict(own) if !own.is_empty() => {
            let kept = of_object.iter().filter(|(name, _)| own.get(name).is_none());
            let given = own.iter().filter(|(_, value)| !matches!(value, Value::Null));
            Value::dict(kept.chain(given).cloned())
        }
        _ => Value::Dict(of_object.clone()),
    };
    let groups = Value::dict(of_groups.iter().map(|(id, own)| (id.clone(), all(own))));
    let others = fields.iter().filter(|(name, _)| **name != *OPTIONS_OF_GROUPS).cloned();
    Value::dict(others.chain([("groups".into(), groups)]))
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Watched").field(&self.object.reference).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_have_all_options_and_share_what_they_have_from_their_object() {
        let json = r#"{"options":{"allow-from":["10.0.0.0/8"],"retries":2},
            "optionsOfGroups":{"i":{},"i:1":{"retries":null,"balance":"random"}}}"#;
        let value = with_groups(read_json::read(json, &KeyInterner::default()).unwrap());
        let below = |keys: &[&str]| {
            let keys: Vec<Arc<str>> = keys.iter().map(|key| Arc::from(*key)).collect();
            value.below(&keys).unwrap().clone()
        };
        assert_eq!(
            below(&["groups"]).to_json().unwrap(),
            serde_json::json!({"i": {"allow-from": ["10.0.0.0/8"], "retries": 2},
                "i:1": {"allow-from": ["10.0.0.0/8"], "balance": "random"}})
        );
        let (Value::List(one), Value::List(other)) =
            (below(&["options", "allow-from"]), below(&["groups", "i:1", "allow-from"]))
        else {
            panic!("no lists");
        };
        assert!(Arc::ptr_eq(&one, &other));
        assert!(matches!(below(&["optionsOfGroups"]), Value::Missing));
    }
}
