//! Reads the Secret, publishes what is in it, and, while this replica leads, renews it and sets the registration right.

use super::{
    Endpoint, EndpointState, EndpointWriter,
    certificate::ServingCertificate,
    objects::{data_of, secrets, webhook_configurations, write_secret, write_webhooks},
    registration,
    renewal::{CertificateRequest, Registered, next_check, renewed},
    stored::StoredEndpoint,
};
use futures::{Stream, StreamExt};
use haptic_commentator::metrics::table;
use haptic_model::{crd::WebhookSpec, pipeline::Leadership};
use haptic_runtime::Topic;
use haptic_text::Sensitive;
use kube::{
    Api, Client,
    api::DynamicObject,
    runtime::{WatchStreamExt, watcher},
};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    path::Path,
    pin::Pin,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// After something failed.
const BACKOFF: Duration = Duration::from_secs(2);
/// How often files are read again: a folder that Kubernetes mounts changes by itself.
const FILE_INTERVAL: Duration = Duration::from_secs(10);

/// What the API server has, as far as it was seen.
#[derive(Default)]
struct ObservedObjects {
    /// The leader's Secret; `None` until it was looked for.
    own: Option<Option<DynamicObject>>,
    /// Somebody else's Secret.
    provided: Option<Option<DynamicObject>>,
    /// The registration.
    registration: Option<Option<DynamicObject>>,
    /// In how many seconds the paths are looked at again; `None`: there are none.
    next_check: Option<u64>,
    /// What was logged last, of each.
    troubles: EndpointTroubles,
}

/// What is wrong, by what was tried.
#[derive(Default)]
struct EndpointTroubles(BTreeMap<&'static str, String>);

/// Which object was seen.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WatchedKind {
    /// The leader's Secret.
    Own,
    /// The user's Secret.
    Provided,
    /// The ValidatingWebhookConfiguration.
    Registration,
}

/// What a watch has shown: the object, if there is one, or why it cannot be read.
pub(crate) type WatchedState = (WatchedKind, Result<Option<DynamicObject>, String>);

/// The webhook as one configuration wants it, and as the API server has it.
pub(crate) struct Maintained {
    webhook: WebhookSpec,
    wanted: CertificateRequest,
    secrets: Api<DynamicObject>,
    registrations: Api<DynamicObject>,
    seen: ObservedObjects,
}

impl Maintained {
    pub(crate) fn new(client: &Client, namespace: &str, webhook: &WebhookSpec) -> Self {
        Self {
            webhook: webhook.clone(),
            wanted: CertificateRequest::of(webhook, namespace),
            secrets: secrets(client.clone(), namespace),
            registrations: webhook_configurations(client.clone()),
            seen: ObservedObjects::default(),
        }
    }

    /// Everything that is to be observed.
    pub(crate) fn watches(&self) -> Vec<impl Stream<Item = WatchedState> + use<>> {
        let provided = self.webhook.certificate.secret_name.as_ref();
        let mut watched = vec![
            (WatchedKind::Own, &self.secrets, &self.webhook.secret_name),
            (WatchedKind::Registration, &self.registrations, &self.webhook.configuration_name),
        ];
        watched.extend(provided.map(|name| (WatchedKind::Provided, &self.secrets, name)));
        let watch = |(which, api, name): (WatchedKind, &Api<DynamicObject>, &String)| {
            watch_object(api.clone(), name).map(move |observed| (which, observed))
        };
        watched.into_iter().map(watch).collect()
    }

    pub(crate) fn observe(&mut self, (which, observed): WatchedState) {
        let (name, object) = match which {
            WatchedKind::Own => ("own", &mut self.seen.own),
            WatchedKind::Provided => ("provided", &mut self.seen.provided),
            WatchedKind::Registration => ("registration", &mut self.seen.registration),
        };
        self.seen.troubles.record(name, observed.map(|observed| *object = Some(observed)));
    }

    /// Does what is to be done next, and displays what there is; the pause after which it is to be done again.
    pub(crate) async fn refresh(
        &mut self,
        leadership: &Topic<Leadership>,
        endpoint: &EndpointWriter,
    ) -> Duration {
        let refreshed = self.try_refresh(leadership, endpoint).await;
        let failed = refreshed.is_err();
        self.seen.troubles.record("work", refreshed);
        let pause = match (failed, &self.webhook.certificate.directory) {
            (true, _) => BACKOFF,
            (false, Some(_)) => FILE_INTERVAL,
            (false, None) => Duration::from_secs(next_check(&self.wanted)),
        };
        pause.min(Duration::from_secs(self.seen.next_check.unwrap_or(u64::MAX)))
    }

    async fn try_refresh(
        &mut self,
        leadership: &Topic<Leadership>,
        endpoint: &EndpointWriter,
    ) -> Result<(), String> {
        let Self { webhook, wanted, secrets, registrations, seen } = self;
        let waiting = |why: &str| EndpointState::Waiting(why.to_owned());
        let Some(own) = seen.own.clone() else {
            let why = seen.troubles.0.get("own").cloned();
            let why = why.unwrap_or_else(|| "its Secret was not read yet".to_owned());
            display(endpoint, waiting(&why));
            return Ok(());
        };
        let mut stored = own.as_ref().and_then(|secret| StoredEndpoint::read(&data_of(secret)));
        let (leads, now) = (leadership.latest().leads, now());
        if leads {
            let listed = seen.registration.as_ref().and_then(Option::as_ref).and_then(webhooks_of);
            let registered = Registered {
                bundle: listed.and_then(registration::registered),
                path: listed.and_then(registration::registered_path),
            };
            if let Some(next) = renewed(stored.as_ref(), &registered, wanted, now)? {
                let written = write_secret(secrets, &webhook.secret_name, own.as_ref(), &next.data()).await?;
                if stored.as_ref().is_none_or(|stored| stored.generated != next.generated) {
                    tracing::info!(
                        secret = webhook.secret_name,
                        "the webhook's certificate was made or renewed"
                    );
                }
                (seen.own, stored) = (Some(Some(written)), Some(next));
            }
        }
        seen.next_check = stored.as_ref().filter(|_| leads).map(|stored| stored.paths.next_check());
        let Some(stored) = stored else {
            let why = format!("the leader has not made Secret {} yet", webhook.secret_name);
            display(endpoint, waiting(&why));
            return Ok(());
        };
        let served = match certificate_of(webhook, &stored, seen.provided.as_ref()) {
            Ok(served) => served,
            Err(why) => {
                // A new certificate that cannot be used takes nothing away.
                if endpoint.latest().endpoint().is_none() {
                    display(endpoint, waiting(&why));
                }
                return Err(why);
            }
        };
        let (certificate, expires) = served.certified()?;
        let with_slash = |path: &Sensitive| Sensitive::new(format!("/{}", path.reveal()));
        let good = [Some(&stored.paths.current), stored.paths.previous.as_ref()];
        let paths = good.into_iter().flatten().map(with_slash).collect();
        let ready = Endpoint { paths, certificate: Arc::new(certificate), expires };
        display(endpoint, EndpointState::Ready(Arc::new(ready)));
        if leads {
            let path = with_slash(stored.paths.to_register(now));
            register(registrations, webhook, path.reveal(), served.bundle.as_deref(), seen).await?;
        }
        Ok(())
    }
}

fn certificate_of(
    webhook: &WebhookSpec,
    stored: &StoredEndpoint,
    provided: Option<&Option<DynamicObject>>,
) -> Result<ServingCertificate, String> {
    if let Some(folder) = &webhook.certificate.directory {
        return ServingCertificate::of_folder(Path::new(folder));
    }
    if let Some(name) = &webhook.certificate.secret_name {
        let secret = provided.ok_or_else(|| format!("Secret {name} was not read yet"))?;
        let secret = secret.as_ref().ok_or_else(|| format!("there is no Secret {name}"))?;
        return ServingCertificate::of_secret(&data_of(secret))
            .map_err(|why| format!("Secret {name} cannot be used: {why}"));
    }
    let generated = stored.generated.as_ref().ok_or("the leader has not made it yet")?;
    let (chain, key) = (generated.serving.certificate.clone(), generated.serving.key.clone());
    Ok(ServingCertificate { chain, key, bundle: Some(generated.bundle()) })
}

async fn register(
    api: &Api<DynamicObject>,
    webhook: &WebhookSpec,
    path: &str,
    bundle: Option<&str>,
    seen: &mut ObservedObjects,
) -> Result<(), String> {
    let name = &webhook.configuration_name;
    let Some(found) = seen.registration.clone() else { return Ok(()) };
    let found = found.ok_or_else(|| {
        format!("there is no ValidatingWebhookConfiguration {name}: nothing is checked before it is stored")
    })?;
    let Some(right) = webhooks_of(&found).and_then(|list| registration::corrected(list, path, bundle)) else {
        return Ok(());
    };
    let written = write_webhooks(api, &found, &right).await?;
    seen.registration = Some(Some(written));
    tracing::debug!(name, "the webhook is registered");
    Ok(())
}

fn webhooks_of(registration: &DynamicObject) -> Option<&Value> {
    registration.data.get("webhooks")
}

/// Publishes only what is news: each handshake and request reads it.
pub(crate) fn display(writer: &EndpointWriter, state: EndpointState) {
    let is_news = match (&state, &*writer.latest()) {
        (EndpointState::Off, EndpointState::Off) => false,
        (EndpointState::Waiting(new), EndpointState::Waiting(old)) => new != old,
        (EndpointState::Ready(new), EndpointState::Ready(old)) => {
            new.paths != old.paths || new.certificate.cert != old.certificate.cert
        }
        _ => true,
    };
    if is_news {
        if let EndpointState::Ready(endpoint) = &state {
            metrics::gauge!(table::WEBHOOK_CERTIFICATE_EXPIRY_TIMESTAMP_SECONDS.name)
                .set(as_number(endpoint.expires));
        }
        writer.publish(state);
    }
}

#[allow(clippy::cast_precision_loss, reason = "seconds need no 53 bits")]
fn as_number(seconds: i64) -> f64 {
    seconds as f64
}

impl EndpointTroubles {
    /// Logs trouble when it begins and when it changes.
    fn record(&mut self, what: &'static str, done: Result<(), String>) {
        match done {
            Ok(()) => drop(self.0.remove(what)),
            Err(why) => {
                if self.0.get(what) != Some(&why) {
                    tracing::warn!("the webhook: {why}");
                }
                self.0.insert(what, why);
            }
        }
    }
}

type ObjectStream = Pin<Box<dyn Stream<Item = Result<Option<DynamicObject>, String>> + Send>>;

/// One named object over time.
fn watch_object(api: Api<DynamicObject>, name: &str) -> ObjectStream {
    let shown = name.to_owned();
    let seen = watcher::watch_object(api, name).default_backoff();
    seen.map(move |observed| {
        observed.map_err(|error| format!("{shown} cannot be read: {}", cause_of(&error)))
    })
    .boxed()
}

/// kube's watcher wraps the API server's message; only that helps a person.
fn cause_of(error: &watcher::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}
