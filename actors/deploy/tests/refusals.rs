//! What HAProxy 3.4 refuses, the planner does not plan: each refusal is tried, and so is the change that asks for it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test"
)]

mod running;

use haptic_deploy::{RunningView, plan};
use haptic_model::{Bundle, BundleFile, Capabilities, FileKey, HaproxyVersion};
use haptic_text::Text;
use running::Haproxy;

const RUNNING: &str = "defaults web
    mode http
    balance roundrobin
    timeout client 5s
    timeout connect 1s
    timeout server 5s
defaults bare
    timeout client 5s
resolvers names
    nameserver local 127.0.0.1:1
frontend http from web
    bind unix@FOLDER/http
    use_backend named if { path /named }
    use_backend %[path]
backend b from web
    server a 127.0.0.1:80 check inter 60s
backend source from web
    balance source
    server a 127.0.0.1:80
backend named from web
backend table from web
    stick-table type ip size 10 expire 1m
backend used from web
    use-server a if TRUE
    server a 127.0.0.1:80
    server c 127.0.0.1:80 track b/a
";

fn bundle(text: &str) -> Bundle {
    Bundle::new(BundleFile::new(FileKey::config(), "haproxy.cfg", Text::plain(text)), [])
}

/// With this line after the one that says `after`.
fn added(after: &str, line: &str) -> String {
    RUNNING.replacen(after, &format!("{after}{line}\n"), 1)
}

#[test]
fn whatever_haproxy_3_4_refuses_is_a_reload() {
    let Ok(binary) = std::env::var("HAPTIC_HAPROXY_3_4") else {
        panic!("HAPTIC_HAPROXY_3_4 must be the path of a HAProxy 3.4: run this test through `make test`");
    };
    let haproxy = Haproxy::start(&binary, &bundle(RUNNING));
    let backend = |section: &str| format!("{RUNNING}{section}\n");
    let server = |line: &str| added("    server a 127.0.0.1:80 check inter 60s\n", &format!("    {line}"));
    let without = |text: &str| RUNNING.replacen(text, "", 1);
    let mut wrong = Vec::new();
    for (command, new) in [
        ("add backend x from bare", backend("backend x from bare")),
        ("add backend x from new", backend("defaults new\n mode http\nbackend x from new")),
        ("add backend http from web", backend("backend http from web")),
        ("add backend web from web", backend("backend web from web")),
        ("unpublish backend named; del backend named", without("backend named from web\n")),
        (
            "unpublish backend table; del backend table",
            without("backend table from web\n    stick-table type ip size 10 expire 1m\n"),
        ),
        ("add server source/x 127.0.0.2:80", added("balance source\n", "    server x 127.0.0.2:80")),
        ("add server b/x 127.0.0.2:80 track b/x", server("server x 127.0.0.2:80 track used/a")),
        ("add server b/x 127.0.0.2:80 redir /x", server("server x 127.0.0.2:80 redir /x")),
        ("add server b/x 127.0.0.2:80 init-addr none", server("server x 127.0.0.2:80 init-addr none")),
        ("add server b/x 127.0.0.2:80 resolvers names", server("server x 127.0.0.2:80 resolvers names")),
        ("add server b/x 127.0.0.2:80 id 1", server("server x 127.0.0.2:80 id 1")),
        (
            "add server b/x 127.0.0.2:80 ssl crt new.pem",
            server("server x 127.0.0.2:80 ssl verify none crt new.pem"),
        ),
        (
            "add server b/x 127.0.0.2:80 ssl verify required ca-file new.pem",
            server("server x 127.0.0.2:80 ssl verify required ca-file new.pem"),
        ),
        (
            "add server b/x 127.0.0.2:80 ssl verify none crl-file new.pem",
            server("server x 127.0.0.2:80 ssl verify none crl-file new.pem"),
        ),
        ("add server b/x 127.0.0.2:80 agent-send a;b", server("server x 127.0.0.2:80 agent-send \"a;b\"")),
        (
            "set server used/a state maint; del server used/a",
            without("    server a 127.0.0.1:80\n    server c"),
        ),
        (
            "set server b/a check-addr 127.0.0.9",
            RUNNING.replace("check inter 60s", "check inter 60s addr 127.0.0.9"),
        ),
        ("set server b/a weight 257", RUNNING.replace("check inter 60s", "check inter 60s weight 257")),
        (
            "set server source/a weight 5",
            RUNNING.replacen("127.0.0.1:80\nbackend named", "127.0.0.1:80 weight 5\nbackend named", 1),
        ),
    ] {
        let answer = haproxy.command(command);
        let last = answer.lines().last().unwrap_or_default();
        if last.is_empty() || last.contains("registered") || last.contains("deleted") {
            wrong.push(format!("{command}: HAProxy takes it: {answer}"));
        }
        let plan = plan(
            &RunningView::of(bundle(RUNNING)),
            &bundle(&new),
            Capabilities::of(HaproxyVersion::new(3, 4)),
        );
        if plan.verdict.reload_reason().is_none() {
            wrong.push(format!("{command}: {answer}, and it is planned: {:?}", plan.verdict));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
