//! What the Data Plane API answers, call by call (`fixtures/dataplaneapi/answers.txt`): its double, or with
//! `HAPTIC_TEST_DATAPLANEAPI` the real one, so that whatever else it does is one more line there.

use integration_tests::{
    Failure, Outcome, Scene, certificate, ensure, eventually, haproxy_pod::HaproxyPod, http::Response,
    program::HaproxySeries,
};
use serde_json::{Value, json};
use std::fs;

const RECORDED: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/dataplaneapi/answers.txt"));
/// What HAProxy refuses.
const WRONG: &str = "defaults d\n  mode http\n\nbackend b from d\n  nonsense\n";
const BELOW: &str = "/v3/services/haproxy/";

/// One call, and what it was seen to be answered.
struct Exchange {
    versions: &'static str,
    method: &'static str,
    path: &'static str,
    body: &'static str,
    status: u16,
    answer: &'static str,
}

/// What the table has words for.
struct Texts {
    config: String,
    pem: String,
    mismatch: String,
    ed25519: String,
    list: String,
}

pub async fn as_recorded(scene: Scene, series: HaproxySeries) -> Outcome {
    let mut pod = scene.through_data_plane_api().pod_of(series).await?;
    let certificate = certificate::for_host("listed.example")?;
    let pem = format!("{}{}", certificate.pem, certificate.key);
    let ed25519 = certificate::with_ed25519("listed.example")?;
    let mismatch = format!("{}{}", certificate.pem, certificate::for_host("listed.example")?.key);
    let ed25519 = format!("{}{}", ed25519.pem, ed25519.key);
    let config = prepare(&mut pod, &pem).await?;
    let version = if series == HaproxySeries::V3_0 { "3.0" } else { "3.4" };
    let list = list(&mut pod).await?;
    if std::env::var_os("HAPTIC_TEST_DATAPLANEAPI").is_none() {
        // A reload between two calls that were recorded without one meets a key that does not fit.
        pod.sidecar()?.fault(&json!({ "heldReloads": true })).await?;
    }
    let texts = Texts { config, pem, mismatch, ed25519, list };
    let mut wrong = Vec::new();
    for line in RECORDED.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let exchange = Exchange::read(line).ok_or_else(|| Failure::new(format!("no exchange: {line}")))?;
        if !["all", version].contains(&exchange.versions) {
            continue;
        }
        let answer = exchange.ask(&mut pod, &texts).await?;
        if !exchange.is_answered_by(&answer)? {
            wrong.push(format!("{line}\n    is answered {} {}", answer.status, answer.body));
        }
    }
    ensure(wrong.is_empty(), format!("{} of other answers:\n{}", wrong.len(), wrong.join("\n")))
}

/// A HAProxy that runs what the table says.
async fn prepare(pod: &mut HaproxyPod, pem: &str) -> Outcome<String> {
    let (folder, mounted) = (pod.folder(), pod.sidecar()?.mounted());
    let files = [
        ("maps/m.map", "# empty\n"),
        ("maps/one.map", "key value\n"),
        ("general/list.acl", "known\n"),
        ("general/certificates.txt", &format!("{mounted}/ssl/listed.pem\n")),
        ("ssl/listed.pem", pem),
        ("ssl/unread.pem", pem),
    ];
    for (file, content) in files {
        fs::write(folder.join(file), content)?;
    }
    let address = pod.http().ip();
    let config = format!(
        "global\n  maxconn 100\n\ndefaults d\n  mode http\n  timeout connect 5s\n  timeout client 5s\n  timeout server 5s\n\n\
         frontend f from d\n  bind {address}:7080\n  bind {address}:7443 ssl crt-list {mounted}/general/certificates.txt\n  \
         http-request deny deny_status 403 if {{ req.hdr(a) -f {mounted}/general/list.acl }}\n  \
         http-request set-header B %[path,map({mounted}/maps/m.map)]%[path,map({mounted}/maps/one.map)]\n  \
         default_backend b\n\nbackend b from d\n  server s1 127.0.0.1:9001\n  server s2 127.0.0.1:9002 disabled\n"
    );
    pod.sidecar()?.push(&config).await?;
    eventually("HAProxy runs it", async || {
        let servers = pod.runtime("show servers state b").await?;
        ensure(servers.contains("s2"), servers)
    })
    .await?;
    Ok(config)
}

/// The number of the list of patterns.
async fn list(pod: &mut HaproxyPod) -> Outcome<String> {
    let answer = pod.sidecar()?.ask(("GET", &format!("{BELOW}runtime/acls")), "", "").await?;
    let lists: Value = serde_json::from_str(&answer.body)?;
    let is_it = |list: &&Value| list["storage_name"].as_str().is_some_and(|name| name.ends_with("list.acl"));
    let id = lists.as_array().into_iter().flatten().find(is_it).and_then(|list| list["id"].as_str());
    id.map(str::to_owned).ok_or_else(|| Failure::new(format!("no list: {lists}")))
}

impl Exchange {
    fn read(line: &'static str) -> Option<Self> {
        let (call, answer) = line.split_once(" => ")?;
        let (versions, call) = call.split_once(' ')?;
        let (method, call) = call.trim_start().split_once(' ')?;
        let (path, body) = match method {
            "ACT" => ("", call.trim_start()),
            _ => call.trim_start().split_once(' ').unwrap_or((call.trim_start(), "")),
        };
        let (status, answer) = answer.split_once(' ').unwrap_or((answer, ""));
        Some(Self { versions, method, path, body, status: status.parse().ok()?, answer })
    }

    async fn ask(&self, pod: &mut HaproxyPod, texts: &Texts) -> Outcome<Response> {
        let path = format!("{BELOW}{}", self.path.replace("LIST", &texts.list));
        let api = pod.sidecar()?;
        let (json, text) = ("Content-Type: application/json\r\n", "Content-Type: text/plain\r\n");
        let version = api.ask(("GET", &format!("{BELOW}configuration/version")), "", "").await?.body;
        let raw =
            |query: &str| format!("{BELOW}configuration/raw?{}", query.replace("VERSION", version.trim()));
        match (self.method, self.body) {
            ("ACT", actions) => {
                let head = format!("{text}X-Runtime-Actions: {actions}\r\n");
                api.ask(("POST", &raw("version=VERSION&skip_reload=true")), &head, &texts.config).await
            }
            ("RAW", body) => api.ask(("POST", &raw(self.path)), text, texts.text(body)).await,
            ("FORM", file) => {
                let (head, body) = form(&serde_json::from_str(file)?, texts);
                api.ask(("POST", &path), &head, &body).await
            }
            ("TEXT", body) => api.ask(("PUT", &path), text, texts.text(body)).await,
            (method, "") => api.ask((method, &path), "", "").await,
            (method, "PEM") => api.ask((method, &path), text, &texts.pem).await,
            (method, body) => api.ask((method, &path), json, body).await,
        }
    }

    fn is_answered_by(&self, answer: &Response) -> Outcome<bool> {
        let is_it = match self.answer {
            "" => true,
            "-" => answer.body.trim().is_empty(),
            "reload" => answer.header("reload-id").is_some(),
            words if words.starts_with('"') => {
                let mut rest = Some(answer.body.as_str());
                for part in words.trim_matches('"').split('…') {
                    rest = rest.and_then(|rest| rest.split_once(part)).map(|(_, rest)| rest);
                }
                rest.is_some()
            }
            json => {
                has(&serde_json::from_str(&answer.body).unwrap_or_default(), &serde_json::from_str(json)?)
            }
        };
        Ok(is_it && answer.status == self.status)
    }
}

impl Texts {
    /// What a word of the table stands for.
    fn text<'t>(&'t self, word: &'t str) -> &'t str {
        match word {
            "" => &self.config,
            "PEM" => &self.pem,
            "MISMATCH" => &self.mismatch,
            "ED25519" => &self.ed25519,
            "WRONG" => WRONG,
            "ONE-LINE" => "global",
            "EMPTY" => "",
            text => text,
        }
    }
}

/// A file as a form has it: the lines of the request's head, and its body.
fn form(file: &Value, texts: &Texts) -> (String, String) {
    const BOUNDARY: &str = "----b0000000000000000";
    let field = |name: &str| file[name].as_str().unwrap_or_default();
    let (name, content) = (field("name"), texts.text(field("content")));
    let part = format!("Content-Disposition: form-data; name=\"file_upload\"; filename=\"{name}\"");
    (
        format!("Content-Type: multipart/form-data; boundary={BOUNDARY}\r\n"),
        format!(
            "--{BOUNDARY}\r\n{part}\r\nContent-Type: application/octet-stream\r\n\r\n{content}\r\n--{BOUNDARY}--\r\n"
        ),
    )
}

/// Whether `answer` has all that `wanted` has. Lists have as many elements, in any order.
fn has(answer: &Value, wanted: &Value) -> bool {
    match (answer, wanted) {
        (Value::Object(answer), Value::Object(wanted)) => {
            wanted.iter().all(|(field, wanted)| answer.get(field).is_some_and(|answer| has(answer, wanted)))
        }
        (Value::Array(answer), Value::Array(wanted)) => {
            let mut left: Vec<&Value> = answer.iter().collect();
            let mut takes = |wanted: &Value| {
                let found = left.iter().position(|answer| has(answer, wanted));
                found.map(|at| left.swap_remove(at)).is_some()
            };
            answer.len() == wanted.len() && wanted.iter().all(&mut takes)
        }
        _ => answer == wanted,
    }
}
