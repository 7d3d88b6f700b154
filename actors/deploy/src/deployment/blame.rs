//! Whom HAProxy's words about a failed reload lead to. Pure.

use haptic_model::{Bundle, BundleFile, Complaint, Diagnostic, ObjectRef, pipeline::Rendered};
use std::sync::Arc;

type Blamed = Vec<(Arc<ObjectRef>, Diagnostic)>;

/// The objects behind the lines of `rendered` that `words` name, as in `Binding [haproxy.cfg:17] for frontend a: cannot bind
/// socket`. If they name nobody's line, what changed since `good`, which HAProxy took, is suspected.
pub(super) fn complaint(
    words: &str,
    rendered: &Arc<Rendered>,
    good: Option<&Arc<Rendered>>,
) -> Option<Complaint> {
    let (mut objects, mut suspects) = (named(words, &rendered.bundle), Vec::new());
    if objects.is_empty() {
        suspects = changed(words, rendered, good?);
        if suspects.len() == 1 {
            std::mem::swap(&mut objects, &mut suspects);
        }
    }
    let is_any = !objects.is_empty() || !suspects.is_empty();
    is_any.then(|| Complaint { rendered: rendered.clone(), good: good.cloned(), objects, suspects })
}

fn named(words: &str, bundle: &Bundle) -> Blamed {
    let mut objects = Blamed::new();
    for line in words.lines() {
        let found = line.match_indices('[').find_map(|(open, _)| place(line.get(open + 1..)?, bundle));
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
    objects
}

fn changed(words: &str, rendered: &Rendered, good: &Rendered) -> Blamed {
    let first = words.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("HAProxy says nothing");
    let message = format!("it changed since the last reload that worked, and the next one failed: {first}");
    let why = Diagnostic::error("deploy", message);
    let changed = rendered.bundle.changed_since(Some(&good.bundle));
    changed.into_iter().map(|object| (object, why.clone())).collect()
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
        ActiveConfig, FileKey, Generation, Layout, Snapshots, Text,
        pipeline::{Cause, Reconcile},
        text::{Blame, Fragment, LineBlame},
    };
    use std::time::{Duration, Instant};

    const BINDING: &str = "[ALERT] (1) : Binding [/srv/etc/haproxy.cfg:3] for frontend bad: protocol tcpv4: cannot bind socket \
                           (Cannot assign requested address) for [192.0.2.7:7083].\n[ALERT] (1) : [haproxy.main()] Some \
                           protocols failed to start their listeners! Exiting.";
    const NOBODYS: &str = "[ALERT] (1) : [haproxy.main()] no more sockets";

    /// A line of nobody's, and a block of two lines for each of these objects.
    fn blocks(names: &[&str]) -> Vec<Fragment> {
        let of = |object: Option<&str>, text: String| {
            let lines = vec![LineBlame { template: 0, object: None, line: 1 }; text.lines().count()];
            let block = object.map(|name| Arc::new(ObjectRef::new("ingresses", "n", name)));
            Fragment::new(
                text,
                Arc::new(Blame { templates: vec!["t".into()], lines, block, ..Blame::default() }),
            )
        };
        let first = of(None, "global\n".into());
        let blocks = names.iter().map(|name| of(Some(name), format!("frontend {name}\n  bind :80\n")));
        std::iter::once(first).chain(blocks).collect()
    }

    fn rendered(blocks: Vec<Fragment>) -> Arc<Rendered> {
        let reconcile =
            Reconcile { generation: Generation(1), cause: Cause::default(), triggered: Instant::now() };
        let spec =
            serde_json::json!({"credentialsSecretRef": {"name": "c"}, "podSelector": {"matchLabels": {}}});
        let config = ActiveConfig {
            name: "edge".into(),
            namespace: "haptic".into(),
            resource_generation: 1,
            revision: 1,
            spec: Arc::new(serde_json::from_value(spec).unwrap()),
            layout: Layout::default(),
            credentials: Vec::new(),
        };
        let file = BundleFile::new(FileKey::config(), "haproxy.cfg", Text::new(blocks));
        Arc::new(Rendered {
            reconcile,
            config: Arc::new(config),
            snapshots: Snapshots::default(),
            bundle: Bundle::new(file, []),
            took: Duration::ZERO,
            warnings: Vec::new(),
        })
    }

    fn names(blamed: &Blamed) -> Vec<&str> {
        blamed.iter().map(|(object, _)| &*object.name).collect()
    }

    #[test]
    fn the_line_that_a_failed_reload_names_leads_to_its_object() {
        let rendered = rendered(blocks(&["bad", "good"]));
        let found = complaint(BINDING, &rendered, None).unwrap();
        assert_eq!((names(&found.objects), found.suspects.len()), (vec!["bad"], 0));
        let why = &found.objects[0].1;
        assert!(why.message.contains("Cannot assign requested address"), "{why}");
        assert_eq!(why.output.as_ref().map(|place| place.line), Some(3));
        let twice = complaint(&format!("{BINDING}\n{BINDING}"), &rendered, None).unwrap();
        assert_eq!(names(&twice.objects), ["bad"]);
        let other =
            BINDING.replace("haproxy.cfg:3", "haproxy.cfg:1").replace("haproxy.main()", "elsewhere.cfg:3");
        assert!(complaint(&other, &rendered, None).is_none(), "the first line is nobody's");
    }

    #[test]
    fn when_no_line_is_named_what_changed_since_the_last_reload_is_suspected() {
        let old = blocks(&["old"]);
        let fresh =
            |names: &[&str]| rendered(old.iter().cloned().chain(blocks(names).into_iter().skip(1)).collect());
        let good = rendered(old.clone());
        assert!(complaint(NOBODYS, &fresh(&["a"]), None).is_none(), "nothing is known to have worked");
        assert!(complaint(NOBODYS, &fresh(&[]), Some(&good)).is_none(), "nothing changed");
        let one = complaint(NOBODYS, &fresh(&["a"]), Some(&good)).unwrap();
        assert_eq!((names(&one.objects), one.suspects.len()), (vec!["a"], 0));
        let two = complaint(NOBODYS, &fresh(&["a", "b"]), Some(&good)).unwrap();
        assert_eq!((names(&two.suspects), two.objects.len()), (vec!["a", "b"], 0));
        assert!(two.suspects[0].1.message.contains("no more sockets") && two.good.is_some());
    }
}
