//! What must stay true of the code as a whole: who may depend on whom, who may know actix, how long a file may be.
//!
//! Each rule is a pure function from facts to violations, and has a test that shows it finds one.
#![allow(clippy::expect_used, reason = "all of this is a test")]

mod architecture;
mod dependencies;
mod licence;
mod parts;
mod pipeline;
mod sources;
mod words;

use cargo_metadata::{Metadata, MetadataCommand};
use std::{path::Path, sync::LazyLock};

/// The workspace and all its dependencies.
fn metadata() -> &'static Metadata {
    static METADATA: LazyLock<Metadata> = LazyLock::new(read_metadata);
    &METADATA
}

/// For this platform only, and without asking a registry.
fn read_metadata() -> Metadata {
    let cargo = std::process::Command::new("cargo").arg("-vV").output().expect("cargo runs");
    let version = String::from_utf8(cargo.stdout).expect("cargo prints text");
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).expect("cargo names its host");
    MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .other_options(["--offline".into(), "--filter-platform".into(), host.into()])
        .exec()
        .expect("cargo metadata")
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this crate lies in the workspace")
}

/// Fails with all `violations`, each on a line of its own.
fn assert_none(violations: &[String]) {
    assert!(violations.is_empty(), "\n{}\n", violations.join("\n"));
}
