//! Figures of two trees over several rounds, and which of them are worse. Pure.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

/// The figures of one run, by name, as `bench` writes them.
pub type Round = BTreeMap<String, f64>;

/// Beyond this a figure is worse.
const WORSE: f64 = 1.1;
/// The last parts of names whose figures are better the larger they are; of all others the smaller is better.
const MORE_IS_BETTER: [&str; 1] = ["requests"];

/// All rounds of both.
#[derive(Debug, Default)]
pub struct Comparison {
    base: BTreeMap<String, Vec<f64>>,
    here: BTreeMap<String, Vec<f64>>,
}

impl Comparison {
    /// One round of both.
    pub fn add(&mut self, base: Round, here: Round) {
        for (all, round) in [(&mut self.base, base), (&mut self.here, here)] {
            for (name, value) in round {
                all.entry(name).or_default().push(value);
            }
        }
    }

    /// Whether any figure is.
    #[must_use]
    pub fn is_worse(&self) -> bool {
        self.lines().any(|(_, base, here, ratio)| base.is_some() && here.is_some() && ratio > WORSE)
    }

    /// Each figure: its name, its medians, and how many times worse it is here.
    fn lines(&self) -> impl Iterator<Item = (&str, Option<f64>, Option<f64>, f64)> {
        let names: BTreeSet<&String> = self.base.keys().chain(self.here.keys()).collect();
        names.into_iter().map(|name| {
            let [base, here] = [&self.base, &self.here].map(|all| all.get(name).and_then(|of| median(of)));
            (name.as_str(), base, here, ratio(name, base.unwrap_or_default(), here.unwrap_or_default()))
        })
    }
}

/// The middle one, or the mean of the two in the middle.
fn median(of: &[f64]) -> Option<f64> {
    let mut sorted = of.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = (sorted.get(of.len().checked_sub(1)? / 2)?, sorted.get(of.len() / 2)?);
    Some(f64::midpoint(*low, *high))
}

/// How many times worse `here` is: below 1 it is better. What was nothing and is something is worse without bounds.
fn ratio(name: &str, base: f64, here: f64) -> f64 {
    let last = name.rsplit('/').next().unwrap_or(name);
    let (worse, better) = if MORE_IS_BETTER.contains(&last) { (base, here) } else { (here, base) };
    if worse == better { 1.0 } else { worse / better }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.lines().map(|(name, ..)| name.len()).max().unwrap_or_default();
        writeln!(f, "{:width$} {:>12} {:>12} {:>8}", "medians", "base", "here", "ratio")?;
        for (name, base, here, ratio) in self.lines() {
            let shown =
                |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"));
            write!(f, "{name:width$} {:>12} {:>12}", shown(base), shown(here))?;
            match (base, here) {
                (Some(_), Some(_)) if ratio > WORSE => writeln!(f, " {ratio:>8.2}  WORSE")?,
                (Some(_), Some(_)) => writeln!(f, " {ratio:>8.2}")?,
                _ => writeln!(f, " {:>8}", "-")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(name: &str, base: &[f64], here: &[f64]) -> Comparison {
        let mut comparison = Comparison::default();
        for (base, here) in base.iter().zip(here) {
            comparison.add(Round::from([(name.into(), *base)]), Round::from([(name.into(), *here)]));
        }
        comparison
    }

    #[test]
    fn medians_are_compared_and_more_than_a_tenth_is_worse() {
        let unlucky = compared("a/p99_ms", &[10.0, 9.0, 11.0, 10.0, 10.0], &[11.0, 90.0, 10.0, 80.0, 10.0]);
        assert!(!unlucky.is_worse(), "{unlucky}");
        let worse = compared("a/p99_ms", &[10.0, 9.0, 11.0], &[11.2, 11.1, 12.0]);
        assert!(worse.is_worse() && worse.to_string().contains("1.12  WORSE"), "{worse}");
        assert!(!compared("a/p99_ms", &[10.0], &[5.0]).is_worse());
        assert!(compared("a/p99_ms", &[1.0, 2.0], &[1.6, 1.8]).to_string().contains("1.13  WORSE"));
    }

    #[test]
    fn more_requests_are_better_and_a_reload_where_there_was_none_is_worse() {
        assert!(compared("load/requests", &[100.0], &[50.0]).is_worse());
        assert!(!compared("load/requests", &[50.0], &[100.0]).is_worse());
        assert!(compared("load/failed_requests", &[0.0], &[1.0]).is_worse());
        assert!(!compared("load/failed_requests", &[0.0], &[0.0]).is_worse());
    }

    #[test]
    fn what_only_one_of_them_measures_is_shown_and_not_judged() {
        let mut comparison = Comparison::default();
        comparison.add(Round::from([("old".into(), 1.0)]), Round::from([("new".into(), 7.0)]));
        let table = comparison.to_string();
        assert!(!comparison.is_worse() && table.contains("old") && table.contains("new"), "{table}");
    }
}
