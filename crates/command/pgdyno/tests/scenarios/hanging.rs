//! What does not come back: server processes that are stopped, transactions that take too long, cells of nothing.

use std::{fs, process::Stdio, time::Duration};

use pgdyno_record::Status;
use pgdyno_wire::Session;
use serde_json::Value;

use crate::common::{Place, admin, holds_together, kill, text, wait_until};

/// Ends what was stopped, however the test ends.
struct Stopped(u64);

impl Drop for Stopped {
    fn drop(&mut self) {
        // It may have been ended by then.
        let pid = self.0.to_string();
        for signal in ["-CONT", "-TERM"] {
            let _ = std::process::Command::new("kill").args([signal, &pid]).stderr(Stdio::null()).status();
        }
    }
}

/// Stops the server process of a client that holds a row which others wait for, in the middle of its transaction.
fn stop_a_holder(server: &Value) -> (Stopped, Session) {
    let mut session = admin(server);
    let holders = "SELECT h.pid FROM pg_stat_activity h WHERE h.state = 'idle in transaction' AND h.pid IN \
                   (SELECT unnest(pg_blocking_pids(w.pid)) FROM pg_stat_activity w WHERE w.wait_event_type = 'Lock')";
    let mut stopped = None;
    wait_until("a client holds what others wait for", || {
        let Some(pid) = session.value(holders).ok().flatten() else { return false };
        let holder = Stopped(pid.parse().expect("a number"));
        kill(holder.0, "-STOP");
        // It may have continued in between, and may now keep everybody from answering, as in the middle of a commit:
        // then it is resumed, and another one is searched.
        std::thread::sleep(Duration::from_millis(50));
        session.within(Some(Duration::from_secs(5)));
        let still = session.value(&format!("SELECT 1 FROM ({holders}) AS h WHERE pid = {pid}"));
        session.within(None);
        if !matches!(still, Ok(Some(_))) {
            kill(holder.0, "-CONT");
            std::mem::forget(holder);
            if still.is_err() {
                session = admin(server);
            }
            return false;
        }
        stopped = Some(holder);
        true
    });
    (stopped.expect("there is one"), session)
}

/// A plan of tpcb-like alone, whose clients wait for each other's rows.
fn tpcb(place: &Place, measure: &str) {
    let plan = format!(
        "name = \"tpcb\"\n[data]\nscale = 1\n[[workload]]\nscript = \"tpcb-like\"\n[measure]\nclients = [4]\n\
         warmup = \"50ms\"\n{measure}\n"
    );
    fs::write(place.path("plan.toml"), plan).expect("it can be written");
}

/// A cell that measured nothing ends its run.
fn measures_nothing(sql: &str, words: [&str; 2]) {
    let place = Place::new();
    let plan = format!(
        "name = \"nothing\"\n[data]\nscale = \"none\"\n[[workload]]\nname = \"x\"\ntext = \"{sql}\"\n\
         [measure]\nclients = [1]\nduration = \"300ms\"\nwarmup = \"50ms\"\nblocks = 1\n"
    );
    fs::write(place.path("plan.toml"), plan).expect("it can be written");
    let output = place.run(&["run", "plan.toml", "--pg", "18", "--bundle"]);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(3), "{sql}: {out}{err}");
    assert!(words.iter().all(|words| err.contains(words)), "{sql}: {err}");
    let run = place.only_run();
    assert_eq!(run.record.status, Status::Stopped, "{sql}");
    assert!(run.record.error.is_some() && run.record.runs.len() == 1, "{sql}");
    place.nothing_is_left();
}

#[test]
fn a_cell_whose_transactions_all_fail_is_not_complete() {
    measures_nothing("SELECT 1/0;", ["every transaction of x/1 failed: division by zero", "22012"]);
}

/// A run in which a statement is not answered from the middle of the interval on ends with this status and these words.
fn is_silent(statement: &str, code: i32, words: &str) {
    let place = Place::new();
    let plan = format!(
        "name = \"silence\"\n[data]\nscale = \"none\"\n[[workload]]\nname = \"x\"\ntext = \"\"\"\n\
         \\\\set later random(1, 20)\n\
         SELECT pg_sleep(0.02);\n\\\\if :later = 1\n{statement};\n\\\\endif\n\"\"\"\n[measure]\nclients = [2]\n\
         duration = \"6s\"\nwarmup = \"50ms\"\nblocks = 1\n"
    );
    fs::write(place.path("plan.toml"), plan).expect("it can be written");
    let output = place.run(&["run", "plan.toml", "--pg", "18", "--bundle", "--seed", "7"]);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{out}{err}");
    assert!(err.contains(words), "{err}");
    let run = place.only_run();
    assert_eq!((run.record.runs.len(), run.record.status == Status::Complete), (1, code == 0));
    place.nothing_is_left();
}

/// A temporary server does not get the CPUs of the driver, and that is announced before it is created.
#[test]
fn the_processors_of_a_server_are_announced() {
    let host = pgdyno_host::facts::host().expect("we are on one");
    let allowed = host.allowed_cpus();
    let [first, second, ..] = allowed[..] else {
        return println!("left out: there is one CPU");
    };
    let (server, driver) = (first.to_string(), second.to_string());
    let place = Place::new();
    tpcb(&place, &format!("driver_cpus = \"{driver}\"\n[server]\ncpus = \"{server}\""));
    let output = place.run(&["run", "plan.toml", "--dry-run"]);
    let said = format!("server on CPU {server} of {}, driver on CPU {driver}", allowed.len());
    assert!(text(&output.stderr).contains(&said), "{}", text(&output.stderr));
}

/// Tests that `cargo test` leaves out and `.ci/run` runs.
mod long {
    use super::*;

    /// On a server that is somebody else's, its tables cannot be dropped: who holds them is named, the wait has a
    /// limit, and one Ctrl-C ends it.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_server_process_that_is_stopped_does_not_keep_the_end_waiting() {
        let place = Place::new();
        place.done(&["up", "--pg", "18", "--bundle"]);
        let server = place.only();
        let (dir, port) = (server["socket_dir"].as_str().expect("it has one"), &server["port"]);
        let dsn = format!("host={dir} port={port} user=postgres dbname=postgres");
        tpcb(&place, "duration = \"15s\"\nblocks = 1");
        let args = ["run", "plan.toml", "--dsn", &dsn];
        let said = place.path("stderr");
        let file = fs::File::create(&said).expect("it can be made");
        let mut child = place.command(&args).stdout(Stdio::null()).stderr(file).spawn().expect("it runs");
        let (stopped, mut session) = stop_a_holder(&server);
        let heard = || fs::read_to_string(&said).expect("it is there");
        let waits =
            format!("waiting up to 30 s for server process {} (pgdyno, idle in transaction)", stopped.0);
        wait_until("who holds the tables is named", || heard().contains(&waits));
        kill(child.id().into(), "-INT");
        let status = child.wait().expect("one Ctrl-C is enough");
        let err = heard();
        assert_eq!(status.code(), Some(3), "{err}");
        assert!(err.contains("schema pgdyno was left in database"), "{err}");
        assert!(err.contains("DROP SCHEMA pgdyno CASCADE") && err.contains(&stopped.0.to_string()), "{err}");
        assert_eq!(place.only_run().record.status, Status::Stopped);
        drop(stopped);
        wait_until("it can be removed by hand", || {
            session.execute("DROP SCHEMA IF EXISTS pgdyno CASCADE").is_ok()
        });
    }

    /// A run in which nothing was answered, or nothing any more, ends the measurement, and what is said names it. Rows
    /// that the stopped process does not hold let the next clients execute some transactions before they wait as well.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_server_process_that_is_stopped_ends_the_run() {
        let place = Place::new();
        tpcb(&place, "duration = \"2s\"\nblocks = 200");
        let args = ["run", "plan.toml", "--pg", "18", "--bundle"];
        let child =
            place.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
        wait_until("it has begun to measure", || {
            place.runs().first().is_some_and(|run| !run.record.runs.is_empty())
        });
        let (_stopped, session) = stop_a_holder(&place.only());
        let output = child.wait_with_output().expect("it ends by itself");
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(3), "{out}{err}");
        let words = ["answered nothing", "stopped answering"];
        let expected = words.map(|words| format!("the server {words} in tpcb-like with 4 clients"));
        assert!(expected.iter().any(|words| err.contains(words)), "{err}");
        assert!(out.starts_with("stopped after "), "{out}");
        let run = place.only_run();
        assert_eq!(run.record.status, Status::Stopped);
        let error = run.record.error.as_ref().expect("it is kept");
        assert!(words.iter().any(|words| error.contains(words)), "{error}");
        holds_together(&run);
        drop(session);
        place.nothing_is_left();
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn silence_of_all_clients_ends_the_measurement() {
        let words = "the server stopped answering in x with 2 clients: not one answer in the last 1";
        is_silent("SELECT pg_sleep(60)", 3, words);
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn one_client_that_gets_no_answer_is_reported_and_the_measurement_continues() {
        let words = "1 transaction of x with 2 clients got no answer within 10 s";
        is_silent("SELECT pg_sleep(60) WHERE :client_id = 0", 0, words);
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_cell_whose_transactions_take_longer_than_the_run_is_not_complete() {
        let words = ["the server answered nothing in x with 1 client", "longer duration in [measure]"];
        measures_nothing("SELECT pg_sleep(60);", words);
    }
}
