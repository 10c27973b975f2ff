//! Where the processes of a server spend their CPU time, by `perf`.
//!
//! A [`Recorder`] runs `perf record` on the processes of one server, keeps the samples of exact times, and at the end
//! turns them into [`Folded`] stacks. Raw samples are in a file without a name, which the kernel frees with the
//! process, whatever happens to it. Nothing here ends a run: what is impossible has a reason.

mod fold;
mod folded;
mod permission;
mod program;
mod recorder;
mod script;

pub use folded::Folded;
pub use recorder::{Recorded, Recorder, Target, Wanted};
