//! The objects for which a bundle does not pass: those that messages name, else those that do not pass by themselves.
//!
//! Objects that were in the last good bundle as they are now are not at fault, so only those that changed since are looked
//! at. Every piece of a file knows its object, so a bundle without some of them needs no render, and one with few of them, beside
//! the lines of no object, is checked in milliseconds. First it is made sure that an object is at fault at all. Then all that
//! changed is split until those at fault are alone: by namespaces as wholes first, then by objects, two halves at a time. When
//! one of them passes, nobody waits for the other: it is that one, however long its check would take. What is not cleared
//! when the evaluation has no more time is suspected.
//!
//! The evaluation is given; nothing here runs anything.

mod answerable;
mod groups;
mod parts;
mod ruling;
#[cfg(test)]
pub(crate) mod tests;

pub use ruling::{FailingByCause, FailureCauses, Nobodys, Ruling};

use futures::future::{Either, select};
use groups::{FailedGroup, GroupResult, ObjectGroup, by_namespace, halves, spread};
use haptic_model::{Bundle, Diagnostic, ObjectRef, Severity};
use parts::{ObjectSet, Parts};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    pin::pin,
    sync::Arc,
};

/// The most objects of a kind that are looked at before the templates are taken to be at fault; of those that are never checked to
/// an end, a fourth.
const SAMPLE: usize = 16;
const UNFINISHED_COUNT_FOR: usize = 4;
/// Where nothing good is known, fewer prove nothing: better to serve what passes than nothing.
const FEWEST_AT_FIRST: usize = 8;

/// A bundle that did not pass.
#[derive(Clone, Copy, Debug)]
pub struct Charge<'c> {
    /// The bundle.
    pub bundle: &'c Bundle,
    /// The last that passed.
    pub good: Option<&'c Bundle>,
    /// The ruling on it.
    pub ruling: &'c Ruling,
    /// Namespaces that are not searched: each is at fault as a whole.
    pub throttled: &'c BTreeSet<Arc<str>>,
    /// Whether the last good bundle is of another configuration, or there is none.
    pub is_new_configuration: bool,
}

/// Finds the objects at fault for a bundle that did not pass. `evaluate` rules on a bundle of some of its objects, whose number it is given,
/// and of the objects that they name; `None`: there is no more time.
pub async fn find_causes(
    charge: &Charge<'_>,
    evaluate: impl AsyncFn(Bundle, usize) -> Option<Ruling>,
) -> FailureCauses {
    let Some(why) = charge.ruling.why() else { return FailureCauses::default() };
    let mut changed = charge.bundle.changed_since(charge.good);
    let mut good = charge.good;
    if changed.is_empty() {
        // Not the bundle is another one, but its evaluation.
        (changed, good) = (charge.bundle.changed_since(None), None);
    }
    let mut case = Case {
        bundle: charge.bundle,
        parts: Parts::of(charge.bundle),
        good,
        changed,
        base: ObjectSet::new(),
        why,
        evaluate: &evaluate,
        proven: BTreeMap::new(),
        suspects: Vec::new(),
    };
    let nobodys = case.search(charge).await;
    case.found(nobodys)
}

/// The changes since `good` in the namespace whose changes are largest: where all are too large, it waits first.
#[must_use]
pub fn largest(bundle: &Bundle, good: Option<&Bundle>, why: &Diagnostic) -> FailingByCause {
    let parts = Parts::of(bundle);
    let groups = by_namespace(bundle.changed_since(good));
    let bytes =
        |group: &Vec<Arc<ObjectRef>>| group.iter().map(|object| parts.bytes_of(object)).sum::<usize>();
    let most = groups.into_values().max_by_key(bytes).unwrap_or_default();
    let message =
        format!("of all namespaces this one changed most, and the whole is too much: {}", why.message);
    let why = Diagnostic { message, object: None, output: None, ..why.clone() };
    most.into_iter().map(|object| (object, why.clone())).collect()
}

/// One search.
struct Case<'c, J> {
    bundle: &'c Bundle,
    parts: Parts<'c>,
    good: Option<&'c Bundle>,
    /// The objects that may be at fault.
    changed: ObjectSet,
    /// The objects that every check is made with, beside the lines of no object.
    base: ObjectSet,
    /// The first ruling.
    why: &'c Diagnostic,
    evaluate: &'c J,
    proven: BTreeMap<Arc<ObjectRef>, Diagnostic>,
    suspects: Vec<Arc<ObjectRef>>,
}

impl<J: AsyncFn(Bundle, usize) -> Option<Ruling>> Case<'_, J> {
    /// Finds objects that are proven at fault and suspects, or why there are none. What is left when there is no more time is suspected.
    async fn search(&mut self, charge: &Charge<'_>) -> Option<Nobodys> {
        match self.stand().await {
            Some(None) => {}
            Some(nobodys) => return nobodys,
            None => {
                self.suspects = self.changed.iter().cloned().collect();
                return None;
            }
        }
        if charge.is_new_configuration
            && let Some(why) = self.is_of_templates().await
        {
            return Some(Nobodys::Templates(why));
        }
        if let Ruling::Refused(said) = charge.ruling {
            self.name(said, None);
        }
        // Sending all of a namespace back takes something to go back to.
        let is_throttled =
            |object: &Arc<ObjectRef>| self.good.is_some() && charge.throttled.contains(&object.namespace);
        let (throttled, trusted): (Vec<_>, Vec<_>) = self.rest().into_iter().partition(is_throttled);
        let is_all = self.proven.is_empty() && trusted.len() == self.parts.all().count();
        self.examine_all(if is_all {
            ObjectGroup::failed(trusted, charge.ruling.clone())
        } else {
            ObjectGroup::open(trusted)
        })
        .await;
        self.examine_throttled(throttled).await;
        if !self.proven.is_empty() || !self.suspects.is_empty() {
            return None;
        }
        match charge.ruling {
            Ruling::Refused(_) => self.examine_with_the_unchanged().await,
            _ => Some(Nobodys::Nothing),
        }
    }

    /// Finds what passes without all that changed: the lines of no object, with whatever it names, or else with all that did not
    /// change. `Some(Some(_))`: nothing does, so it is nobody's fault.
    async fn stand(&mut self) -> Option<Option<Nobodys>> {
        let unchanged: ObjectSet =
            self.parts.all().filter(|object| !self.changed.contains(*object)).cloned().collect();
        let mut bases = self.parts.stands();
        bases.extend([ObjectSet::new(), unchanged]);
        bases.dedup();
        let mut first = None;
        for base in bases {
            self.base = base;
            let ruling = self.judge_of(&ObjectSet::new()).await?;
            if ruling.passes() {
                return Some(None);
            }
            first = first.or(Some(ruling));
        }
        let why = first.as_ref().and_then(Ruling::why).unwrap_or(self.why).clone();
        let before = match self.good {
            Some(good) => (self.evaluate)(Parts::of(good).together(&ObjectSet::new()), 0).await?,
            None => first.unwrap_or(Ruling::Passes),
        };
        let is_machine = match self.good {
            Some(_) => !before.passes(),
            None => matches!(before, Ruling::Unfinished(_)),
        };
        Some(Some(if is_machine { Nobodys::Machine(why) } else { Nobodys::Templates(why) }))
    }

    /// Whether of a kind that most namespaces have nothing passes: not even what did with the configuration before.
    async fn is_of_templates(&self) -> Option<Diagnostic> {
        let known = self.good.map(|good| good.changed_since(None));
        let namespaces: BTreeSet<&Arc<str>> = self.parts.all().map(|object| &object.namespace).collect();
        let mut kinds: BTreeMap<Arc<str>, Vec<Arc<ObjectRef>>> = BTreeMap::new();
        for object in
            self.changed.iter().filter(|object| known.as_ref().is_none_or(|known| known.contains(*object)))
        {
            kinds.entry(object.resource.clone()).or_default().push(object.clone());
        }
        let fewest = if self.good.is_some() { 1 } else { FEWEST_AT_FIRST };
        for objects in kinds.into_values() {
            let of: BTreeSet<&Arc<str>> = objects.iter().map(|object| &object.namespace).collect();
            if of.len() * 2 > namespaces.len()
                && let Some(why) = self.nothing_passes(objects, fewest).await
            {
                return Some(why);
            }
        }
        None
    }

    /// The fault of the last of a sample of `objects` of which none passes.
    async fn nothing_passes(&self, objects: Vec<Arc<ObjectRef>>, fewest: usize) -> Option<Diagnostic> {
        let (mut count, mut last) = (0, None);
        for object in spread(objects, SAMPLE) {
            let ruling = self.judge_of(&[object].into()).await?;
            last = Some(ruling.why()?.clone());
            count += if matches!(ruling, Ruling::Unfinished(_)) { UNFINISHED_COUNT_FOR } else { 1 };
            if count >= SAMPLE {
                break;
            }
        }
        last.filter(|_| count >= fewest)
    }

    /// Splits `group` until all are cleared, proven or suspects.
    async fn examine_all(&mut self, group: ObjectGroup) {
        let mut queue = VecDeque::from([group]);
        while let Some(mut group) = queue.pop_front() {
            // Without what is left out they are others: the next bundle tells.
            group.objects.retain(|object| !self.needs_a_proven_one(object));
            if group.objects.is_empty() {
                continue;
            }
            match self.examine(group.clone()).await {
                Some(groups) => queue.extend(groups),
                None => {
                    queue.push_front(group);
                    return self.suspect(queue);
                }
            }
        }
    }

    /// There is no more time for these: those known to fail are suspected; if none are, all, unless it is better already.
    fn suspect(&mut self, groups: impl IntoIterator<Item = ObjectGroup>) {
        let is_open = |group: &ObjectGroup| matches!(group.known, GroupResult::Open);
        let (open, failing): (Vec<_>, Vec<_>) = groups.into_iter().partition(is_open);
        let is_better = !self.proven.is_empty() || !self.suspects.is_empty();
        let suspected = if failing.is_empty() && !is_better { open } else { failing };
        self.suspects.extend(suspected.into_iter().flat_map(|group| group.objects));
    }

    /// Examines a group, and returns the groups to examine next; `None` when there is no more time.
    async fn examine(&mut self, group: ObjectGroup) -> Option<Vec<ObjectGroup>> {
        let ObjectGroup { objects, known } = group;
        match (known, &*objects) {
            (GroupResult::Open, _) => {
                let ruling = self.judge_of(&of(&objects)).await?;
                self.failed(objects, ruling).await
            }
            (GroupResult::Left(within), [only]) => {
                let ruling = self.judge_of(&[only.clone()].into()).await?;
                match ruling.passes() {
                    true => self.only_together(only.clone(), &within).await,
                    false => self.failed(objects, ruling).await,
                }
            }
            (GroupResult::Fails(failed) | GroupResult::Left(failed), _) => self.split(objects, failed).await,
        }
    }

    /// Takes a ruling on `objects`, and returns the groups to examine next.
    async fn failed(&mut self, objects: Vec<Arc<ObjectRef>>, ruling: Ruling) -> Option<Vec<ObjectGroup>> {
        let Some(why) = ruling.why() else { return Some(Vec::new()) };
        if let Ruling::Refused(said) = &ruling
            && self.name(said, Some(&objects))
        {
            return Some(vec![ObjectGroup::open(objects)]);
        }
        match &*objects {
            [only] => self.accuse(only, why).await,
            _ => Some(vec![ObjectGroup::failed(objects, ruling)]),
        }
    }

    /// `object` fails by itself: it is at fault, unless it is something that it names.
    async fn accuse(&mut self, object: &Arc<ObjectRef>, why: &Diagnostic) -> Option<Vec<ObjectGroup>> {
        let mut needs = self.parts.closure([object]);
        needs.retain(|needed| {
            needed != object && self.changed.contains(needed) && !self.base.contains(needed)
        });
        if !needs.is_empty() {
            let ruling = self.judge_of(&needs).await?;
            if !ruling.passes() {
                let needs = needs.into_iter().collect();
                return Some(vec![ObjectGroup::failed(needs, ruling)]);
            }
        }
        self.proven.insert(object.clone(), why.clone());
        Some(Vec::new())
    }

    /// Looks at both halves of what failed at once. Where one passes, the other is not waited for.
    async fn split(
        &mut self,
        objects: Vec<Arc<ObjectRef>>,
        failed: Arc<FailedGroup>,
    ) -> Option<Vec<ObjectGroup>> {
        let (one, other) = halves(objects);
        let left = |objects| ObjectGroup { objects, known: GroupResult::Left(failed.clone()) };
        if other.is_empty() {
            return Some(vec![left(one)]);
        }
        let (of_one, of_other) = {
            let (with_one, with_other) = (of(&one), of(&other));
            let (first, second) = (pin!(self.judge_of(&with_one)), pin!(self.judge_of(&with_other)));
            match select(first, second).await {
                Either::Left((ruling, _)) if ruling.as_ref().is_some_and(Ruling::passes) => (ruling, None),
                Either::Right((ruling, _)) if ruling.as_ref().is_some_and(Ruling::passes) => (None, ruling),
                Either::Left((ruling, second)) => (ruling, second.await),
                Either::Right((ruling, first)) => (first.await, ruling),
            }
        };
        let passes = |ruling: &Option<Ruling>| ruling.as_ref().is_some_and(Ruling::passes);
        if passes(&of_one) {
            return Some(vec![left(other)]);
        }
        if passes(&of_other) {
            return Some(vec![left(one)]);
        }
        if let Some(groups) = self.shared(&one, &other).await? {
            return Some(groups);
        }
        let mut next = self.failed(one, of_one?).await?;
        next.extend(self.failed(other, of_other?).await?);
        Some(next)
    }

    /// Both halves fail: is it for what both name? Whoever gives a thing a common name would be in every part.
    async fn shared(
        &self,
        one: &[Arc<ObjectRef>],
        other: &[Arc<ObjectRef>],
    ) -> Option<Option<Vec<ObjectGroup>>> {
        let (mut shared, of_other) = (self.parts.closure(one), self.parts.closure(other));
        shared.retain(|object| of_other.contains(object) && self.changed.contains(object));
        if shared.is_empty() {
            return Some(None);
        }
        let ruling = self.judge_of(&shared).await?;
        if ruling.passes() {
            return Some(None);
        }
        let without = |half: &[Arc<ObjectRef>]| {
            ObjectGroup::open(half.iter().filter(|object| !shared.contains(*object)).cloned().collect())
        };
        let (one, other) = (without(one), without(other));
        Some(Some(vec![ObjectGroup::failed(shared.into_iter().collect(), ruling), one, other]))
    }

    /// `left` passes by itself, though all others of a group that failed do, too.
    async fn only_together(
        &mut self,
        left: Arc<ObjectRef>,
        failed: &FailedGroup,
    ) -> Option<Vec<ObjectGroup>> {
        let mut all = failed.objects.clone();
        all.retain(|object| !self.needs_a_proven_one(object));
        let ruling = self.judge_of(&of(&all)).await?;
        if ruling.passes() {
            return Some(Vec::new());
        }
        match failed.ruling {
            // Each costs a little: so does that namespace as a whole.
            Ruling::Unfinished(_) => {
                let (costly, others) = all.into_iter().partition(|object| object.namespace == left.namespace);
                self.suspects.extend::<Vec<_>>(costly);
                Some(vec![ObjectGroup::open(others)])
            }
            _ => {
                self.examine_together(&all, ruling).await?;
                Some(vec![ObjectGroup::open(all)])
            }
        }
    }

    /// Finds the first of `objects`, which fail together, that those before it do not go together with.
    async fn examine_together(&mut self, objects: &[Arc<ObjectRef>], ruling: Ruling) -> Option<()> {
        let (mut passing, mut failing, mut why) = (0, objects.len(), ruling);
        while failing - passing > 1 {
            let middle = passing.midpoint(failing);
            let first = objects.get(..middle).unwrap_or_default();
            match self.judge_of(&of(first)).await? {
                Ruling::Passes => passing = middle,
                ruling => (failing, why) = (middle, ruling),
            }
        }
        let proven = objects.get(passing)?;
        self.proven.insert(proven.clone(), why.why()?.clone());
        Some(())
    }

    /// Everything that changed passes by itself: is it refused with what did not change?
    async fn examine_with_the_unchanged(&mut self) -> Option<Nobodys> {
        self.base = self.parts.all().filter(|object| !self.changed.contains(*object)).cloned().collect();
        if self.base.is_empty() {
            return Some(Nobodys::Nothing);
        }
        let all: Vec<_> = self.changed.iter().cloned().collect();
        let without = self.judge_of(&ObjectSet::new()).await;
        if let Some(why) = without.as_ref().and_then(Ruling::why) {
            return Some(Nobodys::Templates(why.clone()));
        }
        let with = self.judge_of(&self.changed.clone()).await;
        if with.as_ref().is_some_and(Ruling::passes) {
            return Some(Nobodys::Nothing);
        }
        let is_found = match (without, with) {
            (Some(_), Some(ruling)) => self.examine_together(&all, ruling).await.is_some(),
            _ => false,
        };
        if !is_found {
            self.suspects = all;
        }
        None
    }

    /// Those of each throttled namespace, if nobody else is at fault or they do not pass.
    async fn examine_throttled(&mut self, objects: Vec<Arc<ObjectRef>>) {
        let mut groups: Vec<Vec<Arc<ObjectRef>>> = by_namespace(objects).into_values().collect();
        let is_nobody_else = self.proven.is_empty() && self.suspects.is_empty();
        if is_nobody_else && let [_] = &*groups {
            return groups.into_iter().for_each(|group| self.blame_as_a_whole(group, None));
        }
        while let Some(group) = groups.pop() {
            let Some(ruling) = self.judge_of(&of(&group)).await else {
                self.suspects.extend(groups.into_iter().flatten().chain(group));
                return;
            };
            if let Some(why) = ruling.why() {
                self.blame_as_a_whole(group, Some(why));
            }
        }
    }

    fn blame_as_a_whole(&mut self, group: Vec<Arc<ObjectRef>>, why: Option<&Diagnostic>) {
        match &*group {
            [only] => _ = self.proven.insert(only.clone(), why.unwrap_or(self.why).clone()),
            _ => self.suspects.extend(group),
        }
    }

    /// The changed objects that were not found to be at fault.
    fn rest(&self) -> Vec<Arc<ObjectRef>> {
        self.changed.iter().filter(|object| !self.needs_a_proven_one(object)).cloned().collect()
    }

    /// Whether it is at fault, or names what is.
    fn needs_a_proven_one(&self, object: &Arc<ObjectRef>) -> bool {
        !self.proven.is_empty()
            && self.parts.closure([object]).iter().any(|needed| self.proven.contains_key(needed))
    }

    /// The ruling on a bundle with these of the objects that may be at fault, and those that they name.
    async fn judge_of(&self, objects: &ObjectSet) -> Option<Ruling> {
        let mut with = self.parts.closure(objects.iter().chain(&self.base));
        with.retain(|object| !self.proven.contains_key(object));
        let reduced = self.parts.together(&with);
        let ruling = (self.evaluate)(reduced.clone(), objects.len() + self.base.len()).await?;
        Some(match ruling {
            Ruling::Refused(said) => Ruling::Refused(errors_in(said, &reduced)),
            other => other,
        })
    }

    /// Takes those for proven that errors lead to, if they may be at fault and a bundle with `of` was refused; whether there
    /// are new ones.
    fn name(&mut self, said: &[Diagnostic], of: Option<&[Arc<ObjectRef>]>) -> bool {
        let before = self.proven.len();
        let within = of.map(|of| self.parts.closure(of));
        for diagnostic in said.iter().filter(|diagnostic| diagnostic.severity == Severity::Error) {
            let Some(object) = leads_to(diagnostic, self.bundle) else { continue };
            if self.changed.contains(&object) && within.as_ref().is_none_or(|of| of.contains(&object)) {
                self.proven.entry(object).or_insert_with(|| diagnostic.clone());
            }
        }
        self.proven.len() > before
    }

    fn found(self, nobodys: Option<Nobodys>) -> FailureCauses {
        let message = format!(
            "it changed since the last good configuration, as others did, and is not cleared yet: {}",
            self.why.message
        );
        let why = Diagnostic::error(self.why.source, message);
        let suspects: ObjectSet =
            self.suspects.into_iter().filter(|object| !self.proven.contains_key(object)).collect();
        FailureCauses {
            proven: self.proven.into_iter().collect(),
            suspects: suspects.into_iter().map(|object| (object, why.clone())).collect(),
            nobodys,
        }
    }
}

fn of(objects: &[Arc<ObjectRef>]) -> ObjectSet {
    objects.iter().cloned().collect()
}

/// The errors among what is said of `bundle`. Where they are counts only there.
fn errors_in(said: Vec<Diagnostic>, bundle: &Bundle) -> Vec<Diagnostic> {
    let errors = said.into_iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
    errors
        .map(|diagnostic| Diagnostic { object: leads_to(&diagnostic, bundle), output: None, ..diagnostic })
        .collect()
}

/// The block of the line that is named, else the object.
fn leads_to(diagnostic: &Diagnostic, bundle: &Bundle) -> Option<Arc<ObjectRef>> {
    let of_line = diagnostic.output.as_ref().and_then(|place| {
        let file = bundle.all().find(|file| file.key == place.file)?;
        file.text.blamed(place.line)
    });
    of_line.or_else(|| diagnostic.object.clone())
}
