//! What a run and a file know of the server and its clock, before anything is written.

use std::collections::{BTreeMap, BTreeSet};

use pgdyno_core::{
    observe::{ClockSample, ObserverCost, ServerIdentity, What},
    problem::Problem,
};
use pgdyno_record::{ObserverFile, Run, RunRecord};

/// What a run knows.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// Readings of the clocks of its servers, by the index of the subject.
    clocks: BTreeMap<usize, Vec<ClockSample>>,
    /// Subjects whose processes its own observers saw.
    seen: BTreeSet<usize>,
    /// The end of the run in seconds since its start.
    pub end_s: f64,
}

/// What a file knows.
#[derive(Debug, Default)]
pub(super) struct OfFile {
    /// Readings of the server's clock.
    pub clock: Vec<ClockSample>,
    /// The starts of the server that were seen.
    pub servers: BTreeSet<ServerIdentity>,
    /// Begin of the first line of the host and end of the last one, in seconds since the file was begun.
    pub seen_s: Option<(f64, f64)>,
    /// What observing cost.
    pub cost: Option<ObserverCost>,
}

impl Known {
    /// Reads the observations of a run.
    pub(super) fn read(run: &Run) -> Result<Self, Problem> {
        let record = &run.record;
        let stages = record.stages.iter().map(|stage| stage.start_s + stage.duration_s);
        let runs = record.runs.iter().map(|run| run.start_s + run.duration_ns as f64 / 1e9);
        let mut known = Self { end_s: stages.chain(runs).fold(0.0, f64::max), ..Self::default() };
        run.each_observation(|line| {
            let named = |name: &String| record.subjects.iter().position(|of| of.name == *name);
            let Some(place) = line.subject.as_ref().map_or(Some(0), named) else { return };
            match line.what {
                What::Clock(sample) => known.clocks.entry(place).or_default().push(sample),
                What::Processes(_) if line.machine.is_none() => drop(known.seen.insert(place)),
                _ => {}
            }
        })?;
        Ok(known)
    }

    /// Readings of the clock of a subject's server.
    pub(super) fn clock(&self, subject: usize) -> &[ClockSample] {
        self.clocks.get(&subject).map_or(&[], Vec::as_slice)
    }

    /// The subject whose server the file is about.
    ///
    /// # Errors
    /// There is none, or the run had seen its machine itself.
    pub(super) fn subject_of(&self, record: &RunRecord, file: &OfFile, what: &str) -> Result<usize, Problem> {
        if self.clocks.is_empty() {
            return Err(not_read(what));
        }
        let is_one = |samples: &[ClockSample]| {
            samples.iter().any(|sample| file.servers.iter().any(|server| server.is_same(&sample.server)))
        };
        let found = self.clocks.iter().find(|(_, samples)| is_one(samples)).map(|(place, _)| *place);
        let place = found.ok_or_else(|| self.another_server(file, what))?;
        if self.seen.contains(&place) {
            let name = record.subjects.get(place).map_or("", |of| of.name.as_str());
            let why = format!("the run had observed the machine of `{name}` itself");
            let problem = Problem::wrong_request(format!("{what}: {why}"));
            return Err(problem.hint("nothing is missing there; `pgdyno report` shows it"));
        }
        Ok(place)
    }

    fn another_server(&self, file: &OfFile, what: &str) -> Problem {
        let of_run: BTreeSet<&ServerIdentity> =
            self.clocks.values().flatten().map(|sample| &sample.server).collect();
        let ids = |all: &BTreeSet<&ServerIdentity>| -> BTreeSet<String> {
            all.iter().filter_map(|of| of.system_identifier.clone()).collect()
        };
        let of_file: BTreeSet<&ServerIdentity> = file.servers.iter().collect();
        let same_id = !ids(&of_run).is_disjoint(&ids(&of_file));
        let why = if same_id { "it is of another start of the server" } else { "it is of another server" };
        let words = |all: &BTreeSet<&ServerIdentity>| -> String {
            all.iter().map(|of| in_words(of)).collect::<Vec<_>>().join(", ")
        };
        Problem::wrong_request(format!("{what}: {why}"))
            .detail(format!("the run: {}; the file: {}", words(&of_run), words(&of_file)))
            .hint("join the file that `pgdyno observe` wrote during this run")
    }
}

/// The problem of a run without readings of the clock.
pub(super) fn not_read(what: &str) -> Problem {
    Problem::wrong_request(format!("{what}: the run did not read the server's clock"))
        .hint("measure it again with `--observe all`, which is the default")
}

fn in_words(server: &ServerIdentity) -> String {
    let started = jiff::Timestamp::from_microsecond(server.started_unix_us);
    let started = started.map_or_else(|_| "at an unknown time".to_owned(), |at| at.to_string());
    let id = server.system_identifier.as_deref().unwrap_or("unknown");
    format!("system {id}, started {started}")
}

impl OfFile {
    /// Reads the lines of a file.
    pub(super) fn read(file: &ObserverFile) -> Result<Self, Problem> {
        let mut known = Self::default();
        known.servers.insert(file.header.server.identity.clone());
        for line in file.lines()? {
            let line = line?;
            match line.what {
                What::Host(_) => {
                    let from_s = known.seen_s.map_or(line.at_s - line.over_s, |(from_s, _)| from_s);
                    known.seen_s = Some((from_s, line.at_s));
                }
                What::Clock(sample) => {
                    known.servers.insert(sample.server.clone());
                    known.clock.push(sample);
                }
                What::Cost(cost) => known.cost = Some(cost),
                _ => {}
            }
        }
        Ok(known)
    }
}
