//! The options that families make of the annotations of an Ingress, and of the Services that its routes lead to.

use super::{
    annotations::ReadAnnotations,
    effects::{IngressEffects, LevelEffects},
    family::Family,
    haproxy_ingress,
    haproxy_org::{self, custom_resources},
    ingress_nginx,
    settings::FamilySettings,
    translation::{About, Translation},
};
use crate::options::{
    Settings,
    value::{OptionValue, OptionValues},
};
use haptic_model::{Finding, FindingKind};
use std::{collections::BTreeMap, sync::Arc};

/// The most bytes that are translated for one Ingress: its annotations are read again for each Service of its routes that has some, too.
const MOST_TRANSLATED: usize = 4 << 20;

/// The least cost of a translation, in bytes that cost as much.
const LEAST_COST: usize = 1 << 10;

/// The options that families make of the annotations of an Ingress.
#[derive(Debug, Default)]
pub struct ForeignOptions {
    /// The effects on it as a whole.
    pub ingress: IngressEffects,
    /// The effects on its routes.
    pub own: LevelEffects,
    /// The same for routes to these Services, which have annotations of families.
    pub of_services: BTreeMap<Arc<str>, LevelEffects>,
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
        let mut ingress = IngressEffects::default();
        let mut level = |service: Option<&BTreeMap<String, String>>| {
            let mut level = LevelEffects::none();
            for family in families.clone() {
                let translation = translate(family, annotations, service, about, settings);
                ingress.merge(translation.ingress);
                level.merge(translation.level);
            }
            level
        };
        let own = level(None);
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
            LevelEffects { closed: true, ..LevelEffects::default() }
        };
        let of_services = services.iter().map(|(name, texts)| (name.clone(), of_service(texts))).collect();
        ingress.findings.extend((beyond > 0).then(|| too_many_services(beyond)));
        Self { ingress, own, of_services }
    }

    /// The effects on routes to a Service.
    #[must_use]
    pub fn level(&self, service: Option<&str>) -> &LevelEffects {
        service.and_then(|service| self.of_services.get(service)).unwrap_or(&self.own)
    }

    /// The effects on its routes, and on those to each Service with annotations of its own.
    pub fn levels(&self) -> impl Iterator<Item = &LevelEffects> {
        std::iter::once(&self.own).chain(self.of_services.values())
    }

    /// All of its routes are there, and nobody gets in.
    pub fn close(&mut self) {
        self.ingress.dropped = false;
        self.levels_mut().for_each(|level| level.closed = true);
    }

    fn levels_mut(&mut self) -> impl Iterator<Item = &mut LevelEffects> {
        std::iter::once(&mut self.own).chain(self.of_services.values_mut())
    }

    /// Takes a neighbour's certificates of clients for a host: they count for the whole Ingress.
    pub fn verify_clients(&mut self, client: Option<&OptionValues>, closed: bool) {
        for level in self.levels_mut() {
            level.closed |= closed;
            let values = &mut level.written.values;
            if let Some(client) = client.filter(|_| !values.contains_key("client-ca-secret")) {
                values.extend(client.iter().map(|(name, value)| (*name, value.clone())));
                if let Some(passes) = level.passes_certificate
                    && let Some(OptionValue::Headers(headers)) = values.get_mut("client-certificate-headers")
                {
                    *headers = haproxy_ingress::access::certificate_headers(headers, passes).into();
                }
            }
        }
    }

    /// Keeps out those that an Ingress beside it keeps out of the whole host.
    pub fn keep_out(&mut self, guards: &OptionValues) {
        for level in self.levels_mut() {
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
}

fn too_many_services(beyond: usize) -> Finding {
    let sentence = format!(
        "{beyond} Services of its routes have annotations that are not read, because they and those of the Ingress are too much \
         together: requests for these routes get 503. Make several Ingresses of it, or say less at the Services"
    );
    Finding::new(FindingKind::ForeignNotServed, sentence)
}

/// Translates the family's annotations of an Ingress, of the Service that a route of it leads to, and of its own ConfigMap.
#[must_use]
pub fn translate<'t>(
    family: &'t FamilySettings,
    ingress: &BTreeMap<String, String>,
    service: Option<&BTreeMap<String, String>>,
    about: About<'t>,
    settings: &'t Settings,
) -> Translation<'t> {
    let mut translation = Translation::new(family.family, about, settings);
    let mut said = ReadAnnotations::read(family, ingress, service, &mut translation);
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

/// The translations that take several keys.
fn groups_of(family: Family) -> &'static [fn(&ReadAnnotations<'_>, &mut Translation<'_>)] {
    match family {
        Family::IngressNginx => ingress_nginx::GROUPS,
        Family::HaproxyOrg => haproxy_org::GROUPS,
        Family::HaproxyIngress => haproxy_ingress::GROUPS,
    }
}
