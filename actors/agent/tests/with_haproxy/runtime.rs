//! Stories about changes without a reload.

use crate::setting::{Backend, Setting, bring, digest, operate, order, runtime, started, until};
use haptic_model::{
    Operation,
    agent_api::Outcome,
    operation::{CheckSetting, ServerState},
};
use std::collections::BTreeSet;

crate::with_each_haproxy! {
    a_servers_address_changes_without_a_reload
    servers_come_and_go_without_a_reload
    a_deleted_server_finishes_its_requests_and_can_come_back
    a_server_with_other_parameters_comes_back_only_when_it_is_gone
    a_refused_operation_is_told_and_nothing_is_written
    weight_state_and_maxconn_are_set_and_read_back
    authorities_and_checks_are_set_without_a_reload
    operations_that_cannot_be_noted_are_not_begun
}

fn add(server: &str, to: &Backend, params: &[&str]) -> Operation {
    Operation::AddServer {
        backend: "web".to_owned(),
        server: server.to_owned(),
        address: to.address.to_string(),
        params: params.iter().map(|p| (*p).to_owned()).collect(),
        enabled: true,
    }
}

fn delete(server: &str) -> Operation {
    Operation::DeleteServer { backend: "web".to_owned(), server: server.to_owned(), params: vec![] }
}

async fn answers(setting: &Setting) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    for _ in 0..8 {
        seen.insert(setting.get("/").await.unwrap());
    }
    seen
}

async fn a_servers_address_changes_without_a_reload(variable: &str) {
    let (setting, agent) = started(variable).await;
    let (one, two) = (Backend::start("one").await, Backend::start("two").await);
    let (before, after) = (setting.files(&[one.line("s1")]), setting.files(&[two.line("s1")]));
    bring(&agent, None, &before).await;
    let worker = agent.status().await.worker_pid;
    let outcome = agent.apply(order(Some(&before), &after, runtime([two.replaces("s1")]))).await;
    assert_eq!(outcome, Outcome::Applied { reloaded: false, worker_pid: worker, log: String::new() });
    assert_eq!(setting.get("/").await.unwrap(), "two");
    let status = agent.status().await;
    assert_eq!((status.worker_pid, status.reloads), (worker, 1));
    assert_eq!(status.running.map(|r| r.digest), Some(digest(&after)));
    assert!(status.intact);
    agent.stop(false).await;
}

async fn servers_come_and_go_without_a_reload(variable: &str) {
    let (setting, agent) = started(variable).await;
    let (one, two) = (Backend::start("one").await, Backend::start("two").await);
    let (first, both, second) = (
        setting.files(&[one.line("s1")]),
        setting.files(&[one.line("s1"), format!("{} check", two.line("s2"))]),
        setting.files(&[format!("{} check", two.line("s2"))]),
    );
    bring(&agent, None, &first).await;
    let worker = agent.status().await.worker_pid;
    let outcome = agent.apply(order(Some(&first), &both, runtime([add("s2", &two, &["check"])]))).await;
    assert!(matches!(outcome, Outcome::Applied { reloaded: false, .. }), "{outcome:?}");
    assert_eq!(answers(&setting).await, BTreeSet::from(["one".to_owned(), "two".to_owned()]));

    operate(&agent, &both, &second, [delete("s1")]).await;
    assert_eq!(answers(&setting).await, BTreeSet::from(["two".to_owned()]));
    until("the server is removed", || async { agent.handle().pending_deletions() == 0 }).await;
    assert_eq!(agent.status().await.worker_pid, worker);
    agent.stop(false).await;
}

async fn a_deleted_server_finishes_its_requests_and_can_come_back(variable: &str) {
    let setting = std::sync::Arc::new(Setting::new(variable));
    let agent = setting.agent().await;
    let (one, two) = (Backend::start("one").await, Backend::start("two").await);
    let (both, second) = (setting.files(&[two.line("s2"), one.line("s1")]), setting.files(&[two.line("s2")]));
    let only_one = setting.files(&[one.line("s1")]);
    bring(&agent, None, &only_one).await;
    let slow = {
        let setting = setting.clone();
        tokio::spawn(async move { setting.get("/slow").await })
    };
    one.arrived.notified().await;

    operate(&agent, &only_one, &second, [add("s2", &two, &[]), delete("s1")]).await;
    assert_eq!(agent.handle().pending_deletions(), 1);
    assert_eq!(answers(&setting).await, BTreeSet::from(["two".to_owned()]));

    operate(&agent, &second, &both, [add("s1", &one, &["weight", "1"])]).await;
    assert_eq!(agent.handle().pending_deletions(), 0);
    assert_eq!(answers(&setting).await, BTreeSet::from(["one".to_owned(), "two".to_owned()]));

    operate(&agent, &both, &second, [delete("s1")]).await;
    assert_eq!(agent.handle().pending_deletions(), 1);
    one.release.notify_one();
    assert_eq!(slow.await.unwrap().unwrap(), "one", "the request under way was cut");
    until("the server is removed", || async { agent.handle().pending_deletions() == 0 }).await;
    assert_eq!(agent.status().await.reloads, 1);
    agent.stop(false).await;
}

/// HAProxy has no command that changes them.
async fn a_server_with_other_parameters_comes_back_only_when_it_is_gone(variable: &str) {
    let setting = std::sync::Arc::new(Setting::new(variable));
    let agent = setting.agent().await;
    let (one, two) = (Backend::start("one").await, Backend::start("two").await);
    let (both, second) = (setting.files(&[two.line("s2"), one.line("s1")]), setting.files(&[two.line("s2")]));
    let only_one = setting.files(&[one.line("s1")]);
    bring(&agent, None, &only_one).await;
    let slow = {
        let setting = setting.clone();
        tokio::spawn(async move { setting.get("/slow").await })
    };
    one.arrived.notified().await;
    let operations = runtime([add("s2", &two, &[]), delete("s1")]);
    let outcome = agent.apply(order(Some(&only_one), &second, operations)).await;
    assert!(matches!(outcome, Outcome::Applied { reloaded: false, .. }), "{outcome:?}");
    let outcome = agent.apply(order(Some(&second), &both, runtime([add("s1", &one, &["send-proxy"])]))).await;
    let Outcome::Refused { message, reload_may_help: true } = outcome else { panic!("{outcome:?}") };
    assert!(message.contains("server web/s1 still finishes requests"), "{message}");
    assert_eq!(agent.handle().pending_deletions(), 1);
    assert_eq!(answers(&setting).await, BTreeSet::from(["two".to_owned()]));
    one.release.notify_one();
    assert_eq!(slow.await.unwrap().unwrap(), "one", "the request under way was cut");
    agent.stop(false).await;
}

async fn a_refused_operation_is_told_and_nothing_is_written(variable: &str) {
    let (setting, agent) = started(variable).await;
    let (one, two) = (Backend::start("one").await, Backend::start("two").await);
    let (before, after) = (setting.files(&[one.line("s1")]), setting.files(&[two.line("s1")]));
    bring(&agent, None, &before).await;
    for (operation, words, was_sent) in [
        (two.replaces("gone"), "No such server", true),
        (add("s9", &two, &["nonsense"]), "unknown keyword 'nonsense'", true),
        (add("s9", &two, &["a;b"]), "cannot be given at run time", false),
    ] {
        match agent.apply(order(Some(&before), &after, runtime([operation]))).await {
            Outcome::Refused { message, reload_may_help: true } => {
                assert!(message.contains(words), "{message}")
            }
            other => panic!("{other:?}"),
        }
        let status = agent.status().await;
        assert_eq!(!status.exact, was_sent, "after HAProxy refused something, what it runs is not known");
        assert_eq!(status.running.map(|r| r.digest), Some(digest(&before)));
        bring(&agent, Some(&before), &before).await;
        assert!(agent.status().await.exact);
    }
    assert_eq!(agent.bundle().await.unwrap().files, before);
    agent.stop(false).await;
}

/// As on a full disk.
async fn operations_that_cannot_be_noted_are_not_begun(variable: &str) {
    let (setting, agent) = started(variable).await;
    let (one, two) = (Backend::start("one").await, Backend::start("two").await);
    let (before, after) = (setting.files(&[one.line("s1")]), setting.files(&[two.line("s1")]));
    bring(&agent, None, &before).await;
    let in_the_way = setting.dir.path().join("d/live.new");
    std::fs::create_dir(&in_the_way).unwrap();
    let outcome = agent.apply(order(Some(&before), &after, runtime([two.replaces("s1")]))).await;
    assert!(matches!(outcome, Outcome::Failed { .. }), "{outcome:?}");
    assert_eq!(setting.get("/").await.unwrap(), "one");
    std::fs::remove_dir(&in_the_way).unwrap();
    let outcome = agent.apply(order(Some(&before), &after, runtime([two.replaces("s1")]))).await;
    assert!(matches!(outcome, Outcome::Applied { reloaded: false, .. }), "{outcome:?}");
    assert_eq!(setting.get("/").await.unwrap(), "two");
    agent.stop(false).await;
}

async fn weight_state_and_maxconn_are_set_and_read_back(variable: &str) {
    let (setting, agent) = started(variable).await;
    let (one, two) = (Backend::start("one").await, Backend::start("two").await);
    let before = setting.files(&[one.line("s1"), two.line("s2")]);
    let after = setting.files(&[format!("{} weight 5 maxconn 9", one.line("s1")), two.line("s2")]);
    bring(&agent, None, &before).await;
    let names = |server: &str| ("web".to_owned(), server.to_owned());
    let (backend, server) = names("s1");
    let weight = Operation::SetServerWeight { backend, server, weight: 5 };
    let (backend, server) = names("s1");
    let maxconn = Operation::SetServerMaxconn { backend, server, maxconn: 9 };
    let (backend, server) = names("s2");
    let drain = Operation::SetServerState { backend, server, state: ServerState::Drain };
    operate(&agent, &before, &after, [weight, maxconn, drain]).await;
    assert_eq!(answers(&setting).await, BTreeSet::from(["one".to_owned()]));
    agent.stop(false).await;
}

async fn authorities_and_checks_are_set_without_a_reload(variable: &str) {
    let (setting, agent) = started(variable).await;
    let (one, two) = (Backend::start("one").await, Backend::start("two").await);
    let checked = |more: &str| {
        format!("{} check inter 60s agent-check agent-inter 60s agent-port {more}", one.line("s1"))
    };
    let before = setting.files(&[checked("1")]);
    bring(&agent, None, &before).await;
    let set = |what: CheckSetting, value: &str| Operation::SetServerCheck {
        backend: "web".to_owned(),
        server: "s1".to_owned(),
        setting: what,
        value: value.to_owned(),
    };
    let file = || "ssl/ca.pem".to_owned();
    let port = one.address.port().to_string();
    let tls = ["ssl", "verify", "required", "ca-file", "ssl/ca.pem", "agent-check", "agent-port", "1"];
    let mut after = setting.files(&[checked("2"), two.line("s2")]);
    let key = rcgen::KeyPair::generate().unwrap();
    let authority =
        rcgen::CertificateParams::new(["ca.example".to_owned()]).unwrap().self_signed(&key).unwrap();
    after.insert(file(), authority.pem());
    let operations = [
        Operation::AddCaFile { file: file() },
        set(CheckSetting::CheckPort, &port),
        set(CheckSetting::AgentPort, "2"),
        set(CheckSetting::AgentAddr, "127.0.0.2"),
        set(CheckSetting::AgentSend, "two words"),
        add("s2", &two, &tls),
    ];
    operate(&agent, &before, &after, operations).await;
    let operations =
        [delete("s2"), Operation::SetCaFile { file: file() }, Operation::DeleteCaFile { file: file() }];
    let outcome = agent.apply(order(Some(&after), &before, runtime(operations))).await;
    match outcome {
        Outcome::Refused { message, .. } => {
            assert!(message.contains("is not a file of the order"), "{message}")
        }
        other => panic!("{other:?}"),
    }
    let operations = [delete("s2"), Operation::DeleteCaFile { file: file() }];
    let outcome = agent.apply(order(Some(&after), &before, runtime(operations))).await;
    assert!(matches!(outcome, Outcome::Applied { reloaded: false, .. }), "{outcome:?}");
    agent.stop(false).await;
}
