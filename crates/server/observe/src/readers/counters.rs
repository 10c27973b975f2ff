//! Counters of statistics views: of the server, and of tables.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use crate::activity::{CounterReader, Pace, TableReader};
use pgdyno_core::observe::What;
use pgdyno_wire::{Session, WireError};

use super::reader::{Say, Server, ServerReader};
use crate::totals::Counted;

/// Time between two readings of the server's counters.
const SERVER_EVERY: Duration = Duration::from_secs(1);
/// Time between two readings of tables' counters: the server looks up every relation.
const TABLES_EVERY: Duration = Duration::from_secs(10);

/// Reads the counters of the server and of the databases concerned.
pub(super) struct Counters {
    server: Server,
    counted: Arc<Counted>,
    reader: Option<CounterReader>,
    /// When they were read last.
    since: Instant,
    /// Number of unreadable views that were reported.
    reported: usize,
}

impl Counters {
    pub(super) fn new(server: Server, counted: Arc<Counted>) -> Self {
        Self { server, counted, reader: None, since: Instant::now(), reported: 0 }
    }
}

impl ServerReader for Counters {
    fn name(&self) -> &'static str {
        "counters"
    }

    fn pace(&self) -> Pace {
        Pace::new(SERVER_EVERY)
    }

    fn reads_at_edges(&self) -> bool {
        true
    }

    fn read(&mut self, session: &mut Session, _own: &[i32], say: &mut Say<'_>) -> Result<(), WireError> {
        let reader = match &mut self.reader {
            Some(reader) => reader,
            none => {
                none.insert(CounterReader::new(session, self.server.version_num, &self.server.databases)?)
            }
        };
        let changed = reader.read(session)?;
        self.counted.add(changed.as_ref());
        let since = std::mem::replace(&mut self.since, Instant::now());
        if let Some(counters) = changed {
            say(since.elapsed().as_secs_f64(), What::Counters(counters));
        }
        for (view, why) in &reader.unreadable()[self.reported..] {
            say(0.0, What::Gap { missing: view.clone(), why: why.clone() });
        }
        self.reported = reader.unreadable().len();
        Ok(())
    }
}

/// Reads the counters of tables and indexes in the session's database.
pub(super) struct Tables {
    reader: Option<TableReader>,
    since: Instant,
}

impl Tables {
    pub(super) fn new() -> Self {
        Self { reader: None, since: Instant::now() }
    }
}

impl ServerReader for Tables {
    fn name(&self) -> &'static str {
        "tables"
    }

    fn pace(&self) -> Pace {
        Pace::new(TABLES_EVERY)
    }

    fn reads_at_edges(&self) -> bool {
        true
    }

    fn read(&mut self, session: &mut Session, _own: &[i32], say: &mut Say<'_>) -> Result<(), WireError> {
        let reader = match &mut self.reader {
            Some(reader) => reader,
            none => none.insert(TableReader::new(session, &[])?),
        };
        let changed = reader.read(session)?;
        let since = std::mem::replace(&mut self.since, Instant::now());
        if let Some(counters) = changed.filter(|sample| !sample.views.is_empty() || !sample.reset.is_empty())
        {
            say(since.elapsed().as_secs_f64(), What::Counters(counters));
        }
        Ok(())
    }
}
