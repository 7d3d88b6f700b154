//! A watched object in a template: a handle that is parsed from its bytes when something reads it, and no more of it than is read.

use super::{
    Value,
    read_json::{self, KeyInterner},
};
use haptic_model::{Object, ObjectRef, Snapshot};
use haptic_routes::OPTIONS_OF_GROUPS;
use std::{
    fmt,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

/// The most fields that are read one by one; a block that wants more of them reads the whole object.
const FEW_FIELDS: usize = 8;

thread_local! {
    /// KeyInterner met by this thread: a cache, nothing depends on it.
    static KEYS: KeyInterner = KeyInterner::default();
}

/// A watched object, of which each field is parsed at most twice in the life of this handle: alone, and with all others.
pub struct Watched {
    object: Arc<Object>,
    /// Its store, if that is on demand. Others are not held: kept handles would keep every state that a store ever had.
    on_demand: Option<Arc<Snapshot>>,
    read: OnceLock<Value>,
    fields: OnceLock<Box<FieldsRead>>,
    /// Set when it is read.
    is_read: Option<Arc<AtomicBool>>,
}

/// Fields at the top of an object that were asked for, `Missing` where it has none of that name.
type FieldsRead = [OnceLock<(Arc<str>, Value)>; FEW_FIELDS];

impl Watched {
    /// A handle to `object` of `store`, not read yet.
    #[must_use]
    pub fn new(object: Arc<Object>, store: &Arc<Snapshot>) -> Self {
        Self::with(object, store.is_on_demand().then(|| store.clone()))
    }

    fn with(object: Arc<Object>, on_demand: Option<Arc<Snapshot>>) -> Self {
        Self { object, on_demand, read: OnceLock::new(), fields: OnceLock::new(), is_read: None }
    }

    /// The same, which says when it is read.
    #[must_use]
    pub fn telling(self, is_read: Arc<AtomicBool>) -> Self {
        Self { is_read: Some(is_read), ..self }
    }

    /// Another handle, not read yet: a walk over many objects takes these, so that a list never holds them all
    /// parsed.
    #[must_use]
    pub fn fresh(&self) -> Arc<Self> {
        Arc::new(Self::with(self.object.clone(), self.on_demand.clone()))
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
        self.on_demand.is_some()
    }

    /// The object.
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
        self.note_read();
        let object = match &self.on_demand {
            None => self.object.clone(),
            Some(store) => store.load(&self.object).map_err(|why| why.to_string())?.ok_or_else(|| {
                let who = self.reference();
                format!("{who} was deleted while it was being read; the next render leaves it out")
            })?,
        };
        // Checked once as a whole, not string by string.
        let json = object.json.bytes();
        let text =
            std::str::from_utf8(&json).map_err(|e| format!("{} is not text: {e}", self.reference()))?;
        let value = KEYS
            .with(|keys| read_json::read(text, keys))
            .map_err(|e| format!("{} is not JSON at byte {}", self.reference(), e.position))?;
        let value = with_groups(knowing_secrets(value));
        Ok(self.read.get_or_init(|| value))
    }

    /// One of its fields; of the others as little as possible is parsed.
    ///
    /// # Errors
    /// Those of [`Self::read`].
    pub fn field(&self, key: &str) -> Result<Option<&Value>, String> {
        if self.read.get().is_none() && !self.is_on_demand() {
            let fields = self.fields.get_or_init(Box::default);
            for slot in fields.iter() {
                let known = match slot.get() {
                    Some(known) => known,
                    None => match self.parse_field(key) {
                        Some(value) => slot.get_or_init(|| (key.into(), value)),
                        None => break,
                    },
                };
                if *known.0 == *key {
                    return Ok(Some(&known.1).filter(|value| !matches!(value, Value::Missing)));
                }
            }
        }
        Ok(match self.read()? {
            Value::Dict(fields) => fields.get(key),
            _ => None,
        })
    }

    fn note_read(&self) {
        if let Some(is_read) = &self.is_read {
            is_read.store(true, Relaxed);
        }
    }

    /// `None` where only a look at the whole object says what is wrong with it.
    fn parse_field(&self, key: &str) -> Option<Value> {
        let wanted: &[&str] = match key {
            "data" | "stringData" => &[key, "kind"],
            "groups" | OPTIONS_OF_GROUPS => &["groups", OPTIONS_OF_GROUPS, "options"],
            _ => &[key],
        };
        self.note_read();
        let json = self.object.json.bytes();
        let text = std::str::from_utf8(&json).ok()?;
        let fields = KEYS.with(|keys| read_json::read_fields(text, wanted, keys))?;
        let fields = with_groups(knowing_secrets(fields));
        fields.field(key).ok().map(|found| found.cloned().unwrap_or_default())
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

    fn watched(json: &str) -> Watched {
        let reference = Arc::new(ObjectRef::new("things", "a", "x"));
        let object = Object { reference, version: 1, json: json.as_bytes().into() };
        Watched::new(Arc::new(object), &Arc::new(Snapshot::full()))
    }

    #[test]
    fn a_field_alone_is_what_it_is_in_the_whole_object() {
        let objects = [
            r#"{"a":1,"b":{"c":[1,{"d":"}"}]},"e\"f":null,"g":"\\\"","kind":"Ingress"}"#,
            r#"{"kind":"Secret","data":{"a":"x"},"stringData":{"b":"y"},"metadata":{"name":"s"}}"#,
            r#"{"optionsOfGroups":{"i":{},"j":{"a":2}},"options":{"a":1},"groups":3}"#,
            r#"{"optionsOfGroups":3,"options":{"a":1},"groups":4}"#,
            r#"{"options":{"a":1}}"#,
            "{}",
            "[1]",
            " 7 ",
        ];
        let keys = ["a", "b", "e\"f", "g", "kind", "data", "stringData", "metadata", "options", "groups"];
        for json in objects {
            let (one_by_one, whole) = (watched(json), watched(json));
            whole.read().unwrap();
            for key in keys.into_iter().chain([OPTIONS_OF_GROUPS, "none", "a"]) {
                let [alone, there] = [one_by_one.field(key), whole.field(key)].map(Result::unwrap);
                assert_eq!(format!("{alone:?}"), format!("{there:?}"), "{key} of {json}");
            }
        }
    }

    #[test]
    fn of_an_object_that_is_no_json_no_field_is_there_where_that_is_seen() {
        for json in [r#"{"a":1"#, r#"{"a":1,"b"}"#, "{", ""] {
            assert!(watched(json).field("c").is_err(), "{json}");
        }
    }

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
