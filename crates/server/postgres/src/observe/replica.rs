//! Distinguishes primaries from standbys, and waits for replication.

use std::time::{Duration, Instant};

use pgdyno_core::{problem::Problem, stop::Stop};

use pgdyno_wire::{Session, WireError};

/// Interval between two checks of a standby.
const LOOKS: Duration = Duration::from_millis(100);
/// Longest time without any progress of a standby.
const PATIENCE: Duration = Duration::from_secs(60);

/// Identity of a running server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    /// Whether the server is a standby.
    pub standby: bool,
    /// Start time. No two servers that replicate each other start in the same microsecond.
    started: Option<String>,
}

impl Instance {
    /// Identifies the server that a session is connected to.
    ///
    /// # Errors
    /// The session is lost.
    pub fn of(session: &mut Session) -> Result<Self, WireError> {
        let standby = session.value("SELECT pg_catalog.pg_is_in_recovery()")?.as_deref() == Some("t");
        let started = session.value(
            "SELECT pg_catalog.date_part('epoch', pg_catalog.pg_postmaster_start_time())::numeric(20,6)",
        );
        Ok(Self { standby, started: started? })
    }

    /// Whether the two are different servers.
    pub fn is_other_than(&self, other: &Self) -> bool {
        self != other
    }
}

/// Waits until a standby has replayed everything that its primary has written.
///
/// # Errors
/// A stop is requested, a session is lost, or the standby makes no progress for a minute.
pub fn wait_for_replay(
    primary: &mut Session,
    standby: &mut Session,
    version_num: u32,
    stop: &Stop,
) -> Result<(), Problem> {
    let failed = |error: WireError| error.into_problem("could not wait for the standby");
    let (written, replayed, diff) = match version_num {
        0..100_000 => ("pg_current_xlog_location", "pg_last_xlog_replay_location", "pg_xlog_location_diff"),
        _ => ("pg_current_wal_lsn", "pg_last_wal_replay_lsn", "pg_wal_lsn_diff"),
    };
    let target =
        primary.value(&format!("SELECT pg_catalog.{written}()")).map_err(failed)?.unwrap_or_default();
    let behind = format!(
        "SELECT GREATEST(0, COALESCE(pg_catalog.{diff}('{target}', pg_catalog.{replayed}()), 1))::bigint"
    );
    let (mut nearest, mut since) = (u64::MAX, Instant::now());
    loop {
        let left =
            standby.value(&behind).map_err(failed)?.and_then(|text| text.parse().ok()).unwrap_or(u64::MAX);
        if left == 0 {
            return Ok(());
        }
        if left < nearest {
            (nearest, since) = (left, Instant::now());
        }
        if stop.requested() {
            return Err(Problem::could_not("stopped while waiting for the standby"));
        }
        if since.elapsed() > PATIENCE {
            return Err(Problem::could_not(format!(
                "could not wait for the standby: it is {left} bytes of WAL behind and has replayed none for {} s",
                PATIENCE.as_secs()
            ))
            .hint("is it a standby of the server that --admin-dsn names, and is its replication working?"));
        }
        std::thread::sleep(LOOKS);
    }
}
