//! What the Secret must become, and when. Pure.
//!
//! A certificate is replaced after two thirds of its life. So is the authority, in three steps: the next one is made and told to
//! the API server; once that surely knows it, it signs; what it replaced stays trusted until it expires.

use super::{
    authority::{self, Facts, SKEW, facts},
    paths::{KNOWN_AFTER, Paths},
    stored::{Generated, StoredEndpoint},
};
use haptic_model::crd::WebhookSpec;

/// An authority lives so many times as long as a certificate.
const AUTHORITY_LIVES: i64 = 12;

/// What the API server was told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registered {
    /// The authorities that it trusts, PEM.
    pub bundle: Option<String>,
    /// Where it asks, without a slash.
    pub path: Option<String>,
}

/// What is wanted of the certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateRequest {
    /// The names it is for; none: somebody else makes it.
    pub names: Vec<String>,
    /// How long it lives, in seconds.
    pub lifetime: i64,
}

impl CertificateRequest {
    /// As `webhook` says, of a configuration in `namespace`.
    #[must_use]
    pub fn of(webhook: &WebhookSpec, namespace: &str) -> Self {
        let lifetime = webhook.certificate.lifetime.get().as_secs();
        let given = webhook.certificate.secret_name.is_some() || webhook.certificate.directory.is_some();
        let host = format!("{}.{namespace}.svc", webhook.service_name);
        let own = [format!("{host}.cluster.local"), host];
        let names = own.into_iter().chain(webhook.host_names.iter().cloned());
        Self {
            names: if given { Vec::new() } else { names.collect() },
            lifetime: i64::try_from(lifetime).unwrap_or(i64::MAX / 100),
        }
    }
}

/// What the Secret must become, if it is not right as it is.
///
/// # Errors
/// What cannot be generated.
pub fn renewed(
    stored: Option<&StoredEndpoint>,
    registered: &Registered,
    wanted: &CertificateRequest,
    now: i64,
) -> Result<Option<StoredEndpoint>, String> {
    let generated = renewed_certificates(stored, registered, wanted, now)?;
    let Some(stored) = stored else {
        return Ok(Some(StoredEndpoint { paths: Paths::first(now)?, generated }));
    };
    let paths = stored.paths.renewed(registered.path.as_deref(), now)?;
    let is_right = paths.is_none() && generated.is_none();
    Ok((!is_right).then(|| StoredEndpoint {
        paths: paths.unwrap_or_else(|| stored.paths.clone()),
        generated: generated.or_else(|| stored.generated.clone()),
    }))
}

fn renewed_certificates(
    stored: Option<&StoredEndpoint>,
    registered: &Registered,
    wanted: &CertificateRequest,
    now: i64,
) -> Result<Option<Generated>, String> {
    if wanted.names.is_empty() {
        return Ok(None);
    }
    match stored.and_then(|stored| stored.generated.as_ref()).filter(|generated| is_usable(generated, now)) {
        Some(generated) => {
            renewed_generated(generated, registered.bundle.as_deref().unwrap_or_default(), wanted, now)
        }
        None => generate(wanted, now).map(Some),
    }
}

/// How many seconds may pass before it is worth asking again.
#[must_use]
pub fn next_check(wanted: &CertificateRequest) -> u64 {
    u64::try_from(wanted.lifetime / 30).unwrap_or(1).clamp(1, 3600)
}

fn renewed_generated(
    generated: &Generated,
    registered: &str,
    wanted: &CertificateRequest,
    now: i64,
) -> Result<Option<Generated>, String> {
    let signing = facts(&generated.authority.certificate)?;
    let serving = facts(&generated.serving.certificate)?;
    if let Some(next) = &generated.next {
        let known_since = facts(&next.certificate)?.from + SKEW;
        let known = registered.contains(next.certificate.trim()) && now - known_since >= known_after(wanted);
        if known {
            let serving = authority::certificate(next, &wanted.names, now, wanted.lifetime)?;
            let previous = Some(generated.authority.certificate.clone());
            return Ok(Some(Generated { authority: next.clone(), next: None, previous, serving }));
        }
    } else if is_worn(&signing, now) {
        let next = Some(authority::authority(now, wanted.lifetime.saturating_mul(AUTHORITY_LIVES))?);
        return Ok(Some(Generated { next, ..generated.clone() }));
    }
    let previous = generated.previous.as_ref().filter(|pem| facts(pem).is_ok_and(|facts| facts.until > now));
    if previous != generated.previous.as_ref() {
        return Ok(Some(Generated { previous: previous.cloned(), ..generated.clone() }));
    }
    let other_names = !is_for(&generated.serving.certificate, &wanted.names);
    if is_worn(&serving, now) || serving.issuer != signing.subject || other_names {
        let serving = authority::certificate(&generated.authority, &wanted.names, now, wanted.lifetime)?;
        return Ok(Some(Generated { serving, ..generated.clone() }));
    }
    Ok(None)
}

fn generate(wanted: &CertificateRequest, now: i64) -> Result<Generated, String> {
    let signing = authority::authority(now, wanted.lifetime.saturating_mul(AUTHORITY_LIVES))?;
    let serving = authority::certificate(&signing, &wanted.names, now, wanted.lifetime)?;
    Ok(Generated { authority: signing, next: None, previous: None, serving })
}

/// Whether it can be gone on from: its authority is one, and lives.
fn is_usable(generated: &Generated, now: i64) -> bool {
    let lives = |facts: Facts| facts.until > now && facts.from <= now;
    facts(&generated.authority.certificate).is_ok_and(lives)
        && facts(&generated.serving.certificate).is_ok()
        && super::certified(&generated.serving.certificate, generated.serving.key.reveal()).is_ok()
}

/// Whether two thirds of its life have passed.
fn is_worn(facts: &Facts, now: i64) -> bool {
    let made = facts.from + SKEW;
    now - made >= (facts.until - made) / 3 * 2
}

fn known_after(wanted: &CertificateRequest) -> i64 {
    KNOWN_AFTER.min(wanted.lifetime / 3)
}

/// Whether a certificate is for exactly these names.
fn is_for(pem: &str, names: &[String]) -> bool {
    use rustls::pki_types::{CertificateDer, pem::PemObject};
    use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};
    let Ok(der) = CertificateDer::from_pem_slice(pem.as_bytes()) else { return false };
    let Ok((_, certificate)) = X509Certificate::from_der(&der) else { return false };
    let Ok(Some(found)) = certificate.subject_alternative_name() else { return false };
    let found = found.value.general_names.iter().map(|name| match name {
        GeneralName::DNSName(name) => (*name).to_owned(),
        GeneralName::IPAddress(bytes) => address(bytes),
        other => format!("{other:?}"),
    });
    let found: std::collections::BTreeSet<String> = found.collect();
    found == names.iter().cloned().collect()
}

fn address(bytes: &[u8]) -> String {
    if let Ok(four) = <[u8; 4]>::try_from(bytes) {
        return std::net::Ipv4Addr::from(four).to_string();
    }
    <[u8; 16]>::try_from(bytes).map(|all| std::net::Ipv6Addr::from(all).to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_800_000_000;
    const LIFE: i64 = 900;

    fn wanted() -> CertificateRequest {
        CertificateRequest {
            names: vec!["haptic.edge.svc".into(), "10.0.0.7".into(), "fd00::1".into()],
            lifetime: LIFE,
        }
    }

    fn first() -> StoredEndpoint {
        renewed(None, &Registered::default(), &wanted(), NOW).unwrap().unwrap()
    }

    fn generated(stored: &StoredEndpoint) -> &Generated {
        stored.generated.as_ref().unwrap()
    }

    fn step(stored: &StoredEndpoint, registered: &str, now: i64) -> Option<StoredEndpoint> {
        let registered = Registered { bundle: Some(registered.to_owned()), path: None };
        renewed(Some(stored), &registered, &wanted(), now).unwrap()
    }

    #[test]
    fn everything_is_made_once_and_stays_while_it_is_good() {
        let stored = first();
        let bundle = generated(&stored).bundle();
        assert_eq!(step(&stored, &bundle, NOW), None);
        assert_eq!(step(&stored, &bundle, NOW + LIFE / 2), None);
    }

    #[test]
    fn a_certificate_is_replaced_before_it_expires_and_for_other_names() {
        let stored = first();
        let later = step(&stored, &generated(&stored).bundle(), NOW + LIFE * 2 / 3).unwrap();
        assert_eq!((generated(&later).bundle(), &later.paths), (generated(&stored).bundle(), &stored.paths));
        assert_ne!(generated(&later).serving, generated(&stored).serving);
        let other = CertificateRequest { names: vec!["other.edge.svc".into()], ..wanted() };
        let renamed = renewed(Some(&stored), &Registered::default(), &other, NOW).unwrap().unwrap();
        assert!(is_for(&generated(&renamed).serving.certificate, &other.names));
    }

    #[test]
    fn an_authority_is_trusted_before_it_signs_and_its_predecessor_until_it_expires() {
        let stored = first();
        let worn = NOW + LIFE * AUTHORITY_LIVES * 2 / 3;
        let two = step(&stored, &generated(&stored).bundle(), worn).unwrap();
        assert!(generated(&two).next.is_some() && generated(&two).serving == generated(&stored).serving);
        let old = generated(&stored).bundle();
        let waits = step(&two, &old, worn + KNOWN_AFTER).unwrap();
        assert_eq!(
            generated(&waits).authority,
            generated(&stored).authority,
            "the API server was not told yet"
        );
        let bundle = generated(&waits).bundle();
        assert_eq!(step(&waits, &bundle, worn + KNOWN_AFTER - 1), None, "it has not heard of it yet");
        let turned = step(&waits, &bundle, worn + KNOWN_AFTER).unwrap();
        assert_eq!(Some(&generated(&turned).authority), generated(&two).next.as_ref());
        assert!(generated(&turned).bundle().contains(&generated(&stored).authority.certificate));
        let gone = step(&turned, "", NOW + LIFE * AUTHORITY_LIVES + 1).unwrap();
        assert!(!generated(&gone).bundle().contains(&generated(&stored).authority.certificate));
    }

    #[test]
    fn what_cannot_be_gone_on_from_is_made_anew_with_the_same_path() {
        let stored = first();
        let mut broken = stored.clone();
        broken.generated.as_mut().unwrap().serving.certificate = "no certificate".into();
        for (stored, now) in [(broken, NOW), (stored, NOW + LIFE * AUTHORITY_LIVES + 1)] {
            let again = step(&stored, "", now).unwrap();
            assert_eq!(again.paths, stored.paths);
            assert_ne!(generated(&again).authority, generated(&stored).authority);
        }
    }

    #[test]
    fn a_certificate_of_somebody_else_needs_a_path_only() {
        let webhook: WebhookSpec =
            serde_json::from_value(serde_json::json!({"certificate": {"secretName": "theirs"}})).unwrap();
        let wanted = CertificateRequest::of(&webhook, "edge");
        let stored = renewed(None, &Registered::default(), &wanted, NOW).unwrap().unwrap();
        assert_eq!(stored.generated, None);
        let path = Some(stored.paths.current.reveal().to_owned());
        let later =
            renewed(Some(&stored), &Registered { path, bundle: None }, &wanted, NOW + LIFE).unwrap().unwrap();
        assert_eq!((later.generated, later.paths.previous), (None, Some(stored.paths.current.clone())));
        assert_eq!(renewed(Some(&stored), &Registered::default(), &wanted, NOW).unwrap(), None);
        assert_eq!(
            CertificateRequest::of(&WebhookSpec::default(), "edge").names,
            ["haptic-webhook.edge.svc.cluster.local", "haptic-webhook.edge.svc"]
        );
    }
}
