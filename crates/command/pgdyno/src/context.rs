//! Context of every sub-command: the directory of the runs, and the version of this program.

use std::path::PathBuf;

use pgdyno_lab::{Lab, Program};

/// Commit of this build, from the build script; `unknown` outside a checkout.
const COMMIT: &str = env!("PGDYNO_COMMIT");
/// Version and commit, for `--version`.
pub const LONG_VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("PGDYNO_COMMIT"), ")");

/// Version and commit of this program, for the record.
pub const PROGRAM: Program = Program {
    version: env!("CARGO_PKG_VERSION"),
    commit: COMMIT,
    long_version: LONG_VERSION,
    is_optimised: !cfg!(debug_assertions),
};

/// Directory for recorded runs, unless a flag or the environment names another.
pub const USUAL_RUNS: &str = "./pgdyno-runs";

/// Context of a sub-command.
#[derive(Debug)]
pub struct Context {
    /// Directory that contains the run directories.
    pub runs: PathBuf,
}

impl Context {
    /// Configuration of the crate that runs experiments.
    pub fn lab(&self) -> Lab {
        Lab { runs: self.runs.clone(), program: PROGRAM }
    }
}

/// Current Unix time in seconds.
pub fn now_s() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH);
    now.unwrap_or_default().as_secs() as i64
}
