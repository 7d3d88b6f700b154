//! A preview for people and for programs.

use super::{FileChange, PodPreview};
use haptic_deploy::Verdict;
use owo_colors::OwoColorize;
use serde_json::{Value, json};

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
            tell(&pods, preview, &mut text);
        }
    }
    text
}

fn tell(pods: &str, preview: &PodPreview, text: &mut String) {
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
        show(file, text);
    }
}

fn show(file: &FileChange, text: &mut String) {
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
