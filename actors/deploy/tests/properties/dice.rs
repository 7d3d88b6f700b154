//! Random choices that a number repeats.

use proptest::{
    prelude::Rng,
    test_runner::{RngAlgorithm, TestRng},
};

/// A source of choices.
pub struct Dice(TestRng);

impl Dice {
    /// The choices of `seed` are always the same.
    pub fn new(seed: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        Self(TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
    }

    /// 0 to `end`, without `end`.
    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.0.next_u64() % end as u64).unwrap()
    }

    /// True once in `times`.
    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of `all`.
    pub fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}
