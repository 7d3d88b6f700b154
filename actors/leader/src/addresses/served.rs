//! Which objects are served: those that a line of the bundle was printed for.

use haptic_model::{Bundle, ObjectRef};
use std::{collections::HashSet, sync::Arc};

/// The objects of watched resource `resource`, or of the routes that stand beside it, with a line in `bundle` that is
/// not blank. Who is only mentioned in a comment is not served.
#[must_use]
pub fn of(bundle: &Bundle, resource: &str) -> HashSet<(Arc<str>, Arc<str>)> {
    let beside = format!("routes of {resource}");
    let is_one = |object: &ObjectRef| *object.resource == *resource || *object.resource == *beside;
    let mut served = HashSet::new();
    for fragment in bundle.all().flat_map(|file| file.text.fragments()) {
        let blame = fragment.blame();
        if !blame.objects.iter().any(|object| is_one(object)) {
            continue;
        }
        for (line, text) in blame.lines.iter().zip(fragment.as_str().lines()) {
            let text = text.trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let object = line.object.and_then(|index| blame.objects.get(index as usize));
            if let Some(object) = object.filter(|object| is_one(object)) {
                served.insert((Arc::clone(&object.namespace), Arc::clone(&object.name)));
            }
        }
    }
    served
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::{BundleFile, FileKey};
    use haptic_text::{Blame, Fragment, LineBlame, Text};

    fn bundle(lines: &[(&str, Option<&str>)]) -> Bundle {
        let mut blame = Blame { templates: vec!["haproxyConfig".into()], ..Blame::default() };
        let mut text = String::new();
        for (line, object) in lines {
            let object = object.map(|name| {
                blame.objects.push(Arc::new(ObjectRef::new("ingresses", "default", name)));
                u32::try_from(blame.objects.len() - 1).unwrap()
            });
            blame.lines.push(LineBlame { template: 0, object, line: 1 });
            text.push_str(line);
            text.push('\n');
        }
        let text = Text::new(vec![Fragment::new(text, Arc::new(blame))]);
        Bundle::new(BundleFile::new(FileKey::config(), "haproxy.cfg", text), [])
    }

    #[test]
    fn an_object_is_served_when_a_line_was_printed_for_it() {
        let bundle = bundle(&[
            ("backend shop", Some("shop")),
            ("  # not ours", Some("foreign")),
            ("", Some("empty")),
            ("frontend http", None),
        ]);
        let served = of(&bundle, "ingresses");
        assert_eq!(served.into_iter().collect::<Vec<_>>(), [("default".into(), "shop".into())]);
        assert!(of(&bundle, "services").is_empty());
    }
}
