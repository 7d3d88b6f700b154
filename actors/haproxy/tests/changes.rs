//! What `compare` says about two configurations.

use haptic_haproxy::Document;
use haptic_haproxy::diff::{ConfigChange, compare};

fn changes(old: &str, new: &str) -> Vec<String> {
    let (old, new) = (Document::parse(old), Document::parse(new));
    compare(&old, &new).iter().map(ToString::to_string).collect()
}

const OLD: &str = "global\n maxconn 10\ndefaults base\n timeout client 1s\nfrontend f from base\n bind :80\n default_backend a\n\
    backend a from base\n option httpchk\n server s1 1.1.1.1:80 check\n server s2 1.1.1.2:80\n\
    backend b from base\n server t 1.1.1.3:80\n";

#[test]
fn changes_are_told_by_what_they_are() {
    for (find, replace, expected) in [
        ("", "", vec![]),
        (" maxconn 10\n", " maxconn   10 # more\n\n", vec![]),
        (" maxconn 10\n", " maxconn \"10\"\n", vec![]),
        (" maxconn 10\n", " maxconn 20\n", vec!["global section: maxconn changed"]),
        (" option httpchk\n", " option httpchk GET /\n", vec!["backend a: option httpchk changed"]),
        (" option httpchk\n", "", vec!["backend a: option httpchk removed"]),
        (" timeout client 1s\n", " timeout client 2s\n", vec!["defaults base: timeout client changed"]),
        (
            " bind :80\n default_backend a\n",
            " default_backend a\n bind :80\n",
            vec!["frontend f: lines stand in another order"],
        ),
        ("server s2 1.1.1.2:80", "server s2 1.1.1.9:80", vec!["backend a: servers 1 changed"]),
        ("server s2 1.1.1.2:80", "server s3 1.1.1.2:80", vec!["backend a: servers 1 added, 1 removed"]),
        (
            " server s1 1.1.1.1:80 check\n server s2 1.1.1.2:80\n",
            " server s2 1.1.1.2:80\n server s1 1.1.1.1:80 check\n",
            vec!["backend a: servers in another order"],
        ),
        ("backend b from base\n server t 1.1.1.3:80\n", "", vec!["backend b removed"]),
        ("backend b from base", "backend c from base", vec!["backend c added", "backend b removed"]),
        ("backend b from base", "backend b", vec!["backend b: backend changed"]),
        (
            " server t 1.1.1.3:80\n",
            " server t 1.1.1.3:80\n server t 1.1.1.4:80\n",
            vec!["backend b: two servers have the same name"],
        ),
    ] {
        let new = if find.is_empty() { format!("{OLD}# comment\n") } else { OLD.replace(find, replace) };
        let expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
        let found: Vec<String> = changes(OLD, &new).into_iter().collect();
        assert_eq!(found, expected, "{find:?} -> {replace:?}");
    }
}

#[test]
fn the_order_of_backends_is_no_change_and_that_of_frontends_is() {
    let one = "frontend a\nfrontend b\nbackend x\nbackend y\n";
    assert!(changes(one, "frontend a\nbackend y\nbackend x\nfrontend b\n").is_empty());
    let swapped = changes(one, "frontend b\nfrontend a\nbackend x\nbackend y\n");
    assert_eq!(swapped, ["frontends and listens stand in another order"]);
}

#[test]
fn a_section_that_starts_from_other_defaults_has_changed() {
    let old = "defaults a\n mode http\ndefaults b\n mode tcp\nbackend x\n";
    let new = "defaults a\n mode http\nbackend x\ndefaults b\n mode tcp\n";
    assert_eq!(changes(old, new), ["backend x: it starts from another defaults section"]);
}

#[test]
fn servers_are_compared_with_what_they_inherit() {
    let text = |place: &str, server: &str| format!("backend x\n{place}server s 1.1.1.1:80{server}\n");
    let first = " default-server weight 5\n ";
    assert!(changes(&text(first, ""), &text(first, " weight 5")).is_empty());
    let after = "backend x\n server s 1.1.1.1:80\n default-server weight 5\n";
    assert_eq!(changes(&text(first, ""), after), ["backend x: servers 1 changed"]);
}

#[test]
fn added_and_changed_servers_come_with_all_their_parameters() {
    let old = Document::parse("defaults\n default-server check\nbackend x\n server s 1.1.1.1:80\n");
    let new = Document::parse(
        "defaults\n default-server check\nbackend x\n server s 1.1.1.2:81 weight 3\n server t 1.1.1.3:80\n",
    );
    let changes = compare(&old, &new);
    let [ConfigChange::Servers { backend, added, removed, modified, reordered: false }] = changes.as_slice()
    else {
        panic!("{changes:?}")
    };
    assert_eq!((backend.as_str(), removed.len()), ("x", 0));
    assert_eq!(added[0].effective_params()[0].name, "check");
    let (before, after) = &modified[0];
    assert_eq!((before.address.as_str(), before.port), ("1.1.1.1", Some(80)));
    assert_eq!((after.address.as_str(), after.port), ("1.1.1.2", Some(81)));
    assert_eq!(after.param("weight"), Some(vec!["3".to_owned()]));
}

#[test]
fn servers_in_another_order_are_told() {
    let text = |servers: &[&str]| -> String {
        let lines = servers.iter().map(|name| format!(" server {name} 1.1.1.1:80\n"));
        std::iter::once("backend x\n".to_owned()).chain(lines).collect()
    };
    for (old, new, expected) in [
        (["a", "b"].as_slice(), ["b", "a"].as_slice(), "backend x: servers in another order"),
        (&["a", "b"], &["b", "c", "a"], "backend x: servers 1 added, in another order"),
        (&["a", "b", "c"], &["a", "c"], "backend x: servers 1 removed"),
        (&["a", "b"], &["c", "a", "b"], "backend x: servers 1 added"),
    ] {
        assert_eq!(changes(&text(old), &text(new)), [expected]);
    }
}

#[test]
fn lines_inside_if_are_never_taken_for_plain_servers() {
    let old = "backend x\n.if 1\n server s 1.1.1.1:80\n.endif\n";
    let new = "backend x\n.if 1\n server s 1.1.1.2:80\n.endif\n";
    assert_eq!(changes(old, new), ["backend x: server changed"]);
}

#[test]
fn what_haproxy_reads_in_another_way_is_a_change() {
    let server = |rest: &str| format!("backend x\n server s 1.1.1.1:80 {rest}\n");
    for (old, new) in [
        ("enabled disabled", "disabled enabled"),
        ("force-tlsv12 force-tlsv13", "force-tlsv13 force-tlsv12"),
        ("ssl-min-ver TLSv1.1 force-tlsv12", "force-tlsv12 ssl-min-ver TLSv1.1"),
        ("addr 1.1.1.2:81 port 82", "port 82 addr 1.1.1.2:81"),
        ("send-proxy no-send-proxy", "no-send-proxy send-proxy"),
        ("cookie \"$X\"", "cookie '$X'"),
    ] {
        assert_eq!(changes(&server(old), &server(new)), ["backend x: servers 1 changed"], "{old} -> {new}");
    }
    for (old, new) in [
        ("check weight 5", "weight 5 check"),
        ("check inter 2s force-tlsv12", "force-tlsv12 inter 2s check"),
        ("check no-check check", "check"),
        ("disabled enabled disabled", "disabled"),
        ("cookie \"x\"", "cookie 'x'"),
    ] {
        assert!(changes(&server(old), &server(new)).is_empty(), "{old} -> {new}");
    }
    let named = |name: &str| format!("backend x\n server {name} 1.1.1.1:80\n");
    assert_eq!(changes(&named("\"$X\""), &named("'$X'")), ["backend x: servers 1 changed"]);
}

#[test]
fn servers_and_templates_are_numbered_in_their_order() {
    let (server, template) = (" server s 1.1.1.1:80\n", " server-template t 2 x.example:80\n");
    let text = |lines: [&str; 2]| format!("backend x\n{}{}", lines[0], lines[1]);
    let swapped = changes(&text([server, template]), &text([template, server]));
    assert_eq!(swapped, ["backend x: servers in another order"]);
    let moved = " server s 1.1.1.2:80\n";
    let changed = changes(&text([server, template]), &text([moved, template]));
    assert_eq!(changed, ["backend x: servers 1 changed"]);
}

#[test]
fn a_global_section_that_moved_past_another_one_is_a_change() {
    let (global, frontend) = ("global\n crt-base /ssl\n", "frontend f\n bind :443 ssl crt a.pem\n");
    let expected = ["global section: it stands before or after other sections"];
    assert_eq!(changes(&format!("{global}{frontend}"), &format!("{frontend}{global}")), expected);
    assert_eq!(changes(&format!("{frontend}{global}"), &format!("# x\n{global}{frontend}")), expected);
    let two = format!("global\n maxconn 3\n{frontend}{global}");
    assert!(changes(&two, &format!("{two}backend new\n")).iter().all(|change| change == "backend new added"));
    let lines = "global\n setenv A b\n crt-base /ssl\n";
    let swapped = changes(lines, "global\n crt-base /ssl\n setenv A b\n");
    assert_eq!(swapped, ["global section: lines stand in another order"]);
}
