//! `pgdyno bench` from end to end, on temporary servers and on an existing one.

use std::{
    collections::BTreeSet,
    fs,
    net::TcpListener,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Output},
    thread,
    time::Duration,
};

use pgdyno_analysis::DoubtKind;
use pgdyno_record::{BalanceRecord, Run, Status};
use serde_json::Value;

use crate::common::{
    OLDEST, OLDEST_VERSION, Place, admin, brief, holds_together, is_complete, left_out, text, tiny,
    wait_until, word,
};

/// Six cells on a temporary server; the environment names another one, which must not matter.
fn a_whole_bench(pg: &str) {
    let place = Place::new();
    let args = ["bench", "--quick", "--pg", pg, "--bundle", "--scale", "1", "--clients", "1,2,3", "--json"];
    let args = [&args[..], &["--duration", brief(), "--warmup", "100ms", "--blocks", "2"]].concat();
    let mut bench = place.command(&args);
    let output = bench.env("PGHOST", "/nonexistent").env("PGPASSWORD", "hush-hush").output();
    let output = output.expect("pgdyno can be run");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let run = place.only_run();
    is_complete(&run);
    everything_was_measured(&run);
    assert_eq!((&run.record.plan.server[..], &run.record.plan.transport[..]), ("own", "unix"));
    let version = run.record.subjects[0].server.as_ref().expect("it is recorded").version.clone();
    assert!(version.contains(pg), "{version}");
    let printed: Value = serde_json::from_slice(&output.stdout).expect("--json prints JSON and nothing else");
    assert_eq!(printed, run.json);
    assert!(!said.contains("hush-hush") && !holds(&run.path, "hush-hush"));
    assert!(run.path.join("server.log").is_file());
    place.nothing_is_left();
    if pg == "18" {
        runs_again(&place, &run);
    }
}

fn everything_was_measured(run: &Run) {
    let record = &run.record;
    let wanted: BTreeSet<_> = ["select-only", "tpcb-like"]
        .iter()
        .flat_map(|script| [1, 2, 3].map(|clients| ((*script).to_owned(), clients)))
        .collect();
    let cells: Vec<_> =
        record.cells.iter().map(|cell| (cell.workload.script.clone(), cell.workload.clients)).collect();
    assert_eq!(cells.len(), 6);
    assert_eq!(BTreeSet::from_iter(cells), wanted);
    assert_eq!(record.runs.len(), 12);
    for cell in &record.runs {
        // Of a disk that is busy a commit may come after the interval.
        assert!(cell.counts_whole.committed > 0 && cell.counts.failed == 0, "{cell:?}");
        assert_eq!(cell.latency.is_some(), cell.counts.committed > 0, "{cell:?}");
        assert!(cell.cpu.server_s.is_some(), "{cell:?}");
    }
    let lines = run.timeline().expect("it can be read").items;
    let with_lines: BTreeSet<_> = lines.iter().filter(|line| !line.warm_up).map(|line| line.run).collect();
    assert_eq!(with_lines, (0..12).collect());
    assert!(record.subjects[0].load.as_ref().is_some_and(|load| load.rows >= 100_011));
    assert!(record.subjects[0].sync_check.is_some() && record.storage.is_some());
    balances(run, "full");
}

/// What history has is what the driver counted.
fn balances(run: &Run, mode: &str) {
    let writing = run.record.runs.iter().filter(|run| run.workload.script == "tpcb-like");
    let committed: u64 = writing.map(|run| run.counts_whole.committed).sum();
    let balance = run.record.subjects[0].balance.as_ref().expect("it was checked");
    let BalanceRecord { violations, history_rows, in_doubt, rows_examined, .. } = balance;
    assert_eq!((*violations, *history_rows, *in_doubt), (0, committed, 0), "{balance:?}");
    assert!(committed > 0 && *rows_examined > committed && balance.committed == committed);
    assert_eq!(balance.mode, mode);
}

/// The command line of the record does the same again, by a shell.
fn runs_again(place: &Place, run: &Run) {
    let program = Path::new(env!("CARGO_BIN_EXE_pgdyno")).parent().expect("it is in a directory");
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    let again = place.command(&[]).get_envs().fold(Command::new("sh"), |mut shell, (name, value)| {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
        shell
    });
    let mut again = again;
    let output = again.current_dir(place.dir.path()).env("PATH", path).arg("-c").arg(&run.record.command);
    let output = output.output().expect("there is a shell");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let runs = place.runs();
    let newer = runs.iter().find(|newer| newer.record.id != run.record.id).expect("there is another run");
    assert_eq!(newer.record.plan, run.record.plan);
    assert_eq!(newer.record.command, run.record.command);
    place.nothing_is_left();
}

/// Whether any file of a run directory holds a text.
fn holds(dir: &Path, secret: &str) -> bool {
    let files = fs::read_dir(dir).expect("it is there").flatten();
    files.map(|file| fs::read(file.path()).unwrap_or_default()).any(|bytes| text(&bytes).contains(secret))
}

#[test]
fn a_bench_on_the_newest_major() {
    a_whole_bench("18");
}

#[test]
#[ignore = "takes long: `cargo xtask test-all` runs it"]
fn a_bench_on_every_major_between() {
    ["9.6", "10", "11", "12", "13", "14", "15", "16", "17"].into_iter().for_each(a_whole_bench);
}

/// An existing server, with existing tables.
struct Foreign {
    place: Place,
    server: Value,
    port: String,
    password: String,
}

impl Foreign {
    fn new(pg: &str) -> Self {
        let place = Place::new();
        let port = free_port();
        place.done(&["up", "--pg", pg, "--bundle", "--listen", "127.0.0.1", "--port", &port]);
        let server = place.only();
        let password = fs::read_to_string(place.path("state/servers/main/password")).expect("it is there");
        let mut admin = admin(&server);
        admin.execute("CREATE TABLE public.mine AS SELECT 1 AS one").expect("it can be made");
        // The same name as one of ours, in front of it wherever search_path is not pinned.
        admin
            .execute("CREATE TABLE public.pgbench_accounts AS SELECT 7 AS aid, 7 AS abalance")
            .expect("so can it");
        Self { place, server, port, password: password.trim().to_owned() }
    }

    fn socket(&self) -> &str {
        word(&self.server, "socket_dir")
    }

    fn bench(&self, flags: &[&str], variables: &[(&str, &str)]) -> Output {
        let mut bench = self.place.command(&tiny(flags));
        bench.envs(variables.iter().copied()).output().expect("pgdyno can be run")
    }

    fn refused(&self, flags: &[&str], variables: &[(&str, &str)], code: i32, words: &[&str]) {
        let output = self.bench(flags, variables);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{flags:?}: {said}");
        words.iter().for_each(|words| assert!(said.contains(words), "{flags:?} {words}: {said}"));
        assert!(said.contains("hint: ") && !said.contains(&self.password), "{said}");
        assert_eq!(text(&output.stdout), "");
    }

    /// Everything in the catalogue that a run could have touched.
    fn possessions(&self) -> Vec<String> {
        let mut admin = admin(&self.server);
        let rows = admin.query(
            "SELECT nspname || '.' || relname || ' ' || relfilenode FROM pg_class c JOIN pg_namespace n \
             ON n.oid = relnamespace WHERE nspname !~ '^pg_' UNION ALL SELECT nspname FROM pg_namespace \
             WHERE nspname !~ '^pg_(toast_)?temp' UNION ALL \
             SELECT rolname FROM pg_roles UNION ALL SELECT datname FROM pg_database UNION ALL \
             SELECT setconfig::text FROM pg_db_role_setting UNION ALL \
             SELECT 'mine ' || one FROM public.mine UNION ALL \
             SELECT 'accounts ' || aid || abalance FROM public.pgbench_accounts UNION ALL \
             SELECT name || setting FROM pg_settings WHERE source = 'configuration file' ORDER BY 1",
        );
        let rows = rows.expect("it can be read");
        rows.iter().map(|row| row.get(0).unwrap_or_default().to_owned()).collect()
    }
}

fn free_port() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr());
    listener.expect("a port is free").port().to_string()
}

/// The newest run of a place.
fn newest(place: &Place) -> Run {
    place.runs().pop().expect("there is a run")
}

/// Socket, TCP, URI and password file lead to the same server, and each run leaves it as it was.
fn every_way_to(pg: &str) {
    let foreign = Foreign::new(pg);
    let Foreign { place, port, password, .. } = &foreign;
    let passfile = place.path("pgpass");
    fs::write(&passfile, format!("127.0.0.1:{port}:*:postgres:{password}\n")).expect("it can be written");
    fs::set_permissions(&passfile, fs::Permissions::from_mode(0o600)).expect("it is ours");
    let passfile = passfile.display().to_string();
    let uri = format!("postgresql://postgres:{password}@127.0.0.1:{port}/postgres");
    let out = |ending: &str| place.path(&format!("report.{ending}")).display().to_string();
    let outs = ["html", "md", "csv", "txt"].map(out);
    let tcp = ["-h", "127.0.0.1", "-p", port, "-U", "postgres", "-d", "postgres"];
    let by_socket =
        ["-h", foreign.socket(), "-p", port, "-U", "postgres", "--out", &outs[0], "--check", "full"];
    let by_tcp = [&tcp[..], &["--out", &outs[1], "--check", "touched"]].concat();
    let by_uri = ["-d", &uri, "--out", &outs[2], "--check", "off"];
    let by_passfile = [&tcp[..], &["--out", &outs[3], "--rate", "200", "--duration", "1200ms"]].concat();
    let before = foreign.possessions();
    for (index, (flags, variable)) in [
        (&by_socket[..], ("PGSSLMODE", "prefer")),
        (&by_tcp, ("PGPASSWORD", password)),
        (&by_uri, ("PGUSER", "nobody-at-all")),
        (&by_passfile, ("PGPASSFILE", &passfile)),
    ]
    .into_iter()
    .enumerate()
    {
        let output = foreign.bench(flags, &[variable]);
        let said = text(&output.stderr) + &text(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{flags:?}: {said}");
        assert_eq!(foreign.possessions(), before, "{flags:?}");
        let run = newest(place);
        is_complete(&run);
        assert_eq!(run.record.plan.server, "external");
        assert_eq!(run.record.plan.transport, if index == 0 { "unix" } else { "tcp" });
        assert!(!said.contains(password) && !holds(&run.path, password), "{said}");
        match index {
            0 => balances(&run, "full"),
            1 => balances(&run, "touched"),
            2 => assert!(run.record.subjects[0].balance.is_none() && run.record.plan.balance_check == "off"),
            _ => is_open_loop(&run),
        }
    }
    every_report_is_of_its_form(&outs);
}

/// Attempts follow the schedule, whatever the server does, and their lag is reported.
fn is_open_loop(run: &Run) {
    assert_eq!(run.record.plan.rate_per_s, Some(200.0));
    for cell in &run.record.runs {
        assert!(cell.lag.is_some());
        // Poisson: 240 on average over 1.2 s, and never 100 or 400.
        let due = cell.counts.scheduled;
        assert!((100..400).contains(&due), "{due} fell due");
    }
}

fn every_report_is_of_its_form(outs: &[String]) {
    for (out, begin) in outs.iter().zip(["<!DOCTYPE html>", "# ", "run_id,", "bench"]) {
        let written = fs::read_to_string(out).expect("it was written");
        assert!(written.starts_with(begin), "{out}: {}", &written[..80]);
    }
}

#[test]
#[ignore = "takes long: `cargo xtask test-all` runs it"]
fn every_way_to_a_foreign_server_of_the_oldest_major() {
    every_way_to(OLDEST);
}

#[test]
fn what_keeps_a_foreign_server_from_being_measured_is_said() {
    let foreign = Foreign::new("18");
    let Foreign { place, server, port, password, .. } = &foreign;
    let tcp = ["-h", "127.0.0.1", "-p", port, "-U", "postgres"];
    let socket = ["-h", foreign.socket(), "-p", port];
    let wrong = format!("postgres://postgres:x{password}@127.0.0.1:{port}/postgres");
    let before = foreign.possessions();
    foreign.refused(&tcp, &[], 3, &["requires a password", "PGPASSWORD"]);
    foreign.refused(&tcp, &[("PGPASSWORD", "wrong")], 3, &["28P01", "check the password"]);
    foreign.refused(&["-d", &wrong], &[], 3, &["28P01"]);
    let as_postgres = [&socket[..], &["-U", "postgres"]].concat();
    foreign.refused(&[&as_postgres[..], &["-d", "nowhere"]].concat(), &[], 3, &["nowhere", "with -d"]);
    foreign.refused(&[&socket[..], &["-U", "nobody-at-all"]].concat(), &[], 3, &["nobody-at-all"]);
    foreign.refused(&["-h", "127.0.0.1", "-p", &free_port()], &[], 3, &["nothing listens there"]);
    foreign.refused(&["-h", "/nonexistent"], &[], 3, &["no such socket"]);
    foreign.refused(&[&as_postgres[..], &["--clients", "5000"]].concat(), &[], 3, &["max_connections"]);
    assert_eq!(place.runs().len(), 0, "nothing was begun, nothing is recorded");

    let mut session = admin(server);
    session
        .execute("CREATE SCHEMA pgdyno; CREATE TABLE pgdyno.precious AS SELECT 1 AS one")
        .expect("it can be made");
    foreign.refused(&as_postgres, &[], 3, &["schema pgdyno exists already", "DROP SCHEMA"]);
    assert_eq!(session.value("SELECT one FROM pgdyno.precious").expect("it is kept").as_deref(), Some("1"));
    session.execute("DROP SCHEMA pgdyno CASCADE").expect("it is ours");
    assert_eq!(foreign.possessions(), before);
}

/// Adds 1 to an account of history as soon as there is one, past history.
fn falsify(server: &Value) {
    let mut session = admin(server);
    let update = "UPDATE pgdyno.pgbench_accounts SET abalance = abalance + 1 \
                  WHERE aid = (SELECT aid FROM pgdyno.pgbench_history LIMIT 1) RETURNING aid";
    wait_until("there is history", || {
        thread::sleep(Duration::from_millis(10));
        session.query(update).is_ok_and(|rows| rows.len() == 1)
    });
}

/// Tests that `cargo test` leaves out and `.ci/run` runs.
mod long {
    use super::*;

    /// What 9.5 lacks is absent, and nothing is asked of it that it refuses.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_server_of_9_5_shows_less() {
        if OLDEST != "9.5" {
            return left_out("there is no bundle of 9.5 for this architecture");
        }
        let place = Place::new();
        place.done(&tiny(&["--pg", OLDEST, "--bundle"]));
        let run = place.only_run();
        is_complete(&run);
        let server = run.record.subjects[0].server.as_ref().expect("it was inspected");
        assert_eq!((&*server.version, &server.build.cflags), (OLDEST_VERSION, &None));
        assert!(server.build.compiler.as_ref().is_some_and(|by| by.contains("4.1.2")), "{:?}", server.build);
        let io = run.record.runs.iter().map(|run| run.io.as_ref().expect("it was read"));
        assert!(io.clone().all(|io| io.checkpoints.is_none()) && io.clone().any(|io| io.wal_bytes.is_some()));
        let doubts = pgdyno_analysis::judge(&run.record);
        let doubt = doubts.iter().find(|doubt| doubt.kind == DoubtKind::BuildUnknown).expect("it is doubted");
        assert!(doubt.detail.contains("9.5.3") && doubt.detail.contains("up to 9.5.25"), "{}", doubt.detail);

        place.done(&["up", "old", "--pg", OLDEST, "--bundle"]);
        place.done(&["load", "tpcb", "--server", "old", "--scale", "1"]);
        place.done(&["load", "verify", "--server", "old"]);
        for probe in ["count", "ddl", "depth", "sizes"] {
            let table = (probe != "sizes").then_some("pgbench_accounts");
            place.done(&["probe", probe, "--server", "old"].into_iter().chain(table).collect::<Vec<_>>());
        }
        place.done(&["prewarm", "--server", "old", "pgbench_accounts"]);
        let log = fs::read_to_string(place.path("state/servers/old/server.log")).expect("it is there");
        assert!(!log.contains("ERROR:"), "{log}");
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn every_way_to_a_foreign_server_of_the_newest_major() {
        every_way_to("18");
    }

    /// A balance changed by another session is found, whether all accounts are checked or those in history.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_wrong_balance_is_a_failure() {
        let foreign = Foreign::new("18");
        let flags = ["-h", foreign.socket(), "-p", &foreign.port, "-U", "postgres", "--duration", "1s"];
        for mode in ["full", "touched"] {
            let output = thread::scope(|scope| {
                let bench = scope.spawn(|| foreign.bench(&[&flags[..], &["--check", mode]].concat(), &[]));
                falsify(&foreign.server);
                bench.join().expect("it does not panic")
            });
            let said = text(&output.stderr) + &text(&output.stdout);
            assert_eq!(output.status.code(), Some(1), "{said}");
            let run = newest(&foreign.place);
            assert_eq!(run.record.status, Status::Complete);
            holds_together(&run);
            let balance = run.record.subjects[0].balance.as_ref().expect("it was checked");
            assert_eq!((balance.violations, &balance.mode[..]), (1, mode), "{:?}", balance.examples);
            assert!(said.contains("error: the balance check found 1 violation"), "{said}");
            assert!(said.contains("accounts: aid "), "{said}");
        }
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_bench_on_the_oldest_major() {
        a_whole_bench(OLDEST);
    }
}
