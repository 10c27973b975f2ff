//! The longest time within the measured interval in which no client committed.
//!
//! Each worker keeps its own longest silences. All are silent at once only where the silences of all overlap.

/// Silences that a worker keeps. One of all workers is exact if it lies within a kept one of each.
const KEPT: usize = 8;

/// A stretch of time on the engine's clock, in nanoseconds.
type Stretch = (u64, u64);

/// The longest silences of one worker.
#[derive(Debug, Clone)]
pub(crate) struct Silences {
    /// The last commit, or the start of the measured interval.
    last_ns: u64,
    /// End of the measured interval.
    end_ns: u64,
    /// The longest silences so far, in no order.
    kept: Vec<Stretch>,
    /// Length of the shortest kept one; 0 while there is room.
    shortest_ns: u64,
}

impl Silences {
    /// Before the first commit of a measured interval.
    pub(crate) fn new(measure_ns: u64, end_ns: u64) -> Self {
        Self { last_ns: measure_ns, end_ns, kept: Vec::with_capacity(KEPT), shortest_ns: 0 }
    }

    /// A commit at this instant, not before the last one.
    #[inline]
    pub(crate) fn commit(&mut self, at_ns: u64) {
        let at_ns = at_ns.min(self.end_ns);
        if at_ns.saturating_sub(self.last_ns) > self.shortest_ns {
            self.keep((self.last_ns, at_ns));
        }
        self.last_ns = self.last_ns.max(at_ns);
    }

    /// The silences up to the end of the measured interval, or up to now if that is earlier.
    pub(crate) fn finish(mut self, now_ns: u64) -> Vec<Stretch> {
        self.commit(now_ns);
        self.kept
    }

    #[cold]
    fn keep(&mut self, silence: Stretch) {
        if self.kept.len() == KEPT {
            let shortest = (0..KEPT).min_by_key(|at| length(self.kept[*at])).unwrap_or(0);
            self.kept.swap_remove(shortest);
        }
        self.kept.push(silence);
        if self.kept.len() == KEPT {
            self.shortest_ns = self.kept.iter().copied().map(length).min().unwrap_or(0);
        }
    }
}

fn length((from_ns, to_ns): Stretch) -> u64 {
    to_ns.saturating_sub(from_ns)
}

/// The stretches in which the workers behind both lists are silent.
pub(crate) fn of_both(one: &[Stretch], other: &[Stretch]) -> Vec<Stretch> {
    let both = |a: &Stretch| other.iter().map(|b| (a.0.max(b.0), a.1.min(b.1))).collect::<Vec<_>>();
    one.iter().flat_map(both).filter(|stretch| length(*stretch) > 0).collect()
}

/// The longest of these stretches, in nanoseconds.
pub(crate) fn longest_ns(silences: &[Stretch]) -> u64 {
    silences.iter().copied().map(length).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(commits: &[u64], end_ns: u64) -> Vec<Stretch> {
        let mut silences = Silences::new(100, end_ns);
        commits.iter().for_each(|at| silences.commit(*at));
        silences.finish(end_ns + 50)
    }

    #[test]
    fn the_edges_of_the_interval_end_a_silence() {
        assert_eq!(longest_ns(&of(&[], 1_100)), 1_000, "nobody committed");
        assert_eq!(longest_ns(&of(&[150, 160, 900], 1_000)), 740);
        assert_eq!(longest_ns(&of(&[150, 1_500], 1_000)), 850, "the drain is not in it");
    }

    #[test]
    fn all_are_silent_where_each_is() {
        let (one, other) = (of(&[200, 700], 1_000), of(&[400, 500, 900], 1_000));
        assert_eq!(longest_ns(&of_both(&one, &other)), 200, "500 to 700, and 700 to 900");
        assert_eq!(longest_ns(&of_both(&one, &[])), 0);
    }

    proptest! {
        /// Commits of two workers, sorted by hand.
        #[test]
        fn it_is_the_largest_gap_of_all_commits(
            mut one in prop::collection::vec(100_u64..1_000, 0..7),
            mut other in prop::collection::vec(100_u64..1_000, 0..7),
        ) {
            let mut all: Vec<u64> = [100, 1_000].into_iter().chain(one.iter().chain(&other).copied()).collect();
            all.sort_unstable();
            let expected = all.windows(2).map(|two| two[1] - two[0]).max().expect("there are two");
            one.sort_unstable();
            other.sort_unstable();
            prop_assert_eq!(longest_ns(&of_both(&of(&one, 1_000), &of(&other, 1_000))), expected);
        }
    }
}
