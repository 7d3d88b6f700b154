//! Findings for people: each test with its assertions, and the lines around what failed.

use super::findings::Examined;
use haptic_config::library::TestsOfLibraries;
use haptic_inspect::tests_of_config::{AssertionResult, ExcerptLine, TestResult};
use haptic_render::engine::ImpureBlock;
use owo_colors::OwoColorize;
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// Everything, the verdict last. What libraries prove of themselves is one line, unless it fails or `verbose` asks for it.
pub(super) fn text(findings: &Examined, verbose: bool) -> String {
    let mut text = String::new();
    if findings.tests.total > 0 {
        text.push_str(&format!("Validating HAProxyTemplateConfig: {}\n\n", findings.name));
        let is_brief =
            |test: &&TestResult| !verbose && test.passed && findings.of_libraries.contains_key(&test.name);
        let (brief, shown): (Vec<_>, Vec<_>) = findings.tests.tests.iter().partition(is_brief);
        let mut printed = BTreeSet::new();
        for test in shown {
            text.push_str(&of_test(test, &mut printed));
        }
        let libraries = brief.iter().filter_map(|test| findings.of_libraries.get(&test.name).copied());
        let proven: TestsOfLibraries = libraries.collect();
        if !proven.is_empty() {
            text.push_str(&format!("{} {proven} (-v shows them)\n", mark(true)));
        }
        let report = &findings.tests;
        text.push_str(&format!(
            "\nTests: {} passed, {} failed, {} total\nTime: {}\n",
            report.passed,
            report.failed,
            report.total,
            seconds(report.took)
        ));
    }
    if let Some(untested) = &findings.untested {
        text.push_str(&format!("{untested}\n"));
    }
    text.push_str(&dump("", &findings.rendered));
    for test in &findings.tests.tests {
        text.push_str(&dump(&format!("{}: ", test.name), &test.rendered));
    }
    if verbose {
        text.push_str(&uncacheable(&findings.uncacheable));
    }
    text.push_str(&format!("{}: {}\n", findings.name, verdict(findings)));
    text
}

fn verdict(findings: &Examined) -> String {
    let errors = (findings.errors() > 0).then(|| format!("{} error(s)", findings.errors()));
    let tests = &findings.tests;
    let failed = (!tests.all_passed()).then(|| format!("{}/{} tests passed", tests.passed, tests.total));
    let why: Vec<String> = errors.into_iter().chain(failed).collect();
    let by = findings.haproxy.map_or_else(String::new, |version| format!(" for HAProxy {version}"));
    if why.is_empty() { format!("valid{by}") } else { format!("invalid: {}", why.join(", ")) }
}

/// `printed`: the errors that were printed before. A render that fails is one error, whatever is asserted of it.
fn of_test<'t>(test: &'t TestResult, printed: &mut BTreeSet<&'t str>) -> String {
    let mut text = format!("{} {} ({})\n", mark(test.passed), test.name.bold(), seconds(test.took));
    text.push_str(&of_error(test.error.as_deref(), printed));
    for assertion in &test.assertions {
        text.push_str(&of_assertion(assertion, printed));
    }
    text
}

fn of_assertion<'t>(assertion: &'t AssertionResult, printed: &mut BTreeSet<&'t str>) -> String {
    let mut text = format!("  {} {}\n", mark(assertion.passed), assertion.title());
    text.push_str(&of_error(assertion.error.as_deref(), printed));
    for line in &assertion.lines {
        text.push_str(&of_line(line));
    }
    text
}

fn of_error<'t>(error: Option<&'t str>, printed: &mut BTreeSet<&'t str>) -> String {
    match error {
        None => String::new(),
        Some(error) if printed.insert(error) => format!("    Error: {}\n", indented(error)),
        Some(_) => "    Error: the same as above\n".to_owned(),
    }
}

/// `> 12 | server a 10.0.0.1:80   (backends:3, ingresses default/shop)`
fn of_line(line: &ExcerptLine) -> String {
    let from: Vec<&str> = [&line.template, &line.object].into_iter().filter_map(|o| o.as_deref()).collect();
    let from = if from.is_empty() { String::new() } else { format!("   ({})", from.join(", ")) };
    let pointer = if line.marked { ">" } else { " " };
    format!("    {pointer} {:>4} | {}{}\n", line.number, line.text, from.dimmed())
}

fn mark(passed: bool) -> String {
    if passed { "✓".green().to_string() } else { "✗".red().to_string() }
}

fn indented(error: &str) -> String {
    error.replace('\n', "\n           ")
}

fn seconds(took: Duration) -> String {
    if took < Duration::from_secs(1) {
        format!("{} ms", took.as_millis())
    } else {
        format!("{:.1} s", took.as_secs_f64())
    }
}

fn dump(of: &str, files: &BTreeMap<String, String>) -> String {
    let file = |(path, content): (&String, &String)| {
        let end = if content.ends_with('\n') || content.is_empty() { "" } else { "\n" };
        format!("\n==== {of}{path}\n{content}{end}")
    };
    files.iter().map(file).collect()
}

fn uncacheable(blocks: &BTreeMap<ImpureBlock, usize>) -> String {
    if blocks.is_empty() {
        return "after a change, only the blocks of what changed are rendered\n".to_owned();
    }
    let mut text = String::from("rendered anew for each object after any change:\n");
    for (ImpureBlock { template, line, column, why }, objects) in blocks {
        let times = if *objects > 0 { format!(" ({objects} objects)") } else { String::new() };
        text.push_str(&format!("  {template}:{line}:{column}: {why}{times}\n"));
    }
    text
}
