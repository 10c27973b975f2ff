//! pgdyno as pgbench: under that name, against real servers, oldest and newest major.

use std::{
    fs,
    os::unix::{fs::symlink, net::UnixListener, process::ExitStatusExt},
    path::PathBuf,
    process::{Command, Output, Stdio},
};

use pgdyno_analysis::DoubtKind;
use pgdyno_core::{facts::Instrument, measure::Counts};
use serde_json::Value;

use crate::common::{OLDEST, Place, admin, kill, text, wait_until, word};

/// A server, and pgdyno under the name pgbench next to it.
struct Bench {
    place: Place,
    server: Value,
    program: PathBuf,
}

impl Bench {
    fn new(pg: &str) -> Self {
        Self::with(pg, &[])
    }

    fn with(pg: &str, more: &[&str]) -> Self {
        let place = Place::new();
        place.done(&[&["up", "--pg", pg, "--bundle"], more].concat());
        let server = place.only();
        let program = place.path("pgbench");
        symlink(env!("CARGO_BIN_EXE_pgdyno"), &program).expect("a link can be made");
        Self { place, server, program }
    }

    fn run(&self, line: &str) -> Output {
        let mut command = Command::new(&self.program);
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("PG")) {
            command.env_remove(name);
        }
        command.args(line.split_whitespace()).current_dir(self.place.dir.path()).stdin(Stdio::null());
        command
            .env("PGHOST", word(&self.server, "socket_dir"))
            .env("PGPORT", self.server["port"].to_string());
        command.env("PGUSER", "postgres").env("PGDATABASE", "postgres");
        command.env("PGDYNO_STATE", self.place.path("state")).env("PGDYNO_RUNS", self.place.path("runs"));
        command.output().expect("it can be run")
    }

    /// Output of a command line that ends with this status: stdout and stderr.
    fn says(&self, line: &str, status: i32) -> (String, String) {
        let output = self.run(line);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(status), "pgbench {line}\n{out}{err}");
        (out, err)
    }

    fn value(&self, sql: &str) -> String {
        admin(&self.server).value(sql).expect(sql).unwrap_or_default()
    }

    /// The figure behind a label of a summary.
    fn figure<'a>(out: &'a str, label: &str) -> &'a str {
        let line = out.lines().find_map(|line| line.trim_start_matches(" - ").strip_prefix(label));
        line.unwrap_or_else(|| panic!("no {label:?} in\n{out}")).trim_start_matches([':', ' ', '='])
    }
}

fn initialization(pg: &str) {
    let bench = Bench::new(pg);
    let (_, err) = bench.says("-S", 1);
    assert!(err.contains(
        "could not count number of branches: ERROR:  relation \"pgbench_branches\" does not exist"
    ));
    assert!(
        err.contains(
            "hint: Perhaps you need to do initialization (\"pgbench -i\") in database \"postgres\"."
        )
    );

    assert!(err.contains("does not exist\nLINE 1: "), "{err}");

    let (out, err) = bench.says("-i", 0);
    assert_eq!(out, "");
    let lines: Vec<_> = err.lines().collect();
    assert_eq!(lines[0], "dropping old tables...");
    for (line, table) in lines[1..5].iter().zip(["accounts", "branches", "history", "tellers"]) {
        assert_eq!(*line, format!("NOTICE:  table \"pgbench_{table}\" does not exist, skipping"));
    }
    assert_eq!(lines[5..7], ["creating tables...", "generating data (client-side)..."]);
    assert!(lines[7].starts_with("100000 of 100000 tuples (100%) of pgbench_accounts done (elapsed "));
    assert_eq!(lines[8..10], ["vacuuming...", "creating primary keys..."]);
    assert!(
        lines[10].starts_with("done in ")
            && lines[10].contains(" s (drop tables ")
            && lines[10].ends_with(" s).")
    );

    // What the server generates is what the client sends.
    let digest = "SELECT md5(string_agg(t, '')) FROM (SELECT a::text AS t FROM pgbench_accounts a ORDER BY aid \
                  LIMIT 20000) x";
    let whole = "SELECT count(*) || ' ' || sum(bid) || ' ' || max(aid) || ' ' || min(length(filler)) \
                 FROM pgbench_accounts";
    let client = (bench.value(digest), bench.value(whole));
    bench.says("-i -I dtpG -q --unlogged-tables -F 80 --foreign-keys", 0);
    assert_eq!((bench.value(digest), bench.value(whole)), client);
    assert_eq!(
        bench.value("SELECT count(*) FROM pg_constraint WHERE contype = 'f' AND conname LIKE 'pgbench%'"),
        "5"
    );
    let options = "SELECT relpersistence::text || array_to_string(reloptions, ',') \
                   FROM pg_class WHERE relname = 'pgbench_tellers'";
    assert_eq!(bench.value(options), "ufillfactor=80");

    let (_, err) = bench.says("-i -I t", 1);
    assert!(
        err.contains("error: query failed: ERROR:  relation \"pgbench_history\" already exists"),
        "{err}"
    );
    assert!(err.contains("detail: Query was: CREATE TABLE pgbench_history"), "{err}");
    if !pg.starts_with("9.") {
        let (_, err) = bench.says("-i --partitions 3", 0);
        assert!(err.contains("creating 3 partitions..."), "{err}");
        let (out, _) = bench.says("-t 2", 0);
        assert_eq!(Bench::figure(&out, "partition method"), "range");
        assert_eq!(Bench::figure(&out, "partitions"), "3");
    }
}

fn runs(pg: &str) {
    let bench = Bench::new(pg);
    bench.says("-i -s 2 -q", 0);
    let (out, err) = bench.says("-t 20 -c 3 -j 2 -M prepared -s 9 -r -l --log-prefix=log", 0);
    assert!(out.starts_with("pgbench (18.6 (pgdyno "), "{out}");
    assert!(
        err.contains("warning: scale option ignored, using count from pgbench_branches table (2)"),
        "{err}"
    );
    assert!(err.contains("starting vacuum...end.\n"), "{err}");
    assert_eq!(Bench::figure(&out, "number of transactions actually processed"), "60/60");
    assert_eq!(Bench::figure(&out, "number of failed transactions"), "0 (0.000%)");
    assert_eq!(bench.value("SELECT count(*) FROM pgbench_history"), "60");
    let table: Vec<_> = out.lines().skip_while(|line| !line.starts_with("statement latencies")).collect();
    assert_eq!(table.len(), 12, "{out}");
    assert!(
        table[11].ends_with(" 0 END;") && table[1].ends_with("\\set aid random(1, 100000 * :scale)"),
        "{out}"
    );

    let mut logs: Vec<_> = fs::read_dir(bench.place.dir.path())
        .expect("it is there")
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("log."))
        .map(|entry| fs::read_to_string(entry.path()).expect("it is text"))
        .collect();
    logs.sort_by_key(|log| std::cmp::Reverse(log.len()));
    assert_eq!(logs.iter().map(|log| log.lines().count()).collect::<Vec<_>>(), [40, 20]);
    for log in logs {
        for line in log.lines() {
            let fields: Vec<u64> = line.split(' ').map(|field| field.parse().expect(line)).collect();
            let [client, number, latency_us, script, epoch_s, us] = fields[..] else { panic!("{line}") };
            assert!(client < 3 && (1..=20).contains(&number) && script == 0 && us < 1_000_000, "{line}");
            assert!(latency_us > 0 && epoch_s > 1_700_000_000, "{line}");
        }
    }

    let (out, err) =
        bench.says("-S -T 2 -P 1 --json r.json --hdr r.hlog --percentiles 50,99.99 --warmup 200ms", 0);
    assert_eq!(err.matches("progress: ").count(), 2, "{err}");
    assert!(err.contains("progress: 1.0 s, ") && err.contains("progress: 2.0 s, "), "{err}");
    let processed: u64 =
        Bench::figure(&out, "number of transactions actually processed").parse().expect("a number");
    let json: Value =
        serde_json::from_str(&fs::read_to_string(bench.place.path("r.json")).expect("it was written"))
            .expect("it is JSON");
    assert_eq!(json["transactions"]["processed"], processed);
    // A transaction that began in the warm-up is processed, and is no latency of the interval.
    let latencies = json["latency"]["count"].as_u64().expect("a number");
    assert!((processed - 1..=processed).contains(&latencies), "{latencies} of {processed}");
    assert!(Bench::figure(&out, "latency percentile 50").ends_with(" ms"), "{out}");
    let hdr = fs::read_to_string(bench.place.path("r.hlog")).expect("it was written");
    assert!(hdr.contains("Tag=measured") && hdr.contains("Tag=warm-up"), "{hdr}");
    let (_, err) = bench.says("-S -t 1 --json r.json", 1);
    assert!(err.contains("could not create file \"r.json\": File exists"), "{err}");
    // A failed try does not prevent the next one, nor does what a killed run left.
    fs::write(bench.place.path("next.json"), "").expect("it can be made");
    bench.says("-S -t 1 --json next.json --hdr next.hlog -p 1", 1);
    assert!(!bench.place.path("next.json").exists() && !bench.place.path("next.hlog").exists());
    fs::write(bench.place.path("next.json"), "").expect("it can be made");
    bench.says("-S -t 1 --json next.json --hdr next.hlog", 0);
    assert!(fs::read_to_string(bench.place.path("next.json")).expect("it was written").starts_with('{'));
    rows_and_percentiles_of_each_script(&bench);
    mistakes_show_their_place(&bench);
    sessions_that_the_server_ends_are_reported(&bench);
    connections_that_cannot_be_made_are_reported(&bench);
}

/// Rows are those of the command tags; pgbench's own lines stay as they are.
fn rows_and_percentiles_of_each_script(bench: &Bench) {
    let many =
        "BEGIN;\nSELECT generate_series(1, 40);\nCREATE TEMP TABLE t ON COMMIT DROP AS SELECT 1;\nEND;\n";
    fs::write(bench.place.path("many.sql"), many).expect("it can be written");
    let (out, _) = bench.says("-n -t 600 -f many.sql -b select-only --percentiles 50 --json rows.json", 0);
    let json = bench.json("rows.json");
    let number = |value: &Value| value.as_f64().expect("a number");
    let [many, one] = [0, 1].map(|script: usize| json["scripts"][script].clone());
    let rows = [&many, &one].map(|script| number(&script["transactions"]["rows"]));
    let processed = [&many, &one].map(|script| number(&script["transactions"]["processed"]));
    assert_eq!(rows, [41.0 * processed[0], processed[1]], "{json}");
    let per_s = |count: f64| count * 1e9 / number(&json["elapsed_ns"]);
    assert_eq!(number(&json["rows_per_s"]), per_s(rows[0] + rows[1]));
    assert_eq!(number(&json["qps"]), per_s(2.0 * processed[0] + processed[1]));
    assert!(
        out.contains("\nmany.sql: latency percentile 50 = ")
            && out.contains("\n<builtin: select only>: latency percentile 50 = "),
        "{out}"
    );
    assert!(
        many["latency"]["percentiles_ns"]["50"].as_u64() > one["latency"]["percentiles_ns"]["50"].as_u64(),
        "{json}"
    );
}

/// As libpq shows it: with the statement and a caret wherever the client knows the statement.
fn mistakes_show_their_place(bench: &Bench) {
    let script = |name: &str, text: &str| fs::write(bench.place.path(name), text).expect("it can be written");
    script("bad.sql", "SELECT 1,\n\t'ä', nosuch;\n");
    script("piped.sql", "\\startpipeline\nSELECT 1;\nSELECT nosuch;\n\\endpipeline\n");
    script("inner.sql", "DO $$ BEGIN EXECUTE 'SELECT 1,\n nosuch'; END $$;\n");
    let place = "ERROR:  column \"nosuch\" does not exist\nLINE 2:  'ä', nosuch;\n              ^\n";
    let piped = "ERROR:  column \"nosuch\" does not exist\nLINE 1: SELECT nosuch;\n               ^\n";
    let inner = "ERROR:  column \"nosuch\" does not exist\nLINE 2:  nosuch\n         ^\n\
                 QUERY:  SELECT 1,\n nosuch\nCONTEXT:";
    for (script, protocols, words) in [
        ("bad.sql", &["simple", "extended", "prepared"][..], place),
        ("piped.sql", &["extended", "prepared"], piped),
        ("inner.sql", &["simple", "extended", "prepared"], inner),
    ] {
        for protocol in protocols {
            let (_, err) = bench.says(&format!("-n -t 1 -M {protocol} -f {script}"), 2);
            assert!(err.contains(words), "{protocol}: {err}");
        }
    }
}

#[test]
fn initialization_at_the_oldest_major() {
    initialization(OLDEST);
}

#[test]
fn initialization_at_the_newest_major() {
    initialization("18");
}

/// With a connection for every transaction, connection errors are printed as by pgbench 18.
fn connections_that_cannot_be_made_are_reported(bench: &Bench) {
    bench.value("CREATE DATABASE closing");
    let closing = "UPDATE pg_database SET datallowconn = false WHERE datname = 'closing';\n";
    fs::write(bench.place.path("closing.sql"), closing).expect("it can be written");
    let (_, err) = bench.says("-n -C -t 2 -f closing.sql closing", 2);
    let lines: Vec<_> = err.lines().collect();
    let (dir, port) = (word(&bench.server, "socket_dir"), &bench.server["port"]);
    let refused = "FATAL:  database \"closing\" is not currently accepting connections";
    let expected = [
        format!("pgbench: error: connection to server on socket \"{dir}/.s.PGSQL.{port}\" failed: {refused}"),
        "pgbench: error: client 0 aborted while establishing connection".to_owned(),
        "pgbench: error: Run was aborted; the above results are incomplete.".to_owned(),
    ];
    assert_eq!(lines, expected);
}

/// The server's word alone, as pgbench 18 prints it, whatever the protocol.
fn sessions_that_the_server_ends_are_reported(bench: &Bench) {
    fs::write(bench.place.path("end.sql"), "SELECT pg_terminate_backend(pg_backend_pid());\n")
        .expect("it can be written");
    for protocol in ["simple", "extended", "prepared"] {
        let (_, err) = bench.says(&format!("-n -t 1 -M {protocol} -f end.sql"), 2);
        let why = "FATAL:  terminating connection due to administrator command";
        let expected = format!(
            "pgbench: error: client 0 script 0 aborted in command 0 query 0: {why}\n\
             pgbench: error: Run was aborted; the above results are incomplete.\n"
        );
        assert_eq!(err, expected, "{protocol}");
    }
}

#[test]
fn runs_at_the_newest_major() {
    runs("18");
}

impl Bench {
    fn json(&self, name: &str) -> Value {
        let text = fs::read_to_string(self.place.path(name)).expect("it was written");
        serde_json::from_str(&text).expect("it is JSON")
    }
}

fn steps(bench: &Bench) {
    let (out, err) = bench.says("-S -c 4 -j 2 --steps rate:400@1s,1200@1s -P 1 --json rate.json", 0);
    assert_eq!(Bench::figure(&out, "duration"), "2 s");
    assert!(
        out.contains("rate limit schedule lag: avg ") && err.matches("progress: ").count() == 2,
        "{out}{err}"
    );
    let table: Vec<Vec<&str>> = out
        .lines()
        .skip_while(|line| !line.starts_with("steps: "))
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(table.len(), 4, "{out}");
    assert_eq!((&table[2][..4], &table[3][..4]), (&["1", "0", "1", "400"][..], &["2", "1", "2", "1200"][..]));
    let json = bench.json("rate.json");
    assert_eq!(json["rate_per_s"], Value::Null);
    let steps = json["steps"].as_array().expect("a list");
    let counts = |step: &Value| -> Counts { serde_json::from_value(step["due"].clone()).expect("counts") };
    for (step, rate) in steps.iter().zip([400.0, 1200.0_f64]) {
        let due = counts(step);
        assert_eq!((due.check(), step["rate_per_s"].as_f64()), (Ok(()), Some(rate)));
        assert!((due.scheduled as f64 - rate).abs() < 5.0 * rate.sqrt(), "{step}");
        assert_eq!(step["latency"]["count"], due.committed);
    }

    let (out, _) = bench.says("-S --steps clients:1@1s,3@1s --json clients.json", 0);
    assert_eq!((Bench::figure(&out, "number of clients"), Bench::figure(&out, "duration")), ("3", "2 s"));
    // Not time times clients over transactions: there were not 3 clients all the time.
    assert!(out.contains("latency stddev = "), "{out}");
    let json = bench.json("clients.json");
    let steps = json["steps"].as_array().expect("a list");
    assert_eq!((&steps[0]["clients"], &steps[1]["clients"], steps.len()), (&1.into(), &3.into(), 2));
    let committed: u64 = steps.iter().map(|step| counts(step).committed).sum();
    assert_eq!(json["transactions"]["processed"], committed);
}

/// The answer of a search is that of its confirming probes.
fn find_rate(bench: &Bench) {
    let (out, _) = bench.says("-S -c 2 -T 1 --warmup 10ms --find-rate p50<30ms --json found.json", 0);
    assert!(out.contains("searching for the highest rate that keeps p50<30ms"), "{out}");
    // Before it begins: how long a probe is, and the most that all may take.
    let announced = "a probe takes 1.01 s with 10.0 ms of warm-up, a confirming one 3.01 s";
    assert!(out.contains(announced) && out.contains("the search takes at most 2 h 00 min"), "{out}");
    let json = bench.json("found.json");
    let probes = json["probes"].as_array().expect("a list");
    let lines = out.lines().skip_while(|line| !line.starts_with("probe ")).skip(1);
    let shown = lines.take_while(|line| line.starts_with(' ')).count();
    assert_eq!(shown, probes.len(), "{out}");
    let answer = &json["answer"];
    assert_eq!(answer["found"], true, "{out}");
    for (end, verdict) in [("kept_rate_per_s", "kept"), ("broken_rate_per_s", "broken")] {
        let confirmed = |probe: &&Value| probe["confirming"] == true && probe["rate_per_s"] == answer[end];
        let as_answered =
            |probe: &&Value| probe["verdict"].as_str().is_some_and(|said| said.starts_with(verdict));
        let probe = probes.iter().filter(confirmed).find(as_answered).expect(end);
        // Three times as long as others, which may be longer themselves; twice that if it was undecided.
        assert!(probe["duration_ns"].as_u64().is_some_and(|length_ns| length_ns >= 3_000_000_000), "{probe}");
    }
    assert!(out.contains("p50<30ms: kept at ") && out.contains("\nlong probes that kept it: "), "{out}");
    let interval = ["low_per_s", "middle_per_s", "high_per_s"].map(|end| answer["interval"][end].as_f64());
    assert!(interval.iter().all(Option::is_some) && interval.is_sorted(), "{answer}");
    assert!(out.contains("95 % interval of the highest rate that keeps it: "), "{out}");
    // A statement is a round trip, and there is one thread.
    for probe in probes {
        let [round_trips, tps, share] =
            ["round_trips_per_s", "tps", "share_of_ceiling"].map(|key| probe[key].as_f64());
        let (round_trips, share) = (round_trips.expect("a number"), share.expect("it is known"));
        assert!((round_trips / tps.expect("a number") - 1.0).abs() < 0.5, "{probe}");
        assert!((share / round_trips * 10.0 - 1.0).abs() < 1e-6, "{probe}");
    }
    assert!(out.contains("\nNear the driver's ceiling ("), "{out}");
    let doubts = json["doubts"].as_array().expect("a list");
    assert_eq!((doubts.len(), word(&doubts[0], "kind")), (1, "near-ceiling"));
    let kept = format!("{:.0} TPS", answer["kept_rate_per_s"].as_f64().expect("a number"));
    assert!(doubts[0]["cells"].as_array().is_some_and(|cells| cells.contains(&kept.into())), "{doubts:?}");

    // A recorded run is compared with it, too.
    bench.says("-S -c 2 -T 1 --record", 0);
    let run = bench.place.runs().pop().expect("there is a run");
    assert!(
        run.record.doubts.iter().any(|doubt| doubt.kind == DoubtKind::NearCeiling),
        "{:?}",
        run.record.doubts
    );

    fs::write(bench.place.path("wrong.sql"), "SELECT 1/0;\n").expect("it can be written");
    let (_, err) = bench.says("-n -f wrong.sql --find-rate p50<30ms -T 1", 1);
    assert!(err.contains("no transaction committed in a closed loop"), "{err}");
}

/// A ceiling that every run is near to: what `selftest` found, with a fault in it.
fn lower_the_ceiling(bench: &Bench) {
    bench.place.done(&["selftest"]);
    let kept = bench.place.path("state/selftest.json");
    let mut found: Instrument =
        serde_json::from_slice(&fs::read(&kept).expect("it is kept")).expect("it is JSON");
    found.ceilings.iter_mut().for_each(|ceiling| ceiling.round_trips_per_cpu_s = 10.0);
    fs::write(&kept, serde_json::to_string(&found).expect("it is JSON")).expect("it can be written");
}

/// Without a server: the same under both names, and statuses as pgbench's.
#[test]
fn both_names_are_the_same_program() {
    let place = Place::new();
    let link = place.path("pgbench");
    symlink(env!("CARGO_BIN_EXE_pgdyno"), &link).expect("a link can be made");
    for (line, status) in [("-V", 0), ("-b list", 0), ("--show-script=se", 0), ("-c x", 1), ("-i -S", 1)] {
        let words: Vec<_> = line.split(' ').collect();
        let linked = Command::new(&link).args(&words).output().expect("it can be run");
        let called = place.run(&[&["pgbench"], &words[..]].concat());
        assert_eq!((linked.status.code(), called.status.code()), (Some(status), Some(status)), "{line}");
        assert_eq!((linked.stdout, linked.stderr), (called.stdout, called.stderr), "{line}");
    }
    let help = place.done(&["pgbench", "--help"]);
    assert!(help.starts_with("pgdyno pgbench is a benchmarking tool for PostgreSQL."), "{help}");
    let output = place.run(&["pgbench", "-h", "/nowhere", "-p", "1", "base"]);
    assert_eq!((output.status.code(), output.stdout), (Some(1), Vec::new()));
    let said = text(&output.stderr);
    assert!(
        said.starts_with(
            "pgbench: error: connection to server on socket \"/nowhere/.s.PGSQL.1\" failed: No such file or directory\n"
        ) && said.ends_with("pgbench: error: could not create connection for setup\n"),
        "{said}"
    );
}

/// As pgbench: TERM and HUP end the program, and the shell sees by which signal; what is ignored at the start (HUP
/// after `nohup`, INT in the background of a script) stays so.
#[test]
fn signals_end_the_program_as_they_end_pgbench() {
    let place = Place::new();
    // A server that takes the connection and says nothing: then the program waits, ready for signals.
    let listener = UnixListener::bind(place.path(".s.PGSQL.5432")).expect("it can listen");
    listener.set_nonblocking(true).expect("it can be asked");
    let dir = place.dir.path().display();
    for (ignored, sent, ended) in [
        ("", &["-TERM"][..], 15),
        // Under `nohup` the test itself ignores HUP, and so does what it starts.
        ("", &["-HUP", "-TERM"], if pgdyno_host::procs::ignores_signal(1) { 15 } else { 1 }),
        ("trap '' HUP; ", &["-HUP", "-TERM"], 15),
        ("trap '' INT; ", &["-INT", "-INT", "-TERM"], 15),
    ] {
        let line = format!("{ignored}exec \"$0\" pgbench -h {dir} -p 5432 -U me -n -t 1 base");
        let mut command = Command::new("sh");
        command.args(["-c", &line, env!("CARGO_BIN_EXE_pgdyno")]).current_dir(place.dir.path());
        command.env("PGCONNECT_TIMEOUT", "0").stdin(Stdio::null()).stderr(Stdio::piped());
        let child = command.spawn().expect("sh can be run");
        let mut taken = None;
        wait_until("it connects", || {
            taken = listener.accept().ok();
            taken.is_some()
        });
        sent.iter().for_each(|signal| kill(u64::from(child.id()), signal));
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.signal(), Some(ended), "{ignored} {sent:?} {:?}", output.status);
        assert_eq!(text(&output.stderr), "", "{ignored} {sent:?}");
        drop(taken);
    }
}

/// A limit of the process is reported before connecting, with its name and value.
#[test]
fn limits_are_named_before_anything_is_done() {
    let place = Place::new();
    let limited = "ulimit -n 64 && exec \"$0\" pgbench -h /nowhere -n -t 1 -c 100";
    let output = Command::new("sh").args(["-c", limited, env!("CARGO_BIN_EXE_pgdyno")]).output();
    let output = output.expect("sh can be run");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("error: need at least 103 open files, but system limit is 64\n"), "{said}");
    assert!(!said.contains("/nowhere"), "{said}");
    // Files that are there are neither replaced nor followed.
    fs::write(place.path("mine"), "mine").expect("it can be written");
    symlink(place.path("elsewhere"), place.path("link")).expect("a link can be made");
    for flag in ["--json", "--hdr"] {
        for file in ["mine", "link", "no/such/dir"] {
            let output = place.run(&["pgbench", "-h", "/nowhere", "-t", "1", flag, file]);
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{said}");
            assert!(said.contains(&format!("could not create file \"{file}\"")), "{said}");
        }
    }
    assert_eq!(fs::read_to_string(place.path("mine")).expect("it is kept"), "mine");
    assert!(!place.path("elsewhere").exists());
}

/// What pgbench 18 sends to a server for `-i -s 1 --tablespace=fast --index-tablespace=quick`, without rows.
const TABLES: &str = "create table pgbench_history(tid int,bid int,aid int,delta int,mtime timestamp,filler char(22)) \
    tablespace fast; \
    create table pgbench_tellers(tid int not null,bid int,tbalance int,filler char(84)) with (fillfactor=100) \
    tablespace fast; \
    create table pgbench_accounts(aid int not null,bid int,abalance int,filler char(84)) ACCOUNTS tablespace fast; \
    create table pgbench_branches(bid int not null,bbalance int,filler char(88)) with (fillfactor=100) \
    tablespace fast; \
    PARTITIONS \
    alter table pgbench_branches add primary key (bid) using index tablespace quick; \
    alter table pgbench_tellers add primary key (tid) using index tablespace quick; \
    alter table pgbench_accounts add primary key (aid) using index tablespace quick";
const PARTITIONS: &str = "create table pgbench_accounts_1 partition of pgbench_accounts \
    for values from (minvalue) to (50001) with (fillfactor=100); \
    create table pgbench_accounts_2 partition of pgbench_accounts \
    for values from (50001) to (maxvalue) with (fillfactor=100);";

/// Everything is in the tablespace that pgbench would put it in, also where an old server does otherwise than is said.
fn tablespaces_are_those_of_pgbench(pg: &str, partitions: bool) {
    let dirs = tempfile::tempdir().expect("a temporary directory");
    let spaces = ["fast", "quick"].map(|name| format!("{name}={}", dirs.path().join(name).display()));
    fs::set_permissions(dirs.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777))
        .expect("it is ours");
    let bench = Bench::with(pg, &["--tablespace", &spaces[0], "--tablespace", &spaces[1]]);
    let mut session = admin(&bench.server);
    let mut places = |schema: &str| {
        let sql = format!(
            "SELECT c.relname || ' ' || coalesce(s.spcname, 'that of the database') FROM pg_class c \
             LEFT JOIN pg_tablespace s ON s.oid = c.reltablespace WHERE c.relnamespace = '{schema}'::regnamespace"
        );
        let rows = session.query(&(sql + " ORDER BY 1")).expect("it is there");
        rows.iter().map(|row| row.get(0).expect("a text").to_owned()).collect::<Vec<_>>()
    };
    let (accounts, parts, flag) = match partitions {
        true => ("partition by range (aid)", PARTITIONS, "--partitions=2"),
        false => ("with (fillfactor=100)", "", ""),
    };
    let sql = TABLES.replace("ACCOUNTS", accounts).replace("PARTITIONS", parts);
    admin(&bench.server).execute(&format!("CREATE SCHEMA hand; SET search_path = hand; {sql}")).expect(&sql);
    bench.says(&format!("-i -q -s 1 --tablespace=fast --index-tablespace=quick {flag}"), 0);
    let ours = places("public");
    assert_eq!(ours, places("hand"), "{pg}");
    assert!(ours.contains(&"pgbench_tellers fast".to_owned()), "{ours:?}");
    assert!(ours.contains(&"pgbench_tellers_pkey quick".to_owned()), "{ours:?}");
}

#[test]
fn tablespaces_of_other_servers_are_those_of_pgbench() {
    tablespaces_are_those_of_pgbench("18", true);
}

#[test]
#[ignore = "takes long: `cargo xtask test-all` runs it"]
fn tablespaces_of_servers_between_are_those_of_pgbench() {
    for pg in ["10", "11"] {
        tablespaces_are_those_of_pgbench(pg, false);
    }
    for pg in ["12", "15", "17"] {
        tablespaces_are_those_of_pgbench(pg, true);
    }
}

/// Tests that `cargo test` leaves out and `.ci/run` runs.
mod long {
    use super::*;

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_rate_that_keeps_a_limit_is_found() {
        let bench = Bench::new("18");
        bench.says("-i -q", 0);
        lower_the_ceiling(&bench);
        find_rate(&bench);
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn load_in_steps() {
        let bench = Bench::new("18");
        bench.says("-i -q", 0);
        steps(&bench);
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn runs_at_the_oldest_major() {
        runs(OLDEST);
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn tablespaces_of_old_servers_are_those_of_pgbench() {
        tablespaces_are_those_of_pgbench(OLDEST, false);
        tablespaces_are_those_of_pgbench("11", true);
    }
}
