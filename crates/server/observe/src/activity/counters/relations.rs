//! Counters of tables and indexes: their sums, and the few with the most activity.

use std::collections::BTreeMap;

use pgdyno_core::observe::CounterSample;
use pgdyno_wire::{Session, WireError};

use super::{
    changes::{Reading, add_row, changes},
    views::{Levels, View},
};
use crate::activity::{
    prepared::Prepared,
    sql::{identifier, literal, names},
};

/// Relations of a view whose own counters are read, those with the most activity since their counters began.
const MOST_READ: usize = 100;
/// Relations of a view that are named in a sample, those that changed most.
const MOST_NAMED: usize = 5;
/// Key of the sums over all relations.
const ALL: &str = "all";

const LEVELS: Levels =
    Levels::Named(&["n_live_tup", "n_dead_tup", "n_mod_since_analyze", "n_ins_since_vacuum"]);

/// A view with the columns that make a relation active.
const VIEWS: [(View, &[&str]); 3] = [
    (
        View { name: "pg_stat_user_tables", keys: &["relation"], levels: LEVELS },
        &["seq_tup_read", "idx_tup_fetch", "n_tup_ins", "n_tup_upd", "n_tup_del"],
    ),
    (
        View { name: "pg_stat_user_indexes", keys: &["relation"], levels: LEVELS },
        &["idx_scan", "idx_tup_read"],
    ),
    (
        View { name: "pg_statio_user_tables", keys: &["relation"], levels: LEVELS },
        &["heap_blks_read", "heap_blks_hit", "idx_blks_read", "idx_blks_hit"],
    ),
];

/// Reads counters of tables and their indexes in the session's database, meant for every few seconds: the server looks
/// up every relation. Columns are `all n_tup_hot_upd` for the sum over relations, and
/// `public.pgbench_accounts n_tup_hot_upd` for some of them. Dropping a relation lowers sums, and counts as a reset.
#[derive(Debug, Clone)]
pub struct TableReader {
    query: Prepared,
    before: Option<Reading>,
}

impl TableReader {
    /// Asks for the columns of the views. `tables` are names without schema; all user tables if there are none.
    ///
    /// # Errors
    /// See [`Session::query`].
    pub fn new(session: &mut Session, tables: &[String]) -> Result<Self, WireError> {
        let views: Vec<_> = VIEWS.iter().map(|(view, _)| literal(view.name)).collect();
        let rows = session.query(&format!(
            "SELECT c.relname, a.attname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_attribute a \
             ON a.attrelid = c.oid WHERE c.relnamespace = 11 AND c.relname IN ({}) AND a.attnum > 0 \
             AND a.atttypid IN ('int8'::pg_catalog.regtype, 'float8'::pg_catalog.regtype) ORDER BY a.attnum",
            views.join(", ")
        ))?;
        let mut columns: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for row in &rows {
            if let Some((view, column)) = row.get(0).zip(row.get(1)) {
                columns.entry(view).or_default().push(column.to_owned());
            }
        }
        let queries = VIEWS
            .iter()
            .filter_map(|(view, active)| Some(query(view, active, columns.get(view.name)?, tables)));
        let sql = queries.collect::<Vec<_>>().join(" UNION ALL ");
        Ok(Self { query: Prepared::new("pgdyno_tables", sql), before: None })
    }

    /// Reads the views, and returns how they changed since the last time; `None` the first time.
    ///
    /// # Errors
    /// See [`Session::query`].
    pub fn read(&mut self, session: &mut Session) -> Result<Option<CounterSample>, WireError> {
        let mut now = Reading::default();
        for row in self.query.run(session)? {
            let view = row.get(0).and_then(|name| VIEWS.iter().find(|(view, _)| view.name == name));
            if let Some(((view, _), text)) = view.zip(row.get(1)) {
                add_row(&mut now, view, text);
            }
        }
        let changed = self.before.as_ref().map(|before| busiest(changes(before, &now)));
        self.before = Some(now);
        Ok(changed)
    }
}

/// When the counters of the database were reset last, those of a single relation included.
const RESET: &str = "SELECT d.stats_reset FROM pg_catalog.pg_stat_database d \
     WHERE d.datname = pg_catalog.current_database()";

/// The sums of a view in one row, then the relations with the most activity; all from one reading of the view.
fn query(view: &View, active: &[&str], columns: &[String], tables: &[String]) -> String {
    let list = |each: &dyn Fn(&str) -> String| {
        columns.iter().map(|column| each(&identifier(column))).collect::<Vec<_>>().join(", ")
    };
    let relation = match view.name {
        "pg_stat_user_indexes" => "schemaname || '.' || indexrelname",
        _ => "schemaname || '.' || relname",
    };
    let these =
        if tables.is_empty() { String::new() } else { format!("WHERE relname = ANY ({})", names(tables)) };
    let activity: Vec<_> = active.iter().map(|column| format!("coalesce({column}, 0)")).collect();
    format!(
        "(WITH v AS (SELECT {relation} AS relation, {} FROM pg_catalog.{name} {these}) \
         SELECT '{name}', pg_catalog.json_strip_nulls(pg_catalog.row_to_json(s))::text \
         FROM (SELECT '{ALL}'::text AS relation, ({RESET}) AS stats_reset, {} FROM v) s \
         UNION ALL SELECT '{name}', pg_catalog.json_strip_nulls(pg_catalog.row_to_json(t))::text \
         FROM (SELECT * FROM v ORDER BY {} DESC LIMIT {MOST_READ}) t)",
        list(&|column| column.to_owned()),
        list(&|column| format!("pg_catalog.sum({column}) AS {column}")),
        activity.join(" + "),
        name = view.name,
    )
}

/// Leaves the sums, and what concerns the relations that changed most.
fn busiest(mut sample: CounterSample) -> CounterSample {
    for (view, columns) in &mut sample.views {
        let active = VIEWS.iter().find(|(known, _)| known.name == view).map_or(&[][..], |(_, active)| active);
        let mut sums: BTreeMap<String, f64> = BTreeMap::new();
        for (name, change) in columns.iter() {
            if let Some((relation, column)) = name.rsplit_once(' ') {
                let counts = if active.contains(&column) { *change } else { 0.0 };
                *sums.entry(relation.to_owned()).or_default() += counts;
            }
        }
        sums.remove(ALL);
        let mut sums: Vec<_> = sums.into_iter().collect();
        sums.sort_by(|(a, x), (b, y)| y.total_cmp(x).then_with(|| a.cmp(b)));
        let named: Vec<_> = sums.into_iter().take(MOST_NAMED).map(|(relation, _)| relation).collect();
        let stays = |name: &str| {
            name.rsplit_once(' ').is_some_and(|(of, _)| of == ALL || named.iter().any(|one| one == of))
        };
        columns.retain(|name, _| stays(name));
        if let Some(levels) = sample.levels.get_mut(view) {
            levels.retain(|name, _| stays(name));
        }
    }
    // Of a view without changes there are no busiest relations.
    let views = &sample.views;
    for (view, levels) in &mut sample.levels {
        if !views.contains_key(view) {
            levels.retain(|name, _| name.rsplit_once(' ').is_some_and(|(of, _)| of == ALL));
        }
    }
    sample
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sums_and_the_busiest_few_are_kept() {
        let view = "pg_stat_user_tables".to_owned();
        let column = |table: usize| (format!("public.t {table} n_tup_upd"), table as f64);
        let mut changed: BTreeMap<String, f64> = (1..=9).map(column).collect();
        changed.insert("all n_tup_upd".to_owned(), 45.0);
        changed.insert("public.t 1 vacuum_count".to_owned(), 1e9);
        let dead = (1..=9).map(|table| (format!("public.t {table} n_dead_tup"), 1.0));
        let sample = CounterSample {
            views: BTreeMap::from([(view.clone(), changed)]),
            levels: BTreeMap::from([(view.clone(), dead.collect())]),
            reset: Vec::new(),
        };
        let kept = busiest(sample);
        let names: Vec<_> = kept.views[&view].keys().map(String::as_str).collect();
        let want = ["all", "public.t 5", "public.t 6", "public.t 7", "public.t 8", "public.t 9"];
        assert_eq!(names, want.map(|of| format!("{of} n_tup_upd")));
        assert_eq!(kept.levels[&view].len(), 5);
    }
}
