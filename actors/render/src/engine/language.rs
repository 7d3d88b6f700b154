//! The languages of templates, and what tells which one a template is written in.

/// A language of templates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    /// Handlebars.
    Handlebars,
    /// Jinja2, as Python's.
    Jinja2,
}

impl Language {
    /// That of the name in `engine`; `None` where it names none.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "handlebars" => Some(Self::Handlebars),
            "jinja2" | "gonja" => Some(Self::Jinja2),
            _ => None,
        }
    }

    /// As `engine` names it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Handlebars => "handlebars",
            Self::Jinja2 => "jinja2",
        }
    }

    /// The language whose tags are in any of these texts; `None` where there are none of either.
    pub(crate) fn told_by<'t>(sources: impl Iterator<Item = &'t str> + Clone) -> Option<Self> {
        if sources.clone().any(has_handlebars_tag) {
            return Some(Self::Handlebars);
        }
        sources.clone().any(has_jinja_tag).then_some(Self::Jinja2)
    }
}

fn has_handlebars_tag(source: &str) -> bool {
    ["{{#", "{{/", "{{>", "{{~"].iter().any(|tag| source.contains(tag))
}

/// Whether a block of Jinja2 begins anywhere.
fn has_jinja_tag(source: &str) -> bool {
    const KEYWORDS: [&str; 14] = [
        "for", "if", "set", "include", "macro", "do", "with", "block", "extends", "import", "from", "filter",
        "call", "raw",
    ];
    source.split("{%").skip(1).any(|tag| {
        let tag = tag.trim_start_matches(['-', '+']).trim_start();
        KEYWORDS.contains(&tag.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default())
    })
}
