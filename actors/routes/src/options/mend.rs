//! An object without what cannot be read of it, for when no version of it is known that was good.

use super::{
    annotation::PREFIX,
    groups::{Annotations, guards, option_of},
    paths::PATHS,
    refusal::Refusal,
    settings::Settings,
};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};

/// The option that closes a route.
const CLOSED: &str = "closed";

/// The object in `json` without the annotations that cannot be read, so that their options have their defaults; closed, where one
/// of them guards access. `None` when all of them can be read.
#[must_use]
pub fn mended(json: &[u8], settings: &Settings) -> Option<Vec<u8>> {
    let mut object: Json = serde_json::from_slice(json).ok()?;
    let annotations = object.pointer("/metadata/annotations")?;
    let mut kept: BTreeMap<String, String> = serde_json::from_value(annotations.clone()).ok()?;
    let mut refused = BTreeSet::new();
    // What goes with one that is taken away is refused in its turn.
    loop {
        let wrong = Annotations::read(&kept, settings).refused(settings);
        if wrong.is_empty() {
            break;
        }
        // Of paths all goes with one of them.
        let annotation = |refusal: Refusal| refusal.path.map_or(refusal.option, |_| PATHS.to_owned());
        refused.extend(wrong.into_iter().map(annotation));
        kept.retain(|key, _| option_of(key, settings).is_none_or(|option| !refused.contains(option)));
    }
    let read = Annotations::read(&kept, settings);
    let paths_are_gone =
        object.pointer_mut("/spec/rules").is_some_and(|rules| without_bad_paths(rules, &read));
    if refused.is_empty() && !paths_are_gone {
        return None;
    }
    if (paths_are_gone && read.is_guarded()) || refused.iter().any(|option| guards(option, settings)) {
        kept.insert(format!("{PREFIX}{CLOSED}"), "true".to_owned());
    }
    if let Some(annotations) = object.pointer_mut("/metadata/annotations") {
        *annotations = json!(kept);
    }
    serde_json::to_vec(&object).ok()
}

/// Takes away the paths that are no regular expressions though they should be. Whether there were any.
fn without_bad_paths(rules: &mut Json, annotations: &Annotations) -> bool {
    let text = |path: &Json, field: &str| path.get(field).and_then(Json::as_str).map(str::to_owned);
    let is_bad = |path: &Json| {
        let (path, path_type) = (text(path, "path").filter(|p| !p.is_empty()), text(path, "pathType"));
        let path = path.unwrap_or_else(|| "/".to_owned());
        annotations.pattern(&path, path_type.as_deref()).is_some_and(|read| read.is_err())
    };
    let rules = rules.as_array_mut().into_iter().flatten();
    let lists = rules.filter_map(|rule| rule.pointer_mut("/http/paths").and_then(Json::as_array_mut));
    let mut some = false;
    for paths in lists {
        let before = paths.len();
        paths.retain(|path| !is_bad(path));
        some |= paths.len() < before;
    }
    some
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(annotations: Json) -> Option<Json> {
        let settings = Settings { own: vec!["team".into()], ..Settings::default() };
        let object = json!({"metadata": {"name": "shop", "annotations": annotations}, "spec": {"rules": []}});
        let mended = mended(object.to_string().as_bytes(), &settings)?;
        let mended: Json = serde_json::from_slice(&mended).unwrap();
        assert_eq!(mended["spec"], object["spec"]);
        Some(mended["metadata"]["annotations"].clone())
    }

    #[test]
    fn paths_that_are_no_expressions_are_taken_away_and_close_what_is_guarded() {
        let left = |guard: &str| {
            let annotations =
                json!({format!("{PREFIX}path-type"): "regex", format!("{PREFIX}{guard}"): "true"});
            let paths = json!([{"path": "/("}, {"path": "/(", "pathType": "Exact"}, {"path": "/a[0-9]"}]);
            let object = json!({"metadata": {"annotations": annotations}, "spec": {"rules": [{"http": {"paths": paths}}]}});
            let mended = mended(object.to_string().as_bytes(), &Settings::default()).unwrap();
            let mended: Json = serde_json::from_slice(&mended).unwrap();
            let closed = mended["metadata"]["annotations"][format!("{PREFIX}closed")].clone();
            (mended["spec"]["rules"][0]["http"]["paths"].as_array().unwrap().len(), closed)
        };
        assert_eq!(left("other"), (2, Json::Null));
        assert_eq!(left("auth-secret"), (2, json!("true")));
    }

    #[test]
    fn what_cannot_be_read_is_taken_away_and_closes_the_route_where_it_guards() {
        let own = |name: &str| format!("{PREFIX}{name}");
        assert_eq!(left(json!({own("retry"): "all", "other": "x"})), None);
        assert_eq!(left(json!({own("retry"): "never", "other": "x"})), Some(json!({"other": "x"})));
        assert_eq!(
            left(json!({own("allow-from"): "everybody", own("retry"): "all"})),
            Some(json!({own("closed"): "true", own("retry"): "all"}))
        );
        assert_eq!(
            left(json!({own("affinity"): "ip", own("affinity-cookie-name"): "SHOP"})),
            Some(json!({}))
        );
        let large = "x".repeat(70_000);
        assert_eq!(left(json!({own("paths"): large})), Some(json!({own("closed"): "true"})));
        assert_eq!(left(json!({own("nonesuch"): large})), Some(json!({})));
        assert_eq!(left(json!({own("team"): large})), Some(json!({own("closed"): "true"})));
        let paths = "/api: {retry: never}\n/: {allow-from: 10.0.0.0/8}";
        assert_eq!(left(json!({own("paths"): paths})), Some(json!({own("closed"): "true"})));
        assert_eq!(left(json!({own("closed"): "perhaps"})), Some(json!({own("closed"): "true"})));
    }
}
