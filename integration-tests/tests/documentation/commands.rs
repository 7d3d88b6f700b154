//! Every command that the documentation shows is run, here or elsewhere.
//!
//! One of `haptic` is run here as it is written. Any other must be in [`RUN_ELSEWHERE`], which names what runs it.

use crate::first_configuration::{haptic, prepared};
use integration_tests::{
    markdown::{commands, documents, read},
    process,
};

/// Commands that this test does not run as they are written, and who does.
const RUN_ELSEWHERE: &[(&str, &str)] = &[
    (
        "kubectl get ingress,service,configmap -A -o yaml > manifests.yaml",
        "the server's tests `migrate` read such a list",
    ),
    (
        "kubectl get ingress,service,configmap,tcps.ingress.v3.haproxy.org,backends.ingress.v3.haproxy.org,defaults.ingress.v3.haproxy.org -A -o yaml > manifests.yaml",
        "the server's tests `migrate` read such a list",
    ),
    ("haptic migrate check --from haproxy-org -f manifests.yaml", "the server's tests `migrate`"),
    ("haptic migrate check --from haproxy-ingress -f manifests.yaml", "the server's tests `migrate`"),
    ("haptic migrate check --from ingress-nginx -f manifests.yaml", "the server's tests `migrate`"),
    (
        "haptic migrate compare --from haproxy-org -f manifests.yaml --reference http://OLD --reference https://OLD --ours http://NEW --ours https://NEW",
        "the server's tests `migrate_compare` ask two HAProxys so",
    ),
    (
        "haptic migrate compare --from haproxy-org -f manifests.yaml --reference http://OLD --reference https://OLD --record old.jsonl",
        "the server's tests `migrate_compare` record and compare so",
    ),
    (
        "haptic migrate compare --from haproxy-org --reference old.jsonl --ours http://NEW --ours https://NEW",
        "the server's tests `migrate_compare` record and compare so",
    ),
    (
        "haptic migrate compare --from haproxy-ingress -f manifests.yaml --reference http://OLD --reference https://OLD --ours http://NEW --ours https://NEW",
        "the server's tests `migrate_compare` ask two HAProxys so",
    ),
    (
        "haptic migrate compare --from haproxy-ingress -f manifests.yaml --reference http://OLD --reference https://OLD --record old.jsonl",
        "the server's tests `migrate_compare` record and compare so",
    ),
    (
        "haptic migrate compare --from haproxy-ingress --reference old.jsonl --ours http://NEW --ours https://NEW",
        "the server's tests `migrate_compare` record and compare so",
    ),
    (
        "haptic migrate compare --from ingress-nginx -f manifests.yaml --reference http://OLD --reference https://OLD --ours http://NEW --ours https://NEW",
        "the server's tests `migrate_compare` ask two HAProxys so",
    ),
    (
        "haptic migrate compare --from ingress-nginx -f manifests.yaml --reference http://OLD --reference https://OLD --record old.jsonl",
        "the server's tests `migrate_compare` record and compare so",
    ),
    (
        "haptic migrate compare --from ingress-nginx --reference old.jsonl --ours http://NEW --ours https://NEW",
        "the server's tests `migrate_compare` record and compare so",
    ),
    (
        "haptic migrate compare --from ingress-nginx -f manifests.yaml --reference http://10.0.0.1 --reference https://10.0.0.1 --ours http://10.0.0.2 --ours https://10.0.0.2",
        "the server's tests `migrate_compare` ask two HAProxys so",
    ),
    (
        "haptic migrate compare --from ingress-nginx -f manifests.yaml --reference http://10.0.0.1 --reference https://10.0.0.1 --record old.jsonl",
        "the server's tests `migrate_compare` record and compare so",
    ),
    (
        "haptic migrate compare --from ingress-nginx --reference old.jsonl --ours http://10.0.0.2 --ours https://10.0.0.2",
        "the server's tests `migrate_compare` record and compare so",
    ),
    ("haptic migrate convert --from haproxy-org -f ingress.yaml", "the server's tests `migrate_convert`"),
    ("haptic migrate convert --from haproxy-ingress -f ingress.yaml", "the server's tests `migrate_convert`"),
    ("haptic migrate convert --from ingress-nginx -f ingress.yaml", "the server's tests `migrate_convert`"),
    (
        "haptic migrate convert --from ingress-nginx -f ingress.yaml --to httproutes --gateway edge/web",
        "the server's tests `migrate_convert`",
    ),
    ("make", "the Makefile's default target; `every_make_target_exists` knows it"),
    ("make demo", "the demo itself: it ends with 0 only when every step showed what it promises"),
    (
        "kubectl get events -A --field-selector reason=Quarantined",
        "journeys `quarantine_*` read these Events",
    ),
    (
        "kubectl get haptpl haptic -n edge -o jsonpath='{.status.conditions[?(@.type==\"Quarantined\")].message}'",
        "journeys `quarantine_*` read this condition",
    ),
    (
        "kubectl annotate haptpl haptic -n edge --overwrite haproxy-haptic.org/confirm-deletion=ingresses:120",
        "journey `mass_deletion_is_confirmed` writes this annotation",
    ),
    (
        "printf 'anna:%s\\n' \"$(openssl passwd -6)\" > auth",
        "tests `libraries::cookbook` ask HAProxy with such a hash",
    ),
    (
        "kubectl create secret generic servers-ca --from-file=ca.crt",
        "the libraries' tests of servers make such a Secret",
    ),
    ("kubectl label secret servers-ca haproxy-haptic.org/use=ca", "the label of the same Secret"),
    (
        "kubectl annotate ingress shop haproxy-haptic.org/protocol=https haproxy-haptic.org/server-ca-secret=servers-ca",
        "the libraries' tests of servers set this annotation",
    ),
    (
        "kubectl create secret generic shop-pair --from-file=tls.crt --from-file=tls.key",
        "tests `libraries::cookbook` make such a Secret",
    ),
    ("kubectl label secret shop-pair haproxy-haptic.org/use=certificate", "the label of the same Secret"),
    (
        "kubectl create secret generic shop-users --from-file=auth",
        "the Secret below it, which `libraries::cookbook` reads",
    ),
    ("kubectl label secret shop-users haproxy-haptic.org/use=auth", "the label of the same Secret"),
    (
        "kubectl annotate ingress shop haproxy-haptic.org/auth-secret=shop-users",
        "the annotation of the Ingress below it, which `libraries::cookbook` reads",
    ),
    (
        "kubectl patch haptpl haptic -n edge --type merge -p '{\"spec\":{\"validationTests\":null}}'",
        "journey `tests_stored_as_a_map` runs it",
    ),
    ("make local", "the demo with --stay"),
    ("make test", "CI"),
    ("make bench", "the benchmark"),
    ("haptic record", "journey `recording_is_replayed_elsewhere` records"),
    (
        "haptic replay haptic-recording-20260301T101500Z.jsonl.zst",
        "journey `recording_is_replayed_elsewhere` replays",
    ),
    ("haptic local -f config.yaml --resources manifests", "`the_first_configuration_serves`, on free ports"),
    (
        "curl -i -H 'Host: hello.localhost' http://127.0.0.1:7080/",
        "`the_first_configuration_serves`, the same request",
    ),
    (
        "haptic crd | kubectl apply -f -",
        "every journey; the first half also here, by `definitions_are_printed`",
    ),
    (
        "docker build -t haptic:0.1.0 .",
        "`parts/image/build` executes the Dockerfile, tests `chart::image` start what is in it",
    ),
    ("helm install haptic charts/haptic --namespace edge --create-namespace", "journey `chart_install`"),
    (
        "kubectl wait haptpl haptic -n edge --for=condition=Ready --timeout=2m",
        "journey `chart_install` waits for the same",
    ),
    ("helm test haptic --namespace edge", "journey `chart_install` runs the container of its pod"),
    (
        "kubectl apply --server-side --force-conflicts -f charts/haptic/crds",
        "journey `chart_install` applies the definitions once more",
    ),
    (
        "helm upgrade haptic charts/haptic --namespace edge --reset-then-reuse-values --set haproxy.replicas=3",
        "journey `chart_install` upgrades",
    ),
    ("helm uninstall haptic --namespace edge", "journey `chart_install`"),
    ("kubectl create namespace edge", "every journey makes its namespace"),
    (
        "kubectl create secret generic haproxy-credentials -n edge --from-literal=dataplane_username=haptic --from-literal=dataplane_password=\"$(openssl rand -hex 16)\"",
        "every journey makes this Secret",
    ),
    ("kubectl apply -n edge -f config.yaml", "every journey applies a configuration"),
    ("kubectl get haptpl -n edge", "journey `leader_status` reads the same fields"),
    ("kubectl describe haptpl haptic -n edge", "journeys `leader_status` and `leader_events` read the same"),
    (
        "kubectl wait haptpl haptic -n edge --for=condition=Ready",
        "journey `leader_status` waits for the same",
    ),
    (
        "kubectl create secret generic haptic-credentials -n edge --from-literal=dataplane_username=haptic --from-literal=dataplane_password=\"$(openssl rand -hex 16)\" --dry-run=client -o yaml | kubectl apply --server-side --force-conflicts -f -",
        "journey `credentials_rotated` changes the same Secret",
    ),
    (
        "curl --connect-to ::ADDRESS -i https://shop.example.com/",
        "tests `libraries` ask hosts of HTTPS at an address",
    ),
    (
        "kubectl exec -i -n edge deploy/haptic-controller -- haptic plan --name haptic -f /dev/stdin < config.yaml",
        "journey `plan_tells_before_it_happens` gives it a file so; `chart_install` runs it in a controller's container",
    ),
    (
        "kubectl apply --server-side -f https://github.com/kubernetes-sigs/gateway-api/releases/download/v1.7.0/standard-install.yaml",
        "journey `gateway_statuses` installs the definitions of `parts/definitions`",
    ),
    (
        "helm upgrade haptic charts/haptic --namespace edge --reset-then-reuse-values --set gateway.enabled=true",
        "journey `chart_combinations` installs it with that value",
    ),
    ("kubectl apply -f first.yaml", "journey `gateway_statuses` applies `fixtures/gateway/first.yaml`"),
    ("kubectl wait gateway web --for=condition=Programmed", "journey `gateway_statuses` waits for the same"),
    ("curl -i -H 'Host: first.example' http://ADDRESS/", "tests `libraries` ask routes at an address"),
    (
        "kubectl get gatewayclass haptic -o jsonpath='{.status.supportedFeatures[*].name}'",
        "journey `gateway_statuses` reads the same field",
    ),
    (
        "haptic run --name first --namespace edge --kubeconfig ~/.kube/config",
        "every journey, by `Controller::start`",
    ),
];

/// The page whose commands the journeys `getting_started_*` run one after the other, word for word.
const GETTING_STARTED: &str = "docs/getting-started.md";

/// All commands of the documentation, each with where it is and the output shown below it.
fn documented() -> Vec<(String, String, String)> {
    let pages = documents().into_iter().map(|page| page.display().to_string());
    let of = |page: String| {
        let all = commands(&read(&page));
        all.into_iter().map(move |(command, shown)| (page.clone(), command, shown))
    };
    pages.filter(|page| page != GETTING_STARTED).flat_map(of).collect()
}

#[tokio::test]
async fn every_command_is_run_here_or_elsewhere() {
    let documented = documented();
    let (mut ran, mut page, mut folder) = (0, "", prepared());
    for (document, command, shown) in &documented {
        if page != document {
            (page, folder) = (document, prepared());
        }
        if RUN_ELSEWHERE.iter().any(|(known, _)| known == command) {
            continue;
        }
        let words = command.strip_prefix("haptic ").unwrap_or_else(|| {
            panic!(
                "{document}: nothing is known to run {command:?}: add it to RUN_ELSEWHERE, with what runs it"
            )
        });
        let printed =
            process::output(&mut haptic(words, folder.path())).await.unwrap_or_else(|e| panic!("{e}"));
        assert!(
            shown.is_empty() || printed == *shown,
            "{document}: {command} printed\n{printed}\nand not\n{shown}"
        );
        ran += 1;
    }
    assert!(ran >= 3, "validate, render and functions are in the README");
    for (command, _) in RUN_ELSEWHERE {
        assert!(
            documented.iter().any(|(_, known, _)| known == command),
            "RUN_ELSEWHERE has {command:?}, which is documented nowhere"
        );
    }
}

#[tokio::test]
async fn exit_codes_are_as_documented() {
    let folder = prepared();
    for (words, code) in [("version", 0), ("validate -f nowhere.yaml", 1), ("validate", 2), ("nonsense", 2)] {
        let status = haptic(words, folder.path()).output().await.unwrap().status;
        assert_eq!(status.code(), Some(code), "haptic {words}");
    }
}

#[tokio::test]
async fn definitions_are_printed() {
    let folder = prepared();
    let printed = process::output(&mut haptic("crd", folder.path())).await.unwrap_or_else(|e| panic!("{e}"));
    assert!(printed.contains("kind: CustomResourceDefinition"), "{printed}");
}
