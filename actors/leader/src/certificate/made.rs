//! Makes a certificate that clients do not trust, but that lets TLS connections without a certificate of their own begin.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use haptic_model::default_certificate;
use jiff::{Timestamp, ToSpan, civil::Date, tz::TimeZone};
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, date_time_ymd};
use serde_json::{Value, json};
use x509_parser::pem::Pem;

/// The common name by which one is known that we made: only such a one is ever replaced.
const COMMON_NAME: &str = "HAPTIC default certificate";
/// Years that it is good for.
const YEARS: i64 = 10;
/// It is renewed so many seconds before its end.
const BEFORE_THE_END: i64 = 30 * 24 * 3600;

/// What is to be done about the Secret that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretState {
    /// It serves.
    Good,
    /// It is ours, and ends soon.
    Spent,
    /// It holds no certificate that could be served.
    Broken,
}

/// A new Secret for the configuration `namespace/config`.
///
/// # Errors
/// When there is no randomness to be had.
pub fn secret(namespace: &str, config: &str, now: Timestamp) -> Result<Value, String> {
    let (chain, key) = pair(now).map_err(|e| format!("no default certificate can be made: {e}"))?;
    Ok(json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
        "metadata": {
            "namespace": namespace, "name": default_certificate::secret_name(config),
            "labels": { "app.kubernetes.io/managed-by": "haptic" },
        },
        "data": { "tls.crt": STANDARD.encode(chain), "tls.key": STANDARD.encode(key) },
    }))
}

fn pair(now: Timestamp) -> Result<(String, String), rcgen::Error> {
    let today = now.to_zoned(TimeZone::UTC).date();
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, COMMON_NAME);
    // Clocks of clients may be behind.
    let at = |d: Date| date_time_ymd(d.year().into(), d.month().unsigned_abs(), d.day().unsigned_abs());
    params.not_before = at(today.saturating_sub(1.day()));
    params.not_after = at(today.saturating_add(YEARS.years()));
    let key = KeyPair::generate()?;
    Ok((params.self_signed(&key)?.pem(), key.serialize_pem()))
}

/// Whether `secret` can go on serving.
#[must_use]
pub fn examine(secret: &Value, now: Timestamp) -> SecretState {
    let text = |entry: &str| {
        let encoded = secret.pointer("/data")?.get(entry)?.as_str()?;
        String::from_utf8(STANDARD.decode(encoded).ok()?).ok()
    };
    let (Some(chain), Some(_)) = (text("tls.crt"), text("tls.key").filter(|k| k.contains("PRIVATE KEY")))
    else {
        return SecretState::Broken;
    };
    let Some(Ok(first)) = Pem::iter_from_buffer(chain.as_bytes()).next() else { return SecretState::Broken };
    let Ok(certificate) = first.parse_x509() else { return SecretState::Broken };
    let ours = certificate.subject().iter_common_name().any(|name| name.as_str() == Ok(COMMON_NAME));
    let end = certificate.validity().not_after.timestamp();
    if ours && end - BEFORE_THE_END < now.as_second() { SecretState::Spent } else { SecretState::Good }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_second(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn one_that_was_made_serves_until_a_month_before_its_end() {
        let now = at_second(1_800_000_000);
        let secret = secret("edge", "web", now).unwrap();
        assert_eq!(secret["metadata"]["name"], "web-default-certificate");
        let years = |years: i64| at_second(now.as_second() + years * 365 * 24 * 3600);
        assert_eq!(examine(&secret, now), SecretState::Good);
        assert_eq!(examine(&secret, years(9)), SecretState::Good);
        assert_eq!(examine(&secret, years(10)), SecretState::Spent);
    }

    #[test]
    fn one_of_somebody_else_is_never_spent_and_one_that_is_none_is_broken() {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(["a.example".to_owned()]).unwrap();
        params.not_after = date_time_ymd(2020, 1, 1);
        let pem = params.self_signed(&key).unwrap().pem();
        let with = |chain: &str| {
            let (chain, key) = (STANDARD.encode(chain), STANDARD.encode(key.serialize_pem()));
            json!({ "data": { "tls.crt": chain, "tls.key": key } })
        };
        assert_eq!(examine(&with(&pem), at_second(1_800_000_000)), SecretState::Good);
        assert_eq!(examine(&with("nothing"), at_second(1_800_000_000)), SecretState::Broken);
        assert_eq!(examine(&json!({}), at_second(1_800_000_000)), SecretState::Broken);
    }
}
