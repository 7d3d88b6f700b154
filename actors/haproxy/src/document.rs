//! A configuration as sections, lines and words, borrowed from its text and equal to it byte for byte.
//!
//! It knows which words open a section and nothing else about keywords: that is [`crate::check`]'s business.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use crate::lexer;
use crate::problem::{Code, Problem};

/// A parsed configuration. `to_string()` gives back the text it was parsed from, whatever that text was.
#[derive(Debug, Clone)]
pub struct Document<'a> {
    /// In the order of the text. Lines before the first header are in a section without a header.
    pub sections: Vec<Section<'a>>,
    /// What HAProxy would refuse to read, in the order of the text: quotes, escapes, control characters.
    pub problems: Vec<Problem>,
    /// The whole text.
    pub text: &'a str,
}

/// A section: its header and all lines up to the next header, comments and blank lines included.
#[derive(Debug, Clone)]
pub struct Section<'a> {
    /// What kind of section it is; [`SectionKind::Other`] with an empty name for lines before the first header.
    pub kind: SectionKind,
    /// The name in the header, empty when it has none.
    pub name: Cow<'a, str>,
    /// The defaults section named after `from`.
    pub from: Option<Cow<'a, str>>,
    /// The line number of the header, from 1; of the first line when there is no header.
    pub line: usize,
    /// The header, `None` for lines before the first header.
    pub header: Option<Line<'a>>,
    /// The lines after the header.
    pub lines: Vec<Line<'a>>,
    /// The text of header and lines.
    pub raw: &'a str,
}

/// The kinds of sections HAProxy has had between 3.0 and 3.4.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "each is the section of that name in HAProxy's manual")]
pub enum SectionKind {
    Global,
    Defaults,
    Frontend,
    Backend,
    Listen,
    Peers,
    Resolvers,
    Userlist,
    Cache,
    HttpErrors,
    Ring,
    LogForward,
    LogProfile,
    CrtStore,
    Mailers,
    Program,
    FcgiApp,
    Acme,
    Traces,
    /// A section without a kind of its own here; the empty name stands for lines before the first header.
    Other(String),
}

/// A line with its end.
#[derive(Debug, Clone)]
pub struct Line<'a> {
    /// From 1.
    pub number: usize,
    /// The words HAProxy sees, without comments.
    pub words: Vec<Word<'a>>,
    /// The line as it stands in the text, with indentation, comment and line end.
    pub raw: &'a str,
    /// Whether it stands inside `.if … .endif`, so that HAProxy may skip it.
    pub conditional: bool,
}

/// A word after quotes and escapes are resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word<'a> {
    /// As it stands in the text.
    pub raw: &'a str,
    /// What HAProxy sees. Environment variables stay as they are written: see `has_variable`.
    pub value: Cow<'a, str>,
    /// In bytes from the start of the line, from 1.
    pub column: usize,
    /// Whether an environment variable is expanded in it, so that its value is not known here.
    pub has_variable: bool,
}

/// The directives that begin with a dot (configuration manual 2.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the directive of that name in HAProxy's manual")]
pub enum Directive {
    If,
    Elif,
    Else,
    Endif,
    Diag,
    Notice,
    Warning,
    Alert,
}

impl<'a> Document<'a> {
    /// Reads any text, or any piece of whole lines: line numbers count from its start.
    pub fn parse(text: &'a str) -> Self {
        DocumentParser::new(text).run()
    }

    /// The first section of that kind and name.
    pub fn section(&self, kind: &SectionKind, name: &str) -> Option<&Section<'a>> {
        self.sections.iter().find(|section| section.kind == *kind && section.name == name)
    }

    /// All lines, headers included, in the order of the text.
    pub fn lines(&self) -> impl Iterator<Item = &Line<'a>> {
        self.sections.iter().flat_map(Section::all_lines)
    }

    /// For each section, the position of the defaults section it starts from: the one after `from`, or the last
    /// one before it. A `defaults` section without `from` starts from nothing.
    pub fn inheritance(&self) -> Vec<Option<usize>> {
        let mut named = HashMap::new();
        let mut last = None;
        let mut parents = Vec::with_capacity(self.sections.len());
        for (at, section) in self.sections.iter().enumerate() {
            parents.push(match &section.from {
                Some(from) => named.get(from.as_ref()).copied(),
                None if section.kind.is_proxy() && section.kind != SectionKind::Defaults => last,
                None => None,
            });
            if section.kind == SectionKind::Defaults {
                named.insert(section.name.as_ref(), at);
                last = Some(at);
            }
        }
        parents
    }

    /// The mode of each section, its own or the one that it inherits; "" where none is said.
    pub fn modes(&self) -> Vec<&str> {
        let mut modes: Vec<&str> = Vec::with_capacity(self.sections.len());
        for (section, parent) in self.sections.iter().zip(self.inheritance()) {
            let own = section.lines.iter().rfind(|line| line.keyword() == "mode").map(|line| line.value(1));
            let inherited = parent.and_then(|parent| modes.get(parent)).copied();
            modes.push(own.or(inherited).unwrap_or_default());
        }
        modes
    }
}

impl fmt::Display for Document<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines().try_for_each(|line| f.write_str(line.raw))
    }
}

impl<'a> Section<'a> {
    /// The header, if any, and the lines after it.
    pub fn all_lines(&self) -> impl Iterator<Item = &Line<'a>> {
        self.header.iter().chain(&self.lines)
    }

    /// `backend shop`, as a person would name it.
    pub fn title(&self) -> String {
        title(&self.kind, &self.name)
    }
}

/// `backend shop`, `global section`, `lines before the first section`.
pub(crate) fn title(kind: &SectionKind, name: &str) -> String {
    match (kind.name(), name) {
        ("", _) => "lines before the first section".to_owned(),
        (kind, "") => format!("{kind} section"),
        (kind, name) => format!("{kind} {name}"),
    }
}

impl SectionKind {
    /// The kind that a first word opens; `None` when that word opens no section.
    pub fn of(word: &str) -> Option<Self> {
        Some(match word {
            "global" => Self::Global,
            "defaults" => Self::Defaults,
            "frontend" => Self::Frontend,
            "backend" => Self::Backend,
            "listen" => Self::Listen,
            "peers" => Self::Peers,
            "resolvers" => Self::Resolvers,
            "userlist" => Self::Userlist,
            "cache" => Self::Cache,
            "http-errors" => Self::HttpErrors,
            "ring" => Self::Ring,
            "log-forward" => Self::LogForward,
            "log-profile" => Self::LogProfile,
            "crt-store" => Self::CrtStore,
            "mailers" => Self::Mailers,
            "program" => Self::Program,
            "fcgi-app" => Self::FcgiApp,
            "acme" => Self::Acme,
            "traces" => Self::Traces,
            "healthcheck" => Self::Other(word.to_owned()),
            _ => return None,
        })
    }

    /// The word that opens it; empty for lines before the first header.
    pub fn name(&self) -> &str {
        match self {
            Self::Global => "global",
            Self::Defaults => "defaults",
            Self::Frontend => "frontend",
            Self::Backend => "backend",
            Self::Listen => "listen",
            Self::Peers => "peers",
            Self::Resolvers => "resolvers",
            Self::Userlist => "userlist",
            Self::Cache => "cache",
            Self::HttpErrors => "http-errors",
            Self::Ring => "ring",
            Self::LogForward => "log-forward",
            Self::LogProfile => "log-profile",
            Self::CrtStore => "crt-store",
            Self::Mailers => "mailers",
            Self::Program => "program",
            Self::FcgiApp => "fcgi-app",
            Self::Acme => "acme",
            Self::Traces => "traces",
            Self::Other(name) => name,
        }
    }

    /// `defaults`, `frontend`, `backend` and `listen`: they share their keywords.
    pub fn is_proxy(&self) -> bool {
        matches!(self, Self::Defaults | Self::Frontend | Self::Backend | Self::Listen)
    }

    /// `frontend` and `listen`: they accept connections.
    pub fn has_frontend(&self) -> bool {
        matches!(self, Self::Frontend | Self::Listen)
    }

    /// `backend` and `listen`: they have servers and can be named by `use_backend`.
    pub fn has_backend(&self) -> bool {
        matches!(self, Self::Backend | Self::Listen)
    }
}

impl fmt::Display for SectionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl<'a> Line<'a> {
    /// The value of a word, counted from 0; empty when the line is shorter.
    pub fn value(&self, at: usize) -> &str {
        self.words.get(at).map_or("", |word| &word.value)
    }

    /// The first word, empty for a comment or a blank line.
    pub fn keyword(&self) -> &str {
        self.value(0)
    }

    /// The words from `at` on.
    pub fn from(&self, at: usize) -> &[Word<'a>] {
        self.words.get(at..).unwrap_or_default()
    }

    /// The line without its end.
    pub fn text(&self) -> &'a str {
        without_end(self.raw)
    }

    /// The directive on this line, if there is one.
    pub fn directive(&self) -> Option<Directive> {
        Some(match self.keyword() {
            ".if" => Directive::If,
            ".elif" => Directive::Elif,
            ".else" => Directive::Else,
            ".endif" => Directive::Endif,
            ".diag" => Directive::Diag,
            ".notice" => Directive::Notice,
            ".warning" => Directive::Warning,
            ".alert" => Directive::Alert,
            _ => return None,
        })
    }
}

fn without_end(raw: &str) -> &str {
    let text = raw.strip_suffix('\n').unwrap_or(raw);
    text.strip_suffix('\r').unwrap_or(text)
}

/// Walks over the lines once.
struct DocumentParser<'a> {
    text: &'a str,
    sections: Vec<Section<'a>>,
    problems: Vec<Problem>,
    /// Where the text of the current section starts.
    section_start: usize,
    depth: usize,
}

impl<'a> DocumentParser<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, sections: Vec::new(), problems: Vec::new(), section_start: 0, depth: 0 }
    }

    fn run(mut self) -> Document<'a> {
        // One pass over the whole text is cheaper than one over each line.
        let has_control =
            self.text.bytes().any(|b| lexer::is_control(b) && !matches!(b, b'\t' | b'\n' | b'\r'))
                || self.text.contains('\r');
        // Neighbours are alike: the words of one line tell how much room the next will need.
        let mut room = 4;
        let mut at = 0;
        for (index, raw) in self.text.split_inclusive('\n').enumerate() {
            let (number, text) = (index + 1, without_end(raw));
            let words = lexer::words(text, number, room, &mut self.problems);
            if has_control {
                lexer::control_character(text, number, &mut self.problems);
            }
            if !words.is_empty() {
                room = words.len();
            }
            let mut line = Line { number, words, raw, conditional: false };
            match line.directive() {
                Some(Directive::If) => self.depth += 1,
                Some(Directive::Endif) => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            line.conditional = self.depth > 0;
            match SectionKind::of(line.keyword()) {
                Some(kind) => self.open(kind, line, at),
                None => self.add(line),
            }
            at += raw.len();
        }
        self.close(at);
        Document { sections: self.sections, problems: self.problems, text: self.text }
    }

    fn open(&mut self, kind: SectionKind, header: Line<'a>, at: usize) {
        self.close(at);
        let word = |at: usize| header.words.get(at).map(|word| word.value.clone());
        let (name, from) = match kind {
            SectionKind::Defaults if header.value(1) == "from" && header.words.len() == 3 => (None, word(2)),
            _ if kind.is_proxy() && header.value(2) == "from" => (word(1), word(3)),
            SectionKind::Global => (None, None),
            _ => (word(1), None),
        };
        let (name, line) = (name.unwrap_or_default(), header.number);
        self.sections.push(Section {
            kind,
            name,
            from,
            line,
            header: Some(header),
            lines: Vec::new(),
            raw: "",
        });
    }

    fn add(&mut self, line: Line<'a>) {
        if let Some(section) = self.sections.last_mut() {
            section.lines.push(line);
            return;
        }
        self.sections.push(Section {
            kind: SectionKind::Other(String::new()),
            name: Cow::Borrowed(""),
            from: None,
            line: line.number,
            header: None,
            lines: vec![line],
            raw: "",
        });
    }

    /// Gives the section that ends at `at` its text.
    fn close(&mut self, at: usize) {
        if let Some(section) = self.sections.last_mut() {
            section.raw = self.text.get(self.section_start..at).unwrap_or_default();
        }
        self.section_start = at;
    }
}

impl Problem {
    /// A problem at a word of a line.
    pub(crate) fn at(code: Code, line: &Line<'_>, word: usize, message: impl Into<String>) -> Self {
        Self::new(code, line.number, line.words.get(word).map_or(1, |word| word.column), message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# top\nglobal\n  maxconn 3 # x\r\n\ndefaults base\n mode http\ndefaults from base\n\
        frontend f from base\n bind :80\n.if defined(X)\n bind :81\n.endif\nbackend \"b c\"\n server s 1.1.1.1:80";

    #[test]
    fn sections_have_kind_name_parent_and_line() {
        let document = Document::parse(TEXT);
        let seen: Vec<_> = document
            .sections
            .iter()
            .map(|s| (s.kind.name(), s.name.as_ref(), s.from.as_deref(), s.line, s.lines.len()))
            .collect();
        assert_eq!(
            seen,
            [
                ("", "", None, 1, 1),
                ("global", "", None, 2, 2),
                ("defaults", "base", None, 5, 1),
                ("defaults", "", Some("base"), 7, 0),
                ("frontend", "f", Some("base"), 8, 4),
                ("backend", "b c", None, 13, 1),
            ]
        );
        assert_eq!(document.to_string(), TEXT);
        assert_eq!(document.sections.iter().map(|s| s.raw).collect::<String>(), TEXT);
        assert_eq!(document.inheritance(), [None, None, None, Some(2), Some(2), Some(3)]);
    }

    #[test]
    fn lines_inside_if_are_conditional() {
        let document = Document::parse(TEXT);
        let seen: Vec<_> = document.lines().filter(|line| line.conditional).map(|line| line.number).collect();
        assert_eq!(seen, [10, 11]);
    }

    #[test]
    fn a_fragment_without_a_header_is_one_anonymous_section() {
        let document = Document::parse(" server a 1.1.1.1:80\n server b 1.1.1.2:80\n");
        assert_eq!(document.sections.len(), 1);
        assert_eq!(document.sections[0].lines[1].value(1), "b");
        assert!(Document::parse("").sections.is_empty());
    }
}
