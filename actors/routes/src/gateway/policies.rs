//! BackendTLSPolicies: which one counts for a port of a Service, how its servers are asked then, and what is said of each.
//!
//! https://gateway-api.sigs.k8s.io/api-types/backendtlspolicy/. A policy for a port comes before one for the whole Service; of two for the same the
//! older one counts. What a policy asks for and cannot be done is not done otherwise: no request is sent. A policy for several Services counts where
//! it can: which of them another one has tells nothing of the others.

use super::{
    authorities::{AuthorityText, PolicyAuthorities},
    conditions::{met, unmet},
    objects::{GROUP, GatewayResource, ObjectReference, PolicySpec, RouteSeniority},
    parsed::ParsedObjects,
    reached::ReachedServices,
};
use haptic_model::{
    gateway::{NamespacedName, ParentVerdict, PolicyVerdict, StatusCondition},
    host_name::is_host,
};
use haptic_text::Digest;
use serde_json::json;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// The most ancestors in a status that the API takes.
const MOST_ANCESTORS: usize = 16;

/// How servers are asked over TLS.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct BackendTls {
    /// The policy that says so.
    pub policy: NamespacedName,
    /// The name that is asked for, and that certificates must be for.
    pub hostname: Arc<str>,
    /// Certificates of authorities; those of the machine where there are none.
    pub authorities: Option<Arc<PolicyAuthorities>>,
    /// The certificate that is shown.
    pub client: Option<BackendClient>,
}

impl BackendTls {
    /// A word that tells from all others how servers are asked: whatever of it is another one is another backend, so that it takes no reload.
    pub fn word(&self) -> String {
        let client = self.client.iter().flat_map(|client| [&client.secret.0, &client.secret.1]);
        let words = std::iter::once(&self.hostname)
            .chain(client)
            .flat_map(|word| [word.as_bytes(), b"\0".as_slice()]);
        let authorities =
            self.authorities.iter().map(|authorities| authorities.digest().as_bytes().as_slice());
        Digest::of_pieces(words.chain(authorities)).short()
    }
}

/// The certificate that servers are shown by a Gateway.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct BackendClient {
    pub gateway: NamespacedName,
    /// The Secret that has it.
    pub secret: NamespacedName,
}

#[derive(Debug, Default, PartialEq)]
pub(super) struct BackendPolicies {
    /// By Service and, where it is for one port only, the name of that.
    counting: BTreeMap<(NamespacedName, Option<Arc<str>>), CountingPolicy>,
    evaluated: BTreeMap<NamespacedName, EvaluatedPolicy>,
    /// The Services that any of them is for.
    targets: BTreeSet<NamespacedName>,
}

/// The policy that counts for a port: how it is asked, or why it is not.
type CountingPolicy = Result<Arc<BackendTls>, String>;

/// A reason of the API, and a sentence.
type Refusal = (&'static str, String);

/// The surroundings that policies are evaluated by.
#[derive(Clone, Copy)]
pub(super) struct PolicySurroundings<'s> {
    /// The certificates of a ConfigMap, or why there are none.
    pub authority: &'s dyn Fn(&NamespacedName) -> Result<AuthorityText, String>,
    /// Whether a Service may have a port of that name: one that is not known may.
    pub has_port: &'s dyn Fn(&NamespacedName, &str) -> bool,
}

#[derive(Debug, PartialEq)]
struct EvaluatedPolicy {
    generation: i64,
    /// Why it is fulfilled nowhere.
    refused: Option<Refusal>,
    resolved: StatusCondition,
    targets: Vec<EvaluatedTarget>,
}

/// A Service, or a port of it, that a policy is for.
#[derive(Debug, PartialEq)]
struct EvaluatedTarget {
    service: NamespacedName,
    port: Option<Arc<str>>,
    /// Why the policy does not count there.
    refused: Option<Refusal>,
}

impl EvaluatedTarget {
    /// As sentences name it.
    fn display(&self) -> String {
        let port = self.port.as_ref().map(|port| format!(", port {port}")).unwrap_or_default();
        format!("Service {}{port}", self.service.1)
    }
}

impl EvaluatedPolicy {
    /// The condition of it at a Gateway through which some of its targets are reached.
    fn accepted(&self, reached: &[&EvaluatedTarget]) -> StatusCondition {
        let refused: Vec<&Refusal> = reached.iter().filter_map(|target| target.refused.as_ref()).collect();
        let Some((reason, _)) = refused.first() else {
            return match &self.refused {
                Some((reason, why)) => unmet("Accepted", reason, why.clone()),
                None => met("Accepted", "Accepted", "the policy is in force"),
            };
        };
        let mut reasons: Vec<String> = refused.iter().map(|(_, why)| why.clone()).collect();
        let is_counting = |target: &&&EvaluatedTarget| target.refused.is_none() && self.refused.is_none();
        let counting = reached.iter().filter(is_counting);
        reasons.extend(counting.map(|target| format!("it counts for {}", target.display())));
        unmet("Accepted", reason, reasons.join("; "))
    }
}

impl BackendPolicies {
    pub fn of(
        policies: &ParsedObjects<GatewayResource<PolicySpec>>,
        surroundings: PolicySurroundings<'_>,
    ) -> Self {
        let mut oldest: Vec<(RouteSeniority, &Arc<GatewayResource<PolicySpec>>)> =
            policies.iter().map(|(_, policy)| (policy.metadata.seniority(), policy)).collect();
        oldest.sort_by(|(one, _), (other, _)| one.cmp(other));
        let mut all = Self::default();
        for (_, policy) in oldest {
            all.take(policy, surroundings);
        }
        all
    }

    fn take(&mut self, policy: &GatewayResource<PolicySpec>, surroundings: PolicySurroundings<'_>) {
        let (namespace, name) = policy.metadata.key();
        let (tls, resolved) = read(policy, surroundings.authority);
        let tls = tls.map_err(|(reason, why)| {
            (reason, format!("BackendTLSPolicy {namespace}/{name} cannot be fulfilled: {why}"))
        });
        let asked =
            policy.spec.target_refs.iter().filter(|one| one.group.is_empty() && one.kind == "Service");
        let targets = asked.map(|one| {
            let (service, port) = ((namespace.clone(), one.name.clone()), one.section_name.clone());
            let refused = self.refusal(&service, port.as_ref(), surroundings.has_port);
            EvaluatedTarget { service, port, refused }
        });
        let targets: Vec<EvaluatedTarget> = targets.collect();
        for target in targets.iter().filter(|target| target.refused.is_none()) {
            let counts = tls.clone().map_err(|(_, why)| why);
            self.counting.entry((target.service.clone(), target.port.clone())).or_insert(counts);
        }
        self.targets.extend(targets.iter().map(|target| target.service.clone()));
        let (generation, refused) = (policy.metadata.generation, tls.err());
        self.evaluated.insert((namespace, name), EvaluatedPolicy { generation, refused, resolved, targets });
    }

    /// Why a policy that comes next does not count there.
    fn refusal(
        &self,
        service: &NamespacedName,
        port: Option<&Arc<str>>,
        has_port: &dyn Fn(&NamespacedName, &str) -> bool,
    ) -> Option<Refusal> {
        let called = &service.1;
        if let Some(port) = port.filter(|port| !has_port(service, port)) {
            let message = format!(
                "Service {called} has no port that is called {port}, so that nothing is asked over TLS by it: name one of its ports in sectionName"
            );
            return Some(("TargetNotFound", message));
        }
        self.counting.contains_key(&(service.clone(), port.cloned())).then(|| {
            let message =
                format!("an older BackendTLSPolicy is for Service {called}, too: that one counts there");
            ("Conflicted", message)
        })
    }

    /// Whether any is for the Service.
    pub fn names(&self, service: &NamespacedName) -> bool {
        self.targets.contains(service)
    }

    /// The Services that are asked otherwise than `before`.
    pub fn involved(&self, before: &Self) -> BTreeSet<NamespacedName> {
        let all = self.counting.keys().chain(before.counting.keys());
        let involved = all.filter(|key| self.counting.get(key) != before.counting.get(key));
        involved.map(|(service, _)| service.clone()).collect()
    }

    /// How a port of a Service is asked; `None`: no policy is for it.
    pub fn at(&self, service: &NamespacedName, port: Option<&Arc<str>>) -> Option<&CountingPolicy> {
        let of_port = || self.counting.get(&(service.clone(), Some(port?.clone())));
        of_port().or_else(|| self.counting.get(&(service.clone(), None)))
    }

    /// Whether there are any.
    pub fn is_empty(&self) -> bool {
        self.evaluated.is_empty()
    }

    /// Verdicts about those whose Services are reached, by the Gateways through which they are.
    pub fn verdicts(&self, reached: &ReachedServices) -> BTreeMap<NamespacedName, PolicyVerdict> {
        let verdict = |(name, policy): (&NamespacedName, &EvaluatedPolicy)| {
            let mut through: BTreeMap<&NamespacedName, Vec<&EvaluatedTarget>> = BTreeMap::new();
            for target in &policy.targets {
                // Of more none would be among the first of all.
                for gateway in reached.through(&target.service).take(MOST_ANCESTORS) {
                    through.entry(gateway).or_default().push(target);
                }
            }
            let ancestor = |(gateway, targets): (&NamespacedName, Vec<&EvaluatedTarget>)| ParentVerdict {
                reference:
                    (&json!({"group": GROUP, "kind": "Gateway", "namespace": gateway.0, "name": gateway.1}))
                        .into(),
                conditions: vec![policy.accepted(&targets), policy.resolved.clone()],
                is_served: true,
            };
            let ancestors: Vec<ParentVerdict> =
                through.into_iter().take(MOST_ANCESTORS).map(ancestor).collect();
            let verdict = PolicyVerdict { generation: policy.generation, ancestors };
            (!verdict.ancestors.is_empty()).then(|| (name.clone(), verdict))
        };
        self.evaluated.iter().filter_map(verdict).collect()
    }
}

/// Reads the demand of a policy, and whether the objects that it names are there.
fn read(
    policy: &GatewayResource<PolicySpec>,
    authority: &dyn Fn(&NamespacedName) -> Result<AuthorityText, String>,
) -> (Result<Arc<BackendTls>, Refusal>, StatusCondition) {
    let validation = &policy.spec.validation;
    let mut bad: Option<Refusal> = None;
    let mut texts = Vec::new();
    for reference in &validation.authorities {
        match certificates(reference, &policy.metadata.namespace, authority) {
            Ok(text) => texts.push(text),
            Err(why) => drop(bad.get_or_insert(why)),
        }
    }
    let resolved = match &bad {
        Some((reason, why)) => unmet("ResolvedRefs", reason, why.clone()),
        None => met("ResolvedRefs", "ResolvedRefs", "all references lead to something"),
    };
    let has_none = texts.is_empty();
    let authorities = PolicyAuthorities::of(texts);
    let is_of_machine = validation.well_known.as_deref() == Some("System");
    let refused = if validation.authorities.is_empty() && !is_of_machine {
        Some(("NoValidCACertificate", "it names no certificates of authorities".to_owned()))
    } else if has_none && !is_of_machine {
        let why = bad.map_or_else(|| "it has no certificate of an authority".to_owned(), |(_, why)| why);
        Some(("NoValidCACertificate", why))
    } else if let Err(why) = &authorities {
        Some(("NoValidCACertificate", why.clone()))
    } else if !is_host(&validation.hostname.to_ascii_lowercase()) || validation.hostname.starts_with('*') {
        Some(("Invalid", format!("hostname {:?} is none", validation.hostname)))
    } else if !validation.subject_alt_names.is_empty() {
        let why = "subjectAltNames are not supported, because HAProxy verifies one name only: leave them out";
        Some(("Invalid", why.to_owned()))
    } else {
        None
    };
    let tls = match refused {
        Some(refused) => Err(refused),
        None => Ok(Arc::new(BackendTls {
            policy: policy.metadata.key(),
            hostname: validation.hostname.to_ascii_lowercase().into(),
            authorities: authorities.ok().filter(|_| !has_none).map(Arc::new),
            client: None,
        })),
    };
    (tls, resolved)
}

fn certificates(
    reference: &ObjectReference,
    namespace: &Arc<str>,
    authority: &dyn Fn(&NamespacedName) -> Result<AuthorityText, String>,
) -> Result<AuthorityText, Refusal> {
    let name = &reference.name;
    if !reference.is_core("ConfigMap") {
        let kind = reference.kind.as_deref().unwrap_or_default();
        return Err(("InvalidKind", format!("caCertificateRef {name} is a {kind}, and no ConfigMap")));
    }
    let why = |why: String| {
        ("InvalidCACertificateRef", format!("ConfigMap {namespace}/{name} cannot be used: {why}"))
    };
    authority(&(namespace.clone(), name.clone())).map_err(why)
}
