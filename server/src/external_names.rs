//! Brings what names of Services lead to into the stores that renders read.

use haptic_debounce::Changes;
use haptic_model::{
    HAProxyTemplateConfigSpec, Snapshot, Snapshots,
    external_names::{ExternalNames, STORE, is_wanted, store},
};
use haptic_resolve::Names;
use haptic_runtime::CellReader;
use haptic_watch::Stores;
use std::{sync::Arc, time::Duration};

/// So long a command that renders once waits for name servers.
const PATIENCE: Duration = Duration::from_secs(3);

/// Keeps the store as `names` says, for as long as it is polled.
pub async fn follow(mut names: CellReader<Names>, stores: Stores, changes: Changes) {
    let (claim, mut snapshot) = stores.claim(&STORE.into());
    let mut seen = names.read();
    loop {
        if let Some(known) = &*seen {
            let before = snapshot.clone();
            snapshot = store(snapshot, known);
            claim.publish(&snapshot);
            if !snapshot.is_unchanged_since(&before) || !before.is_synced() {
                changes.note_other("external names");
            }
        }
        seen = names.changed().await;
    }
}

/// `snapshots` with what the names of its Services lead to, asked once.
pub async fn beside(spec: &HAProxyTemplateConfigSpec, snapshots: Snapshots) -> Snapshots {
    if !is_wanted(spec) {
        return snapshots;
    }
    let known = haptic_resolve::once(spec, &snapshots, PATIENCE).await;
    with(spec, &snapshots, &known)
}

/// `snapshots` with what `known` says, where `spec` has Services.
#[must_use]
pub fn with(spec: &HAProxyTemplateConfigSpec, snapshots: &Snapshots, known: &ExternalNames) -> Snapshots {
    if !is_wanted(spec) {
        return snapshots.clone();
    }
    snapshots.with(STORE.into(), Arc::new(store(Snapshot::full(), known)))
}
