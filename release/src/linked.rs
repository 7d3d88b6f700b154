//! Which crates are linked into a program: what `cargo tree` says for it alone, with what `cargo metadata` knows of each.

use crate::Error;
use cargo_metadata::{Metadata, MetadataCommand, Package, PackageId};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::Command,
};

/// A program and all that is linked into it. Macros and what only builds run are not.
pub struct Linked {
    /// The program's own crate.
    pub program: Package,
    /// All others, in order of name and version; those of this workspace among them.
    pub crates: Vec<Package>,
    /// Which of all these each needs.
    pub needs: BTreeMap<PackageId, Vec<PackageId>>,
    /// The registry's digests, by name and version.
    pub digests: BTreeMap<(String, String), String>,
}

impl Linked {
    /// What is linked into the package `program` of this workspace, for this platform.
    ///
    /// # Errors
    /// cargo's own.
    pub fn into_program(program: &str) -> Result<Self, Error> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let metadata = metadata(&root)?;
        let named = tree(&root, program)?;
        let mut known: BTreeMap<(String, String), &Package> = BTreeMap::new();
        for package in &metadata.packages {
            known.insert((package.name.to_string(), package.version.to_string()), package);
        }
        let mut crates = Vec::new();
        for name in &named {
            let package = known.get(name).ok_or_else(|| Error::Unknown(format!("{} {}", name.0, name.1)))?;
            crates.push((*package).clone());
        }
        let needs = needs(&metadata, &crates);
        let is_program = |package: &Package| package.name.as_str() == program;
        let (own, crates): (Vec<Package>, Vec<Package>) = crates.into_iter().partition(is_program);
        let program = own.into_iter().next().ok_or_else(|| Error::Unknown(program.to_owned()))?;
        let lock = root.join("Cargo.lock");
        let text = fs::read_to_string(&lock).map_err(|error| Error::File { path: lock, error })?;
        Ok(Self { program, crates, needs, digests: digests(&text) })
    }
}

fn metadata(root: &Path) -> Result<Metadata, Error> {
    let options = ["--locked", "--filter-platform", &host()?].map(str::to_owned);
    Ok(MetadataCommand::new().manifest_path(root.join("Cargo.toml")).other_options(options).exec()?)
}

fn host() -> Result<String, Error> {
    let said = cargo(Command::new("cargo").arg("-vV"))?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| Error::Tree("cargo -vV names no host".into()))
}

fn cargo(command: &mut Command) -> Result<String, Error> {
    let output = command.output().map_err(|error| Error::Tree(error.to_string()))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(Error::Tree(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}

/// Names and versions of `program` and all that is linked into it.
fn tree(root: &Path, program: &str) -> Result<BTreeSet<(String, String)>, Error> {
    let mut tree = Command::new("cargo");
    tree.current_dir(root).args([
        "tree",
        "--locked",
        "--package",
        program,
        "--edges",
        "normal,no-proc-macro",
    ]);
    Ok(names_in(&cargo(tree.args(["--prefix", "none", "--format", "{p}"]))?))
}

/// The lines `NAME vVERSION …`.
fn names_in(tree: &str) -> BTreeSet<(String, String)> {
    let name = |line: &str| {
        let mut words = line.split_whitespace();
        Some((words.next()?.to_owned(), words.next()?.strip_prefix('v')?.to_owned()))
    };
    tree.lines().filter_map(name).collect()
}

fn needs(metadata: &Metadata, crates: &[Package]) -> BTreeMap<PackageId, Vec<PackageId>> {
    let linked: BTreeSet<&PackageId> = crates.iter().map(|package| &package.id).collect();
    let nodes = metadata.resolve.iter().flat_map(|resolve| &resolve.nodes);
    let of = nodes.filter(|node| linked.contains(&node.id)).map(|node| {
        let needed = node.dependencies.iter().filter(|id| linked.contains(id)).cloned().collect();
        (node.id.clone(), needed)
    });
    of.collect()
}

/// Those of the packages in a Cargo.lock.
fn digests(lock: &str) -> BTreeMap<(String, String), String> {
    let mut digests = BTreeMap::new();
    for package in lock.split("[[package]]") {
        let field = |key: &str| {
            let line = package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
            line.map(|value| value.trim_matches('"').to_owned())
        };
        if let (Some(name), Some(version), Some(digest)) =
            (field("name"), field("version"), field("checksum"))
        {
            digests.insert((name, version), digest);
        }
    }
    digests
}

#[test]
fn what_cargo_prints_is_read() {
    let tree = "haptic v0.1.0 (/somewhere)\nserde v1.0.1\nserde v1.0.1 (*)\n\n";
    let pair = |name: &str, version: &str| (name.to_owned(), version.to_owned());
    assert_eq!(names_in(tree), BTreeSet::from([pair("haptic", "0.1.0"), pair("serde", "1.0.1")]));
    let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1\"\n\n[[package]]\nname = \"b\"\nversion = \"2\"\nchecksum = \"c\"\n";
    assert_eq!(digests(lock), BTreeMap::from([(pair("b", "2"), "c".to_owned())]));
}
