//! A whole configuration, read without ever being one document: that takes ten times its text.

use super::BlockIndex;
use crate::document::{Document, Section, SectionKind};

impl<L> BlockIndex<L> {
    /// Reads the configuration in runs of blocks of little more than `most` bytes. Each run stands behind the headers and the
    /// `default-server` lines of all defaults sections before it, so that [`crate::views::servers`] finds the same as in the whole.
    pub fn in_runs(&self, most: usize, mut read: impl FnMut(&Document<'_>)) {
        let (mut defaults, mut run, mut of_run) = (String::new(), String::new(), String::new());
        for entry in self.blocks() {
            run.push_str(&entry.text());
            if entry.traits.defaults {
                entry.read(|document| {
                    document.sections.iter().for_each(|one| note_defaults(one, &mut of_run))
                });
            }
            // Whoever has many defaults sections reads them again with each run.
            if run.len() > most.max(defaults.len()) {
                read(&Document::parse(&format!("{defaults}{run}")));
                defaults.push_str(&of_run);
                run.clear();
                of_run.clear();
            }
        }
        if !run.is_empty() {
            read(&Document::parse(&format!("{defaults}{run}")));
        }
    }
}

fn note_defaults(section: &Section<'_>, all: &mut String) {
    if section.kind != SectionKind::Defaults {
        return;
    }
    let is_inherited = |line: &&crate::Line<'_>| line.keyword() == "default-server";
    for line in section.header.iter().chain(section.lines.iter().filter(is_inherited)) {
        all.push_str(line.text());
        all.push('\n');
    }
}
