//! Tests every rule with a fault that it must find, in a run of one subject.

use pgdyno_core::{
    facts::{
        BuildFacts, DurabilityTier, Instrument, RunDurability, ServerFacts, ServerSource, Weakness,
        samples::instrument,
    },
    measure::{
        CellRun, Counts, ErrorCount, IdleServers, LatencySummary, Outage, ServedFrom, StatementSummary,
        SteadyVerdict, TpccRun,
    },
    tpcc::{DERIVED, Shape, Shares},
};

use pgdyno_record::{Found, LoadRecord, OperationRecord, Status};
use pgdyno_rows::load::ExistingTables;

use super::{attempts, attempts::missed_too_many, driver::near_ceiling, samples::run, *};
use crate::{DoubtKind, steady, steady::tests::Normal};

/// A thorough run of six blocks with the noise of a quiet machine (1 % between blocks, 3 % between
/// seconds), judged from its windows as a real one is.
fn clean_runs(seed: u64) -> Vec<CellRun> {
    let mut normal = Normal::seeded(seed);
    let cells = [("select-only", 1), ("select-only", 16), ("tpcb-like", 1), ("tpcb-like", 16)];
    let blocks = (0..6).flat_map(|_| cells);
    let mut runs: Vec<_> = blocks.map(|(script, clients)| run(script, clients, 1_000.0)).collect();
    for run in &mut runs {
        let level = 1_000.0 * (0.01 * normal.draw()).exp();
        let windows: Vec<f64> = (0..30).map(|_| level * (1.0 + 0.03 * normal.draw())).collect();
        run.tps = windows.iter().sum::<f64>() / 30.0;
        run.steady = steady::judge(&windows);
    }
    runs
}

/// Input of the rules, which a test may modify.
struct Case {
    runs: Vec<CellRun>,
    server: ServerFacts,
    thorough: bool,
    complete: bool,
    resumed_at: Vec<u32>,
    cores_shared: bool,
    ceiling: Option<Instrument>,
    scale: u64,
    bundle_pinned: Option<bool>,
    existing: Option<ExistingTables>,
    load: Option<LoadRecord>,
    balance: Option<(u64, u64)>,
    consistency: Option<(u64, u64)>,
}

fn clean() -> Case {
    Case {
        runs: clean_runs(1),
        server: samples::server(),
        thorough: true,
        complete: true,
        resumed_at: Vec::new(),
        cores_shared: false,
        ceiling: Some(instrument(2_000.0)),
        scale: 16,
        bundle_pinned: Some(true),
        existing: Some(ExistingTables { loaded_by: Some(7), ..samples::existing() }),
        load: Some(samples::load_with_workers(4, 4)),
        balance: Some((5_000_000, 0)),
        consistency: None,
    }
}

fn doubts(case: &Case) -> Vec<Doubt> {
    judge(&record(case))
}

fn record(case: &Case) -> RunRecord {
    let subject = SubjectRecord {
        name: "server".into(),
        server: Some(case.server.clone()),
        bundle_pinned: case.bundle_pinned,
        existing: case.existing.clone(),
        load: case.load.clone(),
        balance: case.balance.map(samples::balance),
        consistency: case.consistency.map(samples::consistency),
        ..SubjectRecord::default()
    };
    let mut record = samples::record(case.runs.clone(), vec![subject]);
    record.plan.thorough = case.thorough;
    record.plan.cores_shared = case.cores_shared;
    record.plan.scale = Some(case.scale);
    record.instrument = case.ceiling.clone();
    record.status = if case.complete { Status::Complete } else { Status::Partial };
    record.resumed = case.resumed_at.iter().map(|first| samples::resumed(*first)).collect();
    record
}

#[test]
fn a_careful_run_has_no_doubt() {
    assert_eq!(doubts(&clean()), []);
}

#[test]
fn a_resumption_says_what_was_recreated() {
    let mut record = record(&Case { resumed_at: vec![5], ..clean() });
    let mut detail = |own: bool, loads: bool| {
        let subject = &mut record.subjects[0];
        (subject.own_server, subject.load) = (own.then(|| "own".into()), loads.then(LoadRecord::default));
        attempts::resumed(&record).expect("runs of both kinds are in one cell").detail
    };
    assert!(detail(true, true).ends_with("afterwards with recreated servers and reloaded data"));
    assert!(detail(false, true).ends_with("afterwards with reloaded data"));
    assert!(detail(false, false).ends_with("afterwards, at another time"));
}

/// `pgdyno resume` refuses a load, so nothing may advise it.
#[test]
fn a_load_that_was_stopped_is_continued_by_its_own_command() {
    let mut record = record(&Case { complete: false, ..clean() });
    record.runs.clear();
    record.plan.blocks = 0;
    record.operations.push(OperationRecord {
        name: "load".into(),
        subject: None,
        start_s: 0.0,
        duration_s: None,
        passed: None,
        found: Found::Load(Box::default()),
    });
    let doubt = attempts::partial(&record).expect("it did not complete");
    assert_eq!(doubt.detail, "the load did not complete");
    assert!(
        doubt.advice.contains("Continue it") && !doubt.advice.contains("pgdyno resume"),
        "{}",
        doubt.advice
    );
}

#[test]
fn careful_runs_seldom_have_a_doubt_by_chance() {
    let doubted =
        (0..200).filter(|&seed| !doubts(&Case { runs: clean_runs(seed), ..clean() }).is_empty()).count();
    assert!(doubted <= 2, "{doubted} of 200 clean thorough runs have a doubt");
}

/// Modifies every run of the last cell (tpcb-like/16).
fn break_last(case: &mut Case, fault: impl Fn(&mut CellRun, usize)) {
    let last =
        case.runs.iter_mut().filter(|run| run.workload.script == "tpcb-like" && run.workload.clients == 16);
    last.enumerate().for_each(|(block, run)| fault(run, block));
}

/// A latency by which each client has this many transactions in progress.
fn latency(run: &CellRun, each: f64) -> LatencySummary {
    let mean_ns = each * f64::from(run.workload.clients) / run.tps * 1e9;
    LatencySummary {
        count: run.counts.committed,
        mean_ns,
        stddev_ns: 0.0,
        min_ns: mean_ns as u64,
        p50_ns: None,
        p95_ns: None,
        p99_ns: None,
        p999_ns: None,
        max_ns: mean_ns as u64,
    }
}

#[test]
fn clients_are_tps_times_latency_in_a_closed_loop_alone() {
    let doubted = |each: f64, fault: fn(&mut CellRun)| {
        let mut case = clean();
        for run in &mut case.runs {
            run.latency = Some(latency(run, each));
            fault(run);
        }
        doubts(&case).iter().any(|doubt| doubt.kind == DoubtKind::Implausible)
    };
    assert!(!doubted(1.0, |_| ()) && !doubted(0.91, |_| ()) && !doubted(1.09, |_| ()));
    assert!(doubted(0.89, |_| ()) && doubted(1.11, |_| ()));
    assert!(!doubted(0.3, |run| run.workload.rate_per_s = Some(1_000.0)));
    assert!(!doubted(0.3, |run| run.counts_whole.failed = 1));
    assert!(!doubted(0.3, |run| run.counts.committed = u64::from(run.workload.clients) * 49));
}

type Fault = (DoubtKind, fn(&mut Case));

const FAULTS: [Fault; 31] = [
    (DoubtKind::Resumed, |case| case.resumed_at = vec![5]),
    (DoubtKind::Implausible, |case| break_last(case, |run, _| run.latency = Some(latency(run, 0.8)))),
    (DoubtKind::FewCommits, |case| {
        break_last(case, |run, _| run.counts.committed = 49 * u64::from(run.workload.clients));
    }),
    (DoubtKind::ScreeningRun, |case| case.thorough = false),
    (DoubtKind::Partial, |case| case.complete = false),
    (DoubtKind::TooFewBlocks, |case| case.runs.truncate(16)),
    (DoubtKind::NotSteady, |case| {
        break_last(case, |run, block| {
            if block < 2 {
                run.steady = SteadyVerdict::Trending { change: -0.12 };
            }
        });
    }),
    (DoubtKind::Noisy, |case| break_last(case, |run, block| run.tps *= [1.0, 1.5][block % 2])),
    (DoubtKind::UnsteadyBlocks, |case| {
        break_last(case, |run, block| run.tps *= if block == 0 { 1.0 / 17.0 } else { 1.0 });
    }),
    (DoubtKind::TrendOverBlocks, |case| {
        break_last(case, |run, block| {
            let each = 5_000.0 * 0.97f64.powi(block as i32);
            let wal_bytes = (each * run.counts.committed as f64) as u64;
            run.io.as_mut().expect("a sample has it").wal_bytes = Some(wal_bytes);
        });
    }),
    (DoubtKind::FewBranches, |case| case.scale = 15),
    (DoubtKind::DriverSaturated, |case| break_last(case, |run, _| run.cpu.busiest_worker = 0.95)),
    (DoubtKind::NearCeiling, |case| case.ceiling = Some(instrument(1_100.0))),
    (DoubtKind::CoresShared, |case| case.cores_shared = true),
    (DoubtKind::CpuSteal, |case| break_last(case, |run, _| run.cpu.steal = Some(0.05))),
    (DoubtKind::OtherLoad, |case| break_last(case, |run, _| run.cpu.others_cpus = Some(0.4))),
    (DoubtKind::IdleServersBusy, |case| {
        break_last(case, |run, _| run.idle = Some(IdleServers { cpus: 0.05, written_bytes: Some(0) }));
    }),
    (DoubtKind::UnevenCheckpoints, |case| {
        break_last(case, |run, block| {
            run.io.as_mut().expect("a sample has it").checkpoints = Some(u64::from(block == 3))
        });
    }),
    (DoubtKind::BuildNotOptimised, |case| {
        case.server.build = BuildFacts { cflags: Some("-Wall -Os".into()), ..BuildFacts::default() };
    }),
    (DoubtKind::BuildUnknown, |case| {
        case.server.source = ServerSource::Bundle;
        case.server.build.cflags = None;
    }),
    (DoubtKind::MixedCache, |case| {
        break_last(case, |run, block| {
            if block == 0 {
                run.served_from = Some(ServedFrom::Disk);
            }
        });
    }),
    (DoubtKind::WeakDurability, |case| case.server.durability = DurabilityTier::AsyncCommit),
    (DoubtKind::Misses, |case| {
        break_last(case, |run, block| {
            run.counts_whole.failed = u64::from(block == 0);
            let (code, message) = ("40001".into(), "could not serialize".into());
            run.errors = vec![ErrorCount { code, message, count: 1, longest_ns: None }];
        });
    }),
    (DoubtKind::ConnectionsLost, |case| {
        break_last(case, |run, block| {
            let outage = Outage { lost: 1, made_again: 1, longest_ns: 8_000_000, ..Outage::default() };
            run.outage = (block == 4).then_some(outage);
        });
    }),
    (DoubtKind::BalanceViolated, |case| case.balance = Some((5_000_000, 1))),
    (DoubtKind::Inconsistent, |case| case.consistency = Some((1_000_000, 3))),
    (DoubtKind::NotChecked, |case| case.balance = None),
    (DoubtKind::ServerNotObserved, |case| break_last(case, |run, _| run.cpu.server_s = None)),
    (DoubtKind::ForeignTables, |case| case.existing = Some(samples::existing())),
    (DoubtKind::FewKeyWorkers, |case| case.load = Some(samples::load_with_workers(4, 2))),
    (DoubtKind::UnpinnedBundle, |case| case.bundle_pinned = Some(false)),
];

#[test]
fn every_fault_gives_its_doubt_and_no_other() {
    for (kind, fault) in FAULTS {
        let mut case = clean();
        fault(&mut case);
        let found = doubts(&case);
        assert_eq!(found.iter().map(|doubt| doubt.kind).collect::<Vec<_>>(), [kind], "{found:#?}");
        assert!(found[0].detail.len() > 20 && found[0].advice.ends_with('.'), "{found:?}");
    }
}

#[test]
fn servers_that_write_while_another_is_measured_are_doubted() {
    let doubted = |cpus: f64, written_bytes: Option<u64>| {
        let mut case = clean();
        break_last(&mut case, |run, _| run.idle = Some(IdleServers { cpus, written_bytes }));
        doubts(&case).pop()
    };
    assert_eq!((doubted(0.019, Some(4 << 20)), doubted(0.0, None)), (None, None));
    let found = doubted(0.0, Some(12 << 20)).expect("12 MiB are a checkpoint");
    assert_eq!((found.kind, found.cells), (DoubtKind::IdleServersBusy, vec!["tpcb-like/16".to_owned()]));
    assert!(found.detail.ends_with("others wrote up to 12 MiB during a run"), "{}", found.detail);
    let both = doubted(0.5, Some(12 << 20)).expect("both are above");
    assert_eq!(both.cells.len(), 1);
    assert!(both.detail.contains("used up to 0.50 CPUs and wrote"), "{}", both.detail);
}

#[test]
fn what_blocks_did_is_reported_with_its_figures() {
    let detail = |rate: fn(usize) -> f64| {
        let mut case = clean();
        break_last(&mut case, |run, block| run.tps = rate(block));
        let found = doubts(&case).pop().expect("there is a doubt");
        assert_eq!((found.kind, found.cells), (DoubtKind::UnsteadyBlocks, vec!["tpcb-like/16".to_owned()]));
        found.detail
    };
    let rose = detail(|block| if block == 0 { 1_443.0 } else { 25_060.0 });
    assert_eq!(rose, "TPS of tpcb-like/16 rose from 1,443 to 25,060 between its blocks 1 and 2");
    let fell = detail(|block| 1_000.0 * 0.9f64.powi(block as i32));
    assert_eq!(fell, "TPS of tpcb-like/16 fell by 41.0 % over its 6 blocks");
}

#[test]
fn clients_wait_for_branches_where_a_script_updates_them() {
    let found = |script: &str, scale| {
        let mut case = Case { scale, ..clean() };
        case.runs.iter_mut().for_each(|run| run.workload.script = script.into());
        let doubt = doubts(&case).into_iter().find(|doubt| doubt.kind == DoubtKind::FewBranches);
        doubt.map(|doubt| (doubt.detail, doubt.advice, doubt.cells))
    };
    let (detail, advice, cells) = found("tpcb-like", 6).expect("16 clients on 6 branches");
    assert!(detail.starts_with("up to 16 clients updated 6 branch rows"), "{detail}");
    assert!(advice.starts_with("Load at least scale 16 (--scale)"), "{advice}");
    assert_eq!(cells, ["tpcb-like/16"]);
    assert_eq!(
        (found("simple-update", 6), found("select-only", 6), found("tpcb-like", 16)),
        (None, None, None)
    );
}

#[test]
fn a_build_for_tests_is_doubted_as_one_for_size() {
    let mut case = clean();
    case.server.build.features = Some(vec!["cassert".into()]);
    let found = doubts(&case);
    assert_eq!(found.iter().map(|doubt| doubt.kind).collect::<Vec<_>>(), [DoubtKind::BuildNotOptimised]);
    assert!(found[0].detail.contains("with assertions: such a build is meant for tests"), "{found:?}");
}

/// A flag that the command does not have helps nobody. That commands have those of [`Key`] is a test of theirs.
#[test]
fn advice_names_flags_of_the_command_that_was_used() {
    for by in Measuring::ALL {
        let command = format!("pgdyno {}", by.names().join(" "));
        let known: Vec<_> =
            Key::ALL.map(|key| key.named(by)).join(" ").split([' ', ',']).map(str::to_owned).collect();
        let mut named = 0;
        for (kind, fault) in FAULTS {
            let mut case = clean();
            fault(&mut case);
            let mut made = record(&case);
            made.command.clone_from(&command);
            made.plan.thorough_hint = None;
            let found = judge(&made);
            for doubt in found.iter().filter(|doubt| doubt.kind == kind) {
                let flags = doubt.advice.split(|c: char| !c.is_alphanumeric() && c != '-');
                for flag in flags.filter(|word| word.starts_with("--")) {
                    assert!(known.iter().any(|key| key == flag), "{command}: {}", doubt.advice);
                    named += 1;
                }
            }
        }
        assert!(named > 3 || by != Measuring::Bench, "the faults have advice with flags: {named}");
    }
}

#[test]
fn every_kind_of_doubt_is_tested() {
    let schema = serde_json::to_string(&schemars::schema_for!(DoubtKind)).expect("a schema is JSON");
    let kinds = schema.matches("\"const\"").count();
    // Edited records are found by the reader, not by a rule.
    let by_readers = 1;
    let own = tests_of_comparisons::OWN.len() + tests_of_subjects::OWN.len() + disk::tests::OWN.len();
    assert_eq!(kinds, FAULTS.len() + own + by_readers);
}

#[test]
fn the_ceiling_is_that_of_a_thread_in_round_trips() {
    let doubted = |jobs: u32, statements: usize, tps: f64| {
        let mut run = run("tpcb-like", 16, tps);
        let statement = StatementSummary { statement: "SELECT 1".into(), latency: None };
        run.statements = vec![statement; statements];
        let mut record = samples::record(vec![run], Vec::new());
        (record.instrument, record.plan.jobs) = (Some(instrument(1_000.0)), jobs);
        near_ceiling(&record).map(|doubt| doubt.detail)
    };
    // One thread with 16 clients: 3,000 round trips a second at most. Two with 8 each: 2,000 each.
    assert_eq!(doubted(1, 7, 340.0), None);
    let detail = doubted(1, 7, 345.0).expect("2,415 of 3,000 are more than 80 %");
    assert!(detail.contains("80.5 %"), "{detail}");
    assert_eq!(doubted(2, 7, 450.0), None);
    assert!(doubted(2, 7, 460.0).is_some());
    assert_eq!(doubted(1, 0, 2_300.0), None);
    assert!(doubted(1, 0, 2_500.0).is_some());
}

#[test]
fn a_check_that_examined_nothing_is_a_violation() {
    let found = doubts(&Case { balance: Some((0, 0)), ..clean() });
    assert_eq!(found[0].detail, "the balance check examined no row");
    let found = doubts(&Case { consistency: Some((0, 0)), ..clean() });
    assert_eq!(found[0].detail, "the TPC-C consistency check examined no row");
}

/// Makes a run one of TPC-C.
fn drive_tpcc(run: &mut CellRun) {
    run.workload.script = "tpcc".into();
    run.tpcc = Some(TpccRun {
        warehouses: 10,
        shape: Shape::Statements,
        isolation: None,
        max_tries: 10,
        transactions: None,
        sets: None,
        drivers: None,
        paced: false,
        weights: [45, 43, 4, 4, 4],
        load_constant_known: true,
        note: DERIVED.into(),
        shares: Shares::default(),
    });
}

#[test]
fn tables_of_tpcc_that_are_consistent_are_no_doubt_and_unchecked_ones_are() {
    let mut case = Case { balance: None, consistency: Some((1_000_000, 0)), ..clean() };
    case.runs.retain(|run| run.workload.script == "tpcb-like");
    case.runs.iter_mut().for_each(drive_tpcc);
    assert_eq!(doubts(&case), []);
    case.consistency = None;
    let found = doubts(&case);
    assert_eq!(found.iter().map(|doubt| doubt.kind).collect::<Vec<_>>(), [DoubtKind::NotChecked]);
    assert!(found[0].advice.contains("consistency"), "{found:?}");
}

#[test]
fn reading_needs_no_durability_and_no_check() {
    let mut case = Case { balance: None, ..clean() };
    case.server.durability = DurabilityTier::NoSync;
    case.runs.retain(|run| run.workload.script == "select-only");
    assert_eq!(doubts(&case), []);
}

#[test]
fn reads_that_were_not_seen_are_no_other_place() {
    let kinds_with = |places: [ServedFrom; 3]| {
        let mut case = clean();
        break_last(&mut case, |run, block| run.served_from = Some(places[block % 3]));
        doubts(&case).iter().map(|doubt| doubt.kind).collect::<Vec<_>>()
    };
    let (hit, unknown, disk) = (ServedFrom::SharedBuffers, ServedFrom::BelowBuffersUnknown, ServedFrom::Disk);
    assert_eq!(kinds_with([hit, unknown, hit]), []);
    assert_eq!(kinds_with([unknown, unknown, unknown]), []);
    assert_eq!(kinds_with([hit, unknown, disk]), [DoubtKind::MixedCache]);
}

#[test]
fn what_sessions_and_scripts_weaken_is_reported_for_their_cells() {
    let mut case = clean();
    let weaken = |case: &mut Case, tier, what: &str| {
        let found = [Weakness { tier, what: what.to_owned() }];
        for run in &mut case.runs {
            let is_weak = run.workload.script != "select-only" && run.workload.clients > 1;
            let found = if is_weak { &found[..] } else { &[] };
            run.durability = Some(RunDurability::new(DurabilityTier::Full, found));
        }
    };
    weaken(&mut case, DurabilityTier::AsyncCommit, "line 1 of x.sql: SET synchronous_commit = off");
    let [weak] = &doubts(&case)[..] else { panic!("{:?}", doubts(&case)) };
    assert_eq!(weak.kind, DoubtKind::WeakDurability);
    assert!(
        weak.detail.ends_with("the last commits: line 1 of x.sql: SET synchronous_commit = off"),
        "{weak:?}"
    );
    assert_eq!(weak.cells, ["tpcb-like/16"], "the others are full");
    weaken(&mut case, DurabilityTier::Uncertain, "function public.f: SQL that is put together when it runs");
    assert!(doubts(&case)[0].detail.starts_with("durability is uncertain"), "{:?}", doubts(&case));
    // Weak durability found only at the end concerns all cells that write.
    weaken(&mut case, DurabilityTier::Full, "nothing");
    assert_eq!(doubts(&case), []);
    case.server.durability = DurabilityTier::NoSync;
    assert_eq!(doubts(&case)[0].cells, ["tpcb-like/1", "tpcb-like/16"]);
}

#[test]
fn one_false_alarm_among_six_runs_is_let_pass() {
    let mut case = clean();
    case.runs[0].steady = SteadyVerdict::NotSteady { cut_s: 3.0, change: None };
    assert_eq!(doubts(&case), []);
}

#[test]
fn a_few_attempts_due_at_the_very_end_are_no_misses() {
    let missed = |never_started| {
        missed_too_many(&Counts { scheduled: 10_000, never_started, failed: 1, ..Counts::default() })
    };
    assert_eq!((missed(0), missed(10), missed(110)), (1, 1, 101));
}

#[test]
fn details_carry_figures_and_cells() {
    let mut case = clean();
    let (_, fault) = FAULTS.iter().find(|(kind, _)| *kind == DoubtKind::Misses).expect("it is a fault");
    fault(&mut case);
    let found = doubts(&case);
    assert_eq!(found[0].cells, ["tpcb-like/16"]);
    assert!(
        found[0].detail.ends_with("attempts 1 failed; first error 40001: could not serialize"),
        "{found:?}"
    );
}

/// A stall in a short interval is no miscount, and the doubt about it says so.
#[test]
fn a_stall_explains_an_implausible_number() {
    let advice = |silence_ns: Option<u64>| {
        let mut case = clean();
        break_last(&mut case, |run, _| {
            (run.latency, run.longest_silence_ns) = (Some(latency(run, 0.8)), silence_ns);
        });
        let found = doubts(&case).into_iter().find(|doubt| doubt.kind == DoubtKind::Implausible);
        found.expect("it is implausible")
    };
    let stalled = advice(Some(u64::MAX / 4));
    assert!(stalled.detail.contains("no client committed for ") && stalled.advice.contains("--duration"));
    let other = advice(Some(1));
    assert!(other.advice.contains("miscounted") && !other.detail.contains("no client"), "{other:?}");
}
