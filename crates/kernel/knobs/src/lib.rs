//! The host is changed here, and put back.
//!
//! [`plan`] only reads. [`apply`] writes a journal of what was there, then changes one value or file after another
//! and reads each back. [`undo`] restores from the journal what is still as `apply` left it. A process that is killed
//! at any point leaves a journal from which `undo` restores everything.
//!
//! Values are files of `/proc/sys` and `/sys`; what shall outlast a reboot is written to files in `/etc` as well.

mod apply;
mod calls;
mod contents;
mod dir;
mod journal;
mod names;
mod place;
mod plan;
mod read;
mod safe;
mod script;
mod set;
mod state;
mod status;
mod steps;
#[cfg(test)]
mod tests;
mod undo;
mod value;

pub use apply::{Applied, Changed, apply};
pub use place::Place;
pub use plan::{Item, Plan, Verdict, plan};
pub use status::{Standing, Status, StatusItem, status};
pub use undo::{Left, Restored, Undone, undo};
