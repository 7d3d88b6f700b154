//! `haptic plan`: what a configuration would change on each pod, and whether that takes a reload. Changes nothing.

use super::render::render_for;
use crate::{
    binaries, bundle_folder,
    cli::{Failure, HaproxyArgs, PlanArgs, SummaryOrJson},
    cluster::{self, Cluster, Running},
    command, default_certificate, objects, output,
    preview::{self, PodPreview},
    process, wiring,
    wiring::OriginOf,
};
use haptic_config::{
    Candidate,
    validators::{TIME_LIMIT, refused, scatter_gather},
};
use haptic_deploy::{RunningView, roster::fleet_of};
use haptic_model::{ActiveConfig, Bundle, Fleet, HaproxyPod, Layout, Snapshots};
use serde_json::json;
use std::{path::Path, sync::Arc};

/// The exit code when something would change.
const CHANGES: u8 = 3;

/// A pod that did not answer, and why.
type Silent = (String, String);

/// What is known of each pod.
type Answers = (Vec<PodPreview>, Vec<Silent>);

/// What the objects make, and whether nothing of them is left out.
type Whole<T> = (T, bool);

/// Prints what would change.
///
/// # Errors
/// Exit code 3 when something would, 1 when that cannot be known or objects are left out, 2 for arguments that do not fit together.
pub fn run(args: &PlanArgs) -> Result<(), Failure> {
    let ((previews, silent), is_whole) = match (&args.name, &args.running) {
        (Some(name), _) => in_cluster(args, name)?,
        (None, Some(running)) => {
            let (preview, is_whole) = between_folders(args, running)?;
            ((vec![preview], Vec::new()), is_whole)
        }
        (None, None) => return Err(nothing_to_compare()),
    };
    report(args, &previews, &silent).map_err(Failure::because)?;
    if !silent.is_empty() || !is_whole {
        Err(Failure::Exit(1))
    } else if previews.iter().any(PodPreview::changes) {
        Err(Failure::Exit(CHANGES))
    } else {
        Ok(())
    }
}

fn nothing_to_compare() -> Failure {
    Failure::Usage("give two folders, a folder and -f CONFIG, or --name CONFIG of a cluster".into())
}

fn report(args: &PlanArgs, previews: &[PodPreview], silent: &[Silent]) -> std::io::Result<()> {
    for (pod, why) in silent {
        output::complain(&format!("{pod}: {why}"));
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

fn between_folders(args: &PlanArgs, running: &Path) -> Result<Whole<PodPreview>, Failure> {
    let (layout, (desired, is_whole)) = match (&args.desired, &args.file) {
        (Some(folder), _) => {
            let layout = Layout::default();
            let desired = bundle_folder::read(folder, &layout)?;
            (layout, (desired, true))
        }
        (None, Some(file)) => {
            let config = command::as_if_active(command::read_config(file)?)?;
            let Some(resources) = &args.resources else {
                return Err(Failure::Usage("-f without --name needs --resources DIR".into()));
            };
            let runtime = process::runtime()?;
            let fleet = Fleet::of_version(args.haproxy_version);
            let origin = OriginOf::Folder(resources.clone());
            let state = args.state.folder();
            let desired = runtime.block_on(async {
                let (snapshots, are_all) = objects_of(&config, &origin).await?;
                let snapshots = default_certificate::beside(&config.spec, &snapshots, state.as_deref())?;
                let (desired, is_whole) = desired(&config, &snapshots, &fleet, &args.haproxy).await?;
                Ok::<_, Failure>((desired, is_whole && are_all))
            })?;
            (config.layout.clone(), desired)
        }
        (None, None) => return Err(nothing_to_compare()),
    };
    let view = RunningView::of(bundle_folder::read(running, &layout)?);
    let preview = PodPreview::of(running.display().to_string(), args.haproxy_version, &view, &desired);
    Ok((preview, is_whole))
}

fn in_cluster(args: &PlanArgs, name: &str) -> Result<Whole<Answers>, Failure> {
    let runtime = process::runtime()?;
    let candidate = args.file.as_deref().map(command::read_config).transpose()?;
    let (cluster_args, haproxy, name) = (args.cluster.clone(), args.haproxy.clone(), name.to_owned());
    let found = std::rc::Rc::new(std::cell::RefCell::new(None));
    let result = found.clone();
    // Talking to agents needs an actix system.
    process::run(runtime, async move {
        let cluster = Cluster::at_a_terminal(&cluster_args).await?;
        *result.borrow_mut() = Some(compare(&cluster, &name, candidate, &haproxy).await?);
        Ok(())
    })?;
    found.take().ok_or_else(|| Failure::Because("the comparison did not end".into()))
}

/// Compares what the pods run with the configuration of the cluster, or with `instead`, rendered from its objects.
async fn compare(
    cluster: &Cluster,
    name: &str,
    instead: Option<Candidate>,
    haproxy: &HaproxyArgs,
) -> Result<Whole<Answers>, Failure> {
    let in_force = cluster.configuration(name).await?;
    let candidate = match instead {
        Some(file) => Candidate { name: in_force.name, namespace: in_force.namespace, ..file },
        None => in_force,
    };
    let mut config = ActiveConfig::clone(&*command::as_if_active(candidate)?);
    config.credentials = vec![cluster.credentials(name).await?];
    let pods = cluster.pods(&config).await?;
    if pods.is_empty() {
        return Err(Failure::Because(format!(
            "no pod in namespace {} matches podSelector: there is nothing to compare with",
            config.namespace
        )));
    }
    let answers = cluster::what_runs(&pods, &config).await;
    let fleet = fleet_of(&cluster::states(&answers));
    let config = Arc::new(config);
    let (snapshots, are_all) = objects_of(&config, &OriginOf::Cluster(cluster.client.clone())).await?;
    let own = (&*config.namespace, &*config.name);
    let snapshots = default_certificate::of_cluster(&cluster.client, own, &config.spec, &snapshots).await?;
    let (desired, is_whole) = desired(&config, &snapshots, &fleet, haproxy).await?;
    Ok((sorted_out(answers, &desired), is_whole && are_all))
}

fn sorted_out(
    answers: Vec<(HaproxyPod, Result<Running, String>)>,
    desired: &Bundle,
) -> (Vec<PodPreview>, Vec<Silent>) {
    let (mut previews, mut silent) = (Vec::new(), Vec::new());
    for (pod, answer) in answers {
        match answer {
            Ok(Running { capabilities, view }) => {
                previews.push(PodPreview::of(pod.to_string(), capabilities.version, &view, desired));
            }
            Err(why) => silent.push((pod.to_string(), why)),
        }
    }
    (previews, silent)
}

/// The objects that `config` watches, unless there is something wrong with it; and whether all could be read.
async fn objects_of(config: &ActiveConfig, origin: &OriginOf) -> Result<Whole<Snapshots>, Failure> {
    let wrong = scatter_gather(&wiring::validators(), &config.spec, TIME_LIMIT).await.diagnostics;
    if refused(&wrong) {
        return Err(Failure::told(&wrong));
    }
    let read = objects::read(&config.spec, origin).await?;
    let is_short = read.complain();
    Ok((read.snapshots, !is_short))
}

/// The checked bundle that `config` makes of the objects: what a controller would deploy.
async fn desired(
    config: &Arc<ActiveConfig>,
    snapshots: &Snapshots,
    fleet: &Fleet,
    haproxy: &HaproxyArgs,
) -> Result<Whole<Bundle>, Failure> {
    let (bundle, is_whole) =
        render_for(config, snapshots, fleet).map_err(|problems| Failure::told(&problems))?;
    match binaries::checker(haproxy) {
        Err(why) => output::complain(&format!("not checked with haproxy -c: {why}")),
        Ok(checker) => {
            let verdict = checker.allowing(&config.spec.allow.features).check(&bundle, &fleet.versions).await;
            if !verdict.passed() {
                return Err(Failure::told(&verdict.diagnostics));
            }
        }
    }
    Ok((bundle, is_whole))
}
