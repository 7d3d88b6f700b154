//! From a configuration's templates and watched objects to haproxy.cfg and its files.
//!
//! A template prints [framed text](framing); the [encoder](encode) writes each value in the syntax of its position. The
//! [block cache](block_cache) keeps what did not change since the last render; the result is always that of a full render.
//! Rendering is pure: nothing here waits or does I/O except an on-demand store's own fetch; only [`actor`] knows
//! actors.

pub mod actor;
mod added;
pub mod block_cache;
mod block_group;
mod cached_block;
mod captured;
mod compiled;
mod context;
mod difference;
mod effects;
pub mod encode;
pub mod engine;
mod evaluation;
pub mod fallback;
mod file;
pub mod fork;
pub mod framing;
pub mod functions;
mod handlebars;
mod input;
mod jinja;
mod keypath;
pub mod language;
mod output;
mod position;
mod program;
pub mod quarantine;
mod read_json;
mod recent;
pub mod render;
mod servers;
pub mod session;
mod shares;
mod store_lists;
mod templates;
mod uses;
pub mod value;
mod warnings;
pub mod watched;

pub use block_cache::CacheSize;
pub use compiled::Compiled;
pub use engine::{CompileCache, compile};
pub use fork::RendererFork;
pub use functions::glob_matches;
pub use input::{RenderInput, RenderJob, RenderLimits};
pub use language::Language;
pub use render::{Checked, Renderer, Rendering, UncacheableBlock, render};
pub use templates::Templates;
