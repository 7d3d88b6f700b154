//! Stories about what is live before its files are stored: whoever is killed when, what was checked last answers as soon as
//! HAProxy does, and it is known what has to be brought again.

use crate::setting::{
    Backend, Files, Setting, bring, certificate, digest, order, reload, started, tell, until,
};
use haptic_agent::RunningAgent;
use haptic_model::{
    Operation,
    agent_api::{Apply, ChangedFile, LoadedAs, Method, Outcome, Status},
};
use haptic_text::{Content, Patch, patch::Piece};
use rustix::process::{Pid, Signal, kill_process};
use std::time::Duration;

crate::with_each_haproxy! {
    operations_are_live_at_once_and_stored_only_when_told
    a_haproxy_killed_before_the_files_are_stored_begins_with_the_checked_ones
    an_agent_killed_before_the_files_are_stored_knows_what_haproxy_runs
    an_agent_killed_in_the_midst_of_operations_reloads_the_checked_files
    refused_operations_are_mended_by_one_reload
    older_files_can_be_stored_while_newer_ones_are_live
    files_stored_just_after_haproxy_began_anew_are_not_what_it_runs
    what_somebody_changes_through_the_socket_is_shown
    lists_and_certificates_that_somebody_changes_are_shown
}

/// `s1` at one backend, then at two, then at three.
struct Scene {
    setting: Setting,
    agent: RunningAgent,
    backends: [Backend; 3],
    files: [Files; 3],
}

impl Scene {
    /// The first one is stored and runs.
    async fn new(variable: &str) -> Self {
        let (setting, agent) = started(variable).await;
        let backends =
            [Backend::start("one").await, Backend::start("two").await, Backend::start("three").await];
        let files = [0, 1, 2].map(|index: usize| setting.files(&[backends[index].line("s1")]));
        bring(&agent, None, &files[0]).await;
        Self { setting, agent, backends, files }
    }

    fn live(&self, from: usize, to: usize) -> Apply {
        let operations = vec![self.backends[to].replaces("s1")];
        order(Some(&self.files[from]), &self.files[to], Method::Runtime { operations, store: false })
    }

    async fn goes_live(&self, from: usize, to: usize) {
        let outcome = self.agent.apply(self.live(from, to)).await;
        assert!(matches!(outcome, Outcome::Applied { reloaded: false, .. }), "{outcome:?}");
    }

    async fn answer(&self) -> String {
        self.setting.get("/").await.unwrap()
    }

    /// Which of the three runs, and which is stored.
    fn are(&self, status: &Status) -> (Option<usize>, Option<usize>) {
        let which = |running: Option<haptic_model::agent_api::Running>| {
            self.files.iter().position(|files| Some(digest(files)) == running.map(|running| running.digest))
        };
        (which(status.running), which(status.stored))
    }

    /// The agent is killed; the next one finds HAProxy as it is.
    async fn next_agent(self) -> Self {
        let Self { setting, agent, backends, files } = self;
        drop(agent);
        let agent = setting.agent().await;
        Self { setting, agent, backends, files }
    }
}

fn store(base: &Files, files: &Files) -> Apply {
    order(Some(base), files, Method::Store)
}

async fn operations_are_live_at_once_and_stored_only_when_told(variable: &str) {
    let scene = Scene::new(variable).await;
    let worker = scene.agent.status().await.worker_pid;
    // Only what differs travels.
    let mut apply = scene.live(0, 1);
    let old = &scene.files[0]["haproxy.cfg"];
    let same = old.bytes().zip(scene.files[1]["haproxy.cfg"].bytes()).take_while(|(a, b)| a == b).count();
    let patch = Patch {
        of: haptic_text::Digest::of(old.as_bytes()),
        pieces: vec![Piece::Keep(0, same), Piece::Put(scene.files[1]["haproxy.cfg"][same..].to_owned())],
    };
    apply.since = Some(digest(&scene.files[0]));
    apply.files.retain(|path, _| path == "haproxy.cfg");
    apply.contents.insert("haproxy.cfg".to_owned(), Content::Patch(patch));
    let outcome = scene.agent.apply(apply).await;
    assert!(matches!(outcome, Outcome::Applied { reloaded: false, .. }), "{outcome:?}");
    assert_eq!(scene.answer().await, "two");
    let status = scene.agent.status().await;
    assert_eq!((scene.are(&status), status.exact), ((Some(1), Some(0)), true));
    assert_eq!(scene.agent.bundle().await.unwrap().files, scene.files[1], "what is live can be read");
    let on_disk = scene.setting.dir.path().join("d/current/haproxy.cfg");
    assert_eq!(std::fs::read_to_string(&on_disk).unwrap(), scene.files[0]["haproxy.cfg"]);

    let mut apply = store(&scene.files[0], &scene.files[1]);
    apply.contents.clear();
    let outcome = scene.agent.apply(apply).await;
    assert!(matches!(outcome, Outcome::Applied { reloaded: false, .. }), "{outcome:?}");
    let status = scene.agent.status().await;
    assert_eq!((scene.are(&status), status.worker_pid), ((Some(1), Some(1)), worker));
    assert_eq!(std::fs::read_to_string(on_disk).unwrap(), scene.files[1]["haproxy.cfg"]);
    assert!(!scene.setting.dir.path().join("d/live.json").exists());
    scene.agent.stop(false).await;
}

async fn a_haproxy_killed_before_the_files_are_stored_begins_with_the_checked_ones(variable: &str) {
    let scene = Scene::new(variable).await;
    scene.goes_live(0, 1).await;
    let before = scene.agent.status().await;
    let handle = scene.agent.handle();
    let told = tokio::spawn(async move { handle.incarnation(before.incarnation).await });
    kill_process(Pid::from_raw(i32::try_from(before.worker_pid).unwrap()).unwrap(), Signal::KILL).unwrap();
    let anew = tokio::time::timeout(Duration::from_secs(20), told).await.expect("it is told").unwrap();
    assert_ne!(anew.incarnation, before.incarnation);
    let status = scene.agent.status().await;
    assert_eq!((scene.are(&status), status.exact), ((Some(0), Some(0)), true));
    assert!(status.setback.unwrap().contains("restarted"));
    assert_eq!(scene.answer().await, "one");
    let late = scene.agent.apply(scene.live(1, 2)).await;
    assert_eq!(late, Outcome::Conflict { running: Some(digest(&scene.files[0])) });
    scene.goes_live(0, 1).await;
    assert_eq!(scene.answer().await, "two");
    assert_eq!(scene.agent.status().await.setback, None);
    scene.agent.stop(false).await;
}

async fn an_agent_killed_before_the_files_are_stored_knows_what_haproxy_runs(variable: &str) {
    let scene = Scene::new(variable).await;
    scene.goes_live(0, 1).await;
    let worker = scene.agent.status().await.worker_pid;
    let scene = scene.next_agent().await;
    let status = scene.agent.status().await;
    assert_eq!((scene.are(&status), status.exact), ((Some(1), Some(0)), true));
    assert_eq!((status.worker_pid, status.reloads), (worker, 0));
    let known = scene.agent.bundle().await.unwrap().files;
    assert_eq!(known, scene.files[0], "the contents of what is live went with the agent before");
    scene.goes_live(1, 2).await;
    assert_eq!(scene.answer().await, "three");
    let outcome = scene.agent.apply(store(&scene.files[0], &scene.files[2])).await;
    assert!(matches!(outcome, Outcome::Applied { reloaded: false, .. }), "{outcome:?}");
    let status = scene.agent.status().await;
    assert_eq!((scene.are(&status), status.reloads), ((Some(2), Some(2)), 0));
    scene.agent.stop(false).await;
}

async fn an_agent_killed_in_the_midst_of_operations_reloads_the_checked_files(variable: &str) {
    let scene = Scene::new(variable).await;
    scene.goes_live(0, 1).await;
    // As it lies there while operations are under way.
    let record = scene.setting.dir.path().join("d/live.json");
    let text = std::fs::read_to_string(&record).unwrap().replace("\"exact\":true", "\"exact\":false");
    let scene = {
        std::fs::write(&record, text).unwrap();
        scene.next_agent().await
    };
    let status = scene.agent.status().await;
    assert_eq!((scene.are(&status), status.exact), ((Some(0), Some(0)), true));
    assert!(status.setback.unwrap().contains("killed while it changed HAProxy"));
    assert_eq!(scene.answer().await, "one");
    scene.goes_live(0, 1).await;
    assert_eq!(scene.answer().await, "two");
    scene.agent.stop(false).await;
}

async fn refused_operations_are_mended_by_one_reload(variable: &str) {
    let scene = Scene::new(variable).await;
    let mut half = scene.live(0, 1);
    if let Method::Runtime { operations, .. } = &mut half.method {
        let (backend, server) = ("web".to_owned(), "gone".to_owned());
        operations.push(Operation::SetServerWeight { backend, server, weight: 3 });
    }
    let outcome = scene.agent.apply(half).await;
    assert!(matches!(outcome, Outcome::Refused { reload_may_help: true, .. }), "{outcome:?}");
    assert!(!scene.agent.status().await.exact);
    let outcome = scene.agent.apply(scene.live(0, 2)).await;
    assert!(matches!(outcome, Outcome::Refused { reload_may_help: true, .. }), "{outcome:?}");
    let outcome = scene.agent.apply(order(Some(&scene.files[0]), &scene.files[0], reload())).await;
    assert!(matches!(outcome, Outcome::Applied { reloaded: true, .. }), "{outcome:?}");
    let status = scene.agent.status().await;
    assert_eq!((scene.are(&status), status.exact, status.reloads), ((Some(0), Some(0)), true, 2));
    assert_eq!(scene.answer().await, "one");
    scene.agent.stop(false).await;
}

async fn older_files_can_be_stored_while_newer_ones_are_live(variable: &str) {
    let scene = Scene::new(variable).await;
    scene.goes_live(0, 1).await;
    scene.goes_live(1, 2).await;
    let outcome = scene.agent.apply(store(&scene.files[0], &scene.files[1])).await;
    assert!(matches!(outcome, Outcome::Applied { reloaded: false, .. }), "{outcome:?}");
    let status = scene.agent.status().await;
    assert_eq!(scene.are(&status), (Some(2), Some(1)));
    assert_eq!(scene.agent.bundle().await.unwrap().files, scene.files[2]);
    // Back to what was stored first: its text is no longer on disk and still what HAProxy runs.
    scene.goes_live(2, 0).await;
    let outcome = scene.agent.apply(store(&scene.files[1], &scene.files[2])).await;
    assert!(matches!(outcome, Outcome::Applied { reloaded: false, .. }), "{outcome:?}");
    assert_eq!(scene.agent.bundle().await.unwrap().files, scene.files[0]);
    assert_eq!(scene.answer().await, "one");
    let conflict = scene.agent.apply(store(&scene.files[0], &scene.files[1])).await;
    assert_eq!(conflict, Outcome::Conflict { running: Some(digest(&scene.files[2])) });
    scene.agent.stop(false).await;
}

/// The agent looks every quarter of a second: of the rounds some, at least, are between two looks.
async fn files_stored_just_after_haproxy_began_anew_are_not_what_it_runs(variable: &str) {
    let scene = Scene::new(variable).await;
    for _ in 0..5 {
        scene.goes_live(0, 1).await;
        let worker = scene.agent.status().await.worker_pid;
        kill_process(Pid::from_raw(i32::try_from(worker).unwrap()).unwrap(), Signal::KILL).unwrap();
        until("HAProxy runs again", || async {
            scene.setting.get("/").await.is_ok_and(|body| body == "one")
        })
        .await;
        let outcome = scene.agent.apply(store(&scene.files[0], &scene.files[1])).await;
        let status = scene.agent.status().await;
        assert_eq!((scene.answer().await, scene.are(&status).0), ("one".to_owned(), Some(0)), "{outcome:?}");
        bring(&scene.agent, Some(&scene.files[0]), &scene.files[0]).await;
    }
    scene.agent.stop(false).await;
}

async fn what_somebody_changes_through_the_socket_is_shown(variable: &str) {
    let scene = Scene::new(variable).await;
    let before = scene.agent.handle().runtime().await.unwrap();
    assert_eq!(before.maps.get("maps/a.map"), Some(&1));
    let socket = scene.setting.dir.path().join("d/worker.sock");
    assert_eq!(before.changed, []);
    tell(&socket, "set map maps/a.map /map other").await;
    let now = scene.agent.handle().runtime().await.unwrap();
    let changed = ChangedFile {
        path: "maps/a.map".to_owned(),
        loaded: LoadedAs::Map,
        what: "has other entries".to_owned(),
    };
    assert_eq!((now.maps, now.changed), (before.maps, vec![changed]));
    for command in ["set server web/s1 weight 7", "add map maps/a.map /more two"] {
        tell(&socket, command).await;
    }
    until("both are shown", || async {
        let now = scene.agent.handle().runtime().await.unwrap();
        now.maps.get("maps/a.map") == Some(&2)
            && now.servers.iter().any(|s| s.server == "s1" && s.weight == 7)
    })
    .await;
    scene.agent.stop(false).await;
}

async fn lists_and_certificates_that_somebody_changes_are_shown(variable: &str) {
    let (setting, agent) = started(variable).await;
    let one = Backend::start("one").await;
    let mut files = setting.files(&[one.line("s1")]);
    let secured = format!(
        "frontend main\n    bind unix@{}.tls ssl crt ssl/a.pem\n    acl listed path -f ssl/listed.lst\n    http-request deny if listed\n",
        setting.front().display()
    );
    let config = files.get_mut("haproxy.cfg").unwrap();
    *config = config.replace("frontend main\n", &secured);
    files.insert("ssl/listed.lst".to_owned(), "# none\n  /a b \n\n/c\n".to_owned());
    files.insert("ssl/a.pem".to_owned(), certificate("a.example", 2100));
    bring(&agent, None, &files).await;
    let handle = agent.handle();
    let changed = || async { handle.runtime().await.unwrap().changed };
    assert_eq!(changed().await, []);
    let socket = setting.dir.path().join("d/worker.sock");
    tell(&socket, "add acl ssl/listed.lst /d").await;
    // An empty line would end the payload.
    let other = certificate("b.example", 2100);
    let other: String = other.lines().filter(|line| !line.is_empty()).flat_map(|line| [line, "\n"]).collect();
    let said = tell(&socket, &format!("set ssl cert ssl/a.pem <<\n{other}\n")).await;
    assert!(said.contains("Transaction created"), "{said}");
    let said = tell(&socket, "commit ssl cert ssl/a.pem").await;
    assert!(said.contains("Success"), "{said}");
    let found: Vec<_> = changed().await.into_iter().map(|file| (file.path, file.loaded)).collect();
    let both = [("ssl/a.pem", LoadedAs::Certificate), ("ssl/listed.lst", LoadedAs::Acl)];
    assert_eq!(found, both.map(|(path, loaded)| (path.to_owned(), loaded)));
    agent.stop(false).await;
}
