//! The work between two runs: restore the data that every run starts from, and quiesce the server.
//!
//! All of it happens right after a run, not before the next one: otherwise a server would write its dirty pages while
//! another one is measured.

use std::time::{Duration, Instant};

use pgdyno_core::{facts::Choice, problem::Problem, stop::Stop};
use pgdyno_plan::Work;
use pgdyno_postgres::{load::data_state, verify::Ledger};

use crate::{Events, Job, Prepared, SubjectWork, Wanted, subject::Subject};

/// Prefix of the settings of autovacuum.
const AUTOVACUUM: &str = "autovacuum";

/// Default `autovacuum_naptime`, which pgdyno does not change.
const AUTOVACUUM_EVERY: Duration = Duration::from_secs(60);

/// The work between two runs, and when autovacuum of own servers is off. Dead rows of a server's last run must not
/// start autovacuum during the run of another server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BetweenRuns {
    /// Nothing: there is one subject, and its data carries over from run to run.
    Nothing,
    /// During all runs: they are shorter than `autovacuum_naptime`, so it would disturb only some of them.
    AllTheTime,
    /// While other servers are measured.
    WhileOthersRun,
    /// Never: autovacuum settings were requested for at least one server.
    AsAsked,
}

/// Tables that a run may have written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrote {
    /// Nothing.
    Nothing,
    /// TPC-B's tables.
    Tpcb,
    /// The plan's own tables.
    Own {
        /// Whether their rows are counted before a run.
        counts_rows: bool,
    },
}

impl Wrote {
    /// Tables that a workload of the plan writes. A workload with its own script writes its own tables.
    pub fn by_plan(work: &Work) -> Self {
        match work.builtin {
            Some(builtin) if builtin.writes() => Self::Tpcb,
            Some(_) => Self::Nothing,
            None => Self::Own { counts_rows: work.tpcc.is_none() },
        }
    }

    /// Tables that a subject with its own work writes. Only TPC-B's tables exist, and any script that is not known to
    /// be read-only may write them.
    pub fn by_itself(work: &SubjectWork) -> Self {
        match work.builtin() {
            Some(builtin) if !builtin.writes() => Self::Nothing,
            _ => Self::Tpcb,
        }
    }
}

/// Work done after a run, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Settled {
    /// Restoring the data; `None` if that was not needed.
    pub reset_s: Option<f64>,
    /// The CHECKPOINT after it; 0 if nothing was written.
    pub checkpoint_s: f64,
}

impl BetweenRuns {
    /// Chooses by the requested settings and by the length of a run.
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

    /// Chooses by the length of a run.
    fn between(run_s: f64) -> Self {
        match run_s < AUTOVACUUM_EVERY.as_secs_f64() {
            true => Self::AllTheTime,
            false => Self::WhileOthersRun,
        }
    }

    /// Quiesces a loaded server.
    ///
    /// # Errors
    /// The server refused.
    pub fn begin(self, subject: &mut Subject, prepared: &Prepared) -> Result<(), Problem> {
        if self == Self::Nothing {
            return Ok(());
        }
        if self != Self::AsAsked {
            subject.stop_autovacuum()?;
        }
        self.write_out(subject, prepared.plan.data.tpcc.is_none())
    }

    /// CHECKPOINT. It counts for the next run if nothing can write before that run; a second one would find nothing to
    /// write, yet takes 0.1 s, or up to 12 s, because backends poll so rarely for its end. Rows are counted before it,
    /// because counting sets hint bits and prunes pages.
    fn write_out(self, subject: &mut Subject, counts_rows: bool) -> Result<(), Problem> {
        // Neither autovacuum nor other users can write.
        let is_alone = self == Self::AllTheTime && subject.own_data_dir().is_some();
        if is_alone {
            let table_scope = subject.table_scope();
            if counts_rows {
                data_state(&mut subject.admin, table_scope)
                    .map_err(|error| error.into_problem("could not inspect the plan's own tables"))?;
            }
        }
        subject.checkpoint()?;
        subject.written_out = is_alone.then(Instant::now);
        Ok(())
    }

    /// Ends the quiet state of the server that runs next.
    ///
    /// # Errors
    /// As [`BetweenRuns::begin`].
    pub fn wake(self, subject: &mut Subject, stop: &Stop) -> Result<(), Problem> {
        if self == Self::WhileOthersRun {
            subject.revive(stop)?;
            subject.restart_autovacuum()?;
        }
        Ok(())
    }

    /// Quiesces a server after its run: TPC-B's tables as close as possible to their state after the load, and no dirty
    /// pages. The plan's own `reset` has already restored what its scripts wrote.
    ///
    /// # Errors
    /// As [`BetweenRuns::begin`], or the tables could not be restored.
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
            subject.stop_autovacuum()?;
        }
        if wrote == Wrote::Tpcb {
            let begin = Instant::now();
            ledger
                .reset(&mut subject.admin)
                .and_then(|()| self.accounts(subject))
                .map_err(|error| error.into_problem("could not restore the tables after a run"))?;
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

    /// Removes the dead rows of the run from accounts, unless autovacuum settings were requested: then autovacuum does
    /// it.
    fn accounts(self, subject: &mut Subject) -> Result<(), pgdyno_wire::WireError> {
        match self {
            Self::AsAsked | Self::Nothing => Ok(()),
            Self::AllTheTime | Self::WhileOthersRun => subject.admin.execute("VACUUM pgbench_accounts"),
        }
    }

    /// The choice for the record, with its reason.
    pub fn choice(self) -> Choice {
        let (value, reason) = match self {
            Self::AllTheTime => (
                "off after the load",
                "runs are shorter than autovacuum_naptime: it would disturb only some of them",
            ),
            Self::WhileOthersRun => (
                "off while another subject runs",
                "otherwise it would clean up during the run of another subject",
            ),
            Self::Nothing | Self::AsAsked => (
                "as requested",
                "its settings were requested: pgdyno leaves it alone, and it may run while another subject is measured",
            ),
        };
        Choice { name: AUTOVACUUM.into(), value: value.into(), reason: reason.into() }
    }

    /// What happens to TPC-B's tables after a run, as a choice with its reason.
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
            reason: "every run starts with the same data: a faster server would leave more dead rows behind"
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
    fn autovacuum_stays_on_only_in_runs_longer_than_its_naptime() {
        assert_eq!(BetweenRuns::between(59.0), BetweenRuns::AllTheTime);
        assert_eq!(BetweenRuns::between(60.0), BetweenRuns::WhileOthersRun);
    }

    #[test]
    fn settings_of_autovacuum_are_recognised_by_name() {
        for name in ["autovacuum", "AutoVacuum_naptime", "autovacuum_vacuum_scale_factor"] {
            assert!(is_about_autovacuum(name), "{name}");
        }
        assert!(!is_about_autovacuum("vacuum_cost_delay"));
        assert!(BetweenRuns::AsAsked.choice().reason.contains("leaves it alone"));
        assert!(BetweenRuns::AsAsked.choice_of_tables().value.contains("tellers and branches"));
    }
}
