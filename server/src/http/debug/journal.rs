//! `/debug/events` and `/debug/generations`: what happened, and how long each stage of a generation took.

use super::state::{DebugState, json_of};
use actix_web::{HttpResponse, web};
use haptic_commentator::{HistoryEntry, MessageLevel};
use haptic_model::Generation;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc};

/// So many generations are shown.
const SHOWN: usize = 40;
/// So many events, unless asked otherwise.
const EVENTS: usize = 1000;

#[derive(Debug, Deserialize)]
pub(super) struct JournalQuery {
    generation: Option<u64>,
    limit: Option<usize>,
}

/// Written as it is: of an event by the thousand a tree of JSON would take several times its text.
#[derive(Serialize)]
struct GenerationsPage<'h> {
    rendered: Option<Value>,
    timelines: Vec<Timeline<'h>>,
    validated: Option<Value>,
}

/// When each event of a generation was after its first one.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Timeline<'h> {
    generation: Generation,
    outcome: &'static str,
    steps: Vec<TimelineStep<'h>>,
    unix_ms: u128,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TimelineStep<'h> {
    after_ms: u128,
    kind: &'static str,
    level: MessageLevel,
    object: Option<&'h str>,
    text: &'h str,
}

pub(super) async fn events(state: web::Data<DebugState>, wanted: web::Query<JournalQuery>) -> HttpResponse {
    let found = match wanted.generation {
        Some(generation) => state.readers.history.of_generation(Generation(generation)),
        None => state.readers.history.latest(wanted.limit.unwrap_or(EVENTS)),
    };
    json_of(&found.iter().map(AsRef::as_ref).collect::<Vec<&HistoryEntry>>())
}

pub(super) async fn generations(state: web::Data<DebugState>) -> HttpResponse {
    let rendered = (*state.readers.rendered.latest()).as_ref().map(|r| {
        json!({"generation": r.reconcile.generation, "digest": r.bundle.digest, "bytes": r.bundle.size(),
            "files": r.bundle.files.len() + 1, "renderMs": r.took.as_millis()})
    });
    let validated = (*state.readers.validated.latest()).as_ref().map(
        |v| json!({"generation": v.generation(), "digest": v.bundle().digest, "checkMs": v.took.as_millis()}),
    );
    let history = state.readers.history.latest(usize::MAX);
    json_of(&GenerationsPage { rendered, timelines: timelines(&history), validated })
}

/// The latest generations, newest first.
fn timelines(history: &[Arc<HistoryEntry>]) -> Vec<Timeline<'_>> {
    let mut generations: BTreeMap<Generation, Vec<&HistoryEntry>> = BTreeMap::new();
    for entry in history {
        if let Some(generation) = entry.generation {
            generations.entry(generation).or_default().push(entry);
        }
    }
    generations.iter().rev().take(SHOWN).map(|(generation, entries)| timeline(*generation, entries)).collect()
}

fn timeline<'h>(generation: Generation, entries: &[&'h HistoryEntry]) -> Timeline<'h> {
    let unix_ms = entries.first().map_or(0, |entry| entry.unix_ms);
    let steps = entries.iter().map(|entry| TimelineStep {
        after_ms: entry.unix_ms.saturating_sub(unix_ms),
        kind: entry.kind,
        level: entry.level,
        object: entry.object.as_deref(),
        text: &entry.text,
    });
    Timeline { generation, outcome: outcome(entries), steps: steps.collect(), unix_ms }
}

/// How far it came, in a word.
fn outcome(entries: &[&HistoryEntry]) -> &'static str {
    let has = |kind| entries.iter().any(|entry| entry.kind == kind);
    let last = entries.iter().rev().find(|entry| matches!(entry.kind, "Deployed" | "DeployFailed"));
    match () {
        () if has("RenderFailed") => "not rendered",
        () if has("ValidationFailed") => "refused",
        () if has("TakenBack") => "taken back",
        () if has("DeployFailed") && !has("Deployed") => "not deployed",
        () if last.is_some_and(|entry| entry.kind == "DeployFailed") => "not on every pod",
        () if has("Deployed") => "deployed",
        () if has("Validated") => "checked",
        () if has("Rendered") => "rendered",
        () => "under way",
    }
}
