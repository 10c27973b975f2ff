//! Statements by their time, from the extension `pg_stat_statements`.

use std::{
    cmp::Reverse,
    collections::{HashMap, HashSet},
};

use pgdyno_core::{observe::StatementSample, statement::shown};
use pgdyno_wire::{Row, Session, WireError};

use crate::activity::{
    prepared::Prepared,
    sql::{OWN, databases, identifier},
};

/// Most statements that are read, those that took most of the time: the server keeps 5,000 by default.
const MOST_READ: usize = 10_000;
/// Most statements whose text is remembered as sent; with more, texts are sent again.
const MOST_SENT: usize = 100_000;
/// More queries of observers than this are not among the slowest.
const MOST_OWN: usize = 20;
/// Characters of a text that are kept.
const TEXT_CHARS: usize = 1_000;

/// What is needed to see statements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatementSupport {
    /// The extension is in this schema of the session's database, and its library is loaded.
    Ready {
        /// The schema.
        schema: String,
    },
    /// The library is loaded, but the extension is not in the session's database: `CREATE EXTENSION
    /// pg_stat_statements`.
    NotCreated,
    /// The server would have to be started with `pg_stat_statements` in `shared_preload_libraries`.
    NotLoaded,
    /// The server's programs lack it: it comes with the package of contributed modules.
    NotInstalled,
}

impl StatementSupport {
    /// What to do, for the user; `None` if nothing is needed.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Ready { .. } => None,
            Self::NotCreated => Some("run CREATE EXTENSION pg_stat_statements in the database"),
            Self::NotLoaded => Some("start the server with shared_preload_libraries = pg_stat_statements"),
            Self::NotInstalled => Some("install PostgreSQL's contributed modules (postgresql-contrib)"),
        }
    }

    /// Finds out what is needed.
    ///
    /// # Errors
    /// See [`Session::query`].
    pub fn find(session: &mut Session) -> Result<Self, WireError> {
        let rows = session.query(
            "SELECT (SELECT n.nspname FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_namespace n \
             ON n.oid = e.extnamespace WHERE e.extname = 'pg_stat_statements'), \
             EXISTS (SELECT FROM pg_catalog.pg_settings WHERE name = 'pg_stat_statements.max'), \
             EXISTS (SELECT FROM pg_catalog.pg_available_extensions WHERE name = 'pg_stat_statements')",
        )?;
        let yes = |column| rows.first().and_then(|row| row.get(column)) == Some("t");
        let schema = rows.first().and_then(|row| row.get(0));
        Ok(match (schema, yes(1), yes(2)) {
            (Some(schema), true, _) => Self::Ready { schema: schema.to_owned() },
            (None, true, _) => Self::NotCreated,
            (Some(_), false, _) | (None, false, true) => Self::NotLoaded,
            (None, false, false) => Self::NotInstalled,
        })
    }
}

/// Reads statements, meant for every few seconds and at marks.
#[derive(Debug, Clone)]
pub struct StatementReader {
    view: String,
    query: Prepared,
    before: Option<HashMap<i64, Numbers>>,
    reset: Option<String>,
    /// Query for the time of the last reset, from 14 on.
    last_reset: Option<String>,
    sent: HashSet<i64>,
    /// Queries of observers.
    own: HashSet<i64>,
}

/// What a reading of statements says.
#[derive(Debug, Clone, PartialEq)]
pub enum StatementChange {
    /// It is the first one.
    First,
    /// The statements that took most of the time since, the slowest first.
    Since(Vec<StatementSample>),
    /// The statistics were reset since, so nothing is known.
    Reset,
}

/// The numbers of a statement, over all roles and databases.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Numbers {
    calls: u64,
    total_ms: f64,
    rows: u64,
    blocks_hit: u64,
    blocks_read: u64,
    wal_bytes: Option<u64>,
}

impl StatementReader {
    /// Reads the statements of these databases, or of the current one if none is named, from the extension in this
    /// schema.
    ///
    /// # Errors
    /// See [`Session::query`].
    pub fn new(session: &mut Session, schema: &str, of: &[String]) -> Result<Self, WireError> {
        let schema = identifier(schema);
        let view = format!("{schema}.pg_stat_statements");
        let columns: HashSet<String> = session
            .query(&format!(
                "SELECT attname FROM pg_catalog.pg_attribute WHERE attrelid = '{}'::pg_catalog.regclass",
                view.replace('\'', "''")
            ))?
            .iter()
            .filter_map(|row| row.get(0).map(str::to_owned))
            .collect();
        // Before 13 it was the only time: there was no planning time.
        let time = if columns.contains("total_exec_time") { "total_exec_time" } else { "total_time" };
        let wal = if columns.contains("wal_bytes") {
            "pg_catalog.sum(wal_bytes)"
        } else {
            "NULL::pg_catalog.numeric"
        };
        let sql = format!(
            "SELECT queryid, pg_catalog.sum(calls), pg_catalog.sum({time}), pg_catalog.sum(rows), \
             pg_catalog.sum(shared_blks_hit), pg_catalog.sum(shared_blks_read), {wal} FROM {view}(false) \
             WHERE queryid IS NOT NULL AND dbid IN (SELECT d.oid FROM pg_catalog.pg_database d \
             WHERE d.datname = ANY ({})) GROUP BY queryid ORDER BY 3 DESC LIMIT {MOST_READ}",
            databases(of)
        );
        let info = format!("{schema}.pg_stat_statements_info");
        let has_info = session
            .value(&format!("SELECT pg_catalog.to_regclass('{}') IS NOT NULL", info.replace('\'', "''")))?;
        let last_reset =
            (has_info.as_deref() == Some("t")).then(|| format!("{OWN} SELECT stats_reset FROM {info}"));
        Ok(Self {
            view,
            query: Prepared::new("pgdyno_statements", sql),
            before: None,
            reset: None,
            last_reset,
            sent: HashSet::new(),
            own: HashSet::new(),
        })
    }

    /// Reads the statements, and returns the `top` ones by the time they took since the last reading, without those of
    /// observers. Texts come with the first sample of a statement.
    ///
    /// # Errors
    /// See [`Session::query`].
    pub fn read(&mut self, session: &mut Session, top: usize) -> Result<StatementChange, WireError> {
        let reset = match &self.last_reset {
            Some(sql) => session.value(sql)?,
            None => None,
        };
        let now: HashMap<i64, Numbers> = self.query.run(session)?.iter().filter_map(numbers).collect();
        let before = self.before.replace(now.clone());
        let was_reset = std::mem::replace(&mut self.reset, reset.clone()) != reset;
        let Some(before) = before else { return Ok(StatementChange::First) };
        // Without the time of a reset: every statement seen before is gone or was counted from 0 again.
        let vanished = self.last_reset.is_none()
            && !before.is_empty()
            && !before.iter().any(|(id, old)| now.get(id).is_some_and(|new| new.since(old).is_some()));
        if was_reset || vanished {
            return Ok(StatementChange::Reset);
        }
        let mut samples = slowest(&before, &now, top.saturating_add(MOST_OWN));
        self.add_texts(session, &mut samples)?;
        samples.retain(|one| !self.own.contains(&one.query_id));
        samples.truncate(top);
        Ok(StatementChange::Since(samples))
    }

    /// Adds the texts of statements that had none yet. The server reads its file of texts for this.
    fn add_texts(&mut self, session: &mut Session, samples: &mut [StatementSample]) -> Result<(), WireError> {
        let new: Vec<String> = samples
            .iter()
            .map(|one| one.query_id)
            .filter(|id| !self.sent.contains(id))
            .map(|id| id.to_string())
            .collect();
        if new.is_empty() {
            return Ok(());
        }
        let rows = session.query(&format!(
            "{OWN} SELECT queryid, pg_catalog.min(pg_catalog.left(query, {})) FROM {}(true) \
             WHERE queryid IN ({}) GROUP BY 1",
            2 * TEXT_CHARS,
            self.view,
            new.join(", ")
        ))?;
        if self.sent.len() > MOST_SENT {
            self.sent.clear();
        }
        for row in &rows {
            let Some((id, text)) = row.parse::<i64>(0).zip(row.get(1)) else { continue };
            self.sent.insert(id);
            if text.contains(OWN) {
                self.own.insert(id);
            }
            if let Some(sample) = samples.iter_mut().find(|one| one.query_id == id) {
                sample.text = Some(shown(text, TEXT_CHARS));
            }
        }
        Ok(())
    }
}

impl Numbers {
    /// What was added since; `None` if something fell, because the statement was forgotten meanwhile.
    fn since(&self, old: &Self) -> Option<Self> {
        Some(Self {
            calls: self.calls.checked_sub(old.calls)?,
            total_ms: Some(self.total_ms - old.total_ms).filter(|ms| *ms >= 0.0)?,
            rows: self.rows.checked_sub(old.rows)?,
            blocks_hit: self.blocks_hit.checked_sub(old.blocks_hit)?,
            blocks_read: self.blocks_read.checked_sub(old.blocks_read)?,
            wal_bytes: self.wal_bytes.zip(old.wal_bytes).map(|(new, old)| new.saturating_sub(old)),
        })
    }
}

fn numbers(row: &Row) -> Option<(i64, Numbers)> {
    let numbers = Numbers {
        calls: row.parse(1)?,
        total_ms: row.parse(2)?,
        rows: row.parse(3)?,
        blocks_hit: row.parse(4)?,
        blocks_read: row.parse(5)?,
        wal_bytes: row.parse(6),
    };
    Some((row.parse(0)?, numbers))
}

/// The statements with most time in between. One that was not there before is new, if all statements are read.
fn slowest(before: &HashMap<i64, Numbers>, now: &HashMap<i64, Numbers>, top: usize) -> Vec<StatementSample> {
    let all = before.len() < MOST_READ;
    let nothing = Numbers { wal_bytes: Some(0), ..Numbers::default() };
    let since = |(id, new): (&i64, &Numbers)| {
        let old = before.get(id).or_else(|| all.then_some(&nothing))?;
        let since = new.since(old).filter(|since| since.calls > 0 || since.total_ms > 0.0)?;
        Some((*id, since))
    };
    let mut changed: Vec<_> = now.iter().filter_map(since).collect();
    changed.sort_by(|(a, x), (b, y)| y.total_ms.total_cmp(&x.total_ms).then(Reverse(a).cmp(&Reverse(b))));
    changed.into_iter().take(top).map(|(query_id, since)| sample(query_id, &since)).collect()
}

fn sample(query_id: i64, since: &Numbers) -> StatementSample {
    StatementSample {
        query_id,
        text: None,
        calls: since.calls,
        total_ms: since.total_ms,
        rows: since.rows,
        blocks_hit: since.blocks_hit,
        blocks_read: since.blocks_read,
        wal_bytes: since.wal_bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn took(calls: u64, total_ms: f64) -> Numbers {
        Numbers { calls, total_ms, ..Numbers::default() }
    }

    #[test]
    fn the_slowest_come_first_and_what_fell_does_not_count() {
        let before =
            HashMap::from([(1, took(10, 100.0)), (2, took(10, 1.0)), (3, took(5, 5.0)), (4, took(9, 9.0))]);
        let now = HashMap::from([
            (1, took(11, 101.0)),
            (2, took(20, 51.0)),
            (3, took(1, 7.0)),
            (4, took(9, 9.0)),
            (5, took(1, 3.0)),
        ]);
        let ids =
            |top| slowest(&before, &now, top).iter().map(|one| (one.query_id, one.calls)).collect::<Vec<_>>();
        assert_eq!(ids(9), [(2, 10), (5, 1), (1, 1)]);
        assert_eq!(ids(1), [(2, 10)]);
    }
}
