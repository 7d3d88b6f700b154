//! HAPTIC in a real cluster of one node, under traffic: what survives what. Run it with `make cluster`; it needs root.

mod node;
mod page;
mod release;
mod report;
mod routing;
mod stories;
mod traffic;

use integration_tests::{Failure, Outcome, eventually, markdown::root, program::Helm, runner::print};
use node::{Node, Place};
use release::{HOST, NAMESPACE, Release};
use report::{Measure, Result, Told, measured};
use routing::Routing;
use std::{
    path::Path,
    process::ExitCode,
    rc::Rc,
    time::{Duration, Instant},
};
use stories::Story;
use tokio::time::timeout;
use traffic::{Tally, Traffic};

/// Pages that are followed word for word, with which helm if any. They come last: they want a cluster without a release.
const PAGES: [(&str, Option<Helm>); 3] = [
    ("getting-started-helm-3", Some(Helm::V3)),
    ("getting-started-helm-4", Some(Helm::V4)),
    ("without-helm", None),
];
/// What no node can run on ends with.
const CANNOT: u8 = 2;

fn main() -> ExitCode {
    if let Some(unknown) = routing::unknown() {
        print(&format!(
            "ROUTES={unknown} is nothing: with ROUTES=gateway routes are HTTPRoutes, without it Ingresses"
        ));
        return ExitCode::from(CANNOT);
    }
    let dir = root().join("target/cluster");
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let all = stories::all().into_iter().chain(stories::on_request());
    let names: Vec<&str> = all.map(|story| story.name).chain(PAGES.map(|(name, _)| name)).collect();
    if !names.iter().any(|name| is_wanted(name, &wanted)) {
        print(&format!("no story's name contains {}; there are: {}", wanted.join(" or "), names.join(", ")));
        return ExitCode::from(CANNOT);
    }
    let built = chosen(&wanted).any(|story| story.name == stories::IMAGE && (story.lacks)().is_none());
    let told = Node::enter(&dir, built).and_then(|place| match place {
        Place::Nowhere => Ok(ExitCode::from(CANNOT)),
        Place::Ended(status) => Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE }),
        Place::Beside(node) => tell_all(node, &wanted, &dir),
    });
    told.unwrap_or_else(|failure| {
        print(&format!("the stories cannot be told: {}", failure.sentence()));
        ExitCode::FAILURE
    })
}

fn is_wanted(name: &str, wanted: &[String]) -> bool {
    wanted.is_empty() || wanted.iter().any(|part| name.contains(part.as_str()))
}

fn chosen(wanted: &[String]) -> impl Iterator<Item = Story> {
    let on_request = if wanted.is_empty() { Vec::new() } else { stories::on_request() };
    stories::all().into_iter().chain(on_request).filter(|story| is_wanted(story.name, wanted))
}

fn tell_all(node: Node, wanted: &[String], dir: &Path) -> Outcome<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let all = runtime.block_on(async {
        print(report::HEAD);
        let mut all = Vec::new();
        let mut tell = |told: Told| {
            print(&told.row());
            all.push(told);
        };
        let began = Instant::now();
        let (release, measures) = match Release::install(node).await {
            Ok(installed) => installed,
            Err(failure) => {
                tell(told("install", began, Err(failure), Tally::default()));
                return Ok(all);
            }
        };
        tell(told("install", began, Ok(measures), Tally::default()));
        let release = Rc::new(release);
        for story in chosen(wanted) {
            tell(tell_one(&release, &story).await);
        }
        let began = Instant::now();
        tell(told("helm-test-and-uninstall", began, uninstall(&release).await, Tally::default()));
        for (name, helm) in PAGES.into_iter().filter(|(name, _)| is_wanted(name, wanted)) {
            if let Some(why) = stories::is_told_with_ingresses() {
                tell(skipped(name, why));
                continue;
            }
            let began = Instant::now();
            let followed = match helm {
                Some(helm) => page::followed(&release.node, helm).await,
                None => page::without_helm(&release.node).await,
            };
            tell(told(name, began, followed, Tally::default()));
        }
        Ok::<_, Failure>(all)
    })?;
    report::write(&all, &dir.join("report.json"))?;
    let count = |result| all.iter().filter(|told| told.result == result).count();
    let [passed, failed, skipped] = [Result::Passed, Result::Failed, Result::Skipped].map(count);
    print(&format!(
        "\n{passed} passed, {failed} failed, {skipped} skipped; {}",
        dir.join("report.json").display()
    ));
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Tells a story while traffic flows, and a little longer: what it leaves behind may show late.
async fn tell_one(release: &Rc<Release>, story: &Story) -> Told {
    if let Some(why) = (story.lacks)() {
        return skipped(story.name, why);
    }
    let began = Instant::now();
    let traffic = Traffic::start(release.addresses, HOST, story.with_web_socket);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let happens = timeout(story.limit, (story.happens)(Rc::clone(release))).await;
    let happened = happens
        .unwrap_or_else(|_| Err(Failure::new(format!("it took longer than {} s", story.limit.as_secs()))));
    tokio::time::sleep(Duration::from_secs(2)).await;
    let mut told = told(story.name, began, happened, traffic.finish().await);
    told.judge(story.may_lose);
    if told.result == Result::Failed
        && let Err(failure) = release.restore().await
    {
        told.why.push(format!("the release could not be restored: {failure}"));
    }
    told
}

fn told(name: &'static str, began: Instant, happened: Outcome<Vec<Measure>>, tally: Tally) -> Told {
    let (result, why, measures) = match happened {
        Ok(measures) => (Result::Passed, Vec::new(), measures),
        Err(failure) => (Result::Failed, vec![failure.to_string()], Vec::new()),
    };
    Told { name, result, why, seconds: began.elapsed().as_secs_f64(), tally, measures }
}

fn skipped(name: &'static str, why: String) -> Told {
    let nothing = told(name, Instant::now(), Ok(Vec::new()), Tally::default());
    Told { result: Result::Skipped, why: vec![why], ..nothing }
}

/// What docs/getting-started.md says of the end.
async fn uninstall(release: &Release) -> Outcome<Vec<Measure>> {
    let began = Instant::now();
    release.node.helm(Helm::V3, &["test", "haptic", "--namespace", NAMESPACE]).await?;
    let tested = measured("helm test", began);
    let began = Instant::now();
    release.node.helm(Helm::V3, &["uninstall", "haptic", "--namespace", NAMESPACE]).await?;
    eventually("the pods are gone", async || {
        let left = release.get(&["pods", "-o", "name"]).await?;
        integration_tests::ensure(left.is_empty(), left)
    })
    .await?;
    let uninstalled = measured("uninstalled", began);
    release.node.kubectl(&["delete", "namespace", NAMESPACE]).await?;
    let routing = Routing::chosen();
    let kinds = format!("{},service,deployment", routing.kind());
    release.node.kubectl(&["delete", &kinds, "hello"]).await?;
    routing.close(&release.node).await?;
    Ok(vec![tested, uninstalled])
}
