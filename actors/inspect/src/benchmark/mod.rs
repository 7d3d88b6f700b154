//! How long a configuration's templates take for a number of made-up Ingresses, stage by stage, and how much memory. Everything
//! happens in this process; no cluster and no HAProxy that serves is involved.

mod objects;
mod table;

pub use objects::BenchmarkSize;

use crate::offline::certificate;
use haptic_deploy::{PlanCache, RunningView};
use haptic_leader::publish::content;
use haptic_model::{ActiveConfig, Bundle, Capabilities, Diagnostic, Fleet, HaproxyVersion, Snapshots};
use haptic_render::{Checked, Program, RenderJob, RenderLimits, Renderer, compile};
use haptic_validate::syntax;
use haptic_watch::provided;
use serde_json::{Map, Value, json};
use std::time::Instant;
use table::StageTable;

/// Changes that are rendered and planned one after the other.
const CHANGES: usize = 50;

/// Why nothing was measured.
#[derive(Debug)]
pub enum Unmeasured {
    /// The configuration or a template is wrong.
    Wrong(Vec<Diagnostic>),
    /// Something else, in a sentence.
    Impossible(String),
}

impl From<String> for Unmeasured {
    fn from(why: String) -> Self {
        Self::Impossible(why)
    }
}

/// What was measured.
pub struct Measured {
    /// What the templates rendered at first.
    pub bundle: Bundle,
    table: StageTable,
    objects: Vec<(String, usize)>,
    renderer: Renderer,
    published: usize,
}

impl Measured {
    /// Measures every stage but `haproxy -c`, for HAProxy of this version.
    ///
    /// # Errors
    /// When a template is wrong, or the configuration watches nothing that is made up here.
    pub fn of(
        config: &ActiveConfig,
        size: BenchmarkSize,
        version: HaproxyVersion,
    ) -> Result<Self, Unmeasured> {
        let given = objects::all(&config.spec, size);
        if given.values().all(Vec::is_empty) {
            return Err(Unmeasured::Impossible(
                "watchedResources has neither Ingresses nor Services nor EndpointSlices: there is nothing to make up".into(),
            ));
        }
        let mut table = StageTable::default();
        let compiled =
            table.once("compile templates", || compile(&config.spec)).map_err(Unmeasured::Wrong)?;
        let snapshots = table
            .once("read objects", || provided::snapshots(&config.spec, &given))
            .map_err(|problems| problems.join("; "))?;
        let objects = counts(&snapshots);
        drop(given);
        let snapshots = certificate::beside(&config.spec, &snapshots, None)?;
        let bench = Bench { config, compiled: &compiled, fleet: Fleet::of_version(version), size };
        let (bundle, mut renderer) = bench.first_render(&mut table, &snapshots)?;
        bench.changes(&mut table, &mut renderer, snapshots, &bundle, version)?;
        table.once("check syntax", || syntax::problems(&bundle, &[version], &config.spec.allow.features));
        let published = table.once("prepare what is published", || published_bytes(&bundle));
        Ok(Self { bundle, table, objects, renderer, published })
    }

    /// Measures `check` of the bundle, which runs `haproxy -c`.
    pub fn checked<T>(&mut self, check: impl FnOnce(&Bundle) -> T) -> T {
        let Self { bundle, table, .. } = self;
        table.once("check syntax and haproxy -c", || check(bundle))
    }

    /// For programs.
    #[must_use]
    pub fn as_json(&self) -> Value {
        let cache = self.renderer.cache();
        let objects: Map<String, Value> =
            self.objects.iter().map(|(name, count)| (name.clone(), json!(count))).collect();
        json!({
            "objects": objects, "files": self.bundle.files.len() + 1, "bytes": self.bundle.size(),
            "keptBlocks": cache.blocks, "untrackedBlocks": cache.uncacheable, "keptBytes": cache.bytes,
            "publishedBytes": self.published, "stages": json!(self.table).get("stages"),
            "mostMemoryMb": table::memory("VmHWM:"),
        })
    }

    /// For people, about the configuration of this name.
    #[must_use]
    pub fn as_text(&self, name: &str) -> String {
        let cache = self.renderer.cache();
        let objects: Vec<String> =
            self.objects.iter().map(|(name, count)| format!("{count} {name}")).collect();
        let head = format!(
            "{name}: {}; {} files, {} bytes, {} when published; {} blocks kept, {} that cannot be\n",
            objects.join(", "),
            self.bundle.files.len() + 1,
            self.bundle.size(),
            self.published,
            cache.blocks,
            cache.uncacheable
        );
        head + &self.table.text()
    }
}

/// All that the leader would write to the API server, in bytes. It does so in the background, a hundredth of the time at most.
fn published_bytes(bundle: &Bundle) -> usize {
    let files = content::wanted("benchmark", bundle);
    files.iter().filter_map(|file| content::spec(&file.file).content).map(|content| content.len()).sum()
}

fn counts(snapshots: &Snapshots) -> Vec<(String, usize)> {
    snapshots.iter().map(|(name, store)| (name.to_string(), store.len())).collect()
}

/// What stays the same from one render to the next.
struct Bench<'a> {
    config: &'a ActiveConfig,
    compiled: &'a Program,
    fleet: Fleet,
    size: BenchmarkSize,
}

impl Bench<'_> {
    fn first_render(
        &self,
        table: &mut StageTable,
        snapshots: &Snapshots,
    ) -> Result<(Bundle, Renderer), Unmeasured> {
        let mut renderer = Renderer::checked(Checked::Never);
        let bundle = table.once("render everything", || self.render(&mut renderer, snapshots))?;
        Ok((bundle, renderer))
    }

    fn render(&self, renderer: &mut Renderer, snapshots: &Snapshots) -> Result<Bundle, Unmeasured> {
        let limits = RenderLimits::default();
        let rendering = renderer.render(&RenderJob {
            compiled: self.compiled,
            config: self.config,
            snapshots,
            fleet: &self.fleet,
            limits: &limits,
        });
        rendering.map(|rendering| rendering.bundle).map_err(Unmeasured::Wrong)
    }

    /// Endpoints of one Service after the other change; each change is rendered and planned.
    fn changes(
        &self,
        table: &mut StageTable,
        renderer: &mut Renderer,
        mut snapshots: Snapshots,
        bundle: &Bundle,
        version: HaproxyVersion,
    ) -> Result<(), Unmeasured> {
        let Some(resource) = objects::watched(&self.config.spec, "endpointslices") else { return Ok(()) };
        let plans = PlanCache::new();
        let mut running = plans.keep(RunningView::of(bundle.clone()));
        let (mut renders, mut planned) = (Vec::new(), Vec::new());
        for change in 1..=CHANGES {
            let number = change * 31 % self.size.ingresses.max(1);
            let slice = objects::as_object(objects::slice(number, self.size.endpoints, change));
            snapshots = provided::with_object(&self.config.spec, &snapshots, resource, slice, &Map::new())
                .map_err(|problems| Unmeasured::Impossible(problems.join("; ")))?;
            let began = Instant::now();
            let next = self.render(renderer, &snapshots)?;
            renders.push(began.elapsed());
            let began = Instant::now();
            let desired = plans.view(&next);
            drop(plans.plan(&running, &desired, Capabilities::of(version)));
            planned.push(began.elapsed());
            running = desired;
        }
        table.add("render after an endpoint change", &mut renders);
        // The first one also reads what runs.
        table.add("plan after an endpoint change", planned.get_mut(1..).unwrap_or_default());
        Ok(())
    }
}
