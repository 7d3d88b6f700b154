//! The table for people and machines: what `haptic functions` prints.

use super::{Count, Function, Group, call::wanted, table};
use crate::{engine::language::Language, jinja};
use haptic_text::suggest::did_you_mean;
use serde_json::{Value as Json, json};
use std::fmt::Write as _;

/// The functions that are printed, in the order of their groups, with examples in one language.
#[derive(Debug)]
pub struct Listing {
    functions: Vec<&'static Function>,
    language: Language,
}

impl Listing {
    /// All of them.
    #[must_use]
    pub fn whole() -> Self {
        let mut functions: Vec<&'static Function> = table().collect();
        functions.sort_by_key(|f| f.group);
        Self { functions, language: Language::Handlebars }
    }

    /// The one of that name.
    ///
    /// # Errors
    /// When there is none, with the nearest.
    pub fn of(name: &str) -> Result<Self, String> {
        let found = table().find(|f| f.name == name).map(|f| Self { functions: vec![f], ..Self::whole() });
        found.ok_or_else(|| {
            let near = did_you_mean(name, table().map(|f| f.name));
            format!("there is no function {name:?}{near}; haptic functions prints all")
        })
    }

    /// The same with examples in that language.
    #[must_use]
    pub fn in_language(self, language: Language) -> Self {
        Self { language, ..self }
    }

    fn example(&self, f: &Function) -> (String, String) {
        example(f, self.language)
    }

    /// One line a function, in groups.
    #[must_use]
    pub fn as_text(&self) -> String {
        self.by_group(|out, group, functions| {
            _ = writeln!(out, "{}", title(group));
            for f in functions {
                let (example, result) = self.example(f);
                _ = writeln!(
                    out,
                    "  {}\n      {}\n      {example} -> {}",
                    usage(f, self.language),
                    f.doc,
                    result.replace('\n', "\\n")
                );
            }
            out.push('\n');
        })
    }

    /// The page of the documentation.
    #[must_use]
    pub fn as_markdown(&self) -> String {
        let language = self.language.name();
        self.by_group(|out, group, functions| {
            _ = writeln!(out, "## {}\n", title(group));
            for f in functions {
                let (example, result) = self.example(f);
                _ = writeln!(out, "### `{}`\n\n{}\n", usage(f, self.language), f.doc);
                for a in f.arguments {
                    _ = writeln!(out, "* `{}`: {}{}", a.name, wanted(a.kind), often(a.count));
                }
                _ = writeln!(out, "\n```{language}\n{example}\n```\n\ngives\n\n```\n{result}\n```\n");
            }
        })
    }

    /// A list of objects, one a function.
    #[must_use]
    pub fn as_json(&self) -> Json {
        self.functions.iter().map(|f| in_json(f, self.language)).collect()
    }

    fn by_group(&self, print: impl Fn(&mut String, Group, &[&'static Function])) -> String {
        let mut out = String::new();
        for group in self.functions.chunk_by(|a, b| a.group == b.group) {
            if let Some(first) = group.first() {
                print(&mut out, first.group, group);
            }
        }
        out
    }
}

/// How it is called in that language.
fn usage(f: &Function, language: Language) -> String {
    match language {
        Language::Handlebars => f.usage(),
        Language::Jinja2 => jinja::usage(f),
    }
}

/// A template that calls it in that language, and what it prints.
#[must_use]
pub fn example(f: &Function, language: Language) -> (String, String) {
    match language {
        Language::Handlebars => (f.example.0.to_owned(), f.example.1.to_owned()),
        Language::Jinja2 => jinja::example(f),
    }
}

fn in_json(f: &Function, language: Language) -> Json {
    let (template, gives) = example(f, language);
    let arguments: Vec<Json> = f
        .arguments
        .iter()
        .map(|a| json!({"name": a.name, "kind": wanted(a.kind), "count": format!("{:?}", a.count).to_lowercase()}))
        .collect();
    json!({
        "name": f.name,
        "group": title(f.group),
        "usage": usage(f, language),
        "arguments": arguments,
        "doc": f.doc,
        "example": {"template": template, "gives": gives},
    })
}

fn title(group: Group) -> &'static str {
    match group {
        Group::Access => "Reading values",
        Group::Lists => "Lists and dicts",
        Group::Variables => "Variables",
        Group::Comparison => "Comparing",
        Group::Strings => "Texts",
        Group::Arithmetic => "Numbers",
        Group::Haproxy => "HAProxy",
        Group::Resources => "Watched objects",
        Group::Control => "The render itself",
    }
}

fn often(count: Count) -> &'static str {
    match count {
        Count::Once => "",
        Count::Maybe => " (may be left out)",
        Count::Many => " (any number of them)",
        Count::Named => " (by name)",
    }
}
