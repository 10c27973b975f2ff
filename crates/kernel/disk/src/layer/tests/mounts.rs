//! Mounting and unmounting.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use pgdyno_core::problem::ProblemKind;
use rustix::{fs::OFlags, process::geteuid};

use super::{can_mount, directory, layered, open};
use crate::layer::{Behaviour, Delay, Injection, Mount, mount};

/// Type and source of the file system at a path, by the kernel.
fn mounted(at: &Path) -> Option<(String, String)> {
    let mounts = fs::read_to_string("/proc/self/mounts").expect("Linux has it");
    let of = |line: &str| {
        let mut fields = line.split(' ').map(str::to_owned);
        let (source, at, kind) = (fields.next()?, fields.next()?, fields.next()?);
        Some((at, (kind, source)))
    };
    mounts.lines().filter_map(of).find(|(path, _)| Path::new(path) == at).map(|(_, found)| found)
}

#[test]
fn a_mount_names_its_source_and_ends_when_it_is_dropped() {
    if !can_mount() {
        return;
    }
    let layered = layered(Behaviour::default());
    let at = layered.mount.at().to_owned();
    let source = layered.source.display().to_string();
    assert_eq!(mounted(&at), Some(("fuse.pgdyno".into(), source)));
    drop(layered.mount);
    assert_eq!(mounted(&at), None);
}

#[test]
fn a_mount_in_use_stays_until_it_is_not() {
    if !can_mount() {
        return;
    }
    let mut layered = layered(Behaviour::default());
    let file = open(&layered.path("file"), OFlags::empty());
    let problem = layered.mount.unmount().expect_err("a file is open");
    assert!(problem.what.contains(&layered.mount.at().display().to_string()), "{problem:?}");
    fs::write(layered.path("other"), "text").expect("it is still mounted");
    drop(file);
    layered.mount.unmount().expect("nobody uses it");
    layered.mount.unmount().expect("it does nothing");
    assert_eq!(mounted(layered.mount.at()), None);
    assert_eq!(fs::read_to_string(layered.source.join("other")).expect("it was written"), "text");
}

#[test]
fn a_mount_in_use_is_dropped_out_of_sight() {
    if !can_mount() {
        return;
    }
    let layered = layered(Behaviour::default());
    let at = layered.mount.at().to_owned();
    let file = open(&layered.path("file"), OFlags::empty());
    drop(layered.mount);
    assert_eq!(mounted(&at), None);
    file.sync_all().expect("what is open is usable");
}

fn refused(source: &Path, at: &Path) -> (ProblemKind, String) {
    let problem = mount(source, at, Behaviour::default()).map(drop).expect_err("it is refused");
    (problem.kind, problem.what)
}

#[test]
fn a_failed_mount_is_reported() {
    if !can_mount() {
        return;
    }
    let dir = directory();
    let [source, at, full] = ["source", "at", "source/full"].map(|name| dir.path().join(name));
    fs::create_dir_all(full.join("something")).expect("it is new");
    fs::create_dir(&at).expect("it is new");
    for place in [&source, &full, &full.join("something")] {
        assert_eq!(refused(&source, place).0, ProblemKind::WrongRequest, "{}", place.display());
    }
    let (kind, what) = refused(&full, &source);
    assert!(kind == ProblemKind::WrongRequest && what.contains("not empty"), "{what}");
    let (_, what) = refused(&dir.path().join("nowhere"), &at);
    assert!(what.contains("nowhere") && what.contains("No such file"), "{what}");
    let reads = Injection { delay: Delay::Fixed(Duration::from_secs(61)), ..Injection::default() };
    let problem = mount(&source, &at, Behaviour { reads, ..Behaviour::default() }).map(drop);
    assert!(problem.is_err_and(|problem| problem.what.contains("reads")));
}

/// Names the directories of the process that [`a_stale_mount_is_named_with_the_way_out`] kills.
const KILLED: &str = "PGDYNO_LAYER_TEST_KILLED";

/// Mounts a layer and waits to be killed.
#[test]
#[ignore = "started by another test"]
fn a_process_that_is_killed() {
    // With all ignored tests it is started without its directory.
    let Ok(dir) = std::env::var(KILLED) else { return };
    let dir = Path::new(&dir);
    let _mount: Mount = mount(&dir.join("source"), &dir.join("at"), Behaviour::default()).expect("it mounts");
    println!("\nmounted");
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
fn a_stale_mount_is_named_with_the_way_out() {
    if !can_mount() {
        return;
    }
    let dir = directory();
    let [source, at] = ["source", "at"].map(|name| dir.path().join(name));
    fs::create_dir(&source).and_then(|()| fs::create_dir(&at)).expect("they are new");
    let mut child = Command::new(std::env::current_exe().expect("it runs"))
        .args(["--exact", "layer::tests::mounts::a_process_that_is_killed", "--ignored", "--nocapture"])
        .env(KILLED, dir.path())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it is this program");
    let mut lines = BufReader::new(child.stdout.take().expect("it is a pipe")).lines();
    assert!(lines.any(|line| line.is_ok_and(|line| line == "mounted")));
    child.kill().and_then(|()| child.wait()).expect("it is ours");
    let problem = mount(&source, &at, Behaviour::default()).map(drop).expect_err("it is stale");
    let [program, flag] = if geteuid().is_root() { ["umount", "-l"] } else { ["fusermount3", "-u"] };
    let way_out = format!("`{program} {flag} {}`", at.display());
    assert!(problem.hint.as_deref().is_some_and(|hint| hint.contains(&way_out)), "{problem:?}");
    let status = Command::new(program).arg(flag).arg(&at).status().expect("it is installed");
    assert!(status.success());
    assert!(mount(&source, &at, Behaviour::default()).is_ok());
}
