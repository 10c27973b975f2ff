//! The stages of a plan that operate on the tables, on one server after the other, and those that measure storage.

use std::path::PathBuf;

use pgdyno_core::{disk::Disk, problem::Problem};
use pgdyno_plan::StagePlan;
use pgdyno_record::{Found, OperationRecord};

use super::{Experiment, tables::on_tables};
use crate::{
    context::Context,
    operation::{
        self,
        disk::{self, DiskTask},
    },
};

impl Experiment<'_> {
    /// Executes a stage on all servers. Each result is recorded as soon as it is there.
    pub(super) fn operate(&mut self, stage: &StagePlan) -> Result<(), Problem> {
        match stage.action.is_of_storage() {
            // Directories that are named belong to no server.
            true if stage.needs_no_server() => self.measure_storage(0, stage),
            true => (0..self.servers.len()).try_for_each(|at| self.measure_storage(at, stage)),
            false => (0..self.servers.len()).try_for_each(|at| self.operate_on(at, stage)),
        }
    }

    /// Measures the directories of a stage, or else that of a server's data.
    fn measure_storage(&mut self, at: usize, stage: &StagePlan) -> Result<(), Problem> {
        let tasks = disk::tasks(stage, self.data_dir(at))?;
        tasks.iter().try_for_each(|task| self.measure_disk(at, task, stage.needs_no_server()))
    }

    /// The data directory of a server on this machine.
    fn data_dir(&self, at: usize) -> Option<PathBuf> {
        let server = self.servers.get(at)?;
        server.postmaster.and(server.facts.data_directory.as_deref()).map(PathBuf::from)
    }

    fn measure_disk(&mut self, at: usize, task: &DiskTask, is_named: bool) -> Result<(), Problem> {
        let Context { job, stop, events, .. } = self.context;
        let name = task.name();
        let found: Disk = self.stage_on(at, name, |this| {
            let start_s = this.recording.seconds();
            let found = task.carry_out(stop, events)?;
            let subject = job.subjects_at(at).next().filter(|_| job.has_several() && !is_named);
            this.recording.record.operations.push(OperationRecord {
                name: name.to_owned(),
                subject: subject.map(|(_, subject)| subject.name.clone()),
                start_s,
                duration_s: Some(this.recording.seconds() - start_s),
                passed: disk::passed(&found),
                found: Found::Disk(found.clone()),
            });
            Ok(found)
        })?;
        disk::failure(&found).map_or(Ok(()), Err)
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
