//! Markdown as far as the documentation uses it: fences, commands, links, headings. It judges nothing.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests read what is committed")]
#![allow(clippy::missing_panics_doc, reason = "a page that cannot be read fails the test that wants it")]

use std::{
    fs,
    path::{Path, PathBuf},
};

/// A fenced block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// What stands behind the fence.
    pub language: String,
    /// What the comment in the line before it says.
    pub comment: Option<String>,
    /// All its lines.
    pub text: String,
}

/// The project's folder.
#[must_use]
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// A file of the project.
pub fn read(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Every Markdown file of the project, by its path below the project's folder.
#[must_use]
pub fn documents() -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![root().to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() && name != "target" && !name.starts_with('.') {
                folders.push(path);
            } else if name.ends_with(".md") {
                found.push(path.strip_prefix(root()).unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

/// All fenced blocks.
#[must_use]
pub fn blocks(markdown: &str) -> Vec<Block> {
    let (mut blocks, mut open, mut before) = (Vec::new(), None::<Block>, "");
    for line in markdown.lines() {
        match (line.strip_prefix("```"), open.take()) {
            (Some(_), Some(block)) => blocks.push(block),
            (Some(language), None) => {
                let comment = before.strip_prefix("<!-- ").and_then(|c| c.strip_suffix(" -->"));
                open = Some(Block {
                    language: language.into(),
                    comment: comment.map(str::to_owned),
                    text: String::new(),
                });
            }
            (None, Some(mut block)) => {
                block.text.push_str(line);
                block.text.push('\n');
                open = Some(block);
            }
            (None, None) => {}
        }
        before = line;
    }
    assert!(open.is_none(), "a fence is not closed");
    blocks
}

/// Commands, each with the output that is shown below it.
#[must_use]
pub fn commands(markdown: &str) -> Vec<(String, String)> {
    let mut commands: Vec<(String, String)> = Vec::new();
    for block in blocks(markdown).iter().filter(|b| ["console", "sh"].contains(&b.language.as_str())) {
        for line in block.text.lines() {
            match (line.strip_prefix("$ "), commands.last_mut()) {
                (Some(command), _) => commands.push((command.to_owned(), String::new())),
                (None, Some((_, output))) => *output += &format!("{line}\n"),
                (None, None) => panic!("{line:?} is neither a command (`$ …`) nor the output of one"),
            }
        }
    }
    commands
}

/// The lines outside of fences.
pub fn prose(markdown: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    markdown.lines().filter(move |line| {
        let fence = line.starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

/// Targets of links outside of fences and code spans.
#[must_use]
pub fn links(markdown: &str) -> Vec<String> {
    let outside_code = |line: &str| line.split('`').step_by(2).collect::<String>();
    let lines: Vec<String> = prose(markdown).map(outside_code).collect();
    let targets = |line: &String| -> Vec<String> {
        line.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0.to_owned())).collect()
    };
    lines.iter().flat_map(targets).collect()
}

/// The headings' anchors, as code hosts make them: the second of one text ends with `-1`.
#[must_use]
pub fn anchors(markdown: &str) -> Vec<String> {
    let mut anchors: Vec<String> = Vec::new();
    for heading in prose(markdown).filter(|line| line.starts_with('#')) {
        let kept = heading.trim_start_matches('#').trim().to_lowercase();
        let anchor: String = kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c)).collect();
        let anchor = anchor.replace(' ', "-");
        let numbered = |n: usize| if n == 0 { anchor.clone() } else { format!("{anchor}-{n}") };
        let free = (0..).map(numbered).find(|name| !anchors.contains(name));
        anchors.extend(free);
    }
    anchors
}

#[test]
fn markdown_is_read() {
    let text = "# A b: c\n<!-- x.yaml -->\n```yaml\n# a\na: 1\n```\n[l](m.md) `[n](o)`\n```console\n$ one\ntwo\n$ three\n```\n## A b c\n";
    let block = Block { language: "yaml".into(), comment: Some("x.yaml".into()), text: "# a\na: 1\n".into() };
    assert_eq!(blocks(text)[0], block);
    assert_eq!(commands(text), [("one".into(), "two\n".into()), ("three".into(), String::new())]);
    assert_eq!(links(text), ["m.md"]);
    assert_eq!(anchors(text), ["a-b-c", "a-b-c-1"]);
}
