//! The workspace as the chores see it: where it is, what is tracked, and the programs they run in it.

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

/// Where Cargo puts what it builds.
pub fn target_dir() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |dir| root().join(dir))
}

/// `cargo`, the one that runs this program where there is one, in the root of the workspace.
pub fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    // Cargo tells a program which package it belongs to. Passed on, build scripts that look at it run again, and
    // everything above them is built anew, here and in whatever Cargo does next.
    for (name, _) in env::vars_os() {
        let of_package = ["CARGO_MANIFEST_", "CARGO_PKG_"];
        if of_package.iter().any(|start| name.to_string_lossy().starts_with(start)) {
            command.env_remove(name);
        }
    }
    command
}

/// Runs a program whose output belongs to the person at the terminal.
pub fn succeed(command: &mut Command) -> Result<(), Failure> {
    let status = command.status().map_err(|error| format!("{}: {error}", name(command)))?;
    if status.success() { Ok(()) } else { Err(format!("{} failed ({status})", name(command)).into()) }
}

/// Runs a program and gives what it wrote on standard output.
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

/// Builds `pgdyno` in the profile of this program and gives its path.
pub fn pgdyno() -> Result<PathBuf, Failure> {
    let (flag, dir) = if cfg!(debug_assertions) { (None, "debug") } else { (Some("--release"), "release") };
    let mut build = cargo();
    // This choice lets dependencies be those that `cargo test` has built: an example counts the features of
    // dev-dependencies in, and the other programs decide which dependencies of macros have debug information.
    build.args(["build", "--quiet", "--workspace", "--bins", "--example", "null"]).args(flag);
    // Warnings were shown to whoever builds the program for its own sake.
    let built = build.output()?;
    if !built.status.success() {
        return Err(format!("pgdyno does not build:\n{}", String::from_utf8_lossy(&built.stderr)).into());
    }
    Ok(target_dir().join(dir).join("pgdyno"))
}

/// A tracked file, and its text where it has one.
#[derive(Debug, Clone)]
pub struct Tracked {
    /// Path from the root, with `/`.
    pub path: String,
    /// Content; `None` where it is not UTF-8.
    pub text: Option<String>,
}

impl Tracked {
    /// Whether this is a Rust file.
    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// The text; empty where there is none.
    pub fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }
}

/// Every tracked file that is there.
pub fn tracked() -> Result<Vec<Tracked>, Failure> {
    let root = root();
    let names = output(Command::new("git").args(["ls-files", "-z"]).current_dir(&root))?;
    let read = |path: &str| {
        let bytes = fs::read(root.join(path)).ok()?;
        Some(Tracked { path: path.to_owned(), text: String::from_utf8(bytes).ok() })
    };
    Ok(names.split_terminator('\0').filter_map(read).collect())
}
