//! TLS Secrets for tests.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use rcgen::{CertificateParams, KeyPair};
use serde_json::{Value, json};
use time::{Duration, OffsetDateTime};

/// A TLS Secret with a certificate of these names that is valid from one day since 1970 to another.
pub fn secret(names: &[&str], begins: i64, ends: i64) -> Value {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    let day = |day| OffsetDateTime::UNIX_EPOCH + Duration::days(day);
    (params.not_before, params.not_after) = (day(begins), day(ends));
    let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
    json!({"metadata": {}, "data": {"tls.crt": STANDARD.encode(certificate.pem())}})
}
