//! The thread that follows the log of one server. It needs no session, so it also reports how a server ended.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::mpsc::{self, RecvTimeoutError},
    thread::{self, JoinHandle},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use crate::activity::{LogEntry, LogFollower};
use pgdyno_core::{
    observe::{LogEvent, What},
    units,
};

use crate::{
    command::Mark,
    cost::{Account, ThreadCost},
    queue::Sender,
    server_log::ServerLog,
    totals::Logged,
};

/// Time between two readings.
const EVERY: Duration = Duration::from_secs(1);
/// Most events that are recorded of one reading, and most errors among them.
const MOST_EVENTS: usize = 100;
const MOST_ERRORS: usize = 20;
/// After so many readings that did not reach the end of the log, the rest is skipped.
const MOST_BEHIND: u32 = 5;
/// An event is at most so old when it is read, by the clock of the server, which is that of this machine.
const OLDEST_S: f64 = 60.0;
/// What is missing, as in [`What::Gap`].
const LOG: &str = "log";

/// The running thread.
#[derive(Debug)]
pub(crate) struct LogThread {
    marks: mpsc::Sender<Mark>,
    thread: Option<JoinHandle<()>>,
}

impl LogThread {
    /// Begins at the present end of the log.
    pub(crate) fn begin(log: ServerLog, lines: Sender, account: Account, started: Instant) -> Self {
        let (marks, marked) = mpsc::channel();
        let logged = Logged::default();
        let begun = BTreeMap::new();
        let state = State { log, lines, started, logged, begun, behind: 0, failed: None, unknown_lines: 0 };
        let thread = thread::spawn(move || state.run(&marked, ThreadCost::new(account)));
        Self { marks, thread: Some(thread) }
    }

    /// Notifies the thread of times that begin and end.
    pub(crate) fn marks(&self) -> mpsc::Sender<Mark> {
        self.marks.clone()
    }
}

/// Ends the thread, which reads what was logged until now.
impl Drop for LogThread {
    fn drop(&mut self) {
        let _ = self.marks.send(Mark::Finish); // it may have ended before
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // a panic is printed already
        }
    }
}

struct State {
    log: ServerLog,
    lines: Sender,
    started: Instant,
    logged: Logged,
    /// The sums at the begin of times.
    begun: BTreeMap<u64, Logged>,
    /// Successive readings that did not reach the end of the log.
    behind: u32,
    /// Why it cannot be read at present.
    failed: Option<String>,
    unknown_lines: u64,
}

impl State {
    fn run(mut self, marked: &mpsc::Receiver<Mark>, mut cost: ThreadCost) {
        if let Some(why) = self.log.missing() {
            self.gap(&why);
        }
        let Some(path) = self.log.path.clone() else { return };
        let mut reader = None;
        loop {
            reader = self.look_at(&path, reader);
            cost.count();
            let mark = marked.recv_timeout(EVERY);
            if !matches!(mark, Err(RecvTimeoutError::Timeout)) {
                // The last message ends with a second reading that finds nothing after it.
                reader = self.look_at(&path, reader);
                reader = self.look_at(&path, reader);
            }
            match mark {
                Ok(Mark::Finish) | Err(RecvTimeoutError::Disconnected) => break,
                Ok(mark) => self.mark(mark),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
        if self.unknown_lines > 0 {
            let lines = units::plural(self.unknown_lines, "line");
            self.gap(&format!("not understood: {lines}"));
        }
        cost.count();
    }

    /// Reads what is new in the log; `None` if it cannot be followed from here.
    fn look_at(&mut self, path: &Path, reader: Option<LogFollower>) -> Option<LogFollower> {
        match reader.map_or_else(|| LogFollower::begin(path), Ok) {
            Ok(mut open) => self.look(&mut open).then_some(open),
            Err(error) => {
                self.fail(&error.to_string());
                None
            }
        }
    }

    /// Notes a time that begins, or sends what was logged in one that ends, if the log could be read.
    fn mark(&mut self, mark: Mark) {
        let now = self.logged.until(self.started.elapsed().as_secs_f64());
        match mark {
            Mark::Begin(_) if self.failed.is_some() => {}
            Mark::Begin(id) => drop(self.begun.insert(id, now)),
            Mark::End(id, digest) => {
                let begun = self.begun.remove(&id).filter(|_| self.failed.is_none());
                begun.into_iter().for_each(|begun| {
                    let _ = digest.send(now.since(&begun, &self.log)); // nobody may wait for it
                });
            }
            Mark::Finish => {}
        }
    }

    /// Records what is new. Returns whether the log is to be followed from here.
    fn look(&mut self, reader: &mut LogFollower) -> bool {
        let news = match reader.look() {
            Ok(news) => news,
            Err(error) => {
                self.fail(&error.to_string());
                return true;
            }
        };
        self.failed = None;
        self.unknown_lines += news.unknown_lines;
        self.record(news.entries);
        if news.lost {
            self.gap("it was cut before it was read");
        }
        self.behind = if news.behind { self.behind + 1 } else { 0 };
        let follows = self.behind < MOST_BEHIND;
        if !follows {
            self.behind = 0;
            self.gap("the server logs faster than it is read: a part was skipped");
        }
        follows
    }

    fn record(&mut self, entries: Vec<LogEntry>) {
        let (mut events, mut errors, mut left_out) = (0, 0, 0_u64);
        for entry in entries {
            let at_s = self.at_s(entry.at_unix_s);
            self.logged.add(at_s, &entry.sample.event);
            let is_error = entry.sample.event == LogEvent::Error;
            if events >= MOST_EVENTS || (is_error && errors >= MOST_ERRORS) {
                left_out += 1;
                continue;
            }
            events += 1;
            errors += usize::from(is_error);
            self.lines.send(at_s, 0.0, What::Log(entry.sample));
        }
        if left_out > 0 {
            self.gap(&format!("{left_out} more events of a second are left out"));
        }
    }

    /// When something was logged, in seconds since the start of the run: now, if the log does not say it.
    fn at_s(&self, logged_unix_s: Option<f64>) -> f64 {
        let now_s = self.started.elapsed().as_secs_f64();
        let unix_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
        let age_s = logged_unix_s.map(|logged_s| unix_s - logged_s);
        now_s - age_s.filter(|age_s| (0.0..OLDEST_S.min(now_s)).contains(age_s)).unwrap_or(0.0)
    }

    fn gap(&self, why: &str) {
        self.lines.gap(self.started.elapsed().as_secs_f64(), 0.0, LOG, why);
    }

    /// Says a reason once while it lasts.
    fn fail(&mut self, why: &str) {
        if self.failed.as_deref() != Some(why) {
            self.gap(why);
            self.failed = Some(why.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs::{self, OpenOptions},
        io::Write,
    };

    use pgdyno_core::observe::Observed;

    use super::*;
    use crate::queue::Queue;

    fn append(path: &Path, text: &str) {
        let mut file = OpenOptions::new().create(true).append(true).open(path).expect("it can be written");
        file.write_all(text.as_bytes()).expect("it is written");
    }

    /// What is recorded of a log while something happens to it.
    fn recorded_of(log: &ServerLog, happens: impl FnOnce()) -> Vec<Observed> {
        let mut out = tempfile::tempfile().expect("there is room");
        let mut queue = Queue::begin(out.try_clone().ok(), None, Account::default());
        let started = Instant::now() - Duration::from_secs(100);
        let thread = LogThread::begin(log.clone(), queue.sender(), Account::default(), started);
        thread::sleep(Duration::from_millis(300));
        happens();
        drop(thread);
        queue.end();
        let mut text = String::new();
        std::io::Seek::rewind(&mut out).expect("it is a file");
        std::io::Read::read_to_string(&mut out, &mut text).expect("it is text");
        text.lines().map(|line| serde_json::from_str(line).expect("a whole line")).collect()
    }

    fn gaps(recorded: &[Observed]) -> Vec<&str> {
        let why = |line: &Observed| matches!(&line.what, What::Gap { missing, .. } if missing == LOG);
        recorded
            .iter()
            .filter(|line| why(line))
            .filter_map(|line| match &line.what {
                What::Gap { why, .. } => Some(why.as_str()),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn events_have_the_time_at_which_they_were_logged() {
        let place = tempfile::tempdir().expect("there is room");
        let path = place.path().join("server.log");
        append(&path, "LOG:  checkpoint starting: old\n");
        let log = ServerLog {
            path: Some(path.clone()),
            silent: vec!["log_lock_waits = off".to_owned()],
            is_foreign: true,
        };
        let recorded = recorded_of(&log, || {
            let unix_s = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later").as_secs();
            let at = jiff::Timestamp::from_second(unix_s as i64 - 30).expect("it is a time");
            let at = at.to_string().replace('T', " ").replace('Z', "");
            append(&path, &format!("{at}.000 UTC [7] LOG:  checkpoint starting: known\n"));
            append(&path, "LOG:  checkpoint starting: unknown\nnonsense\n");
        });
        let lacks = "it is incomplete: messages are not in English (lc_messages), log_lock_waits = off";
        assert_eq!(gaps(&recorded), [lacks, "not understood: 1 line"]);
        let at = |reason: &str| {
            let is = |line: &&Observed| matches!(&line.what, What::Log(of) if of.message.ends_with(reason));
            recorded.iter().find(is).map(|line| line.at_s)
        };
        assert_eq!(at("old"), None);
        assert!(at("known").is_some_and(|at_s| (69.0..73.0).contains(&at_s)), "{recorded:?}");
        assert!(at("unknown").is_some_and(|at_s| at_s >= 100.0), "{recorded:?}");
    }

    #[test]
    fn a_flood_of_errors_leaves_room_for_other_events() {
        let place = tempfile::tempdir().expect("there is room");
        let path = place.path().join("server.log");
        append(&path, "");
        let log = ServerLog { path: Some(path.clone()), ..ServerLog::default() };
        let recorded = recorded_of(&log, || {
            append(&path, &format!("{}LOG:  checkpoint starting: x\n", "ERROR:  no\n".repeat(1_000)));
        });
        let errors =
            recorded.iter().filter(|line| matches!(&line.what, What::Log(of) if of.event == LogEvent::Error));
        assert_eq!(errors.count(), MOST_ERRORS);
        assert!(
            recorded.iter().any(|line| matches!(&line.what, What::Log(of) if of.event != LogEvent::Error))
        );
        assert_eq!(gaps(&recorded), ["980 more events of a second are left out"]);
    }

    #[test]
    fn a_log_that_cannot_be_read_is_reported_once() {
        let place = tempfile::tempdir().expect("there is room");
        let not_a_directory = place.path().join("file/log");
        fs::write(place.path().join("file"), "").expect("it can be written");
        let log = ServerLog { path: Some(not_a_directory), ..ServerLog::default() };
        let recorded = recorded_of(&log, || thread::sleep(Duration::from_millis(1_500)));
        assert_eq!(gaps(&recorded), ["Not a directory (os error 20)"]);
    }
}
