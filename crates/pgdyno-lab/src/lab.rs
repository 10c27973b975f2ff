//! Where experiments are carried out, and by what.

use std::path::PathBuf;

use pgdyno_core::problem::Problem;
use pgdyno_record::ToolRecord;

/// Where experiments are carried out, and by what.
#[derive(Debug, Clone)]
pub struct Lab {
    /// Directory of the run directories.
    pub runs: PathBuf,
    /// The program that measures.
    pub program: Program,
}

/// The program that measures.
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
    /// The program as the record names it.
    pub fn record(&self) -> ToolRecord {
        ToolRecord { version: self.version.to_owned(), commit: self.commit.to_owned() }
    }
}

/// The roots of servers and bundles, as the environment of this process names them.
///
/// # Errors
/// If an ordinary user has no home and names no directory.
pub fn dirs() -> Result<pgdyno_provision::Dirs, Problem> {
    pgdyno_provision::Dirs::of_process()
}

/// A seed that one can read out, from the randomness that the standard library seeds its hash maps with.
pub fn draw_seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one("seed") % 1_000_000_000
}
