//! Filters of lists and dicts.

use super::{check, named};
use crate::{
    evaluation::EvaluationResult,
    functions::LONGEST_LIST,
    jinja::{
        arguments::FilterArguments,
        evaluate::JinjaEvaluator,
        keys::DictKey,
        node::Operator,
        operand::{DEEPEST, Operand},
        operators,
    },
    value::Value,
};
use std::{cmp::Ordering, collections::HashSet};

/// How items are compared.
#[derive(Clone, Copy)]
pub(super) struct Sorting {
    reverse: bool,
    by_case: bool,
}

impl Sorting {
    /// From the lowest to the highest; by case where the argument `case_sensitive` at `place` is true.
    fn ascending(given: &FilterArguments<'_>, place: usize) -> Self {
        Self { reverse: false, by_case: given.is_true(place, "case_sensitive", false) }
    }
}

/// The items that are kept by a test.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Keeps {
    Passing,
    Failing,
}

/// The value that an item is compared by, and the item.
type Keyed<'p> = (Operand<'p>, Operand<'p>);

impl<'p> JinjaEvaluator<'_, 'p> {
    pub(super) fn reversed(&mut self, subject: &Operand<'p>) -> EvaluationResult<Operand<'p>> {
        if subject.is_text() {
            let text: String = subject.printed().unwrap_or_default().chars().rev().collect();
            return Ok(operators::text_from(&text, &[subject]));
        }
        let items = self.items(subject)?;
        self.new_list(items.into_iter().rev().collect())
    }

    pub(in crate::jinja) fn join_items(
        &mut self,
        subject: &Operand<'p>,
        given: &FilterArguments<'p>,
    ) -> EvaluationResult<Operand<'p>> {
        let mut items = self.items(subject)?;
        if let Some(path) = given.get(1, "attribute") {
            for item in &mut items {
                *item = self.attribute(item, path)?;
            }
        }
        let separator = given.get(0, "d").cloned().unwrap_or(Operand::Markup("".into()));
        let mut parts = Vec::with_capacity(items.len() * 2);
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                parts.push(&separator);
            }
            parts.push(item);
        }
        self.join(&parts)
    }

    pub(super) fn sum(
        &mut self,
        subject: &Operand<'p>,
        given: &FilterArguments<'p>,
    ) -> EvaluationResult<Operand<'p>> {
        let items = self.items(subject)?;
        let mut total = given.get(1, "start").cloned().unwrap_or(Operand::count(0));
        for item in items {
            self.machine.tick()?;
            let item = match given.get(0, "attribute") {
                Some(path) => self.attribute(&item, path)?,
                None => item,
            };
            total = self.binary(Operator::Add, &total, &item)?;
        }
        Ok(total)
    }

    pub(in crate::jinja) fn sorted_list(
        &mut self,
        subject: &Operand<'p>,
        given: &FilterArguments<'p>,
    ) -> EvaluationResult<Operand<'p>> {
        let items = self.items(subject)?;
        let sorting = Sorting { reverse: given.is_true(0, "reverse", false), ..Sorting::ascending(given, 1) };
        let sorted = self.sorted(items, given.get(2, "attribute"), sorting)?;
        self.new_list(sorted)
    }

    /// `max` and `min`: the first item of those that are the greatest or the least.
    pub(super) fn extreme(
        &mut self,
        subject: &Operand<'p>,
        given: &FilterArguments<'p>,
        wanted: Ordering,
    ) -> EvaluationResult<Operand<'p>> {
        let items = self.items(subject)?;
        let mut best: Option<Keyed<'p>> = None;
        for (key, item) in self.keyed(items, given.get(1, "attribute"), Sorting::ascending(given, 0))? {
            let is_better = match &best {
                Some((known, _)) => operators::order(&key, known, DEEPEST)? == wanted,
                None => true,
            };
            if is_better {
                best = Some((key, item));
            }
        }
        Ok(best.map_or(Operand::UNDEFINED, |(_, item)| item))
    }

    pub(super) fn unique(
        &mut self,
        subject: &Operand<'p>,
        given: &FilterArguments<'p>,
    ) -> EvaluationResult<Operand<'p>> {
        let items = self.items(subject)?;
        let mut seen = HashSet::new();
        let mut kept = Vec::new();
        for (key, item) in self.keyed(items, given.get(1, "attribute"), Sorting::ascending(given, 0))? {
            if seen.insert(DictKey::of(&key)?) {
                kept.push(item);
            }
        }
        self.new_list(kept)
    }

    /// Items with what they are compared by.
    fn keyed(
        &mut self,
        items: Vec<Operand<'p>>,
        attribute: Option<&Operand<'p>>,
        sorting: Sorting,
    ) -> EvaluationResult<Vec<Keyed<'p>>> {
        let attribute = attribute.filter(|path| !path.is_none());
        let mut keyed = Vec::with_capacity(items.len());
        for item in items {
            let key = match attribute {
                Some(path) if path.is_text() => self.key_of_attributes(&item, path, sorting)?,
                Some(path) => comparable(self.attribute(&item, path)?, sorting),
                None => comparable(item.clone(), sorting),
            };
            keyed.push((key, item));
        }
        Ok(keyed)
    }

    /// The values below each of the paths that commas separate.
    fn key_of_attributes(
        &mut self,
        item: &Operand<'p>,
        paths: &Operand<'p>,
        sorting: Sorting,
    ) -> EvaluationResult<Operand<'p>> {
        let paths = paths.printed().unwrap_or_default();
        let mut keys = Vec::new();
        for path in paths.split(',') {
            let key = self.attribute(item, &Operand::text(path))?;
            keys.push(comparable(key, sorting));
        }
        Ok(match <[_; 1]>::try_from(keys) {
            Ok([key]) => key,
            Err(keys) => Operand::Tuple(keys.into()),
        })
    }

    fn sorted(
        &mut self,
        items: Vec<Operand<'p>>,
        attribute: Option<&Operand<'p>>,
        sorting: Sorting,
    ) -> EvaluationResult<Vec<Operand<'p>>> {
        let mut keyed = self.keyed(items, attribute, sorting)?;
        let mut wrong = None;
        keyed.sort_by(|(a, _), (b, _)| {
            let (a, b) = if sorting.reverse { (b, a) } else { (a, b) };
            operators::order(a, b, DEEPEST).unwrap_or_else(|why| {
                wrong.get_or_insert(why);
                Ordering::Equal
            })
        });
        match wrong {
            Some(why) => Err(why.into()),
            None => Ok(keyed.into_iter().map(|(_, item)| item).collect()),
        }
    }

    pub(super) fn sorted_dict(
        &mut self,
        subject: &Operand<'p>,
        given: &FilterArguments<'p>,
    ) -> EvaluationResult<Operand<'p>> {
        let sorting = Sorting { reverse: given.is_true(2, "reverse", false), ..Sorting::ascending(given, 0) };
        let place = match given.text(1, "by").as_deref() {
            None | Some("key") => 0,
            Some("value") => 1,
            Some(other) => return Err(format!("dictsort: {other:?} is neither key nor value").into()),
        };
        let pairs = self
            .pairs(subject)?
            .into_iter()
            .map(|(key, value)| Operand::Tuple([key.operand(), value].into()));
        let sorted = self.sorted(pairs.collect(), Some(&Operand::Value(Value::integer(place))), sorting)?;
        self.new_list(sorted)
    }

    pub(super) fn grouped(
        &mut self,
        subject: &Operand<'p>,
        given: &FilterArguments<'p>,
    ) -> EvaluationResult<Operand<'p>> {
        let items = self.items(subject)?;
        let sorting = Sorting::ascending(given, 2);
        let attribute =
            given.get(0, "attribute").cloned().ok_or_else(|| "groupby takes an attribute".to_owned())?;
        let mut keyed = Vec::new();
        for item in items {
            let mut key = self.attribute(&item, &attribute)?;
            if key.is_undefined()
                && let Some(otherwise) = given.get(1, "default")
            {
                key = otherwise.clone();
            }
            keyed.push(Operand::Tuple([comparable(key.clone(), sorting), key, item].into()));
        }
        let sorted = self.sorted(keyed, Some(&Operand::count(0)), Sorting { by_case: true, ..sorting })?;
        let mut result = Vec::new();
        for (key, items) in groups(sorted)? {
            let list = self.new_list(items)?;
            result.push(Operand::Tuple([key, list].into()));
        }
        self.new_list(result)
    }

    /// Lists of a number of items.
    pub(super) fn batches(
        &mut self,
        subject: &Operand<'p>,
        given: &FilterArguments<'p>,
    ) -> EvaluationResult<Operand<'p>> {
        let items = self.items(subject)?;
        let count =
            count_of_parts(given, "linecount").ok_or_else(|| "batch takes a number above 0".to_owned())?;
        let filling = given.get(1, "fill_with").filter(|with| !with.is_none()).cloned();
        if filling.is_some() && count > LONGEST_LIST {
            return Err(format!("batch: {count} items are too many for a list").into());
        }
        let mut parts: Vec<_> = items.chunks(count).map(<[_]>::to_vec).collect();
        if let (Some(last), Some(filling)) = (parts.last_mut(), filling) {
            last.resize(count, filling);
        }
        self.list_of_lists(parts)
    }

    /// A number of lists.
    pub(super) fn slices(
        &mut self,
        subject: &Operand<'p>,
        given: &FilterArguments<'p>,
    ) -> EvaluationResult<Operand<'p>> {
        let items = self.items(subject)?;
        let count =
            count_of_parts(given, "slices").ok_or_else(|| "slice takes a number above 0".to_owned())?;
        let filling = given.get(1, "fill_with").filter(|with| !with.is_none()).cloned();
        let (each, more) = (items.len() / count, items.len() % count);
        let mut items = items.into_iter();
        let mut parts = Vec::new();
        for number in 0..count.min(LONGEST_LIST) {
            let mut part: Vec<_> = items.by_ref().take(each + usize::from(number < more)).collect();
            if number >= more {
                part.extend(filling.clone());
            }
            parts.push(part);
        }
        self.list_of_lists(parts)
    }

    fn list_of_lists(&mut self, parts: Vec<Vec<Operand<'p>>>) -> EvaluationResult<Operand<'p>> {
        let mut lists = Vec::with_capacity(parts.len());
        for part in parts {
            lists.push(self.new_list(part)?);
        }
        self.new_list(lists)
    }

    pub(super) fn mapped(
        &mut self,
        subject: &Operand<'p>,
        mut given: FilterArguments<'p>,
    ) -> EvaluationResult<Operand<'p>> {
        let items = self.items(subject)?;
        if let Some(path) = given.by_name("attribute") {
            return self.mapped_to_attribute(items, path, given.by_name("default"));
        }
        if given.positional.is_empty() {
            return Err("map takes a filter's name, or attribute=…".to_owned().into());
        }
        let filter = given.positional.remove(0).printed().unwrap_or_default();
        check(&filter)?;
        let filter = named(&filter);
        let mut result = Vec::with_capacity(items.len());
        for item in items {
            self.machine.tick()?;
            result.push(self.apply(&filter, item, given.clone())?);
        }
        self.new_list(result)
    }

    fn mapped_to_attribute(
        &mut self,
        items: Vec<Operand<'p>>,
        path: &Operand<'p>,
        otherwise: Option<&Operand<'p>>,
    ) -> EvaluationResult<Operand<'p>> {
        let mut result = Vec::with_capacity(items.len());
        for item in items {
            let value = self.attribute(&unread(item), path)?;
            let otherwise = otherwise.filter(|_| value.is_undefined());
            result.push(otherwise.cloned().unwrap_or(value));
        }
        self.new_list(result)
    }

    pub(super) fn selected(
        &mut self,
        subject: &Operand<'p>,
        given: FilterArguments<'p>,
        keeps: Keeps,
    ) -> EvaluationResult<Operand<'p>> {
        let items = self.items(subject)?;
        self.kept(items, None, given, keeps)
    }

    pub(super) fn selected_by_field(
        &mut self,
        subject: &Operand<'p>,
        mut given: FilterArguments<'p>,
        keeps: Keeps,
    ) -> EvaluationResult<Operand<'p>> {
        let items = self.items(subject)?;
        if given.positional.is_empty() {
            let name = if keeps == Keeps::Passing { "selectattr" } else { "rejectattr" };
            return Err(format!("{name} takes the name of an attribute").into());
        }
        let path = given.positional.remove(0);
        self.kept(items, Some(&path), given, keeps)
    }

    /// The items that a test keeps, which looks at what stands below the path; without a test, what is true passes.
    fn kept(
        &mut self,
        items: Vec<Operand<'p>>,
        path: Option<&Operand<'p>>,
        mut given: FilterArguments<'p>,
        keeps: Keeps,
    ) -> EvaluationResult<Operand<'p>> {
        let test = match given.positional.is_empty() {
            true => None,
            false => Some(given.positional.remove(0).printed().unwrap_or_default()),
        };
        let mut kept = Vec::new();
        for item in items {
            self.machine.tick()?;
            let value = match path {
                Some(path) => self.attribute(&unread(item.clone()), path)?,
                None => item.clone(),
            };
            let passes = match &test {
                Some(test) => self.test(test, &value, &given.positional)?,
                None => value.is_true(),
            };
            if passes == (keeps == Keeps::Passing) {
                kept.push(item);
            }
        }
        self.new_list(kept)
    }
}

/// Each key with the items behind it; an entry is what it is compared by, its key and the item.
fn groups<'p>(sorted: Vec<Operand<'p>>) -> Result<Vec<(Operand<'p>, Vec<Operand<'p>>)>, String> {
    let mut groups: Vec<(Operand<'p>, Operand<'p>, Vec<Operand<'p>>)> = Vec::new();
    for entry in sorted {
        let Operand::Tuple(entry) = entry else { continue };
        let [compared, key, item] = &*entry else { continue };
        match groups.last_mut() {
            Some((last, _, items)) if operators::equal(last, compared, DEEPEST)? => items.push(item.clone()),
            _ => groups.push((compared.clone(), key.clone(), vec![item.clone()])),
        }
    }
    Ok(groups.into_iter().map(|(_, key, items)| (key, items)).collect())
}

fn count_of_parts(given: &FilterArguments<'_>, name: &str) -> Option<usize> {
    usize::try_from(given.whole(0, name, 0)).ok().filter(|count| *count > 0)
}

/// Watched objects are looked at by handles of their own: a list never holds all of them parsed.
fn unread(item: Operand<'_>) -> Operand<'_> {
    match item {
        Operand::Value(value @ Value::Object(_)) => Operand::Value(value.unread()),
        other => other,
    }
}

/// Texts are compared without case, unless asked for.
fn comparable<'p>(key: Operand<'p>, sorting: Sorting) -> Operand<'p> {
    match key.printed() {
        Some(text) if key.is_text() && !sorting.by_case => Operand::text(text.to_lowercase()),
        _ => key,
    }
}
