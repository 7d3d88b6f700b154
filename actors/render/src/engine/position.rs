//! Positions in templates, and the text that stands there.

/// A place in a template, for messages and provenance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct At {
    pub template: u16,
    pub line: u32,
    pub column: u32,
}

/// A template, by number, and a line of it, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TemplateLine {
    pub template: u16,
    pub line: u32,
}

/// One line, or part of one, of a template's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// The characters, at most one newline, at the end.
    pub text: Box<str>,
    pub place: TemplateLine,
}

impl At {
    /// Its line.
    pub fn place(self) -> TemplateLine {
        TemplateLine { template: self.template, line: self.line }
    }
}
