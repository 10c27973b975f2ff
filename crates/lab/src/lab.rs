//! Where experiments run, and by which program.

use std::path::PathBuf;

use pgdyno_core::problem::Problem;
use pgdyno_record::ToolRecord;

/// Where experiments run, and by which program.
#[derive(Debug, Clone)]
pub struct Lab {
    /// Directory of the run directories.
    pub runs: PathBuf,
    /// The measuring program.
    pub program: Program,
}

/// The measuring program.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    /// Version of pgdyno.
    pub version: &'static str,
    /// Commit it was built from; `unknown` outside a checkout.
    pub commit: &'static str,
    /// Version and commit in one text.
    pub long_version: &'static str,
    /// Whether it was compiled with optimisation.
    pub is_optimised: bool,
}

impl Program {
    /// The program's entry in the record.
    pub fn record(&self) -> ToolRecord {
        ToolRecord { version: self.version.to_owned(), commit: self.commit.to_owned() }
    }
}

/// Directories of servers and bundles, according to the environment of this process.
///
/// # Errors
/// An ordinary user has no home directory and no directory is configured.
pub fn dirs() -> Result<pgdyno_provision::Dirs, Problem> {
    pgdyno_provision::Dirs::of_process()
}

/// Draws a seed that is short enough to read aloud, from the randomness of the standard library's hash maps.
pub fn draw_seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one("seed") % 1_000_000_000
}
