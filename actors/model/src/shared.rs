//! Values that many things have in common, such as the names of namespaces: each is in memory once.

use std::{borrow::Borrow, collections::HashSet, hash::Hash, sync::Arc};

/// So many values are kept before those that nobody has any more are looked for.
const FEW: usize = 64;

/// The values that were met. A cache: nothing depends on what is in it.
#[derive(Debug)]
pub struct SharedValues<T: ?Sized> {
    met: HashSet<Arc<T>>,
    /// Values that nobody has any more are dropped when there are more than this.
    bound: usize,
}

impl<T: ?Sized> Clone for SharedValues<T> {
    fn clone(&self) -> Self {
        Self { met: self.met.clone(), bound: self.bound }
    }
}

impl<T: ?Sized> Default for SharedValues<T> {
    fn default() -> Self {
        Self { met: HashSet::new(), bound: FEW }
    }
}

impl<T: ?Sized + Hash + Eq> SharedValues<T> {
    /// `value`, in the memory that it has already if anybody has it.
    pub fn share(&mut self, value: impl Borrow<T> + Into<Arc<T>>) -> Arc<T> {
        if let Some(known) = self.met.get(value.borrow()) {
            return known.clone();
        }
        if self.met.len() >= self.bound {
            self.met.retain(|value| Arc::strong_count(value) > 1);
            self.bound = self.met.len() * 2 + FEW;
        }
        let value: Arc<T> = value.into();
        self.met.insert(value.clone());
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_are_one_and_those_that_nobody_has_are_dropped() {
        let mut texts = SharedValues::<str>::default();
        let kept = texts.share("kept");
        for number in 0..10 * FEW {
            texts.share(number.to_string());
            assert!(Arc::ptr_eq(&kept, &texts.share("kept")));
        }
        assert!(texts.met.len() <= 2 * FEW + 4);
    }
}
