//! Rates from what readers return.

use std::collections::BTreeMap;

use pgdyno_core::observe::{CounterSample, ProgressSample, WalPosition};

use crate::reading::{DatabaseRates, Progress, Standby, WalRates, WriteRates};

/// The sum of a column over the rows of a view: `postgres xact_commit` and `xact_commit` alike. `None` if the view was
/// reset, or the server does not have it.
fn sum(counters: &CounterSample, view: &str, column: &str) -> Option<f64> {
    if counters.reset.iter().any(|reset| reset == view) {
        return None;
    }
    let is_column = |name: &str| name.rsplit_once(' ').map_or(name, |(_, column)| column) == column;
    let columns = counters.views.get(view);
    Some(
        columns
            .into_iter()
            .flatten()
            .filter(|(name, _)| is_column(name))
            .map(|(_, change)| change)
            .fold(0.0, |sum, change| sum + change),
    )
}

/// Rates over all databases; `None` if their counters were reset.
pub(crate) fn databases(counters: &CounterSample, over_s: f64) -> Option<DatabaseRates> {
    let per_s = |column| Some(sum(counters, "pg_stat_database", column)? / over_s);
    Some(DatabaseRates {
        commits_per_s: per_s("xact_commit")?,
        rollbacks_per_s: per_s("xact_rollback")?,
        blocks_hit_per_s: per_s("blks_hit")?,
        blocks_read_per_s: per_s("blks_read")?,
        temp_bytes_per_s: per_s("temp_bytes")?,
        deadlocks_per_s: per_s("deadlocks")?,
    })
}

/// The log's rates between two positions. `None` for its counters before 14.
pub(crate) fn wal(
    then: &WalPosition,
    now: &WalPosition,
    counters: Option<&CounterSample>,
    version_num: u32,
    over_s: f64,
) -> WalRates {
    let moved = now.position_bytes.zip(then.position_bytes).and_then(|(now, then)| now.checked_sub(then));
    let counted = counters.filter(|_| version_num >= 140_000);
    let per_s = |column| Some(sum(counted?, "pg_stat_wal", column)? / over_s);
    WalRates {
        at: *now,
        bytes_per_s: moved.map(|bytes| bytes as f64 / over_s),
        records_per_s: per_s("wal_records"),
        full_page_images_per_s: per_s("wal_fpi"),
        buffers_full_per_s: per_s("wal_buffers_full"),
    }
}

/// Adds what the checkpointer and others did since the last reading. Before 17 it was in `pg_stat_bgwriter`.
pub(crate) fn writes(
    sums: &WriteRates,
    counters: &CounterSample,
    version_num: u32,
    over_s: f64,
) -> WriteRates {
    let of = |view, column| sum(counters, view, column).unwrap_or(0.0);
    let bgwriter = |column| of("pg_stat_bgwriter", column);
    let checkpointer = |column| of("pg_stat_checkpointer", column);
    let [timed, requested, write_ms, sync_ms, buffers, backends] = match version_num {
        0..170_000 => [
            bgwriter("checkpoints_timed"),
            bgwriter("checkpoints_req"),
            bgwriter("checkpoint_write_time"),
            bgwriter("checkpoint_sync_time"),
            bgwriter("buffers_checkpoint"),
            bgwriter("buffers_backend"),
        ],
        _ => [
            checkpointer("num_timed"),
            checkpointer("num_requested"),
            checkpointer("write_time"),
            checkpointer("sync_time"),
            checkpointer("buffers_written"),
            backend_writes(counters),
        ],
    };
    WriteRates {
        since_s: sums.since_s + over_s,
        timed: sums.timed + timed,
        requested: sums.requested + requested,
        write_s: sums.write_s + write_ms / 1e3,
        sync_s: sums.sync_s + sync_ms / 1e3,
        checkpointer_per_s: buffers / over_s,
        background_writer_per_s: bgwriter("buffers_clean") / over_s,
        backends_per_s: backends / over_s,
    }
}

/// Buffers of relations that others than checkpointer and background writer wrote, from `pg_stat_io`, whose columns are
/// `client backend/relation/normal writes`.
fn backend_writes(counters: &CounterSample) -> f64 {
    let is_backend = |name: &str| {
        let Some((key, "writes")) = name.rsplit_once(' ') else { return false };
        let mut parts = key.split('/');
        let (backend, object) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        object != "wal" && !matches!(backend, "checkpointer" | "background writer")
    };
    let columns = counters.views.get("pg_stat_io");
    columns
        .into_iter()
        .flatten()
        .filter(|(name, _)| is_backend(name))
        .map(|(_, change)| change)
        .fold(0.0, |sum, change| sum + change)
}

/// The standbys among the levels, whose names are `NAME PID COLUMN`.
pub(crate) fn standbys(counters: &CounterSample) -> Vec<Standby> {
    let mut found: BTreeMap<&str, Standby> = BTreeMap::new();
    for (name, level) in counters.levels.get("pg_stat_replication").into_iter().flatten() {
        let Some((standby, column)) = name.rsplit_once(' ') else { continue };
        let one = found.entry(standby).or_insert_with(|| Standby {
            name: standby.to_owned(),
            sent_lag_bytes: None,
            replay_lag_bytes: None,
            replay_lag_s: None,
        });
        match column {
            "sent_lag_bytes" => one.sent_lag_bytes = Some(*level),
            "replay_lag_bytes" => one.replay_lag_bytes = Some(*level),
            "replay_lag_s" => one.replay_lag_s = Some(*level),
            _ => {}
        }
    }
    found.into_values().collect()
}

/// How fast commands are, compared with the reading before. A command in another phase counts other units.
pub(crate) fn progress(then: &[Progress], now: Vec<ProgressSample>, over_s: f64) -> Vec<Progress> {
    let rate = |command: &ProgressSample| {
        let same = |one: &&Progress| {
            let one = &one.command;
            (one.pid, &one.command, &one.phase) == (command.pid, &command.command, &command.phase)
        };
        let before = then.iter().find(same)?;
        Some(command.done?.checked_sub(before.command.done?)? as f64 / over_s)
    };
    now.into_iter().map(|command| Progress { done_per_s: rate(&command), command }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(view: &str, columns: &[(&str, f64)]) -> CounterSample {
        let columns = columns.iter().map(|(name, change)| ((*name).to_owned(), *change)).collect();
        CounterSample { views: [(view.to_owned(), columns)].into(), ..CounterSample::default() }
    }

    #[test]
    fn databases_are_added_up_and_a_reset_is_no_rate() {
        let both =
            [("a b xact_commit", 30.0), ("shared objects xact_commit", 10.0), ("a b xact_rollback", 1.0)];
        let mut sample = counters("pg_stat_database", &both);
        let rates = databases(&sample, 2.0).expect("no reset");
        assert_eq!((rates.commits_per_s, rates.rollbacks_per_s, rates.temp_bytes_per_s), (20.0, 0.5, 0.0));
        sample.reset.push("pg_stat_database".to_owned());
        assert_eq!(databases(&sample, 2.0), None);
    }

    #[test]
    fn a_position_that_went_back_is_no_rate() {
        let at = |position_bytes| WalPosition { position_bytes, ..WalPosition::default() };
        let rate = |then, now| wal(&at(then), &at(now), None, 180_000, 2.0).bytes_per_s;
        assert_eq!(rate(Some(1 << 60), Some((1 << 60) + 4)), Some(2.0));
        assert_eq!((rate(Some(8), Some(4)), rate(None, Some(4))), (None, None));
    }

    #[test]
    fn checkpoints_add_up_in_the_words_of_each_major() {
        let old = counters("pg_stat_bgwriter", &[("checkpoints_req", 1.0), ("buffers_backend", 8.0)]);
        let once = writes(&WriteRates::default(), &old, 160_000, 2.0);
        let twice = writes(&once, &old, 160_000, 2.0);
        assert_eq!((twice.requested, twice.since_s, twice.backends_per_s), (2.0, 4.0, 4.0));
        let mut new = counters("pg_stat_checkpointer", &[("num_timed", 1.0), ("write_time", 500.0)]);
        let io = [
            ("client backend/relation/normal writes", 6.0),
            ("client backend/wal/normal writes", 100.0),
            ("checkpointer/relation/normal writes", 100.0),
            ("client backend/relation/normal reads", 100.0),
        ];
        new.views.extend(counters("pg_stat_io", &io).views);
        let now = writes(&WriteRates::default(), &new, 180_000, 2.0);
        assert_eq!((now.timed, now.write_s, now.backends_per_s), (1.0, 0.5, 3.0));
    }

    #[test]
    fn a_new_phase_has_no_rate_yet() {
        let at = |phase: &str, done| ProgressSample {
            pid: 1,
            command: "CREATE INDEX".to_owned(),
            relation: None,
            phase: phase.to_owned(),
            done: Some(done),
            total: Some(100),
            unit: None,
        };
        let first = progress(&[], vec![at("scan", 10)], 2.0);
        let second = progress(&first, vec![at("scan", 30)], 2.0);
        assert_eq!((first[0].done_per_s, second[0].done_per_s), (None, Some(10.0)));
        assert_eq!(progress(&second, vec![at("sort", 40)], 2.0)[0].done_per_s, None);
    }

    #[test]
    fn standbys_are_named_with_their_process() {
        let levels = [("a standby 7 replay_lag_bytes".to_owned(), 16.0)].into();
        let sample = CounterSample {
            levels: [("pg_stat_replication".to_owned(), levels)].into(),
            ..CounterSample::default()
        };
        let found = standbys(&sample);
        assert_eq!((found[0].name.as_str(), found[0].replay_lag_bytes), ("a standby 7", Some(16.0)));
    }
}
