//! The resource on the API server, and the Secret it names, each under a watch of its own.

use crate::{
    candidate::Candidate,
    credentials,
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
use std::{collections::BTreeMap, fmt::Debug};

/// Where the credentials are: namespace, name.
type SecretName = (String, String);

/// One object, as a watch sees it.
enum Sight<K> {
    Present(K),
    Absent,
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
            Some((namespace, name)) => Either::Left(observe_secret(client.clone(), namespace, name, seen)),
            None => Either::Right(futures::future::pending()),
        };
        let next_secret = async {
            while let Some(sight) = configs.next().await {
                note_config(sight, namespace, seen);
                let named = named_secret(&seen.read());
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

fn note_config(sight: Sight<DynamicObject>, namespace: &str, seen: &CellWriter<Observation>) {
    let (config, trouble) = match sight {
        Sight::Present(object) => (Some(read_config(&object)), None),
        Sight::Absent => (Some(ObservedConfig::Absent), None),
        Sight::Trouble(why) => (None, Some(advise(&why, namespace))),
    };
    seen.update(|before| Observation {
        config: config.unwrap_or_else(|| before.config.clone()),
        credentials: before.credentials.clone(),
        trouble,
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

fn named_secret(seen: &Observation) -> Option<SecretName> {
    let ObservedConfig::Found(candidate) = &seen.config else { return None };
    let reference = &candidate.spec.credentials_secret_ref;
    let namespace = reference.namespace.clone().unwrap_or_else(|| candidate.namespace.to_string());
    Some((namespace, reference.name.clone()))
}

async fn observe_secret(client: Client, namespace: &str, name: &str, seen: &CellWriter<Observation>) {
    let reference = format!("{namespace}/{name}");
    let secrets = sights::<Secret>(Api::namespaced(client, namespace), name);
    pin_mut!(secrets);
    while let Some(sight) = secrets.next().await {
        let found = match sight {
            Sight::Present(secret) => credentials::from_secret(&reference, &data_of(secret)),
            Sight::Absent => Err(credentials::missing(&reference)),
            Sight::Trouble(why) => {
                let problem = Diagnostic::error("basic", format!("Secret {reference} cannot be read: {why}"))
                    .help("Allow get, list and watch on secrets in that namespace");
                if seen.read().credentials.as_ref().is_some_and(Result::is_ok) {
                    tracing::warn!("{problem}");
                    continue;
                }
                Err(problem)
            }
        };
        seen.update(|before| Observation { credentials: Some(found.clone()), ..before.clone() });
    }
}

fn data_of(secret: Secret) -> BTreeMap<String, Vec<u8>> {
    secret.data.unwrap_or_default().into_iter().map(|(key, value)| (key, value.0)).collect()
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
                Err(error) => Some(Sight::Trouble(why(&error))),
            };
            futures::future::ready(sight)
        },
    )
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
