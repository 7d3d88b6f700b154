//! What is fuzzed: each function takes any bytes and panics when a promise is broken.
//!
//! `make fuzz` gives them bytes for ten minutes each; `make test` gives them what is in `fixtures/fuzz`.
#![allow(clippy::panic, clippy::unwrap_used, clippy::expect_used, reason = "a broken promise is a panic")]

use haptic_haproxy::{CheckOptions, Document, Version, check};
use haptic_model::{
    ActiveConfig, FieldPath, FileKind, Fleet, HAProxyTemplateConfigSpec, Layout, Object, ObjectRef, Snapshot,
    Snapshots,
};
use haptic_render::{
    Engine as _, Limits, Templates,
    handlebars::HandlebarsEngine,
    marks::{self, Marked},
    render,
    settle::settle,
};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

/// A configuration comes back byte for byte, and can be checked, whatever it is.
pub fn haproxy_parser(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let document = Document::parse(&text);
    assert_eq!(document.to_string(), text);
    for version in [Version::new(3, 0), Version::new(3, 4)] {
        let problems = check(&document, &CheckOptions::new(version));
        assert!(problems.iter().all(|problem| problem.line >= 1 && problem.column >= 1));
    }
}

/// What the settling pass lets through keeps the template's lines, and its own proof never finds a defect.
pub fn settle_config(data: &[u8]) {
    settled(FileKind::Config, data);
}

/// The same for maps.
pub fn map_lexer(data: &[u8]) {
    settled(FileKind::Map, data);
}

/// The same for crt-lists.
pub fn crt_list_lexer(data: &[u8]) {
    settled(FileKind::CrtList, data);
}

/// Template text and values take turns, between bytes `FF`; `FE` begins a value by `arg`, `FD` one by `lf`.
fn settled(kind: FileKind, data: &[u8]) {
    let mut text = String::new();
    let mut lines = 0;
    for (index, part) in data.split(|byte| *byte == 0xFF).enumerate() {
        let (mark, part) = match part.split_first() {
            Some((0xFE, rest)) => (marks::ARGUMENT, rest),
            Some((0xFD, rest)) => (marks::LOG_FORMAT, rest),
            _ => (marks::VALUE, part),
        };
        let part: String = String::from_utf8_lossy(part).chars().filter(|c| !marks::is_mark(*c)).collect();
        if index % 2 == 0 {
            lines += part.matches('\n').count();
            text += &part;
        } else {
            text.extend([mark]);
            text += &part;
            text.extend([marks::END]);
        }
    }
    match settle(kind, &Marked { pieces: vec![text.into()], ..Marked::default() }) {
        Ok(settled) => {
            let settled = settled.to_string();
            assert_eq!(settled.matches('\n').count(), lines, "lines of {settled:?}");
            assert!(!settled.contains(marks::is_mark), "marks are left");
        }
        Err(refused) => {
            let defect = refused.iter().find(|diagnostic| diagnostic.message.contains("internal error"));
            assert!(defect.is_none(), "{defect:?}");
        }
    }
}

/// A path is refused, or finds the same whatever asks.
pub fn field_path(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (path, json) = text.split_once('\n').unwrap_or((&text, "{}"));
    let Ok(path) = FieldPath::parse(path) else { return };
    let Ok(mut object) = serde_json::from_str::<Value>(json) else { return };
    let found = path.get(&object).cloned();
    let all: Vec<Value> = path.get_all(&object).into_iter().cloned().collect();
    assert!(found.is_none_or(|found| all.contains(&found)), "get finds what get_all does not");
    let text = path.text(&object);
    assert!(text.is_empty() || !all.is_empty(), "a text of nothing");
    path.remove(&mut object);
}

/// A template is refused, or prints what an object says as values, twice the same. The template and the object's texts
/// are separated by bytes `FF`.
pub fn template(data: &[u8]) {
    let mut parts = data.split(|byte| *byte == 0xFF).map(String::from_utf8_lossy);
    let source = parts.next().unwrap_or_default();
    let texts: Vec<_> = parts.collect();
    let spec = json!({
        "credentialsSecretRef": {"name": "c"},
        "podSelector": {"matchLabels": {"app": "haproxy"}},
        "haproxyConfig": {"template": source},
        "watchedResources": {"ingresses": {"apiVersion": "networking.k8s.io/v1", "resources": "ingresses"}},
    });
    let spec: HAProxyTemplateConfigSpec = serde_json::from_value(spec).expect("a specification");
    let compiled = match HandlebarsEngine.compile(&Templates::of(&spec)) {
        Ok(compiled) => compiled,
        Err(problems) => return assert!(!problems.is_empty(), "refused for nothing"),
    };
    let config = ActiveConfig {
        name: "fuzz".into(),
        namespace: "default".into(),
        resource_generation: 1,
        revision: 1,
        spec: Arc::new(spec),
        layout: Layout::default(),
        credentials: vec![],
    };
    let mut store = Snapshot::full();
    let object =
        json!({"metadata": {"namespace": "n", "name": "o"}, "spec": {"texts": texts, "text": texts.first()}});
    let reference = Arc::new(ObjectRef::new("ingresses", "n", "o"));
    let object = Object { reference, version: 0, json: object.to_string().into_bytes().into() };
    store.apply(object, Arc::from([Arc::from("n"), Arc::from("o")]));
    let snapshots = Snapshots::new([(Arc::from("ingresses"), Arc::new(store))].into());
    let limits = Limits { time: Duration::from_secs(2), output: 1 << 20, ..Limits::default() };
    let rendered = || render(&*compiled, &config, &snapshots, &Fleet::default(), &limits);
    match (rendered(), rendered()) {
        (Ok((one, _)), Ok((two, _))) => assert_eq!(one.config.text.to_string(), two.config.text.to_string()),
        (Err(problems), Err(_)) => {
            let defect = problems.iter().find(|problem| problem.message.contains("internal error"));
            assert!(defect.is_none(), "{defect:?}");
        }
        // Only a limit of time makes a difference.
        (one, two) => {
            let slow = [one.err(), two.err()].into_iter().flatten().flatten();
            assert!(slow.into_iter().any(|problem| problem.message.contains("takes longer")), "it differs");
        }
    }
}
