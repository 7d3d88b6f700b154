//! Manifests with annotations of ours, or HTTPRoutes ([`routes`]), in place of another controller's: `haptic migrate convert`.
//!
//! Under the configuration that serves them, which still reads what stays, converted manifests are served as they were: the route
//! model is asked about both ([`haptic_routes::families::convert`]). Files are edited line by line ([`edit`]).

mod edit;
mod manifest;
mod routes;

pub use routes::{RouteConverter, RouteParent, RoutedFile, RoutedIngress};

use super::{Family, compare::requests::RequestedIngress, with_data};
use edit::{AnnotationEdit, ManifestInFile};
use haptic_model::ActiveConfig;
use haptic_routes::{
    families::{self, About, ForeignIngress},
    options::Settings,
};
use manifest::{annotations_of, is_of_classes, is_of_kind, name_of};
use serde_json::{Map, Value};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// How manifests are converted.
#[derive(Clone, Debug)]
pub struct ManifestConverter {
    settings: Settings,
    /// Annotations of Services, by namespace and name.
    services: BTreeMap<(String, String), BTreeMap<String, String>>,
    /// Ingresses of these classes alone; all where it is empty.
    pub classes: Vec<String>,
}

/// A file that is converted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConvertedFile {
    /// The whole file.
    pub text: String,
    /// Its Ingresses with annotations of the family.
    pub ingresses: Vec<ConvertedIngress>,
}

/// What became of an Ingress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConvertedIngress {
    /// `NAMESPACE/NAME`.
    pub name: String,
    /// Annotations that are not needed any more.
    pub removed: usize,
    /// Annotations that stay, each with what is said of it.
    pub kept: BTreeMap<String, String>,
    /// Why the whole Ingress stays as it is.
    pub refused: Option<String>,
}

impl ManifestConverter {
    /// For annotations of the family, whose ConfigMap has this data.
    #[must_use]
    pub fn new(config: &ActiveConfig, family: Family, data: &Map<String, Value>) -> Self {
        let config = with_data(config, family, data);
        let settings = Settings::of(&config.spec.templating_settings.extra_context);
        Self { settings, services: BTreeMap::new(), classes: Vec::new() }
    }

    /// Notes what Services in a file say.
    ///
    /// # Errors
    /// As [`Self::convert`].
    pub fn note_services(&mut self, text: &str) -> Result<(), String> {
        for ManifestInFile { value, .. } in edit::manifests(text)? {
            if is_of_kind(&value, "Service") {
                self.services.insert(name_of(&value), annotations_of(&value));
            }
        }
        Ok(())
    }

    /// The file with annotations of ours.
    ///
    /// # Errors
    /// A sentence: it is no YAML.
    pub fn convert(&self, text: &str) -> Result<ConvertedFile, String> {
        let manifests = edit::manifests(text)?;
        let (mut ingresses, mut edits) = (Vec::new(), Vec::new());
        for (at, ManifestInFile { value, annotations, .. }) in manifests.iter().enumerate() {
            if !is_of_kind(value, "Ingress") {
                continue;
            }
            let Some((mut converted, edit)) = self.of_ingress(value) else { continue };
            match annotations {
                Ok(Some(lines)) => edits.push((at, lines, edit)),
                Ok(None) => continue,
                Err(why) => {
                    (converted.removed, converted.kept) = (0, BTreeMap::new());
                    converted.refused = Some(why.clone());
                }
            }
            ingresses.push(converted);
        }
        let of_lines: Vec<_> = edits.iter().map(|(_, lines, edit)| (*lines, edit)).collect();
        let new = edit::edited(text, &of_lines);
        let mut wanted: Vec<Value> = manifests.iter().map(|manifest| manifest.value.clone()).collect();
        for (at, _, edit) in &edits {
            wanted.get_mut(*at).into_iter().for_each(|value| apply(value, edit));
        }
        let is: Vec<Value> = edit::manifests(&new)?.into_iter().map(|manifest| manifest.value).collect();
        if is != wanted {
            return Err(
                "its lines cannot be edited one by one: write it as kubectl get -o yaml does".to_owned()
            );
        }
        Ok(ConvertedFile { text: new, ingresses })
    }

    /// What becomes of it; nothing where it has no annotations of the family, or is of another class.
    fn of_ingress(&self, value: &Value) -> Option<(ConvertedIngress, AnnotationEdit)> {
        let family = self.settings.families.first()?;
        let annotations = annotations_of(value);
        if !is_of_classes(value, &self.classes) || !annotations.keys().any(|key| family.family.has(key)) {
            return None;
        }
        let (namespace, name) = name_of(value);
        let ingress: RequestedIngress = serde_json::from_value(value.clone()).ok()?;
        let paths = ingress.paths();
        let names: BTreeSet<&String> = paths.iter().filter_map(|(_, service)| service.as_ref()).collect();
        let services = names.into_iter().filter_map(|service| {
            let texts = self.services.get(&(namespace.clone(), service.clone()))?;
            Some((Arc::from(service.as_str()), texts))
        });
        let services: Vec<(Arc<str>, &BTreeMap<String, String>)> = services.collect();
        let about = About {
            tls: ingress.has_tls(),
            names_tls_hosts: ingress.names_tls_hosts(),
            namespace: &namespace,
            name: &name,
            ..About::default()
        };
        let ingress = ForeignIngress { about, annotations: &annotations, paths: &paths, services: &services };
        let families::ConvertedAnnotations { removed, added, kept } =
            families::convert(family, &ingress, &self.settings);
        let converted = ConvertedIngress {
            name: format!("{namespace}/{name}"),
            removed: removed.len(),
            kept: kept.clone(),
            refused: None,
        };
        Some((converted, AnnotationEdit { removed, added, comments: kept }))
    }
}

/// The same edit of the object that the file is edited by.
fn apply(value: &mut Value, edit: &AnnotationEdit) {
    let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) else { return };
    annotations.retain(|key, _| !edit.removed.contains(key));
    annotations.extend(edit.added.iter().map(|(key, text)| (key.clone(), Value::from(text.as_str()))));
    if annotations.is_empty() {
        metadata.remove("annotations");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::migrate::configuration;

    fn converter() -> ManifestConverter {
        let family = Family::HaproxyOrg;
        ManifestConverter::new(&configuration(family, None).unwrap(), family, &Map::new())
    }

    const INGRESS: &str = "\
kind: Ingress
metadata:
  name: a
  namespace: shop
  annotations:
    haproxy.org/timeout-server: 30s   # the report takes long
    haproxy.org/backend-config-snippet: http-request deny
spec:
  rules:
    - http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}
";

    #[test]
    fn a_file_is_converted_and_converting_it_again_changes_nothing() {
        let done = converter().convert(INGRESS).unwrap();
        let [ingress] = &done.ingresses[..] else { panic!("{done:?}") };
        assert_eq!((&*ingress.name, ingress.removed, ingress.kept.len()), ("shop/a", 1, 1), "{done:?}");
        assert!(
            done.text.contains(
                "    # the report takes long\n    haproxy-haptic.org/timeout-server: \"30s\"\n    # "
            ),
            "{}",
            done.text
        );
        assert!(
            done.text.contains("\n    haproxy.org/backend-config-snippet: http-request deny\n"),
            "{}",
            done.text
        );
        assert_eq!(converter().convert(&done.text).unwrap().text, done.text);
    }

    #[test]
    fn what_a_service_says_is_not_overridden() {
        let service = "kind: Service\nmetadata:\n  name: web\n  namespace: shop\n  annotations:\n    haproxy.org/timeout-server: 5s\n";
        let mut converter = converter();
        converter.note_services(service).unwrap();
        let done = converter.convert(INGRESS).unwrap();
        assert!(done.ingresses[0].kept.contains_key("haproxy.org/timeout-server"), "{done:?}");
    }

    #[test]
    fn what_is_of_another_class_or_stands_between_braces_stays_byte_for_byte() {
        let mut converter = converter();
        let braces = INGRESS.replace("\n    haproxy.org/timeout-server: 30s   # the report takes long\n    haproxy.org/backend-config-snippet: http-request deny", " {haproxy.org/timeout-server: 30s}");
        let done = converter.convert(&braces).unwrap();
        assert!(done.text == braces && done.ingresses[0].refused.is_some(), "{done:?}");
        converter.classes = vec!["other".to_owned()];
        assert_eq!(
            converter.convert(INGRESS).unwrap(),
            ConvertedFile { text: INGRESS.to_owned(), ingresses: Vec::new() }
        );
    }
}
