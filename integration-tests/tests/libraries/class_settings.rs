//! Options in the ConfigMap that an IngressClass names by its parameters.

use crate::{
    SERIES, on_each_haproxy_with,
    options::{both, certificate},
    site::{self, SCHEMES, Scheme, Site, sentences, version_of},
};
use haptic_attribution::quarantine::{QuarantineState, RenderTiming};
use haptic_model::{Fleet, Generation, pipeline::RenderBasis};
use haptic_render::{Checked, RenderJob, RenderLimits, Renderer};
use serde_json::{Value, json};
use std::{sync::Arc, time::Instant};

const HOST: &str = "a.example";

/// The Ingress `on` with these annotations is of the class `team`, `off` is of the default class.
fn of_class(annotations: &[(&str, &str)], config_map: Option<Value>) -> Vec<Value> {
    let mut manifests = both(annotations);
    manifests[0]["spec"]["ingressClassName"] = json!("team");
    manifests.push(certificate());
    manifests.push(json!({"kind": "IngressClass", "metadata": {"name": "team"}, "spec": {
        "controller": "haproxy-haptic.org/ingress-controller",
        "parameters": {"kind": "ConfigMap", "scope": "Namespace", "namespace": "edge", "name": "team"},
    }}));
    manifests.extend(config_map.map(
        |data| json!({"kind": "ConfigMap", "metadata": {"namespace": "edge", "name": "team"}, "data": data}),
    ));
    manifests
}

/// The ConfigMaps that classes name are watched.
pub fn watching(spec: &mut Value) {
    spec["watchedResources"] =
        json!({"classparameters": {"apiVersion": "v1", "resources": "configmaps", "namespaces": ["edge"]}});
}

fn post(site: &Site, path: &str, bytes: usize) -> u16 {
    site.ask(Scheme::Http, "POST", HOST, path, "", &"x".repeat(bytes)).status
}

#[test]
fn a_class_has_options_of_its_own_under_those_of_the_configuration() {
    let data = json!({
        "defaults": "hsts-max-age: 9\nretry: idempotent\n",
        "enforced": "max-body-size: 1k\nresponse-headers: 'X-Class: team'\n",
    });
    let manifests = of_class(&[("max-body-size", "4k"), ("response-headers", "X-Class: own")], Some(data));
    let change = |spec: &mut Value| {
        watching(spec);
        spec["templatingSettings"]["extraContext"]["routes"] =
            json!({"defaults": {"hsts-max-age": 7}, "enforced": {"max-body-size": "2k"}});
    };
    on_each_haproxy_with(&manifests, change, |site| {
        assert_eq!([1024, 1025].map(|bytes| post(site, "/on", bytes)), [200, 413]);
        assert_eq!([2048, 2049].map(|bytes| post(site, "/off", bytes)), [200, 413]);
        let told =
            |path: &str, header: &str| site.get(Scheme::Https, HOST, path).header(header).map(str::to_owned);
        assert_eq!((told("/on", "x-class").as_deref(), told("/off", "x-class")), (Some("team"), None));
        let ages = ["/on", "/off"].map(|path| told(path, "strict-transport-security").unwrap());
        assert_eq!(ages, ["max-age=9", "max-age=7"]);
    });
}

#[test]
fn where_nobody_knows_what_a_class_enforces_nobody_gets_in() {
    let (gone, unwatched) = (of_class(&[], None), of_class(&[], Some(json!({}))));
    let mut other_kind = of_class(&[], None);
    other_kind[3]["spec"]["parameters"]["kind"] = json!("TeamClass");
    let not_watching: fn(&mut Value) = |_| {};
    for (manifests, change) in
        [(gone, watching as fn(&mut Value)), (unwatched, not_watching), (other_kind, watching)]
    {
        on_each_haproxy_with(&manifests, change, |site| {
            for scheme in SCHEMES {
                assert_eq!(site.get(scheme, HOST, "/on").status, 503);
                assert_eq!(site.get(scheme, HOST, "/off").service(), Some(2));
            }
        });
    }
}

/// What renders of these objects one after the other say, each with the value that counts of `timeout-server`, and who is held back.
fn rendered_in_turn(histories: &[Vec<Value>]) -> Vec<(String, String)> {
    let mut spec = site::spec(7080, 7443, 7084);
    watching(&mut spec);
    let config = site::configuration(&spec);
    let compiled = site::compiled(&config.spec).unwrap();
    let version = version_of(SERIES[2]);
    let fleet = Fleet::of_version(version);
    let (mut renderer, mut quarantine) = (Renderer::checked(Checked::Always), QuarantineState::default());
    let mut good: Option<RenderBasis> = None;
    let (mut generation, mut said) = (0, Vec::new());
    for manifests in histories {
        let objects: Vec<Value> = manifests.iter().cloned().chain(site::surroundings(8080)).collect();
        let snapshots = site::snapshots(&config, &objects);
        let limits = RenderLimits::default();
        let job = RenderJob {
            compiled: &compiled,
            config: &config,
            snapshots: &snapshots,
            fleet: &fleet,
            limits: &limits,
        };
        let (rendering, snapshots) = loop {
            generation += 1;
            let timing =
                RenderTiming { generation: Generation(generation), now: Instant::now(), good: good.as_ref() };
            let outcome = job.render(&mut quarantine, &mut renderer, &timing);
            match outcome.rendering {
                Ok(rendering) => break (rendering, outcome.snapshots),
                Err(_) if outcome.again => {}
                Err(faults) => panic!("{}", sentences(&faults.into_diagnostics())),
            }
        };
        let settings = rendering.bundle.files["maps/ingress-settings.map"].text.to_string();
        let of_on =
            settings.lines().find_map(|line| line.strip_prefix("shop/on ")).unwrap_or_default().to_owned();
        let held: Vec<String> =
            quarantine.described().held.iter().map(|(object, held)| format!("{object}: {held}")).collect();
        said.push((of_on, held.join("\n")));
        good = Some(RenderBasis {
            generation: Generation(generation),
            config: Arc::new(config.clone()),
            snapshots,
            digest: rendering.bundle.digest,
        });
    }
    said
}

#[test]
fn of_a_config_map_that_cannot_be_read_the_last_good_version_counts() {
    let with = |enforced: &str| of_class(&[], Some(json!({"enforced": enforced})));
    let histories = [
        with("timeout-server: 5s"),
        with("timeout-server: 5"),
        with("timeout-server: 7s"),
        with("allow-from: ["),
    ];
    let said = rendered_in_turn(&histories);
    let settings: Vec<&str> = said.iter().map(|(settings, _)| settings.as_str()).collect();
    assert_eq!(
        settings,
        ["timeout-server=5000", "timeout-server=5000", "timeout-server=7000", "timeout-server=7000"]
    );
    assert!(said[0].1.is_empty() && said[2].1.is_empty(), "{said:?}");
    for (at, why) in [
        (1, "data.enforced.timeout-server is \"5\", it must be a time with its unit"),
        (3, "data.enforced must be YAML"),
    ] {
        assert!(
            said[at].1.starts_with("classparameters edge/team: ") && said[at].1.contains(why),
            "{said:?}"
        );
    }
    let never_good = rendered_in_turn(&histories[1..2]);
    assert_eq!(never_good[0].0, "closed=true");
}
