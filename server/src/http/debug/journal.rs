//! `/debug/events` and `/debug/generations`: what happened, and how long each stage of a generation took.

use super::{Inside, json_of};
use actix_web::{HttpResponse, web};
use haptic_commentator::Entry;
use haptic_model::Generation;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc};

/// So many generations are shown.
const SHOWN: usize = 40;
/// So many events, unless asked otherwise.
const EVENTS: usize = 1000;

/// Which events.
#[derive(Debug, Deserialize)]
pub(super) struct Wanted {
    generation: Option<u64>,
    limit: Option<usize>,
}

pub(super) async fn events(inside: web::Data<Inside>, wanted: web::Query<Wanted>) -> HttpResponse {
    let found = match wanted.generation {
        Some(generation) => inside.history.of_generation(Generation(generation)),
        None => inside.history.latest(wanted.limit.unwrap_or(EVENTS)),
    };
    json_of(&json!(found.iter().map(AsRef::as_ref).collect::<Vec<_>>()))
}

pub(super) async fn generations(inside: web::Data<Inside>) -> HttpResponse {
    let rendered = (*inside.rendered.read()).as_ref().map(|r| {
        json!({"generation": r.reconcile.generation, "digest": r.bundle.digest, "bytes": r.bundle.size(),
            "files": r.bundle.files.len() + 1, "renderMs": r.took.as_millis()})
    });
    let validated = (*inside.validated.read()).as_ref().map(
        |v| json!({"generation": v.generation(), "digest": v.bundle().digest, "checkMs": v.took.as_millis()}),
    );
    let timelines = timelines(&inside.history.latest(usize::MAX));
    json_of(&json!({"rendered": rendered, "validated": validated, "timelines": timelines}))
}

/// The latest generations, newest first: when each of its events was after its first one.
fn timelines(history: &[Arc<Entry>]) -> Vec<Value> {
    let mut generations: BTreeMap<Generation, Vec<&Entry>> = BTreeMap::new();
    for entry in history {
        if let Some(generation) = entry.generation {
            generations.entry(generation).or_default().push(entry);
        }
    }
    generations.iter().rev().take(SHOWN).map(|(generation, entries)| timeline(*generation, entries)).collect()
}

fn timeline(generation: Generation, entries: &[&Entry]) -> Value {
    let began = entries.first().map_or(0, |entry| entry.unix_ms);
    let steps: Vec<Value> = entries
        .iter()
        .map(|entry| {
            json!({"kind": entry.kind, "afterMs": entry.unix_ms.saturating_sub(began), "level": entry.level,
                "text": entry.text, "object": entry.object})
        })
        .collect();
    json!({"generation": generation, "unixMs": began, "outcome": outcome(entries), "steps": steps})
}

/// How far it came, in a word.
fn outcome(entries: &[&Entry]) -> &'static str {
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
