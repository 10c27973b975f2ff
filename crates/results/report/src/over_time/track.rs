//! Lines of a stream as points over time: all of them, or in long runs neighbours merged into one point.

use std::collections::BTreeMap;

/// Most points of a track. An hour of one line per second has them all.
const MOST_POINTS: usize = 4_000;

/// Values over time. Its memory does not grow with the run: where there are too many points, neighbours are merged.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Track {
    /// Lines whose middles are in the same multiple of these seconds are one point; 0 for a point per line.
    width_s: f64,
    times: Vec<Time>,
    series: BTreeMap<String, Vec<Option<Sum>>>,
}

/// The time of a point, in seconds since the start of the run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Time {
    /// Its begin.
    pub from_s: f64,
    /// Its end.
    pub to_s: f64,
    /// Lines that are merged in it.
    pub lines: u64,
    /// Seconds that these lines cover.
    pub covered_s: f64,
}

/// What lines say of one value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sum {
    lines: u64,
    covered_s: f64,
    total: f64,
    least: f64,
    most: f64,
}

impl Time {
    fn middle_s(&self) -> f64 {
        f64::midpoint(self.from_s, self.to_s)
    }

    fn merge(&mut self, later: &Self) {
        self.to_s = later.to_s;
        self.lines += later.lines;
        self.covered_s += later.covered_s;
    }
}

impl Sum {
    fn of_line(value: f64, covered_s: f64) -> Self {
        Self { lines: 1, covered_s, total: value * covered_s, least: value, most: value }
    }

    fn merge(&mut self, other: &Self) {
        self.lines += other.lines;
        self.covered_s += other.covered_s;
        self.total += other.total;
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
    }

    /// Mean over the time of the lines that have the value.
    pub fn mean(&self) -> f64 {
        self.total / self.covered_s
    }

    /// Mean over all lines of a point, where a line without the value means 0.
    pub fn mean_of_all(&self, time: &Time) -> f64 {
        self.total / time.covered_s
    }

    /// The least value of a line.
    pub fn least(&self) -> f64 {
        self.least
    }

    /// The least value of a line, where a line without the value means 0.
    pub fn least_of_all(&self, time: &Time) -> f64 {
        if self.lines < time.lines { self.least.min(0.0) } else { self.least }
    }

    /// The largest value of a line.
    pub fn most(&self) -> f64 {
        self.most
    }
}

impl Track {
    /// Adds a line with its finite values. What lies before the end of the last line is left out, so that points do not
    /// overlap.
    pub fn add<'a>(&mut self, from_s: f64, to_s: f64, values: impl IntoIterator<Item = (&'a str, f64)>) {
        let from_s = self.times.last().map_or(from_s, |last| last.to_s.max(from_s));
        if !(from_s.is_finite() && to_s.is_finite() && to_s > from_s) {
            return;
        }
        let covered_s = to_s - from_s;
        let time = Time { from_s, to_s, lines: 1, covered_s };
        match self.times.last_mut() {
            Some(last) if is_one_point(last, &time, self.width_s) => last.merge(&time),
            _ => self.times.push(time),
        }
        for (name, value) in values.into_iter().filter(|(_, value)| value.is_finite()) {
            self.put(name, &Sum::of_line(value, covered_s));
        }
        if self.times.len() > MOST_POINTS {
            self.limit(MOST_POINTS / 2);
        }
    }

    /// Adds a value to the last point.
    fn put(&mut self, name: &str, sum: &Sum) {
        let last = self.times.len() - 1;
        if !self.series.contains_key(name) {
            self.series.insert(name.to_owned(), Vec::new());
        }
        let Some(points) = self.series.get_mut(name) else { return };
        points.resize(last + 1, None);
        match &mut points[last] {
            Some(known) => known.merge(sum),
            empty => *empty = Some(*sum),
        }
    }

    /// Merges neighbours until there are at most `most` points (at least 2).
    pub fn limit(&mut self, most: usize) {
        while self.times.len() > most.max(2) {
            let length_s = self.times.last().map_or(0.0, |last| last.to_s) - self.times[0].from_s;
            self.width_s = (self.width_s * 2.0).max(length_s / most.max(2) as f64);
            self.merge_neighbours();
        }
    }

    fn merge_neighbours(&mut self) {
        let mut merged: Vec<Time> = Vec::new();
        let mut place = Vec::with_capacity(self.times.len());
        for time in &self.times {
            match merged.last_mut() {
                Some(last) if is_one_point(last, time, self.width_s) => last.merge(time),
                _ => merged.push(*time),
            }
            place.push(merged.len() - 1);
        }
        for points in self.series.values_mut() {
            let mut sums: Vec<Option<Sum>> = vec![None; merged.len()];
            for (at, sum) in points.iter().enumerate() {
                match (&mut sums[place[at]], sum) {
                    (Some(known), Some(sum)) => known.merge(sum),
                    (empty @ None, Some(sum)) => *empty = Some(*sum),
                    (_, None) => {}
                }
            }
            *points = sums;
        }
        self.times = merged;
    }

    /// The times of the points in order; they do not overlap.
    pub fn times(&self) -> &[Time] {
        &self.times
    }

    /// The names of the values.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.series.keys().map(String::as_str)
    }

    /// The values of a name, one for each time.
    pub fn values(&self, name: &str) -> Vec<Option<&Sum>> {
        let known = self.series.get(name).map_or(&[][..], Vec::as_slice);
        (0..self.times.len()).map(|at| known.get(at)?.as_ref()).collect()
    }

    /// A value's sum over the whole time.
    pub fn total(&self, name: &str) -> f64 {
        self.series.get(name).into_iter().flatten().flatten().map(|sum| sum.total).sum()
    }

    /// Whether any point consists of several lines.
    pub fn is_merged(&self) -> bool {
        self.times.iter().any(|time| time.lines > 1)
    }
}

/// Whether the middles of two times are in the same multiple of a width.
fn is_one_point(a: &Time, b: &Time, width_s: f64) -> bool {
    width_s > 0.0 && (a.middle_s() / width_s).floor() == (b.middle_s() / width_s).floor()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Lines of about a second with pauses: length, pause and value of each.
    fn lines() -> impl Strategy<Value = Vec<(f64, f64, f64)>> {
        let pause = prop_oneof![9 => Just(0.0), 1 => 0.0..100.0];
        prop::collection::vec((0.5..1.5, pause, 0.0..1e6), 1..300)
    }

    fn track(lines: &[(f64, f64, f64)]) -> Track {
        let mut track = Track::default();
        let mut at = 0.0;
        for (length, pause, value) in lines {
            track.add(at + pause, at + pause + length, [("value", *value)]);
            at += pause + length;
        }
        track
    }

    proptest! {
        /// However much is merged: no more points than asked for, in order, and extremes and total are those of the
        /// lines.
        #[test]
        fn merging_keeps_extremes_and_totals(lines in lines(), most in 2_usize..50) {
            let mut merged = track(&lines);
            merged.limit(most);
            prop_assert!(merged.times().len() <= most);
            prop_assert!(merged.times().windows(2).all(|pair| pair[0].to_s <= pair[1].from_s));
            let sums: Vec<Sum> = merged.values("value").into_iter().flatten().copied().collect();
            prop_assert_eq!(sums.len(), merged.times().len());
            let values = || lines.iter().map(|line| line.2);
            let least = sums.iter().map(Sum::least).fold(f64::INFINITY, f64::min);
            let most = sums.iter().map(Sum::most).fold(f64::NEG_INFINITY, f64::max);
            prop_assert_eq!(least, values().fold(f64::INFINITY, f64::min));
            prop_assert_eq!(most, values().fold(f64::NEG_INFINITY, f64::max));
            let total: f64 = lines.iter().map(|line| line.0 * line.2).sum();
            prop_assert!((merged.total("value") - total).abs() <= 1e-9 * total.abs() + 1e-6);
            let within = |sum: &Sum| sum.least() <= sum.mean() + 1e-6 && sum.mean() <= sum.most() + 1e-6;
            prop_assert!(sums.iter().all(within));
        }
    }

    #[test]
    fn an_hour_has_all_lines_and_a_week_is_bounded() {
        let seconds = |count: u32| {
            let mut track = Track::default();
            (0..count).for_each(|s| track.add(f64::from(s), f64::from(s) + 1.0, [("a", f64::from(s % 7))]));
            track
        };
        let hour = seconds(3_600);
        assert!(hour.times().len() == 3_600 && !hour.is_merged());
        let week = seconds(7 * 86_400);
        assert!((MOST_POINTS / 2 - 1..=MOST_POINTS).contains(&week.times().len()), "{}", week.times().len());
        let first = week.values("a")[1].expect("it has values");
        assert_eq!((first.least(), first.most()), (0.0, 6.0));
    }

    #[test]
    fn what_a_line_lacks_is_absent_or_nothing() {
        let mut track = Track::default();
        track.add(0.0, 1.0, [("a", 4.0)]);
        track.add(1.0, 2.0, [("b", f64::NAN)]);
        track.add(0.5, 1.5, [("a", 9.0)]); // overlaps
        assert_eq!(track.values("a").iter().map(Option::is_some).collect::<Vec<_>>(), [true, false]);
        track.limit(2);
        track.width_s = 10.0;
        track.merge_neighbours();
        let (time, sum) = (track.times()[0], *track.values("a")[0].expect("a line has it"));
        assert_eq!((sum.mean(), sum.mean_of_all(&time)), (4.0, 2.0));
        assert_eq!((sum.least(), sum.least_of_all(&time)), (4.0, 0.0));
        assert_eq!(track.names().collect::<Vec<_>>(), ["a"]);
    }
}
