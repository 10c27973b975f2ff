//! `pgdyno tpcc check`.

use std::process::ExitCode;

use clap::ArgAction;
use pgdyno_core::{problem::Problem, tpcc::DERIVED, units};
use pgdyno_postgres::verify::{CONDITIONS, Consistency, Violation, check_tpcc};

use crate::{
    args::target::{Target, processors},
    exit::Exit,
    interrupt, output,
    progress::Progress,
};

/// Most violations printed per condition.
const MAX_PLACES: usize = 3;

/// Flags of `pgdyno tpcc check`.
#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    after_help = "Reads every row of the nine tables in one REPEATABLE READ snapshot, and changes nothing. Exit \
    status 1 means that a condition does not hold. The conditions are those of clause 3.3.2 and five more, listed in \
    docs/tpcc.md. A transaction that is missing completely violates none of them.\n\n\
    Examples:\n  \
    pgdyno tpcc check --server main\n  \
    pgdyno tpcc check --dsn 'host=db user=me dbname=tpcc' --jobs 8"
)]
pub struct Check {
    #[command(flatten)]
    target: Target,
    /// Parallel sessions [default: the number of CPUs, at most 8]
    #[arg(short, long, value_name = "J", value_parser = clap::value_parser!(u64).range(1..=1000), help_heading = "How")]
    jobs: Option<u64>,
    /// Print help
    #[arg(long, action = ArgAction::Help, help_heading = "How")]
    help: Option<bool>,
}

impl Check {
    /// Checks the tables and prints the result.
    ///
    /// # Errors
    /// The problem to print.
    pub fn run(&self) -> Result<ExitCode, Problem> {
        let options = self.target.resolve("could not check TPC-C's tables")?;
        let stop = interrupt::on_interrupt_saying(
            "stopping (Ctrl-C again to exit immediately)",
            "exited immediately",
        );
        let jobs = self.jobs.unwrap_or_else(|| processors().min(8));
        let progress = Progress::new();
        progress.stage("checking consistency");
        let checked = check_tpcc(&options, jobs, &stop, &mut |done, all| {
            progress.say(format!("checking consistency: {done} of {}", units::plural(all, "part")));
        });
        progress.finish();
        let checked = checked?;
        output::print(&result(&checked))?;
        Ok(Exit::of_check(checked.violations.is_empty()).into())
    }
}

/// Lists every condition with its violations.
fn result(checked: &Consistency) -> String {
    let Consistency { warehouses, rows_examined, violations, duration_s } = checked;
    let mut text = String::new();
    for condition in CONDITIONS {
        let broken = violations.iter().find(|violation| violation.condition == condition);
        let holds = broken.map_or_else(|| "holds".to_owned(), broken_in);
        text += &format!("  {:<9} {:<76} {holds}\n", condition.name, condition.words);
        text += &broken.map(places).unwrap_or_default();
    }
    let (rows, seconds) = (units::count(*rows_examined), units::duration(*duration_s));
    let of = format!("{rows} rows of {}", units::plural(*warehouses, "warehouse"));
    text += &match violations.len() {
        0 => format!("consistent: {of} in one snapshot ({seconds})\n"),
        1 => format!("not consistent: one condition does not hold; {of} in one snapshot ({seconds})\n"),
        n => format!("not consistent: {n} conditions do not hold; {of} in one snapshot ({seconds})\n"),
    };
    text + DERIVED + "\n"
}

fn broken_in(violation: &Violation) -> String {
    format!("BROKEN in {}", units::plural(violation.count, "place"))
}

fn places(violation: &Violation) -> String {
    let shown: Vec<_> =
        violation.places.iter().take(MAX_PLACES).map(|place| format!("    ! {place}\n")).collect();
    let left = violation.count.saturating_sub(shown.len() as u64);
    let more = if left > 0 { format!("    ! and {} more\n", units::count(left)) } else { String::new() };
    shown.concat() + &more
}
