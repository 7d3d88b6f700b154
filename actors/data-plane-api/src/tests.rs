//! The calls against what the real API was recorded to be asked and to answer (`fixtures/dataplaneapi/recordings`, versions 3.4.0
//! and, where they differ, older ones): each must be asked as recorded, and understood.

use crate::client::{Api, ApiCapabilities, HaproxyAnswer, Push, ReloadState};
use crate::{
    PEER,
    error::ApiError,
    look,
    memory::{Files, PodMemory},
    responses::ResponseMeaning,
};
use haptic_deploy::{TransportError, transport::caller::Caller};
use haptic_model::{
    ActiveConfig, FileKind, HaproxyPod, HaproxyVersion, Layout, config::Credentials, operation::ServerState,
};
use haptic_text::{Digest, Sensitive};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    sync::{Arc, Mutex},
    time::Duration,
};

const CONFIG: &str = "global\n  maxconn 3\n";

/// The API, which is asked for exactly one recorded exchange; and what was asked otherwise.
struct Recorded {
    api: Api,
    wrong: Arc<Mutex<Vec<String>>>,
}

fn recorded(topic: &str, name: &str) -> Recorded {
    answering(exchange(topic, name))
}

fn exchange(topic: &str, name: &str) -> Value {
    let file = format!("{}/../../fixtures/dataplaneapi/recordings/{topic}.json", env!("CARGO_MANIFEST_DIR"));
    let topic: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let exchanges = topic["exchanges"].as_array().unwrap();
    let exchange = exchanges.iter().find(|exchange| exchange["name"] == name);
    exchange.unwrap_or_else(|| panic!("no exchange {name}")).clone()
}

fn answering(exchange: Value) -> Recorded {
    let wrong = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&wrong);
    let api = api(move |request| {
        noted.lock().unwrap().extend(differences(&exchange, request));
        exchange["response"].clone()
    });
    Recorded { api, wrong }
}

/// An API that gives these answers.
fn api(responds: impl Fn(&Request) -> Value + Send + 'static) -> Api {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        // The client may open a connection that it does not use.
        for connection in listener.incoming().flatten() {
            if let Some(request) = Request::read(&connection) {
                answer(&responds(&request), connection);
            }
        }
    });
    let spec = json!({ "credentialsSecretRef": {"name": "s"}, "podSelector": {"matchLabels": {"a": "b"}} });
    let config = ActiveConfig {
        credentials: vec![Credentials {
            username: "admin".to_owned(),
            password: Sensitive::new("adminpwd".to_owned()),
        }],
        ..ActiveConfig::of("c", "n", serde_json::from_value(spec).unwrap())
    };
    let pod = HaproxyPod::at("n", "p", address);
    let caller = Caller::new(PEER, &pod, &config).unwrap();
    Api { caller, limit: Duration::from_secs(20) }
}

impl Recorded {
    /// Everything was asked as recorded.
    fn is_as_recorded(&self) {
        assert_eq!(*self.wrong.lock().unwrap(), Vec::<String>::new());
    }
}

struct Request {
    method: String,
    path: String,
    query: String,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

impl Request {
    fn read(connection: &TcpStream) -> Option<Self> {
        let mut reader = BufReader::new(connection);
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let (method, rest) = line.split_once(' ').unwrap();
        let target = rest.split(' ').next().unwrap();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let (method, path, query) = (method.to_owned(), path.to_owned(), query.to_owned());
        let mut headers = BTreeMap::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            let Some((name, value)) = line.trim().split_once(": ") else { break };
            headers.insert(name.to_lowercase(), value.to_owned());
        }
        let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        Some(Self { method, path, query, headers, body })
    }

    fn header(&self, name: &str) -> &str {
        self.headers.get(&name.to_lowercase()).map_or("", String::as_str)
    }
}

/// What calls with awc need: tasks that stay on their thread.
fn on_one_thread(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, test);
}

fn differences(exchange: &Value, request: &Request) -> Vec<String> {
    let recorded = &exchange["request"];
    let mut found = Vec::new();
    let mut compare = |what: &str, is: &str, should: &str| {
        if is != should {
            found.push(format!("{what} is {is:?}, and was {should:?}"));
        }
    };
    compare("method", &request.method, recorded["method"].as_str().unwrap());
    compare("path", &request.path, recorded["path"].as_str().unwrap());
    let mut query: Vec<&str> = request.query.split('&').filter(|pair| !pair.is_empty()).collect();
    let mut wanted: Vec<String> = (recorded["query"].as_object().into_iter().flatten())
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap()))
        .collect();
    // Without it a deletion may reload; where nothing does, the recorded one was asked without.
    query.retain(|pair| *pair != "skip_reload=true" || wanted.iter().any(|want| want == pair));
    query.sort_unstable();
    wanted.sort();
    compare("query", &query.join("&"), &wanted.join("&"));
    let header = |name: &str| request.header(name);
    for (name, value) in recorded["headers"].as_object().into_iter().flatten() {
        let should = value.as_str().unwrap();
        match name.as_str() {
            "Authorization" => {}
            "Content-Type" if should.starts_with("multipart") => {
                compare(name, header(name).split(';').next().unwrap(), "multipart/form-data");
            }
            _ => compare(name, header(name), should),
        }
    }
    if header("Content-Type") == "application/json" {
        let is: Value = serde_json::from_slice(&request.body).unwrap();
        let should: Value = serde_json::from_str(recorded["body"].as_str().unwrap()).unwrap();
        compare("body", &is.to_string(), &should.to_string());
    }
    found
}

fn answer(response: &Value, mut connection: TcpStream) {
    let body = match &response["body"] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut head = format!("HTTP/1.1 {} Recorded\r\nConnection: close\r\n", response["status"]);
    for (name, value) in response["headers"].as_object().into_iter().flatten() {
        head.push_str(&format!("{name}: {}\r\n", value.as_str().unwrap()));
    }
    // An answer without content has no length either.
    let has_content = response["status"] != 204;
    if has_content {
        head.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    write!(connection, "{head}\r\n{}", if has_content { body.as_str() } else { "" }).unwrap();
}

#[test]
fn versions_and_haproxy_are_read() {
    on_one_thread(async {
        let info = recorded("info-version-auth", "info");
        assert_eq!(info.api.version().await, Ok(HaproxyVersion::new(3, 4)));
        let version = recorded("info-version-auth", "version");
        assert_eq!(version.api.configuration_version().await, Ok(1));
        let running = recorded("info-version-auth", "runtime-info");
        let HaproxyAnswer::Runs(haproxy) = running.api.haproxy().await.unwrap() else { panic!("it runs") };
        assert_eq!((haproxy.version, haproxy.pid), (HaproxyVersion::new(3, 4), 26985));
        let down = recorded("failure-modes", "down-runtime-info");
        let HaproxyAnswer::Unreached(cause) = down.api.haproxy().await.unwrap() else { panic!("it is down") };
        assert!(cause.contains("connection refused"), "{cause}");
        let missing = recorded("failure-modes", "cfg-missing-raw-get");
        assert_eq!(missing.api.raw().await, Ok(None));
        [info, version, running, down, missing].iter().for_each(Recorded::is_as_recorded);
        let stranger = recorded("info-version-auth", "info-bad-password");
        let error = stranger.api.version().await.unwrap_err();
        assert!(matches!(error, ApiError::Call(TransportError::Unauthorised { .. })), "{error:?}");
        assert!(error.to_string().contains("the Data Plane API on"), "{error}");
    });
}

#[test]
fn what_became_of_a_push_is_told_apart() {
    on_one_thread(async {
        let push = async |topic: &str, name: &str, version: u64, reach: ApiCapabilities<'_>| {
            let recorded = recorded(topic, name);
            let push = recorded.api.push(CONFIG.into(), version, reach).await.unwrap();
            recorded.is_as_recorded();
            push
        };
        let conflict = push("raw-config", "raw-post-version-conflict", 1, ApiCapabilities::Reload).await;
        assert_eq!(conflict, Push::Conflict { current: Some(2) });
        let Push::Written { raw, reload } =
            push("raw-config", "raw-post-reload-scheduled", 1, ApiCapabilities::Reload).await
        else {
            panic!("it is written");
        };
        assert_eq!((raw.version, reload.as_deref()), (Some(2), Some("2026-11-21-0")));
        assert_eq!(raw.checksum.as_deref(), Some("e3c38273272f4bf8c99e05108268277e"));
        let Push::Refused(words) =
            push("raw-config", "raw-post-invalid-config", 2, ApiCapabilities::Reload).await
        else {
            panic!("it is refused");
        };
        assert!(words.contains("unknown keyword 'balanc'"), "{words}");
        let actions = "SetServerAddr be_default s2 127.0.0.9 8081;SetServerState be_default s2 ready";
        let done = push("runtime-actions", "set-addr-state", 1, ApiCapabilities::Actions(actions)).await;
        assert!(matches!(done, Push::Written { reload: None, .. }), "{done:?}");
        let actions = "SetServerWeight be_default s1 65;SetServerAddr be_default nosuch 127.0.0.1 80;SetServerWeight be_default s1 66";
        let half = push("runtime-actions", "unknown-server", 11, ApiCapabilities::Actions(actions)).await;
        assert!(matches!(half, Push::HalfWay(ref words) if words.contains("No such server")), "{half:?}");
    });
}

#[test]
fn a_check_alone_says_what_haproxy_says() {
    on_one_thread(async {
        let bad = recorded("raw-config", "only-validate-bad");
        let words = bad.api.validate(CONFIG.into()).await.unwrap().unwrap();
        assert!(words.contains("onlyvalidate4027106779:27] unknown keyword 'foo'"), "{words}");
        let good = recorded("raw-config", "only-validate-ok");
        assert_eq!(good.api.validate(CONFIG.into()).await, Ok(None));
        [bad, good].iter().for_each(Recorded::is_as_recorded);
    });
}

#[test]
fn reloads_are_followed() {
    on_one_thread(async {
        let ended = async |topic: &str, name: &str, id: &str| {
            let recorded = recorded(topic, name);
            let ended = recorded.api.reload(id).await.unwrap();
            recorded.is_as_recorded();
            ended
        };
        assert_eq!(ended("reloads", "get-in-progress", "2026-11-21-1").await, ReloadState::Waits);
        let good = ended("reloads", "get-succeeded", "2026-11-21-1").await;
        assert!(
            matches!(good, ReloadState::Succeeded(ref log) if log.contains("Loading success")),
            "{good:?}"
        );
        let bad = ended("reloads", "get-failed", "2026-11-21-2").await;
        assert!(matches!(bad, ReloadState::Failed(ref log) if log.contains("cannot bind socket")), "{bad:?}");
        let gone = ended("failure-modes", "dpapi-restart-old-reload-id", "2026-11-21-2").await;
        assert_eq!(gone, ReloadState::Forgotten);
        let down = ended("failure-modes", "down-reload-status", "2026-11-21-2").await;
        assert_eq!(down, ReloadState::Failed(String::new()));
    });
}

#[test]
fn servers_are_read_added_and_removed() {
    on_one_thread(async {
        let get = recorded("runtime-servers", "get");
        let server = get.api.server("be_default", "s1").await.unwrap().unwrap();
        assert_eq!((server.ip(), server.port), ("127.0.0.1".parse().ok(), 21072));
        assert_eq!((server.state(), server.uweight), (ServerState::Ready, Some(100)));
        let missing = recorded("runtime-servers", "get-missing");
        assert_eq!(missing.api.server("be_default", "nope").await, Ok(None));
        let none = recorded("runtime-servers", "list-missing-backend");
        assert_eq!(none.api.servers("nope").await, Ok(vec![]));
        let add = recorded("runtime-servers", "add");
        let body = json!({"name": "d1", "address": "127.0.0.1", "port": 8200, "weight": 10});
        assert_eq!(add.api.add_server("be_default", &body).await, Ok(()));
        let again = recorded("runtime-servers", "add-exists");
        let body = json!({"name": "d1", "address": "127.0.0.1", "port": 8200});
        let why = again.api.add_server("be_default", &body).await.unwrap_err().refusal().unwrap();
        assert!(why.words.contains("lready exists"), "{why:?}");
        let ready = recorded("runtime-servers", "put-state-ready");
        assert_eq!(ready.api.set_state("be_default", "s1", ServerState::Ready).await, Ok(()));
        let delete = recorded("runtime-servers", "delete-ready");
        assert_eq!(delete.api.delete_server("be_default", "d2").await, Ok(()));
        [get, missing, none, add, again, ready, delete].iter().for_each(Recorded::is_as_recorded);
    });
}

#[test]
fn maps_and_lists_are_read_and_changed() {
    on_one_thread(async {
        const MAP: &str = "/etc/haproxy/maps/host.map";
        let list = recorded("runtime-maps", "list");
        let maps = list.api.maps().await.unwrap();
        assert_eq!((&*maps[0].file, maps[0].entries()), (MAP, Some(1)));
        let add = recorded("runtime-maps", "entry-add");
        assert_eq!(add.api.add_entry(MAP, "b.example", "be_b").await, Ok(()));
        let twice = recorded("runtime-maps", "entry-add-duplicate");
        let why = twice.api.add_entry(MAP, "b.example", "be_b2").await.unwrap_err().refusal().unwrap();
        assert!(why.words.contains("already exists"), "{why:?}");
        let set = recorded("runtime-maps", "entry-replace");
        assert_eq!(set.api.set_entry(MAP, "a.example", "be_z").await, Ok(()));
        let delete = recorded("runtime-maps", "entry-delete");
        assert_eq!(delete.api.delete_entry(MAP, "b.example").await, Ok(()));
        let blanks = recorded("runtime-maps", "payload-space");
        assert_eq!(blanks.api.put_entries(MAP, &[("q", "a b c")]).await, Ok(()));
        let lists = recorded("runtime-acls", "list");
        assert_eq!(lists.api.list("/etc/haproxy/general/block.acl").await, Ok(Some("1".to_owned())));
        let pattern = recorded("runtime-acls", "entry-add");
        assert_eq!(pattern.api.add_pattern("1", "10.0.0.3").await, Ok(()));
        [list, add, twice, set, delete, blanks, lists, pattern].iter().for_each(Recorded::is_as_recorded);
    });
}

#[test]
fn files_are_stored_read_and_deleted() {
    on_one_thread(async {
        let store = async |topic: &str, name: &str, kind: FileKind, file: &str, how: (bool, bool)| {
            let recorded = recorded(topic, name);
            let stored = recorded.api.store(kind, file, "a b\n", how).await;
            recorded.is_as_recorded();
            stored.map(|stored| stored.reload)
        };
        let map =
            store("storage-maps", "replace-skip-reload", FileKind::Map, "host.map", (false, false)).await;
        assert_eq!(map, Ok(None));
        let new = store("storage-maps", "create-skip-reload", FileKind::Map, "new2.map", (true, false)).await;
        assert_eq!(new, Ok(None));
        let file =
            store("storage-general", "replace-skip-reload", FileKind::General, "e503.http", (false, false))
                .await;
        assert_eq!(file, Ok(None));
        let live =
            store("storage-ssl", "replace-runtime", FileKind::Certificate, "site.pem", (false, true)).await;
        assert_eq!(live, Ok(None));
        let later =
            store("storage-ssl", "replace-key-mismatch", FileKind::Certificate, "site.pem", (false, true))
                .await;
        assert_eq!(later, Ok(Some("2026-11-21-2".to_owned())), "it needs the reload that fails");
        let refused =
            store("storage-ssl", "replace-ed25519", FileKind::Certificate, "site.pem", (false, true)).await;
        assert!(refused.unwrap_err().means(ResponseMeaning::BadCertificate));
        let get = recorded("storage-maps", "get");
        assert_eq!(get.api.stored(FileKind::Map, "new.map").await.unwrap().unwrap(), "k1 v1\nk2 v2\n");
        let missing = recorded("storage-maps", "get-missing");
        assert_eq!(missing.api.stored(FileKind::Map, "nosuch.map").await, Ok(None));
        let named = recorded("storage-maps", "delete-referenced");
        let why = named.api.delete_stored(FileKind::Map, "host.map").await.unwrap_err().refusal().unwrap();
        assert!(why.words.contains("referenced in haproxy conf"), "{why:?}");
        let gone = recorded("storage-maps", "delete-missing");
        assert_eq!(gone.api.delete_stored(FileKind::Map, "new2.map").await, Ok(()));
        [get, missing, named, gone].iter().for_each(Recorded::is_as_recorded);
    });
}

#[test]
fn another_certificate_is_told_otherwise_wherever_it_is_told() {
    on_one_thread(async {
        let digest = async |name: &str| {
            let recorded = recorded("storage-ssl", name);
            let stored = recorded.api.store(FileKind::Certificate, "site.pem", "x", (false, true)).await;
            recorded.is_as_recorded();
            stored.unwrap().certificate_digest
        };
        let (other, big, back) = (
            digest("replace-runtime").await,
            digest("replace-big-chain").await,
            digest("replace-back").await,
        );
        let read = recorded("storage-ssl", "get-metadata");
        let there = read.api.certificate_digest("site.pem").await.unwrap();
        read.is_as_recorded();
        assert_eq!(there, back);
        assert!(there.is_some() && there != other && there != big && big.is_some() && big != other);
        let missing = recorded("storage-ssl", "get-missing");
        assert_eq!(missing.api.certificate_digest("x.pem").await, Ok(None));
    });
}

#[test]
fn a_configuration_of_20_mb_passes_and_a_limit_of_the_api_is_named() {
    on_one_thread(async {
        let large = "# pad\n".repeat(20_000_000 / 6);
        let mut written = exchange("raw-config", "raw-post-reload-scheduled");
        written["response"]["body"] = large.clone().into();
        let pushed = answering(written).api.push(large.clone().into(), 1, ApiCapabilities::Reload).await;
        assert!(matches!(pushed, Ok(Push::Written { ref raw, .. }) if *raw.text == *large));
        let refused = recorded("limits-timeouts", "body-over-limit").api.validate(large.into()).await;
        let error = refused.unwrap_err();
        assert!(matches!(error, ApiError::TooLarge { .. }), "{error:?}");
        assert!(error.to_string().ends_with("raise max_body_size in its settings"), "{error}");
    });
}

/// A pod with one server, whose bundle has another file that sorts before haproxy.cfg.
fn known_pod(layout: &Layout) -> PodMemory {
    let file = |text: &str| (Digest::of(text.as_bytes()), Arc::from(text));
    let files = Files::from([
        ("/etc/haproxy/general/filter.cfg".to_owned(), file("[filter]\nspoe-agent a\n")),
        (layout.config_file.clone(), file("backend b\n  server s 10.0.0.1:80\n")),
    ]);
    PodMemory { files: Some((Digest::of(b"x"), Arc::new(files))), ..PodMemory::default() }
}

/// It gives that answer when it did not reach HAProxy's socket, too.
#[test]
fn servers_that_are_not_shown_once_are_taken_to_be_as_written_and_then_believed() {
    on_one_thread(async {
        let api = api(|request| match request.path.ends_with("/servers") {
            true => json!({ "status": 404, "body": { "message": "no data for b: not found" } }),
            false => json!({ "status": 200, "body": [] }),
        });
        let layout = Layout { config_file: "/etc/haproxy/haproxy.cfg".to_owned(), ..Layout::default() };
        let mut memory = known_pod(&layout);
        let mut servers = Vec::new();
        for _ in 0..2 {
            let shown = look::runtime(&api, &layout, &mut memory).await.unwrap().servers;
            servers.push(shown.into_iter().map(|server| server.server).collect::<Vec<_>>());
        }
        assert_eq!(servers, [vec!["s".to_owned()], vec![]]);
    });
}
