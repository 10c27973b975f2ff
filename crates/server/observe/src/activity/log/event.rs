//! Which events messages of the server are. Messages are those of `lc_messages = C`.

use pgdyno_core::observe::LogEvent;

/// The event of a message, with the severity that the server gave it; `None` if it is none that observers record.
pub(super) fn event_of(severity: &str, message: &str) -> Option<LogEvent> {
    if matches!(severity, "ERROR" | "FATAL" | "PANIC") {
        let deadlock = message.starts_with("deadlock detected");
        return Some(if deadlock { LogEvent::Deadlock } else { LogEvent::Error });
    }
    if severity != "LOG" {
        return None;
    }
    checkpoint(message)
        .or_else(|| vacuum(message))
        .or_else(|| lock_wait(message))
        .or_else(|| temporary_file(message))
        .or_else(|| life(message))
}

fn checkpoint(message: &str) -> Option<LogEvent> {
    let rest = message.strip_prefix("checkpoint").or_else(|| message.strip_prefix("restartpoint"))?;
    if let Some(reason) = rest.strip_prefix(" starting:") {
        return Some(LogEvent::CheckpointBegan { reason: reason.trim().to_owned() });
    }
    if rest.starts_with("s are occurring too frequently") {
        return Some(LogEvent::CheckpointsTooFrequent);
    }
    let numbers = rest.strip_prefix(" complete: wrote ")?;
    let seconds = |name: &str| number_behind(numbers, &format!("{name}="));
    Some(LogEvent::CheckpointEnded {
        buffers: numbers.split(' ').next()?.parse().ok()?,
        write_s: seconds(" write")?,
        sync_s: seconds(" sync")?,
        total_s: seconds("total")?,
        longest_sync_s: seconds("longest"),
    })
}

/// `automatic vacuum of table "db.schema.table": …`, with words such as `aggressive` in between.
fn vacuum(message: &str) -> Option<LogEvent> {
    let rest = message.strip_prefix("automatic ")?;
    let (what, rest) = rest.split_once(" of table \"")?;
    let table = rest.split_once('"')?.0.to_owned();
    let elapsed_s = elapsed(rest);
    match what {
        "analyze" => Some(LogEvent::AutoAnalyze { table, elapsed_s }),
        what if what.ends_with("vacuum") || what.contains("vacuum ") => {
            Some(LogEvent::AutoVacuum { table, elapsed_s })
        }
        _ => None,
    }
}

/// `CPU: user: 0.00 s, system: 0.00 s, elapsed: 0.01 s`; before 10 `CPU 0.00s/0.00u sec elapsed 0.01 sec`.
fn elapsed(text: &str) -> Option<f64> {
    number_behind(text, "elapsed: ").or_else(|| number_behind(text, "sec elapsed "))
}

/// `process 7 still waiting for ShareLock on transaction 9 after 1000.123 ms`, and the same with `acquired`.
fn lock_wait(message: &str) -> Option<LogEvent> {
    let rest = message.strip_prefix("process ")?.trim_start_matches(|c: char| c.is_ascii_digit());
    let acquired = rest.starts_with(" acquired ");
    if !acquired && !rest.starts_with(" still waiting for ") {
        return None;
    }
    let waited_ms = rest.rsplit_once(" after ")?.1.strip_suffix(" ms")?.parse::<f64>().ok()?;
    Some(LogEvent::LockWait { waited_s: waited_ms / 1000.0, acquired })
}

fn temporary_file(message: &str) -> Option<LogEvent> {
    let bytes = message.strip_prefix("temporary file: path ")?.rsplit_once(", size ")?.1.trim();
    Some(LogEvent::TemporaryFile { bytes: bytes.parse().ok()? })
}

/// The server begins and ends; a process dies.
fn life(message: &str) -> Option<LogEvent> {
    const ENDS: [&str; 5] = [
        "database system is shut down",
        "received smart shutdown request",
        "received fast shutdown request",
        "received immediate shutdown request",
        "terminating any other active server processes",
    ];
    if message.starts_with("database system is ready to accept") {
        return Some(LogEvent::Ready);
    }
    let died = [") was terminated by signal", ") exited with exit code", ") was terminated by exception"];
    // Background workers end with exit code 1 in the ordinary course of things.
    let is_worker = message.starts_with("background worker ") && message.contains(") exited with exit code");
    let dead = died.iter().any(|words| message.contains(words)) && message.contains(" (PID ") && !is_worker;
    (dead || ENDS.iter().any(|words| message.starts_with(words))).then_some(LogEvent::Ended)
}

/// The number behind some words.
fn number_behind(text: &str, words: &str) -> Option<f64> {
    let rest = &text[text.find(words)? + words.len()..];
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    rest[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logged(message: &str) -> Option<LogEvent> {
        event_of("LOG", message)
    }

    #[test]
    fn checkpoints_have_their_numbers_in_every_major() {
        let old = "checkpoint complete: wrote 44 buffers (0.3%); 0 transaction log file(s) added, 0 removed, 1 \
                   recycled; \
                   write=0.105 s, sync=0.009 s, total=0.128 s; sync files=12, longest=0.006 s, average=0.001 s; \
                   distance=11527 kB, estimate=11527 kB";
        let new = "checkpoint complete: wrote 44 buffers (0.3%), wrote 3 SLRU buffers; 0 WAL file(s) \
                   added, 0 removed, 1 \
                   recycled; write=0.105 s, sync=0.009 s, total=0.128 s; sync files=12, longest=0.006 s, average=0.001 \
                   s; distance=11527 kB, estimate=11527 kB; lsn=0/1, redo lsn=0/1";
        let want = LogEvent::CheckpointEnded {
            buffers: 44,
            write_s: 0.105,
            sync_s: 0.009,
            total_s: 0.128,
            longest_sync_s: Some(0.006),
        };
        assert_eq!((logged(old), logged(new)), (Some(want.clone()), Some(want)));
        let began = LogEvent::CheckpointBegan { reason: "immediate force wait".to_owned() };
        assert_eq!(logged("checkpoint starting: immediate force wait"), Some(began.clone()));
        assert_eq!(logged("restartpoint starting: immediate force wait"), Some(began));
        let often = "checkpoints are occurring too frequently (2 seconds apart)";
        assert_eq!(logged(often), Some(LogEvent::CheckpointsTooFrequent));
    }

    #[test]
    fn lock_waits_files_and_deaths() {
        let waits = "process 7 still waiting for ShareLock on transaction 9 after 1000.500 ms";
        assert_eq!(logged(waits), Some(LogEvent::LockWait { waited_s: 1.0005, acquired: false }));
        let got = "process 7 acquired AccessExclusiveLock on relation 16 of database 5 after 2000.000 ms";
        assert_eq!(logged(got), Some(LogEvent::LockWait { waited_s: 2.0, acquired: true }));
        assert_eq!(
            logged("process 7 avoided deadlock for ShareLock on x by rearranging queue order after 1.0 ms"),
            None
        );
        let file = "temporary file: path \"base/pgsql_tmp/pgsql_tmp7.0\", size 14000000";
        assert_eq!(logged(file), Some(LogEvent::TemporaryFile { bytes: 14_000_000 }));
        assert_eq!(
            logged("server process (PID 9) was terminated by signal 9: Killed"),
            Some(LogEvent::Ended)
        );
        assert_eq!(
            logged("client backend (PID 9) was terminated by signal 9: Killed"),
            Some(LogEvent::Ended)
        );
        assert_eq!(logged("background worker \"x\" (PID 9) exited with exit code 1"), None);
        assert_eq!(
            logged("background worker \"x\" (PID 9) was terminated by signal 6: Aborted"),
            Some(LogEvent::Ended)
        );
        assert_eq!(logged("duration: 5 ms  statement: SELECT 1"), None);
        assert_eq!(event_of("ERROR", "deadlock detected"), Some(LogEvent::Deadlock));
        assert_eq!(event_of("ERROR", "automatic vacuum of table \"x\""), Some(LogEvent::Error));
        assert_eq!(event_of("WARNING", "checkpoint starting: x"), None);
    }
}
