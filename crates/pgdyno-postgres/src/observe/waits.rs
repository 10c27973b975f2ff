//! Samples what sessions wait for.

use pgdyno_core::measure::WaitCount;

use pgdyno_wire::{Session, WireError};

/// Counts the client sessions of this database by wait event (`pg_stat_activity`), except this session and the
/// process IDs in `except`. Sessions that wait for their client count as `client`, since their wait event differs by
/// version. Sessions whose state is hidden, because of the role or of `track_activities`, count as `not seen`.
///
/// # Errors
/// The view cannot be read.
pub fn waits(session: &mut Session, version_num: u32, except: &[i32]) -> Result<Vec<WaitCount>, WireError> {
    let rows = session.query(&look(version_num, except))?;
    let count =
        |row: &pgdyno_wire::Row| Some(WaitCount { event: row.get(0)?.to_owned(), count: row.parse(1)? });
    Ok(rows.iter().filter_map(count).collect())
}

fn look(version_num: u32, except: &[i32]) -> String {
    // Servers before 10 do not report the backend type.
    let of_clients = match version_num {
        0..100_000 => "query NOT LIKE 'autovacuum: %'",
        _ => "backend_type = 'client backend'",
    };
    // 9.5 reports heavyweight locks alone, as a flag.
    let event = match version_num {
        0..90_600 => "CASE WHEN waiting THEN 'Lock' END",
        _ => "wait_event_type || ':' || wait_event",
    };
    let except: String = except.iter().map(|pid| format!(", {pid}")).collect();
    format!(
        "SELECT CASE WHEN coalesce(state, 'disabled') = 'disabled' THEN 'not seen' \
         WHEN state <> 'active' THEN 'client' \
         ELSE coalesce({event}, 'running') END, count(*) \
         FROM pg_catalog.pg_stat_activity WHERE datname = pg_catalog.current_database() AND {of_clients} \
         AND pid NOT IN (pg_catalog.pg_backend_pid(){except}) GROUP BY 1"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_of_no_known_state_does_not_count_as_running() {
        let look = look(180_004, &[]);
        let unseen = look.find("THEN 'not seen'").expect("it has words of its own");
        assert!(look.contains("coalesce(state, 'disabled') = 'disabled' THEN 'not seen'"), "{look}");
        assert!(unseen < look.find("'running'").expect("others run"), "{look}");
    }

    #[test]
    fn every_version_is_asked_for_what_it_has() {
        assert!(look(90_503, &[]).contains("coalesce(CASE WHEN waiting THEN 'Lock' END, 'running')"));
        assert!(!look(90_624, &[]).contains("waiting THEN") && !look(90_503, &[]).contains("wait_event"));
    }

    #[test]
    fn pgdynos_own_sessions_are_left_out() {
        assert!(
            look(90_624, &[])
                .contains("NOT LIKE 'autovacuum: %' AND pid NOT IN (pg_catalog.pg_backend_pid())")
        );
        assert!(
            look(180_004, &[7, 9])
                .contains("= 'client backend' AND pid NOT IN (pg_catalog.pg_backend_pid(), 7, 9)")
        );
    }
}
