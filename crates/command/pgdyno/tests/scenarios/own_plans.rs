//! Plans with tables and scripts of their own, against real servers: the oldest bundle and the newest.

use std::fs;

use pgdyno_record::{LoadRecord, Run, Status};
use pgdyno_rows::load::Set;

use crate::common::{OLDEST, Place, admin, brief, holds_together, text, word};

/// A table that grows, one for every client, a mix by weight; small enough to be counted before every run.
const PLAN: &str = r#"
name = "own"
[variables]
rows = 1000
each = 7
[data]
setup = "own/setup.sql"
setup_text = "CREATE TABLE marks (client int)"
[[workload]]
name = "read"
text = """
\\set id random(1, :rows)
SELECT * FROM things WHERE id = :id;
"""
[[workload]]
script = "own/grow.sql"
reset = "TRUNCATE grown; INSERT INTO grown SELECT generate_series(1, :each);"
[[workload]]
name = "own-table"
text = "INSERT INTO of:client_id (n) VALUES (:each);"
define = { each = 8 }
clients = [1, 3]
reset = "DO $$ BEGIN FOR i IN 0 .. :max_clients - 1 LOOP EXECUTE format('TRUNCATE of%s', i); END LOOP; END $$"
[[workload]]
name = "mix"
scripts = [
    { text = "INSERT INTO marks VALUES (:client_id);", weight = 3 },
    { script = "own/read.sql", weight = 1 },
]
[measure]
clients = [2]
jobs = 1
duration = "300ms"
warmup = "100ms"
blocks = 2
[size.tiny]
blocks = 1
variables = { rows = 10 }
"#;

const SETUP: &str = "\
-- Tables of every kind.
CREATE TABLE things (id int PRIMARY KEY, word text DEFAULT 'a; b');
INSERT INTO things SELECT generate_series(1, :rows);
CREATE TABLE grown (id int);
DO $$
BEGIN
    FOR i IN 0 .. :max_clients - 1 LOOP
        EXECUTE format('CREATE TABLE of%s (n int)', i);
    END LOOP;
END
$$;
";

fn written(place: &Place, plan: &str, setup: &str) -> String {
    let path = place.path("own.toml");
    fs::create_dir_all(place.path("own")).expect("it can be made");
    for (name, content) in [
        ("own.toml", &*plan.replace("300ms", brief())),
        ("own/setup.sql", setup),
        ("own/grow.sql", "INSERT INTO grown SELECT generate_series(1, 10);"),
        ("own/read.sql", "SELECT count(*) FROM things;\n"),
    ] {
        fs::write(place.path(name), content).expect("it can be written");
    }
    path.display().to_string()
}

fn is_done(run: &Run) {
    assert_eq!((run.record.status, &run.record.error), (Status::Complete, &None));
    holds_together(run);
}

/// The rows before every run of a workload.
fn rows_before(run: &Run, script: &str) -> Vec<Option<u64>> {
    let of = run.record.runs.iter().filter(|run| run.workload.script == script);
    of.map(|run| run.data_state.expect("there are tables of its own").rows).collect()
}

fn a_plan_of_its_own(pg: &str) {
    let place = Place::new();
    let path = written(&place, PLAN, SETUP);
    let output = place.run(&["run", &path, "--pg", pg, "--bundle", "--seed", "1"]);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{out}{err}");
    assert!(err.contains("on the plan's own tables") && err.contains("1/3 (own-table)"), "{err}");
    let run = place.only_run();
    is_done(&run);
    everything_ran(&run);
    every_run_begins_alike(&run);
    the_texts_are_kept(&run);
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("own-table") && words.contains("there are no TPC-B tables"), "{out}");
    let csv = place.done(&["report", &run.record.id, "--format", "csv"]);
    assert!(csv.contains(",grow.sql,prepared,2,"), "{csv}");
    assert!(place.done(&["list"]).contains("own-table"), "a list names it");
    place.nothing_is_left();
}

fn everything_ran(run: &Run) {
    let record = &run.record;
    assert_eq!((record.plan.scale, record.subjects[0].load.is_none()), (None, true));
    let cells: Vec<_> =
        record.cells.iter().map(|cell| (&cell.workload.script[..], cell.workload.clients)).collect();
    assert_eq!(cells, [("read", 2), ("grow.sql", 2), ("own-table", 1), ("own-table", 3), ("mix", 2)]);
    for run in &record.runs {
        // Of a disk that is busy a commit may come after the interval.
        assert!(run.counts_whole.committed > 0 && run.counts.failed == 0, "{run:?}");
    }
    // Of several scripts there is no one number of statements.
    let statements = record.cells.iter().map(|cell| cell.statements_per_transaction);
    assert_eq!(statements.collect::<Vec<_>>(), [Some(1), Some(1), Some(1), Some(1), None]);
    assert!(record.subjects[0].balance.is_none() && record.plan.balance_check == "off");
    assert!(
        !record.doubts.iter().any(|doubt| format!("{:?}", doubt.kind) == "NotChecked"),
        "{:?}",
        record.doubts
    );
}

/// With a reset every run finds the same rows; without one (`mix`) the next run finds what the one before wrote.
fn every_run_begins_alike(run: &Run) {
    let committed = |script: &str| {
        let of = run.record.runs.iter().filter(|run| run.workload.script == script);
        of.map(|run| run.counts_whole.committed).collect::<Vec<_>>()
    };
    // things; those of all others are empty at first.
    assert_eq!(rows_before(run, "read"), [Some(1000); 2]);
    assert_eq!(rows_before(run, "grow.sql"), [Some(1007); 2]);
    let left = 1000 + 7 + 10 * committed("grow.sql")[1];
    assert_eq!(rows_before(run, "own-table"), [Some(left); 4]);
    let mixed = rows_before(run, "mix");
    let last = committed("own-table").last().copied().unwrap_or_default();
    assert_eq!(mixed[0], Some(left + last));
    let marks = mixed[1].zip(mixed[0]).map_or(0, |(after, before)| after - before);
    // Three of four attempts leave a mark. Six standard deviations of a share over `all` attempts.
    let all = committed("mix")[0] as f64;
    let share = marks as f64 / all;
    assert!((share - 0.75).abs() < 6.0 * (0.75 * 0.25 / all).sqrt(), "{share} of {all}");
}

fn the_texts_are_kept(run: &Run) {
    let material = run.record.material.as_ref().expect("it brought something");
    let setup = material.setup.as_ref().expect("it has a setup");
    assert_eq!(setup.texts[0].text, SETUP);
    // By sha256sum.
    assert_eq!(setup.texts[1].sha256, "6b9a2a08c24d4f96213f720e935982016372359c149e1e3ef37f0284a5175cde");
    let done = run.record.subjects[0].setup.as_ref().expect("it was executed");
    // things, grown, marks and a table for each of three clients.
    assert_eq!((done.statements, done.tables), (5, 6));
    let names: Vec<_> = material.workloads.iter().map(|workload| workload.name.as_str()).collect();
    assert_eq!(names, ["read", "grow.sql", "own-table", "mix"]);
    let own = &material.workloads[2];
    assert_eq!(own.variables["each"], "8");
    assert!(own.reset.as_ref().is_some_and(|reset| reset.text.contains("TRUNCATE of%s")));
    let weights: Vec<_> = material.workloads[3].scripts.iter().map(|script| script.weight).collect();
    assert_eq!(weights, [3, 1]);
}

#[test]
fn a_setup_that_fails_shows_its_place() {
    let place = Place::new();
    let path =
        written(&place, PLAN, "CREATE TABLE things (id int);\n\nINSERT INTO things\n    SELECT nosuch;\n");
    let output = place.run(&["run", &path, "--pg", "18", "--bundle"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    let first = "could not execute own/setup.sql:3: column \"nosuch\" does not exist (SQLSTATE 42703)";
    assert!(said.contains(first), "{said}");
    assert!(said.contains("\nLINE 2:     SELECT nosuch;\n                   ^\nhint: fix the SQL"), "{said}");
    assert_eq!(place.runs().len(), 0, "nothing was measured, nothing is kept");
    place.nothing_is_left();
}

/// An existing server: everything is in schema `pgdyno`, and nothing begins if it has too few connections.
#[test]
fn a_foreign_server_is_asked_for_its_connections_first() {
    let place = Place::new();
    place.done(&["up", "mine", "--pg", "18", "--bundle", "--set", "max_connections=30"]);
    let server = place.only();
    let (socket, port) = (word(&server, "socket_dir").to_owned(), server["port"].to_string());
    let at = ["-h", &socket, "-p", &port, "-U", "postgres", "-d", "postgres"];
    let path = written(&place, &PLAN.replace("clients = [1, 3]", "clients = [1, 30]"), SETUP);
    let said = place.refused(&[&["run", &path][..], &at].concat(), 3);
    assert!(
        said.contains("30 clients are more than the server's max_connections (30, 3 of them reserved)"),
        "{said}"
    );
    assert_eq!(place.runs().len(), 0);
    let path = written(&place, PLAN, SETUP);
    let dry = place.run(&[&["run", &path, "--dry-run"][..], &at].concat());
    assert!(dry.status.success() && text(&dry.stderr).contains("  seed    "), "{}", text(&dry.stderr));
    assert_eq!(place.runs().len(), 0);
    let tables = "SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relname IN ('things', 'of0')";
    assert_eq!(admin(&server).value(tables).expect("it answers").as_deref(), Some("0"));
    place.done(&[&["run", &path, "--size", "tiny", "--keep"][..], &at].concat());
    is_done(&place.only_run());
    let theirs = "SELECT string_agg(DISTINCT relnamespace::regnamespace::text, ',') FROM pg_class \
                  WHERE relkind = 'r' AND relname IN ('things', 'of0', 'grown', 'marks')";
    assert_eq!(admin(&server).value(theirs).expect("it answers").as_deref(), Some("pgdyno"));
    let rows = admin(&server).value("SELECT count(*) FROM pgdyno.things").expect("it answers");
    assert_eq!(rows.as_deref(), Some("10"), "the size says how many");
}

/// SQL that reaches beyond tables is listed and refused; with `--trust` it is executed.
#[test]
fn what_reaches_beyond_tables_must_be_trusted() {
    let place = Place::new();
    let plan = "name = \"reach\"\n[data]\nscale = \"none\"\nsetup = \"own/setup.sql\"\n[[workload]]\n\
                name = \"w\"\ntext = \"\\\\shell touch $MARK\\nSELECT * FROM greeting;\"\n\
                [measure]\nclients = [1]\nduration = \"200ms\"\nwarmup = \"50ms\"\nblocks = 1\n";
    let mark = place.path("mark");
    let plan = plan.replace("$MARK", &mark.display().to_string());
    let path =
        written(&place, &plan, "CREATE TABLE greeting (t text);\nCOPY greeting FROM PROGRAM 'echo hello';\n");
    let args = ["run", &path, "--pg", "18", "--bundle"];
    let said = place.refused(&args, 2);
    for words in
        ["reaches beyond tables", "own/setup.sql:2: COPY greeting", "own.toml (w: text):1: \\shell touch"]
    {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(!mark.exists() && place.runs().is_empty());
    place.done(&[&args[..], &["--trust"]].concat());
    assert!(mark.exists());
    let run = place.only_run();
    is_done(&run);
    assert_eq!(rows_before(&run, "w"), [Some(1)]);
}

/// The plan that comes with pgdyno, with the least of everything.
fn the_bundled_plan(pg: &str) {
    let place = Place::new();
    let plans = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../plans");
    let plan = fs::read_to_string(format!("{plans}/version-scaleup.toml")).expect("it is there");
    let setup = format!("{plans}/version-scaleup/");
    let short = plan
        .replace("\"version-scaleup/", &format!("\"{setup}"))
        .replace("clients = [1, 2, 8, 32]", "clients = [1, 3]")
        .replace("duration = \"3800ms\"", "duration = \"200ms\"")
        .replace("warmup = \"500ms\"", "warmup = \"50ms\"")
        .replace("blocks = 4", "blocks = 1")
        .replace("rows = 100000 }", "rows = 10000 }");
    let path = written(&place, &short, "");
    place.done(&["run", &path, "--pg", pg, "--bundle", "--size", "small"]);
    let run = place.only_run();
    is_done(&run);
    assert_eq!(run.record.cells.len(), 12);
    its_tables_are_loaded(&place, &run);
    for run in &run.record.runs {
        assert!(run.counts_whole.committed > 0 && run.counts.failed == 0, "{run:?}");
    }
    // Every run of a case begins with the same rows: those of the first table, and what other cases left.
    for cell in &run.record.cells {
        let rows = rows_before(&run, &cell.workload.script);
        assert_eq!((rows.len(), rows[0]), (2, rows[1]), "{}", cell.workload.script);
    }
    assert_eq!(rows_before(&run, "insert-1"), [Some(10_000); 2]);
    let of_updates = run.record.runs.iter().filter(|run| run.workload.script == "update-by-key");
    let sizes: Vec<_> = of_updates.map(|run| run.data_state.map(|state| state.size_bytes)).collect();
    assert_eq!(sizes[0], sizes[1], "the table is as it was loaded");
}

/// Its tables come from the loader, and the objects of each client from its SQL; both are reported.
fn its_tables_are_loaded(place: &Place, run: &Run) {
    let load = run.record.subjects[0].load.as_ref().expect("it loads");
    let set = load.terms.as_ref().map(|terms| terms.set);
    assert_eq!((set, load.rows, load.accounts.is_none()), (Some(Set::Scaleup), 10_000, true));
    assert!(load.size_bytes > 10_000 * 72 && load.prewarm.is_some(), "{load:?}");
    let done = run.record.subjects[0].setup.as_ref().expect("it was executed");
    // test, log, and a table for each of three clients.
    assert_eq!((done.statements, done.tables), (1, 5));
    let said = place.done(&["show", &run.record.id, "--full"]);
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("rows 10,000 tables scaleup: one COPY per table"), "{said}");
}

#[test]
fn the_bundled_plan_on_the_newest_major() {
    the_bundled_plan("18");
}

/// One workload on plain tables and the same one on partitions: the tables are loaded again between them, those before
/// are checked first, and a run that was stopped continues on the right ones.
#[test]
fn each_workload_has_its_tables() {
    let place = Place::new();
    let plan = format!(
        "name = \"cases\"\n[data]\nscale = 1\n[[workload]]\nname = \"plain\"\nscript = \"tpcb-like\"\n\
         [[workload]]\nname = \"parted\"\nscript = \"tpcb-like\"\nload = {{ partitions = 3 }}\n\
         [measure]\nclients = [1]\nduration = \"{}\"\nwarmup = \"50ms\"\nblocks = 2\n",
        brief()
    );
    let path = place.path("cases.toml");
    fs::write(&path, plan).expect("it can be written");
    let path = path.display().to_string();
    let said = place.done(&["run", &path, "--pg", "18", "--bundle", "--full"]);
    let run = place.only_run();
    holds_together(&run);
    let record = &run.record;
    let subject = &record.subjects[0];
    let parts = |load: &LoadRecord| load.terms.as_ref().and_then(|terms| terms.options.partitions);
    assert_eq!(subject.load.as_ref().and_then(parts), Some(0));
    let [parted] = &subject.loads_of_workloads[..] else { panic!("{:?}", subject.loads_of_workloads) };
    assert_eq!(
        (parts(&parted.load), &parted.workloads[..], parted.first_run),
        (Some(3), &["parted".into()][..], 2)
    );
    let names: Vec<_> = record.runs.iter().map(|run| run.workload.script.as_str()).collect();
    assert_eq!(names, ["plain", "plain", "parted", "parted"]);
    let balance = subject.balance.as_ref().expect("it was checked");
    let committed: u64 = record.runs.iter().map(|run| run.counts_whole.committed).sum();
    assert_eq!((balance.violations, balance.history_rows, balance.committed), (0, committed, committed));
    assert!(said.contains("Data for parted") && said.contains("3 partitions by range"), "{said}");
}

/// Clients that update one row in snapshots of their own: with tries enough each commits in the end, and the row has
/// counted them all.
#[test]
fn serialization_failures_are_tried_again() {
    let place = Place::new();
    let plan = format!(
        "name = \"hot\"\n[data]\nsetup_text = \"CREATE TABLE hot AS SELECT 0 AS n\"\n[measure]\nclients = [4]\n\
         duration = \"{}\"\nwarmup = \"50ms\"\nblocks = 1\n[[workload]]\nname = \"hot\"\nmax_tries = 0\n\
         text = \"\"\"\nBEGIN ISOLATION LEVEL REPEATABLE READ;\nUPDATE hot SET n = n + 1;\nEND;\n\"\"\"\n",
        brief()
    );
    fs::write(place.path("hot.toml"), &plan).expect("it can be written");
    let file = place.path("hot.toml").display().to_string();
    let out = place.done(&["run", &file, "--pg", "18", "--bundle", "--full"]);
    let run = place.only_run();
    holds_together(&run);
    let cell = &run.record.runs[0];
    let retries = cell.retries.expect("they are counted");
    assert!(retries.max_tries == 0 && retries.retries > 0, "{retries:?}");
    assert_eq!(cell.counts.failed, 0, "{:?}", cell.counts);
    assert!(out.contains("any number of tries") && out.contains("retries"), "{out}");
    let wrong = plan.replace("max_tries = 0", "max_tries = -1");
    fs::write(place.path("hot.toml"), wrong).expect("it can be written");
    assert!(place.refused(&["run", &file], 2).contains("max_tries"));
}

/// Tests that `cargo test` leaves out and `.ci/run` runs.
mod long {
    use super::*;

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_plan_of_its_own_on_the_oldest_major() {
        a_plan_of_its_own(OLDEST);
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn the_bundled_plan_on_the_oldest_major() {
        the_bundled_plan(OLDEST);
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_plan_of_its_own_on_the_newest_major() {
        a_plan_of_its_own("18");
    }
}
