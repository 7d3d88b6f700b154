//! Findings for programs, as JSON and YAML. `total`, `passed` and `failed` count tests and are at the top level. What was there
//! before HAPTIC was written in Rust is there by its names, too: `totalTests` and the like, and `testResults`.

use super::findings::Examined;
use haptic_inspect::tests_of_config::{Report, TestResult};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// As JSON: of several configurations a list.
pub(super) fn value(all: &[Examined]) -> Value {
    match all {
        [findings] => of_one(findings),
        several => several.iter().map(of_one).collect(),
    }
}

fn of_one(findings: &Examined) -> Value {
    let problems: Vec<Value> = findings
        .diagnostics
        .iter()
        .map(|d| json!({"severity": d.severity, "source": d.source, "message": d.to_string(), "details": d}))
        .collect();
    let blocks: Vec<Value> = findings
        .uncacheable
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
        value.extend(by_former_names(&findings.tests));
        if !findings.rendered.is_empty() {
            value.insert("rendered".to_owned(), json!(findings.rendered));
        }
    }
    value
}

/// The tests as programs that were written for HAPTIC in Go read them.
fn by_former_names(report: &Report) -> Map<String, Value> {
    let result = |test: &TestResult| {
        let assertions = test.assertions.iter().map(|assertion| {
            json!({"type": assertion.kind, "description": assertion.title(), "passed": assertion.passed,
                "error": assertion.error.as_deref().unwrap_or_default()})
        });
        json!({"testName": test.name, "description": test.description, "passed": test.passed,
            "duration": go_duration(test.took), "assertions": assertions.collect::<Vec<_>>()})
    };
    let fields = [
        ("totalTests", json!(report.total)),
        ("passedTests", json!(report.passed)),
        ("failedTests", json!(report.failed)),
        ("testResults", report.tests.iter().map(result).collect()),
    ];
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// As Go's `time.ParseDuration` reads it: `1.250s`, `12ms`.
fn go_duration(took: Duration) -> String {
    match took.as_millis() {
        millis @ ..1000 => format!("{millis}ms"),
        _ => format!("{:.3}s", took.as_secs_f64()),
    }
}

/// The same as YAML.
pub(super) fn yaml(all: &[Examined]) -> Result<String, String> {
    serde_saphyr::to_string(&value(all)).map_err(|e| e.to_string())
}
