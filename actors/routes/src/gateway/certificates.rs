//! Whether Secrets hold certificates that a listener can have, and for which hosts these are.

use super::parsed::stores_of;
use crate::certificate;
use haptic_model::{ActiveConfig, Object, Snapshot, Snapshots, gateway::NamespacedName, host_name::is_host};
use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
};
use x509_parser::{
    asn1_rs::{Any, Tag},
    certificate::X509Certificate,
    extensions::GeneralName,
    parse_x509_certificate,
    pem::Pem,
};

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

impl Clone for GatewayCertificates {
    fn clone(&self) -> Self {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Self { stores: self.stores.clone(), known: Mutex::new(known) }
    }
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
            return Err(
                "there is no such Secret of type kubernetes.io/tls, or with the label haproxy-haptic.org/use"
                    .to_owned(),
            );
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((object, result)) = known.get(name)
            && Arc::ptr_eq(object, secret)
        {
            return result.clone();
        }
        let result = names_in(secret);
        known.insert(name.clone(), (secret.clone(), result.clone()));
        result
    }
}

/// As strictly as what is rendered: a port whose certificates are all left out there would make HAProxy refuse the whole file.
fn names_in(secret: &Object) -> Result<CertificateNames, String> {
    let secret = secret.value().map_err(|_| "it cannot be read".to_owned())?;
    let file = certificate::of_object(&secret, "")?;
    let unreadable = || "tls.crt cannot be read".to_owned();
    let first = Pem::iter_from_buffer(file.as_bytes()).next().and_then(Result::ok).ok_or_else(unreadable)?;
    let (_, first) = parse_x509_certificate(&first.contents).map_err(|_| unreadable())?;
    Ok(names_of(&first))
}

/// Those that HAProxy would present it for by itself: alternative names, and common names beside them.
fn names_of(certificate: &X509Certificate<'_>) -> CertificateNames {
    let alternative = certificate.subject_alternative_name().ok().flatten();
    let alternative = alternative.iter().flat_map(|names| &names.value.general_names);
    let alternative = alternative.filter_map(|name| match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        _ => None,
    });
    let common = certificate.subject().iter_common_name().map(|name| text_of(name.attr_value()));
    let all = alternative.chain(common).map(|name| name.to_ascii_lowercase()).filter(|name| is_host(name));
    let all: BTreeSet<Box<str>> = all.map(String::into_boxed_str).collect();
    all.into_iter().collect()
}

/// The text of a name's part, whatever it is written in.
fn text_of(part: &Any<'_>) -> String {
    let bytes = part.as_bytes();
    if part.tag() != Tag::BmpString {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    let units: Vec<u16> = bytes
        .chunks_exact(2)
        .map(|pair| pair.iter().fold(0, |unit, byte| (unit << 8) | u16::from(*byte)))
        .collect();
    String::from_utf16_lossy(&units)
}
