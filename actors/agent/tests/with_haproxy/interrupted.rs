//! Stories about agents that are killed in the midst of something, with a HAProxy that lives on.

use crate::{
    routes,
    setting::{Backend, Setting, bring, certificate, operate, order, runtime, started, tell, until},
};
use haptic_model::{Operation, agent_api::Outcome};
use std::{path::Path, process::Command, sync::Arc};

crate::with_each_haproxy! {
    an_order_whose_files_were_never_written_is_carried_out_again_without_a_reload
    a_removal_goes_on_with_the_next_agent
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backend_that_a_killed_agent_added_is_known_to_the_next() {
    let (setting, agent) = started("HAPTIC_HAPROXY_3_4").await;
    let one = Backend::start("one").await;
    let without = routes::files(&setting, "", "", &[]);
    let backends = format!("backend shop from web\n    server {}\n", one.line("s1"));
    let with = routes::files(&setting, &backends, "/slow shop\n", &[]);
    bring(&agent, None, &without).await;
    let disk = Disk::save(&setting);
    operate(&agent, &without, &with, routes::come(&one)).await;
    drop(agent);
    disk.restore().await;
    let next = setting.agent().await;
    operate(&next, &without, &with, routes::come(&one)).await;
    one.release.notify_one();
    assert_eq!(setting.get("/slow").await.unwrap(), "one");
    assert_eq!(next.status().await.reloads, 0);
    // One that someone else added is not taken for the order's.
    let said = tell(&setting.dir.path().join("d/worker.sock"), "add backend other from web").await;
    assert!(said.contains("registered"), "{said}");
    let add = Operation::AddBackend { backend: "other".to_owned(), defaults: "web".to_owned() };
    let other = routes::files(&setting, &format!("{backends}backend other from web\n"), "/slow shop\n", &[]);
    match next.apply(order(Some(&with), &other, runtime([add]))).await {
        Outcome::Refused { message, reload_may_help: true } => {
            assert!(message.contains("already used"), "{message}")
        }
        outcome => panic!("{outcome:?}"),
    }
    next.stop(false).await;
}

async fn an_order_whose_files_were_never_written_is_carried_out_again_without_a_reload(variable: &str) {
    let (setting, agent) = started(variable).await;
    let one = Backend::start("one").await;
    let backend = |servers: &str| format!("backend one from web\n{servers}");
    let pem = certificate("a.example", 2100);
    let before = routes::files(&setting, &backend(""), "", &[]);
    let lines = [("ssl/a.pem", pem.as_str()), ("ssl/list.txt", "ssl/a.pem a.example\n")];
    let after =
        routes::files(&setting, &backend(&format!("    server {}\n", one.line("s1"))), "/x one\n", &lines);
    let operations = || {
        vec![
            Operation::AddCertificate { certificate: "ssl/a.pem".to_owned() },
            Operation::AddCrtListLine {
                list: "ssl/list.txt".to_owned(),
                line: "ssl/a.pem a.example".to_owned(),
            },
            Operation::AddServer {
                backend: "one".to_owned(),
                server: "s1".to_owned(),
                address: one.address.to_string(),
                params: Vec::new(),
                enabled: true,
            },
            Operation::AddMapEntry {
                map: "maps/a.map".to_owned(),
                key: "/x".to_owned(),
                value: "one".to_owned(),
            },
        ]
    };
    bring(&agent, None, &before).await;
    let disk = Disk::save(&setting);
    operate(&agent, &before, &after, operations()).await;
    drop(agent);
    disk.restore().await;
    let next = setting.agent().await;
    operate(&next, &before, &after, operations()).await;
    assert_eq!(setting.get("/x").await.unwrap(), "one");
    assert_eq!(next.status().await.reloads, 0);
    let shown = tell(&setting.dir.path().join("d/worker.sock"), "show ssl crt-list ssl/list.txt").await;
    assert_eq!(shown.matches("a.example").count(), 1, "{shown}");
    let shown = tell(&setting.dir.path().join("d/worker.sock"), "show map maps/a.map").await;
    assert_eq!(shown.matches("/x one").count(), 1, "{shown}");
    next.stop(false).await;
}

async fn a_removal_goes_on_with_the_next_agent(variable: &str) {
    let setting = Arc::new(Setting::new(variable));
    let agent = setting.agent().await;
    let one = Backend::start("one").await;
    let (with, without) = (setting.files(&[one.line("s1")]), setting.files(&[]));
    bring(&agent, None, &with).await;
    let slow = {
        let setting = setting.clone();
        tokio::spawn(async move { setting.get("/slow").await })
    };
    one.arrived.notified().await;
    let (backend, server) = ("web".to_owned(), "s1".to_owned());
    let delete = Operation::DeleteServer { backend, server, params: vec![] };
    operate(&agent, &with, &without, [delete]).await;
    assert_eq!(agent.handle().pending_deletions(), 1);
    drop(agent);
    let next = setting.agent().await;
    assert_eq!(next.handle().pending_deletions(), 1);
    one.release.notify_one();
    assert_eq!(slow.await.unwrap().unwrap(), "one", "the request under way was cut");
    until("the server is removed", || async { next.handle().pending_deletions() == 0 }).await;
    let shown = tell(&setting.dir.path().join("d/worker.sock"), "show servers state web").await;
    assert!(!shown.contains(" s1 "), "{shown}");
    next.stop(false).await;
}

/// The files of an agent's folder as they were before an order, to be put back as if it had been killed before it wrote any.
struct Disk<'s> {
    setting: &'s Setting,
}

impl<'s> Disk<'s> {
    const PARTS: [&'static str; 3] = ["bundles", "trees", "current"];

    fn save(setting: &'s Setting) -> Self {
        let kept = setting.dir.path().join("kept");
        std::fs::create_dir(&kept).unwrap();
        Self::PARTS.iter().for_each(|part| copy(&setting.dir.path().join("d").join(part), &kept));
        Self { setting }
    }

    async fn restore(self) {
        let dir = self.setting.dir.path();
        // The killed agent is of this process: it may still be removing what nothing uses any more.
        until("old files are removed", || async {
            let names =
                std::fs::read_dir(dir.join("d/bundles")).unwrap().flatten().map(|entry| entry.file_name());
            names.filter(|name| name.to_string_lossy().ends_with(".json")).count() == 1
        })
        .await;
        for part in Self::PARTS {
            let path = dir.join("d").join(part);
            if path.is_symlink() {
                std::fs::remove_file(&path).unwrap()
            } else {
                std::fs::remove_dir_all(&path).unwrap()
            }
            copy(&dir.join("kept").join(part), &dir.join("d"));
        }
    }
}

fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap();
    assert!(status.success(), "cp -a {} {}", from.display(), to.display());
}
