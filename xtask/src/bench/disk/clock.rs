//! A timer call, against pg_test_timing.

use std::path::Path;

use pgdyno_analysis::compare::bar::Bar;

use super::{flags::Args, found::found, results::Results};
use crate::{Failure, workspace::output};

/// Times per loop agree within this share.
const BAR: Bar = Bar::Within(0.10);

pub(super) fn run(args: &Args, pgdyno: &Path, results: &mut Results) -> Result<(), Failure> {
    println!("\nthe clock, {} pairs: pgdyno over pg_test_timing", args.pairs);
    let theirs = || Ok(peer_ns(&output(args.program("pg_test_timing").args(["-d", "3"]))?));
    let ours = || Ok(found(pgdyno, &["clock", "-T", "3s"])?["clock"]["per_loop_ns"].as_f64());
    results.add("clock", "ns/loop", &args.alternate(ours, theirs)?, Some(BAR));
    Ok(())
}

/// "Per loop time including overhead" in nanoseconds; from version 19 on "Average loop time".
fn peer_ns(text: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.contains("loop time including overhead"))?;
    line.split_whitespace().rev().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_pg_test_timing_is_read() {
        let text = "Testing timing overhead for 3 seconds.\nPer loop time including overhead: 35.96 ns\n";
        assert_eq!(peer_ns(text), Some(35.96));
        assert_eq!(peer_ns("Average loop time including overhead: 13.54 ns\n"), Some(13.54));
        assert_eq!(peer_ns("no such line"), None);
    }
}
