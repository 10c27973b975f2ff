//! The plan: what a measuring command will do, before any fact about a machine is known.
//!
//! Plans come from flags or a TOML file, never from the record. What a plan leaves open is `Auto`; the pure
//! rules of [`advice`] resolve it and give a reason for every value.

pub mod advice;
mod auto;
mod check;
mod document;
mod factor;
mod fault;
#[doc(hidden)]
pub mod fuzz;
mod host;
mod levels;
mod measure;
mod parse;
pub mod preset;
mod reference;
mod scale;
mod schema_keys;
mod stage;
mod storage;
mod subject;
mod tpcc;
mod work;
mod workload_files;

pub use auto::Auto;
pub use check::{OLDEST_PG, RESERVED};
pub use document::{BENCH_TOML, Plan, schema};
pub use factor::FactorPlan;
pub use fault::Fault;
pub use host::HostPlan;
pub use measure::{BalanceCheckMode, CheckPlan, MAX_RATE_PER_S, MeasurePlan, Order, Restart, Waiting};
pub use parse::MAX_PLAN_BYTES;
pub use reference::published;
pub use scale::Scale;
pub use stage::{Action, StagePlan};
pub use storage::{DeclaredPlan, StoragePlan};
pub use subject::{MAX_SUBJECTS, ServerPlan};
pub use tpcc::{Isolation, LOADED_AT_S, MAX_SETS, SetPlace, TpccPlan, TpccWork, divided};
pub use work::{DataPlan, ScaleupPlan, ScriptPlan, SizePlan, Source, VariableValue, Variables, WorkloadPlan};
pub use workload_files::{SqlText, Steps, Work, WorkloadFiles};
