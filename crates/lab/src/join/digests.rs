//! Digests of a run's measured intervals and stages, made of lines.

use pgdyno_core::observe::{Digest, LineSums, Observed, Origin, ServerDigest, What};
use pgdyno_observe::LogSums;
use pgdyno_record::RunRecord;

/// A time of the record that has a digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The measured interval of a run.
    Run(usize),
    Stage(usize),
}

/// What lines say about every measured interval of a subject, and about every stage.
pub(super) struct Digests {
    places: Vec<Place>,
    times: Vec<(f64, f64)>,
    sums: Vec<LineSums>,
    log: Option<LogSums>,
}

impl Digests {
    /// Of the subject with this index; `log` makes the sums of its log.
    pub(super) fn new(
        record: &RunRecord,
        subject: usize,
        log: impl FnOnce(&[(f64, f64)]) -> Option<LogSums>,
    ) -> Self {
        let is_its = |place: &usize| record.place_of(&record.runs[*place].workload) == Some(subject);
        let runs = (0..record.runs.len()).filter(is_its).map(Place::Run);
        let places: Vec<Place> = runs.chain((0..record.stages.len()).map(Place::Stage)).collect();
        let times: Vec<(f64, f64)> = places.iter().map(|place| time(record, *place)).collect();
        let sums = times.iter().map(|(from_s, to_s)| LineSums::new(*from_s, *to_s)).collect();
        Self { log: log(&times), places, times, sums }
    }

    /// Adds a line.
    pub(super) fn add(&mut self, line: &Observed) {
        match &line.what {
            What::Log(sample) => self.log.iter_mut().for_each(|log| log.add(line.at_s, &sample.event)),
            _ => self.sums.iter_mut().for_each(|sums| sums.add(line)),
        }
    }

    /// Writes them to the record. `covered_s` is the part of the run for which the log was read. Returns how many
    /// measured intervals and stages there are.
    pub(super) fn write(
        self,
        record: &mut RunRecord,
        (machine, subject): (&str, Option<&str>),
        covered_s: (f64, f64),
    ) -> [u64; 2] {
        let mut logged = self.log.map(LogSums::digests).unwrap_or_default();
        logged.resize(self.places.len(), ServerDigest::default());
        let mut written = [0, 0];
        for (((place, (from_s, to_s)), sums), logged) in
            self.places.into_iter().zip(self.times).zip(self.sums).zip(logged)
        {
            let of_stage = matches!(place, Place::Stage(_));
            // A measured interval is of one subject, so it names none.
            let subject = subject.filter(|_| of_stage).map(str::to_owned);
            let origin = Origin { machine: machine.to_owned(), subject };
            let Some(found) = sums.digest(&origin) else { continue };
            let is_covered = from_s >= covered_s.0 && to_s <= covered_s.1;
            let logged = (is_covered && logged != ServerDigest::default()).then_some(logged);
            add_to(
                digest_of(record, place),
                found,
                logged.map(|logged| ServerDigest {
                    subject: origin.subject,
                    checkpoint_times: Vec::new(),
                    ..logged
                }),
            );
            written[usize::from(of_stage)] += 1;
        }
        written
    }
}

fn time(record: &RunRecord, place: Place) -> (f64, f64) {
    let (start_s, duration_s) = match place {
        Place::Run(index) => (record.runs[index].start_s, record.runs[index].duration_ns as f64 / 1e9),
        Place::Stage(index) => (record.stages[index].start_s, record.stages[index].duration_s),
    };
    (start_s, start_s + duration_s)
}

fn digest_of(record: &mut RunRecord, place: Place) -> &mut Digest {
    let digest = match place {
        Place::Run(index) => &mut record.runs[index].observed,
        Place::Stage(index) => &mut record.stages[index].observed,
    };
    digest.get_or_insert_default()
}

/// Adds what was seen on the server's machine to what the run's own observers saw.
fn add_to(own: &mut Digest, found: Digest, logged: Option<ServerDigest>) {
    if own.over_s <= 0.0 {
        own.over_s = found.over_s;
    }
    own.server_hosts.extend(found.server_hosts);
    own.devices.extend(found.devices);
    own.roles.extend(found.roles);
    own.roles.sort_by(|a, b| b.mean.cpus.total_cmp(&a.mean.cpus));
    if let Some(logged) = logged {
        match own.servers.iter_mut().find(|known| known.subject == logged.subject) {
            Some(known) => *known = std::mem::take(known).or(logged),
            None => own.servers.push(logged),
        }
    }
}
