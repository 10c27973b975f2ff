//! The work between two runs: restore the data that every run starts from, and quiesce the server.
//!
//! All of it happens right after a run, not before the next one: otherwise a server would write its dirty pages while
//! another one is measured.

use std::time::Duration;

use pgdyno_core::facts::Choice;
use pgdyno_plan::Work;

use crate::{Job, Prepared, SubjectJob, SubjectWork, Wanted};

/// Prefix of the settings of autovacuum.
const AUTOVACUUM: &str = "autovacuum";

/// Default `autovacuum_naptime`, which pgdyno does not change.
const AUTOVACUUM_EVERY: Duration = Duration::from_secs(60);

/// The work between two runs of several subjects, and when autovacuum of own servers is off. Dead rows of a server's
/// last run must not start autovacuum during the run of another server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BetweenRuns {
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
    /// Tables that a subject writes by one of the plan's workloads, or by its own work. A workload with its own script
    /// writes its own tables. For a subject with its own work only TPC-B's tables exist, and any script that is not
    /// known to be read-only may write them.
    pub fn of(subject: &SubjectWork, of_plan: Option<&Work>) -> Self {
        let builtin = match (subject, of_plan) {
            (SubjectWork::Load, _) => return Self::Own { counts_rows: false },
            (SubjectWork::Plan, Some(work)) if work.builtin.is_none() => {
                return Self::Own { counts_rows: work.tpcc.is_none() };
            }
            (SubjectWork::Plan, Some(work)) => work.builtin,
            _ => subject.builtin(),
        };
        match builtin {
            Some(builtin) if !builtin.writes() => Self::Nothing,
            _ => Self::Tpcb,
        }
    }
}

impl BetweenRuns {
    /// Chooses by the requested settings and by the length of a run; `None` for a single subject, whose data carries
    /// over from run to run.
    pub fn of(job: &Job, prepared: &Prepared) -> Option<Self> {
        if !job.has_several() {
            return None;
        }
        let is_asked = job.servers.iter().any(|wanted| match wanted {
            Wanted::Own(request) => {
                let of_preset = request.preset.iter().flat_map(|preset| preset.settings.keys());
                request.settings.keys().chain(of_preset).any(|name| is_about_autovacuum(name))
            }
            Wanted::External(_) => false,
        });
        Some(if is_asked { Self::AsAsked } else { Self::between(prepared.run_s) })
    }

    /// Chooses by the length of a run.
    fn between(run_s: f64) -> Self {
        match run_s < AUTOVACUUM_EVERY.as_secs_f64() {
            true => Self::AllTheTime,
            false => Self::WhileOthersRun,
        }
    }

    /// The work between runs, as choices with their reasons.
    pub fn choices(self, job: &Job, prepared: &Prepared) -> Vec<Choice> {
        let has_own = job.servers.iter().any(|wanted| matches!(wanted, Wanted::Own(_)));
        let works = &job.workload_files.work;
        let writes = |subject: &SubjectJob| match &subject.work {
            SubjectWork::Plan => works.iter().any(|work| Wrote::of(&subject.work, Some(work)) == Wrote::Tpcb),
            own => Wrote::of(own, None) == Wrote::Tpcb,
        };
        let may_write = prepared.loads_tpcb()
            && job.subjects.iter().any(|subject| subject.server.is_some() && writes(subject));
        let tables = may_write.then(|| self.choice_of_tables());
        has_own.then(|| self.choice()).into_iter().chain(tables).collect()
    }

    /// When autovacuum is off.
    fn choice(self) -> Choice {
        let (value, reason) = match self {
            Self::AllTheTime => (
                "off after the load",
                "runs are shorter than autovacuum_naptime: it would disturb only some of them",
            ),
            Self::WhileOthersRun => (
                "off while another subject runs",
                "otherwise it would clean up during the run of another subject",
            ),
            Self::AsAsked => (
                "as requested",
                "its settings were requested: pgdyno leaves it alone, and it may run while another subject is measured",
            ),
        };
        Choice { name: AUTOVACUUM.into(), value: value.into(), reason: reason.into() }
    }

    /// What happens to TPC-B's tables after a run, as a choice with its reason.
    fn choice_of_tables(self) -> Choice {
        let value = match self {
            Self::AsAsked => "history emptied, tellers and branches vacuumed after every run that writes",
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
