//! Reads the Secret, shows what is in it, and, while this replica leads, renews it and keeps the registration right.

use super::{
    given::Shown,
    kept::Kept,
    objects::{data_of, secrets, webhook_configurations, write_secret, write_webhooks},
    registration,
    renewal::{Registered, Wanted, next_look, renewed},
};
use crate::webhook::standing::{Identity, Standing};
use futures::{Stream, StreamExt};
use haptic_model::{ActiveConfig, crd::WebhookSpec, pipeline::Leadership, secret::Sensitive};
use haptic_runtime::{CellReader, CellWriter};
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
use tokio::time::sleep;

/// After something failed.
const REST: Duration = Duration::from_secs(2);
/// Files are read anew so often: a folder that Kubernetes mounts changes by itself.
const FILES: Duration = Duration::from_secs(10);

/// What the keeper reads and writes.
#[derive(Clone)]
pub struct KeeperArguments {
    /// The API server.
    pub client: Client,
    /// The configuration's namespace.
    pub namespace: Arc<str>,
    /// The configuration in force.
    pub config: CellReader<Option<Arc<ActiveConfig>>>,
    /// Only the leader writes.
    pub leadership: CellReader<Leadership>,
    /// What the webhook is called by.
    pub standing: Arc<CellWriter<Standing>>,
}

/// What the API server has, as far as it was seen.
#[derive(Default)]
struct Seen {
    /// The leader's Secret; `None` until it was looked for.
    own: Option<Option<DynamicObject>>,
    /// Somebody else's Secret.
    given: Option<Option<DynamicObject>>,
    /// The registration.
    registration: Option<Option<DynamicObject>>,
    /// In how many seconds the paths are looked at again; `None`: there are none.
    next_look: Option<u64>,
    /// What was logged last, of each.
    troubles: Troubles,
}

/// What is wrong, by what was tried.
#[derive(Default)]
struct Troubles(BTreeMap<&'static str, String>);

/// Keeps path, certificate and registration for as long as it is polled.
pub async fn keep(mut arguments: KeeperArguments) {
    loop {
        let settings = settings(&arguments.config);
        let Some(webhook) = settings.clone() else {
            arguments.standing.publish(Standing::Off);
            arguments.config.changed().await;
            continue;
        };
        let mut config = arguments.config.clone();
        let other = async {
            while self::settings(&config) == settings {
                config.changed().await;
            }
        };
        tokio::select! {
            () = other => {}
            () = keep_as(&arguments, &webhook) => {}
        }
    }
}

fn settings(config: &CellReader<Option<Arc<ActiveConfig>>>) -> Option<WebhookSpec> {
    config.read().as_ref().as_ref().and_then(|config| config.spec.webhook())
}

async fn keep_as(arguments: &KeeperArguments, webhook: &WebhookSpec) {
    let KeeperArguments { client, namespace, leadership, .. } = arguments;
    let mut leadership = leadership.clone();
    let own_api = secrets(client.clone(), namespace);
    let registrations = webhook_configurations(client.clone());
    let mut own = sights(own_api.clone(), &webhook.secret_name);
    let mut registration = sights(registrations.clone(), &webhook.configuration_name);
    let mut given: Sights = match &webhook.certificate.secret_name {
        Some(name) => sights(own_api.clone(), name),
        None => futures::stream::pending().boxed(),
    };
    let (mut seen, wanted) = (Seen::default(), Wanted::of(webhook, namespace));
    loop {
        let looked = look(arguments, webhook, &wanted, &own_api, &registrations, &mut seen).await;
        let failed = looked.is_err();
        seen.troubles.note("work", looked);
        let again = match (failed, &webhook.certificate.directory) {
            (true, _) => REST,
            (false, Some(_)) => FILES,
            (false, None) => Duration::from_secs(next_look(&wanted)),
        };
        let again = again.min(Duration::from_secs(seen.next_look.unwrap_or(u64::MAX)));
        tokio::select! {
            Some(sight) = own.next() => take(sight, &mut seen.own, ("own", &mut seen.troubles)),
            Some(sight) = given.next() => take(sight, &mut seen.given, ("given", &mut seen.troubles)),
            Some(sight) = registration.next() => {
                take(sight, &mut seen.registration, ("registration", &mut seen.troubles));
            }
            _ = leadership.changed() => {}
            () = sleep(again) => {}
        }
    }
}

/// Does what is to be done next, and shows what there is.
async fn look(
    arguments: &KeeperArguments,
    webhook: &WebhookSpec,
    wanted: &Wanted,
    own_api: &Api<DynamicObject>,
    registrations: &Api<DynamicObject>,
    seen: &mut Seen,
) -> Result<(), String> {
    let waiting = |why: &str| Standing::Waiting(why.to_owned());
    let Some(own) = seen.own.clone() else {
        let why = seen.troubles.0.get("own").cloned();
        let why = why.unwrap_or_else(|| "its Secret was not read yet".to_owned());
        show(arguments, waiting(&why));
        return Ok(());
    };
    let mut kept = own.as_ref().and_then(|secret| Kept::read(&data_of(secret)));
    let (leads, now) = (arguments.leadership.read().leads, now());
    if leads {
        let listed = seen.registration.as_ref().and_then(Option::as_ref).and_then(webhooks_of);
        let registered = Registered {
            bundle: listed.and_then(registration::registered),
            path: listed.and_then(registration::registered_path),
        };
        if let Some(next) = renewed(kept.as_ref(), &registered, wanted, now)? {
            let written = write_secret(own_api, &webhook.secret_name, own.as_ref(), &next.data()).await?;
            if kept.as_ref().is_none_or(|kept| kept.made != next.made) {
                tracing::info!(secret = webhook.secret_name, "the webhook's certificate was made or renewed");
            }
            (seen.own, kept) = (Some(Some(written)), Some(next));
        }
    }
    seen.next_look = kept.as_ref().filter(|_| leads).map(|kept| kept.paths.next_look());
    let Some(kept) = kept else {
        let why = format!("the leader has not made Secret {} yet", webhook.secret_name);
        show(arguments, waiting(&why));
        return Ok(());
    };
    let shown = match shown(webhook, &kept, seen.given.as_ref()) {
        Ok(shown) => shown,
        Err(why) => {
            // A new certificate that cannot be used takes nothing away.
            if arguments.standing.read().identity().is_none() {
                show(arguments, waiting(&why));
            }
            return Err(why);
        }
    };
    let (certificate, expires) = shown.certified()?;
    let with_slash = |path: &Sensitive| Sensitive::new(format!("/{}", path.reveal()));
    let good = [Some(&kept.paths.current), kept.paths.previous.as_ref()];
    let paths = good.into_iter().flatten().map(with_slash).collect();
    let identity = Identity { paths, certificate: Arc::new(certificate), expires };
    show(arguments, Standing::Ready(Arc::new(identity)));
    if leads {
        let path = with_slash(kept.paths.to_register(now));
        register(registrations, webhook, path.reveal(), shown.bundle.as_deref(), seen).await?;
    }
    Ok(())
}

fn shown(webhook: &WebhookSpec, kept: &Kept, given: Option<&Option<DynamicObject>>) -> Result<Shown, String> {
    if let Some(folder) = &webhook.certificate.directory {
        return Shown::of_folder(Path::new(folder));
    }
    if let Some(name) = &webhook.certificate.secret_name {
        let secret = given.ok_or_else(|| format!("Secret {name} was not read yet"))?;
        let secret = secret.as_ref().ok_or_else(|| format!("there is no Secret {name}"))?;
        return Shown::of_secret(&data_of(secret))
            .map_err(|why| format!("Secret {name} cannot be used: {why}"));
    }
    let made = kept.made.as_ref().ok_or("the leader has not made it yet")?;
    let (chain, key) = (made.serving.certificate.clone(), made.serving.key.clone());
    Ok(Shown { chain, key, bundle: Some(made.bundle()) })
}

async fn register(
    api: &Api<DynamicObject>,
    webhook: &WebhookSpec,
    path: &str,
    bundle: Option<&str>,
    seen: &mut Seen,
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
fn show(arguments: &KeeperArguments, standing: Standing) {
    let is_news = match (&standing, &*arguments.standing.read()) {
        (Standing::Off, Standing::Off) => false,
        (Standing::Waiting(new), Standing::Waiting(old)) => new != old,
        (Standing::Ready(new), Standing::Ready(old)) => {
            new.paths != old.paths || new.certificate.cert != old.certificate.cert
        }
        _ => true,
    };
    if is_news {
        if let Standing::Ready(identity) = &standing {
            metrics::gauge!("haptic_webhook_certificate_expiry_timestamp_seconds")
                .set(as_number(identity.expires));
        }
        arguments.standing.publish(standing);
    }
}

#[allow(clippy::cast_precision_loss, reason = "seconds need no 53 bits")]
fn as_number(seconds: i64) -> f64 {
    seconds as f64
}

fn take(
    sight: Result<Option<DynamicObject>, String>,
    into: &mut Option<Option<DynamicObject>>,
    (what, troubles): (&'static str, &mut Troubles),
) {
    let seen = sight.map(|object| *into = Some(object));
    troubles.note(what, seen);
}

impl Troubles {
    /// Logs trouble when it begins and when it changes.
    fn note(&mut self, what: &'static str, done: Result<(), String>) {
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

type Sights = Pin<Box<dyn Stream<Item = Result<Option<DynamicObject>, String>> + Send>>;

/// One named object over time.
fn sights(api: Api<DynamicObject>, name: &str) -> Sights {
    let name_shown = name.to_owned();
    let seen = watcher::watch_object(api, name).default_backoff();
    seen.map(move |sight| sight.map_err(|error| format!("{name_shown} cannot be read: {}", cause_of(&error))))
        .boxed()
}

/// kube's watcher wraps the API server's words; only these help a person.
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
