//! Nothing that pgdyno started on a server continues after Ctrl-C: no statement and no session is left.

use std::process::{Child, Stdio};

use pgdyno_wire::{Address, ConnectOptions, Session, connect};
use serde_json::Value;

use crate::common::{OLDEST, Place, kill, text, wait_until, word};

/// A server with the databases `full`, which is loaded, and `empty`.
struct Scene {
    place: Place,
    server: Value,
}

impl Scene {
    fn new(pg: &str) -> Self {
        let place = Place::new();
        // Nobody but us may wait for locks or be active.
        place.done(&["up", "--pg", pg, "--bundle", "-c", "fsync=off", "-c", "autovacuum=off"]);
        let server = place.only();
        let scene = Self { place, server };
        scene.session("postgres").execute("CREATE DATABASE \"full\"").expect("a new name");
        scene.session("postgres").execute("CREATE DATABASE empty").expect("a new name");
        scene.place.done(&["load", "tpcb", "--server", "main", "-d", "full", "--scale", "1"]);
        scene
    }

    fn session(&self, database: &str) -> Session {
        let port = self.server["port"].as_u64().expect("it has one") as u16;
        let address = Address::Unix(word(&self.server, "socket_dir").into(), port);
        let mut options = ConnectOptions::local(address, "postgres");
        database.clone_into(&mut options.database);
        let mut session = connect(&options).expect("it takes connections");
        session.execute("SET application_name = 'test'").expect("it has that");
        session
    }

    fn start(&self, args: &[&str]) -> Child {
        let mut command = self.place.command(args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("pgdyno can be run")
    }

    /// A command that is interrupted while its statement waits for a table for ever.
    fn stopped_at_a_lock(&self, signal: &str, args: &[&str], database: &str, lock: &str) {
        let mut holder = self.session(database);
        holder.execute(&format!("BEGIN; LOCK TABLE {lock} MODE")).expect("nobody else wants it");
        // Another session looks: in a transaction the server shows the sessions of its first look for ever.
        let mut observer = self.session(database);
        self.stopped(signal, args, &mut observer, "SELECT 1 FROM pg_locks WHERE NOT granted");
    }

    /// A command that is interrupted as soon as a query finds something.
    fn stopped(&self, signal: &str, args: &[&str], observer: &mut Session, until: &str) {
        let child = self.start(args);
        wait_until(&format!("{args:?}: {until}"), || {
            observer.value(until).expect("it can be asked").is_some()
        });
        kill(child.id().into(), signal);
        let output = child.wait_with_output().expect("it has ended");
        // At once: it does not leave before the server is done with all that it asked for.
        let left = "SELECT state || ': ' || query FROM pg_stat_activity WHERE application_name = 'pgdyno'";
        let active = observer.query(&format!("{left} AND state <> 'idle'")).expect("it can be asked");
        let said = text(&output.stderr);
        assert!(active.is_empty(), "{args:?}: {active:?}");
        wait_until("no session is left", || observer.value(left).expect("it can be asked").is_none());
        assert_eq!(output.status.code(), Some(3), "{args:?}: {said}");
        assert!(said.contains("stopping") && said.contains("stopped"), "{args:?}: {said}");
        assert!(!said.contains("canceling statement"), "the caller does not see it: {said}");
        let restarts = args.contains(&"stream");
        assert!(!restarts || said.matches("a partly filled table is filled again").count() == 2, "{said}");
    }
}

/// Statements that would never end by themselves.
fn what_waits_is_given_up(scene: &Scene) {
    let new = ["load", "tpcb", "--server", "main", "-d", "empty", "--jobs", "2"];
    // So many rows that they are still being copied when the signal comes.
    let begin = [&new[..], &["--scale", "6", "--method", "stream"]].concat();
    let go_on = [&new[..], &["--resume"]].concat();
    let branches = "pgbench_branches IN ACCESS SHARE";
    // The tables are not there before the load begins: its rows are held where no lock is needed.
    let mut observer = scene.session("empty");
    let at =
        |query: &str| format!("SELECT 1 FROM pg_stat_activity WHERE state = 'active' AND query ~ '^{query}'");
    scene.stopped("-INT", &begin, &mut observer, &at("COPY pgbench_accounts"));
    scene.stopped_at_a_lock("-TERM", &go_on, "empty", "pgbench_history IN SHARE UPDATE EXCLUSIVE");
    scene.stopped_at_a_lock("-HUP", &go_on, "empty", branches);
    scene.place.done(&go_on);

    let accounts = "pgbench_accounts IN ACCESS EXCLUSIVE";
    let on_full = ["--server", "main", "-d", "full"];
    for command in
        [&["load", "verify"][..], &["load", "copy", "--into-schemas", "1"], &["prewarm"], &["probe", "count"]]
    {
        scene.stopped_at_a_lock("-INT", &[command, &on_full].concat(), "full", accounts);
    }
}

/// A statement that is running.
fn what_works_is_given_up(scene: &Scene) {
    scene.session("postgres").execute("DROP DATABASE empty").expect("nobody is there");
    scene.session("postgres").execute("CREATE DATABASE empty").expect("it is gone");
    let args = ["load", "tpcb", "--server", "main", "-d", "empty", "--jobs", "2", "--scale", "80"];
    let mut observer = scene.session("empty");
    let inserts =
        "SELECT 1 FROM pg_stat_activity WHERE state = 'active' AND query ~ '^INSERT INTO pgbench_acc'";
    scene.stopped("-TERM", &[&args[..], &["--method", "server"]].concat(), &mut observer, inserts);
}

#[test]
fn nothing_happens_in_the_newest_server() {
    let scene = Scene::new("18");
    what_waits_is_given_up(&scene);
    what_works_is_given_up(&scene);
}

/// Tests that `cargo test` leaves out and `.ci/run` runs.
mod long {
    use super::*;

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn nothing_happens_in_the_oldest_server() {
        let scene = Scene::new(OLDEST);
        what_waits_is_given_up(&scene);
        what_works_is_given_up(&scene);
    }
}
