//! Keeps the addresses of the Ingresses that are served as they should be.

use super::ReportInputs;
use crate::{
    addresses::{self, changes::WrittenStatuses, published, served},
    rounds::Rounds,
};
use haptic_model::{ActiveConfig, crd::IngressStatusSpec};
use haptic_runtime::cpu;
use kube::Client;
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::time::Instant;

/// What is rendered changes all the time; who is served does not.
const INTERVAL: Duration = Duration::from_secs(5);
/// Ten thousand new Ingresses are not one burst of writes.
const BETWEEN_WRITES: Duration = Duration::from_millis(20);

/// The addresses that this leader wrote.
pub(crate) struct AddressTask {
    pub(crate) rounds: Rounds,
    written: WrittenAddresses,
}

/// By watched resource.
pub(crate) type WrittenAddresses = BTreeMap<Arc<str>, WrittenStatuses>;

impl AddressTask {
    pub(crate) fn new(now: Instant) -> Self {
        Self { rounds: Rounds::new(now), written: BTreeMap::new() }
    }

    /// One round, if it is time for one and the configuration asks for it.
    pub(crate) fn begin(
        &mut self,
        client: &Client,
        inputs: &ReportInputs,
        now: Instant,
    ) -> Option<impl Future<Output = (WrittenAddresses, Result<(), String>)> + use<>> {
        let config = inputs.active.clone()?;
        let wanted = config.spec.controller.ingress_status.clone();
        if wanted.is_none() && self.written.is_empty() || !self.rounds.begin(now) {
            return None;
        }
        let (client, inputs) = (client.clone(), inputs.clone());
        let mut written = std::mem::take(&mut self.written);
        Some(async move {
            let done = bring(&client, &inputs, &config, &wanted.unwrap_or_default(), &mut written).await;
            (written, done)
        })
    }

    /// Takes up what a round ended with.
    pub(crate) fn ended(&mut self, written: WrittenAddresses, now: Instant) {
        self.rounds.ended(now + INTERVAL, Some(now + 2 * INTERVAL));
        self.written = written;
    }
}

async fn bring(
    client: &Client,
    inputs: &ReportInputs,
    config: &ActiveConfig,
    wanted: &IngressStatusSpec,
    written: &mut WrittenAddresses,
) -> Result<(), String> {
    let deployed = inputs.pods.values().any(|pod| pod.running.is_some());
    let (Some(validated), true) = (&inputs.validated, deployed) else {
        return Ok(());
    };
    let service = match &wanted.service {
        Some(service) => {
            let namespace = service.namespace.as_deref().unwrap_or(&config.namespace);
            addresses::api::service(client, namespace, &service.name).await?
        }
        None => None,
    };
    let all = Arc::new(published::addresses(service.as_ref(), &wanted.addresses));
    for resource in ingress_stores(config) {
        let Some(store) = inputs.snapshots.get(&resource).filter(|store| store.is_synced()).cloned() else {
            continue;
        };
        let (known, validated) = (written.entry(Arc::clone(&resource)).or_default(), Arc::clone(validated));
        let (mut before, all) = (std::mem::take(known), Arc::clone(&all));
        let compared = cpu("reporter", move || {
            let served = served::of(validated.bundle(), &resource);
            let changes = before.changes(&store, &served, &all);
            (before, changes)
        });
        let (compared, changes) = compared.await.map_err(|panicked| panicked.to_string())?;
        *known = compared;
        for change in changes {
            addresses::api::write(client, &change).await?;
            known.note(&change);
            tokio::time::sleep(BETWEEN_WRITES).await;
        }
    }
    Ok(())
}

/// The watched resources that are Ingresses.
fn ingress_stores(config: &ActiveConfig) -> Vec<Arc<str>> {
    let watched = config.spec.watched_resources.iter();
    let ingresses = watched.filter(|(_, resource)| {
        resource.resources == "ingresses" && resource.api_version.starts_with("networking.k8s.io/")
    });
    ingresses.map(|(name, _)| name.as_str().into()).collect()
}
