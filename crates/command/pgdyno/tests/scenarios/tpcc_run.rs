//! `pgdyno tpcc run`: the five transactions in three shapes, judged, on tables that are consistent afterwards.

use std::{fs, process::Stdio, thread, time::Duration};

use pgdyno_analysis::DoubtKind;
use pgdyno_core::{
    measure::CellRun,
    tpcc::{Shape, Transaction},
};
use pgdyno_record::{ConsistencyRecord, Run, RunRecord};
use pgdyno_script::tpcc::{script, setup};

use crate::{
    common::{OLDEST, Place, holds_together, kill, text, wait_until, word},
    tpcc_load::Loaded,
};

/// A server with the tables of this many warehouses.
fn loaded(pg: &str, warehouses: &str) -> Loaded {
    let loaded = Loaded::new(pg);
    loaded.place.done(&Loaded::load(&["--warehouses", warehouses, "--no-verify"]));
    loaded
}

impl Loaded {
    /// Flags of a run of a second, with more.
    fn flags<'a>(&self, more: &[&'a str]) -> Vec<&'a str> {
        let usual = [["--blocks", "1"], ["--duration", "1s"], ["--warmup", "100ms"]];
        let kept = usual.iter().filter(|[flag, _]| !more.contains(flag)).flatten();
        ["tpcc", "run", "--server", "main"].iter().chain(kept).chain(more).copied().collect()
    }

    /// Runs, and gives the record with what was printed.
    fn driven(&self, more: &[&str]) -> (RunRecord, String) {
        let said = self.place.done(&self.flags(more));
        let run = self.place.runs().pop().expect("it has just been made");
        holds_together(&run);
        (run.record, said)
    }

    fn refused(&self, more: &[&str]) -> String {
        self.place.refused(&self.flags(more), 2)
    }
}

fn consistent(record: &RunRecord) -> &ConsistencyRecord {
    let checked = record.subjects[0].consistency.as_ref().expect("it is checked by default");
    assert_eq!((checked.violations, checked.conditions), (0, 17), "{:?}", checked.examples);
    assert!(checked.rows_examined > 500_000);
    // What the stages say of the check is about this one.
    let checks: Vec<_> = record.stages.iter().filter(|stage| stage.name == "check").collect();
    assert!(checks.len() == 1 && checks[0].duration_s >= checked.duration_s, "{:?}", record.stages);
    checked
}

/// What the scripts of a run say adds up with what it counts, and with what terminals entered.
fn adds_up(run: &CellRun) {
    let tpcc = run.tpcc.as_ref().expect("it is a run of TPC-C");
    let names: Vec<_> = run.scripts.iter().map(|script| script.name.as_str()).collect();
    assert_eq!(names, ["New-Order", "Payment", "Order-Status", "Delivery", "Stock-Level"]);
    let committed: u64 = run.scripts.iter().map(|script| script.committed).sum();
    // What ends within the microseconds of the edges may be counted on one side or the other.
    let near = |one: u64, other: u64| one.abs_diff(other) <= 2 * u64::from(run.workload.clients);
    assert!(near(committed, run.counts.committed), "{committed} {:?}", run.counts);
    assert!(near(run.scripts[0].committed, tpcc.shares.orders), "{:?}", tpcc.shares);
    assert!(near(run.scripts[0].rolled_back, tpcc.shares.unused_items), "{:?}", tpcc.shares);
    assert!(run.scripts[1..].iter().all(|script| script.rolled_back == 0));
    assert!(near(run.scripts[1].committed, tpcc.shares.payments));
    assert!(run.scripts.iter().all(|script| script.failed == 0), "{:?}", run.scripts);
}

/// All shapes do the same to the tables, and leave nothing else behind.
fn every_shape_keeps_the_tables_consistent(pg: &str) {
    let loaded = loaded(pg, "1");
    let mut session = loaded.session();
    let mut count = |sql: &str| session.value(sql).expect("it can be asked").unwrap_or_default();
    count("CREATE UNLOGGED TABLE somebody_elses (n int)");
    let mut deliveries = 0;
    for shape in Shape::ALL {
        let (record, said) = loaded.driven(&["--clients", "4", "--shape", shape.name(), "--duration", "2s"]);
        assert!(said.contains("Derived from TPC-C; this is not a TPC result"), "{said}");
        assert!(said.contains(" NOPM") && said.contains("consistent: all 17 conditions hold"), "{said}");
        assert!(!said.contains("unlogged"), "the tables that are driven are logged: {said}");
        consistent(&record);
        adds_up(&record.runs[0]);
        let held = record.subjects[0]
            .held
            .as_ref()
            .and_then(|held| held.after.as_ref())
            .expect("sizes are looked at");
        assert_eq!((held.tables.count, held.indexes.count), (9, 10), "those of others are not counted");
        let tpcc = record.runs[0].tpcc.as_ref().expect("it is a run of TPC-C");
        assert_eq!((tpcc.shape, tpcc.warehouses, tpcc.paced), (shape, 1, false));
        // How many there are is a matter of the machine.
        assert!(tpcc.shares.orders > 0 && tpcc.shares.payments > 0, "{:?}", tpcc.shares);
        deliveries += tpcc.shares.deliveries;
        assert_eq!(tpcc.shares.remote_lines, 0, "there is no other warehouse");
        assert!(
            record.cells[0].scripts[0].latency.is_some()
                && record.cells[0].statements_per_transaction.is_none()
        );
    }
    assert!(deliveries > 0);
    orders_are_known_by_their_keys(&loaded);
    // Payments of terminals carry names of warehouse and district, and the numbers of their attempt, which those of
    // another command have not.
    let numbers = "substring(h_data FROM '^.{1,20} ([0-9a-z]+\\.[0-9a-z]+\\.[0-9a-z]+\\.[0-9a-z]+)$')";
    assert_ne!(count(&format!("SELECT count({numbers}) FROM history")), "0");
    assert_eq!(count(&format!("SELECT count({numbers}) - count(DISTINCT {numbers}) FROM history")), "0");
    assert_eq!(count("SELECT count(*) FROM pg_namespace WHERE nspname = 'pgdyno'"), "0");
    assert_eq!(count("SELECT count(*) FROM pg_proc WHERE proname ~ '^tpcc_'"), "0");
    // A stock that is always taken from never falls below ten.
    assert_eq!(count("SELECT count(*) FROM stock WHERE s_quantity NOT BETWEEN 10 AND 100"), "0");
}

/// After each New-Order a client knows the key of the row that it entered.
fn orders_are_known_by_their_keys(loaded: &Loaded) {
    let mut session = loaded.session();
    session
        .execute("CREATE TABLE entered (shape text, w_id int, d_id int, o_id int)")
        .expect("it can be made");
    for shape in Shape::ALL {
        let name = shape.name();
        setup(shape).map_or(Ok(()), |functions| session.execute(functions)).expect("they can be made");
        let keeps = format!("\nINSERT INTO entered VALUES ('{name}', :w_id, :d_id, :o_id);\n");
        let file = loaded.place.path("order.sql");
        fs::write(&file, script(shape, Transaction::NewOrder).to_owned() + &keeps)
            .expect("it can be written");
        let file = file.display().to_string();
        let server = loaded.place.only();
        let (host, port) = (word(&server, "socket_dir"), server["port"].to_string());
        let database = ["-h", host, "-p", &port, "-U", "postgres", "postgres"];
        let drive = ["pgbench", "-n", "-M", "prepared", "-c", "3", "-t", "10", "-f", &file];
        let terminal = ["w_id=1", "d_id=4", "c_id=5", "ol_cnt=2", "all_local=1", "i_ids={7,8}"];
        let lines = ["supply_w_ids={1,1}", "quantities={3,4}"];
        let input: Vec<_> = terminal.iter().chain(&lines).flat_map(|set| ["-D", *set]).collect();
        loaded.place.done(&[&drive[..], &input, &database].concat());
        let known = "FROM entered e JOIN orders o ON (e.w_id, e.d_id, e.o_id) = (o.o_w_id, o.o_d_id, o.o_id)";
        let found = format!("SELECT count(DISTINCT e.o_id) {known} WHERE shape = '{name}' AND o_c_id = 5");
        assert_eq!(session.value(&found).expect("it can be asked").as_deref(), Some("30"), "{name}");
    }
    let gone = "DO $$DECLARE made regprocedure; BEGIN \
                FOR made IN SELECT oid FROM pg_proc WHERE proname ~ '^tpcc_' LOOP \
                EXECUTE 'DROP FUNCTION ' || made; END LOOP; END$$; DROP TABLE entered";
    session.execute(gone).expect("they are there");
}

#[test]
#[ignore = "takes long: `cargo xtask test-all` runs it"]
fn every_shape_keeps_the_tables_of_older_servers_consistent() {
    [OLDEST, "9.6", "12", "15"].into_iter().for_each(every_shape_keeps_the_tables_consistent);
}

/// Eight clients on one warehouse meet each other: what the server aborts is retried, and counted.
fn serialization_failures_are_tried_again_and_counted(loaded: &Loaded) {
    for level in ["repeatable-read", "serializable"] {
        let more = ["--clients", "8", "--isolation", level, "--max-tries", "0"];
        let (record, said) = loaded.driven(&more);
        consistent(&record);
        let run = &record.runs[0];
        assert!(
            run.scripts.iter().map(|script| script.retries).sum::<u64>() > 0,
            "{level}: {:?}",
            run.scripts
        );
        assert!(run.errors.iter().any(|error| error.code == "40001"), "{:?}", run.errors);
        adds_up(run);
        let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(&level.replace('-', " ")), "{said}");
    }
    let said = loaded.refused(&["--isolation", "serializable", "--max-tries", "1"]);
    let why = "serializable transactions can fail with serialization errors, but are tried only once";
    assert!(said.contains(why), "{said}");
}

/// A role may isolate its transactions more than the server does, and nobody said so.
fn the_isolation_level_of_a_role_is_looked_at_and_recorded(loaded: &Loaded) {
    let level = |record: &RunRecord| record.runs[0].tpcc.as_ref().and_then(|tpcc| tpcc.isolation.clone());
    let (record, _) = loaded.driven(&["--clients", "2"]);
    assert_eq!(level(&record).as_deref(), Some("read committed"));
    let role = "ALTER ROLE CURRENT_USER SET default_transaction_isolation = 'serializable'";
    loaded.session().execute(role).expect("the role is set");
    let said = loaded.refused(&["--clients", "2", "--max-tries", "1"]);
    assert!(said.contains("transactions are serializable here by default"), "{said}");
    let (record, said) = loaded.driven(&["--clients", "2", "--max-tries", "0"]);
    assert_eq!(level(&record).as_deref(), Some("serializable"), "{said}");
    let asked = ["--clients", "2", "--max-tries", "1", "--isolation", "read-committed"];
    assert_eq!(level(&loaded.driven(&asked).0).as_deref(), Some("read committed"));
}

/// Sessions of an arm may have a level of their own, which neither server nor role has.
fn the_isolation_level_of_an_arms_sessions_is_looked_at_and_recorded(loaded: &Loaded) {
    loaded.session().execute("ALTER ROLE CURRENT_USER RESET default_transaction_isolation").expect("it can");
    let compare = |tries: u32| {
        let plan = format!(
            "name = \"levels\"\n[data]\ntpcc = {{ warehouses = 1 }}\nloaded = true\n[[workload]]\n\
             tpcc = {{ max_tries = {tries} }}\n[measure]\nclients = [1]\n"
        );
        let path = loaded.place.path("levels.toml");
        fs::write(&path, plan).expect("it can be written");
        let path = path.display().to_string();
        let arms = ["--set", "default_transaction_isolation=read committed"];
        let other = ["--set", "default_transaction_isolation=serializable"];
        let length = ["--duration", "1s", "--warmup", "50ms", "--blocks", "3"];
        loaded.place.run(&[&["ab", "--server", "main", "--plan", &path], &arms[..], &other, &length].concat())
    };
    let said = text(&compare(1).stderr);
    assert!(said.contains("transactions are serializable here by default"), "{said}");
    let output = compare(10);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let record = loaded.place.runs().pop().expect("it has just been made").record;
    for run in &record.runs {
        let level =
            if run.workload.subject.as_deref() == Some("A") { "read committed" } else { "serializable" };
        assert_eq!(run.tpcc.as_ref().and_then(|tpcc| tpcc.isolation.as_deref()), Some(level));
    }
}

/// What is not as it must be is named before anything is driven.
#[test]
fn tables_that_cannot_be_driven_are_named_before() {
    let loaded = Loaded::new("18");
    let said = loaded.refused(&[]);
    assert!(said.contains("could not run TPC-C: there is no table item"), "{said}");
    loaded.place.done(&Loaded::load(&["--warehouses", "1", "--until", "rows"]));
    assert!(loaded.refused(&[]).contains("its load was interrupted"));
    loaded.place.done(&Loaded::load(&["--resume", "--no-verify"]));
    for (more, what) in [
        (&["--warehouses", "2"] as &[&str], "the tables have 1 warehouse, and 2 were requested"),
        (&["--mix", "45/43/4/4/5"], "they add up to 101, not to 100"),
        (&["--mix", "45/43/12"], "five percentages"),
        (&["--paced", "--rate", "5"], "cannot be used with"),
    ] {
        let said = text(&loaded.place.run(&loaded.flags(more)).stderr);
        assert!(said.contains(what), "{more:?}: {said}");
    }
    let driven = |run: &Run| run.record.operations.is_empty();
    assert!(!loaded.place.runs().iter().any(driven), "there is no record of what was never begun");
    let said = text(&loaded.place.run(&loaded.flags(&["--clients", "5000"])).stderr);
    assert!(said.contains("5000 clients are more than the server's max_connections"), "{said}");
    let mut session = loaded.session();
    let by_customer =
        "SELECT indexrelid::regclass FROM pg_index WHERE indrelid = 'orders'::regclass AND NOT indisprimary";
    let index = session.value(by_customer).expect("it can be asked").expect("there is one");
    session.execute(&format!("DROP INDEX {index}")).expect("it is ours");
    let said = loaded.refused(&["--warehouses", "1"]);
    assert!(said.contains("orders has no index by o_w_id, o_d_id, o_c_id"), "{said}");
    session.execute("CREATE INDEX ON orders (o_w_id, o_d_id, o_c_id, o_id)").expect("it is ours");
    // Each is checked before those that precede it here.
    for (fault, what) in [
        (
            "DELETE FROM stock WHERE s_i_id > 99990",
            "stock, of warehouse 1, has 99,990 rows instead of 100,000",
        ),
        ("DELETE FROM item WHERE i_id = 1", "item has 99,999 rows instead of 100,000"),
        ("UPDATE warehouse SET w_id = 3", "warehouses are numbered from 3 to 3, not from 1 on"),
        ("TRUNCATE warehouse", "the table warehouse is empty"),
        (
            "ALTER TABLE customer RENAME c_data TO c_more",
            "the table customer is not TPC-C's: column \"c_data\" does not exist",
        ),
    ] {
        session.execute(fault).expect("it is ours");
        let said = loaded.refused(&["--warehouses", "1"]);
        assert!(said.contains(what), "{fault}: {said}");
    }
}

/// Clients come back after the server has crashed and recovered, and what was acknowledged or not leaves no halves.
fn a_crash_leaves_no_halves(shape: Shape, under_way: &str) {
    let loaded = loaded("18", "1");
    let flags = ["--clients", "6", "--duration", "10s", "--shape", shape.name()];
    let mut command = loaded.place.command(&loaded.flags(&flags));
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("pgdyno can be run");
    // The session that made the functions has said their names, too, and is gone soon.
    let backend = format!(
        "SELECT pid FROM pg_stat_activity WHERE query LIKE '%{under_way}%' AND query NOT LIKE '%CREATE FUNCTION%' \
         AND pid <> pg_backend_pid() LIMIT 1"
    );
    let mut session = loaded.session();
    let mut pid = None;
    wait_until("an order is entered", || {
        pid = session.value(&backend).ok().flatten().and_then(|pid| pid.parse::<u64>().ok());
        pid.is_some()
    });
    thread::sleep(Duration::from_secs(1));
    kill(pid.expect("it was seen"), "-KILL");
    let output = child.wait_with_output().expect("it ends");
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{out}{err}");
    let run = loaded.place.only_run();
    consistent(&run.record);
    let of = &run.record.runs[0];
    assert!(of.outage.as_ref().is_some_and(|outage| outage.lost >= 6), "{:?}", of.outage);
    if shape == Shape::Functions {
        // A call is a whole transaction: one in flight may have been executed.
        assert!(of.counts_whole.in_doubt > 0, "{:?}", of.counts_whole);
    }
}

#[test]
#[ignore = "takes long: `cargo xtask test-all` runs it"]
fn a_crash_in_the_middle_of_statements_leaves_no_halves() {
    a_crash_leaves_no_halves(Shape::Statements, "supplied");
    a_crash_leaves_no_halves(Shape::Pipelined, "supplied");
}

const PLAN: &str = r#"
name = "warehouses"
[data]
tpcc = { warehouses = 1 }
[[workload]]
name = "functions"
tpcc = { shape = "functions", weights = [40, 36, 8, 8, 8] }
[[workload]]
tpcc = { shape = "pipelined" }
[measure]
clients = [2]
jobs = 1
duration = "1s"
warmup = "100ms"
blocks = 2
"#;

/// One plan, several servers side by side, each with its own tables.
fn one_plan_runs_on_several_servers(versions: &[&str]) {
    let place = Place::new();
    fs::write(place.path("warehouses.toml"), PLAN).expect("it is ours");
    let subjects: Vec<String> = versions.iter().map(|pg| format!("pg={pg},bundle")).collect();
    let mut args = vec!["run", "warehouses.toml", "--full"];
    subjects.iter().for_each(|subject| args.extend(["--subject", subject]));
    let said = place.done(&args);
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(" %, required 43 %"), "{said}");
    let run = place.only_run();
    let several = &run.record.subjects;
    assert_eq!(several.len(), versions.len());
    for subject in several {
        let checked = subject.consistency.as_ref().expect("it is checked by default");
        assert_eq!((checked.violations, checked.warehouses), (0, 1), "{}", subject.name);
    }
    assert_eq!(run.record.runs.len(), 2 * 2 * versions.len());
    run.record.runs.iter().for_each(adds_up);
    let of_tpcc = |run: &CellRun| run.tpcc.as_ref().is_some_and(|tpcc| tpcc.load_constant_known);
    assert!(run.record.runs.iter().all(of_tpcc), "what was loaded for the run is known");
    place.nothing_is_left();
}

#[test]
#[ignore = "takes long: `cargo xtask test-all` runs it"]
fn one_plan_runs_on_all_servers() {
    one_plan_runs_on_several_servers(&["18", "15", "12", "9.6", OLDEST]);
}

/// Tests that `cargo test` leaves out and `.ci/run` runs.
mod long {
    use super::*;

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn one_plan_runs_on_the_oldest_and_the_newest_server() {
        one_plan_runs_on_several_servers(&["18", OLDEST]);
    }

    /// Failures of an isolation level are retried, wherever it is set.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn isolation_is_looked_at_and_its_failures_are_tried_again() {
        let loaded = loaded("18", "1");
        serialization_failures_are_tried_again_and_counted(&loaded);
        the_isolation_level_of_a_role_is_looked_at_and_recorded(&loaded);
        the_isolation_level_of_an_arms_sessions_is_looked_at_and_recorded(&loaded);
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_crash_in_the_middle_of_functions_leaves_no_halves() {
        a_crash_leaves_no_halves(Shape::Functions, "tpcc_new_order");
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn every_shape_keeps_the_tables_of_the_newest_server_consistent() {
        every_shape_keeps_the_tables_consistent("18");
    }

    /// Ten terminals a warehouse, with keying and think times: few transactions, whatever the server can do.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn paced_terminals_keep_their_pace() {
        let loaded = loaded("18", "2");
        let more = ["--paced", "--clients", "3", "--warmup", "1s", "--duration", "8s", "--full"];
        let (record, said) = loaded.driven(&more);
        consistent(&record);
        let run = &record.runs[0];
        let tpcc = run.tpcc.as_ref().expect("it is a run of TPC-C");
        assert!(tpcc.paced && tpcc.terminals() == 20);
        // Twenty terminals come round in 21 seconds: eight transactions in eight seconds, and hardly ever thirty.
        assert!((1..30).contains(&run.counts_whole.committed), "{:?}", run.counts_whole);
        assert!(run.lag.is_some(), "waiting for a connection is separate");
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        for words in ["prepared protocol, keying and think times", "% of the ceiling of 12."] {
            assert!(said.contains(words), "{said}");
        }
    }

    /// Tables that were inconsistent before the run are reported, with exit status 1.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn tables_that_are_not_consistent_end_a_run_with_its_status() {
        let loaded = loaded("18", "1");
        loaded
            .session()
            .execute("UPDATE customer SET c_balance = c_balance + 1 WHERE c_d_id = 3 AND c_id = 5")
            .expect("ours");
        let output = loaded.place.run(&loaded.flags(&["--clients", "2", "--full"]));
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(1), "{out}{err}");
        assert!(out.contains("The TPC-C tables are inconsistent: do not use these numbers."), "{out}");
        assert!(out.contains("NOT CONSISTENT: 2 of 17 conditions"), "{out}");
        assert!(err.contains("in the existing tables, where it stays"), "{err}");
        assert!(err.contains("warehouse 1, district 3, customer 5"), "{err}");
        let kinds = |run: &Run| run.record.doubts.iter().map(|doubt| doubt.kind).collect::<Vec<_>>();
        let run = loaded.place.only_run();
        assert_eq!(kinds(&run)[0], DoubtKind::Inconsistent);
        let path = run.path.to_str().expect("it is text");
        let paste = loaded.place.done(&["report", path, "--paste"]);
        assert!(
            paste.lines().nth(1).is_some_and(|line| line.contains("do not use these numbers")),
            "{paste}"
        );
        let csv = loaded.place.done(&["report", path, "--format", "csv"]);
        assert!(csv.contains(",2,\"Derived from TPC-C; this is not a TPC result"), "{csv}");
        loaded.place.done(&loaded.flags(&["--clients", "2", "--no-check"]));
        let mut driven = loaded.place.runs().into_iter().filter(|run| run.record.operations.is_empty());
        let unchecked = driven.find(|run| run.record.subjects[0].consistency.is_none());
        assert!(kinds(&unchecked.expect("it was not checked")).contains(&DoubtKind::NotChecked));
    }
}
