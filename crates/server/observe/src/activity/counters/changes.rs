//! What changed between two readings.

use std::collections::BTreeMap;

use pgdyno_core::observe::CounterSample;
use serde_json::{Number, Value};

use super::views::View;

/// Key of rows that belong to no database.
const SHARED: &str = "shared objects";
/// Column with the time of the last reset.
const RESET: &str = "stats_reset";

/// A reading of views: by view, then by the key of a row.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Reading(BTreeMap<&'static str, BTreeMap<String, Counted>>);

/// The numbers of a row.
#[derive(Debug, Clone, Default, PartialEq)]
struct Counted {
    reset: Option<String>,
    counters: BTreeMap<String, Number>,
    levels: BTreeMap<String, f64>,
}

/// Adds a row of a view, as JSON. What is not JSON, or has no numbers, adds nothing.
pub(super) fn add_row(reading: &mut Reading, view: &View, row: &str) {
    let Ok(Value::Object(columns)) = serde_json::from_str(row) else { return };
    let key = |name: &&str| columns.get(*name).and_then(Value::as_str).unwrap_or(SHARED);
    let key = view.keys.iter().map(key).collect::<Vec<_>>().join("/");
    let mut counted = Counted::default();
    for (name, value) in &columns {
        match value {
            Value::String(text) if name == RESET => counted.reset = Some(text.clone()),
            Value::Number(number) if view.is_level(name) => {
                counted.levels.extend(number.as_f64().map(|level| (name.clone(), level)));
            }
            Value::Number(number) => {
                counted.counters.insert(name.clone(), number.clone());
            }
            _ => {}
        }
    }
    reading.0.entry(view.name).or_default().insert(key, counted);
}

/// How all views changed. A view of which a row was reset, or a counter fell, changed in no known way; a row that was
/// not there before did not change.
pub(super) fn changes(before: &Reading, now: &Reading) -> CounterSample {
    let mut sample = CounterSample::default();
    let nothing = BTreeMap::new();
    for (view, rows) in &now.0 {
        let earlier = before.0.get(view).unwrap_or(&nothing);
        match grown(earlier, rows) {
            None => sample.reset.push((*view).to_owned()),
            Some(changed) if changed.is_empty() => {}
            Some(changed) => {
                sample.views.insert((*view).to_owned(), changed);
            }
        }
        let levels: BTreeMap<_, _> = rows.iter().flat_map(|(key, row)| levels(key, row)).collect();
        if !levels.is_empty() {
            sample.levels.insert((*view).to_owned(), levels);
        }
    }
    sample
}

fn levels<'a>(key: &'a str, row: &'a Counted) -> impl Iterator<Item = (String, f64)> + 'a {
    row.levels.iter().map(move |(column, level)| (name(key, column), *level))
}

fn name(key: &str, column: &str) -> String {
    if key.is_empty() { column.to_owned() } else { format!("{key} {column}") }
}

/// How much the counters of a view grew, without those that did not; `None` if there was a reset.
fn grown(
    before: &BTreeMap<String, Counted>,
    now: &BTreeMap<String, Counted>,
) -> Option<BTreeMap<String, f64>> {
    let mut changed = BTreeMap::new();
    for (key, row) in now {
        let Some(earlier) = before.get(key) else { continue };
        if earlier.reset != row.reset {
            return None;
        }
        for (column, number) in &row.counters {
            let Some(old) = earlier.counters.get(column) else { continue };
            match growth(old, number)? {
                0.0 => {}
                growth => {
                    changed.insert(name(key, column), growth);
                }
            }
        }
    }
    Some(changed)
}

/// Exact also where counters are beyond the precision of floating point; `None` if it fell.
fn growth(before: &Number, now: &Number) -> Option<f64> {
    let grown = match (before.as_i128(), now.as_i128()) {
        (Some(before), Some(now)) => (now - before) as f64,
        _ => now.as_f64()? - before.as_f64()?,
    };
    (grown >= 0.0).then_some(grown)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::activity::counters::views::Levels;

    const DATABASE: View =
        View { name: "pg_stat_database", keys: &["datname"], levels: Levels::Named(&["numbackends"]) };
    const WAL: View = View { name: "pg_stat_wal", keys: &[], levels: Levels::Named(&[]) };
    const IO: View =
        View { name: "pg_stat_io", keys: &["backend_type", "object"], levels: Levels::Named(&["op_bytes"]) };

    fn reading(rows: &[(&View, &str)]) -> Reading {
        let mut reading = Reading::default();
        rows.iter().for_each(|(view, row)| add_row(&mut reading, view, row));
        reading
    }

    #[test]
    fn counters_change_and_levels_are_reported() {
        let before = reading(&[
            (
                &DATABASE,
                r#"{"datid":"5","datname":"x","numbackends":3,"xact_commit":10,"blks_hit":7,"a":true}"#,
            ),
            (&DATABASE, r#"{"datid":"0","xact_commit":1}"#),
            (
                &IO,
                r#"{"backend_type":"client backend","object":"wal","writes":9007199254740993,"op_bytes":8192}"#,
            ),
        ]);
        let now = reading(&[
            (
                &DATABASE,
                r#"{"datid":"5","datname":"x","numbackends":2,"xact_commit":15,"blks_hit":7,"new":4}"#,
            ),
            (&DATABASE, r#"{"datid":"0","xact_commit":3}"#),
            (&DATABASE, r#"{"datid":"9","datname":"y","xact_commit":3}"#),
            (
                &IO,
                r#"{"backend_type":"client backend","object":"wal","writes":9007199254740994,"op_bytes":8192}"#,
            ),
        ]);
        let sample = changes(&before, &now);
        let of = |pairs: &[(&str, f64)]| pairs.iter().map(|(name, x)| ((*name).to_owned(), *x)).collect();
        let database: BTreeMap<String, f64> =
            of(&[("x xact_commit", 5.0), ("shared objects xact_commit", 2.0)]);
        assert_eq!(sample.views["pg_stat_database"], database);
        assert_eq!(sample.views["pg_stat_io"], of(&[("client backend/wal writes", 1.0)]));
        assert_eq!(sample.levels["pg_stat_database"], of(&[("x numbackends", 2.0)]));
        assert!(sample.reset.is_empty());
    }

    #[test]
    fn after_a_reset_nothing_is_claimed() {
        let at = |reset: &str, records: u64| {
            reading(&[
                (&WAL, &format!(r#"{{"wal_records":{records},"wal_fpi":9{reset}}}"#) as &str),
                (&DATABASE, &format!(r#"{{"datname":"x","xact_commit":{records}}}"#)),
            ])
        };
        let reset = |before: &Reading, now: &Reading| {
            let sample = changes(before, now);
            assert!(sample.reset.iter().all(|view| !sample.views.contains_key(view)));
            sample.reset
        };
        let said = r#","stats_reset":"2026-11-26T12:00:00+00:00""#;
        assert_eq!(reset(&at("", 5), &at(said, 9)), ["pg_stat_wal"], "though it grew");
        assert_eq!(reset(&at("", 5), &at("", 4)), ["pg_stat_database", "pg_stat_wal"], "a fall, or a wrap");
        assert!(reset(&at(said, 5), &at(said, 5)).is_empty());
    }

    #[test]
    fn what_is_no_row_adds_nothing() {
        assert_eq!(reading(&[(&WAL, "{"), (&WAL, "[1]"), (&WAL, "")]), Reading::default());
    }

    proptest! {
        #[test]
        fn a_growth_is_exact_or_none(before in any::<i64>(), grown in 0..1_i64 << 50) {
            let number = |x: i64| Number::from(x);
            if let Some(now) = before.checked_add(grown) {
                prop_assert_eq!(growth(&number(before), &number(now)), Some(grown as f64));
                prop_assert_eq!(growth(&number(now), &number(before)).is_some(), grown == 0);
            }
        }
    }
}
