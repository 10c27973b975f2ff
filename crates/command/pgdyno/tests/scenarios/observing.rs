//! What observers see during runs and loads, and what they do where they see nothing.

use std::{
    fs,
    process::{Child, Stdio},
    thread,
    time::Duration,
};

use crate::common::{OLDEST, Place, admin, holds_together, kill, text, wait_until, word};
use pgdyno_core::observe::{
    Digest, HostDigest, LogEvent, LogSample, ObserveLevel, Observed, Role, RoleDigest, SessionSample, What,
};
use pgdyno_core::results::DoubtKind;
use pgdyno_record::{Found, Run, Status};

fn lines(run: &Run) -> Vec<Observed> {
    run.observations().expect("it can be read").items
}

fn of_role(digest: &Digest, role: Role) -> Option<&RoleDigest> {
    digest.roles.iter().find(|of| of.mean.role == role)
}

/// How much a counter changed in all.
fn counted(seen: &[Observed], view: &str, column: &str) -> f64 {
    let change = |line: &Observed| match &line.what {
        What::Counters(of) => of.views.get(view)?.get(column).copied(),
        _ => None,
    };
    seen.iter().filter_map(change).sum()
}

/// Writes a plan whose only client reads the disk through a function that asks the kernel for bytes.
fn plan(place: &Place, sql: &str, measure: &str) {
    let plan = format!(
        "name = \"seen\"\n[data]\nscale = \"none\"\n[[workload]]\nname = \"x\"\ntext = \"{sql}\"\n\
         [measure]\nclients = [2]\nblocks = 1\n{measure}\n"
    );
    fs::write(place.path("plan.toml"), plan).expect("it can be written");
}

#[test]
fn host_devices_processes_and_waits_are_observed() {
    let place = Place::new();
    plan(&place, "SELECT pg_sleep(0.02)", "duration = \"2s\"\nwarmup = \"200ms\"");
    let output = place.run(&["run", "plan.toml", "--pg", "18", "--bundle"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let run = place.only_run();
    assert_eq!(run.record.status, Status::Complete);
    holds_together(&run);
    let seen = lines(&run);
    let has = |is: fn(&What) -> bool| seen.iter().any(|line| is(&line.what));
    assert!(has(|what| matches!(what, What::Host(host) if !host.cpus.is_empty() && host.memory.is_some())));
    assert!(has(
        |what| matches!(what, What::Processes(of) if of.roles.iter().any(|r| r.role == Role::Checkpointer))
    ));
    assert!(has(
        |what| matches!(what, What::Waits(of) if of.seen.iter().any(|w| w.event == "Timeout:PgSleep"))
    ));
    let types = |what: &What| match what {
        What::Waits(of) => of.seen.iter().map(|one| one.backend.clone()).collect(),
        _ => Vec::new(),
    };
    let types: std::collections::BTreeSet<String> = seen.iter().flat_map(|line| types(&line.what)).collect();
    assert!(types.contains("client backend") && types.contains("checkpointer"), "{types:?}");
    // Half of the time a transaction of 20 ms is older than 10 ms.
    assert!(has(|what| matches!(what, What::Sessions { oldest, .. } if oldest.iter().any(|one| {
        one.event == "Timeout:PgSleep" && one.transaction_age_s >= 0.01
    }))));
    // A run begins with a CHECKPOINT.
    assert!(has(
        |what| matches!(what, What::Log(of) if matches!(of.event, LogEvent::CheckpointEnded { .. }))
    ));
    assert!(counted(&seen, "pg_stat_database", "postgres xact_commit") > 100.0);
    // Without a device under the temporary directory there is none to see.
    let storage = run.record.storage.as_ref().and_then(|of| of.device.as_deref());
    if storage.is_some_and(|device| device.starts_with("/dev/")) {
        assert!(has(|what| matches!(what, What::Devices { devices } if !devices.is_empty())));
    }
    assert!(seen.iter().all(|line| line.over_s >= 0.0 && line.subject.is_none()));

    let cell = &run.record.runs[0];
    let digest = cell.observed.as_deref().expect("it was observed");
    assert!((digest.over_s - 2.0).abs() < 0.5, "{digest:?}");
    let clients = of_role(digest, Role::Client).expect("they ran");
    assert_eq!((clients.mean.processes, clients.subject.as_deref()), (2, None), "{digest:?}");
    assert!(of_role(digest, Role::Observer).is_some_and(|own| own.mean.processes == 2), "{digest:?}");
    assert!(digest.cost.is_some_and(|cost| cost.cpus > 0.0 && cost.cpus < 0.5));
    let [at_server] = digest.servers.as_slice() else { panic!("there is one server: {digest:?}") };
    assert_eq!((at_server.lock_waits, at_server.temp_bytes), (Some(0), Some(0)), "{at_server:?}");
    assert!(at_server.checkpoint_s.is_some_and(|under_way_s| under_way_s < 1.0), "{at_server:?}");
    assert!(at_server.wal_bytes.is_some_and(|bytes| bytes < 16 << 20), "{at_server:?}");
    let waits = cell.waits.as_ref().expect("they were sampled");
    assert!(waits.looks >= 10 && waits.looks <= 25, "{waits:?}");
    assert!(waits.events.iter().any(|of| of.event == "Timeout:PgSleep"), "{waits:?}");
    let measure = run.record.stages.iter().find(|stage| stage.name == "measure").expect("there is one");
    assert!(measure.observed.as_ref().is_some_and(|of| of.over_s >= digest.over_s));
    let observers = run.record.observers.as_ref().expect("they are recorded");
    assert_eq!((observers.level, observers.dropped_lines), (ObserveLevel::All, 0));
    assert!(observers.cost.server_cpus.is_some_and(|cpus| cpus > 0.0));
    let page = fs::read_to_string(run.path.join("report.html")).expect("it is written");
    for src in
        ["timeline#/counts/committed", "observations#/host/all/user", "observations#/waits/Timeout:PgSleep"]
    {
        assert!(page.contains(&format!("\"src\":\"{src}\"")), "{src} is not on the time axis");
    }
    let shown = place.done(&["show", "last", "--full"]);
    for words in ["HOST, DEVICES, PROCESSES", "client backends", "Observers took"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    place.nothing_is_left();
}

mod long {
    use super::*;

    /// Bytes of `/proc/PID/io`.
    fn io(pid: &str, name: &str) -> u64 {
        let text = fs::read_to_string(format!("/proc/{pid}/io")).expect("it can be read");
        let line = text.lines().find_map(|line| line.strip_prefix(name)).expect("it is there");
        line.trim_start_matches(": ").parse().expect("a number")
    }

    #[test]
    #[ignore = "loads tables"]
    fn stages_of_a_load_have_digests_whose_bytes_are_those_of_proc() {
        let place = Place::new();
        place.done(&["up", "main", "--pg", "18", "--bundle"]);
        let server = place.only();
        let pid = server["pid"].as_u64().expect("a number").to_string();
        // What ended backends asked for is added up in the postmaster.
        let before = io(&pid, "wchar");
        place.done(&["load", "tpcb", "--server", "main", "--scale", "20", "--jobs", "2"]);
        // A session is gone from pg_stat_activity before its process is reaped.
        let mut written = io(&pid, "wchar");
        wait_until("all backends are reaped", || {
            thread::sleep(Duration::from_millis(500));
            let earlier = std::mem::replace(&mut written, io(&pid, "wchar"));
            written == earlier
        });
        let by_hand = (written - before) as f64;
        let run = place.runs().pop().expect("it was recorded");
        holds_together(&run);
        let stage = run.record.stages.iter().find(|stage| stage.name == "load").expect("there is one");
        let digest = stage.observed.as_deref().expect("it was observed");
        let asked = |role| of_role(digest, role).and_then(|of| of.mean.asked_written_bytes_per_s);
        // A worker that builds an index is in a role of its own only if a reading met it.
        let reaped = [Role::Client, Role::ParallelWorker, Role::Ended];
        let asked = reaped.into_iter().filter_map(asked).sum::<f64>() * digest.over_s;
        assert!(by_hand > 200e6, "{by_hand}");
        assert!((asked / by_hand - 1.0).abs() < 0.02, "{asked} {by_hand}");
        let Found::Load(load) = &run.record.operations[0].found else { panic!("it is a load") };
        assert!(
            load.stages.iter().filter(|stage| stage.duration_s > 0.1).all(|stage| stage.observed.is_some())
        );
        place.done(&["down", "main"]);
    }

    /// The session at the server is stopped: host and processes are still seen, and the run ends well.
    #[test]
    #[ignore = "waits for a timeout"]
    fn a_session_that_hangs_is_a_gap() {
        let place = Place::new();
        plan(&place, "SELECT 1", "duration = \"12s\"\nwarmup = \"100ms\"");
        place.done(&["up", "main", "--pg", "18", "--bundle"]);
        let server = place.only();
        let mut run = place.command(&["run", "plan.toml", "--server", "main"]);
        let child = run.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("pgdyno can be run");
        let mut observer = None;
        wait_until("the observer is connected", || {
            let found = "SELECT pid FROM pg_stat_activity WHERE application_name = 'pgdyno observer' LIMIT 1";
            observer = admin(&server).value(found).ok().flatten();
            observer.is_some()
        });
        let pid: u64 = observer.expect("it was found").parse().expect("a number");
        kill(pid, "-STOP");
        std::thread::sleep(std::time::Duration::from_secs(8));
        kill(pid, "-CONT"); // the server could not end with it
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let run = place.only_run();
        assert_eq!(run.record.status, Status::Complete);
        holds_together(&run);
        let seen = lines(&run);
        let is_gap =
            |line: &Observed| matches!(&line.what, What::Gap { missing, .. } if missing == "session");
        assert!(seen.iter().any(is_gap), "{seen:?}");
        let hosts: Vec<f64> =
            seen.iter().filter(|line| matches!(line.what, What::Host(_))).map(|line| line.at_s).collect();
        assert!(hosts.windows(2).all(|two| two[1] - two[0] < 3.0), "{hosts:?}");
        place.done(&["down", "main"]);
    }

    /// Without the right to see others' sessions, and with no session or no observer at all.
    #[test]
    #[ignore = "makes three runs"]
    fn what_may_not_be_seen_is_absent() {
        let place = Place::new();
        place.done(&["up", "main", "--pg", "15", "--bundle"]);
        let server = place.only();
        let mut session = admin(&server);
        for statement in ["CREATE ROLE plain LOGIN", "CREATE DATABASE plain OWNER plain"] {
            session.execute(statement).expect("it can be made");
        }
        drop(session);
        let socket = word(&server, "socket_dir").to_owned();
        let port = server["port"].to_string();
        let to = format!("host={socket} port={port} user=plain dbname=plain");
        for (level, has_waits) in [("all", true), ("host", false), ("none", false)] {
            let args =
                ["bench", "--quick", "--dsn", &to, "--scale", "1", "--clients", "2", "--observe", level];
            let args = [&args[..], &["--duration", "1s", "--warmup", "100ms", "--blocks", "1"]].concat();
            place.done(&args);
            let mut runs = place.runs();
            runs.sort_by(|a, b| a.record.started_at.cmp(&b.record.started_at));
            let run = runs.pop().expect("there is one");
            let cell = &run.record.runs[0];
            assert_eq!(cell.observed.is_some(), level != "none", "{level}");
            assert_eq!(cell.waits.is_some(), has_waits, "{level}");
            let mut missing: Vec<String> = lines(&run)
                .into_iter()
                .filter_map(|line| match line.what {
                    What::Gap { missing, why } => Some(format!("{missing}: {why}")),
                    _ => None,
                })
                .collect();
            missing.sort();
            let wants = "start the server with shared_preload_libraries = pg_stat_statements";
            let want = if has_waits { vec![format!("statements: {wants}")] } else { Vec::new() };
            assert_eq!(missing, want, "{level}");
            assert_eq!(
                run.record.observers.as_ref().map(|of| of.level.name()),
                (level != "none").then_some(level)
            );
            std::thread::sleep(std::time::Duration::from_secs(1));
        }
        place.done(&["down", "main"]);
    }

    /// A lock queue, a checkpoint and a slow VACUUM are planted: their process ids and figures are recorded.
    fn planted(major: &str) {
        let place = Place::new();
        place.done(&["up", "main", "--pg", major, "--bundle"]);
        let server = place.only();
        let mut head = admin(&server);
        head.execute("CREATE TABLE planted AS SELECT i AS id, 0 AS v FROM generate_series(1, 200000) i")
            .expect("it can be made");
        plan(&place, "SELECT pg_sleep(0.01)", "duration = \"12s\"\nwarmup = \"100ms\"");
        let mut run = place.command(&["run", "plan.toml", "--server", "main"]);
        let child = run.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("pgdyno can be run");
        let found = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(0.01)%' AND state = 'active' \
                     AND pid <> pg_backend_pid()";
        wait_until("the clients are active", || {
            admin(&server).value(found).ok().flatten().is_some_and(|count| count != "0")
        });
        head.execute("BEGIN").expect("it begins");
        head.execute("UPDATE planted SET v = 1 WHERE id = 1").expect("nobody has the row");
        let [waits, vacuums] = [
            vec!["UPDATE planted SET v = 2 WHERE id = 1"],
            vec!["SET vacuum_cost_delay = 20", "SET vacuum_cost_limit = 10", "VACUUM planted"],
        ]
        .map(|statements| {
            let mut session = admin(&server);
            let pid = session.backend_pid();
            let work = move || statements.iter().for_each(|sql| drop(session.execute(sql)));
            (pid, thread::spawn(work))
        });
        let mut other = admin(&server);
        other.execute("CHECKPOINT").expect("it may");
        thread::sleep(Duration::from_secs(5));
        head.execute("COMMIT").expect("it commits");
        waits.1.join().expect("it does not panic");
        other.execute(&format!("SELECT pg_cancel_backend({})", vacuums.0)).expect("it may");
        vacuums.1.join().expect("it does not panic");
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let run = place.only_run();
        holds_together(&run);
        let (seen, head, waiter) = (lines(&run), head.backend_pid(), waits.0);
        its_queue_is_shown(&seen, head, waiter);
        its_log_is_shown(&seen, waiter);
        its_counters_are_shown(&seen);
        let is_vacuum = |line: &Observed| {
            let What::Progress { commands } = &line.what else { return false };
            commands.iter().any(|one| one.pid == vacuums.0 && one.relation.as_deref() == Some("planted"))
        };
        assert_eq!(seen.iter().any(is_vacuum), major != "9.5");
        let is_gap =
            |line: &&Observed| matches!(&line.what, What::Gap { missing, .. } if missing != "statements");
        let missing: Vec<_> = seen.iter().filter(is_gap).collect();
        assert!(missing.is_empty(), "{missing:?}");
        place.done(&["down", "main"]);
    }

    /// The waiter is recorded with its blocker, and the blocker as the oldest transaction, older from sample to sample.
    fn its_queue_is_shown(seen: &[Observed], head: i32, waiter: i32) {
        let blocked: Vec<_> = seen
            .iter()
            .filter_map(|line| match &line.what {
                What::Blocked { blocked } => blocked.iter().find(|one| one.pid == waiter),
                _ => None,
            })
            .collect();
        // Ten times a second at most, for five seconds.
        assert!((2..=55).contains(&blocked.len()), "{blocked:?}");
        for one in &blocked {
            assert_eq!((one.blocked_by.len(), one.blocked_by[0].pid), (1, head), "{one:?}");
            assert!(one.statement.starts_with("UPDATE planted SET v = "), "{one:?}");
        }
        // The last sample may see the blocker commit.
        let idle = blocked.iter().filter(|one| one.blocked_by[0].state == "idle in transaction").count();
        assert!(idle + 1 >= blocked.len(), "{blocked:?}");
        let waited: Vec<f64> = blocked.iter().filter_map(|one| one.waited_s).collect();
        // How often it is asked depends on the machine.
        assert!(waited.is_sorted() && waited.last() > waited.first(), "{waited:?}");
        let ages: Vec<(f64, f64)> = seen
            .iter()
            .filter_map(|line| {
                let What::Sessions { in_transaction, oldest } = &line.what else { return None };
                assert!(oldest.len() as u64 <= *in_transaction && line.over_s == 0.0, "{line:?}");
                let one = oldest.iter().find(|one| one.pid == head)?;
                // The server reads its clock for each session.
                let in_order =
                    |a: &SessionSample, b: &SessionSample| a.transaction_age_s + 0.001 >= b.transaction_age_s;
                assert!(oldest.is_sorted_by(in_order), "{line:?}");
                Some((line.at_s, one.transaction_age_s))
            })
            .collect();
        assert!(ages.len() >= 10, "{ages:?}");
        let [first, last] = [ages[0], ages[ages.len() - 1]];
        let (by_us, by_the_server) = (last.0 - first.0, last.1 - first.1);
        assert!(by_us > 1.5 && (by_us - by_the_server).abs() < 0.5, "{first:?} {last:?}");
        let waits = |line: &Observed| {
            let What::Waits(of) = &line.what else { return false };
            of.seen.iter().any(|one| one.event.starts_with("Lock"))
        };
        assert!(seen.iter().any(waits));
    }

    fn its_log_is_shown(seen: &[Observed], waiter: i32) {
        let events: Vec<(f64, &LogSample)> = seen
            .iter()
            .filter_map(|line| match &line.what {
                What::Log(of) => Some((line.at_s, of)),
                _ => None,
            })
            .collect();
        let has = |is: &dyn Fn(&LogSample) -> bool| events.iter().any(|(_, of)| is(of));
        assert!(
            has(&|of| matches!(of.event, LogEvent::CheckpointBegan { .. }) && of.pid.is_some()),
            "{events:?}"
        );
        assert!(has(&|of| matches!(of.event, LogEvent::CheckpointEnded { total_s, .. } if total_s < 60.0)));
        let waiter = u32::try_from(waiter).ok();
        let waited = events.iter().find_map(|(at_s, of)| match of.event {
            LogEvent::LockWait { waited_s, acquired: false } if of.pid == waiter => Some((*at_s, waited_s)),
            _ => None,
        });
        let acquired = events.iter().find_map(|(at_s, of)| match of.event {
            LogEvent::LockWait { waited_s, acquired: true } if of.pid == waiter => Some((*at_s, waited_s)),
            _ => None,
        });
        let ((at_s, waited_s), (then_s, in_all_s)) =
            waited.zip(acquired).expect("it waited for more than a second");
        assert!((0.9..2.0).contains(&waited_s) && in_all_s >= 2.0, "{waited_s} {in_all_s}");
        assert!(((then_s - at_s) - (in_all_s - waited_s)).abs() < 0.1, "the log's own times: {events:?}");
    }

    fn its_counters_are_shown(seen: &[Observed]) {
        let sum = |view, column| counted(seen, view, column);
        let requested =
            sum("pg_stat_bgwriter", "checkpoints_req") + sum("pg_stat_checkpointer", "num_requested");
        assert!(requested >= 1.0, "{requested}");
        // Two clients that sleep for 10 ms at a time.
        let commits = sum("pg_stat_database", "postgres xact_commit");
        assert!((200.0..4_000.0).contains(&commits), "{commits}");
        assert!(sum("pg_stat_user_tables", "public.planted n_tup_upd") >= 1.0);
    }

    #[test]
    #[ignore = "watches two servers for half a minute"]
    fn planted_causes_are_reported() {
        planted("18");
        planted(OLDEST);
    }

    /// A server that the run reaches over a network address, so that it does not know its machine.
    struct Remote {
        place: Place,
        dsn: String,
    }

    impl Remote {
        fn new() -> Self {
            let place = Place::new();
            let port = free_port();
            place.done(&["up", "main", "--pg", "18", "--bundle", "--listen", "127.0.0.1", "--port", &port]);
            let server = place.only();
            let mut admin = admin(&server);
            admin.execute("CREATE ROLE remote LOGIN PASSWORD 'remote'").expect("it can be made");
            admin.execute("CREATE DATABASE remote OWNER remote").expect("it can be made");
            admin.execute("GRANT pg_monitor TO remote").expect("it can be granted");
            // On Linux this address is this machine, but no loopback address.
            let dsn = format!("host=0.0.0.0 port={port} user=remote password=remote dbname=remote");
            Self { place, dsn }
        }

        /// Starts `pgdyno observe` next to what follows.
        fn observe(&self, file: &str) -> Child {
            let mut observe =
                self.place.command(&["observe", "--server", "main", "--output", file, "--machine", "db1"]);
            let child = observe.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it can be run");
            let path = self.place.path(file);
            wait_until("it observes", || {
                fs::read_to_string(&path).is_ok_and(|text| text.contains("\"of\":\"host\""))
            });
            child
        }

        fn ended(&self, observe: Child) -> String {
            kill(observe.id().into(), "-INT");
            let output = observe.wait_with_output().expect("it ends");
            assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
            text(&output.stdout)
        }

        /// A run that writes, as if the server were elsewhere.
        fn bench(&self) -> Run {
            let args = ["bench", "--quick", "--dsn", &self.dsn, "--scale", "2", "--clients", "4"];
            let more = ["--duration", "6s", "--warmup", "1s", "--blocks", "1", "--seed", "7"];
            self.place.done(&[&args[..], &more].concat());
            self.place.runs().pop().expect("it was recorded")
        }
    }

    fn free_port() -> String {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").and_then(|of| of.local_addr());
        listener.expect("a port is free").port().to_string()
    }

    /// The machine of the server is that of the run here, so both must have seen the same CPUs at the same time.
    #[test]
    #[ignore = "observes a run from outside"]
    fn a_file_of_the_servers_machine_is_joined() {
        let remote = Remote::new();
        let observe = remote.observe("db1.ndjson");
        let run = remote.bench();
        let said = remote.ended(observe);
        assert!(said.contains("db1.ndjson") && said.contains("the server's clock to within"), "{said}");
        let before = &run.record.runs[0];
        let here = before.observed.as_deref().expect("it was observed");
        assert!(
            before.cpu.server_s.is_none() && here.roles.is_empty() && here.devices.is_empty(),
            "{here:?}"
        );
        let clocks = &run.record.observers.as_ref().expect("they are recorded").clocks;
        let [clock] = clocks.as_slice() else { panic!("one server: {clocks:?}") };
        assert!(clock.ahead_s.abs() < 0.05 && clock.uncertainty_s < 0.05 && clock.readings >= 2, "{clock:?}");

        let said = remote.place.done(&["observe", "--join", "db1.ndjson", "last"]);
        assert!(
            said.contains("joined db1.ndjson to ") && said.contains("times are known to within"),
            "{said}"
        );
        let run = remote.place.only_run();
        holds_together(&run);
        assert!(
            run.record.doubts.iter().all(|doubt| doubt.kind != DoubtKind::Edited),
            "{:?}",
            run.record.doubts
        );
        assert!(run.record.doubts.iter().all(|doubt| doubt.kind != DoubtKind::ServerNotObserved));
        let entry = &run.record.joined[0];
        assert!(entry.clocks.ahead_s.abs() < 0.05 && entry.clocks.uncertainty_s < 0.05, "{entry:?}");
        let cell = &run.record.runs[0];
        let digest = cell.observed.as_deref().expect("it is observed");
        let [there] = digest.server_hosts.as_slice() else { panic!("one machine: {digest:?}") };
        let here = digest.host.as_ref().expect("it was seen");
        assert_eq!(there.machine, "db1");
        assert!((there.over_s - digest.over_s).abs() < 0.1, "{} {}", there.over_s, digest.over_s);
        assert!((there.host.all.busy() - here.all.busy()).abs() < 0.08, "{there:?} {here:?}");
        let switches = |of: &HostDigest| of.context_switches_per_s.expect("Linux counts them");
        assert!((switches(&there.host) / switches(here) - 1.0).abs() < 0.15, "{there:?} {here:?}");
        let clients = of_role(digest, Role::Client).expect("they ran");
        assert!(clients.mean.processes >= 4 && clients.mean.cpus > 0.05, "{clients:?}");
        assert!(
            of_role(digest, Role::Observer).is_some(),
            "the run's session is none of a client: {digest:?}"
        );
        assert!(digest.servers.iter().all(|of| of.checkpoints.is_some()), "by the log: {digest:?}");
        let written = digest.devices.iter().filter(|device| device.machine.as_deref() == Some("db1"));
        let storage = pgdyno_host::facts::storage(&remote.place.path(".")).ok().and_then(|of| of.device);
        assert!(
            written.count() > 0 || !storage.is_some_and(|device| device.starts_with("/dev/")),
            "{digest:?}"
        );

        let page = fs::read_to_string(run.path.join("report.html")).expect("it is written");
        for src in ["observations#/host/all/user", "observations#/host@db1/all/user"] {
            assert!(page.contains(&format!("\"src\":\"{src}\"")), "{src} is not on the time axis");
        }
        let shown = remote.place.done(&["show", "last", "--full"]);
        for words in ["db1 was observed there", "client backends"] {
            assert!(shown.contains(words), "{words}: {shown}");
        }
        remote.place.done(&["why", "last"]);
        let said = remote.place.refused(&["observe", "--join", "db1.ndjson"], 2);
        assert!(said.contains("it was joined before"), "{said}");
        let said = remote.place.refused(&["observe", "--dsn", "host=0.0.0.0 port=1 user=nobody"], 3);
        assert!(said.contains("hint: "), "{said}");
        remote.place.done(&["down", "main"]);
    }

    /// A server that is restarted meanwhile is another start: the observer follows it.
    #[test]
    #[ignore = "restarts a server"]
    fn an_observer_follows_a_server_that_is_restarted() {
        let remote = Remote::new();
        let observe = remote.observe("db1.ndjson");
        remote.place.done(&["down", "main"]);
        thread::sleep(Duration::from_secs(2));
        remote.place.done(&["up", "main"]);
        let run = remote.bench();
        remote.ended(observe);
        remote.place.done(&["observe", "--join", "db1.ndjson", &run.record.id]);
        let run = remote.place.only_run();
        let digest = run.record.runs[0].observed.as_deref().expect("it is observed");
        assert!(of_role(digest, Role::Client).is_some_and(|of| of.mean.processes >= 4), "{digest:?}");
        assert!(of_role(digest, Role::Checkpointer).is_some(), "{digest:?}");
        remote.place.done(&["down", "main"]);
    }
}
