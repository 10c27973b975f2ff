//! The null target: how many attempts per second and core the engine records.

use std::process::Command;

use pgdyno_analysis::compare::bar::{Bar, Ratio};
use pgdyno_core::units;

use super::{Tally, build_example};
use crate::{Failure, workspace::output};

/// Minimum number of attempts per second of CPU time.
const LEAST_PER_S: f64 = 5e6;

/// Runs the example `runs` times.
pub fn run(runs: u32, tally: &mut Tally) -> Result<(), Failure> {
    let program = build_example("pgdyno-engine", "null")?;
    let mut rates = Vec::new();
    for _ in 0..runs {
        rates.push(output(Command::new(&program).arg("3"))?.trim().parse::<f64>()?);
    }
    let (least, most) = rates.iter().fold((f64::MAX, 0_f64), |(a, b), &rate| (a.min(rate), b.max(rate)));
    println!(
        "\nnull target, {runs} runs of 3 s: {} to {} attempts/s/core",
        units::rate(least),
        units::rate(most)
    );
    let ratio = Ratio::from_pairs(rates.into_iter().map(|rate| (rate, LEAST_PER_S)))?;
    tally.judge("attempts/s/core over 5 million", &ratio, Some(Bar::AtLeast(1.0)));
    Ok(())
}
