//! A configuration that only names the built-in libraries is whole, and the libraries' own tests pass in it.

use crate::place::Place;
use serde_json::Value;

#[test]
fn every_test_of_every_library_passes() {
    let config = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/ingress/config.yaml");
    let done = Place::new().haptic(&["validate", "--output", "json", "-f", config]);
    let said: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(done.code, Some(0), "{said:#}");
    assert_eq!(said["failed"], 0, "{said:#}");
    assert!(said["total"].as_u64().is_some_and(|total| total >= 16), "{said:#}");
}
