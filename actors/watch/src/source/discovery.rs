//! From `apiVersion` and plural name to what a client needs: kind and scope, asked of the API server.

use super::messages;
use crate::spec::WatchSpec;
use kube::{Client, api::ApiResource};
use std::sync::{Arc, PoisonError, RwLock};

/// A resource the API server serves.
#[derive(Clone, Debug)]
pub(crate) struct Served {
    pub(crate) resource: ApiResource,
    pub(crate) namespaced: bool,
}

/// The resource, for those who ask for its objects one by one, once it has been discovered; clones are the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct DiscoveredResource(Arc<RwLock<Option<Arc<Served>>>>);

impl DiscoveredResource {
    pub(crate) fn set(&self, served: Arc<Served>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(served);
    }

    pub(crate) fn get(&self) -> Option<Arc<Served>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Why a resource cannot be watched; a sentence each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DiscoveryFailure {
    /// The API server does not know it.
    NotServed(String),
    /// No permission, or no answer.
    Failed(String),
}

/// Looks the resource up.
///
/// # Errors
/// It is not served, or the API server does not say.
pub(crate) async fn discover(client: &Client, spec: &WatchSpec) -> Result<Served, DiscoveryFailure> {
    let api_version = &spec.resource.api_version;
    let plural = &spec.resource.resources;
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let listed = if group.is_empty() {
        client.list_core_api_resources(version).await
    } else {
        client.list_api_group_resources(api_version).await
    };
    let listed = listed.map_err(|error| {
        let sentence = messages::of_call(&error, "discover", spec, "");
        match &error {
            kube::Error::Api(status) if status.code == 404 => DiscoveryFailure::NotServed(sentence),
            _ => DiscoveryFailure::Failed(sentence),
        }
    })?;
    let Some(found) = listed.resources.iter().find(|resource| resource.name.eq_ignore_ascii_case(plural))
    else {
        let close: Vec<_> = listed
            .resources
            .iter()
            .filter(|r| r.kind.eq_ignore_ascii_case(plural) || r.singular_name.eq_ignore_ascii_case(plural))
            .map(|r| format!("; did you mean `{}`?", r.name))
            .take(1)
            .collect();
        let sentence = format!("{}{}", messages::not_served(spec), close.concat());
        return Err(DiscoveryFailure::NotServed(sentence));
    };
    Ok(Served {
        resource: ApiResource {
            group: group.to_owned(),
            version: version.to_owned(),
            api_version: api_version.clone(),
            kind: found.kind.clone(),
            plural: found.name.clone(),
        },
        namespaced: found.namespaced,
    })
}
