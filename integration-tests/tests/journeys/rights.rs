//! What [`GUEST`] may do, as an administrator allows it.

use integration_tests::{Outcome, Scene, cluster::GUEST, ensure, eventually};
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use kube::{Api, api::PostParams};
use serde_json::{Value, json};

const GROUP: &str = "rbac.authorization.k8s.io";
/// The namespace of a right that holds in all of them.
const EVERYWHERE: &str = "";

/// What a controller does with its own objects; of HAPTIC's resources with these.
pub(crate) fn own_rights(resources: &[&str]) -> Value {
    let all = json!(["get", "list", "watch", "create", "update", "patch", "delete"]);
    json!([
        { "apiGroups": ["haproxy-haptic.org"], "resources": resources, "verbs": all },
        { "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": all },
        { "apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create"] },
        { "apiGroups": [""], "resources": ["secrets"], "verbs": all },
    ])
}

/// To watch whatever these API groups have.
pub(crate) fn watched_rights(groups: &[&str]) -> Value {
    json!([{ "apiGroups": groups, "resources": ["*"], "verbs": ["get", "list", "watch"] }])
}

/// A Role `name` with `rules` in the journey's namespace, for [`GUEST`], who has these rights then.
pub(crate) async fn allow(scene: &Scene, name: &str, rules: &Value) -> Outcome {
    scene.apply(&role("Role", name, rules)).await?;
    scene.apply(&binding("Role", name)).await?;
    has(scene, &scene.namespace, rules, true).await
}

/// The same in all namespaces, and for resources that are in none.
pub(crate) async fn allow_everywhere(scene: &Scene, name: &str, rules: &Value) -> Outcome {
    scene.apply(&role("ClusterRole", name, rules)).await?;
    scene.apply(&binding("ClusterRole", name)).await?;
    has(scene, EVERYWHERE, rules, true).await
}

/// Takes away what [`allow`] gave: `rules`, which nothing else gives.
pub(crate) async fn disallow(scene: &Scene, name: &str, rules: &Value) -> Outcome {
    scene.delete(&binding("Role", name)).await?;
    has(scene, &scene.namespace, rules, false).await
}

fn role(kind: &str, name: &str, rules: &Value) -> Value {
    json!({ "apiVersion": format!("{GROUP}/v1"), "kind": kind, "metadata": { "name": name }, "rules": rules })
}

/// Gives [`GUEST`] the role `name` of this kind.
fn binding(kind: &str, name: &str) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": format!("{kind}Binding"), "metadata": { "name": name },
        "roleRef": { "apiGroup": GROUP, "kind": kind, "name": name },
        "subjects": [{ "apiGroup": GROUP, "kind": "User", "name": GUEST }],
    })
}

/// Waits until [`GUEST`] has the rights of `rules`, or has none of them: the API server hears of a role as any other client does.
/// It hears of all rules at once, so the first right of each is enough.
async fn has(scene: &Scene, namespace: &str, rules: &Value, wanted: bool) -> Outcome {
    let reviews: Api<SubjectAccessReview> = Api::all(scene.cluster.client.clone());
    for rule in rules.as_array().into_iter().flatten() {
        let review: SubjectAccessReview = serde_json::from_value(first_right(namespace, rule))?;
        eventually(format!("whether {GUEST} has the rights {rule} is {wanted}"), async || {
            let answer = reviews.create(&PostParams::default(), &review).await?;
            ensure(answer.status.is_some_and(|status| status.allowed == wanted), "it is not")
        })
        .await?;
    }
    Ok(())
}

/// Asks for the first verb, group, resource and name of `rule`.
fn first_right(namespace: &str, rule: &Value) -> Value {
    let resource = rule["resources"][0].as_str().unwrap_or_default();
    let (resource, part) = resource.split_once('/').unwrap_or((resource, ""));
    json!({ "metadata": {}, "spec": { "user": GUEST, "resourceAttributes": {
        "namespace": namespace, "verb": rule["verbs"][0], "group": rule["apiGroups"][0],
        "resource": resource, "subresource": part, "name": rule["resourceNames"][0],
    } } })
}
