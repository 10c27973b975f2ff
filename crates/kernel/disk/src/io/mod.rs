//! Random and sequential reads and writes at depth, in the patterns of PostgreSQL.
//!
//! ```text
//!   IoRequest ─► Place (directory or block device) ─► WorkFiles (laid out, unlinked) ─► run_files of the engine
//!                                                                                          ▼
//!                                        knee, planner costs ◄── IoReport ◄── steady state, figures
//! ```

mod costs;
mod cpus;
mod files;
mod knee;
mod measure;
mod offsets;
mod place;
pub mod planner;
mod report;
mod request;
mod saturate;
pub mod steady;

pub use costs::{CostsRequest, costs};
pub use cpus::queue_cpus;
pub use files::WorkFiles;
pub use knee::{effective_io_concurrency, knee};
pub use measure::{run, run_all, run_on};
pub use request::{FILE_BYTES, IoProgress, IoRequest};
pub use saturate::{SATURATING_DEPTH, saturate};

#[cfg(test)]
mod tests;
