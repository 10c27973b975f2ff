//! What is damaged under a run heals or says how: reports without room, schemas left behind, plans that never commit.

use std::{
    fs,
    process::{Child, Output, Stdio},
};

use pgdyno_record::Status;
use pgdyno_wire::Session;

use crate::common::{Place, admin, holds_together, text, tiny, wait_until, word};

/// A running measurement, with what it says to come.
fn started(place: &Place, args: &[&str]) -> Child {
    let mut command = place.command(args);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("pgdyno can be run")
}

fn ended(child: Child) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = child.wait_with_output().expect("it ends");
    (status.code(), text(&stdout), text(&stderr))
}

/// Where the page should go there is a directory: the report is printed all the same, and the record is whole.
#[test]
fn a_report_that_cannot_be_written_is_printed() {
    let place = Place::new();
    let child = started(&place, &tiny(&["--pg", "18", "--bundle"]));
    wait_until("the run can be seen", || {
        let runs = fs::read_dir(place.path("runs")).into_iter().flatten().flatten();
        let seen = runs.map(|entry| entry.path()).find(|path| path.join("run.json").is_file());
        seen.is_some_and(|path| fs::create_dir(path.join("report.html")).is_ok())
    });
    let (code, out, err) = ended(child);
    assert_eq!(code, Some(3), "{err}");
    assert!(out.contains("THROUGHPUT AND LATENCY"), "{out}");
    let run = place.only_run();
    assert!(err.contains(&format!("\nrecord: {}\n", run.path.display())), "{err}");
    assert!(err.contains("error: could not write ") && err.contains("report.html"), "{err}");
    assert!(err.contains("hint: `pgdyno report`") && !err.contains("panicked"), "{err}");
    assert_eq!(run.record.status, Status::Complete);
    holds_together(&run);
    fs::remove_dir(run.path.join("report.html")).expect("it is empty");
    place.done(&["report"]);
    place.nothing_is_left();
}

/// A script whose transactions all fail: not complete, and the statement and its error are printed once.
#[test]
fn a_plan_that_never_commits_is_not_complete() {
    let place = Place::new();
    let plan = place.path("div.toml");
    let own = "name = \"div\"\n[data]\nscale = \"none\"\n[[workload]]\nname = \"div\"\n\
               text = \"SELECT 1;\\nSELECT 1/0;\\n\"\n\
               [measure]\nclients = [2]\njobs = 1\nduration = \"300ms\"\nwarmup = \"50ms\"\nblocks = 3\n";
    fs::write(&plan, own).expect("it can be written");
    let run = ["run", &plan.display().to_string(), "--pg", "18", "--bundle"];
    let (code, _, err) = ended(started(&place, &run));
    assert_eq!(code, Some(3), "{err}");
    assert_eq!(err.matches("division by zero").count(), 1, "{err}");
    assert!(err.contains("error: every transaction of div/2 failed: division by zero"), "{err}");
    assert!(err.contains(" with 22012, at: SELECT 1/0") && err.contains("partial record: "), "{err}");
    let run = place.only_run();
    assert_eq!((run.record.status, run.record.runs.len()), (Status::Stopped, 1));
    holds_together(&run);
    place.nothing_is_left();
}

/// Tests that `cargo test` leaves out and `.ci/run` runs.
mod long {
    use super::*;

    /// A server that takes no writes any more keeps the schema: the end names it, with the statement that removes it.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_schema_that_is_left_behind_is_named() {
        let place = Place::new();
        place.done(&["up", "--pg", "18", "--bundle"]);
        let server = place.only();
        let port = server["port"].to_string();
        let mut session: Session = admin(&server);
        let flags = ["-h", word(&server, "socket_dir"), "-p", &port, "-U", "postgres", "--blocks", "20"];
        let child = started(&place, &tiny(&flags));
        wait_until("something was measured", || {
            let loaded = session.value("SELECT count(*) FROM pgdyno.pgbench_history");
            loaded.is_ok_and(|rows| rows.is_some_and(|rows| rows != "0"))
        });
        session.execute("ALTER SYSTEM SET default_transaction_read_only = on").expect("it can be set");
        session.execute("SELECT pg_reload_conf()").expect("it can be reloaded");
        let (code, _, err) = ended(child);
        assert_eq!(code, Some(3), "{err}");
        assert_eq!(err.matches("error: ").count(), 1, "{err}");
        assert!(err.contains("schema pgdyno was left in database postgres: "), "{err}");
        assert!(err.contains("DROP SCHEMA pgdyno CASCADE"), "{err}");
        let left = "SELECT count(*) FROM pg_namespace WHERE nspname = 'pgdyno'";
        assert_eq!(session.value(left).expect("it can be asked").as_deref(), Some("1"));
        // What it says is enough.
        let writes = "BEGIN READ WRITE; DROP SCHEMA pgdyno CASCADE; COMMIT";
        session.execute(writes).expect("the statement removes it");
        assert_eq!(session.value(left).expect("it can be asked").as_deref(), Some("0"));
    }
}
