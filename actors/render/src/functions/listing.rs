//! The table for people and machines: what `haptic functions` prints.

use super::{Count, Function, Group, call::wanted, table};
use haptic_model::suggest::did_you_mean;
use serde_json::{Value as Json, json};
use std::fmt::Write as _;

/// The functions that are printed, in the order of their groups.
#[derive(Debug)]
pub struct Listing(Vec<&'static Function>);

impl Listing {
    /// All of them.
    #[must_use]
    pub fn whole() -> Self {
        let mut functions: Vec<&'static Function> = table().collect();
        functions.sort_by_key(|f| f.group);
        Self(functions)
    }

    /// The one of that name.
    ///
    /// # Errors
    /// When there is none, with the nearest.
    pub fn of(name: &str) -> Result<Self, String> {
        let found = table().find(|f| f.name == name).map(|f| Self(vec![f]));
        found.ok_or_else(|| {
            let near = did_you_mean(name, table().map(|f| f.name));
            format!("there is no function {name:?}{near}; haptic functions prints all")
        })
    }

    /// One line a function, in groups.
    #[must_use]
    pub fn as_text(&self) -> String {
        self.by_group(|out, group, functions| {
            _ = writeln!(out, "{}", title(group));
            for f in functions {
                let (example, result) = f.example;
                _ = writeln!(
                    out,
                    "  {}\n      {}\n      {example} -> {}",
                    f.usage(),
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
        self.by_group(|out, group, functions| {
            _ = writeln!(out, "## {}\n", title(group));
            for f in functions {
                let (example, result) = f.example;
                _ = writeln!(out, "### `{}`\n\n{}\n", f.usage(), f.doc);
                for a in f.arguments {
                    _ = writeln!(out, "* `{}`: {}{}", a.name, wanted(a.kind), often(a.count));
                }
                _ = writeln!(out, "\n```handlebars\n{example}\n```\n\ngives\n\n```\n{result}\n```\n");
            }
        })
    }

    /// A list of objects, one a function.
    #[must_use]
    pub fn as_json(&self) -> Json {
        self.0.iter().map(|f| in_json(f)).collect()
    }

    fn by_group(&self, print: impl Fn(&mut String, Group, &[&'static Function])) -> String {
        let mut out = String::new();
        for group in self.0.chunk_by(|a, b| a.group == b.group) {
            if let Some(first) = group.first() {
                print(&mut out, first.group, group);
            }
        }
        out
    }
}

fn in_json(f: &Function) -> Json {
    let arguments: Vec<Json> = f
        .arguments
        .iter()
        .map(|a| json!({"name": a.name, "kind": wanted(a.kind), "count": format!("{:?}", a.count).to_lowercase()}))
        .collect();
    json!({
        "name": f.name,
        "group": title(f.group),
        "usage": f.usage(),
        "arguments": arguments,
        "doc": f.doc,
        "example": {"template": f.example.0, "gives": f.example.1},
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
