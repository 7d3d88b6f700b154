//! `inventory FOLDER`: writes what the program `haptic` is made of, for its image.
//!
//! `sbom.cdx.json` lists every crate that is linked, `THIRD-PARTY.txt` has their licences. It asks cargo, and no registry.

mod linked;
mod notices;
mod sbom;

use linked::Linked;
use std::{fs, path::PathBuf, process::ExitCode};

/// What goes wrong, and what to do.
#[derive(Debug, thiserror::Error)]
enum Error {
    /// No folder.
    #[error("usage: inventory FOLDER")]
    Usage,
    /// cargo's own words.
    #[error("{0}")]
    Metadata(#[from] cargo_metadata::Error),
    /// cargo's own words.
    #[error("cargo tree: {0}")]
    Tree(String),
    /// Two commands of cargo disagree.
    #[error("cargo tree names {0}, and cargo metadata does not: this is a bug of the inventory")]
    Unknown(String),
    /// A crate nobody may pass on.
    #[error("{0} names no licence that could be passed on: replace it, or ask its authors")]
    Unlicensed(String),
    /// Reading or writing.
    #[error("{path}: {error}")]
    File {
        /// Of what.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            #[allow(clippy::print_stderr, reason = "the one thing this program says")]
            {
                eprintln!("inventory: {error}");
            }
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Error> {
    let folder: PathBuf = std::env::args_os().nth(1).ok_or(Error::Usage)?.into();
    let linked = Linked::into_program("haptic")?;
    let write = |name: &str, text: String| {
        let path = folder.join(name);
        fs::write(&path, text).map_err(|error| Error::File { path, error })
    };
    fs::create_dir_all(&folder).map_err(|error| Error::File { path: folder.clone(), error })?;
    write("sbom.cdx.json", format!("{:#}\n", sbom::document(&linked)))?;
    write("THIRD-PARTY.txt", notices::text(&linked)?)
}
