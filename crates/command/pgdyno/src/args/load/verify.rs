//! `pgdyno load verify`.

use std::process::ExitCode;

use clap::ArgAction;
use pgdyno_core::{problem::Problem, stop::Stop, units};
use pgdyno_lab::{
    operation::{On, OperationJob, UnderWay},
    records,
};
use pgdyno_postgres::load::{BulkLoad, Proof};
use pgdyno_postgres::probe::{Structure, check_structure};
use pgdyno_record::{Found, VerificationRecord};
use pgdyno_rows::load::{LoadPlan, Remains, Set};
use pgdyno_wire::ConnectOptions;

use super::{flags::To, outcome::judged};
use crate::{
    args::{detach::Detach, recorded},
    context::Context,
    detach::Detachment,
    exit::Exit,
    interrupt, operate,
    progress::Progress,
};

/// Flags of `pgdyno load verify`.
#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    mut_arg("no_record", |flag| flag.conflicts_with("detach")),
    after_help = "Exit status 1 means that the tables differ; each difference is printed. Tables that a benchmark \
    wrote to differ in their balances."
)]
pub struct Verify {
    #[command(flatten)]
    to: To,
    /// Scale factor, where the tables were loaded by another program
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000_000),
          help_heading = "What")]
    scale: Option<u64>,
    /// Also check the structure of tables and indexes, by the extension amcheck (PostgreSQL 10 and newer)
    #[arg(long, help_heading = "What")]
    amcheck: bool,
    /// Create the extension amcheck if the database lacks it
    #[arg(long, requires = "amcheck", help_heading = "How")]
    create_extension: bool,
    #[command(flatten, next_help_heading = "How")]
    detach: Detach,
    /// Print help
    #[arg(long, action = ArgAction::Help, help_heading = "How")]
    help: Option<bool>,
}

/// Why tables that were loaded some time ago may differ.
const WRITTEN: &str = "hint: tables that were driven are not as they were loaded; `pgdyno tpcc check` looks at \
                       those of TPC-C, and every run of pgdyno at what it wrote\n";

/// Runs `pgdyno load verify`.
///
/// # Errors
/// What the user should read.
pub fn run(args: &Verify, context: &Context) -> Result<ExitCode, Problem> {
    let options = args.to.resolve("could not prove a load")?;
    let (stop, progress) = (stopping_to_look(), Progress::new());
    let mut bulk = BulkLoad::new(&options, args.to.streams(), &stop)?;
    let job = OperationJob {
        name: "verify",
        description: "Compares loaded tables with what they must hold".to_owned(),
        command: recorded::of_process(),
        on: On::Server(&options),
        connections: args.to.streams(),
        copies: Vec::new(),
    };
    let mut operations = operate::begin(&job, &args.to.record, context, &stop, &progress)?;
    let compared = operations.run("verify", |under_way| {
        let compared = args.compare(&options, &mut bulk, &stop, under_way)?;
        let Compared { plan, proof, structure, remains } = &compared;
        let remains = remains.as_ref().map(Remains::lines).unwrap_or_default();
        let record = records::verification(plan.set, proof, structure.as_ref());
        let record = VerificationRecord { remains, ..record };
        let passed = record.passed();
        Ok(((compared, passed), Found::Verification(record), Some(passed)))
    });
    progress.finish();
    if let Ok((Compared { plan, .. }, _)) = &compared {
        operations.of_tables(plan.scale, plan.seed);
    }
    operate::end(operations, compared, (false, &args.to.record), |(compared, passed)| {
        let Compared { plan, proof, structure, remains } = compared;
        let structure = structure.as_ref().map(built).unwrap_or_default();
        let (hint, unfinished) = match &remains {
            Some(remains) => {
                (format!("hint: `pgdyno load {} --resume` continues it\n", plan.set.name()), left(remains))
            }
            None => (WRITTEN.to_owned(), String::new()),
        };
        let text = format!("{}\n{structure}{unfinished}{}", plan.title(), judged(&proof, &hint));
        (Some(text), Exit::of_check(passed).into())
    })
}

/// Tables that were compared.
struct Compared {
    plan: LoadPlan,
    proof: Proof,
    structure: Option<Structure>,
    /// What is left to do, if the load is not finished.
    remains: Option<Remains>,
}

impl Verify {
    /// What is to be detached.
    pub(super) fn detachment(&self) -> Option<Result<Detachment, Problem>> {
        self.detach.detachment("load verify", || {
            self.to.resolve("could not prove a load").map(|options| vec![options])
        })
    }

    fn compare(
        &self,
        options: &ConnectOptions,
        bulk: &mut BulkLoad<'_>,
        stop: &Stop,
        under_way: &mut UnderWay<'_>,
    ) -> Result<Compared, Problem> {
        // A scale is of tables that pgbench makes.
        let set = if self.scale.is_some() { Set::Tpcb } else { bulk.known()?.plan.set };
        let mut structure = None;
        let events = under_way.begun();
        if self.amcheck {
            events.doing("looking at structure");
            structure = Some(check_structure(options, set, self.create_extension, self.to.streams(), stop)?);
        }
        events.doing("comparing counts and checksums");
        let compared = bulk.verify(self.scale);
        let compared =
            compared.inspect_err(|_| eprint!("{}", structure.as_ref().map(built).unwrap_or_default()));
        let (plan, proof) = compared?;
        let remains = if self.scale.is_some() { None } else { bulk.remains()? };
        Ok(Compared { plan, proof, structure, remains })
    }
}

/// What an unfinished load has left to do, in words.
fn left(remains: &Remains) -> String {
    let lines = remains.lines().into_iter().map(|line| format!("  {line}\n"));
    format!("the load is not finished\n{}", lines.collect::<String>())
}

/// What amcheck found, in words.
fn built(structure: &Structure) -> String {
    let plural = |count: u64, one: &str, many: &str| {
        format!("{} {}", units::count(count), if count == 1 { one } else { many })
    };
    let mut looked = plural(structure.indexes, "index", "indexes");
    if structure.tables > 0 {
        looked += &format!(" and {}", plural(structure.tables, "table", "tables"));
    }
    let seconds = units::duration(structure.duration_s);
    let mut text: String = structure.faults.iter().map(|fault| format!("  ! {fault}\n")).collect();
    text += &match structure.faults.len() {
        0 => format!("structure of {looked}: no fault ({seconds})\n"),
        n => format!("structure of {looked}: {} ({seconds})\n", units::plural(n as u64, "fault")),
    };
    if !structure.rows_in_indexes {
        text += "whether each row is in its indexes was not looked at: that takes PostgreSQL 11 or newer\n";
    }
    text
}

/// It changes nothing: there is nothing to be kept.
fn stopping_to_look() -> Stop {
    interrupt::on_interrupt_saying("stopping (Ctrl-C again to exit immediately)", "exited immediately")
}
