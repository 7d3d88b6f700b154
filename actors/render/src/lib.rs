//! From a configuration's templates and watched objects to haproxy.cfg and its files.
//!
//! A template prints [framed text](framing); the [encoder](encode) writes each value in the syntax of its position. The
//! [block cache](block_cache) keeps what did not change since the last render; the result is always that of a full render.
//! Rendering is pure: nothing here waits or does I/O except an on-demand store's own fetch; only [`actor`] knows
//! actors.

pub mod actor;
pub mod block_cache;
pub mod bundle;
pub mod encode;
pub mod engine;
mod evaluation;
pub mod fallback;
pub mod fork;
pub mod functions;
mod handlebars;
mod input;
mod jinja;
mod job;
mod output;
pub mod quarantine;
mod quotations;
mod servers;
pub mod session;
pub mod value;

pub use block_cache::CacheSize;
pub use bundle::{Checked, Renderer, Rendering, UncacheableBlock, render};
pub use engine::{
    CompileCache, Program, compile,
    language::{self, Language},
    templates::Templates,
};
pub use fork::RendererFork;
pub use functions::glob_matches;
pub use input::{RenderInput, RenderLimits};
pub use job::RenderJob;
pub use output::framing;
pub use value::watched;
