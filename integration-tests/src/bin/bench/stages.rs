//! Each stage alone, in this process, with the same objects and the same configuration.

use crate::{dataset::Dataset, figures::Scope, progress::say, statistics::milliseconds};
use haptic_deploy::planner::{RunningView, Verdict, plan};
use haptic_haproxy::Document;
use haptic_model::{
    ActiveConfig, Bundle, BundleFile, Capabilities, Diagnostic, Fleet, HaproxyVersion, Snapshot, Snapshots,
};
use haptic_render::{
    Program, RenderInput, RenderJob, RenderLimits, Renderer, bundle::context, compile, encode::encode,
};
use haptic_routes::Routes;
use haptic_validate::{
    folder,
    syntax::{self, Syntax},
};
use haptic_watch::{ingest::Ingest, spec::WatchSpec};
use integration_tests::{
    Failure, Outcome,
    configuration::Configuration,
    ensure,
    program::{self, HaproxySeries},
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    hint::black_box,
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

/// Each stage is timed this often; the median counts.
const ROUNDS: usize = 7;
pub const VERSION: HaproxyVersion = HaproxyVersion::new(3, 4);
const NAMESPACE: &str = "bench";

/// Measures all stages with `dataset`.
pub fn measure(dataset: Dataset, dir: &Path, into: &mut Scope<'_>) -> Outcome {
    let config = active_config(dir)?;
    let (taken, snapshots) = timed(|| stores(&config, dataset.manifests()));
    into.add("store_ms", milliseconds(taken));
    let snapshots = snapshots?;
    let compiled = compile(&config.spec).map_err(|problems| refused(&problems))?;
    let fleet =
        Fleet { versions: vec![VERSION], common: Some(Capabilities::of(VERSION)), ..Fleet::default() };

    let changed = after_change(&config, &snapshots, changed_slice(dataset))?;
    let (bundle, changed) = render(&compiled, &config, (&snapshots, &changed), &fleet, into)?;
    into.add("bundle_mb", megabytes(bundle.size()));
    settle_alone(&compiled, &config, &snapshots, &fleet, into)?;
    digests(&bundle, into);
    check(&bundle, into)?;
    check_change(&bundle, &changed, into)?;
    plan_change(&bundle, &changed, into)
}

/// One configuration in two languages: the whole render of each and that after one change, which print the same.
pub fn compare_languages(dataset: Dataset, into: &mut Scope<'_>) -> Outcome {
    let (mut whole, mut kept) = (Vec::new(), Vec::new());
    for (language, file) in
        [("handlebars", "fixtures/classic/config.yaml"), ("jinja2", "fixtures/seed/config.yaml")]
    {
        let mut config = config_of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file))?;
        // It keeps room for ten servers in each backend.
        Arc::make_mut(&mut config.spec).controller.limits.servers = 1_000_000;
        let compiled = compile(&config.spec).map_err(|problems| refused(&problems))?;
        let before = stores(&config, dataset.manifests().map(of_pods))?;
        let after = after_change(&config, &before, of_pods(changed_slice(dataset)))?;
        let fleet = Fleet::of_version(VERSION);
        let render = |renderer: &mut Renderer, snapshots| {
            renderer.render(&RenderJob {
                compiled: &compiled,
                config: &config,
                snapshots,
                fleet: &fleet,
                limits: &RenderLimits::default(),
            })
        };
        let mut renderer = Renderer::default();
        let bundle = render(&mut renderer, &before).map_err(|problems| refused(&problems))?.bundle;
        let mut turn = [&after, &before].into_iter().cycle();
        let change = median(|| turn.next().map(|snapshots| render(&mut renderer, snapshots)));
        let full = median(|| render(&mut Renderer::default(), &before));
        let mut into = into.within(language);
        into.add("whole_ms", milliseconds(full));
        into.add("change_ms", milliseconds(change));
        into.add("kept_mb", megabytes(renderer.cache().bytes));
        into.add("written_mb", megabytes(bundle.size()));
        whole.push(full.as_secs_f64());
        let files = renderer.caches().filter(|(_, size)| size.blocks > 0);
        kept.push(files.map(|(file, size)| (file.clone(), size.bytes)).collect::<BTreeMap<_, _>>());
    }
    if let [handlebars, jinja] = *whole.as_slice() {
        into.add("jinja2_ratio", jinja / handlebars);
    }
    // What one of them keeps and the other prints each time has no counterpart: `once`, which only the Handlebars of haproxy.cfg has.
    if let [handlebars, jinja] = kept.as_slice() {
        let of_both = handlebars.iter().filter_map(|(file, bytes)| Some((bytes, jinja.get(file)?)));
        let (handlebars, jinja) = of_both.fold((0, 0), |sum, both| (sum.0 + both.0, sum.1 + both.1));
        into.add("jinja2_kept_ratio", megabytes(jinja) / megabytes(handlebars));
    }
    Ok(())
}

/// A render of everything, and one after a single endpoint changed; the bundles before and after that change.
fn render(
    compiled: &Program,
    config: &ActiveConfig,
    (before, after): (&Snapshots, &Snapshots),
    fleet: &Fleet,
    into: &mut Scope<'_>,
) -> Outcome<(Bundle, Bundle)> {
    let render = |renderer: &mut Renderer, snapshots| {
        renderer.render(&RenderJob { compiled, config, snapshots, fleet, limits: &RenderLimits::default() })
    };
    into.add("render_ms", milliseconds(median(|| render(&mut Renderer::default(), before))));
    let mut renderer = Renderer::default();
    let bundle = render(&mut renderer, before).map_err(|problems| refused(&problems))?.bundle;
    let changed = render(&mut renderer, after).map_err(|problems| refused(&problems))?.bundle;
    let mut turn = [before, after].into_iter().cycle();
    let next = || turn.next().map(|snapshots| render(&mut renderer, snapshots));
    into.add("render_after_change_ms", milliseconds(median(next)));
    Ok((bundle, changed))
}

/// The provenance pass, over all files one after another.
fn settle_alone(
    compiled: &Program,
    config: &ActiveConfig,
    snapshots: &Snapshots,
    fleet: &Fleet,
    into: &mut Scope<'_>,
) -> Outcome {
    let context = context(config, fleet).map_err(Failure::new)?;
    // A renderer keeps the routes itself; here there is none.
    let snapshots = &Routes::default().beside(config, snapshots);
    let input = RenderInput { config, snapshots, fleet, context: &context };
    let render = |file| compiled.render(file, &input, &RenderLimits::default()).map(|done| done.framed);
    let files = compiled.files();
    let (printing, marked) = timed(|| files.iter().map(render).collect::<Result<Vec<_>, _>>());
    let marked = marked
        .map_err(|faults| refused(&faults.into_iter().map(|fault| fault.diagnostic).collect::<Vec<_>>()))?;
    into.add("print_ms", milliseconds(printing));
    let all =
        || files.iter().zip(&marked).map(|(file, marked)| encode(file.kind, marked)).collect::<Vec<_>>();
    into.add("settle_ms", milliseconds(median(all)));
    Ok(())
}

/// Making a bundle of texts of which haproxy.cfg is new.
fn digests(bundle: &Bundle, into: &mut Scope<'_>) {
    let BundleFile { key, path, text, .. } = &*bundle.config;
    let digest = || BundleFile::new(key.clone(), path, text.clone());
    into.add("digest_haproxy_cfg_ms", milliseconds(median(digest)));
    let files: Vec<BundleFile> = bundle.files.values().map(|file| (**file).clone()).collect();
    into.add("bundle_ms", milliseconds(median(|| Bundle::new(digest(), files.clone()))));
}

/// Phase 1 of one bundle after the other, between which one endpoint moves.
fn check_change(before: &Bundle, after: &Bundle, into: &mut Scope<'_>) -> Outcome {
    let phase_1 = Syntax::default();
    for bundle in [before, after] {
        let problems = phase_1.problems(bundle, &[VERSION], &[]);
        ensure(problems.is_empty(), refused(&problems).sentence())?;
    }
    let mut turn = [before, after].into_iter().cycle();
    let next = || turn.next().map(|bundle| phase_1.problems(bundle, &[VERSION], &[]));
    into.add("phase_1_after_change_ms", milliseconds(median(next)));
    into.add("phase_1_kept_mb", megabytes(phase_1.bytes()));
    Ok(())
}

fn check(bundle: &Bundle, into: &mut Scope<'_>) -> Outcome {
    let text = bundle.config.text.to_string();
    into.add("haproxy_cfg_mb", megabytes(text.len()));
    into.add("parse_ms", milliseconds(median(|| Document::parse(&text))));
    into.add("phase_1_ms", milliseconds(median(|| syntax::problems(bundle, &[VERSION], &[]))));
    let problems = syntax::problems(bundle, &[VERSION], &[]);
    ensure(problems.is_empty(), refused(&problems).sentence())?;
    let mut times = Vec::new();
    for _ in 0..3 {
        let (taken, done) = timed(|| haproxy_check(bundle));
        done?;
        times.push(taken);
    }
    times.sort_unstable();
    into.add("haproxy_check_ms", times.get(times.len() / 2).copied().map_or(0.0, milliseconds));
    Ok(())
}

/// Phase 3 as the controller does it: the files in a folder of their own, then `haproxy -c`.
fn haproxy_check(bundle: &Bundle) -> Outcome {
    let folder = folder::lay_out(bundle, folder::Passwords::Cheap)?;
    let mut command = Command::new(program::haproxy(HaproxySeries::V3_4)?);
    command.args(["-c", "-dr", "-f", folder::PREAMBLE, "-f", &bundle.config.path]).current_dir(folder.path());
    let done = command.env_clear().stdin(Stdio::null()).output()?;
    let said = String::from_utf8_lossy(&done.stderr);
    ensure(done.status.success(), said.lines().take(3).collect::<Vec<_>>().join("; "))
}

/// From a configuration that runs, parsed already, to the one with one endpoint moved.
fn plan_change(before: &Bundle, after: &Bundle, into: &mut Scope<'_>) -> Outcome {
    let capabilities = Capabilities::of(VERSION);
    let running = RunningView::of(before.clone());
    let (first, planned) = timed(|| plan(&running, after, capabilities));
    into.add("plan_first_ms", milliseconds(first));
    into.add("plan_after_change_ms", milliseconds(median(|| plan(&running, after, capabilities))));
    let reloads = matches!(planned.verdict, Verdict::Reload { .. });
    into.add("plan_reloads", if reloads { 1.0 } else { 0.0 });
    let what = planned.verdict.reload_reason().unwrap_or_else(|| {
        planned.verdict.operations().iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    });
    say(&format!("the plan for one endpoint: {what}"));
    Ok(())
}

fn active_config(dir: &Path) -> Outcome<ActiveConfig> {
    fs::create_dir_all(dir)?;
    let file = dir.join("config.yaml");
    fs::write(&file, Configuration::libraries(NAMESPACE)?.manifest.to_string())?;
    config_of(&file)
}

pub fn config_of(file: &Path) -> Outcome<ActiveConfig> {
    let candidate = haptic_config::load_file(file).map_err(|problems| refused(&problems))?;
    candidate.as_if_active().map(Arc::unwrap_or_clone).map_err(Failure::new)
}

/// The stores that the watches would fill.
pub fn stores(config: &ActiveConfig, manifests: impl Iterator<Item = Value>) -> Outcome<Snapshots> {
    let mut stores = Vec::new();
    for (name, spec) in WatchSpec::all(&config.spec) {
        stores.push((name, Ingest::new(&spec)?, spec, Snapshot::full()));
    }
    for mut manifest in manifests {
        manifest["metadata"]["namespace"] = Value::from(NAMESPACE);
        let plural = plural(&manifest);
        for (_, ingest, _, store) in
            stores.iter_mut().filter(|(_, _, spec, _)| spec.resource.resources == plural)
        {
            take(store, ingest, manifest.clone())?;
        }
    }
    let synced = stores.into_iter().map(|(name, _, _, mut store)| {
        store.set_synced();
        (name, Arc::new(store))
    });
    Ok(Snapshots::new(synced.collect()))
}

pub fn changed_slice(dataset: Dataset) -> Value {
    dataset.change(dataset.ingresses / 2).slice
}

/// A slice whose endpoints name their pods, as Kubernetes writes them.
fn of_pods(mut manifest: Value) -> Value {
    if manifest["kind"] == "EndpointSlice" {
        for endpoint in manifest["endpoints"].as_array_mut().into_iter().flatten() {
            endpoint["targetRef"] = json!({ "kind": "Pod", "name": endpoint["addresses"][0] });
        }
    }
    manifest
}

/// The stores after `slice` changed.
pub fn after_change(config: &ActiveConfig, before: &Snapshots, mut slice: Value) -> Outcome<Snapshots> {
    slice["metadata"]["namespace"] = Value::from(NAMESPACE);
    let mut after = before.clone();
    for (name, spec) in WatchSpec::all(&config.spec) {
        if let Some(store) = before.get(&name).filter(|_| spec.resource.resources == plural(&slice)) {
            let mut store = (**store).clone();
            take(&mut store, &Ingest::new(&spec)?, slice.clone())?;
            after = after.with(name, Arc::new(store));
        }
    }
    Ok(after)
}

fn take(store: &mut Snapshot, ingest: &Ingest, manifest: Value) -> Outcome {
    let taken = ingest.take(manifest).map_err(|malformed| Failure::new(malformed.message))?;
    store.apply(taken.object, taken.key);
    Ok(())
}

fn plural(manifest: &Value) -> String {
    let kind = manifest["kind"].as_str().unwrap_or_default().to_lowercase();
    if kind.ends_with('s') { kind + "es" } else { kind + "s" }
}

fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let start = Instant::now();
    let done = black_box(work());
    (start.elapsed(), done)
}

pub fn median<T>(mut work: impl FnMut() -> T) -> Duration {
    let mut times: Vec<Duration> = (0..ROUNDS).map(|_| timed(&mut work).0).collect();
    times.sort_unstable();
    times.get(ROUNDS / 2).copied().unwrap_or_default()
}

#[allow(clippy::cast_precision_loss, reason = "megabytes need no 53 bits")]
pub fn megabytes(bytes: usize) -> f64 {
    bytes as f64 / 1e6
}

pub fn refused(problems: &[Diagnostic]) -> Failure {
    let first: Vec<String> = problems.iter().take(3).map(ToString::to_string).collect();
    Failure::new(first.join("\n"))
}
