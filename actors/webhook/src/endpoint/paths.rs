//! The secret path, and when it is replaced by another one. Pure, but for randomness.
//!
//! An API server that cannot reach the webhook shows the whole URL to whoever asked it for a change, when `failurePolicy` is
//! `Fail`. So no path is good for long: what was shown leads nowhere some minutes later. Each is known to all replicas before
//! the API server is told of it, and good until it has surely heard of the next one.

use super::authority;
use haptic_text::Sensitive;

/// In bytes.
const LENGTH: usize = 32;
/// The shortest one that nobody guesses, in characters: 16 random bytes in hex.
const SHORTEST: usize = 32;
/// How long one is told to API servers, in seconds.
const LIFE: i64 = 300;
/// Replicas have read a changed Secret after so many seconds.
const READ_AFTER: i64 = 5;
/// An API server has heard of a changed registration after so many seconds.
pub const KNOWN_AFTER: i64 = 60;

/// The paths that are good, without their slashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    /// The one that the API server is to use.
    pub current: Sensitive,
    /// The one that it used before, until it has heard of the current one.
    pub previous: Option<Sensitive>,
    /// Since when it is to know, in seconds since 1970.
    pub since: i64,
}

impl Paths {
    /// The first one.
    ///
    /// # Errors
    /// There is no randomness.
    pub fn first(now: i64) -> Result<Self, String> {
        Ok(Self { current: Sensitive::new(authority::random(LENGTH)?), previous: None, since: now })
    }

    /// What they must become while the API server asks at `registered`; `None`: nothing else.
    ///
    /// # Errors
    /// There is no randomness.
    pub fn renewed(&self, registered: Option<&str>, now: i64) -> Result<Option<Self>, String> {
        let known_for = now - self.since;
        let is_registered = registered == Some(self.current.reveal());
        Ok(match &self.previous {
            // Nobody could tell it, or by another clock: its time begins once somebody can.
            Some(_) if known_for < 0 || !is_registered && known_for >= KNOWN_AFTER => {
                Some(Self { since: now, ..self.clone() })
            }
            Some(_) if is_registered && known_for >= 2 * KNOWN_AFTER => {
                Some(Self { previous: None, ..self.clone() })
            }
            None if is_registered && !(0..LIFE).contains(&known_for) => {
                Some(Self { previous: Some(self.current.clone()), ..Self::first(now)? })
            }
            _ => None,
        })
    }

    /// The one to register: every replica knows it.
    #[must_use]
    pub fn to_register(&self, now: i64) -> &Sensitive {
        let is_read = now - self.since >= READ_AFTER;
        self.previous.as_ref().filter(|_| !is_read).unwrap_or(&self.current)
    }

    /// How many seconds may pass before there may be something to do.
    #[must_use]
    pub fn next_check(&self) -> u64 {
        // Always within this range.
        u64::try_from(if self.previous.is_some() { READ_AFTER } else { KNOWN_AFTER }).unwrap_or(1)
    }

    /// Whether one is worth the name.
    #[must_use]
    pub fn is_secret(path: &str) -> bool {
        path.len() >= SHORTEST && path.bytes().all(|byte| byte.is_ascii_alphanumeric())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_800_000_000;

    /// The paths after `seconds`, looked at each second by a leader that `can_tell` the API server.
    fn after(mut paths: Paths, seconds: i64, can_tell: bool) -> Paths {
        let (begin, mut registered) = (paths.since, paths.to_register(paths.since).reveal().to_owned());
        for now in begin..=begin + seconds {
            if let Some(next) = paths.renewed(Some(&registered), now).unwrap() {
                let same = next.current == paths.current || next.previous.as_ref() == Some(&paths.current);
                assert!(same, "the path in use is not good any more");
                paths = next;
            }
            if can_tell {
                registered = paths.to_register(now).reveal().to_owned();
            }
            let good = [Some(&paths.current), paths.previous.as_ref()];
            assert!(good.into_iter().flatten().any(|path| path.reveal() == registered), "at {now}");
        }
        paths
    }

    #[test]
    fn a_path_that_was_shown_is_good_for_some_minutes_only() {
        let first = Paths::first(NOW).unwrap();
        assert_eq!(after(first.clone(), LIFE - 1, true), first);
        let two = after(first.clone(), LIFE, true);
        assert_eq!(two.previous.as_ref(), Some(&first.current));
        let later = after(two.clone(), 2 * KNOWN_AFTER, true);
        assert!(later.current == two.current && later.previous.is_none());
    }

    #[test]
    fn replicas_read_a_path_before_it_is_registered() {
        let first = Paths::first(NOW).unwrap();
        assert_eq!(first.to_register(NOW), &first.current, "there is no other one");
        let two = first.renewed(Some(first.current.reveal()), NOW + LIFE).unwrap().unwrap();
        assert_eq!(two.to_register(NOW + LIFE + READ_AFTER - 1), &first.current);
        assert_eq!(two.to_register(NOW + LIFE + READ_AFTER), &two.current);
    }

    #[test]
    fn a_path_that_the_api_server_goes_on_using_stays_good() {
        let first = Paths::first(NOW).unwrap();
        let untold = after(first.clone(), 5000, false);
        assert_eq!(untold.previous.as_ref(), Some(&first.current));
        let told = untold.renewed(Some(untold.current.reveal()), untold.since + KNOWN_AFTER).unwrap();
        assert_eq!(told, None, "it was told perhaps a moment ago");
        assert_eq!(first.renewed(None, NOW + 5000).unwrap(), None, "nothing is registered");
    }

    #[test]
    fn a_path_from_a_clock_ahead_is_replaced() {
        let ahead = Paths::first(NOW + 100_000).unwrap();
        let next = ahead.renewed(Some(ahead.current.reveal()), NOW).unwrap().unwrap();
        assert_eq!((next.since, next.previous.as_ref()), (NOW, Some(&ahead.current)));
        let both_ahead = Paths { since: NOW + 100_000, ..next };
        assert_eq!(both_ahead.renewed(None, NOW).unwrap().unwrap().since, NOW);
    }
}
