//! Which objects a refused bundle is refused for: those that the messages lead to, else those that it passes without.
//!
//! Objects that were in the last good bundle as they are now are not at fault, so only those that changed since are looked
//! at, on a bundle that holds nothing but them and what is nobody's: checking it takes as long as they are many. Every
//! piece of a file knows its object, so a bundle without some of them needs no render. The number of checks is bounded.
//!
//! Who judges is given; nothing here runs anything.

use haptic_model::{Bundle, BundleFile, Diagnostic, FileKind, ObjectRef, Severity, Text};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

/// Most checks for one refused bundle.
pub const MOST_CHECKS: usize = 16;
/// Most checks where nothing good is known: sending everything back would leave nothing.
pub const MOST_CHECKS_AT_FIRST: usize = 64;

type Objects = BTreeSet<Arc<ObjectRef>>;
type Blamed = Vec<(Arc<ObjectRef>, Diagnostic)>;

/// Who is at fault.
#[derive(Debug, Default)]
pub struct Found {
    /// These are, each with what is wrong.
    pub culprits: Blamed,
    /// At least one of these is, and there were no more checks to find out which.
    pub suspects: Blamed,
}

/// One refused bundle.
struct Case<'b> {
    bundle: &'b Bundle,
    /// What may be at fault.
    changed: Objects,
    /// Whether checks are of what changed only, or of the whole bundle.
    small: bool,
    culprits: BTreeMap<Arc<ObjectRef>, Diagnostic>,
    left: usize,
}

/// Looks for those at fault in `bundle`, which was refused with `said`, when `good` was the last that passed. `judge` says what is
/// wrong with a bundle.
pub async fn culprits(
    bundle: &Bundle,
    good: Option<&Bundle>,
    said: &[Diagnostic],
    judge: impl AsyncFn(Bundle) -> Vec<Diagnostic>,
) -> Found {
    let left = if good.is_some() { MOST_CHECKS } else { MOST_CHECKS_AT_FIRST };
    let changed = bundle.changed_since(good);
    let mut case = Case { bundle, changed, small: true, culprits: BTreeMap::new(), left };
    if case.changed.is_empty() {
        // Not the bundle is another one, but who judges it.
        case.changed = bundle.changed_since(None);
        case.name(said, None);
        return case.found(Vec::new(), said);
    }
    case.name(said, None);
    let open = case.search(&judge).await;
    let suspects = if good.is_some() { open } else { Vec::new() };
    case.found(suspects, said)
}

impl Case<'_> {
    /// Finds culprits; gives those that are left to look at when there are no more checks.
    async fn search(&mut self, judge: &impl AsyncFn(Bundle) -> Vec<Diagnostic>) -> Vec<Arc<ObjectRef>> {
        loop {
            let rest = self.rest();
            let Some(said) = self.errors_with(&rest, judge).await else {
                return rest.into_iter().collect();
            };
            if said.is_empty() && !self.culprits.is_empty() {
                return Vec::new();
            }
            if said.is_empty() && self.small {
                // It takes the others, too, to be wrong.
                self.small = false;
                continue;
            }
            if said.is_empty() {
                return Vec::new();
            }
            if !self.name(&said, None) {
                return self.divide(rest, judge).await;
            }
        }
    }

    /// Adds one half of `rest` after the other to what passes without them.
    async fn divide(
        &mut self,
        rest: Objects,
        judge: &impl AsyncFn(Bundle) -> Vec<Diagnostic>,
    ) -> Vec<Arc<ObjectRef>> {
        match self.errors_with(&Objects::new(), judge).await {
            Some(said) if said.is_empty() => {}
            // Without all of them it is no better: it is not they.
            _ => return Vec::new(),
        }
        let mut with = Objects::new();
        let mut groups: VecDeque<Vec<Arc<ObjectRef>>> = halves(rest.into_iter().collect()).into();
        while let Some(group) = groups.pop_front() {
            let together: Objects = with.iter().chain(&group).cloned().collect();
            let Some(said) = self.errors_with(&together, judge).await else {
                return group.into_iter().chain(groups.into_iter().flatten()).collect();
            };
            let Some(first) = said.first() else {
                with = together;
                continue;
            };
            if self.name(&said, Some(&group)) {
                groups.push_front(group.into_iter().filter(|of| !self.culprits.contains_key(of)).collect());
            } else if let [only] = &*group {
                self.culprits.insert(only.clone(), first.clone());
            } else {
                halves(group).into_iter().rev().for_each(|half| groups.push_front(half));
            }
            groups.retain(|group| !group.is_empty());
        }
        Vec::new()
    }

    fn rest(&self) -> Objects {
        self.changed.iter().filter(|object| !self.culprits.contains_key(*object)).cloned().collect()
    }

    /// What is wrong when, of those that changed, only these are there; `None` when there are no more checks.
    async fn errors_with(
        &mut self,
        with: &Objects,
        judge: &impl AsyncFn(Bundle) -> Vec<Diagnostic>,
    ) -> Option<Vec<Diagnostic>> {
        self.left = self.left.checked_sub(1)?;
        let is_in = |object: &Arc<ObjectRef>| {
            with.contains(object) || (!self.small && !self.changed.contains(object))
        };
        let reduced = reduced(self.bundle, is_in);
        let mut said = judge(reduced.clone()).await;
        said.retain(|diagnostic| diagnostic.severity == Severity::Error);
        // Where it is counts only in the bundle that it was said of.
        for diagnostic in &mut said {
            diagnostic.object = leads_to(diagnostic, &reduced);
            diagnostic.output = None;
        }
        Some(said)
    }

    /// Takes those for culprits that errors lead to, if they are among `of`; whether there are new ones.
    fn name(&mut self, said: &[Diagnostic], of: Option<&[Arc<ObjectRef>]>) -> bool {
        let before = self.culprits.len();
        for diagnostic in said.iter().filter(|diagnostic| diagnostic.severity == Severity::Error) {
            let Some(object) = leads_to(diagnostic, self.bundle) else { continue };
            if self.changed.contains(&object) && of.is_none_or(|of| of.contains(&object)) {
                self.culprits.entry(object).or_insert_with(|| diagnostic.clone());
            }
        }
        self.culprits.len() > before
    }

    fn found(self, suspects: Vec<Arc<ObjectRef>>, said: &[Diagnostic]) -> Found {
        let first = said.iter().find(|diagnostic| diagnostic.severity == Severity::Error);
        let why = first.map(|diagnostic| {
            let message = format!(
                "it changed since the last good configuration, as others did, and what they make together is refused: {}",
                diagnostic.message
            );
            Diagnostic::error(diagnostic.source, message)
        });
        let suspect = |object| Some((object, why.clone()?));
        Found {
            culprits: self.culprits.into_iter().collect(),
            suspects: suspects.into_iter().filter_map(suspect).collect(),
        }
    }
}

/// The block of the line that is named, else the object.
fn leads_to(diagnostic: &Diagnostic, bundle: &Bundle) -> Option<Arc<ObjectRef>> {
    let of_line = diagnostic.output.as_ref().and_then(|place| {
        let file = bundle.all().find(|file| file.key == place.file)?;
        file.text.blamed(place.line)
    });
    of_line.or_else(|| diagnostic.object.clone())
}

/// `bundle` with the pieces of those objects that `is_in` names, and those that are nobody's.
fn reduced(bundle: &Bundle, is_in: impl Fn(&Arc<ObjectRef>) -> bool) -> Bundle {
    let reduce = |file: &BundleFile| {
        let fragments = file.text.fragments().iter();
        let kept: Vec<_> =
            fragments.filter(|f| f.blame().block.as_ref().is_none_or(&is_in)).cloned().collect();
        // A certificate without content is none; whoever names it is left out as well.
        let is_gone = kept.is_empty() && !file.text.is_empty();
        let is_gone = is_gone && matches!(file.key.kind, FileKind::Certificate | FileKind::General);
        (!is_gone).then(|| BundleFile::new(file.key.clone(), &file.path, Text::new(kept)))
    };
    let config = reduce(&bundle.config).unwrap_or_else(|| (*bundle.config).clone());
    Bundle::new(config, bundle.files.values().filter_map(|file| reduce(file)))
}

fn halves(mut objects: Vec<Arc<ObjectRef>>) -> Vec<Vec<Arc<ObjectRef>>> {
    let second = objects.split_off(objects.len().div_ceil(2));
    [objects, second].into_iter().filter(|half| !half.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::{
        FileKey,
        text::{Blame, Fragment, LineBlame},
    };
    use std::cell::Cell;

    fn object(name: &str) -> Arc<ObjectRef> {
        Arc::new(ObjectRef::new("ingresses", "n", name))
    }

    /// A line of nobody's, and one of each of these objects.
    fn bundle(blocks: &[(String, &str)]) -> Bundle {
        let lines = vec![LineBlame { template: 0, object: None, line: 1 }];
        let of = |name: &str, word: &str| {
            let block = Some(object(name));
            let blame = Blame {
                templates: vec!["t".into()],
                objects: vec![],
                lines: lines.clone(),
                block,
                ..Blame::default()
            };
            Fragment::new(format!("{name} {word}\n"), Arc::new(blame))
        };
        let blame = Blame { templates: vec!["t".into()], lines: lines.clone(), ..Blame::default() };
        let skeleton = Fragment::new("skeleton\n", Arc::new(blame));
        let pieces = blocks.iter().map(|(name, word)| of(name, word));
        let text = Text::new(std::iter::once(skeleton).chain(pieces).collect());
        Bundle::new(BundleFile::new(FileKey::config(), "haproxy.cfg", text), [])
    }

    fn of(count: usize, bad: &[usize], word: &'static str) -> Bundle {
        let word = |number| if bad.contains(&number) { word } else { "good" };
        bundle(&(0..count).map(|number| (format!("o{number:04}"), word(number))).collect::<Vec<_>>())
    }

    /// Tells of `named` with its line, of at most three of them, and of `nobodys` without.
    fn judge(bundle: &Bundle) -> Vec<Diagnostic> {
        let text = bundle.config.text.to_string();
        let mut said = Vec::new();
        for (number, line) in (1_u32..).zip(text.lines()) {
            if line.ends_with(" named") && said.len() < 3 {
                let error = Diagnostic::error("haproxy", "no");
                let object = bundle.config.text.blamed(number);
                said.push(error.at_output(FileKey::config(), number, line).of_object(object));
            }
        }
        if said.is_empty() && text.contains(" nobodys") {
            said.push(Diagnostic::error("haproxy", "somewhere"));
        }
        let (one, other) = (text.contains(" one"), text.contains(" other"));
        if said.is_empty() && one && other {
            said.push(Diagnostic::error("haproxy", "they do not go together"));
        }
        said
    }

    async fn find(bundle: &Bundle, good: Option<&Bundle>) -> (Vec<String>, usize, usize) {
        let checks = Cell::new(0);
        let said = judge(bundle);
        let found = culprits(bundle, good, &said, async |reduced: Bundle| {
            checks.set(checks.get() + 1);
            judge(&reduced)
        })
        .await;
        let names = found.culprits.iter().map(|(object, _)| object.name.to_string()).collect();
        (names, found.suspects.len(), checks.get())
    }

    #[tokio::test]
    async fn those_that_messages_name_are_found_with_one_check_more_than_there_are_lists_of_them() {
        let good = of(0, &[], "");
        assert_eq!(
            find(&of(9, &[2, 5], "named"), Some(&good)).await,
            (vec!["o0002".into(), "o0005".into()], 0, 1)
        );
        let (names, suspects, checks) = find(&of(40, &[1, 2, 3, 4, 5, 6, 7, 8], "named"), Some(&good)).await;
        assert_eq!((names.len(), suspects, checks), (8, 0, 3));
    }

    #[tokio::test]
    async fn one_that_no_message_names_is_found_by_halves() {
        let good = of(0, &[], "");
        for bad in [0, 7, 63, 99] {
            let (names, suspects, checks) = find(&of(100, &[bad], "nobodys"), Some(&good)).await;
            assert_eq!((names, suspects), (vec![format!("o{bad:04}")], 0), "{checks} checks");
        }
    }

    #[tokio::test]
    async fn when_there_are_no_more_checks_all_that_are_left_are_suspected() {
        let bad: Vec<usize> = (0..100).map(|number| number * 10).collect();
        let (names, suspects, checks) = find(&of(1000, &bad, "nobodys"), Some(&of(0, &[], ""))).await;
        assert_eq!(checks, MOST_CHECKS);
        assert!(suspects > 900 && names.len() < 100, "{} and {suspects}", names.len());
        let (names, suspects, checks) = find(&of(200, &[77], "nobodys"), None).await;
        assert_eq!((names, suspects), (vec!["o0077".to_owned()], 0), "{checks} checks");
    }

    #[tokio::test]
    async fn who_did_not_change_is_not_at_fault() {
        let old = of(5, &[1], "one");
        let fragments = old.config.text.fragments().to_vec();
        let new = bundle(&[("new".into(), "other"), ("fine".into(), "good")]);
        let all = fragments.iter().chain(new.config.text.fragments().iter().skip(1)).cloned().collect();
        let both = Bundle::new(BundleFile::new(FileKey::config(), "haproxy.cfg", Text::new(all)), []);
        let (names, suspects, _) = find(&both, Some(&old)).await;
        assert_eq!((names, suspects), (vec!["new".to_owned()], 0), "only with the others it is wrong");
    }

    #[tokio::test]
    async fn what_is_wrong_without_all_of_them_is_nobodys() {
        let good = of(0, &[], "");
        let bundle = of(5, &[], "");
        let said = vec![Diagnostic::error("haproxy", "the template")];
        let found = culprits(&bundle, Some(&good), &said, async |_| said.clone()).await;
        assert!(found.culprits.is_empty() && found.suspects.is_empty(), "{found:?}");
    }
}
