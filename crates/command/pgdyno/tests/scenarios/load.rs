//! `pgdyno load`: the tables that `pgbench -i` makes, by many streams, whatever is killed meanwhile.

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader},
    process::{Child, Stdio},
    thread,
    time::Duration,
};

use pgdyno_rows::load::Stage;
use pgdyno_wire::{Address, ConnectOptions, Session, connect};
use serde_json::Value;

use crate::common::{OLDEST, Place, Small, admin, kill, test_all, text, wait_until, word};

/// A server that is loaded.
struct Loaded {
    place: Place,
    server: Value,
}

impl Loaded {
    fn new(pg: &str) -> Self {
        Self::with(pg, &[])
    }

    fn with(pg: &str, more: &[&str]) -> Self {
        let place = Place::new();
        // A crash of the machine is not what is tested; commits of tasks would wait for the disk.
        place.done(&[&["up", "--pg", pg, "--bundle", "-c", "fsync=off"], more].concat());
        let server = place.only();
        Self { place, server }
    }

    fn database(&self, name: &str) -> Session {
        let port = self.server["port"].as_u64().expect("it has one") as u16;
        let address = Address::Unix(word(&self.server, "socket_dir").into(), port);
        let mut options = ConnectOptions::local(address, "postgres");
        name.clone_into(&mut options.database);
        connect(&options).expect("it takes connections")
    }

    fn make_database(&self, name: &str) {
        admin(&self.server).execute(&format!("CREATE DATABASE {name}")).expect("a new name");
    }

    fn load<'a>(database: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        [&["load", "tpcb", "--server", "main", "-d", database], more].concat()
    }

    fn start(&self, args: &[&str]) -> Child {
        let mut command = self.place.command(args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("pgdyno can be run")
    }

    fn verify(&self, database: &str) -> String {
        self.place.done(&["load", "verify", "--server", "main", "-d", database])
    }
}

/// Everything that two loads can differ in: rows, columns, keys, options, storage, what ANALYZE found, frozen pages.
fn contents(session: &mut Session) -> Vec<String> {
    let tables = "SELECT c.oid, c.relname, c.relkind, c.relpersistence, c.reloptions FROM pg_class c \
                  WHERE c.relnamespace = 'public'::regnamespace";
    let mut asked: Vec<String> = vec![
        format!("SELECT ROW(relname, relkind, relpersistence, reloptions)::text FROM ({tables}) t ORDER BY 1"),
        "SELECT attrelid::regclass || ' ' || attname || ' ' || format_type(atttypid, atttypmod) || ' ' || attnotnull \
         FROM pg_attribute WHERE attnum > 0 AND attrelid IN \
         (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace) \
         ORDER BY attrelid::regclass::text, attnum"
            .to_owned(),
        "SELECT conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) || ' ' || conislocal \
         || ' ' || coninhcount FROM pg_constraint WHERE connamespace = 'public'::regnamespace ORDER BY 1"
            .to_owned(),
        "SELECT adrelid::regclass || ' has a default' FROM pg_attrdef WHERE adrelid IN \
         (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace)"
            .to_owned(),
        "SELECT relname || ' ' || reltuples FROM pg_class WHERE relnamespace = 'public'::regnamespace \
         AND relkind IN ('r', 'p') AND reltuples > 0 ORDER BY 1"
            .to_owned(),
    ];
    // Streams that extend a table together may leave pages without rows, which VACUUM does not mark.
    asked.push(
        "SELECT 'pages with rows that not all see: ' || \
         greatest(0, count(DISTINCT (tableoid, (ctid::text::point)[0])) - (SELECT sum(relallvisible) \
         FROM pg_class WHERE relnamespace = 'public'::regnamespace \
         AND relname ~ '^pgbench_accounts(_[0-9]+)?$')) FROM pgbench_accounts"
            .to_owned(),
    );
    for (table, key) in [("branches", "bid"), ("tellers", "tid"), ("history", "tid"), ("accounts", "aid")] {
        asked.push(format!(
            "SELECT md5(coalesce(string_agg(t::text, ';' ORDER BY {key}), '')) FROM pgbench_{table} t"
        ));
    }
    let mut all = Vec::new();
    for sql in asked {
        let rows = session.query(&sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        all.extend(rows.iter().map(|row| row.get(0).unwrap_or("NULL").to_owned()));
    }
    all
}

/// Whatever way it is loaded, it is what `pgbench -i` makes.
fn equals_pgbench(pg: &str, ways: &[(&str, &[&str], &[&str])]) {
    let loaded = Loaded::new(pg);
    let (host, port) = (word(&loaded.server, "socket_dir"), loaded.server["port"].to_string());
    for (name, of_pgbench, ours) in ways {
        let (one, other) = (format!("{name}_pgbench"), format!("{name}_ours"));
        loaded.make_database(&one);
        loaded.make_database(&other);
        let init = ["pgbench", "-i", "-q", "-s", "2", "-h", host, "-p", &port, "-U", "postgres"];
        loaded.place.done(&[&init[..], of_pgbench, &[&one]].concat());
        let said =
            loaded.place.done(&Loaded::load(&other, &[&["--scale", "2", "--jobs", "3"], *ours].concat()));
        assert!(said.contains("verified: 200,022 rows"), "{said}");
        let contents = |name: &str| contents(&mut loaded.database(name));
        assert_eq!(contents(&one), contents(&other), "{pg} {name}");
        // The verification covers tables, whatever loaded them.
        let said = loaded.place.done(&["load", "verify", "--server", "main", "-d", &one, "--scale", "2"]);
        assert!(said.contains("verified: 200,022 rows"), "{said}");
    }
}

const CHUNKS: (&str, &[&str], &[&str]) = ("chunks", &[], &["--method", "chunks"]);
const KEYED: (&str, &[&str], &[&str]) = (
    "keyed",
    &["--foreign-keys", "-F", "90", "--unlogged-tables"],
    &["--foreign-keys", "--fillfactor", "90", "--unlogged", "--method", "stream"],
);
const SERVER: (&str, &[&str], &[&str]) = ("server", &[], &["--method", "server"]);
const SERVER_RANGE: (&str, &[&str], &[&str]) =
    ("server_ranged", &["--partitions", "3"], &["--partitions", "3", "--method", "server"]);
const RANGE: (&str, &[&str], &[&str]) =
    ("ranged", &["--partitions", "3", "--foreign-keys"], &["--partitions", "3", "--foreign-keys"]);
const HASH: (&str, &[&str], &[&str]) = (
    "hashed",
    &["--partitions", "3", "--partition-method", "hash"],
    &["--partitions", "3", "--partition-method", "hash"],
);

#[test]
#[ignore = "takes long: `cargo xtask test-all` runs it"]
fn equals_pgbench_in_servers_between() {
    equals_pgbench("11", &[CHUNKS, KEYED, HASH]);
    for pg in ["12", "15", "17"] {
        equals_pgbench(pg, &[CHUNKS, KEYED, RANGE, HASH, SERVER]);
    }
}

/// Numbers from a seed, for kills (SplitMix64).
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }
}

fn seed() -> u64 {
    let given = std::env::var("PGDYNO_TEST_SEED").ok().and_then(|text| text.parse().ok());
    let seed = given.unwrap_or_else(|| u64::from(std::process::id()) ^ 0x6c6f_6164);
    println!("PGDYNO_TEST_SEED={seed}");
    seed
}

/// The first stage that has a task left; `None` before there are tasks or when all are done.
fn stage(session: &mut Session) -> Option<u8> {
    let table = session.value("SELECT to_regclass('pgdyno_load.task_1')").ok()??;
    session.value(&format!("SELECT min(stage) FROM {table} WHERE NOT done")).ok()??.parse().ok()
}

fn tasks_done(session: &mut Session) -> u64 {
    let done = session.value("SELECT count(*) FROM pgdyno_load.task_1 WHERE done").expect("it is there");
    done.and_then(|count| count.parse().ok()).expect("a number")
}

/// Loads until it is killed in each of these stages, one kill after the other; then to the end. Gives the stages that
/// kills came in.
fn killed_in(
    loaded: &Loaded,
    database: &str,
    flags: &[&str],
    stages: &[Stage],
    draw: &mut Draw,
) -> Vec<Stage> {
    loaded.make_database(database);
    let mut admin = loaded.database(database);
    let mut hit = Vec::new();
    for (number, wanted) in stages.iter().enumerate() {
        let entry: &[&str] = if number == 0 { flags } else { &["--resume", "--jobs", "2"] };
        // The key of the whole takes a millisecond: it is made to wait.
        let held = *wanted == Stage::ParentKey;
        if held {
            admin
                .execute("BEGIN; LOCK TABLE ONLY pgbench_accounts IN ACCESS SHARE MODE")
                .expect("it is there");
        }
        let mut child = loaded.start(&Loaded::load(database, entry));
        wait_until("the load comes to the stage, or ends", || {
            let over = child.try_wait().expect("it is ours").is_some();
            over || stage(&mut admin).is_some_and(|at| at >= *wanted as u8)
        });
        thread::sleep(Duration::from_micros(draw.below(40_000)));
        let at = stage(&mut admin);
        let _ = child.kill();
        let output = child.wait_with_output().expect("it has ended");
        if held {
            admin.execute("COMMIT").expect("it is begun");
        }
        let killed = output.status.code().is_none();
        println!("{database}: wanted {wanted:?}, at {at:?}, killed: {killed}");
        if !killed {
            assert!(output.status.success(), "{}", text(&output.stderr));
            return hit;
        }
        hit.extend(Stage::ALL.into_iter().find(|stage| at == Some(*stage as u8)));
    }
    let said = loaded.place.done(&Loaded::load(database, &["--resume", "--jobs", "2"]));
    assert!(said.contains("verified: "), "{said}");
    hit
}

/// Kills at points drawn from a seed, in every stage: no row is lost, none is there twice.
#[test]
fn kills_lose_and_double_nothing() {
    let loaded = Loaded::new("18");
    let mut draw = Draw(seed());
    let plain = ["--scale", "3", "--jobs", "2", "--foreign-keys", "--method", "chunks"];
    let parted = ["--scale", "3", "--jobs", "2", "--partitions", "8"];
    let all = test_all();
    let of_plain = [Stage::Copy, Stage::Copy, Stage::Vacuum, Stage::Keys, Stage::ForeignKeys];
    let of_parted = [Stage::Copy, Stage::Vacuum, Stage::Analyze, Stage::Keys, Stage::ParentKey];
    let short = (&of_plain[1..4], &of_parted[..1]);
    let (of_plain, of_parted) = if all { (&of_plain[..], &of_parted[..]) } else { short };
    let mut hit = Vec::new();
    // A kill that comes late is in another stage, or after the end: there are more rounds than are needed.
    let enough = |hit: &[Stage]| {
        let twice = |stage: &Stage| hit.iter().filter(|hit| *hit == stage).count() >= 2;
        if all { hit.len() >= 20 && Stage::ALL.iter().all(twice) } else { !hit.is_empty() }
    };
    for round in 0..6 {
        let (one, other) = (format!("plain{round}"), format!("parted{round}"));
        hit.extend(killed_in(&loaded, &one, &plain, of_plain, &mut draw));
        hit.extend(killed_in(&loaded, &other, &parted, of_parted, &mut draw));
        for database in [&one, &other] {
            assert!(loaded.verify(database).contains("verified: 300,033 rows"));
        }
        if enough(&hit) {
            return;
        }
    }
    panic!("kills came in these stages alone: {hit:?}");
}

/// A lock that loads into a database wait for before every primary key, as long as a session holds it.
const GATE: &str = "7777, 7777";

/// Lets no load into a database of this session come further than to its keys, however fast it is, until the session
/// lets go or ends.
pub fn hold_keys(session: &mut Session) {
    let gate = format!(
        "SELECT pg_advisory_lock({GATE}); CREATE SCHEMA held; \
         CREATE FUNCTION held.wait() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN \
         IF current_query() ~ 'ADD PRIMARY KEY' THEN PERFORM pg_advisory_xact_lock_shared({GATE}); END IF; END $$; \
         CREATE EVENT TRIGGER held ON ddl_command_start WHEN TAG IN ('ALTER TABLE') EXECUTE PROCEDURE held.wait()"
    );
    session.execute(&gate).expect("a superuser may");
}

/// Waits until this many streams of loads are held there.
pub fn are_held(session: &mut Session, streams: u64) {
    let held = "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'advisory' AND classid = 7777 \
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    wait_until("the load comes to its keys", || {
        let count = session.value(held).expect("it can be asked");
        count.and_then(|count| count.parse().ok()) == Some(streams)
    });
}

pub fn let_keys_go(session: &mut Session) {
    session.execute(&format!("SELECT pg_advisory_unlock({GATE})")).expect("it is held");
}

/// Loads unlogged tables by one stream until its next task waits for a table, which the session that is given locks.
fn held_at(
    loaded: &Loaded,
    database: &str,
    more: &[&str],
    (table, mode): (&str, &str),
    at: Stage,
) -> (Child, Session) {
    loaded.make_database(database);
    let flags = ["--scale", "2", "--jobs", "1", "--unlogged"];
    let mut admin = loaded.database(database);
    hold_keys(&mut admin);
    let child = loaded.start(&Loaded::load(database, &[&flags, more].concat()));
    are_held(&mut admin, 1);
    admin.execute(&format!("BEGIN; LOCK TABLE {table} IN {mode} MODE")).expect("nobody else wants it");
    let_keys_go(&mut admin);
    let waits = format!("SELECT 1 FROM pg_locks WHERE NOT granted AND relation = '{table}'::regclass");
    wait_until("the load waits", || admin.value(&waits).expect("it can be asked").is_some());
    assert_eq!(stage(&mut admin), Some(at as u8), "{database}");
    (child, admin)
}

/// The last of the small tables that gets a primary key, in a mode that disturbs nothing else.
const BEFORE_LAST_KEY: (&str, &str) = ("pgbench_branches", "ACCESS SHARE");
/// The table whose foreign keys come last, in a mode that disturbs nothing else.
const BEFORE_LAST_FOREIGN_KEYS: (&str, &str) = ("pgbench_history", "ROW EXCLUSIVE");

/// A key whose loader is gone is not built to its end: the server looks after its client every ten seconds.
#[test]
#[ignore = "takes long: `cargo xtask test-all` runs it"]
fn the_key_of_a_killed_loader_is_given_up() {
    let loaded = Loaded::new("18");
    let (mut child, mut admin) = held_at(&loaded, "given_up", &[], BEFORE_LAST_KEY, Stage::Keys);
    child.kill().expect("it runs");
    child.wait().expect("it has ended");
    let waits = "SELECT 1 FROM pg_locks WHERE NOT granted";
    wait_until("nobody waits", || admin.value(waits).expect("it can be asked").is_none());
}

/// Who finds all tasks taken says for which server process it waits, once.
#[test]
fn who_waits_says_for_whom() {
    let loaded = Loaded::new("18");
    let (first, mut admin) = held_at(&loaded, "waits", &[], BEFORE_LAST_KEY, Stage::Keys);
    let pid = admin.value("SELECT pid FROM pg_locks WHERE NOT granted").expect("it can be asked");
    let pid = pid.expect("the key waits for us");
    // A load of the same number in another database holds tasks of the same numbers: 0x7067, the load's, the task's.
    let mut elsewhere = loaded.database("postgres");
    let locks = "SELECT pg_advisory_lock((28775::bigint << 48) | (1::bigint << 24) | n) FROM generate_series(0, 99) n";
    elsewhere.execute(locks).expect("nobody else has them");
    let mut second = loaded.start(&Loaded::load("waits", &["--join", "--jobs", "2"]));
    let mut said = BufReader::new(second.stderr.take().expect("it is piped")).lines();
    let line = said.find_map(|line| line.ok().filter(|line| line.contains("waits for")));
    assert!(line.as_ref().is_some_and(|line| line.contains(&format!("process {pid}"))), "{line:?}");
    admin.execute("COMMIT").expect("it is begun");
    for child in [first, second] {
        let output = child.wait_with_output().expect("it has ended");
        assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    }
    assert_eq!(said.filter(|line| line.as_ref().is_ok_and(|line| line.contains("waits for"))).count(), 0);
}

/// A load ends before a file system is full that had room when it began, and continues when there is free space again.
#[test]
fn a_load_ends_before_its_disk_is_full() {
    let Some(small) = Small::mount(100) else { return };
    let space = format!("small={}", small.0.path().join("space").display());
    let loaded = Loaded::with("18", &["--tablespace", &space]);
    let flags = ["--tablespace", "small", "--index-tablespace", "small"];
    loaded.make_database("early");
    let said = loaded.place.refused(&Loaded::load("early", &[&flags[..], &["--scale", "6"]].concat()), 3);
    assert!(said.contains(" are needed under ") && said.contains("of which 32 MiB must stay free"), "{said}");

    let (mut child, mut admin) = held_at(&loaded, "filled", &flags, BEFORE_LAST_KEY, Stage::Keys);
    let ballast = small.0.path().join("ballast");
    fs::write(&ballast, vec![1; 50 << 20]).expect("there is room for it");
    wait_until("the load has ended", || child.try_wait().expect("it is ours").is_some());
    let output = child.wait_with_output().expect("it has ended");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    let dir = small.0.path().display().to_string();
    for words in
        ["could not continue the load: only ", &dir, "still needed there", "--resume continues from there"]
    {
        assert!(said.contains(words), "{words:?}: {said}");
    }
    assert!(said.contains("all rows are in ") && said.contains("not done: primary keys ("), "{said}");
    let goes_on = said.lines().find(|line| line.contains("pgdyno load tpcb ")).unwrap_or_default();
    assert!(goes_on.ends_with(" --resume") && goes_on.contains("--tablespace small"), "{said}");
    let output = loaded.place.run(&["load", "verify", "--server", "main", "-d", "filled"]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}{}", text(&output.stderr));
    assert!(
        said.contains("the load is not finished\n  all rows are in ") && said.contains("--resume` continues")
    );
    admin.execute("COMMIT").expect("it is begun");
    fs::remove_file(&ballast).expect("it is ours");
    let output = loaded.place.run(&Loaded::load("filled", &["--resume"]));
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    // 29.9 MiB in all, of which a key of two rows is left.
    let room = said.lines().find(|line| line.contains(&dir) && line.contains(" free under "));
    assert!(room.is_some_and(|line| !line.contains("MiB of ")), "{said}");
    assert!(loaded.verify("filled").contains("verified: 200,022 rows"));
}

/// Tables and keys of copies may go to other file systems: each must have room, before the first copy is made.
#[test]
fn copies_need_room_where_their_keys_go() {
    let Some(small) = Small::mount(50) else { return };
    let space = format!("small={}", small.0.path().join("space").display());
    let loaded = Loaded::with("18", &["--tablespace", &space]);
    loaded.make_database("source");
    loaded.place.done(&Loaded::load("source", &["--scale", "1", "--index-tablespace", "small"]));
    // A key takes 2.2 MiB.
    let copy = ["load", "copy", "--server", "main", "-d", "source", "--into-schemas", "30"];
    let said = loaded.place.refused(&copy, 3);
    let dir = small.0.path().display().to_string();
    assert!(
        said.contains("could not copy: 6") && said.contains(&format!("are needed under {dir}")),
        "{said}"
    );
    let made = "SELECT count(*) FROM pg_namespace WHERE nspname ~ '^public_'";
    let made = loaded.database("source").value(made).expect("it can be asked");
    assert_eq!(made.as_deref(), Some("0"));
}

/// A second process takes part, and each task is done by one of them.
#[test]
fn two_processes_share_a_load() {
    let loaded = Loaded::new("18");
    loaded.make_database("shared");
    let mut admin = loaded.database("shared");
    let flags = ["--scale", "8", "--jobs", "1", "--method", "chunks"];
    hold_keys(&mut admin); // until both have one: the first is not to be done before the second begins
    let first = loaded.start(&Loaded::load("shared", &flags));
    wait_until("the load begins", || stage(&mut admin).is_some());
    let second = loaded.start(&Loaded::load("shared", &["--join", "--jobs", "1"]));
    are_held(&mut admin, 2);
    let_keys_go(&mut admin);
    let [first, second] = [first, second].map(|child| {
        let output = child.wait_with_output().expect("it has ended");
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    });
    let both = first + &second;
    assert_eq!(
        (both.matches("verified: ").count(), both.matches("verified by another").count()),
        (1, 1),
        "{both}"
    );
    let loaders =
        admin.query("SELECT loader, count(*) FROM pgdyno_load.task_1 GROUP BY 1").expect("it is there");
    let loaders: BTreeSet<_> = loaders.iter().filter_map(|row| row.get(0)).collect();
    assert_eq!(loaders.len(), 2, "{loaders:?}");
    assert!(loaded.verify("shared").contains("verified: 800,088 rows"));
    // Nobody works any more.
    let said = loaded.place.refused(&Loaded::load("shared", &["--join"]), 2);
    assert!(said.contains("finished"), "{said}");
}

/// Every way in which rows can be wrong is found and named.
#[test]
fn wrong_rows_are_named() {
    let loaded = Loaded::new("18");
    loaded.make_database("wrong");
    let mut admin = loaded.database("wrong");
    loaded.place.done(&Loaded::load("wrong", &["--scale", "1"]));
    let wrong: [(&str, &[&str]); 6] = [
        (
            "DELETE FROM pgbench_accounts WHERE aid = 77",
            &["pgbench_accounts has 99,999 rows, 100,000 were expected"],
        ),
        ("UPDATE pgbench_accounts SET aid = -78 WHERE aid = 78", &["pgbench_accounts.aid has the checksum"]),
        ("UPDATE pgbench_accounts SET bid = 2 WHERE aid = 5", &["pgbench_accounts.bid has the checksum"]),
        ("UPDATE pgbench_tellers SET filler = ''", &["pgbench_tellers.filler has the checksum"]),
        (
            "UPDATE pgbench_accounts SET filler = 'x' WHERE aid = 9",
            &["pgbench_accounts.filler has the checksum"],
        ),
        (
            "UPDATE pgbench_tellers SET tbalance = CASE tid WHEN 1 THEN 5 ELSE -5 END WHERE tid IN (1, 2)",
            &["pgbench_tellers.tbalance has the checksum"],
        ),
    ];
    for (sql, words) in wrong {
        admin
            .execute(&format!(
                "CREATE TABLE kept_accounts AS TABLE pgbench_accounts; \
                                CREATE TABLE kept_tellers AS TABLE pgbench_tellers; {sql}"
            ))
            .expect(sql);
        let output = loaded.place.run(&["load", "verify", "--server", "main", "-d", "wrong"]);
        let said = text(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{sql}: {said}{}", text(&output.stderr));
        for words in words {
            assert!(said.contains(words), "{sql}: {said}");
        }
        admin
            .execute(
                "TRUNCATE pgbench_accounts, pgbench_tellers; \
                       INSERT INTO pgbench_accounts TABLE kept_accounts; \
                       INSERT INTO pgbench_tellers TABLE kept_tellers; \
                       DROP TABLE kept_accounts, kept_tellers",
            )
            .expect("what was is there again");
        assert!(loaded.verify("wrong").contains("verified: 100,011 rows"));
    }
    // What cannot be read ends it: 10^9 rows of our own are not summed first.
    admin.execute("DROP TABLE pgbench_accounts").expect("it is ours");
    let verify = ["load", "verify", "--server", "main", "-d", "wrong", "--scale", "10000"];
    let said = loaded.place.refused(&verify, 3);
    assert!(said.contains("could not check pgbench_accounts"), "{said}");
}

/// What must not be touched is not, and what to do is said.
#[test]
fn what_is_not_ours_is_refused_by_name() {
    let loaded = Loaded::new("18");
    loaded.make_database("theirs");
    let mut admin = loaded.database("theirs");
    let refused = |more: &[&str], words: &[&str]| {
        let said = loaded.place.refused(&Loaded::load("theirs", more), 2);
        for words in words {
            assert!(said.contains(words), "{more:?}: {said}");
        }
    };
    let before = |session: &mut Session| session.value("SELECT count(*) FROM pg_class").expect("it is there");
    let untouched = before(&mut admin);
    refused(&["--resume"], &["no load was begun in schema \"public\"", "leave --resume out"]);
    refused(&["--scale", "1", "--tablespace", "no\"such"], &["there is no tablespace \"no\"\"such\""]);
    let method = ["--scale", "1", "--partition-method", "hash"];
    refused(&method, &["a partition method is given, but there are no partitions"]);
    let said = loaded.place.done(&Loaded::load("theirs", &["--scale", "1", "--dry-run"]));
    assert!(said.contains("accounts   12.8 MiB, key 2.16 MiB") && said.contains("room "), "{said}");
    refused(&["--scale", "10000000", "--dry-run"], &["at most 4,294,967,295", "use --partitions 4 or more"]);
    refused(
        &["--scale", "1", "--partitions", "99999"],
        &["could not make 99,999 partitions", "max_locks_per_transaction"],
    );
    refused(
        &["--scale", "1", "--jobs", "1000"],
        &["could not load by 1,000 streams", "fewer --jobs, or raise max_connections"],
    );
    assert_eq!(before(&mut admin), untouched, "nothing was made");

    admin.execute("CREATE TABLE pgbench_tellers (mine int)").expect("a new table");
    refused(&["--scale", "1"], &["pgbench_tellers exists already", "drop them yourself"]);
    admin.execute("DROP TABLE pgbench_tellers").expect("it is there");

    // A load that broke off, and what others ask of it.
    let mut child =
        loaded.start(&Loaded::load("theirs", &["--scale", "5", "--jobs", "1", "--fillfactor", "90"]));
    wait_until("the load begins", || stage(&mut admin).is_some());
    child.kill().expect("it runs");
    child.wait().expect("it has ended");
    refused(&["--scale", "5"], &["exists already", "--resume"]);
    refused(
        &["--resume", "--scale", "6", "--unlogged"],
        &["--scale: 6 was requested, but the load was begun with 5", "--unlogged"],
    );
    wait_until("its sessions are gone", || {
        let locks = admin.value("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'");
        locks.expect("it can be asked").as_deref() == Some("0")
    });
    refused(&["--join"], &["no other process works on it", "--resume"]);
    admin.execute("ALTER TABLE pgbench_history RENAME TO pgbench_accounts_7").expect("it is there");
    refused(&["--resume"], &["the tables are not those of the load"]);
    admin.execute("ALTER TABLE pgbench_accounts_7 RENAME TO pgbench_history").expect("it is there");
    // A foreign row is no part of the load, which is not finished with it.
    admin.execute("INSERT INTO pgbench_history (tid) VALUES (1)").expect("it is there");
    let output = loaded.place.run(&Loaded::load("theirs", &["--resume"]));
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}{}", text(&output.stderr));
    for words in ["pgbench_history has 1 row, 0 were expected", "hint: drop the tables and load again"] {
        assert!(said.contains(words), "{said}");
    }
    admin.execute("TRUNCATE pgbench_history").expect("it is there");
    loaded.place.done(&Loaded::load("theirs", &["--resume", "--fillfactor", "90"]));
    refused(&["--scale", "5"], &["pgdyno loaded scale 5 there", "load verify"]);
    // Tables that were dropped leave nothing in the way.
    admin
        .execute("DROP TABLE pgbench_accounts, pgbench_branches, pgbench_tellers, pgbench_history")
        .expect("ours");
    loaded.place.done(&Loaded::load("theirs", &["--scale", "1"]));
}

/// A server without a view of keys in progress: their files show them, here one that is written and not committed.
#[test]
fn keys_of_the_oldest_server_are_seen_by_their_files() {
    let loaded = Loaded::new(OLDEST);
    let accounts = ("pgbench_accounts", "ACCESS SHARE");
    let (child, mut admin) = held_at(&loaded, "seen", &["--method", "chunks"], accounts, Stage::Keys);
    let mut tasks = loaded.database("seen");
    tasks.execute("BEGIN; LOCK TABLE pgdyno_load.task_1 IN SHARE MODE").expect("nobody writes to it");
    admin.execute("COMMIT").expect("it is begun");
    let waits = "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'pgdyno_load.task_1'::regclass";
    wait_until("the key is built", || admin.value(waits).expect("it can be asked").is_some());
    thread::sleep(Duration::from_millis(2_500)); // of shorter stages no phases are shown
    tasks.execute("COMMIT").expect("it is begun");
    let output = child.wait_with_output().expect("it has ended");
    let said = text(&output.stdout);
    assert!(output.status.success(), "{said}{}", text(&output.stderr));
    assert!(said.contains("writing the index "), "{said}");
}

/// A load that is to end early has done what was requested and nothing else, and continues from there.
#[test]
fn a_load_ends_where_requested() {
    let loaded = Loaded::with("18", &["-c", "autovacuum=off"]);
    loaded.make_database("early");
    let mut admin = loaded.database("early");
    let load = |more: &[&str]| loaded.place.done(&Loaded::load("early", more));
    let first = ["--scale", "1", "--foreign-keys", "--partitions", "2", "--until", "rows"];
    let asked = "SELECT count(*) FILTER (WHERE contype = 'p') || ' ' || count(*) FILTER (WHERE contype = 'f'), \
                 (SELECT count(*) FROM pgbench_accounts), \
                 (SELECT count(*) FROM pg_class WHERE relname ~ '^pgbench_accounts_' AND relallvisible > 0) \
                 FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND conparentid = 0";
    let mut is_at = |keys: &str, vacuumed: &str| {
        let row = admin.query(asked).expect("it can be asked").remove(0);
        assert_eq!((row.get(0), row.get(1), row.get(2)), (Some(keys), Some("100000"), Some(vacuumed)));
    };
    for (more, keys, vacuumed) in [
        (&first[..], "0 0", "0"),
        (&["--resume", "--until", "vacuum"], "0 0", "2"),
        (&["--resume", "--until", "keys"], "3 0", "2"),
    ] {
        let said = load(more);
        assert!(
            said.contains("ended before its last stage, as requested: --resume continues"),
            "{more:?}: {said}"
        );
        assert!(!said.contains("verified"), "{said}");
        is_at(keys, vacuumed);
    }
    let said = load(&["--resume"]);
    assert!(said.contains("verified: 100,011 rows"), "{said}");
    is_at("3 5", "2");
}

/// Who proves a load later finishes it, and not before all of it is done.
#[test]
fn a_proof_can_be_left_for_later() {
    let loaded = Loaded::new("18");
    loaded.make_database("later");
    let said = loaded.place.done(&Loaded::load("later", &["--scale", "1", "--no-verify"]));
    assert!(said.contains("not verified yet") && !said.contains("verified: "), "{said}");
    assert!(said.contains("parallel workers for a key of accounts: requested "), "{said}");
    // Without foreign keys nothing comes after the keys.
    loaded.make_database("keyed");
    let keys = Loaded::load("keyed", &["--scale", "1", "--until", "keys"]);
    let said = loaded.place.done(&keys);
    assert!(said.contains("not verified yet") && !said.contains("verified: "), "{said}");
    let said = loaded.place.done(&Loaded::load("keyed", &["--resume"]));
    assert!(said.contains("verified: 100,011 rows"), "{said}");
    let said = loaded.place.refused(&Loaded::load("later", &["--scale", "1"]), 2);
    assert!(said.contains("unfinished") && said.contains("--resume"), "{said}");
    let mut admin = loaded.database("later");
    let last = "UPDATE pgdyno_load.task_1 SET done = NOT done \
                WHERE number = (SELECT max(number) FROM pgdyno_load.task_1)";
    for finished in ["0", "1"] {
        admin.execute(last).expect("it is there");
        assert!(loaded.verify("later").contains("verified: 100,011 rows"));
        let known = admin.value("SELECT count(finished) FROM pgdyno_load.job").expect("it is there");
        assert_eq!(known.as_deref(), Some(finished));
    }
    let said = loaded.place.refused(&Loaded::load("later", &["--resume"]), 2);
    assert!(said.contains("the load of scale 1 is finished"), "{said}");
}

/// Tests that `cargo test` leaves out and `.ci/run` runs.
mod long {
    use super::*;

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn equals_pgbench_in_the_oldest_server() {
        equals_pgbench(OLDEST, &[CHUNKS, KEYED, SERVER]);
    }

    /// A crash of the server in the middle: what was committed is there, and unlogged tables are filled again, whatever
    /// keys they had.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_load_is_resumed_after_a_crash_of_the_server() {
        let loaded = Loaded::new("18");
        let databases = [("logged", &[][..]), ("unlogged", &["--unlogged"][..])];
        let foreign = ["--foreign-keys"];
        let parted = ["--foreign-keys", "--partitions", "3"];
        let held = [
            ("keyed", &["--method", "chunks"][..], BEFORE_LAST_KEY, Stage::Keys),
            ("referring", &foreign[..], BEFORE_LAST_FOREIGN_KEYS, Stage::ForeignKeys),
            ("parted", &parted[..], BEFORE_LAST_FOREIGN_KEYS, Stage::ForeignKeys),
        ];
        let held = held.map(|(name, more, lock, at)| (name, held_at(&loaded, name, more, lock, at)));
        let children = databases.map(|(database, more)| {
            loaded.make_database(database);
            let mut admin = loaded.database(database);
            hold_keys(&mut admin); // neither is to be done when the server ends
            let child = loaded.start(&Loaded::load(
                database,
                &[&["--scale", "3", "--jobs", "1", "--method", "chunks"], more].concat(),
            ));
            wait_until("tasks are done", || stage(&mut admin).is_some() && tasks_done(&mut admin) > 2);
            (child, admin)
        });
        kill(loaded.server["pid"].as_u64().expect("it has one"), "-QUIT"); // an immediate shutdown: it recovers
        let (held, held_children): (Vec<_>, Vec<_>) =
            held.into_iter().map(|(name, (child, _))| (name, child)).unzip();
        for child in children.into_iter().map(|(child, _)| child).chain(held_children) {
            let output = child.wait_with_output().expect("it has ended");
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(3), "{said}");
            assert!(said.contains("--resume continues from there"), "{said}");
        }
        wait_until("the server is gone", || loaded.place.only()["pid"].is_null());
        loaded.place.done(&["up"]);
        let [logged, unlogged] = databases.map(|(database, _)| tasks_done(&mut loaded.database(database)));
        assert!(logged > 2 && unlogged == 0, "{logged} {unlogged}");
        for (database, _) in databases {
            loaded.place.done(&Loaded::load(database, &["--resume", "--jobs", "2"]));
            assert!(loaded.verify(database).contains("verified: 300,033 rows"));
        }
        let keys = "SELECT count(*) FROM pg_constraint WHERE contype IN ('f', 'p')";
        for (database, keys_after) in held.into_iter().zip(["3", "8", "8"]) {
            let mut admin = loaded.database(database);
            assert_eq!(tasks_done(&mut admin), 0, "{database}");
            loaded.place.done(&Loaded::load(database, &["--resume", "--jobs", "2"]));
            assert!(loaded.verify(database).contains("verified: 200,022 rows"));
            let of_load = format!("{keys} AND conparentid = 0 AND connamespace = 'public'::regnamespace");
            assert_eq!(
                admin.value(&of_load).expect("it can be asked").as_deref(),
                Some(keys_after),
                "{database}"
            );
        }
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn equals_pgbench_in_the_newest_server() {
        equals_pgbench("18", &[CHUNKS, KEYED, RANGE, HASH, SERVER_RANGE]);
    }
}
