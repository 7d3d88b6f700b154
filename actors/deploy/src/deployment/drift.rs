//! What somebody changed through HAProxy's socket, and how it is set right. Pure: what HAProxy says is compared with what its
//! configuration makes of it.

use crate::planner::RunningView;
use haptic_haproxy::{
    Section, SectionKind,
    block_index::READ_AT_ONCE,
    views::{BackendServer, servers},
};
use haptic_model::{
    Bundle, FileKind, Operation,
    agent_api::{ChangedFile, LoadedAs, RunningServer, Runtime},
    operation::ServerState,
};
use haptic_text::pattern_file::map_entries;
use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PodDifference {
    /// For people: `server shop/a has weight 3, not 1`.
    pub what: String,
    /// What sets it right; without any, a reload does.
    pub repair: Vec<Operation>,
}

/// What differs from what the bundle of `view` makes HAProxy run.
///
/// Left out is what HAProxy changes itself: servers that are named, resolved, made from templates, ruled by an agent-check
/// or following another server, maps and lists that its rules write, and certificates that it renews.
pub(super) fn differences(view: &RunningView, runtime: &Runtime) -> Vec<PodDifference> {
    let Some(bundle) = view.bundle() else { return Vec::new() };
    let mut shown: BTreeMap<&str, BTreeMap<&str, &RunningServer>> = BTreeMap::new();
    for server in &runtime.servers {
        shown.entry(&server.backend).or_default().insert(&server.server, server);
    }
    let (mut found, mut renews) = (Vec::new(), false);
    view.block_index().in_runs(READ_AT_ONCE, |document| {
        renews |= document.sections.iter().any(|section| section.kind == SectionKind::Acme);
        let inheritance = document.inheritance();
        for (position, section) in document.sections.iter().enumerate() {
            if section.kind.has_backend() {
                let there = shown.remove::<str>(&section.name).unwrap_or_default();
                found.extend(of_section(section, &servers(document, &inheritance, position), there));
            }
        }
    });
    found.extend(shown.into_values().flat_map(BTreeMap::into_values).filter_map(of_unknown_server));
    let is_ours = |changed: &&ChangedFile| !(renews && changed.loaded == LoadedAs::Certificate);
    let changed = runtime.changed.iter().filter(is_ours).map(|changed| (&*changed.path, of_changed(changed)));
    // Of a map with more or fewer entries the first difference tells more.
    let files: BTreeMap<&str, PodDifference> = changed.chain(of_maps(bundle, &runtime.maps)).collect();
    found.extend(files.into_iter().filter(|(path, _)| !view.is_rewritten(path)).map(|(_, found)| found));
    found
}

fn of_section(
    section: &Section<'_>,
    servers: &[BackendServer],
    mut there: BTreeMap<&str, &RunningServer>,
) -> Vec<PodDifference> {
    let of_known =
        |server: &BackendServer| of_server(&section.name, server, there.remove::<str>(&server.name));
    let mut found: Vec<PodDifference> = servers.iter().filter_map(of_known).collect();
    if !section.lines.iter().any(|line| line.keyword() == "server-template") {
        found.extend(there.into_values().filter_map(of_unknown_server));
    }
    found
}

fn of_server(backend: &str, server: &BackendServer, shown: Option<&RunningServer>) -> Option<PodDifference> {
    let at = format!("server {backend}/{}", server.name);
    let Some(shown) = shown else {
        return Some(PodDifference { what: format!("{at} is gone"), repair: vec![] });
    };
    let (address, port) = (server.address.parse::<IpAddr>().ok()?, server.port?);
    if server.param("agent-check").is_some() || server.param("track").is_some() {
        return None;
    }
    let weight = server.param("weight").and_then(|values| values.first()?.parse::<u32>().ok()).unwrap_or(1);
    let state = if server.is_disabled() { ServerState::Maint } else { ServerState::Ready };
    let (mut is, mut repair) = (Vec::new(), Vec::new());
    let names = || (backend.to_owned(), server.name.clone());
    if (shown.address, shown.port) != (Some(address), port) {
        let (backend, server) = names();
        is.push(format!("is not at {address} port {port}"));
        repair.push(Operation::SetServerAddress { backend, server, address: address.to_string(), port });
    }
    if shown.weight != weight {
        let (backend, server) = names();
        is.push(format!("has weight {}, not {weight}", shown.weight));
        let weight = u16::try_from(weight).unwrap_or(256);
        repair.push(Operation::SetServerWeight { backend, server, weight });
    }
    if shown.state != state {
        let (backend, server) = names();
        is.push(format!("is in state {:?}, not {state:?}", shown.state).to_lowercase());
        repair.push(Operation::SetServerState { backend, server, state });
    }
    (!is.is_empty()).then(|| PodDifference { what: format!("{at} {}", is.join(" and ")), repair })
}

/// A server of which the configuration says nothing. In maintenance it waits to be removed.
fn of_unknown_server(shown: &RunningServer) -> Option<PodDifference> {
    let what = format!("server {}/{} was added", shown.backend, shown.server);
    (shown.state != ServerState::Maint).then(|| PodDifference {
        what,
        repair: vec![Operation::DeleteServer {
            backend: shown.backend.clone(),
            server: shown.server.clone(),
            params: vec![],
        }],
    })
}

fn of_maps<'a>(
    bundle: &'a Bundle,
    shown: &'a BTreeMap<String, usize>,
) -> impl Iterator<Item = (&'a str, PodDifference)> + 'a {
    let maps = bundle.files.values().filter(|file| file.key.kind == FileKind::Map);
    maps.filter_map(|file| {
        let is = *shown.get(&*file.path)?;
        let should = map_entries(&file.text.to_string()).count();
        let difference = || PodDifference {
            what: format!("map {} has {is} entries, not {should}", file.path),
            repair: vec![Operation::ReplaceMap { map: file.path.to_string() }],
        };
        (is != should).then(|| (&*file.path, difference()))
    })
}

fn of_changed(changed: &ChangedFile) -> PodDifference {
    let path = changed.path.clone();
    let (kind, repair) = match changed.loaded {
        LoadedAs::Map => ("map", vec![Operation::ReplaceMap { map: path }]),
        LoadedAs::Certificate => ("certificate", vec![Operation::SetCertificate { certificate: path }]),
        LoadedAs::Acl => ("acl", vec![]),
    };
    PodDifference { what: format!("{kind} {} {}", changed.path, changed.what), repair }
}

/// All of it in one line, the first ones in full.
pub(super) fn summary(differences: &[PodDifference]) -> String {
    const SHOWN: usize = 3;
    let first: BTreeSet<&str> = differences.iter().take(SHOWN).map(|d| d.what.as_str()).collect();
    let mut line = first.into_iter().collect::<Vec<_>>().join("; ");
    if let Some(more @ 1..) = differences.len().checked_sub(SHOWN) {
        line.push_str(&format!("; and {more} more"));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::{BundleFile, FileKey};
    use haptic_text::Text;

    const CONFIG: &str = "defaults d\n default-server weight 5\nbackend b from d\n server a 10.0.0.1:80\n server off 10.0.0.2:80 disabled\n server named web.example:80\n server agent 10.0.0.3:80 agent-check\n server follower 10.0.0.4:80 track b/a\nbackend e from d\n default-server disabled\n server on 10.0.0.5:80 enabled\n http-request set-map(maps/learned.map) %[src] 1\nbackend t\n server-template x 2 10.0.0.9:80\n";

    fn view() -> RunningView {
        let map = |name: &str, text: &str| {
            BundleFile::new(FileKey::new(FileKind::Map, name), &format!("maps/{name}"), Text::plain(text))
        };
        let config = BundleFile::new(FileKey::config(), "haproxy.cfg", Text::plain(CONFIG));
        let maps = [map("h.map", "# none\na b\n\nc d\n"), map("learned.map", "")];
        RunningView::of(Bundle::new(config, maps))
    }

    fn shown(backend: &str, server: &str, address: &str, weight: u32, state: ServerState) -> RunningServer {
        let (backend, server) = (backend.to_owned(), server.to_owned());
        RunningServer { backend, server, address: address.parse().ok(), port: 80, weight, state }
    }

    fn changed(path: &str, loaded: LoadedAs) -> ChangedFile {
        ChangedFile { path: path.to_owned(), loaded, what: "differs".to_owned() }
    }

    fn right() -> Runtime {
        Runtime {
            servers: vec![
                shown("b", "a", "10.0.0.1", 5, ServerState::Ready),
                shown("b", "off", "10.0.0.2", 5, ServerState::Maint),
                shown("b", "named", "10.7.7.7", 9, ServerState::Ready),
                shown("b", "agent", "10.0.0.3", 77, ServerState::Drain),
                shown("b", "follower", "10.0.0.4", 5, ServerState::Maint),
                shown("e", "on", "10.0.0.5", 5, ServerState::Ready),
                shown("b", "leaving", "10.0.0.8", 1, ServerState::Maint),
                shown("t", "x1", "10.0.0.9", 1, ServerState::Ready),
            ],
            maps: BTreeMap::from([("maps/h.map".to_owned(), 2), ("maps/learned.map".to_owned(), 9)]),
            changed: vec![changed("maps/learned.map", LoadedAs::Map)],
        }
    }

    #[test]
    fn what_is_as_it_should_be_is_no_drift() {
        assert_eq!(differences(&view(), &right()), []);
    }

    #[test]
    fn each_change_by_hand_is_told_with_what_sets_it_right() {
        let mut runtime = right();
        runtime.servers[0] = shown("b", "a", "10.6.6.6", 9, ServerState::Drain);
        runtime.servers.push(shown("b", "mine", "10.0.0.7", 1, ServerState::Ready));
        runtime.maps.insert("maps/h.map".to_owned(), 3);
        let found = differences(&view(), &runtime);
        assert_eq!(
            summary(&found),
            "map maps/h.map has 3 entries, not 2; server b/a is not at 10.0.0.1 port 80 and has weight 9, not 5 and is in state drain, not ready; server b/mine was added"
        );
        let repair: Vec<String> = found.iter().flat_map(|d| &d.repair).map(ToString::to_string).collect();
        assert_eq!(
            repair,
            [
                "set server b/a addr 10.0.0.1 port 80",
                "set server b/a weight 5",
                "set server b/a state Ready",
                "del server b/mine",
                "replace map maps/h.map"
            ]
        );
    }

    #[test]
    fn what_was_loaded_from_files_is_set_right_or_loaded_anew() {
        let mut runtime = right();
        let as_other =
            [("maps/h.map", LoadedAs::Map), ("ssl/a.pem", LoadedAs::Certificate), ("l", LoadedAs::Acl)];
        runtime.changed.extend(as_other.map(|(path, loaded)| changed(path, loaded)));
        let found = differences(&view(), &runtime);
        assert_eq!(summary(&found), "acl l differs; certificate ssl/a.pem differs; map maps/h.map differs");
        let repair: Vec<String> = found.iter().flat_map(|d| &d.repair).map(ToString::to_string).collect();
        assert_eq!(repair, ["replace map maps/h.map", "set ssl cert ssl/a.pem"]);
        let text = format!("{CONFIG}acme ca\n directory https://ca.example\n");
        let config = BundleFile::new(FileKey::config(), "haproxy.cfg", Text::plain(&text));
        let renewing = RunningView::of(Bundle::new(config, []));
        assert!(!summary(&differences(&renewing, &runtime)).contains("certificate"));
    }

    #[test]
    fn a_server_that_is_gone_needs_a_reload() {
        let mut runtime = right();
        runtime.servers.remove(0);
        let found = differences(&view(), &runtime);
        assert_eq!(summary(&found), "server b/a is gone");
        assert!(found[0].repair.is_empty());
    }
}
