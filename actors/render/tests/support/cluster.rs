//! A cluster with objects that may be bad, render after render.

use super::{Setup, all};
use haptic_attribution::quarantine::{QuarantineState, RenderTiming};
use haptic_model::{
    ActiveConfig, Bundle, Diagnostic, FailureReport, Fleet, Generation, Instead, ObjectRef, Snapshots,
    pipeline::RenderBasis,
};
use haptic_render::{Checked, Program, RenderJob, RenderLimits, Renderer, quarantine::QuarantinedRender};
use serde_json::json;
use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

/// What becomes of an Ingress is said by its host; a Service of its name may spoil it, too.
pub const TEMPLATE: &str = "\
defaults
# {{len (list \"ingresses\")}} ingresses
{{#each (list \"ingresses\") as |ing|}}
{{#with ing.spec.rules.0 as |rule|}}
{{#if (eq rule.host \"fails\")}}{{rule.nope}}{{/if}}
{{#if (eq rule.host \"registered\")}}{{register_error ing \"not yours\"}}{{/if}}
backend {{proxy_name ing.metadata.name}}
  description {{rule.host}}
{{#with (get_single \"services\" ing.metadata.namespace ing.metadata.name) as |service|}}
  # {{service.metadata.note}}
{{else}}
{{/with}}
{{/with}}
{{/each}}
";
pub const MAP: &str = "{{#each (routes \"ingresses\") as |set|}}\n{{#each set.routes as |r|}}\n{{r.key}} {{r.backend.name}}\n{{/each}}\n{{/each}}\n";

/// A cluster, and what keeps its bad objects from stopping the others.
pub struct Cluster {
    pub setup: Setup,
    pub config: ActiveConfig,
    pub compiled: Arc<Program>,
    pub renderer: Renderer,
    pub quarantine: QuarantineState,
    pub good: Option<RenderBasis>,
    pub generation: u64,
    pub now: Instant,
}

impl Cluster {
    pub fn new(setup: Setup) -> Self {
        let (config, compiled) = (setup.config(), setup.compile().unwrap_or_else(|e| panic!("{}", all(&e))));
        let renderer = Renderer::checked(Checked::Always);
        let (quarantine, good) = (QuarantineState::default(), None);
        Self { setup, config, compiled, renderer, quarantine, good, generation: 0, now: Instant::now() }
    }

    pub fn change(&mut self, change: impl FnOnce(Setup) -> Setup) {
        let setup = std::mem::replace(&mut self.setup, Setup::new(""));
        self.setup = change(setup);
    }

    /// Renders; a bundle passes all checks at once.
    pub fn render(&mut self) -> QuarantinedRender {
        let outcome = self.render_unchecked(None);
        if let Ok(rendering) = &outcome.rendering {
            self.good = Some(self.basis(&rendering.bundle, outcome.snapshots.clone()));
        }
        outcome
    }

    pub fn render_unchecked(&mut self, report: Option<&Arc<FailureReport>>) -> QuarantinedRender {
        self.generation += 1;
        let (snapshots, fleet, limits) = (self.setup.snapshots(), Fleet::default(), RenderLimits::default());
        let job = RenderJob {
            compiled: &self.compiled,
            config: &self.config,
            snapshots: &snapshots,
            fleet: &fleet,
            limits: &limits,
        };
        let timing =
            RenderTiming { generation: Generation(self.generation), now: self.now, good: self.good.as_ref() };
        if let Some(report) = report {
            job.receive(report, &mut self.quarantine, &self.renderer, &timing);
        }
        job.render(&mut self.quarantine, &mut self.renderer, &timing)
    }

    pub fn basis(&self, bundle: &Bundle, snapshots: Snapshots) -> RenderBasis {
        let (generation, config) = (Generation(self.generation), Arc::new(self.config.clone()));
        RenderBasis { generation, config, snapshots, digest: bundle.digest }
    }

    pub fn held(&self) -> Vec<String> {
        let told = self.quarantine.described();
        told.held
            .values()
            .map(|held| format!("{} {}", held.object.name, held.instead == Instead::Former))
            .collect()
    }

    /// What a cluster with these objects alone looks like.
    pub fn expected(&self, ingresses: &BTreeMap<String, String>) -> String {
        let mut setup = Setup { stores: self.setup.stores.clone(), ..Setup::new("") };
        setup.spec = self.setup.spec.clone();
        for object in self.setup.stores["ingresses"].iter().cloned().collect::<Vec<_>>() {
            setup.stores.get_mut("ingresses").unwrap().remove(&object.reference);
        }
        let setup = ingresses.iter().fold(setup, |setup, (name, host)| put(setup, name, host));
        text(&setup.bundle().unwrap_or_else(|e| panic!("{}", all(&e))).0)
    }
}

pub fn put(setup: Setup, name: &str, host: &str) -> Setup {
    setup.ingress("n", name, host, &[("/", "s")])
}

pub fn note(setup: Setup, name: &str, note: &str) -> Setup {
    let service = json!({"metadata": {"namespace": "n", "name": name, "note": note}});
    setup.object("services", "n", name, &["n", name], service)
}

pub fn text(bundle: &Bundle) -> String {
    bundle.all().map(|file| format!("== {}\n{}", file.path, file.text)).collect()
}

pub fn cluster() -> Cluster {
    Cluster::new(Setup::new(TEMPLATE).map("host.map", MAP))
}

/// What a check says: that this object is at fault, or may be.
pub fn report(
    cluster: &Cluster,
    outcome: &QuarantinedRender,
    object: &str,
    suspected: bool,
) -> Arc<FailureReport> {
    let rendered = cluster.basis(&outcome.rendering.as_ref().unwrap().bundle, outcome.snapshots.clone());
    let of = vec![(
        Arc::new(ObjectRef::new("ingresses", "n", object)),
        Diagnostic::error("haproxy", "HAProxy: no"),
    )];
    let (objects, suspects) = if suspected { (Vec::new(), of) } else { (of, Vec::new()) };
    Arc::new(FailureReport { rendered, good: None, objects, suspects, templates: None, took: Duration::ZERO })
}
