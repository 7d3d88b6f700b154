//! What becomes of all Ingresses together: of some others decide whether they stay, and what their routes are called.

use super::{
    RouteConverter,
    hosts::KnownHosts,
    leftovers::Leftovers,
    manifest::{MovedIngress, MovedPath},
    noted::NotedIngress,
    order::{self, AskedPath},
    rules::{HostRules, RuleMaker},
    staying::{StayingIngress, beside_others},
};
use crate::migrate::convert::manifest::annotations_of;
use haptic_model::{FindingKind, host_name::is_host};
use haptic_routes::{
    families::{About, FamilySettings, ForeignOptions, convert::keys_naming_objects},
    options::groups::Annotations,
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

/// What asks for certificates, at an Ingress or a Gateway.
const CERT_MANAGER: &str = "cert-manager.io/";

/// The key of haproxytech that names an object which may keep requests out.
const BACKEND: &str = "cr-backend";

/// The key by which servers answer TLS themselves.
const PASSTHROUGH: &str = "ssl-passthrough";

/// What stands in the place of an Ingress.
#[derive(Debug, Default)]
pub(super) struct IngressRoutes {
    /// None where it stays.
    pub routes: Vec<Value>,
    /// What is to be known of them.
    pub notes: Vec<String>,
    pub left: Vec<String>,
    pub stays: Option<String>,
}

/// The same, or why an Ingress cannot be read or edited.
pub(super) type IngressOutcome = Result<IngressRoutes, String>;

/// An Ingress with what families make of its annotations.
struct ReadIngress<'i> {
    noted: &'i NotedIngress,
    ingress: &'i MovedIngress,
    annotations: BTreeMap<String, String>,
    services: Vec<(Arc<str>, &'i BTreeMap<String, String>)>,
    about: About<'i>,
    foreign: ForeignOptions,
}

/// Hosts with the same rules, and these.
pub(super) type RulesOfHosts = (Vec<String>, HostRules);

/// An Ingress whose rules are made.
struct MadeIngress {
    hosts: Vec<RulesOfHosts>,
    notes: Vec<String>,
    left: Vec<String>,
    stays: Option<String>,
}

/// Namespace, host, path and its type.
type PathPlace<'i> = (&'i str, &'i str, &'i str, &'i str);

impl RouteConverter {
    /// Of each Ingress that was noted.
    pub(super) fn outcomes_of_all(&self) -> Vec<IngressOutcome> {
        let hosts = KnownHosts::of(&self.ingresses, &self.model);
        let read: Vec<Result<ReadIngress<'_>, String>> =
            self.ingresses.iter().map(|noted| self.read(noted, &hosts)).collect();
        let mut mains: HashMap<PathPlace<'_>, String> = HashMap::new();
        for one in read.iter().flatten().filter(|one| one.foreign.ingress.canary.is_none()) {
            for place in places(one) {
                mains.entry(place).or_insert_with(|| full_name(one.noted));
            }
        }
        let mut made: Vec<Result<MadeIngress, String>> = Vec::new();
        for one in read {
            made.push(one.map(|one| match one.foreign.ingress.canary {
                Some(_) => canary(&one, &mains),
                None => self.made(one, &hosts),
            }));
        }
        self.keep_order(&mut made);
        self.keep_together(&mut made);
        let hosts = made.iter().map(|made| match made {
            Ok(MadeIngress { hosts, stays: None, .. }) => hosts.as_slice(),
            _ => &[],
        });
        let routes = self.written(hosts.collect());
        let outcome = |(made, routes): (Result<MadeIngress, String>, Vec<Value>)| {
            made.map(|MadeIngress { notes, left, stays, .. }| IngressRoutes { routes, notes, left, stays })
        };
        made.into_iter().zip(routes).map(outcome).collect()
    }

    fn read<'i>(&'i self, noted: &'i NotedIngress, hosts: &KnownHosts) -> Result<ReadIngress<'i>, String> {
        let ingress = noted.ingress.as_ref().map_err(Clone::clone)?;
        let annotations = annotations_of(&noted.value);
        let services = self.services.annotations(&noted.namespace, ingress);
        let is_beside_tls = || ingress.hosts().into_iter().any(|host| hosts.has_tls(&noted.namespace, host));
        let about = About {
            tls: !ingress.spec.tls.is_empty() || is_beside_tls(),
            names_tls_hosts: ingress.names_tls_hosts(),
            namespace: &noted.namespace,
            name: &noted.name,
            ..About::default()
        };
        let families = self.settings.families.iter();
        let foreign = ForeignOptions::of(families, &annotations, &services, about, &self.settings);
        Ok(ReadIngress { noted, ingress, annotations, services, about, foreign })
    }

    /// The rules of an Ingress that is no canary.
    fn made(&self, read: ReadIngress<'_>, hosts: &KnownHosts) -> MadeIngress {
        let ReadIngress { noted, ingress, annotations, services, about, foreign } = read;
        let nothing = BTreeMap::new();
        let families = self.plain.families.iter();
        let plain = ForeignOptions::of(families, &nothing, &[], about, &self.plain);
        let plain = Annotations::read(&nothing, &self.plain).with(plain).of(None, None, &self.plain);
        let mut left = Leftovers::new(self.family, &annotations);
        self.leave(&foreign, &mut left);
        for family in self.settings.families.iter() {
            leave_named(family, &annotations, &services, &mut left);
        }
        if let Some(annotation) = annotations.keys().find(|key| key.starts_with(CERT_MANAGER)) {
            left.say(format!("{annotation}: cert-manager reads its annotations at the Gateway"));
        }
        let mut maker = RuleMaker {
            namespace: &noted.namespace,
            ingress,
            settings: &self.settings,
            https_code: self.https_code,
            services: &self.services,
            hosts,
            written: Annotations::read(&annotations, &self.settings).with(foreign),
            plain,
            left,
        };
        let hosts = rules_of(ingress, &mut maker);
        let mut left = maker.left;
        for host in ingress.hosts().into_iter().filter(|host| !host.is_empty()) {
            if !is_host(host) {
                left.keep(format!("host {host:?} is none that a route may have"));
            } else if host.starts_with("*.") {
                left.say("hosts that begin with *. take one label; those of a route take several".to_owned());
            }
        }
        if hosts.iter().all(|(_, rules)| rules.all.is_empty()) {
            left.keep("it has no path that a route could have".to_owned());
        }
        let notes = self.notes_of_tls(&noted.namespace, ingress);
        MadeIngress { hosts, notes, left: left.said, stays: left.stays }
    }

    /// What the family's annotations say that is no option of a path.
    fn leave(&self, foreign: &ForeignOptions, left: &mut Leftovers<'_>) {
        let has_no_effect = |kind: FindingKind| {
            matches!(kind, FindingKind::ForeignNotServed | FindingKind::ForeignUnreadable)
        };
        for finding in foreign.ingress.findings.iter().filter(|finding| has_no_effect(finding.kind)) {
            let annotation = finding.place.annotation.as_deref();
            match annotation.and_then(|annotation| self.family.behind_prefix(annotation)) {
                Some(PASSTHROUGH) => left.keep(finding.sentence.clone()),
                _ => left.say(finding.sentence.clone()),
            }
        }
        if foreign.ingress.dropped {
            left.keep("its annotations have nothing of it served".to_owned());
        }
        if !foreign.ingress.over_host.is_empty() {
            left.keep("whom it keeps out of its whole hosts".to_owned());
        }
        if foreign.ingress.refuses {
            left.keep("which requests its routes refuse".to_owned());
        }
        if !foreign.ingress.answers.is_empty() {
            left.keep("what single paths of its hosts are answered".to_owned());
        }
        for (names, what) in [
            (&foreign.ingress.aliases, "other names of its hosts"),
            (&foreign.ingress.redirected, "hosts that are redirected"),
        ] {
            if !names.is_empty() {
                left.say(format!("{what}: {}", names.join(", ")));
            }
        }
    }

    /// Ingresses stay whose paths a Gateway would ask in another order.
    fn keep_order(&self, all: &mut [Result<MadeIngress, String>]) {
        let mut asked: BTreeMap<(&str, &str), Vec<(usize, &AskedPath)>> = BTreeMap::new();
        for (number, (noted, made)) in self.ingresses.iter().zip(all.iter()).enumerate() {
            if self.number_of(&noted.value).is_some_and(|first| first < number) {
                continue;
            }
            for (hosts, rules) in made.iter().flat_map(|made| &made.hosts) {
                for host in hosts {
                    let of_host = asked.entry((&noted.namespace, host)).or_default();
                    of_host.extend(rules.asked.iter().map(|path| (number, path)));
                }
            }
        }
        let conflict = |((_, host), paths): ((&str, &str), Vec<(usize, &AskedPath)>)| {
            let ((number, path), (other, beside)) = order::conflict(&paths)?;
            let name = self.ingresses.get(other).filter(|_| other != number).map(full_name);
            let of = name.map(|name| format!(" of Ingress {name}")).unwrap_or_default();
            let of_host = if host.is_empty() { "all hosts".to_owned() } else { format!("host {host}") };
            let sentence = format!(
                "paths {:?} and {:?}{of} for {of_host}: a Gateway would ask them in another order, because it does not see how long one is that ignores case",
                path.path, beside.path
            );
            Some((number, sentence))
        };
        let staying: Vec<(usize, String)> = asked.into_iter().filter_map(conflict).collect();
        for (number, sentence) in staying {
            if let Some(Ok(made)) = all.get_mut(number) {
                made.stays.get_or_insert(sentence);
            }
        }
    }

    /// Ingresses stay that have a host of one which does.
    fn keep_together(&self, all: &mut [Result<MadeIngress, String>]) {
        let staying = |(noted, made): (&'_ NotedIngress, &Result<MadeIngress, String>)| StayingIngress {
            namespace: noted.namespace.clone(),
            name: full_name(noted),
            hosts: hosts_of(noted),
            stays: made.as_ref().map_or(true, |made| made.stays.is_some()),
        };
        let staying: Vec<StayingIngress> = self.ingresses.iter().zip(all.iter()).map(staying).collect();
        for (number, sentence) in beside_others(&staying) {
            if let Some(Ok(made)) = all.get_mut(number) {
                made.stays.get_or_insert(sentence);
            }
        }
    }

    /// Which certificates listeners must have.
    fn notes_of_tls(&self, namespace: &str, ingress: &MovedIngress) -> Vec<String> {
        let listener = self.parent.section.as_ref().map(|section| format!("listener {section}"));
        let listener = listener.unwrap_or_else(|| "the HTTPS listener".to_owned());
        let (of, name) = (&self.parent.namespace, &self.parent.name);
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

fn full_name(noted: &NotedIngress) -> String {
    format!("{}/{}", noted.namespace, noted.name)
}

/// The hosts of an Ingress, also of one that cannot be read as a whole.
fn hosts_of(noted: &NotedIngress) -> BTreeSet<String> {
    if let Ok(ingress) = &noted.ingress {
        return ingress.hosts().into_iter().map(str::to_owned).collect();
    }
    let rules = noted.value.pointer("/spec/rules").and_then(Value::as_array).into_iter().flatten();
    let host =
        |rule: &Value| rule.get("host").and_then(Value::as_str).unwrap_or_default().to_ascii_lowercase();
    rules.map(host).collect()
}

fn places<'i>(read: &ReadIngress<'i>) -> impl Iterator<Item = PathPlace<'i>> {
    let namespace = read.noted.namespace.as_str();
    read.ingress.places().map(move |(host, path)| (namespace, host, path.path.as_str(), path.kind()))
}

/// A canary is a part of the routes of the Ingresses whose requests it shares.
fn canary(read: &ReadIngress<'_>, mains: &HashMap<PathPlace<'_>, String>) -> MadeIngress {
    let mut names: BTreeSet<&String> = BTreeSet::new();
    let mut stays = None;
    for place in places(read) {
        let (_, host, path, _) = place;
        match mains.get(&place) {
            Some(name) => _ = names.insert(name),
            None => {
                stays.get_or_insert_with(|| {
                    format!(
                        "it is a canary, and no Ingress with path {path:?} of {host:?} is converted with it"
                    )
                });
            }
        }
    }
    let note = |name| format!("the canary is part of the HTTPRoute of Ingress {name}");
    let notes = names.into_iter().map(note).collect();
    MadeIngress { hosts: Vec::new(), notes, left: Vec::new(), stays }
}

/// What objects say that are named: they change by themselves, and are not read here.
fn leave_named(
    family: &FamilySettings,
    annotations: &BTreeMap<String, String>,
    services: &[(Arc<str>, &BTreeMap<String, String>)],
    left: &mut Leftovers<'_>,
) {
    for key in keys_naming_objects(family, annotations, services) {
        let sentence = format!("{key}: the object that it names says more, and is not read");
        if key == BACKEND { left.keep(sentence) } else { left.say(sentence) }
    }
}

/// The rules of each group of hosts.
fn rules_of(ingress: &MovedIngress, maker: &mut RuleMaker<'_>) -> Vec<RulesOfHosts> {
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let mut hosts: Vec<(&str, Vec<&MovedPath>)> = Vec::new();
    for rule in &ingress.spec.rules {
        let number = *numbers.entry(rule.host.as_str()).or_insert(hosts.len());
        match hosts.get_mut(number) {
            Some((_, paths)) => paths.extend(&rule.http.paths),
            None => hosts.push((rule.host.as_str(), rule.http.paths.iter().collect())),
        }
    }
    let mut groups: Vec<RulesOfHosts> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for (host, paths) in hosts {
        let rules = maker.host(host, &paths);
        // A route for all hosts has no others.
        let key =
            if host.is_empty() { String::new() } else { json!([rules.all, rules.in_clear]).to_string() };
        let number = *known.entry(key).or_insert(groups.len());
        match groups.get_mut(number) {
            Some((hosts, _)) => hosts.push(host.to_owned()),
            None => groups.push((vec![host.to_owned()], rules)),
        }
    }
    if ingress.spec.default_backend.is_some() {
        maker.left.say("spec.defaultBackend: make a route without hostnames of it".to_owned());
    }
    groups
}
