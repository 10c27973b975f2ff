//! Synchronous writes, against pg_test_fsync.

use std::path::Path;

use pgdyno_analysis::compare::bar::Bar;
use pgdyno_core::units;
use serde_json::Value;

use super::{flags::Args, found::found, results::Results};
use crate::{Failure, workspace::output};

/// Rates agree within this share.
const BAR: Bar = Bar::Within(0.10);

pub(super) fn run(args: &Args, pgdyno: &Path, dir: &Path, results: &mut Results) -> Result<(), Failure> {
    println!("\nsyncs in {}, {} pairs: pgdyno over pg_test_fsync", dir.display(), args.pairs);
    let theirs = || {
        let file = tempfile::NamedTempFile::new_in(dir)?;
        let seconds = args.sync_seconds.to_string();
        let mut command = args.program("pg_test_fsync");
        Ok(peer_rates(&output(command.args(["-s", &seconds, "-f"]).arg(file.path()))?))
    };
    let mut names = Vec::new();
    let ours = || {
        let (seconds, dir) = (format!("{}s", args.sync_seconds), dir.to_string_lossy());
        let rates = own_rates(&found(pgdyno, &["sync", &dir, "-T", &seconds])?);
        names = rates.iter().map(|(name, _)| name.clone()).collect();
        Ok(rates.into_iter().map(|(_, rate)| rate).collect::<Vec<f64>>())
    };
    let pairs = args.alternate(ours, theirs)?;
    if pairs.iter().any(|(own, other)| own.len() != other.len()) {
        return Err("pg_test_fsync and pgdyno have different tests".into());
    }
    for (test, name) in names.iter().enumerate() {
        let of_test: Vec<_> = pairs.iter().map(|(own, other)| (Some(own[test]), Some(other[test]))).collect();
        results.add(&format!("{}: {name}", dir.display()), "ops/s", &of_test, Some(BAR));
    }
    Ok(())
}

/// Operations per second of each test, in its order.
fn peer_rates(text: &str) -> Vec<f64> {
    let rate = |line: &str| line.split_once(" ops/sec")?.0.split_whitespace().last()?.parse().ok();
    text.lines().filter_map(rate).collect()
}

/// Names and operations per second of each test that was executed, in the same order.
fn own_rates(found: &Value) -> Vec<(String, f64)> {
    let tests = found["sync"]["tests"].as_array();
    let rate = |test: &Value| Some((name(test), test["timing"]["rate_per_s"].as_f64()?));
    tests.into_iter().flatten().filter_map(rate).collect()
}

/// The fields that distinguish a test from others.
fn name(test: &Value) -> String {
    let word = |key: &str| test[key].as_str().map(str::to_owned);
    let writes = test["writes"]
        .as_u64()
        .map(|count| format!("{} of {} bytes", units::plural(count, "write"), test["write_bytes"]));
    let parts = [word("test").filter(|test| test != "method"), word("method"), writes];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rates_of_pg_test_fsync_are_read() {
        let text = "5 seconds per test\n\nCompare file sync methods using one 8kB write:\n\
                    \x20       open_datasync                       843.527 ops/sec    1186 usecs/op\n\
                    \x20       fsync_writethrough                              n/a\n\
                    Non-sync'ed 8kB writes:\n        write        1049112.042 ops/sec       1 usecs/op\n";
        assert_eq!(peer_rates(text), [843.527, 1_049_112.042]);
    }

    #[test]
    fn tests_that_were_executed_are_named() {
        let timing = json!({ "rate_per_s": 12.5 });
        let tests = json!({ "sync": { "tests": [
            { "test": "method", "method": "fsync", "writes": 2, "write_bytes": 8192, "timing": timing },
            { "test": "method", "method": "fsync_writethrough", "writes": 1, "write_bytes": 8192, "timing": null },
            { "test": "write", "write_bytes": 8192, "timing": timing },
        ] } });
        let named = |name: &str| (name.to_owned(), 12.5);
        assert_eq!(own_rates(&tests), [named("fsync, 2 writes of 8192 bytes"), named("write")]);
    }
}
