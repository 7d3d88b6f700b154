//! What a check needs: an estimate from what is in the bundle, corrected by what checks were seen to take.

use haptic_model::{Bundle, FileKind};
use std::{
    fs,
    sync::{Arc, Mutex, PoisonError},
};

/// Address space that is no memory: libraries, and what an allocator keeps at hand.
pub(crate) const NO_MEMORY: u64 = 64 << 20;
/// Measured with HAProxy 3.0, 3.2 and 3.4: what a check of nothing takes, and what each backend, server and byte adds.
const OF_NOTHING: u64 = 32 << 20;
const OF_A_SECTION: u64 = 6 << 10;
const OF_A_SERVER: u64 = 5 << 10;
const TIMES_ITS_BYTES: u64 = 3;
/// A bundle that is estimated at less says nothing of how much the parts of larger ones take.
const TELLING: u64 = 64 << 20;
/// No estimate is wrong by more.
const MOST_WRONG: f64 = 16.0;

/// Estimates, and how wrong they were. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Needs(Arc<Mutex<MeasuredNeed>>);

/// What a check takes, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryNeed {
    /// Less will not do.
    pub least: u64,
    /// What it takes if it is like the checks before it.
    pub likely: u64,
}

/// What checks were seen to take.
#[derive(Debug)]
struct MeasuredNeed {
    /// Bytes that a small bundle takes beyond its estimate: what its `global` makes HAProxy allocate.
    of_nothing: u64,
    /// How many times what was estimated each part of a large one takes.
    factor: f64,
}

impl Default for MeasuredNeed {
    fn default() -> Self {
        Self { of_nothing: 0, factor: 1.0 }
    }
}

impl Needs {
    /// What a check of `bundle` takes, the folder that it is laid out in among them.
    #[must_use]
    pub fn of(&self, bundle: &Bundle) -> MemoryNeed {
        let (seen, added) = (self.0.lock().unwrap_or_else(PoisonError::into_inner), added(bundle));
        let likely = OF_NOTHING + seen.of_nothing + times(added, seen.factor);
        MemoryNeed { least: likely.min(OF_NOTHING + added), likely }
    }

    /// A check of `bundle` was seen to have so many bytes of address space.
    pub fn learn(&self, bundle: &Bundle, address_space: u64) {
        let estimated = added(bundle);
        let taken = address_space.saturating_sub(NO_MEMORY + OF_NOTHING);
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Too much is asked for rather than too little.
        if estimated < TELLING {
            let now = taken.saturating_sub(estimated);
            seen.of_nothing = now.max(u64::midpoint(seen.of_nothing, now));
        } else {
            let now = ratio(taken.saturating_sub(seen.of_nothing), estimated).clamp(0.5, MOST_WRONG);
            seen.factor = now.max(f64::midpoint(seen.factor, now));
        }
    }
}

fn added(bundle: &Bundle) -> u64 {
    let (mut sections, mut servers) = (0, 0);
    for fragment in
        bundle.all().filter(|file| file.key.kind == FileKind::Config).flat_map(|f| f.text.fragments())
    {
        for line in fragment.as_str().lines() {
            sections += u64::from(line.starts_with(|first: char| first.is_ascii_alphabetic()));
            servers += u64::from(line.trim_start().starts_with("server"));
        }
    }
    let bytes = u64::try_from(bundle.size()).unwrap_or(u64::MAX / 8);
    sections * OF_A_SECTION + servers * OF_A_SERVER + bytes * TIMES_ITS_BYTES
}

#[allow(clippy::cast_precision_loss, reason = "nobody counts bytes here")]
fn ratio(seen: u64, estimated: u64) -> f64 {
    seen as f64 / estimated.max(1) as f64
}

#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "nobody counts bytes here"
)]
fn times(bytes: u64, factor: f64) -> u64 {
    (bytes as f64 * factor) as u64
}

/// Bytes of memory that this process has and nobody can take from it. The kernel drops pages of files, as those of a program,
/// before it ends a process of the container.
pub(super) fn used_by_this_process() -> u64 {
    ["RssAnon:", "RssShmem:"].into_iter().filter_map(|kind| line_of_status("self", kind)).sum()
}

/// The most address space that the process `pid` has had.
pub(crate) fn most_used_by(pid: u32) -> Option<u64> {
    line_of_status(&pid.to_string(), "VmPeak:")
}

fn line_of_status(process: &str, name: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let kilobytes = status.lines().find_map(|line| line.strip_prefix(name))?;
    Some(kilobytes.split_whitespace().next()?.parse::<u64>().ok()? << 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::{BundleFile, FileKey};
    use haptic_text::Text;

    fn bundle(backends: usize) -> Bundle {
        let text =
            (0..backends).map(|n| format!("backend b{n}\n{}", "  server s 10.0.0.1:80 check\n".repeat(3)));
        let text = Text::plain(&text.collect::<String>());
        Bundle::new(BundleFile::new(FileKey::config(), "haproxy.cfg", text), [])
    }

    #[test]
    fn ten_thousand_backends_take_what_was_measured() {
        let megabytes = Needs::default().of(&bundle(10_000)).likely >> 20;
        assert!((225..280).contains(&megabytes), "{megabytes} MB; 226 to 237 MB were resident");
        assert!(Needs::default().of(&bundle(0)).likely >> 20 < 40, "16 to 25 MB were");
    }

    #[test]
    fn what_checks_were_seen_to_take_counts_more_than_what_was_thought() {
        let (needs, bundle) = (Needs::default(), bundle(10_000));
        needs.learn(&bundle, NO_MEMORY + (600 << 20));
        assert!((590..=610).contains(&(needs.of(&bundle).likely >> 20)));
        (0..30).for_each(|_| needs.learn(&bundle, NO_MEMORY + (300 << 20)));
        assert!(
            (295..=310).contains(&(needs.of(&bundle).likely >> 20)),
            "{}",
            needs.of(&bundle).likely >> 20
        );
    }

    #[test]
    fn what_a_small_bundle_takes_is_added_to_larger_ones_and_not_multiplied() {
        let needs = Needs::default();
        let before = needs.of(&bundle(10_000)).likely >> 20;
        needs.learn(&bundle(10), NO_MEMORY + OF_NOTHING + (200 << 20));
        let after = needs.of(&bundle(10_000)).likely >> 20;
        assert_eq!(needs.of(&bundle(10_000)).least >> 20, before, "none of that is sure");
        assert!((before + 195..=before + 205).contains(&after), "{before} MB, then {after} MB");
        (0..30).for_each(|_| needs.learn(&bundle(10), NO_MEMORY + OF_NOTHING));
        assert!((needs.of(&bundle(10_000)).likely >> 20) <= before + 1, "a check that takes less says so");
    }

    #[test]
    fn this_process_uses_something() {
        assert!(used_by_this_process() > 1 << 20);
        assert!(most_used_by(std::process::id()).is_some_and(|most| most > used_by_this_process()));
    }
}
