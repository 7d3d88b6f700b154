//! From `apiVersion` and plural name to what a client needs: kind and scope, asked of the API server.

use super::messages;
use crate::spec::WatchSpec;
use kube::{Client, api::ApiResource};

/// A resource the API server serves.
#[derive(Clone, Debug)]
pub(crate) struct Served {
    pub(crate) resource: ApiResource,
    pub(crate) namespaced: bool,
}

/// Looks the resource up.
///
/// # Errors
/// A sentence: not served, no permission, unreachable.
pub(crate) async fn discover(client: &Client, spec: &WatchSpec) -> Result<Served, String> {
    let api_version = &spec.resource.api_version;
    let plural = &spec.resource.resources;
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let listed = if group.is_empty() {
        client.list_core_api_resources(version).await
    } else {
        client.list_api_group_resources(api_version).await
    };
    let listed = listed.map_err(|error| messages::of_call(&error, "discover", spec, ""))?;
    let Some(found) = listed.resources.iter().find(|resource| resource.name.eq_ignore_ascii_case(plural))
    else {
        let close: Vec<_> = listed
            .resources
            .iter()
            .filter(|r| r.kind.eq_ignore_ascii_case(plural) || r.singular_name.eq_ignore_ascii_case(plural))
            .map(|r| format!("; did you mean `{}`?", r.name))
            .take(1)
            .collect();
        return Err(format!("{}{}", messages::not_served(spec), close.concat()));
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
