//! What a replay has found, for people.

use super::replay::{Replay, Replayed};
use jiff::Timestamp;

/// What it is a recording of.
#[must_use]
pub fn head(replay: &Replay) -> String {
    let head = &replay.recording;
    let (first, last) = head.generations;
    let haproxy = match head.haproxy.as_slice() {
        [] => "no HAProxy yet".to_owned(),
        versions => format!("HAProxy {}", versions.join(", ")),
    };
    let mut text = format!(
        "{}: generations {first} to {last}, recorded {} by haptic {} ({haproxy})\n",
        head.configuration,
        at(head.made_unix_ms),
        head.haptic,
    );
    if head.haptic != replay.haptic {
        text.push_str(&format!("this is haptic {}: what differs may be what that changed\n", replay.haptic));
    }
    text
}

/// One generation.
#[must_use]
pub fn generation(replayed: &Replayed) -> String {
    let mut text = format!("generation {}, {}: ", replayed.opening.number, at(replayed.opening.unix_ms));
    text.push_str(&match (replayed.same, replayed.files) {
        (true, Some(1)) => "same, 1 file".to_owned(),
        (true, Some(files)) => format!("same, {files} files"),
        (true, None) => "same: it cannot be rendered, as it could not then".to_owned(),
        (false, Some(files)) => format!("differs in {} of {files} files", replayed.differences.len()),
        (false, None) => "differs: it cannot be rendered".to_owned(),
    });
    text.push('\n');
    let mut list = |what: &str, sentences: &[String]| {
        for sentence in sentences {
            text.push_str(&format!("  {what}: {sentence}\n"));
        }
    };
    list("held back", &replayed.held);
    if replayed.same {
        list("why", &replayed.problems);
        if replayed.files.is_none() && replayed.opening.digest.is_some() {
            text.push_str("  the real Secrets could be rendered: only what stands in for them cannot\n");
        }
    } else {
        list("told only now", &replayed.newly_told);
        list("told only then", &replayed.no_longer_told);
    }
    for change in &replayed.differences {
        text.push_str(change.diff.as_deref().unwrap_or_default());
    }
    text
}

/// All of them, in a sentence.
#[must_use]
pub fn verdict(replay: &Replay) -> String {
    let all = replay.generations.len();
    match replay.differing() {
        0 if all == 1 => "1 generation renders the same\n".to_owned(),
        0 => format!("{all} generations render the same\n"),
        differing => format!("{differing} of {all} generations render something else\n"),
    }
}

fn at(unix_ms: u64) -> String {
    let time = i64::try_from(unix_ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    time.map_or_else(|| "at an unknown time".to_owned(), |time| format!("{time:.0}"))
}
