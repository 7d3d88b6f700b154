//! Findings for programs, as JSON and YAML. `total`, `passed` and `failed` count tests and are at the top level.

use super::findings::Findings;
use serde_json::{Value, json};

/// As JSON: of several configurations a list.
pub(super) fn value(all: &[Findings]) -> Value {
    match all {
        [findings] => of_one(findings),
        several => several.iter().map(of_one).collect(),
    }
}

fn of_one(findings: &Findings) -> Value {
    let problems: Vec<Value> = findings
        .diagnostics
        .iter()
        .map(|d| json!({"severity": d.severity, "source": d.source, "message": d.to_string(), "details": d}))
        .collect();
    let blocks: Vec<Value> = findings
        .untracked
        .iter()
        .map(|(block, objects)| {
            json!({"template": block.template, "line": block.line, "column": block.column,
                "why": block.why.to_string(), "objects": objects})
        })
        .collect();
    let mut value = json!(findings.tests);
    let own = json!({
        "name": findings.name,
        "valid": findings.is_valid(),
        "errors": findings.errors(),
        "haproxy": findings.haproxy.map(|version| version.to_string()),
        "untested": findings.untested.as_ref().map(ToString::to_string),
        "problems": problems,
        "untrackedBlocks": blocks,
    });
    if let (Value::Object(value), Value::Object(own)) = (&mut value, own) {
        value.extend(own);
        if !findings.rendered.is_empty() {
            value.insert("rendered".to_owned(), json!(findings.rendered));
        }
    }
    value
}

/// The same as YAML.
pub(super) fn yaml(all: &[Findings]) -> Result<String, String> {
    serde_saphyr::to_string(&value(all)).map_err(|e| e.to_string())
}
