//! `bench-disk`: storage and the clock by pgdyno and by the programs that people know, alternately: pg_test_fsync
//! (`syncs`), fio (`at_depth`), pg_test_timing (`clock`). The first program of a pair changes from pair to pair.

mod at_depth;
mod clock;
pub mod flags;
mod found;
mod results;
mod syncs;

use std::{fs, process::Command};

use pgdyno_analysis::compare::bar::Bar;

use self::{flags::Args, results::Results};
use super::{alone::Alone, build_example, build_pgdyno, write_file};
use crate::{Failure, workspace::output};

/// What the file driver executes at least.
const NOP: Alone = Alone {
    what: "empty operations by io_uring, 3 s each",
    label: "operations/s/core over 1 million",
    unit: 1e6,
    bar: Bar::AtLeast(1.0),
    words: |rate| format!("{rate:.0} per second of CPU time"),
};
const NOP_RUNS: u32 = 3;

/// Measures everything in every directory; returns false if a bar is missed.
///
/// # Errors
/// The first problem, such as a program that is not installed.
pub fn run(args: &Args) -> Result<bool, Failure> {
    let pgdyno = build_pgdyno()?;
    let at_depth = build_example("pgdyno-disk", "at_depth")?;
    let mut results = Results::default();
    for dir in &args.dirs {
        let dir = fs::canonicalize(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
        if args.wants("syncs") {
            syncs::run(args, &pgdyno, &dir, &mut results)?;
        }
        if args.wants("at-depth") {
            at_depth::run(args, &at_depth, &dir, &mut results)?;
        }
        write_file(args.csv.as_deref(), &results.csv)?;
    }
    if args.wants("clock") {
        clock::run(args, &pgdyno, &mut results)?;
    }
    if args.wants("nop") {
        let rate = |_| Ok(output(Command::new(&at_depth).args(["nop", "3"]))?.trim().parse()?);
        NOP.run(NOP_RUNS, rate, &mut results.tally)?;
    }
    write_file(args.csv.as_deref(), &results.csv)?;
    Ok(results.tally.conclude())
}
