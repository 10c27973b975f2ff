//! `pgdyno prewarm` and `pgdyno probe`: what they say of real servers is so, and they leave tables as they were.

use pgdyno_core::probe::ReadMethod;
use pgdyno_postgres::probe::loaded::prewarm;
use pgdyno_wire::{Address, ConnectOptions, Session, connect};
use serde_json::Value;

use crate::common::{OLDEST, Place, text, wait_until, word};

/// A server with tables.
struct Probed {
    place: Place,
    server: Value,
}

/// Whether tables can be loaded with partitions: with primary keys these are there since 11.
fn has_partitions(pg: &str) -> bool {
    !pg.starts_with("9.") && pg != "10"
}

impl Probed {
    /// Tables of scale 2 in the schema `one`, and where the server has partitions, of 3 in the schema `parts`.
    fn new(pg: &str) -> Self {
        let place = Place::new();
        place.done(&["up", "--pg", pg, "--bundle", "-c", "fsync=off", "-c", "shared_buffers=64MB"]);
        let server = place.only();
        let probed = Self { place, server };
        probed.load("one", &[]);
        if has_partitions(pg) {
            probed.load("parts", &["--partitions", "3"]);
        }
        probed
    }

    fn load(&self, schema: &str, more: &[&str]) {
        self.session().execute(&format!("CREATE SCHEMA {schema}")).expect("a new schema");
        let (host, port) = (word(&self.server, "socket_dir"), self.server["port"].to_string());
        let dsn =
            format!("host={host} port={port} user=postgres dbname=postgres options=-csearch_path={schema}");
        let load = ["load", "tpcb", "--scale", "2", "--jobs", "1", "--dsn", &dsn];
        self.place.done(&[&load, more].concat());
        // COPY may leave empty pages at the end, which a later VACUUM gives back.
        self.session().execute(&format!("VACUUM {schema}.pgbench_accounts")).expect("it is there");
    }

    fn session(&self) -> Session {
        self.session_in("postgres")
    }

    fn session_in(&self, database: &str) -> Session {
        let port = self.server["port"].as_u64().expect("it has one") as u16;
        let address = Address::Unix(word(&self.server, "socket_dir").into(), port);
        connect(&ConnectOptions::local(address, "postgres").with_database(database))
            .expect("it takes connections")
    }

    /// A role that may only read the tables.
    fn plain_dsn(&self) -> String {
        let (host, port) = (word(&self.server, "socket_dir"), self.server["port"].to_string());
        format!("host={host} port={port} user=plain dbname=postgres")
    }

    /// Nothing is in shared buffers afterwards.
    fn restart(&mut self) {
        self.place.done(&["down", "main"]);
        self.place.done(&["up", "main"]);
        self.server = self.place.only();
    }

    fn json(&self, schema: &str, args: &[&str]) -> Value {
        let said = self.place.done(&[args, &["--server", "main", "--json"]].concat());
        let value: Value = serde_json::from_str(&said).expect("it is JSON");
        let schemas = pgdyno_core::probe::schemas();
        let (_, schema) = schemas.iter().find(|(name, _)| *name == schema).expect("it is there");
        let validator = jsonschema::validator_for(schema).expect("it is a schema");
        assert!(validator.is_valid(&value), "{:?}", validator.iter_errors(&value).next());
        value
    }
}

const PREWARM: &str = "prewarm.schema.json";
const PROBE: &str = "probe.schema.json";

/// Pages of a schema's tables and indexes in shared buffers, as the server has them.
const RESIDENT: &str = "SELECT sum(pg_relation_size(c.oid) / 8192)::bigint, sum((SELECT count(*) FROM pg_buffercache b \
     WHERE b.relfilenode = pg_relation_filenode(c.oid) AND b.relforknumber = 0 AND b.reldatabase = \
     (SELECT oid FROM pg_database WHERE datname = current_database())))::bigint \
     FROM pg_class c WHERE c.relkind IN ('r', 'i') AND c.relnamespace = 'one'::regnamespace";

fn resident(session: &mut Session) -> (u64, u64) {
    let rows = session.query(RESIDENT).expect("the extension is there");
    (rows[0].parse(0).expect("a number"), rows[0].parse(1).expect("a number"))
}

const TABLES: [&str; 3] = ["one.pgbench_accounts", "one.pgbench_branches", "one.pgbench_tellers"];

/// By queries and by the extension, checked by a second read and by pg_buffercache: cold tables are there afterwards.
fn tables_get_into_shared_buffers(pg: &str) {
    let mut probed = Probed::new(pg);
    loaded_tables_are_read_into_shared_buffers(&probed);
    let prewarm = |more: &[&'static str]| [&["prewarm"], &TABLES[..], more].concat();
    probed.restart();
    let by_scans = probed.json(PREWARM, &prewarm(&["--jobs", "2"]));
    assert_eq!((&by_scans["method"], &by_scans["seen_by"]), (&"scans".into(), &"second_read".into()));
    for relation in by_scans["relations"].as_array().expect("a list") {
        assert_eq!(relation["share"], 1.0, "{relation}");
        let pages = if relation["kind"] == "table" { &relation["pages"] } else { &Value::Null };
        assert_eq!(&relation["resident_pages"], pages, "{relation}");
    }
    let extensions = "SELECT count(*) FROM pg_extension WHERE extname IN ('pg_prewarm', 'pg_buffercache')";
    let mut session = probed.session();
    assert_eq!(
        session.value(extensions).expect("it can be asked").as_deref(),
        Some("0"),
        "nobody asked for them"
    );
    session.execute("CREATE EXTENSION pg_buffercache").expect("the bundle has it");
    let (pages, there) = resident(&mut session);
    assert!(there * 100 >= pages * 99, "{there} of {pages}");
    drop(session);

    probed.restart();
    let (pages, there) = resident(&mut probed.session());
    assert!(there < pages / 2, "{there} of {pages} after a restart");
    let by_extension = probed.json(PREWARM, &prewarm(&["--create-extension"]));
    assert_eq!(
        (&by_extension["method"], &by_extension["seen_by"]),
        (&"pg_prewarm".into(), &"pg_buffercache".into())
    );
    let (pages, there) = resident(&mut probed.session());
    assert_eq!(there, pages);
    let counted = by_extension["relations"].as_array().expect("a list").iter();
    assert_eq!(
        counted.map(|relation| relation["resident_pages"].as_u64().expect("it is seen")).sum::<u64>(),
        pages
    );
    what_does_not_fit_is_refused(&mut probed);
}

/// As after a load: with the extension if it is installed, and through queries if the role may not create it. Each time
/// in a copy of the database by files, of which nothing is in shared buffers.
fn loaded_tables_are_read_into_shared_buffers(probed: &Probed) {
    let plain = "CREATE ROLE plain; GRANT ALL ON SCHEMA one TO plain; \
                 ALTER TABLE pgbench_accounts OWNER TO plain; ALTER TABLE pgbench_tellers OWNER TO plain; \
                 ALTER TABLE pgbench_branches OWNER TO plain; SET ROLE plain";
    let elsewhere = "CREATE SCHEMA elsewhere; CREATE EXTENSION pg_prewarm SCHEMA elsewhere";
    let mut admin = probed.session_in("template1");
    let version = admin.value("SHOW server_version_num").expect("it can be asked");
    let strategy = if version.is_some_and(|of| of.len() == 6 && &of[..] >= "150000") {
        "STRATEGY file_copy"
    } else {
        ""
    };
    admin.execute(&format!("CREATE DATABASE loaded TEMPLATE postgres {strategy}")).expect("the role may");
    let mut looking = probed.session_in("loaded");
    looking.execute("CREATE EXTENSION pg_buffercache").expect("the bundle has it");
    drop(looking);
    let ways =
        [(plain, ReadMethod::Scans), ("SELECT 1", ReadMethod::PgPrewarm), (elsewhere, ReadMethod::PgPrewarm)];
    for (at, (before, expected)) in ways.into_iter().enumerate() {
        let copy = format!("CREATE DATABASE cold_{at} TEMPLATE loaded {strategy}");
        admin.execute(&copy).expect("the role may copy databases");
        let [mut session, mut looking] = [(); 2].map(|()| probed.session_in(&format!("cold_{at}")));
        let (pages, there) = resident(&mut looking);
        assert!(pages > 1_000 && there < pages / 2, "{before}: {there} of {pages} before");
        session.execute(&format!("SET search_path = one; {before}")).expect("the role may do that");
        let outcome = prewarm(&mut session).expect("the tables can be read");
        assert_eq!(outcome.method, expected, "{before}");
        let (pages, there) = resident(&mut looking);
        assert!(there * 100 >= pages * 99, "{before}: {there} of {pages}");
    }
}

fn what_does_not_fit_is_refused(probed: &mut Probed) {
    let mut session = probed.session();
    session.execute("ALTER SYSTEM SET shared_buffers = '16MB'").expect("the role may");
    drop(session);
    probed.restart();
    let said = probed.place.refused(&["prewarm", "--server", "main", TABLES[0]], 2);
    for words in ["could not hold these tables in shared buffers: they are ", "of 16 MiB", "--anyway"] {
        assert!(said.contains(words), "{said}");
    }
    let said = probed.place.done(&["prewarm", "--server", "main", "--anyway", TABLES[0]]);
    assert!(said.contains("of shared buffers: other reads may evict them"), "{said}");
    let said = probed.place.refused(&["prewarm", "--server", "main", "no.such"], 2);
    assert!(said.contains("could not find the table no.such: it does not exist"), "{said}");
}

#[test]
fn tables_get_into_shared_buffers_of_the_oldest_server() {
    tables_get_into_shared_buffers(OLDEST);
}

#[test]
fn tables_get_into_shared_buffers_of_the_newest_server() {
    tables_get_into_shared_buffers("18");
}

#[test]
#[ignore = "takes long: `cargo xtask test-all` runs it"]
fn tables_get_into_shared_buffers_of_every_server_between() {
    tables_get_into_shared_buffers("9.6");
    (10..18).for_each(|major| tables_get_into_shared_buffers(&major.to_string()));
}

/// Everything that a change of a table would change.
fn traces(session: &mut Session) -> Vec<String> {
    let sql = "SELECT c.relname || ' ' || c.relfilenode || ' ' || c.relnatts || ' ' || \
               (SELECT count(*) FROM pg_attribute a WHERE a.attrelid = c.oid) || ' ' || \
               (SELECT count(*) FROM pg_attrdef d WHERE d.adrelid = c.oid) || ' ' || pg_relation_size(c.oid) \
               FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
               WHERE n.nspname IN ('one', 'parts', 'theirs') ORDER BY n.nspname, c.relname";
    let rows = session.query(sql).expect("it can be asked");
    rows.iter().map(|row| row.get(0).expect("no null").to_owned()).collect()
}

fn statement<'a>(table: &'a Value, name: &str) -> &'a Value {
    let statements = table["statements"].as_array().expect("a list");
    statements
        .iter()
        .find(|statement| statement["statement"] == name)
        .unwrap_or_else(|| panic!("{name}: {table}"))
}

/// Statements are timed, rewrites are recognized, and nothing is left of them.
fn changes_are_timed_and_taken_back(pg: &str, constant_rewrites: bool) {
    let probed = Probed::new(pg);
    let mut session = probed.session();
    let before = traces(&mut session);
    let tables: &[&str] =
        if has_partitions(pg) { &[TABLES[0], "parts.pgbench_accounts"] } else { &TABLES[..1] };
    let report = probed.json(PROBE, &[&["probe", "ddl", "--rewrite", "--repeats", "2"], tables].concat());
    assert_eq!(traces(&mut session), before);
    assert_eq!((&report["probe"], &report["checkpoints"]), (&"ddl".into(), &true.into()));
    let found = report["tables"].as_array().expect("a list");
    assert_eq!(found.len(), tables.len());
    for (table, partitions) in found.iter().zip([0, 3]) {
        assert_eq!(table["table"]["partitions"], partitions);
        for (name, times) in
            [("ADD COLUMN", 2), ("DROP COLUMN", 2), ("ANALYZE", 2), ("VACUUM", 1), ("VACUUM (FREEZE)", 1)]
        {
            assert_eq!(statement(table, name)["seconds"].as_array().map(Vec::len), Some(times), "{name}");
        }
        let rewritten = |name: &str| statement(table, name)["rewritten"].clone();
        assert_eq!(rewritten("ADD COLUMN"), false);
        assert_eq!(rewritten("DROP COLUMN"), false);
        assert_eq!(rewritten("ADD COLUMN … DEFAULT constant"), constant_rewrites);
        assert_eq!(rewritten("ADD COLUMN … DEFAULT volatile"), true);
        assert_eq!(rewritten("VACUUM"), Value::Null);
    }
    // Without the flag, nothing is rewritten.
    let report = probed.json(PROBE, &["probe", "ddl", "--repeats", "1", tables[0]]);
    let volatile = statement(&report["tables"][0], "ADD COLUMN … DEFAULT volatile").clone();
    assert_eq!(volatile["seconds"], Value::Array(Vec::new()));
    assert!(volatile["left_out"].as_str().is_some_and(|why| why.contains("add --rewrite")), "{volatile}");
    others_tables_are_left_alone(&probed, &mut session);
}

fn others_tables_are_left_alone(probed: &Probed, session: &mut Session) {
    session
        .execute(
            "CREATE SCHEMA theirs; CREATE TABLE theirs.t AS SELECT 1 AS a; CREATE ROLE plain LOGIN; \
             GRANT USAGE ON SCHEMA one, theirs TO plain; GRANT SELECT ON ALL TABLES IN SCHEMA one, theirs TO plain",
        )
        .expect("the role may");
    let before = traces(session);
    let ddl = ["probe", "ddl", "--repeats", "1", "--server", "main"];
    let said = probed.place.refused(&[&ddl[..], &["theirs.t"]].concat(), 2);
    for words in ["could not change theirs.t: pgdyno did not load it", "--may-change"] {
        assert!(said.contains(words), "{said}");
    }
    probed.place.done(&[&ddl[..], &["--may-change", "theirs.t"]].concat());
    // Nobody but the owner may change it.
    let dsn = probed.plain_dsn();
    let said =
        probed.place.refused(&["probe", "ddl", "--may-change", "--dsn", &dsn, "one.pgbench_accounts"], 3);
    assert!(said.contains("must be owner"), "{said}");
    // One that is in use is not waited for longer than is said, and nobody waits behind us.
    session.execute("BEGIN; LOCK TABLE one.pgbench_accounts IN ACCESS SHARE MODE").expect("it is there");
    let busy = [&ddl[..], &["--lock-timeout", "100ms", "one.pgbench_accounts"]].concat();
    let said = probed.place.refused(&busy, 3);
    for words in ["could not lock one.pgbench_accounts within 100 ms: it is in use", "Nothing was changed"] {
        assert!(said.contains(words), "{said}");
    }
    session.execute("COMMIT").expect("it is begun");
    assert_eq!(traces(session), before);
    // A table that replaces a loaded one counts as foreign.
    session
        .execute("DROP TABLE one.pgbench_history; CREATE TABLE one.pgbench_history (mine int)")
        .expect("the role may");
    let said = probed.place.refused(&[&ddl[..], &["one.pgbench_history"]].concat(), 2);
    assert!(said.contains("pgdyno did not load it"), "{said}");
    no_name_reaches_the_terminal(probed, session);
}

/// A role that may create tables may put into their names what a terminal obeys.
fn no_name_reaches_the_terminal(probed: &Probed, session: &mut Session) {
    let name = "theirs.\"a\u{1b}[2J\nb\"";
    session.execute(&format!("CREATE TABLE {name} AS SELECT 1 AS a")).expect("the role may");
    let server = ["--server", "main"];
    let sizes = probed.place.done(&[&["probe", "sizes"], &server[..]].concat());
    let warmed = probed.place.done(&[&["prewarm"], &server[..], &[name]].concat());
    let refused = probed.place.refused(&[&["probe", "ddl"], &server[..], &[name]].concat(), 2);
    for said in [sizes, warmed, refused] {
        assert!(said.contains("theirs.\"a\\u{1b}[2J\\nb\"") && !said.contains('\u{1b}'), "{said:?}");
    }
}

#[test]
fn changes_of_the_newest_server_are_taken_back() {
    changes_are_timed_and_taken_back("18", false);
}

/// A probe that is killed in the middle of a change leaves nothing of it.
#[test]
fn a_killed_probe_leaves_nothing() {
    let probed = Probed::new("18");
    let mut session = probed.session();
    let before = traces(&mut session);
    let ddl = ["probe", "ddl", "--rewrite", "--repeats", "1000", "--server", "main", TABLES[0]];
    let mut child = probed.place.command(&ddl).spawn().expect("pgdyno can be run");
    let changes = "SELECT 1 FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted \
                   AND relation = 'one.pgbench_accounts'::regclass";
    wait_until("it changes the table", || session.value(changes).expect("it can be asked").is_some());
    child.kill().expect("it runs");
    child.wait().expect("it has ended");
    wait_until("its session is gone", || session.value(changes).expect("it can be asked").is_none());
    assert_eq!(traces(&mut session), before);
}

/// Requests are fulfilled, or the report says that they were not.
fn tables_are_counted(pg: &str, workers: u64) {
    let probed = Probed::new(pg);
    let tables: &[&str] =
        if has_partitions(pg) { &[TABLES[0], "parts.pgbench_accounts"] } else { &TABLES[..1] };
    let args = [&["probe", "count", "--parallel", "0,2", "--repeats", "2"], tables].concat();
    let report = probed.json(PROBE, &args);
    for table in report["tables"].as_array().expect("a list") {
        assert_eq!(table["rows"], 200_000);
        let ways = table["ways"].as_array().expect("a list");
        let asked: Vec<_> = ways.iter().map(|way| (word(way, "by"), way["workers_asked"].as_u64())).collect();
        assert_eq!(asked, [("index", Some(0)), ("index", Some(2)), ("seq", Some(0)), ("seq", Some(2))]);
        for way in ways {
            let plan = &way["plan"];
            assert_eq!(way["seconds"].as_array().map(Vec::len), Some(2));
            let kind = if way["by"] == "index" { "Index Only Scan" } else { "Seq Scan" };
            let scans = plan["scans"].as_array().expect("a list");
            assert!(scans.iter().all(|scan| scan.as_str().is_some_and(|scan| scan.ends_with(kind))), "{way}");
            let planned = if way["workers_asked"] == 0 { 0 } else { workers };
            let index_of_old = pg.starts_with("9.") && way["by"] == "index";
            assert_eq!(plan["workers_planned"], if index_of_old { 0 } else { planned }, "{way}");
            assert_eq!(plan["heap_fetches"], 0, "it was vacuumed: {way}");
        }
        let touched = |way: &Value| plan_number(way, "hit_pages") + plan_number(way, "read_pages");
        assert!(touched(&ways[0]) * 3 < touched(&ways[2]), "a key has fewer pages than its table");
        // Free space and visibility are in pages of their own, four or five of each table.
        let maps = 5 * (1 + table["table"]["partitions"].as_u64().expect("a number"));
        assert!(
            touched(&ways[2]) >= table["table"]["table_bytes"].as_u64().expect("a number") / 8_192 - maps
        );
    }
    // A table without an index is not counted by one, which is said.
    let said = probed.place.done(&[
        "probe",
        "count",
        "--server",
        "main",
        "--parallel",
        "0",
        "--by",
        "index",
        "one.pgbench_history",
    ]);
    assert!(said.contains("! requested index, but the server chose Seq Scan"), "{said}");
}

fn plan_number(way: &Value, key: &str) -> u64 {
    way["plan"][key].as_u64().expect("a number")
}

#[test]
fn tables_of_the_oldest_server_are_counted() {
    tables_are_counted(OLDEST, if OLDEST == "9.5" { 0 } else { 2 });
}

#[test]
fn tables_of_the_newest_server_are_counted() {
    tables_are_counted("18", 2);
}

/// Depths in the meta pages are those that are predicted, and sizes are the server's.
fn depths_and_sizes(pg: &str) {
    let mut probed = Probed::new(pg);
    let mut session = probed.session();
    let blind = probed.json(PROBE, &["probe", "depth", "one.pgbench_accounts"]);
    assert_eq!((&blind["measured"], &blind["indexes"][0]["levels"]), (&false.into(), &Value::Null));
    let seen = probed.json(PROBE, &["probe", "depth", "--create-extension"]);
    assert_eq!(seen["measured"], true);
    let indexes = seen["indexes"].as_array().expect("a list");
    assert!(indexes.len() >= 3, "{seen}");
    for index in indexes {
        assert!(index["levels"].is_u64(), "{index}");
        assert_eq!(index["levels"], index["levels_predicted"], "{index}");
        assert_eq!(index["pages"], index["pages_predicted"], "{index}");
    }
    let accounts = indexes.iter().find(|index| index["name"] == "one.pgbench_accounts_pkey");
    assert_eq!(accounts.map(|index| &index["levels"]), Some(&3.into()), "200,000 keys");

    let sizes = probed.json(PROBE, &["probe", "sizes"]);
    let mut bytes = |list: &str, name: &str, sql: &str| {
        let list = sizes[list].as_array().expect("a list");
        let size = list.iter().find(|size| size["name"] == name).unwrap_or_else(|| panic!("{name}: {sizes}"));
        let want = session.value(&format!("SELECT {sql}")).expect("it can be asked").expect("a number");
        assert_eq!(size["bytes"].to_string(), want, "{name}");
        size["partitions"].as_u64()
    };
    bytes("tables", "one.pgbench_accounts", "pg_table_size('one.pgbench_accounts')");
    bytes("indexes", "one.pgbench_accounts_pkey", "pg_table_size('one.pgbench_accounts_pkey')");
    bytes("databases", "template0", "pg_database_size('template0')");
    bytes("tablespaces", "pg_global", "pg_tablespace_size('pg_global')");
    if has_partitions(pg) {
        let sum = |what: &str| {
            let parts = (1..=3).map(|n| format!("pg_table_size('parts.pgbench_accounts_{n}{what}')"));
            parts.collect::<Vec<_>>().join(" + ")
        };
        assert_eq!(bytes("tables", "parts.pgbench_accounts", &sum("")), Some(3));
        assert_eq!(bytes("indexes", "parts.pgbench_accounts_pkey", &sum("_pkey")), Some(3));
    }
    drop(session);
    probed.restart();
    first_touches_are_timed(&probed, pg);
    partitions_have_their_price(&probed, pg);
    commits_are_timed(&probed, pg);
}

/// The table that every server has, and the one with partitions where there are any.
fn big_tables(pg: &str) -> &'static [&'static str] {
    let both = &["one.pgbench_accounts", "parts.pgbench_accounts"];
    if has_partitions(pg) { both } else { &both[..1] }
}

/// First number of a version.
fn major(pg: &str) -> u32 {
    let first = pg.split('.').next().and_then(|number| number.parse().ok());
    first.expect("a version begins with a number")
}

/// After a restart the first session reads, and the second execution finds everything.
fn first_touches_are_timed(probed: &Probed, pg: &str) {
    let touch = [&["probe", "first-touch", "--repeats", "2", "--limit", "5"], big_tables(pg)].concat();
    let found = probed.json(PROBE, &touch);
    for table in found["tables"].as_array().expect("a list") {
        // ANALYZE counts rows in a sample of pages.
        let estimated = table["rows_estimated"].as_f64().expect("a number");
        assert!(table["analyzed"] == true && (estimated / 200_000.0 - 1.0).abs() < 0.01, "{table}");
        assert_eq!(table["statement_seconds"].as_array().map(Vec::len), Some(2));
        let [first, second] = [0, 1].map(|at| &table["executions"][at]);
        assert_eq!((&first["execution"], &second["execution"]), (&"first".into(), &"second".into()));
        for times in ["planning_seconds", "execution_seconds"] {
            assert_eq!(first[times].as_array().map(Vec::len), Some(2), "{table}");
        }
        assert!(first["read_pages"].as_u64() > Some(0) && second["read_pages"] == 0, "{table}");
        let planned =
            |of: &Value| Some(of["planning_hit_pages"].as_u64()? + of["planning_read_pages"].as_u64()?);
        assert_eq!(planned(first).is_some(), major(pg) >= 13, "{table}");
        assert!(planned(first) > planned(second) || planned(first).is_none(), "{table}");
    }
    let cold =
        probed.json(PROBE, &["probe", "first-touch", "--cold", "--repeats", "1", "one.pgbench_accounts"]);
    assert_eq!(cold["cold"], true);
    let said = probed.place.refused(&["probe", "first-touch", "--server", "main", "nowhere"], 2);
    assert!(said.contains("could not find the table nowhere: it does not exist"), "{said}");
}

/// Locks, scans and catalog rows are those that the shapes of the tables imply.
fn partitions_have_their_price(probed: &Probed, pg: &str) {
    let found = probed.json(PROBE, &[&["probe", "partitions", "--repeats", "1"], big_tables(pg)].concat());
    let tables = found["tables"].as_array().expect("a list");
    // All rows lock table and key, or the whole, three partitions and their keys.
    for (table, (partitions, locked, described)) in tables.iter().zip([(1, 2, 2), (3, 7, 8)]) {
        let ways = table["ways"].as_array().expect("a list");
        assert_eq!((ways.len(), &table["key"]), (5, &serde_json::json!(["aid"])));
        let number = |way: usize, when: &str, key: &str| ways[way][when][key].as_u64();
        assert_eq!(number(0, "first", "scans"), Some(1), "{table}");
        assert!(number(0, "first", "locks") >= Some(2), "{table}");
        let later = |key: &str| ways[3]["later"][key].as_array().map(Vec::len);
        assert_eq!(later("execution_seconds"), Some(10), "{table}");
        assert_eq!(later("planning_seconds"), Some(if major(pg) < 10 { 0 } else { 10 }), "{table}");
        assert_eq!(table["catalogs"][0]["rows"], described, "{table}");
        assert!(table["catalogs"][1]["row_bytes"].as_u64() > Some(100), "{table}");
        for (at, since) in [(1, 12), (2, 12), (4, 10)] {
            assert_eq!(ways[at]["left_out"].is_string(), major(pg) < since, "{table}");
        }
        assert_eq!(table["cache_bytes"].as_u64() > Some(0), major(pg) >= 14, "{table}");
        if major(pg) >= 10 {
            assert_eq!(number(4, "first", "scans"), Some(partitions), "{table}");
            assert!(number(4, "later", "locks") >= Some(locked), "{table}");
        }
        if major(pg) >= 12 {
            assert!(number(2, "first", "locks") >= number(2, "later", "locks"), "{table}");
        }
    }
    let said = probed.place.refused(&["probe", "partitions", "--server", "main", "one.pgbench_history"], 2);
    assert!(said.contains("could not examine one.pgbench_history: it has no primary key"), "{said}");
}

/// Changes are committed on loaded tables alone, and their columns are as before, whatever an earlier probe left.
fn commits_are_timed(probed: &Probed, pg: &str) {
    let mut session = probed.session();
    session
        .execute("CREATE TABLE public.mine AS SELECT 1 AS a; ALTER TABLE one.pgbench_accounts ADD pgdyno_probe text")
        .expect("the role may");
    let said = probed.place.refused(&["probe", "ddl", "--commit", "--server", "main", "public.mine"], 2);
    for words in
        ["could not commit changes of public.mine: pgdyno did not load it", "load copy", "rolled back"]
    {
        assert!(said.contains(words), "{said}");
    }
    let ddl = ["probe", "ddl", "--commit", "--rewrite", "--repeats", "2", "--sessions", "2"];
    let found = probed.json(PROBE, &[&ddl[..], big_tables(pg)].concat());
    assert_eq!(found["committed"], true);
    for (table, partitioned) in found["tables"].as_array().expect("a list").iter().zip([false, true]) {
        let commits = |name: &str| statement(table, name)["commit_seconds"].as_array().map(Vec::len);
        assert_eq!(["ADD COLUMN", "DROP COLUMN"].map(commits), [Some(2), Some(2)], "{table}");
        assert_eq!(["ANALYZE", "VACUUM"].map(commits), [None, None], "{table}");
        assert_eq!(statement(table, "ADD COLUMN … DEFAULT volatile")["rewritten"], true);
        let sessions = |name: &str| statement(table, name)["sessions"].as_u64();
        assert_eq!((sessions("VACUUM"), sessions("ANALYZE")), (partitioned.then_some(2), None), "{table}");
    }
    let columns = "SELECT string_agg(attname, ' ' ORDER BY attnum) FILTER (WHERE NOT attisdropped) || ' ' || \
                   count(*) FILTER (WHERE attisdropped) FROM pg_attribute \
                   WHERE attrelid = 'one.pgbench_accounts'::regclass AND attnum > 0";
    // Four kinds of change twice, and what was left.
    let left = session.value(columns).expect("it can be asked");
    assert_eq!(left.as_deref(), Some("aid bid abalance filler 9"));
    let (host, port) = (word(&probed.server, "socket_dir"), probed.server["port"].to_string());
    let dsn = format!("host={host} port={port} user=postgres dbname=postgres options=-csearch_path=one");
    assert!(probed.place.done(&["load", "verify", "--dsn", &dsn]).contains("verified: 200,022 rows"));
}

#[test]
fn depths_and_sizes_of_the_newest_server() {
    depths_and_sizes("18");
}

#[test]
#[ignore = "takes long: `cargo xtask test-all` runs it"]
fn servers_between_are_probed_as_well() {
    for pg in ["11", "14", "16"] {
        tables_get_into_shared_buffers(pg);
        changes_are_timed_and_taken_back(pg, false);
        tables_are_counted(pg, 2);
        depths_and_sizes(pg);
    }
}

/// What is too long for a row, and indexes of every kind, are read, or it is said that they were not.
#[test]
fn all_kinds_of_relations_are_read_or_named() {
    let probed = Probed::new("18");
    let mut session = probed.session();
    session
        .execute(
            "CREATE TABLE one.long AS SELECT n, string_agg(md5((m * n)::text), '') AS t \
             FROM generate_series(1, 20) n, generate_series(1, 2000) m GROUP BY n; \
             CREATE INDEX by_expression ON one.long ((n % 7) DESC NULLS LAST) WHERE n < 10; \
             CREATE INDEX some_of_it ON one.pgbench_tellers ((tid + 1) DESC, bid) WHERE bid = 1; \
             CREATE TABLE one.\"Odd name\" AS SELECT 1 AS \"My key\"; \
             ALTER TABLE one.\"Odd name\" ADD PRIMARY KEY (\"My key\"); \
             CREATE ROLE plain LOGIN; GRANT USAGE ON SCHEMA one TO plain; \
             GRANT SELECT ON ALL TABLES IN SCHEMA one TO plain",
        )
        .expect("the role may");
    let tables = ["one.long", "one.pgbench_tellers", "one.\"Odd name\""];
    // Rows of which the visibility map does not know are looked up in the table, and its pages say nothing of the
    // index.
    let unknown = probed.json(PREWARM, &["prewarm", tables[2]]);
    let shares = unknown["relations"].as_array().expect("a list").iter().map(|one| &one["share"]);
    assert_eq!(shares.collect::<Vec<_>>(), [&Value::from(1.0), &Value::Null], "{unknown}");
    for table in tables {
        session.execute(&format!("VACUUM {table}")).expect("the role may");
    }
    let warmed = probed.json(PREWARM, &[&["prewarm"], &tables[..]].concat());
    assert_eq!(warmed["method"], "scans");
    let names: Vec<_> =
        warmed["relations"].as_array().expect("a list").iter().map(|one| word(one, "name")).collect();
    for name in
        ["one.long", "pg_toast.pg_toast_", "one.some_of_it", "one.\"Odd name\"", "one.\"Odd name_pkey\""]
    {
        assert!(names.iter().any(|found| found.starts_with(name)), "{name}: {names:?}");
    }
    for relation in warmed["relations"].as_array().expect("a list") {
        assert_eq!((&relation["share"], &relation["not_read"]), (&1.0.into(), &Value::Null), "{relation}");
    }
    session.execute("CREATE INDEX by_hash ON one.pgbench_tellers USING hash (tid)").expect("the role may");
    let dsn = probed.plain_dsn();
    for (table, unread) in [("one.long", "pg_toast.pg_toast_"), ("one.pgbench_tellers", "one.by_hash")] {
        let output = probed.place.run(&["prewarm", "--dsn", &dsn, table]);
        let said = text(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{said}{}", text(&output.stderr));
        assert!(said.contains(&format!("! {unread}")) && said.contains(" was not read: no query"), "{said}");
    }
    let warmed = probed.json(PREWARM, &["prewarm", "--create-extension", "one.long", "one.pgbench_tellers"]);
    for relation in warmed["relations"].as_array().expect("a list") {
        assert_eq!(relation["resident_pages"], relation["pages"], "{relation}");
    }
}

/// A role that may only read gets what it may see, and a note on the rest.
#[test]
fn a_role_that_may_only_read_is_served() {
    let probed = Probed::new("18");
    probed
        .session()
        .execute(
            "CREATE ROLE plain LOGIN; GRANT USAGE ON SCHEMA one TO plain; \
             GRANT SELECT ON ALL TABLES IN SCHEMA one TO plain; \
             CREATE EXTENSION pg_prewarm; CREATE EXTENSION pg_buffercache; CREATE EXTENSION pageinspect",
        )
        .expect("the role may");
    let dsn = probed.plain_dsn();
    let warmed = probed.place.done(&["prewarm", "--dsn", &dsn, "one.pgbench_accounts"]);
    assert!(warmed.contains("read by scans") && warmed.contains("checked with a second read"), "{warmed}");
    let counted = probed.place.done(&["probe", "count", "--dsn", &dsn, "one.pgbench_accounts"]);
    assert!(counted.contains("! without a CHECKPOINT before each measurement"), "{counted}");
    let depths = probed.place.done(&["probe", "depth", "--dsn", &dsn, "one.pgbench_accounts"]);
    assert!(depths.contains("Levels were not measured"), "{depths}");
    let sizes = probed.place.done(&["probe", "sizes", "--dsn", &dsn]);
    assert!(sizes.contains("one.pgbench_accounts "), "{sizes}");
    let output = probed.place.run(&["prewarm", "--dsn", &dsn, "--create-extension", "one.pgbench_accounts"]);
    assert!(output.status.success(), "they are there already: {}", text(&output.stderr));
}

/// Tests that `cargo test` leaves out and `.ci/run` runs.
mod long {
    use super::*;

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn depths_and_sizes_of_the_oldest_server() {
        depths_and_sizes(OLDEST);
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn changes_of_the_oldest_server_are_taken_back() {
        changes_are_timed_and_taken_back(OLDEST, true);
    }
}
