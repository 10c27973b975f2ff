//! The pure crates do no I/O and read no clock (invariant 1).
//!
//! clippy's `disallowed-methods` enforces this even for methods called through a trait or another name; this check
//! makes sure that its lists are complete. Whole modules, which clippy cannot ban, are searched for in the source.

use std::collections::BTreeSet;

use super::{
    fault::Fault,
    rust::{Source, named},
};
use crate::workspace::Tracked;

/// The floors of the pure crates: a folder a crate.
const FLOORS: [&str; 2] = ["crates/pure/", "crates/results/"];
/// The one crate of these floors that reads and writes files.
const RECORD: &str = "crates/results/record/";
/// Methods that the clippy list of a pure crate must contain.
const LISTED: [&str; 4] =
    ["std::time::Instant::now", "std::time::SystemTime::now", "std::fs::File::open", "std::env::var"];
/// Modules of `std` that a pure crate must not use.
const MODULES: [&str; 6] = ["fs", "net", "env", "process", "thread", "os"];

/// Checks all pure crates.
pub fn check(files: &[Tracked], sources: &[Source]) -> Vec<Fault> {
    let dirs: BTreeSet<&str> = files.iter().filter_map(|file| dir_of(&file.path)).collect();
    dirs.into_iter().flat_map(|dir| lists(dir, files).into_iter().chain(impurities(dir, sources))).collect()
}

/// Directory of the pure crate that a file is in, with its last slash.
fn dir_of(path: &str) -> Option<&str> {
    let floor = FLOORS.iter().find(|floor| path.starts_with(**floor))?;
    let name_len = path.get(floor.len()..)?.find('/')?;
    path.get(..=floor.len() + name_len).filter(|dir| *dir != RECORD)
}

fn lists(dir: &str, files: &[Tracked]) -> Vec<Fault> {
    let path = format!("{dir}clippy.toml");
    let Some(file) = files.iter().find(|file| file.path == path) else {
        return vec![Fault::new(path, 0, "does not exist, so clippy bans no clock in this crate")];
    };
    let missing = LISTED.iter().filter(|method| !file.text().contains(&format!("\"{method}\"")));
    missing.map(|method| Fault::new(&path, 0, format!("does not ban `{method}`"))).collect()
}

fn impurities<'a>(dir: &'a str, sources: &'a [Source]) -> impl Iterator<Item = Fault> + 'a {
    let pure = sources.iter().filter(move |source| source.path.starts_with(dir) && !source.is_support());
    pure.flat_map(|source| {
        let banned =
            named(&source.syntax).into_iter().filter(|name| !name.is_macro && is_impure(&name.parts));
        banned.map(|name| {
            Fault::new(&source.path, name.line, format!("`{}` in a pure crate", name.parts.join("::")))
        })
    })
}

fn is_impure(parts: &[String]) -> bool {
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match parts.as_slice() {
        [.., "Instant" | "SystemTime", "now"] => true,
        ["std", module, ..] => MODULES.contains(module),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{file, rust};
    use super::*;

    fn faults(list: &str, text: &str) -> Vec<String> {
        let files = [file("crates/pure/core/clippy.toml", list), file("crates/pure/core/src/a.rs", text)];
        let sources = rust::parse(&files).expect("it is Rust");
        check(&files, &sources).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_clock_and_a_file_are_found_in_core() {
        let list = LISTED.map(|method| format!("{{ path = \"{method}\" }}")).join(",");
        assert_eq!(faults(&list, "fn f() { Duration::from_secs(1); }"), [""; 0]);
        assert_eq!(
            faults(&list, "use std::{fs::File, fmt};\nfn f() { SystemTime::now(); }"),
            [
                "crates/pure/core/src/a.rs:1: `std::fs::File` in a pure crate",
                "crates/pure/core/src/a.rs:2: `SystemTime::now` in a pure crate",
            ]
        );
    }

    #[test]
    fn a_list_without_the_clock_and_no_list_at_all_are_found() {
        assert_eq!(faults("", "").len(), LISTED.len());
        let alone = [file("crates/pure/rows/src/lib.rs", "")];
        assert_eq!(check(&alone, &[]).len(), 1);
    }
}
