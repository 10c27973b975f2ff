//! How often a reader may be asked, given what its answers take.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

/// An answer takes at most this share of time, by default: a reader that takes longer is asked less often.
const SHARE: u32 = 200;
/// Before its time a reader is asked after so many times as long as an answer takes: there may be many edges.
const HURRY: u32 = 20;
/// Answers of which the quickest says what an answer takes.
const RECENT: usize = 8;

/// When to ask a reader again: as often as it is meant for, unless its answers take more than half a per cent of the
/// time, as those of [`TableReader`](crate::activity::TableReader) do with thousands of tables. The quickest of the
/// last answers counts: slower ones waited for a CPU or a lock, and cost no more. The first one does not count.
#[derive(Debug, Clone)]
pub struct Pace {
    every: Duration,
    share: u32,
    /// Longest time without questions that later ones may make up for.
    savings: Duration,
    /// Until when the share of time is spent.
    spent_until: Option<Instant>,
    next: Option<Instant>,
    /// The end of the last answer.
    last: Option<Instant>,
    took: VecDeque<Duration>,
}

impl Pace {
    /// Asks at most once in this time.
    pub fn new(every: Duration) -> Self {
        Self {
            every,
            share: SHARE,
            savings: Duration::ZERO,
            spent_until: None,
            next: None,
            last: None,
            took: VecDeque::new(),
        }
    }

    /// Lets answers take one part in so many of the time.
    pub fn with_share(self, one_in: u32) -> Self {
        Self { share: one_in, ..self }
    }

    /// Lets a reader that was not asked for some time, of which at most this counts, be asked at its intended rate
    /// until it has also used its share of that time.
    pub fn with_savings(self, savings: Duration) -> Self {
        Self { savings, ..self }
    }

    /// When to ask next; `None` for at once.
    pub fn next(&self) -> Option<Instant> {
        self.next
    }

    /// Whether it is time to ask.
    pub fn is_due(&self, now: Instant) -> bool {
        self.next.is_none_or(|next| next <= now)
    }

    /// Whether it may be asked now, though it is not due.
    pub fn may_hurry(&self, now: Instant) -> bool {
        self.last.is_none_or(|last| last + self.takes() * HURRY <= now)
    }

    /// What an answer takes.
    fn takes(&self) -> Duration {
        self.took.iter().min().copied().unwrap_or_default()
    }

    /// Notes an answer: when the question was sent, and when it came.
    pub fn answered(&mut self, begin: Instant, end: Instant) {
        if self.took.len() == RECENT {
            self.took.pop_front();
        }
        // The first answer fills caches.
        if self.last.replace(end).is_some() {
            self.took.push_back(end.saturating_duration_since(begin));
        }
        // Kept in step: a late answer does not delay the next ones.
        let step = self.next.map_or(begin, |next| if begin < next + self.every { next } else { begin });
        let saved_since = begin.checked_sub(self.savings).unwrap_or(begin);
        let spent_since = self.spent_until.map_or(saved_since, |until| until.max(saved_since));
        let spent_until = spent_since + self.takes().saturating_mul(self.share);
        self.spent_until = Some(spent_until);
        self.next = Some((step + self.every).max(spent_until));
    }

    /// Asks again after this time.
    pub fn rest(&mut self, now: Instant, time: Duration) {
        self.next = Some(now + time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fast_reader_stays_in_step_and_a_slow_one_rests() {
        let (begin, ms) = (Instant::now(), Duration::from_millis);
        let mut pace = Pace::new(ms(1_000));
        assert!(pace.is_due(begin));
        pace.answered(begin, begin + ms(2));
        assert!(!pace.is_due(begin + ms(999)) && pace.is_due(begin + ms(1_000)));
        pace.answered(begin + ms(1_040), begin + ms(1_042));
        assert!(pace.is_due(begin + ms(2_000)), "it is not later for having been late");
        pace.answered(begin + ms(9_000), begin + ms(9_002));
        assert!(
            !pace.is_due(begin + ms(9_999)) && pace.is_due(begin + ms(10_000)),
            "and catches up on nothing"
        );
        let mut slow = Pace::new(ms(1_000));
        assert!(slow.may_hurry(begin));
        slow.answered(begin - ms(1_000), begin - ms(500));
        assert!(slow.is_due(begin), "the first answer fills caches");
        slow.answered(begin, begin + ms(100));
        assert!(!slow.may_hurry(begin + ms(2_099)) && slow.may_hurry(begin + ms(2_100)));
        assert!(!slow.is_due(begin + ms(19_999)) && slow.is_due(begin + ms(20_000)));
        let mut slow = slow.with_share(20);
        slow.answered(begin + ms(20_000), begin + ms(20_100));
        assert!(!slow.is_due(begin + ms(21_999)) && slow.is_due(begin + ms(22_000)));
    }

    #[test]
    fn a_reader_that_was_not_asked_makes_up_for_it() {
        let (begin, ms) = (Instant::now(), Duration::from_millis);
        let mut pace = Pace::new(ms(250)).with_share(600).with_savings(ms(3_000));
        pace.answered(begin - ms(60_000), begin - ms(59_000));
        let mut at = begin;
        let mut answer = || {
            pace.answered(at, at + ms(2));
            let gap = pace.next().expect("it was asked") - at;
            at += gap;
            gap
        };
        // Each answer spends 1.2 s: three of them what was saved, and 0.6 s of what comes.
        let gaps: Vec<Duration> = (0..5).map(|_| answer()).collect();
        assert_eq!(gaps, [ms(250), ms(250), ms(250), ms(1_050), ms(1_200)]);
    }

    #[test]
    fn answers_that_only_waited_do_not_slow_a_reader_down() {
        let (begin, ms) = (Instant::now(), Duration::from_millis);
        let mut pace = Pace::new(ms(1_000));
        pace.answered(begin - ms(1_000), begin - ms(500));
        pace.answered(begin, begin + ms(2));
        for at in 1..8_u64 {
            let begin = begin + ms(at * 1_000);
            assert!(pace.is_due(begin), "{at}");
            pace.answered(begin, begin + ms(100));
        }
        assert!(pace.is_due(begin + ms(8_000)), "one of the last eight was quick");
        pace.answered(begin + ms(8_000), begin + ms(8_100));
        assert!(!pace.is_due(begin + ms(27_999)) && pace.is_due(begin + ms(28_000)), "none was");
        pace.rest(begin + ms(28_000), ms(250));
        assert!(!pace.is_due(begin + ms(28_249)) && pace.is_due(begin + ms(28_250)));
    }
}
