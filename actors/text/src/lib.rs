//! Rendered text: pieces that know where their lines come from, what two texts have in common and how they differ, and what of a text may
//! be shown.
//!
//! Pure: no I/O, and nothing of HAProxy's or Kubernetes' language but the form of map files and of paths to fields.

pub mod alignment;
mod digest;
mod field_path;
pub mod grouping;
mod object_ref;
pub mod patch;
pub mod pattern_file;
pub mod redaction;
mod sensitive;
mod shortened;
mod spliced;
pub mod suggest;
mod text;

pub use digest::{Digest, DigestMarks};
pub use field_path::{FieldPath, FieldPathError};
pub use object_ref::ObjectRef;
pub use patch::{Content, Patch};
pub use sensitive::Sensitive;
pub use shortened::shortened;
pub use spliced::SplicedText;
pub use text::{
    Blame, Fragment, FragmentIter, Fragments, LineBlame, Origin, REDACTED, Text, TextBuilder, TextRun,
};
