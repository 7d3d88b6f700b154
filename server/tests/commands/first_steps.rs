//! What somebody new asks of the program: a first configuration, what there is by name, several files at once.

use crate::{
    local::{Running, answer},
    place::Place,
};
use serde_json::Value;
use std::{
    fs,
    io::{Read, Write},
    net::TcpListener,
    thread,
};

const FILES: [&str; 2] = ["config.yaml", "manifests/hello.yaml"];

/// The port of a server that says hello to everybody.
fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut request = [0; 4096];
            while stream.read(&mut request).is_ok_and(|count| count > 0) {
                let done = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
                if done.is_err() {
                    break;
                }
            }
        }
    });
    port
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn rewrite(place: &Place, file: &str, from: &str, to: &str) {
    let text = fs::read_to_string(place.path().join(file)).unwrap();
    assert!(text.contains(from), "{file} has no {from:?}");
    place.write(file, &text.replace(from, to));
}

#[test]
fn what_init_writes_is_valid_and_serves() {
    for from in ["ingress", "services"] {
        let place = Place::new();
        let done = place.haptic(&["init", "--from", from]);
        let next = [
            "haptic validate config.yaml --resources manifests",
            "haptic local -f config.yaml --resources manifests",
        ];
        done.must(0, &next);
        let validated = place.haptic(&next[0].split(' ').skip(1).collect::<Vec<_>>());
        validated.must(0, &["valid for HAProxy 3.4", ", 0 failed, "]);
        assert_eq!(validated.err, "", "no warning");
        // What is said to run is run, on ports that no other test has.
        rewrite(&place, "manifests/hello.yaml", "port: 8000", &format!("port: {}", server()));
        if from == "services" {
            rewrite(&place, "config.yaml", "127.0.0.1:7080", &format!("127.0.0.1:{}", free_port()));
        }
        let local = Running::start(place.path());
        let addresses = local.addresses("HAProxy listens at");
        let answers: Vec<String> = addresses.iter().map(|address| answer(*address, "/")).collect();
        assert!(answers.iter().any(|text| text.ends_with("hello")), "{from}: {answers:?}");
    }
}

#[test]
fn init_overwrites_nothing() {
    for there in FILES {
        let place = Place::new();
        place.write(there, "mine");
        place.haptic(&["init"]).must_complain(there, 1, &[there, "nothing was written"]);
        assert_eq!(fs::read_to_string(place.path().join(there)).unwrap(), "mine");
        assert!(FILES.iter().all(|file| *file == there || !place.path().join(file).exists()));
    }
    let place = Place::new();
    let done = place.haptic(&["init", "a/new folder", "--output", "json"]);
    let told: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(told["files"][1], "a/new folder/manifests/hello.yaml");
    assert!(place.path().join("a/new folder/config.yaml").exists());
    place.write("file", "");
    place.haptic(&["init", "file"]).must_complain("a file as folder", 1, &["cannot write file/config.yaml"]);
}

#[test]
fn one_function_is_printed_and_a_misspelt_one_is_told_the_nearest() {
    let place = Place::new();
    let done = place.haptic(&["functions", "dict_keys"]);
    done.must(0, &["(dict_keys dict)"]);
    assert!(!done.out.contains("(lower text)") && !done.out.contains("\\\""), "{}", done.out);
    let json: Value =
        serde_json::from_str(&place.haptic(&["functions", "lower", "--output", "json"]).out).unwrap();
    assert_eq!((json.as_array().unwrap().len(), &json[0]["name"]), (1, &"lower".into()));
    let unknown = "there is no function \"lowercase\" (did you mean \"lower\"?)";
    place.haptic(&["functions", "lowercase"]).must_complain("a function", 2, &[unknown]);
}

#[test]
fn a_part_of_a_library_is_printed_as_it_would_stand_in_a_configuration() {
    let place = Place::new();
    let shown = place.haptic(&["library", "show", "base", "503.http"]);
    assert!(shown.out.starts_with("spec:\n  files:\n"), "{}", shown.out);
    shown.must(0, &["    \"503.http\":"]);
    // The way that a user takes: print it, change it, and it is in place of the library's.
    let head = "apiVersion: haproxy-haptic.org/v1alpha1\nkind: HAProxyTemplateConfig\nmetadata: {name: x}\n";
    let own = "  libraries: [base, ssl, ingress]\n  credentialsSecretRef: {name: c}\n  podSelector: {matchLabels: {a: b}}\n";
    place.write("config.yaml", &format!("{head}{}{own}", shown.out));
    let replaced = "because the configuration replaces files.503.http";
    place.haptic(&["validate", "config.yaml"]).must(0, &[replaced]);
    place.haptic(&["library", "show", "base", "extraContext.timeouts"]).must(0, &["        connect: 5s\n"]);
    let json = place.haptic(&["library", "show", "base", "timeouts", "--output", "json"]);
    let json: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!((&json["part"], &json["value"]["connect"]), (&"extraContext.timeouts".into(), &"5s".into()));
    for (arguments, expected) in [
        (["base", "frontend-10-clint"], "(did you mean \"frontend-10-client\"?)"),
        (["base", "find-route"], "it is in ingress"),
        (["ingres", "find-route"], "(did you mean \"ingress\"?)"),
    ] {
        let done = place.haptic(&[&["library", "show"], arguments.as_slice()].concat());
        done.must_complain("a part", 2, &[expected]);
    }
}

#[test]
fn several_configurations_are_validated_at_once() {
    let place = Place::new();
    for name in ["a", "b"] {
        place.haptic(&["init", name, "--from", "services"]).must(0, &[]);
    }
    let both = ["a/config.yaml", "b/config.yaml"];
    let validate = |more: &[&str]| place.haptic(&[&["validate"], both.as_slice(), more].concat());
    validate(&[]).must(0, &["a/config.yaml: valid", "b/config.yaml: valid"]);
    rewrite(&place, "a/config.yaml", "timeout connect", "timeout conect");
    validate(&[]).must(1, &["a/config.yaml: invalid", "b/config.yaml: valid"]);
    let json: Value = serde_json::from_str(&validate(&["--output", "json"]).out).unwrap();
    let valid = json.as_array().unwrap().iter().map(|one| one["valid"].as_bool());
    assert_eq!(valid.collect::<Vec<_>>(), [Some(false), Some(true)]);
    let junit = validate(&["--output", "junit"]).out;
    assert_eq!(junit.matches("<testsuite ").count(), 2, "{junit}");
    assert!(junit.contains("<testsuites tests=\"4\" failures=\"1\" errors=\"1\""), "{junit}");
    place.haptic(&["validate"]).must_complain("no configuration", 2, &["give a configuration with --file"]);
    place.haptic(&["validate", "a/config.yaml", "--name", "x"]).must_complain("both", 2, &["--name"]);
}

#[test]
fn shells_are_told_the_commands() {
    let done = Place::new().haptic(&["completion", "bash"]);
    done.must(0, &["_haptic", "validate", "--resources"]);
}
