//! The clock of a server, as it was read over sessions: what brings together times of two machines.
//!
//! A reading asks the server for its clock. The answer was made at some time between question and answer, so the
//! server's clock is known to half of the round trip, however long each way took. Both readers count their own time
//! with a clock that nobody sets, so only the server's clock may jump.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A reading of a server's clock: the best of several round trips.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClockSample {
    /// Middle of the round trip, in seconds since the start of the run, or of the file.
    pub read_at_s: f64,
    /// The server's clock, in seconds since 1970.
    pub server_unix_s: f64,
    /// Half of the round trip in seconds: `server_unix_s` is at most this wrong.
    pub uncertainty_s: f64,
    /// Seconds that the server's clock was ahead of that of the machine that read it; negative if behind.
    pub ahead_s: f64,
    /// The server.
    #[serde(flatten)]
    pub server: ServerIdentity,
}

/// What distinguishes a server from all others.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct ServerIdentity {
    /// The identifier that `initdb` gave to the cluster; absent in 9.5, and where it may not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_identifier: Option<String>,
    /// When its postmaster was started, in microseconds since 1970 by its own clock.
    pub started_unix_us: i64,
}

impl ServerIdentity {
    /// Whether both are the same start of the same server.
    pub fn is_same(&self, other: &Self) -> bool {
        let both = self.system_identifier.as_ref().zip(other.system_identifier.as_ref());
        self.started_unix_us == other.started_unix_us && both.is_none_or(|(one, other)| one == other)
    }
}

/// The clock of a server over a run: its best reading.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerClock {
    /// The subject whose server it is, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Seconds that it was ahead of the clock of pgdyno's machine; negative if behind.
    pub ahead_s: f64,
    /// How wrong that is at most, in seconds.
    pub uncertainty_s: f64,
    /// Number of readings.
    pub readings: u64,
}

impl ServerClock {
    /// Adds a reading of this subject's server to those of all servers.
    pub fn add(all: &mut Vec<Self>, subject: Option<&String>, sample: &ClockSample) {
        let (ahead_s, uncertainty_s) = (sample.ahead_s, sample.uncertainty_s);
        match all.iter_mut().find(|known| known.subject.as_ref() == subject) {
            Some(known) => {
                known.readings += 1;
                if uncertainty_s < known.uncertainty_s {
                    (known.ahead_s, known.uncertainty_s) = (ahead_s, uncertainty_s);
                }
            }
            None => all.push(Self { subject: subject.cloned(), ahead_s, uncertainty_s, readings: 1 }),
        }
    }
}

/// How fast two clocks may drift apart: the kernel corrects a clock by at most this much while it is set smoothly.
const MOST_DRIFT: f64 = 500e-6;
/// A change beyond drift and uncertainty, in seconds, from which on the clock has jumped: a quarter of a usual line.
const JUMP_S: f64 = 0.25;

/// The server's clock over a time in which it did not jump, between two readings on the straight line through them.
#[derive(Debug, Clone, PartialEq)]
pub struct Clock {
    points: Vec<Point>,
}

/// A time with its uncertainty, both in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moment {
    /// The time.
    pub at_s: f64,
    /// How wrong it is at most.
    pub uncertainty_s: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Point {
    at_s: f64,
    /// The server's clock less `at_s`.
    lead_s: f64,
    uncertainty_s: f64,
}

impl Clock {
    /// The clock by these readings, in one piece for each time between two jumps. Readings that are no numbers do not
    /// count.
    pub fn pieces<'a>(samples: impl IntoIterator<Item = &'a ClockSample>) -> Vec<Self> {
        let point = |of: &ClockSample| Point {
            at_s: of.read_at_s,
            lead_s: of.server_unix_s - of.read_at_s,
            // The round trip was measured by the reader's clock, which is a little fast or slow.
            uncertainty_s: of.uncertainty_s.max(0.0) * (1.0 + MOST_DRIFT),
        };
        let mut points: Vec<Point> = samples.into_iter().map(point).collect();
        points.retain(|of| [of.at_s, of.lead_s, of.uncertainty_s].iter().all(|figure| figure.is_finite()));
        points.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
        points.dedup_by(|later, earlier| later.at_s <= earlier.at_s);
        let mut pieces: Vec<Self> = Vec::new();
        for point in points {
            match pieces.last_mut() {
                Some(piece) if piece.points.last().is_some_and(|last| last.wander_s(&point) < JUMP_S) => {
                    piece.points.push(point);
                }
                _ => pieces.push(Self { points: vec![point] }),
            }
        }
        pieces
    }

    /// Number of readings.
    pub fn readings(&self) -> u64 {
        self.points.len() as u64
    }

    /// First and last reading.
    pub fn range_s(&self) -> (f64, f64) {
        (self.points[0].at_s, self.points[self.points.len() - 1].at_s)
    }

    /// The server's clock, in seconds since 1970, at a time of the reader.
    pub fn server_at(&self, at_s: f64) -> Moment {
        let lead = self.lead(self.points.partition_point(|point| point.at_s <= at_s), at_s);
        Moment { at_s: at_s + lead.at_s, ..lead }
    }

    /// The time of the reader at a time of the server's clock in seconds since 1970.
    pub fn when(&self, server_unix_s: f64) -> Moment {
        let after = self.points.partition_point(|point| point.at_s + point.lead_s <= server_unix_s);
        // The lead changes by so little that it is found with one that is a little off.
        let near_s = server_unix_s - self.lead(after, server_unix_s - self.points[0].lead_s).at_s;
        let lead = self.lead(after, near_s);
        Moment { at_s: server_unix_s - lead.at_s, ..lead }
    }

    /// What the server's clock gained on the reader's, in parts per million; `None` with one reading.
    pub fn drift_ppm(&self) -> Option<f64> {
        let (first, last) = (self.points.first()?, self.points.last()?);
        let over_s = last.at_s - first.at_s;
        (over_s > 0.0).then(|| (last.lead_s - first.lead_s) / over_s * 1e6)
    }

    /// The lead at a time between the readings before and after this index.
    fn lead(&self, after: usize, at_s: f64) -> Moment {
        let before = after.checked_sub(1).map(|index| &self.points[index]);
        match (before, self.points.get(after)) {
            (Some(a), Some(b)) => {
                let share = ((at_s - a.at_s) / (b.at_s - a.at_s)).clamp(0.0, 1.0);
                let uncertainty_s = a.uncertainty_s.max(b.uncertainty_s) + a.wander_s(b);
                Moment { at_s: a.lead_s + share * (b.lead_s - a.lead_s), uncertainty_s }
            }
            (only, other) => {
                let point = only.or(other).expect("a clock has readings");
                let far_s = (at_s - point.at_s).abs();
                Moment { at_s: point.lead_s, uncertainty_s: point.uncertainty_s + MOST_DRIFT * far_s }
            }
        }
    }
}

impl Point {
    /// How much more the lead changed until a later reading than drift and uncertainty explain.
    fn wander_s(&self, later: &Self) -> f64 {
        let explained_s = self.uncertainty_s + later.uncertainty_s + MOST_DRIFT * (later.at_s - self.at_s);
        ((later.lead_s - self.lead_s).abs() - explained_s).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A reader whose clock counts from `zero_s` of the server's, and gains on it by `drift`.
    #[derive(Debug, Clone, Copy)]
    struct Reader {
        zero_s: f64,
        drift: f64,
    }

    const EPOCH_S: f64 = 1_790_000_000.0;
    /// Seconds since 1970 have 22 binary digits behind the point.
    const ROUNDING_S: f64 = 2e-6;

    impl Reader {
        fn own_s(&self, server_s: f64) -> f64 {
            (server_s - self.zero_s) * (1.0 + self.drift)
        }

        /// A round trip that took so long there and back.
        fn reads(&self, server_s: f64, there_s: f64, back_s: f64) -> ClockSample {
            let (sent_s, come_s) = (self.own_s(server_s - there_s), self.own_s(server_s + back_s));
            ClockSample {
                read_at_s: (sent_s + come_s) / 2.0,
                server_unix_s: EPOCH_S + server_s,
                uncertainty_s: (come_s - sent_s) / 2.0,
                ahead_s: 0.0,
                server: ServerIdentity::default(),
            }
        }
    }

    fn one(samples: &[ClockSample]) -> Clock {
        let mut pieces = Clock::pieces(samples);
        assert_eq!(pieces.len(), 1);
        pieces.remove(0)
    }

    fn delays() -> impl Strategy<Value = Vec<(f64, f64)>> {
        // Quick there and slow back, and the other way round.
        prop::collection::vec((0.0..0.2_f64, 0.0..0.2_f64), 2..12)
    }

    proptest! {
        /// Whatever the offset, the drift and the delays of each way, times are wrong by less than is said.
        #[test]
        fn a_planted_offset_and_drift_are_found_within_the_uncertainty(
            zeros in (-1e6..1e6_f64, -1e6..1e6_f64),
            drifts in (-90e-6..90e-6_f64, -90e-6..90e-6_f64),
            (delays_here, delays_there) in (delays(), delays()),
            every_s in 0.5..30.0_f64,
            at in 0.0..1.0_f64,
        ) {
            let here = Reader { zero_s: zeros.0, drift: drifts.0 };
            let there = Reader { zero_s: zeros.1, drift: drifts.1 };
            let read = |reader: &Reader, delays: &[(f64, f64)]| -> Vec<ClockSample> {
                let at_s = (0..delays.len()).map(|nth| nth as f64 * every_s);
                at_s.zip(delays).map(|(at_s, (there_s, back_s))| reader.reads(at_s, *there_s, *back_s)).collect()
            };
            let (by_us, by_them) = (one(&read(&here, &delays_here)), one(&read(&there, &delays_there)));
            // Half of the time lies outside of the readings.
            let server_s = (at * 2.0 - 0.5) * every_s * delays_here.len() as f64;
            let seen = by_them.server_at(there.own_s(server_s));
            prop_assert!((seen.at_s - EPOCH_S - server_s).abs() <= seen.uncertainty_s + ROUNDING_S, "{seen:?}");
            let found = by_us.when(seen.at_s);
            let wrong_s = (found.at_s - here.own_s(server_s)).abs();
            let bound_s = found.uncertainty_s + seen.uncertainty_s + ROUNDING_S;
            prop_assert!(wrong_s <= bound_s, "{wrong_s} {found:?} {seen:?}");
        }
    }

    /// Readings to 1 ms show a drift of 40 ppm over ten minutes; the time between them is on the straight line.
    #[test]
    fn a_drift_is_measured() {
        let reader = Reader { zero_s: 500.0, drift: -40e-6 };
        let clock = one(&[reader.reads(1_000.0, 0.0005, 0.0005), reader.reads(1_600.0, 0.0005, 0.0005)]);
        assert!(clock.drift_ppm().is_some_and(|ppm| (ppm - 40.0).abs() < 0.1), "{clock:?}");
        let middle = clock.server_at(reader.own_s(1_300.0));
        assert!((middle.at_s - EPOCH_S - 1_300.0).abs() < 1e-5, "{middle:?}");
        assert!((middle.uncertainty_s - 0.0005).abs() < 1e-6, "{middle:?}");
        assert_eq!(one(&[reader.reads(0.0, 0.1, 0.1)]).drift_ppm(), None);
    }

    /// A clock that is set divides the readings; one that is slewed makes the time between them uncertain.
    #[test]
    fn a_jump_ends_a_piece() {
        let reader = Reader { zero_s: 0.0, drift: 0.0 };
        let set = |by_s: f64, at_s: f64| {
            let read = reader.reads(at_s, 0.001, 0.001);
            ClockSample { server_unix_s: read.server_unix_s + by_s, ..read }
        };
        let jumped = [set(0.0, 10.0), set(0.0, 20.0), set(-30.0, 30.0), set(-30.0, 40.0)];
        let pieces = Clock::pieces(&jumped);
        assert_eq!(pieces.iter().map(Clock::range_s).collect::<Vec<_>>(), [(10.0, 20.0), (30.0, 40.0)]);
        let slewed = one(&[set(0.0, 10.0), set(0.1, 20.0)]);
        let uncertainty_s = slewed.server_at(15.0).uncertainty_s;
        assert!((0.09..0.1).contains(&uncertainty_s), "{uncertainty_s}");
    }

    #[test]
    fn the_best_reading_of_a_server_is_kept() {
        let reader = Reader { zero_s: 0.0, drift: 0.0 };
        let (mut all, a) = (Vec::new(), "a".to_owned());
        for (subject, ahead_s, half_s) in
            [(None, 0.2, 0.3), (None, 0.1, 0.05), (Some(&a), 9.0, 1.0), (None, 0.4, 0.2)]
        {
            let sample = ClockSample { ahead_s, ..reader.reads(1.0, half_s, half_s) };
            ServerClock::add(&mut all, subject, &sample);
        }
        assert_eq!(all.iter().map(|of| (of.ahead_s, of.readings)).collect::<Vec<_>>(), [(0.1, 3), (9.0, 1)]);
    }

    #[test]
    fn another_start_is_another_server() {
        let of = |id: Option<&str>, started_unix_us| ServerIdentity {
            system_identifier: id.map(str::to_owned),
            started_unix_us,
        };
        assert!(of(Some("7"), 5).is_same(&of(Some("7"), 5)) && of(None, 5).is_same(&of(Some("7"), 5)));
        assert!(!of(Some("7"), 5).is_same(&of(Some("8"), 5)) && !of(Some("7"), 5).is_same(&of(Some("7"), 6)));
    }
}
