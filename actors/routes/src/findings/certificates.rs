//! Certificates that clients refuse: of other names than the host's, expired, about to expire, or not there. Those that servers are
//! shown, and of TCP services, are looked at in the same way.
//!
//! Findings are only told: HAProxy serves such a certificate, and time decides nothing. Secrets are read when an object
//! names them, each once however many do.

use crate::{
    certificate::{self, KeyKind},
    claims::Claims,
    matching::ANY_HOST,
    objects::named_objects::NamedKind,
    sentences::shortened,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use haptic_model::{
    ActiveConfig, Finding, FindingKind, Object, Snapshot, Snapshots,
    host_name::{is_host, wildcard_over},
};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use x509_parser::{extensions::GeneralName, parse_x509_certificate, pem::Pem};

/// The watched resources that hold the Secrets of certificates: those of type `kubernetes.io/tls`, then others with our label.
const SECRETS: &str = "secrets";
const LABELLED: &str = "labelledsecrets";
/// That of ConfigMaps with our label.
const CONFIG_MAPS: &str = "labelledconfigmaps";
/// A renewal is late when less than this part of a certificate's time is left,
const LATE: u64 = 6;
/// and less than this.
const TWO_WEEKS: u64 = 14 * 24 * 3600;
/// The same of what is said again.
const VERY_LATE: u64 = 24;
const THREE_DAYS: u64 = 3 * 24 * 3600;
/// The most names of a certificate that are told.
const FEW: usize = 3;

/// Namespace and name.
type TlsSecretName = (Arc<str>, Arc<str>);

/// The Secrets and ConfigMaps that objects name, and the date.
#[derive(Clone, Debug, Default)]
pub struct SecretsAtTime {
    /// None where nobody can tell what they hold.
    store: Option<Arc<Snapshot>>,
    pub(super) labelled: Option<Arc<Snapshot>>,
    pub(super) config_maps: Option<Arc<Snapshot>>,
    /// Whether Secrets of other types are read by our label alone: annotations of other controllers name some without it.
    pub(super) needs_label: bool,
    default: Option<TlsSecretName>,
    /// Whether hosts without a certificate are refused, by the configuration's word.
    refuses: bool,
    /// In seconds since 1970.
    date: Option<u64>,
}

/// The Secrets whose objects may have other certificates than before.
#[derive(Debug, Default)]
pub(crate) struct ConcernedSecrets {
    names: HashSet<TlsSecretName>,
    /// Whether the default certificate is among them.
    default: bool,
}

/// The facts about the certificates that objects name.
#[derive(Clone, Debug, Default)]
pub(crate) struct NamedCertificates {
    secrets: SecretsAtTime,
    known: HashMap<TlsSecretName, NamedSecret>,
}

/// A Secret that objects name.
#[derive(Clone, Debug, Default)]
struct NamedSecret {
    /// How often.
    uses: usize,
    /// `None`: there is no such Secret, or none that can be read.
    certificate: Option<KnownCertificate>,
}

/// The first certificate of a Secret.
#[derive(Clone, Debug, PartialEq, Eq)]
struct KnownCertificate {
    names: Vec<Box<str>>,
    /// In seconds since 1970.
    begins: u64,
    ends: u64,
}

/// How a certificate stands at a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Validity {
    NotYet,
    Good,
    Late,
    VeryLate,
    Over,
}

impl SecretsAtTime {
    fn read(&self, (namespace, name): &TlsSecretName) -> Option<KnownCertificate> {
        KnownCertificate::read(&self.get(namespace, name)?.json.bytes())
    }

    /// The Secret that a certificate is taken from.
    fn get(&self, namespace: &str, name: &str) -> Option<&Object> {
        let labelled = || self.labelled.as_ref()?.get(namespace, name);
        self.store.as_ref()?.get(namespace, name).or_else(labelled).map(|object| &**object)
    }

    /// The same where no certificate is served for want of another one.
    pub(crate) fn without_default(&self) -> Self {
        Self { default: None, ..self.clone() }
    }

    pub(crate) fn of(config: &ActiveConfig, snapshots: &Snapshots, date: Option<SystemTime>) -> Self {
        let settings = &config.spec.templating_settings.extra_context;
        let default = settings.get("defaultCertificate");
        let text = |field: &str| Some(Arc::from(default?.get(field)?.as_str()?));
        let store = |name: &str, resources: &str| {
            let watched = config.spec.watched_resources.get(name);
            let is_watched = watched.is_some_and(|of| of.resources == resources);
            snapshots.get(name).filter(|store| is_watched && !store.is_on_demand()).cloned()
        };
        Self {
            store: store(SECRETS, "secrets"),
            labelled: store(LABELLED, "secrets"),
            config_maps: store(CONFIG_MAPS, "configmaps"),
            needs_label: config
                .spec
                .watched_resources
                .get(LABELLED)
                .is_some_and(|of| of.label_selector.is_some()),
            default: text("namespace").zip(text("name")),
            refuses: default.and_then(Value::as_str) == Some("none"),
            date: date.and_then(|date| Some(date.duration_since(UNIX_EPOCH).ok()?.as_secs())),
        }
    }
}

/// The Secrets with certificates that an object names.
fn names_of<'c>(namespace: &'c Arc<str>, claims: &'c Claims) -> impl Iterator<Item = TlsSecretName> + 'c {
    let of_hosts = claims.certificates.values().flat_map(|names| names.iter());
    let of_options = claims.named_objects.iter().filter(|named| named.kind == NamedKind::Certificate);
    let own = of_hosts.chain(of_options.map(|named| &named.name));
    own.map(|name| (namespace.clone(), name.clone())).chain(claims.default_certificate.clone())
}

/// As people read it.
fn date_of(seconds: u64) -> String {
    let at = i64::try_from(seconds).ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
    at.map(|at| at.to_string()).unwrap_or_default()
}

impl ConcernedSecrets {
    /// Whether an object with these claims names one of them, or has hosts that the default certificate may be served for.
    pub fn concern(&self, namespace: &Arc<str>, claims: &Claims) -> bool {
        let is_named = || names_of(namespace, claims).any(|name| self.names.contains(&name));
        (!self.names.is_empty() && is_named())
            || (self.default && claims.routes.iter().any(|route| route.tls))
    }
}

impl NamedCertificates {
    /// Takes up what is different; `None`: nothing is.
    pub fn update(&mut self, now: &SecretsAtTime) -> Option<ConcernedSecrets> {
        let before = std::mem::replace(&mut self.secrets, now.clone());
        let mut names = HashSet::new();
        let empty = Arc::new(Snapshot::full());
        for (was, is) in [(&before.store, &now.store), (&before.labelled, &now.labelled)] {
            let (was, is) = (was.as_ref().unwrap_or(&empty), is.as_ref().unwrap_or(&empty));
            for difference in is.differences_from(was) {
                let Some((secret, _)) = difference.after.or(difference.before) else { continue };
                let name = (secret.reference.namespace.clone(), secret.reference.name.clone());
                if let Some(known) = self.known.get_mut(&name) {
                    known.certificate = now.read(&name);
                    names.insert(name);
                }
            }
        }
        let has_other_default = (&before.default, before.refuses) != (&now.default, now.refuses)
            || before.store.is_some() != now.store.is_some();
        if before.default != now.default {
            before.default.iter().for_each(|name| self.leave(name));
            now.default.iter().for_each(|name| self.enter(name));
        }
        if before.date != now.date {
            let is_other = |known: &KnownCertificate| known.at(before.date) != known.at(now.date);
            let others =
                self.known.iter().filter(|(_, known)| known.certificate.as_ref().is_some_and(is_other));
            names.extend(others.map(|(name, _)| name.clone()));
        }
        let default = has_other_default || now.default.as_ref().is_some_and(|name| names.contains(name));
        (default || !names.is_empty()).then_some(ConcernedSecrets { names, default })
    }

    /// An object names its certificates.
    pub fn add(&mut self, namespace: &Arc<str>, claims: &Claims) {
        names_of(namespace, claims).for_each(|name| self.enter(&name));
    }

    /// It does not any more.
    pub fn remove(&mut self, namespace: &Arc<str>, claims: &Claims) {
        names_of(namespace, claims).for_each(|name| self.leave(&name));
    }

    /// From now on these are named, and no others.
    pub fn name_only(&mut self, names: &HashSet<TlsSecretName>) {
        self.known.retain(|name, _| names.contains(name));
        for name in names {
            if !self.known.contains_key(name) {
                self.enter(name);
            }
        }
    }

    fn enter(&mut self, name: &TlsSecretName) {
        let Self { secrets, known } = self;
        let read = || NamedSecret { uses: 0, certificate: secrets.read(name) };
        known.entry(name.clone()).or_insert_with(read).uses += 1;
    }

    fn leave(&mut self, name: &TlsSecretName) {
        if let Some(known) = self.known.get_mut(name) {
            known.uses -= 1;
            if known.uses == 0 {
                self.known.remove(name);
            }
        }
    }

    /// The kind of the key of a certificate that HAProxy is given.
    pub fn kind(&self, namespace: &str, secret: &str) -> Option<KeyKind> {
        let secret = self.secrets.get(namespace, secret)?.value().ok()?;
        certificate::key_kind(&certificate::of_object(&secret, "").ok()?)
    }

    /// When something else is found though nothing changes until then.
    pub fn due(&self) -> Option<SystemTime> {
        let date = self.secrets.date?;
        let moments = self
            .known
            .values()
            .filter_map(|known| known.certificate.as_ref())
            .flat_map(KnownCertificate::moments);
        let next = moments.filter(|time| *time > date).min()?;
        Some(UNIX_EPOCH + Duration::from_secs(next))
    }

    /// The fault of the certificate in a Secret, for a host that it is served for.
    pub fn found(&self, namespace: &str, secret: &str, host: &str) -> Option<Finding> {
        self.secrets.store.as_ref()?;
        let shown = shortened(secret);
        let known = self.known.get(&(namespace.into(), secret.into()))?.certificate.as_ref();
        let Some(known) = known else {
            // One that is there and cannot be used is told of where it would be written.
            let is_there = self.secrets.get(namespace, secret).is_some();
            let instead = self.instead();
            let sentence = format!(
                "there is no Secret {namespace}/{shown} of type kubernetes.io/tls or with the label haproxy-haptic.org/use: {instead} for {host}"
            );
            return (!is_there).then(|| Finding::new(FindingKind::NoCertificate, sentence).at_host(host));
        };
        known.found(host, &format!("the certificate in Secret {shown}"), self.secrets.date)
    }

    /// The fault of the default certificate, for a host that it is served for.
    pub fn found_at_default(&self, host: &str) -> Option<Finding> {
        self.secrets.store.as_ref()?;
        let known = self.secrets.default.as_ref().and_then(|name| self.known.get(name)?.certificate.as_ref());
        if let Some(known) = known {
            return known.found(
                host,
                "the default certificate, which is served as spec.tls names no Secret,",
                self.secrets.date,
            );
        }
        let sentence = format!("spec.tls names no Secret for {host}: {}", self.instead());
        Some(Finding::new(FindingKind::NoCertificate, sentence).at_host(host))
    }

    /// The fault of a certificate that an option names, whatever it is for: it is not there, or its time is not now.
    pub fn found_at_option(&self, namespace: &str, secret: &str, without: &str) -> Option<Finding> {
        self.secrets.store.as_ref()?;
        let known = self.known.get(&(namespace.into(), secret.into()))?.certificate.as_ref();
        let shown = shortened(secret);
        if let Some(known) = known {
            return known.found_in_time(&format!("the certificate in Secret {shown}"), self.secrets.date);
        }
        let sentence = format!(
            "there is no Secret {namespace}/{shown} of type kubernetes.io/tls or with the label haproxy-haptic.org/use: {without}"
        );
        let is_there = self.secrets.get(namespace, secret).is_some();
        (!is_there).then(|| Finding::new(FindingKind::SecretMissing, sentence))
    }

    fn instead(&self) -> &'static str {
        if self.secrets.refuses { "no certificate is served" } else { "the default certificate is served" }
    }
}

impl KnownCertificate {
    /// The first certificate of a Secret's `tls.crt`, if it can be read.
    fn read(json: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct Secret {
            data: HashMap<String, String>,
        }

        let secret: Secret = serde_json::from_slice(json).ok()?;
        let pem = STANDARD.decode(secret.data.get("tls.crt")?).ok()?;
        let first = Pem::iter_from_buffer(&pem).next()?.ok()?;
        let (_, certificate) = parse_x509_certificate(&first.contents).ok()?;
        let names = certificate.subject_alternative_name().ok().flatten();
        let names = names.iter().flat_map(|names| &names.value.general_names).filter_map(|name| match name {
            GeneralName::DNSName(name) => Some(name.to_ascii_lowercase()).filter(|name| is_host(name)),
            _ => None,
        });
        let validity = certificate.validity();
        let seconds = |at: i64| u64::try_from(at).unwrap_or_default();
        Some(Self {
            names: names.map(String::into_boxed_str).collect(),
            begins: seconds(validity.not_before.timestamp()),
            ends: seconds(validity.not_after.timestamp()),
        })
    }

    fn covers(&self, host: &str) -> bool {
        let over = wildcard_over(host);
        self.names.iter().any(|name| **name == *host || over.as_deref() == Some(&**name))
    }

    /// When less than a part of its time is left, and less than so much.
    fn late(&self, part: u64, most: u64) -> u64 {
        let whole = self.ends.saturating_sub(self.begins);
        self.ends.saturating_sub(whole.checked_div(part).unwrap_or_default().min(most))
    }

    fn moments(&self) -> [u64; 4] {
        [self.begins, self.late(LATE, TWO_WEEKS), self.late(VERY_LATE, THREE_DAYS), self.ends]
    }

    fn at(&self, date: Option<u64>) -> Validity {
        match date {
            None => Validity::Good,
            Some(date) if date < self.begins => Validity::NotYet,
            Some(date) if date >= self.ends => Validity::Over,
            Some(date) if date >= self.late(VERY_LATE, THREE_DAYS) => Validity::VeryLate,
            Some(date) if date >= self.late(LATE, TWO_WEEKS) => Validity::Late,
            Some(_) => Validity::Good,
        }
    }

    /// The worst fault of it for a host.
    fn found(&self, host: &str, what: &str, date: Option<u64>) -> Option<Finding> {
        if host == ANY_HOST || self.covers(host) {
            return Some(self.found_in_time(&format!("{what} for {host}"), date)?.at_host(host));
        }
        let few: Vec<String> = self.names.iter().take(FEW).map(|name| shortened(name)).collect();
        let more = self.names.len().saturating_sub(FEW);
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        let names = if few.is_empty() {
            "it has no names".to_owned()
        } else {
            format!("it is for {}{rest}", few.join(", "))
        };
        let sentence = format!("{what} does not cover {host}: {names}");
        Some(Finding::new(FindingKind::CertificateDoesNotCover, sentence).at_host(host))
    }

    /// The fault of it by the time.
    fn found_in_time(&self, what: &str, date: Option<u64>) -> Option<Finding> {
        let (kind, sentence) = match self.at(date) {
            Validity::Over => {
                (FindingKind::CertificateExpired, format!("{what} expired at {}", date_of(self.ends)))
            }
            Validity::NotYet => (
                FindingKind::CertificateExpired,
                format!("{what} is not valid before {}", date_of(self.begins)),
            ),
            Validity::Late => {
                (FindingKind::CertificateExpiring, format!("{what} expires at {}", date_of(self.ends)))
            }
            // Another sentence, so that it is told again.
            Validity::VeryLate => (
                FindingKind::CertificateExpiring,
                format!("{what} expires very soon, at {}", date_of(self.ends)),
            ),
            Validity::Good => return None,
        };
        Some(Finding::new(kind, sentence))
    }
}
