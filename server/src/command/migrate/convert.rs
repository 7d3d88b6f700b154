//! `haptic migrate convert`: writes manifests with annotations of ours, or HTTPRoutes, in place of another controller's.

use super::{DIFFERS, MigratedObjects};
use crate::{
    cli::{CommandFailure, MigrateConvertArgs, MigrateTo, MigratedObjectsArgs},
    command::input,
    output, process,
};
use haptic_inspect::migrate::{
    self, Family,
    convert::{ConvertedIngress, ManifestConverter, RouteConverter, RoutedIngress},
};
use haptic_model::ActiveConfig;
use std::{
    io::Write,
    path::{Path, PathBuf},
};
use tempfile::NamedTempFile;

/// Converts.
///
/// # Errors
/// Exit code 3 when annotations stay, 1 when something could not be read, edited or written.
pub fn run(args: &MigrateConvertArgs) -> Result<(), CommandFailure> {
    let family: Family = args.from.into();
    let files = files(&args.file)?;
    if !args.in_place && args.file.is_dir() {
        let usage = "a folder is converted with --in-place; without it give one file, which is printed";
        return Err(CommandFailure::Usage(usage.into()));
    }
    if args.in_place && input::is_standard_input(&args.file) {
        return Err(CommandFailure::Usage("--in-place needs a file or folder".into()));
    }
    let texts = files.into_iter().map(|file| read(&file).map(|text| (file, text)));
    let texts: Vec<(PathBuf, String)> = texts.collect::<Result<_, _>>()?;
    let (config, data) = configuration(args, family)?;
    match &args.gateway {
        Some(gateway) if args.to == MigrateTo::HttpRoutes => {
            let converter = RouteConverter::new(&config, family, &data, gateway.clone());
            to_routes(args, converter, &texts)
        }
        _ => to_annotations(args, ManifestConverter::new(&config, family, &data), &texts),
    }
}

fn to_annotations(
    args: &MigrateConvertArgs,
    mut converter: ManifestConverter,
    texts: &[(PathBuf, String)],
) -> Result<(), CommandFailure> {
    converter.classes.clone_from(&args.classes);
    for (file, text) in texts {
        converter.note_services(text).map_err(|why| at(file, &why))?;
    }
    let (mut stays, mut refused, mut all) = (0, 0, 0);
    for (file, text) in texts {
        let converted = converter.convert(text).map_err(|why| at(file, &why))?;
        put(args, file, text, &converted.text)?;
        for ConvertedIngress { name, removed, kept, refused: why } in &converted.ingresses {
            all += removed;
            stays += kept.len();
            for (annotation, sentence) in kept {
                output::print_problem(&format!("Ingress {name}: {annotation} stays: {sentence}"));
            }
            if let Some(why) = why {
                refused += 1;
                output::print_problem(&format!("Ingress {name} stays as it is: {why}"));
            }
        }
    }
    output::print_problem(&format!(
        "annotations: {all} converted, {stays} stay; Ingresses that cannot be edited: {refused}"
    ));
    exit(refused, stays)
}

fn to_routes(
    args: &MigrateConvertArgs,
    mut converter: RouteConverter,
    texts: &[(PathBuf, String)],
) -> Result<(), CommandFailure> {
    converter.classes.clone_from(&args.classes);
    for (file, text) in texts {
        converter.note(text).map_err(|why| at(file, &why))?;
    }
    let (mut all, mut kept, mut refused, mut not_carried) = (0, 0, 0, 0);
    for (file, text) in texts {
        let converted = converter.convert(text).map_err(|why| at(file, &why))?;
        put(args, file, text, &converted.text)?;
        for RoutedIngress { name, routes, left, stays, refused: why } in &converted.ingresses {
            all += routes;
            not_carried += left.len();
            for sentence in left {
                output::print_problem(&format!("Ingress {name}: not carried: {sentence}"));
            }
            if let Some(why) = stays {
                kept += 1;
                output::print_problem(&format!("Ingress {name} stays: {why}"));
            }
            if let Some(why) = why {
                refused += 1;
                output::print_problem(&format!("Ingress {name} stays as it is: {why}"));
            }
        }
    }
    output::print_problem(&format!(
        "HTTPRoutes: {all}; not carried: {not_carried}; Ingresses that stay: {kept}, that cannot be edited: {refused}"
    ));
    exit(refused, not_carried + kept)
}

/// By what could not be edited, and what is otherwise than it was.
fn exit(refused: usize, stays: usize) -> Result<(), CommandFailure> {
    match (refused, stays) {
        (0, 0) => Ok(()),
        (0, _) => Err(CommandFailure::Exit(DIFFERS)),
        _ => Err(CommandFailure::Exit(1)),
    }
}

fn at(file: &Path, why: &str) -> String {
    format!("{}: {why}", file.display())
}

/// Prints what became of a file, or writes it.
fn put(args: &MigrateConvertArgs, file: &Path, old: &str, new: &str) -> Result<(), CommandFailure> {
    if args.in_place { write(file, old, new) } else { output::print(new).map_err(CommandFailure::because) }
}

/// A configuration that reads the family, and what its ConfigMap says.
fn configuration(
    args: &MigrateConvertArgs,
    family: Family,
) -> Result<(ActiveConfig, serde_json::Map<String, serde_json::Value>), CommandFailure> {
    let objects = MigratedObjectsArgs {
        file: Some(args.file.clone()),
        from_cluster: false,
        config_map: args.config_map.clone(),
        classes: Vec::new(),
        context: None,
        kubeconfig: None,
    };
    let config = migrate::configuration(family, args.config_map.as_ref()).map_err(CommandFailure::Because)?;
    let Some(named) = &args.config_map else {
        return Ok((config, serde_json::Map::default()));
    };
    let read = process::runtime()?.block_on(super::read(config, &objects))?;
    let MigratedObjects { config, snapshots, .. } = read.ok_or_else(|| "there is no file".to_owned())?;
    let data = migrate::config_map_data(&snapshots, named)?;
    Ok((config, data))
}

/// The file, or those of the folder and the folders in it.
fn files(path: &Path) -> Result<Vec<PathBuf>, CommandFailure> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let (mut all, mut folders) = (Vec::new(), vec![path.to_owned()]);
    while let Some(folder) = folders.pop() {
        let cannot = |error: std::io::Error| format!("cannot read {}: {error}", folder.display());
        for entry in std::fs::read_dir(&folder).map_err(cannot)? {
            let entry = entry.map_err(cannot)?;
            // Links may lead out of the folder, or around in it.
            let kind = entry.file_type().map_err(cannot)?;
            let is_yaml = entry.path().extension().is_some_and(|end| end == "yaml" || end == "yml");
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() && is_yaml {
                all.push(entry.path());
            }
        }
    }
    all.sort();
    Ok(all)
}

fn read(file: &Path) -> Result<String, CommandFailure> {
    if input::is_standard_input(file) {
        let text = std::io::read_to_string(std::io::stdin());
        return text.map_err(|error| CommandFailure::Because(format!("cannot read standard input: {error}")));
    }
    let text = std::fs::read_to_string(file);
    Ok(text.map_err(|error| format!("cannot read {}: {error}", file.display()))?)
}

/// Puts the new text in the place of the old one, which is whole until then. A link stays one.
fn write(file: &Path, old: &str, new: &str) -> Result<(), CommandFailure> {
    if old == new {
        return Ok(());
    }
    let file =
        &std::fs::canonicalize(file).map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    let folder =
        file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    let cannot = |error: std::io::Error| format!("cannot write {}: {error}", file.display());
    let permissions = std::fs::metadata(file).map_err(cannot)?.permissions();
    let mut to = NamedTempFile::new_in(folder).map_err(cannot)?;
    to.write_all(new.as_bytes()).map_err(cannot)?;
    to.as_file().set_permissions(permissions).map_err(cannot)?;
    to.persist(file).map_err(|error| cannot(error.error))?;
    Ok(())
}
