//! How much of the room for reviews each namespace has. Who sends many large ones leaves room for others.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

/// Kilobytes that namespaces have at the moment.
#[derive(Clone)]
pub(crate) struct ReviewSpace {
    most: usize,
    taken: Arc<Mutex<HashMap<String, usize>>>,
}

/// Kilobytes of a namespace, given back when it is dropped.
pub(crate) struct TakenSpace {
    namespace: String,
    size: usize,
    of: ReviewSpace,
}

impl ReviewSpace {
    /// Of each namespace no more than `most`, unless it is one review's.
    pub fn of_at_most(most: usize) -> Self {
        Self { most, taken: Arc::default() }
    }

    /// `size` of them for `namespace`, unless it would have too many. What is in no namespace is no tenant's.
    pub fn take(&self, namespace: &str, size: usize) -> Option<TakenSpace> {
        let mut all = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = all.get(namespace).copied().unwrap_or_default();
        if taken > 0 && taken + size > self.most && !namespace.is_empty() {
            return None;
        }
        all.insert(namespace.to_owned(), taken + size);
        Some(TakenSpace { namespace: namespace.to_owned(), size, of: self.clone() })
    }
}

impl Drop for TakenSpace {
    fn drop(&mut self) {
        let mut all = self.of.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let left = all.get(&self.namespace).copied().unwrap_or_default().saturating_sub(self.size);
        match left {
            0 => all.remove(&self.namespace),
            left => all.insert(self.namespace.clone(), left),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_namespace_leaves_room_for_others_and_gets_back_what_it_had() {
        let space = ReviewSpace::of_at_most(10);
        let (first, second) = (space.take("mallory", 6), space.take("mallory", 4));
        assert!(first.is_some() && second.is_some() && space.take("mallory", 1).is_none());
        assert!(space.take("alpha", 10).is_some());
        drop(first);
        assert!(space.take("mallory", 7).is_none() && space.take("mallory", 6).is_some());
        drop(second);
        assert!(space.taken.lock().unwrap().is_empty());
        let large = space.take("mallory", 11);
        assert!(large.is_some() && space.take("mallory", 1).is_none());
        let cluster = [space.take("", 6), space.take("", 6)];
        assert!(cluster.iter().all(Option::is_some));
    }
}
