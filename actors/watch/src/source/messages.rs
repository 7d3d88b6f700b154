//! What the API server's refusals mean to the person who must act on them. Pure.

use crate::spec::WatchSpec;
use kube::{core::Status, runtime::watcher};

/// What to do about a failed call, beside telling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Remedy {
    /// The watch goes on by itself; nothing is worth telling.
    Routine,
    /// Wait and go on.
    Wait,
    /// The resource is not served any more: look it up again.
    Rediscover,
    /// The position in the history is lost: list again.
    List,
}

/// What a watch error asks for.
pub(crate) fn remedy(error: &watcher::Error, failures: u32) -> Remedy {
    match error {
        watcher::Error::WatchError(status) if status.code == 410 => Remedy::Routine,
        // kube's client does not look at the code of an answer to a watch: its refusal is the first thing that the watch says.
        watcher::Error::WatchStartFailed(error) | watcher::Error::WatchFailed(error) => {
            match status_of(error).map(|status| status.code) {
                Some(410) => Remedy::List,
                Some(404) => Remedy::Rediscover,
                // A resource version that this server does not take.
                Some(400 | 422 | 504) if failures >= 2 => Remedy::List,
                // Connections end: a load balancer, an API server that restarts. Report begins with the second in a row.
                _ if failures == 0 => Remedy::Routine,
                _ => Remedy::Wait,
            }
        }
        watcher::Error::InitialListFailed(error) => match status_of(error).map(|status| status.code) {
            Some(404) => Remedy::Rediscover,
            Some(410) => Remedy::Routine,
            _ => Remedy::Wait,
        },
        _ => Remedy::Wait,
    }
}

/// A watch error as a sentence.
pub(crate) fn of_watch(error: &watcher::Error, spec: &WatchSpec, namespace: &str) -> String {
    match error {
        watcher::Error::InitialListFailed(error) => of_call(error, "list", spec, namespace),
        watcher::Error::WatchStartFailed(error) | watcher::Error::WatchFailed(error) => {
            of_call(error, "watch", spec, namespace)
        }
        watcher::Error::WatchError(status) => of_status(status, "watch", spec, namespace),
        watcher::Error::NoResourceVersion => {
            format!("{} cannot be watched: the API server sends no resourceVersion", plural(spec))
        }
    }
}

/// A failed call as a sentence.
pub(crate) fn of_call(error: &kube::Error, verb: &str, spec: &WatchSpec, namespace: &str) -> String {
    match status_of(error) {
        Some(status) => of_status(status, verb, spec, namespace),
        None => format!(
            "the API server cannot be reached to {verb} {}: {}; tried again until it answers",
            plural(spec),
            chain(error)
        ),
    }
}

/// The API server's own words, when it answered.
pub(crate) fn status_of(error: &kube::Error) -> Option<&Status> {
    match error {
        kube::Error::Api(status) => Some(status),
        _ => None,
    }
}

fn of_status(status: &Status, verb: &str, spec: &WatchSpec, namespace: &str) -> String {
    let (plural, api) = (plural(spec), &spec.resource.api_version);
    let said = &status.message;
    match status.code {
        401 => format!(
            "the API server does not accept the credentials (401): {said}; renew the token or the kubeconfig"
        ),
        403 => forbidden(spec, namespace, said),
        404 => not_served(spec),
        400 if spec.resource.field_selector.is_some() => format!(
            "the API server refuses to {verb} {plural}: {said}; most resources can be selected by metadata.name and \
             metadata.namespace only: change watchedResources.{}.fieldSelector",
            spec.name
        ),
        code => format!("the API server refuses to {verb} {plural} of {api} ({code}): {said}; tried again"),
    }
}

fn forbidden(spec: &WatchSpec, namespace: &str, said: &str) -> String {
    let (role, place) = if namespace.is_empty() {
        ("ClusterRole", "in all namespaces".to_owned())
    } else {
        ("Role", format!("in namespace {namespace}"))
    };
    format!(
        "no permission to watch {plural} {place} (403): give the controller's service account a {role} with verbs \
         get, list, watch on resources \"{resource}\" in apiGroups \"{group}\"; the API server says: {said}",
        plural = plural(spec),
        resource = spec.resource.resources,
        group = group(&spec.resource.api_version),
    )
}

/// The resource does not exist in this cluster.
pub(crate) fn not_served(spec: &WatchSpec) -> String {
    format!(
        "the API server serves no {} in {}: install the CRD, or correct watchedResources.{}.apiVersion and .resources; \
         looked for again until it is there",
        spec.resource.resources, spec.resource.api_version, spec.name
    )
}

/// `ingresses.networking.k8s.io`, as RBAC and kubectl name it.
fn plural(spec: &WatchSpec) -> String {
    match group(&spec.resource.api_version) {
        "" => spec.resource.resources.clone(),
        group => format!("{}.{group}", spec.resource.resources),
    }
}

/// `networking.k8s.io/v1` -> `networking.k8s.io`; `v1` -> the core group, which is called `""`.
fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// An error with all its causes: kube's own texts name only the outermost.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}
