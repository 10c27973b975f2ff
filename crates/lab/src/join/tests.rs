//! Files of another machine are added to recorded runs, with a known offset between their times.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use flate2::{Compression, write::GzEncoder};
use pgdyno_core::{
    observe::{
        ClockSample, CpuSample, CpuShares, DeviceSample, HostSample, LogEvent, LogSample, Observed,
        ObserverCost, Place, ProcessSample, Role, RoleSample, ServerIdentity, What,
    },
    problem::ProblemKind,
    results::DoubtKind,
};
use pgdyno_record::{
    Amendment, JoinedRecord, LogReport, OBSERVER_FORMAT, OBSERVER_VERSION, ObservedServer, ObserverFile,
    ObserverHeader, Run, RunRecord, Status, ToolRecord, open,
};
use testkit::fixtures;

use crate::join::{Joined, join};

/// Seconds since 1970 of the server's clock when the run began.
const RUN_BEGAN_S: f64 = 1_790_000_000.0;
/// Seconds by which the file was begun before the run.
const EARLIER_S: f64 = 100.25;
/// The clock of the run's machine is so far behind the server's, that of the server's machine not at all.
const BEHIND_S: f64 = 3.5;

/// What observing cost there.
const COST: ObserverCost = ObserverCost { cpus: 0.004, server_cpus: Some(0.001) };

fn server(started_unix_us: i64) -> ServerIdentity {
    ServerIdentity { system_identifier: Some("7398".to_owned()), started_unix_us }
}

fn line(at_s: f64, over_s: f64, what: What) -> Observed {
    Observed { at_s, over_s, subject: None, machine: None, what }
}

/// A reading at a time of a reader whose zero is at this time of the server's clock.
fn clock(zero_unix_s: f64, at_s: f64, ahead_s: f64) -> Observed {
    let sample = ClockSample {
        read_at_s: at_s,
        server_unix_s: zero_unix_s + at_s,
        uncertainty_s: 0.0005,
        ahead_s,
        server: server(1_000_000),
    };
    line(at_s, 0.0, What::Clock(sample))
}

/// The share of user time that the server's machine has in the second of the server's clock with this number.
fn user(second: i64) -> f64 {
    (second * 37).rem_euclid(100) as f64 / 200.0
}

/// The lines of a second of the file.
fn second(at: i64) -> Vec<Observed> {
    let shares = CpuShares { user: user(at), ..CpuShares::default() };
    let cpus = (0..8).map(|cpu| CpuSample { cpu, shares }).collect();
    let host = HostSample { all: shares, cpus, ..HostSample::default() };
    let device = DeviceSample {
        device: "sda".to_owned(),
        places: vec![Place::Data, Place::Wal],
        written_bytes_per_s: 1e6,
        ..DeviceSample::default()
    };
    let role = RoleSample {
        role: Role::Client,
        processes: 16,
        cpus: user(at) * 8.0,
        busiest_cpus: 1.0,
        run_delay: None,
        asked_read_bytes_per_s: None,
        asked_written_bytes_per_s: None,
        device_read_bytes_per_s: None,
        device_written_bytes_per_s: None,
        stuck: 0.0,
        throttled: None,
    };
    let processes = ProcessSample { roles: vec![role], ..ProcessSample::default() };
    let all = [
        What::Host(Box::new(host)),
        What::Devices { devices: vec![device] },
        What::Processes(processes),
        // What only the run has does not come from a file.
        What::Progress { commands: Vec::new() },
    ];
    all.map(|what| line(at as f64, 1.0, what)).into()
}

/// A run and a file in a directory.
struct Planted {
    place: tempfile::TempDir,
    file: PathBuf,
    run: PathBuf,
    run_s: f64,
}

impl Planted {
    fn new() -> Self {
        Self::with(|_| {}, |lines| lines)
    }

    /// With another run, and with other lines in the file.
    fn with(
        change: impl FnOnce(&mut fixtures::Fixture),
        lines: impl FnOnce(Vec<Observed>) -> Vec<Observed>,
    ) -> Self {
        let place = tempfile::tempdir().expect("there is room");
        let mut fixture = fixtures::complete();
        let ends = fixture.record.stages.iter().map(|stage| stage.start_s + stage.duration_s);
        let run_s = ends.fold(0.0, f64::max);
        fixture.record.doubts.clear();
        let is_of_host = |line: &Observed| matches!(line.what, What::Host(_));
        fixture.observations.retain(is_of_host);
        let at = |nth: u32| clock(RUN_BEGAN_S, f64::from(nth) * 10.0, BEHIND_S);
        fixture.observations.extend((0..(run_s / 10.0) as u32).map(at));
        fixture.observations.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
        change(&mut fixture);
        let run = fixture.write(place.path()).expect("it is written");
        let seconds = (run_s + 2.0 * EARLIER_S) as i64;
        let mut all: Vec<Observed> = (1..seconds).flat_map(second).collect();
        all.extend((0..seconds / 10).map(|nth| clock(RUN_BEGAN_S - EARLIER_S, nth as f64 * 10.0, 0.0)));
        let checkpoint = LogEvent::CheckpointEnded {
            buffers: 7,
            write_s: 1.0,
            sync_s: 0.0,
            total_s: 1.0,
            longest_sync_s: None,
        };
        let sample = LogSample { pid: None, event: checkpoint, message: "checkpoint complete".to_owned() };
        all.push(line(fixture.record.runs[0].start_s + 2.0 + EARLIER_S, 0.0, What::Log(sample)));
        all.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
        all.push(line(seconds as f64, seconds as f64, What::Cost(COST)));
        let file = place.path().join("db1.ndjson");
        write(&file, &header(), &lines(all));
        Self { place, file, run, run_s }
    }

    fn joined(&self) -> Joined {
        join(&self.file, &self.run).unwrap_or_else(|problem| panic!("{problem:?}"))
    }

    /// It is refused with these words, and nothing is changed.
    fn refused(&self, words: &str) {
        let before = self.bytes();
        let problem = join(&self.file, &self.run).expect_err(words);
        assert!(problem.what.contains(words) && problem.hint.is_some(), "{words}: {problem:?}");
        assert_eq!(before, self.bytes(), "{words}");
    }

    fn bytes(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let entries = fs::read_dir(&self.run).expect("it is there");
        let read = |entry: fs::DirEntry| (entry.path(), fs::read(entry.path()).expect("it can be read"));
        let mut all: Vec<_> = entries.map(|entry| read(entry.expect("an entry"))).collect();
        all.sort();
        all
    }
}

fn header() -> ObserverHeader {
    ObserverHeader {
        format: OBSERVER_FORMAT.to_owned(),
        version: OBSERVER_VERSION,
        tool: ToolRecord { version: "0.1.0".to_owned(), commit: "unknown".to_owned() },
        machine: "db1".to_owned(),
        boot_id: "b".to_owned(),
        clock_source: Some("tsc".to_owned()),
        started_at: "2026-11-20T10:13:21Z".to_owned(),
        server: ObservedServer { version_num: 180_000, port: 5432, identity: server(1_000_000) },
        log: Some(LogReport { silent: vec!["log_lock_waits = off".to_owned()], is_foreign: false }),
    }
}

fn write(path: &Path, header: &ObserverHeader, lines: &[Observed]) {
    let mut text = serde_json::to_string(header).expect("plain data") + "\n";
    for line in lines {
        text += &(serde_json::to_string(line).expect("plain data") + "\n");
    }
    fs::write(path, text).expect("it can be written");
}

fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("it is in memory");
    encoder.finish().expect("it is in memory")
}

fn of_machine(run: &Run) -> Vec<Observed> {
    let mut lines = run.observations().expect("it can be read").items;
    assert!(lines.windows(2).all(|two| two[0].at_s <= two[1].at_s), "they are in the order of time");
    lines.retain(|line| line.machine.is_some());
    lines
}

/// The mean share of user time between two times of the run, by hand: from the server's seconds.
fn user_by_hand(from_s: f64, to_s: f64) -> f64 {
    let part = |second: i64| {
        let end_s = second as f64 - EARLIER_S;
        (end_s.min(to_s) - (end_s - 1.0).max(from_s)).max(0.0) * user(second)
    };
    (1..2_000).map(part).sum::<f64>() / (to_s - from_s)
}

#[test]
fn what_was_seen_elsewhere_becomes_a_part_of_the_run() {
    let planted = Planted::new();
    let before = open(&planted.run).expect("it can be read");
    let joined = planted.joined();
    let run = open(&planted.run).expect("it can be read");
    let unsealed = |record: &RunRecord| RunRecord { seal: None, ..record.clone() };
    assert_eq!(unsealed(&run.record), unsealed(&joined.record));
    assert!(run.record.doubts.iter().all(|doubt| doubt.kind != DoubtKind::Edited), "{:?}", run.record.doubts);
    let lines = of_machine(&run);
    assert!(lines.iter().all(|line| line.machine.as_deref() == Some("db1") && line.subject.is_none()));
    assert!(lines.iter().all(|line| line.at_s <= planted.run_s && line.at_s - line.over_s >= -1e-9));
    let hosts = lines.iter().filter(|line| matches!(line.what, What::Host(_)));
    let covered_s: f64 = hosts.map(|line| line.over_s).sum();
    assert!((covered_s - planted.run_s).abs() < 1e-3, "{covered_s} {}", planted.run_s);
    assert!(lines.iter().all(|line| !matches!(line.what, What::Progress { .. } | What::Clock(_))));
    let own = |run: &Run| {
        run.observations().expect("it can be read").items.into_iter().filter(|l| l.machine.is_none()).count()
    };
    assert_eq!(own(&run), own(&before), "its own lines stay");

    for (index, of) in run.record.runs.iter().enumerate() {
        let digest = of.observed.as_deref().expect("it has one");
        let [host] = digest.server_hosts.as_slice() else { panic!("one machine: {digest:?}") };
        let by_hand = user_by_hand(of.start_s, of.start_s + of.duration_ns as f64 / 1e9);
        assert!((host.host.all.user - by_hand).abs() < 1e-3, "{} {by_hand}", host.host.all.user);
        assert_eq!((host.machine.as_str(), host.cpus), ("db1", 8));
        let device = digest.devices.iter().find(|of| of.machine.is_some()).expect("it is there");
        assert!((device.mean.written_bytes_per_s - 1e6).abs() < 1.0);
        let server = &digest.servers[0];
        // The first one has a checkpoint; without it the counters of the fixture say 1.
        assert_eq!(
            server.checkpoints,
            before.record.runs[index]
                .observed
                .as_ref()
                .map_or(Some(u64::from(index == 0)), |of| of.servers[0].checkpoints)
        );
    }
    assert!(run.record.stages.iter().all(|stage| stage.observed.is_some()));
    its_entry_has_the_clocks(&run.record.joined, planted.run_s);
    assert_eq!(joined.digests, [run.record.runs.len() as u64, run.record.stages.len() as u64]);
}

fn its_entry_has_the_clocks(joined: &[JoinedRecord], run_s: f64) {
    let [entry] = joined else { panic!("one file: {joined:?}") };
    assert_eq!(
        (entry.file.as_str(), entry.machine.as_str(), entry.subject.as_str()),
        ("db1.ndjson", "db1", "server")
    );
    assert!(entry.from_s < 1e-3 && (entry.to_s - run_s).abs() < 1e-3, "{entry:?}");
    assert_eq!(entry.cost, Some(COST));
    let clocks = entry.clocks;
    assert!(
        (clocks.shift_s + EARLIER_S).abs() < 1e-3 && (clocks.ahead_s - BEHIND_S).abs() < 1e-9,
        "{clocks:?}"
    );
    assert!(
        clocks.uncertainty_s >= 0.001 && clocks.uncertainty_s < 0.02 && clocks.drift_ppm.abs() < 1.0,
        "{clocks:?}"
    );
}

#[test]
fn a_file_is_joined_once() {
    let planted = Planted::new();
    planted.joined();
    planted.refused("it was joined before");
    let other = planted.place.path().join("copy.ndjson");
    let text = fs::read_to_string(&planted.file).expect("it is text");
    fs::write(&other, text.replace("\"tsc\"", "\"hpet\"")).expect("it can be written");
    let again = Planted { file: other, ..planted };
    again.refused("another file has the same machine at the same time");
}

/// A kill after the observations were exchanged leaves a run that reads well, and to which the file can be joined.
#[test]
fn a_join_that_was_killed_can_be_repeated() {
    let planted = Planted::new();
    let run = open(&planted.run).expect("it can be read");
    let half: Vec<Observed> = (200..230)
        .flat_map(second)
        .map(|line| Observed { at_s: line.at_s - EARLIER_S, machine: Some("db1".to_owned()), ..line })
        .collect();
    let amendment = Amendment::begin(&planted.run).expect("nobody writes");
    amendment.merge(&run.record, &|_| true, &mut half.into_iter().map(Ok)).expect("it is merged");
    drop(amendment);
    let left = open(&planted.run).expect("it can be read");
    assert!(
        left.record.doubts.iter().all(|doubt| doubt.kind != DoubtKind::Edited),
        "{:?}",
        left.record.doubts
    );
    assert_eq!(of_machine(&left).len(), 120);
    planted.joined();
    let whole = Planted::new();
    whole.joined();
    let count = |planted: &Planted| of_machine(&open(&planted.run).expect("it can be read")).len();
    assert_eq!(count(&planted), count(&whole));
}

#[test]
fn a_compressed_file_and_a_torn_one_are_joined() {
    let planted = Planted::new();
    let bytes = fs::read(&planted.file).expect("it can be read");
    fs::write(&planted.file, compressed(&bytes)).expect("it can be written");
    let lines = planted.joined().entry().expect("it is there").lines;
    let torn = Planted::new();
    fs::write(&torn.file, &bytes[..bytes.len() / 2]).expect("it can be written");
    let joined = torn.joined();
    let entry = joined.entry().expect("it is there");
    assert!(entry.lines < lines && entry.to_s < torn.run_s - 2.0 && entry.cost.is_none(), "{entry:?}");
    let gaps = of_machine(&open(&torn.run).expect("it can be read"));
    let gap = gaps.iter().find_map(|line| match &line.what {
        What::Gap { missing, why } => Some((missing.clone(), why.clone(), line.over_s)),
        _ => None,
    });
    let (missing, why, over_s) = gap.expect("it is recorded");
    assert_eq!((missing.as_str(), why.as_str()), ("host db1", "`pgdyno observe` ended before there"));
    assert!((over_s - (torn.run_s - entry.to_s)).abs() < 1e-6);
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let all = |lines: Vec<Observed>| lines;
    let with_server = |change: &dyn Fn(&mut ServerIdentity)| {
        let planted = Planted::new();
        let mut header = header();
        change(&mut header.server.identity);
        let mut lines = ObserverFile::open(&planted.file).expect("it is one").lines().expect("it has some");
        let lines: Vec<Observed> = lines
            .by_ref()
            .map(|line| line.expect("it can be read"))
            .map(|mut line| {
                if let What::Clock(sample) = &mut line.what {
                    change(&mut sample.server);
                }
                line
            })
            .collect();
        write(&planted.file, &header, &lines);
        planted
    };
    with_server(&|of| of.system_identifier = Some("1".to_owned())).refused("it is of another server");
    with_server(&|of| of.started_unix_us = 5).refused("it is of another start of the server");
    let unread = |fixture: &mut fixtures::Fixture| {
        fixture.observations.retain(|line| !matches!(line.what, What::Clock(_)));
    };
    Planted::with(unread, all).refused("the run did not read the server's clock");
    let local = |fixture: &mut fixtures::Fixture| {
        fixture.observations.push(line(5.0, 1.0, What::Processes(ProcessSample::default())));
    };
    Planted::with(local, all).refused("the run had observed the machine of `server` itself");
    let without_clock = |mut lines: Vec<Observed>| {
        lines.retain(|line| !matches!(line.what, What::Clock(_)));
        lines
    };
    Planted::with(|_| {}, without_clock).refused("the file has no reading of the server's clock");
    let of_yesterday = |mut lines: Vec<Observed>| {
        each_clock(&mut lines, |_, sample| sample.server_unix_s -= 86_400.0);
        lines
    };
    Planted::with(|_| {}, of_yesterday).refused("it is of another time");
    let set_back = |mut lines: Vec<Observed>| {
        each_clock(&mut lines, |at_s, sample| sample.server_unix_s -= if at_s > 150.0 { 20.0 } else { 0.0 });
        lines
    };
    Planted::with(|_| {}, set_back).refused("the server's clock was set during the run");
    let set = |fixture: &mut fixtures::Fixture| {
        each_clock(&mut fixture.observations, |at_s, sample| {
            sample.server_unix_s += if at_s > 50.0 { 9.0 } else { 0.0 }
        });
    };
    Planted::with(set, all).refused("the server's clock was set during the run");
}

fn each_clock(lines: &mut [Observed], change: impl Fn(f64, &mut ClockSample)) {
    for line in lines {
        if let What::Clock(sample) = &mut line.what {
            change(line.at_s, sample);
        }
    }
}

#[test]
fn a_damaged_file_or_run_is_refused() {
    let planted = Planted::new();
    let bytes = fs::read(&planted.file).expect("it can be read");
    let written = |bytes: &[u8]| fs::write(&planted.file, bytes).expect("it can be written");
    let whole = compressed(&bytes);
    written(&whole[..whole.len() - 100]);
    planted.refused("could not read");
    written(b"{\"at_s\":1}\n");
    planted.refused("its first line is no header of `pgdyno observe`");
    let text = String::from_utf8(bytes.clone()).expect("it is text");
    written(text.replacen("\"version\":1,", "\"version\":2,", 1).as_bytes());
    planted.refused("it has format version 2; this pgdyno reads 1");
    written(text.replacen("\"of\":\"processes\"", "\"of\":\"process", 1).as_bytes());
    planted.refused("line 5");
    written(&bytes);
    let edited = fs::read_to_string(planted.run.join("run.json")).expect("it is text");
    fs::write(planted.run.join("run.json"), edited.replacen("\"jobs\": ", "\"jobs\": 1", 1))
        .expect("it can be written");
    planted.refused("the run was edited after it was recorded");
    let partial = Planted::with(|fixture| fixture.record.status = Status::Partial, |lines| lines);
    partial.refused("the run has not ended");
    let missing = join(Path::new("/nowhere.ndjson"), &planted.run).expect_err("there is none");
    assert_eq!(missing.kind, ProblemKind::CouldNotComplete);
}

/// Nothing but readings says how well times are known.
#[test]
fn slow_round_trips_make_times_uncertain() {
    let slow = |mut lines: Vec<Observed>| {
        each_clock(&mut lines, |_, sample| sample.uncertainty_s = 1.4);
        lines
    };
    let joined = Planted::with(|_| {}, slow).joined();
    let uncertainty_s = joined.entry().map_or(0.0, |entry| entry.clocks.uncertainty_s);
    assert!(
        (1.4..1.5).contains(&uncertainty_s) && uncertainty_s > joined.line_s,
        "{uncertainty_s} {}",
        joined.line_s
    );
}
