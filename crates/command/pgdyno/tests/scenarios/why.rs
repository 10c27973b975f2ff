//! What the slowest transactions waited for: planted causes are named, and what was not observed is said.

use std::{
    fs,
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use pgdyno_core::results::{NO_SAMPLE, Tail, Tails};
use pgdyno_record::Run;
use pgdyno_wire::Session;

use crate::common::{Place, text, tiny};

/// What `pgdyno why --json` says of a run with one cell.
fn why(place: &Place) -> Tail {
    let json = place.done(&["why", "last", "--json"]);
    let schemas = pgdyno_record::schemas();
    let (_, schema) = schemas.iter().find(|(name, _)| *name == "why.schema.json").expect("it is published");
    let value = serde_json::from_str(&json).expect("it is JSON");
    assert!(jsonschema::validator_for(schema).expect("a schema").is_valid(&value), "{json}");
    let mut tails: Tails = serde_json::from_value(value).expect("tails");
    assert_eq!(tails.tails.len(), 1, "{json}");
    let tail = tails.tails.remove(0);
    let sum: f64 = tail.causes.iter().map(|of| of.share).sum();
    assert!((sum - 1.0).abs() < 1e-9, "{json}");
    tail
}

fn share(tail: &Tail, wait: impl Fn(&str) -> bool) -> f64 {
    tail.causes.iter().filter(|of| wait(&of.wait)).map(|of| of.share).sum()
}

#[test]
fn what_was_not_observed_is_said_with_the_next_command() {
    let place = Place::new();
    let none = ["--pg", "18", "--bundle", "--blocks", "1", "--observe", "none"];
    place.done(&tiny(&none));
    let refused = place.refused(&["why"], 3);
    assert!(refused.contains("no session was observed in this run"), "{refused}");
    assert!(refused.contains("--observe none") && refused.contains("hint: measure it again"), "{refused}");
    let hint = refused.lines().find(|line| line.starts_with("hint")).expect("there is one");
    assert!(hint.contains("`pgdyno bench") && !hint.contains("--observe"), "{hint}");
    let refused = place.refused(&["why", "last", "tpcb-like/77"], 2);
    assert!(refused.contains("no cell `tpcb-like/77`") && refused.contains("tpcb-like/2"), "{refused}");
    assert!(place.refused(&["why", "nothing"], 2).contains("there is no run"));
    let report = place.done(&["show", "--full"]);
    assert!(!report.contains("WHAT THE SLOWEST TRANSACTIONS WAITED FOR") && !report.contains("pgdyno why"));
}

/// Tests that run one at a time on a machine with nothing else to do: their shares are compared with a schedule.
mod alone {
    use pgdyno_core::{
        measure::{Part, SlowAttempt},
        results::{Circumstance, HolderKind},
    };
    use testkit::OLDEST;

    use super::*;
    use crate::common::{admin, holds_together};

    /// Times in seconds since 1970.
    type Windows = Vec<(f64, f64)>;

    fn now_s() -> f64 {
        SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later").as_secs_f64()
    }

    /// Does something to a server every two seconds while a plan is run there. Returns the run, and when it was done.
    fn meanwhile(
        place: &Place,
        (major, plan): (&str, &str),
        prepare: &[&str],
        act: impl Fn(&mut Session) -> (f64, f64) + Send + 'static,
    ) -> (Run, Windows, i32) {
        place.done(&["up", "main", "--pg", major, "--bundle"]);
        let server = place.only();
        let mut session = admin(&server);
        prepare.iter().for_each(|sql| session.execute(sql).map(|_| ()).expect("it can be done"));
        let pid = session.backend_pid();
        fs::write(place.path("plan.toml"), plan).expect("it can be written");
        let ended = Arc::new(AtomicBool::new(false));
        let acting = {
            let ended = Arc::clone(&ended);
            thread::spawn(move || {
                let mut windows = Vec::new();
                while !ended.load(Ordering::Relaxed) {
                    windows.push(act(&mut session));
                    thread::sleep(Duration::from_millis(1_700));
                }
                windows
            })
        };
        let mut command = place.command(&["run", "plan.toml", "--server", "main"]);
        let output = command.stdin(Stdio::null()).output().expect("pgdyno can be run");
        ended.store(true, Ordering::Relaxed);
        let windows = acting.join().expect("it does not panic");
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let run = place.only_run();
        holds_together(&run);
        (run, windows, pid)
    }

    /// The slowest transactions of a run, by the driver alone.
    fn slow(run: &Run, tail: &Tail) -> Vec<SlowAttempt> {
        let lines = run.slowest().expect("they can be read").items.into_iter();
        let attempts = lines.filter(|line| line.part != Part::WarmUp).flat_map(|line| line.attempts);
        let warmup_ns = run.record.runs[0].warmup_ns;
        attempts.filter(|of| of.latency_ns > tail.over_ns && of.scheduled_ns >= warmup_ns).collect()
    }

    /// The part of a transaction's time that lies in one of the windows.
    fn within(of: &SlowAttempt, windows: &Windows) -> f64 {
        let ended_at: jiff::Timestamp = of.ended_at.parse().expect("an instant");
        let end_s = ended_at.as_nanosecond() as f64 / 1e9;
        let begin_s = end_s - of.service_ns as f64 / 1e9;
        let overlaps = windows.iter().map(|(from, to)| (end_s.min(*to) - begin_s.max(*from)).max(0.0));
        overlaps.sum::<f64>() / (end_s - begin_s)
    }

    /// The part for which a transaction waited for the branch that was held: its update takes no time otherwise. Those
    /// behind in the queue still wait after the window, for the commits of those before them. One that sleeps meanwhile
    /// waits for nobody.
    fn locked_out(of: &SlowAttempt, windows: &Windows) -> f64 {
        let wanted = of.statement.as_deref().is_some_and(|sql| sql.starts_with("UPDATE branches"));
        let waited = of.statement_ns.unwrap_or(0) as f64 / of.service_ns as f64;
        if wanted && within(of, windows) > 0.0 { waited } else { 0.0 }
    }

    /// That a share is what it should be within five points, besides transactions of which there is no sample.
    fn is_within_five_points(found: f64, truth: f64, tail: &Tail) {
        let unseen = share(tail, |wait| wait == NO_SAMPLE);
        assert!(unseen < 0.2, "too little was seen: {tail:#?}");
        assert!(found <= truth + 0.05 && found + unseen >= truth - 0.05, "{found} {truth} {tail:#?}");
    }

    /// Every client sleeps now and then for 150 ms, and sometimes changes the only branch.
    const QUEUE: &str = "name = \"queue\"\n[data]\nscale = \"none\"\n[[workload]]\nname = \"queue\"\n\
        text = '''\n\\set r random(1, 1000)\n\\sleep 15 ms\nBEGIN;\n\\if :r <= 100\n\
        UPDATE branches SET bbalance = bbalance + 1 WHERE bid = 1;\n\\elif :r > 995\nSELECT pg_sleep(0.15);\n\\endif\n\
        END;\n'''\n[measure]\nclients = [8]\nblocks = 1\nduration = \"20s\"\nwarmup = \"1s\"\n";
    const BRANCHES: [&str; 2] =
        ["CREATE TABLE branches (bid int PRIMARY KEY, bbalance int)", "INSERT INTO branches VALUES (1, 0)"];

    /// Holds the only branch for 300 ms.
    fn hold(session: &mut Session) -> (f64, f64) {
        session.execute("BEGIN").expect("it can begin");
        session.execute("SELECT * FROM branches WHERE bid = 1 FOR UPDATE").expect("it can be locked");
        let from_s = now_s();
        thread::sleep(Duration::from_millis(300));
        let to_s = now_s();
        session.execute("COMMIT").expect("it can end");
        (from_s, to_s)
    }

    #[test]
    #[ignore = "measures for 20 s"]
    fn a_planted_lock_queue_is_named_with_its_culprit() {
        let place = Place::new();
        let (run, windows, pid) = meanwhile(&place, ("18", QUEUE), &BRANCHES, hold);
        let tail = why(&place);
        let slow = slow(&run, &tail);
        let truth = slow.iter().map(|of| locked_out(of, &windows)).sum::<f64>() / slow.len() as f64;
        assert!(truth > 0.3 && truth < 0.95, "it is a mixture: {truth}");
        let held = |kind: HolderKind| {
            let held =
                tail.causes.iter().filter(move |of| of.holder.as_ref().is_some_and(|of| of.kind == kind));
            held.map(|of| of.share).sum::<f64>()
        };
        is_within_five_points(share(&tail, |wait| wait.starts_with("Lock")), truth, &tail);
        // Who holds a lock is asked ten times a second at first, and a lock is held for 300 ms.
        assert!(held(HolderKind::Session) > 0.6 * truth, "{truth} {tail:#?}");
        let lock = tail.causes.iter().find(|of| of.holder.is_some()).expect("a lock is a cause");
        let holder = lock.holder.as_ref().expect("it is there");
        assert!(lock.wait.starts_with("Lock:") && holder.pid == Some(pid), "{lock:?}");
        assert_eq!(holder.state.as_deref(), Some("idle in transaction"));
        assert!(holder.statement.as_deref().is_some_and(|sql| sql.contains("FOR UPDATE")), "{holder:?}");
        assert!(
            holder.waiting.as_deref().is_some_and(|sql| sql.starts_with("UPDATE branches")),
            "{holder:?}"
        );
        is_within_five_points(share(&tail, |wait| wait == "Timeout:PgSleep"), 1.0 - truth, &tail);
        let said = place.done(&["why"]);
        let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(&format!("held by pid {pid} (`SELECT * FROM branches")), "{said}");
        assert!(said.lines().count() <= 50 && said.lines().all(|line| line.chars().count() <= 80), "{said}");
        let report = place.done(&["show", "--full"]);
        assert!(report.contains("WHAT THE SLOWEST TRANSACTIONS WAITED FOR"), "{report}");
        let html = fs::read_to_string(run.path.join("report.html")).expect("it is there");
        assert!(html.contains("why#/tails/0/causes/0/share"), "it is in the report");
        place.done(&["down", "main"]);
    }

    /// A table of which an update makes 30,000 pages dirty.
    const WIDE: [&str; 2] = [
        "CREATE TABLE wide (i int, v int, filler text) WITH (fillfactor = 10, autovacuum_enabled = off)",
        "INSERT INTO wide SELECT i, 0, repeat('x', 700) FROM generate_series(1, 30000) i",
    ];

    /// Makes pages dirty, and holds the only branch while a checkpoint writes them.
    fn checkpoint(session: &mut Session) -> (f64, f64) {
        session.execute("UPDATE wide SET v = v + 1").expect("it can be done");
        session.execute("BEGIN").expect("it can begin");
        session.execute("SELECT * FROM branches WHERE bid = 1 FOR UPDATE").expect("it can be locked");
        let from_s = now_s();
        session.execute("CHECKPOINT").expect("it may");
        let to_s = now_s();
        session.execute("COMMIT").expect("it can end");
        (from_s, to_s)
    }

    #[test]
    #[ignore = "measures for 20 s"]
    fn a_planted_checkpoint_is_named_with_its_share() {
        let place = Place::new();
        let prepare: Vec<&str> = BRANCHES.into_iter().chain(WIDE).collect();
        let (run, windows, pid) = meanwhile(&place, ("18", QUEUE), &prepare, checkpoint);
        let tail = why(&place);
        let slow = slow(&run, &tail);
        let truth = slow.iter().map(|of| within(of, &windows)).sum::<f64>() / slow.len() as f64;
        assert!(truth > 0.2 && truth < 0.95, "it is a mixture: {truth}");
        let is_one = |of: &&pgdyno_core::results::TailCircumstance| of.during == Circumstance::Checkpoint;
        let found = tail.circumstances.iter().find(is_one).map_or(0.0, |of| of.share);
        is_within_five_points(found, truth, &tail);
        let locked = tail.causes.iter().find(|of| of.wait.starts_with("Lock:") && of.holder.is_some());
        let locked = locked.expect("a lock is a cause");
        // The holder of the lock is to blame for it, and says what took so long.
        let holder = locked.holder.as_ref().expect("it is there");
        assert_eq!((holder.pid, holder.statement.as_deref()), (Some(pid), Some("CHECKPOINT")));
        assert!(place.done(&["why"]).contains("checkpoint"));
        place.done(&["down", "main"]);
    }

    /// Servers before 9.6 name no wait events, and yet a lock is a lock.
    #[test]
    #[ignore = "measures for 20 s"]
    fn the_oldest_server_shows_whether_it_was_a_lock() {
        let place = Place::new();
        let (run, windows, pid) = meanwhile(&place, (OLDEST, QUEUE), &BRANCHES, hold);
        let tail = why(&place);
        let slow = slow(&run, &tail);
        let truth = slow.iter().map(|of| locked_out(of, &windows)).sum::<f64>() / slow.len() as f64;
        is_within_five_points(share(&tail, |wait| wait.starts_with("Lock")), truth, &tail);
        assert_eq!(tail.has_wait_events, OLDEST != "9.5");
        let pids: Vec<_> =
            tail.causes.iter().filter_map(|of| of.holder.as_ref().filter(|_| of.share > 0.1)?.pid).collect();
        assert!(pids.contains(&pid), "{tail:#?}");
        if OLDEST == "9.5" {
            assert!(place.done(&["why"]).contains("has no wait events"));
        }
        place.done(&["down", "main"]);
    }
}
