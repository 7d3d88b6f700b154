//! Offers objects again that a store left out, when it has room for some of them: their namespace is listed beside the watch.
//!
//! Whoever makes room again and again gets no more than a small part of everybody's time and of the API server's.

use super::{
    backoff::Backoff,
    discovery::Served,
    messages,
    raw::{PAGE, RawSource},
};
use crate::{
    ingest::Ingest,
    pool::Pool,
    spec::WatchSpec,
    update::{ListScope, Update},
};
use kube::{Api, Client, api::ListParams};
use std::{
    collections::BTreeSet,
    convert::Infallible,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::{mpsc::Sender, watch};

/// Nothing is offered before so much time has gone by.
const PAUSE: Duration = Duration::from_secs(1);
/// After an offer it rests so many times as long as it took.
const REST: u32 = 10;

/// Nobody listens any more.
pub(crate) struct Closed;

/// Offers what is wanted of one resource of a cluster.
pub(crate) struct Offers {
    pub(crate) client: Client,
    pub(crate) spec: Arc<WatchSpec>,
    pub(crate) ingest: Arc<Ingest>,
    pub(crate) served: Arc<Served>,
    pub(crate) pool: Pool,
    pub(crate) out: Sender<Update>,
}

/// The first namespace that is wanted, after a pause; for ever, when nobody can want anything any more.
pub(crate) async fn next(wanted: &mut watch::Receiver<BTreeSet<ListScope>>) -> ListScope {
    tokio::time::sleep(PAUSE).await;
    let first = match wanted.wait_for(|wanted| !wanted.is_empty()).await {
        Ok(wanted) => wanted.first().cloned(),
        Err(_) => None,
    };
    match first {
        Some(namespace) => namespace,
        None => std::future::pending().await,
    }
}

impl Offers {
    /// For as long as somebody listens.
    pub(crate) async fn run(
        self,
        mut wanted: watch::Receiver<BTreeSet<ListScope>>,
    ) -> Result<Infallible, Closed> {
        loop {
            let namespace = next(&mut wanted).await;
            let began = Instant::now();
            match self.spec.watches_metadata() {
                true => self.offer::<true>(&namespace).await?,
                false => self.offer::<false>(&namespace).await?,
            }
            tokio::time::sleep(began.elapsed() * REST).await;
        }
    }

    /// What is left out is only known again when all was offered, so it is tried until it is done.
    async fn offer<const METADATA: bool>(&self, namespace: &ListScope) -> Result<(), Closed> {
        let client = self.client.clone();
        let api: Api<RawSource<METADATA>> = match &**namespace {
            "" => Api::all_with(client, &self.served.resource),
            namespace => Api::namespaced_with(client, namespace, &self.served.resource),
        };
        let mut backoff = Backoff::new();
        while let Err(error) = self.list(&api, namespace).await? {
            self.send(Update::Failed(messages::of_call(&error, "list", &self.spec, namespace))).await?;
            backoff.wait().await;
        }
        Ok(())
    }

    async fn list<const METADATA: bool>(
        &self,
        api: &Api<RawSource<METADATA>>,
        namespace: &ListScope,
    ) -> Result<kube::Result<()>, Closed> {
        let _turn = self.pool.turn().await;
        self.send(Update::OfferBegun(namespace.clone())).await?;
        let resource = &self.spec.resource;
        let mut page = ListParams {
            label_selector: resource.label_selector.clone(),
            field_selector: resource.field_selector.clone(),
            limit: Some(PAGE),
            ..ListParams::default()
        };
        loop {
            let listed = match api.list(&page).await {
                Ok(listed) => listed,
                Err(error) => return Ok(Err(error)),
            };
            for raw in listed.items {
                let value = raw.typed(&self.served.resource);
                self.send(self.ingest.update(value, namespace, Update::Offered)).await?;
            }
            page.continue_token = listed.metadata.continue_.filter(|token| !token.is_empty());
            if page.continue_token.is_none() {
                self.send(Update::OfferEnded(namespace.clone())).await?;
                return Ok(Ok(()));
            }
        }
    }

    async fn send(&self, update: Update) -> Result<(), Closed> {
        self.out.send(update).await.map_err(|_| Closed)
    }
}
