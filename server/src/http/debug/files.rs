//! `/debug/files`: the rendered files as they may be seen, each line with the template line and the object behind it.

use super::state::{DebugState, json_of, nothing};
use actix_web::{HttpResponse, web};
use haptic_model::{Bundle, BundleFile, FileKind};
use haptic_text::{REDACTED, redaction};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// So many lines at once, unless asked otherwise.
const LINES: usize = 500;
/// And never more.
const MOST_LINES: usize = 5000;

#[derive(Debug, Deserialize)]
pub(super) struct FileQuery {
    /// `validated`: of the bundle that passed its checks last; otherwise of the one that was rendered last.
    #[serde(default)]
    of: String,
    /// The first line, from 1.
    #[serde(default)]
    from: usize,
    count: Option<usize>,
    /// Only those that contain it, in their text or the name of their object.
    #[serde(default)]
    q: String,
}

fn bundle(state: &DebugState, of: &str) -> Option<(u64, Bundle)> {
    let rendered = match of {
        "validated" => {
            (*state.readers.validated.latest()).as_ref().map(|validated| validated.rendered.clone())
        }
        _ => (*state.readers.rendered.latest()).clone(),
    };
    rendered.map(|rendered| (rendered.reconcile.generation.0, rendered.bundle.clone()))
}

pub(super) async fn all(state: web::Data<DebugState>, wanted: web::Query<FileQuery>) -> HttpResponse {
    let Some((generation, bundle)) = bundle(&state, &wanted.of) else {
        return nothing("nothing has been rendered yet".into());
    };
    let files: Vec<Value> = bundle
        .all()
        .map(|file| {
            json!({"path": file.path, "what": file.key.to_string(), "bytes": file.text.len(), "digest": file.digest})
        })
        .collect();
    json_of(&json!({"generation": generation, "digest": bundle.digest, "files": files}))
}

pub(super) async fn one(
    state: web::Data<DebugState>,
    path: web::Path<String>,
    wanted: web::Query<FileQuery>,
) -> HttpResponse {
    let Some((generation, bundle)) = bundle(&state, &wanted.of) else {
        return nothing("nothing has been rendered yet".into());
    };
    let Some(file) = bundle.all().find(|file| *file.path == **path) else {
        return nothing(format!("the bundle has no file {path}"));
    };
    let (from, count) = (wanted.from.max(1), wanted.count.unwrap_or(LINES).min(MOST_LINES));
    let mut lines = lines(file).into_iter().filter(|line| line.number >= from && line.fits(&wanted.q));
    let shown: Vec<Value> = lines.by_ref().take(count).map(FileLine::into_json).collect();
    let next = lines.next().map(|line| line.number);
    json_of(&json!({"generation": generation, "path": file.path, "what": file.key.to_string(),
        "digest": file.digest, "lines": shown, "next": next}))
}

struct FileLine {
    number: usize,
    text: String,
    template: Option<(Arc<str>, u32)>,
    object: Option<String>,
}

impl FileLine {
    fn fits(&self, wanted: &str) -> bool {
        self.text.contains(wanted) || self.object.as_ref().is_some_and(|object| object.contains(wanted))
    }

    fn into_json(self) -> Value {
        let (template, line) = self.template.unzip();
        json!({"number": self.number, "text": self.text, "template": template, "templateLine": line, "object": self.object})
    }
}

/// All lines. A certificate is one: it says how long it is, and whose.
fn lines(file: &BundleFile) -> Vec<FileLine> {
    let mut lines: Vec<FileLine> = Vec::new();
    for fragment in file.text.fragments() {
        let shown = match file.key.kind {
            FileKind::Certificate => format!("{REDACTED} {} bytes", fragment.as_str().len()),
            _ => fragment.shown().into_owned(),
        };
        for (index, text) in shown.lines().enumerate() {
            let origin = fragment.blame().origin(index);
            lines.push(FileLine {
                number: lines.len() + 1,
                text: text.to_owned(),
                object: origin.as_ref().and_then(|o| o.object.as_ref()).map(ToString::to_string),
                template: origin.map(|origin| (origin.template, origin.line)),
            });
        }
    }
    hide_what_people_wrote(file.key.kind, &mut lines);
    lines
}

fn hide_what_people_wrote(kind: FileKind, lines: &mut [FileLine]) {
    let whole: String = lines.iter().flat_map(|line| [line.text.as_str(), "\n"]).collect();
    let shown = if kind == FileKind::Config || whole.contains("PRIVATE KEY") {
        redaction::text(&whole)
    } else {
        return;
    };
    for (line, text) in lines.iter_mut().zip(shown.lines()) {
        if line.text != text {
            text.clone_into(&mut line.text);
        }
    }
}
