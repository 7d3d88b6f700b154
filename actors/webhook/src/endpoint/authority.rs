//! Makes certificates: an authority that signs nothing but the webhook's own ones, and these. Pure, but for randomness.

use haptic_text::Sensitive;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::pki_types::{CertificateDer, pem::PemObject};
use time::OffsetDateTime;
use x509_parser::prelude::{FromDer, X509Certificate};

/// Clocks of API servers and controllers may differ by this much, in seconds.
pub const SKEW: i64 = 3600;

/// A certificate and its key, PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertifiedKey {
    /// The certificate, with those above it.
    pub certificate: String,
    pub key: Sensitive,
}

/// A certificate's times, in seconds since 1970, and who signed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// From when on it is valid: [`SKEW`] before it was made.
    pub from: i64,
    pub until: i64,
    /// Whose it is.
    pub subject: String,
    /// Who signed it.
    pub issuer: String,
}

/// A new authority, valid for `lifetime` seconds.
///
/// # Errors
/// There is no randomness.
pub fn authority(now: i64, lifetime: i64) -> Result<CertifiedKey, String> {
    let name = format!("haptic webhook {}", random(8)?);
    let key = KeyPair::generate().map_err(|error| error.to_string())?;
    let certificate = authority_params(&name, now, lifetime)?.self_signed(&key);
    let certificate = certificate.map_err(|error| error.to_string())?;
    Ok(CertifiedKey { certificate: certificate.pem(), key: Sensitive::new(key.serialize_pem()) })
}

/// A certificate for `names` that `authority` signs, valid for `lifetime` seconds.
///
/// # Errors
/// `authority` or a name cannot be used.
pub fn certificate(
    authority: &CertifiedKey,
    names: &[String],
    now: i64,
    lifetime: i64,
) -> Result<CertifiedKey, String> {
    let why = |error: rcgen::Error| error.to_string();
    let known = facts(&authority.certificate)?;
    let common = known.subject.strip_prefix("CN=").unwrap_or(&known.subject).to_owned();
    let signing = KeyPair::from_pem(authority.key.reveal()).map_err(why)?;
    let issuer =
        Issuer::new(authority_params(&common, known.from + SKEW, known.until - known.from)?, signing);
    let mut params = CertificateParams::new(names).map_err(why)?;
    (params.not_before, params.not_after) = (at(now - SKEW)?, at(now + lifetime)?);
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, "haptic webhook");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.use_authority_key_identifier_extension = true;
    let key = KeyPair::generate().map_err(why)?;
    let certificate = params.signed_by(&key, &issuer).map_err(why)?;
    Ok(CertifiedKey { certificate: certificate.pem(), key: Sensitive::new(key.serialize_pem()) })
}

/// What the first certificate in `pem` says of itself.
///
/// # Errors
/// There is none.
pub fn facts(pem: &str) -> Result<Facts, String> {
    let not_one = |_| "it is not a certificate".to_owned();
    let der = CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|_| not_one(()))?;
    let (_, certificate) = X509Certificate::from_der(&der).map_err(|_| not_one(()))?;
    Ok(Facts {
        from: certificate.validity().not_before.timestamp(),
        until: certificate.validity().not_after.timestamp(),
        subject: certificate.subject().to_string(),
        issuer: certificate.issuer().to_string(),
    })
}

/// `bytes` bytes that nobody can guess, in hex.
///
/// # Errors
/// There is no randomness.
pub fn random(bytes: usize) -> Result<String, String> {
    use ring::rand::SecureRandom;
    let mut random = vec![0; bytes];
    ring::rand::SystemRandom::new().fill(&mut random).map_err(|_| "there is no randomness".to_owned())?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn authority_params(name: &str, now: i64, lifetime: i64) -> Result<CertificateParams, String> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    (params.not_before, params.not_after) = (at(now - SKEW)?, at(now + lifetime)?);
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    Ok(params)
}

fn at(seconds: i64) -> Result<OffsetDateTime, String> {
    OffsetDateTime::from_unix_timestamp(seconds).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::{
        RootCertStore,
        client::{WebPkiServerVerifier, danger::ServerCertVerifier},
        pki_types::{ServerName, UnixTime},
    };
    use std::{sync::Arc, time::Duration};

    const NOW: i64 = 1_800_000_000;

    /// Whether a client that trusts `authority` takes `pair` for `name`.
    fn is_trusted(authority: &CertifiedKey, pair: &CertifiedKey, name: &str, at: i64) -> bool {
        let der = |pem: &str| CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(der(&authority.certificate)).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
        let now = UnixTime::since_unix_epoch(Duration::from_secs(u64::try_from(at).unwrap()));
        let name = ServerName::try_from(name.to_owned()).unwrap();
        verifier.verify_server_cert(&der(&pair.certificate), &[], &name, &[], now).is_ok()
    }

    #[test]
    fn a_certificate_is_trusted_by_who_trusts_its_authority_for_its_names_and_time() {
        let [own, other] = [authority(NOW, 1000).unwrap(), authority(NOW, 1000).unwrap()];
        let names = ["haptic.edge.svc".to_owned(), "10.0.0.7".to_owned()];
        let pair = certificate(&own, &names, NOW, 100).unwrap();
        assert!(is_trusted(&own, &pair, "haptic.edge.svc", NOW));
        assert!(is_trusted(&own, &pair, "10.0.0.7", NOW - 600));
        assert!(!is_trusted(&own, &pair, "other.edge.svc", NOW));
        assert!(!is_trusted(&own, &pair, "haptic.edge.svc", NOW + 200));
        assert!(!is_trusted(&other, &pair, "haptic.edge.svc", NOW));
        let (of_pair, of_own) = (facts(&pair.certificate).unwrap(), facts(&own.certificate).unwrap());
        assert_eq!((of_pair.until, of_pair.issuer), (NOW + 100, of_own.subject));
    }

    #[test]
    fn no_two_random_words_are_the_same_and_keys_are_not_printed() {
        assert_ne!(random(16).unwrap(), random(16).unwrap());
        let shown = format!("{:?}", authority(NOW, 10).unwrap());
        assert!(!shown.contains("PRIVATE KEY"), "{shown}");
    }
}
