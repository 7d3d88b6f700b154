//! Every block of code in the documentation is what it claims to be: a file of this project word for word, or something
//! that HAPTIC, HAProxy or helm takes.
//!
//! The comment in the line before a block names the file. Without one, what is in it says what it is: a configuration, a
//! part of one (`spec:` alone), a part of an Ingress (`metadata:` alone), objects for the built-in libraries, or values of the chart.

use futures::{StreamExt, stream};
use integration_tests::markdown::{Block, blocks, documents, read};
use integration_tests::{
    Failure, Outcome, chart, cookbook, ensure, process, program, program::HaproxySeries,
};
use serde_json::{Value, json};
use std::{fs, path::Path};
use tokio::process::Command;

/// Pages whose blocks are not ours to check: made by tests of their own.
const ELSEWHERE: [&str; 2] = ["docs/reference/functions.md", "docs/reference/commands.md"];

/// Languages that nothing is asked of: what programs print, and pictures of text.
const SHOWN: [&str; 3] = ["text", "diff", "console"];

/// So many programs run at a time.
const AT_ONCE: usize = 4;

/// A class for Ingresses in examples, as the chart makes it.
const CLASS: &str = "apiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: haptic}\n\
                     spec: {controller: haproxy-haptic.org/ingress-controller}\n";

/// What a part of haproxy.cfg needs around it.
const FRAME: &str = "\
defaults frame
    mode http
    timeout connect 5s
    timeout client 30s
    timeout server 30s
frontend empty
    bind 127.0.0.1:7080
";

#[tokio::test]
async fn every_block_is_what_it_claims_to_be() {
    let documents = documents().into_iter().map(|document| document.display().to_string());
    let all: Vec<(String, Block)> = documents
        .filter(|name| !ELSEWHERE.contains(&name.as_str()))
        .flat_map(|name| blocks(&read(&name)).into_iter().map(move |block| (name.clone(), block)))
        .collect();
    assert!(all.len() > 20, "only {} blocks", all.len());
    let checks = all.iter().map(async |(name, block)| {
        check(block).await.err().map(|why| format!("{name}: {why}\n{}", block.text))
    });
    let problems: Vec<Option<String>> = stream::iter(checks).buffered(AT_ONCE).collect().await;
    let problems: Vec<String> = problems.into_iter().flatten().collect();
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
}

async fn check(block: &Block) -> Outcome {
    let file = block.comment.as_ref().filter(|_| block.language != "console");
    if let Some(file) = file {
        return ensure(block.text == read(file), format!("{file} has another text"));
    }
    match block.language.as_str() {
        "yaml" => yaml(&block.text).await,
        "haproxy" => haproxy(&block.text).await,
        "handlebars" => template(&block.text),
        shown if SHOWN.contains(&shown) => Ok(()),
        other => Err(Failure::new(format!("nothing checks blocks of the language {other:?}"))),
    }
}

async fn yaml(text: &str) -> Outcome {
    let documents: Vec<Value> = serde_saphyr::from_multiple(text)?;
    let folder = tempfile::tempdir()?;
    match documents.as_slice() {
        [configuration] if configuration["kind"] == "HAProxyTemplateConfig" => {
            validate(configuration, folder.path()).await
        }
        [part] if part["kind"].is_null() && part["spec"].is_object() => {
            let frame: Value = serde_saphyr::from_str(&read("fixtures/ingress/config.yaml"))?;
            validate(&chart::merged(frame, part), folder.path()).await
        }
        [part] if part["kind"].is_null() && part["metadata"].is_object() => {
            render(&cookbook::ingress_with(part).to_string(), folder.path()).await
        }
        [values] if values["kind"].is_null() => {
            let values = chart::merged(json!({ "credentials": { "existingSecret": "given" } }), values);
            chart::Release::rendered("haptic", "edge", folder.path()).render(&values).await.map(drop)
        }
        _ => render(text, folder.path()).await,
    }
}

async fn validate(configuration: &Value, folder: &Path) -> Outcome {
    let file = folder.join("config.yaml");
    fs::write(&file, configuration.to_string())?;
    let mut haptic = Command::new(program::haptic()?);
    haptic.arg("validate").arg("-f").arg(file).arg("--haproxy").arg(program::haproxy(HaproxySeries::V3_4)?);
    process::output(&mut haptic).await.map(drop)
}

/// What the libraries make of these objects and the Services that they lead to, without a warning.
async fn render(objects: &str, folder: &Path) -> Outcome {
    let manifests = folder.join("manifests");
    fs::create_dir(&manifests)?;
    fs::write(manifests.join("objects.yaml"), objects)?;
    let services: Vec<String> = services_of(objects)?.iter().map(Value::to_string).collect();
    fs::write(manifests.join("services.yaml"), services.join("\n---\n"))?;
    if !objects.contains("kind: IngressClass") {
        fs::write(manifests.join("class.yaml"), CLASS)?;
    }
    // What a configuration watches, or allows, only if it says so is shown beside its page's objects.
    let asked = json!({ "spec": {
        "watchedResources": { "classparameters": { "apiVersion": "v1", "resources": "configmaps" } },
        "templatingSettings": { "extraContext": { "passthrough": true, "tcpPorts": [5432] } },
    } });
    let frame: Value = serde_saphyr::from_str(&read("fixtures/ingress/config.yaml"))?;
    let configuration = folder.join("config.yaml");
    fs::write(&configuration, chart::merged(frame, &asked).to_string())?;
    let mut haptic = Command::new(program::haptic()?);
    haptic.arg("render").arg("-f").arg(configuration);
    haptic.arg("--resources").arg(manifests).arg("--out").arg(folder.join("out"));
    let output = haptic.output().await?;
    let said = String::from_utf8_lossy(&output.stderr);
    // Objects of other kinds stand beside those that are meant. Pages show what the class overrides. The default certificate is what some pages show, and no page shows
    // the key of another one.
    let is_meant = |line: &str| {
        line.starts_with("haptic: ignored:")
            || line.starts_with("warning: spec.tls names no Secret for")
            || line.contains(" does not count as it is written: the class enforces something else")
            || (line.starts_with("warning: there is no Secret ")
                && line.contains(" of type kubernetes.io/tls"))
    };
    let said: Vec<&str> = said.lines().filter(|line| !is_meant(line)).collect();
    ensure(output.status.success() && said.is_empty(), said.join("\n"))
}

/// The Services that Ingresses lead to and that are not among the objects.
fn services_of(objects: &str) -> Outcome<Vec<Value>> {
    let objects: Vec<Value> = serde_saphyr::from_multiple(objects)?;
    let named =
        |object: &Value| (object["metadata"]["namespace"].clone(), object["metadata"]["name"].clone());
    let has = |service: &Value| {
        objects.iter().any(|object| object["kind"] == "Service" && named(object) == named(service))
    };
    let mut services: Vec<Value> = Vec::new();
    for ingress in objects.iter().filter(|object| object["kind"] == "Ingress") {
        let rules = ingress["spec"]["rules"].as_array().into_iter().flatten();
        let paths = rules.flat_map(|rule| rule["http"]["paths"].as_array().into_iter().flatten());
        let backends = paths.map(|path| &path["backend"]).chain([&ingress["spec"]["defaultBackend"]]);
        let backends =
            backends.map(|backend| backend["service"].clone()).chain(named_by_annotations(ingress));
        for backend in backends.filter(Value::is_object) {
            let port = match &backend["port"] {
                named if named["name"].is_string() => json!({ "name": named["name"], "port": 80 }),
                numbered => json!({ "port": numbered["number"] }),
            };
            let metadata = json!({ "namespace": ingress["metadata"]["namespace"], "name": backend["name"] });
            let spec = json!({ "clusterIP": "10.96.0.9", "ports": [port] });
            let service =
                json!({ "apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec });
            match services.iter_mut().find(|known| named(known) == named(&service)) {
                Some(known) => {
                    known["spec"]["ports"].as_array_mut().into_iter().for_each(|all| all.push(port.clone()))
                }
                None if !has(&service) => services.push(service),
                None => {}
            }
        }
    }
    Ok(services)
}

/// What annotations lead to beside paths: `NAME:PORT`, also with a weight, or `http://NAME:PORT/…`.
fn named_by_annotations(ingress: &Value) -> Vec<Value> {
    let annotation = |option: &str| {
        ingress["metadata"]["annotations"][format!("haproxy-haptic.org/{option}")]
            .as_str()
            .unwrap_or_default()
    };
    let url = annotation("auth-url").strip_prefix("http://").and_then(|rest| rest.split('/').next());
    // One of another namespace is among the objects.
    let url = url.filter(|authority| !authority.contains('.'));
    let weights = annotation("weights").split(',').filter_map(|one| one.trim().split('=').next());
    let named = ["canary-service", "default-service", "error-service", "mirror-service"].map(annotation);
    let all = weights.chain(named).chain(url);
    let backend = |one: &str| {
        let (name, port) = one.rsplit_once(':')?;
        Some(json!({ "name": name, "port": { "number": port.parse::<u16>().ok()? } }))
    };
    all.filter_map(backend).collect()
}

/// A whole haproxy.cfg, sections of one, or lines of a backend.
async fn haproxy(text: &str) -> Outcome {
    let begins = |words: &[&str]| text.lines().any(|line| words.iter().any(|word| line.starts_with(word)));
    let whole = if begins(&["global", "defaults"]) {
        text.to_owned()
    } else if begins(&["frontend ", "backend ", "listen "]) {
        format!("{FRAME}{text}")
    } else {
        let lines: String = text.lines().map(|line| format!("    {line}\n")).collect();
        format!("{FRAME}backend part\n{lines}")
    };
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("haproxy.cfg");
    fs::write(&file, whole)?;
    let mut haproxy = Command::new(program::haproxy(HaproxySeries::V3_4)?);
    process::output(haproxy.args(["-c", "-f"]).arg(file)).await.map(drop)
}

/// Template lines are those of a configuration that is tested.
fn template(text: &str) -> Outcome {
    let tested = read("fixtures/first/config.yaml") + &read("fixtures/by-hand/config.yaml");
    let strange = text.lines().find(|line| tested.lines().all(|known| known.trim() != *line));
    strange.map_or(Ok(()), |line| Err(Failure::new(format!("no fixture has the line {line}"))))
}

#[tokio::test]
async fn what_is_wrong_is_found() {
    let block =
        |language: &str, text: &str| Block { language: language.into(), comment: None, text: text.into() };
    let ingress = "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: a\n  namespace: a\n  annotations: {haproxy-haptic.org/nope: \"1\"}\nspec: {ingressClassName: haptic}\n";
    for wrong in [
        block("yaml", "spec:\n  logging: {level: LOUD}\n"),
        block("yaml", "haproxy: {replica: 3}\n"),
        block("yaml", ingress),
        block("haproxy", "balanse roundrobin\n"),
        block("handlebars", "{{nope}}\n"),
        block("python", "print()\n"),
    ] {
        assert!(check(&wrong).await.is_err(), "{}", wrong.text);
    }
    assert!(check(&block("yaml", &ingress.replace("nope", "hsts-max-age"))).await.is_ok());
    assert!(check(&block("haproxy", "balance roundrobin\n")).await.is_ok());
}
