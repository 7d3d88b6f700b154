//! What HAProxy itself is made to do while it reads a configuration.

use crate::subject::{SECRET, VERSIONS, bundle, checker, confined, free, haptic, said};
use haptic_model::Bundle;
use haptic_validate::{CheckLimits, Sandbox};
use std::{fs, time::Duration};

/// A Lua script that tells what it got hold of.
const BURGLAR: &str = r#"
local function try(what, action)
    local ok, result = pcall(action)
    if ok and result then error("GOT " .. what .. ": " .. tostring(result)) end
end
"#;

fn with_lua(actions: &str) -> Bundle {
    let script = format!("{BURGLAR}{actions}");
    bundle("    lua-load general/x.lua", "", ("general/x.lua", &script))
}

#[tokio::test]
async fn what_lies_outside_is_not_read_by_any_directive() {
    let place = tempfile::tempdir().unwrap();
    let token = place.path().join("token");
    // It is a map, a page, a list of patterns and a script all at once, so that HAProxy would take it.
    fs::write(&token, format!("-- {SECRET}\n")).unwrap();
    let page = place.path().join("page");
    fs::write(&page, format!("HTTP/1.0 200 OK\r\n\r\n{SECRET}\n")).unwrap();
    let (token, page) = (token.display(), page.display());
    let (confined, free) = (confined(), free());
    for (global, frontend) in [
        (String::new(), format!("errorfile 503 {page}")),
        (String::new(), format!("http-request return status 200 content-type text/plain file {token}")),
        (String::new(), format!("http-request return status 200 content-type text/plain lf-file {token}")),
        (String::new(), format!("http-request set-header X %[path,map({token})]")),
        (String::new(), format!("acl x path -f {token}")),
        (String::new(), "acl x path -f /etc/passwd".to_owned()),
        (String::new(), "http-request return status 200 content-type text/plain file /etc/passwd".to_owned()),
        (format!("lua-load {token}"), String::new()),
        ("default-path origin /etc".to_owned(), "acl x path -f passwd".to_owned()),
    ] {
        let bundle = bundle(&global, &frontend, ("general/x", ""));
        for version in VERSIONS {
            let open = free.semantics(&bundle, &[version]).await;
            assert!(
                open.passed(),
                "HAProxy {version} takes it elsewhere: {global}{frontend}\n{}",
                said(&open)
            );
            let verdict = confined.semantics(&bundle, &[version]).await;
            assert!(!verdict.passed(), "HAProxy {version} read it: {global}{frontend}");
            assert!(!said(&verdict).contains(SECRET), "{}", said(&verdict));
        }
    }
}

#[tokio::test]
async fn a_certificate_outside_is_neither_read_nor_shown() {
    let place = tempfile::tempdir().unwrap();
    let token = place.path().join("token");
    fs::write(&token, SECRET).unwrap();
    let confined = confined();
    for parameters in ["crt", "crt-list", "ca-file"] {
        let line = format!("bind :8443 ssl verify optional {parameters} {}", token.display());
        let verdict = confined.semantics(&bundle("", &line, ("general/x", "")), &VERSIONS).await;
        assert!(!verdict.passed() && !said(&verdict).contains(SECRET), "{line}: {}", said(&verdict));
    }
}

#[tokio::test]
async fn a_script_gets_hold_of_nothing() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("token"), SECRET).unwrap();
    let (folder, parent) = (place.path().display(), std::process::id());
    let scripts = [
        format!("try('a file', function() return io.open('{folder}/token'):read('a') end)"),
        "try('accounts', function() return io.open('/etc/passwd'):read('a') end)".to_owned(),
        format!("try('an environment', function() return io.open('/proc/{parent}/environ'):read('a') end)"),
        format!("try('a place to write', function() return io.open('{folder}/new', 'w') end)"),
        "try('its own folder', function() return io.open('haproxy.cfg', 'a') end)".to_owned(),
        "try('a command', function() return os.execute('true') end)".to_owned(),
        "try('a pipe', function() return io.popen('echo x'):read('a') end)".to_owned(),
        format!("try('a removal', function() return os.remove('{folder}/token') end)"),
        format!("try('a move', function() return os.rename('{folder}/token', '{folder}/b') end)"),
    ];
    let (confined, free) = (confined(), free());
    for script in scripts {
        let bundle = with_lua(&script);
        for version in VERSIONS {
            let verdict = confined.semantics(&bundle, &[version]).await;
            assert!(verdict.passed(), "HAProxy {version}: {}", said(&verdict));
        }
        let open = free.semantics(&bundle, &VERSIONS[2..]).await;
        assert!(
            said(&open).contains("GOT "),
            "{script} finds nothing without the sandbox either: {}",
            said(&open)
        );
        fs::write(place.path().join("token"), SECRET).unwrap();
    }
}

#[tokio::test]
async fn a_script_that_eats_memory_or_time_is_ended() {
    let limits = CheckLimits { time: Duration::from_secs(20), memory: 400 << 20, at_once: 1 };
    let confined = checker(limits, Sandbox::by(haptic(), Vec::new()));
    let hungry =
        with_lua("local all = {} while true do all[#all + 1] = string.rep('x', 1 << 20) .. #all end");
    let verdict = confined.semantics(&hungry, &VERSIONS[2..]).await;
    assert!(!verdict.passed() && verdict.took < limits.time, "{}", said(&verdict));
    // The clock on the wall is generous here, that of the CPU is not.
    let limits = CheckLimits { time: Duration::from_secs(1), ..limits };
    let confined = checker(limits, Sandbox::by(haptic(), Vec::new()));
    let verdict = confined.semantics(&with_lua("while true do end"), &VERSIONS[2..]).await;
    assert!(!verdict.passed(), "it ended by itself");
}

#[tokio::test]
async fn names_are_resolved_only_where_that_is_allowed() {
    let confined = confined();
    let line =
        |name: &str| bundle(&format!("    log {name}:514 local0"), "    log global", ("general/x", ""));
    let address = confined.semantics(&line("127.0.0.1"), &VERSIONS).await;
    assert!(address.passed(), "{}", said(&address));
    let verdict = confined.semantics(&line("localhost"), &VERSIONS).await;
    assert!(!verdict.passed());
    assert!(said(&verdict).contains("HostNames"), "it does not say what to do: {}", said(&verdict));
    let allowing = confined.allowing(&[haptic_model::crd::Allowance::HostNames]);
    let verdict = allowing.semantics(&line("localhost"), &VERSIONS).await;
    assert!(verdict.passed(), "{}", said(&verdict));
}

#[tokio::test]
async fn what_a_configuration_may_do_it_can_do_in_the_sandbox() {
    let everything = "
    http-request set-header X %[req.hdr(host),lower,map(general/hosts.map)]
    stick-table type ip size 1m expire 30m store conn_cur
    option forwardfor
    compression algo gzip
resolvers k
    nameserver a 10.0.0.10:53
    nameserver b [fd00::53]:53
    parse-resolv-conf
peers p
    peer here 127.0.0.1:1024
backend shop
    server-template s 10 shop.invalid:8080 resolvers k check
    server t 10.0.0.1:443 ssl verify required ca-file @system-ca
    server u no.such.name:80 init-addr last,libc,none";
    let global = "    maxconn 100000\n    stats socket /tmp/x.sock mode 600\n    log 127.0.0.1:514 local0\n    limited-quic";
    let bundle = bundle(global, everything, ("general/hosts.map", "a.example shop\n"));
    let (confined, free) = (confined(), free());
    for version in VERSIONS {
        let (inside, outside) =
            (confined.semantics(&bundle, &[version]).await, free.semantics(&bundle, &[version]).await);
        assert!(inside.passed(), "HAProxy {version}: {}", said(&inside));
        assert!(outside.passed(), "HAProxy {version}: {}", said(&outside));
    }
}
