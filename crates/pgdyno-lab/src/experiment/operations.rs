//! The stages of a plan that operate on the tables, on one server after the other.

use pgdyno_core::problem::Problem;
use pgdyno_plan::StagePlan;
use pgdyno_record::OperationRecord;

use super::{Experiment, tables::on_tables};
use crate::{context::Context, operation};

impl Experiment<'_> {
    /// Carries out a stage on all servers. Each result is recorded as soon as it is there.
    pub(super) fn operate(&mut self, stage: &StagePlan) -> Result<(), Problem> {
        (0..self.servers.len()).try_for_each(|at| self.operate_on(at, stage))
    }

    fn operate_on(&mut self, at: usize, stage: &StagePlan) -> Result<(), Problem> {
        let name = stage.action.name();
        self.stage_on(at, name, |this| {
            let Context { job, stop, events, .. } = this.context;
            let start_s = this.recording.seconds();
            this.servers[at].revive()?;
            let done = on_tables(this.context, &this.servers[at], at, |tables| {
                operation::carry_out(stage, tables, stop, events)
            });
            let (found, passed) =
                done.map_err(|problem| Problem { what: job.of_subject(at, &problem.what), ..problem })?;
            let subject = job.subjects_at(at).next().filter(|_| job.has_several());
            this.recording.record.operations.push(OperationRecord {
                name: name.to_owned(),
                subject: subject.map(|(_, subject)| subject.name.clone()),
                start_s,
                duration_s: Some(this.recording.seconds() - start_s),
                passed,
                found,
            });
            Ok(())
        })
    }
}
