//! What observers and the log of events report about a run over time, kept in bounded memory: line after line is added,
//! and nothing else is kept of it.

mod track;

use std::collections::BTreeMap;

use pgdyno_core::{
    observe::{CounterSample, DeviceSample, HostSample, LogEvent, LogSample, Observed, WaitsSample, What},
    units,
};
use pgdyno_document::marks::{Mark, Marks};
use pgdyno_record::{Event, EventLine, RunRecord};

pub use track::{Sum, Time, Track};

/// The subject that something is about; `None` for the host, and where there is one server only.
pub type Whose = Option<String>;

/// The machine that something is about; `None` for the one that pgdyno ran on.
pub type Machine = Option<String>;

/// Kinds of events, in the order of their rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Stages of the experiment.
    Stage,
    /// Measured intervals and warm-ups.
    Run,
    /// First seconds of measured intervals that differ from the rest.
    Unsteady,
    /// Checkpoints.
    Checkpoint,
    /// Automatic VACUUM and ANALYZE.
    AutoVacuum,
    /// Lock waits and deadlocks.
    Lock,
    /// Starts and ends of servers, their errors, and lost connections.
    Server,
    /// Warnings of pgdyno.
    Warning,
    /// What could not be observed.
    Gap,
}

impl Kind {
    /// Name of the row.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stage => "stages",
            Self::Run => "runs",
            Self::Unsteady => "not steady",
            Self::Checkpoint => "checkpoints",
            Self::AutoVacuum => "autovacuum",
            Self::Lock => "lock waits",
            Self::Server => "server",
            Self::Warning => "warnings",
            Self::Gap => "not observed",
        }
    }
}

/// Observations and events of a run, for its charts over time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OverTime {
    /// When each subject was driven, in order; empty with one subject.
    driven: Vec<(f64, f64, String)>,
    /// Shares of the time of all CPUs of a machine: `user`, `system`, `irq`, `iowait`, `steal`, and `busy` for the sum
    /// of those.
    pub cpus: BTreeMap<Machine, Track>,
    /// `DEVICE/read`, `DEVICE/written` in bytes per second, and `DEVICE/busy`, of the devices of a machine.
    pub devices: BTreeMap<Machine, Track>,
    /// Shares of the samples of client sessions by wait event.
    pub waits: BTreeMap<Whose, Track>,
    /// Bytes of WAL per second, by the counter that has them.
    pub wal: BTreeMap<Whose, Track>,
    /// Buffers per second that the checkpointer wrote, by the counter that has them.
    pub checkpointer: BTreeMap<Whose, Track>,
    /// Events by kind.
    pub events: BTreeMap<Kind, Marks>,
    /// Checkpoints by counters, for servers whose log reports none.
    counted_checkpoints: Marks,
    /// Begin and reason of the running checkpoint.
    checkpoint_began: BTreeMap<Whose, (f64, String)>,
}

/// Counters of WAL bytes by view and column: 14 and later.
const WAL: [(&str, &str); 1] = [("pg_stat_wal", "wal_bytes")];
/// Counters of buffers written by checkpoints: since 17, and before.
const CHECKPOINTER: [(&str, &str); 2] =
    [("pg_stat_checkpointer", "buffers_written"), ("pg_stat_bgwriter", "buffers_checkpoint")];
/// Counters of checkpoints.
const CHECKPOINTS: [(&str, &str); 4] = [
    ("pg_stat_checkpointer", "num_timed"),
    ("pg_stat_checkpointer", "num_requested"),
    ("pg_stat_bgwriter", "checkpoints_timed"),
    ("pg_stat_bgwriter", "checkpoints_req"),
];
/// Views of which a line of the server's counters has one; that of databases changes with every reading.
const SERVER_VIEWS: [&str; 4] =
    ["pg_stat_database", "pg_stat_wal", "pg_stat_bgwriter", "pg_stat_checkpointer"];
/// Backend types of clients: since 10, and before.
const CLIENTS: [&str; 2] = ["client backend", "session"];

impl OverTime {
    /// An empty collection for the run of a record.
    pub fn new(record: &RunRecord) -> Self {
        let several = record.subjects.len() > 1;
        let driven = record.runs.iter().filter(|_| several).filter_map(|run| {
            let from_s = run.start_s - run.warmup_ns as f64 / 1e9;
            Some((from_s, run.start_s + run.duration_ns as f64 / 1e9, run.workload.subject.clone()?))
        });
        Self { driven: driven.collect(), ..Self::default() }
    }

    /// Adds a line of `observations.ndjson`.
    pub fn add(&mut self, line: &Observed) {
        let time = (line.at_s - line.over_s, line.at_s);
        let whose = line.subject.as_deref().map(|subject| units::printable(subject).into_owned());
        let machine = line.machine.as_deref().map(|machine| units::printable(machine).into_owned());
        match &line.what {
            What::Host(host) => self.host(time, machine, host),
            What::Devices { devices } => self.devices(time, machine, devices),
            What::Waits(waits) => self.waits(time, whose, waits),
            What::Counters(counters) => self.counters(time, whose, counters),
            What::Log(log) => self.log(line.at_s, whose, log),
            What::Gap { missing, why } => {
                let whose = of_subject(whose.as_ref());
                self.mark(Kind::Gap, Mark::new(time.0, time.1, format!("{missing}{whose}: {why}"), GREY));
            }
            What::Processes(_)
            | What::Sessions { .. }
            | What::Blocked { .. }
            | What::Statements { .. }
            | What::Progress { .. }
            | What::Clock(_)
            | What::Cost(_) => {}
        }
    }

    /// Adds a line of `events.ndjson`.
    pub fn add_event(&mut self, line: &EventLine) {
        if let Event::Warning { text, .. } = &line.event {
            self.mark(Kind::Warning, Mark::new(line.at_s, line.at_s, text.clone(), RED));
        }
    }

    /// Adds an event.
    pub fn mark(&mut self, kind: Kind, mark: Mark) {
        self.events.entry(kind).or_default().add(mark);
    }

    /// The checkpoints: by the log, or by counters if it reports none.
    pub fn checkpoints(&self) -> Vec<Mark> {
        let logged = self.events.get(&Kind::Checkpoint).filter(|marks| !marks.is_empty());
        let mut marks = logged.unwrap_or(&self.counted_checkpoints).clone();
        for (whose, (from_s, reason)) in &self.checkpoint_began {
            let label = format!("checkpoint{} began: {reason}", of_subject(whose.as_ref()));
            marks.add(Mark::new(*from_s, *from_s, label, ORANGE));
        }
        marks.list()
    }

    /// Whether a subject was driven at a time; with one subject it always counts.
    fn was_driven(&self, (from_s, to_s): (f64, f64), whose: Option<&String>) -> bool {
        let Some(whose) = whose.filter(|_| !self.driven.is_empty()) else { return true };
        let after = self.driven.partition_point(|(_, end_s, _)| *end_s <= from_s);
        let near = self.driven[after..].iter().take_while(|(begin_s, ..)| *begin_s < to_s);
        near.into_iter().any(|(.., subject)| subject == whose)
    }

    fn host(&mut self, time: (f64, f64), machine: Machine, host: &HostSample) {
        let all = &host.all;
        let busy = all.busy() + all.iowait + all.steal;
        let parts = [
            ("user", all.user),
            ("system", all.system),
            ("irq", all.irq + all.softirq),
            ("iowait", all.iowait),
            ("steal", all.steal),
            ("busy", busy),
        ];
        self.cpus.entry(machine).or_default().add(time.0, time.1, parts);
    }

    fn devices(&mut self, time: (f64, f64), machine: Machine, devices: &[DeviceSample]) {
        let of = |device: &DeviceSample| {
            let name = units::printable(&device.device).into_owned();
            [
                (format!("{name}/read"), device.read_bytes_per_s),
                (format!("{name}/written"), device.written_bytes_per_s),
                (format!("{name}/busy"), device.utilisation),
            ]
        };
        let values: Vec<_> = devices.iter().flat_map(of).collect();
        let track = self.devices.entry(machine).or_default();
        track.add(time.0, time.1, values.iter().map(|(name, value)| (name.as_str(), *value)));
    }

    fn waits(&mut self, time: (f64, f64), whose: Whose, waits: &WaitsSample) {
        if !self.was_driven(time, whose.as_ref()) {
            return;
        }
        let mut shares: BTreeMap<&str, f64> = BTreeMap::new();
        for seen in waits.seen.iter().filter(|seen| CLIENTS.contains(&seen.backend.as_str())) {
            *shares.entry(&seen.event).or_default() += seen.count as f64;
        }
        let all: f64 = shares.values().sum();
        if all > 0.0 {
            let shares: Vec<_> =
                shares.iter().map(|(event, count)| (units::printable(event), count / all)).collect();
            let shares = shares.iter().map(|(event, share)| (event.as_ref(), *share));
            self.waits.entry(whose).or_default().add(time.0, time.1, shares);
        }
    }

    fn counters(&mut self, time: (f64, f64), whose: Whose, counters: &CounterSample) {
        // Tables have lines of their own, which say nothing about the server.
        let views = counters.views.keys().chain(&counters.reset);
        if !views.into_iter().any(|view| SERVER_VIEWS.contains(&view.as_str())) {
            return;
        }
        let over_s = time.1 - time.0;
        let change = |view: &str, column: &str| counters.views.get(view)?.get(column).copied();
        let rate = |of: &[(&'static str, &'static str)]| {
            let known = |(view, column): &(&'static str, &'static str)| {
                Some((*view, *column, change(view, column)? / over_s))
            };
            of.iter().find_map(known)
        };
        for (of, tracks) in [(&WAL[..], &mut self.wal), (&CHECKPOINTER[..], &mut self.checkpointer)] {
            let of_whom = tracks.entry(whose.clone()).or_default();
            let found = rate(of).map(|(view, column, rate)| (format!("{view}/{column}"), rate));
            let was_reset = of.iter().any(|(view, _)| counters.reset.iter().any(|reset| reset == view));
            if !was_reset {
                // Only what changed is recorded: a line without the counter means that it did not.
                of_whom.add(time.0, time.1, found.iter().map(|(name, rate)| (name.as_str(), *rate)));
            }
        }
        let begun: f64 = CHECKPOINTS.iter().filter_map(|(view, column)| change(view, column)).sum();
        if begun > 0.0 {
            let label = format!(
                "{}{} by counters",
                units::plural(begun as u64, "checkpoint"),
                of_subject(whose.as_ref())
            );
            self.counted_checkpoints.add(Mark::new(time.0, time.1, label, ORANGE));
        }
    }

    fn log(&mut self, at_s: f64, whose: Whose, log: &LogSample) {
        let of = of_subject(whose.as_ref());
        let at = |label: String, colour| Mark::new(at_s, at_s, label, colour);
        let message = || format!("{}{of}", log.message);
        let (kind, mark) = match &log.event {
            LogEvent::CheckpointBegan { reason } => {
                self.checkpoint_began.insert(whose, (at_s, units::printable(reason).into_owned()));
                return;
            }
            LogEvent::CheckpointEnded { buffers, write_s, sync_s, total_s, .. } => {
                let began = self.checkpoint_began.remove(&whose);
                let (from_s, why) = match began {
                    Some((from_s, reason)) => (from_s, format!(" ({reason})")),
                    None => (at_s - total_s, String::new()),
                };
                let label = format!(
                    "checkpoint{of}{why}: {} buffers, {} writing, {} syncing",
                    units::count(*buffers),
                    units::duration(*write_s),
                    units::duration(*sync_s)
                );
                (Kind::Checkpoint, Mark::new(from_s, at_s, label, ORANGE))
            }
            LogEvent::CheckpointsTooFrequent => (Kind::Checkpoint, at(message(), RED)),
            LogEvent::AutoVacuum { table, elapsed_s } => {
                let label = format!("automatic vacuum of {table}{of}");
                (Kind::AutoVacuum, Mark::new(at_s - elapsed_s.unwrap_or(0.0), at_s, label, BLUE))
            }
            LogEvent::AutoAnalyze { table, elapsed_s } => {
                let label = format!("automatic analyze of {table}{of}");
                (Kind::AutoVacuum, Mark::new(at_s - elapsed_s.unwrap_or(0.0), at_s, label, PURPLE))
            }
            LogEvent::LockWait { waited_s, .. } => {
                (Kind::Lock, Mark::new(at_s - waited_s, at_s, message(), PURPLE))
            }
            LogEvent::Deadlock => (Kind::Lock, at(message(), RED)),
            LogEvent::TemporaryFile { bytes } => {
                (Kind::Server, at(format!("temporary file of {}{of}", units::bytes(*bytes)), GREY))
            }
            LogEvent::Ended | LogEvent::Error => (Kind::Server, at(message(), RED)),
            LogEvent::Ready => (Kind::Server, at(message(), GREEN)),
        };
        self.mark(kind, mark);
    }
}

/// Colours of marks, by their number in the style sheet.
pub const BLUE: usize = 0;
/// The colour of runs of a second subject.
pub const ORANGE: usize = 1;
/// Of what went wrong.
pub const RED: usize = 2;
/// Of what is well.
pub const GREEN: usize = 3;
/// Of what takes part in waiting.
pub const PURPLE: usize = 4;
/// Of what is in the background.
pub const GREY: usize = 5;

/// ` of NAME`; empty where there is one server only.
pub fn of_subject(whose: Option<&String>) -> String {
    whose.map(|name| format!(" of {name}")).unwrap_or_default()
}
