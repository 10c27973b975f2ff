//! Finds TPC-C tables, and checks whether transactions can run on them.

use pgdyno_core::{
    problem::Problem,
    tpcc::{CUSTOMERS, DISTRICTS, ITEMS},
    units,
};
use pgdyno_rows::load::Set;
use pgdyno_wire::{Session, WireError};

use super::place::{load_of, place_of};

/// TPC-C tables found by a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TpccFound {
    /// Number of warehouses, numbered from 1.
    pub warehouses: u64,
    /// Seed of the load; `None` if it is not known.
    pub loaded_by: Option<u64>,
}

/// A table, the columns that transactions use, and those of the required indexes: a list for each index.
type Needed = (&'static str, &'static str, &'static [&'static [&'static str]]);

const NEEDED: [Needed; 9] = [
    ("item", "i_id, i_name, i_price, i_data", &[&["i_id"]]),
    ("warehouse", "w_id, w_name, w_street_1, w_street_2, w_city, w_state, w_zip, w_tax, w_ytd", &[&["w_id"]]),
    (
        "district",
        "d_id, d_w_id, d_name, d_street_1, d_street_2, d_city, d_state, d_zip, d_tax, d_ytd, d_next_o_id",
        &[&["d_w_id", "d_id"]],
    ),
    (
        "customer",
        "c_id, c_d_id, c_w_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, \
         c_since, c_credit, c_credit_lim, c_discount, c_balance, c_ytd_payment, c_payment_cnt, c_delivery_cnt, c_data",
        &[&["c_w_id", "c_d_id", "c_id"], &["c_w_id", "c_d_id", "c_last"]],
    ),
    ("history", "h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data", &[]),
    ("new_order", "no_o_id, no_d_id, no_w_id", &[&["no_w_id", "no_d_id", "no_o_id"]]),
    (
        "orders",
        "o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local",
        &[&["o_w_id", "o_d_id", "o_id"], &["o_w_id", "o_d_id", "o_c_id"]],
    ),
    (
        "order_line",
        "ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, \
         ol_dist_info",
        &[&["ol_w_id", "ol_d_id", "ol_o_id"]],
    ),
    (
        "stock",
        "s_i_id, s_w_id, s_quantity, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, s_dist_07, \
         s_dist_08, s_dist_09, s_dist_10, s_ytd, s_order_cnt, s_remote_cnt, s_data",
        &[&["s_w_id", "s_i_id"]],
    ),
];

/// Columns of each valid, non-partial B-tree of a table, in index order.
const INDEXES: &str = "SELECT pg_catalog.array_to_string(ARRAY(SELECT a.attname \
     FROM pg_catalog.generate_series(0, i.indnatts - 1) AS n JOIN pg_catalog.pg_attribute AS a \
     ON a.attrelid = i.indrelid AND a.attnum = i.indkey[n] ORDER BY n), ' ') \
     FROM pg_catalog.pg_index AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid \
     JOIN pg_catalog.pg_am AS m ON m.oid = c.relam \
     WHERE i.indisvalid AND i.indpred IS NULL AND m.amname = 'btree' AND i.indrelid = '";

const OTHERS: &str = "altered tables, or those of a tool with other names, cannot be driven: load some with \
                      `pgdyno load tpcc --warehouses N` and the same flags of the connection, or name the schema \
                      by options=-csearch_path=… in -d or --dsn";

/// Finds the tables, and does the quick checks for completeness; `pgdyno tpcc check` examines every row.
///
/// # Errors
/// A wrong request that names what is missing.
pub fn find_tpcc(session: &mut Session) -> Result<TpccFound, Problem> {
    for (table, columns, _) in NEEDED {
        columns_of(session, table, columns)?;
    }
    // An interrupted load has left everything else incomplete, too.
    let loaded_by = seed_of_load(session)?;
    for (table, _, indexes) in NEEDED {
        indexes_of(session, table, indexes)?;
    }
    let warehouses = count(session)?;
    for warehouse in [1, warehouses] {
        look_into(session, warehouse)?;
    }
    Ok(TpccFound { warehouses, loaded_by })
}

fn failed(error: WireError) -> Problem {
    error.into_problem("could not examine TPC-C's tables")
}

fn refused(why: &str) -> Problem {
    Problem::wrong_request(format!("could not run TPC-C: {why}"))
}

fn columns_of(session: &mut Session, table: &str, columns: &str) -> Result<(), Problem> {
    match session.query(&format!("SELECT {columns} FROM {table} LIMIT 0")) {
        Ok(_) => Ok(()),
        Err(WireError::Server(error)) if error.code == "42P01" => {
            Err(refused(&format!("there is no table {table}")).hint(OTHERS))
        }
        Err(WireError::Server(error)) if error.code == "42703" => {
            Err(refused(&format!("the table {table} is not TPC-C's: {}", error.message)).hint(OTHERS))
        }
        Err(error) => Err(failed(error)),
    }
}

/// Refuses tables without the required indexes, since every transaction would read the whole table.
fn indexes_of(session: &mut Session, table: &str, needed: &[&[&str]]) -> Result<(), Problem> {
    let rows = session.query(&format!("{INDEXES}{table}'::pg_catalog.regclass")).map_err(failed)?;
    let found = rows.iter().filter_map(|row| row.get(0)).map(|columns| columns.split(' ').collect());
    let found: Vec<Vec<&str>> = found.collect();
    let serves = |wanted: &[&str], columns: &[&str]| {
        let first = columns.get(..wanted.len());
        first.is_some_and(|first| wanted.iter().all(|column| first.contains(column)))
    };
    match needed.iter().find(|wanted| !found.iter().any(|columns| serves(wanted, columns))) {
        None => Ok(()),
        Some(wanted) => {
            let what = format!("{table} has no index by {}", wanted.join(", "));
            Err(refused(&what).hint("every transaction would read the whole table: create it, or load again"))
        }
    }
}

/// Seed of the load, if it is recorded; refuses interrupted loads.
fn seed_of_load(session: &mut Session) -> Result<Option<u64>, Problem> {
    let Some(place) = place_of(session, "warehouse").map_err(failed)? else { return Ok(None) };
    match load_of(session, &place.schema, Set::Tpcc)? {
        Some(load) if !load.whole => {
            Err(refused("its load was interrupted").hint("continue it: `pgdyno load tpcc --resume`"))
        }
        load => Ok(load.map(|load| load.seed)),
    }
}

/// Number of warehouses; checks that the small tables correspond to it.
fn count(session: &mut Session) -> Result<u64, Problem> {
    let sql = "SELECT count(*), coalesce(min(w_id), 0), coalesce(max(w_id), 0), (SELECT count(*) FROM item), \
               (SELECT count(*) FROM district) FROM warehouse";
    let rows = session.query(sql).map_err(failed)?;
    let number = |column| rows.first().and_then(|row| row.parse::<u64>(column)).unwrap_or(0);
    let warehouses = number(0);
    if warehouses == 0 {
        let hint = "load it: `pgdyno load tpcc --warehouses N`";
        return Err(refused("the table warehouse is empty").hint(hint));
    }
    if (number(1), number(2)) != (1, warehouses) {
        let what = format!("warehouses are numbered from {} to {}, not from 1 on", number(1), number(2));
        return Err(refused(&what).hint(OTHERS));
    }
    expect("item", number(3), ITEMS)?;
    expect("district", number(4), warehouses * DISTRICTS)?;
    Ok(warehouses)
}

/// Checks that a warehouse has its customers and its stock.
fn look_into(session: &mut Session, warehouse: u64) -> Result<(), Problem> {
    for (table, column, wanted) in [("customer", "c_w_id", DISTRICTS * CUSTOMERS), ("stock", "s_w_id", ITEMS)]
    {
        let sql = format!("SELECT count(*) FROM {table} WHERE {column} = {warehouse}");
        let found = session.value(&sql).map_err(failed)?.and_then(|count| count.parse().ok());
        expect(&format!("{table}, of warehouse {warehouse},"), found.unwrap_or(0), wanted)?;
    }
    Ok(())
}

fn expect(table: &str, found: u64, wanted: u64) -> Result<(), Problem> {
    if found == wanted {
        return Ok(());
    }
    let (found, wanted) = (units::count(found), units::count(wanted));
    let what = format!("{table} has {found} rows instead of {wanted}: it is loaded incompletely, or altered");
    Err(refused(&what).hint("`pgdyno tpcc check` shows details; load it again"))
}
