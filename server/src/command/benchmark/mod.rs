//! `haptic benchmark`: how long a configuration's templates take for so many Ingresses, stage by stage, and how much
//! memory. Everything happens in this process; no cluster and no HAProxy that serves is involved.

mod objects;
mod table;

use crate::{
    binaries,
    cli::{BenchmarkArgs, Failure, SummaryOrJson},
    command, default_certificate, output, process, wiring,
};
use haptic_config::validators::{TIME_LIMIT, refused, scatter_gather};
use haptic_deploy::{PlanCache, RunningView};
use haptic_leader::publish::content;
use haptic_model::{ActiveConfig, Bundle, Capabilities, Fleet, HaproxyVersion, Snapshots};
use haptic_render::{Checked, Compiled, Limits, Renderer, compile};
use haptic_validate::syntax;
use haptic_watch::given;
use objects::Size;
use serde_json::{Map, Value, json};
use std::time::Instant;
use table::Table;

/// Changes that are rendered and planned one after the other.
const CHANGES: usize = 50;

/// Measures.
///
/// # Errors
/// When the configuration or a template is wrong, or there is nothing in it to measure.
pub fn run(args: &BenchmarkArgs) -> Result<(), Failure> {
    let config = command::as_if_active(command::read_config(&args.file)?)?;
    let runtime = process::runtime()?;
    let wrong = runtime.block_on(scatter_gather(&wiring::validators(), &config.spec, TIME_LIMIT)).diagnostics;
    if refused(&wrong) {
        return Err(Failure::told(&wrong));
    }
    let size = Size { ingresses: args.ingresses, endpoints: args.endpoints };
    let given = objects::all(&config.spec, size);
    if given.values().all(Vec::is_empty) {
        return Err(Failure::Because(
            "watchedResources has neither Ingresses nor Services nor EndpointSlices: there is nothing to make up".into(),
        ));
    }
    let mut table = Table::default();
    let compiled =
        table.once("compile templates", || compile(&config.spec)).map_err(|p| Failure::told(&p))?;
    let snapshots = table
        .once("read objects", || given::snapshots(&config.spec, &given))
        .map_err(|problems| Failure::Because(problems.join("; ")))?;
    let held = counts(&snapshots);
    drop(given);
    let snapshots = default_certificate::beside(&config.spec, &snapshots, None)?;
    let bench =
        Bench { config: &config, compiled: &*compiled, fleet: Fleet::of_version(args.haproxy_version), size };
    let (bundle, mut renderer) = bench.first_render(&mut table, &snapshots)?;
    bench.changes(&mut table, &mut renderer, snapshots, &bundle, args.haproxy_version)?;
    table.once("check syntax", || {
        syntax::problems(&bundle, &[args.haproxy_version], &config.spec.allow.features)
    });
    let published = table.once("prepare what is published", || published_bytes(&bundle));
    match binaries::checker(&args.haproxy) {
        Err(why) => output::complain(&format!("haproxy -c is not measured: {why}")),
        Ok(checker) => {
            let checker = checker.allowing(&config.spec.allow.features);
            let check = || runtime.block_on(checker.check(&bundle, &[args.haproxy_version]));
            let verdict = table.once("check syntax and haproxy -c", check);
            if !verdict.passed() {
                return Err(Failure::told(&verdict.diagnostics));
            }
        }
    }
    report(args, &table, &held, &bundle, &renderer, published).map_err(Failure::because)
}

/// All that the leader would write to the API server, in bytes. It does so in the background, a hundredth of the time at most.
fn published_bytes(bundle: &Bundle) -> usize {
    let files = content::wanted("benchmark", bundle);
    files.iter().filter_map(|file| content::spec(&file.file).content).map(|content| content.len()).sum()
}

fn counts(snapshots: &Snapshots) -> Vec<(String, usize)> {
    snapshots.iter().map(|(name, store)| (name.to_string(), store.len())).collect()
}

fn report(
    args: &BenchmarkArgs,
    table: &Table,
    held: &[(String, usize)],
    bundle: &Bundle,
    renderer: &Renderer,
    published: usize,
) -> std::io::Result<()> {
    let cache = renderer.cache();
    match args.output {
        SummaryOrJson::Json => {
            let held: Map<String, Value> =
                held.iter().map(|(name, count)| (name.clone(), json!(count))).collect();
            output::print_json(&json!({
                "objects": held, "files": bundle.files.len() + 1, "bytes": bundle.size(),
                "keptBlocks": cache.blocks, "untrackedBlocks": cache.untracked, "keptBytes": cache.bytes,
                "publishedBytes": published, "stages": json!(table).get("stages"), "mostMemoryMb": table::memory("VmHWM:"),
            }))
        }
        SummaryOrJson::Summary => {
            let held: Vec<String> = held.iter().map(|(name, count)| format!("{count} {name}")).collect();
            let head = format!(
                "{}: {}; {} files, {} bytes, {published} when published; {} blocks kept, {} that cannot be\n",
                args.file.display(),
                held.join(", "),
                bundle.files.len() + 1,
                bundle.size(),
                cache.blocks,
                cache.untracked
            );
            output::print(&(head + &table.text()))
        }
    }
}

/// What stays the same from one render to the next.
struct Bench<'a> {
    config: &'a ActiveConfig,
    compiled: &'a dyn Compiled,
    fleet: Fleet,
    size: Size,
}

impl Bench<'_> {
    fn first_render(&self, table: &mut Table, snapshots: &Snapshots) -> Result<(Bundle, Renderer), Failure> {
        let mut renderer = Renderer::checked(Checked::Never);
        let bundle = table.once("render everything", || self.render(&mut renderer, snapshots))?;
        Ok((bundle, renderer))
    }

    fn render(&self, renderer: &mut Renderer, snapshots: &Snapshots) -> Result<Bundle, Failure> {
        let limits = Limits::default();
        let rendering = renderer.render(self.compiled, self.config, snapshots, &self.fleet, &limits);
        rendering.map(|rendering| rendering.bundle).map_err(|problems| Failure::told(&problems))
    }

    /// Endpoints of one Service after the other change; each change is rendered and planned.
    fn changes(
        &self,
        table: &mut Table,
        renderer: &mut Renderer,
        mut snapshots: Snapshots,
        bundle: &Bundle,
        version: HaproxyVersion,
    ) -> Result<(), Failure> {
        let Some(resource) = objects::watched(&self.config.spec, "endpointslices") else { return Ok(()) };
        let plans = PlanCache::new();
        let mut running = plans.keep(RunningView::of(bundle.clone()));
        let (mut renders, mut planned) = (Vec::new(), Vec::new());
        for change in 1..=CHANGES {
            let number = change * 31 % self.size.ingresses.max(1);
            let slice = objects::as_object(objects::slice(number, self.size.endpoints, change));
            snapshots = given::with_object(&self.config.spec, &snapshots, resource, slice, &Map::new())
                .map_err(|problems| Failure::Because(problems.join("; ")))?;
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
