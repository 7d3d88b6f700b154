//! Texts that many objects have in common, such as the names of namespaces: each is in memory once, and is compared by its address.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

/// So many texts are kept before those that nobody has any more are looked for.
const FEW: usize = 64;

/// The texts that were met. A cache: nothing depends on what is in it.
#[derive(Debug, Default)]
pub(crate) struct SharedTexts(Mutex<Met>);

#[derive(Debug, Default)]
struct Met {
    texts: HashSet<Arc<str>>,
    /// Texts that nobody has any more are dropped when there are more than this.
    bound: usize,
}

impl SharedTexts {
    /// `text`, in the memory that it has already if anybody has it.
    pub fn share(&self, text: &str) -> Arc<str> {
        let met = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = met.texts.get(text) {
            return known.clone();
        }
        if met.texts.len() >= met.bound {
            met.texts.retain(|text| Arc::strong_count(text) > 1);
            met.bound = met.texts.len() * 2 + FEW;
        }
        let text: Arc<str> = text.into();
        met.texts.insert(text.clone());
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_are_one_and_those_that_nobody_has_are_dropped() {
        let texts = SharedTexts::default();
        let kept = texts.share("kept");
        for number in 0..10 * FEW {
            texts.share(&number.to_string());
            assert!(Arc::ptr_eq(&kept, &texts.share("kept")));
        }
        assert!(texts.0.lock().unwrap().texts.len() <= 2 * FEW + 4);
    }
}
