//! HTTPRoutes in place of Ingresses: `haptic migrate convert --to httproutes`.
//!
//! What an Ingress asks for is read by the route model; what fields and filters of an HTTPRoute say as well is carried. What they do not
//! say stands in comments, and where something guards access that is not carried, the Ingress stays.

mod filters;
mod leftovers;
mod manifest;
mod paths;
mod rules;

use super::{
    Family, annotations_of,
    edit::{self, ManifestInFile},
    is_of_classes, is_of_kind, name_of,
};
use crate::migrate::{verdicts::CLASS_ANNOTATION, with_data};
use haptic_model::{ActiveConfig, FindingKind};
use haptic_routes::{
    families::{About, ForeignOptions, neighbours::OptionValues},
    options::{PREFIX, Settings, groups::Annotations, value::OptionValue},
};
use leftovers::Leftovers;
use manifest::{MovedIngress, MovedPath};
use rules::{HostRules, RuleMaker};
use serde_json::{Map, Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    str::FromStr,
    sync::Arc,
};

/// So many rules, and so many hostnames, a route has.
const MOST: usize = 16;

/// The ports of HTTP and of HTTPS.
const IN_CLEAR: u16 = 80;
const OVER_TLS: u16 = 443;

/// The status of redirects to HTTPS where the library `ssl` says none.
const HTTPS_CODE: u64 = 308;

/// What asks for certificates, at an Ingress or a Gateway.
const CERT_MANAGER: &str = "cert-manager.io/";

/// What `kubectl apply` notes of the Ingress.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

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
    https_code: u64,
    parent: RouteParent,
    known: KnownManifests,
    /// Ingresses of these classes alone; all where it is empty.
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

/// Namespace, host, path and its type.
type PathPlace = (String, String, String, String);

/// What a Service says.
#[derive(Debug)]
struct NotedService {
    annotations: BTreeMap<String, String>,
    /// Numbers of ports by their names.
    ports: BTreeMap<String, u16>,
}

/// What is known of all manifests.
#[derive(Debug, Default)]
struct KnownManifests {
    /// By namespace and name.
    services: BTreeMap<(String, String), NotedService>,
    ingresses: Vec<Value>,
    /// Which of them has a path, if it is no canary.
    mains: BTreeMap<PathPlace, usize>,
    canaries: BTreeMap<PathPlace, OptionValues>,
    /// Hosts of namespaces of which all paths are expressions.
    patterns: BTreeSet<(String, String)>,
}

impl KnownManifests {
    fn port(&self, namespace: &str, service: &str, port: &str) -> Option<u16> {
        self.services.get(&(namespace.to_owned(), service.to_owned()))?.ports.get(port).copied()
    }

    fn canary(&self, namespace: &str, host: &str, path: &MovedPath) -> Option<&OptionValues> {
        self.canaries.get(&place(namespace, host, path))
    }

    fn has_patterns(&self, namespace: &str, host: &str) -> bool {
        self.patterns.contains(&(namespace.to_owned(), host.to_owned()))
    }
}

fn place(namespace: &str, host: &str, path: &MovedPath) -> PathPlace {
    (namespace.to_owned(), host.to_owned(), path.path.clone(), path.kind().to_owned())
}

/// What stands in the place of an Ingress.
struct IngressRoutes {
    routes: Vec<Value>,
    /// What is to be known of them.
    notes: Vec<String>,
    left: Vec<String>,
    stays: Option<String>,
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
        let of = |data: &Map<String, Value>| {
            Settings::of(&with_data(config, family, data).spec.templating_settings.extra_context)
        };
        let https_code = config.spec.templating_settings.extra_context.get("sslRedirectCode");
        Self {
            family,
            settings: of(data),
            plain: of(&Map::new()),
            https_code: https_code.and_then(Value::as_u64).unwrap_or(HTTPS_CODE),
            parent,
            known: KnownManifests::default(),
            classes: Vec::new(),
        }
    }

    /// Notes what Services and Ingresses in a file say of each other.
    ///
    /// # Errors
    /// As [`Self::convert`].
    pub fn note(&mut self, text: &str) -> Result<(), String> {
        for ManifestInFile { value, .. } in edit::manifests(text)? {
            if is_of_kind(&value, "Service") {
                let service = NotedService { annotations: annotations_of(&value), ports: ports_of(&value) };
                self.known.services.insert(name_of(&value), service);
            } else if is_of_kind(&value, "Ingress") {
                self.note_ingress(value);
            }
        }
        Ok(())
    }

    fn note_ingress(&mut self, value: Value) {
        let Ok(ingress) = serde_json::from_value::<MovedIngress>(value.clone()) else { return };
        let (namespace, name) = name_of(&value);
        let foreign = self.foreign(&annotations_of(&value), &[], about(&namespace, &name, &ingress));
        for rule in &ingress.spec.rules {
            let paths = || rule.http.paths.iter();
            let is_pattern = foreign.paths.as_ref().is_some_and(|rules| {
                rules.patterns || rules.rewrites(paths().map(|path| path.path.as_str()))
            });
            if is_pattern && foreign.canary.is_none() {
                self.known.patterns.insert((namespace.clone(), rule.host.clone()));
            }
            for path in paths() {
                let at = place(&namespace, &rule.host, path);
                let Some(canary) = &foreign.canary else {
                    self.known.mains.entry(at).or_insert(self.known.ingresses.len());
                    continue;
                };
                let Some(service) = &path.backend.service else { continue };
                let mut options = canary.clone();
                let backend = format!("{}:{}", service.name, service.port.text());
                options.insert("canary-service", OptionValue::Text(backend));
                self.known.canaries.entry(at).or_insert(options);
            }
        }
        self.known.ingresses.push(value);
    }

    fn foreign(
        &self,
        annotations: &BTreeMap<String, String>,
        services: &[(Arc<str>, &BTreeMap<String, String>)],
        about: About<'_>,
    ) -> ForeignOptions {
        ForeignOptions::of(self.settings.families.iter(), annotations, services, about, &self.settings)
    }

    /// The file with routes in place of Ingresses.
    ///
    /// # Errors
    /// A sentence: it is no YAML.
    pub fn convert(&self, text: &str) -> Result<RoutedFile, String> {
        let mut file = RoutedFile::default();
        for document in documents(text) {
            let manifests = edit::manifests(document)?;
            let is_asked = |one: &&ManifestInFile| {
                is_of_kind(&one.value, "Ingress") && is_of_classes(&one.value, &self.classes)
            };
            let ingresses: Vec<&ManifestInFile> = manifests.iter().filter(is_asked).collect();
            if let [ManifestInFile { value, is_item: false, .. }] = ingresses[..] {
                let (text, ingress) = self.replaced(document, value)?;
                file.text += &text;
                file.ingresses.push(ingress);
                continue;
            }
            file.text += document;
            let why = "it is one of a list: write it as a document of its own";
            file.ingresses.extend(ingresses.iter().map(|one| refused(&one.value, why)));
        }
        Ok(file)
    }

    /// What stands in the place of a document.
    fn replaced(&self, document: &str, value: &Value) -> Result<(String, RoutedIngress), String> {
        let routes = match self.routes_of(value) {
            Ok(routes) => routes,
            Err(why) => return Ok((document.to_owned(), refused(value, &why))),
        };
        let IngressRoutes { routes, notes, left, stays } = routes;
        let first = document.split_inclusive('\n').next().filter(|line| line.starts_with("---"));
        let marker = first.unwrap_or_default();
        let behind = marker.trim_start_matches('-').trim();
        if !behind.is_empty() && !behind.starts_with('#') {
            let why = "it begins in the line with ---: write it below";
            return Ok((document.to_owned(), refused(value, why)));
        }
        let body = document.strip_prefix(marker).unwrap_or(document);
        let mut text = marker.to_owned();
        let mut comment = |line: &str| {
            // What is said once is not said again.
            let line = format!("# {}", line.split_whitespace().collect::<Vec<_>>().join(" "));
            if !body.lines().any(|known| known.trim() == line) {
                text += &format!("{line}\n");
            }
        };
        let others = left.iter().filter(|sentence| stays.as_ref() != Some(*sentence));
        let not_carried = others.map(|sentence| format!("not carried: {sentence}"));
        if let Some(why) = &stays {
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
        let routes = if stays.is_some() { 0 } else { routes.len() };
        let ingress = RoutedIngress { name: full_name(value), routes, left, stays, refused: None };
        Ok((text, ingress))
    }

    fn routes_of(&self, value: &Value) -> Result<IngressRoutes, String> {
        if has_alias(value) {
            return Err("it has aliases of other lines: write them out".to_owned());
        }
        let (namespace, name) = name_of(value);
        let ingress: MovedIngress =
            serde_json::from_value(value.clone()).map_err(|why| format!("it cannot be read: {why}"))?;
        let annotations = annotations_of(value);
        let about = about(&namespace, &name, &ingress);
        let services = self.services_of(&namespace, &ingress);
        let foreign = self.foreign(&annotations, &services, about);
        if foreign.canary.is_some() {
            return Ok(self.canary(&namespace, &ingress));
        }
        let nothing = BTreeMap::new();
        let families = self.plain.families.iter();
        let plain = ForeignOptions::of(families, &nothing, &[], about, &self.plain);
        let plain = Annotations::read(&nothing, &self.plain).with(plain).of(None, None, &self.plain);
        let mut left = Leftovers::new(self.family, &annotations);
        leave(&foreign, &mut left);
        if let Some(annotation) = annotations.keys().find(|key| key.starts_with(CERT_MANAGER)) {
            left.say(format!("{annotation}: cert-manager reads its annotations at the Gateway"));
        }
        let mut maker = RuleMaker {
            namespace: &namespace,
            settings: &self.settings,
            https_code: self.https_code,
            known: &self.known,
            written: Annotations::read(&annotations, &self.settings).with(foreign),
            plain,
            tls: &ingress.spec.tls,
            left,
        };
        let hosts = rules_of(&ingress, &mut maker);
        let mut left = maker.left;
        if hosts.iter().any(|(names, _)| names.iter().any(|name| name.starts_with("*."))) {
            left.say("hosts that begin with *. take one label; those of a route take several".to_owned());
        }
        let routes = self.written(value, &hosts);
        if routes.is_empty() {
            left.keep("it has no path that a route could have".to_owned());
        }
        let notes = self.notes_of_tls(&namespace, &ingress);
        Ok(IngressRoutes { routes, notes, left: left.said, stays: left.stays })
    }

    /// A canary is a part of the routes of the Ingress whose requests it shares.
    fn canary(&self, namespace: &str, ingress: &MovedIngress) -> IngressRoutes {
        let mut names = BTreeSet::new();
        let mut stays = None;
        for rule in &ingress.spec.rules {
            for path in &rule.http.paths {
                let at = self.known.mains.get(&place(namespace, &rule.host, path));
                let main = at.and_then(|at| self.known.ingresses.get(*at));
                let routes =
                    main.filter(|main| is_of_classes(main, &self.classes)).map(|main| self.routes_of(main));
                match (main, routes) {
                    (Some(main), Some(Ok(IngressRoutes { stays: None, .. }))) => {
                        names.insert(full_name(main));
                    }
                    _ => {
                        stays.get_or_insert_with(|| {
                            format!(
                                "it is a canary, and the Ingress with path {:?} of {:?} is not among the manifests, or stays",
                                path.path, rule.host
                            )
                        });
                    }
                }
            }
        }
        let note = |name: String| format!("the canary is part of the HTTPRoute of Ingress {name}");
        IngressRoutes {
            routes: Vec::new(),
            notes: names.into_iter().map(note).collect(),
            left: Vec::new(),
            stays,
        }
    }

    /// What the Services say that its paths lead to.
    fn services_of(
        &self,
        namespace: &str,
        ingress: &MovedIngress,
    ) -> Vec<(Arc<str>, &BTreeMap<String, String>)> {
        let names: BTreeSet<String> =
            ingress.paths().into_iter().filter_map(|(_, service)| service).collect();
        let of = |name: String| {
            let service = self.known.services.get(&(namespace.to_owned(), name.clone()))?;
            Some((Arc::<str>::from(name), &service.annotations))
        };
        names.into_iter().filter_map(of).collect()
    }

    /// The routes of groups of hosts with the same rules.
    fn written(&self, value: &Value, hosts: &[(Vec<String>, HostRules)]) -> Vec<Value> {
        let metadata = metadata_of(value, self.family);
        let name = name_of(value).1;
        let mut routes = Vec::new();
        let mut names: BTreeMap<&str, usize> = BTreeMap::new();
        for (hostnames, rules) in hosts {
            let (first, in_clear) = match rules.is_redirected {
                true => (Some(OVER_TLS), Some(("-http", Some(IN_CLEAR), &rules.in_clear))),
                false => (None, None),
            };
            for (end, port, rules) in std::iter::once(("", first, &rules.all)).chain(in_clear) {
                for (hostnames, rules) in parts(hostnames, rules) {
                    let number = names.entry(end).or_default();
                    *number += 1;
                    let more = if *number > 1 { format!("-{number}") } else { String::new() };
                    let mut metadata = metadata.clone();
                    metadata.insert("name".to_owned(), json!(format!("{name}{end}{more}")));
                    let mut spec = Map::from_iter([
                        ("parentRefs".to_owned(), json!([self.parent.reference(port)])),
                        ("rules".to_owned(), json!(rules)),
                    ]);
                    // Without them it is for all hosts.
                    if hostnames.iter().all(|host| !host.is_empty()) {
                        spec.insert("hostnames".to_owned(), json!(hostnames));
                    }
                    routes.push(json!({
                        "apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": metadata, "spec": spec,
                    }));
                }
            }
        }
        routes
    }

    /// Which certificates listeners must have.
    fn notes_of_tls(&self, namespace: &str, ingress: &MovedIngress) -> Vec<String> {
        let RouteParent { namespace: of, name, section } = &self.parent;
        let listener = section.as_ref().map(|section| format!("listener {section}"));
        let listener = listener.unwrap_or_else(|| "the HTTPS listener".to_owned());
        let note = |secret: &str, hosts: &[String]| {
            let hosts = if hosts.is_empty() { "all hosts".to_owned() } else { hosts.join(", ") };
            format!(
                "TLS: {listener} of Gateway {of}/{name} for {hosts} must have Secret {namespace}/{secret}"
            )
        };
        let secrets = ingress.spec.tls.iter().filter(|tls| !tls.secret_name.is_empty());
        secrets.map(|tls| note(&tls.secret_name, &tls.hosts)).collect()
    }
}

/// Hosts and rules, no more of each than a route has.
fn parts<'p>(hostnames: &'p [String], rules: &'p [Value]) -> Vec<(&'p [String], &'p [Value])> {
    let mut all = Vec::new();
    for hostnames in hostnames.chunks(MOST) {
        all.extend(rules.chunks(MOST).map(|rules| (hostnames, rules)));
    }
    all
}

fn about<'a>(namespace: &'a str, name: &'a str, ingress: &MovedIngress) -> About<'a> {
    About {
        tls: !ingress.spec.tls.is_empty(),
        names_tls_hosts: ingress.names_tls_hosts(),
        namespace,
        name,
        ..About::default()
    }
}

/// What the family's annotations say that is no option of a path.
fn leave(foreign: &ForeignOptions, left: &mut Leftovers<'_>) {
    let has_no_effect =
        |kind: FindingKind| matches!(kind, FindingKind::ForeignNotServed | FindingKind::ForeignUnreadable);
    for finding in foreign.findings.iter().filter(|finding| has_no_effect(finding.kind)) {
        left.say(finding.sentence.clone());
    }
    if foreign.dropped {
        left.keep("its annotations have nothing of it served".to_owned());
    }
    if !foreign.over_host.is_empty() {
        left.keep("whom it keeps out of its whole hosts".to_owned());
    }
    for (names, what) in
        [(&foreign.aliases, "other names of its hosts"), (&foreign.redirected, "hosts that are redirected")]
    {
        if !names.is_empty() {
            left.say(format!("{what}: {}", names.join(", ")));
        }
    }
}

/// The rules of each group of hosts.
fn rules_of(ingress: &MovedIngress, maker: &mut RuleMaker<'_>) -> Vec<(Vec<String>, HostRules)> {
    let mut hosts: Vec<(&str, Vec<&MovedPath>)> = Vec::new();
    for rule in &ingress.spec.rules {
        match hosts.iter_mut().find(|(host, _)| *host == rule.host) {
            Some((_, paths)) => paths.extend(&rule.http.paths),
            None => hosts.push((rule.host.as_str(), rule.http.paths.iter().collect())),
        }
    }
    let mut groups: Vec<(Vec<String>, HostRules)> = Vec::new();
    for (host, paths) in hosts {
        let rules = maker.host(host, &paths);
        let is_of = |(hosts, known): &&mut (Vec<String>, HostRules)| {
            *known == rules && !host.is_empty() && hosts.iter().all(|known| !known.is_empty())
        };
        match groups.iter_mut().find(is_of) {
            Some((hosts, _)) => hosts.push(host.to_owned()),
            None => groups.push((vec![host.to_owned()], rules)),
        }
    }
    let service = ingress.spec.default_backend.as_ref().map(|backend| backend.service.as_ref());
    match (service, groups.is_empty()) {
        (Some(Some(service)), true) => {
            let all = maker.rest(service).into_iter().collect();
            groups.push((vec![String::new()], HostRules { all, ..HostRules::default() }));
        }
        (Some(_), _) => {
            maker.left.say("spec.defaultBackend: make a route without hostnames of it".to_owned())
        }
        (None, _) => {}
    }
    groups
}

/// Metadata of the Ingress that a route has as well.
fn metadata_of(value: &Value, family: Family) -> Map<String, Value> {
    let mut metadata = Map::new();
    for field in ["namespace", "labels"] {
        if let Some(value) = value.pointer(&format!("/metadata/{field}")) {
            metadata.insert(field.to_owned(), value.clone());
        }
    }
    let is_of_both = |annotation: &str| {
        !family.has(annotation)
            && !annotation.starts_with(PREFIX)
            && ![CLASS_ANNOTATION, LAST_APPLIED].contains(&annotation)
    };
    let mut annotations = annotations_of(value);
    annotations.retain(|annotation, _| is_of_both(annotation));
    if !annotations.is_empty() {
        metadata.insert("annotations".to_owned(), json!(annotations));
    }
    metadata
}

/// The ports of a Service that have names.
fn ports_of(service: &Value) -> BTreeMap<String, u16> {
    let ports = service.pointer("/spec/ports").and_then(Value::as_array).into_iter().flatten();
    let one = |port: &Value| {
        let text = |field: &str| port.get(field).and_then(Value::as_str);
        Some((text("name")?.to_owned(), text("port")?.parse::<u16>().ok()?))
    };
    ports.filter_map(one).collect()
}

fn full_name(value: &Value) -> String {
    let (namespace, name) = name_of(value);
    format!("{namespace}/{name}")
}

fn refused(value: &Value, why: &str) -> RoutedIngress {
    RoutedIngress { name: full_name(value), refused: Some(why.to_owned()), ..RoutedIngress::default() }
}

/// Whether something of it stands elsewhere in the file.
fn has_alias(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(all) => all.iter().any(has_alias),
        Value::Object(all) => all.values().any(has_alias),
        _ => false,
    }
}

/// The documents of a file, each with the line that begins it.
fn documents(text: &str) -> Vec<&str> {
    let (mut all, mut start, mut at) = (Vec::new(), 0, 0);
    for line in text.split_inclusive('\n') {
        let behind = line.strip_prefix("---");
        let is_marker =
            behind.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']));
        if is_marker && at > start {
            all.extend(text.get(start..at));
            start = at;
        }
        at += line.len();
    }
    all.extend(text.get(start..));
    all
}

#[cfg(test)]
mod tests;
