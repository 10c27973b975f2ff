//! What other users of the machine see of servers, what a record shows to those who read it, and damage that is
//! reported or repaired.

use std::{
    fs,
    os::unix::{
        fs::{MetadataExt, PermissionsExt, symlink},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use crate::common::{Place, am_root, text, tiny, wait_until, word};

const SECRET: &str = "s3cret-4711";

/// Everything below a directory that others than its owner may read, write or enter.
fn open_to_others(dir: &Path) -> Vec<PathBuf> {
    let mut open = Vec::new();
    for entry in fs::read_dir(dir).expect("it is there").flatten() {
        let metadata = fs::symlink_metadata(entry.path()).expect("it is there");
        // A socket lies in a directory that its owner alone can enter.
        if metadata.is_file() && metadata.mode() & 0o077 != 0
            || metadata.is_dir() && metadata.mode() & 0o067 != 0
        {
            open.push(entry.path());
        }
        if metadata.is_dir() {
            open.extend(open_to_others(&entry.path()));
        }
    }
    open
}

/// Whether a user who is nobody here can read a file.
fn stranger_reads(path: &Path) -> bool {
    let mut cat = Command::new("cat");
    cat.arg(path).uid(4_000_000).gid(4_000_000).current_dir("/").stdout(Stdio::null()).stderr(Stdio::null());
    cat.status().expect("cat can be run").success()
}

#[test]
fn a_server_and_its_secrets_are_its_owners_alone() {
    let place = Place::new();
    let conninfo = format!("primary_conninfo=host=db.example password={SECRET}");
    place.done(&["up", "-c", &conninfo]);
    let home = place.path("state/servers/main");
    assert_eq!(open_to_others(&place.path("state/servers")), Vec::<PathBuf>::new());
    assert!(fs::read_to_string(home.join("pgdyno.conf")).expect("it is there").contains(SECRET));
    let said = [place.done(&["up", "-v"]), place.done(&["ps", "--json"])].concat();
    assert!(said.contains("***") && !said.contains(SECRET), "{said}");
    // As older versions left it.
    let set =
        |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
    set(&home, 0o755);
    for name in ["server.json", "pgdyno.conf", "pg_hba.conf", "server.log", "lock"] {
        set(&home.join(name), 0o644);
        assert!(!am_root() || stranger_reads(&home.join(name)), "{name}");
    }
    place.done(&["up"]);
    assert_eq!(open_to_others(&place.path("state/servers")), Vec::<PathBuf>::new());
    for name in ["server.json", "pgdyno.conf", "lock", "password"] {
        assert!(!am_root() || !stranger_reads(&home.join(name)), "{name}");
    }
    // It continues, and can be stopped and started.
    assert_eq!(word(&place.only(), "status"), "running");
    place.done(&["down", "main"]);
    place.done(&["up"]);
    assert_eq!(word(&place.only(), "status"), "running");
}

#[test]
fn a_lock_is_not_made_through_a_link() {
    let place = Place::new();
    let elsewhere = place.path("elsewhere");
    fs::create_dir(&elsewhere).expect("it can be made");
    fs::create_dir_all(place.path("state/servers")).expect("it can be made");
    symlink(&elsewhere, place.path("state/servers/x")).expect("a link can be made");
    let locks = place.path("no-cache/builds/locks");
    fs::create_dir_all(&locks).expect("it can be made");
    fs::create_dir_all(place.path("no-cache/builds/work/aa")).expect("it can be made");
    symlink(elsewhere.join("made"), locks.join("aa")).expect("a link can be made");
    let with_cache = |args: &[&str]| {
        let mut command = place.command(args);
        command.env("PGDYNO_CACHE", place.path("no-cache")).output().expect("pgdyno can be run")
    };
    for args in [&["ps"][..], &["builds"], &["clean"], &["clean", "--yes"], &["up", "x"]] {
        with_cache(args);
        assert_eq!(fs::read_dir(&elsewhere).expect("it stays").count(), 0, "{args:?}");
    }
    assert!(!place.path("state/servers/x").is_symlink(), "the link itself is a leftover");
}

/// Whether any file under a directory holds a text.
fn holds(dir: &Path, secret: &str) -> bool {
    let files = fs::read_dir(dir).expect("it is there").flatten();
    files.map(|file| file.path()).any(|path| match path.is_dir() {
        true => holds(&path, secret),
        false => text(&fs::read(path).unwrap_or_default()).contains(secret),
    })
}

#[test]
fn secrets_of_settings_reach_neither_record_nor_report() {
    let place = Place::new();
    let conninfo = format!("primary_conninfo=host=db.example password={SECRET}");
    let archive = format!("archive_command=: {SECRET}; false");
    let own = format!("--set=my.password={SECRET} {SECRET}");
    let uri = format!("my.uri=postgres://bob:{SECRET}@db/x");
    let sets: [&str; 9] =
        ["--set", &conninfo, "--set", "archive_mode=on", "--set", &archive, &own, "--set", &uri];
    let output = place.run(&tiny(&[&sets[..], &["--out", "report.md"]].concat()));
    let said = [text(&output.stdout), text(&output.stderr)].concat();
    assert!(output.status.success() && !said.contains(SECRET), "{said}");
    assert!(!holds(&place.path("runs"), SECRET));
    assert!(!fs::read_to_string(place.path("report.md")).expect("it is there").contains(SECRET));
    let run = place.only_run();
    assert!(run.record.command.contains("'archive_command=***'"), "{}", run.record.command);
    assert!(
        run.record.choices.iter().any(|choice| choice.name == "my.uri" && choice.value.contains("***@db/x"))
    );
}

#[test]
fn a_setting_that_the_server_refuses_is_a_wrong_request() {
    let place = Place::new();
    for (setting, words) in [
        ("work_mem=99XB", "refuses the setting work_mem: invalid value"),
        ("no_such_setting=1", "refuses the setting no_such_setting: unrecognized"),
        ("random_page_cost=-7", "refuses the setting random_page_cost: -7 is outside the valid range"),
        ("wal_level=minimal", "wal_level"),
        ("shared_preload_libraries=no_such_library", "no_such_library"),
    ] {
        let said = place.refused(&["up", "-c", setting], 2);
        assert!(said.lines().any(|line| line.starts_with("error: ") && line.contains(words)), "{said}");
        assert!(said.contains("hint: correct or remove the setting (--set"), "{said}");
        // Errors that only the start can show come after the cluster is created.
        assert_eq!(said.contains("making a cluster"), !words.starts_with("refuses"), "{said}");
        assert!(!place.path("state/servers/main").exists(), "{setting}");
    }
    place.done(&["up"]);
    place.done(&["down", "main"]);
    place.refused(&["up", "-c", "work_mem=99XB"], 2);
    place.done(&["up", "-c", "work_mem=5MB"]);
    let long = place.refused(&["up", "y", "-c", &format!("work_mem={}", "x".repeat(40 << 10))], 2);
    assert!(long.len() < 8_000, "{} bytes", long.len());
}

#[test]
fn a_broken_server_json_says_what_to_do_and_keeps_nobody_up() {
    let place = Place::new();
    place.done(&["up", "good"]);
    let broken = place.path("state/servers/broken");
    fs::create_dir(&broken).expect("it can be made");
    fs::write(broken.join("server.json"), "{\"format\": 1, \"name\": ").expect("it can be written");
    for args in [&["ps"][..], &["clean"], &["down", "--all"], &["up", "broken"]] {
        let output = place.run(args);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{args:?} {said}");
        let words = ["could not understand", "servers/broken/server.json", "to give the server up, remove"];
        assert!(words.iter().all(|words| said.contains(words)), "{args:?} {said}");
    }
    assert_eq!(place.run(&["clean", "--yes"]).status.code(), Some(3));
    assert!(broken.join("server.json").exists() && !place.path("state/servers/good").exists());
    fs::remove_dir_all(&broken).expect("it is ours");
    assert!(place.ps().is_empty());
}

/// pgdyno with a separate cache and no network.
fn cut_off(place: &Place, args: &[&str]) -> Output {
    let mut command = place.command(args);
    for name in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"] {
        command.env(name, "http://127.0.0.1:1");
    }
    command.env_remove("NO_PROXY").env_remove("no_proxy").output().expect("pgdyno can be run")
}

/// Tests that `cargo test` leaves out and `.ci/run` runs.
mod long {
    use super::*;

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_damaged_bundle_heals_or_says_what_is_wrong() {
        let place = Place::with_empty_cache();
        let bundle = crate::builds::bundle();
        let cached = place.path("cache/bundles").join(bundle.file_name().expect("it has a name"));
        fs::create_dir_all(place.path("cache/bundles")).expect("it can be made");
        let copied = Command::new("cp").arg("-a").arg(bundle).arg(&cached).status();
        assert!(copied.expect("cp can be run").success());
        let up = ["up", "--pg", "18", "--bundle"];
        // What is pinned of it heals it without a network.
        for gone in ["archive.sha256", "files.json"] {
            fs::remove_file(cached.join(gone)).expect("it is there");
            let output = cut_off(&place, &up);
            assert!(output.status.success(), "{gone}: {}", text(&output.stderr));
            assert!(!text(&output.stdout).contains("not tested"), "{}", text(&output.stdout));
            place.done(&["down", "main", "--remove"]);
            assert!(cached.join(gone).is_file());
        }
        let program = fs::read(cached.join("bin/postgres")).expect("it is there");
        fs::write(cached.join("bin/postgres"), &program[..program.len() / 2]).expect("it can be written");
        let output = cut_off(&place, &up);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{said}");
        for words in ["in the cache is damaged", "bin/postgres has ", "hint: run once with a network"] {
            assert!(said.contains(words), "{said}");
        }
        assert!(!place.path("state/servers/main").exists());
        wait_until("nothing is left", || place.ps().is_empty());
    }
}
