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
    /// Namespaces that are looked at first, each as a whole.
    distrusted: &'b BTreeSet<Arc<str>>,
    /// What changed there, when it turned out that others are at fault: it is looked at in the next bundle.
    aside: Objects,
    /// What is said of one that is found without a message of its own.
    why: Option<&'b Diagnostic>,
    /// Whether checks are of what changed only, or of the whole bundle.
    small: bool,
    culprits: BTreeMap<Arc<ObjectRef>, Diagnostic>,
    left: usize,
}

/// Looks for those at fault in `bundle`, which was refused with `said`, when `good` was the last that passed; first in `distrusted`
/// namespaces. `judge` says what is wrong with a bundle.
pub async fn culprits(
    bundle: &Bundle,
    good: Option<&Bundle>,
    said: &[Diagnostic],
    distrusted: &BTreeSet<Arc<str>>,
    judge: impl AsyncFn(Bundle) -> Vec<Diagnostic>,
) -> Found {
    // Sending all of a namespace back takes something to go back to.
    let (nobody, is_any) = (BTreeSet::new(), good.is_some());
    let distrusted = if is_any { distrusted } else { &nobody };
    let left = if good.is_some() { MOST_CHECKS } else { MOST_CHECKS_AT_FIRST };
    let changed = bundle.changed_since(good);
    let (aside, culprits) = (Objects::new(), BTreeMap::new());
    let why = said.iter().find(|diagnostic| diagnostic.severity == Severity::Error);
    let mut case = Case { bundle, changed, distrusted, aside, why, small: true, culprits, left };
    if case.changed.is_empty() {
        // Not the bundle is another one, but who judges it.
        case.changed = bundle.changed_since(None);
        case.name(said, None);
        return case.found(Vec::new());
    }
    case.name(said, None);
    let mut open = case.search(&judge).await;
    if open.is_empty() && case.culprits.is_empty() {
        open = std::mem::take(&mut case.aside).into_iter().collect();
    }
    let suspects = if good.is_some() { open } else { Vec::new() };
    case.found(suspects)
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
            let is_news = self.name(&said, None);
            if let Some(suspects) = self.distrusted(judge).await {
                return suspects;
            }
            if said.is_empty() && self.small {
                // It takes the others, too, to be wrong.
                self.small = false;
                continue;
            }
            if said.is_empty() {
                return Vec::new();
            }
            if !is_news {
                return self.divide(self.rest(), judge).await;
            }
        }
    }

    /// All that changed in distrusted namespaces, if the bundle passes without it; of several namespaces, those it does not pass with.
    /// Nobody searches there for the few at fault: whoever changes faster than that would have everybody else wait.
    async fn distrusted(
        &mut self,
        judge: &impl AsyncFn(Bundle) -> Vec<Diagnostic>,
    ) -> Option<Vec<Arc<ObjectRef>>> {
        let mut groups: BTreeMap<Arc<str>, Objects> = BTreeMap::new();
        for object in self.rest().into_iter().filter(|of| self.distrusted.contains(&of.namespace)) {
            groups.entry(object.namespace.clone()).or_default().insert(object);
        }
        let mut out: Objects = groups.values().flatten().cloned().collect();
        if out.is_empty() {
            return None;
        }
        if !self.errors_without(&out, judge).await?.is_empty() {
            self.aside = out;
            return None;
        }
        let is_only_one = groups.len() == 1;
        let mut suspects = Vec::new();
        for group in groups.into_values() {
            let others = out.difference(&group).cloned().collect();
            let passes =
                !is_only_one && self.errors_without(&others, judge).await.is_some_and(|e| e.is_empty());
            match passes {
                true => out = others,
                false if group.len() == 1 => self.culprits.extend(group.into_iter().zip(self.why.cloned())),
                false => suspects.extend(group),
            }
        }
        Some(suspects)
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
        let is_open =
            |object: &&Arc<ObjectRef>| !self.culprits.contains_key(*object) && !self.aside.contains(*object);
        self.changed.iter().filter(is_open).cloned().collect()
    }

    /// What is wrong when, of those that changed, only these are there; `None` when there are no more checks.
    async fn errors_with(
        &mut self,
        with: &Objects,
        judge: &impl AsyncFn(Bundle) -> Vec<Diagnostic>,
    ) -> Option<Vec<Diagnostic>> {
        let small = self.small;
        self.errors_of(judge, |case, object| {
            with.contains(object) || (!small && !case.changed.contains(object))
        })
        .await
    }

    /// What is wrong with the whole bundle without these and the culprits; `None` when there are no more checks.
    async fn errors_without(
        &mut self,
        out: &Objects,
        judge: &impl AsyncFn(Bundle) -> Vec<Diagnostic>,
    ) -> Option<Vec<Diagnostic>> {
        self.errors_of(judge, |case, object| !out.contains(object) && !case.culprits.contains_key(object))
            .await
    }

    async fn errors_of(
        &mut self,
        judge: &impl AsyncFn(Bundle) -> Vec<Diagnostic>,
        is_in: impl Fn(&Self, &Arc<ObjectRef>) -> bool,
    ) -> Option<Vec<Diagnostic>> {
        self.left = self.left.checked_sub(1)?;
        let is_in = |object: &Arc<ObjectRef>| is_in(self, object);
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

    fn found(self, suspects: Vec<Arc<ObjectRef>>) -> Found {
        let why = self.why.map(|diagnostic| {
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

    /// The first letter of its name is its namespace.
    fn object(name: &str) -> Arc<ObjectRef> {
        Arc::new(ObjectRef::new("ingresses", name.get(..1).unwrap(), name))
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
        find_first_in("", bundle, good).await
    }

    /// The same with these namespaces distrusted.
    async fn find_first_in(
        distrusted: &str,
        bundle: &Bundle,
        good: Option<&Bundle>,
    ) -> (Vec<String>, usize, usize) {
        let distrusted = distrusted.chars().map(|letter| letter.to_string().into()).collect();
        let checks = Cell::new(0);
        let said = judge(bundle);
        let found = culprits(bundle, good, &said, &distrusted, async |reduced: Bundle| {
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
    async fn distrusted_namespaces_go_back_as_a_whole_with_two_checks_and_nobody_else_does() {
        let good = of(0, &[], "");
        let changed = |bad: &[&str]| {
            let all = (0..60).map(|number| (["a", "b", "c"][number % 3], number));
            let named = all.map(|(namespace, number)| format!("{namespace}{number:02}"));
            let word = |name: &str| if bad.contains(&name) { "nobodys" } else { "good" };
            bundle(&named.map(|name| (name.clone(), word(&name))).collect::<Vec<_>>())
        };
        let none = Vec::<String>::new();
        assert_eq!(find_first_in("a", &changed(&["a03", "a57"]), Some(&good)).await, (none.clone(), 20, 2));
        assert_eq!(find_first_in("ab", &changed(&["a03"]), Some(&good)).await, (none.clone(), 20, 4));
        assert_eq!(find_first_in("ab", &changed(&["a03", "b04"]), Some(&good)).await, (none, 40, 4));
        let (names, suspects, _) = find_first_in("a", &changed(&["b04"]), Some(&good)).await;
        assert_eq!((names, suspects), (vec!["b04".to_owned()], 0), "it was another one");
        let (names, suspects, _) = find_first_in("a", &changed(&["a03", "b04"]), Some(&good)).await;
        assert_eq!((names, suspects), (vec!["b04".to_owned()], 0), "the next bundle tells of the other one");
        let (names, _, checks) = find_first_in("a", &changed(&["a03", "b04"]), None).await;
        assert_eq!(names, ["a03", "b04"], "{checks} checks: there is nothing to go back to");
    }

    #[tokio::test]
    async fn one_object_that_changed_in_a_distrusted_namespace_is_at_fault_itself() {
        let bundle = bundle(&[("a0".into(), "nobodys"), ("b0".into(), "good")]);
        assert_eq!(find_first_in("a", &bundle, Some(&of(0, &[], ""))).await, (vec!["a0".to_owned()], 0, 2));
    }

    #[tokio::test]
    async fn what_is_wrong_without_all_of_them_is_nobodys() {
        let good = of(0, &[], "");
        let bundle = of(5, &[], "");
        let said = vec![Diagnostic::error("haproxy", "the template")];
        let found = culprits(&bundle, Some(&good), &said, &BTreeSet::new(), async |_| said.clone()).await;
        assert!(found.culprits.is_empty() && found.suspects.is_empty(), "{found:?}");
    }
}
