//! Stories about the connections that the agent keeps to HAProxy, and about what it notices by itself.

use crate::setting::{
    Backend, Neighbour, Setting, attached, bring, get_metric, operate, order, runtime, started, tell, until,
};
use haptic_agent::{Agent, AgentOptions};
use haptic_model::{Operation, agent_api::Outcome};
use rustix::process::{Pid, Signal, kill_process};
use std::{sync::Arc, time::Duration};

crate::with_each_haproxy! {
    no_old_worker_is_kept_alive_by_the_agent
    a_reload_by_someone_else_is_noticed_and_the_new_worker_is_served
    payloads_pass_through_a_master
    an_attached_haproxy_that_is_restarted_is_noticed_within_a_second
    thousands_of_operations_go_in_one_order
    a_haproxy_without_connections_ends_at_once_whatever_was_done_to_it
    a_haproxy_that_somebody_else_ends_is_not_held_up_by_the_agent
}

async fn no_old_worker_is_kept_alive_by_the_agent(variable: &str) {
    let (setting, agent) = started(variable).await;
    let (one, two) = (Backend::start("one").await, Backend::start("two").await);
    let (first, second) = (setting.files(&[one.line("s1")]), setting.files(&[two.line("s1")]));
    bring(&agent, None, &first).await;
    operate(&agent, &first, &second, [two.replaces("s1")]).await;
    bring(&agent, Some(&second), &first).await;
    until("old workers are gone", || async { agent.status().await.old_workers == 0 }).await;
    agent.stop(false).await;
}

async fn a_reload_by_someone_else_is_noticed_and_the_new_worker_is_served(variable: &str) {
    let (setting, agent) = started(variable).await;
    let (one, two) = (Backend::start("one").await, Backend::start("two").await);
    let (first, second) = (setting.files(&[one.line("s1")]), setting.files(&[two.line("s1")]));
    bring(&agent, None, &first).await;
    let outcome = agent.apply(order(Some(&first), &second, runtime([two.replaces("s1")]))).await;
    assert!(matches!(outcome, Outcome::Applied { .. }), "{outcome:?}");
    let before = get_metric(&agent, "haptic_agent_haproxy_worker_changes_total").await;
    let worker = get_metric(&agent, "haptic_agent_haproxy_worker_pid").await;
    let said = tell(&setting.dir.path().join("d/master.sock"), "reload").await;
    assert!(said.contains("Success=1"), "{said}");
    // An order that comes at once meets the new worker.
    let outcome = agent.apply(order(Some(&second), &first, runtime([one.replaces("s1")]))).await;
    assert!(matches!(outcome, Outcome::Applied { .. }), "{outcome:?}");
    assert_eq!(setting.get("/").await.unwrap(), "one");
    assert_eq!(get_metric(&agent, "haptic_agent_haproxy_worker_changes_total").await, before + 1);
    assert_ne!(get_metric(&agent, "haptic_agent_haproxy_worker_pid").await, worker);
    until("old workers are gone", || async { agent.status().await.old_workers == 0 }).await;
    agent.stop(false).await;
}

/// Without the agent's own file, all goes through the master: maps and certificates have payloads.
async fn payloads_pass_through_a_master(variable: &str) {
    let setting = Setting::new(variable);
    let (agent, haproxy) = attached(&setting, false).await;
    let mut first = setting.files(&[]);
    first.insert("maps/a.map".to_owned(), "/map one\n".to_owned());
    bring(&agent, None, &first).await;
    let mut second = first.clone();
    let many: String = (0..3000).map(|n| format!("/map{n} entry {n}\n")).collect();
    second.insert("maps/a.map".to_owned(), many);
    let replace = Operation::ReplaceMap { map: "maps/a.map".to_owned() };
    let outcome = agent.apply(order(Some(&first), &second, runtime([replace]))).await;
    assert!(matches!(outcome, Outcome::Applied { reloaded: false, .. }), "{outcome:?}");
    assert_eq!(setting.get("/map2999").await.unwrap(), "entry 2999");
    let mut third = second.clone();
    third.insert("ssl/new.pem".to_owned(), crate::setting::certificate("a.example", 2100));
    let add = Operation::AddCertificate { certificate: "ssl/new.pem".to_owned() };
    operate(&agent, &second, &third, [add]).await;
    agent.stop(false).await;
    drop(haproxy);
}

async fn an_attached_haproxy_that_is_restarted_is_noticed_within_a_second(variable: &str) {
    let setting = Setting::new(variable);
    let (agent, haproxy) = attached(&setting, true).await;
    let one = Backend::start("one").await;
    let files = setting.files(&[one.line("s1")]);
    bring(&agent, None, &files).await;
    // What the agent writes down by itself: nobody asks it meanwhile.
    let noticed = || std::fs::read_to_string(setting.dir.path().join("d/ledger.json")).unwrap_or_default();
    until("the first worker is noticed", || async { noticed().contains("\"worker\"") }).await;
    let before = noticed();
    drop(haproxy);
    let haproxy = Neighbour::start(&setting, true);
    until("the restart is noticed", || async { noticed() != before }).await;
    // A worker that still reads its files has a process id already.
    until("it answers", || async { setting.get("/").await.is_ok_and(|body| body == "one") }).await;
    until("it is alive", || async { agent.status().await.alive }).await;
    let mut next = files.clone();
    next.insert("maps/a.map".to_owned(), "/map two\n".to_owned());
    bring(&agent, Some(&files), &next).await;
    assert_eq!(setting.get("/map").await.unwrap(), "two");
    agent.stop(false).await;
    drop(haproxy);
}

async fn thousands_of_operations_go_in_one_order(variable: &str) {
    let (setting, agent) = started(variable).await;
    let one = Backend::start("one").await;
    let without = setting.files(&[]);
    let mut with = setting.files(&(0..500).map(|n| one.line(&format!("s{n}"))).collect::<Vec<_>>());
    with.insert("maps/a.map".to_owned(), (0..1000).map(|n| format!("/map{n} entry{n}\n")).collect());
    let add = (0..500).map(|n| Operation::AddServer {
        backend: "web".to_owned(),
        server: format!("s{n}"),
        address: one.address.to_string(),
        params: vec!["weight".to_owned(), "3".to_owned()],
        enabled: true,
    });
    let entries = (0..1000).map(|n| Operation::AddMapEntry {
        map: "maps/a.map".to_owned(),
        key: format!("/map{n}"),
        value: format!("entry{n}"),
    });
    let gone = Operation::DelMapEntry { map: "maps/a.map".to_owned(), key: "/map".to_owned() };
    bring(&agent, None, &without).await;
    let operations = runtime(add.chain(entries).chain([gone]));
    let outcome = agent.apply(order(Some(&without), &with, operations)).await;
    assert!(matches!(outcome, Outcome::Applied { reloaded: false, .. }), "{outcome:?}");
    assert_eq!(setting.get("/").await.unwrap(), "one");
    assert_eq!(setting.get("/map999").await.unwrap(), "entry999");
    assert_eq!(get_metric(&agent, "haptic_agent_operations_total").await, 1501);
    let remove = (0..500)
        .map(|n| Operation::DeleteServer {
            backend: "web".to_owned(),
            server: format!("s{n}"),
            params: vec![],
        })
        .chain(
            (0..1000)
                .map(|n| Operation::DelMapEntry { map: "maps/a.map".to_owned(), key: format!("/map{n}") }),
        );
    let mut empty = without.clone();
    empty.insert("maps/a.map".to_owned(), String::new());
    operate(&agent, &with, &empty, remove).await;
    assert!(setting.get("/").await.is_err());
    agent.stop(false).await;
}

/// Only connections could make it use the time it has.
async fn a_haproxy_without_connections_ends_at_once_whatever_was_done_to_it(variable: &str) {
    let setting = Arc::new(Setting::new(variable));
    let options = AgentOptions { drain: Duration::from_secs(3600), ..setting.options() };
    let agent = Agent::start(options).await.unwrap();
    let (one, two) = (Backend::start("one").await, Backend::start("two").await);
    let with = |servers: &[String], map: &str| {
        let mut files = setting.files(servers);
        files.insert("maps/a.map".to_owned(), map.to_owned());
        files
    };
    let (backend, map) = (|| "web".to_owned(), || "maps/a.map".to_owned());
    let first = with(&[one.line("s1")], "");
    bring(&agent, None, &first).await;
    let slow = {
        let setting = setting.clone();
        tokio::spawn(async move { setting.get("/slow").await })
    };
    one.arrived.notified().await;
    let second = with(&[two.line("s2")], "");
    let (address, params) = (two.address.to_string(), vec!["weight".to_owned(), "3".to_owned()]);
    let add =
        Operation::AddServer { backend: backend(), server: "s2".to_owned(), address, params, enabled: true };
    let delete = Operation::DeleteServer { backend: backend(), server: "s1".to_owned(), params: vec![] };
    operate(&agent, &first, &second, [add, delete]).await;
    one.release.notify_one();
    slow.await.unwrap().unwrap();
    until("the server is removed", || async { agent.handle().pending_deletions() == 0 }).await;
    let third = with(&[two.line("s2")], "/map one\n");
    let (key, value) = ("/map".to_owned(), "one".to_owned());
    operate(&agent, &second, &third, [Operation::AddMapEntry { map: map(), key, value }]).await;
    bring(&agent, Some(&third), &first).await;
    operate(&agent, &first, &with(&[two.line("s1")], ""), [two.replaces("s1")]).await;
    let stopped = tokio::time::timeout(Duration::from_secs(30), agent.stop(true)).await;
    assert!(stopped.is_ok(), "HAProxy waits for something");
    assert!(setting.get("/").await.is_err(), "HAProxy still runs");
}

async fn a_haproxy_that_somebody_else_ends_is_not_held_up_by_the_agent(variable: &str) {
    let setting = Setting::new(variable);
    let (agent, mut haproxy) = attached(&setting, true).await;
    let (one, two) = (Backend::start("one").await, Backend::start("two").await);
    let (first, second) = (setting.files(&[one.line("s1")]), setting.files(&[two.line("s1")]));
    bring(&agent, None, &first).await;
    operate(&agent, &first, &second, [two.replaces("s1")]).await;
    let pid = Pid::from_raw(i32::try_from(haproxy.0.id()).unwrap()).unwrap();
    kill_process(pid, Signal::USR1).unwrap();
    let mut waited = Duration::ZERO;
    while haproxy.0.try_wait().unwrap().is_none() {
        assert!(waited < Duration::from_secs(30), "HAProxy waits for something");
        tokio::time::sleep(Duration::from_millis(10)).await;
        waited += Duration::from_millis(10);
    }
    agent.stop(false).await;
}
