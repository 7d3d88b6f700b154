//! The resource on the API server, and the Secret it names, each under a watch of its own.

use crate::{
    candidate::Candidate,
    credentials::{self, SecretName},
    intake::{Observation, ObservedConfig},
};
use futures::{StreamExt, future::Either, pin_mut};
use haptic_model::{Diagnostic, HAProxyTemplateConfig};
use haptic_runtime::{CellWriter, retry};
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api, Client, Resource,
    api::{ApiResource, DynamicObject},
    runtime::{
        WatchStreamExt,
        watcher::{self, Config, Event, ExponentialBackoff},
    },
};
use serde::de::DeserializeOwned;
use std::fmt::Debug;

/// One object, as a watch sees it.
enum Sight<K> {
    Present(K),
    Absent,
    /// It may not be read; somebody must do something.
    Refused(String),
    /// It cannot be read at the moment.
    Trouble(String),
}

/// Observes configuration `namespace/name` and its Secret; never returns.
pub async fn observe(client: Client, namespace: &str, name: &str, seen: &CellWriter<Observation>) {
    let kind = ApiResource::erase::<HAProxyTemplateConfig>(&());
    let configs: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &kind);
    let configs = sights(configs, name);
    pin_mut!(configs);
    let mut secret: Option<SecretName> = None;
    loop {
        let watched = secret.clone();
        let credentials = match &watched {
            Some(secret) => Either::Left(observe_secret(client.clone(), secret, seen)),
            None => Either::Right(futures::future::pending()),
        };
        let next_secret = async {
            while let Some(sight) = configs.next().await {
                note_config(sight, namespace, watched.as_ref(), seen);
                let named = named_secret(&seen.read().config);
                if named.is_some() && named != watched {
                    return named;
                }
            }
            futures::future::pending().await
        };
        tokio::select! {
            named = next_secret => secret = named,
            () = credentials => {}
        }
    }
}

/// Notes what is seen of the configuration. Credentials of another Secret than the one it names, which is `watched`, are none.
fn note_config(
    sight: Sight<DynamicObject>,
    namespace: &str,
    watched: Option<&SecretName>,
    seen: &CellWriter<Observation>,
) {
    let (config, trouble) = match sight {
        Sight::Present(object) => (Some(read_config(&object)), None),
        Sight::Absent => (Some(ObservedConfig::Absent), None),
        Sight::Refused(why) | Sight::Trouble(why) => (None, Some(advise(&why, namespace))),
    };
    seen.update(|before| {
        let config = config.unwrap_or_else(|| before.config.clone());
        let is_another = named_secret(&config).is_some_and(|named| Some(&named) != watched);
        let credentials = before.credentials.clone().filter(|_| !is_another);
        Observation { config, credentials, trouble }
    });
}

fn read_config(object: &DynamicObject) -> ObservedConfig {
    let value = serde_json::to_value(object).map_err(|e| Diagnostic::error("basic", e.to_string()));
    match value.and_then(|v| Candidate::from_resource(&v)) {
        Ok(candidate) => ObservedConfig::Found(candidate),
        Err(problem) => {
            ObservedConfig::Unreadable(object.metadata.generation.unwrap_or_default(), vec![problem])
        }
    }
}

fn named_secret(config: &ObservedConfig) -> Option<SecretName> {
    let ObservedConfig::Found(candidate) = config else { return None };
    Some(candidate.secret())
}

async fn observe_secret(client: Client, named: &SecretName, seen: &CellWriter<Observation>) {
    let secrets = sights::<Secret>(Api::namespaced(client, &named.namespace), &named.name);
    pin_mut!(secrets);
    while let Some(sight) = secrets.next().await {
        let found = match sight {
            Sight::Present(secret) => credentials::from_secret(named, &credentials::data_of(secret)),
            Sight::Absent => Err(credentials::missing(named)),
            Sight::Refused(why) => Err(credentials::unreadable(named, &why)),
            // An API server that is away says nothing of the Secret.
            Sight::Trouble(why) if seen.read().credentials.is_some() => {
                tracing::warn!(secret = %named, why, "the Secret of the credentials cannot be read at the moment");
                continue;
            }
            Sight::Trouble(why) => Err(credentials::unreadable(named, &why)),
        };
        seen.update(|before| Observation { credentials: Some(found.clone()), ..before.clone() });
    }
}

/// One named object over time: what a list or watch event says of it. Errors are retried with back-off.
fn sights<K>(api: Api<K>, name: &str) -> impl futures::Stream<Item = Sight<K>>
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let config = Config::default().fields(&format!("metadata.name={name}"));
    let mut listed = false;
    watcher::watcher(api, config).backoff(ExponentialBackoff::from(retry::pauses())).filter_map(
        move |event| {
            let sight = match event {
                Ok(Event::Init) => {
                    listed = false;
                    None
                }
                Ok(Event::InitApply(object)) => {
                    listed = true;
                    Some(Sight::Present(object))
                }
                Ok(Event::InitDone) => (!listed).then_some(Sight::Absent),
                Ok(Event::Apply(object)) => Some(Sight::Present(object)),
                Ok(Event::Delete(_)) => Some(Sight::Absent),
                Err(error) if is_refusal(&error) => Some(Sight::Refused(why(&error))),
                Err(error) => Some(Sight::Trouble(why(&error))),
            };
            futures::future::ready(sight)
        },
    )
}

/// Whether it is a matter of rights: trying again changes nothing.
fn is_refusal(error: &watcher::Error) -> bool {
    let code = match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status))
        | watcher::Error::WatchFailed(kube::Error::Api(status))
        | watcher::Error::WatchError(status) => status.code,
        _ => return false,
    };
    is_refused(code)
}

pub(super) fn is_refused(code: u16) -> bool {
    [401, 403].contains(&code)
}

/// kube's watcher wraps the API server's words; only these help a person.
fn why(error: &watcher::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

fn advise(why: &str, namespace: &str) -> String {
    if why.contains("404") || why.contains("not found") {
        "the API server does not know this kind (404). Install the CRD with: haptic crd | kubectl apply -f -"
            .to_owned()
    } else if why.to_lowercase().contains("forbidden") {
        format!("{why}. Allow get, list and watch on haproxytemplateconfigs in namespace {namespace}")
    } else {
        why.to_owned()
    }
}
