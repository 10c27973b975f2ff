//! What every sub-command may use: where runs are kept, and how to talk to the person at the terminal.

use std::path::PathBuf;

use pgdyno_lab::{Lab, Program};

/// Commit that this program was built from, as of the build script; `unknown` outside a checkout.
const COMMIT: &str = env!("PGDYNO_COMMIT");
/// Version and commit, for `--version`.
pub const LONG_VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("PGDYNO_COMMIT"), ")");

/// This program.
pub const PROGRAM: Program = Program {
    version: env!("CARGO_PKG_VERSION"),
    commit: COMMIT,
    long_version: LONG_VERSION,
    is_optimised: !cfg!(debug_assertions),
};

/// What every sub-command may use.
#[derive(Debug)]
pub struct Context {
    /// Directory of the run directories.
    pub runs: PathBuf,
}

impl Context {
    /// Where experiments are carried out.
    pub fn lab(&self) -> Lab {
        Lab { runs: self.runs.clone(), program: PROGRAM }
    }
}

/// Seconds since 1970.
pub fn now_s() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH);
    now.unwrap_or_default().as_secs() as i64
}
