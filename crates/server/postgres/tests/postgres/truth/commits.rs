//! Counted commits match rows of history one to one, even with many rollbacks by serialization failures (40001)
//! and deadlocks (40P01).
//!
//! Seen to fail when the target counts a rolled-back attempt as a commit.

use pgdyno_core::measure::{Counts, Outcome};
use pgdyno_engine::{Event, Paced, Probe, Report, SocketDriver, Step, Target};
use pgdyno_postgres::targets::{Link, SqlTarget};
use pgdyno_wire::connect;
use testkit::OLDEST;

use super::{Drive, MS, server::Server, shared, test_all};

/// Updates two of a few rows in random order: transactions in opposite order deadlock, and those that waited
/// for a changed row cannot be serialized.
const SCRIPT: &str = "\\set a random(1, 5)\n\
    \\set b random(1, 5)\n\
    BEGIN ISOLATION LEVEL REPEATABLE READ;\n\
    UPDATE hot SET touched = touched + 1 WHERE id = :a;\n\
    UPDATE hot SET touched = touched + 1 WHERE id = :b;\n\
    INSERT INTO history VALUES (:a, :b);\n\
    END;\n";

const CLIENTS: u32 = 8;

/// A target that misreports an outcome: a driver that flatters, or that loses commits.
struct Lying {
    target: Paced<Link<SqlTarget>>,
    from: Outcome,
    to: Outcome,
    /// Number of remaining lies.
    left: u32,
}

impl Target for Lying {
    fn step(&mut self, event: Event<'_>, now_ns: u64, probe: &mut Probe) -> Step {
        let step = self.target.step(event, now_ns, probe);
        if step == Step::Done(self.from) && self.left > 0 {
            self.left -= 1;
            return Step::Done(self.to);
        }
        step
    }

    fn outgoing(&self) -> &[u8] {
        self.target.outgoing()
    }

    fn abandon(&mut self) -> Outcome {
        self.target.abandon()
    }
}

/// Whether history matches the counts: a row for every commit, and at most one for each attempt in doubt.
fn agree(counts: &Counts, rows: u64) -> bool {
    (counts.committed..=counts.committed + counts.in_doubt).contains(&rows)
}

/// Drives until this many commits; returns the report and the rows of history.
fn drive<T: Target + 'static>(
    server: &Server,
    driver: SocketDriver,
    commits: u64,
    wrap: impl FnMut(Paced<Link<SqlTarget>>) -> T,
) -> (Report, u64) {
    let mut session = connect(&server.options()).expect("the server answers");
    session.execute("TRUNCATE history; UPDATE hot SET touched = 0").expect("the role may");
    let drive = Drive {
        options: server.options(),
        script: SCRIPT,
        clients: CLIENTS,
        duration_ns: 3_600_000 * MS,
        rate_per_s: None,
        driver,
    };
    let mut committed = 0;
    let report = drive.run(wrap, |interval, stop| {
        committed += interval.counts.committed;
        if committed >= commits {
            stop.request("enough");
        }
    });
    let mut number = |sql: &str| -> u64 {
        let value = session.value(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        value.and_then(|text| text.parse().ok()).expect("a number")
    };
    let rows = number("SELECT count(*) FROM history");
    assert_eq!(number("SELECT sum(touched) FROM hot"), 2 * rows, "the server keeps both or none");
    (report, rows)
}

fn commits_are_rows(major: &str) {
    let _shared = shared();
    let server = Server::start(major);
    let mut session = connect(&server.options()).expect("the server answers");
    // Counting is tested here, not durability; and deadlocks should be detected soon.
    for sql in [
        "CREATE TABLE hot (id int PRIMARY KEY, touched bigint NOT NULL) WITH (fillfactor = 10)",
        "INSERT INTO hot SELECT id, 0 FROM generate_series(1, 5) id",
        "CREATE TABLE history (a int, b int)",
        "ALTER DATABASE postgres SET synchronous_commit = off",
        "ALTER DATABASE postgres SET deadlock_timeout = '2ms'",
    ] {
        session.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    for driver in SocketDriver::usable() {
        let commits = if test_all() && driver == SocketDriver::best() { 1_000_000 } else { 3_000 };
        let (report, rows) = drive(&server, driver, commits, |target| target);
        let whole = &report.counts_whole;
        assert!(whole.committed >= commits && report.clients_lost == 0, "{report:?}");
        assert!(agree(whole, rows), "{rows} rows for {whole:?}");
        let errors =
            |code| report.errors.iter().filter(|error| error.0 == code).map(|error| error.2).sum::<u64>();
        assert!(errors("40001") > 0 && errors("40P01") > 0, "{:?}", report.errors);
        assert_eq!(errors("40001") + errors("40P01"), whole.failed, "{:?}", report.errors);
    }
    // The planted faults: one rollback of each client reported as a commit, and one commit not reported.
    for (from, to) in [(Outcome::Failed, Outcome::Committed), (Outcome::Committed, Outcome::Failed)] {
        let lie = |target| Lying { target, from, to, left: 1 };
        let (report, rows) = drive(&server, SocketDriver::best(), 1_000, lie);
        assert!(!agree(&report.counts_whole, rows), "{rows} rows for {:?}", report.counts_whole);
    }
}

#[test]
fn commits_are_rows_in_the_oldest_major() {
    commits_are_rows(OLDEST);
}

#[test]
fn commits_are_rows_in_the_newest_major() {
    commits_are_rows("18");
}
