//! The sub-commands in `pgdyno --help`, in the man pages and in README.md are the same.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use super::fault::Fault;
use crate::{
    Failure,
    workspace::{Tracked, output, succeed},
};

const README: &str = "README.md";

/// Compares the three lists.
pub fn check(files: &[Tracked], program: &Path) -> Result<Vec<Fault>, Failure> {
    let help = in_help(&output(Command::new(program).arg("--help"))?);
    if help.is_empty() {
        return Err("`pgdyno --help` lists no sub-command".into());
    }
    let mut pages = in_man_pages(program)?;
    pages.retain(|name| !beneath(name, &help));
    let mut faults = same("the man pages", &help, &pages);
    match files.iter().find(|file| file.path == README) {
        Some(readme) => faults.extend(in_readme(readme.text(), &help)),
        None => faults.push(Fault::new(README, 0, "does not exist")),
    }
    Ok(faults)
}

/// The names below `Commands:`.
fn in_help(help: &str) -> BTreeSet<String> {
    let list = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let entries = list.take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
    let names = entries.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

fn in_man_pages(program: &Path) -> Result<BTreeSet<String>, Failure> {
    let dir = tempfile::tempdir()?;
    succeed(Command::new(program).args(["generate", "man"]).arg(dir.path()))?;
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(dir.path())? {
        let file = entry?.file_name().to_string_lossy().into_owned();
        names
            .extend(file.strip_prefix("pgdyno-").and_then(|rest| rest.strip_suffix(".1")).map(str::to_owned));
    }
    Ok(names)
}

/// Whether a page belongs to a command's own sub-command, such as `load-verify`: those are listed in the help of
/// `load`.
fn beneath(name: &str, help: &BTreeSet<String>) -> bool {
    help.iter().any(|command| name.strip_prefix(command.as_str()).is_some_and(|rest| rest.starts_with('-')))
}

fn same(place: &str, help: &BTreeSet<String>, other: &BTreeSet<String>) -> Vec<Fault> {
    let lacking = help.difference(other).map(|name| format!("{place} lack `pgdyno {name}`"));
    let extra = other.difference(help).map(|name| format!("{place} have `pgdyno {name}`, the help has not"));
    lacking.chain(extra).map(|what| Fault::new("crates/command/pgdyno/src/args/mod.rs", 0, what)).collect()
}

/// Commands missing in README.md, and commands that it names but do not exist.
fn in_readme(text: &str, help: &BTreeSet<String>) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut seen = BTreeSet::new();
    for (at, line) in text.lines().enumerate() {
        for name in line.split("`pgdyno ").skip(1).filter_map(sub_command) {
            if !help.contains(name) {
                faults.push(Fault::new(README, at + 1, format!("there is no `pgdyno {name}`")));
            }
            seen.insert(name);
        }
    }
    let lacking = help.iter().filter(|name| !seen.contains(name.as_str()));
    faults.extend(lacking.map(|name| Fault::new(README, 0, format!("does not name `pgdyno {name}`"))));
    faults
}

/// The word after `pgdyno `; `None` if it is a flag or a placeholder.
fn sub_command(rest: &str) -> Option<&str> {
    let end = rest.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(rest.len());
    let word = &rest[..end];
    (!word.is_empty() && !word.starts_with('-')).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(words: &[&str]) -> BTreeSet<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn the_help_is_read() {
        let help = "Usage: pgdyno\n\nCommands:\n  up    Start\n            more words\n  help  Print\n\nOptions:\n  -h";
        assert_eq!(in_help(help), names(&["up"]));
    }

    #[test]
    fn missing_and_invented_commands_of_readme_are_found() {
        let help = names(&["down", "up"]);
        assert_eq!(in_readme("| `pgdyno up` | `pgdyno down NAME` `pgdyno --help` `pgdyno NAME`", &help), []);
        let faults = in_readme("# Words\n`pgdyno up` and `pgdyno fly --high`", &help);
        assert_eq!(
            faults,
            [
                Fault::new(README, 2, "there is no `pgdyno fly`"),
                Fault::new(README, 0, "does not name `pgdyno down`"),
            ]
        );
    }

    #[test]
    fn pages_of_nested_sub_commands_belong_to_their_command() {
        let help = names(&["load"]);
        let pages = ["load-verify", "load", "loader-x", "up-load"].map(|name| beneath(name, &help));
        assert_eq!(pages, [true, false, false, false]);
    }

    #[test]
    fn a_command_without_a_man_page_is_found() {
        assert_eq!(same("pages", &names(&["a", "b"]), &names(&["b", "c"])).len(), 2);
    }
}
