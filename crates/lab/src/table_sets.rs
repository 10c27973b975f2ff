//! The sets of TPC-C tables on a server: where each is, how sessions find it, and what was found.

use pgdyno_core::{problem::Problem, units};
use pgdyno_plan::{SetPlace, TpccPlan};
use pgdyno_postgres::load::find_existing;
use pgdyno_rows::load::{ExistingTables, Set};
use pgdyno_wire::{ConnectOptions, Session};

use crate::{check_warehouses, tpcc_facts::TpccFacts};

/// How a missing set is recognised.
const NO_TABLE: &str = "there is no table";
const NO_DATABASE: &str = "(SQLSTATE 3D000)";

/// A set of tables under test.
#[derive(Debug, Clone)]
pub struct TableSet {
    /// Where it is.
    pub place: SetPlace,
    /// How the clients that drive it connect.
    pub clients: ConnectOptions,
    /// Facts of its tables.
    pub facts: TpccFacts,
}

/// Where the sets of a plan are; of a plan without TPC-C, where its tables are.
pub fn places(tpcc: Option<&TpccPlan>) -> Vec<SetPlace> {
    tpcc.map_or_else(|| vec![SetPlace::Found], TpccPlan::places)
}

/// A quoted identifier.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Options of sessions that find the tables of a set, and no others with their names.
pub fn within(options: &ConnectOptions, place: &SetPlace) -> ConnectOptions {
    match place {
        SetPlace::Found => options.clone(),
        SetPlace::Schema(name) => with_search_path(options, &quoted(name)),
        SetPlace::Database(name) => options.with_database(name),
    }
}

/// Options with a `search_path`. It is given separately, which overrides `options` (`ProcessStartupPacket`).
pub fn with_search_path(options: &ConnectOptions, path: &str) -> ConnectOptions {
    let mut options = without_search_path(options);
    options.startup.push(("search_path".to_owned(), path.to_owned()));
    options
}

/// Options without the `search_path` that pgdyno gave them.
pub fn without_search_path(options: &ConnectOptions) -> ConnectOptions {
    let mut options = options.clone();
    options.startup.retain(|(name, _)| name != "search_path");
    options
}

/// Names the set that a problem is about.
pub fn of_set(place: &SetPlace, problem: Problem) -> Problem {
    match place.name() {
        Some(name) => Problem { what: format!("{name}: {}", problem.what), ..problem },
        None => problem,
    }
}

/// Finds the sets of tables of an existing server. All must have the same number of warehouses, that of the plan if it
/// is given: the sum of their rates has no meaning otherwise.
///
/// # Errors
/// A set is missing or incomplete, or they differ.
pub fn find(
    tpcc: &TpccPlan,
    warehouses: Option<u64>,
    open: &mut dyn FnMut(&SetPlace) -> Result<Session, Problem>,
) -> Result<ExistingTables, Problem> {
    let places = tpcc.places();
    let mut found = Vec::new();
    for place in &places {
        let tables = open(place).and_then(|mut session| find_existing(&mut session, Set::Tpcc));
        found.push(tables.map_err(|problem| missing(place, of_set(place, problem)))?);
    }
    if found.windows(2).any(|two| two[0].scale != two[1].scale) {
        return Err(differ(&places, &found));
    }
    let names: Vec<&str> = places.iter().filter_map(SetPlace::name).collect();
    let first =
        found.into_iter().next().ok_or_else(|| Problem::wrong_request("there is no set of tables"))?;
    check_warehouses(first.scale, warehouses.unwrap_or(first.scale))?;
    Ok(match (names.is_empty(), &places[0]) {
        (true, _) => first,
        (false, SetPlace::Database(_)) => {
            let schema = format!("{} of databases {}", first.schema, names.join(", "));
            ExistingTables { schema, ..first }
        }
        (false, _) => ExistingTables { schema: names.join(", "), ..first },
    })
}

/// Adds how to name or load sets of tables, if one is missing.
fn missing(place: &SetPlace, problem: Problem) -> Problem {
    match place {
        SetPlace::Schema(_) if problem.what.contains(NO_TABLE) => problem.hint(
            "load sets of tables with `pgdyno load tpcc --schemas N`, or name the schemas that have some (--schemas)",
        ),
        SetPlace::Database(_) if problem.what.contains(NO_DATABASE) || problem.what.contains(NO_TABLE) => problem
            .hint("name databases with a set of tables each (--databases), as `pgdyno load copy` makes them"),
        _ => problem,
    }
}

fn differ(places: &[SetPlace], found: &[ExistingTables]) -> Problem {
    let size = |(place, tables): (&SetPlace, &ExistingTables)| {
        format!("{} {}", place.name().unwrap_or_default(), units::count(tables.scale))
    };
    let sizes: Vec<String> = places.iter().zip(found).map(size).collect();
    Problem::wrong_request("could not run TPC-C: the sets of tables have different numbers of warehouses")
        .detail(format!("warehouses: {}", sizes.join(", ")))
        .hint(
            "name sets of one size (--schemas, --databases): of others the sum of their rates has no meaning",
        )
}

#[cfg(test)]
mod tests {
    use pgdyno_wire::Address;

    use super::*;

    #[test]
    fn sessions_of_a_schema_find_no_other_tables() {
        let options = ConnectOptions::local(Address::Unix("/tmp".into(), 5432), "me");
        let options = with_search_path(&options, "public, pgdyno");
        let found = within(&options, &SetPlace::Schema("a \"b\"".into()));
        assert_eq!(found.startup, [("search_path".to_owned(), "\"a \"\"b\"\"\"".to_owned())]);
        let there = within(&options, &SetPlace::Database("shop".into()));
        assert_eq!((there.database.as_str(), there.startup), ("shop", options.startup.clone()));
        assert!(without_search_path(&options).startup.is_empty());
    }

    #[test]
    fn sets_of_different_sizes_are_shown_with_their_sizes() {
        let tables = |scale| ExistingTables {
            set: Set::Tpcc,
            schema: "public".into(),
            owner: "me".into(),
            scale,
            loaded_by: None,
            accounts: None,
        };
        let places = TpccPlan { sets: Some(2), ..TpccPlan::of(1) }.places();
        let problem = differ(&places, &[tables(1_000), tables(2)]);
        assert_eq!(problem.detail.as_deref(), Some("warehouses: tpcc_1 1,000, tpcc_2 2"));
    }
}
