//! The workspace as seen by chores: its root, its tracked files, and the programs that they run.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::Failure;

/// The root of the workspace.
pub fn root() -> PathBuf {
    let manifest_dir = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let xtask = manifest_dir.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
    xtask.parent().map_or_else(|| xtask.clone(), Path::to_path_buf)
}

/// Directory of Cargo's build output.
pub fn target_dir() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |dir| root().join(dir))
}

/// `cargo` in the root of the workspace; the one that runs this program, if there is one.
pub fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    // Cargo lets a program know which package it belongs to. If that were passed on, build scripts that depend on it
    // would run again, and everything above them would be rebuilt, here and in Cargo's next run.
    for (name, _) in env::vars_os() {
        let of_package = ["CARGO_MANIFEST_", "CARGO_PKG_"];
        if of_package.iter().any(|start| name.to_string_lossy().starts_with(start)) {
            command.env_remove(name);
        }
    }
    command
}

/// Runs a program with output to the terminal.
pub fn succeed(command: &mut Command) -> Result<(), Failure> {
    let status = command.status().map_err(|error| format!("{}: {error}", name(command)))?;
    if status.success() { Ok(()) } else { Err(format!("{} failed ({status})", name(command)).into()) }
}

/// Runs a program and returns its standard output.
pub fn output(command: &mut Command) -> Result<String, Failure> {
    let output =
        command.stderr(Stdio::inherit()).output().map_err(|error| format!("{}: {error}", name(command)))?;
    if !output.status.success() {
        return Err(format!("{} failed ({})", name(command), output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

fn name(command: &Command) -> String {
    let words = [command.get_program()].into_iter().chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

/// Builds `pgdyno` in the profile of this program and returns its path.
pub fn pgdyno() -> Result<PathBuf, Failure> {
    let (flag, dir) = if cfg!(debug_assertions) { (None, "debug") } else { (Some("--release"), "release") };
    let mut build = cargo();
    // With this selection, dependencies built by `cargo test` are reused: an example enables features of
    // dev-dependencies, and the other programs decide which macro dependencies have debug information.
    build.args(["build", "--quiet", "--workspace", "--bins", "--example", "null"]).args(flag);
    // Warnings are shown when the program is built directly.
    let built = build.output()?;
    if !built.status.success() {
        return Err(format!("pgdyno does not build:\n{}", String::from_utf8_lossy(&built.stderr)).into());
    }
    Ok(target_dir().join(dir).join("pgdyno"))
}

/// A tracked file, with its text if it is UTF-8.
#[derive(Debug, Clone)]
pub struct Tracked {
    /// Path from the root, with `/`.
    pub path: String,
    /// Content; `None` if it is not UTF-8.
    pub text: Option<String>,
}

impl Tracked {
    /// Whether this is a Rust file.
    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// The text; empty if it is not UTF-8.
    pub fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }
}

/// All tracked files that exist.
pub fn tracked() -> Result<Vec<Tracked>, Failure> {
    let root = root();
    let names = output(Command::new("git").args(["ls-files", "-z"]).current_dir(&root))?;
    let read = |path: &str| {
        let bytes = fs::read(root.join(path)).ok()?;
        Some(Tracked { path: path.to_owned(), text: String::from_utf8(bytes).ok() })
    };
    Ok(names.split_terminator('\0').filter_map(read).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_fails_is_named() {
        let problem = output(Command::new("sh").args(["-c", "exit 3"])).expect_err("it fails");
        assert_eq!(problem.to_string(), "sh -c exit 3 failed (exit status: 3)");
        let problem = output(&mut Command::new("/nowhere/fio")).expect_err("it does not exist");
        assert!(problem.to_string().starts_with("/nowhere/fio: "), "{problem}");
    }
}
