//! Whether Secrets hold certificates that a listener can have, and for which hosts these are.

use super::parsed::stores_of;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use haptic_model::{ActiveConfig, Object, Snapshot, Snapshots, gateway::NamespacedName, host_name::is_host};
use serde_json::Value;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};
use x509_parser::{certificate::X509Certificate, extensions::GeneralName, parse_x509_certificate, pem::Pem};

/// The hosts that a certificate is for.
pub(super) type CertificateNames = Arc<[Box<str>]>;

/// A Secret, and the names of its certificate, or why that cannot be used.
type JudgedSecret = (Arc<Object>, Result<CertificateNames, String>);

/// The stores of Secrets, and what is known of those that were asked for.
#[derive(Debug, Default)]
pub(super) struct GatewayCertificates {
    stores: Vec<Arc<Snapshot>>,
    known: Mutex<HashMap<NamespacedName, JudgedSecret>>,
}

impl GatewayCertificates {
    /// Whether any of them may be another than before.
    pub fn update(&mut self, config: &ActiveConfig, snapshots: &Snapshots) -> bool {
        let mut stores = stores_of(config, snapshots, "secrets");
        stores.retain(|store| !store.is_on_demand());
        let is_same = stores.len() == self.stores.len()
            && stores.iter().zip(&self.stores).all(|(now, before)| now.is_unchanged_since(before));
        self.stores = stores;
        !is_same
    }

    /// # Errors
    /// Why there is none.
    pub fn judge(&self, name: &NamespacedName) -> Result<CertificateNames, String> {
        let Some(secret) = self.stores.iter().find_map(|store| store.get(&name.0, &name.1)) else {
            return Err("there is no such Secret of type kubernetes.io/tls".to_owned());
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((object, judged)) = known.get(name)
            && Arc::ptr_eq(object, secret)
        {
            return judged.clone();
        }
        let judged = pair(secret);
        known.insert(name.clone(), (secret.clone(), judged.clone()));
        judged
    }
}

fn pair(secret: &Object) -> Result<CertificateNames, String> {
    let secret = secret.value().map_err(|_| "it cannot be read".to_owned())?;
    let entry = |name: &str| {
        let text = secret.pointer("/data").and_then(|data| data.get(name)).and_then(Value::as_str);
        let text = text.ok_or_else(|| format!("it has no {name}"))?;
        let bytes = STANDARD.decode(text.trim()).map_err(|_| format!("{name} is not Base64"))?;
        Pem::iter_from_buffer(&bytes).next().and_then(Result::ok).ok_or_else(|| format!("{name} is not PEM"))
    };
    let certificate = entry("tls.crt")?;
    let names = match parse_x509_certificate(&certificate.contents) {
        Ok((_, read)) if certificate.label == "CERTIFICATE" => names_of(&read),
        _ => return Err("tls.crt holds no certificate".to_owned()),
    };
    if !entry("tls.key")?.label.ends_with("PRIVATE KEY") {
        return Err("tls.key holds no private key".to_owned());
    }
    Ok(names)
}

fn names_of(certificate: &X509Certificate<'_>) -> CertificateNames {
    let names = certificate.subject_alternative_name().ok().flatten();
    let names = names.iter().flat_map(|names| &names.value.general_names).filter_map(|name| match name {
        GeneralName::DNSName(name) => Some(name.to_ascii_lowercase()).filter(|name| is_host(name)),
        _ => None,
    });
    names.map(String::into_boxed_str).collect()
}
