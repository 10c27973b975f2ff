//! `pgdyno pgbench --record`: the same output, and a run directory that the other commands read.

use std::{fs, process::Output};

use pgdyno_core::facts::DurabilityTier;
use pgdyno_record::{Run, Status, schemas};
use serde_json::Value;

use crate::common::{Place, text, word};

/// A script of one's own whose slowest statement is known, with a password that must not be kept.
const OWN: &str = "BEGIN;\nSELECT pg_sleep(0.2), 'the slow one';\nSELECT 1;\nEND;\n-- PASSWORD 's3cret'\n";
/// One whose transactions are not alike.
const BRANCHING: &str =
    "\\set r random(1, 2)\n\\if :r = 1\nSELECT 1;\n\\else\nSELECT 2;\nSELECT 3;\n\\endif\n";

struct Server {
    place: Place,
    facts: Value,
}

impl Server {
    fn new() -> Self {
        let place = Place::new();
        place.done(&["up", "--bundle"]);
        fs::write(place.path("own.sql"), OWN).expect("a file");
        fs::write(place.path("branching.sql"), BRANCHING).expect("a file");
        let facts = place.only();
        Self { place, facts }
    }

    fn run(&self, line: &str) -> Output {
        let words: Vec<_> = ["pgbench"].into_iter().chain(line.split_whitespace()).collect();
        let mut command = self.place.command(&words);
        command.env("PGHOST", word(&self.facts, "socket_dir")).env("PGPORT", self.facts["port"].to_string());
        command.env("PGUSER", "postgres").env("PGDATABASE", "postgres").env("PGPASSWORD", "s3cret");
        command.output().expect("it can be run")
    }

    /// Output of a command line that succeeds: stdout and stderr.
    fn says(&self, line: &str) -> (String, String) {
        let output = self.run(line);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(0), "pgbench {line}\n{out}{err}");
        (out, err)
    }

    /// The run that was recorded last, held to the schemas.
    fn last(&self) -> Run {
        let run = self.place.runs().pop().expect("there is a run");
        for (name, schema) in schemas() {
            let validator = jsonschema::validator_for(&schema).expect("a schema");
            let values: Vec<Value> = match name {
                "run.schema.json" => vec![run.json.clone()],
                "slowest-line.schema.json" => {
                    let lines = run.slowest().expect("it can be read").items;
                    lines.iter().map(|line| serde_json::to_value(line).expect("plain data")).collect()
                }
                _ => continue,
            };
            assert!(!values.is_empty(), "{name}");
            for value in values {
                let errors: Vec<_> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
                assert!(errors.is_empty(), "{name}: {errors:?}");
            }
        }
        run
    }
}

/// A text with a sign for every number, and one blank where numbers of any width were aligned.
fn without_numbers(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '0'..='9' | '.' if out.ends_with('#') => {}
            ' ' if out.ends_with(' ') => {}
            '0'..='9' => out.push('#'),
            c => out.push(c),
        }
    }
    out
}

/// Every file of a directory as bytes.
fn files(run: &Run) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(&run.path).expect("it is there").map(|entry| entry.expect("an entry").path());
    entries.map(|path| (path.display().to_string(), fs::read(&path).expect("it can be read"))).collect()
}

/// With `--record` stdout is what it is without, and stderr has a line more.
fn output_is_the_same(server: &Server) {
    let line = "-n -c 2 -t 6 -f own.sql --random-seed=7 -r";
    let (out, err) = server.says(line);
    assert!(server.place.runs().is_empty());
    let (recorded_out, recorded_err) = server.says(&format!("{line} --record"));
    assert_eq!(without_numbers(&recorded_out), without_numbers(&out));
    let (rest, record) = recorded_err.trim_end().rsplit_once('\n').unwrap_or(("", recorded_err.trim_end()));
    assert_eq!(rest.trim_end(), err.trim_end());
    let path = record.strip_prefix("record: ").expect("the directory is named at the end");
    assert_eq!(fs::canonicalize(path).ok(), fs::canonicalize(&server.last().path).ok());
}

fn one_script(server: &Server) {
    let run = server.last();
    let (record, pgbench) = (&run.record, run.record.pgbench.as_ref().expect("pgbench's part"));
    assert_eq!((record.status, record.plan.seed), (Status::Complete, 7));
    assert_eq!(pgbench.transactions_of_each_client, Some(6));
    assert_eq!((pgbench.scripts[0].name.as_str(), pgbench.scripts[0].committed), ("own.sql", 12));
    let cell = &record.cells[0];
    assert_eq!((cell.workload.script.as_str(), cell.workload.clients), ("own.sql", 2));
    // BEGIN and END are not counted.
    assert_eq!(cell.statements_per_transaction, Some(2));
    assert_eq!(cell.latency.as_ref().map(|latency| latency.count), Some(12));
    assert_eq!(record.runs[0].counts_whole.committed, 12);
    let slowest = &record.runs[0].slowest;
    assert_eq!(slowest.len(), 5);
    for slow in slowest {
        assert_eq!(slow.statement.as_deref(), Some("SELECT pg_sleep(0.2), 'the slow one'"));
        assert!(
            slow.statement_ns.is_some_and(|ns| (200_000_000..=slow.service_ns).contains(&ns)),
            "{slow:?}"
        );
        assert!(slow.backend_pid.is_some() && slow.at_s > 0.0 && slow.script == "own.sql");
        assert_eq!((slow.lag_ns, slow.latency_ns), (0, slow.end_ns - slow.scheduled_ns));
    }
    let in_stream: Vec<_> = run.slowest().expect("it can be read").items;
    assert!(slowest.iter().all(|slow| in_stream.iter().any(|line| line.attempts.contains(slow))));
    for (name, bytes) in files(&run) {
        assert!(!text(&bytes).contains("s3cret"), "{name} holds a password");
    }
    assert!(pgbench.scripts[0].text.ends_with("-- PASSWORD ***\n"));
}

/// Whether TPS and latency fit the number of clients is left open: on a busy machine the driver may come late to begin.
fn several_scripts(server: &Server) {
    let mix = "-f own.sql -b select-only@3 -f branching.sql@2";
    server.says(&format!("-n -c 2 -j 2 -T 2 -P 2 -M prepared --warmup=300ms {mix} --record"));
    let run = server.last();
    let cell = &run.record.cells[0];
    assert_eq!(cell.workload.script, "own.sql@1 + select-only@3 + branching.sql@2");
    assert_eq!((cell.statements_per_transaction, cell.qps.as_ref()), (None, None));
    let scripts = &run.record.pgbench.as_ref().expect("pgbench's part").scripts;
    assert!(scripts.iter().all(|script| script.committed > 0 && !script.statements.is_empty()));
    assert_eq!(scripts.iter().map(|script| script.weight).collect::<Vec<_>>(), [1, 3, 2]);
    assert!(scripts[2].text.starts_with("\\set r"));
    let seconds = run.timeline().expect("it can be read").items;
    assert!(seconds.iter().any(|line| line.warm_up));
    assert_eq!(seconds.iter().filter(|line| !line.warm_up).count(), 2, "a second each, whatever -P shows");
    let doubts: Vec<String> = run.record.doubts.iter().map(|doubt| format!("{:?}", doubt.kind)).collect();
    assert!(doubts.contains(&"TooFewBlocks".to_owned()), "{doubts:?}");
    for kind in ["ScreeningRun", "NotChecked", "Partial", "Misses"] {
        assert!(!doubts.contains(&kind.to_owned()), "{doubts:?}");
    }
}

fn branches_have_no_factor(server: &Server) {
    server.says("-n -t 5 -f branching.sql --record --think-time=1ms");
    let run = server.last();
    assert_eq!(run.record.cells[0].statements_per_transaction, None);
    let shown = server.place.done(&["show", &run.record.id, "--full"]);
    assert!(!shown.contains("QPS ="), "{shown}");
}

fn built_in(server: &Server) {
    server.says("-n -t 20 -c 2 --record --runs=elsewhere");
    let listed = server.place.done(&["--runs", "elsewhere", "list"]);
    assert!(listed.contains("-pgbench-"), "{listed}");
    let text = server.place.done(&["--runs", "elsewhere", "report", "last", "--format", "json"]);
    let record: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(record["cells"][0]["workload"]["script"], "tpcb-like");
    assert_eq!(record["cells"][0]["statements_per_transaction"], 5);
    assert_eq!(record["plan"]["scale"], 1);
}

fn the_others_read_it(server: &Server) {
    let shown = server.place.done(&["show", "last", "--full"]);
    for words in ["branching.sql", "THE SLOWEST TRANSACTION OF EACH CELL", "Too few blocks"] {
        assert!(shown.contains(words), "no {words:?} in\n{shown}");
    }
    let page = server.place.path("page.html");
    let page = page.to_str().expect("a plain path");
    server.place.done(&["report", "last", "--format", "html", "--out", page]);
    assert!(fs::read_to_string(page).expect("it was written").contains("branching.sql"));
    for format in ["md", "csv", "text"] {
        let _ = server.place.run(&["report", "last", "--format", format]);
    }
}

/// Whatever loaded the tables: where they are unlogged, no commit to them is durable.
#[test]
fn unlogged_tables_are_not_called_durable() {
    let server = Server::new();
    server.says("-i -q --unlogged-tables");
    server.says("--record -n -t 2");
    let tier = server.last().record.subjects[0].server.as_ref().map(|facts| facts.durability);
    assert_eq!(tier, Some(DurabilityTier::Unlogged));
    server.says("-i -q");
    server.says("--record -n -t 2");
    let tier = server.last().record.subjects[0].server.as_ref().map(|facts| facts.durability);
    assert_eq!(tier, Some(server.place.tier()));
}

/// Tests that `cargo test` leaves out and `.ci/run` runs.
mod long {
    use super::*;

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_run_of_pgbench_is_recorded() {
        let server = Server::new();
        server.says("-i -s 1 -q");
        output_is_the_same(&server);
        one_script(&server);
        several_scripts(&server);
        branches_have_no_factor(&server);
        built_in(&server);
        the_others_read_it(&server);
    }
}
