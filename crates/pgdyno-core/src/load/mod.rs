//! Loading many rows by many streams: what is to be made, the tasks that it falls into, and what it takes. Who
//! carries it out is `pgdyno-postgres`.

mod keys;
mod plan;
mod size;
mod tasks;

pub use keys::{KeyFacts, KeySettings};
pub use plan::{PartitionMethod, Partitions, TpcbPlan, Wish};
pub use size::{Estimate, MAX_PAGES, Need};
pub use tasks::{LAYOUT, Stage, Table, Task, Work, tasks};
