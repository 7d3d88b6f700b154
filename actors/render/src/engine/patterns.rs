//! Regular expressions that templates ask for, compiled once for their configuration and not for each file of each render.

use crate::quotations::QUOTE;
use haptic_text::shortened;
use regex::{Regex, RegexBuilder};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

/// The most patterns that are kept. Templates have few of their own; objects may bring any number.
const KEPT: usize = 64;
/// Bytes that one may take to be kept: all of them together are a few megabytes.
const SMALL: usize = 1 << 16;
/// Bytes that any may take.
const LARGEST: usize = 1 << 20;

/// Those that are small, from render to render. Each is in its own memory: a clone of one would begin without what it has worked out.
#[derive(Debug, Default)]
pub(crate) struct PatternCache(Mutex<HashMap<Arc<str>, Arc<Regex>>>);

impl PatternCache {
    /// `pattern` compiled.
    ///
    /// # Errors
    /// The fault of it.
    pub fn compiled(&self, pattern: &Arc<str>) -> Result<Arc<Regex>, String> {
        if let Some(known) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(pattern) {
            return Ok(known.clone());
        }
        let Ok(small) = compile(pattern, SMALL) else {
            return compile(pattern, LARGEST).map(Arc::new).map_err(|error| sentence(pattern, &error));
        };
        let small = Arc::new(small);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT {
            kept.clear();
        }
        kept.insert(pattern.clone(), small.clone());
        Ok(small)
    }
}

fn compile(pattern: &str, bytes: usize) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern).size_limit(bytes).dfa_size_limit(bytes).build()
}

fn sentence(pattern: &str, error: &regex::Error) -> String {
    let why = error.to_string();
    let why = why.lines().last().unwrap_or_default().trim();
    format!("{:?} is not a regular expression: {}", shortened(pattern, QUOTE), shortened(why, QUOTE))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(cache: &PatternCache) -> usize {
        cache.0.lock().unwrap().len()
    }

    #[test]
    fn a_small_pattern_is_compiled_once_and_a_large_one_is_not_kept() {
        let (cache, small, large) = (PatternCache::default(), Arc::from("^a+$"), Arc::from(r"\w{8}"));
        let first = cache.compiled(&small).unwrap();
        assert!(Arc::ptr_eq(&first, &cache.compiled(&small).unwrap()));
        assert!(cache.compiled(&large).unwrap().is_match("aaaaaaaa"));
        assert_eq!(kept(&cache), 1);
    }

    #[test]
    fn however_many_objects_bring_few_are_kept() {
        let cache = PatternCache::default();
        for number in 0..2 * KEPT {
            cache.compiled(&number.to_string().into()).unwrap();
        }
        assert!((1..=KEPT).contains(&kept(&cache)));
    }

    #[test]
    fn what_is_no_pattern_or_takes_too_much_is_said_so() {
        let cache = PatternCache::default();
        let refused = |pattern: &str| cache.compiled(&pattern.into()).unwrap_err();
        assert!(refused("(").starts_with("\"(\" is not a regular expression: "), "{}", refused("("));
        assert!(refused(r"\w{1000}").contains("size limit"), "{}", refused(r"\w{1000}"));
    }
}
