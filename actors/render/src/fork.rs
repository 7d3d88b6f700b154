//! A renderer beside the pipeline's that knows all that it knows: what objects printed is the same memory in both, so that what would be is
//! rendered as fast as what is, and takes little more.

use crate::{bundle::Renderer, engine::CompileCache};

/// A renderer, and the templates that it rendered last. Nothing that is rendered with it is known to the one that it was forked from.
#[derive(Debug)]
pub struct RendererFork {
    /// Checks nothing and has no time.
    pub renderer: Renderer,
    /// The memory was printed by these, and by no others.
    pub compiled: CompileCache,
}

impl Default for RendererFork {
    /// A renderer that has rendered nothing yet.
    fn default() -> Self {
        Self::of(&Renderer::default(), &CompileCache::default())
    }
}

impl RendererFork {
    /// A fork of `renderer`, which has rendered `compiled` templates.
    #[must_use]
    pub fn of(renderer: &Renderer, compiled: &CompileCache) -> Self {
        Self { renderer: renderer.fork(), compiled: compiled.clone() }
    }
}
