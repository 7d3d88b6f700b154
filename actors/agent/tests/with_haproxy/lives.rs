//! Stories about agents and HAProxys that die.

use crate::setting::{
    Backend, Neighbour, Setting, attached, attached_to, bring, digest, operate, order, reload, runtime,
    started, until,
};
use haptic_model::{Operation, agent_api::Outcome};
use rustix::process::{Pid, Signal, kill_process};
use std::sync::Arc;

crate::with_each_haproxy! {
    a_new_agent_takes_over_the_living_haproxy
    a_reload_that_a_killed_agent_began_is_finished
    a_killed_haproxy_comes_back_with_its_bundle
    an_order_that_meets_a_dead_haproxy_is_carried_out
    a_haproxy_killed_amid_a_reload_has_refused_nothing
    a_disk_that_fails_before_haproxy_is_asked_leaves_known_what_it_runs
    a_disk_without_room_keeps_no_haproxy_from_being_started_and_starts_no_second_one
    haproxys_log_stays_short_while_it_runs
    a_bundle_that_haproxy_cannot_start_with_is_taken_back
    a_reload_that_cannot_succeed_is_taken_back_by_the_next_agent
    an_attached_haproxy_does_not_start_again_and_again_with_what_it_refuses
    a_graceful_stop_lets_requests_finish
    an_attached_haproxy_is_served_too
}

fn kill(pid: u32) {
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), Signal::KILL).unwrap();
}

fn master(setting: &Setting) -> u32 {
    std::fs::read_to_string(setting.dir.path().join("d/haproxy.pid")).unwrap().trim().parse().unwrap()
}

async fn a_new_agent_takes_over_the_living_haproxy(variable: &str) {
    let setting = Arc::new(Setting::new(variable));
    let agent = setting.agent().await;
    let one = Backend::start("one").await;
    let files = setting.files(&[one.line("s1")]);
    bring(&agent, None, &files).await;
    let worker = agent.status().await.worker_pid;
    let slow = {
        let setting = setting.clone();
        tokio::spawn(async move { setting.get("/slow").await })
    };
    one.arrived.notified().await;

    drop(agent);
    assert_eq!(setting.get("/").await.unwrap(), "one", "HAProxy ended with its agent");
    let next = setting.agent().await;
    let status = next.status().await;
    assert_eq!((status.worker_pid, status.reloads), (worker, 0));
    assert_eq!(status.running.map(|r| r.digest), Some(digest(&files)));
    assert!(next.handle().ready().await);
    one.release.notify_one();
    assert_eq!(slow.await.unwrap().unwrap(), "one");

    let mut changed = files.clone();
    changed.insert("maps/a.map".to_owned(), "/map two\n".to_owned());
    bring(&next, Some(&files), &changed).await;
    assert_eq!(setting.get("/map").await.unwrap(), "two");
    next.stop(false).await;
    assert!(setting.get("/").await.is_err());
}

async fn a_reload_that_a_killed_agent_began_is_finished(variable: &str) {
    let (setting, agent) = started(variable).await;
    let one = Backend::start("one").await;
    let files = setting.files(&[one.line("s1")]);
    bring(&agent, None, &files).await;
    let worker = agent.status().await.worker_pid;
    drop(agent);
    std::fs::write(setting.dir.path().join("d/reload-pending"), "1").unwrap();
    let next = setting.agent().await;
    assert_ne!(next.status().await.worker_pid, worker);
    assert!(!setting.dir.path().join("d/reload-pending").exists());
    assert_eq!(setting.get("/").await.unwrap(), "one");
    next.stop(false).await;
}

/// As an agent leaves it that is killed in the midst of a reload: another bundle counts, with which HAProxy does not start.
fn amid_a_reload(setting: &Setting) {
    let dir = setting.dir.path().join("d");
    let before = std::fs::read_link(dir.join("current")).unwrap();
    let number: u64 = before.file_name().unwrap().to_str().unwrap().parse().unwrap();
    let home = |number: u64| dir.join(format!("bundles/{number}"));
    let copy = std::process::Command::new("cp").arg("-a").args([home(number), home(number + 1)]).status();
    assert!(copy.unwrap().success());
    std::fs::copy(
        dir.join(format!("bundles/{number}.json")),
        dir.join(format!("bundles/{}.json", number + 1)),
    )
    .unwrap();
    let config = home(number + 1).join("haproxy.cfg");
    std::fs::remove_file(&config).unwrap();
    std::fs::write(config, "frontend web\n    bind no-such-address:1\n").unwrap();
    std::fs::write(dir.join("reload-pending"), number.to_string()).unwrap();
    std::fs::remove_file(dir.join("current")).unwrap();
    std::os::unix::fs::symlink(format!("bundles/{}", number + 1), dir.join("current")).unwrap();
}

async fn a_reload_that_cannot_succeed_is_taken_back_by_the_next_agent(variable: &str) {
    let (setting, agent) = started(variable).await;
    let one = Backend::start("one").await;
    let files = setting.files(&[one.line("s1")]);
    bring(&agent, None, &files).await;
    drop(agent);
    kill(master(&setting));
    until("HAProxy is gone", || async { setting.get("/").await.is_err() }).await;
    amid_a_reload(&setting);
    let next = setting.agent().await;
    until("HAProxy runs again", || async { setting.get("/").await.is_ok_and(|body| body == "one") }).await;
    assert_eq!(next.status().await.running.map(|r| r.digest), Some(digest(&files)));
    next.stop(false).await;
}

async fn an_attached_haproxy_does_not_start_again_and_again_with_what_it_refuses(variable: &str) {
    let setting = Setting::new(variable);
    let (agent, haproxy) = attached(&setting, true).await;
    let one = Backend::start("one").await;
    let files = setting.files(&[one.line("s1")]);
    bring(&agent, None, &files).await;
    drop(agent);
    drop(haproxy);
    amid_a_reload(&setting);
    let next = attached_to(&setting, setting.master()).await;
    let haproxy = Neighbour::start(&setting, true);
    until("HAProxy is found", || async { next.status().await.alive }).await;
    until("it answers", || async { setting.get("/").await.is_ok_and(|body| body == "one") }).await;
    // It may have begun with the other bundle just before: only a reload makes sure.
    assert!(!next.status().await.exact);
    bring(&next, None, &files).await;
    assert!(next.status().await.exact);
    next.stop(false).await;
    drop(haproxy);
}

async fn a_killed_haproxy_comes_back_with_its_bundle(variable: &str) {
    let (setting, agent) = started(variable).await;
    let (one, two) = (Backend::start("one").await, Backend::start("two").await);
    let (files, moved) = (setting.files(&[one.line("s1")]), setting.files(&[two.line("s1")]));
    bring(&agent, None, &files).await;
    operate(&agent, &files, &moved, [two.replaces("s1")]).await;
    for which in ["worker", "master"] {
        let old = agent.status().await.worker_pid;
        kill(if which == "worker" { old } else { master(&setting) });
        until("another worker runs", || async {
            let status = agent.status().await;
            status.alive && status.worker_pid != old
        })
        .await;
        assert_eq!(setting.get("/").await.unwrap(), "two", "after the {which}'s death");
        assert!(agent.handle().ready().await);
    }
    agent.stop(false).await;
}

async fn an_order_that_meets_a_dead_haproxy_is_carried_out(variable: &str) {
    let (setting, agent) = started(variable).await;
    let one = Backend::start("one").await;
    let mut files = setting.files(&[one.line("s1")]);
    bring(&agent, None, &files).await;
    for word in ["two", "three", "four"] {
        let master = master(&setting);
        kill(master);
        let process = std::path::PathBuf::from(format!("/proc/{master}"));
        until("the agent has noticed", || async { !process.exists() }).await;
        let mut next = files.clone();
        next.insert("maps/a.map".to_owned(), format!("/map {word}\n"));
        bring(&agent, Some(&files), &next).await;
        assert_eq!(setting.get("/map").await.unwrap(), word);
        files = next;
    }
    agent.stop(false).await;
}

async fn a_haproxy_killed_amid_a_reload_has_refused_nothing(variable: &str) {
    let setting = Setting::new(variable);
    let agent = Arc::new(setting.agent().await);
    let one = Backend::start("one").await;
    let files = setting.files(&[one.line("s1")]);
    bring(&agent, None, &files).await;
    // It takes long enough to load that the master dies meanwhile, mostly.
    let (mut ran, mut large, mut value) = (files.clone(), files.clone(), String::new());
    for attempt in 0..20 {
        value = format!("v{attempt}");
        large.insert("maps/a.map".to_owned(), (0..300_000).map(|n| format!("/map{n} {value}\n")).collect());
        let log = setting.dir.path().join("d/haproxy.log");
        let said = || std::fs::metadata(&log).unwrap().len();
        let before = said();
        let reloading = {
            let (agent, order) = (agent.clone(), order(Some(&ran), &large, reload()));
            tokio::spawn(async move { agent.apply(order).await })
        };
        until("HAProxy begins to reload", || async { said() > before }).await;
        kill(master(&setting));
        match reloading.await.unwrap() {
            Outcome::Failed { message } => {
                assert!(message.contains("sock"), "{message}");
                break;
            }
            Outcome::Applied { .. } => ran = large.clone(),
            other => panic!("{other:?}"),
        }
        until("HAProxy is back", || async { setting.get("/").await.is_ok() }).await;
    }
    until("HAProxy is back", || async { setting.get("/").await.is_ok() }).await;
    let status = agent.status().await;
    assert!(!status.exact, "nobody knows which of the two it began with: {status:?}");
    bring(&agent, Some(&ran), &large).await;
    assert_eq!(setting.get("/map299999").await.unwrap(), value);
    Arc::into_inner(agent).unwrap().stop(false).await;
}

async fn a_disk_that_fails_before_haproxy_is_asked_leaves_known_what_it_runs(variable: &str) {
    let (setting, agent) = started(variable).await;
    let one = Backend::start("one").await;
    let files = setting.files(&[one.line("s1")]);
    bring(&agent, None, &files).await;
    let worker = agent.status().await.worker_pid;
    let note = setting.dir.path().join("d/reload-pending");
    std::fs::create_dir_all(note.join("in the way")).unwrap();
    let mut next = files.clone();
    next.insert("maps/a.map".to_owned(), "/map two\n".to_owned());
    let outcome = agent.apply(order(Some(&files), &next, reload())).await;
    assert!(matches!(&outcome, Outcome::Failed { message } if message.contains("note")), "{outcome:?}");
    let status = agent.status().await;
    assert!(status.exact && status.worker_pid == worker, "HAProxy was not asked: {status:?}");
    std::fs::remove_dir_all(note).unwrap();
    bring(&agent, Some(&files), &next).await;
    assert_eq!(setting.get("/map").await.unwrap(), "two");
    agent.stop(false).await;
}

/// How many processes run with the configuration of this agent.
fn processes(setting: &Setting) -> usize {
    let ours = setting.dir.path().join("d/agent.cfg");
    let command = |entry: std::fs::DirEntry| std::fs::read_to_string(entry.path().join("cmdline")).ok();
    let commands = std::fs::read_dir("/proc").unwrap().flatten().filter_map(command);
    commands.filter(|command| command.contains(&*ours.to_string_lossy())).count()
}

async fn a_disk_without_room_keeps_no_haproxy_from_being_started_and_starts_no_second_one(variable: &str) {
    let setting = Setting::new(variable);
    let agent = setting.agent().await;
    let one = Backend::start("one").await;
    let files = setting.files(&[one.line("s1")]);
    bring(&agent, None, &files).await;
    let old = agent.status().await.worker_pid;
    kill(master(&setting));
    // Where files are written before they take the place of others.
    for new in ["haproxy.new", "agent.new"] {
        std::fs::create_dir_all(setting.dir.path().join("d").join(new).join("in the way")).unwrap();
    }
    until("another worker runs", || async {
        let status = agent.status().await;
        status.alive && status.worker_pid != old
    })
    .await;
    let mut changed = files.clone();
    changed.insert("maps/a.map".to_owned(), "/map two\n".to_owned());
    bring(&agent, Some(&files), &changed).await;
    until("the worker before has ended", || async { processes(&setting) == 2 }).await;

    drop(agent);
    let next = setting.agent().await;
    assert_eq!(next.status().await.running.map(|r| r.digest), Some(digest(&changed)));
    bring(&next, Some(&changed), &files).await;
    assert_eq!(setting.get("/map").await.unwrap(), "one");
    next.stop(false).await;
    until("none is left", || async { processes(&setting) == 0 }).await;
}

async fn haproxys_log_stays_short_while_it_runs(variable: &str) {
    const LONG: usize = 2 << 20;
    let setting = Setting::new(variable);
    let agent = setting.agent().await;
    let one = Backend::start("one").await;
    let files = setting.files(&[one.line("s1")]);
    bring(&agent, None, &files).await;
    let path = setting.dir.path().join("d/haproxy.log");
    // As old workers do that had ten thousand backends.
    let mut log = std::fs::File::options().append(true).open(&path).unwrap();
    std::io::Write::write_all(&mut log, &vec![b'x'; LONG]).unwrap();
    until("it is short", || async { std::fs::metadata(&path).unwrap().len() < 1 << 20 }).await;
    let mut changed = files.clone();
    changed.insert("maps/a.map".to_owned(), "/map two\n".to_owned());
    bring(&agent, Some(&files), &changed).await;
    until("HAProxy goes on at its new end", || async {
        let said = std::fs::read_to_string(&path).unwrap();
        said.contains("Proxy web stopped") && said.len() < 1 << 20 && !said.contains('\0')
    })
    .await;
    agent.stop(false).await;
}

async fn a_bundle_that_haproxy_cannot_start_with_is_taken_back(variable: &str) {
    let (setting, agent) = started(variable).await;
    let (one, two) = (Backend::start("one").await, Backend::start("two").await);
    let (files, after) = (setting.files(&[one.line("s1")]), setting.files(&[two.line("s1")]));
    bring(&agent, None, &files).await;
    let with_bind = |address: &str| {
        let mut files = files.clone();
        let bind = format!("frontend main\n    bind {address}\n");
        let config = files["haproxy.cfg"].replace("frontend main\n", &bind);
        files.insert("haproxy.cfg".to_owned(), config);
        files
    };
    // What cannot be listened at passes every check of the file, and fails at the start.
    match agent.apply(order(Some(&files), &with_bind("203.0.113.1:80"), reload())).await {
        Outcome::Refused { message, .. } => assert!(message.contains("203.0.113.1:80"), "{message}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(setting.get("/").await.unwrap(), "one");
    assert_eq!(agent.status().await.running.map(|r| r.digest), Some(digest(&files)));
    // Where somebody else listens it is refused before HAProxy meets it.
    let elsewhere = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = elsewhere.local_addr().unwrap();
    let reloads = agent.status().await.reloads;
    match agent.apply(order(Some(&files), &with_bind(&taken.to_string()), reload())).await {
        Outcome::Refused { message, .. } => {
            assert!(message.contains("[haproxy.cfg:") && message.contains(&taken.to_string()), "{message}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!((setting.get("/").await.unwrap(), agent.status().await.reloads), ("one".to_owned(), reloads));
    operate(&agent, &files, &after, [two.replaces("s1")]).await;
    assert_eq!(setting.get("/").await.unwrap(), "two");
    agent.stop(false).await;
}

async fn a_graceful_stop_lets_requests_finish(variable: &str) {
    let setting = Arc::new(Setting::new(variable));
    let agent = setting.agent().await;
    let one = Backend::start("one").await;
    bring(&agent, None, &setting.files(&[one.line("s1")])).await;
    let slow = {
        let setting = setting.clone();
        tokio::spawn(async move { setting.get("/slow").await })
    };
    one.arrived.notified().await;
    let stopping = tokio::spawn(agent.stop(true));
    until("no new requests are taken", || async { setting.get("/").await.is_err() }).await;
    one.release.notify_one();
    assert_eq!(slow.await.unwrap().unwrap(), "one");
    stopping.await.unwrap();
}

async fn an_attached_haproxy_is_served_too(variable: &str) {
    for with_agents_file in [true, false] {
        let setting = Setting::new(variable);
        let agent = attached_to(&setting, setting.master()).await;
        assert!(!agent.status().await.alive, "nothing runs yet");
        let haproxy = Neighbour::start(&setting, with_agents_file);
        until("it is found", || async { agent.status().await.alive }).await;

        let (one, two) = (Backend::start("one").await, Backend::start("two").await);
        let (first, second) = (setting.files(&[one.line("s1")]), setting.files(&[two.line("s2")]));
        bring(&agent, None, &first).await;
        assert_eq!(setting.get("/").await.unwrap(), "one");
        let worker = agent.status().await.worker_pid;
        let operations = [
            Operation::AddServer {
                backend: "web".to_owned(),
                server: "s2".to_owned(),
                address: two.address.to_string(),
                params: vec!["weight".to_owned(), "3".to_owned()],
                enabled: true,
            },
            Operation::DeleteServer { backend: "web".to_owned(), server: "s1".to_owned(), params: vec![] },
        ];
        let outcome = agent.apply(order(Some(&first), &second, runtime(operations))).await;
        assert_eq!(outcome, Outcome::Applied { reloaded: false, worker_pid: worker, log: String::new() });
        assert_eq!(setting.get("/").await.unwrap(), "two");
        let mut bad = second.clone();
        bad.get_mut("haproxy.cfg").unwrap().push_str("    nonsense here\n");
        assert!(matches!(agent.apply(order(Some(&second), &bad, reload())).await, Outcome::Refused { .. }));
        agent.stop(true).await;
        assert_eq!(setting.get("/").await.unwrap(), "two", "an attached HAProxy ended with the agent");
        drop(haproxy);
    }
}
