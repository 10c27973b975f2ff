//! Loads, drives and checks real servers.

use std::{slice, sync::Arc};

use pgdyno_core::{facts::ServerSource, stop::Stop};
use pgdyno_engine::{Settings, SocketDriver, run};
use pgdyno_postgres::{
    load::{load_tables, tpcb_tables},
    observe::{Counters, server_facts},
    targets::SqlClients,
    verify::{BalanceMode, BalanceOutcome, Expected, check_balance},
};
use pgdyno_rows::load::{LoadPlan, LoadRequest, Way};
use pgdyno_script::{Builtin, Protocol};
use pgdyno_wire::{ConnectOptions, Session, connect};
use testkit::{OLDEST, left_out};

use crate::own::{Server, bundle};

#[test]
fn the_oldest_major() {
    everything_holds(OLDEST);
}

#[test]
fn balances_of_the_oldest_major() {
    balances_are_checked(OLDEST);
}

#[test]
fn the_newest_major() {
    everything_holds("18");
}

#[test]
fn balances_of_the_newest_major() {
    balances_are_checked("18");
}

#[test]
#[ignore = "takes long: `cargo xtask test-all` runs it"]
fn every_major_between() {
    let majors = ["9.6".to_owned()].into_iter().chain((10..18).map(|major: u32| major.to_string()));
    majors.for_each(|major| {
        everything_holds(&major);
        balances_are_checked(&major);
    });
}

fn everything_holds(major: &str) {
    let server = Server::start(&bundle(major));
    every_way_loads_what_pgbench_loads(&server);
    keys_are_bigint_from_scale_20000_on(&server);
    a_load_that_fails_or_is_stopped_leaves_nothing_and_a_usable_session(&server);
    a_server_reports_its_facts_and_counts_what_it_does(&server);
}

/// Apart from the rest, since it takes longest.
fn balances_are_checked(major: &str) {
    the_balance_check_finds_what_is_wrong_and_nothing_else(&Server::start(&bundle(major)));
}

/// A temporary database, dropped at the end.
struct Database {
    server: ConnectOptions,
    name: String,
    session: Option<Session>,
}

impl Database {
    fn make(server: &Server, purpose: &str) -> Self {
        let server = server.options();
        let name = format!("pgdyno_test_{purpose}");
        let mut admin = connect(&server).expect("the server answers");
        admin.execute(&format!("CREATE DATABASE {name}")).expect("the role may make databases");
        let session = connect(&server.with_database(&name)).expect("the database is there");
        Self { server, name, session: Some(session) }
    }

    fn session(&mut self) -> &mut Session {
        self.session.as_mut().expect("it is open until the end")
    }

    fn options(&self) -> ConnectOptions {
        self.server.with_database(&self.name)
    }

    fn value(&mut self, sql: &str) -> String {
        self.session().value(sql).unwrap_or_else(|error| panic!("{sql}: {error}")).unwrap_or_default()
    }

    fn load(&mut self, way: Way) {
        let plan = plan(way);
        let sessions = slice::from_mut(self.session());
        let outcome = load_tables(sessions, None, &plan, &Stop::default(), &mut |_| ()).expect("it loads");
        assert_eq!(outcome.rows, 100_011);
        let sent = if way == Way::Server { 0..1 } else { 1 << 19..1 << 21 };
        assert!(outcome.size_bytes > 10 << 20 && sent.contains(&outcome.copy_bytes), "{outcome:?}");
    }

    fn check(&mut self, mode: BalanceMode, committed: u64) -> BalanceOutcome {
        let expected = Expected { scale: 1, committed, in_doubt: 0, tellers_and_branches: true };
        check_balance(self.session(), mode, &expected).expect("it can be checked")
    }

    /// Runs tpcb-like for some time; returns the number of commits.
    fn drive(&mut self, protocol: Protocol, number: u32) -> u64 {
        let script = Arc::new(Builtin::TpcbLike.scripts());
        let settings = Settings {
            warmup_ns: 0,
            ramp_ns: 0,
            duration_ns: 1_000_000_000,
            interval_ns: 250_000_000,
            drain_ns: 5_000_000_000,
            rate_per_s: None,
            seed: 1,
            statements: script.statements().count(),
            cpus: Vec::new(),
        };
        let sql = SqlClients { run: number, ..SqlClients::new(script, protocol) };
        let (workers, _) = sql.connect(&self.options(), 3, 1, &Stop::default()).expect("they connect");
        let report =
            run(SocketDriver::best(), workers, &settings, &Stop::default(), |_| (), |_| ()).expect("it runs");
        report.counts_whole.check().expect("nothing is lost in counting");
        assert_eq!((report.counts_whole.in_doubt, report.counts_whole.failed, report.stopped), (0, 0, None));
        report.counts_whole.committed
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.session = None;
        let dropped = connect(&self.server).map(|mut admin| {
            // Backends of the clients may take a moment to notice that their clients are gone.
            (0..100).any(|_| {
                std::thread::sleep(std::time::Duration::from_millis(50));
                admin.execute(&format!("DROP DATABASE {}", self.name)).is_ok()
            })
        });
        assert!(std::thread::panicking() || matches!(dropped, Ok(true)), "{} was left behind", self.name);
    }
}

fn plan(way: Way) -> LoadPlan {
    LoadRequest { scale: Some(1), method: Some(way), ..LoadRequest::default() }.plan(1).expect("it can be")
}

/// Column, type and NOT NULL of the four tables, one line per column.
const COLUMNS: &str = "SELECT string_agg(format('%s.%s %s%s', c.relname, a.attname, format_type(atttypid, atttypmod), \
     CASE WHEN attnotnull THEN ' NOT NULL' END), ', ' ORDER BY c.relname, a.attnum) \
     FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid \
     WHERE c.relname LIKE 'pgbench\\_%' AND c.relkind = 'r' AND a.attnum > 0";

/// Columns as created by `pgbench -i` of version 15.
const PGBENCH_COLUMNS: &str = "pgbench_accounts.aid integer NOT NULL, pgbench_accounts.bid integer, \
     pgbench_accounts.abalance integer, pgbench_accounts.filler character(84), \
     pgbench_branches.bid integer NOT NULL, pgbench_branches.bbalance integer, \
     pgbench_branches.filler character(88), \
     pgbench_history.tid integer, pgbench_history.bid integer, pgbench_history.aid integer, \
     pgbench_history.delta integer, pgbench_history.mtime timestamp without time zone, \
     pgbench_history.filler character(22), \
     pgbench_tellers.tid integer NOT NULL, pgbench_tellers.bid integer, pgbench_tellers.tbalance integer, \
     pgbench_tellers.filler character(84)";

fn every_way_loads_what_pgbench_loads(server: &Server) {
    // Chunks may leave a few empty pages, which are not marked as frozen.
    for way in [Way::Stream, Way::Server] {
        let mut database = Database::make(server, way.name());
        database.load(way);
        assert_eq!(database.value(COLUMNS), PGBENCH_COLUMNS);
        for (sql, want) in [
            (
                "SELECT concat_ws(' ', count(*), min(aid), max(aid), sum(abalance)) FROM pgbench_accounts",
                "100000 1 100000 0",
            ),
            (
                "SELECT concat_ws(' ', count(*), min(tid), max(tid), sum(tbalance)) FROM pgbench_tellers",
                "10 1 10 0",
            ),
            (
                "SELECT concat_ws(' ', count(*), min(bid), max(bid), sum(bbalance)) FROM pgbench_branches",
                "1 1 1 0",
            ),
            ("SELECT count(*) FROM pgbench_history", "0"),
            (
                "SELECT concat_ws(' ', min(octet_length(filler)), max(octet_length(filler))) FROM pgbench_accounts",
                "84 84",
            ),
            ("SELECT count(*) FROM pgbench_accounts WHERE filler IS NULL OR filler <> ''", "0"),
            ("SELECT count(filler) FROM pgbench_tellers", "0"),
            ("SELECT count(filler) FROM pgbench_branches", "0"),
            (
                "SELECT string_agg(conrelid::regclass || ' ' || pg_get_constraintdef(oid), ', ' \
                 ORDER BY conrelid::regclass::text) \
                 FROM pg_constraint WHERE contype = 'p' AND conrelid > 16383",
                "pgbench_accounts PRIMARY KEY (aid), pgbench_branches PRIMARY KEY (bid), \
                 pgbench_tellers PRIMARY KEY (tid)",
            ),
            ("SELECT relallvisible = relpages FROM pg_class WHERE relname = 'pgbench_accounts'", "t"),
            ("SELECT reloptions::text FROM pg_class WHERE relname = 'pgbench_accounts'", "{fillfactor=100}"),
            ("SELECT count(*) > 0 FROM pg_stats WHERE tablename = 'pgbench_accounts'", "t"),
        ] {
            assert_eq!(database.value(sql), want, "{way:?}: {sql}");
        }
        frozen(&mut database);
    }
}

/// Checks that every page of accounts is frozen, if `pg_visibility` is installed.
fn frozen(database: &mut Database) {
    if database.session().execute("CREATE EXTENSION pg_visibility").is_err() {
        return left_out("pg_visibility is not installed: whether rows are frozen was not looked at");
    }
    let all = "SELECT all_frozen = pg_relation_size('pgbench_accounts') / 8192 \
               FROM pg_visibility_map_summary('pgbench_accounts')";
    assert_eq!(database.value(all), "t");
}

fn keys_are_bigint_from_scale_20000_on(server: &Server) {
    let mut database = Database::make(server, "bigint");
    for (scale, key) in [(19_999, "integer"), (20_000, "bigint")] {
        database
            .session()
            .execute(&format!("BEGIN; {}", tpcb_tables(scale).expect("it can be")))
            .expect("the tables can be made");
        let types = "SELECT string_agg(DISTINCT format_type(atttypid, atttypmod), ',') FROM pg_attribute \
                     WHERE attname = 'aid' AND attrelid IN ('pgbench_accounts'::regclass, 'pgbench_history'::regclass)";
        assert_eq!(database.value(types), key);
        database.session().execute("ROLLBACK").expect("they go again");
    }
}

fn a_load_that_fails_or_is_stopped_leaves_nothing_and_a_usable_session(server: &Server) {
    let mut database = Database::make(server, "stop");
    let (plan, stop) = (plan(Way::Stream), Stop::default());
    let sessions = slice::from_mut(database.session());
    let problem =
        load_tables(sessions, None, &plan, &stop, &mut |_| stop.request("enough")).expect_err("stopped");
    assert!(
        problem.hint.is_some_and(|hint| hint.contains("drop them before") || hint.contains("rolled back"))
    );
    let stop = Stop::default();
    stop.request("at once");
    let mut other = Database::make(server, "stop2");
    load_tables(slice::from_mut(other.session()), None, &plan, &stop, &mut |_| ()).expect_err("stopped");
    assert_eq!(other.value("SELECT count(*) FROM pg_class WHERE relname LIKE 'pgbench%'"), "0");
    other.session().execute("CREATE TABLE pgbench_tellers()").expect("the session is usable");
    let sessions = slice::from_mut(other.session());
    let problem = load_tables(sessions, None, &plan, &Stop::default(), &mut |_| ()).expect_err("it exists");
    assert!(problem.what.contains("42P07"), "{problem}");
    assert_eq!(other.value("SELECT count(*) FROM pg_class WHERE relname LIKE 'pgbench%'"), "1");
}

fn a_server_reports_its_facts_and_counts_what_it_does(server: &Server) {
    let mut database = Database::make(server, "facts");
    let facts =
        server_facts(database.session(), ServerSource::External, None).expect("any role may read them");
    assert!(facts.version_num >= 90_500 && facts.block_bytes.is_power_of_two(), "{facts:?}");
    assert!(facts.wal_segment_bytes >= 1 << 20 && facts.shared_buffers_bytes > 1 << 16, "{facts:?}");
    assert_eq!((facts.wal_block_bytes, facts.segment_bytes), (Some(8_192), Some(1 << 30)), "{facts:?}");
    assert_eq!(facts.database.as_ref().map(|database| &database.encoding[..]), Some("UTF8"), "{facts:?}");
    assert_eq!(facts.build.has_assertions(), Some(false), "{:?}", facts.build);
    let defaults = facts.defaults.as_ref().expect("any role may read them");
    assert!(defaults.contains_key("autovacuum") && !defaults.contains_key("data_directory"), "{defaults:?}");
    assert_eq!(facts.in_force("io_method").is_some(), facts.version_num >= 180_000);
    assert_eq!(facts.in_force("jit").is_some(), facts.version_num >= 110_000);
    let before = Counters::read(database.session(), facts.version_num, &[]).expect("they can be read");
    database.load(Way::Chunks);
    database.session().execute("CHECKPOINT").expect("the role may do it");
    let after = Counters::read(database.session(), facts.version_num, &[]).expect("they can be read");
    let wal_bytes = after.wal_bytes.zip(before.wal_bytes).map(|(after, before)| after - before);
    assert!(wal_bytes.is_some_and(|bytes| bytes > 10 << 20), "{before:?} {after:?}");
    assert!(after.blocks_hit + after.blocks_read >= before.blocks_hit + before.blocks_read);
    // 9.5 cannot read its control file.
    let known = facts.version_num >= 90_600;
    assert_eq!(after.checkpoints_since(&before), known.then_some(1), "{before:?} {after:?}");
    assert_eq!(after.checkpoints_since(&after), known.then_some(0));
}

/// A corruption, and whether `touched` must detect it, too.
const CORRUPTIONS: [(&str, bool); 20] = [
    (
        "UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = (SELECT max(aid) FROM pgbench_history)",
        true,
    ),
    (
        "UPDATE pgbench_accounts SET abalance = 1 WHERE aid = (SELECT min(aid) FROM pgbench_accounts a \
      WHERE NOT EXISTS (SELECT FROM pgbench_history h WHERE h.aid = a.aid))",
        false,
    ),
    ("UPDATE pgbench_accounts SET abalance = NULL WHERE aid = (SELECT max(aid) FROM pgbench_history)", true),
    (
        "UPDATE pgbench_accounts a SET abalance = b.abalance FROM pgbench_accounts b WHERE (a.aid, b.aid) IN \
      (SELECT x.aid, y.aid FROM (SELECT aid FROM pgbench_accounts WHERE abalance > 0 LIMIT 1) x, \
      (SELECT aid FROM pgbench_accounts WHERE abalance < 0 LIMIT 1) y UNION ALL SELECT y.aid, x.aid FROM \
      (SELECT aid FROM pgbench_accounts WHERE abalance > 0 LIMIT 1) x, \
      (SELECT aid FROM pgbench_accounts WHERE abalance < 0 LIMIT 1) y)",
        true,
    ),
    ("DELETE FROM pgbench_accounts WHERE aid = (SELECT max(aid) FROM pgbench_history)", true),
    (
        "DELETE FROM pgbench_accounts WHERE aid = (SELECT min(aid) FROM pgbench_accounts a \
      WHERE NOT EXISTS (SELECT FROM pgbench_history h WHERE h.aid = a.aid))",
        false,
    ),
    ("INSERT INTO pgbench_accounts VALUES (100001, 1, 0, '')", false),
    (
        "UPDATE pgbench_accounts SET aid = 200000 WHERE aid = (SELECT min(aid) FROM pgbench_accounts a \
      WHERE NOT EXISTS (SELECT FROM pgbench_history h WHERE h.aid = a.aid))",
        false,
    ),
    ("UPDATE pgbench_accounts SET bid = 7 WHERE aid = (SELECT max(aid) FROM pgbench_history)", true),
    ("DELETE FROM pgbench_accounts", true),
    ("DELETE FROM pgbench_tellers WHERE tid = 3", true),
    ("UPDATE pgbench_tellers SET tbalance = tbalance - 1 WHERE tid = 10", true),
    ("UPDATE pgbench_tellers SET bid = NULL WHERE tid = 10", true),
    ("DELETE FROM pgbench_branches", true),
    ("UPDATE pgbench_branches SET bbalance = bbalance + 1", true),
    (
        "DELETE FROM pgbench_history WHERE ctid = (SELECT min(ctid) FROM pgbench_history WHERE delta <> 0)",
        true,
    ),
    ("INSERT INTO pgbench_history SELECT * FROM pgbench_history WHERE delta <> 0 LIMIT 1", true),
    ("INSERT INTO pgbench_history SELECT tid, bid, aid, 0, mtime FROM pgbench_history LIMIT 1", true),
    (
        "UPDATE pgbench_history SET delta = delta + 1 \
      WHERE ctid = (SELECT min(ctid) FROM pgbench_history)",
        true,
    ),
    (
        "UPDATE pgbench_history SET aid = NULL \
      WHERE ctid = (SELECT min(ctid) FROM pgbench_history WHERE delta <> 0)",
        true,
    ),
];

fn the_balance_check_finds_what_is_wrong_and_nothing_else(server: &Server) {
    let mut database = Database::make(server, "balance");
    database.load(Way::Chunks);
    let mut committed = 0;
    for (number, protocol) in
        [Protocol::Simple, Protocol::Extended, Protocol::Prepared].into_iter().enumerate()
    {
        committed += database.drive(protocol, number as u32);
        for mode in [BalanceMode::Full, BalanceMode::Touched] {
            let outcome = database.check(mode, committed);
            assert_eq!(outcome.violations, 0, "{protocol:?}: {outcome:?}");
            assert!(outcome.rows_examined > committed && outcome.history_rows == committed, "{outcome:?}");
        }
    }
    for mode in [BalanceMode::Full, BalanceMode::Touched] {
        assert_eq!(database.check(mode, committed + 1).violations, 1, "a commit that history lacks");
        assert_eq!(database.check(mode, committed - 1).violations, 1, "a row that nobody committed");
    }
    keep(&mut database);
    for (corruption, touched_too) in CORRUPTIONS {
        let modes =
            if touched_too { &[BalanceMode::Full, BalanceMode::Touched][..] } else { &[BalanceMode::Full] };
        found(&mut database, corruption, modes, committed);
    }
    assert_eq!(database.check(BalanceMode::Full, committed).violations, 0, "everything was put back");
    database
        .session()
        .execute("TRUNCATE pgbench_accounts, pgbench_tellers, pgbench_branches, pgbench_history")
        .expect("it can");
    for mode in [BalanceMode::Full, BalanceMode::Touched] {
        let outcome = database.check(mode, 0);
        assert!(outcome.violations > 0 && outcome.rows_examined == 0, "{outcome:?}");
    }
}

const TABLES: [&str; 4] = ["accounts", "tellers", "branches", "history"];

/// Saves the tables as copies: the check begins a transaction of its own, so a corruption cannot be rolled back.
fn keep(database: &mut Database) {
    let each = TABLES.map(|table| format!("CREATE TABLE kept_{table} AS TABLE pgbench_{table}"));
    database.session().execute(&each.join(";")).expect("a copy");
}

/// Corrupts a table, checks, and restores it.
fn found(database: &mut Database, corruption: &str, modes: &[BalanceMode], committed: u64) {
    let changed =
        database.value(&format!("WITH done AS ({corruption} RETURNING 1) SELECT count(*) FROM done"));
    assert!(changed.parse::<u64>().is_ok_and(|rows| rows > 0), "{corruption} changed nothing");
    for mode in modes {
        let outcome = database.check(*mode, committed);
        let missed = format!("{} missed {corruption}", mode.name());
        assert!(outcome.violations > 0 && !outcome.examples.is_empty(), "{missed}");
    }
    // Each begins with the table that it changes.
    let table =
        TABLES.into_iter().find(|table| corruption.split(' ').take(3).any(|word| word.ends_with(table)));
    let table = table.expect("a corruption changes a table");
    let back = format!("TRUNCATE pgbench_{table}; INSERT INTO pgbench_{table} TABLE kept_{table}");
    database.session().execute(&back).expect("it is put back");
}
