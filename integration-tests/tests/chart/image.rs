//! The container image, as its Dockerfile was executed by `parts/image/build`: its programs start in it, and in it alone.

use integration_tests::{Outcome, chart, ensure, process, program};
use std::path::{Path, PathBuf};
use tokio::process::Command;

/// Lays $2 over the image's program and $3 over its /tmp/fixtures, and runs the rest in the image $1, with what ENV says.
const IN_IMAGE: &str = r#"
set -eu
image=$1; mount --bind "$2" "$image/usr/local/bin/haptic"; mount --rbind /dev "$image/dev"; mount --rbind /proc "$image/proc"
mount -t tmpfs tmpfs "$image/tmp"; mkdir "$image/tmp/fixtures"; mount --rbind "$3" "$image/tmp/fixtures"
shift 3
exec chroot "$image" env -i PATH=/usr/local/bin:/usr/bin:/bin $(cat "$ENVIRONMENT") "$@"
"#;

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// What `command` prints in the image.
async fn in_image(command: &[&str]) -> Outcome<String> {
    let dir = tempfile::tempdir()?;
    let environment = dir.path().join("environment");
    let variables = integration_tests::container::image_environment()?;
    std::fs::write(
        &environment,
        variables.iter().map(|(name, value)| format!("{name}={value} ")).collect::<String>(),
    )?;
    let mut unshare = Command::new("unshare");
    if !is_root() {
        unshare.arg("--map-root-user");
    }
    unshare.args(["--mount", "--propagation", "private", "sh", "-c", IN_IMAGE, "in-image"]);
    unshare.arg(program::image()?).arg(program::haptic()?).arg(project().join("fixtures"));
    process::output(unshare.args(command).env("ENVIRONMENT", environment)).await
}

fn is_root() -> bool {
    std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap()) == 0
}

#[tokio::test]
async fn each_haproxy_of_the_chart_is_in_the_image_and_starts() -> Outcome {
    let schema = std::fs::read_to_string(chart::folder().join("values.schema.json"))?;
    let schema: serde_json::Value = serde_json::from_str(&schema)?;
    let versions =
        schema["properties"]["haproxy"]["properties"]["version"]["enum"].as_array().unwrap().clone();
    ensure(versions.len() == 3, format!("{versions:?}"))?;
    for version in versions {
        let version = version.as_str().unwrap();
        let said = in_image(&[&format!("/opt/haproxy-{version}/haproxy"), "-v"]).await?;
        ensure(said.starts_with(&format!("HAProxy version {version}.")), said)?;
        let licence = program::image()?.join(format!("opt/haproxy-{version}/licences/haproxy"));
        ensure(licence.is_file(), format!("there is no {}", licence.display()))?;
    }
    Ok(())
}

/// `auth-url` and BackendTLSPolicy may ask for servers whose certificates are of authorities that everybody knows.
#[tokio::test]
async fn each_haproxy_finds_public_authorities_in_the_image() -> Outcome {
    let config = "listen l\n    mode http\n    bind 127.0.0.1:80\n    timeout client 1s\n    timeout connect 1s\n    timeout server 1s\n    \
                  server s 192.0.2.1:443 ssl verify required ca-file @system-ca\n";
    let check = "printf %s \"$1\" >/tmp/c.cfg; for haproxy in /opt/haproxy-*/haproxy; do \"$haproxy\" -c -f /tmp/c.cfg; done";
    in_image(&["/bin/sh", "-euc", check, "check", config]).await?;
    let known = std::fs::read_to_string(program::image()?.join("usr/lib/ssl/certs/ca-certificates.crt"))?;
    let count = known.matches("BEGIN CERTIFICATE").count();
    ensure(count > 50, format!("only {count} authorities are known"))
}

#[tokio::test]
async fn the_program_starts_in_the_image_and_finds_its_checkers() -> Outcome {
    let validated =
        in_image(&["/usr/local/bin/haptic", "validate", "-f", "/tmp/fixtures/ingress/config.yaml"]).await;
    match validated {
        Ok(said) => ensure(said.contains("valid"), said),
        // The image builds the program itself. One that was built here for a newer C library than the image's cannot tell.
        Err(other) if other.sentence().contains("GLIBC_") => Ok(()),
        Err(failure) => Err(failure),
    }
}
