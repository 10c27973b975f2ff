//! Measurements of this machine: rates next to those of pg_test_fsync, which runs alternately, and the verdict.
//!
//! `PGDYNO_DISK_DIR` names the directory, `PGDYNO_DISK_ROUNDS` how often each is asked.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use pgdyno_core::stop::Stop;
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::{SyncRequest, measure};

/// Tests with a rate on Linux.
const TESTS: usize = 16;

fn pg_test_fsync() -> PathBuf {
    let installed = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let programs = installed.map(|version| version.path().join("bin/pg_test_fsync"));
    programs.filter(|path| path.exists()).max().unwrap_or_else(|| PathBuf::from("pg_test_fsync"))
}

/// Operations per second of each test, in its order.
fn theirs(dir: &Path) -> Vec<f64> {
    let file = dir.join("pg_test_fsync.out");
    let run = Command::new(pg_test_fsync()).args(["-s", "1", "-f"]).arg(file).env("LC_ALL", "C").output();
    let text = String::from_utf8(run.expect("it is installed").stdout).expect("it is ASCII");
    let rate = |line: &str| line.split_once(" ops/sec")?.0.split_whitespace().last()?.parse().ok();
    text.lines().filter_map(rate).collect()
}

/// Names and operations per second of each test.
fn ours(dir: &Path) -> Vec<(String, f64)> {
    let request = SyncRequest { test_duration: Duration::from_secs(1), bulk: false, ..SyncRequest::new(dir) };
    let report = measure(&request, &Stop::default(), &mut |_| ()).expect("it can be measured");
    let rate = |test: &pgdyno_core::disk::sync::SyncTest| {
        Some((test.action.label(), test.timing.as_ref()?.rate_per_s))
    };
    report.tests.iter().filter_map(rate).collect()
}

/// Mean and half-width of the 95 % confidence interval.
fn interval(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let t = StudentsT::new(0.0, 1.0, n - 1.0).expect("there are several rounds").inverse_cdf(0.975);
    (mean, t * (variance / n).sqrt())
}

#[test]
#[ignore = "measures"]
fn rates_are_those_of_pg_test_fsync() {
    if Command::new(pg_test_fsync()).arg("--version").output().is_err() {
        return println!("left out: pg_test_fsync is not installed");
    }
    let place = env::var("PGDYNO_DISK_DIR").unwrap_or_else(|_| "/var/tmp".to_owned());
    let rounds = env::var("PGDYNO_DISK_ROUNDS").map_or(6, |rounds| rounds.parse().expect("a number"));
    let dir = tempfile::tempdir_in(place).expect("a directory");
    let (mut names, mut logs) = (Vec::new(), vec![Vec::new(); TESTS]);
    let mut rates = vec![Vec::new(); TESTS];
    for round in 0..rounds {
        let first = (round % 2 == 0).then(|| theirs(dir.path()));
        let own = ours(dir.path());
        let other = first.unwrap_or_else(|| theirs(dir.path()));
        assert_eq!((own.len(), other.len()), (TESTS, TESTS));
        names = own.iter().map(|(name, _)| name.clone()).collect();
        for (test, ((_, own), other)) in own.into_iter().zip(other).enumerate() {
            logs[test].push((own / other).ln());
            rates[test].push((own, other));
        }
    }
    println!("{:<30} {:>12} {:>14}  ratio [95 %]", "test", "pgdyno 1/s", "pg_test_fsync");
    for (test, name) in names.iter().enumerate() {
        let (mean, half) = interval(&logs[test]);
        let median = |of: fn(&(f64, f64)) -> f64| {
            let mut all: Vec<f64> = rates[test].iter().map(of).collect();
            all.sort_by(f64::total_cmp);
            all[all.len() / 2]
        };
        let (own, other) = (median(|rates| rates.0), median(|rates| rates.1));
        let [low, ratio, high] = [mean - half, mean, mean + half].map(f64::exp);
        println!("{name:<30} {own:>12.1} {other:>14.1}  {ratio:.3} [{low:.3}, {high:.3}]");
    }
}

/// The verdict on `PGDYNO_DISK_DIR` is `PGDYNO_DISK_VERDICT` (`plausible`).
#[test]
#[ignore = "measures"]
fn a_directory_is_judged() {
    let dir = env::var("PGDYNO_DISK_DIR").unwrap_or_else(|_| "/var/tmp".to_owned());
    let request = SyncRequest { test_duration: Duration::from_millis(500), ..SyncRequest::new(&dir) };
    let report = measure(&request, &Stop::default(), &mut |_| ()).expect("it can be measured");
    println!("{:?} {:?}\n{:#?}", report.place.kind, report.place.devices, report.judgement);
    for test in &report.tests {
        let rate_per_s = test.timing.as_ref().map(|timing| timing.rate_per_s);
        println!(
            "{:<30} {rate_per_s:?} direct {:?} {:?}",
            test.action.label(),
            test.direct,
            test.unavailable
        );
    }
    println!("booked {:?}\nbulk {:?}", report.booked, report.bulk);
    let verdict = serde_json::to_value(report.judgement.verdict).expect("it is a word");
    let expected = env::var("PGDYNO_DISK_VERDICT").unwrap_or_else(|_| "plausible".to_owned());
    assert_eq!(verdict, expected.as_str());
}
