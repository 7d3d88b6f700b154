//! `haptic library`: the template libraries that are built in.

use crate::{
    cli::{Failure, LibraryCommand, SummaryOrJson},
    output,
};
use haptic_config::library::{LIBRARIES, find};
use serde_json::json;

/// Lists them, or prints one.
///
/// # Errors
/// When there is no such library, or standard output cannot be written.
pub fn run(command: &LibraryCommand) -> Result<(), Failure> {
    match command {
        LibraryCommand::List { output: SummaryOrJson::Summary } => {
            let lines = LIBRARIES.iter().map(|library| format!("{:<9}{}\n", library.name, library.summary));
            output::print(&lines.collect::<String>())
        }
        LibraryCommand::List { output: SummaryOrJson::Json } => {
            let all = LIBRARIES.map(|library| json!({"name": library.name, "summary": library.summary}));
            output::print_json(&json!(all))
        }
        LibraryCommand::Show { name } => {
            let Some(library) = find(name) else {
                let known = LIBRARIES.map(|library| library.name).join(", ");
                return Err(Failure::Because(format!("there is no library {name:?}; there are {known}")));
            };
            output::print(library.text)
        }
    }
    .map_err(Failure::because)
}
