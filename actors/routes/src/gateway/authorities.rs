//! Certificates of authorities in ConfigMaps.
//!
//! ConfigMaps are kept by reference only: of a cluster's many only those are fetched that are named.

use super::parsed::stores_of;
use haptic_model::{ActiveConfig, Object, Snapshot, Snapshots, gateway::NamespacedName, store::FetchError};
use serde_json::Value;
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};
use x509_parser::{parse_x509_certificate, pem::Pem};

/// The entry that has them.
const ENTRY: &str = "ca.crt";

/// A ConfigMap as its store has it, and its certificates, or why there are none.
type JudgedConfigMap = (Arc<Object>, Result<Arc<str>, String>);

/// The stores of ConfigMaps, and what is known of those that were asked for.
#[derive(Debug, Default)]
pub(super) struct AuthorityConfigMaps {
    stores: Vec<Arc<Snapshot>>,
    known: Mutex<HashMap<NamespacedName, JudgedConfigMap>>,
    /// Whether one could not be fetched: it is asked for again.
    has_failed: AtomicBool,
}

impl AuthorityConfigMaps {
    /// Whether any of them may be another than before.
    pub fn update(&mut self, config: &ActiveConfig, snapshots: &Snapshots) -> bool {
        let stores = stores_of(config, snapshots, "configmaps");
        let is_same = stores.len() == self.stores.len()
            && stores.iter().zip(&self.stores).all(|(now, before)| now.is_unchanged_since(before));
        self.stores = stores;
        if !is_same {
            let stores = &self.stores;
            let known = self.known.get_mut().unwrap_or_else(PoisonError::into_inner);
            known.retain(|(namespace, name), _| {
                stores.iter().any(|store| store.get(namespace, name).is_some())
            });
        }
        std::mem::take(self.has_failed.get_mut()) || !is_same
    }

    /// The certificates of a ConfigMap as PEM. While one cannot be fetched it is as it was.
    ///
    /// # Errors
    /// Why there are none.
    pub fn judge(&self, name: &NamespacedName) -> Result<Arc<str>, String> {
        let found = self.stores.iter().find_map(|store| Some((store, store.get(&name.0, &name.1)?)));
        let Some((store, object)) = found else { return Err("there is no such ConfigMap".to_owned()) };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let before = known.get(name);
        if let Some((seen, judged)) = before
            && Arc::ptr_eq(seen, object)
        {
            return judged.clone();
        }
        let judged = match store.load(object) {
            Ok(Some(loaded)) => certificates(&loaded),
            Ok(None) => Err("there is no such ConfigMap".to_owned()),
            Err(FetchError::Unusable(why)) => Err(why),
            Err(FetchError::Unanswered(why)) => {
                self.has_failed.store(true, Relaxed);
                return before.map_or(Err(why), |(_, judged)| judged.clone());
            }
        };
        known.insert(name.clone(), (object.clone(), judged.clone()));
        judged
    }
}

fn certificates(config_map: &Object) -> Result<Arc<str>, String> {
    let value = config_map.value().map_err(|_| "it cannot be read".to_owned())?;
    let text = value.pointer("/data").and_then(|data| data.get(ENTRY)).and_then(Value::as_str);
    let text = text.ok_or_else(|| format!("it has no {ENTRY}"))?;
    let blocks: Result<Vec<Pem>, _> = Pem::iter_from_buffer(text.as_bytes()).collect();
    let blocks = blocks.map_err(|_| format!("{ENTRY} is no valid PEM"))?;
    let is_one = |block: &&Pem| block.label == "CERTIFICATE";
    if !blocks.iter().any(|block| is_one(&block)) {
        return Err(format!("{ENTRY} holds no certificate"));
    }
    if blocks.iter().filter(is_one).any(|block| parse_x509_certificate(&block.contents).is_err()) {
        return Err(format!("{ENTRY} holds a certificate that cannot be read"));
    }
    Ok(text.into())
}
