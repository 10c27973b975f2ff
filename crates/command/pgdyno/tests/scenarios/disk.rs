//! Storage and the clock: measured, recorded, compared, and refused where that is impossible.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

use pgdyno_core::{
    disk::{CellCost, Disk, DiskWork, io::IoEnd, sync::SyncVerdict},
    results::{ComparedRate, Verdict},
};
use pgdyno_disk::layer::{Behaviour, Injection, Mount, mount};
use pgdyno_record::{Found, Run, Status};
use testkit::left_out;

use crate::common::{Place, kill, text, wait_until};

/// What the operations of a run found on storage, in their order.
fn disks(run: &Run) -> Vec<&Disk> {
    let found = run.record.operations.iter().map(|operation| &operation.found);
    found.filter_map(|found| if let Found::Disk(of) = found { Some(of) } else { None }).collect()
}

fn only(place: &Place) -> Run {
    let mut runs = place.runs();
    assert_eq!(runs.len(), 1);
    runs.remove(0)
}

/// A directory for measurements, which must be empty again at the end.
fn directory(place: &Place, name: &str) -> PathBuf {
    let dir = place.path(name);
    fs::create_dir(&dir).expect("it is writable");
    dir
}

fn is_empty(dir: &Path) {
    assert_eq!(fs::read_dir(dir).expect("it is there").count(), 0, "{}", dir.display());
}

#[test]
fn syncs_reads_costs_and_the_clock_are_recorded() {
    let place = Place::new();
    let dir = directory(&place, "a");
    let path = dir.to_str().expect("UTF-8");
    let shown = place.done(&["disk", "sync", path, "-T", "20ms", "--writers", "2", "--states"]);
    assert!(shown.contains("wal_sync_method = "), "{shown}");
    place.done(&["disk", "io", path, "--may-buffer", "--size", "4MB", "-T", "200ms", "--ramp", "10ms"]);
    let shown = place.done(&["disk", "costs", path, "--size", "4MB", "-T", "500ms", "--blocks", "1"]);
    assert!(shown.contains("random_page_cost"), "{shown}");
    place.done(&["disk", "clock", "-T", "50ms"]);
    is_empty(&dir);
    let mut runs = place.runs();
    runs.sort_by(|a, b| a.record.started_at.cmp(&b.record.started_at));
    let names: Vec<&str> = runs.iter().map(|run| run.record.operations[0].name.as_str()).collect();
    assert_eq!(names, ["disk sync", "disk io", "disk costs", "disk clock"]);
    for run in &runs {
        assert_eq!(run.record.status, Status::Complete);
        assert_eq!(run.record.plan.server, "none");
        assert!(run.path.join("report.html").is_file());
    }
    let [Disk::Sync(sync)] = disks(&runs[0])[..] else { panic!("{:?}", runs[0].record.operations) };
    let measured = sync.tests.iter().filter_map(|test| test.timing.as_ref());
    assert!(measured.clone().count() >= 18 && measured.clone().all(|timing| timing.rate_per_s > 0.0));
    let [Disk::Io(io)] = disks(&runs[1])[..] else { panic!("{:?}", runs[1].record.operations) };
    assert!(io.reads.as_ref().is_some_and(|reads| reads.count > 0) && io.writes.is_none());
    let [Disk::Costs(costs)] = disks(&runs[2])[..] else { panic!("{:?}", runs[2].record.operations) };
    assert!(costs.costs.iter().all(|of| of.random_page_cost > 0.0) && costs.saturation.is_some());
    let shown = place.done(&["show", "last", "--full"]);
    assert!(shown.contains("EXPLAIN ANALYZE"), "{shown}");
}

#[test]
fn a_plan_of_directories_starts_no_server_and_shows_them_side_by_side() {
    let place = Place::new();
    let (a, b) = (directory(&place, "a"), directory(&place, "b"));
    let figures = "format = 1\n[[figure]]\nname = \"pg_test_fsync.one_8kb.fdatasync\"\nunit = \"1/s\"\nstorage = \
                   \"theirs\"\nvalue = 6087\n";
    fs::write(place.path("published.toml"), figures).expect("it is writable");
    let plan = format!(
        "name = \"two\"\nreference = \"published.toml\"\n[data]\nscale = \"none\"\n[[stage]]\ndo = \"disk clock\"\n\
         interval = \"20ms\"\n[[stage]]\ndo = \"disk sync\"\ndirs = [{:?}, {:?}]\ninterval = \"10ms\"\n[[stage]]\n\
         do = \"disk io\"\ndirs = [{:?}, {:?}]\nfile_size = \"4MB\"\ninterval = \"100ms\"\n",
        a, b, a, b
    );
    fs::write(place.path("two.toml"), plan).expect("it is writable");
    let shown = place.done(&["run", "two.toml", "--full"]);
    for words in ["STORAGE SIDE BY SIDE", "theirs (published)", "6,087"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let run = only(&place);
    assert_eq!((disks(&run).len(), run.record.subjects[0].server.is_none()), (5, true));
    assert!(run.record.observers.is_some());
    is_empty(&a);
    is_empty(&b);
}

#[test]
fn a_workload_has_its_share_of_the_disk_that_was_measured() {
    let place = Place::new();
    let plan = "name = \"share\"\n[storage.declared.mine]\niops = 1000\nprice_per_hour = 2.5\ncurrency = \"EUR\"\n\
                [server]\npg = \"18\"\nbundle = true\n[data]\nscale = 1\n[[stage]]\ndo = \"load\"\n\
                [[stage]]\ndo = \"disk io\"\npreset = \"checkpoint\"\nfile_size = \"16MB\"\ninterval = \"300ms\"\n\
                [[stage]]\ndo = \"drive\"\n[measure]\nclients = [2]\nduration = \"2s\"\nwarmup = \"100ms\"\n\
                blocks = 1\n[[workload]]\nscript = \"tpcb-like\"\n";
    fs::write(place.path("share.toml"), plan).expect("it is writable");
    let shown = place.done(&["run", "share.toml", "--full"]);
    let run = only(&place);
    let [Disk::Io(io)] = disks(&run)[..] else { panic!("{:?}", run.record.operations) };
    if io.devices.is_empty() {
        return left_out("there is no block device below the file system");
    }
    let writes = run.record.disk_shares.iter().find(|of| of.work == DiskWork::WrittenBytes);
    let writes = writes.unwrap_or_else(|| panic!("{:?}", run.record.disk_shares));
    assert!(writes.measured_per_s > 0.0 && writes.used_per_s > 0.0, "{writes:?}");
    assert_eq!(writes.share, writes.used_per_s / writes.measured_per_s);
    let [declared] = &run.record.nominal_shares[..] else { panic!("{:?}", run.record.nominal_shares) };
    assert_eq!((declared.declared_per_s, declared.measured_per_s), (1_000.0, io.rate_per_s()));
    let [cost] = &run.record.costs[..] else { panic!("{:?}", run.record.costs) };
    assert_eq!(CellCost::per_million(2.5, run.record.cells[0].tps.value), Some(cost.per_million));
    for words in ["SHARE OF THE MEASURED DISK", "DECLARED STORAGE", "EUR"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
}

/// A directory behind `pgdyno disk delay`, which unmounts it when it ends.
struct Delayed(Option<Child>);

impl Delayed {
    /// `None` where FUSE cannot be mounted.
    fn mount(place: &Place, dir: &Path, at: &Path, by: &str) -> Option<Self> {
        let args = ["disk", "delay", dir.to_str()?, at.to_str()?, "--by", by, "--of", "syncs"];
        let mut command = place.command(&args);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it can be run");
        let mut ended = false;
        wait_until("the directory is mounted", || {
            ended = child.try_wait().expect("it is our child").is_some();
            ended || mounted_at(at)
        });
        if ended {
            left_out("FUSE cannot be mounted");
            return None;
        }
        Some(Self(Some(child)))
    }

    fn end(&mut self) -> Option<Output> {
        let child = self.0.take()?;
        kill(u64::from(child.id()), "-INT");
        Some(child.wait_with_output().expect("it ends"))
    }

    fn unmount(mut self) -> String {
        let output = self.end().expect("it is mounted");
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    }
}

/// A test that fails leaves no mount behind.
impl Drop for Delayed {
    fn drop(&mut self) {
        self.end();
    }
}

fn mounted_at(at: &Path) -> bool {
    let mounts = fs::read_to_string("/proc/self/mounts").expect("it can be read");
    mounts.lines().any(|line| line.split_whitespace().nth(1) == at.to_str())
}

#[test]
fn the_slower_of_two_directories_is_found() {
    let place = Place::new();
    let (a, slow, at) = (directory(&place, "a"), directory(&place, "slow"), directory(&place, "at"));
    let Some(delayed) = Delayed::mount(&place, &slow, &at, "20ms") else { return };
    let [of_a, of_b] = [&a, &at].map(|dir| dir.to_str().expect("UTF-8"));
    let args = ["ab", "--dir", of_a, "--dir", of_b, "--blocks", "8", "-T", "200ms"];
    let shown = place.done(&args);
    let passed = delayed.unmount();
    assert!(passed.contains("syncs passed through"), "{passed}");
    assert!(!mounted_at(&at));
    let run = only(&place);
    let comparison = run.record.comparison.as_ref().expect("it is one");
    assert_eq!(comparison.by, ComparedRate::Syncs);
    let result = comparison.result.as_ref().expect("there are 8 blocks");
    assert!(matches!(result.verdict, Verdict::Slower), "{shown}");
    assert!(shown.contains("writes of 8 KiB with fdatasync"), "{shown}");
    is_empty(&a);
}

fn suspicious(place: &Place, output: &Output) {
    let run = only(place);
    let [Disk::Sync(sync)] = disks(&run)[..] else { panic!("{:?}", run.record.operations) };
    assert_eq!(sync.judgement.verdict, SyncVerdict::Suspicious, "{:?}", sync.judgement);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert_eq!(run.record.operations[0].passed, Some(false));
}

#[test]
fn a_directory_in_memory_is_suspicious() {
    let place = Place::new();
    let memory = tempfile::tempdir_in("/dev/shm").expect("it is writable");
    let path = memory.path().to_str().expect("UTF-8");
    let output = place.run(&["disk", "sync", path, "-T", "20ms"]);
    if text(&output.stderr).contains("free space") {
        return left_out("/dev/shm is too small");
    }
    suspicious(&place, &output);
    is_empty(memory.path());
}

/// A layer over a directory whose reads fail after this many.
fn failing(place: &Place, reads: u64) -> Option<(Mount, PathBuf)> {
    let (dir, at) = (directory(place, "below"), directory(place, "failing"));
    let failing = Injection { fails_after: Some(reads), ..Injection::default() };
    match mount(&dir, &at, Behaviour { reads: failing, ..Behaviour::default() }) {
        Ok(mounted) => Some((mounted, at)),
        Err(problem) => {
            left_out(&problem.to_string());
            None
        }
    }
}

/// Measures reads that end with an error, and finds them in the record up to it.
fn ends_with_an_error(place: &Place, path: &Path) {
    let path = path.to_str().expect("UTF-8");
    let output = place.run(&["disk", "io", path, "--size", "64MB", "-T", "20s", "--ramp", "1ms"]);
    let said = text(&output.stderr);
    assert!(!output.status.success() && said.contains("Input/output error"), "{said}");
    let run = only(place);
    assert_eq!(run.record.status, Status::Stopped);
    let [Disk::Io(io)] = disks(&run)[..] else { panic!("{:?}", run.record.operations) };
    assert!(
        matches!(&io.ended, IoEnd::Failed { why } if why.contains("Input/output error")),
        "{:?}",
        io.ended
    );
    assert!(io.reads.as_ref().is_some_and(|reads| reads.count > 100) && io.duration_s < 20.0);
    assert!(run.path.join("report.html").is_file());
}

#[test]
fn what_was_measured_before_a_disk_failed_is_kept() {
    let place = Place::new();
    let Some((mounted, at)) = failing(&place, 3_000) else { return };
    ends_with_an_error(&place, &at);
    drop(mounted);
    is_empty(&place.path("below"));
}

/// A loop device, detached when it is dropped.
struct Loop(PathBuf);

impl Loop {
    /// `None` where none can be made.
    fn of(file: &Path) -> Option<Self> {
        let output = Command::new("losetup").args(["--find", "--show"]).arg(file).output();
        match output {
            Ok(output) if output.status.success() => Some(Self(text(&output.stdout).trim().into())),
            _ => {
                left_out("there is no loop device");
                None
            }
        }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.0).status();
    }
}

#[test]
fn a_raw_device_is_only_read_and_may_fail() {
    let place = Place::new();
    let Some((mounted, at)) = failing(&place, 3_000) else { return };
    let below = place.path("below").join("disk");
    // Large enough that most reads miss the page cache, in which the file behind the device is kept.
    let contents: Vec<u8> = (0..64_u32 << 20).map(|at| at as u8 ^ (at >> 9) as u8).collect();
    fs::write(&below, &contents).expect("it is writable");
    if let Some(device) = Loop::of(&at.join("disk")) {
        let path = device.0.to_str().expect("UTF-8");
        let output = place.run(&["disk", "io", path, "--pattern", "randwrite", "--size", "64MB"]);
        assert!(
            !output.status.success() && text(&output.stderr).contains("only read"),
            "{}",
            text(&output.stderr)
        );
        ends_with_an_error(&place, &device.0);
    }
    drop(mounted);
    assert!(fs::read(&below).expect("it is there") == contents, "the device was written to");
}

#[test]
fn what_cannot_be_measured_is_refused_in_a_sentence() {
    let place = Place::new();
    let dir = directory(&place, "a");
    fs::write(dir.join("file"), "x").expect("it is writable");
    let file = dir.join("file");
    let [dir, file] = [&dir, &file].map(|path| path.to_str().expect("UTF-8"));
    for (args, words) in [
        (vec!["disk", "sync", "/nowhere/at/all"], "/nowhere/at/all"),
        (vec!["disk", "sync", file], "directory"),
        (vec!["disk", "io", "/nowhere/at/all"], "/nowhere/at/all"),
        (vec!["disk", "io", dir, "--size", "900000TB"], "of free space"),
        (vec!["disk", "io", dir, "--block", "3kB"], "a block is a multiple of 512 bytes"),
        (vec!["disk", "io", dir, "--preset", "olap"], "it is one of articles"),
        (vec!["disk", "io", dir, "--preset", "wal", "--pattern", "read"], "cannot be used with"),
        (vec!["disk", "sync", dir, "--declared", "/nowhere.toml"], "could not read the file /nowhere.toml"),
        (vec!["disk", "delay", dir, dir, "--times", "0.5"], "from 1"),
        (vec!["ab", "--dir", dir, "--pg", "18"], "nothing to compare"),
        (vec!["ab", "dir=/x", "pg=18"], "could not compare a directory with a server"),
        (vec!["ab", "--dir", "/x", "--dir", "/y", "--by", "tps"], "could not compare directories"),
        (vec!["ab", "--dir", "/x", "--dir", "/y", "--clients", "4"], "without a server"),
        (vec!["ab", "--by", "reads", "--pg", "17", "--pg", "18"], "no directory is named"),
    ] {
        let output = place.run(&args);
        let said = text(&output.stderr);
        assert!(matches!(output.status.code(), Some(2 | 3)), "{args:?}: {said}");
        assert!(said.contains(words), "{args:?}: {said}");
    }
    assert_eq!(place.runs().len(), 0);
}

mod alone {
    use super::*;

    #[test]
    #[ignore = "must run alone: others' flushes hide that there is none; `cargo xtask test-all` runs it"]
    fn a_layer_that_drops_syncs_is_suspicious() {
        let place = Place::new();
        let (dir, at) = (directory(&place, "dir"), directory(&place, "at"));
        let behaviour = Behaviour { drops_syncs: true, ..Behaviour::default() };
        let mounted = match mount(&dir, &at, behaviour) {
            Ok(mounted) => mounted,
            Err(problem) => return left_out(&problem.to_string()),
        };
        let path = at.to_str().expect("UTF-8");
        let output = place.run(&["disk", "sync", path, "-T", "200ms"]);
        drop(mounted);
        suspicious(&place, &output);
    }
}
