//! Between two runs: data in the state that every run begins from, and a server that leaves the others alone.
//!
//! All of it is done when a run is over and not before the next one: what a server still has to write would be written
//! while another one is measured.

use std::time::{Duration, Instant};

use pgdyno_core::{facts::Choice, problem::Problem, stop::Stop};
use pgdyno_plan::Work;
use pgdyno_postgres::{load::data_state, verify::Ledger};

use crate::{Events, Job, Prepared, SubjectWork, Wanted, subject::Subject};

/// Settings that begin so are about autovacuum.
const AUTOVACUUM: &str = "autovacuum";

/// A server's autovacuum comes by once a minute (`autovacuum_naptime`), which no setting of pgdyno's changes.
const AUTOVACUUM_EVERY: Duration = Duration::from_secs(60);

/// What is done between two runs, and when the autovacuum of servers that were made for the run is off: dead rows of a
/// server's last run must not bring it into the interval of another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BetweenRuns {
    /// Nothing: there is one subject, and its data go on from run to run.
    Nothing,
    /// Over all runs: they are shorter than its pause, so it would come into some and not into others.
    AllTheTime,
    /// Between the server's own runs.
    WhileOthersRun,
    /// Never by pgdyno: what it does was asked for, of one of the servers or of all.
    AsAsked,
}

/// What a run may have written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrote {
    /// Nothing.
    Nothing,
    /// TPC-B's tables.
    Tpcb,
    /// Tables of its own.
    Own {
        /// Whether their rows are counted before a run.
        counts_rows: bool,
    },
}

impl Wrote {
    /// What a workload of the plan writes: a script of its own writes its own tables.
    pub fn by_plan(work: &Work) -> Self {
        match work.builtin {
            Some(builtin) if builtin.writes() => Self::Tpcb,
            Some(_) => Self::Nothing,
            None => Self::Own { counts_rows: work.tpcc.is_none() },
        }
    }

    /// What a subject that runs something of its own writes: TPC-B's tables are all there are, and what is not known
    /// to read only may write them.
    pub fn by_itself(work: &SubjectWork) -> Self {
        match work.builtin() {
            Some(builtin) if !builtin.writes() => Self::Nothing,
            _ => Self::Tpcb,
        }
    }
}

/// What was done after a run, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Settled {
    /// Putting the data back; absent where that was not needed.
    pub reset_s: Option<f64>,
    /// The CHECKPOINT after it; 0 where nothing was written.
    pub checkpoint_s: f64,
}

impl BetweenRuns {
    /// By what was asked of the servers, and by the length of a run.
    pub fn of(job: &Job, prepared: &Prepared) -> Self {
        if !job.has_several() {
            return Self::Nothing;
        }
        let is_asked = job.servers.iter().any(|wanted| match wanted {
            Wanted::Own(request) => request.settings.keys().any(|name| is_about_autovacuum(name)),
            Wanted::External(_) => false,
        });
        let measure = &prepared.plan.measure;
        match is_asked {
            true => Self::AsAsked,
            false => Self::between(measure.warmup.as_secs_f64() + measure.duration.as_secs_f64()),
        }
    }

    /// For runs of so many seconds.
    fn between(run_s: f64) -> Self {
        match run_s < AUTOVACUUM_EVERY.as_secs_f64() {
            true => Self::AllTheTime,
            false => Self::WhileOthersRun,
        }
    }

    /// Puts a server to rest that was loaded.
    ///
    /// # Errors
    /// Where it does not let itself be told.
    pub fn begin(self, subject: &mut Subject, prepared: &Prepared) -> Result<(), Problem> {
        if self == Self::Nothing {
            return Ok(());
        }
        if self != Self::AsAsked {
            subject.rest()?;
        }
        self.write_out(subject, prepared.plan.data.tpcc.is_none())
    }

    /// CHECKPOINT, which holds for the next run where nobody can write before it: another one would find nothing to do,
    /// and takes 0.1 s up to 12, whose backends look so rarely whether it is over. Rows are counted before a run, which
    /// sets hint bits and prunes pages: so they are before this.
    fn write_out(self, subject: &mut Subject, counts_rows: bool) -> Result<(), Problem> {
        // Neither autovacuum nor somebody whose server it is.
        let is_alone = self == Self::AllTheTime && subject.own_data_dir().is_some();
        if is_alone {
            let whereabouts = subject.whereabouts();
            if counts_rows {
                data_state(&mut subject.admin, whereabouts)
                    .map_err(|error| error.into_problem("could not look at the plan's own tables"))?;
            }
        }
        subject.checkpoint()?;
        subject.written_out = is_alone.then(Instant::now);
        Ok(())
    }

    /// Wakes a server whose run comes next.
    ///
    /// # Errors
    /// As [`BetweenRuns::begin`].
    pub fn wake(self, subject: &mut Subject, stop: &Stop) -> Result<(), Problem> {
        if self == Self::WhileOthersRun {
            subject.revive(stop)?;
            subject.wake()?;
        }
        Ok(())
    }

    /// Puts a server to rest whose run is over: TPC-B's tables as the load left them, as far as that can be, and
    /// nothing left to be written. What scripts of the plan's own wrote, its own `reset` has put back before.
    ///
    /// # Errors
    /// As [`BetweenRuns::begin`], or where the tables do not let themselves be put back.
    pub fn settle(
        self,
        subject: &mut Subject,
        ledger: &mut Ledger,
        wrote: Wrote,
        stop: &Stop,
        events: &Events,
    ) -> Result<Settled, Problem> {
        let mut settled = Settled::default();
        if self == Self::Nothing || (wrote == Wrote::Nothing && self != Self::WhileOthersRun) {
            return Ok(settled);
        }
        subject.revive(stop)?;
        if self == Self::WhileOthersRun {
            subject.rest()?;
        }
        if wrote == Wrote::Tpcb {
            let begin = Instant::now();
            ledger.reset(&mut subject.admin).and_then(|()| self.accounts(subject)).map_err(|error| {
                error.into_problem("could not put the tables back into their state after a run")
            })?;
            subject.wait_for_replication(stop, events)?;
            settled.reset_s = Some(begin.elapsed().as_secs_f64());
        }
        if let Wrote::Tpcb | Wrote::Own { .. } = wrote {
            let begin = Instant::now();
            self.write_out(subject, wrote != Wrote::Own { counts_rows: false })?;
            settled.checkpoint_s = begin.elapsed().as_secs_f64();
        }
        Ok(settled)
    }

    /// Accounts without the dead rows of the run. Where autovacuum is what was asked about, they are left to it.
    fn accounts(self, subject: &mut Subject) -> Result<(), pgdyno_wire::WireError> {
        match self {
            Self::AsAsked | Self::Nothing => Ok(()),
            Self::AllTheTime | Self::WhileOthersRun => subject.admin.execute("VACUUM pgbench_accounts"),
        }
    }

    /// As a choice with its reason.
    pub fn choice(self) -> Choice {
        let (value, reason) = match self {
            Self::AllTheTime => (
                "off after the load",
                "runs are shorter than its pause of a minute: it would come into some alone",
            ),
            Self::WhileOthersRun => (
                "off while another subject runs",
                "it would work on dead rows in the interval of another one",
            ),
            Self::Nothing | Self::AsAsked => (
                "as asked",
                "settings of it were asked for: pgdyno leaves it alone, and it may work in the interval of another",
            ),
        };
        Choice { name: AUTOVACUUM.into(), value: value.into(), reason: reason.into() }
    }

    /// What is done to TPC-B's tables after a run, as a choice with its reason.
    pub fn choice_of_tables(self) -> Choice {
        let value = match self {
            Self::Nothing | Self::AsAsked => {
                "history emptied, tellers and branches vacuumed after every run that writes"
            }
            Self::AllTheTime | Self::WhileOthersRun => {
                "history emptied, the others vacuumed after every run that writes"
            }
        };
        Choice {
            name: "TPC-B tables".into(),
            value: value.into(),
            reason: "every run begins with the same data: a faster server would leave itself more dead rows"
                .into(),
        }
    }
}

fn is_about_autovacuum(name: &str) -> bool {
    name.to_ascii_lowercase().starts_with(AUTOVACUUM)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn autovacuum_works_in_runs_that_it_would_come_into() {
        assert_eq!(BetweenRuns::between(59.0), BetweenRuns::AllTheTime);
        assert_eq!(BetweenRuns::between(60.0), BetweenRuns::WhileOthersRun);
    }

    #[test]
    fn settings_of_autovacuum_are_known_by_their_names() {
        for name in ["autovacuum", "AutoVacuum_naptime", "autovacuum_vacuum_scale_factor"] {
            assert!(is_about_autovacuum(name), "{name}");
        }
        assert!(!is_about_autovacuum("vacuum_cost_delay"));
        assert!(BetweenRuns::AsAsked.choice().reason.contains("leaves it alone"));
        assert!(BetweenRuns::AsAsked.choice_of_tables().value.contains("tellers and branches"));
    }
}
