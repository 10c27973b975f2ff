//! Profiles of the servers' processes, by cell and by stage: all recordings of one are added up.

use std::collections::BTreeSet;

use pgdyno_core::{
    measure::Workload,
    problem::Problem,
    profile::{Profile, Profiling},
};
use pgdyno_observe::profile::{Folded, Recorded};
use pgdyno_record::{ProfileRecord, RunDir, profile_of};

/// What a profile is of.
#[derive(Debug, Clone, PartialEq)]
pub enum Of {
    /// The measured intervals of a cell.
    Cell(Workload),
    /// A stage of a load, or an operation.
    Stage(String),
}

/// The profiles of a run so far.
#[derive(Debug, Default)]
pub struct Profiles {
    /// Whether they are wanted, and how stacks are found.
    pub(crate) wanted: Profiling,
    /// Profiles that were in the record when this process began: their samples by stack are in their files only.
    earlier: usize,
    /// The samples of all later ones, in the order of the record.
    folded: Vec<Folded>,
    /// Reasons that were reported.
    reported: BTreeSet<String>,
}

impl Profiles {
    /// Profiles of a run whose record has some already.
    pub fn new(wanted: Profiling, earlier: usize) -> Self {
        Self { wanted, earlier, ..Self::default() }
    }

    /// Adds a recording to its profile in the record, or why there is none. Returns that if it was not reported before.
    ///
    /// # Errors
    /// The file of the stacks could not be written; the record has the rest.
    pub fn add(
        &mut self,
        (records, dir): (&mut Vec<ProfileRecord>, &RunDir),
        of: &Of,
        found: Result<Recorded, String>,
    ) -> Result<Option<String>, Problem> {
        let at = self.place(records, of);
        let (missing, written) = match found {
            Ok(recorded) => {
                let cut = recorded.cut.as_ref().map(|why| format!("sampling ended early: {why}"));
                (cut, self.add_samples((&mut records[at], dir), at, recorded))
            }
            Err(why) => (Some(why), Ok(())),
        };
        if let Some(why) = &missing {
            records[at].failed += 1;
            records[at].missing = Some(why.clone());
        }
        written.map(|()| missing.filter(|why| self.reported.insert(why.clone())))
    }

    /// The place of a profile in the record, with a new one if there is none.
    fn place(&mut self, records: &mut Vec<ProfileRecord>, of: &Of) -> usize {
        let (workload, stage) = match of {
            Of::Cell(workload) => (Some(workload.clone()), None),
            Of::Stage(stage) => (None, Some(stage.clone())),
        };
        let is_same = |record: &ProfileRecord| record.workload == workload && record.stage == stage;
        if let Some(at) = records.iter().skip(self.earlier).position(is_same) {
            return self.earlier + at;
        }
        records.push(ProfileRecord {
            workload,
            stage,
            recordings: 0,
            failed: 0,
            missing: None,
            profile: None,
        });
        self.folded.push(Folded::default());
        records.len() - 1
    }

    fn add_samples(
        &mut self,
        (record, dir): (&mut ProfileRecord, &RunDir),
        at: usize,
        recorded: Recorded,
    ) -> Result<(), Problem> {
        let folded = &mut self.folded[at - self.earlier];
        folded.merge(&recorded.folded);
        let name = profile_of(at + 1);
        let written = dir.keep_profile(&name, &folded.text());
        let known = both(record.profile.as_ref(), recorded.profile);
        let file = written.is_ok().then_some(name);
        record.profile = Some(folded.profile(&Profile { file, ..known }));
        record.recordings += 1;
        written
    }
}

/// What is known of two recordings together, without their samples.
fn both(earlier: Option<&Profile>, later: Profile) -> Profile {
    let Some(earlier) = earlier else { return later };
    let over_s = earlier.over_s + later.over_s;
    let used_s = |of: &Profile| of.perf_cpus.map(|cpus| cpus * of.over_s);
    let used_s = used_s(earlier).zip(used_s(&later)).map(|(a, b)| a + b);
    Profile {
        over_s,
        perf_cpus: used_s.filter(|_| over_s > 0.0).map(|used_s| used_s / over_s),
        processes: earlier.processes.max(later.processes),
        reading_s: earlier.reading_s + later.reading_s,
        ..later
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_costs_of_recordings_add_up() {
        let one = |over_s, perf_cpus| Profile { over_s, perf_cpus, reading_s: 1.0, ..Profile::default() };
        let sum = both(Some(&one(1.0, Some(0.4))), one(3.0, Some(0.0)));
        assert_eq!((sum.over_s, sum.perf_cpus, sum.reading_s), (4.0, Some(0.1), 2.0));
        assert_eq!(both(Some(&one(1.0, None)), one(3.0, Some(0.0))).perf_cpus, None);
        assert_eq!(both(None, one(0.0, None)), one(0.0, None));
    }
}
