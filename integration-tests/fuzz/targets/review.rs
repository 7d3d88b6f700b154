//! The admission webhook, from the bytes of a request to what would come of the change: all that is pure of it.

use super::cluster::{Cluster, EVIL, resource};
use haptic_haproxy::{CheckOptions, Document, check};
use haptic_model::{Bundle, HaproxyVersion};
use haptic_text::Text;
use haptic_webhook::{
    policy::Subject,
    render_cache::ObjectChange,
    review::{Review, ReviewOperation},
};
use serde_json::{Map, Value, json};
use std::{
    collections::BTreeMap,
    sync::{LazyLock, Mutex},
};

/// Made once: the first render takes as long as a thousand others.
static CLUSTER: LazyLock<Mutex<Cluster>> = LazyLock::new(|| Mutex::new(Cluster::new()));

/// What begins with `{` is a body. Anything else changes an object of the hostile tenant: parts between bytes `FF` each begin
/// with two bytes that choose one of its texts, and the rest is put there. Either is refused, or somebody else's lines stay
/// as they are.
pub fn admission_review(data: &[u8]) {
    let mut cluster = CLUSTER.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let body = match data.first() {
        None => return,
        Some(b'{') => data.to_vec(),
        Some(_) => match changed(&cluster.evil, data) {
            Some(object) => body(&object).into_bytes(),
            None => return,
        },
    };
    let Ok(review) = Review::read(&body) else { return };
    is_in_its_bounds(&review, &body);
    let Subject::Watched(resources) = Subject::of(&review, Some(&cluster.live.config.spec)) else { return };
    assert!(matches!(
        review.operation,
        ReviewOperation::Create | ReviewOperation::Update | ReviewOperation::Delete
    ));
    let change = ObjectChange {
        resources,
        namespace: review.namespace.clone(),
        name: review.name.clone(),
        object: review.object.map(as_stored),
        namespace_labels: Map::new(),
    };
    let Cluster { live, cache, .. } = &mut *cluster;
    if change.over(&live.config.spec, &live.snapshots).is_err() {
        return;
    }
    let comparison = cache.compare(live, &[change]);
    let Some(after) = &comparison.after else { return };
    let before = comparison.bundle_before().expect("what there is can be rendered");
    // Whoever changes somebody's objects changes their lines.
    if review.namespace != EVIL {
        return;
    }
    match after {
        Ok(rendering) => nobody_else_feels(before, &rendering.bundle),
        Err(faults) => {
            assert!(!faults.objects.is_empty(), "it stops everybody: {faults:?}");
            for (object, diagnostic) in faults.messages() {
                assert_eq!(&*object.namespace, EVIL, "{diagnostic:?}");
                assert!(!diagnostic.message.contains("internal error"), "{diagnostic:?}");
            }
        }
    }
}

fn is_in_its_bounds(review: &Review, body: &[u8]) {
    for word in
        [&review.uid, &review.api_version, &review.resource, &review.namespace, &review.name, &review.user]
    {
        assert!(word.len() <= 512 && !word.contains(char::is_control), "{word:?}");
    }
    assert!(!review.uid.is_empty() && !review.resource.is_empty());
    let told: Value = serde_json::from_slice(body).expect("a review is JSON");
    assert_eq!(told["request"]["uid"], review.uid.as_str());
    assert_eq!(told["request"]["object"].as_object(), review.object.as_ref());
}

/// The API server says when an object was made, not who made it.
fn as_stored(mut object: Map<String, Value>) -> Map<String, Value> {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("creationTimestamp".into(), "2026-11-01T00:00:00Z".into());
    }
    object
}

/// The lines of others, in each file that is not for the hostile tenant alone.
fn of_others(bundle: &Bundle) -> BTreeMap<String, Vec<String>> {
    let files = bundle.all().map(|file| {
        let lines = lines(&file.text).into_iter().filter(|(namespace, _)| namespace != EVIL);
        (file.path.to_string(), lines.map(|(_, line)| line).collect())
    });
    // A file that a template adds for one object has its name.
    files.filter(|(path, _)| !path.contains(EVIL)).collect()
}

/// Each line with the namespace of whom it is for.
fn lines(text: &Text) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for fragment in text.fragments() {
        for (index, line) in fragment.as_str().lines().enumerate() {
            let own = fragment.blame().origin(index).and_then(|origin| origin.object);
            let owner = fragment.blame().block.clone().or(own);
            all.push((owner.map_or_else(String::new, |owner| owner.namespace.to_string()), line.to_owned()));
        }
    }
    all
}

fn nobody_else_feels(before: &Bundle, after: &Bundle) {
    let (before, now) = (of_others(before), of_others(after));
    assert_eq!(before.keys().collect::<Vec<_>>(), now.keys().collect::<Vec<_>>(), "files");
    for (path, lines) in &before {
        let other = lines.iter().zip(&now[path]).find(|(before, now)| before != now);
        assert_eq!(other, None, "{path} of somebody else");
        assert_eq!(lines.len(), now[path].len(), "lines of {path}");
    }
    let text = after.config.text.to_string();
    let owners = lines(&after.config.text);
    for problem in check(&Document::parse(&text), &CheckOptions::new(HaproxyVersion::new(3, 4))) {
        let (namespace, line) = &owners[problem.line - 1];
        assert_eq!(namespace, EVIL, "{problem:?} of {line:?}");
    }
}

/// One of these objects with other texts.
fn changed(objects: &[Map<String, Value>], data: &[u8]) -> Option<Map<String, Value>> {
    let mut changed: Option<(usize, Value)> = None;
    for part in data.split(|byte| *byte == 0xFF) {
        let [high, low, text @ ..] = part else { continue };
        let (object, value) = match &mut changed {
            Some(changed) => changed,
            none => {
                let object = usize::from(*high) % objects.len();
                none.insert((object, Value::Object(objects[object].clone())))
            }
        };
        let mut pointers = Vec::new();
        pointers_of(&Value::Object(objects[*object].clone()), "", &mut pointers);
        let pointer = &pointers[usize::from(*low) % pointers.len()];
        // Whose it is, the API server knows.
        if !["/apiVersion", "/kind", "/metadata/namespace"].contains(&&**pointer) {
            *value.pointer_mut(pointer)? = String::from_utf8_lossy(text).into();
        }
    }
    changed.and_then(|(_, object)| object.as_object().cloned())
}

fn pointers_of(value: &Value, pointer: &str, into: &mut Vec<String>) {
    match value {
        Value::String(_) => into.push(pointer.to_owned()),
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(at, item)| pointers_of(item, &format!("{pointer}/{at}"), into));
        }
        Value::Object(fields) => fields.iter().for_each(|(name, field)| {
            pointers_of(field, &format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1")), into);
        }),
        _ => {}
    }
}

/// An update, as an API server sends it.
fn body(object: &Map<String, Value>) -> String {
    let (group, resource) = resource(object);
    let metadata = &object["metadata"];
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "u", "operation": "UPDATE", "namespace": metadata["namespace"], "name": metadata["name"],
            "resource": {"group": group, "version": "v1", "resource": resource},
            "userInfo": {"username": "evil"}, "object": object,
        },
    })
    .to_string()
}
