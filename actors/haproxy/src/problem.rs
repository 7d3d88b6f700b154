//! What is wrong with a configuration, where, and what to do about it.

use std::fmt;

/// One mistake, at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What kind of mistake it is, for programs.
    pub code: Code,
    /// Line number, from 1; for a parsed fragment, within the fragment.
    pub line: usize,
    /// Column in bytes, from 1.
    pub column: usize,
    /// One sentence that says what is wrong.
    pub message: String,
    /// What to do, when that can be known: `did you mean 'option httplog'?`.
    pub help: Option<String>,
}

/// The kinds of mistakes this crate can find.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Code {
    /// `'` or `"` is opened and never closed on its line.
    UnmatchedQuote,
    /// `\x` without two hexadecimal digits.
    InvalidEscape,
    /// `"$…"` is not an environment variable, or its brace is never closed.
    InvalidVariable,
    /// A NUL or another control character stands in the text.
    ControlCharacter,
    /// The last line does not end with a newline.
    MissingFinalNewline,
    /// More words on a line than HAProxy takes.
    TooManyWords,
    /// `.if`, `.elif`, `.else` and `.endif` do not match.
    UnmatchedDirective,
    /// A section HAProxy does not have.
    UnknownSection,
    /// A word HAProxy does not know at this place.
    UnknownKeyword,
    /// A word that HAProxy knows, and does not take in this section.
    Misplaced,
    /// A fetch or converter has more or fewer arguments than it takes.
    WrongArguments,
    /// `no` or `default` before something that cannot be negated.
    CannotNegate,
    /// A section that needs a name has none.
    MissingName,
    /// Two proxies, or two other sections of one kind, have the same name.
    DuplicateSection,
    /// Two servers of a proxy have the same name.
    DuplicateServer,
    /// `use_backend` or `default_backend` names a backend that does not exist.
    UndefinedBackend,
    /// A condition names an ACL that is not declared before it.
    UndefinedAcl,
    /// `from` names a defaults section that does not exist before it, or exists twice.
    UndefinedDefaults,
    /// `http_auth(…)` names a userlist that does not exist.
    UndefinedUserlist,
    /// The configuration names a file that is not there.
    MissingFile,
    /// HAProxy would take it, and the Data Plane API would change its meaning on the way there.
    LostOnTheWay,
}

impl Problem {
    pub(crate) fn new(code: Code, line: usize, column: usize, message: impl Into<String>) -> Self {
        Self { code, line, column, message: message.into(), help: None }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// `line 3, column 5: sentence (help)`.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.message)?;
        match &self.help {
            Some(help) => write!(f, " ({help})"),
            None => Ok(()),
        }
    }
}
