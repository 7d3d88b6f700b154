//! The start of an agent: HAProxy is brought up with what is on disk, and what a killed agent left half-done is finished.

use super::{LoadedBundle, RunningState};
use crate::{haproxy::NotUp, options::AgentError};

/// # Errors
/// HAProxy does not start without any bundle, or the disk cannot be used.
pub(crate) async fn start(state: &RunningState) -> Result<(), AgentError> {
    let (haproxy, disk) = (&state.haproxy, &state.disk);
    let runs = haproxy.find().await;
    // What HAProxy counted before this agent is not this agent's.
    let _before = haproxy.processes().await;
    let is_pending = disk.is_reload_pending();
    let outcome = match (runs, haproxy.is_supervised()) {
        (true, _) if is_pending => haproxy.bring_up().await.map(drop),
        (true, _) => match take_over(state).await {
            None => return Ok(()),
            Some(why) => start_over(state, why).await,
        },
        (false, true) => haproxy.start().await,
        (false, false) if is_pending => return start_elsewhere(state),
        (false, false) => return Ok(()),
    };
    match outcome {
        Ok(()) => disk.end_reload(),
        Err(problem) if disk.stored().is_none() && disk.before_reload().is_none() => {
            return Err(AgentError::Haproxy(problem.to_string()));
        }
        Err(problem) => {
            tracing::error!(%problem, "HAProxy does not take the files on disk");
            disk.revert_reload()?;
            if matches!(problem, NotUp::Lost(_)) {
                unknown(state, "HAProxy was lost while it was reloaded");
            }
            return Ok(());
        }
    }
    if let Ok(worker) = haproxy.current_worker().await {
        state.set_worker(worker.identity());
        state.note_loaded(LoadedBundle::Stored);
    }
    let _counted = haproxy.processes().await;
    Ok(())
}

/// Takes over the HAProxy that an earlier agent left running; gives why what it runs is not known.
async fn take_over(state: &RunningState) -> Option<String> {
    let worker = state.haproxy.current_worker().await.ok()?.identity();
    state.set_worker(worker);
    let loaded = state.recorded(worker);
    state.lock().loaded = loaded.clone();
    if let LoadedBundle::Unknown { why, .. } = loaded { Some(why) } else { None }
}

/// One reload of the files on disk, because it is not known what HAProxy runs.
async fn start_over(state: &RunningState, why: String) -> Result<(), NotUp> {
    tracing::warn!(reason = why, "HAProxy is reloaded with the files on disk");
    state.lock().last_failure = Some(format!("{why}; HAProxy was reloaded with the files on disk"));
    state.haproxy.bring_up().await.map(drop)
}

/// After a reload that a killed agent began, while something else starts the HAProxy that is down: it may not start with the
/// new bundle, and nobody would tell.
fn start_elsewhere(state: &RunningState) -> Result<(), AgentError> {
    tracing::warn!("HAProxy is down and a reload was never seen to succeed: the bundle before counts again");
    state.disk.revert_reload()?;
    unknown(state, "HAProxy was started while the bundle before was put back");
    Ok(())
}

fn unknown(state: &RunningState, why: &str) {
    state.lock().loaded = LoadedBundle::Unknown { from: None, why: why.to_owned() };
}
