//! What families make of the annotations of an Ingress, and of the Services that its routes lead to.

use super::{
    answers::PathAnswer,
    family::Family,
    forms::ForeignForms,
    haproxy_ingress,
    haproxy_org::{self, custom_resources},
    ingress_nginx,
    paths::PathRules,
    settings::FamilySettings,
    sign_in::SignIn,
    translation::{About, Said, Translation},
};
use crate::options::{
    Settings, Written,
    value::{OptionValue, OptionValues},
};
use haptic_model::{Finding, FindingKind};
use std::{collections::BTreeMap, sync::Arc};

/// So many bytes are translated for one Ingress: what it says is read again for each Service of its routes that says something, too.
const MOST_TRANSLATED: usize = 4 << 20;

/// What a translation costs however little is said, in bytes that cost as much.
const LEAST_COST: usize = 1 << 10;

/// What families make of the annotations of an Ingress.
#[derive(Debug, Default)]
pub struct ForeignOptions {
    /// What counts for the Ingress.
    pub ingress: ForeignLevel,
    /// The same for routes to these Services, which have annotations of families.
    pub of_services: BTreeMap<Arc<str>, ForeignLevel>,
    /// Whether nothing of it is served.
    pub dropped: bool,
    /// Whether requests that do not meet the conditions of a route of it are refused, and lead to no other route of the host.
    pub refuses: bool,
    /// How its paths are read, where that is not as ours are.
    pub paths: Option<PathRules>,
    /// Of a canary, what the options of a route have whose requests it shares.
    pub canary: Option<OptionValues>,
    /// More names of its hosts.
    pub aliases: Vec<String>,
    /// Other hosts whose requests are redirected to its own, as far as nobody has routes there.
    pub redirected: Vec<String>,
    /// What paths begin with at which HTTP is not redirected to HTTPS.
    pub over_http: Vec<String>,
    /// What single paths of its hosts are answered.
    pub answers: Vec<PathAnswer>,
    /// Who is kept out of all routes of its hosts that have no lists of their own.
    pub over_host: OptionValues,
    /// What is said of them.
    pub findings: Vec<Finding>,
}

/// The options of one translation.
#[derive(Clone, Debug, Default)]
pub struct ForeignLevel {
    /// As if they were written.
    pub written: Written,
    /// Whether all requests get 503, whatever other levels say.
    pub closed: bool,
    /// Whether nothing leads there.
    pub left_out: bool,
    /// Who is kept out, whatever other levels say.
    pub blocked: Option<OptionValue>,
    /// How paths are compared.
    pub forms: ForeignForms,
    /// What clients are asked for that have not signed in.
    pub sign_in: Option<SignIn>,
    /// Whether servers get the certificate of a client as a whole, where that is not said of the host.
    pub passes_certificate: Option<bool>,
}

impl ForeignOptions {
    /// Of the families that count for an Ingress, for it and for `services` with annotations of their own. Routes to Services beyond
    /// [`MOST_TRANSLATED`] are closed: what guards them is not known.
    #[must_use]
    pub fn of<'f>(
        families: impl Iterator<Item = &'f FamilySettings> + Clone,
        annotations: &BTreeMap<String, String>,
        services: &[(Arc<str>, &BTreeMap<String, String>)],
        about: About<'_>,
        settings: &Settings,
    ) -> Self {
        let mut all = Self::default();
        let mut level = |service: Option<&BTreeMap<String, String>>| {
            let mut level = ForeignLevel::default();
            let mut values = BTreeMap::new();
            for family in families.clone() {
                let translation = translate(family, annotations, service, about, settings);
                level.closed |= translation.closed;
                level.left_out |= translation.left_out;
                level.blocked = all_of(level.blocked.take(), translation.blocked);
                all.dropped |= translation.dropped;
                all.refuses |= translation.refuses;
                all.paths = all.paths.take().or(translation.paths);
                all.canary = all.canary.take().or(translation.canary);
                all.aliases.extend(translation.aliases);
                all.redirected.extend(translation.redirected);
                all.over_host.extend(translation.over_host);
                let known = &all.answers;
                let news = translation.answers.into_iter().filter(|answer| !known.contains(answer));
                let news: Vec<PathAnswer> = news.collect();
                all.answers.extend(news);
                if all.over_http.is_empty() {
                    all.over_http = translation.over_http;
                }
                let known = &mut all.findings;
                let news = translation.findings.into_iter().filter(|finding| !known.contains(finding));
                known.extend(news.collect::<Vec<_>>());
                if level.forms == ForeignForms::default() {
                    level.forms = translation.forms;
                }
                level.sign_in = level.sign_in.take().or(translation.sign_in);
                level.passes_certificate = level.passes_certificate.or(translation.passes_certificate);
                // Of two families the first counts.
                values = translation.values.into_iter().chain(values).collect();
            }
            level.written = Written::of_others(values);
            level
        };
        let ingress = level(None);
        let cost = |texts: &BTreeMap<String, String>| -> usize {
            let read = texts.iter().filter(|(key, _)| families.clone().any(|family| family.family.has(key)));
            read.map(|(key, text)| key.len() + text.len()).sum()
        };
        let (of_ingress, mut left, mut beyond) = (LEAST_COST + cost(annotations), MOST_TRANSLATED, 0_usize);
        let mut of_service = |texts| {
            left = left.saturating_sub(of_ingress + cost(texts));
            if left > 0 {
                return level(Some(texts));
            }
            beyond += 1;
            ForeignLevel { closed: true, ..ForeignLevel::default() }
        };
        let of_services = services.iter().map(|(name, texts)| (name.clone(), of_service(texts))).collect();
        all.findings.extend((beyond > 0).then(|| too_many_services(beyond)));
        Self { ingress, of_services, ..all }
    }

    /// What is said of a host by its neighbours counts for the whole Ingress.
    pub fn verify_clients(&mut self, client: Option<&OptionValues>, closed: bool) {
        for level in std::iter::once(&mut self.ingress).chain(self.of_services.values_mut()) {
            level.closed |= closed;
            let values = &mut level.written.values;
            if let Some(client) = client.filter(|_| !values.contains_key("client-ca-secret")) {
                values.extend(client.iter().map(|(name, value)| (*name, value.clone())));
                if let Some(passes) = level.passes_certificate
                    && let Some(OptionValue::Headers(told)) = values.get_mut("client-certificate-headers")
                {
                    *told = haproxy_ingress::access::told(told, passes).into();
                }
            }
        }
    }

    /// Whom an Ingress beside it keeps out of the whole host.
    pub fn keep_out(&mut self, guards: &OptionValues) {
        for level in std::iter::once(&mut self.ingress).chain(self.of_services.values_mut()) {
            level.closed |= guards.contains_key("closed");
            let values = &mut level.written.values;
            // A location with lists of its own has none of its server. Whom the ConfigMap blocks is kept out of all, besides.
            let denied = values.get("deny-from");
            let has_denied = denied.is_some() && denied != level.blocked.as_ref();
            if !values.contains_key("allow-from") && !has_denied {
                values.extend(guards.iter().map(|(name, value)| (*name, value.clone())));
            }
        }
    }

    /// Whether the Ingress has no routes of its own.
    #[must_use]
    pub fn is_left_out(&self) -> bool {
        self.dropped || self.canary.is_some()
    }

    /// What counts for routes to a Service.
    #[must_use]
    pub fn level(&self, service: Option<&str>) -> &ForeignLevel {
        service.and_then(|service| self.of_services.get(service)).unwrap_or(&self.ingress)
    }
}

/// The networks of both.
fn all_of(first: Option<OptionValue>, second: Option<OptionValue>) -> Option<OptionValue> {
    match (first, second) {
        (Some(OptionValue::Networks(first)), Some(OptionValue::Networks(second))) => {
            Some(OptionValue::Networks(first.iter().chain(second.iter()).cloned().collect()))
        }
        (first, second) => first.or(second),
    }
}

fn too_many_services(beyond: usize) -> Finding {
    let sentence = format!(
        "{beyond} Services of its routes have annotations that are not read, because they and those of the Ingress are too much \
         together: requests for these routes get 503. Make several Ingresses of it, or say less at the Services"
    );
    Finding::new(FindingKind::ForeignNotServed, sentence)
}

/// What the family makes of annotations of an Ingress, of the Service that a route of it leads to, and of its own ConfigMap.
#[must_use]
pub fn translate<'t>(
    family: &'t FamilySettings,
    ingress: &BTreeMap<String, String>,
    service: Option<&BTreeMap<String, String>>,
    about: About<'t>,
    settings: &'t Settings,
) -> Translation<'t> {
    let mut translation = Translation::new(family.family, about, settings);
    let mut said = Said::read(family, ingress, service, &mut translation);
    let has_backend = family.family == Family::HaproxyOrg
        && about.referenced.is_some()
        && custom_resources::backend_of(&said, about.namespace).is_some();
    if has_backend {
        said.forget(custom_resources::replaces);
    }
    translation.drop_words(&said, ingress);
    translation.options_of(&said);
    for group in groups_of(family.family) {
        group(&said, &mut translation);
    }
    translation
}

/// What takes several keys to say.
fn groups_of(family: Family) -> &'static [fn(&Said<'_>, &mut Translation<'_>)] {
    match family {
        Family::IngressNginx => ingress_nginx::GROUPS,
        Family::HaproxyOrg => haproxy_org::GROUPS,
        Family::HaproxyIngress => haproxy_ingress::GROUPS,
    }
}
