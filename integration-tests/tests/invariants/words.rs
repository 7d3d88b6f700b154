//! Names that the field does not use, names that stand for two things, phrases that make a native reader stop, and decisions on text that
//! is for people: they are gone, and nothing brings them back.

use crate::{assert_none, root, sources::Source};
use std::{collections::BTreeMap, fs};

/// Words in names of types, and what the field says.
const TYPES: [(&str, &str); 67] = [
    ("ActorSpec", "Spec"),
    ("AllLeftOut", "AllRejected"),
    ("Apart", "OtherChanges"),
    ("Around", "OuterLookup"),
    ("Beyond", "PrivilegedUses"),
    ("Board", "Topics"),
    ("Campaign", "Run"),
    ("CellReader", "Topic"),
    ("CellWriter", "Publisher"),
    ("CheckPatience", "CheckTimeout"),
    ("Commentary", "EventLog"),
    ("Complaint", "FailureReport"),
    ("Complaints", "FailureReports"),
    ("Concerned", "InvolvedObjects"),
    ("ConfigJudged", "ConfigValidated"),
    ("Court", "a test fixture's own name"),
    ("Culprit", "Cause"),
    ("Desk", "ReviewQueue"),
    ("EndpointArguments", "WebhookOptions"),
    ("EventTold", "EventEmitted"),
    ("Glance", "a refresh"),
    ("Given", "ProvidedObjects"),
    ("Ground", "what it is: inputs, settings, a baseline"),
    ("HeldBack", "QuarantinedObjects"),
    ("Hindsight", "PreviousFailures"),
    ("InForceActor", "ActivationActor"),
    ("Judge", "Evaluator"),
    ("Judgement", "ConfigVerdict"),
    ("Keeper", "Supervisor, or an actor's own name"),
    ("Kept", "what it is kept as"),
    ("Lacks", "MissingContent"),
    ("LeftOut", "RejectedObjects"),
    ("Life", "Lifecycle"),
    ("Lookout", "IncarnationWatch"),
    ("Marked", "FramedText"),
    ("Moment", "what it is the time of"),
    ("Nudge", "Topic"),
    ("OriginOf", "ObjectSource"),
    ("Outline", "BlockIndex"),
    ("Outlook", "Target"),
    ("Outside", "Environment"),
    ("Patience", "a timeout"),
    ("Place", "what stands there"),
    ("Probation", "NamespaceBackoff"),
    ("Recall", "BlockCache"),
    ("ReportBoard", "ReportTopics"),
    ("ReportTopics", "subscriptions of ReporterActor"),
    ("Seat", "OwnHandle"),
    ("Setback", "LastFailure"),
    ("Settled", "Encoded"),
    ("Settler", "FileEncoder"),
    ("Sight", "ObservedLease"),
    ("Site", "a position"),
    ("StandIn", "a fallback, a replacement or a pseudonym"),
    ("Standing", "a state"),
    ("Strike", "a refusal"),
    ("Tally", "CheckStatistics"),
    ("Tape", "RecordingFile"),
    ("Telling", "Report"),
    ("Tenure", "Term"),
    ("Told", "Message"),
    ("Untracked", "Uncacheable"),
    ("Vitals", "ActorStats"),
    ("Wanted", "what is wanted"),
    ("Ward", "QuarantineState"),
    ("Warrant", "Permit"),
    ("Workshop", "a render cache"),
];

/// Names of modules.
const MODULES: [(&str, &str); 36] = [
    ("ahead", "servers_first"),
    ("apart", "other_changes"),
    ("around", "captured"),
    ("asking", "debug_client"),
    ("beyond", "privileged"),
    ("blame", "failing_objects"),
    ("board", "topics"),
    ("commentary", "event_log"),
    ("culprits", "causes"),
    ("desk", "review_queue"),
    ("express", "fast_path"),
    ("given", "provided"),
    ("ground", "context"),
    ("hindsight", "previous_failures"),
    ("in_force", "activation"),
    ("judge", "evaluator"),
    ("keeper", "supervisor"),
    ("kept", "what it is kept as"),
    ("left_out", "rejected"),
    ("lookout", "incarnation_watch"),
    ("marked", "framed"),
    ("marks", "framing"),
    ("outline", "block_index"),
    ("outlook", "target"),
    ("probation", "namespace_backoff"),
    ("purity", "cacheability"),
    ("recall", "block_cache"),
    ("said", "messages"),
    ("seat", "handle"),
    ("settle", "encode"),
    ("stand_in", "fallback, replacement or pseudonym"),
    ("tally", "statistics"),
    ("told", "text"),
    ("vitals", "stats"),
    ("way", "explain"),
    ("workshop", "render_cache"),
];

/// Names of functions.
const FUNCTIONS: [(&str, &str); 22] = [
    ("begin_anew", "restart"),
    ("complain", "report_failure, or print_problem"),
    ("complained", "reported"),
    ("complaint", "failure_report"),
    ("culprits", "find_causes"),
    ("distrusted", "throttled"),
    ("express", "fast_path"),
    ("glance", "refresh"),
    ("hear", "receive"),
    ("hindsight", "previous_failures"),
    ("hurry", "wake"),
    ("judged", "validated, decided or evaluated"),
    ("meet", "connect"),
    ("put_on_probation", "throttle"),
    ("rest_again", "back_off_again"),
    ("settle", "encode"),
    ("stands_again", "is_cache_hit"),
    ("strike", "remove, or what is refused"),
    ("tell", "emit, or what is written"),
    ("told", "display, diagnostics, or what it is"),
    ("untracked", "uncacheable"),
    ("ward", "quarantine"),
];

/// Names of fields, parameters and locals.
const VALUES: [(&str, &str); 31] = [
    ("around", "context, captured or enclosing"),
    ("board", "topics"),
    ("border", "boundary"),
    ("commentary", "event_log"),
    ("complained", "reported"),
    ("complaint", "report"),
    ("complaints", "failure_reports"),
    ("concerned", "involved"),
    ("culprit", "proven"),
    ("culprits", "proven, or causes"),
    ("distrusted", "throttled"),
    ("ground", "inputs, base or context"),
    ("heard", "received"),
    ("hindsight", "previous_failures"),
    ("hurry", "is_woken"),
    ("judged", "validated, decided or evaluated"),
    ("keeper", "supervisor"),
    ("life", "lifecycle, or instance"),
    ("moment", "timing or context"),
    ("nudge", "topic"),
    ("outline", "block_index"),
    ("patience", "timeout"),
    ("probation", "namespace_backoff"),
    ("relapses", "failures"),
    ("seat", "own"),
    ("spoilt", "tainted"),
    ("strikes", "refusals"),
    ("tell", "sender"),
    ("told", "what it is: published, reported, text, receiver"),
    ("untracked", "uncacheable"),
    ("vitals", "stats"),
];

/// Names of types that several modules have, each its own: they mean the same in all of them.
const MAY_REPEAT: [&str; 9] =
    ["Config", "Detail", "Error", "Kind", "Refusal", "Role", "Spec", "State", "Tls"];

/// What a source defines, apart from its tests.
fn code(text: &str) -> impl Iterator<Item = &str> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.map(|line| line.split(" // ").next().unwrap_or_default())
}

/// The name that a line defines with one of these words. Nested types are their trait's, or their function's.
fn defined<'l>(line: &'l str, keywords: &[&str]) -> Option<&'l str> {
    let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    let is_definition = words
        .by_ref()
        .find(|word| !matches!(*word, "pub" | "crate" | "super" | "async" | "const"))
        .is_some_and(|word| keywords.contains(&word));
    words.next().filter(|_| is_definition)
}

/// Whether a line, apart from its texts, has a field, a parameter or a local of this name.
fn has_value(line: &str, name: &str) -> bool {
    line.split('"').step_by(2).any(|code| {
        code.match_indices(name).any(|(at, _)| {
            let (before, behind) = code.split_at(at);
            let behind = behind.strip_prefix(name).unwrap_or_default();
            let begins = !before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
            // A text over several lines: `of whom nothing else is told).`
            let is_prose = before.ends_with(' ') && before.trim_end().ends_with(char::is_alphanumeric);
            let is_declared = !behind.starts_with("::") && behind.trim_start().starts_with(BEHIND_VALUES);
            begins && is_declared && !(is_prose && behind.starts_with([')', ',']))
        })
    })
}

/// What follows the name of a value where it is declared.
const BEHIND_VALUES: [char; 7] = [':', '|', ')', ',', '=', ';', '}'];

fn is_of_tests(path: &str) -> bool {
    let is_named_so = ["tests", "examples/", "scene.rs"].iter().any(|name| path.contains(name));
    is_named_so || path.starts_with("integration-tests")
}

const TYPE_KEYWORDS: [&str; 4] = ["struct", "enum", "trait", "type"];

/// Definitions of types, modules, functions and values with a refused name.
fn with_refused_names(sources: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    let mut look = |path: &str, name: &str, list: &[(&str, &str)]| {
        let refused = list.iter().find(|(refused, _)| *refused == name);
        found.extend(refused.map(|(name, field)| format!("{path} defines {name}: say {field}")));
    };
    let checked = sources.iter().filter(|(path, _)| !is_of_tests(path));
    for (path, text) in checked {
        let file =
            path.trim_end_matches("/mod.rs").trim_end_matches(".rs").rsplit('/').next().unwrap_or(path);
        look(path, file, &MODULES);
        for line in code(text) {
            defined(line, &TYPE_KEYWORDS).into_iter().for_each(|name| look(path, name, &TYPES));
            defined(line, &["fn"]).into_iter().for_each(|name| look(path, name, &FUNCTIONS));
            let values = VALUES.iter().filter(|(refused, _)| has_value(line, refused));
            values.for_each(|(name, _)| look(path, name, &VALUES));
        }
    }
    found
}

/// Types of one name in two places.
fn with_several_definitions(sources: &[Source]) -> Vec<String> {
    let mut places: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (path, text) in sources.iter().filter(|(path, _)| !is_of_tests(path)) {
        let names =
            code(text).filter(|line| !line.starts_with(' ')).filter_map(|line| defined(line, &TYPE_KEYWORDS));
        names.for_each(|name| places.entry(name).or_default().push(path));
    }
    let several = places.into_iter().filter(|(name, paths)| paths.len() > 1 && !MAY_REPEAT.contains(name));
    several.map(|(name, paths)| format!("{name} is a type of {}", paths.join(" and of "))).collect()
}

#[test]
fn names_are_those_of_the_field() {
    assert_none(&with_refused_names(&crate::sources::sources()));
    let bad = [
        ("server/src/wiring.rs", "pub struct Seat<A> {"),
        ("actors/render/src/settle/mod.rs", "pub enum Fine {"),
        ("actors/validate/src/a.rs", "    pub(super) async fn tell(&self) {"),
        ("actors/validate/src/a.rs", "    complaint: Arc<FailureReport>,"),
        ("actors/validate/src/a.rs", "fn after(moment: &RenderTiming<'_>) {"),
        ("actors/validate/src/a.rs", "    let spoilt = BTreeSet::new();"),
        ("actors/validate/src/a.rs", "    reports.iter().map(|complaint| 1);"),
    ];
    for (path, line) in bad {
        assert_eq!(with_refused_names(&[(path.to_owned(), line.to_owned())]).len(), 1, "{line}");
    }
    let good = [
        "    let kept = looked; // struct Seat, told: never",
        "    format!(\"{why}: told, and heard\", why = a.foretold, b = told_once);",
        "    untold::note(is_told);",
    ];
    assert_none(&with_refused_names(&good.map(|line| ("actors/watch/src/a.rs".to_owned(), line.to_owned()))));
}

#[test]
fn a_type_name_stands_for_one_thing() {
    assert_none(&with_several_definitions(&crate::sources::sources()));
    let twice = ["a", "b"].map(|name| (format!("actors/{name}/src/lib.rs"), "pub enum Wish {".to_owned()));
    assert_eq!(
        with_several_definitions(&twice),
        ["Wish is a type of actors/a/src/lib.rs and of actors/b/src/lib.rs"]
    );
}

/// Phrases that a native reader stops at, and what is plain.
const PHRASES: [(&str, &str); 19] = [
    ("anew", "again"),
    ("besides", "in addition"),
    ("for ever", "forever"),
    ("in vain", "without success"),
    ("is told of", "receives"),
    ("is set right", "is corrected"),
    ("asked about once more", "checked again"),
    ("laid out of", "removed from"),
    ("laid over", "merged over"),
    ("held back", "quarantined"),
    ("left out of the stores", "rejected"),
    ("somebody", "a component, a user or a client"),
    ("whoever", "each client that, or the component"),
    ("strangers", "other clients"),
    ("there are left", "remain"),
    ("is rebuilt after a rest", "restarts after a backoff"),
    ("as it stood", "unchanged"),
    ("so many", "a limit"),
    ("so often", "a limit"),
];

/// Pages that people read. Those below `docs/reference` are generated.
fn pages() -> Vec<Source> {
    let folder = fs::read_dir(root().join("docs")).expect("docs").map(|entry| entry.expect("a page").path());
    let top = ["README.md", "ARCHITECTURE.md", "SECURITY.md"].map(|name| root().join(name));
    let pages = folder.chain(top).filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let named = |path: std::path::PathBuf| {
        let text = fs::read_to_string(&path).expect("a page");
        (path.strip_prefix(root()).expect("a page of ours").display().to_string(), text)
    };
    pages.map(named).collect()
}

/// Whether whole words of a line are this phrase.
fn has_phrase(line: &str, phrase: &str) -> bool {
    let is_free = |at: Option<char>| at.is_none_or(|c| !c.is_alphanumeric());
    line.match_indices(phrase).any(|(at, _)| {
        let (before, behind) = (line.get(..at), line.get(at + phrase.len()..));
        is_free(before.and_then(|text| text.chars().next_back()))
            && is_free(behind.and_then(|text| text.chars().next()))
    })
}

fn with_refused_phrases(pages: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in pages {
        for (number, line) in text.lines().enumerate() {
            let refused = PHRASES.iter().filter(|(phrase, _)| has_phrase(&line.to_lowercase(), phrase));
            let told =
                |(phrase, plain): &(&str, &str)| format!("{path}:{} has {phrase:?}: say {plain}", number + 1);
            found.extend(refused.map(told));
        }
    }
    found
}

#[test]
fn pages_are_in_plain_english() {
    let pages = pages();
    assert!(pages.len() > 10, "{}", pages.len());
    assert_none(&with_refused_phrases(&pages));
    let bad = vec![("docs/a.md".to_owned(), "An object at fault is laid out of the stores.".to_owned())];
    assert_eq!(with_refused_phrases(&bad).len(), 1);
    let good = vec![("docs/a.md".to_owned(), "For everybody, see HapticSomebodyElseChanges.".to_owned())];
    assert_none(&with_refused_phrases(&good));
}

/// Crates in which nothing decides on text that is for people.
const DECIDE_ON_FACTS: [&str; 17] = [
    "agent",
    "commentator",
    "config",
    "data-plane-api",
    "debounce",
    "deploy",
    "haproxy",
    "inspect",
    "leader",
    "model",
    "render",
    "resolve",
    "runtime",
    "text",
    "validate",
    "watch",
    "webhook",
];
/// Where answers become facts: of HAProxy's checker, of the Data Plane API, and of HAProxy's socket.
const READ_ANSWERS: [&str; 3] = [
    "actors/validate/src/report.rs",
    "actors/data-plane-api/src/responses.rs",
    "actors/agent/src/haproxy/answer.rs",
];

/// Lines that look for words in an error or a message.
fn decisions_on_text(sources: &[Source]) -> Vec<String> {
    let of_error = |before: &str| {
        let receiver: String =
            before.chars().rev().take_while(|c| c.is_alphanumeric() || "_.()".contains(*c)).collect();
        let receiver: String = receiver.chars().rev().collect();
        let last = receiver.trim_end_matches(".to_string()").trim_end_matches(".to_lowercase()");
        let last = last.rsplit('.').next().unwrap_or_default();
        matches!(
            last,
            "why"
                | "error"
                | "err"
                | "message"
                | "reason"
                | "problem"
                | "e"
                | "what"
                | "answer"
                | "words"
                | "cause"
        )
    };
    let decides = |line: &str| {
        let asks = [
            ".contains(\"",
            ".starts_with(\"",
            ".ends_with(\"",
            " == \"",
            " != \"",
            " == format!(",
            " != format!(",
        ];
        asks.iter()
            .any(|ask| line.match_indices(ask).any(|(at, _)| of_error(line.get(..at).unwrap_or_default())))
    };
    let mut found = Vec::new();
    for (path, text) in sources {
        let is_checked = DECIDE_ON_FACTS.iter().any(|name| path.starts_with(&format!("actors/{name}/src/")));
        if !is_checked || path.contains("tests") || READ_ANSWERS.contains(&path.as_str()) {
            continue;
        }
        let code = text.split("mod tests {").next().unwrap_or_default();
        let lines = code.lines().enumerate().filter(|(_, line)| decides(line));
        found.extend(
            lines.map(|(number, line)| format!("{path}:{} decides on text: {}", number + 1, line.trim())),
        );
    }
    found
}

#[test]
fn nothing_decides_on_text_for_people() {
    assert_none(&decisions_on_text(&crate::sources::sources()));
    let bad = [
        r#"if why.to_lowercase().contains("forbidden") {"#,
        r#"let gone = error.to_string().starts_with("404");"#,
        r#"found.retain(|diagnostic| diagnostic.message == "nothing listens");"#,
        r#"if what == format!("frontend {name}: maxconn changed") =>"#,
        r#"Event::Awaited { what } if what.starts_with("waiting for") => (MessageLevel::Info, what.clone()),"#,
    ];
    for line in bad {
        let source = vec![("actors/config/src/source/kubernetes.rs".to_owned(), line.to_owned())];
        assert_eq!(decisions_on_text(&source).len(), 1, "{line}");
    }
    let good = vec![("actors/config/src/a.rs".to_owned(), r#"if name.starts_with("files.") {"#.to_owned())];
    assert!(decisions_on_text(&good).is_empty());
}
