//! `haptic reference`: pages of the documentation that are made of tables in the code. Not shown to users; a test
//! compares what is printed with `docs/reference`.

use crate::{
    cli::{Failure, ReferencePage},
    output,
};
use haptic_commentator::{commentary::kinds::KINDS, metrics};
use haptic_leader::{notices::table::NOTICES, report::table::CONDITIONS};
use std::fmt::Write;

/// Prints a page.
///
/// # Errors
/// When standard output cannot be written.
pub fn run(page: ReferencePage) -> Result<(), Failure> {
    output::print(&text(page)).map_err(Failure::because)
}

/// A page of the documentation.
#[must_use]
pub fn text(page: ReferencePage) -> String {
    match page {
        ReferencePage::Metrics => metrics_page(),
        ReferencePage::Events => events_page(),
        ReferencePage::Conditions => conditions_page(),
    }
}

fn metrics_page() -> String {
    let mut page = String::from(
        "# Metrics\n\nMade of the tables in the code by `haptic reference metrics`.\n\n\
         ## Of the controller\n\n`/metrics` on `controller.metricsPort` (9090) of every replica. No label has the name of an \
         Ingress, a Service or a host: with 10,000 Ingresses there are less than 600 series.\n\n",
    );
    page.push_str(&metrics::as_markdown());
    page.push_str(
        "\n## Of the agent\n\n`/metrics` on the agent's port of every HAProxy pod; HAProxy's own metrics are on its own.\n\n\
         | Metric | Type | |\n|---|---|---|\n",
    );
    for (name, kind, help) in haptic_agent::metric_families() {
        line(&mut page, &[&format!("`{name}`"), &kind, help.trim_end_matches('.')]);
    }
    page
}

fn events_page() -> String {
    let mut page = String::from(
        "# Events and log lines\n\nMade of the tables in the code by `haptic reference events`.\n\n\
         ## Kubernetes Events\n\nThe leader writes them, and the same one again only after a while: \
         `kubectl get events --field-selector reason=Quarantined`.\n\n| Reason | Type | Action | About | |\n|---|---|---|---|---|\n",
    );
    for notice in NOTICES {
        let kind = if notice.warning { "Warning" } else { "Normal" };
        line(
            &mut page,
            &[&format!("`{}`", notice.reason), kind, notice.action, notice.about, notice.meaning],
        );
    }
    page.push_str(
        "\n## Log lines\n\n`kind` of a line of JSON, and of `/debug/events`. `generation` is the number of what it belongs \
         to, from the change to every pod. `controller.eventCommentator.logLevel` and `logging.level` say from which level on \
         lines are logged, and take effect at once; `/debug/events` has all of them.\n\n| Kind | Level | |\n|---|---|---|\n",
    );
    for (kind, level, meaning) in KINDS {
        line(&mut page, &[&format!("`{kind}`"), &format!("{level:?}"), meaning]);
    }
    page
}

fn conditions_page() -> String {
    let mut page = String::from(
        "# Conditions\n\nMade of the tables in the code by `haptic reference conditions`.\n\n\
         In the status of the `HAProxyTemplateConfig`; the leader writes them: \
         `kubectl wait haptpl NAME --for=condition=Ready`.\n",
    );
    for condition in CONDITIONS {
        let _infallible = writeln!(
            page,
            "\n## {}\n\n{}\n\n| Status | Reason | |\n|---|---|---|",
            condition.kind, condition.meaning
        );
        for (status, reason, meaning) in condition.reasons {
            line(&mut page, &[status, &format!("`{reason}`"), meaning]);
        }
    }
    page
}

fn line(page: &mut String, cells: &[&str]) {
    let _infallible = writeln!(page, "| {} |", cells.join(" | "));
}
