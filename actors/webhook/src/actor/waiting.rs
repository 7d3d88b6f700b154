//! The changes that wait for the evaluator. Namespaces take turns: who has many changes at once waits behind its own, and where there is
//! no room for another one, the namespace that has most loses its last.

use std::collections::VecDeque;

/// Changes that may wait.
const QUEUE: usize = 64;
/// Changes that are evaluated at once: one bad one among them costs the others a second round.
const TOGETHER: usize = 16;

/// What is some namespace's.
pub(super) trait Namespaced {
    /// Empty for what is in none.
    fn namespace(&self) -> &str;
}

pub(super) struct WaitingChanges<T> {
    /// Of each namespace that has any, in the order in which they came. Whose turn is next is first.
    queues: VecDeque<VecDeque<T>>,
}

impl<T: Namespaced> WaitingChanges<T> {
    pub fn new() -> Self {
        Self { queues: VecDeque::new() }
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.queues.iter().map(VecDeque::len).sum()
    }

    /// Takes in one more; the one that there is no room for then is given back.
    pub fn push(&mut self, change: T) -> Option<T> {
        let is_its = |queue: &&mut VecDeque<T>| {
            queue.front().is_some_and(|first| first.namespace() == change.namespace())
        };
        match self.queues.iter_mut().find(is_its) {
            Some(queue) => queue.push_back(change),
            None => self.queues.push_back(VecDeque::from([change])),
        }
        let surplus =
            (self.len() > QUEUE).then(|| self.queues.iter_mut().max_by_key(|queue| queue.len())?.pop_back());
        self.queues.retain(|queue| !queue.is_empty());
        surplus.flatten()
    }

    /// Forgets those that nobody waits for any more.
    pub fn retain(&mut self, is_waited_for: impl Fn(&T) -> bool) {
        for queue in &mut self.queues {
            queue.retain(&is_waited_for);
        }
        self.queues.retain(|queue| !queue.is_empty());
    }

    /// Those whose turn it is. While others wait, a namespace has no more than its share: each bad one among them is evaluated by
    /// itself.
    pub fn take(&mut self) -> Vec<T> {
        let share = TOGETHER.div_ceil(self.queues.len().max(1));
        let mut taken = Vec::new();
        for _round in 0..share {
            for _turn in 0..self.queues.len().min(TOGETHER - taken.len()) {
                let Some(mut queue) = self.queues.pop_front() else { break };
                taken.extend(queue.pop_front());
                if !queue.is_empty() {
                    self.queues.push_back(queue);
                }
            }
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Namespace and number.
    type Change = (&'static str, usize);

    impl Namespaced for Change {
        fn namespace(&self) -> &str {
            self.0
        }
    }

    fn many(namespace: &'static str, count: usize) -> impl Iterator<Item = Change> {
        (0..count).map(move |number| (namespace, number))
    }

    fn waiting(changes: impl IntoIterator<Item = Change>) -> WaitingChanges<Change> {
        let mut waiting = WaitingChanges::new();
        for change in changes {
            assert_eq!(waiting.push(change), None);
        }
        waiting
    }

    #[test]
    fn a_namespace_that_is_alone_has_all_turns() {
        let mut all = waiting(many("a", 20));
        assert_eq!(all.take(), many("a", 16).collect::<Vec<_>>());
        assert_eq!(all.take(), many("a", 20).skip(16).collect::<Vec<_>>());
        assert_eq!(all.take(), []);
    }

    #[test]
    fn nobodys_first_change_waits_behind_many_of_another() {
        let mut all = waiting(many("mallory", 40).chain([("alpha", 0), ("", 0)]));
        let first = all.take();
        assert_eq!(first[..3], [("mallory", 0), ("alpha", 0), ("", 0)]);
        // A third of them at most: each may have to be evaluated by itself.
        assert_eq!(first.len(), 8);
        assert_eq!(all.take(), many("mallory", 40).skip(6).take(16).collect::<Vec<_>>());
    }

    #[test]
    fn of_many_namespaces_the_first_of_each_come_first() {
        const NAMES: [&str; 20] = [
            "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s",
            "t",
        ];
        let mut all = waiting(NAMES.iter().flat_map(|name| many(name, 2)));
        let first: Vec<Change> = all.take();
        assert!(first.len() == TOGETHER && first.iter().all(|(_, number)| *number == 0), "{first:?}");
        let namespaces: Vec<&str> = all.take().iter().map(|(namespace, _)| *namespace).collect();
        assert!(NAMES[16..].iter().all(|name| namespaces.contains(name)), "{namespaces:?}");
    }

    #[test]
    fn who_has_most_has_no_room_for_more() {
        let mut all = waiting(many("mallory", QUEUE));
        assert_eq!(all.push(("mallory", 99)), Some(("mallory", 99)));
        assert_eq!(all.push(("alpha", 0)), Some(("mallory", QUEUE - 1)));
        let mut full = waiting(many("a", QUEUE / 2).chain(many("b", QUEUE / 2)));
        assert_eq!(full.push(("b", 99)), Some(("b", 99)));
    }

    #[test]
    fn what_nobody_waits_for_takes_no_turn() {
        let mut all = waiting(many("a", 4));
        all.retain(|(_, number)| number % 2 == 1);
        assert_eq!(all.take(), [("a", 1), ("a", 3)]);
    }
}
