//! Why a journey failed: one sentence, and the place in the journey that it failed at.

use std::{fmt, panic::Location};

/// What a step of a journey gives.
pub type Outcome<T = ()> = Result<T, Failure>;

/// A sentence and the line of the journey where it arose.
#[derive(Clone, Debug)]
pub struct Failure {
    sentence: String,
    place: &'static Location<'static>,
}

impl Failure {
    /// A failure of the caller's line.
    #[track_caller]
    pub fn new(sentence: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), place: Location::caller() }
    }

    /// A failure of the line `place`.
    pub fn at(place: &'static Location<'static>, sentence: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), place }
    }

    /// The same failure, told with what was being done.
    #[must_use]
    pub fn during(self, what: &str) -> Self {
        Self { sentence: format!("{what}: {}", self.sentence), place: self.place }
    }

    /// The sentence without its place.
    #[must_use]
    pub fn sentence(&self) -> &str {
        &self.sentence
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.sentence, self.place)
    }
}

impl<E: std::error::Error> From<E> for Failure {
    #[track_caller]
    fn from(error: E) -> Self {
        let mut sentence = error.to_string();
        let mut cause = error.source();
        while let Some(inner) = cause {
            let text = inner.to_string();
            if !sentence.contains(&text) {
                sentence = format!("{sentence}: {text}");
            }
            cause = inner.source();
        }
        Self::new(sentence)
    }
}

/// Fails with `sentence` unless `holds`.
///
/// # Errors
/// The sentence, at the caller's line.
#[track_caller]
pub fn ensure(holds: bool, sentence: impl Into<String>) -> Outcome {
    if holds { Ok(()) } else { Err(Failure::new(sentence)) }
}
