//! What objects ask for in vain, or get other than they may think: one type for all who tell of it.
//!
//! A finding holds nothing back. It is there as long as its cause is, and it is one as long as kind, place and sentence
//! are the same. Nothing decides on the sentence.

use crate::diagnostic::Diagnostic;
use haptic_text::ObjectRef;
use imbl::{OrdMap, ordmap::DiffItem};
use serde::{Serialize, Serializer, ser::SerializeStruct};
use std::{collections::HashMap, fmt, sync::Arc};

/// Who finds them, as a [`Diagnostic`] names it.
const SOURCE: &str = "routes";

macro_rules! kinds {
    ($($kind:ident $name:literal $title:literal $advice:literal,)+) => {
        /// What is found.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum FindingKind {
            $(#[doc = $advice] $kind,)+
        }

        impl FindingKind {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$kind),+];
            /// Their names, in the same order.
            pub const NAMES: &[&str] = &[$($name),+];

            /// Its name in metrics and JSON.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name),+ }
            }

            /// Its name as the reason of a Kubernetes Event.
            #[must_use]
            pub const fn reason(self) -> &'static str {
                match self { $(Self::$kind => stringify!($kind)),+ }
            }

            /// In a few words.
            #[must_use]
            pub const fn title(self) -> &'static str {
                match self { $(Self::$kind => $title),+ }
            }

            /// What it means, and what to do.
            #[must_use]
            pub const fn advice(self) -> &'static str {
                match self { $(Self::$kind => $advice),+ }
            }
        }
    };
}

kinds! {
    ServiceMissing "service_missing" "Service missing"
        "A Service that a path or an annotation names is not there: its requests get 503. Create the Service, or name another one.",
    PortMissing "port_missing" "port missing"
        "The Service does not have the port: its requests get 503. Name one that the note lists.",
    SecretMissing "secret_missing" "Secret missing"
        "A Secret that an annotation names is not there, or not where it is looked for; the note says what there is without it. Create it, with the label `haproxy-haptic.org/use`, or name another one.",
    ConfigMapMissing "config_map_missing" "ConfigMap missing"
        "A ConfigMap that an annotation names is not there, or has no label `haproxy-haptic.org/use`; the note says what there is without it. Create it, or name another one.",
    BackendInvalid "backend_invalid" "no usable backend"
        "A path leads to no Service, or names no port of it: it is not served. Name both.",
    HostInvalid "host_invalid" "no host name"
        "A host is no host name: nothing is served there. Write one as shop.example or *.shop.example.",
    PathInvalid "path_invalid" "unusable path"
        "No request can have the path, or its pathType is unknown: it is not served. Write it as the note says.",
    PathRespelled "path_respelled" "path spelled otherwise"
        "The path is compared in another spelling, as those of requests are. It is served; write it so.",
    RouteRepeated "route_repeated" "route named twice"
        "The object names the same requests twice: the first one counts. Take one of them out.",
    RouteConflict "route_conflict" "route taken"
        "Another object asks for the same requests and has them; the note names it. Take one of the two out.",
    HostConflict "host_conflict" "host of others"
        "The host belongs to another namespace, which the note names: nothing of this object is served there, or not its TLS. Ask its owner, or the operator for an entry of spec.hosts.",
    TooManyRoutes "too_many_routes" "too many routes"
        "The object asks for more than one may: the rest is not served. Make several objects of it, or have the limit raised that the note names.",
    ReloadDelayed "reload_delayed" "change that waits"
        "What the object asks for takes a reload of HAProxy, and it or its namespace has had several lately (`reloadsPerMinute`): until it is its turn it is served as before, and a new one not at all. Nothing need be done.",
    ObjectUnreadable "object_unreadable" "unreadable object"
        "The object cannot be read: nothing of it is served.",
    OptionWithoutEffect "option_without_effect" "annotation without effect"
        "An annotation does nothing as it stands, most often because another one is missing. Add that one, or take this one out.",
    OptionUnknown "option_unknown" "unknown annotation"
        "There is no annotation of that name, it is ignored. The note may say which one is meant.",
    OptionUnreadable "option_unreadable" "unreadable annotation of a Service"
        "A Service's annotation has a value that cannot be read: it is ignored, and where it guards access requests are refused.",
    TakenLiterally "taken_literally" "syntax of another program"
        "A value has what another program would put something in the place of: here it stands as it is. Write what is meant.",
    ForeignAnnotation "foreign_annotation" "annotation of another controller"
        "Annotations of other controllers have no effect. The note names their counterparts here.",
    ForeignDiffers "foreign_differs" "annotation of another controller, served otherwise"
        "An annotation of a family that is read has another effect than its own controller gives it; the note says which. Nothing need be done where that is well.",
    ForeignNotServed "foreign_not_served" "annotation of another controller, not served"
        "An annotation of a family that is read has no effect. The note says what there is instead.",
    ForeignUnreadable "foreign_unreadable" "unreadable annotation of another controller"
        "An annotation of a family that is read has a value that its own controller would not take either; the note says what happens. Write one that it takes.",
    NoCertificate "no_certificate" "host without a certificate"
        "spec.tls names a host for which no certificate is there: clients get the default one. Name a Secret of type kubernetes.io/tls, or create it.",
    CertificateDoesNotCover "certificate_does_not_cover" "certificate of other names"
        "The certificate's names do not cover the host: clients refuse it. Have one issued for the host.",
    CertificateExpired "certificate_expired" "certificate expired"
        "The certificate's time is over, or has not begun: clients refuse it. Renew it; with cert-manager, see its Certificate.",
    CertificateExpiring "certificate_expiring" "certificate about to expire"
        "Less than a sixth of the certificate's time is left, and less than two weeks: its renewal is late. It is said again three days before the end. With cert-manager, see its Certificate.",
    CertificateUnused "certificate_unused" "certificate not used"
        "The certificate is for no host, or for one that has another object's. Take it out, or settle who has the host.",
    ClientCaConflict "client_ca_conflict" "clients verified otherwise"
        "Clients of the host are verified with another CA: requests that need this one are refused. Give all Ingresses of the host the same client-ca-secret.",
    RouteNotTaken "route_not_taken" "route not taken"
        "No listener of the Gateway takes the route: nothing of it is served there. The note says why; mend the route's parentRefs and hostnames, or the Gateway's allowedRoutes.",
    RulesDropped "rules_dropped" "rules that cannot be served"
        "A rule or hostname of a route cannot be served: requests of such a rule get an error. Where all of its rules are so, the route gets no requests. Write it as the note says.",
    RouteUnservable "route_unservable" "route that cannot be served"
        "No rule or hostname of a route can be served, and nobody else has a parent of it: it gets no requests, and the webhook refuses it. Write it as the note says.",
    ReferenceUnresolved "reference_unresolved" "reference that leads nowhere"
        "A route, a Gateway or a policy names what is not there or what it may not use: requests that need it get 500. Create it, or a ReferenceGrant in its namespace.",
    TlsWithoutPolicy "tls_without_policy" "server with TLS asked in clear"
        "A Service says by its appProtocol that its servers speak TLS, and no BackendTLSPolicy is for it: they are asked in clear, and most refuse that. Write a BackendTLSPolicy for it, or take the appProtocol out.",
    ListenerRefused "listener_refused" "listener not served"
        "A listener, or all of a Gateway or ListenerSet, is not served. The note says why.",
    ListenersOverlap "listeners_overlap" "listeners of the same hosts"
        "Listeners with TLS at one port are for the same hosts: a client that keeps its connection for another host is told 421, and connects again. Give them one certificate, or different hosts.",
    PolicyRefused "policy_refused" "policy without effect"
        "A BackendTLSPolicy has no effect, or not for all its Services: an older one has them, they have no such port, or what it names is not there, and then their requests get 500. The note says why.",
}

/// Where in its object a finding is, as far as it is one place.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct FindingPlace {
    /// An annotation, by its whole name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotation: Option<Box<str>>,
    /// A host; `*` for all that no other object names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<Box<str>>,
    /// A path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Box<str>>,
}

/// One finding at an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Finding {
    /// What is found.
    pub kind: FindingKind,
    /// Where.
    pub place: FindingPlace,
    /// A sentence that its user can act on, without a full stop.
    pub sentence: String,
}

/// A finding with its object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectFinding {
    /// Whose.
    pub object: Arc<ObjectRef>,
    /// What.
    pub finding: Finding,
}

/// The findings of all objects at one moment: a persistent map, cheap to clone and to compare with what it was before.
#[derive(Clone, Debug)]
pub struct Findings {
    all: OrdMap<Arc<ObjectRef>, Arc<[Finding]>>,
    counts: [usize; FindingKind::ALL.len()],
}

/// What is different in findings, as far as it is told: what an attacker has thousands of fills nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FindingsChange {
    /// What is new, the first few of each namespace.
    pub found: Vec<ObjectFinding>,
    /// How much more is new.
    pub untold: usize,
    /// How many there are no more.
    pub ended: usize,
    /// How many there are.
    pub standing: usize,
}

impl FindingsChange {
    /// So many new ones of a namespace are told at once.
    pub const OF_NAMESPACE: usize = 10;
    /// So many of all namespaces.
    pub const TOLD: usize = 100;

    /// Warnings about the objects of what is told, and one that says how much is not.
    #[must_use]
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let shown = self.found.iter().map(|one| one.finding.diagnostic(&one.object));
        let rest = (self.untold > 0).then(|| {
            let most = Self::OF_NAMESPACE;
            let rest =
                format!("and {} more: no more than {most} of a namespace are told at once", self.untold);
            Diagnostic::warning(SOURCE, rest)
        });
        shown.chain(rest).collect()
    }
}

impl Finding {
    /// One that is at no place of its own.
    #[must_use]
    pub fn new(kind: FindingKind, sentence: impl Into<String>) -> Self {
        Self { kind, place: FindingPlace::default(), sentence: sentence.into() }
    }

    /// At an annotation.
    #[must_use]
    pub fn at_annotation(mut self, name: &str) -> Self {
        self.place.annotation = Some(name.into());
        self
    }

    /// At a host.
    #[must_use]
    pub fn at_host(mut self, host: &str) -> Self {
        self.place.host = Some(host.into());
        self
    }

    /// At a path.
    #[must_use]
    pub fn at_path(mut self, path: &str) -> Self {
        self.place.path = Some(path.into());
        self
    }

    /// Whether the webhook refuses an object that brings it: nothing that may come later makes it right.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.kind == FindingKind::RouteUnservable
    }

    /// As a warning about its object, for those who tell of all that is wrong.
    #[must_use]
    pub fn diagnostic(&self, object: &Arc<ObjectRef>) -> Diagnostic {
        Diagnostic::warning(SOURCE, &*self.sentence).of_object(Some(object.clone()))
    }
}

impl Default for Findings {
    fn default() -> Self {
        Self { all: OrdMap::new(), counts: [0; FindingKind::ALL.len()] }
    }
}

impl PartialEq for Findings {
    fn eq(&self, other: &Self) -> bool {
        self.is_unchanged_since(other) || self.all == other.all
    }
}

impl Findings {
    /// What is found at an object now, in the place of what was found before.
    pub fn set(&mut self, object: &Arc<ObjectRef>, findings: Vec<Finding>) {
        if self.of(object) == findings {
            return;
        }
        let before = match findings.is_empty() {
            true => self.all.remove(object),
            false => self.all.insert(object.clone(), findings.clone().into()),
        };
        for finding in before.iter().flat_map(|before| before.iter()) {
            if let Some(count) = self.counts.get_mut(finding.kind as usize) {
                *count = count.saturating_sub(1);
            }
        }
        for finding in findings {
            if let Some(count) = self.counts.get_mut(finding.kind as usize) {
                *count += 1;
            }
        }
    }

    /// Takes up what became of some of them, as of one store of objects, since they were `before`.
    pub fn follow(&mut self, before: &Self, now: &Self) {
        if now.is_unchanged_since(before) {
            return;
        }
        for difference in before.all.diff(&now.all) {
            match difference {
                DiffItem::Add(object, are) | DiffItem::Update { new: (object, are), .. } => {
                    self.set(object, are.to_vec());
                }
                DiffItem::Remove(object, _) => self.set(object, Vec::new()),
            }
        }
    }

    /// Those of one object.
    #[must_use]
    pub fn of(&self, object: &ObjectRef) -> &[Finding] {
        self.all.get(object).map(|findings| &**findings).unwrap_or_default()
    }

    /// All, by object.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<ObjectRef>, &Finding)> {
        self.all.iter().flat_map(|(object, findings)| findings.iter().map(move |one| (object, one)))
    }

    /// How many there are of each kind.
    pub fn counts(&self) -> impl Iterator<Item = (FindingKind, usize)> + '_ {
        FindingKind::ALL.iter().copied().zip(self.counts)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.counts.iter().sum()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether both are the very same, told without looking at them.
    #[must_use]
    pub fn is_unchanged_since(&self, before: &Self) -> bool {
        self.all.ptr_eq(&before.all)
    }

    /// What became different since `before`; it costs as much as there are differences when one came of the other.
    #[must_use]
    pub fn change_since(&self, before: &Self) -> FindingsChange {
        let mut change = FindingsChange { standing: self.len(), ..FindingsChange::default() };
        let mut reported: HashMap<&str, usize> = HashMap::new();
        for difference in before.all.diff(&self.all) {
            let (object, were, are): (_, &[Finding], &[Finding]) = match difference {
                DiffItem::Add(object, are) => (object, &[], are),
                DiffItem::Update { old: (_, were), new: (object, are) } => (object, were, are),
                DiffItem::Remove(object, were) => (object, were, &[]),
            };
            change.ended += were.iter().filter(|one| !are.contains(one)).count();
            for finding in are.iter().filter(|one| !were.contains(one)) {
                let of_namespace = reported.entry(&object.namespace).or_default();
                if *of_namespace < FindingsChange::OF_NAMESPACE && change.found.len() < FindingsChange::TOLD {
                    *of_namespace += 1;
                    change.found.push(ObjectFinding { object: object.clone(), finding: finding.clone() });
                } else {
                    change.untold += 1;
                }
            }
        }
        change
    }

    /// The first few of each namespace, as [`FindingsChange`] tells those that are new.
    #[must_use]
    pub fn first_few(&self) -> FindingsChange {
        self.change_since(&Self::default())
    }
}

impl fmt::Display for ObjectFinding {
    /// `ingresses shop/web: host a.example …`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.object, self.finding.sentence)
    }
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for FindingKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl Serialize for ObjectFinding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Finding { kind, place, sentence } = &self.finding;
        let mut fields = serializer.serialize_struct("ObjectFinding", 4)?;
        fields.serialize_field("kind", kind)?;
        fields.serialize_field("object", &self.object.to_string())?;
        fields.serialize_field("place", place)?;
        fields.serialize_field("sentence", sentence)?;
        fields.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ingress(namespace: &str, name: &str) -> Arc<ObjectRef> {
        Arc::new(ObjectRef::new("ingresses", namespace, name))
    }

    fn missing(service: &str) -> Finding {
        Finding::new(FindingKind::ServiceMissing, format!("Service {service} is not there"))
    }

    fn count(findings: &Findings, kind: FindingKind) -> usize {
        findings.counts().find(|(one, _)| *one == kind).unwrap().1
    }

    #[test]
    fn what_is_found_is_news_once_and_ends_with_its_cause() {
        let (before, web) = (Findings::default(), ingress("shop", "web"));
        let mut now = before.clone();
        now.set(&web, vec![missing("a"), missing("b")]);
        let change = now.change_since(&before);
        assert_eq!((change.found.len(), change.ended, change.standing), (2, 0, 2));
        let mut later = now.clone();
        later.set(&web, vec![missing("a"), missing("b")]);
        assert!(later.is_unchanged_since(&now), "the same is no news");
        later.set(&web, vec![missing("b"), Finding::new(FindingKind::PortMissing, "port 81")]);
        let change = later.change_since(&now);
        assert_eq!(
            change.found.iter().map(|one| one.finding.kind).collect::<Vec<_>>(),
            [FindingKind::PortMissing]
        );
        assert_eq!((change.ended, change.standing), (1, 2));
        assert_eq!(
            (count(&later, FindingKind::ServiceMissing), count(&later, FindingKind::PortMissing)),
            (1, 1)
        );
        later.set(&web, Vec::new());
        assert!(later.is_empty() && later == before);
        assert!(later.counts().all(|(_, count)| count == 0));
    }

    #[test]
    fn those_of_two_stores_follow_each() {
        let (mut ingresses, mut routes, mut all) =
            (Findings::default(), Findings::default(), Findings::default());
        let route = Arc::new(ObjectRef::new("httproutes", "shop", "web"));
        for found in [vec![missing("a")], vec![missing("b"), missing("c")], Vec::new(), vec![missing("d")]] {
            let before = (ingresses.clone(), routes.clone());
            ingresses.set(&ingress("shop", "web"), found.clone());
            routes.set(&route, found.clone());
            all.follow(&before.0, &ingresses);
            all.follow(&before.1, &routes);
            assert_eq!(all.of(&route), found);
            assert_eq!((all.of(&ingress("shop", "web")), all.len()), (&*found, 2 * found.len()));
        }
        let same = all.clone();
        all.follow(&routes, &routes.clone());
        assert!(all.is_unchanged_since(&same));
    }

    #[test]
    fn of_thousands_in_a_namespace_a_few_are_told_and_others_are_heard() {
        let mut now = Findings::default();
        for number in 0..5_000 {
            now.set(&ingress("evil", &number.to_string()), vec![missing("a"), missing("b")]);
        }
        now.set(&ingress("good", "web"), vec![missing("a")]);
        let change = now.first_few();
        let of =
            |namespace: &str| change.found.iter().filter(|one| &*one.object.namespace == namespace).count();
        assert_eq!((of("evil"), of("good")), (FindingsChange::OF_NAMESPACE, 1));
        assert_eq!((change.untold, change.standing), (9_990, 10_001));
        let told = change.diagnostics();
        assert_eq!(told.len(), FindingsChange::OF_NAMESPACE + 2);
        assert!(told.last().is_some_and(|last| last.message.starts_with("and 9990 more: ")), "{told:?}");
        for number in 0..500 {
            now.set(&ingress(&format!("namespace-{number}"), "web"), vec![missing("a")]);
        }
        assert_eq!(now.first_few().found.len(), FindingsChange::TOLD);
    }

    #[test]
    fn programs_read_kind_object_place_and_sentence() {
        let finding = missing("a").at_host("a.example").at_path("/x");
        let one = ObjectFinding { object: ingress("shop", "web"), finding };
        assert_eq!(
            serde_json::to_value(&one).unwrap(),
            serde_json::json!({
                "kind": "service_missing", "object": "ingresses shop/web",
                "place": {"host": "a.example", "path": "/x"}, "sentence": "Service a is not there",
            })
        );
        assert!(FindingKind::NAMES.iter().all(|name| name.len() < 30));
    }
}
