//! ConfigMaps that objects of the Gateway API name, as far as they are read.
//!
//! ConfigMaps are kept by reference only: of a cluster's many only those are fetched that are named. One that nobody answered for is asked
//! for again after a while, though nothing may change until then.

use super::parsed::stores_of;
use haptic_model::{ActiveConfig, Object, Snapshot, Snapshots, gateway::NamespacedName, store::FetchError};
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

/// From the first failure to the next try, and at the longest: it doubles.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// A ConfigMap as its store has it, and what was read of it, or why there is nothing.
type JudgedConfigMap<T> = (Arc<Object>, Result<T, String>);

/// The stores of ConfigMaps, and what is known of those that were asked for.
#[derive(Debug)]
pub(super) struct NamedConfigMaps<T> {
    read: fn(&Object) -> Result<T, String>,
    stores: Vec<Arc<Snapshot>>,
    known: Mutex<HashMap<NamespacedName, JudgedConfigMap<T>>>,
    /// Whether one could not be fetched: it is asked for again.
    has_failed: AtomicBool,
    pause: Duration,
    now: Option<Instant>,
}

impl<T: Clone> Clone for NamedConfigMaps<T> {
    fn clone(&self) -> Self {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let has_failed = AtomicBool::new(self.has_failed.load(Relaxed));
        Self { stores: self.stores.clone(), known: Mutex::new(known), has_failed, ..*self }
    }
}

impl<T: Clone> NamedConfigMaps<T> {
    /// Of each `read` says what it holds, or why it is of no use.
    pub fn new(read: fn(&Object) -> Result<T, String>) -> Self {
        Self {
            read,
            stores: Vec::new(),
            known: Mutex::default(),
            has_failed: AtomicBool::default(),
            pause: FIRST_PAUSE,
            now: None,
        }
    }

    /// Whether any of them may be another than before. `now`: without it none is asked for again by itself.
    pub fn update(&mut self, config: &ActiveConfig, snapshots: &Snapshots, now: Option<Instant>) -> bool {
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
        self.now = now;
        let has_failed = std::mem::take(self.has_failed.get_mut());
        self.pause = if has_failed { (self.pause * 2).min(LONGEST_PAUSE) } else { FIRST_PAUSE };
        has_failed || !is_same
    }

    /// When one is asked for again though nothing may change until then.
    pub fn due(&self) -> Option<Instant> {
        self.has_failed.load(Relaxed).then_some(self.now? + self.pause)
    }

    /// The content of a ConfigMap. While one cannot be fetched it is as it was.
    ///
    /// # Errors
    /// Why there is nothing.
    pub fn judge(&self, name: &NamespacedName) -> Result<T, String> {
        let found = self.stores.iter().find_map(|store| Some((store, store.get(&name.0, &name.1)?)));
        let Some((store, object)) = found else { return Err("there is no such ConfigMap".to_owned()) };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let before = known.get(name);
        if let Some((seen, result)) = before
            && Arc::ptr_eq(seen, object)
        {
            return result.clone();
        }
        let result = match store.load(object) {
            Ok(Some(loaded)) => (self.read)(&loaded),
            Ok(None) => Err("there is no such ConfigMap".to_owned()),
            Err(FetchError::Unusable(why)) => Err(why),
            Err(FetchError::Unanswered(why)) => {
                self.has_failed.store(true, Relaxed);
                return before.map_or(Err(why), |(_, result)| result.clone());
            }
        };
        known.insert(name.clone(), (object.clone(), result.clone()));
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::{ObjectRef, store::FetchObject};
    use std::sync::atomic::AtomicUsize;

    /// Answers only after a number of failures.
    #[derive(Debug)]
    struct Failing(AtomicUsize);

    impl FetchObject for Failing {
        fn fetch(&self, reference: &Arc<ObjectRef>) -> Result<Option<Arc<Object>>, FetchError> {
            let is_over = self.0.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_err();
            let json = b"{}".as_slice().into();
            let object = Object { reference: reference.clone(), version: 1, json };
            is_over
                .then(|| Some(Arc::new(object)))
                .ok_or_else(|| FetchError::Unanswered("nobody answers".into()))
        }
    }

    #[test]
    fn a_config_map_that_nobody_answered_for_is_asked_for_again_after_longer_and_longer() {
        let spec = serde_json::json!({"watchedResources": {"configmaps": {"apiVersion": "v1", "resources": "configmaps"}},
            "credentialsSecretRef": {"name": "c"}, "podSelector": {"matchLabels": {}}});
        let config = ActiveConfig::of("edge", "haptic", serde_json::from_value(spec).unwrap());
        let mut store = Snapshot::on_demand(Arc::new(Failing(AtomicUsize::new(3))));
        let reference = Arc::new(ObjectRef::new("configmaps", "edge", "ca"));
        let object = Object { reference, version: 0, json: b"".as_slice().into() };
        store.apply(object, ["edge".into(), "ca".into()].into());
        let snapshots = Snapshots::default().with("configmaps".into(), Arc::new(store));
        let mut config_maps = NamedConfigMaps::new(|_| Ok(()));
        let name = ("edge".into(), "ca".into());
        let mut now = Instant::now();
        config_maps.update(&config, &snapshots, Some(now));
        for pause in [1, 2, 4] {
            assert_eq!(config_maps.judge(&name), Err("nobody answers".to_owned()));
            assert_eq!(config_maps.due(), Some(now + Duration::from_secs(pause)));
            now += Duration::from_secs(pause);
            assert!(config_maps.update(&config, &snapshots, Some(now)), "it is asked for again");
        }
        assert_eq!((config_maps.judge(&name), config_maps.due()), (Ok(()), None));
        assert!(!config_maps.update(&config, &snapshots, Some(now)));
    }
}
