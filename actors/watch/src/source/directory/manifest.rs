//! From the bytes of a manifest file to objects, as the API server would store them. Pure.

use haptic_model::yaml;
use serde::{
    Deserialize, Deserializer,
    de::{Error as _, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Value};
use std::{fmt, path::Path, sync::Arc};

/// Kinds without a namespace; everything else without one is in `default`, as with kubectl.
const CLUSTER_SCOPED: &[&str] = &[
    "Namespace",
    "Node",
    "PersistentVolume",
    "IngressClass",
    "GatewayClass",
    "StorageClass",
    "PriorityClass",
    "RuntimeClass",
    "ClusterRole",
    "ClusterRoleBinding",
    "CustomResourceDefinition",
    "APIService",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
];

/// Who an object is, on disk.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ManifestIdentity {
    pub(crate) api_version: Arc<str>,
    pub(crate) kind: Arc<str>,
    /// Empty for cluster-scoped kinds.
    pub(crate) namespace: Arc<str>,
    pub(crate) name: Arc<str>,
}

/// One object of a file.
pub(crate) struct Manifest {
    pub(crate) identity: ManifestIdentity,
    pub(crate) value: Value,
}

/// What a file holds.
#[derive(Default)]
pub(crate) struct FolderContents {
    pub(crate) manifests: Vec<Manifest>,
    /// Documents that are no objects, as sentences.
    pub(crate) problems: Vec<String>,
}

/// A file that cannot be read as a whole.
#[derive(Debug)]
pub(crate) struct Broken {
    /// From 1; `None` when it could not be opened at all.
    place: Option<(u64, u64)>,
    why: String,
}

/// Reads YAML (several documents) or JSON, by the file's ending.
///
/// # Errors
/// Where the text ceases to be what it should be.
pub(crate) fn parse(path: &Path, bytes: &[u8]) -> Result<FolderContents, Broken> {
    let documents = if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json")) {
        json_documents(bytes)?
    } else {
        yaml_documents(bytes)?
    };
    let mut contents = FolderContents::default();
    for (place, document) in documents.into_iter().enumerate() {
        contents.add(&format!("document {}", place + 1), document);
    }
    match contents.manifests.iter().find_map(no_text) {
        Some(why) => Err(Broken { place: None, why }),
        None => Ok(contents),
    }
}

/// A label or annotation that an API server would refuse.
fn no_text(manifest: &Manifest) -> Option<String> {
    ["label", "annotation"].into_iter().find_map(|what| {
        let all = manifest.value.pointer(&format!("/metadata/{what}s"))?.as_object()?;
        let (key, value) = all.iter().find(|(_, value)| !value.is_string())?;
        // A list or a dict becomes no text by quotes around it.
        let (identity, is_plain, value) =
            (&manifest.identity, !value.is_array() && !value.is_object(), value.to_string());
        let value = cut(&value);
        let quoted = if is_plain { format!("; write \"{value}\"") } else { String::new() };
        Some(format!("{identity}: the {what} {key} is {value}, which is no text{quoted}"))
    })
}

fn cut(value: &str) -> &str {
    value.get(..value.floor_char_boundary(200)).unwrap_or_default()
}

fn json_documents(bytes: &[u8]) -> Result<Vec<Value>, Broken> {
    let documents = serde_json::Deserializer::from_slice(bytes).into_iter::<DistinctKeys>();
    documents.map(|document| document.map(|DistinctKeys(value)| value)).collect::<Result<_, _>>().map_err(
        |error| {
            let why = format!("this is not JSON: {}", without_place(&error.to_string()));
            Broken { place: Some((error.line() as u64, error.column().max(1) as u64)), why }
        },
    )
}

fn yaml_documents(bytes: &[u8]) -> Result<Vec<Value>, Broken> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let good = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let line = good.iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
        let column = good.iter().rev().take_while(|byte| **byte != b'\n').count() as u64 + 1;
        Broken { place: Some((line, column)), why: "this is not UTF-8 text".into() }
    })?;
    // The files are the user's own and may hold a whole cluster; aliases stay bounded by the defaults.
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_documents: 10_000_000,
            max_nodes: 1_000_000_000,
            max_events: 4_000_000_000,
            max_total_scalar_bytes: 4_000_000_000,
        },
        with_snippet: false,
        // YAML 1.2: a label `on` or a Service called `y` is text.
        strict_booleans: true,
    };
    serde_saphyr::from_multiple_with_options(text, options).map_err(|error| Broken {
        place: error.location().map(|at| (at.line(), at.column())),
        why: yaml::why(&error),
    })
}

/// A value of JSON in which no key stands twice: of two values one would be lost.
struct DistinctKeys(Value);

impl<'de> Deserialize<'de> for DistinctKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DistinctKeysVisitor).map(Self)
    }
}

struct DistinctKeysVisitor;

impl<'de> Visitor<'de> for DistinctKeysVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some(DistinctKeys(item)) = items.next_element()? {
            all.push(item);
        }
        Ok(Value::Array(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut all = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if all.contains_key(&key) {
                return Err(A::Error::custom(format!("the key {key:?} stands twice in one object")));
            }
            let DistinctKeys(value) = entries.next_value()?;
            all.insert(key, value);
        }
        Ok(Value::Object(all))
    }
}

/// Without ` at line 3, column 5`, which is told before it.
fn without_place(said: &str) -> &str {
    said.rsplit_once(" at line ").map_or(said, |(what, _)| what)
}

impl FolderContents {
    /// Takes a document; a list by its items.
    pub(crate) fn add(&mut self, place: &str, document: Value) {
        let Value::Object(mut fields) = document else {
            if !document.is_null() {
                self.problems
                    .push(format!("{place} is not an object; a manifest begins with apiVersion and kind"));
            }
            return;
        };
        let is_list = text(&fields, "kind").ends_with("List");
        if is_list && let Some(Value::Array(items)) = fields.remove("items") {
            for (index, item) in items.into_iter().enumerate() {
                self.add(&format!("{place}, item {}", index + 1), item);
            }
            return;
        }
        match identify(&mut fields) {
            Err(missing) => self.problems.push(format!("{place} has no {missing}; it is left out")),
            Ok(identity) => {
                encode_string_data(&mut fields);
                self.manifests.push(Manifest { identity, value: Value::Object(fields) });
            }
        }
    }
}

fn text<'f>(fields: &'f Map<String, Value>, name: &str) -> &'f str {
    fields.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Who the object is; writes the default namespace into it.
fn identify(fields: &mut Map<String, Value>) -> Result<ManifestIdentity, &'static str> {
    let (api_version, kind) = (text(fields, "apiVersion").to_owned(), text(fields, "kind").to_owned());
    if api_version.is_empty() {
        return Err("apiVersion");
    }
    if kind.is_empty() {
        return Err("kind");
    }
    let Some(Value::Object(metadata)) = fields.get_mut("metadata") else { return Err("metadata") };
    let name = text(metadata, "name").to_owned();
    if name.is_empty() {
        return Err("metadata.name");
    }
    if CLUSTER_SCOPED.contains(&kind.as_str()) {
        metadata.remove("namespace");
    } else if text(metadata, "namespace").is_empty() {
        metadata.insert("namespace".into(), "default".into());
    }
    let namespace = text(metadata, "namespace");
    Ok(ManifestIdentity {
        namespace: namespace.into(),
        api_version: api_version.into(),
        kind: kind.into(),
        name: name.into(),
    })
}

/// `stringData` of a Secret becomes `data`, as the API server does it.
fn encode_string_data(fields: &mut Map<String, Value>) {
    if text(fields, "kind") != "Secret" {
        return;
    }
    let Some(Value::Object(plain)) = fields.remove("stringData") else { return };
    let data = fields.entry("data").or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(data) = data {
        for (key, value) in plain {
            if let Value::String(value) = value {
                data.insert(key, Value::String(base64_of(value.as_bytes())));
            }
        }
    }
}

fn base64_of(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

impl ManifestIdentity {
    /// Whether `resources`, the plural of the watched resource, is this kind's plural.
    ///
    /// Without an API server to ask, the plural is formed as Kubernetes forms it: `ingresses`, `networkpolicies`,
    /// `gatewayclasses`, `endpoints`.
    pub(crate) fn is_of(&self, api_version: &str, resources: &str) -> bool {
        *self.api_version == *api_version && is_plural(resources, &self.kind)
    }
}

/// Endings that are not only added to: `policies`, `indices`, `matrices`, `analyses`.
const IRREGULAR: [(&str, &str); 4] = [("y", "ies"), ("ex", "ices"), ("ix", "ices"), ("is", "es")];

fn is_plural(resources: &str, kind: &str) -> bool {
    let (resources, kind) = (resources.to_ascii_lowercase(), kind.to_ascii_lowercase());
    resources == kind
        || resources.strip_prefix(&kind).is_some_and(|ending| matches!(ending, "s" | "es"))
        || IRREGULAR.iter().any(|(one, many)| {
            kind.strip_suffix(one).and_then(|stem| resources.strip_prefix(stem)) == Some(*many)
        })
}

impl Broken {
    pub(crate) fn unreadable(error: &std::io::Error) -> Self {
        Self { place: None, why: format!("it cannot be read: {error}") }
    }

    /// `FILE:LINE:COLUMN: why`. `gave`: whether it gave objects before.
    pub(crate) fn message(&self, path: &Path, gave: bool) -> String {
        let path = path.display();
        let rest = if gave { "what it held before stays; correct the file" } else { "correct the file" };
        match self.place {
            Some((line, column)) => format!("{path}:{line}:{column}: {}; {rest}", self.why),
            None => format!("{path}: {}; {rest}", self.why),
        }
    }
}

impl fmt::Display for ManifestIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = if self.namespace.is_empty() { "" } else { "/" };
        write!(f, "{} {}{separator}{}", self.kind, self.namespace, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn yaml(text: &str) -> FolderContents {
        parse(Path::new("x.yaml"), text.as_bytes()).unwrap()
    }

    fn names(contents: &FolderContents) -> Vec<String> {
        contents.manifests.iter().map(|manifest| manifest.identity.to_string()).collect()
    }

    #[test]
    fn an_annotation_that_is_no_text_is_told_by_its_name() {
        let text = "apiVersion: v1\nkind: Service\nmetadata: {name: a, annotations: {code: 301}}\n";
        let why =
            parse(Path::new("x.yaml"), text.as_bytes()).err().unwrap().message(Path::new("x.yaml"), true);
        assert_eq!(
            why,
            "x.yaml: Service default/a: the annotation code is 301, which is no text; write \"301\"; what it held before \
             stays; correct the file"
        );
        let listed = text.replace("301", "[a, b]");
        let why =
            parse(Path::new("x.yaml"), listed.as_bytes()).err().unwrap().message(Path::new("x.yaml"), true);
        assert!(why.contains(r#"the annotation code is ["a","b"], which is no text; what it held"#), "{why}");
        let text = text.replace("301", "'301'");
        assert!(parse(Path::new("x.yaml"), text.as_bytes()).is_ok());
    }

    #[test]
    fn several_documents_and_lists_become_objects() {
        let contents = yaml(
            "# a comment\n---\napiVersion: v1\nkind: Service\nmetadata: {name: shop, namespace: a}\n---\n---\n\
             apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Service, metadata: {name: blog}}\n\
             - {apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: haproxy}}\n",
        );
        assert_eq!(names(&contents), ["Service a/shop", "Service default/blog", "IngressClass haproxy"]);
        assert_eq!(contents.manifests[1].value["metadata"]["namespace"], "default");
    }

    #[test]
    fn json_files_are_read_too() {
        let contents =
            parse(Path::new("x.json"), br#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"}}"#);
        assert_eq!(names(&contents.unwrap()), ["Secret default/s"]);
        let broken = parse(Path::new("x.json"), b"{\n  \"a\": }").err().unwrap();
        assert!(broken.message(Path::new("d/x.json"), false).starts_with("d/x.json:2:8: "));
    }

    #[test]
    fn a_key_that_stands_twice_is_an_error_in_json_as_in_yaml() {
        let twice = b"{\"apiVersion\": \"v1\", \"kind\": \"Service\",\n \"kind\": \"Secret\"}";
        for name in ["x.json", "x.JSON", "x.yaml"] {
            let broken = parse(Path::new(name), twice).err().expect(name).message(Path::new(name), false);
            assert!(broken.starts_with(&format!("{name}:2:")) && broken.contains("kind"), "{broken}");
        }
        let all = br#"[null, true, -1, 18446744073709551615, 0.5, "a", {"b": {}}]"#;
        assert_eq!(json_documents(all).unwrap(), [serde_json::from_slice::<Value>(all).unwrap()]);
    }

    #[test]
    fn a_file_that_is_not_yaml_is_told_with_line_and_column() {
        let broken = parse(Path::new("x.yaml"), b"kind: Service\nmetadata: {name: [\n").err().unwrap();
        let sentence = broken.message(Path::new("d/x.yaml"), true);
        let place: Vec<&str> = sentence.split(':').take(3).collect();
        assert_eq!(place[0], "d/x.yaml");
        assert!(
            place[1].parse::<u32>().is_ok_and(|line| line >= 2) && place[2].parse::<u32>().is_ok(),
            "{sentence}"
        );
        let latin = parse(Path::new("x.yaml"), b"kind: x\nname: \xe9").err().unwrap();
        assert!(latin.message(Path::new("x.yaml"), false).starts_with("x.yaml:2:7: this is not UTF-8"));
    }

    #[test]
    fn a_document_that_is_no_object_is_left_out_alone() {
        let contents =
            yaml("just text\n---\nkind: X\n---\napiVersion: v1\nkind: Service\nmetadata: {name: good}\n");
        assert_eq!(names(&contents), ["Service default/good"]);
        assert!(
            contents.problems[0].contains("document 1")
                && contents.problems[1].contains("document 2 has no apiVersion")
        );
    }

    #[test]
    fn string_data_of_a_secret_is_encoded_as_the_api_server_does() {
        let contents = yaml(
            "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {user: admin}\ndata: {x: eA==}\n",
        );
        assert_eq!(contents.manifests[0].value["data"], json!({"user": "YWRtaW4=", "x": "eA=="}));
        assert!(contents.manifests[0].value.get("stringData").is_none());
    }

    #[test]
    fn words_that_yaml_once_took_for_booleans_are_text() {
        let contents =
            yaml("apiVersion: v1\nkind: Service\nmetadata: {name: y, labels: {tls: on}}\nspec: {x: true}\n");
        assert_eq!(names(&contents), ["Service default/y"]);
        assert_eq!(contents.manifests[0].value["metadata"]["labels"]["tls"], "on");
        assert_eq!(contents.manifests[0].value["spec"]["x"], true);
    }

    #[test]
    fn plurals_are_formed_as_kubernetes_forms_them() {
        for (plural, kind) in [
            ("ingresses", "Ingress"),
            ("networkpolicies", "NetworkPolicy"),
            ("gatewayclasses", "GatewayClass"),
            ("endpoints", "Endpoints"),
            ("endpointslices", "EndpointSlice"),
            ("EndpointSlices", "EndpointSlice"),
            ("indices", "Index"),
            ("indexes", "Index"),
            ("matrices", "Matrix"),
            ("analyses", "Analysis"),
        ] {
            assert!(is_plural(plural, kind), "{plural}");
        }
        assert!(!is_plural("services", "ServiceAccount") && !is_plural("endpointslices", "Endpoints"));
    }

    #[test]
    fn a_file_may_hold_more_than_a_thousand_documents() {
        let one = "---\napiVersion: v1\nkind: Service\nmetadata: {name: s}\n";
        assert_eq!(yaml(&one.repeat(3000)).manifests.len(), 3000);
    }
}
