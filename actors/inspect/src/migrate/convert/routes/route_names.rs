//! What routes are called: as their Ingress, with an ending and a number behind the first. No two Ingresses of a namespace have routes of
//! the same name, whatever else is among the manifests.

use haptic_text::Digest;
use std::collections::HashMap;

/// The longest name of an object.
const LONGEST: usize = 253;
/// So many digits tell two names apart.
const DIGITS: usize = 16;

/// Who has a name.
type NameOwner<'n> = Option<&'n str>;

/// The names of routes before they are told apart, by namespace and name: of the Ingress that has it alone, or of several.
pub(super) struct RouteNames<'n>(HashMap<(&'n str, String), NameOwner<'n>>);

impl<'n> RouteNames<'n> {
    /// Of Ingresses, by namespace and name: the first route of each is called as it is.
    pub fn of(ingresses: impl Iterator<Item = (&'n str, &'n str)>) -> Self {
        Self(ingresses.map(|(namespace, name)| ((namespace, name.to_owned()), Some(name))).collect())
    }

    /// Notes that a route would be called as its Ingress with a tail behind.
    pub fn note(&mut self, namespace: &'n str, ingress: &'n str, tail: &str) {
        let key = (namespace, format!("{ingress}{tail}"));
        let Some(owner) = self.0.get_mut(&key) else {
            self.0.insert(key, Some(ingress));
            return;
        };
        // An Ingress of that name keeps it.
        if *owner != Some(ingress) && *owner != Some(&*key.1) {
            *owner = None;
        }
    }

    /// What it is called, so that no other one is.
    pub fn unique(&self, namespace: &str, ingress: &str, tail: &str) -> String {
        let key = (namespace, format!("{ingress}{tail}"));
        let is_alone = self.0.get(&key).is_some_and(|owner| *owner == Some(ingress));
        let (_, name) = key;
        if is_alone && name.len() <= LONGEST {
            return name;
        }
        let digest = Digest::of(format!("{namespace}/{ingress} {tail}").as_bytes()).to_string();
        let tail = format!("{tail}-{}", digest.get(..DIGITS).unwrap_or_default());
        let start = ingress.get(..LONGEST.saturating_sub(tail.len())).unwrap_or(ingress);
        format!("{}{tail}", start.trim_end_matches(['-', '.']))
    }
}

/// What stands behind the name of an Ingress for one of `count` routes, by its number from 1. Numbers have as many digits, so that names
/// are in the order of routes, which decides at a Gateway.
pub(super) fn tail_of(ending: &str, number: usize, count: usize) -> String {
    let digits = count.to_string().len();
    if number > 1 { format!("{ending}-{number:0digits$}") } else { ending.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_ingresses_have_the_same_one() {
        let ingresses = [("shop", "a"), ("shop", "a-2"), ("shop", "a-http"), ("else", "a-2")];
        let mut names = RouteNames::of(ingresses.into_iter());
        let wanted = [("a", ""), ("a", "-2"), ("a", "-http-2"), ("a-2", ""), ("a-http", "-2")];
        wanted.iter().for_each(|(ingress, tail)| names.note("shop", ingress, tail));
        let unique = |(ingress, tail): &(&str, &str)| names.unique("shop", ingress, tail);
        let all: Vec<String> = wanted.iter().map(unique).collect();
        assert_eq!((&*all[0], &*all[3]), ("a", "a-2"), "{all:?}");
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), wanted.len(), "{all:?}");
        assert!(all[1].starts_with("a-2-") && all[2].starts_with("a-http-2-"), "{all:?}");
    }

    #[test]
    fn they_are_as_long_as_names_may_be_and_in_the_order_of_routes() {
        let long = "a".repeat(250);
        let mut names = RouteNames::of(std::iter::once(("shop", &*long)));
        let tails: Vec<String> = (1..=12).map(|number| tail_of("", number, 12)).collect();
        tails.iter().for_each(|tail| names.note("shop", &long, tail));
        let all: Vec<String> = tails.iter().map(|tail| names.unique("shop", &long, tail)).collect();
        assert!(all.iter().all(|name| name.len() <= LONGEST), "{all:?}");
        let behind_first = all.iter().skip(1);
        assert!(behind_first.clone().zip(behind_first.skip(1)).all(|(a, b)| a < b), "{all:?}");
        assert_eq!(tail_of("-http", 2, 3), "-http-2");
    }
}
