//! `haptic plan`: what a configuration would change on each pod, and whether that takes a reload. Changes nothing.

use super::render::render_for;
use crate::{
    cli::{CommandFailure, HaproxyArgs, PlanArgs, SummaryOrJson},
    command::{
        binaries, bundle_folder,
        cluster::{self, Cluster, PodResponse},
        input,
    },
    output, process,
};
use haptic_config::ConfigCandidate;
use haptic_deploy::{RunningView, roster::fleet_of};
use haptic_inspect::{
    offline::{certificate, objects},
    preview::{self, PodPreview},
};
use haptic_model::{ActiveConfig, Bundle, Fleet, HaproxyPod, Layout, Snapshots};
use haptic_watch::ObjectSource;
use serde_json::json;
use std::{path::Path, sync::Arc};

/// The exit code when something would change.
const CHANGES: u8 = 3;

/// A pod that did not answer, and why.
type SilentPod = (String, String);

/// What is known of each pod.
type PodAnswers = (Vec<PodPreview>, Vec<SilentPod>);

/// What the objects make, and whether nothing of them is left out.
type Whole<T> = (T, bool);

/// Prints what would change.
///
/// # Errors
/// Exit code 3 when something would, 1 when that cannot be known or objects are left out, 2 for arguments that do not fit together.
pub fn run(args: &PlanArgs) -> Result<(), CommandFailure> {
    let ((previews, silent), is_whole) = match (&args.name, &args.running) {
        (Some(name), _) => in_cluster(args, name)?,
        (None, Some(running)) => {
            let (preview, is_whole) = between_folders(args, running)?;
            ((vec![preview], Vec::new()), is_whole)
        }
        (None, None) => return Err(nothing_to_compare()),
    };
    report(args, &previews, &silent).map_err(CommandFailure::because)?;
    if !silent.is_empty() || !is_whole {
        Err(CommandFailure::Exit(1))
    } else if previews.iter().any(PodPreview::changes) {
        Err(CommandFailure::Exit(CHANGES))
    } else {
        Ok(())
    }
}

fn nothing_to_compare() -> CommandFailure {
    CommandFailure::Usage("give two folders, a folder and -f CONFIG, or --name CONFIG of a cluster".into())
}

fn report(args: &PlanArgs, previews: &[PodPreview], silent: &[SilentPod]) -> std::io::Result<()> {
    for (pod, why) in silent {
        output::print_problem(&format!("{pod}: {why}"));
    }
    match args.output {
        SummaryOrJson::Summary => output::print(&preview::as_text(previews)),
        SummaryOrJson::Json => {
            let errors: Vec<_> = silent.iter().map(|(pod, why)| json!({"pod": pod, "error": why})).collect();
            output::print_json(&json!({
                "changes": previews.iter().any(PodPreview::changes),
                "pods": preview::as_json(previews),
                "errors": errors,
            }))
        }
    }
}

fn between_folders(args: &PlanArgs, running: &Path) -> Result<Whole<PodPreview>, CommandFailure> {
    let (layout, (desired, is_whole)) = match (&args.desired, &args.file) {
        (Some(folder), _) => {
            let layout = Layout::default();
            let desired = bundle_folder::read(folder, &layout)?;
            (layout, (desired, true))
        }
        (None, Some(file)) => {
            let config = input::read_config(file)?.as_if_active()?;
            let Some(resources) = &args.resources else {
                return Err(CommandFailure::Usage("-f without --name needs --resources DIR".into()));
            };
            let runtime = process::runtime()?;
            let fleet = Fleet::of_version(args.haproxy_version);
            let origin = ObjectSource::Folder(resources.clone());
            let state = args.state.folder();
            let desired = runtime.block_on(process::until_signal(async {
                let (snapshots, are_all) = objects_of(&config, &origin).await?;
                let snapshots = certificate::beside(&config.spec, &snapshots, state.as_deref())?;
                let (desired, is_whole) = desired(&config, &snapshots, &fleet, &args.haproxy).await?;
                Ok((desired, is_whole && are_all))
            }))?;
            (config.layout.clone(), desired)
        }
        (None, None) => return Err(nothing_to_compare()),
    };
    let view = RunningView::of(bundle_folder::read(running, &layout)?);
    let preview = PodPreview::of(running.display().to_string(), args.haproxy_version, &view, &desired);
    Ok((preview, is_whole))
}

fn in_cluster(args: &PlanArgs, name: &str) -> Result<Whole<PodAnswers>, CommandFailure> {
    let runtime = process::runtime()?;
    let candidate = args.file.as_deref().map(input::read_config).transpose()?;
    let (cluster_args, haproxy, name) = (args.cluster.clone(), args.haproxy.clone(), name.to_owned());
    let found = std::rc::Rc::new(std::cell::RefCell::new(None));
    let result = found.clone();
    // Talking to agents needs an actix system.
    process::run(
        runtime,
        process::until_signal(async move {
            let cluster = Cluster::at_a_terminal(&cluster_args).await?;
            *result.borrow_mut() = Some(compare(&cluster, &name, candidate, &haproxy).await?);
            Ok(())
        }),
    )?;
    found.take().ok_or_else(|| CommandFailure::Because("the comparison did not end".into()))
}

/// Compares what the pods run with the configuration of the cluster, or with `instead`, rendered from its objects.
async fn compare(
    cluster: &Cluster,
    name: &str,
    instead: Option<ConfigCandidate>,
    haproxy: &HaproxyArgs,
) -> Result<Whole<PodAnswers>, CommandFailure> {
    let in_force = cluster.configuration(name).await?;
    let candidate = match instead {
        Some(file) => ConfigCandidate { name: in_force.name, namespace: in_force.namespace, ..file },
        None => in_force,
    };
    let mut config = ActiveConfig::clone(&*candidate.as_if_active()?);
    config.credentials = vec![cluster.credentials(name).await?];
    let pods = cluster.pods(&config).await?;
    if pods.is_empty() {
        return Err(CommandFailure::Because(format!(
            "no pod in namespace {} matches podSelector: there is nothing to compare with",
            config.namespace
        )));
    }
    let answers = cluster::what_runs(&pods, &config).await;
    let fleet = fleet_of(&cluster::states(&answers));
    let config = Arc::new(config);
    let (snapshots, are_all) = objects_of(&config, &ObjectSource::Cluster(cluster.client.clone())).await?;
    let own = (&*config.namespace, &*config.name);
    let snapshots = certificate::of_cluster(&cluster.client, own, &config.spec, &snapshots).await?;
    let (desired, is_whole) = desired(&config, &snapshots, &fleet, haproxy).await?;
    Ok((sorted_out(answers, &desired), is_whole && are_all))
}

fn sorted_out(
    answers: Vec<(HaproxyPod, Result<PodResponse, String>)>,
    desired: &Bundle,
) -> (Vec<PodPreview>, Vec<SilentPod>) {
    let (mut previews, mut silent) = (Vec::new(), Vec::new());
    for (pod, answer) in answers {
        match answer {
            Ok(PodResponse { capabilities, view }) => {
                previews.push(PodPreview::of(pod.to_string(), capabilities.version, &view, desired));
            }
            Err(why) => silent.push((pod.to_string(), why)),
        }
    }
    (previews, silent)
}

/// The objects that `config` watches, unless there is something wrong with it; and whether all could be read.
async fn objects_of(
    config: &ActiveConfig,
    origin: &ObjectSource,
) -> Result<Whole<Snapshots>, CommandFailure> {
    input::must_be_valid(&config.spec).await?;
    let read = objects::read(&config.spec, origin).await?;
    let is_short = input::report_unread(&read);
    Ok((read.snapshots, !is_short))
}

/// The checked bundle that `config` makes of the objects: what a controller would deploy.
async fn desired(
    config: &Arc<ActiveConfig>,
    snapshots: &Snapshots,
    fleet: &Fleet,
    haproxy: &HaproxyArgs,
) -> Result<Whole<Bundle>, CommandFailure> {
    let (bundle, is_whole) =
        render_for(config, snapshots, fleet).map_err(|problems| CommandFailure::printed(&problems))?;
    match binaries::checker(haproxy) {
        Err(why) => output::print_problem(&format!("not checked with haproxy -c: {why}")),
        Ok(checker) => {
            let verdict = checker.allowing(&config.spec.allow.features).check(&bundle, &fleet.versions).await;
            if !verdict.passed() {
                return Err(CommandFailure::printed(&verdict.diagnostics));
            }
        }
    }
    Ok((bundle, is_whole))
}
