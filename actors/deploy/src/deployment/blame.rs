//! Whom HAProxy's words about a failed reload lead to. Pure.

use haptic_model::{Bundle, BundleFile, Complaint, Diagnostic, pipeline::Rendered};
use std::sync::Arc;

/// The objects behind the lines of `rendered` that `words` name, as in `parsing [haproxy.cfg:17] : unknown keyword`.
pub(super) fn complaint(words: &str, rendered: &Arc<Rendered>) -> Option<Complaint> {
    let mut objects = Vec::new();
    for line in words.lines() {
        let found =
            line.match_indices('[').find_map(|(open, _)| place(line.get(open + 1..)?, &rendered.bundle));
        let Some((file, number)) = found else { continue };
        let Some(object) = file.text.blamed(number) else { continue };
        let why = Diagnostic::error("deploy", format!("a reload failed: {}", line.trim())).at_output(
            file.key.clone(),
            number,
            file.text.line(number).unwrap_or_default(),
        );
        if objects.iter().all(|(known, _)| *known != object) {
            objects.push((object, why));
        }
    }
    (!objects.is_empty()).then(|| Complaint { rendered: rendered.clone(), objects, suspects: Vec::new() })
}

fn place<'b>(rest: &str, bundle: &'b Bundle) -> Option<(&'b Arc<BundleFile>, u32)> {
    let (path, number) = rest.split_once(']')?.0.rsplit_once(':')?;
    let file = bundle.all().find(|file| *file.path == *path || path.ends_with(&format!("/{}", file.path)))?;
    Some((file, number.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::{
        FileKey, ObjectRef, Text,
        text::{Blame, Fragment, LineBlame},
    };

    #[test]
    fn the_line_that_a_failed_reload_names_leads_to_its_object() {
        let lines = vec![LineBlame { template: 0, object: None, line: 1 }; 2];
        let block = Some(Arc::new(ObjectRef::new("ingresses", "n", "bad")));
        let blame = Arc::new(Blame {
            templates: vec!["t".into()],
            objects: vec![],
            lines,
            block,
            ..Blame::default()
        });
        let text = Text::new(vec![
            Fragment::new(
                "global\n",
                Arc::new(Blame { lines: blame.lines[..1].to_vec(), ..Blame::default() }),
            ),
            Fragment::new("backend b\n  foo\n", blame),
        ]);
        let bundle = Bundle::new(BundleFile::new(FileKey::config(), "haproxy.cfg", text), []);
        let found = |words: &str, bundle: &Bundle| {
            let mut lines = words.lines().flat_map(|l| l.match_indices('[').map(move |(at, _)| &l[at + 1..]));
            lines.find_map(|rest| place(rest, bundle)).and_then(|(file, line)| file.text.blamed(line))
        };
        let bad = found("x\nparsing [haproxy.cfg:3] : unknown keyword 'foo'", &bundle);
        assert_eq!(bad.unwrap().to_string(), "ingresses n/bad");
        assert_eq!(found("parsing [haproxy.cfg:1] : no", &bundle), None);
        assert_eq!(found("parsing [elsewhere.cfg:3] : no", &bundle), None);
    }
}
