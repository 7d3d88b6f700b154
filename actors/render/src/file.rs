//! One file, render after render: printed, settled, and kept for the next time.
//!
//! A file whose stores have not changed is the same file again. Otherwise its fixed text is printed anew and blocks
//! that would print the same are taken from the render before. A render that fails changes nothing of what is kept.

use crate::{
    engine::{AddedFile, Compiled, Limits, RenderInput},
    ground::Ground,
    recall::{CacheSize, Kept, Place, Recall},
    settle::Settler,
};
use haptic_model::{
    ActiveConfig, BundleFile, Diagnostic, FileKey, FileKind, Snapshots, Text, text::Fragment,
};
use std::sync::Arc;

/// What is known of one file.
#[derive(Debug, Default)]
pub(crate) struct FileMemory {
    settler: Settler,
    kept: Kept,
    last: Option<Last>,
    /// Drops what blocks read: only for the test that proves that it is needed.
    pub forgetful: bool,
}

#[derive(Debug)]
struct Last {
    ground: Arc<Ground>,
    done: Done,
}

/// A rendered and settled file.
#[derive(Clone, Debug)]
pub(crate) struct Done {
    pub file: BundleFile,
    pub warnings: Vec<Diagnostic>,
    pub refused: Vec<Diagnostic>,
    pub added: Vec<AddedFile>,
}

/// What one render of all files has in common.
#[derive(Clone, Copy)]
pub(crate) struct Render<'r> {
    pub compiled: &'r dyn Compiled,
    pub config: &'r ActiveConfig,
    pub snapshots: &'r Snapshots,
    pub limits: &'r Limits,
    pub ground: &'r Arc<Ground>,
}

impl FileMemory {
    /// The file as it was, if nothing that it was made of has changed.
    pub fn unchanged(&mut self, render: &Render<'_>, path: &str) -> Option<Done> {
        let last = self.last.as_ref().filter(|last| Arc::ptr_eq(&last.ground, render.ground))?;
        let same = *last.done.file.path == *path && self.kept.is_current(render.snapshots);
        let done = same.then(|| last.done.clone())?;
        self.kept.rest();
        Some(done)
    }

    /// Renders and settles the file at `path`.
    ///
    /// # Errors
    /// The first failure of its templates, or all values that cannot stand where they are.
    pub fn render(
        &mut self,
        render: &Render<'_>,
        key: &FileKey,
        path: &str,
    ) -> Result<Done, Vec<Diagnostic>> {
        let Render { compiled, config, snapshots, limits, ground } = *render;
        let input = RenderInput { config, snapshots, context: &ground.context };
        let known = self.last.as_ref().is_some_and(|last| Arc::ptr_eq(&last.ground, ground));
        let nothing = Kept::default();
        let recall = Recall::new(if known { &self.kept } else { &nothing }, snapshots);
        let rendered =
            compiled.render_again(key, &input, limits, Some(&recall)).map_err(|d| vec![in_file(d, key)])?;
        let (mut text, pieces) = self
            .settler
            .settle_pieces(key.kind, &rendered.marked)
            .map_err(|all| all.into_iter().map(|d| in_file(d, key)).collect::<Vec<_>>())?;
        if !known {
            self.kept = nothing;
        }
        let fragment = |piece: usize| {
            let number = pieces.get(piece).copied().flatten()?;
            text.fragments().get(number).cloned()
        };
        self.kept.update(rendered.blocks, &rendered.outside, snapshots, fragment);
        if self.forgetful {
            self.kept.forget_reads();
        }
        if key.kind == FileKind::Config {
            text = with_final_newline(text);
        }
        let done = Done {
            file: BundleFile::new(key.clone(), path, text),
            warnings: rendered.warnings,
            refused: rendered.refused,
            added: rendered.added,
        };
        self.last = Some(Last { ground: ground.clone(), done: done.clone() });
        Ok(done)
    }

    /// The ground of the last render.
    pub fn ground(&self) -> Option<&Arc<Ground>> {
        self.last.as_ref().map(|last| &last.ground)
    }

    /// How much is kept.
    pub fn size(&self) -> CacheSize {
        self.kept.size()
    }

    /// Where blocks could not be kept, why, and how many.
    pub fn untracked(&self) -> impl Iterator<Item = (Place, crate::engine::Untracked, usize)> {
        self.kept.untracked()
    }
}

/// Says which file was being rendered when a snippet failed.
fn in_file(mut diagnostic: Diagnostic, key: &FileKey) -> Diagnostic {
    let own = if key.kind == FileKind::Config { "haproxyConfig" } else { &*key.name };
    if diagnostic.output.is_none() && diagnostic.template.as_ref().is_some_and(|t| *t.template != *own) {
        diagnostic.message = format!("{} (while {key} was rendered)", diagnostic.message);
    }
    diagnostic
}

/// HAProxy refuses a configuration whose last line has no end.
fn with_final_newline(text: Text) -> Text {
    match text.fragments().split_last() {
        Some((last, before)) if !last.as_str().ends_with('\n') => {
            let last = Fragment::new(format!("{}\n", last.as_str()), last.blame().clone());
            Text::new(before.iter().cloned().chain([last]).collect())
        }
        _ => text,
    }
}
