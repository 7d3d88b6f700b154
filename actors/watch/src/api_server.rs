//! Between watches and the API server: what kube's watchers do not notice by themselves.
//!
//! * A watch that goes on from a version that the API server does not have, because its etcd was restored, is answered and told nothing,
//!   until there is such a version again; what the restore took away is never told. So a watch that goes on asks first which version there is.
//! * A watch whose connection is dead without a word is noticed at its end, and ends soon.
//! * A refusal comes as a [Status](kube::core::Status), whoever wrote it. A watcher takes each line of a page of HTML for an event that it cannot read.

use http::{HeaderValue, Method, Request, Response, StatusCode, Uri, header::ACCEPT, uri::PathAndQuery};
use kube::{Client, client::Body};
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;
use tower::{BoxError, service_fn};

/// So long a watch lasts before it is begun anew from where it was.
const WATCH: Duration = Duration::from_secs(60);
/// The API server gives up what it cannot answer in a minute, and ends each watch after [`WATCH`]: a connection on which nothing comes for longer is
/// dead.
pub const SILENCE: Duration = WATCH.saturating_add(Duration::from_secs(15));
/// No content of objects: of Secrets neither.
const METADATA: HeaderValue =
    HeaderValue::from_static("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1");
/// Of a refusal that is no Status, so many characters are told.
const TOLD: usize = 200;

/// `api_server` for those that watch. Its connections must end by themselves after [`SILENCE`].
#[must_use]
pub fn for_watches(api_server: Client) -> Client {
    let namespace = api_server.default_namespace().to_owned();
    let service = service_fn(move |request: Request<Body>| {
        let api_server = api_server.clone();
        async move {
            match WatchRequest::of(&request) {
                Some(watch) => watch.answer(&api_server, request).await,
                None => Ok::<_, BoxError>(api_server.send(request).await?),
            }
        }
    });
    Client::new(service, namespace)
}

/// What is known of a request to watch.
#[derive(Debug, PartialEq, Eq)]
struct WatchRequest {
    /// The same for [`WATCH`].
    target: Uri,
    /// The version that it goes on from.
    from: Option<u64>,
    /// A list of one of the objects.
    probe: Uri,
}

/// A list, as far as it matters here.
#[derive(Deserialize)]
struct ListVersion {
    metadata: ListMetadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListMetadata {
    resource_version: String,
}

impl WatchRequest {
    /// `None`: it is another request.
    fn of(request: &Request<Body>) -> Option<Self> {
        let uri = request.uri();
        let is_watch = |(name, value): &(&str, &str)| *name == "watch" && matches!(*value, "true" | "1");
        if request.method() != Method::GET || !parameters(uri).any(|parameter| is_watch(&parameter)) {
            return None;
        }
        let others = parameters(uri).filter(|(name, _)| *name != "timeoutSeconds");
        let others: Vec<String> = others.map(|(name, value)| format!("{name}={value}")).collect();
        let from = parameters(uri).find(|(name, _)| *name == "resourceVersion");
        // Who may list objects of one name only has to say so; any other selection would have the API server look for one that is selected.
        let one = parameters(uri)
            .find(|(name, value)| *name == "fieldSelector" && value.starts_with("metadata.name%3D"))
            .map_or(String::new(), |(_, value)| format!("&fieldSelector={value}"));
        Some(Self {
            target: with_query(uri, &format!("timeoutSeconds={}&{}", WATCH.as_secs(), others.join("&")))?,
            from: from.and_then(|(_, version)| version.parse().ok()).filter(|version| *version > 0),
            probe: with_query(uri, &format!("limit=1{one}"))?,
        })
    }

    async fn answer(
        self,
        api_server: &Client,
        mut request: Request<Body>,
    ) -> Result<Response<Body>, BoxError> {
        if let Some(from) = self.from {
            let probe = Request::get(self.probe).header(ACCEPT, METADATA).body(Body::empty())?;
            let listed = api_server.send(probe).await?;
            if !listed.status().is_success() {
                return refused(listed).await;
            }
            let listed = listed.into_body().collect_bytes().await?;
            if let Some(newest) = version_of(&listed).filter(|newest| *newest < from) {
                tracing::warn!(
                    path = request.uri().path(),
                    watched = from,
                    newest,
                    "the API server was restored from an older state: its objects are listed anew"
                );
                return Ok(expired(from, newest));
            }
        }
        *request.uri_mut() = self.target;
        let answer = api_server.send(request).await?;
        if answer.status().is_success() { Ok(answer) } else { refused(answer).await }
    }
}

fn parameters(uri: &Uri) -> impl Iterator<Item = (&str, &str)> {
    uri.query().unwrap_or_default().split('&').filter_map(|parameter| parameter.split_once('='))
}

fn with_query(uri: &Uri, query: &str) -> Option<Uri> {
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(format!("{}?{query}", uri.path())).ok()?);
    Uri::from_parts(parts).ok()
}

/// `None` where versions are no numbers.
fn version_of(list: &[u8]) -> Option<u64> {
    serde_json::from_slice::<ListVersion>(list).ok()?.metadata.resource_version.parse().ok()
}

/// What the API server says of a version that it has forgotten: a watcher lists again.
fn expired(from: u64, newest: u64) -> Response<Body> {
    let why = format!("version {from} is from before a restore; the newest one is {newest}");
    forgotten(&status(StatusCode::GONE, "Expired", &why))
}

/// As an event: only then kube's watchers list again.
fn forgotten(said: &Value) -> Response<Body> {
    answer(StatusCode::OK, &json!({ "type": "ERROR", "object": said }))
}

/// The refusal as one line.
async fn refused(refusal: Response<Body>) -> Result<Response<Body>, BoxError> {
    let (parts, body) = refusal.into_parts();
    let body = body.collect_bytes().await?;
    let is_status = |said: &Value| said.get("kind").is_some_and(|kind| kind == "Status");
    let said = serde_json::from_slice::<Value>(&body).ok().filter(is_status);
    let said = said.unwrap_or_else(|| {
        let text: String = String::from_utf8_lossy(&body).trim().chars().take(TOLD).collect();
        status(parts.status, "", &text)
    });
    Ok(if parts.status == StatusCode::GONE { forgotten(&said) } else { answer(parts.status, &said) })
}

fn status(code: StatusCode, reason: &str, message: &str) -> Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code.as_u16(),
    })
}

fn answer(status: StatusCode, line: &Value) -> Response<Body> {
    let line = format!("{line}\n").into_bytes();
    let mut answer = Response::new(Body::from(line));
    *answer.status_mut() = status;
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::StreamExt;
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::runtime::watcher::{self, Event, watcher};
    use kube::{Api, ResourceExt};
    use std::{
        pin::pin,
        sync::{Arc, Mutex},
    };

    type Asked = Arc<Mutex<Vec<String>>>;

    /// An API server that answers each request with what `answers` says of its path and query, behind what is tested.
    fn api_server(answers: impl Fn(&str) -> (u16, String) + Send + Sync + 'static) -> (Client, Asked) {
        let asked = Asked::default();
        let (noted, answers) = (Arc::clone(&asked), Arc::new(answers));
        let service = service_fn(move |request: Request<Body>| {
            let target = request.uri().to_string();
            noted.lock().unwrap().push(target.clone());
            let (code, body) = answers(&target);
            let mut answer = Response::new(Body::from(body.into_bytes()));
            *answer.status_mut() = StatusCode::from_u16(code).unwrap();
            async move { Ok::<_, BoxError>(answer) }
        });
        (for_watches(Client::new(service, "n")), asked)
    }

    fn list(version: &str, names: &[&str]) -> String {
        let items: Vec<_> = names
            .iter()
            .map(|name| json!({ "metadata": { "name": name, "resourceVersion": "1" } }))
            .collect();
        json!({ "metadata": { "resourceVersion": version }, "items": items }).to_string()
    }

    /// The next things that a watch of ConfigMaps says, in words.
    async fn watched(client: Client, count: usize) -> Vec<String> {
        let config_maps: Api<ConfigMap> = Api::namespaced(client, "n");
        let config = watcher::Config::default().fields("metadata.name=a").labels("team=a");
        let stream = pin!(watcher(config_maps, config));
        let said = stream.map(|event| match event {
            Ok(Event::Init) => "init".to_owned(),
            Ok(Event::InitApply(object)) => format!("listed {}", object.name_any()),
            Ok(Event::InitDone) => "done".to_owned(),
            Ok(Event::Apply(object)) => format!("put {}", object.name_any()),
            Ok(Event::Delete(object)) => format!("gone {}", object.name_any()),
            Err(watcher::Error::WatchError(status)) => format!("watch ended with {}", status.code),
            Err(watcher::Error::WatchFailed(kube::Error::Api(status))) => {
                format!("watch refused with {}: {}", status.code, status.message)
            }
            Err(other) => format!("{other:?}"),
        });
        said.take(count).collect().await
    }

    /// It has gone back by the time that the list has ended.
    #[tokio::test]
    async fn a_watch_that_would_go_on_from_a_version_of_before_a_restore_lists_anew() {
        let (client, asked) = api_server(|target| match target {
            target if target.contains("watch=true") => (200, String::new()),
            target if target.contains("limit=1&") => (200, list("500", &[])),
            _ => (200, list("1000", &["a"])),
        });
        let said = watched(client, 7).await;
        let round = ["init", "listed a", "done", "watch ended with 410"];
        assert_eq!(said[..4], round);
        assert_eq!(said[4..], round[..3]);
        assert!(!asked.lock().unwrap().iter().any(|target| target.contains("watch=true")), "{asked:?}");
    }

    #[tokio::test]
    async fn a_watch_that_goes_on_asks_for_the_newest_version_only_and_ends_soon() {
        let event = |name: &str, version: &str| json!({ "type": "ADDED", "object": { "metadata": { "name": name, "resourceVersion": version } } });
        let put = format!("{}\n", event("a", "1002"));
        let (client, asked) = api_server(move |target| match target {
            target if target.contains("watch=true") => (200, put.clone()),
            target if target.contains("limit=1&") => (200, list("1002", &[])),
            _ => (200, list("1000", &[])),
        });
        assert_eq!(watched(client, 4).await, ["init", "done", "put a", "put a"]);
        let asked = asked.lock().unwrap().clone();
        let path = "/api/v1/namespaces/n/configmaps";
        assert_eq!(asked[1], format!("{path}?limit=1&fieldSelector=metadata.name%3Da"));
        assert!(asked[2].starts_with(&format!("{path}?timeoutSeconds=60&")), "{asked:?}");
        assert_eq!(asked[2].matches("timeoutSeconds").count(), 1, "{asked:?}");
        for kept in
            ["watch=true", "labelSelector=team%3Da", "allowWatchBookmarks=true", "resourceVersion=1000"]
        {
            assert!(asked[2].contains(kept), "{kept} is not in {}", asked[2]);
        }
        assert!(asked[4].contains("resourceVersion=1002"), "{asked:?}");
    }

    #[tokio::test]
    async fn a_refusal_is_one_status_whoever_wrote_it() {
        let page = "<html>\n<h1>503 Service Unavailable</h1>\n</html>\n";
        let written = status(StatusCode::FORBIDDEN, "Forbidden", "you may not").to_string();
        for (code, body, told) in [
            (
                503,
                page.to_owned(),
                "watch refused with 503: <html>\n<h1>503 Service Unavailable</h1>\n</html>",
            ),
            (404, "404 page not found\n".to_owned(), "watch refused with 404: 404 page not found"),
            (403, written, "watch refused with 403: you may not"),
        ] {
            for asks_first in [true, false] {
                let body = body.clone();
                let (client, _) = api_server(move |target| match target {
                    target if target.contains("watch=true") => (code, body.clone()),
                    target if target.contains("limit=1&") && asks_first => (code, body.clone()),
                    target if target.contains("limit=1&") => (200, list("1000", &[])),
                    _ => (200, list("1000", &[])),
                });
                assert_eq!(
                    watched(client, 4).await,
                    ["init", "done", told, told],
                    "asks first: {asks_first}"
                );
            }
        }
    }

    #[tokio::test]
    async fn a_version_that_is_refused_as_too_old_is_listed_anew() {
        let (client, _) = api_server(|target| match target {
            target if target.contains("watch=true") => (410, "too old".to_owned()),
            _ => (200, list("1000", &[])),
        });
        assert_eq!(watched(client, 4).await, ["init", "done", "watch ended with 410", "init"]);
    }

    #[tokio::test]
    async fn versions_that_are_no_numbers_are_not_compared() {
        let (client, _) = api_server(|target| match target {
            target if target.contains("watch=true") => {
                (403, status(StatusCode::FORBIDDEN, "", "it was asked").to_string())
            }
            target if target.contains("limit=1&") => (200, list("other", &[])),
            _ => (200, list("1000", &[])),
        });
        assert_eq!(watched(client, 3).await[2], "watch refused with 403: it was asked");
    }
}
