//! Operations on a running HAProxy through the API, and whether they did what they should: it answers "done" to changes that it
//! does not make.

use crate::{
    client::{Api, ApiResult, RuntimeServer},
    error::ApiError,
    look::shown_value,
    memory::{Files, PodMemory},
    responses::{ApiRefusal, ResponseMeaning},
    step::ApiStep,
};
use haptic_haproxy::{Document, Section, SectionKind, views::servers};
use haptic_model::operation::ServerState;
use haptic_text::pattern_file::map_entries;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
};

/// What should be so afterwards.
#[derive(Default)]
pub(crate) struct ExpectedState {
    /// By backend and name.
    servers: BTreeMap<String, BTreeMap<String, Want>>,
    /// Whether a pattern is in its list, by list.
    patterns: BTreeMap<String, BTreeMap<String, bool>>,
    /// The value of a key, or that it is not there, by map.
    entries: BTreeMap<String, BTreeMap<String, Option<String>>>,
}

/// The bundle that a pod is brought to.
#[derive(Clone, Copy)]
pub(crate) struct ApplyTarget<'t> {
    pub files: &'t Files,
    /// The path of haproxy.cfg.
    pub config: &'t str,
}

#[derive(Default)]
struct Want {
    address: Option<(IpAddr, u16)>,
    check_port: Option<u16>,
    weight: Option<u32>,
    state: Option<ServerState>,
    is_gone: bool,
}

impl ExpectedState {
    fn of(&mut self, backend: &str, server: &str) -> &mut Want {
        self.servers.entry(backend.to_owned()).or_default().entry(server.to_owned()).or_default()
    }

    fn entry(&mut self, map: &str, key: &str, value: Option<&str>) {
        let of_map = self.entries.entry(map.to_owned()).or_default();
        of_map.insert(key.to_owned(), value.map(str::to_owned));
    }

    /// Notes what an action of a push should do.
    pub fn action(&mut self, words: &str) {
        let words: Vec<&str> = words.split(' ').collect();
        match words.as_slice() {
            ["SetServerAddr", backend, server, address, port] => {
                self.of(backend, server).address = address.parse().ok().zip(port.parse().ok());
            }
            ["SetServerCheckPort", backend, server, port] => {
                self.of(backend, server).check_port = port.parse().ok();
            }
            ["SetServerWeight", backend, server, weight] => {
                self.of(backend, server).weight = weight.parse().ok();
            }
            ["SetServerState", backend, server, state] => {
                self.of(backend, server).state = Some(match *state {
                    "ready" => ServerState::Ready,
                    "drain" => ServerState::Drain,
                    _ => ServerState::Maint,
                });
            }
            _ => {}
        }
    }

    /// Compares with what HAProxy shows.
    pub async fn read_back(&self, api: &Api) -> ApiResult {
        for (backend, wanted) in &self.servers {
            let shown = match wanted.keys().next() {
                Some(only) if wanted.len() == 1 => api.server(backend, only).await?.into_iter().collect(),
                _ => api.servers(backend).await?,
            };
            let shown: BTreeMap<&str, &RuntimeServer> =
                shown.iter().map(|server| (&*server.name, server)).collect();
            for (name, want) in wanted {
                if let Err(why) = want.compare(shown.get(&**name).copied()) {
                    return Ok(Err(ApiRefusal::unproven(format!(
                        "server {backend}/{name} {why}, though the Data Plane API said it was done"
                    ))));
                }
            }
        }
        for (map, wanted) in &self.entries {
            // The API cuts an entry that it is asked for by its key, so all are read.
            let mut shown: BTreeMap<String, Vec<String>> = BTreeMap::new();
            for entry in api.entries(map).await? {
                if wanted.contains_key(&entry.key) {
                    shown.entry(entry.key).or_default().push(entry.value);
                }
            }
            let is_wanted = |(key, value): (&String, &Option<String>)| {
                let there = shown.get(key).map(Vec::as_slice).unwrap_or_default();
                match (value, there) {
                    (None, []) => true,
                    (Some(value), [only]) => shown_value(only) == shown_value(value),
                    _ => false,
                }
            };
            if !wanted.iter().all(is_wanted) {
                // Neither key nor value is told: either may be a token.
                return Ok(Err(ApiRefusal::unproven(format!(
                    "an entry of map {map} is not as it should be, though the Data Plane API said it was done"
                ))));
            }
        }
        for (list, wanted) in &self.patterns {
            let Some(number) = api.list(list).await? else {
                return Ok(Err(ApiRefusal::unproven(format!("{list} is not loaded"))));
            };
            let there = api.patterns(&number).await?;
            let there: BTreeSet<&str> = there.iter().map(|pattern| &*pattern.value).collect();
            if wanted.iter().any(|(pattern, is_in)| there.contains(&**pattern) != *is_in) {
                return Ok(Err(ApiRefusal::unproven(format!(
                    "{list} has other patterns than it should, though the Data Plane API said it was done"
                ))));
            }
        }
        Ok(Ok(()))
    }
}

impl Want {
    fn compare(&self, shown: Option<&RuntimeServer>) -> Result<(), String> {
        let Some(shown) = shown else {
            return if self.is_gone { Ok(()) } else { Err("is not there".to_owned()) };
        };
        if self.is_gone {
            // Its last connections may keep it, in maintenance.
            return match shown.state() {
                ServerState::Maint => Ok(()),
                _ => Err("still takes requests".to_owned()),
            };
        }
        if let Some((address, port)) = self.address
            && (shown.ip() != Some(address) || shown.port != port)
        {
            return Err(format!("is at {} port {}, not at {address} port {port}", shown.address, shown.port));
        }
        if let (Some(port), Some(is)) = (self.check_port, shown.check_port)
            && port != is
        {
            return Err(format!("is checked at port {is}, not {port}"));
        }
        if let (Some(weight), Some(is)) = (self.weight, shown.weight())
            && weight != is
        {
            return Err(format!("has weight {is}, not {weight}"));
        }
        match self.state {
            Some(state) if shown.state() != state => {
                Err(format!("is in state {}, not {state:?}", shown.admin_state).to_lowercase())
            }
            _ => Ok(()),
        }
    }
}

impl ApplyTarget<'_> {
    fn written(&self, backend: &str, server: &str) -> Option<String> {
        written(&self.files.get(self.config)?.1, backend, server)
    }
}

/// Carries out a step by a call of its own; a server that comes stays in maintenance; `wanted` notes what is compared later.
pub(crate) async fn carry_out(
    api: &Api,
    step: &ApiStep,
    target: ApplyTarget<'_>,
    memory: &mut PodMemory,
    wanted: &mut ExpectedState,
) -> ApiResult {
    match step {
        ApiStep::Action(_) | ApiStep::Certificate { .. } | ApiStep::Nothing => Ok(Ok(())),
        ApiStep::SetState { backend, server, state } => {
            wanted.of(backend, server).state = Some(*state);
            api.set_state(backend, server, *state).await
        }
        ApiStep::AddServer { backend, server, body, enabled } => {
            let state = if *enabled { ServerState::Ready } else { ServerState::Maint };
            let number = |field: &str| body.get(field).and_then(Value::as_u64);
            let want = wanted.of(backend, server);
            *want = Want {
                check_port: None,
                address: body
                    .get("address")
                    .and_then(|a| a.as_str()?.parse().ok())
                    .zip(number("port").and_then(|port| u16::try_from(port).ok())),
                weight: number("weight").and_then(|weight| u32::try_from(weight).ok()),
                state: Some(state),
                is_gone: false,
            };
            add_server(api, (backend, server), body, target, memory).await
        }
        ApiStep::DeleteServer { backend, server } => {
            wanted.of(backend, server).is_gone = true;
            delete_server(api, (backend, server), target.config, memory).await
        }
        ApiStep::SetEntry { map, key, value } => {
            wanted.entry(map, key, Some(value));
            // It may change the entry and not find its own change.
            Ok(api.set_entry(map, key, value).await?.or_else(unless_silent))
        }
        ApiStep::AddEntry { map, key, value } => {
            wanted.entry(map, key, Some(value));
            if value.is_empty() || value.contains([' ', '\t']) {
                return api.put_entries(map, &[(key, value)]).await;
            }
            match api.add_entry(map, key, value).await? {
                Err(why) if why.meaning == ResponseMeaning::Exists => {
                    Ok(api.set_entry(map, key, value).await?.or_else(unless_silent))
                }
                done => Ok(done),
            }
        }
        ApiStep::DeleteEntry { map, key } => {
            wanted.entry(map, key, None);
            match api.delete_entry(map, key).await? {
                Err(why) if why.meaning == ResponseMeaning::NotFound => Ok(Ok(())),
                done => Ok(done.or_else(unless_silent)),
            }
        }
        ApiStep::ReplaceMap { map } => {
            let text = target.files.get(map).map(|(_, text)| &**text).unwrap_or_default();
            let entries: Vec<(&str, &str)> = map_entries(text).collect();
            let done = api.put_entries(map, &entries).await?;
            also(done, count_entries(api, map, entries.len())).await
        }
        ApiStep::AddPattern { list, pattern } => {
            wanted.patterns.entry(list.clone()).or_default().insert(pattern.clone(), true);
            let Some(number) = api.list(list).await? else {
                return Ok(Err(ApiRefusal::unproven(format!("{list} is not loaded"))));
            };
            match api.add_pattern(&number, pattern).await? {
                Err(why) if why.meaning == ResponseMeaning::Exists => Ok(Ok(())),
                done => Ok(done),
            }
        }
        ApiStep::DeletePattern { list, pattern } => {
            wanted.patterns.entry(list.clone()).or_default().insert(pattern.clone(), false);
            let Some(number) = api.list(list).await? else {
                return Ok(Err(ApiRefusal::unproven(format!("{list} is not loaded"))));
            };
            for found in api.patterns(&number).await?.iter().filter(|found| found.value == *pattern) {
                if let Err(why) = api.delete_pattern(&number, &found.id).await? {
                    return Ok(Err(why));
                }
            }
            Ok(Ok(()))
        }
    }
}

/// `done`, and if it was, the proof of it.
async fn also(done: Result<(), ApiRefusal>, proof: impl Future<Output = ApiResult>) -> ApiResult {
    match done {
        Ok(()) => proof.await,
        Err(why) => Ok(Err(why)),
    }
}

fn unless_silent(why: ApiRefusal) -> Result<(), ApiRefusal> {
    if why.meaning == ResponseMeaning::Silent { Ok(()) } else { Err(why) }
}

async fn count_entries(api: &Api, map: &str, should: usize) -> ApiResult {
    let is = api.maps().await?.into_iter().find(|loaded| loaded.file == map).and_then(|map| map.entries());
    Ok(match is {
        Some(is) if is != should => Err(ApiRefusal::unproven(format!(
            "map {map} has {is} entries, not {should}, though the Data Plane API said it was done"
        ))),
        _ => Ok(()),
    })
}

/// The words of a server in haproxy.cfg, its defaults included.
fn written(config: &str, backend: &str, server: &str) -> Option<String> {
    let document = Document::parse(config);
    let is_it = |section: &Section<'_>| {
        matches!(section.kind, SectionKind::Backend | SectionKind::Listen) && section.name == backend
    };
    let position = document.sections.iter().position(is_it)?;
    let servers = servers(&document, &document.inheritance(), position);
    let found = servers.iter().find(|known| known.name == server)?;
    let words: Vec<String> = found
        .effective_params()
        .iter()
        .filter(|parameter| parameter.name != "disabled")
        .flat_map(|parameter| parameter.words().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    Some(format!("{} {}", found.endpoint, words.join(" ")))
}

/// Adds a server, which stays in maintenance until its state is set.
async fn add_server(
    api: &Api,
    (backend, server): (&str, &str),
    body: &Value,
    target: ApplyTarget<'_>,
    memory: &mut PodMemory,
) -> ApiResult {
    let id = (backend.to_owned(), server.to_owned());
    let mut added = api.add_server(backend, body).await?;
    if added.as_ref().is_err_and(|why| why.meaning == ResponseMeaning::Exists)
        && let Some(before) = memory.lingering.get(&id)
    {
        // The last connections of the one before may have ended meanwhile. If not, it comes back as it was.
        added = match api.delete_server(backend, server).await? {
            Ok(()) => api.add_server(backend, body).await?,
            Err(_) if target.written(backend, server).as_ref() == Some(before) => Ok(()),
            Err(_) => added,
        };
    }
    if added.is_ok() {
        memory.lingering.remove(&id);
    }
    Ok(added)
}

/// Gone when its last connections are; the API puts it into maintenance before.
async fn delete_server(
    api: &Api,
    (backend, server): (&str, &str),
    config: &str,
    memory: &mut PodMemory,
) -> ApiResult {
    if api.delete_server(backend, server).await?.is_ok() || api.server(backend, server).await?.is_none() {
        return Ok(Ok(()));
    }
    let running = memory.files.as_ref().and_then(|(_, files)| files.get(config));
    let words = running.and_then(|(_, text)| written(text, backend, server)).unwrap_or_default();
    memory.lingering.insert((backend.to_owned(), server.to_owned()), words);
    api.set_state(backend, server, ServerState::Maint).await
}

/// Tries again to remove servers whose connections may have ended: few at once, for each is several calls, and the next change waits.
pub(crate) async fn sweep(api: &Api, memory: &mut PodMemory) -> Result<(), ApiError> {
    const AT_ONCE: usize = 5;
    let turn = memory.looked % memory.lingering.len().max(1);
    memory.looked = memory.looked.wrapping_add(1);
    let some: Vec<(String, String)> = memory
        .lingering
        .keys()
        .cycle()
        .skip(turn)
        .take(AT_ONCE.min(memory.lingering.len()))
        .cloned()
        .collect();
    for (backend, server) in some {
        let is_gone = api.delete_server(&backend, &server).await?.is_ok()
            || api.server(&backend, &server).await?.is_none();
        if is_gone {
            memory.lingering.remove(&(backend, server));
        }
    }
    Ok(())
}
