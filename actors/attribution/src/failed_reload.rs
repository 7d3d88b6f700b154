//! The objects that HAProxy's words about a failed reload lead to. Pure.

use haptic_model::{Bundle, BundleFile, Diagnostic, FailureReport, ObjectRef, pipeline::Rendered};
use haptic_text::Origin;
use std::{sync::Arc, time::Duration};

type FailingObjects = Vec<(Arc<ObjectRef>, Diagnostic)>;

/// The objects behind the lines of `rendered` that `words` name, as in `Binding [haproxy.cfg:17] for frontend a: cannot bind
/// socket`. If they name nobody's line, what changed since `good`, which HAProxy took, is suspected. Blocks may also be of what is in no
/// store, such as all ports of all Gateways: nobody can hold that back.
#[must_use]
pub fn failure_report(words: &str, rendered: &Rendered, good: Option<&Rendered>) -> Option<FailureReport> {
    let (mut objects, mut suspects) = (named(words, rendered), Vec::new());
    if objects.is_empty() {
        suspects = changed(words, rendered, good?);
        if suspects.len() == 1 {
            std::mem::swap(&mut objects, &mut suspects);
        }
    }
    let is_any = !objects.is_empty() || !suspects.is_empty();
    let took = Duration::ZERO;
    is_any.then(|| FailureReport {
        rendered: rendered.basis(),
        good: good.map(Rendered::basis),
        objects,
        suspects,
        templates: None,
        took,
    })
}

/// `words` as anybody may see them, each line with the template's line and the object behind the line of `bundle` that it names.
#[must_use]
pub fn explained(words: &str, bundle: &Bundle) -> String {
    let shown = bundle.redacted(words);
    let explained = words.lines().zip(shown.lines()).map(|(line, shown)| {
        let origin = named_place(line, bundle).and_then(|(file, number)| file.text.origin(number));
        let Some(Origin { template, line: number, object }) = origin else { return shown.to_owned() };
        let object = object.map(|object| format!("; object {object}")).unwrap_or_default();
        format!("{}{object}; template {template}:{number}", shown.trim_end_matches('.'))
    });
    explained.collect::<Vec<_>>().join("\n")
}

fn named(words: &str, rendered: &Rendered) -> FailingObjects {
    let (mut objects, bundle) = (FailingObjects::new(), &rendered.bundle);
    let shown = bundle.redacted(words);
    for (line, shown) in words.lines().zip(shown.lines()) {
        let Some((file, number)) = named_place(line, bundle) else { continue };
        let blamed = file.text.blamed(number).filter(|object| rendered.snapshots.has(object));
        let Some(object) = blamed else { continue };
        let why = Diagnostic::error("deploy", format!("a reload failed: {}", shown.trim())).at_output(
            file.key.clone(),
            number,
            file.text.line(number).unwrap_or_default(),
        );
        if objects.iter().all(|(known, _)| *known != object) {
            objects.push((object, why));
        }
    }
    objects
}

fn changed(words: &str, rendered: &Rendered, good: &Rendered) -> FailingObjects {
    let first = words.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("HAProxy says nothing");
    let first = rendered.bundle.redacted(first);
    let message = format!("it changed since the last reload that worked, and the next one failed: {first}");
    let why = Diagnostic::error("deploy", message);
    let changed = rendered.bundle.changed_since(Some(&good.bundle)).into_iter();
    changed.filter(|object| rendered.snapshots.has(object)).map(|object| (object, why.clone())).collect()
}

fn named_place<'b>(line: &str, bundle: &'b Bundle) -> Option<(&'b Arc<BundleFile>, u32)> {
    line.match_indices('[').find_map(|(open, _)| place(line.get(open + 1..)?, bundle))
}

fn place<'b>(rest: &str, bundle: &'b Bundle) -> Option<(&'b Arc<BundleFile>, u32)> {
    let (path, number) = rest.split_once(']')?.0.rsplit_once(':')?;
    let file = bundle.all().find(|file| *file.path == *path || path.ends_with(&format!("/{}", file.path)))?;
    Some((file, number.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::tests::{bundle_of, piece};
    use haptic_model::{ActiveConfig, FileKey, Generation, Snapshot, Snapshots};
    use haptic_text::{Blame, Fragment, LineBlame, Text};

    const BINDING: &str = "[ALERT] (1) : Binding [/srv/etc/haproxy.cfg:3] for frontend bad: protocol tcpv4: cannot bind socket \
                           (Cannot assign requested address) for [192.0.2.7:7083].\n[ALERT] (1) : [haproxy.main()] Some \
                           protocols failed to start their listeners! Exiting.";
    const NOBODYS: &str = "[ALERT] (1) : [haproxy.main()] no more sockets";

    /// A line of nobody's, and a block of two lines for each of these objects.
    fn blocks(names: &[&str]) -> Vec<Fragment> {
        let first = piece("global\n".into(), None);
        let blocks = names.iter().map(|name| piece(format!("frontend {name}\n  bind :80\n"), Some(name)));
        std::iter::once(first).chain(blocks).collect()
    }

    fn rendered(blocks: Vec<Fragment>) -> Rendered {
        rendered_without("", blocks)
    }

    /// Of blocks whose objects are in a store, but for the one of this name.
    fn rendered_without(name: &str, blocks: Vec<Fragment>) -> Rendered {
        let spec =
            serde_json::json!({"credentialsSecretRef": {"name": "c"}, "podSelector": {"matchLabels": {}}});
        let config = ActiveConfig::of("edge", "haptic", serde_json::from_value(spec).unwrap());
        let bundle = bundle_of(blocks);
        let mut store = Snapshot::full();
        for reference in bundle.changed_since(None).into_iter().filter(|object| *object.name != *name) {
            store.put(reference, b"{}".as_slice());
        }
        let snapshots = Snapshots::default().with("ingresses".into(), Arc::new(store));
        Rendered::of(Generation(1), Arc::new(config), snapshots, bundle)
    }

    fn names(blamed: &FailingObjects) -> Vec<&str> {
        blamed.iter().map(|(object, _)| &*object.name).collect()
    }

    #[test]
    fn the_line_that_a_failed_reload_names_leads_to_its_object() {
        let rendered = rendered(blocks(&["bad", "good"]));
        let found = failure_report(BINDING, &rendered, None).unwrap();
        assert_eq!((names(&found.objects), found.suspects.len()), (vec!["bad"], 0));
        let why = &found.objects[0].1;
        assert!(why.message.contains("Cannot assign requested address"), "{why}");
        assert_eq!(why.output.as_ref().map(|place| place.line), Some(3));
        let twice = failure_report(&format!("{BINDING}\n{BINDING}"), &rendered, None).unwrap();
        assert_eq!(names(&twice.objects), ["bad"]);
        let other =
            BINDING.replace("haproxy.cfg:3", "haproxy.cfg:1").replace("haproxy.main()", "elsewhere.cfg:3");
        assert!(failure_report(&other, &rendered, None).is_none(), "the first line is nobody's");
    }

    #[test]
    fn each_line_that_is_named_is_told_with_its_template_and_object() {
        let blame = Blame {
            templates: vec!["haproxyConfig".into()],
            objects: vec![Arc::new(ObjectRef::new("ingresses", "n", "bad"))],
            lines: vec![LineBlame { template: 0, object: Some(0), line: 12 }; 3],
            ..Blame::default()
        };
        let text = Text::new(vec![Fragment::new("global\nfrontend bad\n  bind :80\n", Arc::new(blame))]);
        let bundle = Bundle::new(BundleFile::new(FileKey::config(), "haproxy.cfg", text), []);
        let told = explained(BINDING, &bundle);
        let first = told.lines().next().unwrap();
        assert!(
            first.ends_with("[192.0.2.7:7083]; object ingresses n/bad; template haproxyConfig:12"),
            "{told}"
        );
        assert!(told.ends_with("Some protocols failed to start their listeners! Exiting."), "{told}");
    }

    #[test]
    fn what_haproxy_quotes_of_a_secret_is_told_to_nobody() {
        let blocks = |name: &str| {
            let mut all = blocks(&[name]);
            let (text, at) = ("backend b\n  server s planted-host:80\n", 21..36);
            let blame = Blame { secrets: std::iter::once(at).collect(), ..Blame::default() };
            all.push(Fragment::new(text, Arc::new(blame)));
            all
        };
        let rendered_with = |name: &str| rendered(blocks(name));
        let (old, new) = (rendered_with("old"), rendered_with("new"));
        for words in [BINDING, NOBODYS] {
            let words =
                words.replace("Cannot", "planted-host cannot").replace("no more", "planted-host has no");
            let told = explained(&words, &new.bundle);
            assert!(!told.contains("planted") && told.contains("[redacted]"), "{told}");
            let report = failure_report(&words, &new, Some(&old)).unwrap();
            let why = &report.objects[0].1;
            assert!(!format!("{why:?}").contains("planted") && why.message.contains("[redacted]"), "{why}");
        }
    }

    #[test]
    fn when_no_line_is_named_what_changed_since_the_last_reload_is_suspected() {
        let old = blocks(&["old"]);
        let fresh =
            |names: &[&str]| rendered(old.iter().cloned().chain(blocks(names).into_iter().skip(1)).collect());
        let good = rendered(old.clone());
        assert!(failure_report(NOBODYS, &fresh(&["a"]), None).is_none(), "nothing is known to have worked");
        assert!(failure_report(NOBODYS, &fresh(&[]), Some(&good)).is_none(), "nothing changed");
        let one = failure_report(NOBODYS, &fresh(&["a"]), Some(&good)).unwrap();
        assert_eq!((names(&one.objects), one.suspects.len()), (vec!["a"], 0));
        let two = failure_report(NOBODYS, &fresh(&["a", "b"]), Some(&good)).unwrap();
        assert_eq!((names(&two.suspects), two.objects.len()), (vec!["a", "b"], 0));
        assert!(two.suspects[0].1.message.contains("no more sockets") && two.good.is_some());
    }

    #[test]
    fn what_is_in_no_store_is_not_accused() {
        let all = blocks(&["ports", "a", "b"]);
        let with = |numbers: &[usize]| {
            rendered_without("ports", numbers.iter().map(|number| all[*number].clone()).collect())
        };
        let (before, after) = (with(&[0, 2]), with(&[0, 1, 2]));
        assert!(failure_report(BINDING, &after, None).is_none(), "its line is named");
        assert!(failure_report(NOBODYS, &after, Some(&before)).is_none(), "it alone changed");
        let more = with(&[0, 1, 2, 3]);
        for words in [BINDING, NOBODYS] {
            let found = failure_report(words, &more, Some(&before)).unwrap();
            assert_eq!((names(&found.objects), found.suspects.len()), (vec!["b"], 0), "{words}");
        }
    }
}
