//! Adds a file of `pgdyno observe` to a run: what was seen on the machine of the run's server.
//!
//! The clock of the server, which both had read, brings the times of the file to those of the run. The lines become
//! observations of the run, and its record gets the digests that observers of its own would have made, and is judged
//! again. Nothing is written before everything was read.

use std::path::Path;

use jiff::Timestamp;
use pgdyno_core::{
    observe::{Observed, ObserverCost, What},
    problem::Problem,
};
use pgdyno_observe::{LogSums, ServerLog};
use pgdyno_record::{Amendment, JoinedClocks, JoinedRecord, ObserverFile, Run, RunRecord, Status, open};

use crate::join::{
    alignment::{Alignment, Misfit},
    digests::Digests,
    known::{Known, OfFile, not_read},
};

/// A shorter time than this, in seconds, at the begin or end of a run is no gap: that is how long connecting takes.
const SHORTEST_GAP_S: f64 = 2.0;

/// What was added to a run.
#[derive(Debug, Clone)]
pub struct Joined {
    /// The new record.
    pub record: RunRecord,
    /// Seconds that the run lasted.
    pub run_s: f64,
    /// Measured intervals and stages that have digests now.
    pub digests: [u64; 2],
    /// Longest time that a line covers, in seconds.
    pub line_s: f64,
}

impl Joined {
    /// The entry of the file.
    pub fn entry(&self) -> Option<&JoinedRecord> {
        self.record.joined.last()
    }
}

/// Adds a file to the run in a directory.
///
/// # Errors
/// The file or the run cannot be read, was changed, or is not complete; they are of different servers or times; the
/// file is there already, or the run had seen its server's machine itself. Nothing is changed then.
pub fn join(path: &Path, directory: &Path) -> Result<Joined, Problem> {
    let file = ObserverFile::open(path)?;
    let amendment = Amendment::begin(directory)?;
    let run = open(directory)?;
    let what = format!("could not join {} to {}", path.display(), run.record.id);
    refuse_unfinished(&run, &what)?;
    let sha256 = file.sha256()?;
    refuse_again(&run, &sha256, &what)?;
    let (known, of_file) = (Known::read(&run)?, OfFile::read(&file)?);
    let subject = known.subject_of(&run.record, &of_file, &what)?;
    let aligned = Alignment::of(&of_file.clock, known.clock(subject), known.end_s);
    let times = (file.header.started_at.as_str(), run.record.started_at.as_str());
    let alignment = aligned.map_err(|misfit| refuse_misfit(misfit, &what, times))?;
    let part_s = of_file.seen_s.and_then(|seen_s| alignment.part_s(seen_s, known.end_s));
    let part_s = part_s.ok_or_else(|| refuse_misfit(Misfit::Apart, &what, times))?;
    let at = |at_s: f64| alignment.moved(at_s).map_or(0.0, |moved| moved.at_s.clamp(0.0, known.end_s));
    let covered_s = (at(part_s.0), at(part_s.1));
    let name = run.record.subjects.get(subject).map(|of| of.name.clone()).unwrap_or_default();
    refuse_overlap(&run.record, &name, covered_s, &what)?;
    let joining =
        Joining { file: &file, run: &run, alignment: &alignment, subject, end_s: known.end_s, covered_s };
    let clocks = alignment.clocks(part_s);
    joining.write(&amendment, (path, sha256, name), (clocks, of_file.cost))
}

/// All that is needed to write.
struct Joining<'a> {
    file: &'a ObserverFile,
    run: &'a Run,
    alignment: &'a Alignment,
    subject: usize,
    /// End of the run in seconds since its start.
    end_s: f64,
    /// The part of the run that the file covers.
    covered_s: (f64, f64),
}

impl Joining<'_> {
    fn write(
        &self,
        amendment: &Amendment,
        (path, sha256, subject): (&Path, String, String),
        (clocks, cost): (JoinedClocks, Option<ObserverCost>),
    ) -> Result<Joined, Problem> {
        let (header, latencies) = (&self.file.header, self.run.run_latencies()?);
        let log = |times: &[(f64, f64)]| {
            let log = header.log.clone()?;
            Some(LogSums::new(ServerLog::of_another(log.silent, log.is_foreign), times))
        };
        let mut digests = Digests::new(&self.run.record, self.subject, log);
        let (mut lines, mut line_s) = (0, 0.0_f64);
        let moved = self.file.lines()?.filter_map(|line| line.map(|line| self.moved(line)).transpose());
        let gaps = self.gaps();
        let all = gaps.0.into_iter().map(Ok).chain(moved).chain(gaps.1.map(Ok));
        let mut counted = all.inspect(|line| {
            if let Ok(line) = line {
                digests.add(line);
                lines += 1;
                line_s = if matches!(line.what, What::Host(_)) { line_s.max(line.over_s) } else { line_s };
            }
        });
        amendment.merge(&self.run.record, &|line| self.stays(line), &mut counted)?;
        drop(counted);
        let mut record = self.run.record.clone();
        let named = self.run.record.name_in_runs(self.subject);
        let digests = digests.write(&mut record, (&header.machine, named), self.covered_s);
        record.joined.push(JoinedRecord {
            file: path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
            sha256,
            at: Timestamp::now().to_string(),
            tool: header.tool.clone(),
            machine: header.machine.clone(),
            boot_id: header.boot_id.clone(),
            clock_source: header.clock_source.clone(),
            subject,
            from_s: self.covered_s.0,
            to_s: self.covered_s.1,
            lines,
            cost,
            clocks,
        });
        let latencies = pgdyno_analysis::latencies_of_cells(&record, latencies);
        pgdyno_analysis::analyse(&mut record, &latencies);
        amendment.save(record.clone())?;
        Ok(Joined { record, run_s: self.end_s, digests, line_s })
    }

    /// A line of the file as a line of the run; `None` if it is of another time, or about something else.
    fn moved(&self, line: Observed) -> Option<Observed> {
        let is_of_machine = matches!(
            line.what,
            What::Host(_) | What::Devices { .. } | What::Processes(_) | What::Log(_) | What::Gap { .. }
        );
        let over_s = line.over_s.max(0.0);
        let to = self.alignment.moved(line.at_s).filter(|_| is_of_machine)?.at_s;
        let from = to - over_s;
        // What the run is cut from had the same rates.
        let (at_s, from) = (to.min(self.end_s), from.max(0.0));
        let is_within = from <= at_s && to > 0.0 && to - over_s < self.end_s;
        is_within.then(|| self.line(at_s, at_s - from, line.what))
    }

    fn line(&self, at_s: f64, over_s: f64, what: What) -> Observed {
        let subject = self.run.record.name_in_runs(self.subject).map(str::to_owned);
        Observed { at_s, over_s, subject, machine: Some(self.file.header.machine.clone()), what }
    }

    /// What the file does not cover at the begin and at the end of the run, unless another one does.
    fn gaps(&self) -> (Option<Observed>, Option<Observed>) {
        let (from_s, to_s) = self.covered_s;
        let gap = |at_s: f64, over_s: f64, why: &str| {
            let (missing, why) = (format!("host {}", self.file.header.machine), why.to_owned());
            let is_gap = over_s >= SHORTEST_GAP_S && self.earlier().next().is_none();
            is_gap.then(|| self.line(at_s, over_s, What::Gap { missing, why }))
        };
        let begin = gap(from_s, from_s, "`pgdyno observe` began later there");
        (begin, gap(self.end_s, self.end_s - to_s, "`pgdyno observe` ended before there"))
    }

    /// Files about the same server that were joined before.
    fn earlier(&self) -> impl Iterator<Item = &JoinedRecord> {
        let record = &self.run.record;
        let name = record.subjects.get(self.subject).map(|subject| subject.name.as_str());
        record.joined.iter().filter(move |joined| Some(joined.subject.as_str()) == name)
    }

    /// Whether a line of the run stays: all but those of a join of this file that was killed before it was recorded.
    fn stays(&self, line: &Observed) -> bool {
        let is_ours = line.machine.as_ref() == Some(&self.file.header.machine)
            && line.subject.as_deref() == self.run.record.name_in_runs(self.subject);
        let (from_s, to_s) = self.covered_s;
        let is_here = line.at_s >= from_s && line.at_s <= to_s;
        !is_ours || (self.earlier().next().is_some() && !is_here)
    }
}

fn refuse_unfinished(run: &Run, what: &str) -> Result<(), Problem> {
    if run.record.status == Status::Partial {
        let problem = Problem::wrong_request(format!("{what}: the run has not ended"));
        return Err(problem.hint("wait for its end; a run that was killed: `pgdyno resume`"));
    }
    let edited = run.record.doubts.iter().find(|doubt| doubt.is_of_reader());
    edited.map_or(Ok(()), |doubt| {
        let problem = Problem::wrong_request(format!("{what}: the run was edited after it was recorded"));
        Err(problem
            .detail(doubt.detail.clone())
            .hint("obtain the original record, and join the file to that"))
    })
}

fn refuse_again(run: &Run, sha256: &str, what: &str) -> Result<(), Problem> {
    let before = run.record.joined.iter().find(|joined| joined.sha256 == sha256);
    before.map_or(Ok(()), |joined| {
        let problem = Problem::wrong_request(format!("{what}: it was joined before"));
        Err(problem.detail(format!("at {}, as {}", joined.at, joined.file)).hint("nothing was changed"))
    })
}

fn refuse_overlap(
    record: &RunRecord,
    subject: &str,
    covered_s: (f64, f64),
    what: &str,
) -> Result<(), Problem> {
    let overlaps = |joined: &&JoinedRecord| {
        joined.subject == subject && joined.from_s < covered_s.1 && covered_s.0 < joined.to_s
    };
    record.joined.iter().find(overlaps).map_or(Ok(()), |joined| {
        let why = "another file has the same machine at the same time";
        let problem = Problem::wrong_request(format!("{what}: {why}"));
        let (from_s, to_s) = (joined.from_s, joined.to_s);
        let detail = format!("{} covers {from_s:.1} s to {to_s:.1} s of the run", joined.file);
        Err(problem.detail(detail).hint("nothing was changed"))
    })
}

fn refuse_misfit(misfit: Misfit, what: &str, (of_file, of_run): (&str, &str)) -> Problem {
    let again = "do not set the clock of the server during a run: chrony and ntpd can slew it instead";
    let refuse = |why: &str, hint: &str| Problem::wrong_request(format!("{what}: {why}")).hint(hint);
    let between =
        |from_s: f64, to_s: f64, of: &str| format!("between {from_s:.1} s and {to_s:.1} s of the {of}");
    match misfit {
        Misfit::RunNotRead => not_read(what),
        Misfit::FileNotRead => refuse(
            "the file has no reading of the server's clock",
            "`pgdyno observe` had no session at the server: its gaps say why",
        ),
        Misfit::RunJumped(from_s, to_s) => {
            refuse("the server's clock was set during the run", again).detail(between(from_s, to_s, "run"))
        }
        Misfit::FileJumped(from_s, to_s) => {
            refuse("the server's clock was set during the run", again).detail(between(from_s, to_s, "file"))
        }
        Misfit::Apart => refuse(
            "it is of another time",
            "`pgdyno observe` must run on the server's machine while the run does",
        )
        .detail(format!("the file was begun at {of_file}, the run at {of_run}")),
    }
}
