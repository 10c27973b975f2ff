//! Every reader at real servers: bundles of the oldest and the newest major version; of every one in the test that only
//! `cargo xtask test-all` runs.

mod counting;
mod hidden;
mod logging;
mod progress;
mod queue;
mod sessions;
mod statements;

#[path = "../../../../postgres/tests/postgres/own.rs"]
mod own;

use std::{
    thread,
    time::{Duration, Instant},
};

use own::{Server, bundle};
use pgdyno_wire::{Session, connect};
use testkit::OLDEST;

#[test]
fn the_oldest_major() {
    every_reader(OLDEST);
}

#[test]
fn the_newest_major() {
    every_reader("18");
}

#[test]
#[ignore = "takes long: `cargo xtask test-all` runs it"]
fn every_major_between() {
    every_reader("9.6");
    (10..18).for_each(|major| every_reader(&major.to_string()));
}

fn every_reader(major: &str) {
    let set = [
        ("max_prepared_transactions", "2"),
        ("shared_preload_libraries", "pg_stat_statements"),
        ("deadlock_timeout", "50ms"),
        ("log_lock_waits", "on"),
        ("log_checkpoints", "on"),
        ("log_temp_files", "0"),
        ("log_autovacuum_min_duration", "0"),
        ("log_line_prefix", "%m [%p] "),
        ("log_timezone", "UTC"),
        ("autovacuum_naptime", "1s"),
    ];
    let settings = set.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let server = Server::start(&pgdyno_provision::Request { settings, ..bundle(major) });
    let at = At { version_num: server.running.version_num, server: &server };
    at.session()
        .execute(
            "CREATE TABLE t AS SELECT i AS id, 0 AS v, repeat('x', 100) AS filler \
        FROM generate_series(1, 20000) i",
        )
        .expect("the table is made");
    logging::events_are_returned_as_they_are_logged(&at);
    sessions::active_sessions_are_listed_one_by_one(&at);
    sessions::the_wal_position_advances(&at);
    queue::a_queue_has_its_head(&at);
    queue::a_prepared_transaction_is_named(&at);
    counting::counters_agree_with_the_view(&at);
    counting::a_reset_is_noticed(&at);
    counting::tables_have_sums_and_names(&at);
    statements::statements_are_counted_and_named_once(&at);
    progress::a_command_says_how_far_it_is(&at);
    hidden::an_ordinary_role_sees_what_it_may(&at);
    hidden::sessions_without_activities_are_not_seen(&at);
    hidden::a_timeout_is_an_error_that_passes(&at);
}

/// A server of a test.
struct At<'a> {
    version_num: u32,
    server: &'a Server,
}

impl At<'_> {
    fn session(&self) -> Session {
        connect(&self.server.options()).expect("the server answers")
    }

    /// A session that runs a statement, which may fail, on a thread of its own.
    fn behind(&self, sql: &str) -> Behind {
        let mut session = self.session();
        let (pid, sql) = (session.backend_pid(), sql.to_owned());
        let thread = thread::spawn(move || drop(session.execute(&sql)));
        Behind { pid, thread }
    }
}

/// A running statement.
struct Behind {
    pid: i32,
    thread: thread::JoinHandle<()>,
}

impl Behind {
    fn end(self) {
        self.thread.join().expect("it does not panic");
    }
}

/// Asks until there is an answer.
fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(begin.elapsed() < Duration::from_secs(120), "never: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}
