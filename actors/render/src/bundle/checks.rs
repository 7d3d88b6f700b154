//! The share of active checks that each namespace has. HAProxy keeps a descriptor for each: what one namespace has checked takes none of the
//! connections of others. Servers beyond the share are there, and are not checked: all of a block or none, so that endpoints that come and go
//! change no other server's check, which would take a reload.

use haptic_haproxy::views::{check_count, without_checks};
use haptic_model::{Diagnostic, Limit, ObjectRef};
use haptic_text::{Blame, Fragment, Text, TextBuilder, TextRun};
use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

/// Fragments without checks, beside those that they were made of, by their addresses: what does not change stays the same memory.
#[derive(Clone, Debug, Default)]
pub(super) struct UncheckedFragments {
    made: HashMap<usize, (Fragment, Fragment)>,
}

/// A text of which no namespace has more than its share of checks.
pub(super) struct BoundedChecks {
    pub text: Text,
    pub warnings: Vec<Diagnostic>,
}

impl UncheckedFragments {
    /// `text` with at most `most` checks for all objects, half of them for those of one namespace. What comes last in it goes without.
    pub fn bounded(&mut self, text: Text, most: usize) -> BoundedChecks {
        let before = std::mem::take(&mut self.made);
        let Some(share) = share(&text, most) else { return BoundedChecks { text, warnings: Vec::new() } };
        let mut namespaces = UsedShares { share, used: BTreeMap::new() };
        let mut builder = TextBuilder::default();
        let mut unchecked = BTreeSet::new();
        for run in text.runs() {
            match self.run(&before, run, &mut namespaces, &mut unchecked) {
                Some(fragments) => builder.run(TextRun::new(fragments)),
                None => builder.run(run.clone()),
            }
        }
        let warnings = unchecked.iter().map(|object| not_checked(object, most)).collect();
        BoundedChecks { text: builder.finish(), warnings }
    }

    /// The fragments of `run`, if some of them have more checks than there is room for.
    fn run(
        &mut self,
        before: &HashMap<usize, (Fragment, Fragment)>,
        run: &TextRun,
        namespaces: &mut UsedShares,
        unchecked: &mut BTreeSet<Arc<ObjectRef>>,
    ) -> Option<Vec<Fragment>> {
        if run.checks() == 0 {
            return None;
        }
        let mut fewer = false;
        let mut bounded = Vec::with_capacity(run.fragments().len());
        for fragment in run.fragments() {
            let Some(object) = namespaces.without_room(fragment) else {
                bounded.push(fragment.clone());
                continue;
            };
            let key = fragment.address();
            let (_, made) = self.made.entry(key).or_insert_with(|| {
                before.get(&key).cloned().unwrap_or_else(|| (fragment.clone(), unchecked_servers(fragment)))
            });
            bounded.push(made.clone());
            unchecked.insert(object);
            fewer = true;
        }
        fewer.then_some(bounded)
    }
}

/// What each namespace has used of its share.
struct UsedShares {
    share: usize,
    used: BTreeMap<Arc<str>, usize>,
}

impl UsedShares {
    /// The object of `fragment`, if there is no room for its checks.
    fn without_room(&mut self, fragment: &Fragment) -> Option<Arc<ObjectRef>> {
        let (object, checks) = checks_of(fragment)?;
        let used = self.used.entry(object.namespace.clone()).or_default();
        if *used + checks > self.share {
            return Some(object.clone());
        }
        *used += checks;
        None
    }
}

/// The object whose block printed `fragment`, and its checks, if it has any.
fn checks_of(fragment: &Fragment) -> Option<(&Arc<ObjectRef>, usize)> {
    let blame = fragment.blame();
    (blame.checks > 0).then_some((blame.block.as_ref()?, blame.checks))
}

/// The most checks of one namespace, if there are too many of one or of all.
fn share(text: &Text, most: usize) -> Option<usize> {
    let all: usize = text.runs().iter().map(TextRun::checks).sum();
    if all <= most / 2 {
        return None;
    }
    let mut of: BTreeMap<&str, usize> = BTreeMap::new();
    for (object, checks) in text.fragments().iter().filter_map(checks_of) {
        *of.entry(&object.namespace).or_default() += checks;
    }
    let of_none = all - of.values().sum::<usize>();
    let share = level(of.values().copied().collect(), most.saturating_sub(of_none)).min(most / 2);
    of.values().any(|checks| *checks > share).then_some(share)
}

/// The highest number that all of `wanted` can have, or what they want, if that is less, so that the sum is at most `most`.
fn level(mut wanted: Vec<usize>, most: usize) -> usize {
    wanted.sort_unstable();
    let (mut left, mut others) = (most, wanted.len());
    for one in wanted {
        let equal = left / others.max(1);
        if one > equal {
            return equal;
        }
        (left, others) = (left - one, others.saturating_sub(1));
    }
    most
}

/// `fragment` without its checks.
fn unchecked_servers(fragment: &Fragment) -> Fragment {
    let lines = fragment.as_str().split_inclusive('\n');
    let text: String = lines
        .map(|line| if check_count(line) > 0 { without_checks(line).into() } else { Cow::Borrowed(line) })
        .collect();
    let blame = Blame { checks: 0, ..(**fragment.blame()).clone() };
    Fragment::new(text, Arc::new(blame))
}

fn not_checked(object: &Arc<ObjectRef>, most: usize) -> Diagnostic {
    let message = format!(
        "servers of it get requests without being checked: objects of namespace {:?} ask for more active checks (health-check, \
         agent-check-port) than is their share of {most}",
        object.namespace
    );
    Diagnostic::warning("render", message)
        .at_field(Limit::Checks.field())
        .of_object(Some(object.clone()))
        .help("Have fewer servers checked, or raise the limit")
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_text::LineBlame;
    use proptest::prelude::*;

    fn backend(namespace: &str, name: &str, servers: usize) -> Fragment {
        let lines: String =
            (0..servers).map(|n| format!("  server s{n} 10.0.0.{n}:80 check inter 2s\n")).collect();
        let blame = Blame {
            block: Some(Arc::new(ObjectRef::new("ingresses", namespace, name))),
            lines: vec![LineBlame { template: 0, object: None, line: 1 }; servers],
            servers,
            checks: servers,
            ..Blame::default()
        };
        Fragment::new(lines, Arc::new(blame))
    }

    fn of_nobody(checks: usize) -> Fragment {
        let own = backend("", "", checks);
        Fragment::new(own.as_str(), Arc::new(Blame { block: None, ..(**own.blame()).clone() }))
    }

    fn checked(text: &Text) -> Vec<usize> {
        let count = |f: &Fragment| f.as_str().lines().map(check_count).sum();
        text.fragments().iter().map(count).collect()
    }

    fn bounded(fragments: Vec<Fragment>, most: usize) -> (Vec<usize>, Vec<String>) {
        let BoundedChecks { text, warnings } =
            UncheckedFragments::default().bounded(Text::new(fragments), most);
        let counted: usize = text.runs().iter().map(TextRun::checks).sum();
        assert_eq!(counted, checked(&text).iter().sum::<usize>());
        (checked(&text), warnings.iter().filter_map(|w| Some(w.object.as_ref()?.to_string())).collect())
    }

    #[test]
    fn a_namespace_has_half_and_its_last_servers_go_unchecked() {
        let all = vec![backend("evil", "a", 3), backend("alpha", "a", 2), backend("evil", "b", 4)];
        assert_eq!(bounded(all, 10), (vec![3, 2, 0], vec!["ingresses evil/b".to_owned()]));
    }

    #[test]
    fn who_has_few_keeps_all_where_all_have_too_many() {
        let all = vec![of_nobody(2), backend("a", "a", 1), backend("b", "b", 5), backend("c", "c", 5)];
        let (checks, unchecked) = bounded(all, 10);
        assert_eq!((checks, unchecked.len()), (vec![2, 1, 0, 0], 2));
    }

    #[test]
    fn what_is_in_bounds_is_the_same_text() {
        let text = Text::new(vec![backend("a", "a", 5), backend("b", "b", 5)]);
        let same = UncheckedFragments::default().bounded(text.clone(), 10);
        assert!(same.text.runs().iter().zip(text.runs()).all(|(a, b)| a.address() == b.address()));
        assert!(same.warnings.is_empty());
    }

    #[test]
    fn what_does_not_change_stays_where_it_is_and_each_line_keeps_its_place() {
        let text = Text::new(vec![backend("a", "a", 9)]);
        let mut fragments = UncheckedFragments::default();
        let first = fragments.bounded(text.clone(), 4);
        let second = fragments.bounded(text.clone(), 4);
        assert_eq!(checked(&first.text), [0]);
        assert!(first.text.fragments().iter().zip(second.text.fragments()).all(|(a, b)| a.same(b)));
        assert_eq!(first.text.len(), text.len());
        assert!(first.text.to_string().ends_with("server s8 10.0.0.8:80       inter 2s\n"));
    }

    proptest! {
        #[test]
        fn all_fit_and_whoever_wants_no_more_than_the_level_has_it(wanted in proptest::collection::vec(0..50_usize, 0..20), most in 0..300_usize) {
            let level = level(wanted.clone(), most);
            prop_assert!(wanted.iter().map(|one| one.min(&level)).sum::<usize>() <= most);
            let higher = wanted.iter().map(|one| *one.min(&(level + 1))).sum::<usize>();
            prop_assert!(higher > most || wanted.iter().all(|one| *one <= level));
        }
    }
}
