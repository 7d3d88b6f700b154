//! The calls of the Data Plane API, typed. It decides nothing: what an answer means for the pod is its caller's business.
//!
//! Answers are told apart by their status alone, because versions up to 3.2 give errors as JSON under other types.

use crate::{
    call_error::CallError,
    error::ApiError,
    multipart,
    responses::{self, ApiRefusal, ResponseMeaning},
};
use awc::http::{Method, StatusCode};
use bytes::Bytes;
use haptic_deploy::transport::caller::{Caller, PodCall, PodReply};
use haptic_model::{FileKind, HaproxyVersion, operation::ServerState};
use haptic_text::Digest;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::{net::IpAddr, sync::Arc, time::Duration};

/// Calls that read or change little.
const QUICK: Duration = Duration::from_secs(10);
const RAW: &str = "/v3/services/haproxy/configuration/raw";
const SERVERS: &str = "/v3/services/haproxy/runtime/backends";
const MAPS: &str = "/v3/services/haproxy/runtime/maps";
const ACLS: &str = "/v3/services/haproxy/runtime/acls";
const STORAGE: &str = "/v3/services/haproxy/storage";

/// The API of one pod.
pub(crate) struct Api {
    pub caller: Caller,
    /// For calls that check or load the whole configuration.
    pub limit: Duration,
}

/// How HAProxy is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Haproxy {
    pub version: HaproxyVersion,
    pub version_text: String,
    pub pid: u32,
}

/// What the API says of HAProxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HaproxyAnswer {
    Runs(Haproxy),
    /// It is not reached: why.
    Unreached(String),
}

impl HaproxyAnswer {
    /// Its process, if it is reached.
    pub fn pid(&self) -> Option<u32> {
        match self {
            Self::Runs(haproxy) => Some(haproxy.pid),
            Self::Unreached(_) => None,
        }
    }
}

/// haproxy.cfg as it lies on the pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RawConfig {
    pub text: Arc<str>,
    /// Absent before the API has written it once. It covers the version, so it is no digest of the content.
    pub checksum: Option<String>,
    pub version: Option<u64>,
}

impl RawConfig {
    /// Of the content, without what the API notes in its first lines.
    pub fn digest(&self) -> Digest {
        Digest::of(responses::content(&self.text).as_bytes())
    }
}

/// What became of a configuration that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Push {
    /// It is on disk.
    Written {
        raw: RawConfig,
        /// Of the reload that was asked for.
        reload: Option<String>,
    },
    /// Somebody else wrote since that version.
    Conflict { current: Option<u64> },
    /// HAProxy's checker refused it; nothing changed.
    Refused(String),
    /// It is on disk, and an action failed; those before it are done.
    HalfWay(String),
}

/// How a push is to reach HAProxy.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ApiCapabilities<'a> {
    /// Not by a reload: by these actions, which may be none.
    Actions(&'a str),
    /// By the next reload.
    Reload,
}

/// How a reload went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ReloadState {
    Waits,
    Succeeded(String),
    Failed(String),
    /// The API that was asked for it has ended since.
    Forgotten,
}

/// A server as HAProxy has it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct RuntimeServer {
    pub name: String,
    pub address: String,
    #[serde(default)]
    pub port: u16,
    pub admin_state: String,
    /// As it was set, in versions that tell it.
    #[serde(default)]
    pub uweight: Option<u32>,
    #[serde(default)]
    weight: Option<u32>,
    /// Of its check, when it was set.
    #[serde(default)]
    pub check_port: Option<u16>,
}

/// A map or list that HAProxy has loaded.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Loaded {
    #[serde(default)]
    pub id: String,
    #[serde(default)]
    pub storage_name: String,
    #[serde(default)]
    pub file: String,
    #[serde(default)]
    description: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct MapEntry {
    #[serde(default)]
    pub id: String,
    #[serde(default)]
    pub key: String,
    #[serde(default)]
    pub value: String,
}

/// A file that was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ApiFile {
    /// The reload that the API asked for.
    pub reload: Option<String>,
    /// What it tells of a certificate.
    pub certificate_digest: Option<Digest>,
}

impl Api {
    /// The API's version.
    pub async fn version(&self) -> Result<HaproxyVersion, ApiError> {
        #[derive(Deserialize)]
        struct Info {
            api: ApiInfo,
        }
        #[derive(Deserialize)]
        struct ApiInfo {
            version: String,
        }
        const INFO: &str = "/v3/info";
        let reply = self.send(PodCall::get(INFO, QUICK)).await?;
        let info: Info = self.read(INFO, &reply)?;
        let number = info.api.version.trim_start_matches('v').to_owned();
        number.parse().map_err(|_| self.unexpected(INFO, format!("version {:?}", info.api.version)))
    }

    /// How HAProxy is.
    pub async fn haproxy(&self) -> Result<HaproxyAnswer, ApiError> {
        const INFO: &str = "/v3/services/haproxy/runtime/info";
        let reply = self.send(PodCall::get(INFO, QUICK)).await?;
        if !reply.status.is_success() {
            return Ok(HaproxyAnswer::Unreached(responses::message(&reply)));
        }
        // Some versions answer with a list of one.
        let body: Value = self.read(INFO, &reply)?;
        let body = body.get(0).unwrap_or(&body);
        if let Some(error) = body.get("error").and_then(Value::as_str).filter(|error| !error.is_empty()) {
            return Ok(HaproxyAnswer::Unreached(error.to_owned()));
        }
        let info = body.get("info").unwrap_or(body);
        let version_text = info.get("version").and_then(Value::as_str).unwrap_or_default().to_owned();
        let pid = info.get("pid").and_then(Value::as_u64).and_then(|pid| u32::try_from(pid).ok());
        match (version_text.parse(), pid) {
            (Ok(version), Some(pid)) => Ok(HaproxyAnswer::Runs(Haproxy { version, version_text, pid })),
            _ => Err(self.unexpected(INFO, reply.excerpt())),
        }
    }

    /// The configuration's version, which each write raises.
    pub async fn configuration_version(&self) -> Result<u64, ApiError> {
        const VERSION: &str = "/v3/services/haproxy/configuration/version";
        let reply = self.send(PodCall::get(VERSION, QUICK)).await?;
        self.read(VERSION, &reply)
    }

    /// haproxy.cfg; `None` when there is none.
    pub async fn raw(&self) -> Result<Option<RawConfig>, ApiError> {
        let reply = self.send(PodCall::get(RAW, self.limit)).await?;
        if ApiRefusal::of(&reply).meaning == ResponseMeaning::NoFile {
            return Ok(None);
        }
        self.expect(RAW, &reply)?;
        Ok(Some(self.written(&reply)))
    }

    /// What HAProxy's checker refuses of `text`, on the pod and with its files: its words, with line numbers of `text`.
    pub async fn validate(&self, text: Bytes) -> Result<Option<String>, ApiError> {
        let target = format!("{RAW}?only_validate=true");
        let call = PodCall { target: &target, ..PodCall::post(RAW, "text/plain", text, self.limit) };
        let reply = self.send(call).await?;
        let said = responses::message(&reply);
        match reply.status {
            StatusCode::BAD_REQUEST if responses::is_verdict(&said) => Ok(Some(said)),
            _ => self.expect(RAW, &reply).map(|()| None),
        }
    }

    /// `text` in the place of the configuration of `version`.
    pub async fn push(
        &self,
        text: Bytes,
        version: u64,
        reach: ApiCapabilities<'_>,
    ) -> Result<Push, ApiError> {
        let (skip, actions) = match reach {
            ApiCapabilities::Actions(actions) => ("&skip_reload=true", actions),
            ApiCapabilities::Reload => ("", ""),
        };
        let target = format!("{RAW}?version={version}{skip}");
        let header = (!actions.is_empty()).then_some(("X-Runtime-Actions", actions));
        let call = PodCall { target: &target, header, ..PodCall::post(RAW, "text/plain", text, self.limit) };
        let reply = self.send(call).await?;
        let ApiRefusal { meaning, words: said } = ApiRefusal::of(&reply);
        Ok(match reply.status {
            StatusCode::CONFLICT => Push::Conflict { current: version_of(&reply) },
            StatusCode::BAD_REQUEST if responses::is_verdict(&said) => Push::Refused(said),
            StatusCode::INTERNAL_SERVER_ERROR if meaning == ResponseMeaning::ActionFailed => {
                Push::HalfWay(said)
            }
            _ => {
                self.expect(RAW, &reply)?;
                Push::Written {
                    raw: self.written(&reply),
                    reload: reply.header("Reload-Id").map(str::to_owned),
                }
            }
        })
    }

    /// How the reload `id` went. It keeps the question until a reload under way has ended.
    pub async fn reload(&self, id: &str) -> Result<ReloadState, ApiError> {
        #[derive(Deserialize)]
        struct ApiResponse {
            #[serde(default)]
            status: String,
            #[serde(default)]
            response: String,
        }
        const RELOADS: &str = "/v3/services/haproxy/reloads";
        let target = format!("{RELOADS}/{}", segment(id));
        let reply = self.send(PodCall { target: &target, ..PodCall::get(RELOADS, self.limit) }).await?;
        if reply.status == StatusCode::NOT_FOUND {
            return Ok(ReloadState::Forgotten);
        }
        let answer: ApiResponse = self.read(RELOADS, &reply)?;
        Ok(match answer.status.as_str() {
            "succeeded" => ReloadState::Succeeded(responses::shortened(answer.response)),
            "failed" => ReloadState::Failed(responses::shortened(answer.response)),
            _ => ReloadState::Waits,
        })
    }

    /// The servers of a backend; none for one that HAProxy does not have.
    pub async fn servers(&self, backend: &str) -> Result<Vec<RuntimeServer>, ApiError> {
        let target = format!("{SERVERS}/{}/servers", segment(backend));
        let reply = self.send(PodCall { target: &target, ..PodCall::get(SERVERS, QUICK) }).await?;
        if is_missing(&reply) {
            return Ok(Vec::new());
        }
        self.read(SERVERS, &reply)
    }

    /// A server; `None` when HAProxy does not have it.
    pub async fn server(&self, backend: &str, server: &str) -> Result<Option<RuntimeServer>, ApiError> {
        let target = server_path(backend, server);
        let reply = self.send(PodCall { target: &target, ..PodCall::get(SERVERS, QUICK) }).await?;
        if is_missing(&reply) {
            return Ok(None);
        }
        self.read(SERVERS, &reply).map(Some)
    }

    /// Adds a server, which stays in maintenance.
    pub async fn add_server(&self, backend: &str, body: &Value) -> Result<(), CallError> {
        let target = format!("{SERVERS}/{}/servers", segment(backend));
        self.change(Method::POST, SERVERS, &target, Some(body)).await
    }

    /// Changes a server's state.
    pub async fn set_state(&self, backend: &str, server: &str, state: ServerState) -> Result<(), CallError> {
        let body = json!({ "admin_state": state });
        self.change(Method::PUT, SERVERS, &server_path(backend, server), Some(&body)).await
    }

    /// Removes a server.
    pub async fn delete_server(&self, backend: &str, server: &str) -> Result<(), CallError> {
        self.change(Method::DELETE, SERVERS, &server_path(backend, server), None).await
    }

    /// The maps that HAProxy has loaded.
    pub async fn maps(&self) -> Result<Vec<Loaded>, ApiError> {
        let reply = self.send(PodCall::get(MAPS, QUICK)).await?;
        if reply.status == StatusCode::NOT_FOUND {
            // So it answers while HAProxy is down.
            return Err(self.without_haproxy(responses::message(&reply)));
        }
        self.read(MAPS, &reply)
    }

    /// All entries of a map in HAProxy's memory.
    pub async fn entries(&self, map: &str) -> Result<Vec<MapEntry>, ApiError> {
        let target = format!("{}/entries", map_path(map));
        let reply = self.send(PodCall { target: &target, ..PodCall::get(MAPS, self.limit) }).await?;
        // Some versions answer so for a map that is empty.
        if reply.status == StatusCode::NOT_FOUND && reply.body.is_empty() {
            return Ok(Vec::new());
        }
        self.read(MAPS, &reply)
    }

    /// Adds an entry to a map.
    pub async fn add_entry(&self, map: &str, key: &str, value: &str) -> Result<(), CallError> {
        let body = json!({ "key": key, "value": value });
        self.change(Method::POST, MAPS, &format!("{}/entries", map_path(map)), Some(&body)).await
    }

    /// Changes an entry of a map.
    pub async fn set_entry(&self, map: &str, key: &str, value: &str) -> Result<(), CallError> {
        self.change(Method::PUT, MAPS, &entry_path(map, key), Some(&json!({ "value": value }))).await
    }

    /// Takes an entry out of a map.
    pub async fn delete_entry(&self, map: &str, key: &str) -> Result<(), CallError> {
        self.change(Method::DELETE, MAPS, &entry_path(map, key), None).await
    }

    /// All these entries in the place of a map's: at once, if they have more than 8 KB. Fewer are added to it.
    pub async fn put_entries(&self, map: &str, entries: &[(&str, &str)]) -> Result<(), CallError> {
        let body: Value = entries
            .iter()
            .map(|(key, value)| json!({ "key": key, "value": value }))
            .collect::<Vec<_>>()
            .into();
        self.change(Method::PUT, MAPS, &map_path(map), Some(&body)).await
    }

    /// The number by which the API knows the list of patterns from `file`.
    pub async fn list(&self, file: &str) -> Result<Option<String>, ApiError> {
        let reply = self.send(PodCall::get(ACLS, QUICK)).await?;
        let lists: Vec<Loaded> = self.read(ACLS, &reply)?;
        Ok(lists.into_iter().find(|list| list.storage_name == file).map(|list| list.id))
    }

    /// The patterns of a list, with the numbers by which they are taken out.
    pub async fn patterns(&self, list: &str) -> Result<Vec<MapEntry>, ApiError> {
        let target = format!("{ACLS}/{}/entries", segment(list));
        let reply = self.send(PodCall { target: &target, ..PodCall::get(ACLS, QUICK) }).await?;
        self.read(ACLS, &reply)
    }

    /// Adds a pattern to a list.
    pub async fn add_pattern(&self, list: &str, pattern: &str) -> Result<(), CallError> {
        let target = format!("{ACLS}/{}/entries", segment(list));
        self.change(Method::POST, ACLS, &target, Some(&json!({ "value": pattern }))).await
    }

    /// Takes a pattern out of a list.
    pub async fn delete_pattern(&self, list: &str, number: &str) -> Result<(), CallError> {
        let target = format!("{ACLS}/{}/entries/{}", segment(list), segment(number));
        self.change(Method::DELETE, ACLS, &target, None).await
    }

    /// The names of the files in a storage.
    pub async fn stored_names(&self, kind: FileKind) -> Result<Vec<String>, ApiError> {
        let target = format!("{STORAGE}/{}", folder(kind));
        let reply = self.send(PodCall { target: &target, ..PodCall::get(STORAGE, QUICK) }).await?;
        let files: Vec<Loaded> = self.read(STORAGE, &reply)?;
        Ok(files.into_iter().map(|file| file.storage_name).collect())
    }

    /// What the API tells of a certificate in its storage, which it gives nobody back: the same as long as certificate and size
    /// are. `None`: it tells nothing.
    pub async fn certificate_digest(&self, name: &str) -> Result<Option<Digest>, ApiError> {
        let target = stored_path(FileKind::Certificate, name);
        let reply = self.send(PodCall { target: &target, ..PodCall::get(STORAGE, QUICK) }).await?;
        Ok(if reply.status.is_success() { certificate_digest(&reply) } else { None })
    }

    /// A file's content. `None`: there is none.
    pub async fn stored(&self, kind: FileKind, name: &str) -> Result<Option<Bytes>, ApiError> {
        let target = stored_path(kind, name);
        let reply = self.send(PodCall { target: &target, ..PodCall::get(STORAGE, self.limit) }).await?;
        if reply.status == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        self.expect(STORAGE, &reply)?;
        Ok(Some(reply.body))
    }

    /// Stores a file: a new one or not, and whether the API may reload for it. Refused: why; the file may be there all the same.
    pub async fn store(
        &self,
        kind: FileKind,
        name: &str,
        content: &str,
        (is_new, may_reload): (bool, bool),
    ) -> Result<ApiFile, CallError> {
        let skip = if may_reload { "" } else { "?skip_reload=true" };
        let form = multipart::form(name, content);
        let plain = ("text/plain".to_owned(), Bytes::from(content.to_owned()));
        let (method, target, (content_type, body)) = match (is_new, kind) {
            (true, _) => (Method::POST, format!("{STORAGE}/{}{skip}", folder(kind)), form),
            (false, FileKind::General) => (Method::PUT, format!("{}{skip}", stored_path(kind, name)), form),
            (false, _) => (Method::PUT, format!("{}{skip}", stored_path(kind, name)), plain),
        };
        let call =
            PodCall { method, target: &target, ..PodCall::post(STORAGE, &content_type, body, self.limit) };
        let reply = self.send(call).await?;
        if reply.status.is_success() {
            let reload = reply.header("Reload-Id").map(str::to_owned);
            return Ok(ApiFile { reload, certificate_digest: certificate_digest(&reply) });
        }
        Err(ApiRefusal::of(&reply).into())
    }

    /// Deletes a file; refused while haproxy.cfg names it.
    pub async fn delete_stored(&self, kind: FileKind, name: &str) -> Result<(), CallError> {
        let target = format!("{}?skip_reload=true", stored_path(kind, name));
        match self.change(Method::DELETE, STORAGE, &target, None).await {
            Err(why) if why.means(ResponseMeaning::NotStored) => Ok(()),
            done => done,
        }
    }

    /// It could not do what was asked.
    pub fn failed(&self, call: &'static str, answer: String) -> ApiError {
        self.caller.failed(call, answer).into()
    }

    /// What answered so is no Data Plane API.
    fn unexpected(&self, call: &'static str, answer: String) -> ApiError {
        self.caller.unexpected(call, answer).into()
    }

    /// It answers, and HAProxy does not.
    pub fn without_haproxy(&self, cause: String) -> ApiError {
        let hint = "is it running? see the log of its container";
        ApiError::WithoutHaproxy { address: self.caller.address.clone(), cause, hint }
    }

    async fn change(
        &self,
        method: Method,
        path: &'static str,
        target: &str,
        body: Option<&Value>,
    ) -> Result<(), CallError> {
        let body = body.map(|body| Bytes::from(body.to_string()));
        let content_type = body.is_some().then_some("application/json");
        let call = PodCall { method, target, content_type, body, ..PodCall::get(path, self.limit) };
        let reply = self.send(call).await?;
        if reply.status.is_success() { Ok(()) } else { Err(ApiRefusal::of(&reply).into()) }
    }

    /// Sends, and tells apart what no call can go on with.
    async fn send(&self, call: PodCall<'_>) -> Result<PodReply, ApiError> {
        let reply = self.caller.call(call).await?;
        match responses::trouble(&reply, &self.caller.address) {
            Some(trouble) => Err(trouble),
            None => Ok(reply),
        }
    }

    fn expect(&self, path: &'static str, reply: &PodReply) -> Result<(), ApiError> {
        match reply.status {
            status if status.is_success() => Ok(()),
            StatusCode::NOT_FOUND => {
                Err(self.unexpected(path, format!("{}: {}", reply.status, responses::message(reply))))
            }
            status => Err(self.failed(path, format!("{status}: {}", responses::message(reply)))),
        }
    }

    fn read<T: DeserializeOwned>(&self, path: &'static str, reply: &PodReply) -> Result<T, ApiError> {
        self.expect(path, reply)?;
        serde_json::from_slice(&reply.body)
            .map_err(|error| self.unexpected(path, format!("{:?} ({error})", reply.excerpt())))
    }

    fn written(&self, reply: &PodReply) -> RawConfig {
        RawConfig {
            text: String::from_utf8_lossy(&reply.body).into(),
            checksum: reply.header("Configuration-Checksum").map(str::to_owned),
            version: version_of(reply),
        }
    }
}

impl RuntimeServer {
    /// Its weight, as far as it is told.
    pub fn weight(&self) -> Option<u32> {
        self.uweight.or(self.weight)
    }

    /// Where it is.
    pub fn ip(&self) -> Option<IpAddr> {
        self.address.parse().ok()
    }

    /// Its administrative state.
    pub fn state(&self) -> ServerState {
        match self.admin_state.as_str() {
            "ready" => ServerState::Ready,
            "drain" => ServerState::Drain,
            _ => ServerState::Maint,
        }
    }
}

impl Loaded {
    /// How many entries it has: `… entry_cnt=1`.
    pub fn entries(&self) -> Option<usize> {
        self.description.rsplit_once("entry_cnt=")?.1.split_whitespace().next()?.parse().ok()
    }
}

/// What a reply tells of a certificate that differs from one to another.
fn certificate_digest(reply: &PodReply) -> Option<Digest> {
    const TELLING: [&str; 6] = ["size", "serial", "subject", "issuers", "not_before", "not_after"];
    let about: Value = serde_json::from_slice(&reply.body).ok()?;
    let fields = TELLING.map(|field| field_of(&about, field));
    about.get("size").map(|_| Digest::of(fields.join("\n").as_bytes()))
}

/// The field of an answer; the names of issuers sorted, which it gives in any order.
fn field_of(about: &Value, field: &str) -> String {
    let sorted = |mut names: Vec<&str>| {
        names.sort_unstable();
        Value::from(names.join(", ")).to_string()
    };
    match about.get(field) {
        Some(Value::String(names)) if field == "issuers" => sorted(names.split(", ").collect()),
        Some(Value::Array(names)) if field == "issuers" => {
            sorted(names.iter().filter_map(Value::as_str).collect())
        }
        Some(value) => value.to_string(),
        None => String::new(),
    }
}

/// HAProxy has no such backend or server. 3.0 answers 500.
fn is_missing(reply: &PodReply) -> bool {
    reply.status == StatusCode::NOT_FOUND
        || reply.status == StatusCode::INTERNAL_SERVER_ERROR
            && ApiRefusal::of(reply).meaning == ResponseMeaning::NoData
}

fn version_of(reply: &PodReply) -> Option<u64> {
    reply.header("Configuration-Version")?.parse().ok()
}

fn folder(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Map => "maps",
        FileKind::Certificate => "ssl_certificates",
        FileKind::General | FileKind::CrtList | FileKind::Config => "general",
    }
}

fn stored_path(kind: FileKind, name: &str) -> String {
    format!("{STORAGE}/{}/{}", folder(kind), segment(name))
}

fn server_path(backend: &str, server: &str) -> String {
    format!("{SERVERS}/{}/servers/{}", segment(backend), segment(server))
}

/// The API knows a map by its file's name.
fn map_path(map: &str) -> String {
    format!("{MAPS}/{}", segment(map.rsplit_once('/').map_or(map, |(_, name)| name)))
}

fn entry_path(map: &str, key: &str) -> String {
    format!("{}/entries/{}", map_path(map), segment(key))
}

/// One segment of a path: everything but unreserved characters (RFC 3986, 2.3) encoded.
fn segment(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte))
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issuers_are_the_same_in_any_order() {
        let field = |issuers: Value| field_of(&json!({ "issuers": issuers }), "issuers");
        assert_eq!(field("Root A, Sub B".into()), field("Sub B, Root A".into()));
        assert_eq!(field(json!(["Root A", "Sub B"])), field(json!(["Sub B", "Root A"])));
        assert_ne!(field("Root A, Sub B".into()), field("Root A, Sub C".into()));
    }
}
