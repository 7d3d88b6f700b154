//! The demands of an Ingress (`networking.k8s.io/v1`).
//!
//! It is read once ([`ours`]), with what families make of its annotations ([`foreign`]). Of its rules and hosts come its routes ([`paths`],
//! [`hosts`]), of these their groups ([`groups`]); what is found at it comes last.

mod answers;
mod app_root;
pub(crate) mod auth_hosts;
pub mod class;
mod context;
mod foreign;
mod groups;
mod hosts;
mod manifest;
mod of_hosts;
mod ours;
mod own_options;
mod paths;
mod tls;

pub use context::IngressInputs;
pub use of_hosts::host_options;
pub use ours::IngressError;

use crate::{
    claims::{Claims, auth},
    families::{Family, ForeignOptions},
    findings::{foreign as foreign_annotations, nowhere},
    matching::path::Spelling,
    objects::{named_objects, services::Services},
    options::{
        self, Written,
        groups::{Annotations, Grouping},
    },
};
use class::Classes;
use context::NeighbourContext;
use groups::GroupedBy;
use haptic_model::{Finding, FindingKind};
use of_hosts::hosts_of_patterns;
use ours::OurIngress;
use serde_json::{Map, json};
use std::sync::Arc;

/// An Ingress of ours, and what of it is known to be asked for so far.
struct Reading<'r> {
    ingress: &'r OurIngress<'r>,
    claims: Claims,
    spelling: Spelling,
    grouping: Grouping<'r>,
    context: NeighbourContext<'r>,
    /// The faults that refuse the whole, in sentences.
    faults: Vec<String>,
}

/// The claims of the Ingress in `json`.
///
/// # Errors
/// When it is no Ingress, or its class is not ours.
pub fn claims(json: &[u8], classes: &Classes, inputs: &IngressInputs<'_>) -> Result<Claims, IngressError> {
    let ingress = OurIngress::read(json, classes)?;
    let of_service = |name: &str| inputs.services.written(&ingress.namespace, name);
    let mut reading = Reading::new(&ingress, classes.spelling, inputs, &of_service);
    reading.routes();
    Ok(reading.done(classes, inputs.services))
}

impl<'r> Reading<'r> {
    /// `of_service`: the options of a Service of its namespace.
    fn new(
        ingress: &'r OurIngress<'r>,
        spelling: Spelling,
        inputs: &IngressInputs<'r>,
        of_service: &'r dyn Fn(&str) -> Option<&'r Written>,
    ) -> Self {
        let mut foreign = ingress.foreign_options(inputs);
        let named = ingress.hosts_of_others(&foreign, inputs.neighbours);
        ingress.add_said_by_others(&mut foreign, &named, inputs.neighbours);
        let mut claims = Claims {
            age: ingress.age.clone(),
            // `internal/ingress/controller/store`: sorted by namespace and name from the last to the first, then by age.
            is_last_first: ingress.has(Family::IngressNginx),
            findings: std::mem::take(&mut foreign.ingress.findings),
            named,
            ..Claims::default()
        };
        let patterns = hosts_of_patterns(&ingress.rules, foreign.ingress.paths.as_ref());
        let mut annotations = Annotations::read(&ingress.annotations, ingress.settings).with(foreign);
        if annotations.close_unreadable() {
            let sentence =
                "it guards access, so nobody gets in where it is not served: requests for its paths get 503";
            claims.findings.push(Finding::new(FindingKind::ForeignUnreadable, sentence.to_owned()));
        }
        Self {
            ingress,
            claims,
            spelling,
            grouping: Grouping::new(ingress.name.clone(), annotations, ingress.settings, of_service),
            context: NeighbourContext::new(ingress, inputs, patterns),
            faults: Vec::new(),
        }
    }

    fn foreign(&self) -> &ForeignOptions {
        self.grouping.annotations().foreign()
    }

    fn found(&mut self, finding: Finding) {
        self.claims.findings.push(finding);
    }

    /// All of its routes, in the order in which they count, and its certificates.
    fn routes(&mut self) {
        let (ingress, is_served) = (self.ingress, !self.foreign().ingress.is_left_out());
        let rules = if is_served { &*ingress.rules } else { &[] };
        let mut hosts: Vec<Arc<str>> = Vec::new();
        for rule in rules {
            let Some(host) = self.host(rule.written_host(), true) else { continue };
            self.rule(&host, rule);
            hosts.push(host);
        }
        self.aliases(rules);
        self.answers();
        if let Some(backend) = ingress.default_backend.as_ref().filter(|_| is_served) {
            self.default_backend((!rules.is_empty()).then_some(&hosts), backend);
        }
        self.roots(&hosts);
        self.www(&hosts);
        self.redirected(&hosts);
        self.rest();
        self.certificates(&hosts, if is_served { &ingress.tls } else { &[] });
        self.passed();
        self.claims.mark_repeated();
    }

    /// The claims of it, with the groups of its routes and the findings at it.
    fn done(self, classes: &Classes, services: &Services) -> Claims {
        let Self { ingress, mut claims, grouping, faults, .. } = self;
        let OurIngress { namespace, name, settings, .. } = ingress;
        claims.client_ca = grouping.own().text("client-ca-secret").map(Arc::from);
        claims.default_certificate = settings.class.certificate();
        claims.left_to = classes.left_to(settings);
        claims.findings.extend(without_tls(&claims, &grouping));
        claims.findings.extend(app_root::in_vain(&grouping, &claims, &ingress.annotations));
        let says_code = grouping.annotations().says("redirect-code");
        let (groups, refused, ineffective) = grouping.done();
        let in_vain = || options::code_without_redirect(groups.iter().map(|group| &group.options));
        claims.findings.extend(says_code.then(in_vain).flatten());
        claims.findings.extend(ineffective);
        claims.named_objects = named_objects::named_by(groups.iter().map(|group| &group.options));
        claims.groups = GroupedBy { namespace, settings, shared: &classes.shared }.groups(groups);
        claims.asked = auth::services_of(namespace, &claims.groups);
        claims.looked_up = auth::looked_up(&claims.groups);
        claims.findings.extend(nowhere::found(&claims, namespace, services));
        claims.findings.extend(foreign_annotations::found(ingress.unread_annotations()));
        // Annotations of others are in the Ingress itself: they may be large, and no route needs them.
        let metadata = json!({ "namespace": namespace, "name": name });
        let faults: Vec<String> = refused.iter().map(ToString::to_string).chain(faults).collect();
        let fields = [("metadata", metadata), ("faults", json!(faults))];
        claims.fields =
            fields.map(|(name, value)| (name.to_owned(), value)).into_iter().collect::<Map<_, _>>().into();
        claims
    }
}

/// Options for TLS that the object gives itself, where none of its hosts has TLS that ends here.
fn without_tls(claims: &Claims, grouping: &Grouping<'_>) -> Vec<Finding> {
    let is_passed = claims.passed.as_ref().is_some_and(|passed| !passed.is_empty());
    if is_passed || claims.routes.iter().any(|route| route.tls) {
        return Vec::new();
    }
    let own = grouping.own();
    let of_tls = ["tls-alpn", "tls-ciphers", "tls-min-version"].into_iter();
    let given = of_tls.filter(|option| own.values.contains_key(option));
    let given = given.chain((own.text("ssl-redirect") == Some("true")).then_some("ssl-redirect"));
    given.filter(|option| grouping.annotations().says(option)).map(options::without_tls).collect()
}
