//! TPC-C's tables on one server, as terminals know them.

use pgdyno_core::{problem::Problem, units};
use pgdyno_script::tpcc::TerminalParams;

/// TPC-C's tables on one server, as those know them who drive.
#[derive(Debug, Clone)]
pub struct TpccFacts {
    /// What terminals go by.
    pub crowd: TerminalParams,
    /// Whether the constant of the load is known.
    pub load_constant_known: bool,
    /// The isolation level of sessions that ask for none.
    pub isolation: String,
}

/// Refuses tables of other numbers of warehouses than were asked for.
///
/// # Errors
/// How many there are.
pub fn are_as_many(found: u64, asked: u64) -> Result<(), Problem> {
    if found == asked {
        return Ok(());
    }
    let were = if asked == 1 { "was" } else { "were" };
    let what = format!(
        "could not drive TPC-C: the tables have {}, and {} {were} asked for",
        units::plural(found, "warehouse"),
        units::count(asked)
    );
    Err(Problem::wrong_request(what).hint("say how many there are, or load as many as you want"))
}
