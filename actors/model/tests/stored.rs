//! Messages between controller and agent as revision 8fae76b wrote them: each is read, and written the same again. So either side may be
//! upgraded first.
#![allow(clippy::unwrap_used, clippy::panic, reason = "all of this is a test")]

use haptic_model::agent_api::{Apply, Incarnation, Outcome, RunningBundle, Runtime, Status};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::{fs, path::PathBuf};

fn stored(name: &str) -> String {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/stored/agent-api").join(name);
    fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// A field that is new, gone or has another name shows as a difference.
fn is_read_and_written_the_same<T: Serialize + DeserializeOwned>(names: &[&str]) {
    for name in names {
        let text = stored(name);
        let read: T = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let before: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_value(read).unwrap(), before, "{name}");
    }
}

#[test]
fn orders_are_those_of_before() {
    is_read_and_written_the_same::<Apply>(&["apply-runtime.json", "apply-store.json", "apply-reload.json"]);
}

#[test]
fn outcomes_are_those_of_before() {
    is_read_and_written_the_same::<Outcome>(&[
        "outcome-applied.json",
        "outcome-conflict.json",
        "outcome-failed.json",
        "outcome-missing.json",
        "outcome-refused.json",
        "outcome-stale.json",
    ]);
}

#[test]
fn what_an_agent_tells_of_itself_is_that_of_before() {
    is_read_and_written_the_same::<Status>(&["status.json", "status-bootstrap.json"]);
    is_read_and_written_the_same::<Runtime>(&["runtime.json"]);
    is_read_and_written_the_same::<RunningBundle>(&["bundle.json"]);
    is_read_and_written_the_same::<Incarnation>(&["incarnation.json"]);
}
