//! Hostile input: the payloads of `fixtures/hostile`, and a tenant who can have them in every text of every object.
//!
//! What is a text is found in the objects and in the libraries, never listed here.

use crate::failure::{Failure, Outcome};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use haptic_routes::options::table::TABLE;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// What our own annotations begin with.
const OPTIONS: &str = "haproxy-haptic.org/";

/// A value that attacks.
#[derive(Clone, Debug, Deserialize)]
pub struct Payload {
    /// Where one like it worked, if it did.
    pub seen: Option<String>,
    /// The value.
    pub text: String,
}

/// All payloads.
pub fn payloads() -> Outcome<Vec<Payload>> {
    read("fixtures/hostile/payloads.yaml")
}

/// Somebody's objects.
#[derive(Clone, Debug, PartialEq)]
pub struct Tenant {
    /// All of them, complete.
    pub objects: Vec<Value>,
}

/// A text of one of a tenant's objects.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Field {
    object: usize,
    pointer: String,
}

impl Field {
    /// The number of its object among the tenant's.
    #[must_use]
    pub fn object(&self) -> usize {
        self.object
    }

    /// Where in its object, as a JSON pointer.
    #[must_use]
    pub fn pointer(&self) -> &str {
        &self.pointer
    }
}

impl std::fmt::Display for Field {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "object {} {}", self.object, self.pointer)
    }
}

impl Tenant {
    /// The one of `fixtures/hostile/objects.yaml`, with this namespace, host, certificate and key, all right.
    pub fn new(namespace: &str, host: &str, certificate: &str, key: &str) -> Outcome<Self> {
        let objects = read("fixtures/hostile/objects.yaml")?;
        Ok(Self { objects }.named(namespace, host, certificate, key))
    }

    /// The same with all that the Gateway API knows, of `fixtures/hostile/gateways.yaml`.
    pub fn with_gateways(namespace: &str, host: &str, certificate: &str, key: &str) -> Outcome<Self> {
        let mut objects: Vec<Value> = read("fixtures/hostile/objects.yaml")?;
        objects.append(&mut read("fixtures/hostile/gateways.yaml")?);
        Ok(Self { objects }.named(namespace, host, certificate, key))
    }

    fn named(mut self, namespace: &str, host: &str, certificate: &str, key: &str) -> Self {
        for object in &mut self.objects {
            each_text(object, "", &mut |_, text| {
                *text = match &**text {
                    "CERTIFICATE" => STANDARD.encode(certificate),
                    "KEY" => STANDARD.encode(key),
                    _ => text.replace("NAMESPACE", namespace).replace("HOST", host),
                }
            });
        }
        self
    }

    /// The same with `before` in texts replaced.
    #[must_use]
    pub fn renamed(&self, before: &str, after: &str) -> Self {
        let mut changed = self.clone();
        for object in &mut changed.objects {
            each_text(object, "", &mut |_, text| *text = text.replace(before, after));
        }
        changed
    }

    /// Every text of every object, and every annotation that the libraries know, whether it is there or not.
    pub fn fields(&self) -> Outcome<Vec<Field>> {
        let mut fields = BTreeSet::new();
        for (number, object) in self.objects.iter().enumerate() {
            let mut object = object.clone();
            each_text(&mut object, "", &mut |pointer, _| {
                if !["/kind", "/apiVersion"].contains(&pointer) {
                    fields.insert(Field { object: number, pointer: pointer.to_owned() });
                }
            });
            if object["kind"] == "Ingress" {
                fields.extend(options()?.iter().map(|option| Field {
                    object: number,
                    pointer: format!("/metadata/annotations/{}", escaped(&format!("{OPTIONS}{option}"))),
                }));
            }
        }
        Ok(fields.into_iter().collect())
    }

    /// The same with this text there; in a Secret's data, encoded.
    #[must_use]
    pub fn with(&self, field: &Field, text: &str) -> Self {
        self.changed(field, |_| text.to_owned())
    }

    /// The same with this text behind what is there: where only a text of some shape is taken, this has its beginning.
    #[must_use]
    pub fn with_behind(&self, field: &Field, text: &str) -> Self {
        self.changed(field, |present| format!("{present}{text}"))
    }

    fn changed(&self, field: &Field, change: impl Fn(&str) -> String) -> Self {
        let mut changed = self.clone();
        let Some(object) = changed.objects.get_mut(field.object) else { return changed };
        let encoded = object["kind"] == "Secret" && field.pointer.starts_with("/data/");
        let change = |present: &str| match encoded {
            true => STANDARD.encode(change(&decoded(present))),
            false => change(present),
        };
        if let Some(present) = object.pointer_mut(&field.pointer) {
            *present = change(present.as_str().unwrap_or_default()).into();
        } else if let Some((parent, name)) = field.pointer.rsplit_once('/')
            && let Some(parent) = object.pointer_mut(parent).and_then(Value::as_object_mut)
        {
            parent.insert(name.replace("~1", "/").replace("~0", "~"), change("").into());
        }
        changed
    }
}

fn decoded(text: &str) -> String {
    String::from_utf8_lossy(&STANDARD.decode(text).unwrap_or_default()).into_owned()
}

/// The annotations that the libraries read, by what their templates say and the table of options.
pub fn options() -> Outcome<BTreeSet<String>> {
    let mut options: BTreeSet<String> = TABLE.iter().map(|row| row.name.to_owned()).collect();
    for entry in fs::read_dir(file("charts/haptic/libraries"))? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "yaml") {
            continue;
        }
        let library: Value = serde_saphyr::from_str(&fs::read_to_string(&path)?)?;
        let mut templates = library["spec"].clone();
        each_text(&mut templates, "", &mut |_, text| options.extend(options_in(text)));
    }
    Ok(options)
}

/// `get options "NAME"`, `options.NAME`.
fn options_in(template: &str) -> Vec<String> {
    let name = |text: &str| -> String {
        text.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect()
    };
    let places = template.split("options").skip(1);
    places
        .filter_map(|rest| rest.strip_prefix(" \"").or_else(|| rest.strip_prefix('.')).map(name))
        .filter(|name| !name.is_empty())
        .collect()
}

/// Visits every text of `value`, with its JSON pointer.
fn each_text(value: &mut Value, pointer: &str, visit: &mut impl FnMut(&str, &mut String)) {
    match value {
        Value::String(text) => visit(pointer, text),
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                each_text(item, &format!("{pointer}/{index}"), visit);
            }
        }
        Value::Object(fields) => each_field(fields, pointer, visit),
        _ => {}
    }
}

fn each_field(fields: &mut Map<String, Value>, pointer: &str, visit: &mut impl FnMut(&str, &mut String)) {
    for (name, value) in fields {
        each_text(value, &format!("{pointer}/{}", escaped(name)), visit);
    }
}

fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

fn read<T: serde::de::DeserializeOwned>(name: &str) -> Outcome<T> {
    let path = file(name);
    let text = fs::read_to_string(&path).map_err(|e| Failure::new(format!("{}: {e}", path.display())))?;
    Ok(serde_saphyr::from_str(&text)?)
}

#[cfg(test)]
mod tests {
    use super::{Tenant, options, options_in, payloads};

    #[test]
    fn annotations_are_found_in_declarations_and_in_templates() {
        let options = options().unwrap();
        assert!(options.contains("rate-limit") && options.contains("auth-secret"), "{options:?}");
        assert_eq!(options_in(r#"{{get set.options "a-b" ""}}{{set.options.c}}"#), ["a-b", "c"]);
    }

    #[test]
    fn every_text_can_be_hostile() {
        let tenant = Tenant::with_gateways("evil", "evil.example", "certificate", "key").unwrap();
        let fields = tenant.fields().unwrap();
        assert!(fields.len() > 300 && payloads().unwrap().len() > 100, "{}", fields.len());
        for field in &fields {
            let changed = tenant.with(field, "hostile");
            assert_ne!(changed, tenant, "{field}");
            assert_ne!(tenant.with_behind(field, "hostile"), tenant, "{field}");
        }
    }

    #[test]
    fn a_hostile_text_may_have_a_harmless_beginning() {
        let tenant = Tenant::new("evil", "evil.example", "certificate", "key").unwrap();
        let fields = tenant.fields().unwrap();
        let ends = |end: &str, of: &str| {
            let field = fields.iter().find(|field| field.pointer().ends_with(end)).unwrap();
            let changed = tenant.with_behind(field, of);
            changed.objects[field.object()].pointer(field.pointer()).unwrap().as_str().unwrap().to_owned()
        };
        assert_eq!(ends("~1rewrite-path", "%"), "/new%");
        assert_eq!(super::decoded(&ends("/tls.crt", "%")), "certificate%");
    }
}
