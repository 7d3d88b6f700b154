//! What the Secret must become, and when. Pure.
//!
//! A certificate is replaced after two thirds of its life. So is the authority, in three steps: the next one is made and told to
//! the API server; once that has surely heard of it, it signs; what it replaced stays trusted until it expires.

use super::{
    authority::{self, Facts, SKEW, facts},
    kept::{Kept, Made},
    paths::{HEARD_AFTER, Paths},
};
use haptic_model::crd::WebhookSpec;
use std::time::Duration;

/// An authority lives so many times as long as a certificate.
const AUTHORITY_LIVES: i64 = 12;
/// Without a readable setting.
const LIFETIME: Duration = Duration::from_secs(2160 * 3600);

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
pub struct Wanted {
    /// The names it is for; none: somebody else makes it.
    pub names: Vec<String>,
    /// How long it lives, in seconds.
    pub lifetime: i64,
}

impl Wanted {
    /// As `webhook` says, of a configuration in `namespace`.
    #[must_use]
    pub fn of(webhook: &WebhookSpec, namespace: &str) -> Self {
        let lifetime = webhook.certificate.lifetime.or(LIFETIME).as_secs();
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
/// What cannot be made.
pub fn renewed(
    kept: Option<&Kept>,
    registered: &Registered,
    wanted: &Wanted,
    now: i64,
) -> Result<Option<Kept>, String> {
    let made = renewed_certificates(kept, registered, wanted, now)?;
    let Some(kept) = kept else { return Ok(Some(Kept { paths: Paths::first(now)?, made })) };
    let paths = kept.paths.renewed(registered.path.as_deref(), now)?;
    let is_right = paths.is_none() && made.is_none();
    Ok((!is_right).then(|| Kept {
        paths: paths.unwrap_or_else(|| kept.paths.clone()),
        made: made.or_else(|| kept.made.clone()),
    }))
}

fn renewed_certificates(
    kept: Option<&Kept>,
    registered: &Registered,
    wanted: &Wanted,
    now: i64,
) -> Result<Option<Made>, String> {
    if wanted.names.is_empty() {
        return Ok(None);
    }
    match kept.and_then(|kept| kept.made.as_ref()).filter(|made| is_usable(made, now)) {
        Some(made) => renewed_made(made, registered.bundle.as_deref().unwrap_or_default(), wanted, now),
        None => anew(wanted, now).map(Some),
    }
}

/// How many seconds may pass before it is worth asking again.
#[must_use]
pub fn next_look(wanted: &Wanted) -> u64 {
    u64::try_from(wanted.lifetime / 30).unwrap_or(1).clamp(1, 3600)
}

fn renewed_made(made: &Made, registered: &str, wanted: &Wanted, now: i64) -> Result<Option<Made>, String> {
    let signing = facts(&made.authority.certificate)?;
    let serving = facts(&made.serving.certificate)?;
    if let Some(next) = &made.next {
        let known_since = facts(&next.certificate)?.from + SKEW;
        let heard = registered.contains(next.certificate.trim()) && now - known_since >= heard_after(wanted);
        if heard {
            let serving = authority::certificate(next, &wanted.names, now, wanted.lifetime)?;
            let previous = Some(made.authority.certificate.clone());
            return Ok(Some(Made { authority: next.clone(), next: None, previous, serving }));
        }
    } else if is_worn(&signing, now) {
        let next = Some(authority::authority(now, wanted.lifetime.saturating_mul(AUTHORITY_LIVES))?);
        return Ok(Some(Made { next, ..made.clone() }));
    }
    let previous = made.previous.as_ref().filter(|pem| facts(pem).is_ok_and(|facts| facts.until > now));
    if previous != made.previous.as_ref() {
        return Ok(Some(Made { previous: previous.cloned(), ..made.clone() }));
    }
    let other_names = !is_for(&made.serving.certificate, &wanted.names);
    if is_worn(&serving, now) || serving.issuer != signing.subject || other_names {
        let serving = authority::certificate(&made.authority, &wanted.names, now, wanted.lifetime)?;
        return Ok(Some(Made { serving, ..made.clone() }));
    }
    Ok(None)
}

fn anew(wanted: &Wanted, now: i64) -> Result<Made, String> {
    let signing = authority::authority(now, wanted.lifetime.saturating_mul(AUTHORITY_LIVES))?;
    let serving = authority::certificate(&signing, &wanted.names, now, wanted.lifetime)?;
    Ok(Made { authority: signing, next: None, previous: None, serving })
}

/// Whether it can be gone on from: its authority is one, and lives.
fn is_usable(made: &Made, now: i64) -> bool {
    let lives = |facts: Facts| facts.until > now && facts.from <= now;
    facts(&made.authority.certificate).is_ok_and(lives)
        && facts(&made.serving.certificate).is_ok()
        && super::super::standing::certified(&made.serving.certificate, made.serving.key.reveal()).is_ok()
}

/// Whether two thirds of its life have passed.
fn is_worn(facts: &Facts, now: i64) -> bool {
    let made = facts.from + SKEW;
    now - made >= (facts.until - made) / 3 * 2
}

fn heard_after(wanted: &Wanted) -> i64 {
    HEARD_AFTER.min(wanted.lifetime / 3)
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

    fn wanted() -> Wanted {
        Wanted { names: vec!["haptic.edge.svc".into(), "10.0.0.7".into(), "fd00::1".into()], lifetime: LIFE }
    }

    fn first() -> Kept {
        renewed(None, &Registered::default(), &wanted(), NOW).unwrap().unwrap()
    }

    fn made(kept: &Kept) -> &Made {
        kept.made.as_ref().unwrap()
    }

    fn step(kept: &Kept, registered: &str, now: i64) -> Option<Kept> {
        let registered = Registered { bundle: Some(registered.to_owned()), path: None };
        renewed(Some(kept), &registered, &wanted(), now).unwrap()
    }

    #[test]
    fn everything_is_made_once_and_stays_while_it_is_good() {
        let kept = first();
        let bundle = made(&kept).bundle();
        assert_eq!(step(&kept, &bundle, NOW), None);
        assert_eq!(step(&kept, &bundle, NOW + LIFE / 2), None);
    }

    #[test]
    fn a_certificate_is_replaced_before_it_expires_and_for_other_names() {
        let kept = first();
        let later = step(&kept, &made(&kept).bundle(), NOW + LIFE * 2 / 3).unwrap();
        assert_eq!((made(&later).bundle(), &later.paths), (made(&kept).bundle(), &kept.paths));
        assert_ne!(made(&later).serving, made(&kept).serving);
        let other = Wanted { names: vec!["other.edge.svc".into()], ..wanted() };
        let renamed = renewed(Some(&kept), &Registered::default(), &other, NOW).unwrap().unwrap();
        assert!(is_for(&made(&renamed).serving.certificate, &other.names));
    }

    #[test]
    fn an_authority_is_trusted_before_it_signs_and_its_predecessor_until_it_expires() {
        let kept = first();
        let worn = NOW + LIFE * AUTHORITY_LIVES * 2 / 3;
        let two = step(&kept, &made(&kept).bundle(), worn).unwrap();
        assert!(made(&two).next.is_some() && made(&two).serving == made(&kept).serving);
        let old = made(&kept).bundle();
        let waits = step(&two, &old, worn + HEARD_AFTER).unwrap();
        assert_eq!(made(&waits).authority, made(&kept).authority, "the API server was not told yet");
        let bundle = made(&waits).bundle();
        assert_eq!(step(&waits, &bundle, worn + HEARD_AFTER - 1), None, "it has not heard of it yet");
        let turned = step(&waits, &bundle, worn + HEARD_AFTER).unwrap();
        assert_eq!(Some(&made(&turned).authority), made(&two).next.as_ref());
        assert!(made(&turned).bundle().contains(&made(&kept).authority.certificate));
        let gone = step(&turned, "", NOW + LIFE * AUTHORITY_LIVES + 1).unwrap();
        assert!(!made(&gone).bundle().contains(&made(&kept).authority.certificate));
    }

    #[test]
    fn what_cannot_be_gone_on_from_is_made_anew_with_the_same_path() {
        let kept = first();
        let mut broken = kept.clone();
        broken.made.as_mut().unwrap().serving.certificate = "no certificate".into();
        for (kept, now) in [(broken, NOW), (kept, NOW + LIFE * AUTHORITY_LIVES + 1)] {
            let anew = step(&kept, "", now).unwrap();
            assert_eq!(anew.paths, kept.paths);
            assert_ne!(made(&anew).authority, made(&kept).authority);
        }
    }

    #[test]
    fn a_certificate_of_somebody_else_needs_a_path_only() {
        let webhook: WebhookSpec =
            serde_json::from_value(serde_json::json!({"certificate": {"secretName": "theirs"}})).unwrap();
        let wanted = Wanted::of(&webhook, "edge");
        let kept = renewed(None, &Registered::default(), &wanted, NOW).unwrap().unwrap();
        assert_eq!(kept.made, None);
        let path = Some(kept.paths.current.reveal().to_owned());
        let later =
            renewed(Some(&kept), &Registered { path, bundle: None }, &wanted, NOW + LIFE).unwrap().unwrap();
        assert_eq!((later.made, later.paths.previous), (None, Some(kept.paths.current.clone())));
        assert_eq!(renewed(Some(&kept), &Registered::default(), &wanted, NOW).unwrap(), None);
        assert_eq!(
            Wanted::of(&WebhookSpec::default(), "edge").names,
            ["haptic-webhook.edge.svc.cluster.local", "haptic-webhook.edge.svc"]
        );
    }
}
