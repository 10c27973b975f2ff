//! `pgdyno load tpcc`.

use std::process::ExitCode;

use pgdyno_core::{problem::Problem, stop::Stop};
use pgdyno_lab::{draw_seed, operation::Operations};
use pgdyno_postgres::load::{BulkLoad, BulkOutcome, Entry, Job, SchemaState, Schemas};
use pgdyno_rows::load::{LoadRequest, Set};

use super::{
    carry_out::{begin, carry_out, load, stopping},
    flags::Flags,
    outcome::{self, result},
};
use crate::{
    args::way::without_server,
    context::{Context, now_s},
    exit::Exit,
    operate,
    progress::Progress,
};

/// Flags of `pgdyno load tpcc`.
#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    mut_arg("load_method", without_server),
    after_help = "The nine tables as clause 4.3.3.1 populates them, with the primary keys of clause 1.3 and two more \
    indexes: customers by last name, orders by customer. Partitions are by warehouse, of all tables but item. Rows \
    are those that `pgdyno tpcc export` writes with the same --seed and --at. All else is as with `load tpcb`: \
    --resume, --join, `load verify`, `load copy`. docs/tpcc.md says what is in the rows.\n\n\
    Examples:\n  \
    pgdyno load tpcc --server main --warehouses 10\n  \
    pgdyno load tpcc --server main --warehouses 1000 --partitions 16 --jobs 8 --foreign-keys\n  \
    pgdyno load tpcc --server main --warehouses 1000 --schemas 4"
)]
pub struct Tpcc {
    /// Number of warehouses, about 100 MB each
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000_000),
          required_unless_present_any = ["resume", "join"], help_heading = "What")]
    warehouses: Option<u64>,
    /// Random seed [default: chosen and printed]
    #[arg(long, value_name = "SEED", help_heading = "What")]
    seed: Option<u64>,
    /// Timestamp of all date columns, in Unix seconds [default: now]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(i64).range(0..=9_000_000_000),
          help_heading = "What")]
    at: Option<i64>,
    /// Load N sets of tables, into schemas tpcc_1 to tpcc_N of the database
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000),
          conflicts_with_all = ["join", "dry_run"], requires = "warehouses", help_heading = "What")]
    schemas: Option<u64>,
    #[command(flatten)]
    flags: Flags,
}

/// How schemas of several sets of tables are named, before a number from 1.
const SCHEMA: &str = "tpcc_";

impl Tpcc {
    /// The flags that all loads have.
    pub(super) fn flags(&self) -> &Flags {
        &self.flags
    }

    /// Runs `pgdyno load tpcc`.
    ///
    /// # Errors
    /// What the user should read.
    pub fn run(&self, context: &Context) -> Result<ExitCode, Problem> {
        let new = self.flags.entry() == Entry::New;
        match self.schemas {
            Some(count) => self.run_in_schemas(count, context),
            // A resumed load has a seed and a timestamp already.
            None => load(&self.flags, &self.request(new.then(drawn)), context),
        }
    }

    /// With a seed and an instant for what is not said.
    fn request(&self, known: Option<(u64, i64)>) -> LoadRequest {
        let at_us = self.at.map(|at_s| at_s * 1_000_000).or(known.map(|(_, at_us)| at_us));
        LoadRequest {
            scale: self.warehouses,
            seed: self.seed.or(known.map(|(seed, _)| seed)),
            at_us,
            ..self.flags.request(Set::Tpcc)
        }
    }

    /// One set after the other. The seed of each is larger by one than that of the set before.
    fn run_in_schemas(&self, count: u64, context: &Context) -> Result<ExitCode, Problem> {
        let (options, stop, progress) = (self.flags.resolve()?, stopping(), Progress::new());
        self.request(None).plan(self.flags.streams())?;
        let mut schemas = Schemas::of(&options, &stop)?;
        let names: Vec<_> = (1..=count).map(|number| format!("{SCHEMA}{number}")).collect();
        let states = names.iter().map(|name| schemas.state(name)).collect::<Result<Vec<_>, _>>()?;
        let first = self.first_of(&names, &states)?;
        let mut operations = begin(&self.flags, (&options, Set::Tpcc), context, &stop, &progress)?;
        let mut left = states.iter().filter(|state| matches!(state, SchemaState::Nothing)).count() as u64;
        let mut loaded = String::new();
        let done = names.iter().zip(&states).zip(0..).try_fold(true, |right, ((name, state), number)| {
            if !right || matches!(state, SchemaState::Loaded(_)) {
                if right {
                    loaded += &format!("{name}: loaded and verified before\n");
                }
                return Ok(right);
            }
            let set = self.numbered(first, number);
            let (job, outcome) =
                self.load_set(&mut operations, &mut schemas, (name, state), &set, left, &stop)?;
            left -= u64::from(matches!(state, SchemaState::Nothing));
            loaded += &result(&job, &outcome);
            Ok(outcome::loaded(&outcome))
        });
        progress.finish();
        let text = (!self.flags.json).then_some(loaded);
        if done.is_err() {
            // The sets before the one that failed.
            text.as_ref().map_or(Ok(()), |text| self.flags.record.print(text))?;
        }
        operate::end(operations, done, (self.flags.json, &self.flags.record), |right| {
            (text, Exit::of_check(right).into())
        })
    }

    /// The request of a set, numbered from 0.
    fn numbered(&self, first: (u64, i64), number: u64) -> LoadRequest {
        let set = self.request(Some((first.0.wrapping_add(number), first.1)));
        LoadRequest { seed: self.seed.map(|seed| seed.wrapping_add(number)).or(set.seed), ..set }
    }

    /// Loads a set into its schema. `left` is the number of sets that are still to be begun.
    fn load_set(
        &self,
        operations: &mut Operations,
        schemas: &mut Schemas,
        (name, state): (&str, &SchemaState),
        set: &LoadRequest,
        left: u64,
        stop: &Stop,
    ) -> Result<(Job, BulkOutcome), Problem> {
        let streams = self.flags.streams();
        schemas.make(name)?;
        let options = schemas.within(name);
        let mut bulk = BulkLoad::new(&options, streams, stop)?;
        bulk.with_room(self.flags.room_bytes());
        let entry = if matches!(state, SchemaState::Begun(_)) { Entry::Resume } else { Entry::New };
        if entry == Entry::New {
            bulk.survey(set)?.1.check_room_for(left)?;
        }
        let entered = bulk.enter(entry, set)?;
        let outcome = carry_out(operations, &mut bulk, (&entered, entry), &self.flags, streams)?;
        Ok((entered.0, outcome))
    }

    /// Seed and timestamp of the first set; a resumed load keeps its own.
    fn first_of(&self, names: &[String], states: &[SchemaState]) -> Result<(u64, i64), Problem> {
        let known = states.iter().zip(0..).find_map(|(state, number)| match state {
            SchemaState::Begun(job) | SchemaState::Loaded(job) => Some((job, number)),
            SchemaState::Nothing => None,
        });
        let resumes = self.flags.entry() == Entry::Resume;
        match known {
            None => Ok(drawn()),
            Some((job, number)) if resumes => Ok((job.plan.seed.wrapping_sub(number), job.plan.at_us)),
            Some((_, number)) => {
                let what = format!("could not load: schema {} holds a load already", names[number as usize]);
                Err(Problem::wrong_request(what)
                    .hint("continue with --resume, or load into another database"))
            }
        }
    }
}

/// A new seed, and now in microseconds since 1970, to the second.
fn drawn() -> (u64, i64) {
    (draw_seed(), now_s() * 1_000_000)
}
