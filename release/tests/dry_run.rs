//! A release from beginning to end, without an engine for containers and without sending anything anywhere.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "all of this is a test")]

use serde_json::Value;
use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Command, Output},
};

const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

fn script(name: &str) -> Command {
    Command::new(root().join("release").join(name))
}

fn done(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"))
}

fn succeeded(command: &mut Command) -> String {
    let output = done(command);
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn helm() -> PathBuf {
    let helm = std::env::var_os("HAPTIC_HELM");
    helm.unwrap_or_else(|| panic!("HAPTIC_HELM is not set: run the tests through `make test`, which sets it"))
        .into()
}

#[test]
fn there_is_one_version() {
    let version = succeeded(&mut script("version"));
    let version = version.trim();
    assert_eq!(version, env!("CARGO_PKG_VERSION"));
    let changes = read("CHANGELOG.md");
    let sections: Vec<&str> = changes.lines().filter(|line| line.starts_with("## ")).collect();
    assert!(
        sections.first().is_some_and(|first| first.split_whitespace().nth(1) == Some(version)),
        "CHANGELOG.md does not begin with a section for {version}: {sections:?}"
    );
    assert!(read("Dockerfile").contains(&format!("\nARG VERSION={version}\n")), "Dockerfile has another one");
    for page in ["README.md", "Dockerfile", "docs/getting-started.md"] {
        for tag in read(page).split("haptic:").skip(1) {
            let tag: String = tag.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
            assert!(tag.is_empty() || tag == version, "{page} names the image haptic:{tag}");
        }
    }
}

/// A PATH with what the script needs and nothing else, but for these engines by their names.
fn path_with(folder: &Path, engines: &[(&str, &str)]) -> String {
    for program in ["bash", "dirname", "sed", "git"] {
        let found = succeeded(Command::new("sh").args(["-c", "command -v \"$0\"", program]));
        symlink(found.trim(), folder.join(program)).unwrap();
    }
    for (name, engine) in engines {
        let program = folder.join(name);
        fs::write(&program, engine).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    folder.display().to_string()
}

#[test]
fn the_image_is_built_by_the_engine_that_is_there() {
    let [none, down, up, second] = [0, 1, 2, 3].map(|_| tempfile::tempdir().unwrap());
    let failed = done(script("image").env("PATH", path_with(none.path(), &[])));
    let said = String::from_utf8_lossy(&failed.stderr).into_owned();
    assert!(!failed.status.success() && said.contains("neither docker, podman nor buildah"), "{said}");
    let client = "#!/usr/bin/env bash\necho Is it running? >&2\nexit 1\n";
    let clients = [("docker", client), ("podman", client), ("buildah", client)];
    let failed = done(script("image").env("PATH", path_with(down.path(), &clients)));
    let said = String::from_utf8_lossy(&failed.stderr).into_owned();
    assert!(!failed.status.success() && said.matches("Is it running?").count() == 3, "{said}");
    let engine = "#!/usr/bin/env bash\necho \"$*\"\n";
    let path = path_with(second.path(), &[("docker", client), ("podman", engine)]);
    let said = succeeded(script("image").env("PATH", path));
    assert!(said.starts_with("build --tag haptic:"), "{said}");
    let path = path_with(up.path(), &[("docker", engine)]);
    let said = succeeded(
        script("image").arg("--push").env("PATH", path).env("IMAGE", "registry.example.com/haptic"),
    );
    let version = env!("CARGO_PKG_VERSION");
    let begin = format!(
        "build --tag registry.example.com/haptic:{version} --build-arg VERSION={version} --build-arg REVISION="
    );
    assert!(said.starts_with(&begin) && said.trim().ends_with("--push ."), "{said}");
}

#[test]
fn the_packed_chart_runs_the_image_that_was_built() {
    let folder = tempfile::tempdir().unwrap();
    let pack = |digest: &str| {
        let mut pack = script("package");
        pack.arg(folder.path()).env("HAPTIC_HELM", helm()).env("IMAGE", "registry.example.com/haptic");
        pack.env("DIGEST", digest);
        pack
    };
    succeeded(&mut pack(DIGEST));
    let packed = folder.path().join(format!("haptic-{}.tgz", env!("CARGO_PKG_VERSION")));
    let rendered = succeeded(Command::new(helm()).args(["template", "haptic"]).arg(packed));
    let images: BTreeSet<&str> =
        rendered.lines().filter_map(|line| line.trim().strip_prefix("image: ")).collect();
    assert_eq!(images, BTreeSet::from([format!("registry.example.com/haptic@{DIGEST}").as_str()]));
    assert!(!done(&mut pack("sha256:1")).status.success(), "no digest");
}

#[test]
fn all_that_is_linked_is_listed_with_its_licence() {
    let folder = tempfile::tempdir().unwrap();
    let inventory = || {
        succeeded(Command::new(env!("CARGO_BIN_EXE_inventory")).arg(folder.path()));
        ["sbom.cdx.json", "THIRD-PARTY.txt"].map(|name| fs::read_to_string(folder.path().join(name)).unwrap())
    };
    let [sbom, notices] = inventory();
    assert_eq!([sbom.clone(), notices.clone()], inventory(), "twice the same");
    let sbom: Value = serde_json::from_str(&sbom).unwrap();
    assert_eq!((sbom["bomFormat"].as_str(), sbom["specVersion"].as_str()), (Some("CycloneDX"), Some("1.6")));
    assert_eq!(
        sbom["metadata"]["component"]["purl"],
        format!("pkg:cargo/haptic@{}", env!("CARGO_PKG_VERSION"))
    );
    let components = sbom["components"].as_array().unwrap();
    let names: BTreeSet<&str> = components.iter().map(|c| c["name"].as_str().unwrap()).collect();
    for linked in
        ["actix", "haptic-render", "handlebars", "kube-client", "ring", "rustls", "tikv-jemalloc-sys"]
    {
        assert!(names.contains(linked), "{linked} is linked");
    }
    for not_linked in ["cargo_metadata", "clap_derive", "proptest", "integration-tests"] {
        assert!(!names.contains(not_linked), "{not_linked} is not linked");
    }
    let known: BTreeSet<&str> = components.iter().map(|c| c["bom-ref"].as_str().unwrap()).collect();
    assert_eq!(known.len(), components.len(), "each once");
    for component in components.iter().filter(|c| !c["name"].as_str().unwrap().starts_with("haptic")) {
        assert_eq!(component["hashes"][0]["content"].as_str().map(str::len), Some(64), "{component}");
        let line =
            format!("\n{} {}: ", component["name"].as_str().unwrap(), component["version"].as_str().unwrap());
        assert!(notices.contains(&line), "THIRD-PARTY.txt has no{line}");
    }
    for dependency in sbom["dependencies"].as_array().unwrap() {
        let needed = dependency["dependsOn"].as_array().unwrap();
        assert!(needed.iter().all(|name| known.contains(name.as_str().unwrap())), "{dependency}");
    }
    assert!(notices.contains("kube-client 4"), "a crate that brings no text has that of its licence");
    assert!(notices.len() > 100_000, "{} bytes", notices.len());
}
