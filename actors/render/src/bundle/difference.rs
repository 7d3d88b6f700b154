//! Whether two renders are the same in bytes, origins, warnings and errors, and where they differ first.

use super::Rendering;
use haptic_attribution::Faults;
use haptic_model::{BundleFile, Diagnostic};

/// The result of a render.
type RenderResult = Result<Rendering, Faults>;

/// The first difference between a render that kept what did not change and a full one; `None` when they are the same.
pub(crate) fn difference(kept: &RenderResult, full: &RenderResult) -> Option<Diagnostic> {
    match (kept, full) {
        (Ok(kept), Ok(full)) => between(kept, full),
        (Err(kept), Err(full)) if kept == full => None,
        (Ok(_), Err(full)) => Some(said(&format!("the full one fails: {}", first(full)))),
        (Err(kept), Ok(_)) => Some(said(&format!("only the incremental one fails: {}", first(kept)))),
        (Err(kept), Err(full)) => {
            Some(said(&format!("it fails with {}, the full one with {}", first(kept), first(full))))
        }
    }
}

fn between(kept: &Rendering, full: &Rendering) -> Option<Diagnostic> {
    let (before, after) = (&kept.bundle, &full.bundle);
    if !before.files.keys().eq(after.files.keys()) {
        return Some(said("they have not the same files"));
    }
    if let Some(found) = before.all().zip(after.all()).find_map(|(kept, full)| in_file(kept, full)) {
        return Some(found);
    }
    if kept.findings != full.findings {
        return Some(said("what is found at objects differs"));
    }
    if kept.gateway_verdicts != full.gateway_verdicts {
        return Some(said("what is decided about objects of the Gateway API differs"));
    }
    (before.digest != after.digest || kept.warnings != full.warnings).then(|| said("their warnings differ"))
}

fn in_file(kept: &BundleFile, full: &BundleFile) -> Option<Diagnostic> {
    let (x, y) = (kept.text.fragments(), full.text.fragments());
    let same = x.len() == y.len()
        && x.iter().zip(y).all(|(x, y)| x.blame() == y.blame() && x.as_str() == y.as_str());
    if same {
        return None;
    }
    let (was, is) = (kept.text.to_string(), full.text.to_string());
    let lines = was.lines().map(Some).chain(std::iter::repeat(None)).zip(is.lines());
    let number = lines.take_while(|(was, is)| *was == Some(*is)).count() + 1;
    let number = u32::try_from(number).unwrap_or(u32::MAX);
    let what = if was == is { "where lines of a file come from" } else { "a line of a file" };
    let at = said(what).at_output(full.key.clone(), number, full.text.line(number).unwrap_or_default());
    Some(match full.text.origin(number) {
        Some(origin) => at.at_template(&origin.template, origin.line, 0).of_object(origin.object),
        None => at,
    })
}

fn said(what: &str) -> Diagnostic {
    Diagnostic::error(
        "render",
        format!("an incremental render differs from the full one, which is used: {what}"),
    )
    .help("This is a bug in HAPTIC: please report it with your templates")
}

fn first(faults: &Faults) -> String {
    let sentence = faults.others.first().or_else(|| faults.messages().next().map(|(_, said)| said));
    sentence.map(ToString::to_string).unwrap_or_default()
}
