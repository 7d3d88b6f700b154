//! From a configuration's templates and watched objects to haproxy.cfg and its files.
//!
//! An engine prints marked text, the settling pass makes files of it in which every value is only a value. What did not
//! change since the last render is kept ([`recall`]); the result is always that of a full render.
//! Rendering is pure: nothing here waits or does I/O except an on-demand store's own fetch; only [`actor`] knows
//! actors.

pub mod actor;
mod added;
mod around;
pub mod certificate;
mod difference;
pub mod engine;
pub mod faults;
mod file;
pub mod functions;
mod ground;
pub mod handlebars;
mod keypath;
pub mod marks;
mod names;
mod output;
pub mod quarantine;
mod read_json;
pub mod recall;
pub mod regex_cost;
pub mod render;
pub mod routes;
mod said;
pub mod session;
pub mod settle;
mod shares;
pub mod userlists;
mod uses;
pub mod value;
pub mod watched;

pub use engine::{CompileCache, Compiled, Engine, Limits, RenderInput, Templates, compile, engine};
pub use faults::{Fault, FaultKind, Faults};
pub use functions::glob_matches;
pub use recall::CacheSize;
pub use render::{Checked, Renderer, Rendering, UntrackedBlock, render};
