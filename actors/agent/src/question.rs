//! A question to HAProxy's command line, with what its answer has to say. Pure.

/// One command that shows something, and the check of its answer.
pub(crate) struct Question<'e> {
    pub(crate) command: String,
    check: Box<dyn Fn(&str) -> Verdict + Send + Sync + 'e>,
}

/// What an answer says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// All is as wanted.
    AsWanted,
    /// It is not, in words.
    Differs(Vec<String>),
    /// The answer does not tell: the whole of this map has to be read.
    ReadMap(String),
}

impl<'e> Question<'e> {
    pub(crate) fn new(command: String, check: impl Fn(&str) -> Verdict + Send + Sync + 'e) -> Self {
        Self { command, check: Box::new(check) }
    }

    pub(crate) fn verdict(&self, answer: &str) -> Verdict {
        (self.check)(answer)
    }
}

impl Verdict {
    /// No difference, or this one.
    pub(crate) fn of(difference: Option<String>) -> Self {
        Self::all(difference.into_iter().collect())
    }

    /// These differences, perhaps none.
    pub(crate) fn all(differences: Vec<String>) -> Self {
        if differences.is_empty() { Self::AsWanted } else { Self::Differs(differences) }
    }
}
