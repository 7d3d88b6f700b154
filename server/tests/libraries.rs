//! A configuration that only names the built-in libraries is whole, and the libraries' own tests pass in it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "tests")]

use serde_json::Value;
use std::{
    path::Path,
    process::{Command, Stdio},
};

#[test]
fn every_test_of_every_library_passes() {
    let haproxy = std::env::var_os("HAPTIC_HAPROXY_3_4")
        .expect("HAPTIC_HAPROXY_3_4 is not set: run this test through `make test`");
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/ingress/config.yaml");
    let mut command = Command::new(env!("CARGO_BIN_EXE_haptic"));
    command.args(["validate", "--output", "json", "-f"]).arg(config).env_remove("KUBECONFIG");
    let output = command.env("HAPTIC_HAPROXY_3_4", haproxy).stdin(Stdio::null()).output().unwrap();
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(output.status.success(), "{said:#}");
    assert_eq!(said["failed"], 0, "{said:#}");
    assert!(said["total"].as_u64().is_some_and(|total| total >= 16), "{said:#}");
}
