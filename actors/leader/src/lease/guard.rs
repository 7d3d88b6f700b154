//! Between kube-leader-election and the API server: makes each write a compare-and-swap, and lets our own clock judge.
//!
//! The crate reads the Lease, compares `renewTime` with the wall clock, and writes without saying what it has read: two
//! candidates can both take an expired lease, and one with a fast clock takes a live one. Here a read shows the
//! crate a lease that is over exactly when the attempt's [`Permit`] names it, and a write carries the
//! `resourceVersion` that was read, so that the API server refuses it (409) when somebody else was faster.

use crate::permit::Permit;
use http::{Method, Request, Response, StatusCode};
use kube::{Client, client::Body};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};
use tower::{BoxError, service_fn};

/// Told to the crate instead of 404 when the Lease must not be made: it would make one.
pub const NO_LEASE: u16 = 410;

/// As the API server writes times; which ones does not matter, they are far in the past and in the future.
const LONG_AGO: &str = "1970-01-01T00:00:00.000000Z";
const FAR_AHEAD: &str = "2970-01-01T00:00:00.000000Z";

/// The Lease as an attempt has read it.
#[derive(Debug, PartialEq, Eq)]
struct ReadLease {
    version: Value,
    transitions: i64,
}

/// A client for one attempt.
pub fn client(api_server: Client, namespace: &str, permit: Permit) -> Client {
    let read: Arc<Mutex<Option<ReadLease>>> = Arc::default();
    let permit = Arc::new(permit);
    let service = service_fn(move |request: Request<Body>| {
        let (api_server, permit, read) = (api_server.clone(), permit.clone(), read.clone());
        async move {
            let method = request.method().clone();
            let (parts, body) = request.into_parts();
            let body = body.collect_bytes().await?;
            let lease = read.lock().unwrap_or_else(PoisonError::into_inner).take();
            let body = match written(&method, &body, lease, &permit)? {
                Ok(body) => body,
                Err(refusal) => return Ok(refusal),
            };
            let answer = api_server.send(Request::from_parts(parts, Body::from(body))).await?;
            if method != Method::GET {
                return Ok::<_, BoxError>(answer);
            }
            let (mut parts, body) = answer.into_parts();
            let body = body.collect_bytes().await?;
            match parts.status {
                StatusCode::NOT_FOUND if permit.create.is_none() => {
                    Ok(status(NO_LEASE, "the Lease does not exist"))
                }
                StatusCode::OK => {
                    let mut lease: Value = serde_json::from_slice(&body)?;
                    let found = as_permitted(&mut lease, &permit);
                    *read.lock().unwrap_or_else(PoisonError::into_inner) = found;
                    parts.headers.remove(http::header::CONTENT_LENGTH);
                    Ok(Response::from_parts(parts, Body::from(serde_json::to_vec(&lease)?)))
                }
                _ => Ok(Response::from_parts(parts, Body::from(body))),
            }
        }
    });
    Client::new(service, namespace)
}

/// What is really sent for the crate's `body`; or the answer, when nothing may be sent.
fn written(
    method: &Method,
    body: &[u8],
    read: Option<ReadLease>,
    permit: &Permit,
) -> Result<Result<Vec<u8>, Response<Body>>, BoxError> {
    let change = |change: &dyn Fn(&mut Value)| -> Result<Vec<u8>, BoxError> {
        let mut value: Value = serde_json::from_slice(body)?;
        change(&mut value);
        Ok(serde_json::to_vec(&value)?)
    };
    Ok(match (method, read, permit.create) {
        (&Method::GET, ..) => Ok(body.to_vec()),
        (&Method::PATCH, Some(read), _) => Ok(change(&|lease| {
            put(lease, "metadata", "resourceVersion", read.version.clone());
            if let Some(count) = permit.count.filter(|count| read.transitions < *count) {
                put(lease, "spec", "leaseTransitions", json!(count));
            }
        })?),
        (&Method::POST, _, Some(transitions)) => {
            Ok(change(&|lease| put(lease, "spec", "leaseTransitions", json!(transitions)))?)
        }
        _ => Err(status(409, "a write without a read before it, or without permission")),
    })
}

/// Makes the crate see what the permit says, and what it misses in a Lease that somebody made by hand; the Lease as it was.
fn as_permitted(lease: &mut Value, permit: &Permit) -> Option<ReadLease> {
    let version = lease.pointer("/metadata/resourceVersion").cloned()?;
    let over = version.as_str().is_some_and(|version| permit.covers(version));
    for (field, missing) in
        [("holderIdentity", json!("")), ("leaseTransitions", json!(0)), ("leaseDurationSeconds", json!(1))]
    {
        if lease.pointer(&format!("/spec/{field}")).is_none_or(Value::is_null) {
            put(lease, "spec", field, missing);
        }
    }
    put(lease, "spec", "renewTime", json!(if over { LONG_AGO } else { FAR_AHEAD }));
    let transitions = lease.pointer("/spec/leaseTransitions").and_then(Value::as_i64).unwrap_or_default();
    Some(ReadLease { version, transitions })
}

fn put(lease: &mut Value, part: &str, field: &str, value: Value) {
    if let Some(lease) = lease.as_object_mut() {
        let part = lease.entry(part).or_insert_with(|| json!({}));
        if part.is_null() {
            *part = json!({});
        }
        if let Some(part) = part.as_object_mut() {
            part.insert(field.to_owned(), value);
        }
    }
}

fn status(code: u16, message: &str) -> Response<Body> {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "reason": "Expired", "code": code,
    });
    let mut response = Response::new(Body::from(status.to_string().into_bytes()));
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::CONFLICT);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease() -> Value {
        json!({"metadata": {"resourceVersion": "5"}, "spec": {"holderIdentity": "b", "leaseDurationSeconds": 15,
            "leaseTransitions": 3, "renewTime": "2026-01-01T00:00:00.000000Z"}})
    }

    fn permit(version: &str) -> Permit {
        Permit { take: Some(version.to_owned()), ..Permit::look() }
    }

    fn read(version: &str, transitions: i64) -> ReadLease {
        ReadLease { version: json!(version), transitions }
    }

    #[test]
    fn only_the_version_that_the_permit_names_is_shown_as_over() {
        for (version, renewed) in [("5", LONG_AGO), ("4", FAR_AHEAD)] {
            let mut lease = lease();
            assert_eq!(as_permitted(&mut lease, &permit(version)), Some(read("5", 3)));
            assert_eq!(lease["spec"]["renewTime"], renewed);
        }
    }

    #[test]
    fn a_lease_made_by_hand_without_a_spec_can_be_taken() {
        for mut lease in [
            json!({"metadata": {"resourceVersion": "5"}}),
            json!({"metadata": {"resourceVersion": "5"}, "spec": null}),
        ] {
            as_permitted(&mut lease, &permit("5"));
            assert_eq!(lease["spec"]["leaseTransitions"], 0);
            assert_eq!(lease["spec"]["holderIdentity"], "");
        }
    }

    #[test]
    fn a_write_carries_the_version_that_was_read() {
        let sent = written(&Method::PATCH, b"{\"spec\":{}}", Some(read("5", 3)), &Permit::look()).unwrap();
        let sent: Value = serde_json::from_slice(&sent.unwrap()).unwrap();
        assert_eq!(sent["metadata"]["resourceVersion"], "5");
        assert!(sent["spec"]["leaseTransitions"].is_null());
    }

    #[test]
    fn a_count_is_raised_and_never_lowered() {
        for (count, there, told) in
            [(8, 3, json!(8)), (8, 7, json!(8)), (8, 8, Value::Null), (8, 9, Value::Null)]
        {
            let permit = Permit { count: Some(count), ..Permit::look() };
            let sent = written(&Method::PATCH, b"{\"spec\":{}}", Some(read("5", there)), &permit).unwrap();
            let sent: Value = serde_json::from_slice(&sent.unwrap()).unwrap();
            assert_eq!(sent["spec"]["leaseTransitions"], told, "{there}");
        }
    }

    #[test]
    fn nothing_is_written_unread_and_nothing_is_made_without_permission() {
        assert!(written(&Method::PATCH, b"{}", None, &permit("5")).unwrap().is_err());
        assert!(written(&Method::POST, b"{}", Some(read("5", 3)), &permit("5")).unwrap().is_err());
    }
}
