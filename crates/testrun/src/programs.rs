//! The test programs, as Cargo names them.

use std::{
    env,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::failure::Failure;

/// A test program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The file.
    pub path: PathBuf,
    /// The crate whose tests they are, which is also the name of its program of integration tests.
    pub name: String,
    /// Directory of the crate, in which Cargo runs its tests.
    pub dir: PathBuf,
}

/// A command without the variables in which Cargo describes a program's own package. If they were passed on, build
/// scripts that depend on them would run again, and everything above them would be rebuilt.
pub fn without_package(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    for (name, _) in env::vars_os() {
        let of_package = ["CARGO_MANIFEST_", "CARGO_PKG_"];
        if of_package.iter().any(|start| name.to_string_lossy().starts_with(start)) {
            command.env_remove(name);
        }
    }
    command
}

/// Builds the tests that `cargo test` would run with these arguments.
pub fn build(arguments: &[String]) -> Result<Vec<Program>, Failure> {
    let mut cargo = without_package(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["test", "--no-run", "--message-format=json-render-diagnostics"]).args(arguments);
    let mut building = cargo.stdout(Stdio::piped()).spawn()?;
    let messages = building.stdout.take().ok_or("cargo has no standard output")?;
    let mut programs = Vec::new();
    for line in BufReader::new(messages).lines() {
        programs.extend(program(&serde_json::from_str(&line?)?));
    }
    let status = building.wait()?;
    if status.success() { Ok(programs) } else { Err(format!("the tests do not build ({status})").into()) }
}

/// The test program that a message of Cargo is about, if it is.
fn program(message: &Value) -> Option<Program> {
    let path = message["executable"].as_str().filter(|_| message["profile"]["test"] == true)?;
    let manifest = message["manifest_path"].as_str()?;
    let name = message["target"]["name"].as_str()?;
    Some(Program { path: path.into(), name: name.to_owned(), dir: Path::new(manifest).parent()?.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_those_of_tests() {
        let of = |executable: &str, test: &str| {
            let text = format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/w/core/Cargo.toml",
                "target":{{"name":"pgdyno_core"}},"profile":{{"test":{test}}},"executable":{executable}}}"#
            );
            program(&serde_json::from_str(&text).expect("it is JSON"))
        };
        let expected =
            Program { path: "/t/core-1".into(), name: "pgdyno_core".into(), dir: "/w/core".into() };
        assert_eq!(of(r#""/t/core-1""#, "true"), Some(expected));
        assert_eq!(of(r#""/t/pgdyno""#, "false"), None, "a program that the tests run");
        assert_eq!(of("null", "true"), None);
        assert_eq!(program(&serde_json::json!({ "reason": "build-finished" })), None);
    }
}
