//! Loading many rows by many streams: what is to be made, the tasks that it falls into, and what it takes. Who
//! carries it out is `pgdyno-postgres`.

mod accounts;
mod keys;
mod plan;
mod set;
mod size;
mod tasks;
mod way;

pub use accounts::AccountsState;
pub use keys::{KeyFacts, KeySettings};
pub use plan::{LoadPlan, LoadRequest, MAX_PARTITIONS, Misfit, PartitionMethod, Partitions, why_not};
pub use set::{Set, Table};
pub use size::{Estimate, MAX_PAGES, Need};
pub use tasks::{LAYOUT, Stage, Task, Work, tasks};
pub use way::{Cost, Way};
