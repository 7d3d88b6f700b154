//! The resource on the API server, and the Secret it names, each under a watch of its own.

use crate::{
    candidate::ConfigCandidate,
    credentials::{self, SecretName},
    intake::{ObservedConfig, SourceState},
};
use futures::{StreamExt, future::Either, pin_mut};
use haptic_model::{Diagnostic, HAProxyTemplateConfig};
use haptic_runtime::{Publisher, retry};
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
enum ObservedObject<K> {
    Present(K),
    Absent,
    Unreadable(ReadFailure),
}

/// Why an object cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ReadFailure {
    /// Of the API server's answer, if it answered.
    code: Option<u16>,
    /// For people.
    message: String,
}

/// Observes configuration `namespace/name` and its Secret; never returns.
pub async fn observe(client: Client, namespace: &str, name: &str, seen: &Publisher<SourceState>) {
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
            while let Some(observed) = configs.next().await {
                note_config(observed, namespace, watched.as_ref(), seen);
                let named = named_secret(&seen.latest().config);
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
    observed: ObservedObject<DynamicObject>,
    namespace: &str,
    watched: Option<&SecretName>,
    seen: &Publisher<SourceState>,
) {
    let (config, trouble) = match observed {
        ObservedObject::Present(object) => (Some(read_config(&object)), None),
        ObservedObject::Absent => (Some(ObservedConfig::Absent), None),
        ObservedObject::Unreadable(failure) => (None, Some(failure.advice(namespace))),
    };
    seen.update(|before| {
        let config = config.unwrap_or_else(|| before.config.clone());
        let is_another = named_secret(&config).is_some_and(|named| Some(&named) != watched);
        let credentials = before.credentials.clone().filter(|_| !is_another);
        SourceState { config, credentials, trouble }
    });
}

fn read_config(object: &DynamicObject) -> ObservedConfig {
    let value = serde_json::to_value(object).map_err(|e| Diagnostic::error("basic", e.to_string()));
    match value.and_then(|v| ConfigCandidate::from_resource(&v)) {
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

async fn observe_secret(client: Client, named: &SecretName, seen: &Publisher<SourceState>) {
    let secrets = sights::<Secret>(Api::namespaced(client, &named.namespace), &named.name);
    pin_mut!(secrets);
    while let Some(observed) = secrets.next().await {
        let found = match observed {
            ObservedObject::Present(secret) => credentials::from_secret(named, &credentials::data_of(secret)),
            ObservedObject::Absent => Err(credentials::missing(named)),
            // An API server that is away says nothing of the Secret.
            ObservedObject::Unreadable(ReadFailure { code, message: why })
                if !code.is_some_and(is_refused) && seen.latest().credentials.is_some() =>
            {
                tracing::warn!(secret = %named, why, "the Secret of the credentials cannot be read at the moment");
                continue;
            }
            ObservedObject::Unreadable(failure) => Err(credentials::unreadable(named, &failure.message)),
        };
        seen.update(|before| SourceState { credentials: Some(found.clone()), ..before.clone() });
    }
}

/// One named object over time: what a list or watch event says of it. Errors are retried with back-off.
fn sights<K>(api: Api<K>, name: &str) -> impl futures::Stream<Item = ObservedObject<K>>
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let config = Config::default().fields(&format!("metadata.name={name}"));
    let mut listed = false;
    watcher::watcher(api, config).backoff(ExponentialBackoff::from(retry::pauses())).filter_map(
        move |event| {
            let observed = match event {
                Ok(Event::Init) => {
                    listed = false;
                    None
                }
                Ok(Event::InitApply(object)) => {
                    listed = true;
                    Some(ObservedObject::Present(object))
                }
                Ok(Event::InitDone) => (!listed).then_some(ObservedObject::Absent),
                Ok(Event::Apply(object)) => Some(ObservedObject::Present(object)),
                Ok(Event::Delete(_)) => Some(ObservedObject::Absent),
                Err(error) => Some(ObservedObject::Unreadable(ReadFailure::of(&error))),
            };
            futures::future::ready(observed)
        },
    )
}

impl ReadFailure {
    fn of(error: &watcher::Error) -> Self {
        let code = match error {
            watcher::Error::InitialListFailed(kube::Error::Api(status))
            | watcher::Error::WatchStartFailed(kube::Error::Api(status))
            | watcher::Error::WatchFailed(kube::Error::Api(status))
            | watcher::Error::WatchError(status) => Some(status.code),
            _ => None,
        };
        // kube's watcher wraps the API server's message; only that helps a person.
        let mut cause: &dyn std::error::Error = error;
        while let Some(inner) = cause.source() {
            cause = inner;
        }
        Self { code, message: cause.to_string() }
    }

    /// What is wrong with the configuration's resource, and what to do.
    fn advice(&self, namespace: &str) -> String {
        let Self { code, message } = self;
        match code {
            Some(404) => {
                "the API server does not know this kind (404). Install the CRD with: haptic crd | kubectl apply -f -"
                    .to_owned()
            }
            Some(403) => {
                format!("{message}. Allow get, list and watch on haproxytemplateconfigs in namespace {namespace}")
            }
            _ => message.clone(),
        }
    }
}

/// Whether it is a matter of rights: trying again changes nothing.
pub(super) fn is_refused(code: u16) -> bool {
    [401, 403].contains(&code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::core::Status;

    fn failure(code: u16, message: &str) -> ReadFailure {
        let status = Status { code, message: message.to_owned(), ..Status::default() };
        ReadFailure::of(&watcher::Error::InitialListFailed(kube::Error::Api(status.into())))
    }

    #[test]
    fn what_to_do_follows_from_the_answers_code_and_not_from_its_text() {
        assert!(failure(404, "anything").advice("edge").contains("Install the CRD"));
        assert!(failure(403, "no").advice("edge").contains("Allow get, list and watch"));
        for (code, message) in [(500, "etcd: key not found"), (503, "port 404 is forbidden")] {
            assert_eq!(failure(code, message).advice("edge"), failure(code, message).message);
        }
    }
}
