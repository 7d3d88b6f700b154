//! An API server in memory: objects by plural and name in one namespace, with versions that a write must name.

use haptic_model::{Object, ObjectRef, Snapshot, Snapshots};
use http::{Method, Request, Response};
use kube::{Client, client::Body};
use serde_json::{Map, Value, json};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};
use tokio::{sync::Notify, time::sleep};
use tower::{BoxError, service_fn};

type Edit = Box<dyn FnOnce(&mut Value) + Send>;

#[derive(Clone, Default)]
pub struct Server(Arc<Mutex<Stored>>);

#[derive(Default)]
struct Stored {
    /// By `plural/name`.
    objects: BTreeMap<String, Value>,
    version: u64,
    changed: Arc<Notify>,
    reads: usize,
    writes: usize,
    refusals: usize,
    under_way: usize,
    most: usize,
    forbidden: Option<String>,
    edits: BTreeMap<String, Edit>,
    stores: Snapshots,
    /// What the stores were made of, and at which version.
    delivered: BTreeMap<String, Value>,
    delivered_at: Option<u64>,
}

pub fn gateway(name: &str) -> Value {
    object("Gateway", name)
}

pub fn route(name: &str) -> Value {
    object("HTTPRoute", name)
}

fn object(kind: &str, name: &str) -> Value {
    json!({
        "apiVersion": "gateway.networking.k8s.io/v1", "kind": kind,
        "metadata": {"namespace": "shop", "name": name, "uid": format!("uid-of-{name}"), "generation": 1},
    })
}

impl Server {
    pub fn with(objects: impl IntoIterator<Item = Value>) -> Self {
        let server = Self::default();
        for object in objects {
            let kind = object["kind"].as_str().unwrap().to_lowercase();
            let plural = format!("{kind}{}", if kind.ends_with('s') { "es" } else { "s" });
            let name = object["metadata"]["name"].as_str().unwrap();
            server.lock().put(format!("{plural}/{name}"), object);
        }
        server
    }

    pub fn client(&self) -> Client {
        let server = self.clone();
        let service = service_fn(move |request: Request<Body>| {
            let server = server.clone();
            async move { server.answer(request).await }
        });
        Client::new(service, "n")
    }

    async fn answer(&self, request: Request<Body>) -> Result<Response<Body>, BoxError> {
        let (parts, body) = request.into_parts();
        let body = body.collect_bytes().await?;
        let is_write = parts.method != Method::GET;
        if is_write {
            let stored = &mut *self.lock();
            stored.under_way += 1;
            stored.most = stored.most.max(stored.under_way);
        }
        sleep(Duration::from_millis(2)).await;
        let stored = &mut *self.lock();
        stored.under_way -= usize::from(is_write);
        stored.answer(&parts.method, parts.uri.path(), &body)
    }

    pub fn object(&self, path: &str) -> Value {
        self.lock().objects.get(path).cloned().unwrap_or_default()
    }

    /// The one object of a kind; `null` when there is none.
    pub fn only(&self, plural: &str) -> Value {
        let stored = self.lock();
        let mut found = stored.objects.iter().filter(|(path, _)| path.starts_with(&format!("{plural}/")));
        let only = found.next().map(|(_, object)| object.clone()).unwrap_or_default();
        assert!(found.next().is_none(), "several {plural}");
        only
    }

    pub fn edit(&self, path: &str, edit: impl FnOnce(&mut Value)) {
        let mut stored = self.lock();
        let mut object = stored.objects[path].clone();
        edit(&mut object);
        stored.put(path.to_owned(), object);
    }

    /// Somebody is faster than the next write.
    pub fn edit_before_next_write(&self, path: &str, edit: impl FnOnce(&mut Value) + Send + 'static) {
        self.lock().edits.insert(path.to_owned(), Box::new(edit));
    }

    pub fn remove(&self, path: &str) {
        self.lock().remove(path);
    }

    pub fn forbid(&self, plural: &str) {
        self.lock().forbidden = Some(plural.to_owned());
    }

    pub fn allow(&self) {
        self.lock().forbidden = None;
    }

    /// An object changes, or has since the last call.
    pub async fn changed(&self) {
        let changed = self.lock().changed.clone();
        changed.notified().await;
    }

    /// Of single objects.
    pub fn reads(&self) -> usize {
        self.lock().reads
    }

    pub fn writes(&self) -> usize {
        self.lock().writes
    }

    pub fn refusals(&self) -> usize {
        self.lock().refusals
    }

    /// The most writes that were under way together.
    pub fn at_once(&self) -> usize {
        self.lock().most
    }

    pub fn shown(&self) -> String {
        serde_json::to_string_pretty(&self.lock().objects).unwrap()
    }

    /// What watches would have of it: only objects of the Gateway API have versions, and only those that changed are others.
    pub fn stores(&self) -> Snapshots {
        let stored = &mut *self.lock();
        if stored.delivered_at == Some(stored.version) {
            return stored.stores.clone();
        }
        for plural in ["gatewayclasses", "gateways", "httproutes", "services", "endpoints"] {
            let served = if plural == "endpoints" { "endpointslices" } else { plural };
            let namespace = if plural == "gatewayclasses" { "" } else { "shop" };
            let before = stored.stores.get(plural).cloned();
            let mut store = before.as_deref().cloned().unwrap_or_else(Snapshot::full);
            store.set_synced();
            let prefix = format!("{served}/");
            let of_kind = |objects: &BTreeMap<String, Value>| -> Vec<(String, Value)> {
                let range = objects.range(prefix.clone()..).take_while(|(path, _)| path.starts_with(&prefix));
                range.map(|(path, object)| (path.clone(), object.clone())).collect()
            };
            let mut is_changed = before.is_none();
            for (path, _) in of_kind(&stored.delivered) {
                if !stored.objects.contains_key(&path) {
                    store.remove(&ObjectRef::new(plural, namespace, &path[prefix.len()..]));
                    is_changed = true;
                }
            }
            for (path, mut object) in of_kind(&stored.objects) {
                if stored.delivered.get(&path) == Some(&object) {
                    continue;
                }
                is_changed = true;
                if !matches!(plural, "gateways" | "httproutes") {
                    object["metadata"].as_object_mut().unwrap().remove("resourceVersion");
                }
                let object = Object::new(ObjectRef::new(plural, namespace, &path[prefix.len()..]), &object);
                store.apply(object, [Arc::<str>::from(namespace)].into());
            }
            if is_changed {
                stored.stores = stored.stores.with(plural.into(), Arc::new(store));
            }
        }
        stored.delivered = stored.objects.clone();
        stored.delivered_at = Some(stored.version);
        stored.stores.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Stored> {
        self.0.lock().unwrap()
    }
}

impl Stored {
    fn put(&mut self, path: String, mut object: Value) -> Value {
        self.next_version();
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.objects.insert(path, object.clone());
        object
    }

    fn remove(&mut self, path: &str) {
        self.next_version();
        self.objects.remove(path);
    }

    fn next_version(&mut self) {
        self.version += 1;
        self.changed.notify_one();
    }

    fn answer(&mut self, method: &Method, path: &str, body: &[u8]) -> Result<Response<Body>, BoxError> {
        let path = path.rsplit_once("/namespaces/shop/").map(|(_, path)| path).unwrap();
        let (path, is_status) = match path.strip_suffix("/status") {
            Some(path) => (path, true),
            None => (path, false),
        };
        if method != Method::GET && self.forbidden.as_ref().is_some_and(|plural| path.starts_with(plural)) {
            self.refusals += 1;
            return refused(403, "Forbidden");
        }
        if method == Method::POST {
            let mut object: Value = serde_json::from_slice(body)?;
            let path = format!("{path}/{}", object["metadata"]["name"].as_str().unwrap());
            if self.objects.contains_key(&path) {
                return refused(409, "AlreadyExists");
            }
            self.writes += 1;
            object["metadata"]["uid"] = json!(format!("uid-{}", self.version));
            if object["kind"] == "Service" {
                object["spec"]["clusterIP"] = json!("10.96.0.1");
            }
            return respond(201, &self.put(path, object));
        }
        if method != Method::GET
            && let Some(edit) = self.edits.remove(path)
        {
            let mut object = self.objects[path].clone();
            edit(&mut object);
            self.put(path.to_owned(), object);
        }
        let Some(mut object) = self.objects.get(path).cloned() else { return refused(404, "NotFound") };
        match *method {
            Method::GET => {
                self.reads += 1;
                respond(200, &object)
            }
            Method::DELETE => {
                self.writes += 1;
                self.remove(path);
                respond(200, &object)
            }
            _ => {
                let patch: Value = serde_json::from_slice(body)?;
                let version = patch.pointer("/metadata/resourceVersion");
                if version.is_some_and(|version| *version != object["metadata"]["resourceVersion"]) {
                    return refused(409, "Conflict");
                }
                if is_status {
                    merge(&mut object, &json!({"status": patch["status"]}));
                } else {
                    merge(&mut object, &patch);
                }
                self.writes += 1;
                respond(200, &self.put(path.to_owned(), object))
            }
        }
    }
}

/// RFC 7396.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else { return target.clone_from(patch) };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let target = target.as_object_mut().unwrap();
    for (key, value) in patch {
        if value.is_null() {
            target.remove(key);
        } else {
            merge(target.entry(key.clone()).or_insert(Value::Null), value);
        }
    }
}

fn respond(code: u16, body: &Value) -> Result<Response<Body>, BoxError> {
    Ok(Response::builder().status(code).body(Body::from(serde_json::to_vec(body)?))?)
}

fn refused(code: u16, reason: &str) -> Result<Response<Body>, BoxError> {
    respond(
        code,
        &json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": "no"}),
    )
}
