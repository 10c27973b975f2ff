//! Facts of TPC-C's tables on one server.

use std::collections::BTreeMap;

use pgdyno_core::{problem::Problem, units};
use pgdyno_script::tpcc::TerminalParams;

/// Facts of TPC-C's tables on one server.
#[derive(Debug, Clone)]
pub struct TpccFacts {
    /// Parameters of the terminals.
    pub terminals: TerminalParams,
    /// Whether the NURand constant of the load is known.
    pub load_constant_known: bool,
    /// The isolation level of sessions that request none.
    pub isolation: String,
    /// That of the sessions of subjects that connect in their own way, by the index of the subject.
    pub isolation_of: BTreeMap<usize, String>,
}

impl TpccFacts {
    /// The isolation level of a subject's sessions that request none.
    pub fn isolation_of(&self, subject: usize) -> &str {
        self.isolation_of.get(&subject).unwrap_or(&self.isolation)
    }
}

/// Refuses tables with a different number of warehouses than requested.
///
/// # Errors
/// The number of warehouses found.
pub fn check_warehouses(found: u64, asked: u64) -> Result<(), Problem> {
    if found == asked {
        return Ok(());
    }
    let were = if asked == 1 { "was" } else { "were" };
    let what = format!(
        "could not run TPC-C: the tables have {}, and {} {were} requested",
        units::plural(found, "warehouse"),
        units::count(asked)
    );
    Err(Problem::wrong_request(what).hint("request that number, or load the number you want"))
}
