//! Stories about files and reloads.

use crate::setting::{Backend, bring, digest, order, reload, started, whole};
use haptic_model::agent_api::{Epoch, Outcome};

crate::with_each_haproxy! {
    the_first_bundle_makes_it_ready_and_serves
    a_failed_reload_is_rolled_back_and_told_in_haproxys_words
    conflicts_stale_leaders_and_missing_contents_are_told_apart
    the_same_order_again_changes_nothing
    a_file_changed_by_hand_is_noticed_and_repaired
    a_folder_that_is_unchanged_is_shared_and_old_files_go
}

async fn the_first_bundle_makes_it_ready_and_serves(variable: &str) {
    let (setting, agent) = started(variable).await;
    let one = Backend::start("one").await;
    let before = agent.status().await;
    assert!(before.alive && before.running.is_none() && before.intact, "{before:?}");
    assert!(!agent.handle().ready().await);

    let files = setting.files(&[one.line("s1")]);
    bring(&agent, None, &files).await;
    assert!(agent.handle().ready().await);
    assert_eq!(setting.get("/").await.unwrap(), "one");
    assert_eq!(setting.get("/map").await.unwrap(), "one");

    let status = agent.status().await;
    assert_eq!(status.running.as_ref().map(|r| r.digest), Some(digest(&files)));
    assert_eq!(status.reloads, 1);
    assert!(status.alive && status.intact && status.worker_pid != before.worker_pid, "{status:?}");
    assert!(variable.ends_with(&status.version.to_string().replace('.', "_")), "{status:?}");
    assert_eq!(agent.bundle().await.unwrap().files, files);
    agent.stop(false).await;
    assert!(setting.get("/").await.is_err(), "HAProxy still answers after the agent's end");
}

async fn a_failed_reload_is_rolled_back_and_told_in_haproxys_words(variable: &str) {
    let (setting, agent) = started(variable).await;
    let one = Backend::start("one").await;
    let good = setting.files(&[one.line("s1")]);
    bring(&agent, None, &good).await;
    let worker = agent.status().await.worker_pid;

    let mut bad = good.clone();
    bad.get_mut("haproxy.cfg").unwrap().push_str("    nonsense here\n");
    match agent.apply(order(Some(&good), &bad, reload())).await {
        Outcome::Refused { message, reload_may_help } => {
            assert!(!reload_may_help);
            assert!(
                message.starts_with("parsing [haproxy.cfg:") && message.contains("'nonsense'"),
                "{message}"
            );
            assert_eq!(message.lines().count(), 1, "{message}");
        }
        other => panic!("{other:?}"),
    }
    let status = agent.status().await;
    assert_eq!(status.running.map(|r| r.digest), Some(digest(&good)));
    assert_eq!((status.worker_pid, status.reloads), (worker, 1));
    assert!(status.intact);
    assert_eq!(setting.get("/").await.unwrap(), "one");

    // Again and again: a failure must not get in the way of what comes later.
    let mut last = good;
    for (count, word) in ["two", "three", "four"].into_iter().enumerate() {
        let mut better = last.clone();
        better.insert("maps/a.map".to_owned(), format!("/map {word}\n"));
        bring(&agent, Some(&last), &better).await;
        assert_eq!(setting.get("/map").await.unwrap(), word);
        assert_eq!(agent.status().await.reloads, count as u64 + 2);
        if word == "three" {
            let outcome = agent.apply(order(Some(&better), &bad, reload())).await;
            assert!(matches!(outcome, Outcome::Refused { .. }), "{outcome:?}");
        }
        last = better;
    }
    agent.stop(false).await;
}

async fn conflicts_stale_leaders_and_missing_contents_are_told_apart(variable: &str) {
    let (setting, agent) = started(variable).await;
    let one = Backend::start("one").await;
    let files = setting.files(&[one.line("s1")]);
    bring(&agent, None, &files).await;
    let mut next = files.clone();
    next.insert("maps/a.map".to_owned(), "/map two\n".to_owned());

    let conflict = agent.apply(order(Some(&next), &setting.files(&[]), reload())).await;
    assert_eq!(conflict, Outcome::Conflict { running: Some(digest(&files)) });

    let mut without = order(Some(&files), &next, reload());
    without.contents.clear();
    assert_eq!(agent.apply(without).await, Outcome::Missing { paths: vec!["maps/a.map".to_owned()] });

    let newer = Epoch { lease_created: 1, transitions: 2 };
    let mut by_a_newer_leader = order(Some(&files), &next, reload());
    by_a_newer_leader.epoch = newer;
    assert!(matches!(agent.apply(by_a_newer_leader).await, Outcome::Applied { .. }));
    assert_eq!(agent.apply(order(Some(&next), &files, reload())).await, Outcome::Stale { epoch: newer });

    let mut escaping = order(Some(&next), &next, reload());
    escaping.epoch = newer;
    escaping.files.insert("../escape".to_owned(), Some(digest(&files)));
    let refused = agent.apply(escaping).await;
    assert!(matches!(&refused, Outcome::Failed { message } if message.contains("../escape")), "{refused:?}");

    drop(agent);
    let restarted = setting.agent().await;
    assert_eq!(restarted.status().await.epoch, newer, "leadership is forgotten over a restart");
    restarted.stop(false).await;
}

async fn the_same_order_again_changes_nothing(variable: &str) {
    let (setting, agent) = started(variable).await;
    let one = Backend::start("one").await;
    let files = setting.files(&[one.line("s1")]);
    let first = order(None, &files, reload());
    assert!(matches!(agent.apply(first.clone()).await, Outcome::Applied { reloaded: true, .. }));
    let worker = agent.status().await.worker_pid;
    let again = agent.apply(first).await;
    assert_eq!(again, Outcome::Applied { reloaded: false, worker_pid: worker, log: String::new() });
    agent.stop(false).await;
}

async fn a_file_changed_by_hand_is_noticed_and_repaired(variable: &str) {
    let (setting, agent) = started(variable).await;
    let one = Backend::start("one").await;
    let files = setting.files(&[one.line("s1")]);
    bring(&agent, None, &files).await;
    let map = setting.dir.path().join("d/current/maps/a.map");

    std::fs::write(&map, "/map hacked\n").unwrap();
    assert!(!agent.status().await.intact);
    let mut repair = order(Some(&files), &files, reload());
    assert_eq!(agent.apply(repair.clone()).await, Outcome::Missing { paths: vec!["maps/a.map".to_owned()] });
    repair.contents = whole(&files);
    assert!(matches!(agent.apply(repair.clone()).await, Outcome::Applied { reloaded: true, .. }));
    assert!(agent.status().await.intact);
    assert_eq!(setting.get("/map").await.unwrap(), "one");

    std::fs::remove_file(&map).unwrap();
    let elsewhere = setting.dir.path().join("elsewhere");
    std::fs::write(&elsewhere, "/map one\n").unwrap();
    std::os::unix::fs::symlink(&elsewhere, &map).unwrap();
    assert!(!agent.status().await.intact, "a link to elsewhere is taken for the file");
    assert!(agent.bundle().await.is_err(), "a link to elsewhere is followed");
    assert!(matches!(agent.apply(repair).await, Outcome::Applied { reloaded: true, .. }));
    assert!(agent.status().await.intact);
    assert_eq!(
        std::fs::read_to_string(elsewhere).unwrap(),
        "/map one\n",
        "something outside the folder was written"
    );
    agent.stop(false).await;
}

async fn a_folder_that_is_unchanged_is_shared_and_old_files_go(variable: &str) {
    let (setting, agent) = started(variable).await;
    let one = Backend::start("one").await;
    let first = setting.files(&[one.line("s1")]);
    bring(&agent, None, &first).await;
    let ssl = || std::fs::canonicalize(setting.dir.path().join("d/current/ssl")).unwrap();
    let before = ssl();
    let mut second = first.clone();
    second.insert("maps/a.map".to_owned(), "/map two\n".to_owned());
    bring(&agent, Some(&first), &second).await;
    assert_eq!(ssl(), before);
    second.remove("ssl/other.txt");
    let mut third = second.clone();
    third.insert("maps/b.map".to_owned(), "x y\n".to_owned());
    let outcome = agent
        .apply(order(
            Some(&{
                let mut s = second.clone();
                s.insert("ssl/other.txt".into(), "unused\n".into());
                s
            }),
            &third,
            reload(),
        ))
        .await;
    assert!(matches!(outcome, Outcome::Applied { .. }), "{outcome:?}");
    let dir = setting.dir.path().join("d");
    crate::setting::until("old bundles are gone", || async {
        let count = |name: &str| std::fs::read_dir(dir.join(name)).unwrap().count();
        // The bundle and its record, and the bootstrap file; the folder of maps.
        (count("bundles"), count("trees")) == (3, 1)
    })
    .await;
    assert_eq!(agent.bundle().await.unwrap().files, third);
    agent.stop(false).await;
}
