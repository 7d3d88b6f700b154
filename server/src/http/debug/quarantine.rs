//! `/debug/quarantine`: what is held back, by whom it was found, since when, why, and what is in force in its place. Pure.

use haptic_model::{Quarantine, Quarantined};
use serde_json::{Value, json};
use std::time::Instant;

/// Everything that is held back, as it is shown at `now`. Sentences and places are those of Events; no value of an object is
/// among them.
pub fn shown(quarantine: &Quarantine, now: Instant) -> Value {
    let entries: Vec<Value> = quarantine.held.values().map(|held| entry(held, now)).collect();
    json!({"held": entries.len(), "suspected": quarantine.suspects(), "objects": entries})
}

fn entry(held: &Quarantined, now: Instant) -> Value {
    let template = held.why.template.as_ref().map(|place| format!("{}:{}", place.template, place.line));
    json!({
        "object": held.object.to_string(),
        "foundBy": held.why.source,
        "suspected": held.suspected,
        "sinceGeneration": held.since,
        "heldForSeconds": now.saturating_duration_since(held.at).as_secs(),
        "inForce": held.instead,
        "template": template,
        "sentence": held.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::{Diagnostic, Generation, Instead, ObjectRef};
    use std::{sync::Arc, time::Duration};

    #[test]
    fn it_says_who_is_held_back_by_whom_since_when_and_what_is_in_force_instead() {
        let object = Arc::new(ObjectRef::new("ingresses", "shop", "web"));
        let at = Instant::now();
        let held = |instead, suspected| Quarantined {
            object: object.clone(),
            why: Diagnostic::error("haproxy", "unknown keyword \"foo\"").at_template("haproxyConfig", 7, 3),
            instead,
            suspected,
            since: Generation(12),
            at,
        };
        let quarantine = |held| Quarantine { held: [(object.clone(), Arc::new(held))].into() };
        let all = shown(&quarantine(held(Instead::Former, false)), at + Duration::from_secs(90));
        assert_eq!((&all["held"], &all["suspected"]), (&json!(1), &json!(0)));
        let one = &all["objects"][0];
        assert_eq!((&one["object"], &one["foundBy"]), (&json!("ingresses shop/web"), &json!("haproxy")));
        assert_eq!((&one["sinceGeneration"], &one["heldForSeconds"]), (&json!(12), &json!(90)));
        assert_eq!(
            (&one["inForce"], &one["template"]),
            (&json!("last good version"), &json!("haproxyConfig:7"))
        );
        assert!(one["sentence"].as_str().is_some_and(|sentence| sentence.contains("unknown keyword")));
        let other = shown(&quarantine(held(Instead::Nothing, true)), at);
        assert_eq!(other["suspected"], json!(1));
        assert_eq!(other["objects"][0]["inForce"], json!("left out"));
    }
}
