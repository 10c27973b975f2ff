//! Commands that report how far they are.

use pgdyno_core::observe::ProgressSample;
use pgdyno_wire::{Session, WireError};
use serde_json::{Map, Value};

use crate::activity::prepared::Prepared;

/// Prefix of the views.
const VIEW: &str = "pg_stat_progress_";
/// Most commands that are named.
const MOST_NAMED: usize = 50;

/// Names of columns with units done and with all units, and what they are. Of a command that counts in several ways the
/// first pair with a total counts.
const UNITS: [(&str, &str, &str); 8] = [
    ("blocks_done", "blocks_total", "blocks"),
    ("tuples_done", "tuples_total", "tuples"),
    ("heap_blks_scanned", "heap_blks_total", "blocks"),
    ("sample_blks_scanned", "sample_blks_total", "blocks"),
    ("bytes_processed", "bytes_total", "bytes"),
    ("backup_streamed", "backup_total", "bytes"),
    ("heap_tuples_written", "", "tuples"),
    ("tuples_processed", "", "tuples"),
];

/// Reads all progress views that the server has (9.6 and later), meant for once a second.
#[derive(Debug, Clone)]
pub struct ProgressReader(Option<Prepared>);

impl ProgressReader {
    /// Asks which views the server has.
    ///
    /// # Errors
    /// See [`Session::query`].
    pub fn new(session: &mut Session) -> Result<Self, WireError> {
        let rows = session.query(&format!(
            "SELECT c.relname, (SELECT pg_catalog.count(*) FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid \
             AND a.attname = 'relid') FROM pg_catalog.pg_class c WHERE c.relnamespace = 11 AND c.relkind = 'v' \
             AND c.relname LIKE '{}%' ORDER BY 1",
            VIEW.replace('_', "\\_")
        ))?;
        let queries: Vec<_> =
            rows.iter().filter_map(|row| Some(query(row.get(0)?, row.get(1)? != "0"))).collect();
        Ok(Self((!queries.is_empty()).then(|| Prepared::new("pgdyno_progress", queries.join(" UNION ALL ")))))
    }

    /// Reads the running commands; none before 9.6.
    ///
    /// # Errors
    /// See [`Session::query`].
    pub fn read(&mut self, session: &mut Session) -> Result<Vec<ProgressSample>, WireError> {
        let Some(query) = &mut self.0 else { return Ok(Vec::new()) };
        let rows = query.run(session)?;
        let sample = |row: &pgdyno_wire::Row| {
            let Ok(Value::Object(columns)) = serde_json::from_str(row.get(1)?) else { return None };
            sample(row.get(0)?, row.get(2).map(str::to_owned), &columns)
        };
        Ok(rows.iter().filter_map(sample).take(MOST_NAMED).collect())
    }
}

/// The name of a relation is known in its own database only.
fn query(view: &str, has_relation: bool) -> String {
    let relation = match has_relation {
        true => {
            "CASE WHEN v.datname = pg_catalog.current_database() AND v.relid <> 0 \
                 THEN v.relid::pg_catalog.regclass::text END"
        }
        false => "NULL::text",
    };
    format!("SELECT '{view}', pg_catalog.row_to_json(v)::text, {relation} FROM pg_catalog.{view} v")
}

fn sample(view: &str, relation: Option<String>, columns: &Map<String, Value>) -> Option<ProgressSample> {
    let text = |name: &str| columns.get(name).and_then(Value::as_str).map(str::to_owned);
    let number = |name: &str| columns.get(name).and_then(Value::as_u64);
    let kind = view.strip_prefix(VIEW).unwrap_or(view);
    let (done, total, unit) = units(&number);
    Some(ProgressSample {
        pid: i32::try_from(columns.get("pid")?.as_i64()?).ok()?,
        command: text("command").unwrap_or_else(|| command(kind)),
        relation,
        phase: text("phase").unwrap_or_default(),
        done,
        total,
        unit: unit.map(str::to_owned),
    })
}

/// The command of a view that does not say it.
fn command(kind: &str) -> String {
    match kind {
        "basebackup" => "BASE BACKUP".to_owned(),
        kind => kind.replace('_', " ").to_uppercase(),
    }
}

/// Units done, all units, and what they are.
fn units(number: &impl Fn(&str) -> Option<u64>) -> (Option<u64>, Option<u64>, Option<&'static str>) {
    let known = UNITS
        .iter()
        .map(|(done, total, unit)| (number(done), number(total).filter(|total| *total > 0), *unit));
    let with_total = known.clone().find(|(done, total, _)| done.is_some() && total.is_some());
    let any = with_total.or_else(|| known.clone().find(|(done, ..)| done.is_some_and(|done| done > 0)));
    any.map_or((None, None, None), |(done, total, unit)| (done, total, Some(unit)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(view: &str, row: &str) -> ProgressSample {
        let Ok(Value::Object(columns)) = serde_json::from_str(row) else { panic!("{row} is no row") };
        sample(view, Some("t".to_owned()), &columns).expect("it has a process")
    }

    #[test]
    fn commands_report_their_progress() {
        let index = of(
            "pg_stat_progress_create_index",
            r#"{"pid":7,"command":"REINDEX","phase":"building index: scanning table","blocks_done":5,
                "blocks_total":9,"tuples_done":0,"tuples_total":0}"#,
        );
        assert_eq!((index.command.as_str(), index.done, index.total), ("REINDEX", Some(5), Some(9)));
        let vacuum = of(
            "pg_stat_progress_vacuum",
            r#"{"pid":7,"phase":"scanning heap","heap_blks_total":100,"heap_blks_scanned":30,"heap_blks_vacuumed":0}"#,
        );
        assert_eq!((vacuum.command.as_str(), vacuum.done, vacuum.total), ("VACUUM", Some(30), Some(100)));
        let copy = of(
            "pg_stat_progress_copy",
            r#"{"pid":7,"command":"COPY FROM","bytes_processed":4096,"bytes_total":0,"tuples_processed":3}"#,
        );
        assert_eq!((copy.done, copy.total, copy.unit.as_deref()), (Some(4096), None, Some("bytes")));
        let backup = of("pg_stat_progress_basebackup", r#"{"pid":7,"phase":"x","backup_total":null}"#);
        assert_eq!((backup.command.as_str(), backup.done, backup.unit), ("BASE BACKUP", None, None));
        assert_eq!(of("pg_stat_progress_repack", r#"{"pid":1}"#).command, "REPACK");
    }
}
