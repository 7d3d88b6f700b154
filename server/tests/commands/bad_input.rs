//! Wrong input, as users give it: the exit code and the words that must be in what is printed.

use crate::place::{Place, haproxy};
use serde_json::Value;
use std::{
    fs,
    io::{BufRead, BufReader, Write as _},
    net::TcpListener,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

const GOOD: &str = r##"apiVersion: haproxy-haptic.org/v1alpha1
kind: HAProxyTemplateConfig
metadata:
  name: shop
spec:
  credentialsSecretRef: {name: credentials}
  podSelector: {matchLabels: {app: haproxy}}
  watchedResources:
    services: {apiVersion: v1, resources: services, indexBy: ["metadata.namespace", "metadata.name"]}
  templateSnippets:
    greeting: {template: "# hello\n"}
  maps:
    host.map: {template: "a b\n"}
  haproxyConfig:
    template: |
      defaults
        mode http
        timeout client 1s
        timeout connect 1s
        timeout server 1s
      frontend web
        bind 127.0.0.1:7999
        {{> greeting}}
"##;

const SERVICE: &str = "apiVersion: v1\nkind: Service\nmetadata: {name: shop, namespace: default}\n";

/// A folder with `config.yaml` and `manifests/service.yaml`.
fn place_with(config: &str) -> Place {
    let place = Place::new();
    place.write("config.yaml", config);
    place.write("manifests/service.yaml", SERVICE);
    place
}

/// What is wrong, the text that is replaced in the good configuration and by what, and what must be said.
type Wrong = (&'static str, &'static str, &'static str, &'static [&'static str]);

const WRONG_CONFIGURATIONS: &[Wrong] = &[
    ("not YAML", "metadata:", "metadata: [", &["error: config.yaml:", "this is not YAML"]),
    ("a name of symbols", "name: ", "name: 🚀", &["metadata.name is", "small letters, digits"]),
    ("no name", "metadata:", "annotations:", &["config.yaml has no metadata.name"]),
    ("a duplicate field", "  maps:", "  templateSnippets: {}\n  maps:", &["config.yaml:12:3", "duplicate"]),
    (
        "a mistyped field",
        "podSelector",
        "podSelecter",
        &["config.yaml:7:3", "podSelecter", "Did you mean \"podSelector\"?"],
    ),
    (
        "a missing field",
        "  credentialsSecretRef: {name: credentials}\n",
        "",
        &["config.yaml:5:1", "credentialsSecretRef is missing"],
    ),
    (
        "a wrong type",
        "matchLabels: {app: haproxy}",
        "matchLabels: 5",
        &["config.yaml:7:17", "a mapping", "the number 5"],
    ),
    (
        "another kind",
        "kind: HAProxyTemplateConfig",
        "kind: HAProxyTemplateConfg",
        &["no object of kind HAProxyTemplateConfig", "but HAProxyTemplateConfg"],
    ),
    ("another version", "v1alpha1", "v9", &["haproxy-haptic.org/v1alpha1", "v9"]),
    ("a bad index", "metadata.name\"]", "metadata.name[\"]", &["spec.watchedResources.services.indexBy"]),
    (
        "a missing partial",
        "{{> greeting}}",
        "{{> greting}}",
        &["\"greting\"", "did you mean \"greeting\"?", "template haproxyConfig:8:3"],
    ),
    (
        "an unknown function",
        "{{> greeting}}",
        "{{regex_replce 1}}",
        &[
            "regex_replce",
            "did you mean \"regex_replace\"?",
            "template haproxyConfig:8:3",
            "haptic functions",
        ],
    ),
    (
        "an open block",
        "{{> greeting}}",
        "{{#each foo}}",
        &["never closed", "template haproxyConfig:8:3", "{{/each}}"],
    ),
    ("an unknown value", "{{> greeting}}", "# {{foo.bar}}", &["foo", "template haproxyConfig:8:"]),
    (
        "an unknown keyword",
        "{{> greeting}}",
        "timout client 1s",
        &["timout", "did you mean 'timeout'", "haproxy.cfg:8"],
    ),
    ("what only HAProxy knows", "{{> greeting}}", "use_backend nowhere", &["nowhere", "haproxy.cfg:8"]),
    (
        "nothing listens",
        "      frontend web\n        bind 127.0.0.1:7999\n",
        "      backend web\n",
        &["nothing in the configuration listens"],
    ),
    (
        "a file name that leaves its folder",
        "host.map:",
        "../host.map:",
        &["\"../host.map\" cannot be a file name"],
    ),
    (
        "two files of one name",
        "  maps:",
        "  files:\n    host.map: {template: x, path: maps/host.map}\n  maps:",
        &["host.map"],
    ),
];

#[test]
fn wrong_configurations_are_told_with_their_place_and_exit_code_1() {
    assert!(
        place_with(GOOD).haptic(&["validate", "-f", "config.yaml"]).code == Some(0),
        "the good one is valid"
    );
    for (what, good, wrong, words) in WRONG_CONFIGURATIONS {
        let text = GOOD.replacen(good, wrong, 1);
        assert_ne!(text, GOOD, "{what}: nothing is replaced");
        place_with(&text).haptic(&["validate", "-f", "config.yaml"]).must_complain(what, 1, words);
    }
}

#[test]
fn no_message_ends_in_empty_advice_or_speaks_to_programmers() {
    for (what, good, wrong, _) in WRONG_CONFIGURATIONS {
        let done = place_with(&GOOD.replacen(good, wrong, 1)).haptic(&["validate", "-f", "config.yaml"]);
        for line in done.err.lines() {
            assert!(!line.ends_with(". ") && !line.contains(".;"), "{what}: {line:?}");
            assert!(!line.contains("Options") && !line.contains("serde"), "{what}: {line:?}");
        }
    }
}

#[test]
fn everything_wrong_with_the_fields_is_told_at_once() {
    let text =
        GOOD.replace("podSelector", "podSelecter").replace("resources: services", "resurces: services");
    let done = place_with(&text).haptic(&["validate", "-f", "config.yaml"]);
    done.must_complain("two mistakes", 1, &["podSelecter", "resurces", "Did you mean \"resources\"?"]);
}

#[test]
fn wrong_paths_are_told_with_what_to_do() {
    let place = place_with(GOOD);
    place.write("text.yaml", "just text\n");
    fs::write(place.path().join("utf16.yaml"), b"\xff\xfea\0").unwrap();
    let render = ["render", "-f", "config.yaml", "--resources"];
    let cases: &[(&[&str], &[&str])] = &[
        (
            &["validate", "-f", "nothing.yaml"],
            &["cannot read nothing.yaml", "Name a configuration file that is there"],
        ),
        (&["validate", "-f", "manifests"], &["cannot read manifests"]),
        (&["validate", "-f", "utf16.yaml"], &["utf16.yaml is not UTF-8 text"]),
        (
            &["validate", "-f", "manifests/service.yaml"],
            &["no object of kind HAProxyTemplateConfig", "but Service"],
        ),
        (&["validate", "-f", "text.yaml"], &["text.yaml"]),
        (
            &["validate", "-f", "config.yaml", "--resources", "nowhere"],
            &["nowhere cannot be read", "directory of manifests"],
        ),
        (&["validate", "-f", "config.yaml", "--haproxy", "/nowhere"], &["/nowhere", "--haproxy"]),
        (
            &["validate", "-f", "config.yaml", "--haproxy", "/bin/true"],
            &["/bin/true is not HAProxy", "--haproxy"],
        ),
        (&[&render[..], &["nowhere", "--out", "out"]].concat(), &["nowhere cannot be read"]),
        (
            &[&render[..], &["config.yaml", "--out", "out"]].concat(),
            &["config.yaml cannot be read", "directory"],
        ),
        (&[&render[..], &["manifests", "--out", "config.yaml"]].concat(), &["cannot write", "--out"]),
        (
            &[&render[..], &["manifests", "--out", "/proc/nowhere"]].concat(),
            &["cannot write /proc/nowhere", "--out"],
        ),
        (&["local", "-f", "nothing.yaml", "--resources", "manifests"], &["cannot read nothing.yaml"]),
        (&["local", "-f", "config.yaml", "--resources", "nowhere"], &["nowhere cannot be read"]),
        (&["run", "--name", "shop"], &["no API server is known", "--kubeconfig"]),
        (&["run", "--name", "shop", "--kubeconfig", "nowhere"], &["kubeconfig nowhere cannot be used"]),
        (
            &["run", "--name", "shop", "--kubeconfig", "config.yaml"],
            &["kubeconfig config.yaml cannot be used"],
        ),
    ];
    for (arguments, words) in cases {
        place.haptic(arguments).must_complain(&arguments.join(" "), 1, words);
    }
}

#[test]
fn wrong_usage_has_exit_code_2() {
    let place = place_with(GOOD);
    let cases: &[(&[&str], &[&str])] = &[
        (&[], &["Usage: haptic <COMMAND>"]),
        (&["validte"], &["'validate'"]),
        (&["validate"], &["--file"]),
        (&["validate", "-f", "config.yaml", "--output", "xml"], &["possible values: summary, json"]),
        (&["run"], &["--name"]),
        (&["agent", "--dir", "d"], &["--haproxy"]),
        (
            &[
                "render",
                "-f",
                "config.yaml",
                "--resources",
                "manifests",
                "--out",
                "o",
                "--haproxy-version",
                "new",
            ],
            &["new"],
        ),
        (&["run", "--name", "a", "--bind-address", "here"], &["here"]),
        (
            &["render", "-f", "config.yaml", "--resources", "manifests", "--out", "-"],
            &["standard output is no place for it"],
        ),
        (&["benchmark", "-f", "config.yaml", "--haproxy-version", "9.9"], &["versions 3.0 to 3.4 are known"]),
        (&["record", "-o", "-"], &["standard output is no place for it"]),
    ];
    for (arguments, words) in cases {
        place.haptic(arguments).must_complain(&arguments.join(" "), 2, words);
    }
}

#[test]
fn without_any_haproxy_it_is_said_how_to_get_one() {
    let place = place_with(GOOD);
    let nowhere = |command: &mut Command| {
        for series in ["3_0", "3_2", "3_4"] {
            command.env_remove(format!("HAPTIC_HAPROXY_{series}"));
        }
        command.env("PATH", "/nowhere");
    };
    for arguments in
        [&["validate", "-f", "config.yaml"][..], &["local", "-f", "config.yaml", "--resources", "manifests"]]
    {
        let done = place.haptic_with(arguments, nowhere);
        // A machine may have one in /usr/sbin, which is searched as well.
        if !Path::new("/usr/sbin/haproxy").exists() && !Path::new("/usr/local/sbin/haproxy").exists() {
            done.must_complain(arguments[0], 1, &["no HAProxy was found", "--haproxy"]);
        }
    }
}

#[test]
fn what_is_no_haproxy_or_too_old_is_refused_with_the_reason() {
    let place = place_with(GOOD);
    let program = |name: &str, prints: &str| {
        place.write(name, &format!("#!/bin/sh\necho '{prints}'\n"));
        let path = place.path().join(name);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    program("old", "HAProxy version 2.6.12-1+deb12u2 2025/04/24 - https://haproxy.org/");
    program("other", "hello");
    place.write("text", "HAProxy version 3.4.0");
    for (haproxy, expected) in [
        ("./old", "./old is HAProxy 2.6, and the oldest that can be used is 3.0"),
        ("./other", "./other is not HAProxy: `-v` does not print its version"),
        ("./text", "./text cannot be run: Permission denied"),
        ("./nowhere", "./nowhere cannot be run: No such file"),
    ] {
        for arguments in [
            &["validate", "-f", "config.yaml"][..],
            &["local", "-f", "config.yaml", "--resources", "manifests"],
        ] {
            let done = place.haptic(&[arguments, &["--haproxy", haproxy]].concat());
            done.must_complain(&arguments.join(" "), 1, &[expected, "with --haproxy"]);
            assert!(!done.err.contains("memory"), "{}", done.err);
        }
    }
}

#[test]
fn two_proxies_at_one_place_are_told_with_both_lines_and_refuse_nothing() {
    let place = Place::new();
    place.haptic(&["init", "--from", "services"]).must(0, &[]);
    let config = fs::read_to_string(place.path().join("config.yaml")).unwrap();
    let listen = "\n      listen other\n          bind 127.0.0.1:7080\n\n      backend none\n";
    place.write("config.yaml", &config.replacen("\n      backend none\n", listen, 1));
    let told = [
        "warning: this listens on 127.0.0.1:7080, and frontend web does, too (template haproxyConfig:",
        "each connection goes to one of them by chance; template haproxyConfig:",
        "config.yaml: valid",
    ];
    place.haptic(&["validate", "config.yaml"]).must(0, &told);
}

#[test]
fn json_stays_json_whatever_is_wrong() {
    let broken = place_with(&GOOD.replace("metadata:", "metadata: ["));
    let partial = place_with(&GOOD.replace("> greeting", "> greting"));
    let good = place_with(GOOD);
    let cases: [(&Place, &[&str]); 4] = [
        (&broken, &["validate", "-f", "config.yaml", "--output", "json"]),
        (&partial, &["validate", "-f", "config.yaml", "--output", "json"]),
        (&good, &["validate", "-f", "config.yaml", "--output", "json", "--haproxy", "/nowhere"]),
        (&good, &["validate", "-f", "config.yaml", "--output", "json", "--resources", "nowhere"]),
    ];
    for (place, arguments) in cases {
        let done = place.haptic(arguments);
        done.must_complain(&arguments.join(" "), 1, &[]);
        let result: Value = serde_json::from_str(&done.out).expect(&done.out);
        assert_eq!(
            (&result["valid"], result["errors"].as_u64()),
            (&Value::Bool(false), Some(1)),
            "{}",
            done.out
        );
        assert!(result["problems"][0]["message"].as_str().is_some_and(|m| !m.is_empty()), "{}", done.out);
    }
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    for arguments in [&["functions"][..], &["functions", "--output", "json"], &["crd"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_haptic"));
        command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        assert!(!first.is_empty());
        let ended = child.wait_with_output().unwrap();
        assert!(ended.status.success(), "{arguments:?}: {}", ended.status);
        assert!(ended.stderr.is_empty(), "{arguments:?}: {}", String::from_utf8_lossy(&ended.stderr));
    }
}

/// Answers each request with an overview of nothing, for as long as the process lasts.
fn controller_of_nothing() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            let answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
            drop(stream.write_all(answer.as_bytes()));
        }
    });
    format!("http://{address}")
}

#[test]
fn who_watches_ends_with_the_reader() {
    let mut watching = Command::new(env!("CARGO_BIN_EXE_haptic"))
        .args(["status", "--watch", "--url", &controller_of_nothing()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::new(watching.stdout.take().unwrap()).read_line(&mut first).unwrap();
    let patience = Instant::now() + Duration::from_secs(30);
    while watching.try_wait().unwrap().is_none() && Instant::now() < patience {
        std::thread::park_timeout(Duration::from_millis(50));
    }
    drop(watching.kill());
    assert!(watching.wait().unwrap().success(), "it watched on");
}

#[test]
fn of_objects_beside_a_faulty_one_everything_is_told() {
    let place = place_with(
        &GOOD
            .replace("    timeout client 1s\n", "")
            .replace("  timeout client 1s\n", "")
            .replace("{{> greeting}}", "{{#each (list \"services\") as |s|}}\n        {{#if (eq s.metadata.name \"faulty\")}}\n        {{fail \"it is faulty\"}}\n        {{/if}}\n        {{/each}}"),
    );
    place.write("manifests/faulty.yaml", &SERVICE.replace("shop", "faulty"));
    let done = place.haptic(&["validate", "-f", "config.yaml", "--resources", "manifests"]);
    done.must_complain("validate", 1, &["it is faulty", "missing timeouts"]);
}

#[test]
fn manifests_that_cannot_be_read_are_named_and_the_rest_is_rendered() {
    let place = place_with(&GOOD.replace(
        "{{> greeting}}",
        "{{#each (list \"services\") as |s|}}\n        # {{s.metadata.name}}\n        {{/each}}",
    ));
    place.write("manifests/broken.yaml", "kind: Service\nmetadata: [a\nb: {\n");
    place.write("manifests/broken.json", "{\n  \"a\": }\n");
    place.write("manifests/text.yaml", "just text\n");
    place.write("manifests/nameless.yaml", "apiVersion: v1\nkind: Service\nmetadata: {namespace: default}\n");
    place.write("manifests/zz-again.yaml", SERVICE);
    let words = [
        "manifests/broken.yaml:3:",
        "this is not YAML",
        "manifests/broken.json:2:8: this is not JSON",
        "manifests/text.yaml: document 1 is not an object",
        "manifests/nameless.yaml: document 1 has no metadata.name",
        "Service default/shop is defined in ",
        "manifests/service.yaml and in ",
        "manifests/zz-again.yaml; that of ",
    ];
    let done = place.haptic(&["render", "-f", "config.yaml", "--resources", "manifests", "--out", "out"]);
    done.must_complain("render", 1, &words);
    let rendered = fs::read_to_string(place.path().join("out/haproxy.cfg")).unwrap();
    assert!(rendered.contains("# shop"), "{rendered}");
    place
        .haptic(&["validate", "-f", "config.yaml", "--resources", "manifests"])
        .must_complain("validate", 1, &words);
}

#[test]
fn a_port_in_use_is_told_with_the_field_that_changes_it() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let controller = format!("spec:\n  controller: {{healthzPort: {port}, metricsPort: 0, debugPort: 0}}\n");
    let place =
        place_with(&GOOD.replace("spec:\n", &controller).replace("bind 127.0.0.1:7999", "bind 127.0.0.1:0"));
    let done = place.haptic(&["local", "-f", "config.yaml", "--resources", "manifests"]);
    let words = [&format!("cannot listen on 127.0.0.1:{port}"), "in use", "controller.healthzPort"];
    done.must_complain("local", 1, &words);
}

#[test]
fn an_agent_that_cannot_start_says_why_and_what_to_do() {
    let place = place_with(GOOD);
    let haproxy = haproxy().into_string().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let start = ["agent", "--dir", "d", "--haproxy"];
    let cases: &[(&[&str], bool, &[&str])] = &[
        (
            &[&start[..], &[&*haproxy]].concat(),
            false,
            &["no credentials", "HAPTIC_USERNAME", "--credentials-dir"],
        ),
        (
            &[&start[..], &[&*haproxy, "--credentials-dir", "nowhere"]].concat(),
            false,
            &["nowhere/dataplane_username"],
        ),
        (&[&start[..], &["/nowhere"]].concat(), true, &["there is no program /nowhere", "--haproxy"]),
        (
            &[&start[..], &[&*haproxy, "--listen", &address]].concat(),
            true,
            &["cannot listen on", &address, "--listen"],
        ),
        (
            &["agent", "--dir", "/proc/nowhere", "--haproxy", &haproxy],
            true,
            &["/proc/nowhere cannot be used", "--dir"],
        ),
        (
            &[&start[..], &[&*haproxy, "--tls-cert", "config.yaml", "--tls-key", "config.yaml"]].concat(),
            true,
            &["config.yaml", "no certificate"],
        ),
    ];
    for (arguments, credentials, words) in cases {
        let with = |command: &mut Command| {
            if *credentials {
                command.env("HAPTIC_USERNAME", "admin").env("HAPTIC_PASSWORD", "secret");
            }
        };
        place.haptic_with(arguments, with).must_complain(&arguments.join(" "), 1, words);
    }
}
