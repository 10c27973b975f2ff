//! Finds tables that are there, and checks whether they are those of a set: their columns, their rows, and whose they
//! are. Every check is quick at any size; `pgdyno load verify` compares every row.

use pgdyno_core::{problem::Problem, units};
use pgdyno_rows::{
    load::{ExistingTables, Set},
    tpcb::{ACCOUNTS_PER_SCALE, TELLERS_PER_SCALE},
};
use pgdyno_wire::{Row, Session, WireError};

use super::{
    found::accounts_state,
    place::{Place, load_of, place_of},
    tpcc::find_tpcc,
};

/// Accounts that are looked up, spread evenly over all: missing rows would make updates faster.
const LOOKED_UP: u64 = 1_000;

/// A table, and its columns with their types in order. A type may have an alternative.
type Shape = (&'static str, &'static [(&'static str, [&'static str; 2])]);

const INT: [&str; 2] = ["integer", "integer"];
const WIDE: [&str; 2] = ["integer", "bigint"];

/// As pgbench creates them (`initCreateTables`).
const TPCB: [Shape; 4] = [
    (
        "pgbench_accounts",
        &[("aid", WIDE), ("bid", INT), ("abalance", INT), ("filler", ["character(84)", "character(84)"])],
    ),
    ("pgbench_branches", &[("bid", INT), ("bbalance", INT), ("filler", ["character(88)", "character(88)"])]),
    (
        "pgbench_tellers",
        &[("tid", INT), ("bid", INT), ("tbalance", INT), ("filler", ["character(84)", "character(84)"])],
    ),
    (
        "pgbench_history",
        &[
            ("tid", INT),
            ("bid", INT),
            ("aid", WIDE),
            ("delta", INT),
            ("mtime", ["timestamp without time zone", "timestamp without time zone"]),
            ("filler", ["character(22)", "character(22)"]),
        ],
    ),
];

/// The table of `pgdyno load scaleup` whose rows count; `log` may have any number.
const SCALEUP: [Shape; 1] = [(
    "test",
    &[
        ("id", WIDE),
        ("info", ["text", "text"]),
        ("crt_time", ["timestamp without time zone", "timestamp without time zone"]),
    ],
)];

/// Finds the tables of a set in the search path of a session, and checks that they can be used as they are.
///
/// # Errors
/// A wrong request that names what is missing or different.
pub fn find_existing(session: &mut Session, set: Set) -> Result<ExistingTables, Problem> {
    let main = match set {
        Set::Tpcb => "pgbench_accounts",
        Set::Scaleup => "test",
        Set::Tpcc => "warehouse",
    };
    if set == Set::Tpcc {
        let found = find_tpcc(session)?;
        let place = place_in_path(session, main)?;
        return Ok(tables(set, place, found.warehouses, found.loaded_by));
    }
    let shapes: &[Shape] = if set == Set::Tpcb { &TPCB } else { &SCALEUP };
    let place = shapes_are_right(session, shapes)?;
    let loaded_by = load_of(session, &place.schema, set)?;
    if loaded_by.is_some_and(|load| !load.whole) {
        let hint = format!("continue it: `pgdyno load {} --resume`", set.name());
        return Err(refused("their load was interrupted").hint(hint));
    }
    let scale = if set == Set::Tpcb { scale_of_tpcb(session)? } else { rows_of_test(session)? };
    let mut found = tables(set, place, scale, loaded_by.map(|load| load.seed));
    if set == Set::Tpcb {
        found.accounts = Some(accounts_state(session).map_err(failed)?);
    }
    Ok(found)
}

/// Schema and scale of the TPC-B tables that a session sees, without any check; `None` if there are none that it may
/// read.
///
/// # Errors
/// The connection fails.
pub fn glimpse_tpcb(session: &mut Session) -> Result<Option<(String, u64)>, WireError> {
    let Some(place) = place_of(session, "pgbench_accounts")? else { return Ok(None) };
    match session.value("SELECT pg_catalog.count(*) FROM pgbench_branches") {
        Ok(count) => Ok(count.and_then(|count| count.parse().ok()).map(|scale| (place.schema, scale))),
        Err(WireError::Server(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

fn tables(set: Set, place: Place, scale: u64, loaded_by: Option<u64>) -> ExistingTables {
    let Place { schema, owner } = place;
    ExistingTables { set, schema, owner, scale, loaded_by, accounts: None }
}

fn failed(error: WireError) -> Problem {
    error.into_problem("could not examine the existing tables")
}

fn refused(why: &str) -> Problem {
    Problem::wrong_request(format!("could not use the existing tables: {why}"))
}

const ALTERED: &str = "drive altered tables by a script of your own; or let pgdyno load tables of its own \
                       (--tables own)";
const INCOMPLETE: &str = "load them again, or let pgdyno load tables of its own (--tables own)";

fn place_in_path(session: &mut Session, table: &str) -> Result<Place, Problem> {
    if let Some(place) = place_of(session, table).map_err(failed)? {
        return Ok(place);
    }
    let (user, path) = who_looks_where(session).map_err(failed)?;
    Err(refused(&format!("there is no table {table} in the search_path of role {user} ({path})")).hint(
        "load some with `pgdyno load`, name their schema by options=-csearch_path=SCHEMA in -d or --dsn, or let \
         pgdyno load tables of its own (--tables own)",
    ))
}

/// Role and `search_path` of a session.
fn who_looks_where(session: &mut Session) -> Result<(String, String), WireError> {
    let rows = session.query("SELECT CURRENT_USER, pg_catalog.current_setting('search_path')")?;
    let text = |column| rows.first().and_then(|row| row.get(column)).unwrap_or("?").to_owned();
    Ok((text(0), text(1)))
}

/// Checks the columns of all tables, which must be in one schema.
fn shapes_are_right(session: &mut Session, shapes: &[Shape]) -> Result<Place, Problem> {
    let mut first: Option<Place> = None;
    for (table, columns) in shapes {
        let place = place_in_path(session, table)?;
        shape_is_right(session, table, columns)?;
        match &first {
            Some(first) if first.schema != place.schema => {
                let what = format!(
                    "{} is in schema {}, but {table} in schema {}",
                    shapes[0].0, first.schema, place.schema
                );
                return Err(refused(&what).hint(
                    "name the schema that has all of them by options=-csearch_path=SCHEMA in -d or --dsn",
                ));
            }
            Some(_) => {}
            None => first = Some(place),
        }
    }
    first.ok_or_else(|| refused("there are none"))
}

fn shape_is_right(session: &mut Session, table: &str, columns: &[(&str, [&str; 2])]) -> Result<(), Problem> {
    let rows = session.query(&format!(
        "SELECT attname, pg_catalog.format_type(atttypid, atttypmod) FROM pg_catalog.pg_attribute \
         WHERE attrelid = '{table}'::pg_catalog.regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
    ));
    let rows = rows.map_err(failed)?;
    let column =
        |row: &Row| (row.get(0).unwrap_or_default().to_owned(), row.get(1).unwrap_or_default().to_owned());
    let found: Vec<(String, String)> = rows.iter().map(column).collect();
    match difference(&found, columns) {
        None => Ok(()),
        Some(what) => Err(refused(&format!("{table} is not as expected: {what}")).hint(ALTERED)),
    }
}

/// How columns differ from those of a set.
fn difference(found: &[(String, String)], wanted: &[(&str, [&str; 2])]) -> Option<String> {
    let names = || found.iter().map(|(name, _)| name.as_str());
    if let Some((name, _)) = wanted.iter().find(|(name, _)| !names().any(|found| found == *name)) {
        return Some(format!("it has no column {name}"));
    }
    if let Some(extra) = names().find(|found| !wanted.iter().any(|(name, _)| name == found)) {
        return Some(format!("it has a column {extra} more"));
    }
    found.iter().zip(wanted).find_map(|((name, kind), (expected, kinds))| match () {
        () if name != expected => Some(format!("column {name} is where {expected} should be")),
        () if !kinds.contains(&kind.as_str()) => Some(format!("column {name} is {kind}, not {}", kinds[0])),
        () => None,
    })
}

/// Scale of TPC-B's tables, whose rows must correspond to it.
fn scale_of_tpcb(session: &mut Session) -> Result<u64, Problem> {
    let scale = numbered(session, "pgbench_branches", "bid")?;
    let tellers = numbered(session, "pgbench_tellers", "tid")?;
    expect("pgbench_tellers", tellers, scale * TELLERS_PER_SCALE)?;
    let accounts = scale * ACCOUNTS_PER_SCALE;
    let ends = key_ends(session, "pgbench_accounts", "aid")?;
    if ends != (1, accounts) {
        let what = format!("accounts are numbered from {} to {}, not from 1 to {accounts}", ends.0, ends.1);
        return Err(refused(&what).hint(INCOMPLETE));
    }
    let found = looked_up(session, "pgbench_accounts", "aid", accounts)?;
    if found < LOOKED_UP {
        let what = format!("of {LOOKED_UP} accounts that were looked up {} are missing", LOOKED_UP - found);
        return Err(refused(&what).hint(INCOMPLETE));
    }
    Ok(scale)
}

fn rows_of_test(session: &mut Session) -> Result<u64, Problem> {
    let (first, last) = key_ends(session, "test", "id")?;
    if first != 1 {
        return Err(refused(&format!("test begins with id {first}, not with 1")).hint(INCOMPLETE));
    }
    let found = looked_up(session, "test", "id", last)?;
    if found < LOOKED_UP.min(last) {
        return Err(refused("test has gaps between its ids").hint(INCOMPLETE));
    }
    Ok(last)
}

/// Rows of a small table whose keys must be 1 to their number.
fn numbered(session: &mut Session, table: &str, key: &str) -> Result<u64, Problem> {
    let count = session.value(&format!("SELECT pg_catalog.count(*) FROM {table}")).map_err(failed)?;
    let count = count.and_then(|count| count.parse().ok()).unwrap_or(0);
    if count == 0 {
        return Err(refused(&format!("{table} is empty")).hint(INCOMPLETE));
    }
    match key_ends(session, table, key)? {
        (1, last) if last == count => Ok(count),
        (first, last) => {
            let what = format!("{table} has {count} rows, numbered from {first} to {last}");
            Err(refused(&what).hint(INCOMPLETE))
        }
    }
}

/// First and last key of a table, by its index; 0 if there are none.
fn key_ends(session: &mut Session, table: &str, key: &str) -> Result<(u64, u64), Problem> {
    has_index(session, table, key)?;
    let rows = session.query(&format!("SELECT min({key}), max({key}) FROM {table}")).map_err(failed)?;
    let number = |column| rows.first().and_then(|row| row.parse(column)).unwrap_or(0);
    Ok((number(0), number(1)))
}

/// Refuses a table without an index on its key: every transaction would read all of it.
fn has_index(session: &mut Session, table: &str, key: &str) -> Result<(), Problem> {
    let found = session.value(&format!(
        "SELECT 1 FROM pg_catalog.pg_index AS i JOIN pg_catalog.pg_attribute AS a \
         ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0] \
         WHERE i.indrelid = '{table}'::pg_catalog.regclass AND i.indisvalid AND i.indisunique \
         AND i.indnatts = 1 AND a.attname = '{key}' LIMIT 1"
    ));
    match found.map_err(failed)? {
        Some(_) => Ok(()),
        None => Err(refused(&format!("{table} has no unique index on {key}"))
            .hint("every transaction would read the whole table: create the primary key, or load again")),
    }
}

/// How many of [`LOOKED_UP`] keys, spread evenly over 1 to `last`, have a row.
fn looked_up(session: &mut Session, table: &str, key: &str, last: u64) -> Result<u64, Problem> {
    let keys: Vec<String> = spread(last).map(|key| key.to_string()).collect();
    let sql = format!("SELECT pg_catalog.count(*) FROM {table} WHERE {key} = ANY ('{{{}}}')", keys.join(","));
    let found = session.value(&sql).map_err(failed)?;
    Ok(found.and_then(|found| found.parse().ok()).unwrap_or(0))
}

/// At most [`LOOKED_UP`] different numbers, spread evenly over 1 to `last`.
fn spread(last: u64) -> impl Iterator<Item = u64> {
    let count = LOOKED_UP.min(last);
    (0..count).map(move |number| {
        1 + (u128::from(number) * u128::from(last - 1) / u128::from((count - 1).max(1))) as u64
    })
}

fn expect(table: &str, found: u64, wanted: u64) -> Result<(), Problem> {
    if found == wanted {
        return Ok(());
    }
    let (found, wanted) = (units::count(found), units::count(wanted));
    Err(refused(&format!("{table} has {found} rows instead of {wanted}")).hint(INCOMPLETE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_looked_up_all_over_the_table() {
        for last in [1, 2, 999, 1_000, 100_000, 1_000_000_000_000] {
            let keys: Vec<_> = spread(last).collect();
            assert_eq!(keys.len() as u64, LOOKED_UP.min(last), "{last}");
            assert_eq!((keys.first(), keys.last()), (Some(&1), Some(&last)));
            assert!(keys.windows(2).all(|two| two[0] < two[1]), "{last}");
        }
    }

    #[test]
    fn columns_that_differ_are_named() {
        let of = |columns: &[(&str, &str)]| -> Vec<(String, String)> {
            columns.iter().map(|(name, kind)| ((*name).to_owned(), (*kind).to_owned())).collect()
        };
        let wanted = SCALEUP[0].1;
        let time = "timestamp without time zone";
        let cases = [
            (of(&[("id", "bigint"), ("info", "text"), ("crt_time", time)]), None),
            (of(&[("id", "integer"), ("info", "text")]), Some("it has no column crt_time")),
            (
                of(&[("id", "integer"), ("info", "text"), ("crt_time", time), ("x", "text")]),
                Some("it has a column x more"),
            ),
            (
                of(&[("id", "numeric"), ("info", "text"), ("crt_time", time)]),
                Some("column id is numeric, not integer"),
            ),
            (
                of(&[("info", "text"), ("id", "integer"), ("crt_time", time)]),
                Some("column info is where id should be"),
            ),
        ];
        for (found, expected) in cases {
            assert_eq!(difference(&found, wanted).as_deref(), expected);
        }
    }
}
