//! Plans loads with many streams: tables, tasks, and sizes. `pgdyno-postgres` carries them out.

mod accounts;
mod existing;
mod keys;
mod remains;
mod request;
mod set;
mod size;
mod table_options;
mod tasks;
mod times;
mod way;

pub use accounts::AccountsState;
pub use existing::ExistingTables;
pub use keys::{KeyFacts, KeyLimit, KeyLimitKind, KeySettings, table_workers, workers_by_memory};
pub use remains::Remains;
pub use request::{LoadConflict, LoadPlan, LoadRequest, PartitionMethod, Partitions};
pub use set::{Set, Table};
pub use size::{Estimate, MAX_PAGES, SizingFacts};
pub use table_options::TableOption;
pub use tasks::{LAYOUT, Stage, Task, Work, tasks};
pub use times::{LoadScene, MeasuredLoad, PARTITIONS, Prediction, StageSpan, calibration, predict};
pub use way::{Cost, Way};
