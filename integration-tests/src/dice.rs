//! Numbers that look like chance and are the same for the same seed (SplitMix64).

/// A stream of numbers; its value is where it stands.
#[derive(Clone, Debug)]
pub struct Dice(pub u64);

impl Dice {
    /// A number below `bound`; 0 when there is none.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)).checked_rem(bound as u64).unwrap_or_default()).unwrap_or_default()
    }

    /// One of `items`; nothing when there are none.
    pub fn pick<'i, T>(&mut self, items: &'i [T]) -> Option<&'i T> {
        items.get(self.below(items.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::Dice;

    #[test]
    fn the_same_seed_gives_the_same_numbers_below_the_bound() {
        let numbers = |seed| {
            let mut dice = Dice(seed);
            [(); 100].map(|()| dice.below(7))
        };
        assert_eq!(numbers(3), numbers(3));
        assert_ne!(numbers(3), numbers(4));
        assert!((0..7).all(|number| numbers(3).contains(&number)), "{:?}", numbers(3));
        assert_eq!((Dice(1).below(0), Dice(1).pick::<u8>(&[])), (0, None));
    }
}
