//! `pgdyno top`: readings of real servers, and the view on a pseudo-terminal.

use std::{
    fs::File,
    io::{Read, Write},
    num::NonZeroU16,
    os::fd::OwnedFd,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread::{self, JoinHandle},
};

use pgdyno_wire::Session;
use rustix::{
    pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt},
    termios::{Termios, Winsize, tcgetattr, tcsetwinsize},
};
use serde_json::Value;

use crate::common::{OLDEST, Place, admin, kill, text, wait_until, word};

/// A lock queue: who holds the row, and who waits for it.
struct Queue {
    head: Session,
    waits: i32,
    thread: JoinHandle<()>,
}

impl Queue {
    fn plant(server: &Value) -> Self {
        let mut head = admin(server);
        head.execute("CREATE TABLE planted AS SELECT 1 AS id, 0 AS v").expect("it can be made");
        head.execute("BEGIN").expect("it begins");
        head.execute("UPDATE planted SET v = 1").expect("nobody has the row");
        let mut second = admin(server);
        let waits = second.backend_pid();
        let wait = move || drop(second.execute("UPDATE planted SET v = 2 WHERE id = 1 /* waits */"));
        let thread = thread::spawn(wait);
        let mut watch = admin(server);
        wait_until("it waits", || {
            let waiting = format!("SELECT 1 FROM pg_locks WHERE NOT granted AND pid = {waits}");
            watch.value(&waiting).expect("it answers").is_some()
        });
        Self { head, waits, thread }
    }

    fn end(mut self) {
        self.head.execute("ROLLBACK").expect("it ends");
        self.head.execute("DROP TABLE planted").expect("nobody uses it");
        self.thread.join().expect("it does not panic");
    }
}

const ONCE: [&str; 6] = ["top", "--server", "main", "--once", "--interval", "500ms"];

/// One reading as text.
fn once(place: &Place) -> String {
    let text = place.done(&ONCE);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    text
}

/// One reading as JSON, as its schema says.
fn json(place: &Place) -> Value {
    let line = place.done(&[&ONCE[..], &["--json"]].concat());
    assert_eq!(line.lines().count(), 1, "{line}");
    let reading: Value = serde_json::from_str(&line).expect("it is JSON");
    let (_, schema) = pgdyno_top::schema();
    let validator = jsonschema::validator_for(&schema).expect("it is a schema");
    assert!(validator.is_valid(&reading), "{:?}", validator.iter_errors(&reading).next());
    reading
}

/// The planted queue in a reading.
fn has_queue(reading: &Value, queue: &Queue) {
    let blocked = reading["blocked"].as_array().expect("locks were read");
    assert_eq!(blocked.len(), 1, "{reading}");
    assert_eq!(blocked[0]["pid"], queue.waits);
    assert_eq!(blocked[0]["blocked_by"][0]["pid"], queue.head.backend_pid());
}

fn why_absent<'a>(reading: &'a Value, what: &str) -> Vec<&'a str> {
    let all = reading["absent"].as_array().expect("it is a list").iter();
    all.filter(|one| one["what"] == what).map(|one| word(one, "why")).collect()
}

#[test]
fn one_reading_names_who_blocks_whom_and_no_secret() {
    let place = Place::new();
    assert!(place.refused(&["top"], 2).contains("no server is named"));
    assert!(place.refused(&["top", "--server", "x", "--interval", "1ms"], 2).contains("not between"));
    place.done(&["up", "--pg", "18", "--bundle"]);
    let server = place.only();
    let refused = place.refused(&["top", "--server", "main"], 2);
    assert!(refused.contains("there is no terminal") && refused.contains("--once"), "{refused}");

    let queue = Queue::plant(&server);
    let mut careless = admin(&server);
    careless.execute("BEGIN; CREATE ROLE bob PASSWORD 'hunter2'").expect("it may");
    let shown = once(&place);
    for words in [queue.waits.to_string(), queue.head.backend_pid().to_string()] {
        assert!(shown.contains(&words), "{words}: {shown}");
    }
    assert!(shown.contains("TPS ") && shown.contains("LOCKS · 1 wait"), "{shown}");
    assert!(shown.contains("checkpointer") && shown.contains("shared_preload_libraries"), "{shown}");
    let reading = json(&place);
    has_queue(&reading, &queue);
    assert_eq!((&reading["format"], &reading["lost"]), (&1.into(), &Value::Null));
    assert!(reading["over_s"].as_f64().is_some_and(|over_s| over_s >= 0.5), "{reading}");
    assert!(reading["wal"]["bytes_per_s"].as_f64().is_some(), "{reading}");
    assert!(reading["cost"]["cpus"].as_f64().is_some_and(|cpus| cpus > 0.0), "{reading}");
    assert!(reading["cost"]["server_cpus"].as_f64().is_some(), "its own process was seen: {reading}");
    let lines = format!("{shown}{reading}");
    assert!(lines.contains("CREATE ROLE bob PASSWORD ***") && !lines.contains("hunter2"), "{lines}");
    queue.end();
    assert_eq!(json(&place)["blocked"], Value::Array(Vec::new()));
}

mod long {
    use super::*;

    /// Columns and lines of the terminal.
    const SIZE: (u16, u16) = (80, 24);

    /// The view on a terminal of its own.
    struct Terminal {
        keyboard: File,
        /// The side of the program: its modes are those of the terminal.
        side: OwnedFd,
        screen: Arc<Mutex<vt100::Parser>>,
        shell: Child,
        before: String,
    }

    impl Terminal {
        /// A shell with job control that runs the view, and says how it ended. After it was suspended, the shell waits
        /// for a line and continues it.
        fn with(place: &Place) -> Self {
            let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
            let terminal = openpt(flags).expect("there are pseudo-terminals");
            grantpt(&terminal).and_then(|()| unlockpt(&terminal)).expect("it is ours");
            let side = ioctl_tiocgptpeer(&terminal, flags).expect("it has another side");
            resize(&terminal, SIZE);
            let script = "set -m; \"$@\"; code=$?; while [ $code -gt 128 ] && jobs | grep -q .; do \
                          echo suspended; read line; fg; code=$?; done; echo \"exit status $code\"";
            let plain = place.command(&["top", "--server", "main", "--interval", "500ms"]);
            let mut shell = Command::new("/usr/bin/env");
            shell.args([
                "--default-signal=HUP,INT,TERM,TSTP",
                "setsid",
                "--ctty",
                "bash",
                "--norc",
                "-c",
                script,
                "bash",
            ]);
            shell.arg(plain.get_program()).args(plain.get_args()).current_dir(place.dir.path());
            plain.get_envs().for_each(|(name, value)| match value {
                Some(value) => drop(shell.env(name, value)),
                None => drop(shell.env_remove(name)),
            });
            shell.env("TERM", "xterm-256color");
            let end = || Stdio::from(side.try_clone().expect("it can be opened twice"));
            let before = modes(&side);
            let shell = shell.stdin(end()).stdout(end()).stderr(end()).spawn().expect("setsid can be run");
            let screen = Arc::new(Mutex::new(parser(SIZE)));
            let keyboard = File::from(terminal);
            let mut from = keyboard.try_clone().expect("it can be opened twice");
            let shown = Arc::clone(&screen);
            thread::spawn(move || {
                let mut part = [0; 4096];
                while let Ok(bytes @ 1..) = from.read(&mut part) {
                    shown.lock().expect("nobody panics").process(&part[..bytes]);
                }
            });
            Self { keyboard, side, screen, shell, before }
        }

        fn presses(&mut self, keys: &str) {
            self.keyboard.write_all(keys.as_bytes()).expect("it can be written");
        }

        fn screen(&self) -> String {
            self.screen.lock().expect("nobody panics").screen().contents()
        }

        fn shows(&self, words: &str) {
            let begin = std::time::Instant::now();
            while !self.screen().contains(words) {
                assert!(begin.elapsed() < crate::common::HANG, "no `{words}`:\n{}", self.screen());
                thread::sleep(std::time::Duration::from_millis(20));
            }
        }

        /// Whether the terminal is as it was before the view.
        fn is_given_back(&self) {
            let screen = self.screen.lock().expect("nobody panics");
            let screen = screen.screen();
            assert!(!screen.alternate_screen() && !screen.hide_cursor(), "{}", screen.contents());
        }

        fn ends_with(mut self, status: u32) {
            self.shows(&format!("exit status {status}"));
            self.is_given_back();
            let ended = self.shell.wait().expect("it can be collected");
            assert!(ended.success(), "{ended}");
            assert_eq!(modes(&self.side), self.before, "the terminal has its modes again");
        }
    }

    fn resize(terminal: &impl std::os::fd::AsFd, (columns, lines): (u16, u16)) {
        let size = Winsize { ws_row: lines, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(terminal, size).expect("it has a size");
    }

    /// An empty terminal of this size.
    fn parser((columns, lines): (u16, u16)) -> vt100::Parser {
        vt100::Parser::new(cells(lines), cells(columns), 1_000)
    }

    fn cells(many: u16) -> NonZeroU16 {
        NonZeroU16::new(many).expect("more than none")
    }

    fn modes(side: &OwnedFd) -> String {
        let Termios { input_modes, output_modes, control_modes, local_modes, .. } =
            tcgetattr(side).expect("it is a terminal");
        format!("{input_modes:?} {output_modes:?} {control_modes:?} {local_modes:?}")
    }

    fn up(major: &str) -> (Place, Value) {
        let place = Place::new();
        place.done(&["up", "--pg", major, "--bundle"]);
        let server = place.only();
        (place, server)
    }

    /// Process id of the view's session.
    fn session_of_view(server: &Value) -> u64 {
        let pid = "SELECT pid FROM pg_stat_activity WHERE application_name = 'pgdyno top'";
        let mut found = None;
        let mut session = admin(server);
        wait_until("the view is connected", || {
            found = session.value(pid).expect("it answers");
            found.is_some()
        });
        found.and_then(|pid| pid.parse().ok()).expect("a number")
    }

    #[test]
    #[ignore = "starts five servers"]
    fn every_major_says_what_it_lacks() {
        for major in [OLDEST, "9.6", "10", "14", "17"] {
            let (place, server) = up(major);
            let queue = Queue::plant(&server);
            // A fresh server of 9.5 begins to count when it is first asked.
            json(&place);
            let reading = json(&place);
            has_queue(&reading, &queue);
            let version = reading["server"]["version_num"].as_u64().expect("a number");
            assert!(why_absent(&reading, "counters").is_empty(), "{reading}");
            assert!(why_absent(&reading, "sessions").is_empty(), "{reading}");
            assert_eq!(why_absent(&reading, "waits").is_empty(), version >= 100_000, "{reading}");
            assert_eq!(why_absent(&reading, "progress").is_empty(), version >= 90_600, "{reading}");
            assert_eq!(why_absent(&reading, "wal").is_empty(), version >= 140_000, "{reading}");
            assert_eq!(reading["wal"]["records_per_s"].is_null(), version < 140_000, "{reading}");
            assert_eq!(reading["wal"]["checkpoint_age_s"].is_null(), version < 90_600, "{reading}");
            assert!(reading["databases"]["commits_per_s"].as_f64().is_some(), "{reading}");
            let states = &reading["sessions"]["by_state"];
            assert_eq!(states["idle in transaction"], 1, "{reading}");
            let waits = reading["waits"]["seen"].as_array().expect("they were sampled");
            assert!(waits.iter().any(|one| word(one, "event").starts_with("Lock")), "{reading}");
            let roles = reading["machine"]["processes"]["roles"].as_array().expect("they were seen");
            assert!(roles.iter().any(|one| one["role"] == "checkpointer"), "{reading}");
            assert!(once(&place).contains(&queue.waits.to_string()));
            queue.end();
        }
    }

    /// Throughput and locks are visible to all; for the rest the reason is said.
    #[test]
    #[ignore = "starts two servers"]
    fn a_role_without_rights_is_reported() {
        for major in ["18", OLDEST] {
            let (place, server) = up(major);
            let mut session = admin(&server);
            session.execute("CREATE ROLE plain LOGIN").expect("it may");
            let queue = Queue::plant(&server);
            let dsn = format!(
                "host={} port={} user=plain dbname=postgres",
                word(&server, "socket_dir"),
                server["port"]
            );
            let args = ["top", "--dsn", &dsn, "--once", "--interval", "500ms"];
            let shown = place.done(&args);
            assert!(shown.contains("not visible to `plain`"), "{shown}");
            let reading: Value =
                serde_json::from_str(&place.done(&[&args[..], &["--json"]].concat())).expect("it is JSON");
            has_queue(&reading, &queue);
            assert_eq!(reading["blocked"][0]["blocked_by"][0]["state"], "not seen");
            assert!(
                reading["sessions"]["by_state"]["not seen"].as_u64().is_some_and(|n| n >= 2),
                "{reading}"
            );
            assert!(reading["databases"]["commits_per_s"].as_f64().is_some(), "{reading}");
            assert!(!shown.contains("UPDATE planted"), "{shown}");
            queue.end();
        }
    }

    /// Statements of the extension by their time, and sorted texts without the view's own.
    #[test]
    #[ignore = "starts a server with the extension"]
    fn statements_are_those_of_the_extension() {
        let place = Place::new();
        place.done(&["up", "--pg", "18", "--bundle", "-c", "shared_preload_libraries=pg_stat_statements"]);
        let mut session = admin(&place.only());
        let hint = why_absent(&json(&place), "statements").join("");
        assert!(hint.contains("CREATE EXTENSION pg_stat_statements"), "{hint}");
        session.execute("CREATE EXTENSION pg_stat_statements").expect("it is there");
        let busy = thread::spawn(move || {
            for _ in 0..100 {
                session
                    .execute("SELECT count(*) FROM generate_series(1, 1000000) AS planted")
                    .expect("it may");
            }
        });
        wait_until("the statement is the slowest", || {
            let reading = json(&place);
            let slowest = &reading["statements"]["slowest"][0];
            word(slowest, "text").contains("AS planted") && slowest["calls"].as_u64().is_some_and(|n| n > 0)
        });
        assert!(once(&place).contains("STATEMENTS BY TIME · pg_stat_statements over"));
        busy.join().expect("it does not panic");
    }

    #[test]
    #[ignore = "presses keys on a terminal"]
    fn keys_change_what_the_terminal_shows() {
        let (place, server) = up("18");
        let queue = Queue::plant(&server);
        let mut terminal = Terminal::with(&place);
        terminal.shows("PROCESSES BY ROLE");
        terminal.shows("[1 all]");
        terminal.presses("5");
        terminal.shows("LOCKS · 1 wait");
        terminal.shows(&format!("└ {}", queue.waits));
        terminal.presses("?");
        terminal.shows("HELP: the keys");
        terminal.presses("\t");
        terminal.shows("PROCESSES BY ROLE · 100 % is one CPU");
        terminal.presses("2/PLANTED\r");
        terminal.shows("filter: PLANTED");
        terminal.shows("UPDATE planted");
        terminal.presses("p");
        terminal.shows("PAUSED");
        terminal.screen.lock().expect("nobody panics").screen_mut().set_size(cells(40), cells(120));
        resize(&terminal.keyboard, (120, 40));
        terminal.shows("APPLICATION");
        queue.end();
        terminal.presses("q");
        terminal.ends_with(0);
    }

    /// Ctrl-Z gives the terminal to the shell, and the view continues afterwards.
    #[test]
    #[ignore = "suspends a view"]
    fn a_view_can_be_suspended_and_interrupted() {
        let (place, _) = up("18");
        let mut terminal = Terminal::with(&place);
        terminal.shows("sessions ");
        terminal.presses("\u{1a}");
        terminal.shows("suspended");
        terminal.is_given_back();
        terminal.presses("\n");
        terminal.shows("sessions ");
        terminal.presses("7");
        terminal.shows("WAL AND CHECKPOINTS");
        terminal.presses("\u{3}");
        terminal.ends_with(0);
    }

    /// TERM ends the view and gives the terminal back.
    #[test]
    #[ignore = "ends a view by a signal"]
    fn a_signal_gives_the_terminal_back() {
        let (place, server) = up("18");
        let terminal = Terminal::with(&place);
        terminal.shows("sessions ");
        session_of_view(&server);
        kill(view_below(terminal.shell.id()), "-TERM");
        terminal.ends_with(0);
    }

    /// The view's process below a shell.
    fn view_below(shell: u32) -> u64 {
        let output = Command::new("ps").args(["-o", "pid=", "--ppid", &shell.to_string()]).output();
        let pids = text(&output.expect("ps can be run").stdout);
        pids.split_whitespace().next().and_then(|pid| pid.parse().ok()).expect("it has a child")
    }

    /// A server process that hangs stops no key; a server that stops and starts again is shown as lost, then again.
    #[test]
    #[ignore = "stops a server under a view"]
    fn a_server_that_hangs_or_restarts_is_seen() {
        let (place, server) = up("18");
        let mut terminal = Terminal::with(&place);
        terminal.shows("sessions ");
        let backend = session_of_view(&server);
        kill(backend, "-STOP");
        terminal.shows("no answer for ");
        terminal.presses("7");
        terminal.shows("WAL AND CHECKPOINTS");
        kill(backend, "-CONT");
        terminal.shows("TPS ");
        place.done(&["down", "main"]);
        terminal.shows("no answer for ");
        terminal.presses("3");
        terminal.shows("WAITS");
        place.done(&["up", "--pg", "18", "--bundle"]);
        terminal.shows("TPS ");
        terminal.presses("q");
        terminal.ends_with(0);
    }

    /// Lines continue while there is no server, and end with their reader.
    #[test]
    #[ignore = "stops a server under a stream"]
    fn a_stream_tells_that_the_server_is_gone() {
        let (place, _) = up("18");
        let mut command = place.command(&["top", "--server", "main", "--json", "--interval", "500ms"]);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("pgdyno can be run");
        let mut lines =
            std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().expect("it is piped")));
        let mut next = || -> Value {
            let line = lines.next().expect("it continues").expect("it can be read");
            serde_json::from_str(&line).expect("it is JSON")
        };
        assert_eq!(next()["lost"], Value::Null);
        place.done(&["down", "main"]);
        while next()["lost"].is_null() {}
        place.done(&["up", "--pg", "18", "--bundle"]);
        while !next()["lost"].is_null() {}
        drop(lines);
        assert_eq!(child.wait().expect("it ends").code(), Some(0));
    }
}
