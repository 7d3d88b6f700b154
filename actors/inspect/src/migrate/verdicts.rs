//! The verdicts.

use super::{
    CONFIG_MAPS, ConfigMapName, MigratedObject, MigrationNote, MigrationReport, MigrationTotals,
    MigrationVerdict, PortConfigMaps, TCP_RESOURCES, with_data,
};
use MigrationVerdict::{Cannot, Differs, Same};
use haptic_model::{ActiveConfig, Finding, FindingKind, Object, ObjectRef, Snapshots};
use haptic_routes::{
    Routes,
    families::{Family, FamilyKey, KeyOutcome, KeyPlace, KeyTarget},
};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

/// The annotation that named the class before `spec.ingressClassName` did.
pub(super) const CLASS_ANNOTATION: &str = "kubernetes.io/ingress.class";

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct MigratedManifest {
    metadata: ManifestMetadata,
    spec: Option<ManifestSpec>,
    data: Option<BTreeMap<String, String>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ManifestMetadata {
    annotations: Option<BTreeMap<String, String>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ManifestSpec {
    ingress_class_name: Option<String>,
}

/// What becomes of the objects in `snapshots`, which `config` watches, of Ingresses those of `classes`, or all where these are empty.
///
/// # Errors
/// When a ConfigMap is not there.
pub fn check(
    family: Family,
    config: &ActiveConfig,
    snapshots: &Snapshots,
    config_map: Option<&ConfigMapName>,
    ports: &PortConfigMaps,
    classes: &[String],
) -> Result<MigrationReport, String> {
    let mut objects = Vec::new();
    let mut data = Map::new();
    if let Some(named) = config_map {
        objects.push(of_config_map(family, snapshots, named)?);
        data = config_map_data(snapshots, named)?;
    }
    let mut routes = Routes::default();
    // The stores beside are of no interest, only what is found.
    drop(routes.beside(&with_data(config, family, &data), snapshots));
    let mut found: HashMap<Arc<ObjectRef>, Vec<Finding>> = HashMap::new();
    for (object, finding) in routes.findings().iter() {
        found.entry(object.clone()).or_default().push(finding.clone());
    }
    for (store, kind, place) in
        [("ingresses", "Ingress", KeyPlace::Ingress), ("services", "Service", KeyPlace::Service)]
    {
        for object in snapshots.get(store).into_iter().flat_map(|store| store.iter()) {
            let Some(manifest) = read(object) else { continue };
            let annotations = manifest.metadata.annotations.as_ref();
            let class = manifest.spec.as_ref().and_then(|spec| spec.ingress_class_name.as_deref());
            let class = class.or_else(|| annotations?.get(CLASS_ANNOTATION).map(String::as_str));
            if place == KeyPlace::Ingress {
                if !classes.is_empty() && class.is_none_or(|class| !classes.iter().any(|one| one == class)) {
                    continue;
                }
            } else if !annotations.is_some_and(|all| all.keys().any(|key| family.has(key)))
                || !family.reads_services()
            {
                continue;
            }
            let mut notes = of_annotations(family, place, annotations);
            let findings = found.remove(&object.reference).unwrap_or_default();
            notes.extend(findings.iter().map(|finding| of_finding(family, finding)));
            objects.push(migrated(kind, &object.reference, notes));
        }
    }
    for (kind, object) in asking_for_ports(config, snapshots, ports)? {
        let findings = found.remove(&object.reference).unwrap_or_default();
        let notes = findings.iter().map(|finding| of_port(family, finding)).collect();
        objects.push(migrated(kind, &object.reference, notes));
    }
    let mut totals = MigrationTotals { objects: objects.len(), ..MigrationTotals::default() };
    for object in &objects {
        match object.verdict {
            Same => totals.same += 1,
            Differs => totals.differs += 1,
            Cannot => totals.cannot += 1,
        }
    }
    Ok(MigrationReport { family: family.name(), totals, objects })
}

/// The ConfigMaps with lists of ports, and custom resources that ask for some.
fn asking_for_ports<'s>(
    config: &ActiveConfig,
    snapshots: &'s Snapshots,
    ports: &PortConfigMaps,
) -> Result<Vec<(&'static str, &'s Arc<Object>)>, String> {
    let mut all = Vec::new();
    for (store, named) in ports.named() {
        all.push(("ConfigMap", config_map(snapshots, store, named)?));
    }
    let watched = config.spec.watched_resources.iter().filter(|(_, of)| of.resources == TCP_RESOURCES);
    for store in watched.filter_map(|(store, _)| snapshots.get(store)) {
        all.extend(store.iter().map(|object| ("TCP", object)));
    }
    Ok(all)
}

/// What is found at one of these. Nobody listens at a port that the operator does not list.
fn of_port(family: Family, finding: &Finding) -> MigrationNote {
    let note = of_finding(family, finding);
    match finding.kind {
        FindingKind::OptionWithoutEffect => MigrationNote { verdict: Differs, ..note },
        _ => note,
    }
}

fn read(object: &Object) -> Option<MigratedManifest> {
    serde_json::from_slice(&object.json.bytes()).ok()
}

fn migrated(kind: &'static str, object: &ObjectRef, mut notes: Vec<MigrationNote>) -> MigratedObject {
    notes.sort_by(|a, b| (b.verdict, &a.annotation).cmp(&(a.verdict, &b.annotation)));
    notes.dedup();
    let verdict = notes.iter().map(|note| note.verdict).max().unwrap_or(Same);
    MigratedObject { kind, namespace: object.namespace.clone(), name: object.name.clone(), verdict, notes }
}

/// What the table says of annotations wherever their values are good; of those that have no effect the translation tells.
fn of_annotations(
    family: Family,
    place: KeyPlace,
    annotations: Option<&BTreeMap<String, String>>,
) -> Vec<MigrationNote> {
    let keys = annotations.into_iter().flatten().filter_map(|(annotation, text)| {
        let key = family.key(family.behind_prefix(annotation)?)?;
        let is_same = key.same.contains(&text.trim());
        (key.places.contains(&place) && !is_same).then_some((annotation, key))
    });
    let noted = keys.filter_map(|(annotation, key)| {
        let (verdict, sentence) = match key.outcome {
            KeyOutcome::Differs(how) => (Differs, how),
            KeyOutcome::Finding(instead) if place == KeyPlace::Service => (Cannot, instead),
            KeyOutcome::Served | KeyOutcome::ServedBut(_) | KeyOutcome::Finding(_) => return None,
        };
        Some(note(Some(annotation), verdict, sentence, options_of(key)))
    });
    noted.collect()
}

/// What the ConfigMap says.
///
/// # Errors
/// When it is not there.
pub fn config_map_data(snapshots: &Snapshots, named: &ConfigMapName) -> Result<Map<String, Value>, String> {
    let data = read(config_map(snapshots, CONFIG_MAPS, named)?)
        .and_then(|manifest| manifest.data)
        .unwrap_or_default();
    Ok(data.into_iter().map(|(key, text)| (key, Value::from(text))).collect())
}

fn config_map<'s>(
    snapshots: &'s Snapshots,
    store: &str,
    named: &ConfigMapName,
) -> Result<&'s Arc<Object>, String> {
    let ConfigMapName { namespace, name } = named;
    let object = snapshots.get(store).and_then(|store| store.get(namespace, name));
    object.ok_or_else(|| format!("there is no ConfigMap {namespace}/{name}"))
}

fn of_config_map(
    family: Family,
    snapshots: &Snapshots,
    named: &ConfigMapName,
) -> Result<MigratedObject, String> {
    let object = config_map(snapshots, CONFIG_MAPS, named)?;
    let data = read(object).and_then(|manifest| manifest.data).unwrap_or_default();
    let notes = data.iter().filter_map(|(name, text)| {
        let Some(key) = family.key(name) else {
            return Some(note(Some(name), Same, "its own controller does not know it", Vec::new()));
        };
        match key.outcome {
            KeyOutcome::Served => None,
            _ if key.same.contains(&text.trim()) => None,
            KeyOutcome::Differs(how) | KeyOutcome::ServedBut(how) => {
                Some(note(Some(name), Differs, how, options_of(key)))
            }
            KeyOutcome::Finding(instead) => Some(note(Some(name), Cannot, instead, Vec::new())),
        }
    });
    Ok(migrated("ConfigMap", &object.reference, notes.collect()))
}

/// What is found at an Ingress. What has no effect there either is no difference.
fn of_finding(family: Family, finding: &Finding) -> MigrationNote {
    use FindingKind as Kind;
    let annotation = finding.place.annotation.as_deref();
    let key = annotation.and_then(|annotation| family.behind_prefix(annotation));
    let has_effect_there = key.is_none_or(|name| {
        let key = family.key(name);
        key.is_some_and(|key| key.places.iter().any(|place| *place != KeyPlace::Config))
    });
    let verdict = match finding.kind {
        Kind::ForeignNotServed if !has_effect_there => Same,
        Kind::ForeignNotServed
        | Kind::ForeignUnreadable
        | Kind::BackendInvalid
        | Kind::HostInvalid
        | Kind::PathInvalid
        | Kind::HostConflict
        | Kind::TooManyRoutes
        | Kind::ObjectUnreadable => Cannot,
        Kind::ForeignDiffers | Kind::RouteConflict | Kind::ClientCaConflict => Differs,
        _ => Same,
    };
    let options = key.and_then(|name| family.key(name)).map(options_of).unwrap_or_default();
    note(annotation, verdict, &finding.sentence, options)
}

fn note(
    annotation: Option<&str>,
    verdict: MigrationVerdict,
    sentence: &str,
    options: Vec<&'static str>,
) -> MigrationNote {
    MigrationNote {
        annotation: annotation.map(str::to_owned),
        verdict,
        sentence: sentence.to_owned(),
        options,
    }
}

pub(super) fn options_of(key: &FamilyKey) -> Vec<&'static str> {
    match key.to {
        KeyTarget::Option(option) => vec![option],
        KeyTarget::Group(options) => options.to_vec(),
        KeyTarget::Nothing | KeyTarget::Alias(_) => Vec::new(),
    }
}
