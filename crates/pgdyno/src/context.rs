//! What every sub-command may use: where runs are kept, and how to talk to the person at the terminal.

use std::path::PathBuf;

/// Commit that this program was built from, as of the build script; `unknown` outside a checkout.
pub const COMMIT: &str = env!("PGDYNO_COMMIT");
/// Version and commit, for `--version`.
pub const LONG_VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("PGDYNO_COMMIT"), ")");

/// What every sub-command may use.
#[derive(Debug)]
pub struct Context {
    /// Directory of the run directories.
    pub runs: PathBuf,
}

/// A seed that one can read out, from the randomness that the standard library seeds its hash maps with.
pub fn draw_seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one("seed") % 1_000_000_000
}

/// Seconds since 1970.
pub fn now_s() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH);
    now.unwrap_or_default().as_secs() as i64
}
