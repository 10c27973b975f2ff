//! Servers from end to end: the real program, real servers, oldest and newest major, as root or as anybody.
//!
//! State lives in a temporary directory; bundles in the default cache, so that they are fetched once.

use std::{
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    os::unix::{fs::PermissionsExt, net::UnixStream},
    path::Path,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use serde_json::Value;

use crate::common::{
    OLDEST, OLDEST_VERSION, Place, am_root, kill, left_out, processes_of, text, wait_until, word,
};

/// The first answer to a startup message: its kind and its body.
fn greet(stream: &mut (impl Read + Write)) -> (u8, Vec<u8>) {
    let parameters = b"user\0postgres\0database\0postgres\0\0";
    let length = (8 + parameters.len()) as u32;
    let message = [&length.to_be_bytes()[..], &196_608_u32.to_be_bytes(), parameters].concat();
    stream.write_all(&message).expect("it can be written");
    let mut head = [0; 5];
    stream.read_exact(&mut head).expect("there is an answer");
    let mut body = vec![0; u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize - 4];
    stream.read_exact(&mut body).expect("the answer is whole");
    (head[0], body)
}

fn connect(server: &Value) -> (u8, Vec<u8>) {
    let socket = Path::new(word(server, "socket_dir")).join(format!(".s.PGSQL.{}", server["port"]));
    greet(&mut UnixStream::connect(socket).expect("the server takes connections"))
}

const AUTHENTICATION_OK: [u8; 4] = [0, 0, 0, 0];

/// A unit starts the very server, and systemd finds nothing wrong with it.
#[test]
fn a_unit_is_printed_for_a_server_that_exists() {
    let place = Place::new();
    let refused = place.refused(&["up", "--unit"], 2);
    assert!(refused.contains("there is no server `main`"), "{refused}");
    place.done(&["up", "--pg", "18", "--bundle"]);
    let server = place.only();
    let unit = place.done(&["up", "--unit"]);
    let start = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).expect("it starts something");
    let words: Vec<&str> = start.split(' ').collect();
    assert_eq!(words[1..], ["-D", word(&server, "data_dir")]);
    assert!(Path::new(words[0]).is_file(), "{start}");
    let user = unit.lines().find_map(|line| line.strip_prefix("User=")).expect("it has a user");
    assert!(!user.is_empty() && user != "root", "root runs no server: {user}");
    place.refused(&["up", "--unit", "--pg", "18"], 2);
    fs::write(place.path("pgdyno-main.service"), &unit).expect("it can be written");
    let verify = Command::new("systemd-analyze")
        .args(["verify", "--man=no"])
        .arg(place.path("pgdyno-main.service"))
        .output();
    let Ok(verified) = verify else { return left_out("there is no systemd-analyze") };
    let said = text(&verified.stderr);
    assert!(!said.lines().any(|line| line.contains("pgdyno-main")), "{said}");
}

fn a_life(pg: &str) {
    let place = Place::with_initdb();
    let said = place.done(&["up", "--pg", pg, "--bundle"]);
    assert!(said.contains("psql -h ") && said.contains("export PGHOST="), "{said}");
    let server = place.only();
    assert_eq!(word(&server, "status"), "running");
    assert_eq!(word(&server, "source"), "bundle");
    assert_eq!(server["pinned"], true);
    assert!(word(&server, "version").starts_with(pg));
    assert_eq!(connect(&server), (b'R', AUTHENTICATION_OK.to_vec()));
    let mode = fs::metadata(word(&server, "socket_dir")).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);

    assert!(place.done(&["up", "--pg", pg]).contains("was already running"));
    let table = place.done(&["ps"]);
    assert!(table.lines().all(|line| line.chars().count() <= 80) && table.contains("running"), "{table}");
    place.refused(&["up", "--pg", if pg == "18" { "17" } else { "18" }], 2);
    place.refused(&["up", "--set", "work_mem=1MB"], 2);

    assert!(place.done(&["down", "main"]).contains("is stopped"));
    assert_eq!(word(&place.only(), "status"), "stopped");
    assert!(place.done(&["down", "main"]).contains("was not running"));
    place.done(&["up", "--set", "work_mem=1MB"]);
    assert_eq!(connect(&place.only()).0, b'R');

    let pid = place.only()["pid"].as_u64().expect("it runs");
    kill(pid, "-9");
    wait_until("the killed server is gone", || place.only()["pid"].is_null());
    assert_eq!(word(&place.only(), "status"), "dead");
    place.done(&["up"]);
    assert_eq!(word(&place.only(), "status"), "running");
    place.done(&["down", "main", "--remove"]);
    assert_eq!(place.ps(), Vec::<Value>::new());
    assert!(!place.path("state/servers/main").exists());
}

#[test]
fn the_life_of_the_oldest_major() {
    a_life(OLDEST);
}

#[test]
fn the_life_of_the_newest_major() {
    a_life("18");
}

#[test]
fn by_tcp_only_with_a_password() {
    for (pg, method) in [(OLDEST, 5_u32), ("18", 10)] {
        let place = Place::with_initdb();
        let port =
            TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port is free").port();
        let flag = port.to_string();
        let said = place.done(&["up", "--pg", pg, "--bundle", "--listen", "127.0.0.1", "--port", &flag]);
        assert!(said.contains("PGPASSWORD=$(cat "), "{said}");
        let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
        let (kind, body) = greet(&mut stream);
        assert_eq!((kind, &body[..4]), (b'R', &method.to_be_bytes()[..]), "{pg}");
        let file = place.path("state/servers/main/password");
        assert_eq!(fs::metadata(file).expect("it is there").permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn a_taken_port_is_named_and_nothing_is_left() {
    let place = Place::new();
    let held = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = held.local_addr().expect("it is bound").port().to_string();
    let said = place.refused(&["up", "--pg", "18", "--listen", "127.0.0.1", "--port", &port], 3);
    assert!(
        said.contains(&format!("error: could not start the server: port {port} is already in use")),
        "{said}"
    );
    assert!(said.contains(&format!("detail: process {}", std::process::id())), "{said}");
    assert!(said.contains("hint: "));
    assert_eq!(place.ps(), Vec::<Value>::new());
    assert!(!place.path("state/servers/main").exists());
}

#[test]
fn a_data_directory_that_is_not_ours_is_refused_and_kept() {
    let place = Place::new();
    let foreign = place.path("foreign");
    fs::create_dir(&foreign).expect("it can be made");
    fs::write(foreign.join("PG_VERSION"), "18\n").expect("it can be written");
    let link = place.path("link");
    std::os::unix::fs::symlink(&foreign, &link).expect("a link can be made");
    for (dir, words) in [(&foreign, "is not empty and not ours"), (&link, "is a symbolic link")] {
        for flag in ["--data", "--waldir"] {
            let said = place.refused(&["up", "--pg", "18", "--bundle", flag, &dir.display().to_string()], 2);
            assert!(said.contains(words), "{said}");
        }
    }
    assert_eq!(fs::read_to_string(foreign.join("PG_VERSION")).expect("it is kept"), "18\n");
    assert_eq!(place.ps(), Vec::<Value>::new());
}

#[test]
fn everything_in_its_own_directory() {
    let place = Place::with_initdb();
    let [data, wal, space] = ["d/data", "w", "a space"].map(|name| place.path(name).display().to_string());
    let tablespace = format!("fast={space}");
    place.done(&[
        "up",
        "x",
        "--pg",
        "18",
        "--bundle",
        "--data",
        &data,
        "--waldir",
        &wal,
        "--wal-segsize",
        "64",
        "--tablespace",
        &tablespace,
        "--no-data-checksums",
        "--cpus",
        "0",
    ]);
    assert_eq!(word(&place.only(), "data_dir"), data);
    assert!(fs::read_dir(&space).expect("it is there").count() > 0);
    let segment =
        fs::read_dir(&wal).expect("it is there").flatten().find(|entry| entry.file_name().len() == 24);
    assert_eq!(segment.expect("there is WAL").metadata().expect("it is there").len(), 64 << 20);
    let said = place.done(&["clean"]);
    assert!(said.contains("stays: it is running"), "{said}");
    place.done(&["down", "x", "--remove"]);
    for dir in [&data, &wal, &space] {
        assert!(!Path::new(dir).exists(), "{dir}");
    }
}

/// Only root starts servers as another user, who must be able to reach their files.
#[test]
fn a_directory_that_the_servers_user_cannot_reach_is_named() {
    let place = Place::new();
    if !am_root() {
        return left_out("only root starts servers as somebody else");
    }
    let closed = place.path("closed");
    fs::create_dir(&closed).expect("it can be made");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).expect("it is ours");
    let data = closed.join("data").display().to_string();
    let said = place.refused(&["up", "--pg", "18", "--bundle", "--data", &data], 3);
    let reason = format!("only its owner can enter {}", closed.display());
    assert!(said.contains("cannot reach") && said.contains(&reason), "{said}");
    assert!(!closed.join("data").exists());
}

#[test]
fn wrong_flags_have_one_clear_sentence() {
    let place = Place::new();
    for (args, words) in [
        (&["up", "a/b"][..], "`a/b` cannot be the name of a server"),
        (&["up", "--pg", "8.4"], "PostgreSQL 8.4 is too old"),
        (&["up", "--pg", "eighteen"], "`eighteen` is not a version of PostgreSQL"),
        (&["up", "--bindir", "/nonexistent"], "there is no postgres in /nonexistent"),
        (&["up", "--bindir", "/x", "--bundle"], "cannot be used with"),
        (&["up", "--build", "none"], "there is no build `none`"),
        (&["up", "--build", "none", "--bindir", "/x"], "cannot be used with"),
        (&["up", "--port", "0"], "--port"),
        (&["up", "--port", "65536"], "--port"),
        (&["up", "--wal-segsize", "3"], "a WAL segment cannot have 3 MB"),
        (&["up", "--wal-segsize", "many"], "--wal-segsize"),
        (
            &["up", "--pg", OLDEST, "--bundle", "--wal-segsize", "64"],
            "--wal-segsize needs PostgreSQL 11 or newer",
        ),
        (&["up", "--set", "port=1"], "port cannot be given as a setting"),
        (&["up", "--set", "a b=1"], "`a b` cannot be the name of a setting"),
        (&["up", "--set", "work_mem"], "it has no `=`"),
        (&["up", "--set", "work_mem="], "one side of the `=` is empty"),
        (
            &["up", "--pg", "18", "--bundle", "--set", "shared_buffers=900TB"],
            "shared_buffers = 900TB is more than",
        ),
        (&["up", "--pg", "18", "--bundle", "--set", "shared_buffers=lots"], "is not an amount of memory"),
        (&["up", "--cpus", "3-1"], "the range `3-1` is descending"),
        (&["up", "--pg", "18", "--bundle", "--cpus", "4000"], "processor 4000 is not one"),
        (&["up", "--run-as", "no-such-user"], "there is no user `no-such-user`"),
        (&["up", "--tablespace", "pg_x=/tmp/x"], "`pg_x` cannot be the name of a tablespace"),
        (&["up", "--tablespace", "x=/tmp/it's"], "a tablespace cannot lie in /tmp/it's"),
        (&["up", "--clients", "0"], "--clients"),
        (&["up", "--clients", "-1"], "-1"),
        (&["up", "--start-limit", "0"], "--start-limit"),
        (&["up", "--pg", "18", "--bundle", "--listen", "203.0.113.1"], "cannot listen on 203.0.113.1"),
        (&["up", "--lisen", "x"], "--listen"),
        (&["down"], "<NAMES"),
        (&["down", "nobody"], "there is no server `nobody`"),
        (&["down", "../x"], "cannot be the name of a server"),
        (&["ps", "extra"], "unexpected argument"),
        (&["selftest", "extra"], "unexpected argument"),
        (&["selftest", "--jsno"], "--json"),
    ] {
        let said = place.refused(args, 2);
        assert!(said.contains(words), "pgdyno {args:?} says\n{said}");
        assert!(!said.contains("panicked"), "{said}");
    }
    assert_eq!(place.ps(), Vec::<Value>::new());
    assert_eq!(fs::read_dir(place.path("state/servers")).map(Iterator::count).unwrap_or(0), 0);
}

#[test]
fn a_server_that_does_not_come_up_says_why_and_leaves_nothing() {
    let place = Place::new();
    for pg in [OLDEST, "18"] {
        for (setting, words) in [
            ("no_such_setting=1", "refuses the setting no_such_setting: "),
            ("shared_preload_libraries=no_such_library", "error: could not start the server: "),
        ] {
            let said = place.refused(&["up", "--pg", pg, "--bundle", "--set", setting], 2);
            assert!(said.contains(words) && said.contains("no_such_"), "{said}");
            assert!(!place.path("state/servers/main").exists());
        }
    }
    assert_eq!(place.ps(), Vec::<Value>::new());
}

#[test]
fn two_at_once_share_one_fetch() {
    let place = Place::with_empty_cache();
    thread::scope(|scope| {
        for name in ["a", "b"] {
            let place = &place;
            scope.spawn(move || place.done(&["up", name, "--pg", OLDEST, "--bundle"]));
        }
    });
    assert_eq!(place.ps().len(), 2);
    let mut names: Vec<String> = fs::read_dir(place.path("cache/bundles"))
        .expect("it is there")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, [OLDEST_VERSION.to_owned(), format!("{OLDEST_VERSION}.lock")]);
    what_runs_is_never_freed(&place);
}

/// `clean --yes` frees what is stopped, with a leftover of a crash, and nothing that runs.
fn what_runs_is_never_freed(place: &Place) {
    place.done(&["down", "b"]);
    fs::create_dir(place.path("state/servers/leftover")).expect("it can be made");
    let said = place.done(&["clean"]);
    assert!(said.contains("nothing was changed") && place.ps().len() == 2, "{said}");
    let said = place.done(&["clean", "--yes"]);
    assert!(said.contains("stays: server `a` uses it"), "{said}");
    assert_eq!(word(&place.only(), "status"), "running");
    let mut elsewhere = place.command(&["clean", "--yes"]);
    let elsewhere = elsewhere.env("PGDYNO_STATE", place.path("other")).output().expect("pgdyno can be run");
    assert!(text(&elsewhere.stdout).contains("runs from it"), "{}", text(&elsewhere.stdout));
    assert_eq!(connect(&place.only()).0, b'R');
    assert!(!place.path("state/servers/leftover").exists());
    place.done(&["down", "a"]);
    place.done(&["clean", "--yes"]);
    assert_eq!(place.ps(), Vec::<Value>::new());
    assert!(!place.path(&format!("cache/bundles/{OLDEST_VERSION}")).exists());
}

#[test]
fn two_of_one_name_become_one_server() {
    let place = Place::new();
    let said: Vec<String> = thread::scope(|scope| {
        let ups: Vec<_> =
            (0..2).map(|_| scope.spawn(|| place.done(&["up", "one", "--pg", "18", "--bundle"]))).collect();
        ups.into_iter().map(|up| up.join().expect("it does not panic")).collect()
    });
    assert_eq!(said.iter().filter(|said| said.contains("was already running")).count(), 1, "{said:?}");
    let pid = place.only()["pid"].as_u64();
    let strangers =
        |pid: &u64| processes_of(&place.path("state")).iter().filter(|p| u64::from(**p) != *pid).count();
    // A child looks like the server until it has its own title.
    wait_until("there is one server", || pid.as_ref().map(strangers) == Some(0));
}

#[test]
fn without_network_and_cache_there_is_a_way_out() {
    let place = Place::with_empty_cache();
    let mut up = place.command(&["up", "--pg", OLDEST, "--bundle"]);
    for name in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"] {
        up.env(name, "http://127.0.0.1:1");
    }
    let output = up.env_remove("NO_PROXY").env_remove("no_proxy").output().expect("pgdyno can be run");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("is neither installed nor cached, and could not be fetched"), "{said}");
    assert!(said.contains("--bindir"), "{said}");
    assert!(!place.path("state/servers/main").exists());
}

/// A kill of pgdyno at any instant leaves no server that `ps` does not show and `down` does not stop.
fn killed_ups_leave_nothing_hidden(kills: u32) {
    let place = Place::with_initdb();
    place.done(&["up", "--pg", "18", "--bundle"]);
    place.done(&["down", "main", "--remove"]);
    let mut seed = std::process::id();
    println!("seed {seed}");
    for round in 0..kills {
        // A linear congruential step: instants over the two seconds that an `up` takes.
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let wait = Duration::from_millis(u64::from(seed >> 16) % 2200);
        let mut up = place.command(&["up", "--pg", "18", "--bundle"]);
        let mut up = up.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("pgdyno can be run");
        thread::sleep(wait);
        up.kill().expect("it is ours");
        up.wait().expect("it can be collected");
        everything_is_shown(&place, &format!("round {round}, killed after {wait:?}"));
        place.done(&["down", "--all"]);
        wait_until("nothing works on the data", || processes_of(&place.path("state")).is_empty());
    }
    place.done(&["up", "--pg", "18", "--bundle"]);
    assert_eq!(word(&place.only(), "status"), "running");
}

#[test]
#[ignore = "takes long: `cargo xtask test-all` runs it"]
fn many_killed_ups_leave_nothing_hidden() {
    killed_ups_leave_nothing_hidden(12);
}

/// What still works on the data is a server that `ps` shows, or ends by itself (`initdb` is stopped by the kernel).
fn everything_is_shown(place: &Place, when: &str) {
    wait_until(when, || {
        let shown: Vec<u64> = place.ps().iter().filter_map(|server| server["pid"].as_u64()).collect();
        processes_of(&place.path("state")).iter().all(|pid| shown.contains(&u64::from(*pid)))
    });
}

/// Tests that `cargo test` leaves out and `.ci/run` runs.
mod long {
    use super::*;

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_killed_up_leaves_nothing_hidden() {
        killed_ups_leave_nothing_hidden(4);
    }
}
