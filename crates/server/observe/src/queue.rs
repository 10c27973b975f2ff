//! The queue between observers and the file that they fill.

use std::{
    fs::File,
    io::Write,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread::{self, JoinHandle},
};

use pgdyno_core::observe::{Live, Observed, ServerClock, What};

use crate::cost::{Account, ThreadCost};

/// Most lines that wait to be written: minutes of a slow disk.
const MOST_LINES: usize = 1_000;

/// Called once a second with what was seen, by the thread that writes.
pub type Onlooker = Box<dyn FnMut(&Live) + Send>;

/// The writing end: a thread that appends lines to the file.
#[derive(Debug)]
pub(crate) struct Queue {
    sender: Option<Sender>,
    writer: Option<JoinHandle<()>>,
    written: Arc<Mutex<Written>>,
}

/// What became of the lines.
#[derive(Debug, Clone, Default)]
pub(crate) struct Written {
    /// Lines that were dropped.
    pub dropped: u64,
    /// Why lines could not be written.
    pub failed: Option<String>,
    /// The servers' clocks, by the lines about them.
    pub clocks: Vec<ServerClock>,
}

/// What observers send their lines to.
#[derive(Debug, Clone)]
pub(crate) struct Sender {
    lines: SyncSender<Observed>,
    dropped: Arc<Dropped>,
    subject: Option<String>,
}

#[derive(Debug, Default)]
struct Dropped {
    /// In all.
    all: AtomicU64,
    /// Since the last line that says so.
    unsaid: AtomicU64,
}

impl Queue {
    /// Starts the thread; without a file, lines are dropped, and the onlooker is never called.
    pub(crate) fn begin(file: Option<File>, onlooker: Option<Onlooker>, account: Account) -> Self {
        let (lines, received) = sync_channel(MOST_LINES);
        let written = Arc::new(Mutex::new(Written::default()));
        let filled = Arc::clone(&written);
        let write = |file| {
            let mut shown = Shown { live: Live::default(), is_due: false, onlooker };
            thread::spawn(move || {
                write_lines(&received, (file, &mut shown), ThreadCost::new(account), &filled)
            })
        };
        let writer = file.map(write);
        let sender = Sender { lines, dropped: Arc::default(), subject: None };
        Self { sender: Some(sender), writer, written }
    }

    /// A sender of lines about the host.
    pub(crate) fn sender(&self) -> Sender {
        self.sender.clone().expect("it ends only with its owner")
    }

    /// Writes what is left, once all other senders are gone.
    pub(crate) fn end(&mut self) -> Written {
        let dropped = self.sender.take().map_or(0, |sender| {
            sender.say_dropped(0.0);
            sender.dropped.all.load(Ordering::Relaxed)
        });
        if let Some(writer) = self.writer.take() {
            let _ = writer.join(); // a panic is printed already, and there is nothing to write with
        }
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Written { dropped, ..written }
    }
}

impl Sender {
    /// A sender of lines about a subject.
    pub(crate) fn of(&self, subject: Option<String>) -> Self {
        Self { subject, ..self.clone() }
    }

    /// Sends a line, and never waits: a full queue drops it.
    pub(crate) fn send(&self, at_s: f64, over_s: f64, what: What) {
        self.send_about(self.subject.clone(), at_s, over_s, what);
    }

    /// Sends a line about another subject.
    pub(crate) fn send_about(&self, subject: Option<String>, at_s: f64, over_s: f64, what: What) {
        self.say_dropped(at_s);
        if let Err(TrySendError::Full(_)) =
            self.lines.try_send(Observed { at_s, over_s, subject, machine: None, what })
        {
            self.dropped.all.fetch_add(1, Ordering::Relaxed);
            self.dropped.unsaid.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Sends a gap.
    pub(crate) fn gap(&self, at_s: f64, over_s: f64, missing: &str, why: &str) {
        self.send(at_s, over_s, What::Gap { missing: missing.to_owned(), why: why.to_owned() });
    }

    fn say_dropped(&self, at_s: f64) {
        let count = self.dropped.unsaid.swap(0, Ordering::Relaxed);
        if count == 0 {
            return;
        }
        let why = "they could not be written fast enough".to_owned();
        let what = What::Gap { missing: format!("{count} lines"), why };
        if self.lines.try_send(Observed { at_s, over_s: 0.0, subject: None, machine: None, what }).is_err() {
            self.dropped.unsaid.fetch_add(count, Ordering::Relaxed);
        }
    }
}

/// What an onlooker is shown.
struct Shown {
    live: Live,
    is_due: bool,
    onlooker: Option<Onlooker>,
}

impl Shown {
    fn add(&mut self, line: &Observed) {
        if self.onlooker.is_some() {
            self.live.add(line);
            self.is_due |= matches!(line.what, What::Host(_));
        }
    }

    /// Calls it after lines of which one was the host's: that comes every second, and at edges of intervals.
    fn show(&mut self) {
        if let Some(onlooker) = self.onlooker.as_mut().filter(|_| self.is_due) {
            self.is_due = false;
            onlooker(&self.live);
        }
    }
}

/// Appends lines until all senders are gone; all that wait at one time with one write. After an error lines are thrown
/// away: a full disk must not end the run here.
fn write_lines(
    lines: &Receiver<Observed>,
    (mut file, shown): (File, &mut Shown),
    mut cost: ThreadCost,
    written: &Mutex<Written>,
) {
    let mut text = Vec::new();
    while let Ok(first) = lines.recv() {
        text.clear();
        let mut written = written.lock().unwrap_or_else(PoisonError::into_inner);
        for line in std::iter::once(first).chain(lines.try_iter().take(MOST_LINES)) {
            if let What::Clock(sample) = &line.what {
                ServerClock::add(&mut written.clocks, line.subject.as_ref(), sample);
            }
            shown.add(&line);
            // A figure that is not finite would make the line unreadable; none is, and the rest is worth keeping.
            if let Ok(json) = serde_json::to_vec(&line) {
                text.extend(json);
                text.push(b'\n');
            }
        }
        if written.failed.is_none() {
            written.failed = file.write_all(&text).err().map(|error| error.to_string());
        }
        drop(written);
        shown.show();
        cost.count();
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Read, os::fd::OwnedFd};

    use super::*;

    fn line(text: &str) -> What {
        What::Gap { missing: text.to_owned(), why: "test".to_owned() }
    }

    #[test]
    fn lines_arrive_in_order_and_drops_are_counted() {
        // A pipe that nobody reads yet is a disk that is too slow.
        let (mut read, write) = std::io::pipe().expect("a pipe can be made");
        let mut queue = Queue::begin(Some(File::from(OwnedFd::from(write))), None, Account::default());
        let sender = queue.sender().of(Some("a".to_owned()));
        let long = "x".repeat(1_000);
        (0..3_000).for_each(|at| sender.send(f64::from(at), 1.0, line(&long)));
        let reader = std::thread::spawn(move || {
            let mut text = String::new();
            read.read_to_string(&mut text).map(|_| text)
        });
        while sender.dropped.unsaid.load(Ordering::Relaxed) > 0 {
            sender.say_dropped(3_000.0);
            std::thread::yield_now();
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
        sender.send(3_001.0, 1.0, line("last"));
        drop(sender);
        let Written { dropped, failed, .. } = queue.end();
        let text = reader.join().expect("it ends").expect("it is text");
        let lines: Vec<Observed> =
            text.lines().map(|line| serde_json::from_str(line).expect("a whole line")).collect();
        assert!(dropped > 1_000 && failed.is_none(), "{dropped}");
        let kept = lines.iter().filter(|line| line.subject.is_some()).count() as u64;
        assert_eq!(kept + dropped, 3_001);
        let said = |line: &Observed| match &line.what {
            What::Gap { missing, .. } => missing.strip_suffix(" lines")?.parse::<u64>().ok(),
            _ => None,
        };
        assert_eq!(lines.iter().filter_map(said).sum::<u64>(), dropped);
        assert!(lines.windows(2).all(|two| two[0].at_s <= two[1].at_s));
    }

    #[test]
    fn a_file_that_cannot_be_written_is_reported_at_the_end() {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
        let mut queue = Queue::begin(Some(full), None, Account::default());
        queue.sender().send(0.0, 1.0, line("a"));
        let Written { dropped, failed, .. } = queue.end();
        assert_eq!(dropped, 0);
        assert!(failed.is_some_and(|why| why.contains("No space left")));
    }
}
