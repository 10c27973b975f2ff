//! Analysis of recorded runs: spread, steady state, noise floor, verdicts and doubts.

mod analyse;
pub mod cells;
mod changes;
pub mod compare;
mod declared;
pub mod diagnosis;
mod disk_shares;
pub mod doubts;
mod estimate;
pub mod find_rate;
mod history;
pub mod noise;
pub mod over_blocks;
mod statistics;
pub mod steady;
pub mod tpcc;
mod trend;

pub use analyse::{analyse, latencies_of_cells, mark_disturbed};
pub use changes::changes;
pub use doubts::judge;
pub use estimate::MAX_HALF_WIDTH;
pub use history::{Asked as HistoryAsked, SESSION_S, history};
pub use pgdyno_core::results::{Doubt, DoubtKind};
