//! Each protection by itself, put to the proof by a shell in HAProxy's place.

use crate::subject::{SECRET, VERSIONS, bundle, checker, haptic, said};
use haptic_validate::{
    CheckLimits, Sandbox,
    sandbox::{Order, PROTECTIONS, Protection, SUBCOMMAND, own_files},
};
use std::{fs, net::TcpListener, net::UdpSocket, path::Path, process::Command};

const SHELL: &str = "/bin/bash";

/// What a shell with this protection alone prints when it is told to do something.
fn alone(protection: Option<Protection>, folder: &Path, script: &str) -> String {
    let without = PROTECTIONS.into_iter().filter(|other| Some(*other) != protection).collect();
    let order = Order {
        memory: 1 << 30,
        seconds: 10,
        without,
        files: own_files(Path::new(SHELL)),
        command: [SHELL, "-c", script].map(Into::into).to_vec(),
        ..Order::default()
    };
    let output =
        Command::new(haptic()).arg(SUBCOMMAND).args(order.words()).current_dir(folder).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn each_protection_stands_by_itself() {
    let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let token = elsewhere.path().join("token");
    fs::write(&token, SECRET).unwrap();
    fs::write(folder.path().join("own"), "mine").unwrap();
    let (tcp, udp) = (TcpListener::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
    let (tcp, udp) = (tcp.local_addr().unwrap().port(), udp.local_addr().unwrap().port());
    let read = format!("echo $(<{})", token.display());
    let write = "echo x > own && echo done".to_owned();
    let fork = "(echo done) & wait".to_owned();
    let connect = format!("echo x > /dev/tcp/127.0.0.1/{tcp} && echo done");
    let send = format!("echo x > /dev/udp/127.0.0.1/{udp} && echo done");
    let signal = format!("kill -0 {} && echo done", std::process::id());
    let execute = "exec /usr/bin/env echo done".to_owned();
    let nothing = "echo done".to_owned();
    for (protection, refused, granted) in [
        (None, vec![], vec![&read, &write, &fork, &connect, &send, &signal, &execute, &nothing]),
        (Some(Protection::Files), vec![&read, &write, &connect, &signal, &execute], vec![&fork, &nothing]),
        (Some(Protection::Calls), vec![&fork, &connect, &send, &signal], vec![&read, &nothing]),
        (Some(Protection::Limits), vec![&write], vec![&read, &fork, &nothing]),
    ] {
        for script in refused {
            let said = alone(protection, folder.path(), script);
            assert!(!said.contains("done") && !said.contains(SECRET), "{protection:?} lets it: {script}");
        }
        for script in granted {
            let said = alone(protection, folder.path(), script);
            assert!(said.contains("done") || said.contains(SECRET), "{protection:?} forbids it: {script}");
        }
    }
}

#[test]
fn limits_and_privileges_are_given_up_for_good() {
    let folder = tempfile::tempdir().unwrap();
    let limits = alone(
        Some(Protection::Limits),
        folder.path(),
        "ulimit -Hv -Ht -Hc -Hf; ulimit -v unlimited && echo raised",
    );
    for (what, limit) in
        [("virtual memory", "1048576"), ("cpu time", "10"), ("core file size", "0"), ("file size", "0")]
    {
        let line = limits.lines().find(|line| line.contains(what)).unwrap_or_default();
        assert!(line.ends_with(&format!(" {limit}")), "{what}: {limits}");
    }
    let status = "while read -r line; do echo \"$line\"; done < /proc/self/status";
    let said = alone(Some(Protection::Privileges), folder.path(), status);
    assert!(said.contains("NoNewPrivs:\t1"), "{said}");
}

#[tokio::test]
async fn nobody_is_at_fault_when_the_memory_of_a_check_is_over_wherever_haproxy_was() {
    let servers: String = (0..4_000).map(|n| format!("    server s{n} 10.0.0.1:80 check\n")).collect();
    let large = bundle("", &format!("backend large\n{servers}"), ("general/x", ""));
    let mut sides = [false; 2];
    for memory in (30..160).step_by(5).map(|megabytes| megabytes << 20) {
        let confined = Sandbox::by(haptic(), Vec::new());
        let checker = checker(CheckLimits { memory, ..CheckLimits::default() }, confined);
        let verdict = checker.semantics(&large, &VERSIONS).await;
        let said = said(&verdict);
        assert!(verdict.passed() || verdict.undecided, "{} MB: {said}", memory >> 20);
        assert!(!said.contains("HAProxy:"), "{} MB: {said}", memory >> 20);
        sides[usize::from(verdict.passed())] = true;
    }
    assert_eq!(sides, [true, true], "some of them are too small, and some are not");
}

#[test]
fn nothing_of_the_environment_is_handed_on() {
    let folder = tempfile::tempdir().unwrap();
    let order = Order { command: [SHELL, "-c", "export -p"].map(Into::into).to_vec(), ..Order::default() };
    let order = Order { files: own_files(Path::new(SHELL)), ..order };
    let mut command = Command::new(haptic());
    command.arg(SUBCOMMAND).args(order.words()).current_dir(folder.path()).env("TOKEN", SECRET);
    let said = String::from_utf8_lossy(&command.output().unwrap().stdout).into_owned();
    assert!(said.contains("PWD") && !said.contains(SECRET), "{said}");
}

#[tokio::test]
async fn what_is_missing_is_named_and_checks_go_on() {
    let off = Sandbox::by(haptic(), vec![Protection::Calls, Protection::Files]);
    let missing: Vec<_> = off.missing().into_iter().map(|missing| missing.protection).collect();
    assert_eq!(missing, [Protection::Files, Protection::Calls]);
    assert_eq!(Sandbox::by(haptic(), Vec::new()).missing(), [], "this machine's kernel gives all of them");
    let gone = Sandbox::by("/nonexistent/haptic".into(), Vec::new());
    assert_eq!(gone.missing().len(), PROTECTIONS.len());
    assert!(gone.missing()[0].to_string().contains("/nonexistent/haptic cannot be run"));
    for sandbox in [off, gone] {
        let checker = checker(CheckLimits::default(), sandbox);
        let verdict = checker.semantics(&bundle("", "", ("general/x", "")), &[]).await;
        assert!(verdict.passed(), "{}", said(&verdict));
    }
}

#[test]
fn the_subcommand_is_not_for_people() {
    let help = Command::new(haptic()).arg("--help").output().unwrap();
    assert!(!String::from_utf8_lossy(&help.stdout).contains(SUBCOMMAND));
    let said = Command::new(haptic()).arg(SUBCOMMAND).output().unwrap();
    assert_eq!(said.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&said.stderr).contains("haptic validate"));
}
