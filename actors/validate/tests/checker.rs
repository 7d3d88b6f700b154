//! Bundles against the real checkers of HAProxy 3.0, 3.2 and 3.4, and against ones that misbehave.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod imitation;

use haptic_attribution::causes::Ruling;
use haptic_model::{Bundle, BundleFile, FileKey, FileKind, HaproxyVersion, ObjectRef};
use haptic_text::{Blame, Fragment, LineBlame, Text};
use haptic_validate::{Binaries, Budget, CheckLimits, Checker, Sandbox, memory::MemoryLimit};
use imitation::imitation;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::time::Instant;

const VERSIONS: [HaproxyVersion; 3] =
    [HaproxyVersion::new(3, 0), HaproxyVersion::new(3, 2), HaproxyVersion::new(3, 4)];

const VALID: &str = "
defaults
    mode http
    timeout client 5s
    timeout server 5s
    timeout connect 5s
frontend web
    bind 127.0.0.1:8080
    use_backend %[req.hdr(host),lower,map(maps/host.map)]
backend shop
    server a shop.invalid:8080
";

fn haproxy(version: &str) -> PathBuf {
    let variable = format!("HAPTIC_HAPROXY_{version}");
    match std::env::var_os(&variable) {
        Some(path) => path.into(),
        None => panic!("{variable} is not set: run this test through `make test`"),
    }
}

fn real() -> Binaries {
    Binaries::probe(["3_0", "3_2", "3_4"].map(haproxy)).unwrap()
}

fn bundle(config: &str) -> Bundle {
    let map = BundleFile::new(
        FileKey::new(FileKind::Map, "host.map"),
        "maps/host.map",
        Text::plain("a.example shop\n"),
    );
    Bundle::new(BundleFile::new(FileKey::config(), "haproxy.cfg", Text::plain(config)), [map])
}

#[tokio::test]
async fn a_valid_bundle_with_a_map_and_an_unresolvable_name_passes_on_every_version() {
    let verdict =
        Checker::new(real(), CheckLimits::default(), Sandbox::none()).check(&bundle(VALID), &VERSIONS).await;
    assert!(verdict.passed(), "{:?}", verdict.diagnostics);
}

#[tokio::test]
async fn what_only_haproxy_can_know_is_refused_with_its_line() {
    let config = VALID.replace("timeout connect 5s", "timeout connect never");
    let verdict = Checker::new(real(), CheckLimits::default(), Sandbox::none())
        .check(&bundle(&config), &VERSIONS[2..])
        .await;
    let said = verdict.diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    assert!(!verdict.passed());
    assert!(said.contains("haproxy.cfg:6") && said.contains("timeout connect never"), "{said}");
}

#[tokio::test]
async fn an_equal_bundle_is_not_checked_twice() {
    let checker = Checker::new(real(), CheckLimits::default(), Sandbox::none());
    assert!(!checker.check(&bundle(VALID), &VERSIONS[2..]).await.cached);
    assert!(checker.check(&bundle(VALID), &VERSIONS[2..]).await.cached);
    assert!(!checker.check(&bundle(VALID), &VERSIONS[..1]).await.cached);
}

#[tokio::test]
async fn a_version_nobody_has_is_checked_by_the_nearest_with_a_warning() {
    let only_new = Binaries::probe([haproxy("3_4")]).unwrap();
    let verdict = Checker::new(only_new, CheckLimits::default(), Sandbox::none())
        .check(&bundle(VALID), &VERSIONS[..1])
        .await;
    assert!(verdict.passed());
    assert!(
        verdict.diagnostics[0].to_string().contains("3.4 checks in its place"),
        "{:?}",
        verdict.diagnostics
    );
}

#[tokio::test]
async fn a_checker_that_hangs_is_ended_and_refuses_the_bundle() {
    let folder = tempfile::tempdir().unwrap();
    let limits = CheckLimits { time: Duration::from_millis(200), ..CheckLimits::default() };
    let checker = Checker::new(imitation(folder.path(), "exec sleep 600"), limits, Sandbox::none());
    let verdict = checker.check(&bundle(VALID), &[]).await;
    assert!(!verdict.passed() && verdict.diagnostics[0].to_string().contains("did not end within"));
    assert!(!checker.check(&bundle(VALID), &[]).await.cached, "a timeout is no verdict to remember");
}

#[tokio::test]
async fn a_check_takes_no_longer_than_somebody_waits_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let limits = CheckLimits { at_once: 1, ..CheckLimits::default() };
    let checker = Checker::new(imitation(folder.path(), "exec sleep 600"), limits, Sandbox::none());
    let checker = checker.until(Instant::now() + Duration::from_millis(300));
    let bundle = bundle(VALID);
    let (first, second) = tokio::join!(checker.semantics(&bundle, &[]), checker.semantics(&bundle, &[]));
    assert!(first.undecided && first.took < limits.time, "{first:?}");
    // It waited for the first one, and had nothing left.
    let said = second.diagnostics[0].to_string();
    assert!(second.undecided && said.contains("no time was left for haproxy -c"), "{said}");
}

#[tokio::test]
async fn a_checker_that_dies_silently_is_no_pass() {
    let folder = tempfile::tempdir().unwrap();
    let checker =
        Checker::new(imitation(folder.path(), "kill -9 $$"), CheckLimits::default(), Sandbox::none());
    let verdict = checker.check(&bundle(VALID), &[]).await;
    assert!(!verdict.passed() && verdict.undecided, "{:?}", verdict.diagnostics);
    assert!(!checker.check(&bundle(VALID), &[]).await.cached, "that it was killed is no verdict to remember");
}

#[tokio::test]
async fn what_haproxy_refuses_is_decided_also_behind_more_words_than_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let says = "echo '[ALERT]    (1) : config : no' >&2; head -c 3000000 /dev/zero >&2; exit 1";
    let checker = Checker::new(imitation(folder.path(), says), CheckLimits::default(), Sandbox::none());
    let verdict = checker.check(&bundle(VALID), &[]).await;
    assert!(!verdict.passed() && !verdict.undecided, "{:?}", verdict.diagnostics);
    assert!(checker.check(&bundle(VALID), &[]).await.cached);
}

#[tokio::test]
async fn a_check_is_ended_with_its_future() {
    let folder = tempfile::tempdir().unwrap();
    let started = folder.path().join("pid");
    let fifo = format!("echo $$ > {0}.tmp && mv {0}.tmp {0} && exec sleep 600", started.display());
    let checker = Checker::new(imitation(folder.path(), &fifo), CheckLimits::default(), Sandbox::none());
    let config = bundle(VALID);
    let check = checker.check(&config, &[]);
    let appears = async {
        while !started.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        _ = check => panic!("it must not end"),
        () = appears => {}
    }
    let pid = std::fs::read_to_string(&started).unwrap().trim().to_owned();
    let gone = async {
        while Path::new(&format!("/proc/{pid}/root")).exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), gone).await.expect("the process outlived its check");
}

#[tokio::test]
async fn a_bundle_that_names_a_file_outside_itself_is_not_laid_out() {
    let escape = BundleFile::new(FileKey::new(FileKind::Map, "x"), "../x", Text::plain(""));
    let escaping =
        Bundle::new(BundleFile::new(FileKey::config(), "haproxy.cfg", Text::plain(VALID)), [escape]);
    let config = VALID.replace("maps/host.map", "../x");
    let config = BundleFile::new(FileKey::config(), "haproxy.cfg", Text::plain(&config));
    let escaping = Bundle { config: config.into(), ..escaping };
    let verdict = Checker::new(real(), CheckLimits::default(), Sandbox::none()).check(&escaping, &[]).await;
    assert!(!verdict.passed());
    assert!(verdict.diagnostics[0].to_string().contains("relative path"), "{:?}", verdict.diagnostics);
}

#[tokio::test]
async fn whoever_is_named_when_memory_is_over_is_not_at_fault() {
    let folder = tempfile::tempdir().unwrap();
    let says = "echo '[ALERT]  (1) : config : parsing [haproxy.cfg:6] : error detected : out of memory error.' >&2; exit 1";
    let checker = Checker::new(imitation(folder.path(), says), CheckLimits::default(), Sandbox::none());
    let verdict = checker.check(&bundle(VALID), &[]).await;
    let said = verdict.diagnostics[0].to_string();
    assert!(
        verdict.undecided && said.contains("ran out of memory") && !said.contains("haproxy.cfg:6"),
        "{said}"
    );
}

#[tokio::test]
async fn a_check_that_does_not_fit_fails_at_once_and_says_which_limit_it_needs() {
    let limit = MemoryLimit { bytes: 128 << 20, is_containers: true };
    let checker = Checker::new(real(), CheckLimits::default(), Sandbox::none());
    let checker = checker.within(Budget::of(Some(limit), || 100 << 20));
    let verdict = checker.check(&bundle(VALID), &VERSIONS[2..]).await;
    let said = verdict.diagnostics[0].to_string();
    assert!(
        verdict.undecided && said.contains("the container has 128 MB, of which the controller uses 100 MB"),
        "{said}"
    );
    let help = verdict.diagnostics[0].help.as_deref().unwrap_or_default();
    assert!(help.contains("resources.limits.memory to 256Mi"), "{help}");
}

#[tokio::test]
async fn what_listens_nowhere_is_refused_as_a_whole_and_not_as_a_part() {
    let backends = VALID.replace("frontend web\n    bind 127.0.0.1:8080\n", "backend web\n");
    let checker = Checker::new(real(), CheckLimits::default(), Sandbox::none());
    for version in &VERSIONS {
        let verdict = checker.semantics(&bundle(&backends), &[*version]).await;
        let said: Vec<_> = verdict.diagnostics.iter().map(ToString::to_string).collect();
        assert!(!verdict.passed() && !verdict.undecided, "{said:?}");
        assert!(said.iter().any(|said| said.contains("nothing in the configuration listens")), "{said:?}");
        let part = checker.ruling_on_part(&bundle(&backends), 0, &[*version]).await;
        assert!(matches!(part, Ruling::Passes), "{part:?}");
    }
    let checker = Checker::new(real(), CheckLimits::default(), Sandbox::none());
    let part = checker.ruling_on_part(&bundle(&backends), 0, &VERSIONS).await;
    let whole = checker.semantics(&bundle(&backends), &VERSIONS).await;
    assert!(
        matches!(part, Ruling::Passes) && !whole.passed(),
        "what is known of a part is not taken for the whole"
    );
}

#[tokio::test]
async fn a_file_with_a_name_that_no_disk_takes_is_a_fault_of_its_object() {
    let object = Arc::new(ObjectRef::new("ingresses", "n", "bad"));
    let lines = vec![LineBlame { template: 0, object: None, line: 1 }];
    let blame = Blame { lines, block: Some(object.clone()), ..Blame::default() };
    let text = Text::new(vec![Fragment::new("x\n", Arc::new(blame))]);
    let name = "n".repeat(256);
    let file = BundleFile::new(FileKey::new(FileKind::General, &name), &format!("files/{name}"), text);
    let bundle = Bundle::new(BundleFile::new(FileKey::config(), "haproxy.cfg", Text::plain(VALID)), [file]);
    let verdict = Checker::new(real(), CheckLimits::default(), Sandbox::none())
        .semantics(&bundle, &VERSIONS[2..])
        .await;
    let why = &verdict.diagnostics[0];
    assert_eq!((verdict.undecided, why.object.as_ref()), (false, Some(&object)), "{why}");
    assert!(why.message.len() < 200, "{why}");
}
