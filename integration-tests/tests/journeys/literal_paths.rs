//! Templates that name files by the folders in which pods usually keep them, as templates that were written elsewhere do.

use integration_tests::{
    Outcome, Scene,
    certificate::{self, Authority, Certificate},
    configuration::FRONTEND_PORTS,
    ensure, http, manifest,
};
use serde_json::{Value, json};

const HOST: &str = "shop.example";
const SECURE: &str = "secure.example";
const EXTRA: &str = "extra.example";

/// The configuration that is written by hand, with a literal path for each `file_path`.
fn with_literal_paths(mut manifest: Value) -> Value {
    let spec = &mut manifest["spec"];
    let folder = |field: &str, usual: &str| spec["dataplane"][field].as_str().unwrap_or(usual).to_owned();
    let folders = [
        ("map", folder("mapsDir", "/etc/haproxy/maps")),
        ("crt-list", folder("sslCertsDir", "/etc/haproxy/ssl")),
        ("file", folder("generalStorageDir", "/etc/haproxy/general")),
    ];
    let mut template = spec["haproxyConfig"]["template"].as_str().unwrap_or_default().to_owned();
    for (kind, folder) in folders {
        for name in
            ["host.map", "path-exact.map", "path-prefix.map", "certificates.txt", "404.http", "503.http"]
        {
            let called = format!("{{{{file_path \"{name}\" \"{kind}\"}}}}");
            template = template.replace(&called, &format!("{folder}/{name}"));
        }
    }
    // What HAProxy answers with and compares with, as well.
    let general = folder("generalStorageDir", "/etc/haproxy/general");
    spec["files"]["hello.txt"] = json!({ "template": "hello %[path]\n" });
    spec["files"]["secret.lst"] = json!({ "template": "/secret\n" });
    let rules = format!(
        "http-request deny deny_status 410 if {{ path -f {general}/secret.lst }}\n    \
         http-request return status 200 content-type text/plain lf-file {general}/hello.txt if {{ path /hello }}\n    \
         http-request set-var(txn.path) path\n"
    );
    template = template.replacen("http-request set-var(txn.path) path\n", &rules, 1);
    // A map may have the ending that maps have though its name has none.
    spec["maps"]["hosts"] = spec["maps"]["host.map"].take();
    if let Some(maps) = spec["maps"].as_object_mut() {
        maps.remove("host.map");
    }
    spec["haproxyConfig"]["template"] = json!(template.replace("/host.map)", "/hosts.map)"));
    manifest
}

/// `bind` with a certificate of its own, and with an authority for clients that show one.
fn with_certificate(manifest: &mut Value, extra: &Certificate, authority: &Authority) {
    let spec = &mut manifest["spec"];
    let folder = |field: &str, usual: &str| spec["dataplane"][field].as_str().unwrap_or(usual).to_owned();
    let (folder, general) =
        (folder("sslCertsDir", "/etc/haproxy/ssl"), folder("generalStorageDir", "/etc/haproxy/general"));
    spec["sslCertificates"]["extra"] = json!({ "template": format!("{}{}", extra.pem, extra.key) });
    spec["files"]["clients.pem"] = json!({ "template": authority.pem });
    let template = &mut spec["haproxyConfig"]["template"];
    let said = template.as_str().unwrap_or_default();
    let more =
        format!("strict-sni crt {folder}/extra.pem ca-file {general}/clients.pem verify optional crt-list");
    *template = json!(said.replacen("strict-sni crt-list", &more, 1));
}

/// What `global` says of the process counts for nobody but the agent, which says it otherwise.
fn of_another_process(manifest: &mut Value) {
    let template = &mut manifest["spec"]["haproxyConfig"]["template"];
    let said = template.as_str().unwrap_or_default();
    let process = "global\n    daemon\n    chroot /var/empty\n    user nobody\n    group nogroup\n";
    *template = json!(said.replacen("global\n", process, 1));
}

pub async fn lead_to_files_that_are_rendered(scene: Scene) -> Outcome {
    let mut configuration = with_literal_paths(scene.by_hand()?.manifest);
    let (extra, authority) = (certificate::for_host(EXTRA)?, Authority::new("clients")?);
    with_certificate(&mut configuration, &extra, &authority);
    let by_agent = configuration["spec"]["dataplane"]["transport"] != "dataplaneapi";
    if by_agent {
        of_another_process(&mut configuration);
    }
    let template = configuration["spec"]["haproxyConfig"]["template"].to_string();
    ensure(!template.contains("file_path"), format!("a path is not literal: {template}"))?;
    scene.configure_with(&configuration).await?;
    let [a, b] = [scene.backend("a").await?, scene.backend("b").await?];
    let certificate = certificate::for_host(SECURE)?;
    scene.publish("shop", HOST, &a).await?;
    scene.publish("secure", SECURE, &b).await?;
    scene.publish("extra", EXTRA, &b).await?;
    scene.apply(&manifest::tls_secret("secure", &certificate)).await?;
    scene.apply(&manifest::tls_ingress("secure", SECURE, "secure", "secure")).await?;
    let pod = scene.pod().await?;
    let mut controller = scene.controller()?;
    pod.serves(HOST, "a").await?;
    pod.serves_tls(SECURE, "b", &certificate.der).await?;
    pod.serves_tls(EXTRA, "b", &extra.der).await?;
    let hello = http::get((pod.address, FRONTEND_PORTS.0).into(), HOST, "/hello").await?;
    ensure(hello.body == "hello /hello\n", format!("the answer is {:?}", hello.body))?;
    http::get((pod.address, FRONTEND_PORTS.0).into(), HOST, "/secret").await?.has_status(410)?;
    let unknown = http::get((pod.address, FRONTEND_PORTS.0).into(), "unknown.example", "/").await?;
    unknown.has_status(404)?;
    ensure(unknown.body.contains("There is no route"), format!("the page is {:?}", unknown.body))?;
    controller.ready().await?;
    // A map that is named literally changes at run time like any other.
    scene.publish("late", "late.example", &b).await?;
    pod.serves("late.example", "b").await?;
    if by_agent {
        controller.says("'chroot' in global is ignored").await?;
    }
    Ok(())
}
