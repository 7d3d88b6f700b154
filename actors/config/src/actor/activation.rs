//! Makes an accepted configuration the active one once every store that it needs is read.
//!
//! Until then the one before stays active: a store that is empty because it was not read yet, or never will be (no permission, no such
//! resource), must not take routes away or keep endpoints from changing.

use actix::{Actor, AsyncContext, Context, Handler};
use haptic_model::{ActiveConfig, Snapshots, config::AcceptedConfig};
use haptic_runtime::{
    OwnHandle, Publisher,
    messages::{ConfigAccepted, StoresChanged},
};
use serde_json::json;
use std::{sync::Arc, time::Duration};

/// How often the log names the stores that a configuration waits for.
const REMINDER: Duration = Duration::from_secs(10);

/// Decides when a configuration is active.
#[derive(Debug)]
pub struct ActivationActor {
    own: OwnHandle<Self>,
    active: Arc<Publisher<Option<Arc<ActiveConfig>>>>,
    accepted: Option<AcceptedConfig>,
    stores: Arc<Snapshots>,
}

impl ActivationActor {
    /// An actor that has received nothing yet. It publishes each configuration on `active` when it is.
    #[must_use]
    pub fn new(own: OwnHandle<Self>, active: Arc<Publisher<Option<Arc<ActiveConfig>>>>) -> Self {
        Self { own, active, accepted: None, stores: Arc::default() }
    }

    fn advance(&mut self) {
        let Some(accepted) = self.waiting() else { return };
        if is_next(accepted, self.active.latest().as_ref().as_ref(), &self.stores) {
            self.active.publish(Some(accepted.0.clone()));
        }
        let waiting = self.waiting().map(|config| config.revision);
        let active = self.active.latest().as_ref().as_ref().map(|config| config.revision);
        self.own.set_detail(&json!({ "active": active, "waiting": waiting }));
    }

    /// The accepted configuration while it is not the active one.
    fn waiting(&self) -> Option<&AcceptedConfig> {
        let active = self.active.latest();
        let active = active.as_ref().as_ref().map(|active| active.revision);
        self.accepted.as_ref().filter(|accepted| active != Some(accepted.revision))
    }

    fn remind(&self) {
        if let Some(accepted) = self.waiting() {
            let missing: Vec<&str> =
                accepted.spec.stores().filter(|name| !self.stores.synced([*name])).collect();
            tracing::warn!(
                missing = missing.join(", "),
                "the new configuration waits until these are read; the one before stays active"
            );
        }
    }
}

/// Whether `accepted` is to take the place of `active` now. Stores that were filled for the configuration before count only once the
/// watches were brought to the accepted one. With nothing active there is nothing to lose, and ports and log level are wanted at once.
fn is_next(accepted: &ActiveConfig, active: Option<&Arc<ActiveConfig>>, stores: &Snapshots) -> bool {
    let is_prepared = stores.prepared_for() == Some(accepted.revision);
    active.is_none() || is_prepared && stores.synced(accepted.spec.stores())
}

impl Actor for ActivationActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        context.run_interval(REMINDER, |actor, _| actor.remind());
    }
}

haptic_runtime::rebuilt!(ActivationActor);

impl Handler<ConfigAccepted> for ActivationActor {
    type Result = ();

    fn handle(&mut self, accepted: ConfigAccepted, _: &mut Self::Context) {
        self.accepted = (*accepted).clone();
        self.advance();
    }
}

impl Handler<StoresChanged> for ActivationActor {
    type Result = ();

    fn handle(&mut self, stores: StoresChanged, _: &mut Self::Context) {
        self.stores = stores.payload;
        self.advance();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix::Arbiter;
    use haptic_model::{Snapshot, cause::StoreChanges};
    use haptic_runtime::{ActorHandle, Health, Spec, Supervision, Topic, topic};

    struct Scene {
        accepted: Publisher<Option<AcceptedConfig>>,
        stores: Publisher<Snapshots>,
        active: Topic<Option<Arc<ActiveConfig>>>,
        actor: ActorHandle<ActivationActor>,
    }

    impl Scene {
        async fn new() -> Self {
            let ((accepted, configs), (stores, snapshots)) = (topic(None), topic(Snapshots::default()));
            let (publisher, active) = topic(None);
            let publisher = Arc::new(publisher);
            let actor = Spec::named("activation").subscribes(&configs).subscribes(&snapshots).start(
                &Arbiter::current(),
                &Supervision::new(Health::new()),
                move |own| ActivationActor::new(own, Arc::clone(&publisher)),
            );
            let scene = Self { accepted, stores, active, actor };
            // What both topics begin with.
            scene.has_handled(2).await;
            scene
        }

        async fn accept(&self, revision: u64, resources: &[&str]) {
            let handled = self.actor.state().handled;
            self.accepted.publish(Some(AcceptedConfig(Arc::new(config(revision, resources)))));
            self.has_handled(handled + 1).await;
        }

        async fn read(&self, resources: &[&str], prepared_for: u64) {
            let handled = self.actor.state().handled;
            self.stores.publish(read(resources, prepared_for));
            self.has_handled(handled + 1).await;
        }

        /// The actor has begun to handle so many messages; it handles each in one go.
        async fn has_handled(&self, messages: u64) {
            while self.actor.state().handled < messages {
                tokio::task::yield_now().await;
            }
        }

        fn active(&self) -> u64 {
            self.active.latest().as_ref().as_ref().map_or(0, |config| config.revision)
        }
    }

    fn config(revision: u64, resources: &[&str]) -> ActiveConfig {
        let watched: serde_json::Map<_, _> = resources
            .iter()
            .map(|r| ((*r).to_owned(), json!({"apiVersion": "v1", "resources": *r})))
            .collect();
        let spec = json!({"credentialsSecretRef": {"name": "c"}, "podSelector": {"matchLabels": {"a": "b"}},
            "watchedResources": watched});
        ActiveConfig { revision, ..ActiveConfig::of("edge", "haptic", serde_json::from_value(spec).unwrap()) }
    }

    fn read(resources: &[&str], prepared_for: u64) -> Snapshots {
        let mut store = Snapshot::full();
        store.set_synced();
        let store = Arc::new(store);
        Snapshots::new(resources.iter().map(|r| ((*r).into(), store.clone())).collect())
            .after(StoreChanges::default(), Some(prepared_for))
    }

    #[actix::test]
    async fn the_first_configuration_is_active_at_once_and_the_next_when_its_stores_are_read() {
        let scene = Scene::new().await;
        scene.accept(1, &["secrets"]).await;
        assert_eq!(scene.active(), 1);
        scene.read(&["secrets"], 1).await;
        scene.accept(2, &["secrets", "gateways"]).await;
        scene.read(&["secrets"], 2).await;
        assert_eq!(scene.active(), 1, "gateways were not read yet");
        scene.read(&["secrets", "gateways"], 2).await;
        assert_eq!(scene.active(), 2);
    }

    #[actix::test]
    async fn stores_that_another_configuration_filled_are_not_read_for_the_next_one() {
        let scene = Scene::new().await;
        scene.accept(1, &["secrets"]).await;
        scene.read(&["secrets"], 1).await;
        scene.accept(2, &["secrets"]).await;
        assert_eq!(scene.active(), 1, "the watches do not know of it");
        scene.read(&["secrets"], 2).await;
        assert_eq!(scene.active(), 2);
    }

    #[actix::test]
    async fn a_configuration_that_waits_is_overtaken_by_the_next_one() {
        let scene = Scene::new().await;
        scene.accept(1, &["secrets"]).await;
        scene.accept(2, &["nonesuch"]).await;
        scene.accept(3, &["secrets"]).await;
        scene.read(&["secrets"], 3).await;
        assert_eq!(scene.active(), 3);
    }
}
