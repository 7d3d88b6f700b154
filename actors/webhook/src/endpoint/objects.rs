//! The two kinds of objects that the leader writes, at the API server: each write is refused when somebody else wrote meanwhile.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, time::Duration};

/// The longest time of one call.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Lookups of a namespace.
#[must_use]
pub fn secrets(client: Client, namespace: &str) -> Api<DynamicObject> {
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Secret"));
    Api::namespaced_with(client, namespace, &kind)
}

#[must_use]
pub fn webhook_configurations(client: Client) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration");
    Api::all_with(client, &ApiResource::from_gvk(&kind))
}

/// The keys of a Secret.
#[must_use]
pub fn data_of(secret: &DynamicObject) -> BTreeMap<String, Vec<u8>> {
    let data = secret.data.get("data").and_then(Value::as_object);
    let entries = data.into_iter().flatten();
    entries.filter_map(|(key, value)| Some((key.clone(), STANDARD.decode(value.as_str()?).ok()?))).collect()
}

/// Makes or replaces the Secret `name`. `known` is what it is thought to be now.
///
/// # Errors
/// The API server's words, with what to allow when it is a matter of rights.
pub async fn write_secret(
    api: &Api<DynamicObject>,
    name: &str,
    known: Option<&DynamicObject>,
    data: &BTreeMap<String, Vec<u8>>,
) -> Result<DynamicObject, String> {
    let data: BTreeMap<&String, String> =
        data.iter().map(|(key, value)| (key, STANDARD.encode(value))).collect();
    let written = match known {
        None => {
            let labels = json!({"app.kubernetes.io/managed-by": "haptic"});
            let secret = object(json!({
                "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
                "metadata": {"name": name, "labels": labels}, "data": data,
            }))?;
            in_time(api.create(&PostParams::default(), &secret)).await
        }
        Some(known) => {
            // Keys that are not ours any more go; a merge patch takes them away by null.
            let mut patch: BTreeMap<String, Value> =
                data_of(known).into_keys().map(|key| (key, Value::Null)).collect();
            patch.extend(data.into_iter().map(|(key, value)| (key.clone(), Value::String(value))));
            let patch =
                json!({"metadata": {"resourceVersion": known.metadata.resource_version}, "data": patch});
            in_time(api.patch(name, &PatchParams::default(), &Patch::Merge(patch))).await
        }
    };
    written.map_err(|why| format!("Secret {name} cannot be written: {why}"))
}

/// Replaces the list of webhooks of `known`.
///
/// # Errors
/// As [`write_secret`].
pub async fn write_webhooks(
    api: &Api<DynamicObject>,
    known: &DynamicObject,
    webhooks: &Value,
) -> Result<DynamicObject, String> {
    let name = known.metadata.name.as_deref().unwrap_or_default();
    let metadata = json!({"resourceVersion": known.metadata.resource_version});
    let patch = Patch::Merge(json!({"metadata": metadata, "webhooks": webhooks}));
    let written = in_time(api.patch(name, &PatchParams::default(), &patch)).await;
    written.map_err(|why| format!("ValidatingWebhookConfiguration {name} cannot be written: {why}"))
}

async fn in_time<T>(call: impl Future<Output = kube::Result<T>>) -> Result<T, String> {
    match tokio::time::timeout(TIMEOUT, call).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(kube::Error::Api(status))) if status.code == 403 => Err(format!(
            "{}. Allow create on secrets, patch on this Secret, and patch on this ValidatingWebhookConfiguration",
            status.message
        )),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("the API server did not answer within {} s", TIMEOUT.as_secs())),
    }
}

fn object(value: Value) -> Result<DynamicObject, String> {
    serde_json::from_value(value).map_err(|error| error.to_string())
}
