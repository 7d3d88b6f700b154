//! What a command takes from where it is started: variables, and kubectl's configuration.

use crate::place::{Done, Place};

/// kubectl's configuration of a cluster that nobody is at.
const NOBODY: &str = "
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]
users: [{name: u, user: {}}]
contexts: [{name: x, context: {cluster: c, user: u NAMESPACE}}]
current-context: x
";

fn run(variables: &[(&str, &str)], arguments: &[&str]) -> Done {
    let with = |command: &mut std::process::Command| {
        command.envs(variables.iter().copied());
    };
    Place::new().haptic_with(&[&["run"], arguments].concat(), with)
}

#[test]
fn the_name_of_a_configuration_may_be_said_as_haptic_in_go_took_it() {
    run(&[], &[]).must(2, &["give --name CONFIG, or set HAPTIC_CONFIG_NAME"]);
    run(&[("CONFIG_NAME", "")], &[]).must(2, &["give --name CONFIG"]);
    for (variables, arguments) in [
        (&[("CONFIG_NAME", "edge")][..], &[][..]),
        (&[("HAPTIC_CONFIG_NAME", "edge")], &[]),
        (&[], &["--config-name", "edge"]),
        (&[], &["--name", "edge"]),
    ] {
        run(variables, arguments).must(1, &["no API server is known"]);
    }
}

#[test]
fn a_log_level_that_is_none_is_told() {
    let asked = |level: &str| run(&[("LOG_LEVEL", level)], &["--name", "edge"]).err;
    assert!(asked("loud").contains("LOG_LEVEL is no level"));
    for level in ["", "DEBUG", "warn"] {
        assert!(!asked(level).contains("LOG_LEVEL"), "{level:?}");
    }
}

#[test]
fn validate_finds_a_cluster_and_its_namespace_as_kubectl_does() {
    let validate = |namespace: &str, variables: &[(&str, &str)]| {
        let place = Place::new();
        place.write(".kube/config", &NOBODY.replace("NAMESPACE", namespace));
        place.haptic_with(&["validate", "--name", "edge"], |command| {
            command.envs(variables.iter().copied());
        })
    };
    let team = ", namespace: team";
    validate("", &[]).must(1, &["HAProxyTemplateConfig edge in namespace default cannot be read"]);
    validate(team, &[]).must(1, &["edge in namespace team cannot be read"]);
    validate(team, &[("CONTROLLER_NAMESPACE", "go")]).must(1, &["edge in namespace go cannot be read"]);
    let both = [("CONTROLLER_NAMESPACE", "go"), ("POD_NAMESPACE", "ours")];
    validate(team, &both).must(1, &["edge in namespace ours cannot be read"]);
}

#[test]
fn a_variable_without_a_value_is_none() {
    run(&[("KUBECONFIG", "")], &["--name", "edge"]).must(1, &["no API server is known"]);
    run(&[("POD_NAMESPACE", ""), ("HAPTIC_CONFIG_NAME", "")], &[]).must(2, &["give --name CONFIG"]);
    let place = Place::new();
    place.write("config.yaml", include_str!("../../../fixtures/hello/config.yaml"));
    let empty = |command: &mut std::process::Command| {
        command.envs(["KUBECONFIG", "HAPTIC_UNPROTECTED", "HAPTIC_STATE_DIR"].map(|name| (name, "")));
    };
    place.haptic_with(&["validate", "-f", "config.yaml"], empty).must(0, &["valid"]);
}

#[test]
fn several_kubeconfigs_are_read_by_every_command() {
    let place = Place::new();
    place.write("one", &NOBODY.replace("NAMESPACE", ", namespace: team"));
    place.write("two", "apiVersion: v1\nkind: Config\n");
    let both = |command: &mut std::process::Command| {
        command.env("KUBECONFIG", "one:two");
    };
    for arguments in [&["validate", "--name", "edge"][..], &["plan", "--name", "edge"]] {
        place.haptic_with(arguments, both).must(1, &["HAProxyTemplateConfig edge in namespace team"]);
    }
}

#[test]
fn half_of_the_credentials_of_a_local_agent_is_refused() {
    let place = Place::new();
    place.write("config.yaml", include_str!("../../../fixtures/hello/config.yaml"));
    place.write("manifests/nothing.yaml", "");
    for half in ["HAPTIC_USERNAME", "HAPTIC_PASSWORD"] {
        let done =
            place.haptic_with(&["local", "-f", "config.yaml", "--resources", "manifests"], |command| {
                command.env(half, "one");
            });
        done.must(1, &["one of HAPTIC_USERNAME and HAPTIC_PASSWORD is set, the other is not"]);
    }
}
