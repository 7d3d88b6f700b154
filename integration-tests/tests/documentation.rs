//! What the documentation says is run: its commands, its configuration, its links.
//!
//! A command of `haptic` is run here as it is written. Any other command must be in [`RUN_ELSEWHERE`], which names what runs it.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "all of this is a test")]

use integration_tests::{Outcome, ensure, eventually, http, process, program};
use std::{
    fs,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    process::Command,
};

/// Commands that this test does not run as they are written, and who does.
const RUN_ELSEWHERE: &[(&str, &str)] = &[
    ("make", "the Makefile's default target; `every_make_target_exists` knows it"),
    ("make demo", "the demo itself: it ends with 0 only when every step showed what it promises"),
    ("kubectl get events --field-selector reason=Quarantined", "journeys `quarantine_*` read these Events"),
    (
        "kubectl get haptpl first -n edge -o jsonpath='{.status.conditions[?(@.type==\"Quarantined\")].message}'",
        "journeys `quarantine_*` read this condition",
    ),
    ("make local", "the demo with --stay"),
    ("make build", "target of demo, local and bench"),
    ("make test", "CI"),
    ("make bench", "the benchmark"),
    ("export PATH=\"$PWD/target/release:$PATH\"", "the shell; `program::haptic` stands for it here"),
    ("haptic local -f config.yaml --resources manifests", "`the_first_configuration_serves`, on free ports"),
    (
        "curl -i -H 'Host: hello.localhost' http://127.0.0.1:7080/",
        "`the_first_configuration_serves`, the same request",
    ),
    (
        "haptic crd | kubectl apply -f -",
        "every journey; the first half also here, by `definitions_are_printed`",
    ),
    (
        "docker build -t haptic:0.1.0 .",
        "`parts/image/build` executes the Dockerfile, tests `chart::image` start what is in it",
    ),
    ("helm install haptic charts/haptic --namespace edge --create-namespace", "journey `chart_install`"),
    (
        "kubectl wait haptpl haptic -n edge --for=condition=Ready --timeout=2m",
        "journey `chart_install` waits for the same",
    ),
    (
        "kubectl create ingress hello --class=haptic --rule=\"hello.example.com/*=hello:80\"",
        "journey `chart_install` makes such an Ingress",
    ),
    ("helm test haptic --namespace edge", "journey `chart_install` runs the container of its pod"),
    ("kubectl get ingress hello", "journey `chart_install` reads the address from its status"),
    ("curl -H 'Host: hello.example.com' http://ADDRESS/", "journey `chart_install`, on HAProxy's own port"),
    (
        "kubectl apply --server-side --force-conflicts -f charts/haptic/crds",
        "journey `chart_install` applies the definitions once more",
    ),
    (
        "helm upgrade haptic charts/haptic --namespace edge --reset-then-reuse-values --set haproxy.replicas=3",
        "journey `chart_install` upgrades",
    ),
    ("helm uninstall haptic --namespace edge", "journey `chart_install`"),
    ("kubectl create namespace edge", "every journey makes its namespace"),
    (
        "kubectl create secret generic haproxy-credentials -n edge --from-literal=dataplane_username=haptic --from-literal=dataplane_password=\"$(openssl rand -hex 16)\"",
        "every journey makes this Secret",
    ),
    ("kubectl apply -n edge -f config.yaml", "every journey applies a configuration"),
    ("kubectl get haptpl -n edge", "journey `leader_status` reads the same fields"),
    ("kubectl describe haptpl first -n edge", "journeys `leader_status` and `leader_events` read the same"),
    ("kubectl wait haptpl first -n edge --for=condition=Ready", "journey `leader_status` waits for the same"),
    (
        "haptic plan --name first --namespace edge --kubeconfig ~/.kube/config",
        "the journey `plan_tells_before_it_happens`",
    ),
    (
        "haptic run --name first --namespace edge --kubeconfig ~/.kube/config",
        "every journey, by `Controller::start`",
    ),
];

/// A fenced block: its language, and what the comment in the line before it says.
#[derive(Debug, PartialEq, Eq)]
struct Block {
    language: String,
    comment: Option<String>,
    text: String,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// Every Markdown file of the project.
fn documents() -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![root().to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() && name != "target" && !name.starts_with('.') {
                folders.push(path);
            } else if name.ends_with(".md") {
                found.push(path);
            }
        }
    }
    found
}

fn blocks(markdown: &str) -> Vec<Block> {
    let (mut blocks, mut open, mut before) = (Vec::new(), None::<Block>, "");
    for line in markdown.lines() {
        match (line.strip_prefix("```"), open.take()) {
            (Some(_), Some(block)) => blocks.push(block),
            (Some(language), None) => {
                let comment = before.strip_prefix("<!-- ").and_then(|c| c.strip_suffix(" -->"));
                open = Some(Block {
                    language: language.into(),
                    comment: comment.map(str::to_owned),
                    text: String::new(),
                });
            }
            (None, Some(mut block)) => {
                block.text.push_str(line);
                block.text.push('\n');
                open = Some(block);
            }
            (None, None) => {}
        }
        before = line;
    }
    assert!(open.is_none(), "a fence is not closed");
    blocks
}

/// Commands, each with the output that is shown below it.
fn commands(markdown: &str) -> Vec<(String, String)> {
    let mut commands: Vec<(String, String)> = Vec::new();
    for block in blocks(markdown).iter().filter(|b| ["console", "sh"].contains(&b.language.as_str())) {
        for line in block.text.lines() {
            match (line.strip_prefix("$ "), commands.last_mut()) {
                (Some(command), _) => commands.push((command.to_owned(), String::new())),
                (None, Some((_, output))) => *output += &format!("{line}\n"),
                (None, None) => panic!("{line:?} is neither a command (`$ …`) nor the output of one"),
            }
        }
    }
    commands
}

/// Targets of links outside fences and code spans.
fn links(markdown: &str) -> Vec<String> {
    let (mut links, mut fenced) = (Vec::new(), false);
    for line in markdown.lines() {
        fenced ^= line.starts_with("```");
        if fenced {
            continue;
        }
        let prose: String = line.split('`').step_by(2).collect();
        links.extend(prose.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0.to_owned())));
    }
    links
}

/// As GitHub makes them.
fn anchors(markdown: &str) -> Vec<String> {
    let headings = markdown.lines().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| {
        let kept = heading.trim_start_matches('#').trim().to_lowercase();
        kept.chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
            .collect::<String>()
            .replace(' ', "-")
    };
    headings.map(anchor).collect()
}

/// A folder as the README tells a new user to prepare it.
fn prepared() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("manifests")).unwrap();
    for file in ["config.yaml", "manifests/hello.yaml"] {
        fs::copy(root().join("fixtures/first").join(file), folder.path().join(file)).unwrap();
    }
    folder
}

fn haptic(words: &str, folder: &Path) -> Command {
    let mut command = Command::new(program::haptic().unwrap());
    command.args(words.split_whitespace()).current_dir(folder);
    command
}

#[tokio::test]
async fn every_command_is_run_here_or_elsewhere() {
    let folder = prepared();
    let mut ran = 0;
    for document in ["README.md", "ARCHITECTURE.md"] {
        for (command, shown) in commands(&read(document)) {
            if RUN_ELSEWHERE.iter().any(|(known, _)| *known == command) {
                continue;
            }
            let words = command.strip_prefix("haptic ").unwrap_or_else(|| {
                panic!("{document}: nothing is known to run {command:?}: add it to RUN_ELSEWHERE, with what runs it")
            });
            let printed =
                process::output(&mut haptic(words, folder.path())).await.unwrap_or_else(|e| panic!("{e}"));
            assert!(
                shown.is_empty() || printed == shown,
                "{document}: {command} printed\n{printed}\nand not\n{shown}"
            );
            ran += 1;
        }
    }
    assert!(ran >= 3, "validate, render and functions are in the README");
    let known: Vec<String> =
        ["README.md", "ARCHITECTURE.md"].iter().flat_map(|d| commands(&read(d))).map(|c| c.0).collect();
    for (command, _) in RUN_ELSEWHERE {
        assert!(
            known.iter().any(|k| k == command),
            "RUN_ELSEWHERE has {command:?}, which is documented nowhere"
        );
    }
}

#[tokio::test]
async fn exit_codes_are_as_documented() {
    let folder = prepared();
    for (words, code) in [("version", 0), ("validate -f nowhere.yaml", 1), ("validate", 2), ("nonsense", 2)] {
        let status = haptic(words, folder.path()).output().await.unwrap().status;
        assert_eq!(status.code(), Some(code), "haptic {words}");
    }
}

#[tokio::test]
async fn definitions_are_printed() {
    let folder = prepared();
    let printed = process::output(&mut haptic("crd", folder.path())).await.unwrap_or_else(|e| panic!("{e}"));
    assert!(printed.contains("kind: CustomResourceDefinition"), "{printed}");
}

#[tokio::test]
async fn the_first_configuration_serves() {
    serve_first_configuration().await.unwrap_or_else(|e| panic!("{e}"));
}

/// `haptic local` as the README says, but on ports that nobody else uses; answers come from a server in here.
async fn serve_first_configuration() -> Outcome {
    let folder = prepared();
    let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port().await?));
    rewrite(&folder.path().join("config.yaml"), "bind *:7080", &format!("bind {address}"));
    rewrite(
        &folder.path().join("config.yaml"),
        "\nspec:\n",
        "\nspec:\n  controller: {healthzPort: 0, metricsPort: 0, debugPort: 0}\n",
    );
    rewrite(
        &folder.path().join("manifests/hello.yaml"),
        "ports: [{name: http, port: 8000}]",
        &format!("ports: [{{name: http, port: {}}}]", server.local_addr()?.port()),
    );
    let serving = tokio::spawn(serve(server));
    let command = haptic("local -f config.yaml --resources manifests", folder.path());
    let mut local = process::Process::start(command, &folder.path().join("log"))?;
    eventually("the first configuration serves hello.localhost", async || {
        local.ensure_running()?;
        http::get(address, "hello.localhost", "/").await?.is_from("hello")
    })
    .await?;
    let head = head_of(address, "www.hello.localhost").await?;
    ensure(head.contains("x-note: 100% yours\r\n"), format!("the answer was {head}"))?;
    http::get(address, "other.localhost", "/").await?.has_status(404)?;
    let code = local.terminate(Duration::from_secs(25)).await?;
    serving.abort();
    ensure(code == 0, format!("haptic local ended with {code}"))
}

async fn serve(server: TcpListener) {
    while let Ok((mut connection, _)) = server.accept().await {
        tokio::spawn(async move {
            let mut request = [0; 4096];
            while connection.read(&mut request).await.is_ok_and(|count| count > 0) {
                let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
                if connection.write_all(answer).await.is_err() {
                    return;
                }
            }
        });
    }
}

async fn head_of(address: SocketAddr, host: &str) -> Outcome<String> {
    let mut connection = tokio::net::TcpStream::connect(address).await?;
    connection
        .write_all(format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").as_bytes())
        .await?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await?;
    Ok(answer)
}

async fn free_port() -> Outcome<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?.local_addr()?.port())
}

fn rewrite(file: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(file).unwrap();
    assert!(text.contains(from), "{} has no {from:?}", file.display());
    fs::write(file, text.replacen(from, to, 1)).unwrap();
}

#[test]
fn every_yaml_block_is_a_fixture_word_for_word() {
    let readme = read("README.md");
    let yaml: Vec<Block> = blocks(&readme).into_iter().filter(|b| b.language == "yaml").collect();
    assert!(yaml.len() >= 4, "config, manifest, haproxy, rbac");
    for block in yaml {
        let fixture = block.comment.unwrap_or_else(|| panic!("which file is this?\n{}", block.text));
        assert_eq!(block.text, read(&fixture), "README.md shows another {fixture}");
    }
}

#[test]
fn every_template_line_is_of_a_fixture_that_is_tested() {
    let fixtures = read("fixtures/first/config.yaml") + &read("fixtures/by-hand/config.yaml");
    for block in blocks(&read("README.md")).iter().filter(|b| b.language == "handlebars") {
        for line in block.text.lines() {
            assert!(fixtures.lines().any(|known| known.trim() == line), "no fixture has the line {line}");
        }
    }
}

#[test]
fn the_demo_shown_is_the_demo() {
    let tour = read("integration-tests/src/bin/demo/tour.rs");
    let readme = read("README.md");
    let block = blocks(&readme).into_iter().find(|b| b.text.starts_with("HAPTIC demo")).unwrap();
    let steps: Vec<&str> =
        block.text.lines().filter_map(|l| l.strip_prefix("* ")?.rsplit_once(": ")).map(|s| s.0).collect();
    assert!(steps.len() >= 3, "{steps:?}");
    for step in steps {
        assert!(tour.contains(&format!("\"{step}\"")), "the demo has no step {step:?}");
    }
}

#[test]
fn every_make_target_exists() {
    let makefile = read("Makefile");
    for document in ["README.md", "ARCHITECTURE.md", "CHANGELOG.md"] {
        for word in
            read(document).split("make ").skip(1).filter_map(|rest| rest.split(['`', '\n', ' ']).next())
        {
            let names = word.bytes().all(|b| b.is_ascii_lowercase());
            // Prose says "make" too; only code spans and commands are looked at, and they end with ` or a line.
            if names && !word.is_empty() && read(document).contains(&format!("`make {word}`")) {
                assert!(makefile.contains(&format!("\n{word}:")), "{document}: there is no target {word}");
            }
        }
    }
}

#[test]
fn every_relative_link_leads_somewhere() {
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        for link in links(&text) {
            if link.contains("://") {
                continue;
            }
            let (path, anchor) = link.split_once('#').map_or((link.as_str(), None), |(p, a)| (p, Some(a)));
            let target =
                if path.is_empty() { document.clone() } else { document.parent().unwrap().join(path) };
            assert!(target.exists(), "{}: {link} does not exist", document.display());
            let there = fs::read_to_string(&target).unwrap_or_default();
            let known = anchor.is_none_or(|a| anchors(&there).iter().any(|known| known == a));
            assert!(known, "{}: {link} has no such heading", document.display());
        }
    }
}

#[test]
fn markdown_is_read() {
    let text = "# A b: c\n<!-- x.yaml -->\n```yaml\na: 1\n```\n[l](m.md) `[n](o)`\n```console\n$ one\ntwo\n$ three\n```\n";
    let block = Block { language: "yaml".into(), comment: Some("x.yaml".into()), text: "a: 1\n".into() };
    assert_eq!(blocks(text)[0], block);
    assert_eq!(commands(text), [("one".into(), "two\n".into()), ("three".into(), String::new())]);
    assert_eq!(links(text), ["m.md"]);
    assert_eq!(anchors(text), ["a-b-c"]);
}
