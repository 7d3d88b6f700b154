//! From one configuration to another: what the planner makes of it.

use super::*;
use haptic_model::{BundleFile, FileKey, FileKind, HaproxyVersion, Layout, agent_api::RunningBundle};
use haptic_text::Text;
use std::collections::BTreeMap;

const HEAD: &str = "global\n maxconn 100\ndefaults\n mode http\n balance roundrobin\nfrontend f\n bind :80\n default_backend b\n";

fn config(text: &str) -> BundleFile {
    BundleFile::new(FileKey::config(), "haproxy.cfg", Text::plain(text))
}

fn map(content: &str) -> BundleFile {
    BundleFile::new(FileKey::new(FileKind::Map, "host.map"), "maps/host.map", Text::plain(content))
}

fn plan_bundles(old: Bundle, new: &Bundle) -> Plan {
    plan(&RunningView::of(old), new, Capabilities::of(HaproxyVersion::new(3, 4)))
}

fn between(old: &str, new: &str) -> Plan {
    plan_bundles(Bundle::new(config(old), []), &Bundle::new(config(new), []))
}

/// The plan from one backend's lines to another's, as text.
fn backend(old: &str, new: &str) -> String {
    let text = |lines: &str| {
        format!("{HEAD}backend b\n{}", lines.split("; ").map(|l| format!(" {l}\n")).collect::<String>())
    };
    show(&between(&text(old), &text(new)))
}

fn show(plan: &Plan) -> String {
    match &plan.verdict {
        Verdict::Nothing => "nothing".to_owned(),
        Verdict::Runtime { operations } => operations.iter().map(line).collect::<Vec<_>>().join("; "),
        Verdict::Reload { .. } => format!("reload: {}", plan.verdict.reload_reason().unwrap()),
    }
}

fn line(operation: &Operation) -> String {
    match operation {
        Operation::AddServer { params, enabled, .. } => {
            let state = if *enabled { "" } else { " (disabled)" };
            let params: String = params.iter().map(|word| format!(" {word}")).collect();
            format!("{operation}{params}{state}")
        }
        other => other.to_string(),
    }
}

#[test]
fn servers_change_at_run_time_where_the_socket_can() {
    for (old, new, expected) in [
        ("server a 10.0.0.1:80", "server a 10.0.0.1:80", "nothing"),
        ("server a 10.0.0.1:80", "server a 10.0.0.2:81", "set server b/a addr 10.0.0.2 port 81"),
        ("server a 10.0.0.1:80", "server a [fd99::1]:80", "set server b/a addr fd99::1 port 80"),
        ("server a 10.0.0.1:80", "server a 10.0.0.1:80 weight 5", "set server b/a weight 5"),
        ("server a 10.0.0.1:80 weight 5", "server a 10.0.0.1:80", "set server b/a weight 1"),
        ("server a 10.0.0.1:80", "server a 10.0.0.1:80 maxconn 7", "set maxconn server b/a 7"),
        ("server a 10.0.0.1:80 maxconn 7", "server a 10.0.0.1:80", "set maxconn server b/a 0"),
        ("server a 10.0.0.1:80", "server a 10.0.0.1:80 disabled", "set server b/a state Maint"),
        ("server a 10.0.0.1:80 disabled", "server a 10.0.0.1:80", "set server b/a state Ready"),
        (
            "server a 10.0.0.1:80 disabled",
            "server a 10.0.0.9:80 weight 3",
            "set server b/a addr 10.0.0.9 port 80; set server b/a weight 3; set server b/a state Ready",
        ),
        (
            "server a 10.0.0.1:80",
            "server a 10.0.0.9:80 disabled",
            "set server b/a state Maint; set server b/a addr 10.0.0.9 port 80",
        ),
        ("server a 10.0.0.1:80 check", "server a 10.0.0.2:80 check", "set server b/a addr 10.0.0.2 port 80"),
        ("server a 10.0.0.1:80 no-check", "server a 10.0.0.1:80", "nothing"),
        (
            "server a 10.0.0.1:80; server c 10.0.0.3:80",
            "server c 10.0.0.3:80; server a 10.0.0.1:80",
            "nothing",
        ),
    ] {
        assert_eq!(backend(old, new), expected, "{old} -> {new}");
    }
}

#[test]
fn servers_come_with_everything_written_out_and_before_others_go() {
    for (old, new, expected) in [
        ("server a 10.0.0.1:80", "server c 10.0.0.2:80", "add server b/c 10.0.0.2:80; del server b/a"),
        (
            "server a 10.0.0.1:80",
            "server a 10.0.0.1:80; server c 10.0.0.2:80 check",
            "add server b/c 10.0.0.2:80 check",
        ),
        (
            "default-server check inter 2s maxconn 9; server a 10.0.0.1:80",
            "default-server check inter 2s maxconn 9; server a 10.0.0.1:80; server c 10.0.0.2:80 inter 5s",
            "add server b/c 10.0.0.2:80 check inter 5s maxconn 9",
        ),
        (
            "default-server check; server a 10.0.0.1:80",
            "default-server check; server a 10.0.0.1:80; server c 10.0.0.2:80 no-check disabled",
            "add server b/c 10.0.0.2:80 (disabled)",
        ),
        ("server a 10.0.0.1:80 check; server c 10.0.0.2:80", "server c 10.0.0.2:80", "del server b/a"),
        (
            "hash-type consistent; balance source; default-server hash-key addr-port; server a 10.0.0.1:80",
            "hash-type consistent; balance source; default-server hash-key addr-port; server a 10.0.0.1:80; server c 10.0.0.2:80",
            "add server b/c 10.0.0.2:80 hash-key addr-port",
        ),
        (
            "server a 10.0.0.1:443 ssl ca-file ca.pem",
            "server a 10.0.0.1:443 ssl ca-file ca.pem; server c 10.0.0.2:443 ssl ca-file ca.pem sni str(x)",
            "add server b/c 10.0.0.2:443 ssl ca-file ca.pem sni str(x)",
        ),
    ] {
        assert_eq!(backend(old, new), expected, "{old} -> {new}");
    }
}

#[test]
fn a_server_that_the_socket_cannot_change_is_a_reload_with_the_reason() {
    let a = "server a 10.0.0.1:80";
    for (old, new, reason) in [
        (
            "server a 10.0.0.1:80 check inter 2s",
            "server a 10.0.0.1:80 check inter 5s",
            "server b/a: inter 2s became inter 5s",
        ),
        (a, "server a 10.0.0.1:80 check", "server b/a: check is new"),
        (
            "server a 10.0.0.1:80 check agent-check port 81",
            "server a 10.0.0.1:80 check agent-check port 82",
            "server b/a: port 82 is that of its agent, too, unless it has agent-port",
        ),
        (
            "hash-type consistent; balance source; default-server hash-key addr-port; server a 10.0.0.1:80",
            "hash-type consistent; balance source; default-server hash-key addr-port; server a 10.0.0.1:80; server c 10.0.0.1:80",
            "backend b: balance source places server c by its line, because another one has its address",
        ),
        (
            "server a 10.0.0.1:80 cookie x",
            "server a 10.0.0.1:80 cookie y",
            "server b/a: cookie x became cookie y",
        ),
        ("server a 10.0.0.1:80 send-proxy", a, "server b/a: send-proxy is gone"),
        (
            a,
            "server a shop.example:80",
            "server b/a: from 10.0.0.1:80 to shop.example:80 HAProxy must start anew",
        ),
        (a, "server a 10.0.0.1", "server b/a: from 10.0.0.1:80 to 10.0.0.1 HAProxy must start anew"),
        (a, "server a 10.0.0.1:80 weight 300", "server b/a: weight 300 is more than 256"),
        (
            a,
            "server a 10.0.0.1:80; server c shop.example:80",
            "server b/c: only an IP address can be added at run time, and shop.example:80 is none",
        ),
        (
            a,
            "server a 10.0.0.1:80; server c 10.0.0.2:80 redir /x",
            "server b/c: HAProxy takes redir only when it starts",
        ),
        (
            a,
            "server a 10.0.0.1:80; server c 10.0.0.2:80 track a",
            "server b/c: HAProxy takes track only when it starts",
        ),
        (
            a,
            "server a 10.0.0.1:80; server c 10.0.0.2:80 init-addr none",
            "server b/c: HAProxy takes init-addr only when it starts",
        ),
        (
            a,
            "server a 10.0.0.1:80; server c 10.0.0.2:80 resolvers r",
            "server b/c: HAProxy takes resolvers only when it starts",
        ),
        (
            "server a 10.0.0.1:80; server c 10.0.0.2:80 resolvers r",
            a,
            "server b/c is gone, and HAProxy keeps one with resolvers until it reloads",
        ),
        (
            "default-server resolvers r; server a 10.0.0.1:80; server c shop.example:80",
            "default-server resolvers r; server a 10.0.0.1:80",
            "server b/c is gone, and HAProxy keeps one with resolvers until it reloads",
        ),
        (
            a,
            "server a 10.0.0.1:80; server c 10.0.0.2:443 ssl ca-file new.pem",
            "CA file new.pem is named for the first time, and is no file of the bundle",
        ),
        (
            a,
            "server a 10.0.0.1:80; server c 10.0.0.2:80 backup",
            "server b/c: backup servers are used in the order of their lines, and it would be the last",
        ),
        (
            "use-server a if TRUE; server a 10.0.0.1:80",
            "use-server a if TRUE",
            "server b/a is gone, but other lines still name it",
        ),
    ] {
        assert_eq!(backend(old, new), format!("reload: {reason}"), "{old} -> {new}");
    }
    let balance = "backend b: balance source needs hash-type consistent for server changes at run time";
    for (old, new) in [
        ("server a 10.0.0.1:80", "server a 10.0.0.1:80; server c 10.0.0.2:80"),
        ("server a 10.0.0.1:80", "server a 10.0.0.1:80 weight 2"),
    ] {
        let with = |lines: &str| format!("balance source; {lines}");
        assert_eq!(backend(&with(old), &with(new)), format!("reload: {balance}"));
    }
    assert_eq!(
        backend("balance source; server a 10.0.0.1:80", "balance source; server a 10.0.0.2:80"),
        "set server b/a addr 10.0.0.2 port 80",
        "an address changes under any algorithm"
    );
}

#[test]
fn anything_else_in_the_configuration_is_a_reload_with_the_reason() {
    for (from, to, reason) in [
        (" maxconn 100", " maxconn 200", "global section: maxconn changed"),
        (" bind :80", " bind :81", "frontend f: bind changed"),
        (" balance roundrobin", " balance leastconn", "defaults section: balance changed"),
    ] {
        assert_eq!(show(&between(HEAD, &HEAD.replace(from, to))), format!("reload: {reason}"), "{to}");
    }
}

#[test]
fn one_reason_makes_it_one_reload_and_many_are_summed_up() {
    let plan = between(
        &format!("{HEAD}backend b\n server a 10.0.0.1:80\n"),
        &format!("{}backend b\n server a 10.0.0.2:80\n", HEAD.replace("100", "200")),
    );
    assert_eq!(show(&plan), "reload: global section: maxconn changed");
    let reasons = (0..5).map(|n| Reason::new(ReasonKind::File, format!("map {n} changed"))).collect();
    let line = Verdict::Reload { reasons }.reload_reason().unwrap();
    assert_eq!(line, "map 0 changed; map 1 changed; map 2 changed; and 2 more");
}

#[test]
fn comments_and_spaces_are_written_and_reload_nothing() {
    let plan = between(HEAD, &format!("# hello\n{}\n", HEAD.replace(" bind", "    bind")));
    assert_eq!(plan.verdict, Verdict::Nothing);
    assert_eq!(plan.write, vec!["haproxy.cfg".into()] as Vec<Arc<str>>);
    assert!(!plan.is_empty());
}

#[test]
fn a_file_that_nothing_uses_is_only_a_file() {
    let with = |files: Vec<BundleFile>| Bundle::new(config(HEAD), files);
    for (old, new, write, delete) in [
        (vec![map("a b\n")], vec![map("a c\n")], 1, 0),
        (vec![], vec![map("a b\n")], 1, 0),
        (vec![map("a b\n")], vec![], 0, 1),
    ] {
        let plan = plan_bundles(with(old), &with(new));
        assert_eq!((show(&plan).as_str(), plan.write.len(), plan.delete.len()), ("nothing", write, delete));
    }
}

#[test]
fn the_same_bundle_is_an_empty_plan() {
    let bundle = Bundle::new(config(HEAD), [map("a b\n")]);
    let plan = plan_bundles(bundle.clone(), &bundle);
    assert!(plan.is_empty());
    assert_eq!((plan.base, plan.target), (Some(bundle.digest), bundle.digest));
}

#[test]
fn a_pod_without_a_bundle_gets_everything_by_one_reload() {
    let bundle = Bundle::new(config(HEAD), [map("a b\n")]);
    let plan = plan(&RunningView::bootstrap(), &bundle, Capabilities::of(HaproxyVersion::new(3, 0)));
    assert_eq!(plan.write.len(), 2);
    assert_eq!(plan.base, None);
    assert!(show(&plan).starts_with("reload: this is the first configuration"));
}

#[test]
fn what_a_pod_sends_back_is_the_bundle_it_was_sent() {
    let bundle = Bundle::new(config(HEAD), [map("a b\n")]);
    let files: BTreeMap<_, _> =
        bundle.all().map(|file| (file.path.to_string(), file.text.to_string())).collect();
    let sent = RunningBundle { config: "haproxy.cfg".to_owned(), files };
    let view = RunningView::read_back(sent.clone(), &Layout::default()).unwrap();
    assert_eq!(view.digest(), Some(bundle.digest));
    assert_eq!(view.bundle().unwrap().files["maps/host.map"].key, FileKey::new(FileKind::Map, "host.map"));
    let without = RunningBundle { config: "other.cfg".to_owned(), ..sent };
    assert!(RunningView::read_back(without, &Layout::default()).unwrap_err().contains("other.cfg"));
}
