//! HTTPRoutes in place of Ingresses: `haptic migrate convert --to httproutes`.
//!
//! What an Ingress asks for is read by the route model; what fields and filters of an HTTPRoute say as well is carried. What they do not
//! say stands in comments, and where something guards access that is not carried, the Ingress stays, and with it all of its namespace
//! for the same hosts. So all manifests are noted before one is converted.

mod canaries;
mod cors;
mod documents;
mod filters;
mod hosts;
mod leftovers;
mod manifest;
mod matches;
mod noted;
mod order;
mod outcomes;
mod paths;
mod route_names;
mod rules;
mod services;
mod staying;
mod written;

use super::{
    Family,
    edit::{self, ManifestInFile},
    manifest::{is_of_classes, is_of_kind, name_of},
};
use crate::migrate::with_data;
use documents::{documents, has_alias, marker_of, refusal_of};
use haptic_model::{ActiveConfig, Snapshots};
use haptic_routes::{class::Classes, options::Settings};
use manifest::MovedIngress;
use noted::NotedIngress;
use outcomes::{IngressOutcome, IngressRoutes};
use serde_json::{Map, Value, json};
use services::NotedServices;
use std::{
    cell::OnceCell,
    collections::{BTreeSet, HashMap, HashSet},
    str::FromStr,
};

/// The ports of HTTP and of HTTPS.
const IN_CLEAR: u16 = 80;
const OVER_TLS: u16 = 443;

/// The status of redirects to HTTPS where the library `ssl` says none.
const HTTPS_CODE: u64 = 308;

/// The Gateway that routes are attached to, and its listener if one is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteParent {
    namespace: String,
    name: String,
    section: Option<String>,
}

impl FromStr for RouteParent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.split('/').collect();
        let (namespace, name, section) = match parts[..] {
            [namespace, name] => (namespace, name, None),
            [namespace, name, section] => (namespace, name, Some(section)),
            _ => ("", "", None),
        };
        if namespace.is_empty() || name.is_empty() || section == Some("") {
            return Err("must be NAMESPACE/NAME of a Gateway, or NAMESPACE/NAME/LISTENER".to_owned());
        }
        Ok(Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            section: section.map(str::to_owned),
        })
    }
}

impl RouteParent {
    /// As `parentRefs` has it: at the listener that is named, else at those of the port, if there is one.
    fn reference(&self, port: Option<u16>) -> Value {
        let Self { namespace, name, section } = self;
        match (section.as_ref().filter(|_| port != Some(IN_CLEAR)), port) {
            (Some(section), _) => json!({"namespace": namespace, "name": name, "sectionName": section}),
            (None, Some(port)) => json!({"namespace": namespace, "name": name, "port": port}),
            (None, None) => json!({"namespace": namespace, "name": name}),
        }
    }
}

/// How Ingresses become routes.
#[derive(Debug)]
pub struct RouteConverter {
    family: Family,
    settings: Settings,
    /// The same where its ConfigMap says nothing.
    plain: Settings,
    /// What the route model reads Ingresses with that say something of each other's hosts.
    model: Classes,
    https_code: u64,
    parent: RouteParent,
    services: NotedServices,
    ingresses: Vec<NotedIngress>,
    /// Which of them have a namespace and name.
    numbers: HashMap<(String, String), Vec<usize>>,
    /// All Ingresses, of whatever class, by namespace and name.
    names: BTreeSet<(String, String)>,
    /// What becomes of them, once all are noted.
    outcomes: OnceCell<Vec<IngressOutcome>>,
    /// Ingresses of these classes alone, of whatever is noted then; all where it is empty.
    pub classes: Vec<String>,
}

/// A file with routes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoutedFile {
    /// The whole file.
    pub text: String,
    /// Its Ingresses.
    pub ingresses: Vec<RoutedIngress>,
}

/// What became of an Ingress.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoutedIngress {
    /// `NAMESPACE/NAME`.
    pub name: String,
    /// How many routes stand in its place.
    pub routes: usize,
    /// What is not carried, in sentences.
    pub left: Vec<String>,
    /// Why the Ingress stays.
    pub stays: Option<String>,
    /// Why it could not be read or edited.
    pub refused: Option<String>,
}

impl RouteConverter {
    /// For annotations of the family, whose ConfigMap has this data.
    #[must_use]
    pub fn new(
        config: &ActiveConfig,
        family: Family,
        data: &Map<String, Value>,
        parent: RouteParent,
    ) -> Self {
        let https_code = config.spec.templating_settings.extra_context.get("sslRedirectCode");
        let https_code = https_code.and_then(Value::as_u64).unwrap_or(HTTPS_CODE);
        let plain = with_data(config, family, &Map::new());
        let config = with_data(config, family, data);
        let settings = |config: &ActiveConfig| Settings::of(&config.spec.templating_settings.extra_context);
        Self {
            family,
            settings: settings(&config),
            plain: settings(&plain),
            model: Classes::of(&config, &Snapshots::default()),
            https_code,
            parent,
            services: NotedServices::default(),
            ingresses: Vec::new(),
            numbers: HashMap::new(),
            names: BTreeSet::new(),
            outcomes: OnceCell::new(),
            classes: Vec::new(),
        }
    }

    /// Notes what Services and Ingresses in a file say. All files are noted before one is converted.
    ///
    /// # Errors
    /// As [`Self::convert`].
    pub fn note(&mut self, text: &str) -> Result<(), String> {
        self.outcomes.take();
        for document in documents(text) {
            let manifests = manifests(document, text)?;
            let refusal = refusal_of(document, &manifests)?;
            for ManifestInFile { value, .. } in manifests {
                if is_of_kind(&value, "Service") {
                    self.services.note(&value, &self.settings);
                } else if is_of_kind(&value, "Ingress") {
                    self.note_ingress(value, refusal);
                }
            }
        }
        Ok(())
    }

    fn note_ingress(&mut self, value: Value, refusal: Option<&str>) {
        self.names.insert(name_of(&value));
        if !is_of_classes(&value, &self.classes) {
            return;
        }
        let ingress = match refusal {
            Some(why) => Err(why.to_owned()),
            None if has_alias(&value) => Err("it has aliases of other lines: write them out".to_owned()),
            None => MovedIngress::read(&value),
        };
        let (namespace, name) = name_of(&value);
        let numbers = self.numbers.entry((namespace.clone(), name.clone())).or_default();
        numbers.push(self.ingresses.len());
        self.ingresses.push(NotedIngress { namespace, name, value, ingress });
    }

    /// What becomes of an Ingress, if it was noted.
    fn outcome(&self, value: &Value) -> Option<&IngressOutcome> {
        let outcomes = self.outcomes.get_or_init(|| self.outcomes_of_all());
        outcomes.get(self.number_of(value)?)
    }

    /// The number of an Ingress; of one that several files have, that of the first.
    fn number_of(&self, value: &Value) -> Option<usize> {
        let is_it = |number: &&usize| self.ingresses.get(**number).is_some_and(|one| one.value == *value);
        self.numbers.get(&name_of(value))?.iter().find(is_it).copied()
    }

    /// The file with routes in place of Ingresses.
    ///
    /// # Errors
    /// A sentence: it is no YAML.
    pub fn convert(&self, text: &str) -> Result<RoutedFile, String> {
        let mut file = RoutedFile::default();
        for document in documents(text) {
            let manifests = manifests(document, text)?;
            let is_asked = |one: &&ManifestInFile| {
                is_of_kind(&one.value, "Ingress") && is_of_classes(&one.value, &self.classes)
            };
            let mut new = None;
            for ManifestInFile { value, .. } in manifests.iter().filter(is_asked) {
                let ingress = match self.outcome(value) {
                    Some(Ok(routes)) => {
                        let (text, ingress) = replaced(document, value, routes)?;
                        new = Some(text);
                        ingress
                    }
                    Some(Err(why)) => refused(value, why),
                    None => refused(value, "it was not read before: give all Ingresses together"),
                };
                file.ingresses.push(ingress);
            }
            file.text += new.as_deref().unwrap_or(document);
        }
        Ok(file)
    }
}

/// The objects of a document; what is wrong with it is said of the whole file, by its lines.
fn manifests(document: &str, file: &str) -> Result<Vec<ManifestInFile>, String> {
    edit::manifests(document).map_err(|why| edit::manifests(file).err().unwrap_or(why))
}

/// What stands in the place of a document.
fn replaced(
    document: &str,
    value: &Value,
    outcome: &IngressRoutes,
) -> Result<(String, RoutedIngress), String> {
    let IngressRoutes { routes, notes, left, stays } = outcome;
    let marker = marker_of(document);
    let body = document.strip_prefix(marker).unwrap_or(document);
    let known: HashSet<&str> = body.lines().map(str::trim).collect();
    let mut text = marker.to_owned();
    let mut comment = |line: &str| {
        // What is said once is not said again.
        let line = format!("# {}", line.split_whitespace().collect::<Vec<_>>().join(" "));
        if !known.contains(&*line) {
            text += &format!("{line}\n");
        }
    };
    let others = left.iter().filter(|sentence| stays.as_ref() != Some(*sentence));
    let not_carried = others.map(|sentence| format!("not carried: {sentence}"));
    if let Some(why) = stays {
        comment(&format!("no HTTPRoute: {why}"));
        not_carried.for_each(|line| comment(&line));
        text += body;
    } else {
        let mut said = String::new();
        for line in edit::comments(body)? {
            said += &format!("{line}\n");
        }
        notes.iter().cloned().chain(not_carried).for_each(|line| comment(&line));
        text.insert_str(marker.len(), &said);
        for (number, route) in routes.iter().enumerate() {
            let printed = serde_saphyr::to_string(route).map_err(|why| why.to_string())?;
            text += if number > 0 { "---\n" } else { "" };
            text += &format!("{}\n", printed.trim_end());
        }
    }
    let (routes, left, stays) = (routes.len(), left.clone(), stays.clone());
    let ingress = RoutedIngress { name: full_name(value), routes, left, stays, refused: None };
    Ok((text, ingress))
}

fn full_name(value: &Value) -> String {
    let (namespace, name) = name_of(value);
    format!("{namespace}/{name}")
}

fn refused(value: &Value, why: &str) -> RoutedIngress {
    RoutedIngress { name: full_name(value), refused: Some(why.to_owned()), ..RoutedIngress::default() }
}

#[cfg(test)]
mod tests;
