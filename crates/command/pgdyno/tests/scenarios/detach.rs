//! Runs that outlive their terminal: a pseudo-terminal that is closed, logins that end, machines that restart.

use std::{
    fs::{self, File},
    io::{Read, Write},
    net::TcpListener,
    os::{fd::OwnedFd, unix::fs::chown},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread,
};

use pgdyno_wire::Session;
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use serde_json::Value;

use crate::{
    common::{
        Place, admin, am_root, holds_together, kill, left_out, text, tiny, wait_until, word, workers_in,
    },
    load::{are_held, hold_keys, let_keys_go},
};

/// A login: a shell that leads a session on a pseudo-terminal of its own.
struct Login {
    /// The side of the user; `None` when it is closed.
    terminal: Option<File>,
    shell: Child,
    seen: Arc<Mutex<Vec<u8>>>,
}

impl Login {
    /// A shell that executes pgdyno, and then waits for more.
    fn with(place: &Place, args: &[&str]) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let terminal = openpt(flags).expect("there are pseudo-terminals");
        grantpt(&terminal).and_then(|()| unlockpt(&terminal)).expect("it is ours");
        let other = ioctl_tiocgptpeer(&terminal, flags).expect("it has another side");
        let side = || Stdio::from(other.try_clone().expect("it can be opened twice"));
        let plain = place.command(args);
        // Where the tests themselves run by nohup, the end of the terminal would not reach the shell.
        let mut shell = Command::new("/usr/bin/env");
        shell.args([
            "--default-signal=HUP,INT,TERM",
            "setsid",
            "--ctty",
            "sh",
            "-c",
            "\"$@\"; echo \"exit status $?\"; sleep 1000",
            "sh",
        ]);
        shell.arg(plain.get_program()).args(plain.get_args()).current_dir(place.dir.path());
        plain.get_envs().for_each(|(name, value)| match value {
            Some(value) => drop(shell.env(name, value)),
            None => drop(shell.env_remove(name)),
        });
        let shell = shell.stdin(side()).stdout(side()).stderr(side()).spawn().expect("setsid can be run");
        let seen = Arc::new(Mutex::new(Vec::new()));
        Self::listen(&terminal, &seen);
        Self { terminal: Some(terminal.into()), shell, seen }
    }

    fn listen(terminal: &OwnedFd, seen: &Arc<Mutex<Vec<u8>>>) {
        let (mut from, seen) =
            (File::from(terminal.try_clone().expect("it can be opened twice")), Arc::clone(seen));
        thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(bytes @ 1..) = from.read(&mut part) {
                seen.lock().expect("nobody panics").extend_from_slice(&part[..bytes]);
                // Otherwise this side stays open until more comes.
                if text(&part[..bytes]).contains("exit status ") {
                    return;
                }
            }
        });
    }

    fn seen(&self) -> String {
        text(&self.seen.lock().expect("nobody panics"))
    }

    fn waits_for(&self, words: &str) -> String {
        wait_until(words, || self.seen().contains(words));
        self.seen()
    }

    fn types(&mut self, line: &str) {
        let terminal = self.terminal.as_mut().expect("it is open");
        terminal.write_all(format!("{line}\n").as_bytes()).expect("it can be written");
    }

    /// Closes the terminal, as a lost connection does: the kernel sends HUP to its processes.
    fn close(mut self) {
        drop(self.terminal.take());
        let status = self.shell.wait().expect("it can be collected");
        assert_eq!(status.code(), None, "a signal ended the shell");
    }
}

/// A place with a server whose loads wait before their keys.
fn held() -> (Place, Session) {
    let place = Place::new();
    place.done(&["up", "--pg", "18", "--bundle", "-c", "fsync=off"]);
    let mut session = admin(&place.only());
    hold_keys(&mut session);
    (place, session)
}

const LOAD: [&str; 7] = ["load", "tpcb", "--server", "main", "--scale", "2", "--jobs=1"];

fn load<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&LOAD[..], more].concat()
}

/// The entry of a run in `ps`.
fn run(place: &Place, name: &str) -> Value {
    let all = place.ps();
    all.iter().find(|one| one["name"] == name && one["kind"] == "run").cloned().unwrap_or_default()
}

fn pid(place: &Place, name: &str) -> u64 {
    run(place, name)["pid"].as_u64().expect("it is running")
}

/// What `attach` or `stop` answered: exit status, stdout, stderr.
fn answer(place: &Place, args: &[&str]) -> (Option<i32>, String, String) {
    let output = place.run(args);
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_detached_load_survives_its_terminal() {
    let (place, mut session) = held();
    let login = Login::with(&place, &load(&["--detach=survivor"]));
    let seen = login.waits_for("exit status 0");
    assert!(seen.contains("tpcb at scale 2 into schema"), "what will be done: {seen}");
    assert!(seen.contains("\r\nsurvivor\r\n") && seen.contains("pgdyno attach survivor"), "{seen}");
    are_held(&mut session, 1);
    login.close();
    let listed = run(&place, "survivor");
    assert_eq!((word(&listed, "status"), &listed["exit_status"]), ("running", &Value::Null), "{listed}");
    assert!(place.done(&["ps"]).lines().all(|line| line.chars().count() <= 80));
    let before = text(&fs::read(word(&listed, "output")).expect("it is there"));
    assert!(!before.contains("stopping"), "{before}");

    let watchers = [(); 2].map(|()| {
        let mut command = place.command(&["attach", "survivor"]);
        command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("pgdyno can be run")
    });
    wait_until("its progress is known", || !run(&place, "survivor")["progress"].is_null());
    let_keys_go(&mut session);
    for watcher in watchers {
        let output = watcher.wait_with_output().expect("it ends");
        assert_eq!((output.status.code(), text(&output.stdout).matches("verified: ").count()), (Some(0), 1));
    }
    let listed = run(&place, "survivor");
    assert_eq!((word(&listed, "status"), &listed["exit_status"]), ("ended", &Value::from(0)), "{listed}");
    let recorded = &place.runs()[0];
    let output =
        fs::read_to_string(recorded.path.join("output.log")).expect("the output is in the run directory");
    assert!(output.contains("verified: ") && output.contains("report: "), "{output}");
    holds_together(recorded);
    assert_eq!(recorded.record.command, "pgdyno load tpcb --scale 2 --server main --jobs 1");
    assert_eq!(answer(&place, &["attach", "survivor"]), (Some(0), output, String::new()));
    assert!(place.done(&["clean", "--yes"]).contains("run `survivor`"));
    assert_eq!(run(&place, "survivor"), Value::Null);
}

/// Started from the background of a script, which ignores INT and HUP.
#[test]
fn a_detached_load_is_stopped_resumed_and_verified() {
    let (place, mut session) = held();
    let plain = place.command(&load(&["--detach"]));
    let mut script = Command::new("sh");
    script.args(["-c", "trap '' INT HUP; exec \"$@\"", "sh"]).arg(plain.get_program()).args(plain.get_args());
    plain.get_envs().for_each(|(name, value)| match value {
        Some(value) => drop(script.env(name, value)),
        None => drop(script.env_remove(name)),
    });
    let output =
        script.current_dir(place.dir.path()).stdin(Stdio::null()).output().expect("a shell can be run");
    assert_eq!(text(&output.stdout), "load-1\n", "{}", text(&output.stderr));
    are_held(&mut session, 1);
    let detached = pid(&place, "load-1");
    kill(detached, "-HUP");

    let taken = place.refused(&load(&["--detach=load-1"]), 2);
    assert!(taken.contains("the name `load-1` is taken: a detached run has it"), "{taken}");
    assert!(
        place.refused(&load(&["--detach=main"]), 2).contains("the name `main` is taken: a server has it")
    );
    assert!(place.refused(&["up", "load-1"], 2).contains("the name `load-1` is taken"));
    assert!(place.refused(&["stop", "load-9"], 2).contains("hint: detached runs: load-1"));
    assert!(place.refused(&["stop", "main"], 2).contains("`pgdyno down main` stops"));
    assert!(place.done(&["clean"]).contains(&format!("stays: it is running, process {detached}")));

    let (code, out, err) = answer(&place, &["stop", "load-1"]);
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(out.contains("stopping: ") && out.contains("`load-1` is stopped; its record is "), "{out}{err}");
    assert!(err.contains("--resume` continues it"), "{err}");
    assert_eq!(run(&place, "load-1")["exit_status"], 3);
    assert!(place.done(&["stop", "load-1"]).contains("`load-1` had ended, with exit status 3"));
    let_keys_go(&mut session);
    assert_eq!(place.done(&load(&["--resume", "--detach"])), "load-2\n");
    let (code, out, err) = answer(&place, &["attach", "load-2"]);
    assert_eq!((code, out.contains("verified: 200,022 rows")), (Some(0), true), "{out}{err}");
    assert!(place.done(&["load", "verify", "--server", "main"]).contains("verified: 200,022 rows"));
}

/// What is wrong before the run has begun is said in the terminal, with its status, and leaves nothing.
#[test]
fn detaching_in_vain_is_reported() {
    let place = Place::new();
    place.done(&["up", "--pg", "18", "--bundle"]);
    place.done(&load(&["--no-verify"]));
    let again = place.refused(&load(&["--detach"]), 2);
    assert!(again.contains("already"), "{again}");
    let nobody = ["load", "tpcb", "-h", "/nowhere", "--scale", "1", "--detach"];
    assert!(place.refused(&nobody, 3).contains("could not connect to socket /nowhere"));
    fs::write(place.path("plan.toml"), "name = \"x\"\n[measure]\ncleints = [1]\n")
        .expect("it can be written");
    let said = place.refused(&["run", "plan.toml", "--detach"], 2);
    assert!(said.contains("plan.toml:3"), "{said}");
    assert!(place.refused(&["bench", "--detach", "--bindir", "/nowhere"], 2).contains("/nowhere"));
    for flags in [&["--detach", "--dry-run"], &["--detach", "--json"], &["--detach", "--no-record"]] {
        assert!(place.refused(&load(flags), 2).contains("cannot be used with"), "{flags:?}");
    }
    assert!(place.refused(&["detached", "x"], 2).contains("nothing was requested"));
    assert!(place.refused(&["attach", "x"], 2).contains("hint: --detach of load"));
    assert_eq!(place.ps().len(), 1, "only the server");
}

/// The password is typed before the terminal is left, and nobody else learns it.
#[test]
fn a_password_is_typed_before() {
    let place = Place::with_initdb();
    let port = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port is free").port();
    let port = port.to_string();
    place.done(&["up", "--pg", "18", "--bundle", "--listen", "127.0.0.1", "--port", &port]);
    let mut session = admin(&place.only());
    hold_keys(&mut session);
    let password = fs::read_to_string(place.path("state/servers/main/password")).expect("it is there");
    let password = password.trim();
    let server = ["-h", "127.0.0.1", "-p", &port, "-U", "postgres", "-d", "postgres"];
    let args = [&["load", "tpcb", "--scale", "1", "--jobs", "1", "--detach=secret"], &server[..]].concat();
    let mut login = Login::with(&place, &args);
    login.waits_for("Password for postgres in postgres at 127.0.0.1:");
    login.types(password);
    let seen = login.waits_for("exit status 0");
    assert!(!seen.contains(password), "it is not echoed");
    login.close();
    are_held(&mut session, 1);
    let process = format!("/proc/{}", pid(&place, "secret"));
    let of_process = ["cmdline", "environ"].map(|name| Path::new(&process).join(name));
    let entry = fs::read_dir(place.path("state/detached/secret")).expect("it is there").flatten();
    let recorded = fs::read_dir(&place.runs()[0].path).expect("it is there").flatten();
    let files = of_process.into_iter().chain(entry.chain(recorded).map(|file| file.path()));
    for file in files {
        let content = text(&fs::read(&file).expect("it can be read"));
        assert!(!content.contains(password), "{file:?}");
    }
    let_keys_go(&mut session);
    assert_eq!(answer(&place, &["attach", "secret"]).0, Some(0));
}

/// A run that was killed, one whose machine was restarted, and a PID that another process has by now.
#[test]
fn a_lost_run_is_named_and_nobody_else_is_stopped() {
    let (place, mut session) = held();
    assert_eq!(place.done(&load(&["--detach=lost"])), "lost\n");
    are_held(&mut session, 1);
    let entry = place.path("state/detached/lost/entry.json");
    let rewrite = |change: &dyn Fn(&mut Value)| {
        let mut json: Value = serde_json::from_slice(&fs::read(&entry).expect("it is there")).expect("JSON");
        change(&mut json);
        fs::write(&entry, json.to_string()).expect("it can be written");
    };
    let said = |why: &str| {
        let listed = run(&place, "lost");
        assert_eq!((word(&listed, "status"), word(&listed, "lost_by")), ("lost", why));
        let (code, out, err) = answer(&place, &["stop", "lost"]);
        let words = format!("`lost` is not running any more: {why}; its record is ");
        assert!(
            code == Some(0) && out.contains(&words) && err.contains("--resume` continues it"),
            "{out}{err}"
        );
        let (code, _, err) = answer(&place, &["attach", "lost"]);
        assert!(code == Some(3) && err.contains(&format!("`lost` ended without a result: {why}")), "{err}");
    };
    let detached = pid(&place, "lost");
    rewrite(&|json| json["process"]["start_ticks"] = 1.into());
    said("it was killed");
    assert!(Path::new(&format!("/proc/{detached}")).exists(), "another process that has this PID is let be");
    rewrite(&|json| json["process"]["boot_id"] = "of another boot".into());
    said("the machine was restarted");
    kill(detached, "-9");
    let_keys_go(&mut session);
    assert_eq!(place.done(&load(&["--resume", "--detach=lost"])), "lost\n", "its name is free again");
    assert_eq!(answer(&place, &["attach", "lost"]).0, Some(0));
}

#[test]
fn somebody_elses_run_is_refused_by_name() {
    let (place, mut session) = held();
    assert_eq!(place.done(&load(&["--detach=theirs"])), "theirs\n");
    are_held(&mut session, 1);
    if am_root() {
        let home = place.path("state/detached/theirs");
        let give = |uid| chown(&home, Some(uid), None).expect("root may");
        give(1);
        for command in ["stop", "attach"] {
            let said = place.refused(&[command, "theirs"], 2);
            assert!(
                said.contains("could not use the detached run `theirs`: it belongs to the user "),
                "{said}"
            );
        }
        give(0);
    } else {
        left_out("only root can give a run to somebody else");
    }
    assert_eq!(answer(&place, &["stop", "theirs"]).0, Some(0));
}

/// Tests that `cargo test` leaves out and `.ci/run` runs.
mod long {
    use super::*;
    use crate::interrupts::SmallDisk;

    /// Below the progress of a run, and of `attach`, is what its observers see.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_terminal_shows_what_is_observed_meanwhile() {
        let place = Place::new();
        let long = ["--pg", "18", "--bundle", "--duration", "6s"];
        let login = Login::with(&place, &tiny(&long));
        let shown =
            ["  now      ", " TPS  p99 ", "  machine  ", "  sessions ", "  server   ", "CPUs used: clients"];
        shown.iter().for_each(|words| drop(login.waits_for(words)));
        login.waits_for("exit status 0");
        login.close();
        place.done(&tiny(&[&long[..], &["--detach=apart"]].concat()));
        let login = Login::with(&place, &["attach", "apart"]);
        shown.iter().for_each(|words| drop(login.waits_for(words)));
        login.waits_for("exit status 0");
        login.close();
        let events = place.runs()[0].path.join("events.ndjson");
        let events = fs::read_to_string(events).expect("it is there");
        assert!(!events.contains("seen") && !events.contains("driven"), "what passes by is not recorded");
    }

    /// The detached process itself starts the server, which ends with it.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_detached_bench_has_its_own_server() {
        let place = Place::new();
        let args = tiny(&["--pg", "18", "--bundle", "--blocks", "200", "--detach"]);
        assert_eq!(place.done(&args), "bench-1\n");
        wait_until("it has measured", || place.runs().first().is_some_and(|run| run.record.runs.len() >= 2));
        let progress = run(&place, "bench-1")["progress"].clone();
        assert!(progress["left_s"].as_f64().is_some_and(|left_s| left_s > 1.0), "{progress}");
        let (code, out, err) = answer(&place, &["stop", "bench-1"]);
        assert!(
            code == Some(0) && err.contains("`pgdyno resume ") && out.contains("stopped after "),
            "{out}{err}"
        );
        assert_eq!(workers_in(place.dir.path()), Vec::<u32>::new(), "its server is gone");
        holds_together(&place.runs()[0]);

        let measured = place.runs()[0].record.runs.len();
        assert_eq!(place.done(&["resume", "--detach=again"]), "again\n");
        wait_until("it measures on", || place.runs()[0].record.runs.len() > measured);
        assert_eq!(answer(&place, &["stop", "again"]).0, Some(0));
        let resumed = &place.runs()[0];
        let parts = ["output.log", "output-2.log"].map(|name| fs::read_to_string(resumed.path.join(name)));
        assert!(
            parts.iter().all(|part| part.as_ref().is_ok_and(|part| part.contains("stopped after "))),
            "{parts:?}"
        );
        holds_together(resumed);

        assert_eq!(
            place.done(&tiny(&["--pg", "18", "--bundle", "--blocks", "200", "--detach"])),
            "bench-2\n"
        );
        kill(pid(&place, "bench-2"), "-9");
        wait_until("its server has ended with it", || workers_in(place.dir.path()).is_empty());
        assert_eq!(word(&run(&place, "bench-2"), "status"), "lost");
    }

    /// Each begins, is watched and ends as in a terminal, and what is wrong is said in the terminal.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn operations_on_tables_can_be_detached() {
        let place = Place::new();
        place.done(&["up", "--pg", "18", "--bundle", "-c", "fsync=off"]);
        place.done(&load(&[]));
        let on = ["--server", "main"];
        let copy = [&["load", "copy", "--into-schemas", "2", "--jobs", "1", "--detach"], &on[..]].concat();
        let count = ["probe", "count", "--repeats", "20", "--detach=counts", "--server", "main"];
        let verify = ["load", "verify", "--detach", "--server", "main"];
        let prewarm = ["prewarm", "--anyway", "--detach", "--server", "main"];
        for (args, name, said) in [
            (&copy[..], "load-1", "public_2: verified: "),
            (&count, "counts", "pgbench_accounts"),
            (&verify, "load-2", "verified: 200,022 rows"),
            (&prewarm, "prewarm-1", "pgbench_accounts"),
        ] {
            assert_eq!(place.done(args), format!("{name}\n"));
            let (code, out, err) = answer(&place, &["attach", name]);
            assert_eq!((code, out.contains(said)), (Some(0), true), "{args:?}: {out}{err}");
            assert!(out.contains("\nNEXT\n") && out.contains("--server main"), "{out}");
        }
        let outputs = place.runs().iter().filter(|run| run.path.join("output.log").is_file()).count();
        assert_eq!(outputs, 4, "all but the first load were detached");
        assert!(place.refused(&copy, 2).contains("--prefix"), "its names are taken");
        let nothing = ["probe", "ddl", "no_such_table", "--detach", "--server", "main"];
        assert!(place.refused(&nothing, 2).contains("it does not exist"));
        for flag in ["--no-record", "--json"] {
            assert!(place.refused(&[&count[..], &[flag]].concat(), 2).contains("cannot be used with"));
        }
        assert_eq!(place.ps().len(), 5, "the server and four runs");
    }

    /// What is left is shown for all of it, and a comparison may end earlier.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_detached_comparison_is_stopped_and_resumed() {
        let place = Place::new();
        let mut ab = vec!["ab", "--bundle", "--set", "jit=on", "--set", "jit=off", "-b", "select-only"];
        ab.extend(["--scale", "1", "--clients", "2", "--duration", "300ms", "--warmup", "50ms"]);
        ab.extend(["--blocks", "200", "--restart", "never", "--detach"]);
        assert_eq!(place.done(&ab), "ab-1\n");
        wait_until("it has measured", || place.runs().first().is_some_and(|run| run.record.runs.len() >= 4));
        let whole = run(&place, "ab-1")["progress"]["whole"].clone();
        assert_eq!(whole["bound"], "at-most", "{whole}");
        // 200 blocks of two runs of 350 ms, with pauses.
        assert!(whole["left_s"].as_f64().is_some_and(|left_s| (100.0..3_000.0).contains(&left_s)), "{whole}");
        assert!(whole["done"].as_f64().is_some_and(|done| done > 0.0 && done < 0.2), "{whole}");
        let table = place.done(&["ps"]);
        assert!(table.contains("≥ ") && table.contains("≤ "), "{table}");
        let (code, _, err) = answer(&place, &["stop", "ab-1"]);
        assert!(code == Some(0) && err.contains("`pgdyno resume "), "{err}");
        assert_eq!(place.done(&["resume", "--detach=again"]), "again\n");
        assert_eq!(answer(&place, &["stop", "again"]).0, Some(0));
        holds_together(&place.runs()[0]);
    }

    /// What ended it is said to those that watch, and what was measured is kept.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_detached_run_that_fills_its_disk_says_so() {
        let place = Place::new();
        let Some(disk) = SmallDisk::new(&place, "runs", 4) else { return };
        let args = tiny(&["--pg", "18", "--bundle", "--blocks", "200", "--detach=full"]);
        assert_eq!(place.done(&args), "full\n");
        wait_until("it has measured", || place.runs().first().is_some_and(|run| run.record.runs.len() >= 2));
        disk.fill(0);
        let (code, out, err) = answer(&place, &["attach", "full"]);
        assert_eq!(code, Some(3), "{out}{err}");
        for words in
            ["could not write", "No space left on device", "hint: ", "partial record: ", "stopped after "]
        {
            assert!(out.contains(words), "{words}: {out}");
        }
        assert_eq!(run(&place, "full")["exit_status"], 3);
        assert_eq!(workers_in(place.dir.path()), Vec::<u32>::new(), "its server is gone");
        holds_together(&place.runs()[0]);
        let (code, out, _) = answer(&place, &["stop", "full"]);
        assert!(code == Some(0) && out.contains("had ended, with exit status 3; its record is "), "{out}");
    }
}
