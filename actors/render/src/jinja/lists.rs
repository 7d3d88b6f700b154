//! Filters of lists and dicts.

use super::{
    evaluate::JinjaEvaluator,
    filter_table::{self, FilterArguments},
    keys::DictKey,
    operand::{DEEPEST, Operand},
    operators,
};
use crate::{evaluation::EvaluationResult, value::Value};
use std::cmp::Ordering;

/// A list of pairs.
pub(super) fn pairs<'p>(
    evaluator: &mut JinjaEvaluator<'_, 'p>,
    pairs: Vec<(DictKey, Operand<'p>)>,
) -> EvaluationResult<Operand<'p>> {
    let pair = |(key, value): (DictKey, Operand<'p>)| Operand::Tuple([key.operand(), value].into());
    evaluator.new_list(pairs.into_iter().map(pair).collect())
}

/// How items are compared.
#[derive(Clone, Copy)]
struct Sorting {
    reverse: bool,
    by_case: bool,
}

impl<'p> JinjaEvaluator<'_, 'p> {
    pub fn list_filter(
        &mut self,
        name: &str,
        subject: &Operand<'p>,
        given: FilterArguments<'p>,
    ) -> EvaluationResult<Operand<'p>> {
        match name {
            "dictsort" => return self.sorted_dict(subject, &given),
            "reverse" if subject.is_text() => {
                let text: String = subject.printed().unwrap_or_default().chars().rev().collect();
                return Ok(operators::text_from(&text, &[subject]));
            }
            "map" => return self.mapped(subject, given),
            "select" | "reject" | "selectattr" | "rejectattr" => return self.selected(name, subject, given),
            _ => {}
        }
        let items = self.items(subject)?;
        match name {
            "reverse" => self.new_list(items.into_iter().rev().collect()),
            "sum" => self.sum(items, &given),
            "sort" => {
                let sorting = Sorting {
                    reverse: given.is_true(0, "reverse", false),
                    by_case: given.is_true(1, "case_sensitive", false),
                };
                let sorted = self.sorted(items, given.get(2, "attribute"), sorting)?;
                self.new_list(sorted)
            }
            "max" | "min" => {
                let sorting = Sorting { reverse: false, by_case: given.is_true(0, "case_sensitive", false) };
                let keyed = self.keyed(items, given.get(1, "attribute"), sorting)?;
                let mut best: Option<(Operand<'p>, Operand<'p>)> = None;
                for (key, item) in keyed {
                    let wanted = if name == "max" { Ordering::Greater } else { Ordering::Less };
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
            "unique" => {
                let sorting = Sorting { reverse: false, by_case: given.is_true(0, "case_sensitive", false) };
                let mut seen = std::collections::HashSet::new();
                let mut kept = Vec::new();
                for (key, item) in self.keyed(items, given.get(1, "attribute"), sorting)? {
                    if seen.insert(DictKey::of(&key)?) {
                        kept.push(item);
                    }
                }
                self.new_list(kept)
            }
            "groupby" => self.grouped(items, &given),
            _ => self.parted(name, items, &given),
        }
    }

    fn sum(&mut self, items: Vec<Operand<'p>>, given: &FilterArguments<'p>) -> EvaluationResult<Operand<'p>> {
        let mut total = given.get(1, "start").cloned().unwrap_or(Operand::count(0));
        for item in items {
            self.machine.tick()?;
            let item = match given.get(0, "attribute") {
                Some(path) => self.attribute(&item, path)?,
                None => item,
            };
            total = self.binary(super::node::Operator::Add, &total, &item)?;
        }
        Ok(total)
    }

    /// Items with what they are compared by.
    fn keyed(
        &mut self,
        items: Vec<Operand<'p>>,
        attribute: Option<&Operand<'p>>,
        sorting: Sorting,
    ) -> EvaluationResult<Vec<(Operand<'p>, Operand<'p>)>> {
        let mut keyed = Vec::with_capacity(items.len());
        for item in items {
            let key = match attribute.filter(|path| !path.is_none()) {
                Some(path) if path.is_text() => {
                    let paths = path.printed().unwrap_or_default();
                    let mut keys = Vec::new();
                    for path in paths.split(',') {
                        let key = self.attribute(&item, &Operand::text(path))?;
                        keys.push(comparable(key, sorting));
                    }
                    match <[_; 1]>::try_from(keys) {
                        Ok([key]) => key,
                        Err(keys) => Operand::Tuple(keys.into()),
                    }
                }
                Some(path) => comparable(self.attribute(&item, path)?, sorting),
                None => comparable(item.clone(), sorting),
            };
            keyed.push((key, item));
        }
        Ok(keyed)
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

    fn sorted_dict(
        &mut self,
        subject: &Operand<'p>,
        given: &FilterArguments<'p>,
    ) -> EvaluationResult<Operand<'p>> {
        let sorting = Sorting {
            by_case: given.is_true(0, "case_sensitive", false),
            reverse: given.is_true(2, "reverse", false),
        };
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

    fn grouped(
        &mut self,
        items: Vec<Operand<'p>>,
        given: &FilterArguments<'p>,
    ) -> EvaluationResult<Operand<'p>> {
        let sorting = Sorting { reverse: false, by_case: given.is_true(2, "case_sensitive", false) };
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
        let mut groups: Vec<(Operand<'p>, Operand<'p>, Vec<Operand<'p>>)> = Vec::new();
        for entry in sorted {
            let Operand::Tuple(entry) = entry else { continue };
            let [key, shown, item] = &*entry else { continue };
            match groups.last_mut() {
                Some((last, _, items)) if operators::equal(last, key, DEEPEST)? => items.push(item.clone()),
                _ => groups.push((key.clone(), shown.clone(), vec![item.clone()])),
            }
        }
        let mut result = Vec::new();
        for (_, key, items) in groups {
            let list = self.new_list(items)?;
            result.push(Operand::Tuple([key, list].into()));
        }
        self.new_list(result)
    }

    /// `batch` and `slice`: a list in lists.
    fn parted(
        &mut self,
        name: &str,
        items: Vec<Operand<'p>>,
        given: &FilterArguments<'p>,
    ) -> EvaluationResult<Operand<'p>> {
        let count = usize::try_from(given.whole(0, if name == "batch" { "linecount" } else { "slices" }, 0))
            .ok()
            .filter(|count| *count > 0);
        let count = count.ok_or_else(|| format!("{name} takes a number above 0"))?;
        let filling = given.get(1, "fill_with").filter(|with| !with.is_none()).cloned();
        let mut parts: Vec<Vec<Operand<'p>>> = Vec::new();
        if name == "batch" {
            if filling.is_some() && count > crate::functions::LONGEST_LIST {
                return Err(format!("batch: {count} items are too many for a list").into());
            }
            parts = items.chunks(count).map(<[_]>::to_vec).collect();
            if let (Some(last), Some(filling)) = (parts.last_mut(), filling) {
                last.resize(count, filling);
            }
        } else {
            let (each, more) = (items.len() / count, items.len() % count);
            let mut items = items.into_iter();
            for number in 0..count.min(crate::functions::LONGEST_LIST) {
                let mut part: Vec<_> = items.by_ref().take(each + usize::from(number < more)).collect();
                if number >= more {
                    part.extend(filling.clone());
                }
                parts.push(part);
            }
        }
        let mut lists = Vec::with_capacity(parts.len());
        for part in parts {
            lists.push(self.new_list(part)?);
        }
        self.new_list(lists)
    }

    fn mapped(
        &mut self,
        subject: &Operand<'p>,
        mut given: FilterArguments<'p>,
    ) -> EvaluationResult<Operand<'p>> {
        let items = self.items(subject)?;
        let mut result = Vec::with_capacity(items.len());
        let attribute =
            given.named.iter().find(|(name, _)| &**name == "attribute").map(|(_, path)| path.clone());
        if let Some(path) = attribute {
            let otherwise =
                given.named.iter().find(|(name, _)| &**name == "default").map(|(_, value)| value.clone());
            for item in items {
                let value = self.attribute(&unread(item), &path)?;
                let otherwise = otherwise.clone().filter(|_| value.is_undefined());
                result.push(otherwise.unwrap_or(value));
            }
            return self.new_list(result);
        }
        if given.positional.is_empty() {
            return Err("map takes a filter's name, or attribute=…".to_owned().into());
        }
        let filter = given.positional.remove(0).printed().unwrap_or_default();
        filter_table::check(&filter)?;
        for item in items {
            self.machine.tick()?;
            let given = FilterArguments { positional: given.positional.clone(), named: given.named.clone() };
            result.push(self.apply(&filter, item, given)?);
        }
        self.new_list(result)
    }

    fn selected(
        &mut self,
        name: &str,
        subject: &Operand<'p>,
        mut given: FilterArguments<'p>,
    ) -> EvaluationResult<Operand<'p>> {
        let items = self.items(subject)?;
        let path = match name {
            "selectattr" | "rejectattr" if given.positional.is_empty() => {
                return Err(format!("{name} takes the name of an attribute").into());
            }
            "selectattr" | "rejectattr" => Some(given.positional.remove(0)),
            _ => None,
        };
        let test = match given.positional.is_empty() {
            true => None,
            false => Some(given.positional.remove(0).printed().unwrap_or_default()),
        };
        let wanted = name.starts_with("select");
        let mut kept = Vec::new();
        for item in items {
            self.machine.tick()?;
            let value = match &path {
                Some(path) => self.attribute(&unread(item.clone()), path)?,
                None => item.clone(),
            };
            let passes = match &test {
                Some(test) => self.test(test, &value, &given.positional)?,
                None => value.is_true(),
            };
            if passes == wanted {
                kept.push(item);
            }
        }
        self.new_list(kept)
    }
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
