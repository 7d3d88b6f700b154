//! Annotations of other controllers, in the cases of [fixtures/families](../../../fixtures/families): what their documentation and
//! source say of requests, asked of HAProxy 3.0, 3.2 and 3.4.

use crate::{
    SERIES,
    client::Answer,
    site::{Scheme, Site, configuration, rendered_for_with, sentences, snapshots, spec, surroundings},
};
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use haptic_model::{FindingKind, Findings};
use haptic_routes::{
    Routes,
    families::{About, Family, ForeignIngress, convert},
    options::Settings,
};
use integration_tests::program::HaproxySeries;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

mod moved;
mod reloads;
mod setups;
mod tries;

/// The class of Ingresses where theirs are taken over by their controller.
const CLASS: &str = "theirs";

/// Where the ConfigMap of their controller is.
const CONFIG_MAP: [&str; 2] = ["edge", "theirs"];

/// A file of cases, which one HAProxy serves together.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    /// The controller of theirs whose class the Ingresses have; without it all Ingresses are read.
    controller: Option<String>,
    /// What becomes of snippets.
    #[serde(default = "refuse")]
    snippets: String,
    /// Whether the operator lets TLS be passed through.
    #[serde(default)]
    passthrough: bool,
    /// What the setting `config` has.
    #[serde(default)]
    config: Map<String, Value>,
    /// What their ConfigMap has, which the setting `configMap` names.
    config_map: Option<BTreeMap<String, String>>,
    /// Kinds of findings at it, by key; no others are there.
    #[serde(default)]
    config_findings: BTreeMap<String, String>,
    /// Ingresses of namespace `shop` in short.
    #[serde(default)]
    ingresses: Vec<ShortIngress>,
    /// Annotations of Services.
    #[serde(default)]
    services: BTreeMap<String, BTreeMap<String, String>>,
    /// Secrets with their entries, without a label.
    #[serde(default)]
    secrets: BTreeMap<String, BTreeMap<String, String>>,
    /// ConfigMaps with their entries, without a label.
    #[serde(default)]
    maps: BTreeMap<String, BTreeMap<String, String>>,
    /// Other objects.
    #[serde(default)]
    objects: Vec<Value>,
    requests: Vec<Asked>,
    /// Parts of sentences that are told.
    #[serde(default)]
    told: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ShortIngress {
    name: String,
    #[serde(default = "shop")]
    namespace: String,
    #[serde(default)]
    created: Option<String>,
    /// Names without a slash are those of the family.
    #[serde(default)]
    annotations: BTreeMap<String, String>,
    /// Hosts with TLS.
    #[serde(default)]
    tls: Vec<String>,
    /// `HOST/PATH [TYPE] SERVICE`.
    at: Vec<String>,
    /// Kinds of findings, by annotation without its prefix.
    #[serde(default)]
    findings: BTreeMap<String, String>,
}

/// A request, and what its answer must have.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    /// `METHOD URL`.
    ask: String,
    /// Whole lines of headers.
    #[serde(default)]
    with: Vec<String>,
    /// Bytes of a body.
    #[serde(default)]
    body: usize,
    /// How often it is asked, each time with the same answer.
    #[serde(default = "once")]
    each: u32,
    /// How often it is sent; all but the last answer are not looked at.
    #[serde(default = "once")]
    times: u32,
    #[serde(default)]
    status: Option<u16>,
    #[serde(default)]
    service: Option<u8>,
    /// The path that the server gets.
    #[serde(default)]
    path: Option<String>,
    /// Headers that the server gets; null for one that it does not get.
    #[serde(default)]
    sent: BTreeMap<String, Option<String>>,
    /// Headers of the answer.
    #[serde(default)]
    headers: BTreeMap<String, Option<String>>,
    /// Headers of the answer, with `*` for whatever stands there.
    #[serde(default)]
    like: BTreeMap<String, String>,
}

fn shop() -> String {
    "shop".to_owned()
}

fn refuse() -> String {
    "refuse".to_owned()
}

fn once() -> u32 {
    1
}

/// Annotations with the family's prefix where they have none.
fn prefixed(annotations: &BTreeMap<String, String>, prefix: &str) -> BTreeMap<String, String> {
    let whole = |key: &String| if key.contains('/') { key.clone() } else { format!("{prefix}{key}") };
    annotations.iter().map(|(key, text)| (whole(key), text.clone())).collect()
}

impl ShortIngress {
    fn manifest(&self, prefix: &str, class: Option<&str>) -> Value {
        let rules: Vec<Value> = self.at.iter().map(|at| rule(at)).collect();
        let tls: Vec<Value> = match &self.tls[..] {
            [] => Vec::new(),
            hosts => vec![json!({ "hosts": hosts })],
        };
        let created = self.created.as_deref().unwrap_or("2024-01-01T00:00:00Z");
        json!({
            "kind": "Ingress",
            "metadata": {"namespace": self.namespace, "name": self.name, "annotations": prefixed(&self.annotations, prefix), "creationTimestamp": created},
            "spec": {"ingressClassName": class, "tls": tls, "rules": rules},
        })
    }
}

fn rule(at: &str) -> Value {
    let words: Vec<&str> = at.split(' ').collect();
    let (place, kind, service) = match words[..] {
        [place, service] => (place, "ImplementationSpecific", service),
        [place, kind, service] => (place, kind, service),
        _ => panic!("{at:?} is not HOST/PATH [TYPE] SERVICE"),
    };
    let (host, path) = place.split_at(place.find('/').unwrap());
    json!({"host": host, "http": {"paths": [
        {"path": path, "pathType": kind, "backend": {"service": {"name": service, "port": {"number": 80}}}}]}})
}

impl Cases {
    fn manifests(&self, prefix: &str) -> Vec<Value> {
        let services = self.services.iter().map(|(name, annotations)| {
            json!({"kind": "Service", "metadata": {"namespace": "shop", "name": name, "annotations": prefixed(annotations, prefix)},
                "spec": {"ports": [{"name": "web", "port": 80}]}})
        });
        let secrets = self.secrets.iter().map(|(name, entries)| {
            let data: Map<String, Value> =
                entries.iter().map(|(entry, text)| (entry.clone(), json!(BASE64.encode(text)))).collect();
            json!({"kind": "Secret", "metadata": {"namespace": "shop", "name": name}, "data": data})
        });
        let maps = self.maps.iter().map(|(name, entries)| {
            json!({"kind": "ConfigMap", "metadata": {"namespace": "shop", "name": name}, "data": entries})
        });
        let class = self.controller.as_ref().map(|controller| {
            json!({"kind": "IngressClass", "metadata": {"name": CLASS}, "spec": {"controller": controller}})
        });
        let ingresses = self.ingresses.iter().map(|one| one.manifest(prefix, class.as_ref().map(|_| CLASS)));
        let objects = self.objects.iter().cloned();
        let [namespace, name] = CONFIG_MAP;
        let config_map = self.config_map.iter().map(|data| {
            json!({"kind": "ConfigMap", "metadata": {"namespace": namespace, "name": name}, "data": data})
        });
        let all = ingresses.chain(services).chain(secrets).chain(maps).chain(objects).chain(config_map);
        all.chain(class.clone()).collect()
    }

    /// The configuration in which the family is read on all Ingresses.
    fn switch_on(&self, family: &str, spec: &mut Value) {
        let libraries = spec["libraries"].as_array_mut().unwrap();
        libraries.push(json!(format!("annotations-{family}")));
        let controllers: Vec<&String> = self.controller.iter().collect();
        spec["templatingSettings"]["extraContext"]["annotationFamilies"] = json!({
            family: {"takeControllers": controllers, "snippets": self.snippets, "config": self.config}
        });
        if self.passthrough {
            spec["templatingSettings"]["extraContext"]["passthrough"] = json!(true);
        }
        if self.config_map.is_some() {
            let settings = &mut spec["templatingSettings"]["extraContext"]["annotationFamilies"][family];
            settings["configMap"] = json!(CONFIG_MAP.join("/"));
        }
    }

    /// What is found at the ConfigMap and should not be, and the other way round.
    fn wrong_at_config_map(&self, findings: &Findings) -> Vec<String> {
        let [namespace, name] = CONFIG_MAP;
        let of_map =
            findings.iter().filter(|(object, _)| *object.namespace == *namespace && *object.name == *name);
        let found: BTreeMap<String, (String, String)> = of_map
            .map(|(_, finding)| {
                let key = finding.place.annotation.as_deref().unwrap_or_default();
                let key = key.strip_prefix("data.").unwrap_or(key).to_owned();
                (key, (finding.kind.name().to_owned(), finding.sentence.clone()))
            })
            .collect();
        let missing = self
            .config_findings
            .iter()
            .filter(|(key, kind)| found.get(*key).is_none_or(|(found, _)| found != *kind));
        let missing = missing.map(|(key, kind)| format!("ConfigMap: no finding {kind} at {key}: {found:?}"));
        let unexpected = found.iter().filter(|(key, _)| !self.config_findings.contains_key(*key));
        missing.chain(unexpected.map(|(_, (_, sentence))| format!("ConfigMap: {sentence}"))).collect()
    }

    /// What is not found at Ingresses, and annotations of the family that are not read at all.
    fn findings(&self, family: Family, manifests: &[Value]) -> Findings {
        let mut spec = spec(7080, 7443, 7084);
        self.switch_on(family.name(), &mut spec);
        let config = configuration(&spec);
        let objects: Vec<Value> = manifests.iter().cloned().chain(surroundings(8080)).collect();
        let mut routes = Routes::default();
        drop(routes.beside(&config, &snapshots(&config, &objects)));
        routes.findings()
    }

    fn not_found(&self, findings: &Findings) -> Vec<String> {
        let mut wrong = self.wrong_at_config_map(findings);
        for ShortIngress { name, findings: expected, .. } in &self.ingresses {
            let of_ingress = || findings.iter().filter(|(object, _)| *object.name == **name);
            let annotation = |finding: &haptic_model::Finding| {
                finding.place.annotation.as_deref().and_then(|key| key.rsplit('/').next().map(str::to_owned))
            };
            for (key, kind) in expected {
                let is_it = |finding: &haptic_model::Finding| {
                    finding.kind.name() == kind && annotation(finding).as_ref() == Some(key)
                };
                if !of_ingress().any(|(_, finding)| is_it(finding)) {
                    let all: Vec<_> = of_ingress().map(|(_, finding)| finding.sentence.clone()).collect();
                    wrong.push(format!("{name}: no finding {kind} at {key}: {all:?}"));
                }
            }
            if of_ingress().any(|(_, finding)| finding.kind == FindingKind::ForeignAnnotation) {
                wrong.push(format!("{name}: annotations are not read"));
            }
        }
        wrong
    }
}

impl Asked {
    fn send(&self, site: &Site) -> Answer {
        let (method, url) = self.ask.split_once(' ').unwrap();
        let (scheme, rest) = url.split_once("://").unwrap();
        let scheme = if scheme == "https" { Scheme::Https } else { Scheme::Http };
        let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let headers: String = self.with.iter().map(|line| format!("{line}\r\n")).collect();
        let ask = || site.ask(scheme, method, host, path, &headers, &"x".repeat(self.body));
        (1..self.times).for_each(|_| drop(ask()));
        ask()
    }

    /// What is otherwise than it should be.
    fn wrong(&self, answer: &Answer) -> Vec<String> {
        let line = answer.request_line().split(' ').nth(1).unwrap_or_default();
        let facts = [
            self.status.map(|status| ("status".to_owned(), status.to_string(), answer.status.to_string())),
            self.service.map(|number| {
                ("service".to_owned(), format!("{:?}", Some(number)), format!("{:?}", answer.service()))
            }),
            self.path.clone().map(|path| ("path".to_owned(), path, line.to_owned())),
        ];
        let told = |(name, value): (&String, &Option<String>), got: Option<&str>| {
            (name.clone(), format!("{:?}", value.as_deref()), format!("{got:?}"))
        };
        let sent = self.sent.iter().map(|(name, value)| told((name, value), answer.sent(name)));
        let headers = self.headers.iter().map(|(name, value)| told((name, value), answer.header(name)));
        let like = self
            .like
            .iter()
            .filter(|(name, form)| !answer.header(name).is_some_and(|got| has_form(got, form)));
        let like =
            like.map(|(name, form)| (name.clone(), form.clone(), format!("{:?}", answer.header(name))));
        let all = facts.into_iter().flatten().chain(sent).chain(headers).chain(like);
        let wrong = all.filter(|(_, expected, got)| expected != got);
        wrong.map(|(what, expected, got)| format!("{}: {what} is {got}, not {expected}", self.ask)).collect()
    }
}

/// Whether a text is `form`, whatever stands there for its `*`.
fn has_form(text: &str, form: &str) -> bool {
    let (start, end) = form.split_once('*').unwrap();
    text.strip_prefix(start).is_some_and(|rest| rest.ends_with(end))
}

/// Where the cases of a family are: below `HAPTIC_FAMILY_CASES`, for cases of somebody else's, or among ours.
fn folder_of(family: Family) -> PathBuf {
    let ours = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/families");
    std::env::var_os("HAPTIC_FAMILY_CASES").map_or_else(ours, PathBuf::from).join(family.name())
}

/// Asks what the cases of a family ask.
fn try_all(family: Family) {
    let folder = folder_of(family);
    let prefix = family.prefixes().first().unwrap();
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    let mut all_wrong = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let cases: Cases =
            serde_saphyr::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let (manifests, place) =
            (cases.manifests(prefix), file.file_name().unwrap().to_string_lossy().into_owned());
        let switch_on = |spec: &mut Value| cases.switch_on(family.name(), spec);
        let (_, told) = rendered_for_with(HaproxySeries::V3_4, &manifests, switch_on)
            .unwrap_or_else(|e| panic!("{place}: {}", sentences(&e)));
        // Of a namespace with many findings some are told.
        let findings = cases.findings(family, &manifests);
        let found = findings.iter().map(|(_, finding)| finding.sentence.clone());
        let told = std::iter::once(sentences(&told)).chain(found).collect::<Vec<_>>().join("\n");
        let untold = cases.told.iter().filter(|part| !told.contains(part.as_str()));
        let mut wrong: Vec<String> =
            untold.map(|part| format!("{place}: {part:?} is not told:\n{told}")).collect();
        wrong.extend(cases.not_found(&findings).into_iter().map(|why| format!("{place}: {why}")));
        for series in SERIES {
            let site = Site::start_with(series, &manifests, switch_on);
            for asked in &cases.requests {
                let answers = (0..asked.each).map(|_| asked.wrong(&asked.send(&site)));
                let of_answer = answers.into_iter().find(|wrong| !wrong.is_empty()).unwrap_or_default();
                wrong.extend(of_answer.into_iter().map(|why| format!("{place} on {series:?}: {why}")));
            }
        }
        all_wrong.extend(wrong);
    }
    assert!(all_wrong.is_empty(), "{} wrong:\n{}", all_wrong.len(), all_wrong.join("\n"));
}

/// Converts the annotations of the Ingresses among `manifests`; how many are converted.
fn converted(settings: &Settings, manifests: &mut [Value]) -> usize {
    let texts = |value: &Value| -> BTreeMap<String, String> {
        let all = value["metadata"]["annotations"].as_object().into_iter().flatten();
        all.filter_map(|(key, text)| Some((key.clone(), text.as_str()?.to_owned()))).collect()
    };
    let is = |value: &Value, kind: &str| value["kind"] == kind;
    let name = |value: &Value| value["metadata"]["name"].as_str().unwrap().to_owned();
    let services: Vec<(Arc<str>, BTreeMap<String, String>)> =
        manifests.iter().filter(|one| is(one, "Service")).map(|one| (name(one).into(), texts(one))).collect();
    let services: Vec<(Arc<str>, &BTreeMap<String, String>)> =
        services.iter().map(|(name, texts)| (name.clone(), texts)).collect();
    let mut count = 0;
    for ingress in manifests.iter_mut().filter(|one| is(one, "Ingress")) {
        let (annotations, tls) =
            (texts(ingress), ingress["spec"]["tls"].as_array().cloned().unwrap_or_default());
        let rules = ingress["spec"]["rules"].as_array().cloned().unwrap_or_default();
        let paths =
            rules.iter().flat_map(|rule| rule["http"]["paths"].as_array().cloned().unwrap_or_default());
        let paths: Vec<(String, Option<String>)> = paths
            .map(|path| {
                let service = path["backend"]["service"]["name"].as_str().map(str::to_owned);
                (path["path"].as_str().unwrap_or_default().to_owned(), service)
            })
            .collect();
        let (of_name, namespace) =
            (name(ingress), ingress["metadata"]["namespace"].as_str().unwrap().to_owned());
        let names_tls_hosts =
            tls.iter().any(|tls| tls["hosts"].as_array().is_some_and(|all| !all.is_empty()));
        let about = About {
            namespace: &namespace,
            name: &of_name,
            tls: !tls.is_empty(),
            names_tls_hosts,
            ..About::default()
        };
        let foreign = ForeignIngress { about, annotations: &annotations, paths: &paths, services: &services };
        let done = convert(&settings.families[0], &foreign, settings);
        count += done.removed.len();
        let Some(own) = ingress["metadata"]["annotations"].as_object_mut() else { continue };
        own.retain(|key, _| !done.removed.contains(key));
        own.extend(done.added.into_iter().map(|(key, text)| (key, json!(text))));
    }
    count
}

/// Ingresses with annotations of ours in place of theirs are rendered as they were.
fn convert_all(family: Family, least: usize) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/families").join(family.name());
    let prefix = family.prefixes().first().unwrap();
    let (mut count, mut wrong) = (0, Vec::new());
    for entry in std::fs::read_dir(&folder).unwrap() {
        let file = entry.unwrap().path();
        let cases: Cases = serde_saphyr::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        let switch_on = |spec: &mut Value| cases.switch_on(family.name(), spec);
        let mut spec = spec(7080, 7443, 7084);
        switch_on(&mut spec);
        let config =
            &mut spec["templatingSettings"]["extraContext"]["annotationFamilies"][family.name()]["config"];
        for (key, text) in cases.config_map.iter().flatten() {
            config.as_object_mut().unwrap().entry(key).or_insert_with(|| json!(text));
        }
        let settings = Settings::of(&configuration(&spec).spec.templating_settings.extra_context);
        let before = cases.manifests(prefix);
        let mut after = before.clone();
        count += converted(&settings, &mut after);
        let render = |manifests: &[Value]| {
            let rendered = rendered_for_with(HaproxySeries::V3_4, manifests, switch_on);
            rendered.unwrap_or_else(|e| panic!("{}: {}", file.display(), sentences(&e))).0
        };
        let (before, after) = (render(&before), render(&after));
        // The default certificate is another one with each render here.
        let texts = |bundle: &haptic_model::Bundle| -> Vec<String> {
            let files = std::iter::once(&bundle.config).chain(bundle.files.values());
            let files = files.filter(|file| !file.path.ends_with("default-tls.pem"));
            let lines = files.flat_map(|file| {
                let text = file.text.to_string();
                text.lines().map(|line| format!("{}: {line}", file.path)).collect::<Vec<_>>()
            });
            lines.collect()
        };
        let (before, after) = (texts(&before), texts(&after));
        if before == after {
            continue;
        }
        let gone = before.iter().filter(|line| !after.contains(line)).map(|line| format!("- {line}"));
        let new = after.iter().filter(|line| !before.contains(line)).map(|line| format!("+ {line}"));
        let lines: Vec<String> = gone.chain(new).take(12).collect();
        wrong.push(format!("{}:\n{}", file.display(), lines.join("\n")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= least, "only {count} annotations are converted");
}

#[test]
fn what_is_converted_is_rendered_as_it_was() {
    convert_all(Family::IngressNginx, 60);
    convert_all(Family::HaproxyOrg, 30);
    convert_all(Family::HaproxyIngress, 30);
}

#[test]
fn annotations_of_ingress_nginx_do_what_they_do_there() {
    try_all(Family::IngressNginx);
}

#[test]
fn annotations_of_haproxytech_do_what_they_do_there() {
    try_all(Family::HaproxyOrg);
}

#[test]
fn annotations_of_jcmoraisjr_do_what_they_do_there() {
    try_all(Family::HaproxyIngress);
}
