//! `haptic library`: the template libraries that are built in.

use crate::{
    cli::{CommandFailure, LibraryCommand, SummaryOrJson, YamlOrJson},
    output,
};
use haptic_config::library::{LIBRARIES, Library, LibraryPart, find};
use haptic_text::suggest::did_you_mean;
use serde_json::json;

/// Lists them, or prints one, or a part of one.
///
/// # Errors
/// When there is no such library or part, or standard output cannot be written.
pub fn run(command: &LibraryCommand) -> Result<(), CommandFailure> {
    match command {
        LibraryCommand::List { output: SummaryOrJson::Summary } => {
            let widest = LIBRARIES.iter().map(|library| library.name.len()).max().unwrap_or_default();
            let line = |library: &Library| format!("{:<widest$}  {}\n", library.name, library.summary);
            let lines = LIBRARIES.iter().map(line);
            output::print(&lines.collect::<String>()).map_err(CommandFailure::because)
        }
        LibraryCommand::List { output: SummaryOrJson::Json } => {
            let all =
                LIBRARIES.each_ref().map(|library| json!({"name": library.name, "summary": library.summary}));
            output::print_json(&json!(all)).map_err(CommandFailure::because)
        }
        LibraryCommand::Show { name, part, output } => {
            let library = named(name)?;
            match part {
                None => show(library, *output),
                Some(part) => show_part(library, part, *output),
            }
        }
    }
}

fn named(name: &str) -> Result<&'static Library, CommandFailure> {
    find(name).ok_or_else(|| {
        let known = LIBRARIES.each_ref().map(|library| library.name);
        let near = did_you_mean(name, known);
        CommandFailure::Unknown(format!("there is no library {name:?}{near}; there are {}", known.join(", ")))
    })
}

fn show(library: &Library, format: YamlOrJson) -> Result<(), CommandFailure> {
    match format {
        YamlOrJson::Yaml => output::print(&library.texts().collect::<Vec<_>>().join("---\n")),
        YamlOrJson::Json => {
            let spec = library.spec().map_err(CommandFailure::because)?;
            output::print_json(&json!({"library": library.name, "spec": spec}))
        }
    }
    .map_err(CommandFailure::because)
}

fn show_part(library: &Library, name: &str, format: YamlOrJson) -> Result<(), CommandFailure> {
    let part = part_of(library, name)?;
    match format {
        YamlOrJson::Yaml => output::print(&library.text_of(&part)),
        YamlOrJson::Json => {
            output::print_json(&json!({"library": library.name, "part": part.name, "value": part.value}))
        }
    }
    .map_err(CommandFailure::because)
}

/// The only part that `name` can mean.
fn part_of(library: &Library, name: &str) -> Result<LibraryPart, CommandFailure> {
    let parts = library.parts().map_err(CommandFailure::because)?;
    let mut meant = parts.iter().filter(|part| part.is_called(name));
    match (meant.next(), meant.next()) {
        (Some(part), None) => Ok(part.clone()),
        (Some(one), Some(other)) => Err(CommandFailure::Unknown(format!(
            "{name:?} is {} or {}: name one of them",
            one.name, other.name
        ))),
        (None, _) => Err(CommandFailure::Unknown(unknown_part(library, name, &parts))),
    }
}

fn unknown_part(library: &Library, name: &str, parts: &[LibraryPart]) -> String {
    let near = did_you_mean(name, parts.iter().flat_map(|part| [&*part.name, part.own_name()]));
    let elsewhere = LIBRARIES.iter().filter(|other| other.name != library.name);
    let elsewhere = elsewhere
        .filter(|other| other.parts().is_ok_and(|parts| parts.iter().any(|part| part.is_called(name))));
    let elsewhere: Vec<&str> = elsewhere.map(|other| other.name).collect();
    let help = match elsewhere.as_slice() {
        [] => format!("haptic library show {} prints all of it", library.name),
        others => format!("it is in {}", others.join(" and ")),
    };
    format!("the library {} has no part {name:?}{near}; {help}", library.name)
}
