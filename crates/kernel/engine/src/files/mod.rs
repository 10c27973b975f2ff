//! Reads and writes of files: many operations in flight on one thread, by io_uring, or one on each thread.
//!
//! ```text
//!   run_files() ── one thread a job (io_uring) or a thread an operation in flight (threads)
//!     Operations::next() → Read | Write | SyncData | WriteBack | Nop     what is next?
//!     FileDriver         ── submission ─► kernel ─► completion ──► FileTally  how long did it take?
//! ```

mod block_buffers;
mod cpu_time;
mod driver;
mod lane;
mod operation;
mod run;
mod tally;
mod threads;
mod uring;

pub use cpu_time::CpuTime;
pub use driver::FileDriver;
pub use lane::FailedOperation;
pub use operation::{Operation, OperationKind, Operations};
pub use run::{FileJob, FileProgress, FileReport, FileRun, FileRunError, run_files};
pub use tally::{FileTally, KindTally, Second};

#[cfg(test)]
mod tests;
