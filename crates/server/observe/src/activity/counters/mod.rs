//! Counters of statistics views, read by name: what a new major adds appears without code.

mod changes;
mod relations;
mod views;

pub use relations::TableReader;

use pgdyno_core::observe::CounterSample;
use pgdyno_wire::{Session, WireError};

use changes::{Reading, add_row, changes};
use views::View;

use crate::activity::prepared::Prepared;

/// Name of the prepared statement.
const NAME: &str = "pgdyno_counters";

/// Reads the statistics views of a server, meant for once a second: `pg_stat_database`, `pg_stat_bgwriter`,
/// `pg_stat_checkpointer`, `pg_stat_wal`, `pg_stat_io`, `pg_stat_slru`, `pg_stat_archiver` and `pg_stat_replication`,
/// as far as the server has them. One statement reads all: servers before 15 read a file of statistics for each.
#[derive(Debug, Clone)]
pub struct CounterReader {
    views: Vec<(View, String)>,
    query: Prepared,
    before: Option<Reading>,
    unreadable: Vec<(String, String)>,
}

impl CounterReader {
    /// Asks which views the server has. `of` are the databases concerned; the current one if none is named. Counters of
    /// objects that all databases share are read in any case.
    ///
    /// # Errors
    /// See [`Session::query`].
    pub fn new(session: &mut Session, version_num: u32, of: &[String]) -> Result<Self, WireError> {
        let views = views::present(session, version_num, of)?;
        Ok(Self { query: together(&views), views, before: None, unreadable: Vec::new() })
    }

    /// Reads the views, and returns how they changed since the last time; `None` the first time.
    ///
    /// # Errors
    /// See [`Session::query`]. A view that the role may not read is no error: see
    /// [`unreadable`](CounterReader::unreadable).
    pub fn read(&mut self, session: &mut Session) -> Result<Option<CounterSample>, WireError> {
        let rows = match self.query.run(session) {
            Err(WireError::Server(error)) if is_about_the_view(&error.code) => {
                self.leave_out(session)?;
                self.query.run(session)?
            }
            rows => rows?,
        };
        let mut now = Reading::default();
        for row in &rows {
            let view = row.get(0).and_then(|name| self.views.iter().find(|(view, _)| view.name == name));
            if let Some(((view, _), text)) = view.zip(row.get(1)) {
                add_row(&mut now, view, text);
            }
        }
        let changed = self.before.as_ref().map(|before| changes(before, &now));
        self.before = Some(now);
        Ok(changed)
    }

    /// The views that cannot be read, each with the reason.
    pub fn unreadable(&self) -> &[(String, String)] {
        &self.unreadable
    }

    /// Finds out which views cannot be read, and continues without them.
    fn leave_out(&mut self, session: &mut Session) -> Result<(), WireError> {
        for (view, sql) in std::mem::take(&mut self.views) {
            match session.query(&sql) {
                Ok(_) => self.views.push((view, sql)),
                Err(WireError::Server(error)) => {
                    self.unreadable.push((view.name.to_owned(), error.to_string()))
                }
                Err(error) => return Err(error),
            }
        }
        self.query = together(&self.views);
        Ok(())
    }
}

/// Whether an error will come again: of class 42 (missing privilege, unknown column). A timeout will not.
fn is_about_the_view(code: &str) -> bool {
    code.starts_with("42")
}

fn together(views: &[(View, String)]) -> Prepared {
    let sql: Vec<&str> = views.iter().map(|(_, sql)| sql.as_str()).collect();
    let sql =
        if sql.is_empty() { "SELECT NULL, NULL WHERE false".to_owned() } else { sql.join(" UNION ALL ") };
    Prepared::new(NAME, sql)
}
