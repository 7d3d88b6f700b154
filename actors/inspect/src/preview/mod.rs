//! What would change on a pod: files as a diff, and how its HAProxy would follow. Pure; nobody is asked here.

#[cfg(test)]
mod tests;

use crate::diff::{FileChange, changes};
use haptic_deploy::{Plan, RunningView, Verdict, plan};
use haptic_model::{Bundle, Capabilities, HaproxyVersion};
use owo_colors::OwoColorize;
use serde_json::{Value, json};

/// What a bundle would change on one pod.
#[derive(Clone, Debug)]
pub struct PodPreview {
    /// `namespace/name`, or the folder its bundle was read from.
    pub pod: String,
    /// Of its HAProxy.
    pub version: HaproxyVersion,
    /// How it would get there.
    pub plan: Plan,
    /// The files that would change, by path.
    pub files: Vec<FileChange>,
}

impl PodPreview {
    /// Compares what `pod` runs with what it should run.
    #[must_use]
    pub fn of(pod: String, version: HaproxyVersion, running: &RunningView, desired: &Bundle) -> Self {
        let plan = plan(running, desired, Capabilities::of(version));
        let files = changes(&plan, running.bundle(), desired);
        Self { pod, version, plan, files }
    }

    /// Whether anything would change, be it only a comment.
    #[must_use]
    pub fn changes(&self) -> bool {
        !self.plan.is_empty()
    }

    /// The outcome in one word: `nothing`, `files`, `runtime` or `reload`.
    #[must_use]
    pub fn verdict(&self) -> &'static str {
        match &self.plan.verdict {
            Verdict::Nothing if self.changes() => "files",
            Verdict::Nothing => "nothing",
            Verdict::Runtime { .. } => "runtime",
            Verdict::Reload { .. } => "reload",
        }
    }

    /// Whether another pod would change in the same way.
    fn is_like(&self, other: &Self) -> bool {
        self.version == other.version && self.plan == other.plan
    }
}

/// For people; pods that would change in the same way are told of together.
#[must_use]
pub fn as_text(previews: &[PodPreview]) -> String {
    let mut groups: Vec<Vec<&PodPreview>> = Vec::new();
    for preview in previews {
        match groups.iter_mut().find(|group| group.iter().all(|known| known.is_like(preview))) {
            Some(group) => group.push(preview),
            None => groups.push(vec![preview]),
        }
    }
    let mut text = String::new();
    for group in groups {
        let pods = group.iter().map(|p| p.pod.as_str()).collect::<Vec<_>>().join(", ");
        if let Some(preview) = group.first() {
            write_preview(&pods, preview, &mut text);
        }
    }
    text
}

fn write_preview(pods: &str, preview: &PodPreview, text: &mut String) {
    let (verdict, details) = match &preview.plan.verdict {
        Verdict::Nothing if preview.changes() => {
            ("files only: HAProxy need not notice".to_owned(), Vec::new())
        }
        Verdict::Nothing => ("no change".to_owned(), Vec::new()),
        Verdict::Runtime { operations } => {
            let plural = if operations.len() == 1 { "" } else { "s" };
            let verdict = format!("runtime only, {} operation{plural}", operations.len());
            (verdict, operations.iter().map(ToString::to_string).collect())
        }
        Verdict::Reload { reasons } => {
            ("reload".to_owned(), reasons.iter().map(|r| format!("because {}", r.sentence)).collect())
        }
    };
    text.push_str(&format!("{} (HAProxy {}): {}\n", pods.bold(), preview.version, verdict.bold()));
    for detail in details {
        text.push_str(&format!("  {detail}\n"));
    }
    for file in &preview.files {
        write_file(file, text);
    }
}

fn write_file(file: &FileChange, text: &mut String) {
    let Some(diff) = &file.diff else {
        let fate = format!("{:?}", file.change).to_lowercase();
        return text.push_str(&format!("{}: {fate}; a certificate's content is not shown\n", file.path));
    };
    for line in diff.lines() {
        match line.as_bytes().first() {
            Some(b'+') => text.push_str(&format!("{}\n", line.green())),
            Some(b'-') => text.push_str(&format!("{}\n", line.red())),
            Some(b'@') => text.push_str(&format!("{}\n", line.cyan())),
            _ => text.push_str(&format!("{line}\n")),
        }
    }
}

/// For programs: each pod by itself.
#[must_use]
pub fn as_json(previews: &[PodPreview]) -> Vec<Value> {
    let one = |preview: &PodPreview| {
        let plan = &preview.plan;
        let reasons: Vec<&str> = match &plan.verdict {
            Verdict::Reload { reasons } => reasons.iter().map(|r| r.sentence.as_str()).collect(),
            _ => Vec::new(),
        };
        let operations: Vec<String> = plan.verdict.operations().iter().map(ToString::to_string).collect();
        json!({
            "pod": preview.pod,
            "haproxyVersion": preview.version,
            "running": plan.base,
            "desired": plan.target,
            "changes": preview.changes(),
            "verdict": preview.verdict(),
            "operations": operations,
            "reasons": reasons,
            "files": preview.files,
        })
    };
    previews.iter().map(one).collect()
}
