//! `haptic validate` with tests in the configuration: outputs, exit codes, `--test`, `--dump-rendered`.

use crate::place::{Done, Place};
use serde_json::Value;
use std::{fs, path::Path};

/// The first configuration of the README with its tests.
struct First(Place);

impl First {
    /// `from` in it becomes `to`.
    fn new(from: &str, to: &str) -> Self {
        let first = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/first");
        let read = |file: &str| fs::read_to_string(first.join(file)).unwrap();
        let config = read("config.yaml") + &read("tests.yaml");
        assert!(config.contains(from), "{from:?} is not in the configuration");
        let place = Place::new();
        place.write("config.yaml", &config.replace(from, to));
        Self(place)
    }

    fn validate(&self, more: &[&str]) -> Done {
        self.0.haptic(&[&["validate", "-f", "config.yaml"], more].concat())
    }
}

#[test]
fn tests_that_pass_are_told_and_end_with_0() {
    let done = First::new("", "").validate(&[]);
    done.must(
        0,
        &[
            "✓ a_note_with_a_newline_is_refused",
            "  ✓ equals maps.host.map\n",
            "  ✓ An endpoint that is not ready gets no requests\n",
            "\nTests: 2 passed, 0 failed, 2 total\nTime: ",
            "config.yaml: valid for HAProxy 3.4\n",
        ],
    );
    assert_eq!(done.err, "");
}

#[test]
fn tests_of_libraries_are_one_line_that_names_them() {
    let place = Place::new();
    let config =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/ingress/config.yaml"));
    place.write("config.yaml", &config.unwrap());
    let validate = |more: &[&str]| place.haptic(&[&["validate", "-f", "config.yaml"], more].concat());
    validate(&[]).must(
        0,
        &[" tests of the libraries base (", "), ingress (", "), ssl (", ") (-v shows them)\n\nTests: "],
    );
    validate(&["-v"]).must(0, &["✓ base-paths-raw", ", 0 failed"]);
}

#[test]
fn a_configuration_may_come_from_standard_input() {
    let first = First::new("", "");
    let piped = |arguments: &[&str]| {
        let open = || fs::File::open(first.0.path().join("config.yaml")).unwrap();
        first.0.haptic_with(arguments, |command| {
            command.stdin(open());
        })
    };
    piped(&["validate", "-f", "-"]).must(0, &["Tests: 2 passed, 0 failed, 2 total", "standard input: valid"]);
    first.0.write("resources/none.yaml", "");
    piped(&["render", "-f", "-", "--resources", "resources", "--out", "out"]).must(0, &[]);
    assert!(first.0.path().join("out/haproxy.cfg").exists());
    piped(&["local", "-f", "-", "--resources", "resources"]).must(1, &["give it a file with -f"]);
    let nothing = first.0.haptic(&["validate", "-f", "-"]);
    nothing.must(1, &["standard input"]);
}

#[test]
fn the_example_of_haptic_in_go_is_valid_but_for_its_templates() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/go-haptic/config.yaml");
    let config = fs::read_to_string(fixture).unwrap();
    let place = Place::new();
    let validate = |config: &str| {
        place.write("config.yaml", config);
        place.haptic(&["validate", "-f", "config.yaml"])
    };
    validate(&config).must(0, &["Tests: 1 passed, 0 failed, 1 total"]);
    let misspelt = config.replace("maps/domain_to_backend.map)", "maps/domain_to_backnd.map)");
    let words = ["domain_to_backnd.map", "{{file_path \"domain_to_backend\" \"map\"}}", "haproxyConfig:15"];
    validate(&misspelt).must(1, &words);
}

/// The configuration of the original design, untouched, and Ingresses for it.
fn original(place: &Place) -> String {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/seed/config.yaml");
    let ingress = |name: &str, paths: &str| {
        format!(
            "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {{name: {name}, namespace: default, uid: {name}}}\nspec:\n  rules: [{{host: '*.{name}.example', http: {{paths: [{paths}]}}}}]\n"
        )
    };
    let path = |path: &str, kind: &str| {
        format!(
            "{{path: {path}, pathType: {kind}, backend: {{service: {{name: shop, port: {{number: 80}}}}}}}}"
        )
    };
    place.write("resources/shop.yaml", &ingress("shop", &path("/", "Prefix")));
    place.write(
        "twice/shop.yaml",
        &ingress("shop", &format!("{}, {}", path("/a", "Exact"), path("/b", "Exact"))),
    );
    fs::read_to_string(fixture).unwrap()
}

#[test]
fn the_example_of_the_original_design_is_valid_with_a_notice_of_all_that_was_replaced_or_is_wrong_in_it() {
    let place = Place::new();
    let config = original(&place);
    place.write("config.yaml", &config);
    let done = place.haptic(&["validate", "-f", "config.yaml", "--resources", "resources"]);
    done.must(
        0,
        &[
            "config.yaml:12:3: logging.verbose was replaced by logging.level: read as level: DEBUG",
            "config.yaml:15:3: validation.dataplane_host has no effect",
            "config.yaml:56:5: the name of a snippet is its key: it is called \"backend-name\"",
            "config.yaml:33:5: kind was replaced by resources: read as resources: endpointslices",
            "credentialsSecretRef is not there: read as {name: haproxy-credentials}",
            "'chroot' in global is ignored",
            "objects of several are found by one key; field spec.watchedResources.endpoints.indexBy",
            "maps/path-prefix.map:5: \"ing_default_shop_shop_80/\" is no backend, and \"ing_default_shop_shop_80\" is one",
            "no request is looked up as \"*.shop.example/\"",
            "config.yaml: valid for HAProxy 3.4",
        ],
    );
    let twice = place.haptic(&["validate", "-f", "config.yaml", "--resources", "twice"]);
    twice.must(1, &["The backend 'ing_default_shop_shop_80' has the same name as the backend on line"]);
    let data: String = config.lines().map(|line| format!("    {line}\n")).collect();
    place.write(
        "map.yaml",
        &format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: haptic}}\ndata:\n  haptic.yaml: |\n{data}"
        ),
    );
    let words = [
        "map.yaml: the configuration is a text in a ConfigMap",
        "map.yaml/haptic.yaml:12:3: logging.verbose was replaced",
        "map.yaml: valid for HAProxy 3.4",
    ];
    place.haptic(&["validate", "-f", "map.yaml"]).must(0, &words);
    place.write("two.yaml", "apiVersion: v1\nkind: ConfigMap\ndata: {a: x, b: z}\n");
    place.haptic(&["validate", "-f", "two.yaml"]).must(1, &["a ConfigMap with 2 texts is no configuration"]);
}

#[test]
fn a_test_that_fails_shows_the_lines_around_with_template_and_object() {
    let place = First::new("\"conditions.ready\" true", "\"conditions.nonesuch\" true");
    place.validate(&[]).must(
        1,
        &[
            "✗ a_service_gets_its_host_and_its_endpoints",
            "  ✗ match_count haproxy_config\n    Error: pattern \"^ +server \" found 2 times in haproxy_config, expected 1\n",
            "server 10.0.0.2_8000 10.0.0.2:8000   (haproxyConfig:",
            "endpoints default/shop-1)",
            "Tests: 1 passed, 1 failed, 2 total",
            "config.yaml: invalid: 1/2 tests passed",
        ],
    );
    let only = place.validate(&["--test", "a_note_with_a_newline_is_refused"]);
    only.must(0, &["Tests: 1 passed, 0 failed, 1 total"]);
}

#[test]
fn programs_get_the_counts_at_the_top_level() {
    let place = First::new("\"conditions.ready\" true", "\"conditions.nonesuch\" true");
    let done = place.validate(&["--output", "json"]);
    done.must(1, &[]);
    let json: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!((&json["total"], &json["passed"], &json["failed"]), (&2.into(), &1.into(), &1.into()));
    assert_eq!((&json["valid"], &json["errors"]), (&false.into(), &0.into()));
    let failed = &json["tests"][1]["assertions"][2];
    assert_eq!((&failed["type"], &failed["passed"]), (&"match_count".into(), &false.into()), "{json:#}");
    let former = &json["testResults"][1];
    assert_eq!(
        (&json["totalTests"], &json["passedTests"], &json["failedTests"]),
        (&2.into(), &1.into(), &1.into())
    );
    assert_eq!(
        (&former["testName"], &former["passed"]),
        (&json["tests"][1]["name"], &false.into()),
        "{json:#}"
    );
    assert!(former["duration"].as_str().unwrap().ends_with('s'), "{json:#}");
    assert_eq!(former["assertions"][2]["error"], failed["error"], "{json:#}");
    assert!(failed["lines"][0]["template"].as_str().unwrap().starts_with("haproxyConfig:"), "{json:#}");
    place.validate(&["--output", "yaml"]).must(1, &["total: 2\n", "passed: 1\n", "failed: 1\n"]);
    place.validate(&["--output", "junit"]).must(
        1,
        &[
            "<testsuite name=\"config.yaml\" tests=\"3\" failures=\"1\" errors=\"0\"",
            "name=\"a_service_gets_its_host_and_its_endpoints\"",
            "><failure message=\"match_count haproxy_config: pattern",
        ],
    );
}

#[test]
fn what_was_rendered_is_shown_when_asked_for() {
    let place = First::new("", "");
    place.validate(&["--dump-rendered"]).must(
        0,
        &[
            "\n==== haproxy.cfg\n",
            "\n==== a_service_gets_its_host_and_its_endpoints: maps/host.map\nshop.example default_shop\n",
        ],
    );
    let json: Value =
        serde_json::from_str(&place.validate(&["--dump-rendered", "--output", "json"]).out).unwrap();
    assert_eq!(json["tests"][1]["rendered"]["maps/host.map"], "shop.example default_shop\n");
}

#[test]
fn a_test_that_is_written_wrongly_is_never_a_pass() {
    for (from, to, words) in [
        (
            "target: maps.host.map",
            "target: map.host.map",
            ["there is no target \"map.host.map\"", "assertions[1]"],
        ),
        ("target: maps.host.map", "target: \"\"", ["there is no target \"\"", "assertions[1]"]),
        (
            "{type: haproxy_valid}",
            "{type: haproxy_vald}",
            ["\"haproxy_vald\" is not one of haproxy_valid", "config.yaml:"],
        ),
        ("expected: 1}", "expectd: 1}", ["expectd", "Did you mean \"expected\"?"]),
        ("expected: 1}", "expected: yes please}", ["match_count needs a whole number", "\"yes please\""]),
        (
            "{type: contains, target: rendering_error, pattern: services default/shop}",
            "{type: haproxy_valid}",
            ["rendering failed", "services default/shop"],
        ),
        (
            "        services:\n          - apiVersion: v1\n            kind: Service\n            metadata:\n              name: shop\n",
            "        servces:\n          - apiVersion: v1\n            kind: Service\n            metadata:\n              name: shop\n",
            ["\"servces\" is not watched", "✗ a_service"],
        ),
    ] {
        First::new(from, to).validate(&[]).must(1, &words);
    }
    First::new("", "")
        .validate(&["--test", "nonesuch"])
        .must(2, &["there is no test \"nonesuch\"", "a_note_with"]);
}

#[test]
fn verbose_shows_what_is_rendered_anew_each_time() {
    let place = First::new(
        "      backend {{> backend-name}}\n",
        "      {{#if (once \"x\")}}\n      # once\n      {{/if}}\n      backend {{> backend-name}}\n",
    );
    place
        .validate(&["-v"])
        .must(0, &["rendered anew for each object after any change:\n", "haproxyConfig:", "it asks `once`"]);
    First::new("", "").validate(&["-v"]).must(0, &["only the blocks of what changed are rendered"]);
}

#[test]
fn a_benchmark_shows_each_stage() {
    let place = First::new("      labelSelector: expose=web\n", "");
    let done = place.0.haptic(&["benchmark", "-f", "config.yaml", "--ingresses", "50", "--output", "json"]);
    done.must(0, &[]);
    let json: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(
        (&json["objects"]["services"], &json["objects"]["endpoints"]),
        (&50.into(), &50.into()),
        "{json:#}"
    );
    let stages: Vec<&str> =
        json["stages"].as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap()).collect();
    for stage in ["render everything", "render after an endpoint change", "plan after an endpoint change"] {
        assert!(stages.contains(&stage), "{stages:?}");
    }
    assert!(json["mostMemoryMb"].as_u64().unwrap() > 0);
}
