//! Conditions of a status: merged by type, so that those of others stay as they are.

use haptic_model::gateway::StatusCondition;
use serde_json::{Map, Value, json};

/// The API takes messages of 32,768 bytes; nobody reads as much.
const LONGEST_MESSAGE: usize = 1000;
/// The API takes so many conditions in one place, and refuses the whole status where there is one more.
pub(crate) const MOST: usize = 8;
/// The types that are written in any case, and then the others of ours as long as there is room: the first ones first.
const ALWAYS: [&str; 4] = ["Accepted", "Programmed", "ResolvedRefs", "haproxy-haptic.org/Programmed"];
const WITH_ROOM: [&str; 4] =
    ["PartiallyInvalid", "Conflicted", "InsecureFrontendValidationMode", "OverlappingTLSConfig"];

/// What conditions of one place should be.
pub(crate) struct WantedConditions<'a> {
    /// The types that are ours in this place: those that are not wanted go.
    pub(crate) ours: &'a [&'a str],
    /// Those that are wanted.
    pub(crate) wanted: Vec<StatusCondition>,
    /// `metadata.generation` of the object that was judged.
    pub(crate) generation: i64,
    /// Of the version that is accepted, where a former one is served.
    pub(crate) accepted: Option<i64>,
    /// For conditions whose status changes.
    pub(crate) now: &'a str,
}

impl WantedConditions<'_> {
    /// `stored` with ours as they should be: each in its place, new ones at the end, those of other types untouched. Where that is more than the
    /// API takes, the least important of ours are left out, and of other types only what ours that are always written have no room beside.
    pub(crate) fn merged_into(self, stored: Option<&Value>) -> Vec<Value> {
        let Self { ours, wanted, generation, accepted, now } = self;
        let stored = stored.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let is_foreign = |condition: &&Value| !ours.contains(&kind_of(condition));
        let mut wanted = with_room(wanted, MOST.saturating_sub(stored.iter().filter(is_foreign).count()));
        let mut room_of_others = MOST.saturating_sub(wanted.len());
        let written = |one: &StatusCondition, stored| {
            let accepted = accepted.filter(|_| one.kind == "Accepted" && one.holds);
            written(one, stored, accepted.unwrap_or(generation), now)
        };
        let mut merged = Vec::new();
        for condition in stored {
            let kind = kind_of(condition);
            if let Some(found) = wanted.iter().position(|one| one.kind == kind) {
                merged.push(written(&wanted.remove(found), Some(condition)));
            } else if !ours.contains(&kind) && room_of_others > 0 {
                room_of_others -= 1;
                merged.push(condition.clone());
            }
        }
        merged.extend(wanted.iter().map(|one| written(one, None)));
        merged
    }
}

/// `wanted` without the least important ones that have no `room`.
fn with_room(mut wanted: Vec<StatusCondition>, room: usize) -> Vec<StatusCondition> {
    let rank = |one: &StatusCondition| {
        WITH_ROOM.iter().position(|kind| *kind == one.kind).unwrap_or(WITH_ROOM.len())
    };
    while wanted.len() > room {
        let spare = wanted.iter().enumerate().filter(|(_, one)| !ALWAYS.contains(&one.kind));
        let Some((least, _)) = spare.max_by_key(|(_, one)| rank(one)) else { break };
        wanted.remove(least);
    }
    wanted
}

/// The condition of type `kind` among `conditions`.
pub(crate) fn find<'a>(conditions: Option<&'a Value>, kind: &str) -> Option<&'a Value> {
    conditions.and_then(Value::as_array)?.iter().find(|condition| kind_of(condition) == kind)
}

/// Whether `condition` is `True` for this generation of its object.
pub(crate) fn holds(condition: Option<&Value>, generation: i64) -> bool {
    condition.is_some_and(|condition| {
        condition.get("status").and_then(Value::as_str) == Some("True")
            && observed_generation(condition) == generation
    })
}

/// Whether one of `ours` was judged at a newer generation: whoever did that knows more.
pub(crate) fn is_newer(conditions: Option<&Value>, ours: &[&str], generation: i64) -> bool {
    let conditions = conditions.and_then(Value::as_array).into_iter().flatten();
    conditions
        .filter(|condition| ours.contains(&kind_of(condition)))
        .any(|condition| observed_generation(condition) > generation)
}

fn kind_of(condition: &Value) -> &str {
    condition.get("type").and_then(Value::as_str).unwrap_or_default()
}

fn observed_generation(condition: &Value) -> i64 {
    condition.get("observedGeneration").and_then(Value::as_i64).unwrap_or_default()
}

/// The time of the last transition changes with the status alone.
fn written(condition: &StatusCondition, stored: Option<&Value>, generation: i64, now: &str) -> Value {
    let status = if condition.holds { "True" } else { "False" };
    let since = stored
        .filter(|stored| stored.get("status").and_then(Value::as_str) == Some(status))
        .and_then(|stored| stored.get("lastTransitionTime").and_then(Value::as_str));
    let mut all: Map<String, Value> = Map::new();
    all.insert("type".into(), condition.kind.into());
    all.insert("status".into(), status.into());
    all.insert("reason".into(), condition.reason.into());
    all.insert("message".into(), shortened(&condition.message).into());
    all.insert("observedGeneration".into(), json!(generation));
    all.insert("lastTransitionTime".into(), since.unwrap_or(now).into());
    Value::Object(all)
}

fn shortened(message: &str) -> String {
    if message.len() <= LONGEST_MESSAGE {
        return message.to_owned();
    }
    let mut shown: String = message.chars().take(LONGEST_MESSAGE / 4).collect();
    shown.push('…');
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted(holds: bool) -> StatusCondition {
        let reason = if holds { "Accepted" } else { "ListenersNotValid" };
        StatusCondition { kind: "Accepted", holds, reason, message: "so it is".into() }
    }

    fn merged(wanted: Vec<StatusCondition>, stored: &Value, now: &str) -> Vec<Value> {
        WantedConditions { ours: &["Accepted", "Programmed"], wanted, generation: 3, accepted: None, now }
            .merged_into(Some(stored))
    }

    #[test]
    fn what_the_api_server_filled_in_is_replaced_and_what_others_wrote_stays_where_it_is() {
        let foreign = json!({"type": "example.com/Odd", "status": "Maybe", "extra": [1, {"b": 2}]});
        let stored = json!([
            {"type": "Accepted", "status": "Unknown", "reason": "Pending", "message": "Waiting for controller",
             "lastTransitionTime": "1970-01-01T00:00:00Z"},
            foreign,
            {"type": "Programmed", "status": "Unknown", "reason": "Pending", "message": "Waiting for controller",
             "lastTransitionTime": "1970-01-01T00:00:00Z"},
        ]);
        let now = merged(vec![accepted(true)], &stored, "2026-01-02T00:00:00Z");
        assert_eq!(now.len(), 2, "ours that is not wanted is gone");
        assert_eq!(now[1], foreign);
        assert_eq!(now[0]["lastTransitionTime"], "2026-01-02T00:00:00Z");
        assert_eq!((&now[0]["observedGeneration"], &now[0]["status"]), (&json!(3), &json!("True")));
    }

    #[test]
    fn the_time_changes_with_the_status_alone() {
        let first = Value::Array(merged(vec![accepted(true)], &json!([]), "2026-01-01T00:00:00Z"));
        let mut told = accepted(true);
        told.message = "another sentence".into();
        let second = Value::Array(merged(vec![told], &first, "2026-01-02T00:00:00Z"));
        assert_eq!(second[0]["lastTransitionTime"], "2026-01-01T00:00:00Z");
        let third = merged(vec![accepted(false)], &second, "2026-01-03T00:00:00Z");
        assert_eq!(third[0]["lastTransitionTime"], "2026-01-03T00:00:00Z");
    }

    #[test]
    fn there_are_no_more_than_the_api_takes_and_foreign_ones_go_only_for_what_is_always_written() {
        let of = |kind| StatusCondition { kind, ..accepted(true) };
        let all = ["ResolvedRefs", "OverlappingTLSConfig", "Accepted", "Conflicted", "Programmed"].map(of);
        let ours = all.each_ref().map(|one| one.kind);
        let foreign = |count: usize| {
            let each = |number| json!({"type": format!("example.com/T{number}"), "status": "True"});
            (0..count).map(each).collect::<Vec<Value>>()
        };
        for (others, kept, left_out) in [
            (3, 3, &[][..]),
            (4, 4, &["OverlappingTLSConfig"]),
            (5, 5, &["OverlappingTLSConfig", "Conflicted"]),
            (8, 5, &["OverlappingTLSConfig", "Conflicted"]),
        ] {
            let merge = |stored: &Value| {
                let wanted = all.to_vec();
                WantedConditions { ours: &ours, wanted, generation: 3, accepted: None, now: "now" }
                    .merged_into(Some(stored))
            };
            let merged = merge(&foreign(others).into());
            let count = |kind: &str| merged.iter().filter(|one| kind_of(one) == kind).count();
            for kind in ours {
                assert_eq!(count(kind), usize::from(!left_out.contains(&kind)), "{others}: {kind}");
            }
            assert_eq!(merged.iter().filter(|one| foreign(kept).contains(one)).count(), kept);
            assert!(merged.len() <= MOST);
            assert_eq!(merge(&merged.clone().into()), merged, "what is right is not written again");
        }
    }

    #[test]
    fn a_long_message_is_cut() {
        let long = StatusCondition { message: "ä".repeat(250_000).into(), ..accepted(true) };
        let written = merged(vec![long], &json!([]), "2026-01-01T00:00:00Z");
        assert!(written[0]["message"].as_str().unwrap().len() <= LONGEST_MESSAGE);
    }
}
