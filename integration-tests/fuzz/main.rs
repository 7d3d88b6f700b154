//! Random bytes for one of the targets, by libFuzzer: made and started by `make fuzz`.
//!
//! The environment variable `HAPTIC_FUZZ` names the target.
#![no_main]

mod targets;

use std::sync::LazyLock;

static CHOSEN: LazyLock<targets::Target> = LazyLock::new(|| {
    let name = std::env::var("HAPTIC_FUZZ").unwrap_or_default();
    let names: Vec<&str> = targets::TARGETS.iter().map(|(name, _)| *name).collect();
    let chosen = targets::TARGETS.iter().find(|(known, _)| *known == name);
    chosen.map_or_else(
        || panic!("HAPTIC_FUZZ={name:?} names no target; there are: {names:?}"),
        |(_, target)| *target,
    )
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| CHOSEN(data));
