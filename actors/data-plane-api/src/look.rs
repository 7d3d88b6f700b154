//! How a pod is, as the Data Plane API tells it.

use crate::{
    client::{Api, Haproxy, HaproxyAnswer, ReloadState},
    error::ApiError,
    files,
    memory::PodMemory,
    record::PodRecord,
};
use haptic_haproxy::{Document, SectionKind, views::servers};
use haptic_model::{
    Layout,
    agent_api::{ChangedFile, LoadedAs, RunningServer, Runtime, Status},
};
use haptic_runtime::cpu;
use haptic_text::pattern_file::map_entries;
use std::collections::BTreeMap;

/// Backends asked for their servers in one look: each is a call.
const BACKENDS: usize = 500;

/// How the pod is. What it runs is what its record says, if its haproxy.cfg is still the one that was recorded.
pub(crate) async fn status(api: &Api, layout: &Layout, memory: &mut PodMemory) -> Result<Status, ApiError> {
    await_reload(api, layout, memory).await?;
    let version = api.version().await?;
    let haproxy = api.haproxy().await?;
    let record = files::read_record(api).await?;
    // Before the content: whoever writes in between is noticed.
    memory.version = Some(api.configuration_version().await?);
    let there = api.raw().await?.map(|raw| raw.digest());
    let is_recorded =
        record.as_ref().is_some_and(|record| Some(record.written) == there && !record.is_cut_short());
    let intact = match &record {
        Some(record) => files::are_intact(api, layout, record, memory).await? && is_recorded,
        None => {
            // What was stored is no longer, or somebody else's.
            memory.stored.clear();
            memory.certificates.clear();
            false
        }
    };
    let (version_text, haproxy_version, alive) = match haproxy {
        HaproxyAnswer::Runs(Haproxy { version, version_text, pid }) => {
            memory.connect(pid);
            (version_text, version, true)
        }
        HaproxyAnswer::Unreached(cause) => {
            tracing::debug!(cause, "the Data Plane API does not reach HAProxy");
            let known = memory.versions.map(|(_, haproxy)| haproxy);
            let known = known.ok_or_else(|| api.without_haproxy(cause))?;
            (known.to_string(), known, false)
        }
    };
    memory.versions = Some((version, haproxy_version));
    memory.is_known = is_recorded;
    let is_behind = record.as_ref().is_some_and(|record| record.ahead.is_some());
    let record = record.map(|record| record.of_worker(memory.worker_pid));
    let running = record.as_ref().map(PodRecord::runs);
    let begun_anew = is_behind && running == record.as_ref().map(|record| record.running);
    if begun_anew {
        memory.files = memory.disk_files.take();
    }
    let setback = match &record {
        Some(record) if !is_recorded => Some(last_failure(record).to_owned()),
        _ => begun_anew.then(|| BEGUN_ANEW.to_owned()),
    };
    let status = Status {
        version: haproxy_version,
        version_text,
        running,
        exact: is_recorded || record.is_none(),
        stored: record.as_ref().map(|record| record.running),
        incarnation: memory.incarnation,
        setback,
        epoch: record.as_ref().map(|record| record.epoch).unwrap_or_default(),
        worker_pid: memory.worker_pid,
        old_workers: 0,
        reloads: memory.reloads,
        alive,
        intact,
        data_plane_api: Some(version),
    };
    memory.record = record;
    Ok(status)
}

/// What became of a reload whose end nobody saw. If it succeeded, the pod's record is completed, so that it is not repeated.
async fn await_reload(api: &Api, layout: &Layout, memory: &mut PodMemory) -> Result<(), ApiError> {
    let Some(awaited) = &memory.awaited else { return Ok(()) };
    let ended = api.reload(&awaited.id).await?;
    if ended == ReloadState::Waits {
        return Err(api.failed("a reload", "it is still under way".to_owned()));
    }
    let Some(awaited) = memory.awaited.take() else { return Ok(()) };
    let (ReloadState::Succeeded(_), Some(pid)) = (ended, api.haproxy().await?.pid()) else { return Ok(()) };
    let is_there = awaited.checksum.is_some()
        && api.raw().await?.is_some_and(|there| there.checksum == awaited.checksum)
        && pid != awaited.before;
    if is_there {
        memory.connect_asked_for(pid);
        memory.runs_and_stores(awaited.record.running.digest, awaited.files);
        let record = PodRecord { worker_pid: pid, ..awaited.record };
        files::write_record(api, layout, memory, record).await?;
    }
    Ok(())
}

/// Why HAProxy is behind what it was brought to.
const BEGUN_ANEW: &str = "HAProxy was restarted and began with the files on disk";

fn last_failure(record: &PodRecord) -> &'static str {
    if record.is_cut_short() {
        "a deployment to the pod was cut short"
    } else {
        "haproxy.cfg on the pod is not the one that was deployed last"
    }
}

/// What HAProxy says of its servers and maps. Of many backends a part is asked for, and of one map after another the entries.
pub(crate) async fn runtime(api: &Api, layout: &Layout, memory: &mut PodMemory) -> Result<Runtime, ApiError> {
    let mut runtime = Runtime::default();
    let bundle = memory.files.clone().map(|(_, files)| files).unwrap_or_default();
    // A controller that did not bring them itself knows no files: it reads what lies there.
    let config = match bundle.get(&layout.config_file) {
        Some((_, text)) => Some(text.clone()),
        None => api.raw().await?.map(|raw| raw.text),
    };
    let backends = cpu("deploy", move || written(&config.unwrap_or_default())).await;
    let backends = backends.map_err(|panicked| ApiError::setup(panicked.to_string()))?;
    memory.looked = memory.looked.wrapping_add(1);
    let windows = backends.len().div_ceil(BACKENDS).max(1);
    let window = memory.looked % windows;
    for (index, (backend, written)) in backends.into_iter().enumerate() {
        if index / BACKENDS != window {
            // Another look's: taken to be as it is written.
            runtime.servers.extend(written);
            continue;
        }
        let weights: BTreeMap<&str, u32> = written.iter().map(|s| (&*s.server, s.weight)).collect();
        let shown = api.servers(&backend).await?;
        // It answers so when it did not reach HAProxy's socket, too: it is believed the second time.
        if shown.is_empty() && !written.is_empty() && memory.doubted.insert(backend.clone()) {
            runtime.servers.extend(written);
            continue;
        }
        if !shown.is_empty() {
            memory.doubted.remove(&backend);
        }
        runtime.servers.extend(shown.into_iter().map(|server| RunningServer {
            backend: backend.clone(),
            address: server.ip(),
            port: server.port,
            // What is not told is no difference.
            weight: server.weight().or_else(|| weights.get(&*server.name).copied()).unwrap_or(1),
            state: server.state(),
            server: server.name,
        }));
    }
    for map in api.maps().await? {
        runtime.maps.extend(map.entries().map(|entries| (map.file, entries)));
    }
    let maps: Vec<&String> = bundle.keys().filter(|path| runtime.maps.contains_key(*path)).collect();
    if let Some(path) = maps.get(memory.looked % maps.len().max(1)).copied() {
        let there = api.entries(path).await?;
        let there: BTreeMap<&str, &str> =
            there.iter().map(|entry| (&*entry.key, shown_value(&entry.value))).collect();
        let text = bundle.get(path).map(|(_, text)| text.to_string()).unwrap_or_default();
        let should: BTreeMap<&str, &str> =
            map_entries(&text).map(|(key, value)| (key, shown_value(value))).collect();
        if there != should {
            let what = "has other entries".to_owned();
            runtime.changed.push(ChangedFile { path: path.clone(), loaded: LoadedAs::Map, what });
        }
    }
    Ok(runtime)
}

/// The API shows values up to their first blank.
pub(crate) fn shown_value(value: &str) -> &str {
    value.split([' ', '\t']).next().unwrap_or_default()
}

/// The servers of each backend, as haproxy.cfg has them.
fn written(config: &str) -> Vec<(String, Vec<RunningServer>)> {
    let document = Document::parse(config);
    let inheritance = document.inheritance();
    let sections = document.sections.iter().enumerate();
    let backends = sections
        .filter(|(_, section)| matches!(section.kind, SectionKind::Backend | SectionKind::Listen))
        .map(|(position, section)| {
            let servers = servers(&document, &inheritance, position);
            let as_written = servers.iter().map(|server| as_written(&section.name, server));
            (section.name.to_string(), as_written.collect())
        });
    backends.collect()
}

fn as_written(backend: &str, server: &haptic_haproxy::views::BackendServer) -> RunningServer {
    use haptic_model::operation::ServerState;
    let weight = server.param("weight").and_then(|values| values.first()?.parse().ok()).unwrap_or(1);
    RunningServer {
        backend: backend.to_owned(),
        server: server.name.clone(),
        address: server.address.parse().ok(),
        port: server.port.unwrap_or_default(),
        weight,
        state: if server.is_disabled() { ServerState::Maint } else { ServerState::Ready },
    }
}
