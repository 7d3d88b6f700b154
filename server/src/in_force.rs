//! Puts an accepted configuration in force once every store it needs was read.
//!
//! Until then the one before stays in force: a store that is empty because it was not read yet, or never will be (no
//! permission, no such resource), must not take routes away or keep endpoints from changing.

use haptic_model::{ActiveConfig, Snapshots};
use haptic_runtime::{CellReader, CellWriter, Look, Post};
use std::{sync::Arc, time::Duration};

/// Pause before watches that were just restarted are asked again.
const RETRY: Duration = Duration::from_millis(50);

/// How often a configuration that waits is mentioned.
const REMINDER: Duration = Duration::from_secs(10);

type Config = Option<Arc<ActiveConfig>>;

/// Follows `accepted`, which must be empty when this is called, for as long as it is polled. `watches` is told to look before and after each change, so that
/// it watches what either configuration needs in between.
pub async fn follow(
    mut accepted: CellReader<Config>,
    mut snapshots: CellReader<Snapshots>,
    in_force: CellWriter<Config>,
    watches: Post<Look>,
) {
    let mut newest: Arc<Config> = Arc::new(None);
    loop {
        let next = match newest.as_ref() {
            None => accepted.changed().await,
            Some(config) => {
                look(&watches).await;
                tokio::select! {
                    next = accepted.changed() => next,
                    () = all_read(config, &mut snapshots), if in_force.read().is_some() => {
                        put(&in_force, newest.clone(), &watches).await;
                        accepted.changed().await
                    }
                    // With nothing in force there is nothing to lose, and ports and log level are wanted at once.
                    () = std::future::ready(()), if in_force.read().is_none() => {
                        put(&in_force, newest.clone(), &watches).await;
                        accepted.changed().await
                    }
                }
            }
        };
        newest = next;
    }
}

async fn put(in_force: &CellWriter<Config>, config: Arc<Config>, watches: &Post<Look>) {
    in_force.publish(config);
    look(watches).await;
}

async fn look(watches: &Post<Look>) {
    while let Err(lost) = watches.send(Look).await {
        tracing::warn!(%lost, "the watches did not take the new configuration; asking again");
        tokio::time::sleep(RETRY).await;
    }
}

/// Resolves when every store of `config` was read to the end.
async fn all_read(config: &ActiveConfig, snapshots: &mut CellReader<Snapshots>) {
    let names = || config.spec.stores();
    while tokio::time::timeout(REMINDER, snapshots.wait_for(|s| s.synced(names()))).await.is_err() {
        let seen = snapshots.read();
        let missing: Vec<&str> = names().filter(|name| !seen.synced([*name])).collect();
        tracing::warn!(
            missing = missing.join(", "),
            "the new configuration waits until these are read; the one before stays in force"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix::prelude::*;
    use haptic_model::Snapshot;
    use haptic_runtime::cell;
    use serde_json::json;

    struct Watches;

    impl Actor for Watches {
        type Context = Context<Self>;
    }

    impl Handler<Look> for Watches {
        type Result = ();

        fn handle(&mut self, _: Look, _: &mut Self::Context) {}
    }

    fn config(resources: &[&str]) -> Arc<Config> {
        let watched: serde_json::Map<_, _> = resources
            .iter()
            .map(|r| ((*r).to_owned(), json!({"apiVersion": "v1", "resources": *r})))
            .collect();
        let spec = json!({"credentialsSecretRef": {"name": "c"}, "podSelector": {"matchLabels": {"a": "b"}},
            "watchedResources": watched});
        Arc::new(Some(Arc::new(ActiveConfig {
            revision: resources.len() as u64,
            ..ActiveConfig::of("edge", "haptic", serde_json::from_value(spec).unwrap())
        })))
    }

    fn read(resources: &[&str]) -> Snapshots {
        let mut store = Snapshot::full();
        store.set_synced();
        let store = Arc::new(store);
        Snapshots::new(resources.iter().map(|r| ((*r).into(), store.clone())).collect())
    }

    fn revision(config: &Config) -> u64 {
        config.as_ref().map_or(0, |c| c.revision)
    }

    #[actix::test]
    async fn the_first_configuration_is_in_force_at_once_and_the_next_when_its_stores_are_read() {
        let (accepted_writer, accepted) = cell(None);
        let (store_writer, snapshots) = cell(Snapshots::default());
        let (force_writer, mut in_force) = cell(None);
        let watches = Watches.start().recipient().into();
        actix::spawn(follow(accepted, snapshots, force_writer, watches));
        accepted_writer.publish(config(&["secrets"]));
        assert_eq!(revision(&*in_force.changed().await), 1);

        store_writer.publish(read(&["secrets"]));
        accepted_writer.publish(config(&["secrets", "gateways"]));
        let waits = tokio::time::timeout(Duration::from_millis(100), in_force.changed()).await;
        assert!(waits.is_err(), "gateways were not read yet");

        store_writer.publish(read(&["secrets", "gateways"]));
        assert_eq!(revision(&*in_force.changed().await), 2);
    }

    #[actix::test]
    async fn a_configuration_that_waits_is_overtaken_by_the_next_one() {
        let (accepted_writer, accepted) = cell(None);
        let (_store_writer, snapshots) = cell(read(&["secrets"]));
        let (force_writer, mut in_force) = cell(None);
        let watches = Watches.start().recipient().into();
        actix::spawn(follow(accepted, snapshots, force_writer, watches));
        accepted_writer.publish(config(&["secrets"]));
        in_force.changed().await;
        accepted_writer.publish(config(&["secrets", "nonesuch"]));
        accepted_writer.publish(config(&["secrets"]));
        assert_eq!(revision(&*in_force.changed().await), 1);
    }
}
