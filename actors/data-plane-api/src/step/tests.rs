//! What is an action, what is a call, and what needs a reload; and that the documentation says the same.

use super::*;
use haptic_model::HaproxyVersion;
use serde_json::json;

fn of(operation: Operation, api: u16) -> Result<ApiStep, String> {
    let capabilities =
        Capabilities::through_data_plane_api(HaproxyVersion::new(3, api), HaproxyVersion::new(3, api));
    let large = |_: &str| Some((0..1000).map(|n| format!("host-{n}.example backend\n")).collect());
    plan(&operation, capabilities, &large).map_err(|why| why.to_string())
}

fn server(params: &[&str]) -> Operation {
    Operation::AddServer {
        backend: "b".into(),
        server: "s".into(),
        address: "10.0.0.1:80".into(),
        params: params.iter().map(|word| (*word).to_owned()).collect(),
        enabled: true,
    }
}

#[test]
fn changes_of_servers_are_actions_which_work_in_all_versions() {
    let (backend, server) = ("b".to_owned(), "s".to_owned());
    let address = |address: &str| Operation::SetServerAddress {
        backend: backend.clone(),
        server: server.clone(),
        address: address.into(),
        port: 80,
    };
    let action = of(address("fd00::1"), 0).map(|step| step.action());
    assert_eq!(action, Ok(Some("SetServerAddr b s fd00::1 80".to_owned())));
    for bad in ["localhost", "999.1.1.1", "10.0.0.1;x"] {
        assert!(of(address(bad), 4).unwrap_err().contains("no IP address"));
    }
    let odd = Operation::SetServerWeight { backend: "a b".into(), server, weight: 1 };
    assert!(of(odd, 4).is_err(), "its words are parted by blanks");
}

#[test]
fn servers_are_added_with_what_the_api_passes_on() {
    let Ok(ApiStep::Server(ServerStep::Add { body, .. })) =
        of(server(&["weight", "5", "ssl", "verify", "none"]), 0)
    else {
        panic!("it can be added")
    };
    let expected = json!({"name": "s", "address": "10.0.0.1", "port": 80, "weight": 5, "ssl": "enabled", "verify": "none"});
    assert_eq!(body, expected);
    for keyword in ["check", "cookie", "hash-key", "agent-check"] {
        assert!(of(server(&[keyword]), 4).unwrap_err().contains(keyword));
    }
}

#[test]
fn entries_that_would_be_cut_or_be_commands_need_a_reload() {
    let set = |value: &str| Operation::SetMapEntry { map: "m".into(), key: "k".into(), value: value.into() };
    assert!(of(set("v"), 0).is_ok());
    assert!(of(set("a b"), 4).unwrap_err().contains("first blank"));
    assert!(of(set("a;b"), 4).unwrap_err().contains("with a ';'"));
    let add = Operation::AddMapEntry { map: "m".into(), key: "k".into(), value: "a b".into() };
    assert!(of(add, 0).is_ok(), "as one of several it stays whole");
}

#[test]
fn small_maps_are_not_replaced_because_the_api_would_add_to_them() {
    let replace = Operation::ReplaceMap { map: "m".into() };
    assert!(of(replace.clone(), 0).is_ok());
    let api = Capabilities::through_data_plane_api(HaproxyVersion::new(3, 4), HaproxyVersion::new(3, 4));
    let small = plan(&replace, api, &|_| Some("a b\n".into()));
    assert!(small.unwrap_err().to_string().contains("only larger maps"));
}

#[test]
fn certificates_need_a_reload_where_the_api_does_not_bring_them() {
    let set = Operation::SetCertificate { certificate: "a.pem".into() };
    assert!(of(set.clone(), 0).unwrap_err().contains("3.0 needs a reload"));
    assert!(of(set.clone(), 2).unwrap_err().contains("at a start only"), "it is large");
    assert!(of(set, 4).is_ok());
}

#[test]
fn what_it_has_no_call_for_needs_a_reload() {
    let backend = Operation::PublishBackend { backend: "b".into() };
    assert!(of(backend, 4).unwrap_err().contains("cannot do it at run time"));
    let maxconn = Operation::SetServerMaxconn { backend: "b".into(), server: "s".into(), maxconn: 3 };
    assert!(of(maxconn, 4).is_err());
}

/// As the table of the documentation words it.
fn untellable(operation: &Operation, content: &str) -> &'static str {
    let can = |minor| {
        let version = HaproxyVersion::new(3, minor);
        let api = Capabilities::through_data_plane_api(version, version);
        plan(operation, api, &|_| Some(content.to_owned())).is_ok()
    };
    match (can(0), can(2), can(4)) {
        (true, true, true) => "yes",
        (false, true, true) => "from 3.2 on",
        (false, false, true) => "from 3.4 on",
        (false, false, false) => "one reload",
        other => panic!("{operation}: {other:?}"),
    }
}

#[test]
fn the_documentation_tells_what_can_be_done() {
    let name = || "x".to_owned();
    let set = |value: &str| Operation::SetMapEntry { map: name(), key: name(), value: value.into() };
    let check = Operation::SetServerCheck {
        backend: name(),
        server: name(),
        setting: CheckSetting::CheckPort,
        value: "80".into(),
    };
    let certificate = || Operation::SetCertificate { certificate: name() };
    let large = "host.example backend\n".repeat(1000);
    let rows: [(&str, Operation, &str); 18] = [
        ("a server that comes, without a check or a cookie", server(&["weight", "5"]), ""),
        ("a server that comes, with a check", server(&["check"]), ""),
        ("a server that comes, with a cookie", server(&["cookie", "x"]), ""),
        (
            "a server that goes",
            Operation::DeleteServer { backend: name(), server: name(), params: vec![] },
            "",
        ),
        (
            "`maxconn` of a server",
            Operation::SetServerMaxconn { backend: name(), server: name(), maxconn: 1 },
            "",
        ),
        ("port of a server's check", check, ""),
        ("`maxconn` of a frontend", Operation::SetFrontendMaxconn { frontend: name(), maxconn: 1 }, ""),
        (
            "an entry that comes to or goes from a map",
            Operation::DelMapEntry { map: name(), key: name() },
            "",
        ),
        ("the value of an entry", set("v"), ""),
        ("the value of an entry, with blanks in it", set("a b"), ""),
        ("an entry with `;` in it", set("a;b"), ""),
        ("a map as a whole, of more than 8 KB", Operation::ReplaceMap { map: name() }, &large),
        ("a map as a whole, smaller", Operation::ReplaceMap { map: name() }, "a b\n"),
        ("a pattern in the file of an ACL", Operation::AddAclEntry { acl: name(), pattern: name() }, ""),
        ("the content of a certificate", certificate(), "small"),
        ("the content of a certificate of more than 16 KB", certificate(), &large),
        (
            "a line of a crt-list: a host gets a certificate of its own",
            Operation::AddCrtListLine { list: name(), line: name() },
            "",
        ),
        ("a CA file", Operation::SetCaFile { file: name() }, ""),
    ];
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/transports.md");
    let page = std::fs::read_to_string(page).unwrap();
    for (row, operation, content) in rows {
        let line = page.lines().find(|line| line.starts_with(&format!("| {row} |")));
        let line = line.unwrap_or_else(|| panic!("no row {row:?}"));
        assert!(line.ends_with(&format!("| {} |", untellable(&operation, content))), "{line}");
    }
}
