//! What an object got, as the object that templates read.

use super::{
    claims::{Backend, Claims, Port},
    index::Verdict,
};
use crate::names::name_of;
use haptic_model::ObjectRef;
use serde_json::{Value, json};
use std::sync::Arc;

/// The JSON of an object's routes: its own `fields`, `routes`, `backends`, `tls` and `rejected`.
pub(super) fn of(
    object: &ObjectRef,
    claims: &Claims,
    routes: &[Verdict<'_>],
    certificates: &[Verdict<'_>],
) -> Arc<[u8]> {
    let mut rejected: Vec<String> = claims.refused.clone();
    let (mut accepted, mut backends) = (Vec::new(), Vec::new());
    for (claim, verdict) in claims.routes.iter().zip(routes) {
        match verdict {
            Verdict::Granted => {
                let backend = backend(object, &claim.backend);
                if !backends.contains(&backend) {
                    backends.push(backend.clone());
                }
                let path = if claim.wanted.path.is_empty() { "/" } else { &*claim.wanted.path };
                accepted.push(json!({
                    "host": claim.wanted.host, "path": path, "exact": claim.wanted.exact,
                    "key": claim.wanted.key(), "tls": claim.tls, "backend": backend,
                }));
            }
            // A default backend steps back without a word: that is what it is for.
            Verdict::Yielded | Verdict::Shared => {}
            Verdict::Repeated => {
                rejected.push(format!("{} is named twice, the first one counts", claim.wanted))
            }
            Verdict::Taken { by, older } => {
                let what = if claim.fallback { "the default of " } else { "" };
                rejected.push(format!("{what}{} is taken by {by}, {}", claim.wanted, reason(*older)));
            }
        }
    }
    let mut tls: Vec<(bool, Arc<str>, Vec<Arc<str>>)> = Vec::new();
    for (claim, verdict) in claims.certificates.iter().zip(certificates) {
        let shared = *verdict == Verdict::Shared;
        match verdict {
            Verdict::Granted | Verdict::Shared => {
                match tls.iter_mut().find(|(s, secret, _)| *s == shared && *secret == claim.secret) {
                    Some((.., hosts)) => hosts.push(claim.host.clone()),
                    None => tls.push((shared, claim.secret.clone(), vec![claim.host.clone()])),
                }
            }
            Verdict::Repeated | Verdict::Yielded => {}
            Verdict::Taken { by, older } => rejected.push(format!(
                "the certificate of {} is that of {by}, {}",
                claim.host,
                reason(*older)
            )),
        }
    }
    let tls = tls
        .into_iter()
        .map(|(shared, secret, hosts)| json!({"secret": secret, "hosts": hosts, "shared": shared}));
    let tls: Vec<Value> = tls.collect();
    let mut fields = claims.fields.read();
    for (name, value) in [
        ("routes", Value::Array(accepted)),
        ("backends", Value::Array(backends)),
        ("tls", Value::Array(tls)),
        ("rejected", rejected.into()),
    ] {
        fields.insert(name.to_owned(), value);
    }
    Value::Object(fields).to_string().into_bytes().into()
}

fn backend(object: &ObjectRef, backend: &Backend) -> Value {
    let port = match &backend.port {
        Port::Number(number) => json!(number),
        Port::Name(name) => json!(name),
    };
    let parts = [&*object.namespace, &*object.name, &*backend.service, &backend.port.to_string()];
    json!({"name": name_of(&parts, "").unwrap_or_default(), "service": backend.service, "port": port})
}

fn reason(older: bool) -> &'static str {
    if older { "which is older" } else { "which comes first by name" }
}
