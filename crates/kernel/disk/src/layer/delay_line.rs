//! Answers requests when they are due. One thread waits for all of them, so that a delayed request holds up no other.

use std::{
    cmp::{Ordering, Reverse},
    collections::BinaryHeap,
    hint, io,
    num::NonZeroU64,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rustix::thread::set_current_timer_slack;

/// Longest time to spin for an answer, and the most that is learned of a late wait.
const MAX_SPIN: Duration = Duration::from_micros(100);

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
        let mut lateness = Lateness::default();
        while let Some(due) = self.next(&mut lateness) {
            // Others may add answers meanwhile: the lock is not held.
            while Instant::now() < due.at {
                hint::spin_loop();
            }
            (due.answer)();
        }
    }

    /// Waits for the next answer until shortly before it is due; `None` once the line is closed and empty.
    fn next(&self, lateness: &mut Lateness) -> Option<Due> {
        let mut waiting = self.lock();
        loop {
            let due = waiting.answers.peek().map(|Reverse(due)| due.at);
            waiting = match due.map(|due| due - lateness.0) {
                Some(wake) if wake > Instant::now() => {
                    let left = wake.saturating_duration_since(Instant::now());
                    let woken = self.changed.wait_timeout(waiting, left);
                    let (waiting, result) = woken.unwrap_or_else(PoisonError::into_inner);
                    if result.timed_out() {
                        lateness.learn(wake.elapsed());
                    }
                    waiting
                }
                Some(_) => return waiting.answers.pop().map(|Reverse(due)| due),
                None if waiting.closed => return None,
                None => self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

/// How late the kernel recently ended waits: 5 µs on an idle machine, 50 µs in a virtual one. Waits end by so much
/// earlier, and what is left is spun: so little CPU time is spent, and an answer is as exact as the lateness is even.
#[derive(Debug, Default, PartialEq, Eq)]
struct Lateness(Duration);

impl Lateness {
    /// Follows with an eighth of each new one, so that a single long one does little.
    fn learn(&mut self, late: Duration) {
        self.0 = ((self.0 * 7 + late.min(MAX_SPIN)) / 8).min(MAX_SPIN);
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

    /// Also after the line has learned to wake early.
    #[test]
    fn no_answer_is_early() {
        let line = DelayLine::start().expect("a thread");
        let (sender, received) = mpsc::channel();
        for _ in 0..500 {
            let (sender, start, delay) = (sender.clone(), Instant::now(), Duration::from_micros(500));
            line.answer(start, delay, move || assert!(sender.send(start.elapsed() >= delay).is_ok()));
            assert_eq!(received.recv(), Ok(true));
        }
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
    fn lateness_is_followed_within_its_limit() {
        let mut lateness = Lateness::default();
        (0..100).for_each(|_| lateness.learn(Duration::from_micros(40)));
        assert!((39..=40).contains(&lateness.0.as_micros()), "{lateness:?}");
        lateness.learn(Duration::from_secs(1));
        assert!(lateness.0.as_micros() < 50, "{lateness:?}");
        (0..100).for_each(|_| lateness.learn(Duration::from_secs(1)));
        assert!((99..=100).contains(&lateness.0.as_micros()), "{lateness:?}");
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
