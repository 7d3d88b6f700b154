//! Framed text, between engine and encoder: its marks are private-use characters that no watched value may contain.
//!
//! The engine frames every printed value and announces template lines and objects; the encoder removes all marks,
//! writes each value in the syntax of its position, and turns the rest into provenance.

use haptic_model::ObjectRef;
use haptic_text::{Fragment, TextRun};
use std::{borrow::Cow, sync::Arc};

/// Starts a printed value.
pub const VALUE: char = '\u{E000}';
/// Starts a value printed by `arg`: already quoted for a fetch's or converter's arguments, not yet for its word.
pub const ARGUMENT: char = '\u{E001}';
/// Starts a value printed by `lf`: `%` is already doubled for a log-format.
pub const LOG_FORMAT: char = '\u{E002}';
/// Ends a printed value of any kind.
pub const END: char = '\u{E003}';
/// `LINE template-index:line;` — the template text that follows stands there.
pub const LINE: char = '\u{E004}';
/// `OWNER object-index;` — what follows is printed for that object, until [`UNOWN`]. They nest.
pub const OWNER: char = '\u{E005}';
/// Ends the innermost [`OWNER`].
pub const UNOWN: char = '\u{E006}';

/// The printed value that follows is from a Secret.
pub const SECRET: char = '\u{E007}';

/// Whether `c` is a mark, now or in a later version: refused in values at print time and in templates.
#[must_use]
pub fn is_mark(c: char) -> bool {
    ('\u{E000}'..='\u{E00F}').contains(&c)
}

/// Bytes of the numbers of objects in framed text.
pub(crate) fn owner_digits(text: &str) -> usize {
    let digits = |after: &str| after.split_once(';').map_or(0, |(number, _)| number.len());
    if text.contains(OWNER) { text.split(OWNER).skip(1).map(digits).sum() } else { 0 }
}

/// Whether a value can be printed.
///
/// # Errors
/// When it holds a mark.
pub fn check_value(text: &str) -> Result<(), String> {
    let mark = if text.is_ascii() { None } else { text.chars().find(|c| is_mark(*c)) };
    mark.map_or(Ok(()), |c| {
        Err(format!(
            "the value holds U+{:04X}, a private-use character that no configuration needs; it is refused",
            u32::from(c)
        ))
    })
}

/// The text that the engine printed for one file: pieces in order, to be read as one.
///
/// An object's block is a piece of its own, so that an unchanged block can be the same piece again.
#[derive(Clone, Debug, Default)]
pub struct FramedText {
    /// The text with marks, and what was encoded in a render before.
    pub pieces: Vec<FramedFragment>,
    /// Names that [`LINE`] marks index.
    pub templates: Vec<Arc<str>>,
    /// Objects that [`OWNER`] marks index.
    pub objects: Vec<Arc<ObjectRef>>,
}

/// One piece of what was printed.
#[derive(Clone, Debug)]
pub enum FramedFragment {
    /// Text with marks, to be encoded.
    Printed(Arc<str>),
    /// Whole lines of a render before, encoded then.
    Kept(Fragment),
    /// Many of these.
    KeptRun(TextRun),
}

impl FramedFragment {
    /// The characters; without marks where it was encoded before.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Printed(text) => Cow::Borrowed(text),
            Self::Kept(fragment) => Cow::Borrowed(fragment.as_str()),
            Self::KeptRun(run) => run.fragments().iter().map(Fragment::as_str).collect(),
        }
    }
}

impl<T: Into<Arc<str>>> From<T> for FramedFragment {
    fn from(text: T) -> Self {
        Self::Printed(text.into())
    }
}
