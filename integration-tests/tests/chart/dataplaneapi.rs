//! HAProxy pods with the Data Plane API: what prepares them is run here, on folders of this test.

use crate::{render, steady};
use integration_tests::{
    Outcome,
    chart::{merged, the},
    ensure, process,
    program::{self, HaproxySeries},
};
use serde_json::{Value, json};
use std::{fs, path::Path};
use tokio::process::Command;

/// What a careless script would take for something else than a password.
const PASSWORD: &str = "it's $HOME: `a` \"b\" # %s";

/// Writes the ConfigMap's files to `folder`/start, as they are with its folders below `folder`.
fn mount(files: &Value, folder: &Path) -> Outcome {
    fs::create_dir_all(folder.join("start"))?;
    fs::create_dir_all(folder.join("haproxy"))?;
    for (name, text) in files.as_object().into_iter().flatten() {
        let text = text.as_str().unwrap_or_default();
        let here = |path: &str| folder.join(path).display().to_string();
        let text = text.replace("/etc/haproxy", &here("haproxy")).replace("/start", &here("start"));
        fs::write(folder.join("start").join(name), text)?;
    }
    Ok(())
}

#[tokio::test]
async fn a_pod_is_prepared_whatever_the_password_is() -> Outcome {
    let values = json!({ "haproxy": { "transport": "dataplaneapi" } });
    let objects = render(&merged(steady(), &values)).await?;
    let configuration = the(&objects, "HAProxyTemplateConfig", "haptic")?;
    ensure(configuration["spec"]["dataplane"]["transport"] == "dataplaneapi", configuration.to_string())?;
    let dir = tempfile::tempdir()?;
    mount(&the(&objects, "ConfigMap", "-dataplaneapi")?["data"], dir.path())?;
    let prepare = async || {
        let mut script = Command::new("sh");
        script.arg(dir.path().join("start/prepare.sh"));
        script.env("HAPTIC_USERNAME", "haptic").env("HAPTIC_PASSWORD", PASSWORD);
        process::output(&mut script).await
    };
    prepare().await?;
    let settings = fs::read_to_string(dir.path().join("haproxy/dp/dataplaneapi.yaml"))?;
    let settings: Value = serde_saphyr::from_str(&settings)?;
    let expected = json!([{ "name": "haptic", "password": PASSWORD, "insecure": true }]);
    ensure(settings["dataplaneapi"]["user"] == expected, settings.to_string())?;
    let places = &settings["dataplaneapi"]["resources"];
    for place in ["maps_dir", "ssl_certs_dir", "general_storage_dir"] {
        let folder = places[place].as_str().unwrap_or_default();
        ensure(Path::new(folder).is_dir(), format!("there is no {place} {folder}"))?;
    }
    let file = dir.path().join("haproxy/haproxy.cfg");
    let mut check = Command::new(program::haproxy(HaproxySeries::V3_4)?);
    process::output(check.arg("-c").arg("-f").arg(&file)).await?;

    fs::write(&file, "# what the controller brought\n")?;
    prepare().await?;
    ensure(fs::read_to_string(&file)?.contains("brought"), "a restart takes HAProxy's configuration away")
}
