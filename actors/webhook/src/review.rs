//! From the bytes of a request to a review that may be judged. Pure; whatever is not a well-formed `AdmissionReview` of
//! `admission.k8s.io/v1` ends here.

use serde::Deserialize;
use serde_json::{Map, Value};
use std::time::Duration;
use tokio::time::Instant;

/// The most bytes that a review may have: the API server takes objects of up to 3 MiB, and an update has two of them.
pub const SIZE_LIMIT: usize = 8 << 20;

/// The deadline of a review, below the ten seconds that the API server waits.
pub const DEADLINE: Duration = Duration::from_secs(8);
/// For the requests of a configuration's tests, all together.
pub const REQUESTS: Duration = Duration::from_secs(3);
/// The time that is left to answer when the last check has ended.
const TO_ANSWER: Duration = Duration::from_secs(1);

/// Names, versions and the like are shorter.
const WORD_LIMIT: usize = 512;

const API_VERSION: &str = "admission.k8s.io/v1";
const KIND: &str = "AdmissionReview";

/// When the last `haproxy -c` of a review must end that was `received` then.
#[must_use]
pub fn end_of_checks(received: Instant) -> Instant {
    received + (DEADLINE - TO_ANSWER)
}

/// What somebody asks the API server to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Review {
    /// To be given back with the answer.
    pub uid: String,
    /// What becomes of the object.
    pub operation: ReviewOperation,
    /// `networking.k8s.io/v1`; `v1` for the core group.
    pub api_version: String,
    /// The plural name, as in URLs.
    pub resource: String,
    /// `status` and the like; empty for the object itself.
    pub sub_resource: String,
    /// Empty for objects without one.
    pub namespace: String,
    /// Its name; empty when the API server has yet to make one up.
    pub name: String,
    /// Who asks.
    pub user: String,
    /// Whether nothing is going to be stored.
    pub dry_run: bool,
    /// The object as it would be stored; `None` when it is deleted.
    pub object: Option<Map<String, Value>>,
}

/// What becomes of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ReviewOperation {
    /// It is new.
    Create,
    /// It changes.
    Update,
    /// It goes.
    Delete,
    /// Something else is done with it, such as `exec` in a pod.
    Connect,
}

/// A body that is no review. The sentence goes back to whoever sent it, and holds nothing of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MalformedReview {
    /// It is not JSON, is cut off, nests deeper than 128, or lacks a field.
    #[error(
        "the body is not an AdmissionReview of admission.k8s.io/v1, or its object is nested more than 100 levels deep"
    )]
    NotAReview,
    /// It is one of another version or kind.
    #[error("apiVersion and kind must be admission.k8s.io/v1 and AdmissionReview")]
    OtherKind,
    /// Something in it cannot be what the API server sends.
    #[error("the review's {0} cannot be right")]
    Field(&'static str),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReviewEnvelope {
    api_version: String,
    kind: String,
    request: ReviewRequest,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReviewRequest {
    uid: String,
    operation: ReviewOperation,
    resource: Resource,
    #[serde(default)]
    sub_resource: String,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    name: String,
    user_info: User,
    #[serde(default)]
    dry_run: Option<bool>,
    #[serde(default)]
    object: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
struct Resource {
    #[serde(default)]
    group: String,
    version: String,
    resource: String,
}

#[derive(Deserialize)]
struct User {
    #[serde(default)]
    username: String,
}

impl Review {
    /// Reads the body of a request.
    ///
    /// # Errors
    /// It is not a review, or not one that an API server sends.
    pub fn read(body: &[u8]) -> Result<Self, MalformedReview> {
        let ReviewEnvelope { api_version, kind, request } =
            serde_json::from_slice(body).map_err(|_| MalformedReview::NotAReview)?;
        if api_version != API_VERSION || kind != KIND {
            return Err(MalformedReview::OtherKind);
        }
        Self::of(request)
    }

    fn of(request: ReviewRequest) -> Result<Self, MalformedReview> {
        let Resource { group, version, resource } = request.resource;
        let word = |name, word: String, may_be_empty: bool| {
            let fits = word.len() <= WORD_LIMIT && !word.contains(char::is_control);
            if fits && (may_be_empty || !word.is_empty()) {
                Ok(word)
            } else {
                Err(MalformedReview::Field(name))
            }
        };
        let api_version = if group.is_empty() { version } else { format!("{group}/{version}") };
        let review = Self {
            uid: word("uid", request.uid, false)?,
            operation: request.operation,
            api_version: word("resource", api_version, false)?,
            resource: word("resource", resource, false)?,
            sub_resource: word("subResource", request.sub_resource, true)?,
            namespace: word("namespace", request.namespace, true)?,
            name: word("name", request.name, true)?,
            user: word("userInfo", request.user_info.username, true)?,
            dry_run: request.dry_run.unwrap_or_default(),
            object: request.object,
        };
        review.is_consistent().then_some(review).ok_or(MalformedReview::Field("object"))
    }

    /// Whether there is an object where there must be one, and it is the one that the review is about.
    fn is_consistent(&self) -> bool {
        let Some(object) = &self.object else {
            return matches!(self.operation, ReviewOperation::Delete | ReviewOperation::Connect);
        };
        let metadata = object.get("metadata").and_then(Value::as_object);
        let says =
            |field: &str| metadata.and_then(|m| m.get(field)).and_then(Value::as_str).unwrap_or_default();
        let agree = |one: &str, other: &str| one.is_empty() || other.is_empty() || one == other;
        agree(says("name"), &self.name) && agree(says("namespace"), &self.namespace)
    }

    /// Whether the object is on its way out: nothing may keep finalizers from ending that.
    #[must_use]
    pub fn is_of_a_dying_object(&self) -> bool {
        let metadata = self.object.as_ref().and_then(|object| object.get("metadata"));
        metadata.and_then(|m| m.get("deletionTimestamp")).is_some_and(|at| !at.is_null())
    }

    /// `shop/web`, or what is known of it.
    #[must_use]
    pub fn full_name(&self) -> String {
        match (&*self.namespace, &*self.name) {
            ("", name) => name.to_owned(),
            (namespace, name) => format!("{namespace}/{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn body() -> Value {
        json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "request": {
                "uid": "705ab4f5", "operation": "CREATE", "namespace": "shop", "name": "web",
                "kind": {"group": "networking.k8s.io", "version": "v1", "kind": "Ingress"},
                "resource": {"group": "networking.k8s.io", "version": "v1", "resource": "ingresses"},
                "userInfo": {"username": "admin"}, "dryRun": false, "options": {},
                "object": {"metadata": {"name": "web", "namespace": "shop"}}, "oldObject": null,
            },
        })
    }

    fn with(pointer: &str, value: Value) -> Result<Review, MalformedReview> {
        let mut body = body();
        *body.pointer_mut(pointer).unwrap() = value;
        Review::read(body.to_string().as_bytes())
    }

    #[test]
    fn what_the_api_server_sends_is_read() {
        let review = Review::read(body().to_string().as_bytes()).unwrap();
        assert_eq!((&*review.api_version, &*review.resource), ("networking.k8s.io/v1", "ingresses"));
        assert_eq!((review.operation, review.full_name()), (ReviewOperation::Create, "shop/web".into()));
        let core = with("/request/resource/group", json!("")).unwrap();
        assert_eq!(core.api_version, "v1");
    }

    #[test]
    fn a_review_of_another_kind_or_version_is_refused() {
        for (pointer, value) in [("/apiVersion", "admission.k8s.io/v1beta1"), ("/kind", "TokenReview")] {
            assert_eq!(with(pointer, json!(value)), Err(MalformedReview::OtherKind));
        }
    }

    #[test]
    fn what_no_api_server_sends_is_refused() {
        for (pointer, value) in [
            ("/request/uid", json!("")),
            ("/request/uid", json!("x".repeat(1000))),
            ("/request/namespace", json!("a\nb")),
            ("/request/resource/resource", json!("")),
            ("/request/object", json!(null)),
            ("/request/object/metadata/name", json!("another")),
            ("/request/object/metadata/namespace", json!("another")),
        ] {
            assert!(matches!(with(pointer, value), Err(MalformedReview::Field(_))), "{pointer}");
        }
        for (pointer, value) in [
            ("/request/operation", json!("MELT")),
            ("/request/object", json!([])),
            ("/request", json!(null)),
            ("/request/userInfo", json!(null)),
        ] {
            assert_eq!(with(pointer, value), Err(MalformedReview::NotAReview), "{pointer}");
        }
    }

    #[test]
    fn no_body_that_was_cut_off_or_is_too_deep_is_a_review() {
        let whole = body().to_string();
        for end in 0..whole.len() {
            assert!(Review::read(&whole.as_bytes()[..end]).is_err(), "{end}");
        }
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let ignored = whole.replace("\"options\":{}", &format!("\"options\":{deep}"));
        assert!(Review::read(ignored.as_bytes()).is_ok(), "what nobody looks at is skipped");
        let deep = whole.replace("\"metadata\":{", &format!("\"spec\":{deep},\"metadata\":{{"));
        assert_eq!(Review::read(deep.as_bytes()), Err(MalformedReview::NotAReview));
        let mut deep = body();
        deep["request"]["object"]["spec"] = (0..125).fold(json!(1), |inner, _| json!([inner]));
        assert_eq!(Review::read(deep.to_string().as_bytes()), Err(MalformedReview::NotAReview));
        assert_eq!(Review::read(b"\xff\xfe"), Err(MalformedReview::NotAReview));
    }

    #[test]
    fn an_object_on_its_way_out_is_known() {
        assert!(!Review::read(body().to_string().as_bytes()).unwrap().is_of_a_dying_object());
        let dying = json!({"name": "web", "deletionTimestamp": "2026-01-01T00:00:00Z"});
        assert!(with("/request/object/metadata", dying).unwrap().is_of_a_dying_object());
    }
}
