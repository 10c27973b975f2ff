//! The views, and what is known of their columns.

use pgdyno_wire::{Session, WireError};

use crate::activity::sql::{databases, literal};

/// A statistics view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct View {
    /// Its name.
    pub name: &'static str,
    /// The columns that identify a row; none if it has one row.
    pub keys: &'static [&'static str],
    /// The columns of numbers that do not only grow.
    pub levels: Levels,
}

/// Columns that are not counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Levels {
    /// These.
    Named(&'static [&'static str]),
    /// All.
    All,
}

impl View {
    /// Whether a column is no counter.
    pub fn is_level(&self, column: &str) -> bool {
        match self.levels {
            Levels::All => true,
            Levels::Named(names) => names.contains(&column),
        }
    }
}

const fn view(name: &'static str, keys: &'static [&'static str], levels: &'static [&'static str]) -> View {
    View { name, keys, levels: Levels::Named(levels) }
}

const VIEWS: [View; 8] = [
    view("pg_stat_database", &["datname"], &["numbackends"]),
    view("pg_stat_bgwriter", &[], &[]),
    view("pg_stat_checkpointer", &[], &[]),
    view("pg_stat_wal", &[], &[]),
    view("pg_stat_io", &["backend_type", "object", "context"], &["op_bytes"]),
    view("pg_stat_slru", &["name"], &[]),
    view("pg_stat_archiver", &[], &[]),
    View { name: "pg_stat_replication", keys: &["standby"], levels: Levels::All },
];

/// The views that the server has, each with its query: its name, and a row as JSON, whose numbers are those of the
/// view.
pub(super) fn present(
    session: &mut Session,
    version_num: u32,
    of: &[String],
) -> Result<Vec<(View, String)>, WireError> {
    let names: Vec<_> = VIEWS.iter().map(|view| literal(view.name)).collect();
    let rows = session.query(&format!(
        "SELECT relname FROM pg_catalog.pg_class WHERE relnamespace = 11 AND relname IN ({})",
        names.join(", ")
    ))?;
    let there = |view: &View| rows.iter().any(|row| row.get(0) == Some(view.name));
    Ok(VIEWS.into_iter().filter(there).map(|view| (view, query(&view, version_num, of))).collect())
}

fn query(view: &View, version_num: u32, of: &[String]) -> String {
    let name = view.name;
    let from = match name {
        "pg_stat_database" => {
            format!("pg_catalog.{name} v WHERE datname = ANY ({}) OR datid = 0", databases(of))
        }
        "pg_stat_replication" => format!("({}) v", standbys(version_num)),
        _ => format!("pg_catalog.{name} v"),
    };
    format!("SELECT '{name}', pg_catalog.json_strip_nulls(pg_catalog.row_to_json(v))::text FROM {from}")
}

/// How far standbys are behind, in bytes and seconds. Where the role may not see positions, they are absent.
fn standbys(version_num: u32) -> String {
    let old = version_num < 100_000;
    let (difference, wal, position) = match old {
        true => ("pg_xlog_location_diff", "xlog", "location"),
        false => ("pg_wal_lsn_diff", "wal", "lsn"),
    };
    let received = if old { "pg_last_xlog_receive_location" } else { "pg_last_wal_receive_lsn" };
    let now = format!(
        "CASE WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.{received}() \
         ELSE pg_catalog.pg_current_{wal}_{position}() END"
    );
    let bytes = ["sent", "write", "flush", "replay"]
        .map(|at| format!("pg_catalog.{difference}({now}, {at}_{position}) AS {at}_lag_bytes"));
    let seconds = ["write", "flush", "replay"]
        .map(|at| format!("pg_catalog.date_part('epoch', {at}_lag) AS {at}_lag_s"));
    let seconds = if old { Vec::new() } else { seconds.to_vec() };
    format!(
        "SELECT application_name || ' ' || pid AS standby, {} FROM pg_catalog.pg_stat_replication",
        bytes.into_iter().chain(seconds).collect::<Vec<_>>().join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standbys_are_asked_for_by_the_names_of_their_major() {
        assert!(
            standbys(90_624).contains("pg_current_xlog_location()") && !standbys(90_624).contains("_lag)")
        );
        assert!(
            standbys(100_000).contains("pg_current_wal_lsn()") && standbys(100_000).contains("write_lag)")
        );
    }
}
