//! The commands of operations, and how servers and backends are read back.

use super::{read_back::ReadBackVerdict, *};
use backend::FEW_BACKENDS;
use haptic_model::operation::ServerState;

// --- commands --------------------------------------------------------------------------------------

fn add(address: &str, params: &[&str]) -> Operation {
    Operation::AddServer {
        backend: "shop".to_owned(),
        server: "web_1".to_owned(),
        address: address.to_owned(),
        params: params.iter().map(|p| (*p).to_owned()).collect(),
        enabled: true,
    }
}

#[test]
fn a_server_with_checks_gets_its_checks_enabled_too() {
    assert_eq!(
        commands(&add("10.0.0.1:80", &["weight", "5", "check"]), &Contents::new()).unwrap(),
        [
            "add server shop/web_1 10.0.0.1:80 weight 5 check",
            "enable health shop/web_1",
            "enable server shop/web_1"
        ]
    );
}

#[test]
fn a_space_in_a_parameter_does_not_end_it() {
    let lines = commands(&add("10.0.0.1:80", &["sni", r"str(a b\c)"]), &Contents::new()).unwrap();
    assert_eq!(lines[0], r"add server shop/web_1 10.0.0.1:80 sni str(a\ b\\c)");
}

#[test]
fn nothing_in_an_order_begins_another_command() {
    for bad in ["a;b", "a\nshutdown sessions", "a\tb", "<<", "", "#"] {
        assert!(commands(&add("10.0.0.1:80", &[bad]), &Contents::new()).is_err(), "{bad:?}");
    }
    for bad in ["a b", "a/b", "a;b", "", "a\nb", "ä"] {
        let (backend, server) = (bad.to_owned(), "s".to_owned());
        let operation = Operation::DeleteServer { backend, server, params: vec![] };
        assert!(commands(&operation, &Contents::new()).is_err(), "{bad:?}");
    }
}

#[test]
fn addresses_are_numbers_or_socket_paths() {
    for good in
        ["10.0.0.1:80", "[fd00::1]:80", "fd00::1:80", "ipv4@10.0.0.1:80", "unix@/run/x.sock", "/run/x.sock"]
    {
        assert!(commands(&add(good, &[]), &Contents::new()).is_ok(), "{good}");
    }
    for bad in ["shop.example:80", "10.0.0.1", "10.0.0.1:0", "10.0.0.1:99999", "10.0.0.1:80;x", "unix@x"] {
        assert!(commands(&add(bad, &[]), &Contents::new()).is_err(), "{bad}");
    }
}

#[test]
fn numbers_that_haproxy_would_wrap_or_refuse_are_refused() {
    let address = |address: &str, port| Operation::SetServerAddress {
        backend: "b".to_owned(),
        server: "s".to_owned(),
        address: address.to_owned(),
        port,
    };
    assert!(commands(&address("10.0.0.1", 0), &Contents::new()).is_err());
    assert!(commands(&address("name.example", 80), &Contents::new()).is_err());
    assert_eq!(
        commands(&address("fd00::1", 80), &Contents::new()).unwrap(),
        ["set server b/s addr fd00::1 port 80"]
    );
    let weight = Operation::SetServerWeight { backend: "b".to_owned(), server: "s".to_owned(), weight: 257 };
    assert!(commands(&weight, &Contents::new()).is_err());
}

#[test]
fn names_keys_and_contents_cannot_begin_another_command() {
    let entry = |map: &str, key: &str, value: &str| Operation::AddMapEntry {
        map: map.to_owned(),
        key: key.to_owned(),
        value: value.to_owned(),
    };
    let good = commands(&entry("maps/a b.map", "k", "v"), &Contents::new());
    assert!(good.is_err(), "a file's name is one word");
    let good = commands(&entry("maps/a.map", "k;x", "a b\\"), &Contents::new()).unwrap();
    assert_eq!(good, [r"set map maps/a.map k\;x a\ b\\", r"add map maps/a.map k\;x a\ b\\"]);
    for (map, key, value) in [
        ("#1", "k", "v"),
        ("@1", "k", "v"),
        ("m;x", "k", "v"),
        ("m", "#0x1", "v"),
        ("m", "k\n", "v"),
        ("m", "k", "v\nshutdown"),
        ("m", "", "v"),
        ("m", "k", ""),
        ("m", "<<", "v"),
    ] {
        assert!(commands(&entry(map, key, value), &Contents::new()).is_err(), "{map:?} {key:?} {value:?}");
    }
    let line = |line: &str| Operation::AddCrtListLine { list: "l".to_owned(), line: line.to_owned() };
    assert_eq!(
        commands(&line("c [alpn h2] x"), &Contents::new()).unwrap(),
        ["add ssl crt-list l <<\nc [alpn h2] x\n"]
    );
    for bad in ["c\n\nshow info", "", "#c", "a:1"] {
        assert!(commands(&line(bad), &Contents::new()).is_err(), "{bad:?}");
    }
    let backend = Operation::AddBackend { backend: "b".to_owned(), defaults: "a b".to_owned() };
    assert!(commands(&backend, &Contents::new()).is_err());
}

#[test]
fn an_empty_line_in_a_certificate_does_not_end_its_payload() {
    let key = "-----BEGIN PRIVATE KEY-----";
    let contents = Contents::from([("c.pem".to_owned(), format!("{key}\n\n  \r\nb\r\n"))]);
    let set = Operation::SetCertificate { certificate: "c.pem".to_owned() };
    let lines = commands(&set, &contents).unwrap();
    assert_eq!(lines, [format!("set ssl cert c.pem <<\n{key}\nb\n"), "commit ssl cert c.pem".to_owned()]);
    assert!(commands(&set, &Contents::new()).is_err());
    let without_key = Contents::from([("c.pem".to_owned(), "-----BEGIN CERTIFICATE-----\n".to_owned())]);
    assert!(commands(&set, &without_key).unwrap_err().to_string().contains("no private key"));
}

// --- reading back ----------------------------------------------------------------------------------

const STATE: &str = "1\n# be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight srv_iweight srv_time_since_last_change srv_check_status srv_check_result srv_check_health srv_check_state srv_agent_state bk_f_forced_id srv_f_forced_id srv_fqdn srv_port srvrecord srv_use_ssl srv_check_port srv_check_addr srv_agent_addr srv_agent_port\n2 k 1 s1 127.0.0.5 2 8 20 1 1 1 0 2 0 0 0 0 - 99 - 0 0 - - 0\n2 k 2 s2 127.0.0.1 0 5 5 5 1 1 0 0 8 0 0 0 - 2 - 0 0 - - 0\n2 k 3 u - 0 1 1 1 0 1 0 0 0 0 0 0 - 0 - 0 0 - - 0\n";

fn names() -> (String, String) {
    ("k".to_owned(), "s1".to_owned())
}

pub(super) fn expectation<'o>(operations: &'o [Operation], contents: &'o Contents) -> Expectation<'o> {
    let mut all = Expectation::default();
    for operation in operations {
        (prepare(operation, contents).unwrap().expect)(&mut all);
    }
    all
}

fn differences(operations: &[Operation]) -> Vec<String> {
    server::differences(&expectation(operations, &Contents::new()), "k", STATE)
}

#[test]
fn a_server_that_is_as_wanted_is_no_difference() {
    let (backend, server) = names();
    let set = Operation::SetServerAddress {
        backend: backend.clone(),
        server: server.clone(),
        address: "127.0.0.5".to_owned(),
        port: 99,
    };
    let drain = Operation::SetServerState { backend, server, state: ServerState::Drain };
    assert!(differences(&[set, drain]).is_empty());
}

#[test]
fn each_difference_is_told() {
    let (backend, server) = names();
    let ready = Operation::SetServerState {
        backend: backend.clone(),
        server: server.clone(),
        state: ServerState::Ready,
    };
    assert!(differences(&[ready])[0].contains("not in state Ready"));
    let weight = Operation::SetServerWeight { backend: backend.clone(), server: server.clone(), weight: 7 };
    assert_eq!(differences(&[weight]), ["server k/s1 has weight 20, not 7"]);
    let delete = Operation::DeleteServer { backend: backend.clone(), server, params: vec![] };
    assert!(differences(&[delete])[0].contains("still takes traffic"));
    let gone = Operation::SetServerWeight { backend, server: "gone".to_owned(), weight: 7 };
    assert_eq!(differences(&[gone]), ["server k/gone is not there"]);
}

#[test]
fn a_deleted_server_in_maintenance_is_as_wanted() {
    let (backend, server) = ("k".to_owned(), "s2".to_owned());
    let delete = Operation::DeleteServer { backend, server, params: vec![] };
    assert!(differences(&[delete]).is_empty());
}

fn verdicts(operations: &[Operation], answers: &[(&str, &str)]) -> Vec<ReadBackVerdict> {
    let contents = Contents::new();
    let expectation = expectation(operations, &contents);
    let questions = questions(&expectation);
    let asked: Vec<&str> = questions.iter().map(|question| question.command.as_str()).collect();
    assert_eq!(asked, answers.iter().map(|(command, _)| *command).collect::<Vec<_>>());
    questions.iter().zip(answers).map(|(question, (_, answer))| question.check(answer)).collect()
}

#[test]
fn maxconn_is_read_from_the_statistics() {
    let (backend, server) = names();
    let set =
        |maxconn| [Operation::SetServerMaxconn { backend: backend.clone(), server: server.clone(), maxconn }];
    let stat = "# pxname,svname,qcur,qmax,scur,smax,slim,stot\nk,s1,0,0,0,0,44,0\nk,s2,0,0,0,0,,0\n";
    let answers = [("show servers state k", STATE), ("show stat k 4 -1", stat)];
    assert_eq!(verdicts(&set(44), &answers), [ReadBackVerdict::AsExpected, ReadBackVerdict::AsExpected]);
    let differs = ReadBackVerdict::Differs(vec!["server k/s1 has maxconn 44, not 0".to_owned()]);
    assert_eq!(verdicts(&set(0), &answers), [ReadBackVerdict::AsExpected, differs]);
}

#[test]
fn a_backend_that_is_not_there_or_not_published_is_told() {
    let backend = || "b".to_owned();
    let add = Operation::AddBackend { backend: backend(), defaults: "web".to_owned() };
    let publish = Operation::PublishBackend { backend: backend() };
    let all = [add, publish];
    let stat = |status: &str| format!("# pxname,svname,status\nb,BACKEND,{status}\n");
    let answers = |state: &str, stat: &str| {
        verdicts(&all, &[("show servers state b", state), ("show stat b 2 -1", stat)])
    };
    let header = "1\n# be_id be_name srv_id srv_name\n";
    assert_eq!(answers(header, &stat("DOWN")), [ReadBackVerdict::AsExpected, ReadBackVerdict::AsExpected]);
    let gone = ReadBackVerdict::Differs(vec!["there is no backend b".to_owned()]);
    let hidden = ReadBackVerdict::Differs(vec!["backend b is not published".to_owned()]);
    assert_eq!(answers("Can't find backend.", &stat("UP (UNPUB)")), [gone, hidden]);
}

#[test]
fn many_publications_are_looked_at_once() {
    let publish = |n| Operation::PublishBackend { backend: format!("b{n}") };
    let many: Vec<Operation> = (0..=FEW_BACKENDS).map(publish).collect();
    let status = |n| if n == 1 { "UP (UNPUB)" } else { "UP" };
    let rows: String = (0..=FEW_BACKENDS).map(|n| format!("b{n},BACKEND,{}\n", status(n))).collect();
    let stat = &format!("# pxname,svname,status\nother,BACKEND,UP (UNPUB)\n{rows}");
    let differs = ReadBackVerdict::Differs(vec!["backend b1 is not published".to_owned()]);
    assert_eq!(verdicts(&many, &[("show stat -1 2 -1", stat)]), [differs]);
}

#[test]
fn the_servers_of_a_backend_that_is_gone_are_deleted() {
    let (backend, server) = ("k".to_owned(), "s1".to_owned());
    let delete = Operation::DeleteServer { backend, server, params: vec![] };
    let gone = [("show servers state k", "Can't find backend.")];
    assert_eq!(verdicts(&[delete], &gone), [ReadBackVerdict::AsExpected]);
    let (backend, server) = names();
    let weight = Operation::SetServerWeight { backend, server, weight: 7 };
    assert!(matches!(verdicts(&[weight], &gone)[0], ReadBackVerdict::Differs(_)));
}
