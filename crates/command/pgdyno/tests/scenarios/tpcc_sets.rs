//! `pgdyno tpcc run --sets`: several sets of tables at one time, by one process or by several.

use crate::{common::text, tpcc_load::Loaded};

/// What needs no set of tables to be refused.
#[test]
fn sets_that_are_not_there_are_named_before() {
    let loaded = Loaded::new("18");
    let refused = |more: &[&str]| {
        let flags = [&["tpcc", "run", "--server", "main", "--clients", "4"], more].concat();
        loaded.place.refused(&flags, 2)
    };
    loaded.session().execute("CREATE SCHEMA tpcc_1").expect("it is ours");
    let said = refused(&["--sets", "2"]);
    assert!(said.contains("tpcc_1: could not run TPC-C: there is no table item"), "{said}");
    assert!(said.contains("pgdyno load tpcc --schemas N"), "{said}");
    let said =
        text(&loaded.place.run(&["tpcc", "run", "--server", "main", "--databases", "nowhere,else"]).stderr);
    assert!(said.contains("nowhere: ") && said.contains("\"nowhere\" does not exist"), "{said}");
    assert!(said.contains("hint: name databases with a set of tables each"), "{said}");
    let said = refused(&["--sets", "2", "--tables", "own"]);
    assert!(said.contains("could not load several sets of tables into an existing server"), "{said}");
}

/// Tests that `cargo test` leaves out and `.ci/run` runs.
mod long {
    use std::{fs, process::Stdio, thread, time::Duration};

    use pgdyno_analysis::DoubtKind;
    use pgdyno_core::measure::CellRun;
    use pgdyno_record::{Run, RunRecord};

    use super::*;
    use crate::common::{Place, holds_together, kill, wait_until};

    /// A server with two sets of one warehouse.
    fn two_sets(pg: &str) -> Loaded {
        let loaded = Loaded::new(pg);
        loaded.place.done(&Loaded::load(&["--warehouses", "1", "--schemas", "2", "--no-verify"]));
        loaded
    }

    fn flags<'a>(more: &[&'a str]) -> Vec<&'a str> {
        let usual = ["tpcc", "run", "--server", "main", "--blocks", "1", "--sets", "2"];
        [&usual, more].concat()
    }

    /// What was said, however its lines are broken.
    fn words(said: &str) -> String {
        said.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    const BRIEF: [&str; 7] = ["--clients", "5", "--duration", "2s", "--warmup", "200ms", "--full"];

    fn driven(loaded: &Loaded, more: &[&str]) -> (RunRecord, String) {
        let said = loaded.place.done(&flags(more));
        let run = loaded.place.runs().pop().expect("it has just been made");
        holds_together(&run);
        (run.record, said)
    }

    /// The sets of a run add up to it, and each was driven by its own clients.
    fn adds_up(run: &CellRun, clients: &[u32]) {
        let sum = |of: fn(&pgdyno_core::measure::SetRun) -> u64| run.sets.iter().map(of).sum::<u64>();
        assert_eq!(sum(|set| set.counts.committed), run.counts.committed);
        assert_eq!(sum(|set| set.counts_whole.scheduled), run.counts_whole.scheduled);
        let tpcc = run.tpcc.as_ref().expect("it is a run of TPC-C");
        assert_eq!(sum(|set| set.shares.orders), tpcc.shares.orders);
        assert_eq!(sum(|set| set.warehouses), tpcc.warehouses);
        let nopm: f64 = run.sets.iter().filter_map(|set| set.nopm).sum();
        assert!((nopm - run.nopm.unwrap_or(0.0)).abs() < 1e-6 * nopm, "{nopm} {:?}", run.nopm);
        let samples: u64 = run.sets.iter().filter_map(|set| Some(set.latency.as_ref()?.count)).sum();
        assert_eq!(samples, run.latency.as_ref().map_or(0, |latency| latency.count));
        assert_eq!(run.sets.iter().map(|set| set.clients).collect::<Vec<_>>(), clients);
        assert!(
            run.sets.iter().all(|set| set.counts.committed > 0 && set.counts.failed == 0),
            "{:?}",
            run.sets
        );
    }

    /// Orders that the terminals entered in a schema or a database.
    fn orders(loaded: &Loaded, schema: &str) -> u64 {
        let sql = format!("SELECT count(*) - 30000 FROM {schema}.orders");
        let count = loaded.session().value(&sql).expect("it can be asked");
        count.and_then(|count| count.parse().ok()).expect("a number")
    }

    fn consistent(record: &RunRecord, names: [&str; 2]) {
        let checked = record.subjects[0].consistency.as_ref().expect("it is checked by default");
        assert_eq!((checked.violations, checked.warehouses), (0, 2), "{:?}", checked.examples);
        assert_eq!(checked.sets.iter().map(|set| set.name.as_str()).collect::<Vec<_>>(), names);
        assert!(checked.sets.iter().all(|set| set.violations == 0 && set.rows_examined > 500_000));
    }

    /// Threads, one process for each set, and one for both, drive the same sets; what was measured adds up, and what
    /// was entered is in the tables.
    fn sets_are_driven_at_one_time(pg: &str) {
        let loaded = two_sets(pg);
        let mut entered = [0, 0];
        for (drivers, shape) in [(0, "statements"), (2, "functions"), (1, "pipelined")] {
            let number = drivers.to_string();
            let by = if drivers > 0 { vec!["--drivers", &number] } else { Vec::new() };
            let (record, said) = driven(&loaded, &[&BRIEF[..], &["--shape", shape], &by].concat());
            let run = &record.runs[0];
            adds_up(run, &[3, 2]);
            consistent(&record, ["tpcc_1", "tpcc_2"]);
            let numbers: Vec<_> = run.sets.iter().map(|set| set.driver.unwrap_or(0)).collect();
            assert_eq!(numbers, [[0, 0], [1, 1], [1, 2]][drivers]);
            for (at, name) in ["tpcc_1", "tpcc_2"].into_iter().enumerate() {
                let there = orders(&loaded, name);
                let new = there - entered[at];
                // A New-Order of the warm-up or the drain is in the tables, and not in the counts.
                let counted = run.sets[at].scripts[0].committed - run.sets[at].scripts[0].rolled_back;
                assert!(new >= counted && new <= counted + counted / 2 + 50, "{name}: {new} {counted}");
                entered[at] = there;
            }
            let said = words(&said);
            assert!(said.contains("2 warehouses in 2 sets") && said.contains("SETS OF TABLES"), "{said}");
            assert_eq!(said.contains("driver process"), drivers > 0, "{said}");
            let cell = record.cells[0].tpcc.as_ref().expect("it is one of TPC-C");
            let share: f64 = cell.sets.iter().filter_map(|set| set.share).sum();
            assert!(!record.command.contains("***"), "{}", record.command);
            assert!((share - 1.0).abs() < 1e-9 && cell.sets.iter().all(|set| set.latency.is_some()));
        }
        let left = "SELECT count(*) FROM pg_namespace WHERE nspname = 'pgdyno'";
        assert_eq!(loaded.session().value(left).expect("it can be asked").as_deref(), Some("0"));
        a_fault_in_one_set_is_named_with_it(&loaded);
        sets_of_different_sizes_are_refused(&loaded);
    }

    fn a_fault_in_one_set_is_named_with_it(loaded: &Loaded) {
        let fault = "UPDATE tpcc_2.customer SET c_balance = c_balance + 1 WHERE c_d_id = 3 AND c_id = 5";
        loaded.session().execute(fault).expect("it is ours");
        let output = loaded.place.run(&flags(&[&BRIEF[..], &["--drivers", "2"]].concat()));
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(1), "{out}{err}");
        let words = words(&out);
        assert!(words.contains("NOT CONSISTENT: 2 of 17 conditions violated"), "{out}");
        assert!(words.contains("tpcc_2: 3.3.2.10 in warehouse 1, district 3, customer 5"), "{out}");
        let run = loaded.place.runs().pop().expect("it has just been made");
        let checked = run.record.subjects[0].consistency.as_ref().expect("it was checked");
        assert_eq!(checked.sets.iter().map(|set| set.violations).collect::<Vec<_>>(), [0, 2]);
        assert_eq!(run.record.doubts[0].kind, DoubtKind::Inconsistent);
    }

    fn sets_of_different_sizes_are_refused(loaded: &Loaded) {
        loaded.place.done(&Loaded::load(&["--warehouses", "2", "--no-verify"]));
        let flags = ["tpcc", "run", "--server", "main", "--clients", "4", "--schemas", "tpcc_1,public"];
        let said = loaded.place.refused(&flags, 2);
        assert!(said.contains("the sets of tables have different numbers of warehouses"), "{said}");
        assert!(said.contains("warehouses: tpcc_1 1, public 2"), "{said}");
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn sets_are_driven_at_one_time_on_the_newest_server() {
        sets_are_driven_at_one_time("18");
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn sets_are_driven_at_one_time_on_an_old_server() {
        sets_are_driven_at_one_time("9.6");
    }

    /// The processes under a run that drive its clients.
    fn drivers_of(pid: u32) -> Vec<u64> {
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        let is_driver = |child: &&str| {
            let words = fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
            text(&words).split('\0').nth(1) == Some("driver")
        };
        children.split_whitespace().filter(is_driver).filter_map(|child| child.parse().ok()).collect()
    }

    /// A run that continues until something happens to it, with its two driver processes once they drive.
    fn under_way(loaded: &Loaded) -> (std::process::Child, Vec<u64>) {
        let long = ["--clients", "4", "--drivers", "2", "--duration", "60s", "--warmup", "200ms"];
        let mut command = loaded.place.command(&flags(&long));
        let before = ["tpcc_1", "tpcc_2"].map(|name| orders(loaded, name));
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("pgdyno can be run");
        let mut drivers = Vec::new();
        wait_until("both drive", || {
            drivers = drivers_of(child.id());
            let entered = ["tpcc_1", "tpcc_2"].map(|name| orders(loaded, name));
            drivers.len() == 2 && entered.iter().zip(before).all(|(now, before)| *now > before + 20)
        });
        // The warm-up is over, and an interval or two as well.
        thread::sleep(Duration::from_secs(2));
        (child, drivers)
    }

    fn is_alive(pid: u64) -> bool {
        let status = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        !status.is_empty() && !status.contains(") Z ")
    }

    /// A driver process that is killed ends the run, and is named with its set; so does Ctrl-C, and nothing is left.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_driver_process_that_dies_ends_the_run_with_its_name() {
        let loaded = two_sets("18");
        let (child, drivers) = under_way(&loaded);
        // Nothing secret, and nothing at all, is in arguments.
        let words = fs::read(format!("/proc/{}/cmdline", drivers[0])).expect("it is there");
        assert_eq!(text(&words), "pgdyno\0driver\0");
        kill(drivers[1], "-KILL");
        let output = child.wait_with_output().expect("it ends");
        let err = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{err}");
        assert!(
            err.contains("driver process 2 of tpcc_2 ended during its work: signal: 9 (SIGKILL)"),
            "{err}"
        );
        assert!(drivers.iter().all(|pid| !is_alive(*pid)), "the other one ends with it");
        let (child, drivers) = under_way(&loaded);
        kill(child.id().into(), "-INT");
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
        assert!(drivers.iter().all(|pid| !is_alive(*pid)), "they end with the run");
        let run = loaded.place.runs().pop().expect("what was measured is kept");
        assert!(run.record.runs[0].sets.iter().all(|set| set.counts.committed > 0));
        let (child, drivers) = under_way(&loaded);
        kill(child.id().into(), "-KILL");
        child.wait_with_output().expect("it ends");
        wait_until("nobody orders them any more", || drivers.iter().all(|pid| !is_alive(*pid)));
    }

    /// As BenchmarkSQL: so many transactions of each terminal, and a limit over all of them.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn runs_end_by_their_transactions_and_keep_a_limit() {
        let loaded = two_sets("18");
        let (record, said) = driven(&loaded, &["--clients", "4", "--transactions", "30", "--drivers", "2"]);
        let run = &record.runs[0];
        let ended = |set: &pgdyno_core::measure::SetRun| set.counts_whole.committed + set.counts_whole.failed;
        assert_eq!(run.sets.iter().map(ended).collect::<Vec<_>>(), [60, 60]);
        assert_eq!((run.warmup_ns, run.counts.committed), (0, run.counts_whole.committed));
        assert!(words(&said).contains("30 transactions of each client"), "{said}");
        let limited =
            ["--clients", "4", "--duration", "6s", "--warmup", "200ms", "--limit-per-minute", "1200"];
        let (record, _) = driven(&loaded, &limited);
        let run = &record.runs[0];
        assert_eq!(run.workload.rate_per_s, Some(20.0));
        // 120 arrivals of a Poisson process, within five standard deviations.
        assert!(run.counts.scheduled.abs_diff(120) < 55, "{:?}", run.counts);
        adds_up(run, &[2, 2]);
    }

    const PLAN: &str = r#"
name = "four"
[data]
tpcc = { warehouses = 1, databases = ["test01", "test 02"] }
[[workload]]
name = "one-program"
tpcc = { weights = [40, 36, 8, 8, 8] }
[[workload]]
name = "two-programs"
tpcc = { weights = [40, 36, 8, 8, 8], shape = "functions", drivers = 2 }
[measure]
clients = [4]
jobs = 1
duration = "1s"
warmup = "100ms"
blocks = 2
"#;

    /// Databases of a temporary server, by one program and by two, in one record.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_plan_drives_sets_in_databases_by_one_program_and_by_several() {
        let place = Place::new();
        fs::write(place.path("four.toml"), PLAN).expect("it is ours");
        let said = place.done(&["run", "four.toml", "--pg", "18", "--bundle", "--full"]);
        assert!(words(&said).contains("driven by 2 driver processes"), "{said}");
        let run: Run = place.only_run();
        holds_together(&run);
        consistent(&run.record, ["test01", "test 02"]);
        assert_eq!(run.record.runs.len(), 4);
        run.record.runs.iter().for_each(|run| adds_up(run, &[2, 2]));
        let io = run.record.runs[0].io.as_ref().expect("the counters can be read");
        assert!(io.blocks_hit + io.blocks_read > run.record.runs[0].counts.committed, "{io:?}");
        let load = run.record.subjects[0].load.as_ref().expect("they were loaded");
        assert!(load.rows > 1_190_000, "both sets: {}", load.rows);
        let held = run.record.subjects[0].held.as_ref().and_then(|held| held.after.as_ref());
        assert_eq!(held.map(|held| held.tables.count), Some(18));
        place.nothing_is_left();
    }
}
