//! `haptic init`: a first configuration with manifests, to run at once and to change.

use crate::{
    cli::{CommandFailure, InitArgs, StartFrom, SummaryOrJson},
    output,
};
use serde_json::json;
use std::{
    fs::{self, File},
    io::Write,
    path::Path,
};

/// A file to write, below the folder.
struct InitFile {
    path: &'static str,
    text: &'static str,
}

/// What can be done with it, in the folder.
const NEXT: [&str; 2] = [
    "haptic validate config.yaml --resources manifests",
    "haptic local -f config.yaml --resources manifests",
];

/// Writes the files, or none of them where one is there.
///
/// # Errors
/// When a file is there, cannot be written, or standard output cannot be.
pub fn run(args: &InitArgs) -> Result<(), CommandFailure> {
    let files = files(args.from);
    let known =
        files.iter().map(|file| args.folder.join(file.path)).find(|path| path.symlink_metadata().is_ok());
    if let Some(known) = known {
        return Err(CommandFailure::Because(format!(
            "{} is there already, nothing was written: name another folder, haptic init DIR",
            known.display()
        )));
    }
    for file in &files {
        let path = args.folder.join(file.path);
        write(&path, file.text).map_err(|error| {
            let path = path.display();
            CommandFailure::Because(format!(
                "cannot write {path}: {error}; name a folder that can be written to, haptic init DIR"
            ))
        })?;
    }
    match args.output {
        SummaryOrJson::Summary => output::print(&summary(&args.folder, &files)),
        SummaryOrJson::Json => {
            let paths = files.map(|file| args.folder.join(file.path));
            output::print_json(&json!({"folder": args.folder, "files": paths, "next": NEXT}))
        }
    }
    .map_err(CommandFailure::because)
}

fn files(from: StartFrom) -> [InitFile; 2] {
    let (config, manifests) = match from {
        StartFrom::Ingress => (include_str!("ingress/config.yaml"), include_str!("ingress/hello.yaml")),
        StartFrom::Services => (include_str!("services/config.yaml"), include_str!("services/hello.yaml")),
    };
    [
        InitFile { path: "config.yaml", text: config },
        InitFile { path: "manifests/hello.yaml", text: manifests },
    ]
}

/// Never over something else, not even what came to be just now.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    File::create_new(path)?.write_all(text.as_bytes())
}

fn summary(folder: &Path, files: &[InitFile]) -> String {
    let written = files.iter().map(|file| format!("wrote {}\n", folder.join(file.path).display()));
    let mut text: String = written.collect();
    text.push_str("\nCheck it, and run it:\n");
    if folder != Path::new(".") {
        text.push_str(&format!("  cd {}\n", quoted(&folder.display().to_string())));
    }
    for command in NEXT {
        text.push_str(&format!("  {command}\n"));
    }
    text + "\nIt serves hello.localhost from port 8000 of this machine. In another terminal:\n\
            \u{20} python3 -m http.server 8000 --bind 127.0.0.1 &\n\
            \u{20} curl -H 'Host: hello.localhost' http://127.0.0.1:7080/\n"
}

/// As a shell takes it for one word.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+~".contains(c);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_command_works_with_any_folder() {
        let line = |folder: &str| summary(Path::new(folder), &[]);
        assert!(!line(".").contains("cd "), "{}", line("."));
        assert!(line("a/b").contains("\n  cd a/b\n"));
        assert!(line("it's mine").contains("\n  cd 'it'\\''s mine'\n"));
    }
}
