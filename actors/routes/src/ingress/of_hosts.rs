//! What an Ingress says of its hosts for other Ingresses of its namespace.

use super::manifest::{CLASS_ANNOTATION, Ingress, Rule, TlsHosts, backend_of, paths_of, prefix_or_exact};
use crate::{
    app_root,
    claims::Backend,
    class::Classes,
    contest::Age,
    families::{
        About, Family, FamilySettings, ForeignOptions, HostOptions, Neighbours, PathRules,
        neighbours::HostOfNamespace, sign_in,
    },
    matching::host_of,
    options::value::{OptionValue, OptionValues},
};
use haptic_model::Object;
use memchr::memmem;
use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

/// Whether what a family's Ingress says of clients' certificates counts for its whole hosts, however paths are read.
pub(super) fn spreads(family: &&FamilySettings) -> bool {
    family.family == Family::HaproxyIngress
}

/// Whether each host of an Ingress with `spec.tls` has TLS, as in ingress-nginx (`createServers`), whichever hosts stand there.
pub(super) fn takes_all(family: &&FamilySettings) -> bool {
    family.family == Family::IngressNginx
}

/// The hosts of which all paths are regular expressions by what an Ingress says itself.
pub(super) fn hosts_of_patterns(rules: &[Rule], family: Option<&PathRules>) -> HashSet<Arc<str>> {
    let Some(family) = family else { return HashSet::new() };
    let is_of = |rule: &&Rule| family.patterns || family.rewrites(paths_of(rule).map(|(text, _)| text));
    rules.iter().filter(is_of).map(|rule| host_of(rule.host.as_deref().unwrap_or_default())).collect()
}

impl Neighbours {
    /// What an object says, if it is there, as far as its class reads such annotations.
    pub fn note(
        &mut self,
        object: &Object,
        is_there: bool,
        classes: &Classes,
        different: &mut HashSet<HostOfNamespace>,
    ) {
        if classes.reads_neighbours() {
            let nothing = || (Age::Unknown, Vec::new());
            let (age, said) = if is_there { host_options(&object.json.bytes(), classes) } else { nothing() };
            self.set(&object.reference, &age, said, different);
        }
    }
}

/// What the Ingress in `json` says of its hosts for other Ingresses of its namespace, with its age; nothing where its class is not ours
/// or reads no such annotations.
#[must_use]
pub fn host_options(json: &[u8], classes: &Classes) -> (Age, Vec<(Arc<str>, HostOptions)>) {
    const KEYS: [&str; 7] = [
        "/use-regex",
        "/rewrite-target",
        "/canary",
        "/auth-tls-secret",
        "/app-root",
        "/server-alias",
        "/server-snippet",
    ];
    let has = |key: &str| memmem::find(json, key.as_bytes()).is_some();
    let nothing = (Age::Unknown, Vec::new());
    let is_default = || classes.says_by_config(&["app-root", "server-alias"]);
    let (says, has_tls) = (KEYS.into_iter().any(has) || is_default(), has("\"tls\""));
    let may_have_program = sign_in::may_have_program(json);
    if !says && !has_tls && !may_have_program {
        return nothing;
    }
    let Ok(Ingress { metadata, spec }) = serde_json::from_slice(json) else { return nothing };
    let (spec, annotations) = (spec.unwrap_or_default(), metadata.annotations.unwrap_or_default());
    let class = spec.ingress_class_name.as_deref();
    let class = class.or(annotations.get(CLASS_ANNOTATION).map(String::as_str));
    if !classes.take(class) {
        return nothing;
    }
    let families: Vec<&FamilySettings> = classes.families_of(class).collect();
    let rules = spec.rules.unwrap_or_default();
    let mut all: BTreeMap<Arc<str>, HostOptions> = BTreeMap::new();
    let tls = TlsHosts::of(spec.tls.as_deref(), families.iter().any(takes_all));
    if families.iter().any(|family| family.family != Family::HaproxyOrg) {
        for host in tls.named(&rules) {
            all.entry(host).or_default().tls = true;
        }
    }
    if may_have_program && families.iter().any(spreads) {
        programs(&rules, &mut all);
    }
    let age = metadata.creation_timestamp.map_or(Age::Unknown, Age::Since);
    if !says {
        return (age, all.into_iter().collect());
    }
    let settings = classes.settings_of(class);
    let about = About { namespace: &metadata.namespace, name: &metadata.name, ..About::default() };
    let said = ForeignOptions::of(families.iter().copied(), &annotations, &[], about, settings);
    if said.dropped || (said.paths.is_none() && !families.iter().any(spreads)) {
        return (age, all.into_iter().collect());
    }
    let patterns = hosts_of_patterns(&rules, said.paths.as_ref());
    let verifies = |name: &str| name.starts_with("client-ca") || name.starts_with("client-certificate");
    let values = said.ingress.written.values.iter().filter(|(name, _)| verifies(name));
    let client: OptionValues = values.map(|(name, value)| (*name, value.clone())).collect();
    // Without the names that certificates must have, whoever has any of the authority's would get in.
    let lacks_names = has("/auth-tls-match-cn") && !client.contains_key("client-certificate-names");
    let closed = said.ingress.closed && has("/auth-tls-secret") && (client.is_empty() || lacks_names);
    let root = app_root::of_hosts(&said, families.iter().any(spreads));
    // They are names of the first host.
    let first = rules.first().map(|rule| host_of(rule.host.as_deref().unwrap_or_default()));
    let aliases: Vec<Arc<str>> = said.aliases.iter().map(|alias| host_of(alias)).collect();
    for rule in &rules {
        let host = host_of(rule.host.as_deref().unwrap_or_default());
        let of_host = all.entry(host.clone()).or_default();
        let Some(canary) = &said.canary else {
            of_host.patterns = patterns.contains(&host);
            (of_host.client, of_host.closed) = (client.clone(), closed);
            of_host.guards.clone_from(&said.over_host);
            if first.as_ref() == Some(&host) {
                of_host.aliases.clone_from(&aliases);
            }
            // Of those whose paths do not count the oldest one says it.
            let lengths = paths_of(rule).map(|(text, _)| text.len()).filter(|_| said.paths.is_some());
            let longest = lengths.max().unwrap_or_default();
            let known = of_host.root.take().filter(|(length, _)| *length >= longest);
            of_host.root = known.or_else(|| Some((longest, root.clone()?)));
            continue;
        };
        for (text, path) in paths_of(rule) {
            let Some(Ok(Backend { service, port })) = path.backend.as_ref().map(backend_of) else { continue };
            let mut options = canary.clone();
            options.insert("canary-service", OptionValue::Text(format!("{service}:{port}")));
            let path_type = prefix_or_exact(path.path_type.as_deref()).to_owned();
            of_host.canaries.entry((text.to_owned(), path_type)).or_insert(options);
        }
    }
    all.retain(|_, options| *options != HostOptions::default());
    (age, all.into_iter().collect())
}

/// Which paths lead to programs that may sign clients in.
fn programs(rules: &[Rule], all: &mut BTreeMap<Arc<str>, HostOptions>) {
    for rule in rules {
        let host = host_of(rule.host.as_deref().unwrap_or_default());
        for (text, path) in paths_of(rule) {
            let backend = path.backend.as_ref().and_then(|backend| backend_of(backend).ok());
            if let Some((path, backend)) = sign_in::path_of_program(text).zip(backend) {
                all.entry(host.clone()).or_default().programs.entry(path.to_owned()).or_insert(backend);
            }
        }
    }
}
