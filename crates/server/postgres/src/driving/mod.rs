//! Drives the clients of all sets of tables of a run at one time: on threads of this process, or by driver processes.
//! Each set is a run of the engine; all begin at one instant, and what they measured is added up.

pub mod driver;
mod messages;
mod part;
pub mod population;
mod process;

use std::{
    sync::{
        Arc,
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread,
    time::Duration,
};

use pgdyno_core::{problem::Problem, stop::Stop};
use pgdyno_engine::{Begin, Clock, Mark, MergedInterval, Merger, Report, StartLine};

use messages::{DriverEvent, Order, SetEnd};
pub use messages::{SetTask, Task};
pub use part::{Part, Share, Terms};
pub use process::Processes;

/// Time from the moment at which all are ready to their begin, which is known to every thread, or process, by then.
const LEAD: Duration = Duration::from_millis(5);
const LEAD_OF_PROCESSES: Duration = Duration::from_millis(250);
/// How often a waiting thread checks for a stop request.
const POLL: Duration = Duration::from_millis(20);

/// What a run measured.
pub struct Outcome {
    /// All sets together.
    pub whole: Report,
    /// Each set, if there are several.
    pub each: Vec<Report>,
}

/// Called during a run, on the thread that called [`run`].
pub struct Listening<'a> {
    /// Called with every interval, over all sets.
    pub on_interval: &'a mut dyn FnMut(&MergedInterval),
    /// Called at the edges of the measured interval.
    pub on_mark: &'a mut dyn FnMut(Mark),
}

/// Drives the clients of a run.
///
/// # Errors
/// The driver failed, or a driver process ended.
pub fn run(
    parts: &mut [Part],
    processes: Option<&mut Processes>,
    terms: &Terms,
    stop: &Stop,
    listening: Listening<'_>,
) -> Result<Outcome, Problem> {
    match (parts, processes) {
        ([only], None) => {
            let Listening { on_interval, on_mark } = listening;
            let whole = only.drive(terms, Begin::default(), stop, on_interval, on_mark)?;
            Ok(Outcome { whole, each: Vec::new() })
        }
        (parts, None) => by_threads(parts, terms, stop, listening),
        (parts, Some(processes)) => by_processes(parts, processes, terms, stop, listening),
    }
}

/// What a set says while it is driven by threads.
enum Heard {
    Interval(usize, Box<MergedInterval>),
    Ended(usize, Box<Result<Report, Problem>>),
}

fn by_threads(
    parts: &mut [Part],
    terms: &Terms,
    stop: &Stop,
    listening: Listening<'_>,
) -> Result<Outcome, Problem> {
    let line = Arc::new(StartLine::new(parts.len(), LEAD));
    let mut together = Together::new(parts.len(), terms, stop, listening);
    let (sender, heard) = mpsc::channel();
    thread::scope(|scope| {
        for (set, part) in parts.iter_mut().enumerate() {
            let (line, sender) = (Arc::clone(&line), sender.clone());
            scope.spawn(move || drive_set(set, part, terms, stop, line, &sender));
        }
        drop(sender);
        together.listen_to_threads(&heard, &line);
    });
    together.finish()
}

fn drive_set(
    set: usize,
    part: &mut Part,
    terms: &Terms,
    stop: &Stop,
    line: Arc<StartLine>,
    sender: &Sender<Heard>,
) {
    let stopped = stop.clone();
    let begin = Begin::when(move || {
        line.arrive();
        line.wait(&stopped)
    });
    // Nobody listens any more once another set has failed.
    let on_interval =
        &mut |interval: &MergedInterval| drop(sender.send(Heard::Interval(set, Box::new(interval.clone()))));
    let report = part.drive(terms, begin, stop, on_interval, &mut |_| ());
    let _ = sender.send(Heard::Ended(set, Box::new(report)));
}

fn by_processes(
    parts: &mut [Part],
    processes: &mut Processes,
    terms: &Terms,
    stop: &Stop,
    listening: Listening<'_>,
) -> Result<Outcome, Problem> {
    let line = StartLine::new(parts.len(), LEAD_OF_PROCESSES);
    let mut together = Together::new(parts.len(), terms, stop, listening);
    processes.order(&Order::Run(Box::new(terms.clone())));
    together.listen_to_processes(parts, processes, &line);
    together.finish()
}

/// Index of the first set of each process.
fn firsts(sets: &[usize]) -> Vec<usize> {
    (0..sets.len()).map(|process| sets[..process].iter().sum()).collect()
}

/// Several sets while they are driven.
struct Together<'a, 'l> {
    merger: Merger,
    terms: &'a Terms,
    stop: &'a Stop,
    listening: Listening<'l>,
    /// Whether the run of each set is over.
    is_over: Vec<bool>,
    /// Edges of the measured interval that are still to come, the next one last; `None` before the begin.
    marks: Option<Vec<(u64, Mark)>>,
    problem: Option<Problem>,
}

impl<'a, 'l> Together<'a, 'l> {
    fn new(sets: usize, terms: &'a Terms, stop: &'a Stop, listening: Listening<'l>) -> Self {
        let (merger, is_over) = (Merger::new(sets), vec![false; sets]);
        Self { merger, terms, stop, listening, is_over, marks: None, problem: None }
    }

    fn listen_to_threads(&mut self, heard: &Receiver<Heard>, line: &StartLine) {
        loop {
            self.begin(line);
            match heard.recv_timeout(self.until_next_mark()) {
                Ok(Heard::Interval(set, interval)) => self.interval(set, *interval),
                Ok(Heard::Ended(set, report)) => self.ended(set, *report),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn listen_to_processes(&mut self, parts: &[Part], processes: &mut Processes, line: &StartLine) {
        let firsts = firsts(&processes.sets());
        while self.is_over.contains(&false) {
            if let Some(at_ns) = self.begin(line) {
                processes.order(&Order::Begin { at_ns });
            }
            let Some((process, event)) = processes.next(self.until_next_mark(), self.stop) else { continue };
            match event {
                Some(DriverEvent::Ready) => line.arrive(),
                Some(DriverEvent::Interval { set, interval }) => {
                    self.interval(firsts[process] + set, *interval)
                }
                Some(DriverEvent::Ended { set, end }) => {
                    let set = firsts[process] + set;
                    self.ended_elsewhere(set, &parts[set], *end);
                }
                Some(DriverEvent::Connected { .. }) => {}
                Some(DriverEvent::Failed(failure)) => self.failed(failure.into()),
                None => self.end_of(process, parts, processes),
            }
        }
    }

    /// Notes the begin as soon as it is known, and returns it once.
    fn begin(&mut self, line: &StartLine) -> Option<u64> {
        let begin_ns = line.begin_ns().filter(|_| self.marks.is_none())?;
        let measure_ns = begin_ns + self.terms.settings.warmup_ns;
        let end_ns = measure_ns.saturating_add(self.terms.settings.duration_ns);
        self.marks = Some(vec![(end_ns, Mark::MeasureEnd), (measure_ns, Mark::MeasureStart)]);
        Some(begin_ns)
    }

    /// Calls the marks that are due, and returns the time to the next one, or to the next check for the begin.
    fn until_next_mark(&mut self) -> Duration {
        let now_ns = Clock::now_ns();
        while let Some((at_ns, mark)) = self.marks.as_ref().and_then(|marks| marks.last().copied()) {
            if at_ns > now_ns {
                return Duration::from_nanos(at_ns - now_ns).min(POLL);
            }
            (self.listening.on_mark)(mark);
            self.marks.as_mut().and_then(Vec::pop);
        }
        POLL
    }

    fn interval(&mut self, set: usize, interval: MergedInterval) {
        if let Err(error) = self.merger.interval(set, interval) {
            self.failed(Problem::could_not(format!("the driver failed: {error}")));
        }
        self.pass_on();
    }

    fn pass_on(&mut self) {
        while let Some(merged) = self.merger.next_complete() {
            (self.listening.on_interval)(&merged);
        }
    }

    /// The run of a set is over. One that stopped early ends the others.
    fn ended(&mut self, set: usize, report: Result<Report, Problem>) {
        if let Ok(Some(why)) = report.as_ref().map(|report| report.stopped.clone()) {
            self.stop.request(&why);
        }
        let report = report.map_err(|problem| self.failed(problem)).ok();
        self.is_over[set] = true;
        self.merger.ended(set, report);
        self.pass_on();
    }

    fn ended_elsewhere(&mut self, set: usize, part: &Part, end: SetEnd) {
        part.sessions.add(end.seen());
        part.counted.add(&end.shares);
        self.ended(set, Ok(end.report));
    }

    /// A process has closed its output: too early, unless all its sets are over.
    fn end_of(&mut self, process: usize, parts: &[Part], processes: &mut Processes) {
        let number = process as u32 + 1;
        let its =
            parts.iter().enumerate().filter(|(_, part)| part.driver == Some(number)).map(|(set, _)| set);
        let lost: Vec<usize> = its.filter(|set| !self.is_over[*set]).collect();
        if lost.is_empty() {
            return;
        }
        if self.problem.is_none() {
            self.failed(processes.lost(process));
        }
        for set in lost {
            self.is_over[set] = true;
            self.merger.ended(set, None);
        }
    }

    fn failed(&mut self, problem: Problem) {
        self.stop.request(&problem.what);
        self.problem.get_or_insert(problem);
    }

    fn finish(self) -> Result<Outcome, Problem> {
        if self.marks.as_ref().is_some_and(|marks| marks.len() == 1) {
            (self.listening.on_mark)(Mark::MeasureEnd); // ended within the measured interval
        }
        let (whole, each) = self.merger.finish(self.stop);
        match self.problem {
            Some(problem) => Err(problem),
            None => Ok(Outcome { whole, each: each.into_iter().flatten().collect() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_numbered_over_all_processes() {
        assert_eq!(firsts(&[2, 2, 1]), [0, 2, 4]);
        assert_eq!(firsts(&[]), Vec::<usize>::new());
    }
}
