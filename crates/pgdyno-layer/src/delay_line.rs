//! Answers requests when they are due. One thread waits for all of them, so that a delayed request holds up no other.

use std::{
    cmp::{Ordering, Reverse},
    collections::BinaryHeap,
    io,
    num::NonZeroU64,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rustix::thread::set_current_timer_slack;

/// An answer to the kernel.
type Answer = Box<dyn FnOnce() + Send>;

/// The requests that wait, and the thread that answers them.
pub(crate) struct DelayLine {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    answers: BinaryHeap<Reverse<Due>>,
    added: u64,
    closed: bool,
}

/// An answer with its time; of equal times the first one added comes first.
struct Due {
    at: Instant,
    number: u64,
    answer: Answer,
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Due {}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Due {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

impl DelayLine {
    /// Starts the thread.
    ///
    /// # Errors
    /// That of starting it.
    pub(crate) fn start() -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let work = Arc::clone(&shared);
        let thread = thread::Builder::new().name("layer-delays".into()).spawn(move || work.run())?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Answers `delay` after `since`; at once, on this thread, without a delay.
    pub(crate) fn answer(&self, since: Instant, delay: Duration, answer: impl FnOnce() + Send + 'static) {
        if delay.is_zero() {
            return answer();
        }
        let mut waiting = self.shared.lock();
        let (at, number) = (since + delay, waiting.added);
        waiting.added += 1;
        let first = waiting.answers.peek().is_none_or(|Reverse(due)| at < due.at);
        waiting.answers.push(Reverse(Due { at, number, answer: Box::new(answer) }));
        drop(waiting);
        if first {
            self.shared.changed.notify_one();
        }
    }
}

impl Drop for DelayLine {
    /// Answers what still waits when it is due, and ends the thread.
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // It cannot have panicked: an answer only writes to a descriptor.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        // The kernel may otherwise end every wait up to 50 µs late to save wake-ups. Without it delays are less exact.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        while let Some(answer) = self.next() {
            answer();
        }
    }

    /// Waits for the next answer that is due; `None` once the line is closed and empty.
    fn next(&self) -> Option<Answer> {
        let mut waiting = self.lock();
        loop {
            let left =
                waiting.answers.peek().map(|Reverse(due)| due.at.saturating_duration_since(Instant::now()));
            waiting = match left {
                Some(Duration::ZERO) => return waiting.answers.pop().map(|Reverse(due)| due.answer),
                Some(left) => {
                    let woken = self.changed.wait_timeout(waiting, left);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
                None if waiting.closed => return None,
                None => self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn answers_come_when_they_are_due_and_none_waits_for_another() {
        let line = DelayLine::start().expect("a thread");
        let (sender, received) = mpsc::channel();
        let start = Instant::now();
        for (name, delay_ms) in [("second", 40), ("third", 80), ("first", 20), ("third too", 80)] {
            let sender = sender.clone();
            line.answer(start, MS * delay_ms, move || {
                assert!(sender.send((name, start.elapsed() >= MS * delay_ms)).is_ok());
            });
        }
        let order: Vec<_> = received.iter().take(4).collect();
        assert_eq!(order, ["first", "second", "third", "third too"].map(|name| (name, true)));
    }

    #[test]
    fn a_line_that_is_dropped_answers_all() {
        let line = DelayLine::start().expect("a thread");
        let (sender, received) = mpsc::channel();
        for number in 0..3 {
            let sender = sender.clone();
            line.answer(Instant::now(), MS * 5, move || assert!(sender.send(number).is_ok()));
        }
        drop((line, sender));
        assert_eq!(received.iter().collect::<Vec<i32>>(), [0, 1, 2]);
    }

    #[test]
    fn without_a_delay_the_caller_answers() {
        let line = DelayLine::start().expect("a thread");
        let (sender, received) = mpsc::channel();
        line.answer(Instant::now(), Duration::ZERO, move || {
            assert!(sender.send(thread::current().id()).is_ok());
        });
        assert_eq!(received.recv(), Ok(thread::current().id()));
    }

    /// How late answers are; with 1, 4 and 16 requests in flight.
    #[test]
    #[ignore = "measures"]
    fn lateness() {
        let line = DelayLine::start().expect("a thread");
        for in_flight in [1, 4, 16] {
            let (sender, received) = mpsc::channel();
            let mut late_ns: Vec<u128> = (0..2_000 / in_flight)
                .flat_map(|_| {
                    let start = Instant::now();
                    for number in 0..in_flight {
                        let (sender, delay) = (sender.clone(), MS + Duration::from_micros(50) * number);
                        line.answer(start, delay, move || {
                            assert!(sender.send(start.elapsed() - delay).is_ok());
                        });
                    }
                    received.iter().take(in_flight as usize).map(|late| late.as_nanos()).collect::<Vec<_>>()
                })
                .collect();
            late_ns.sort_unstable();
            let at = |quantile: f64| late_ns[(late_ns.len() as f64 * quantile) as usize];
            println!("{in_flight:3} in flight: late by {} ns (median), {} ns (99 %)", at(0.5), at(0.99));
        }
    }
}
