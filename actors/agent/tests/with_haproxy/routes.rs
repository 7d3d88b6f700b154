//! Stories about routes, maps and certificates that come and go without a reload.

use crate::setting::{Backend, Files, Setting, bring, certificate, operate, order, runtime, started, until};
use haptic_model::{Operation, agent_api::Outcome, map_entry};

crate::with_each_haproxy! {
    entries_of_maps_come_change_and_go
    the_longest_entry_of_a_map_comes_changes_and_goes
    a_map_is_replaced_as_a_whole
    certificates_and_their_lines_come_rotate_and_go
    an_entry_that_haproxy_refuses_is_named
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backend_comes_and_goes() {
    whole_backends("HAPTIC_HAPROXY_3_4").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backend_with_requests_goes_when_they_end_and_may_come_back() {
    busy_backend("HAPTIC_HAPROXY_3_4").await;
}

/// A configuration whose backends are chosen by a map, with an empty crt-list.
pub fn files(setting: &Setting, backends: &str, map: &str, others: &[(&str, &str)]) -> Files {
    let config = format!(
        "defaults web\n    mode http\n    timeout connect 2s\n    timeout client 30s\n    timeout server 30s\n    http-reuse never\n\
         frontend main from web\n    bind unix@{}\n    bind unix@{}.tls ssl strict-sni crt-list ssl/list.txt\n    use_backend %[path,map(maps/a.map,none)]\n\
         backend none from web\n    http-request return status 404\n{backends}",
        setting.front().display(),
        setting.front().display(),
    );
    let mut files = Files::from([
        ("haproxy.cfg".to_owned(), config),
        ("maps/a.map".to_owned(), map.to_owned()),
        ("ssl/list.txt".to_owned(), String::new()),
    ]);
    files.extend(others.iter().map(|(path, content)| ((*path).to_owned(), (*content).to_owned())));
    files
}

fn map() -> String {
    "maps/a.map".to_owned()
}

fn add(key: &str, value: &str) -> Operation {
    Operation::AddMapEntry { map: map(), key: key.to_owned(), value: value.to_owned() }
}

async fn entries_of_maps_come_change_and_go(variable: &str) {
    let (setting, agent) = started(variable).await;
    let one = Backend::start("one").await;
    let backends = format!("backend one from web\n    server {}\n", one.line("s1"));
    let empty = files(&setting, &backends, "", &[]);
    let with = |value: &str| files(&setting, &backends, &format!("/x {value}\n"), &[]);
    bring(&agent, None, &empty).await;
    operate(&agent, &empty, &with("one"), [add("/x", "one")]).await;
    assert_eq!(setting.get("/x").await.unwrap(), "one");
    // The same once more, as after an order whose answer was lost: no second entry is made.
    operate(&agent, &with("one"), &with("none"), [add("/x", "none")]).await;
    assert!(setting.get("/x").await.unwrap_err().contains("404"));
    let set = Operation::SetMapEntry { map: map(), key: "/x".to_owned(), value: "one".to_owned() };
    operate(&agent, &with("none"), &with("one"), [set]).await;
    assert_eq!(setting.get("/x").await.unwrap(), "one");
    let gone = Operation::DelMapEntry { map: map(), key: "/x".to_owned() };
    operate(&agent, &with("one"), &empty, [gone.clone()]).await;
    assert!(setting.get("/x").await.unwrap_err().contains("404"));
    operate(&agent, &empty, &files(&setting, &backends, "# empty\n", &[]), [gone]).await;
    agent.stop(false).await;
}

/// Each byte of it has a backslash in commands.
async fn the_longest_entry_of_a_map_comes_changes_and_goes(variable: &str) {
    let (setting, agent) = started(variable).await;
    let long = |letter: &str| letter.repeat(map_entry::LONGEST - 2);
    let with = |values: &[(&str, &str)]| {
        let lines: String = values.iter().map(|(key, value)| format!("{key} {value}\n")).collect();
        files(&setting, "", &lines, &[])
    };
    let [first, second] = [";", "\\"].map(long);
    let (first, second) = (first.as_str(), second.as_str());
    let empty = with(&[]);
    bring(&agent, None, &empty).await;
    operate(&agent, &empty, &with(&[("/x", first)]), [add("/x", first)]).await;
    let set = Operation::SetMapEntry { map: map(), key: "/x".to_owned(), value: second.to_owned() };
    operate(&agent, &with(&[("/x", first)]), &with(&[("/x", second)]), [set]).await;
    let both = with(&[("/x", first), ("/y", second)]);
    let replace = Operation::ReplaceMap { map: map() };
    operate(&agent, &with(&[("/x", second)]), &both, [replace]).await;
    let gone = Operation::DelMapEntry { map: map(), key: "/y".to_owned() };
    operate(&agent, &both, &with(&[("/x", first)]), [gone]).await;
    agent.stop(false).await;
}

async fn a_map_is_replaced_as_a_whole(variable: &str) {
    let (setting, agent) = started(variable).await;
    let one = Backend::start("one").await;
    let backends = format!("backend one from web\n    server {}\n", one.line("s1"));
    let old = files(&setting, &backends, "/old one\n", &[]);
    let many: String = (0..3000).map(|n| format!("/new{n} one\n")).collect();
    let new = files(&setting, &backends, &many, &[]);
    bring(&agent, None, &old).await;
    operate(&agent, &old, &new, [Operation::ReplaceMap { map: map() }]).await;
    assert_eq!(setting.get("/new2999").await.unwrap(), "one");
    assert!(setting.get("/old").await.unwrap_err().contains("404"));
    agent.stop(false).await;
}

async fn certificates_and_their_lines_come_rotate_and_go(variable: &str) {
    let (setting, agent) = started(variable).await;
    let [first, second] = [2100, 2101].map(|year| certificate("a.example", year));
    let without = files(&setting, "", "", &[]);
    let lines = "ssl/a.pem a.example\nssl/a.pem [alpn h2,http/1.1] b.example\n";
    let with = |pem: &str| files(&setting, "", "", &[("ssl/a.pem", pem), ("ssl/list.txt", lines)]);
    let certificate = || "ssl/a.pem".to_owned();
    let list = || "ssl/list.txt".to_owned();
    let each =
        |make: fn(String, String) -> Operation| lines.lines().map(move |line| make(list(), line.to_owned()));
    bring(&agent, None, &without).await;
    let mut come = vec![Operation::AddCertificate { certificate: certificate() }];
    come.extend(each(|list, line| Operation::AddCrtListLine { list, line }));
    operate(&agent, &without, &with(&first), come).await;
    let rotate = vec![Operation::SetCertificate { certificate: certificate() }];
    operate(&agent, &with(&first), &with(&second), rotate).await;
    let mut go: Vec<_> = each(|list, line| Operation::DeleteCrtListLine { list, line }).collect();
    go.push(Operation::DeleteCertificate { certificate: certificate() });
    operate(&agent, &with(&second), &without, go).await;
    assert_eq!(agent.status().await.reloads, 1);
    agent.stop(false).await;
}

async fn an_entry_that_haproxy_refuses_is_named(variable: &str) {
    let (setting, agent) = started(variable).await;
    let old = files(&setting, "", "", &[]);
    let broken = "-----BEGIN CERTIFICATE-----\nsecret\n-----END CERTIFICATE-----\n";
    let broken = format!("{broken}{}", broken.replace("CERTIFICATE", "PRIVATE KEY"));
    let new = files(&setting, "", "/x none\n", &[("ssl/a.pem", &broken)]);
    bring(&agent, None, &old).await;
    let gone = Operation::SetMapEntry {
        map: "maps/gone.map".to_owned(),
        key: "a".to_owned(),
        value: "b".to_owned(),
    };
    let certificate = Operation::AddCertificate { certificate: "ssl/a.pem".to_owned() };
    let missing = Operation::SetCertificate { certificate: "ssl/none.pem".to_owned() };
    for (operation, words) in [
        (gone, "set map maps/gone.map a b"),
        (certificate, "set ssl cert ssl/a.pem: HAProxy answered"),
        (missing, "ssl/none.pem"),
    ] {
        match agent.apply(order(Some(&old), &new, runtime([operation]))).await {
            Outcome::Refused { message, reload_may_help: true } => {
                assert!(message.contains(words) && !message.contains("secret"), "{message}");
            }
            other => panic!("{other:?}"),
        }
        bring(&agent, Some(&old), &old).await;
    }
    agent.stop(false).await;
}

pub fn come(server: &Backend) -> Vec<Operation> {
    let backend = || "shop".to_owned();
    vec![
        Operation::AddBackend { backend: backend(), defaults: "web".to_owned() },
        Operation::AddServer {
            backend: backend(),
            server: "s1".to_owned(),
            address: server.address.to_string(),
            params: Vec::new(),
            enabled: true,
        },
        Operation::PublishBackend { backend: backend() },
        add("/slow", "shop"),
    ]
}

fn go() -> Vec<Operation> {
    let backend = || "shop".to_owned();
    vec![
        Operation::DelMapEntry { map: map(), key: "/slow".to_owned() },
        Operation::UnpublishBackend { backend: backend() },
        Operation::DeleteServer { backend: backend(), server: "s1".to_owned(), params: vec![] },
        Operation::DeleteBackend { backend: backend(), defaults: "web".to_owned() },
    ]
}

async fn whole_backends(variable: &str) {
    let (setting, agent) = started(variable).await;
    let one = Backend::start("one").await;
    let without = files(&setting, "", "", &[]);
    let backends = format!("backend shop from web\n    server {}\n", one.line("s1"));
    let with = files(&setting, &backends, "/slow shop\n", &[]);
    bring(&agent, None, &without).await;
    for _ in 0..3 {
        operate(&agent, &without, &with, come(&one)).await;
        one.release.notify_one();
        assert_eq!(setting.get("/slow").await.unwrap(), "one");
        operate(&agent, &with, &without, go()).await;
        assert!(setting.get("/slow").await.unwrap_err().contains("404"));
        until("the backend is removed", || async { agent.handle().pending_deletions() == 0 }).await;
    }
    assert_eq!(agent.status().await.reloads, 1);
    agent.stop(false).await;
}

async fn busy_backend(variable: &str) {
    let setting = std::sync::Arc::new(Setting::new(variable));
    let agent = setting.agent().await;
    let one = Backend::start("one").await;
    let without = files(&setting, "", "", &[]);
    let backends = format!("backend shop from web\n    server {}\n", one.line("s1"));
    let with = files(&setting, &backends, "/slow shop\n", &[]);
    bring(&agent, None, &with).await;
    let ask = || {
        let setting = setting.clone();
        tokio::spawn(async move { setting.get("/slow").await })
    };
    let slow = ask();
    one.arrived.notified().await;
    operate(&agent, &with, &without, go()).await;
    assert_eq!(agent.handle().pending_deletions(), 2, "the server and its backend");
    operate(&agent, &without, &with, come(&one)).await;
    assert_eq!(agent.handle().pending_deletions(), 0);
    one.release.notify_one();
    assert_eq!(slow.await.unwrap().unwrap(), "one", "the request under way was cut");

    let slow = ask();
    one.arrived.notified().await;
    operate(&agent, &with, &without, go()).await;
    one.release.notify_one();
    assert_eq!(slow.await.unwrap().unwrap(), "one");
    until("the backend is removed", || async { agent.handle().pending_deletions() == 0 }).await;
    assert_eq!(agent.status().await.reloads, 1);
    agent.stop(false).await;
}
