//! Dependencies on crates of others: each is used, in one version, under a licence that a distribution may hold.

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};
use spdx::{Expression, ParseMode};

use super::{exceptions::Exceptions, fault::Fault};
use crate::{
    Failure,
    workspace::{Tracked, root},
};

/// Licences, by their SPDX identifiers, that ask for nothing but their text beside a program.
const LICENCES: [&str; 12] = [
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "MIT",
    "MIT-0",
    // Asks for the source of changed files; nothing is changed.
    "MPL-2.0",
    "PostgreSQL",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
    "bzip2-1.0.6",
];
/// Platform for which dependencies are resolved.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";

/// Checks all dependencies that Cargo resolves.
///
/// # Errors
/// If Cargo cannot resolve them.
pub fn check(files: &[Tracked], exceptions: &mut Exceptions) -> Result<Vec<Fault>, Failure> {
    let mut command = MetadataCommand::new();
    command.manifest_path(root().join("Cargo.toml"));
    command.other_options(["--filter-platform".to_owned(), PLATFORM.to_owned()]);
    let metadata = command.exec()?;
    let mut faults: Vec<Fault> = metadata.packages.iter().filter_map(licence).collect();
    faults.extend(versions(&versions_by_name(&metadata), exceptions));
    for member in metadata.workspace_packages() {
        faults.extend(unused(member, &metadata, files));
    }
    Ok(faults)
}

/// A package whose licence leaves no choice that is allowed.
fn licence(package: &Package) -> Option<Fault> {
    let expression = package.license.as_deref().unwrap_or_default();
    let fault = |why: &str| Some(Fault::new("Cargo.lock", 0, format!("`{}` {why}", package.name)));
    match is_allowed(expression) {
        Ok(true) => None,
        Ok(false) => fault(&format!("is under `{expression}`, which is not allowed")),
        Err(error) => fault(&format!("has the licence `{expression}`: {error}")),
    }
}

fn is_allowed(expression: &str) -> Result<bool, Failure> {
    let expression =
        Expression::parse_mode(expression, ParseMode::LAX).map_err(|error| error.reason.to_string())?;
    Ok(expression.evaluate(|licence| licence.license.id().is_some_and(|id| LICENCES.contains(&id.name))))
}

type Versions<'a> = BTreeMap<&'a str, BTreeSet<String>>;

fn versions_by_name(metadata: &Metadata) -> Versions<'_> {
    let mut versions = Versions::new();
    for package in &metadata.packages {
        versions.entry(package.name.as_str()).or_default().insert(package.version.to_string());
    }
    versions
}

/// Packages that are built in several versions.
fn versions(versions: &Versions<'_>, exceptions: &mut Exceptions) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (name, versions) in versions.iter().filter(|(_, versions)| versions.len() > 1) {
        if !exceptions.allow(&format!("versions {name}")) {
            let listed = versions.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            faults.push(Fault::new(
                "Cargo.lock",
                0,
                format!("`{name}` is there in several versions: {listed}"),
            ));
        }
    }
    faults
}

/// Dependencies of a crate of ours that none of its files names.
fn unused(member: &Package, metadata: &Metadata, files: &[Tracked]) -> Vec<Fault> {
    let root = root();
    let manifest =
        member.manifest_path.as_std_path().strip_prefix(&root).unwrap_or(member.manifest_path.as_std_path());
    let dir = manifest.parent().map(|dir| format!("{}/", dir.display())).unwrap_or_default();
    let manifest = manifest.display().to_string();
    let mut faults = Vec::new();
    for dependency in &member.dependencies {
        let name = dependency
            .rename
            .clone()
            .unwrap_or_else(|| library(&dependency.name, metadata))
            .replace('-', "_");
        let places: &[&str] = match dependency.kind {
            DependencyKind::Build => &["build.rs"],
            DependencyKind::Development => &["src/", "tests/", "examples/", "benches/"],
            _ => &["src/"],
        };
        let is_place =
            |file: &&Tracked| places.iter().any(|place| file.path.starts_with(&format!("{dir}{place}")));
        if !files.iter().filter(is_place).any(|file| names(file.text(), &name)) {
            faults.push(Fault::new(manifest.clone(), 0, format!("`{}` is not used", dependency.name)));
        }
    }
    faults
}

/// Name of the library of a package, which may be another than its own: `md5` of `md-5`.
fn library(package: &str, metadata: &Metadata) -> String {
    let packages = metadata.packages.iter().filter(|other| other.name == package);
    let mut libraries = packages.flat_map(|package| &package.targets).filter(|target| target.is_lib());
    libraries.next().map_or_else(|| package.to_owned(), |target| target.name.clone())
}

/// Whether a text has a name as a word of its own.
fn names(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name)
        .any(|(at, _)| !text[..at].ends_with(is_part) && !text[at + name.len()..].starts_with(is_part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_allowed_licence_of_a_choice_is_enough_and_all_of_a_sum_are_needed() {
        for (expression, allowed) in [
            ("MIT", true),
            ("GPL-3.0-only", false),
            ("GPL-2.0-only OR Apache-2.0", true),
            ("MIT/Apache-2.0", true),
            ("MIT AND GPL-3.0-only", false),
            ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
            ("Apache-2.0 WITH LLVM-exception OR MIT", true),
        ] {
            assert_eq!(is_allowed(expression).expect("it can be parsed"), allowed, "{expression}");
        }
        assert!(is_allowed("").is_err(), "no licence at all");
    }

    #[test]
    fn a_second_version_is_found_unless_it_is_excepted() {
        let two = BTreeSet::from(["1.0.0".to_owned(), "2.0.0".to_owned()]);
        let packages =
            Versions::from([("a", BTreeSet::from(["1.0.0".to_owned()])), ("b", two.clone()), ("c", two)]);
        let faults = versions(&packages, &mut Exceptions::parse("versions c # somebody needs it"));
        let expected = "`b` is there in several versions: 1.0.0, 2.0.0";
        assert_eq!(faults, [Fault::new("Cargo.lock", 0, expected)]);
    }

    #[test]
    fn a_name_is_a_word_of_its_own() {
        assert!(names("use serde::Serialize;", "serde") && names("serde::x", "serde"));
        assert!(!names("use serde_json::Value;", "serde") && !names("my_serde::x", "serde"));
    }

    #[test]
    fn a_dependency_that_no_file_names_is_found() {
        let metadata = MetadataCommand::new().manifest_path(root().join("Cargo.toml")).no_deps().exec();
        let metadata = metadata.expect("this is a workspace");
        let member =
            metadata.packages.iter().find(|package| package.name == "xtask").expect("it is a member");
        let files = [crate::tidy::file("xtask/src/main.rs", "use clap::Parser;")];
        let faults = unused(member, &metadata, &files);
        let is_told = |name: &str| faults.iter().any(|fault| fault.what == format!("`{name}` is not used"));
        assert!(is_told("syn") && !is_told("clap"), "{faults:?}");
    }
}
