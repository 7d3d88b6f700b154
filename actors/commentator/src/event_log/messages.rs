//! The sentences, for what they need nothing remembered.

use std::{fmt::Write, sync::Arc, time::Duration};

use haptic_model::{
    Diagnostic, Event, FindingsChange, Quarantined, Released, Severity, event::Asked, pipeline::Cause,
};

use super::MessageLevel;

/// So many objects are told of in one line.
const TOLD: usize = 3;
/// So many errors of a configuration are told of.
const LISTED: usize = 20;

/// What happened, for itself.
pub(super) fn plain(event: &Event) -> (MessageLevel, String) {
    render_message(event).or_else(|| fleet_message(event)).unwrap_or_else(|| input_message(event))
}

/// Pods, actors and replicas.
fn fleet_message(event: &Event) -> Option<(MessageLevel, String)> {
    Some(match event {
        Event::TakenBack { generation, pod, to, why } => (
            MessageLevel::Warn,
            format!(
                "generation {generation} was live on {pod} and HAProxy's checker refuses it: {why}; \
                 {pod} goes back to generation {to}"
            ),
        ),
        Event::HaproxySaid { generation, pod, text } => (
            MessageLevel::Info,
            format!("{pod} said while it was reloaded with generation {generation}: {text}"),
        ),
        Event::DriftFound { pod, what } => {
            (MessageLevel::Warn, format!("somebody else changed {pod}: {what}; it is brought back"))
        }
        Event::PodDiscovered { pod } => (MessageLevel::Info, format!("HAProxy pod {pod} found")),
        Event::PodGone { pod } => (MessageLevel::Info, format!("HAProxy pod {pod} is gone")),
        Event::LeadershipChanged { leads: true, .. } => {
            (MessageLevel::Info, "this replica leads now and deploys".to_owned())
        }
        Event::LeadershipChanged { leads: false, why: None } => {
            (MessageLevel::Info, "this replica does not lead; it stays ready to".to_owned())
        }
        Event::LeadershipChanged { leads: false, why: Some(why) } => (
            MessageLevel::Warn,
            format!("this replica does not lead any more: {why}; HAProxy goes on as it is"),
        ),
        Event::ElectionTroubled { lease, why: Some(why) } => {
            (MessageLevel::Warn, format!("leader election with Lease {lease}: {why}; it is tried again"))
        }
        Event::ElectionTroubled { lease, why: None } => {
            (MessageLevel::Info, format!("Lease {lease} can be used again"))
        }
        Event::ActorRestarted { actor, reason, restarts } => (
            MessageLevel::Error,
            format!("actor {actor} failed and was restarted ({restarts} in all): {reason}"),
        ),
        Event::EventsLost { events } => (
            MessageLevel::Warn,
            format!(
                "{} came too fast and are missing here; what they tell of was done, and /metrics and /debug show it",
                counted(usize::try_from(*events).unwrap_or(usize::MAX), "event")
            ),
        ),
        _ => return None,
    })
}

/// Rendering and validating.
fn render_message(event: &Event) -> Option<(MessageLevel, String)> {
    Some(match event {
        Event::ReconcileStarted { generation, cause, waited } => (
            MessageLevel::Debug,
            format!("generation {generation} begins, triggered by {} {} ago", trigger(cause), ms(*waited)),
        ),
        Event::Rendered { generation, bytes, files, took, kept, printed, .. } => (
            MessageLevel::Debug,
            format!(
                "generation {generation} rendered: {}, {bytes} bytes, {printed} of {} printed anew, {}",
                counted(*files, "file"),
                counted(kept + printed, "block"),
                ms(*took)
            ),
        ),
        Event::RenderDiffered { generation, diagnostic } => {
            (MessageLevel::Error, format!("generation {generation}: {diagnostic}"))
        }
        Event::RenderFailed { generation, diagnostics, .. }
        | Event::ValidationFailed { generation, diagnostics, .. } => {
            (MessageLevel::Error, format!("generation {generation} was refused: {}", first(diagnostics)))
        }
        Event::QuarantineChanged { entered, left, held, .. } => quarantine_message(entered, left, *held),
        Event::Validated { generation, cached: true, .. } => {
            (MessageLevel::Debug, format!("generation {generation} is valid, known from before"))
        }
        Event::Validated { generation, took, .. } => {
            (MessageLevel::Debug, format!("generation {generation} is valid, checked in {}", ms(*took)))
        }
        Event::FindingsChanged { change, .. } => findings_message(change),
        Event::Warned { generation, diagnostic } => {
            (MessageLevel::Warn, format!("generation {generation}: {diagnostic}"))
        }
        _ => return None,
    })
}

/// What is held back, and what is not any more, each in the sentence that its own Event says.
fn quarantine_message(
    entered: &[Arc<Quarantined>],
    left: &[Released],
    held: usize,
) -> (MessageLevel, String) {
    let level = if entered.is_empty() { MessageLevel::Info } else { MessageLevel::Warn };
    let text = entered.iter().map(ToString::to_string).chain(left.iter().map(ToString::to_string));
    let mut text = text.take(TOLD).collect::<Vec<_>>().join("; ");
    if let Some(more @ 1..) = (entered.len() + left.len()).checked_sub(TOLD) {
        let _infallible = write!(text, "; and {more} more");
    }
    if held > entered.len() {
        let _infallible = write!(text, " ({} held back in all)", counted(held, "object"));
    }
    (level, text)
}

/// What is new, and how many findings there are.
fn findings_message(change: &FindingsChange) -> (MessageLevel, String) {
    let FindingsChange { found, untold, ended, standing } = change;
    let in_all = counted(*standing, "finding");
    if found.is_empty() {
        return (MessageLevel::Info, format!("{} ended ({in_all} in all)", counted(*ended, "finding")));
    }
    let mut text = found.iter().take(TOLD).map(ToString::to_string).collect::<Vec<_>>().join("; ");
    if let Some(more @ 1..) = (found.len() + untold).checked_sub(TOLD) {
        let _infallible = write!(text, "; and {more} more, which `haptic status` and /debug/findings show");
    }
    if *standing > found.len() + untold {
        let _infallible = write!(text, " ({in_all} in all)");
    }
    (MessageLevel::Warn, text)
}

/// Configuration and watched resources.
fn input_message(event: &Event) -> (MessageLevel, String) {
    match event {
        Event::ConfigAccepted { name, revision, asked } => {
            (MessageLevel::Info, format!("{name} is accepted as revision {revision}{}", by_whom(asked)))
        }
        Event::ConfigRejected { name, diagnostics, asked } => (
            // That somebody writes a wrong one is no fault of the controller's; that a validator does not answer is.
            if asked.silent.is_empty() { MessageLevel::Warn } else { MessageLevel::Error },
            format!("{name} is refused{}, so nothing changes: {}", by_whom(asked), by_validator(diagnostics)),
        ),
        Event::ConfigDeleted { name } => {
            (MessageLevel::Error, format!("{name} was deleted; it stays in force until there is another"))
        }
        Event::CredentialsChanged => {
            (MessageLevel::Info, "credentials changed; both old and new are tried".to_owned())
        }
        Event::CredentialsTroubled { name, why: Some(why) } => (
            MessageLevel::Error,
            format!(
                "the credentials of {name} cannot be had: {why}; the ones before stay in use, if there are any, and a \
                 controller that starts now has none"
            ),
        ),
        Event::CredentialsTroubled { name, why: None } => {
            (MessageLevel::Info, format!("the credentials of {name} can be had again"))
        }
        Event::StoreSynced { resource, objects } => {
            (MessageLevel::Info, format!("{resource} are known: {}", counted(*objects, "object")))
        }
        Event::StoreSize { resource, objects } => {
            (MessageLevel::Trace, format!("{resource} now: {}", counted(*objects, "object")))
        }
        Event::WatchFailed { resource, message } => {
            (MessageLevel::Warn, format!("the watch of {resource} failed and is tried again: {message}"))
        }
        Event::MassDeletionHeld { missing } => (MessageLevel::Error, missing.to_string()),
        Event::MassDeletionEnded { resource, let_go: 0 } => (
            MessageLevel::Warn,
            format!("{resource} that had vanished are there again, or were deleted one by one"),
        ),
        Event::MassDeletionEnded { resource, let_go } => (
            MessageLevel::Warn,
            format!("{resource} that had vanished are gone: {}", counted(*let_go, "object")),
        ),
        Event::LimitReached { reached } => (MessageLevel::Warn, reached.to_string()),
        Event::ObjectMalformed { object, message } => (
            MessageLevel::Warn,
            format!("{object} cannot be used, and stays as it was or is left out: {message}"),
        ),
        Event::Awaited { what, is_wrong: false } => (MessageLevel::Info, what.clone()),
        Event::Awaited { what, is_wrong: true } => {
            (MessageLevel::Warn, format!("{what}; looked for again until it is there"))
        }
        Event::Reviewed { resource, object, refused, why, dry_run, took } => {
            let only = if *dry_run { " (a dry run)" } else { "" };
            match refused {
                true => (
                    MessageLevel::Info,
                    format!("the webhook refused {resource} {object}{only} after {}: {why}", ms(*took)),
                ),
                false => (
                    MessageLevel::Warn,
                    format!("the webhook could not check {resource} {object}{only}, {}: {why}", ms(*took)),
                ),
            }
        }
        Event::ObjectMended { object } => {
            (MessageLevel::Info, format!("nothing is wrong with {object} any more"))
        }
        Event::ManifestRefused { message, .. } => (MessageLevel::Warn, message.clone()),
        Event::ManifestIgnored { message, .. } => (MessageLevel::Info, message.clone()),
        Event::ManifestMended { file } => {
            (MessageLevel::Info, format!("nothing is wrong with {file} any more"))
        }
        other => (MessageLevel::Debug, other.kind().to_owned()),
    }
}

/// What a part of a stage took or keeps.
pub(super) fn figure(event: &Event) -> String {
    match event {
        Event::Timed { part, generation, pod: None, took } => {
            format!("generation {generation}: {} took {}", part.name(), ms(*took))
        }
        Event::Timed { part, generation, pod: Some(pod), took } => {
            format!("generation {generation}: {} of {pod} took {}", part.name(), ms(*took))
        }
        Event::Planned { generation, pod, kind, operations, took } => format!(
            "generation {generation}: the plan for {pod} is {kind}, {}, found in {}",
            counted(*operations, "operation"),
            ms(*took)
        ),
        Event::Waited { stage, took } => format!("{} began after {}", stage.name(), ms(*took)),
        Event::Kept { by, bytes } => format!("{} keeps {bytes} bytes of what did not change", by.name()),
        other => other.kind().to_owned(),
    }
}

/// `ingresses default/shop and 2 more changes`.
pub(crate) fn trigger(cause: &Cause) -> String {
    let changes = cause.created + cause.modified + cause.deleted;
    match (&cause.example, cause.other, changes) {
        (Some(object), None, 0 | 1) => object.to_string(),
        (Some(object), None, more) => format!("{object} and {}", counted(more - 1, "more change")),
        (_, Some(other), 0) => other.to_owned(),
        (_, Some(other), more) => format!("{other} and {}", counted(more, "change")),
        (None, None, more) => counted(more, "change"),
    }
}

/// ` after 12 ms (5 validators)`.
fn by_whom(asked: &Asked) -> String {
    if *asked == Asked::default() {
        return String::new();
    }
    let silent = match &asked.silent[..] {
        [] => String::new(),
        silent => format!(", {} without an answer", silent.join(" and ")),
    };
    let all = asked.answered.len() + asked.silent.len();
    format!(" after {} ({}{silent})", ms(asked.took), counted(all, "validator"))
}

/// Each error on a line of its own, below the validator that found it.
fn by_validator(diagnostics: &[Diagnostic]) -> String {
    let errors: Vec<&Diagnostic> =
        diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).collect();
    if let [only] = errors[..] {
        return only.to_string();
    }
    let mut text = counted(errors.len(), "error");
    let mut validator = None;
    for error in errors.iter().take(LISTED) {
        if validator.replace(error.source) != Some(error.source) {
            let _infallible = write!(text, "\n{}:", error.source);
        }
        let _infallible = write!(text, "\n  {error}");
    }
    if let Some(more @ 1..) = errors.len().checked_sub(LISTED) {
        let _infallible = write!(text, "\nand {more} more");
    }
    text
}

/// The first error, and how many more there are: warnings are no reason.
pub(super) fn first(diagnostics: &[Diagnostic]) -> String {
    let mut errors = diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
    match (errors.next(), errors.count()) {
        (None, _) => "no reason given".to_owned(),
        (Some(only), 0) => only.to_string(),
        (Some(first), more) => format!("{first} (and {more} more)"),
    }
}

pub(super) fn counted(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}

pub(super) fn ms(duration: Duration) -> String {
    match duration.as_secs_f64() {
        seconds if seconds >= 10.0 => format!("{seconds:.0} s"),
        seconds if seconds >= 1.0 => format!("{seconds:.1} s"),
        seconds if seconds >= 0.01 => format!("{:.0} ms", seconds * 1000.0),
        seconds => format!("{:.1} ms", seconds * 1000.0),
    }
}

/// A window of time, in whole units.
pub(super) fn window(time: Duration) -> String {
    match time.as_secs() / 60 {
        60 => "an hour".to_owned(),
        minutes => format!("{minutes} minutes"),
    }
}
