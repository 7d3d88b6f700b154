//! Why no Ingress takes a request.

use super::{
    super::explanation::Context,
    fields::{list, part, text},
    services::ServiceRef,
};
use haptic_model::{Object, ObjectRef, Snapshot, Snapshots};
use haptic_routes::{
    class::ingress_stores,
    matching::{MatchShape, candidates},
    path::normal,
    store_of,
};
use serde_json::Value;
use std::sync::Arc;

/// Every reason that is found; `None` where no Ingress names the host.
pub fn reasons(context: &Context<'_>, sets: &Snapshots, host: &str, path: &str) -> Option<Vec<String>> {
    let mut found = Vec::new();
    let stores: Vec<_> = ingress_stores(&context.config.spec).collect();
    let mut is_known = stores.is_empty();
    for resource in stores {
        let Some(ingresses) = context.snapshots.get(&resource) else { continue };
        let sets = sets.get(&store_of(&resource));
        for object in ingresses.iter() {
            let Ok(ingress) = object.value() else { continue };
            let paths = paths_of(&ingress, host);
            if paths.is_empty() {
                continue;
            }
            is_known = true;
            let look = IngressLook { context, object: &object.reference, ingress: &ingress, host, path };
            found.extend(look.reasons(&paths, sets.map(|sets| &**sets)));
        }
    }
    is_known.then_some(found)
}

/// What an Ingress asks for of a host: its paths, with the Service behind each; "" stands for its default backend.
fn paths_of(ingress: &Value, host: &str) -> Vec<(String, Value)> {
    let takes = |rule: &&Value| {
        let own = text(rule, "/host").unwrap_or_default().to_ascii_lowercase();
        own == host
            || own.is_empty()
            || own.strip_prefix('*').is_some_and(|parent| {
                host.split_once('.').is_some_and(|(_, rest)| parent == format!(".{rest}"))
            })
    };
    let rules = list(ingress, "/spec/rules").iter().filter(takes);
    let paths = rules.flat_map(|rule| list(rule, "/http/paths"));
    let of_path =
        |path: &Value| (text(path, "/path").unwrap_or("/").to_owned(), part(path, "/backend/service"));
    let mut all: Vec<_> = paths.map(of_path).collect();
    if list(ingress, "/spec/rules").is_empty() && !part(ingress, "/spec/defaultBackend").is_null() {
        all.push((String::new(), part(ingress, "/spec/defaultBackend/service")));
    }
    all
}

/// One Ingress that names the host.
struct IngressLook<'a> {
    context: &'a Context<'a>,
    object: &'a Arc<ObjectRef>,
    ingress: &'a Value,
    host: &'a str,
    path: &'a str,
}

impl IngressLook<'_> {
    fn reasons(&self, paths: &[(String, Value)], sets: Option<&Snapshot>) -> Vec<String> {
        let object = self.object;
        if let Some(held) = self.context.quarantine.held.get(object) {
            return vec![held.to_string()];
        }
        let set =
            sets.and_then(|sets| sets.iter().find(|set| is_of(set, object))).and_then(|set| set.value().ok());
        let Some(set) = set else { return vec![self.not_ours()] };
        let mut reasons: Vec<String> = list(&set, "/rejected")
            .iter()
            .filter_map(Value::as_str)
            .map(|why| format!("{object}: {why}"))
            .collect();
        let fitting: Vec<_> = paths.iter().filter(|(path, _)| fits(self.host, self.path, path)).collect();
        if fitting.is_empty() {
            let known: Vec<&str> = paths.iter().map(|(path, _)| path.as_str()).collect();
            reasons.push(format!("{object} names the host, but not this path: it has {}", known.join(", ")));
        }
        reasons.extend(fitting.iter().filter_map(|(_, service)| {
            let service = ServiceRef {
                object,
                namespace: &object.namespace,
                name: text(service, "/name")?,
                port_name: text(service, "/port/name"),
                port_number: service.pointer("/port/number"),
            };
            service.why_without_servers(self.context)
        }));
        reasons
    }

    fn not_ours(&self) -> String {
        let class = text(self.ingress, "/spec/ingressClassName")
            .or_else(|| text(self.ingress, "/metadata/annotations/kubernetes.io~1ingress.class"));
        match class {
            Some(class) if !self.classes().iter().any(|(name, _)| name == class) => {
                let controller = self.controller();
                let ours = self.classes().into_iter().filter(|(_, of)| *of == controller);
                let ours: Vec<String> = ours.map(|(name, _)| name).collect();
                let ours = if ours.is_empty() { "none".to_owned() } else { ours.join(", ") };
                format!("{}: there is no IngressClass {class}; of this controller: {ours}", self.object)
            }
            Some(class) => format!(
                "{} has the class {class}, which is not of this controller: see spec.controller of that IngressClass",
                self.object
            ),
            None => format!(
                "{} has no class, and Ingresses without one are not taken: set spec.ingressClassName",
                self.object
            ),
        }
    }

    /// The name and the controller of each IngressClass.
    fn classes(&self) -> Vec<(String, String)> {
        let watched = &self.context.config.spec.watched_resources;
        let stores = watched.iter().filter(|(_, w)| w.resources == "ingressclasses");
        let stores = stores.filter_map(|(name, _)| self.context.snapshots.get(name));
        let classes = stores.flat_map(|store| store.iter());
        let of = |class: &Arc<Object>| {
            let controller = text(&class.value().ok()?, "/spec/controller").unwrap_or_default().to_owned();
            Some((class.reference.name.to_string(), controller))
        };
        classes.filter_map(of).collect()
    }

    fn controller(&self) -> String {
        let settings = &self.context.config.spec.templating_settings.extra_context;
        let class = settings.get("ingressClass").and_then(|class| class.get("controller"));
        class.and_then(Value::as_str).unwrap_or_default().to_owned()
    }
}

fn is_of(set: &Object, object: &ObjectRef) -> bool {
    set.reference.namespace == object.namespace && set.reference.name == object.name
}

/// Whether a path of an Ingress takes a request's path, as one of its candidates.
pub(super) fn fits(host: &str, path: &str, of_ingress: &str) -> bool {
    let compared = |path: &str| normal(path).map_or_else(|_| path.to_owned(), |normal| normal.text);
    let of_ingress = compared(of_ingress);
    candidates(host, &compared(path)).any(|candidate| {
        let own = if candidate.shape == MatchShape::Exact {
            &*of_ingress
        } else {
            of_ingress.trim_end_matches('/')
        };
        *candidate.path == *own
    })
}
