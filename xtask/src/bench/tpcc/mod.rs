//! `bench-tpcc`: pgdyno's TPC-C and go-tpc alternately on one server: `loads`, then transactions in `runs`; then the
//! cost of pacing terminals.

mod loads;
mod runs;

use pgdyno_analysis::compare::bar::Bar;

pub use self::loads::Args;
use self::runs::Race;
use super::{Tally, alone::Alone, loading::Ring};
use crate::Failure;

/// The driver's CPU use for terminals that keep their pace, with a server that does nothing.
const PACE: Alone = Alone {
    what: "10,000 terminals at their pace",
    label: "CPUs of the driver",
    unit: 1.0,
    bar: Bar::AtMost(0.2),
    words: |cpus| format!("{cpus:.3} CPUs of the driver"),
};

/// Alternates loads, then runs, then measures pacing; returns false if a bar is missed.
///
/// # Errors
/// The first problem.
pub fn run(args: &Args) -> Result<bool, Failure> {
    let pgdyno = args.loads.pgdyno()?;
    let mut tally = Tally::default();
    if args.wants("load") {
        let mut ring = Ring::new(args.server()?, &pgdyno, &args.loads)?;
        args.compare_loads(&mut ring, &mut tally)?;
    }
    if args.wants("run") {
        let race = Race { args, own: &args.server()?, pgdyno: &pgdyno, dir: &tempfile::tempdir()? };
        race.load()?;
        args.terminals.iter().try_for_each(|terminals| race.run(*terminals, &mut tally))?;
    }
    if args.wants("pace") {
        PACE.run(args.runs, args.pacing()?, &mut tally)?;
    }
    Ok(tally.conclude())
}
