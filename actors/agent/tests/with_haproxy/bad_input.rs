//! Stories about orders that cannot be carried out, and about a HAProxy that does not behave: bounded time, a clear reason,
//! and what ran before still runs.

use crate::{
    routes,
    setting::{
        Backend, Files, Setting, attached_to, bring, certificate, digest, get_metric, operate, order, reload,
        runtime, started,
    },
};
use haptic_agent::RunningAgent;
use haptic_model::{
    Operation,
    agent_api::{Epoch, Outcome},
};
use haptic_text::Content;
use std::time::{Duration, Instant};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::UnixListener,
};

crate::with_each_haproxy! {
    a_certificate_without_its_key_is_refused_by_name
    an_expired_certificate_is_presented_and_counted
    a_server_name_with_spaces_never_reaches_haproxy
}

async fn refusal(agent: &RunningAgent, base: &Files, target: &Files, operation: Operation) -> String {
    match agent.apply(order(Some(base), target, runtime([operation]))).await {
        Outcome::Refused { message, reload_may_help: true } => message,
        outcome => panic!("{outcome:?}"),
    }
}

async fn a_certificate_without_its_key_is_refused_by_name(variable: &str) {
    let (setting, agent) = started(variable).await;
    let before = routes::files(&setting, "", "", &[]);
    let both = certificate("a.example", 2100);
    let (only, _) = both.split_once("-----BEGIN PRIVATE KEY-----").unwrap();
    let after =
        routes::files(&setting, "", "", &[("ssl/a.pem", only), ("ssl/list.txt", "ssl/a.pem a.example\n")]);
    bring(&agent, None, &before).await;
    let worker = agent.status().await.worker_pid;
    let add = Operation::AddCertificate { certificate: "ssl/a.pem".to_owned() };
    let message = refusal(&agent, &before, &after, add).await;
    assert!(message.contains("ssl/a.pem") && message.contains("no private key"), "{message}");
    // The reload that may help does not: HAProxy says so in its own words.
    match agent.apply(order(Some(&before), &after, reload())).await {
        Outcome::Refused { message, reload_may_help: false } => {
            assert!(message.contains("ssl/a.pem"), "{message}")
        }
        outcome => panic!("{outcome:?}"),
    }
    assert_eq!(agent.status().await.worker_pid, worker);
    agent.stop(false).await;
}

async fn an_expired_certificate_is_presented_and_counted(variable: &str) {
    let (setting, agent) = started(variable).await;
    let before = routes::files(&setting, "", "", &[]);
    let pem = certificate("a.example", 2020);
    let after = routes::files(&setting, "", "", &[("ssl/a.pem", &pem)]);
    bring(&agent, None, &before).await;
    let add = Operation::AddCertificate { certificate: "ssl/a.pem".to_owned() };
    operate(&agent, &before, &after, [add]).await;
    assert_eq!(get_metric(&agent, "haptic_agent_expired_certificates_total").await, 1);
    agent.stop(false).await;
}

async fn a_server_name_with_spaces_never_reaches_haproxy(variable: &str) {
    let (setting, agent) = started(variable).await;
    let one = Backend::start("one").await;
    let (before, after) = (setting.files(&[]), setting.files(&[one.line("s1")]));
    bring(&agent, None, &before).await;
    let add = |server: &str| Operation::AddServer {
        backend: "web".to_owned(),
        server: server.to_owned(),
        address: one.address.to_string(),
        params: Vec::new(),
        enabled: true,
    };
    let outcome =
        agent.apply(order(Some(&before), &after, runtime([add("s1"), add("a b; shutdown sessions")]))).await;
    match outcome {
        Outcome::Refused { message, .. } => {
            assert!(message.contains("is not a name that HAProxy takes"), "{message}");
            assert!(message.ends_with("HAProxy was sent nothing"), "{message}");
        }
        outcome => panic!("{outcome:?}"),
    }
    let status = agent.status().await;
    assert!(status.exact && status.setback.is_none(), "{status:?}");
    assert_eq!(status.running.map(|running| running.digest), Some(digest(&before)));
    assert!(setting.get("/").await.is_err(), "the first of the order was carried out");
    assert_eq!(get_metric(&agent, "haptic_agent_operations_failed_total").await, 1);
    let right = agent.apply(order(Some(&before), &after, runtime([add("s1")]))).await;
    assert!(matches!(right, Outcome::Applied { reloaded: false, .. }), "{right:?}");
    assert_eq!(setting.get("/").await.unwrap(), "one");
    agent.stop(false).await;
}

/// A million entries are 14 MB: more than the agent ever keeps at once of what HAProxy shows.
#[tokio::test(flavor = "multi_thread")]
async fn a_map_of_a_million_entries_is_replaced_in_bounded_time() {
    let (setting, agent) = started("HAPTIC_HAPROXY_3_4").await;
    let one = Backend::start("one").await;
    let before = setting.files(&[one.line("s1")]);
    let mut after = before.clone();
    after.insert("maps/a.map".to_owned(), (0..1_000_000).map(|n| format!("/map{n} v{n}\n")).collect());
    bring(&agent, None, &before).await;
    let replace = Operation::ReplaceMap { map: "maps/a.map".to_owned() };
    let begun = Instant::now();
    let outcome = agent.apply(order(Some(&before), &after, runtime([replace]))).await;
    assert!(matches!(outcome, Outcome::Applied { reloaded: false, .. }), "{outcome:?}");
    assert!(begun.elapsed() < Duration::from_secs(240), "it took {:?}", begun.elapsed());
    assert_eq!(setting.get("/map999999").await.unwrap(), "v999999");
    agent.stop(false).await;
}

/// Another content than the order's digest names.
fn other_content() -> Content {
    Content::Whole("/map other\n".to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn after_operations_whose_files_are_not_what_their_digests_say_a_reload_is_asked_for() {
    let (setting, agent) = started("HAPTIC_HAPROXY_3_4").await;
    let [one, two] = [Backend::start("one").await, Backend::start("two").await];
    let [first, second] = [&one, &two].map(|backend| setting.files(&[backend.line("s1")]));
    bring(&agent, None, &first).await;
    let mut wrong = order(Some(&first), &second, runtime([two.replaces("s1")]));
    wrong.contents.insert("haproxy.cfg".to_owned(), other_content());
    match agent.apply(wrong).await {
        Outcome::Refused { message, reload_may_help: true } => {
            assert!(message.contains("\"haproxy.cfg\" is not what its digest says"), "{message}");
        }
        outcome => panic!("{outcome:?}"),
    }
    let status = agent.status().await;
    assert!(!status.exact && status.stored.map(|stored| stored.digest) == Some(digest(&first)), "{status:?}");
    bring(&agent, Some(&first), &second).await;
    assert_eq!(setting.get("/").await.unwrap(), "two");
    assert!(agent.status().await.exact);
    agent.stop(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_no_operation_is_needed_a_content_that_is_not_what_its_digest_says_changes_nothing() {
    let (setting, agent) = started("HAPTIC_HAPROXY_3_4").await;
    let first = setting.files(&[]);
    let mut second = first.clone();
    second.get_mut("haproxy.cfg").unwrap().push_str("# nothing else\n");
    bring(&agent, None, &first).await;
    let right = order(Some(&first), &second, runtime([]));
    let mut wrong = right.clone();
    wrong.contents.insert("haproxy.cfg".to_owned(), other_content());
    let outcome = agent.apply(wrong).await;
    assert!(matches!(outcome, Outcome::Failed { .. }), "{outcome:?}");
    assert!(agent.status().await.exact);
    assert!(matches!(agent.apply(right).await, Outcome::Applied { reloaded: false, .. }));
    agent.stop(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_content_that_is_not_what_its_digest_says_never_reaches_haproxy() {
    let (setting, agent) = started("HAPTIC_HAPROXY_3_4").await;
    let first = setting.files(&[]);
    let mut second = first.clone();
    second.insert("maps/a.map".to_owned(), "/map second\n".to_owned());
    bring(&agent, None, &first).await;
    let right =
        order(Some(&first), &second, runtime([Operation::ReplaceMap { map: "maps/a.map".to_owned() }]));
    let mut wrong = right.clone();
    wrong.contents.insert("maps/a.map".to_owned(), other_content());
    match agent.apply(wrong).await {
        Outcome::Failed { message } => assert!(message.contains("is not what its digest says"), "{message}"),
        outcome => panic!("{outcome:?}"),
    }
    let status = agent.status().await;
    assert!(
        status.exact && status.running.map(|running| running.digest) == Some(digest(&first)),
        "{status:?}"
    );
    assert!(!setting.get("/map").await.is_ok_and(|answer| answer == "other"));
    assert!(matches!(agent.apply(right).await, Outcome::Applied { reloaded: false, .. }));
    assert_eq!(setting.get("/map").await.unwrap(), "second");
    agent.stop(false).await;
}

/// A HAProxy that answers everything with `answer`.
async fn with_a_strange_haproxy(answer: &'static [u8]) {
    let setting = Setting::new("HAPTIC_HAPROXY_3_4");
    let socket = setting.dir.path().join("m.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let haproxy = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _written = stream.write_all(answer).await;
            let _asked = stream.read_to_end(&mut Vec::new()).await;
        }
    });
    let agent = attached_to(&setting, socket).await;
    let files = setting.files(&[]);
    for method in [reload(), runtime([])] {
        let begun = Instant::now();
        match agent.apply(order(None, &files, method)).await {
            Outcome::Failed { message } => assert!(message.contains("m.sock"), "{message}"),
            outcome => panic!("{outcome:?}"),
        }
        assert!(begun.elapsed() < Duration::from_secs(200), "it took {:?}", begun.elapsed());
    }
    let status = agent.status().await;
    assert!(!status.alive && status.running.is_none(), "{status:?}");
    assert!(!agent.handle().ready().await);
    agent.stop(false).await;
    haproxy.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_haproxy_that_answers_garbage_is_told_with_its_socket() {
    with_a_strange_haproxy(b"HTTP/1.0 418 I am a teapot\r\n\r\n").await;
}

/// On one thread, orders begin in the order in which they are given.
#[tokio::test]
async fn an_order_of_an_older_leader_that_waits_when_a_newer_one_speaks_is_refused() {
    let (setting, agent) = started("HAPTIC_HAPROXY_3_4").await;
    let one = Backend::start("one").await;
    let first = setting.files(&[one.line("s1")]);
    bring(&agent, None, &first).await;
    let step = |base: &Files, word: &str, transitions: i64| {
        let mut files = base.clone();
        files.insert("maps/a.map".to_owned(), format!("/map {word}\n"));
        let mut order = order(Some(base), &files, reload());
        order.epoch = Epoch { lease_created: 1, transitions };
        (files, order)
    };
    let (second, slow) = step(&first, "slow", 1);
    let ((_, old), (newest, new)) = (step(&second, "old", 1), step(&second, "new", 2));
    let handles = [agent.handle(), agent.handle(), agent.handle()];
    let (slow, old, new) = tokio::join!(handles[0].apply(slow), handles[1].apply(old), handles[2].apply(new));
    assert!(matches!(slow, Outcome::Applied { .. }), "{slow:?}");
    assert!(matches!(old, Outcome::Stale { .. }), "{old:?}");
    assert!(matches!(new, Outcome::Applied { .. }), "{new:?}");
    assert_eq!(agent.status().await.running.map(|r| r.digest), Some(digest(&newest)));
    agent.stop(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_controllers_at_once_the_newer_leader_wins() {
    let (setting, agent) = started("HAPTIC_HAPROXY_3_4").await;
    let one = Backend::start("one").await;
    let first = setting.files(&[one.line("s1")]);
    bring(&agent, None, &first).await;
    let with = |word: &str, transitions: i64| {
        let mut files = first.clone();
        files.insert("maps/a.map".to_owned(), format!("/map {word}\n"));
        let mut order = order(Some(&first), &files, reload());
        order.epoch = Epoch { lease_created: 1, transitions };
        (files, order)
    };
    let ((_, old), (new_files, new)) = (with("old", 1), with("new", 2));
    let handles = [agent.handle(), agent.handle()];
    let (old, new) = tokio::join!(handles[0].apply(old.clone()), handles[1].apply(new));
    // Either came first; the old one's order never comes after the new one's.
    match (&old, &new) {
        (Outcome::Stale { .. }, Outcome::Applied { .. }) => {
            assert_eq!(agent.status().await.running.map(|r| r.digest), Some(digest(&new_files)));
        }
        (Outcome::Applied { .. }, Outcome::Conflict { .. }) => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(agent.status().await.epoch, Epoch { lease_created: 1, transitions: 2 });
    let (_, late) = with("late", 1);
    assert!(matches!(agent.apply(late).await, Outcome::Stale { .. }));
    agent.stop(false).await;
}
