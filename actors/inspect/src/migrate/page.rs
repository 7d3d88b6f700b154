//! A page of the documentation for each family: how to move, and what becomes of each key.

use haptic_routes::families::{Family, FamilyKey, KeyOutcome, KeyPlace, KeyTarget};
use std::fmt::Write;

/// What stands above the tables.
struct PageIntroduction {
    title: &'static str,
    controller: &'static str,
    class: &'static str,
    /// Where its chart puts its ConfigMap.
    config_map: &'static str,
    /// Its own kinds, as kubectl names them behind those of Kubernetes, and what is said of them.
    own_kinds: Option<(&'static str, &'static str)>,
    /// What is different whatever annotations say.
    routing: &'static [&'static str],
}

fn introduction(family: Family) -> PageIntroduction {
    match family {
        Family::HaproxyOrg => PageIntroduction {
            title: "From haproxytech/kubernetes-ingress",
            controller: "haproxy.org/ingress-controller/haproxy",
            class: "haproxy",
            config_map: "haproxy-controller/haproxy-kubernetes-ingress",
            own_kinds: Some((
                ",tcps.ingress.v3.haproxy.org,backends.ingress.v3.haproxy.org,defaults.ingress.v3.haproxy.org",
                "Older versions of it have its own kinds in the group `ingress.v1.haproxy.org`: name that one. Where none of them is installed, leave them out: kubectl refuses kinds that are not there.",
            )),
            routing: &[
                "Paths of the type ImplementationSpecific take whatever begins with their characters, as there: `/app` takes `/apple`, too. Only the namespace that has a host may have such paths there, but for `/`.",
                "There, the default backend of any Ingress takes what is left of all hosts; here, of an Ingress with rules, what is left of its own.",
                "There, passwords are asked for before a request is redirected, to HTTPS or elsewhere, and before OPTIONS is answered for pages of other origins; here after it.",
                "Where a guard is wrong (a network in a list, `auth-type`, a Secret that is not there) theirs lets everybody in; here nobody gets in.",
                "Redirects to HTTPS lead to port 8443, as there, unless `ssl-redirect-port` says another one, on the Ingress or in the ConfigMap: where clients come by another port, such as 443, say so.",
                "Of its own custom resources `TCP` asks for ports that the setting `tcpPorts` lists, like a Service: the Service and the Secret must be of its namespace, and an entry with rules (`acl_list`, `tcp_request_rule_list`, `services`, …) is left out and found. A `Backend` that `cr-backend` names, in the namespace of the Ingress, and the times of `Defaults` that `cr-defaults` names count as far as there are options for their fields; the others are findings. `Frontend` and `Global` have no counterpart: settings and snippets of the operator say the same.",
            ],
        },
        Family::HaproxyIngress => PageIntroduction {
            title: "From jcmoraisjr/haproxy-ingress",
            controller: "haproxy-ingress.github.io/controller",
            class: "haproxy",
            config_map: "ingress-controller/haproxy-ingress",
            own_kinds: None,
            routing: &[
                "Paths of the type ImplementationSpecific are compared as `path-type` says, without it as there: character by character, in small or capital letters. Only the namespace that has a host may have such paths there, but for `/`.",
                "`spec.defaultBackend` of an Ingress with rules takes what is left of its own hosts, not of all hosts.",
                "Hosts without TLS are served over HTTPS, too, with the default certificate.",
                "Annotations count for the routes of their own Ingress; of those that spread over a host `auth-tls-*` counts for all routes of the namespace there, others do not spread.",
                "Where a guard is wrong (a list without a good network, a Secret that is not there, an origin that is none) theirs may let everybody in; here nobody gets in.",
                "The balance is `random`, HTTPS answers have `Strict-Transport-Security`, redirects have the status 302, as there.",
                "The ConfigMap that lists TCP services is named by `tcpServices`, and its ports by `tcpPorts` ([TCP services](../cookbook.md#tcp-services)).",
            ],
        },
        Family::IngressNginx => PageIntroduction {
            title: "From kubernetes/ingress-nginx",
            controller: "k8s.io/ingress-nginx",
            class: "nginx",
            config_map: "ingress-nginx/ingress-nginx-controller",
            own_kinds: None,
            routing: &[
                "Paths of the type ImplementationSpecific are prefixes of elements, as there: `/api` takes `/api/x`, not `/api-docs`.",
                "One `use-regex`, or a `rewrite-target` that rewrites something, makes all paths of the host regular expressions that ignore case, the longest first, as there: of the routes of its own namespace. The same holds for `auth-tls-*`, canaries, aliases, and whom a `server-snippet` keeps out.",
                "Paths with a slash at their end are led to from the one without (301), bodies are limited to 1 MiB, connecting takes 5 seconds, servers and WebSockets are silent for 60 seconds, and answers over HTTPS have HSTS, as there, unless annotations or its ConfigMap say otherwise.",
                "A wrong value does what it does there: it is as if it was not there, all requests get 503, or nothing of the Ingress is served; where something of that Ingress guards access its paths get 503, so that no broader route has them. Where a wrong value there lets everybody in (`auth-request-redirect`, `auth-always-set-cookie`, `auth-cache-duration`), here nobody gets in.",
                "Redirects come before addresses, limits and passwords, as there.",
                "Nothing of a snippet is ever printed. With `snippets: translate` headers, redirects, rewrites, refusals (`if` by method, header or parameter, and `location = /x`, too), addresses, times and sizes in it are options; one with anything else counts for nothing, and lets nobody in where it may keep requests out.",
                "Secrets, and ConfigMaps with headers, need no label, and must be of the Ingress's own namespace; an Ingress is read again when they change. The ConfigMap that lists TCP services is named by `tcpServices`, and its ports by `tcpPorts` ([TCP services](../cookbook.md#tcp-services)); of the one that `udpServices` names each row is a finding.",
            ],
        },
    }
}

/// The page of a family.
#[must_use]
pub fn page(family: Family) -> String {
    let PageIntroduction { title, controller, class, config_map, own_kinds, routing } = introduction(family);
    let name = family.name();
    let (kinds, about_kinds) =
        own_kinds.map_or_else(Default::default, |(kinds, about)| (kinds, format!("{about}\n\n")));
    let prefixes: Vec<String> = family.prefixes().iter().map(|prefix| format!("`{prefix}`")).collect();
    let mut page = format!(
        "# {title}\n\n<!-- Generated by `make docs` from what `haptic reference {name}` prints. -->\n\n\
         Its Ingresses are served as they are: the library `annotations-{name}` reads annotations that begin with {}. What follows is what becomes of each \
         of them; how to move is in [Migration](../migration.md).\n\n\
         ## Before\n\nWhat of your manifests is the same, what differs and what cannot be served:\n\n\
         ```console\n$ kubectl get ingress,service,configmap{kinds} -A -o yaml > manifests.yaml\n\
         $ haptic migrate check --from {name} -f manifests.yaml\n```\n\n{about_kinds}\
         `--from-cluster` reads the cluster instead, `--config-map NAMESPACE/NAME` names its controller's ConfigMap, `--class NAME` one class of several, and \
         `--output` is `summary`, `json` or `markdown`. The exit code is 0 where all is the same, 3 where something is served otherwise, and 1 where something \
         cannot be.\n\n\
         ## Switch\n\n```yaml\nconfiguration:\n  libraries: [base, ssl, ingress, annotations-{name}]\n  extraContext:\n    annotationFamilies:\n      {name}:\n        \
         takeClasses: [{class}]\n        takeControllers: [{controller}]\n        # Its controller's ConfigMap; what stands in config counts before it.\n        configMap: {config_map}\n        config: {{}}\n\
         # Until clients come here, the addresses of Ingresses are the old controller's to write.\ningressStatus: {{enabled: false}}\n```\n\n\
         The ConfigMap is read as it changes, and nobody else should be able to write it. What it says counts where an Ingress says nothing, as there; a value that \
         cannot be read is ignored, one that guards access closes what does not say it itself, and both are findings at the ConfigMap, like the keys below that have no \
         effect. Copy its data to `config` before it goes with the old controller.\n\n\
         Both controllers then serve the same Ingresses, each by its own address. What is not served as there is a finding at its Ingress: \
         `kubectl describe ingress NAME`, or `haptic status`.\n",
        prefixes.join(" or ")
    );
    page.push_str(&afterwards(name));
    if !routing.is_empty() {
        page.push_str("\n## What is different whatever annotations say\n\n");
        routing.iter().for_each(|sentence| _ = writeln!(page, "* {sentence}"));
    }
    let table = family.table();
    let count = |is: fn(&KeyOutcome) -> bool| table.iter().filter(|key| is(&key.outcome)).count();
    _ = write!(
        page,
        "\n## Its keys\n\n{} keys: {} are served, {} are served with a difference, {} have no effect and are findings.\n",
        table.len(),
        count(|outcome| matches!(outcome, KeyOutcome::Served | KeyOutcome::ServedBut(_))),
        count(|outcome| matches!(outcome, KeyOutcome::Differs(_))),
        count(|outcome| matches!(outcome, KeyOutcome::Finding(_))),
    );
    let is_global = |key: &&FamilyKey| key.places == [KeyPlace::Config];
    let (global, others): (Vec<&FamilyKey>, Vec<&FamilyKey>) = table.iter().partition(is_global);
    for (heading, keys) in [("On Ingresses and Services", others), ("In its ConfigMap alone", global)] {
        if keys.is_empty() {
            continue;
        }
        _ = write!(page, "\n### {heading}\n\n| Key | Stands on | Here | |\n|---|---|---|---|\n");
        for key in keys {
            _ = writeln!(page, "| `{}` | {} | {} | {} |", key.name, places(key), options(key), outcome(key));
        }
    }
    page
}

/// What to do once both serve the same Ingresses.
fn afterwards(name: &str) -> String {
    format!(
        "\n## Compare\n\nAsk both for the same, before any client gets to the new one:\n\n\
         ```console\n$ haptic migrate compare --from {name} -f manifests.yaml --reference http://OLD --reference https://OLD --ours http://NEW --ours https://NEW\n```\n\n\
         It names each Ingress of which a request is answered otherwise, with the request and both answers. [Compare](../migration.md#3-compare) says what is \
         sent and what counts. Once the old controller is gone, a recording of it is compared with:\n\n\
         ```console\n$ haptic migrate compare --from {name} -f manifests.yaml --reference http://OLD --reference https://OLD --record old.jsonl\n\
         $ haptic migrate compare --from {name} --reference old.jsonl --ours http://NEW --ours https://NEW\n```\n\n\
         ## After\n\nLead clients to the new address: DNS, or the load balancer. Let HAPTIC write the addresses of Ingresses (`ingressStatus.enabled: true`), and \
         remove the old controller when its log is silent. The manifests may then have annotations of HAPTIC, as far as these do the same:\n\n\
         ```console\n$ haptic migrate convert --from {name} -f ingress.yaml\n```\n\n\
         It prints the file; `--in-place` writes it. [Convert](../migration.md#5-convert) says what stays.\n\n\
         ## Rollback\n\nLead clients to the old address. No manifest was changed, and the old controller serves them as before.\n"
    )
}

fn places(key: &FamilyKey) -> String {
    let words = key.places.iter().map(|place| match place {
        KeyPlace::Ingress => "Ingress",
        KeyPlace::Service => "Service",
        KeyPlace::Config => "ConfigMap",
    });
    words.collect::<Vec<_>>().join(", ")
}

fn options(key: &FamilyKey) -> String {
    match key.to {
        KeyTarget::Option(option) => format!("`{option}`"),
        KeyTarget::Group(options) => {
            options.iter().map(|option| format!("`{option}`")).collect::<Vec<_>>().join(", ")
        }
        KeyTarget::Alias(other) => format!("as `{other}`"),
        KeyTarget::Nothing => String::new(),
    }
}

fn outcome(key: &FamilyKey) -> String {
    match key.outcome {
        KeyOutcome::Served => "served".to_owned(),
        KeyOutcome::ServedBut(which) => format!("served, but: {}", which.replace('|', "\\|")),
        KeyOutcome::Differs(how) => format!("differs: {}", how.replace('|', "\\|")),
        KeyOutcome::Finding(instead) => format!("finding: {}", instead.replace('|', "\\|")),
    }
}
