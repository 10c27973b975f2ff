//! Asks existing tables, however large, without changing their contents: sizes, counts, DDL, first rows, partitions,
//! depths and structure of indexes, and what of them is in memory, where it reads them on request.

mod amcheck;
mod count;
mod ddl;
mod depth;
mod extension;
mod first_touch;
mod held;
pub mod loaded;
mod partitions;
mod reading;
mod relations;
mod residency;
mod server;
mod sizes;
mod table;
mod warm;

pub use amcheck::{Structure, check_structure};
pub use count::{CountRequest, count};
pub use ddl::{DdlRequest, ddl};
pub use depth::depth;
pub use first_touch::{TouchRequest, first_touch};
pub use held::{Buffercache, held};
pub use partitions::{PartitionsRequest, partitions};
pub use sizes::sizes;
pub use warm::{PrewarmProgress, PrewarmRequest, prewarm};
