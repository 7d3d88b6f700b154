//! Ingresses with five annotations each: ours, and those of each family of other controllers that ask for the same; and what `haptic migrate
//! check` takes for the latter.

use crate::{
    dataset::Dataset,
    figures::Scope,
    stages::{VERSION, after_change, config_of, median, refused, stores},
    statistics::milliseconds,
};
use haptic_model::{ActiveConfig, Fleet, Snapshots};
use haptic_render::{RenderJob, RenderLimits, Renderer, compile};
use haptic_routes::Routes;
use integration_tests::{Failure, Outcome, configuration::Configuration, program};
use serde_json::{Value, json};
use std::{
    fs,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

const NAMESPACE: &str = "bench";

/// A way to say the same.
struct Spoken {
    name: &'static str,
    prefix: &'static str,
    annotations: [(&'static str, &'static str); 5],
    /// The one of these that changes, and its other value.
    changed: (&'static str, &'static str),
}

const WAYS: [Spoken; 4] = [
    Spoken {
        name: "own",
        prefix: "haproxy-haptic.org/",
        annotations: [
            ("timeout-server", "30s"),
            ("allow-from", "10.0.0.0/8, 127.0.0.0/8"),
            ("ssl-redirect", "false"),
            ("cors-allow-origin", "https://app.example"),
            ("max-body-size", "8m"),
        ],
        changed: ("timeout-server", "31s"),
    },
    Spoken {
        name: "ingress-nginx",
        prefix: "nginx.ingress.kubernetes.io/",
        annotations: [
            ("proxy-read-timeout", "70"),
            ("whitelist-source-range", "10.0.0.0/8,127.0.0.0/8"),
            ("ssl-redirect", "false"),
            ("enable-cors", "true"),
            ("proxy-body-size", "8m"),
        ],
        changed: ("proxy-read-timeout", "71"),
    },
    Spoken {
        name: "haproxy-org",
        prefix: "haproxy.org/",
        annotations: [
            ("timeout-server", "30s"),
            ("allow-list", "10.0.0.0/8, 127.0.0.0/8"),
            ("ssl-redirect", "false"),
            ("cors-enable", "true"),
            ("check", "false"),
        ],
        changed: ("timeout-server", "31s"),
    },
    Spoken {
        name: "haproxy-ingress",
        prefix: "haproxy-ingress.github.io/",
        annotations: [
            ("timeout-server", "30s"),
            ("allowlist-source-range", "10.0.0.0/8,127.0.0.0/8"),
            ("ssl-redirect", "false"),
            ("cors-enable", "true"),
            ("proxy-body-size", "8m"),
        ],
        changed: ("timeout-server", "31s"),
    },
];

impl Spoken {
    fn said_by(&self, mut manifest: Value) -> Value {
        if manifest["kind"] == "Ingress" {
            let all =
                self.annotations.iter().map(|(key, text)| (format!("{}{key}", self.prefix), json!(text)));
            manifest["metadata"]["annotations"] = Value::Object(all.collect());
        }
        manifest
    }

    /// The Ingress of the middle, which says one thing otherwise.
    fn change(&self, dataset: Dataset) -> Value {
        let [_, _, ingress] = dataset.change(dataset.ingresses / 2).member.manifests();
        let mut ingress = self.said_by(ingress);
        let (key, text) = self.changed;
        ingress["metadata"]["annotations"][format!("{}{key}", self.prefix)] = json!(text);
        ingress
    }

    fn config(&self, dir: &Path) -> Outcome<ActiveConfig> {
        let mut manifest = Configuration::libraries(NAMESPACE)?.manifest;
        if self.name != "own" {
            let library = json!(format!("annotations-{}", self.name));
            if let Some(libraries) = manifest["spec"]["libraries"].as_array_mut() {
                libraries.push(library);
            }
        }
        fs::create_dir_all(dir)?;
        let file = dir.join(format!("{}.yaml", self.name));
        fs::write(&file, manifest.to_string())?;
        config_of(&file)
    }

    /// What `haptic migrate check` takes for Ingresses and Services of `dataset` in a file.
    fn check(&self, dataset: Dataset, dir: &Path) -> Outcome<Duration> {
        let file = dir.join(format!("{}-manifests.yaml", self.name));
        let mut text = String::new();
        for manifest in dataset.manifests().filter(|manifest| manifest["kind"] != "EndpointSlice") {
            text += &format!("---\n{}\n", self.said_by(manifest));
        }
        fs::write(&file, text)?;
        let mut check = Command::new(program::haptic()?);
        check.args(["migrate", "check", "--output", "json", "--from", self.name, "--file"]).arg(&file);
        let begin = Instant::now();
        let done = check.output()?;
        let took = begin.elapsed();
        let told: Value = serde_json::from_slice(&done.stdout).unwrap_or_default();
        let judged = told["totals"]["objects"].as_u64().and_then(|count| usize::try_from(count).ok());
        if judged.is_none_or(|count| count < dataset.ingresses) {
            return Err(Failure::new(format!(
                "haptic migrate check judges {judged:?} objects of {}: {}",
                dataset.ingresses,
                String::from_utf8_lossy(&done.stderr)
            )));
        }
        Ok(took)
    }
}

/// Renders of everything and after one Ingress changed, and of both what the route model takes; checks of what is to be migrated.
pub fn measure(dataset: Dataset, dir: &Path, into: &mut Scope<'_>) -> Outcome {
    let mut of_own = None;
    for spoken in &WAYS {
        let config = spoken.config(dir)?;
        let compiled = compile(&config.spec).map_err(|problems| refused(&problems))?;
        let before = stores(&config, dataset.manifests().map(|manifest| spoken.said_by(manifest)))?;
        let after = after_change(&config, &before, spoken.change(dataset))?;
        let fleet = Fleet::of_version(VERSION);
        let render = |renderer: &mut Renderer, snapshots: &Snapshots| {
            renderer.render(&RenderJob {
                compiled: &compiled,
                config: &config,
                snapshots,
                fleet: &fleet,
                limits: &RenderLimits::default(),
            })
        };
        let mut renderer = Renderer::default();
        render(&mut renderer, &before).map_err(|problems| refused(&problems))?;
        let mut turn = [&after, &before].into_iter().cycle();
        let change = median(|| turn.next().map(|snapshots| render(&mut renderer, snapshots)));
        let whole = median(|| render(&mut Renderer::default(), &before));
        let mut routes = Routes::default();
        drop(routes.beside(&config, &before));
        let mut turn = [&after, &before].into_iter().cycle();
        let routes_change = median(|| turn.next().map(|snapshots| routes.beside(&config, snapshots)));
        let mut into = into.within(spoken.name);
        into.add("whole_ms", milliseconds(whole));
        into.add("change_ms", milliseconds(change));
        into.add("routes_ms", milliseconds(median(|| Routes::default().beside(&config, &before))));
        into.add("routes_change_ms", milliseconds(routes_change));
        match of_own {
            None => of_own = Some(whole.as_secs_f64()),
            Some(own) => {
                into.add("ratio", whole.as_secs_f64() / own);
                into.add("check_s", spoken.check(dataset, dir)?.as_secs_f64());
            }
        }
    }
    Ok(())
}
