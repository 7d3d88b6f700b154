//! Which reviews are judged, and as what. Pure.

use super::review::{Review, ReviewOperation};
use haptic_model::{HAProxyTemplateConfig, HAProxyTemplateConfigSpec};
use kube::Resource;
use std::sync::Arc;

/// Those who delete what nobody wants any more. Were they refused, a namespace could never end.
const CLEANERS: [&str; 2] = [
    "system:serviceaccount:kube-system:namespace-controller",
    "system:serviceaccount:kube-system:generic-garbage-collector",
];

/// What a review is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A `HAProxyTemplateConfig`.
    Configuration,
    /// An object of these entries of `watchedResources`.
    Watched(Vec<Arc<str>>),
    /// Nothing that is checked here.
    Other,
}

impl Subject {
    /// What `review` is about, as the configuration in force has it; without one only configurations are judged.
    #[must_use]
    pub fn of(review: &Review, spec: Option<&HAProxyTemplateConfigSpec>) -> Self {
        let leaves = review.operation == ReviewOperation::Delete;
        if !review.sub_resource.is_empty() || review.operation == ReviewOperation::Connect {
            return Self::Other;
        }
        if review.is_of_a_dying_object() || (leaves && CLEANERS.contains(&&*review.user)) {
            return Self::Other;
        }
        if review.api_version == HAProxyTemplateConfig::api_version(&())
            && review.resource == HAProxyTemplateConfig::plural(&())
        {
            // A deleted configuration stays in force.
            return if leaves { Self::Other } else { Self::Configuration };
        }
        let watched = spec.into_iter().flat_map(|spec| &spec.watched_resources);
        let names: Vec<Arc<str>> = watched
            .filter(|(_, watched)| {
                watched.enable_validation_webhook
                    && watched.resources == review.resource
                    && watched.api_version == review.api_version
            })
            .map(|(name, _)| name.as_str().into())
            .collect();
        if names.is_empty() { Self::Other } else { Self::Watched(names) }
    }

    /// A label for metrics: never more of them than there are watched resources.
    #[must_use]
    pub fn label(&self) -> Arc<str> {
        match self {
            Self::Configuration => "haproxytemplateconfigs".into(),
            Self::Watched(names) => names.first().cloned().unwrap_or_else(|| "other".into()),
            Self::Other => "other".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn review(operation: &str, api: (&str, &str, &str), change: Value) -> Review {
        let (group, version, resource) = api;
        let mut request = json!({
            "uid": "u", "operation": operation, "namespace": "n", "name": "x", "userInfo": {"username": "me"},
            "resource": {"group": group, "version": version, "resource": resource},
            "object": if operation == "DELETE" { Value::Null } else { json!({"metadata": {"name": "x"}}) },
        });
        request.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let body =
            json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
        Review::read(body.to_string().as_bytes()).unwrap()
    }

    fn spec() -> HAProxyTemplateConfigSpec {
        let ingresses = |on: bool| json!({"apiVersion": "networking.k8s.io/v1", "resources": "ingresses", "enableValidationWebhook": on});
        serde_json::from_value(json!({
            "credentialsSecretRef": {"name": "c"}, "podSelector": {"matchLabels": {"a": "b"}},
            "watchedResources": {
                "ingresses": ingresses(true), "others": ingresses(false), "more": ingresses(true),
                "services": {"apiVersion": "v1", "resources": "services"},
            },
        }))
        .unwrap()
    }

    const INGRESS: (&str, &str, &str) = ("networking.k8s.io", "v1", "ingresses");

    #[test]
    fn objects_are_judged_for_each_entry_that_asks_for_it() {
        let watched = Subject::Watched(vec!["ingresses".into(), "more".into()]);
        for operation in ["CREATE", "UPDATE", "DELETE"] {
            assert_eq!(Subject::of(&review(operation, INGRESS, json!({})), Some(&spec())), watched);
        }
        let service = review("CREATE", ("", "v1", "services"), json!({}));
        assert_eq!(Subject::of(&service, Some(&spec())), Subject::Other);
        assert_eq!(Subject::of(&review("CREATE", INGRESS, json!({})), None), Subject::Other);
    }

    #[test]
    fn a_configuration_is_judged_even_without_one_in_force() {
        let api = ("haproxy-haptic.org", "v1alpha1", "haproxytemplateconfigs");
        assert_eq!(Subject::of(&review("UPDATE", api, json!({})), None), Subject::Configuration);
        assert_eq!(Subject::of(&review("DELETE", api, json!({})), None), Subject::Other);
    }

    #[test]
    fn what_is_on_its_way_out_and_a_status_are_nobodys_business() {
        let dying = json!({"object": {"metadata": {"name": "x", "deletionTimestamp": "now"}}});
        let cleaner = json!({"userInfo": {"username": CLEANERS[0]}});
        for (operation, change) in
            [("UPDATE", dying), ("DELETE", cleaner), ("UPDATE", json!({"subResource": "status"}))]
        {
            assert_eq!(Subject::of(&review(operation, INGRESS, change), Some(&spec())), Subject::Other);
        }
    }
}
