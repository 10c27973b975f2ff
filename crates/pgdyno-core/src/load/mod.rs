//! Loading many rows by many streams: what is to be made, the tasks that it falls into, and what it takes. Who
//! carries it out is `pgdyno-postgres`.

mod keys;
mod plan;
mod set;
mod size;
mod tasks;
mod way;

pub use keys::{KeyFacts, KeySettings};
pub use plan::{LoadPlan, Misfit, PartitionMethod, Partitions, Wish};
pub(crate) use plan::{MAX_PARTITIONS, why_not};
pub use set::{Set, Table};
pub use size::{Estimate, MAX_PAGES, Need};
pub use tasks::{LAYOUT, Stage, Task, Work, tasks};
pub use way::{Cost, Way};
