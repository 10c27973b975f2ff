//! Plans loads with many streams: tables, tasks, and sizes. `pgdyno-postgres` carries them out.

mod accounts;
mod existing;
mod keys;
mod plan;
mod set;
mod size;
mod tasks;
mod way;

pub use accounts::AccountsState;
pub use existing::ExistingTables;
pub use keys::{KeyFacts, KeySettings};
pub use plan::{LoadConflict, LoadPlan, LoadRequest, PartitionMethod, Partitions};
pub use set::{Set, Table};
pub use size::{Estimate, MAX_PAGES, SizingFacts};
pub use tasks::{LAYOUT, Stage, Task, Work, tasks};
pub use way::{Cost, Way};
