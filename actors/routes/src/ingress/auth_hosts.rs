//! The hosts outside of the cluster that Ingresses have asked whether requests may pass: their names must be resolved.

use crate::{
    claims::auth::OPTION,
    families::Family,
    options::{
        PREFIX,
        auth_url::{AuthPlace, AuthUrl, without_scheme},
        paths::{PATHS, paths},
    },
};
use memchr::memmem;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// The hosts that are no Services of an Ingress in `json`, as it names them.
#[must_use]
pub fn hosts_named_by(json: &[u8]) -> BTreeSet<String> {
    #[derive(Deserialize)]
    struct Annotated {
        metadata: Metadata,
    }
    #[derive(Deserialize)]
    struct Metadata {
        #[serde(default)]
        annotations: BTreeMap<String, String>,
    }

    // Most name none, and are not parsed.
    if memmem::find(json, OPTION.as_bytes()).is_none() {
        return BTreeSet::new();
    }
    let Ok(Annotated { metadata }) = serde_json::from_slice(json) else { return BTreeSet::new() };
    let annotation = |name: &str| metadata.annotations.get(&format!("{PREFIX}{name}"));
    let of_paths = annotation(PATHS).and_then(|text| paths(text).ok()).unwrap_or_default();
    let families = Family::ALL.iter().flat_map(|family| family.prefixes());
    let of_families = families.filter_map(|prefix| metadata.annotations.get(&format!("{prefix}{OPTION}")));
    let urls = annotation(OPTION).into_iter().chain(of_families);
    let urls = urls.chain(of_paths.values().filter_map(|options| options.get(OPTION)));
    let hosts = urls.filter_map(|url| match AuthUrl::of(&without_scheme(url)).ok()?.place {
        AuthPlace::Host(host) => Some(host),
        _ => None,
    });
    hosts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn hosts_are_named_by_our_annotation_and_those_of_families() {
        let named = |key: &str, url: &str| {
            let object = json!({"metadata": {"annotations": {key: url}}}).to_string();
            hosts_named_by(object.as_bytes()).into_iter().collect::<Vec<_>>().join(" ")
        };
        for key in ["haproxy-haptic.org", "nginx.ingress.kubernetes.io", "haproxy-ingress.github.io"] {
            assert_eq!(
                named(&format!("{key}/auth-url"), "https://sso.example.com/auth"),
                "sso.example.com",
                "{key}"
            );
        }
        assert_eq!(
            named("nginx.ingress.kubernetes.io/auth-url", "$scheme://sso.example.com/a"),
            "sso.example.com"
        );
        assert_eq!(named("nginx.ingress.kubernetes.io/auth-url", "https://$host/a"), "");
        assert_eq!(named("others.example/auth-url", "https://sso.example.com/a"), "");
    }
}
