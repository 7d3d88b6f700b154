//! What the names of ExternalName Services lead to, asked once.

use haptic_model::{
    HAProxyTemplateConfigSpec, Snapshot, Snapshots,
    external_names::{ExternalNames, STORE, is_wanted, store},
};
use std::{sync::Arc, time::Duration};

/// A command that renders once does not wait longer for name servers.
const TIMEOUT: Duration = Duration::from_secs(3);

/// `snapshots` with what the names of its Services lead to, asked once.
pub async fn beside(spec: &HAProxyTemplateConfigSpec, snapshots: Snapshots) -> Snapshots {
    if !is_wanted(spec) {
        return snapshots;
    }
    let known = haptic_resolve::once(spec, &snapshots, TIMEOUT).await;
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
