//! The options of an Ingress that count for its hosts in other Ingresses of its namespace.

use super::{
    app_root,
    class::Classes,
    manifest::{Rule, backend_of, paths_of, prefix_or_exact},
    ours::OurIngress,
};
use crate::{
    claims::Backend,
    families::{
        About, Family, ForeignOptions, HostOptions, Neighbours, PathRules, neighbours::HostOfNamespace,
        sign_in,
    },
    matching::host_of,
    options::value::{OptionValue, OptionValues},
    ownership::contest::Age,
};
use haptic_model::Object;
use memchr::memmem;
use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

/// Without one of these an Ingress says little of its hosts, and is not translated.
const KEYS: [&str; 7] = [
    "/use-regex",
    "/rewrite-target",
    "/canary",
    "/auth-tls-secret",
    "/app-root",
    "/server-alias",
    "/server-snippet",
];

type OptionsOfHosts = BTreeMap<Arc<str>, HostOptions>;

/// The options of an Ingress that is no canary for its whole hosts.
struct WholeHostOptions<'i> {
    said: &'i ForeignOptions,
    patterns: HashSet<Arc<str>>,
    client: OptionValues,
    closed: bool,
    root: Option<OptionValues>,
    /// More names of the first host.
    aliases: Vec<Arc<str>>,
}

impl Neighbours {
    /// Takes the options of an object, if it is there, as far as its class reads such annotations.
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

/// The hosts of which all paths are regular expressions by what an Ingress says itself.
pub(super) fn hosts_of_patterns(rules: &[Rule], family: Option<&PathRules>) -> HashSet<Arc<str>> {
    let Some(family) = family else { return HashSet::new() };
    let is_of = |rule: &&Rule| family.patterns || family.rewrites(paths_of(rule).map(|(text, _)| text));
    rules.iter().filter(is_of).map(Rule::compared_host).collect()
}

/// The options of the Ingress in `json` for its hosts in other Ingresses of its namespace, with its age; none where its class is not ours
/// or reads no such annotations.
#[must_use]
pub fn host_options(json: &[u8], classes: &Classes) -> (Age, Vec<(Arc<str>, HostOptions)>) {
    let nothing = (Age::Unknown, Vec::new());
    let is_said =
        KEYS.into_iter().any(|key| has(json, key)) || classes.says_by_config(&["app-root", "server-alias"]);
    let may_have_program = sign_in::may_have_program(json);
    // Most say nothing, and are not parsed.
    if !is_said && !may_have_program && !has(json, "\"tls\"") {
        return nothing;
    }
    let Ok(ingress) = OurIngress::read(json, classes) else { return nothing };
    let mut all = OptionsOfHosts::new();
    note_tls(&ingress, &mut all);
    if may_have_program && ingress.spreads() {
        note_programs(&ingress.rules, &mut all);
    }
    if is_said {
        note_said(&ingress, json, &mut all);
    }
    all.retain(|_, options| *options != HostOptions::default());
    (ingress.age, all.into_iter().collect())
}

fn has(json: &[u8], key: &str) -> bool {
    memmem::find(json, key.as_bytes()).is_some()
}

fn note_tls(ingress: &OurIngress<'_>, all: &mut OptionsOfHosts) {
    if ingress.family_that(|settings| settings.family != Family::HaproxyOrg).is_some() {
        for host in ingress.tls_hosts.named(&ingress.rules) {
            all.entry(host).or_default().tls = true;
        }
    }
}

/// Notes which paths lead to programs that may sign clients in.
fn note_programs(rules: &[Rule], all: &mut OptionsOfHosts) {
    for rule in rules {
        let host = rule.compared_host();
        for (text, path) in paths_of(rule) {
            let backend = path.backend.as_ref().and_then(|backend| backend_of(backend).ok());
            if let Some((path, backend)) = sign_in::path_of_program(text).zip(backend) {
                all.entry(host.clone()).or_default().programs.entry(path.to_owned()).or_insert(backend);
            }
        }
    }
}

/// Notes what families make of the annotations for the hosts of the rules.
fn note_said(ingress: &OurIngress<'_>, json: &[u8], all: &mut OptionsOfHosts) {
    let about = About { namespace: &ingress.namespace, name: &ingress.name, ..About::default() };
    let families = ingress.families.iter().copied();
    let said = ForeignOptions::of(families, &ingress.annotations, &[], about, ingress.settings);
    if said.ingress.dropped || (said.ingress.paths.is_none() && !ingress.spreads()) {
        return;
    }
    let whole = WholeHostOptions::of(ingress, &said, json);
    let first = ingress.rules.first().map(Rule::compared_host);
    for rule in &ingress.rules {
        let host = rule.compared_host();
        let of_host = all.entry(host.clone()).or_default();
        match &said.ingress.canary {
            Some(canary) => note_canaries(rule, canary, of_host),
            None => whole.note(rule, &host, first.as_ref() == Some(&host), of_host),
        }
    }
}

fn note_canaries(rule: &Rule, canary: &OptionValues, of_host: &mut HostOptions) {
    for (text, path) in paths_of(rule) {
        let Some(Ok(Backend { service, port })) = path.backend.as_ref().map(backend_of) else { continue };
        let mut options = canary.clone();
        options.insert("canary-service", OptionValue::Text(format!("{service}:{port}")));
        let path_type = prefix_or_exact(path.path_type.as_deref()).to_owned();
        of_host.canaries.entry((text.to_owned(), path_type)).or_insert(options);
    }
}

impl<'i> WholeHostOptions<'i> {
    fn of(ingress: &OurIngress<'_>, said: &'i ForeignOptions, json: &[u8]) -> Self {
        let verifies = |name: &str| name.starts_with("client-ca") || name.starts_with("client-certificate");
        let values = said.own.written.values.iter().filter(|(name, _)| verifies(name));
        let client: OptionValues = values.map(|(name, value)| (*name, value.clone())).collect();
        // Without the names that certificates must have, whoever has any of the authority's would get in.
        let lacks_names = has(json, "/auth-tls-match-cn") && !client.contains_key("client-certificate-names");
        let closed = said.own.closed && has(json, "/auth-tls-secret") && (client.is_empty() || lacks_names);
        Self {
            said,
            patterns: hosts_of_patterns(&ingress.rules, said.ingress.paths.as_ref()),
            client,
            closed,
            root: app_root::of_hosts(said, ingress.spreads()),
            aliases: said.ingress.aliases.iter().map(|alias| host_of(alias)).collect(),
        }
    }

    fn note(&self, rule: &Rule, host: &Arc<str>, is_first: bool, of_host: &mut HostOptions) {
        of_host.patterns = self.patterns.contains(host);
        of_host.client.clone_from(&self.client);
        of_host.closed = self.closed;
        of_host.guards.clone_from(&self.said.ingress.over_host);
        if is_first {
            of_host.aliases.clone_from(&self.aliases);
        }
        // Of those whose paths do not count the oldest one says it.
        let lengths =
            paths_of(rule).map(|(text, _)| text.len()).filter(|_| self.said.ingress.paths.is_some());
        let longest = lengths.max().unwrap_or_default();
        let known = of_host.root.take().filter(|(length, _)| *length >= longest);
        of_host.root = known.or_else(|| Some((longest, self.root.clone()?)));
    }
}
