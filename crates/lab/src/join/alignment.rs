//! From the times of a file to those of a run.

use pgdyno_core::observe::{Clock, ClockSample, Moment};
use pgdyno_record::JoinedClocks;

/// Longest time in seconds after the last reading for which a clock is trusted: a reading comes every ten seconds.
const AFTER_LAST_S: f64 = 30.0;

/// The server's clock as the file and the run had read it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Alignment {
    file: Clock,
    run: Clock,
    /// The part of the file in which the server's clock did not jump, in seconds since the file was begun.
    usable_s: (f64, f64),
    /// The best readings' differences between the server's clock and that of each machine.
    ahead_s: [f64; 2],
}

/// Why times of a file cannot be brought to those of a run.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Misfit {
    /// The run has no reading of the server's clock.
    RunNotRead,
    /// The file has none.
    FileNotRead,
    /// The server's clock was set during the run, between these seconds of it.
    RunJumped(f64, f64),
    /// The server's clock was set during the run, between these seconds of the file.
    FileJumped(f64, f64),
    /// The file ended before the run began, or began after its end.
    Apart,
}

impl Alignment {
    /// Of these readings in the file and in a run that lasted so many seconds.
    pub(super) fn of(file: &[ClockSample], run: &[ClockSample], run_s: f64) -> Result<Self, Misfit> {
        let mut of_run = Clock::pieces(run);
        let Some(run_clock) = of_run.pop() else { return Err(Misfit::RunNotRead) };
        if let Some(before) = of_run.last() {
            return Err(Misfit::RunJumped(before.range_s().1, run_clock.range_s().0));
        }
        let (begin_s, end_s) = (run_clock.server_at(0.0).at_s, run_clock.server_at(run_s).at_s);
        let pieces = Clock::pieces(file);
        let usable: Vec<(f64, f64)> = (0..pieces.len()).map(|index| usable_s(&pieces, index)).collect();
        let mut found: Option<usize> = None;
        for (index, (piece, (from_s, to_s))) in pieces.iter().zip(&usable).enumerate() {
            let (from_s, to_s) = (piece.server_at(*from_s).at_s, piece.server_at(*to_s).at_s);
            if from_s < end_s
                && to_s > begin_s
                && let Some(other) = found.replace(index)
            {
                return Err(Misfit::FileJumped(pieces[other].range_s().1, piece.range_s().0));
            }
        }
        let Some(index) = found else {
            return Err(if pieces.is_empty() { Misfit::FileNotRead } else { Misfit::Apart });
        };
        let ahead_s = [file, run].map(|samples| best(samples).map_or(0.0, |best| best.ahead_s));
        Ok(Self { file: pieces[index].clone(), run: run_clock, usable_s: usable[index], ahead_s })
    }

    /// The part between these times of the file that lies in a run of so many seconds; `None` if none does.
    pub(super) fn part_s(&self, (from_s, to_s): (f64, f64), run_s: f64) -> Option<(f64, f64)> {
        let in_file = |run_s: f64| self.file.when(self.run.server_at(run_s).at_s).at_s;
        let from_s = from_s.max(self.usable_s.0).max(in_file(0.0));
        let to_s = to_s.min(self.usable_s.1).min(in_file(run_s));
        (from_s < to_s).then_some((from_s, to_s))
    }

    /// A time of the file on the clock of the run; `None` where the server's clock is not known.
    pub(super) fn moved(&self, at_s: f64) -> Option<Moment> {
        let is_usable = at_s >= self.usable_s.0 && at_s <= self.usable_s.1;
        is_usable.then(|| {
            let server = self.file.server_at(at_s);
            let run = self.run.when(server.at_s);
            Moment { at_s: run.at_s, uncertainty_s: server.uncertainty_s + run.uncertainty_s }
        })
    }

    /// How times between these of the file were brought to those of the run.
    pub(super) fn clocks(&self, (from_s, to_s): (f64, f64)) -> JoinedClocks {
        let parts: u32 = 64;
        let at = |part: u32| from_s + (to_s - from_s) * f64::from(part) / f64::from(parts);
        let moments: Vec<(f64, Moment)> =
            (0..=parts).map(at).filter_map(|at_s| Some((at_s, self.moved(at_s)?))).collect();
        let shift_s = |index: usize| moments.get(index).map_or(0.0, |(at_s, moved)| moved.at_s - at_s);
        let last = moments.len().saturating_sub(1);
        let over_s = (to_s - from_s).max(f64::MIN_POSITIVE);
        let [file, run] = self.ahead_s;
        JoinedClocks {
            ahead_s: run - file,
            shift_s: shift_s(moments.len() / 2),
            uncertainty_s: moments.iter().map(|(_, moved)| moved.uncertainty_s).fold(0.0, f64::max),
            drift_ppm: (shift_s(0) - shift_s(last)) / over_s * 1e6,
            readings_of_file: self.file.readings(),
            readings_of_run: self.run.readings(),
        }
    }
}

/// The part of a file for which a piece of the clock is known: with the time before the first reading and after the
/// last one, but not that between two pieces.
fn usable_s(pieces: &[Clock], index: usize) -> (f64, f64) {
    let (first_s, last_s) = pieces[index].range_s();
    let from_s = if index == 0 { 0.0 } else { first_s };
    let to_s = if index + 1 == pieces.len() { last_s + AFTER_LAST_S } else { last_s };
    (from_s, to_s)
}

fn best(samples: &[ClockSample]) -> Option<&ClockSample> {
    samples.iter().min_by(|a, b| a.uncertainty_s.total_cmp(&b.uncertainty_s))
}

#[cfg(test)]
mod tests {
    use pgdyno_core::observe::ServerIdentity;

    use super::*;

    /// Readings of a clock that shows `server_s` at 0 of the reader, whose own clock is `behind_s` behind.
    fn readings(server_s: f64, behind_s: f64, at: &[f64]) -> Vec<ClockSample> {
        let one = |at_s: &f64| ClockSample {
            read_at_s: *at_s,
            server_unix_s: server_s + at_s,
            uncertainty_s: 0.001,
            ahead_s: behind_s,
            server: ServerIdentity::default(),
        };
        at.iter().map(one).collect()
    }

    const TEN: [f64; 4] = [0.0, 10.0, 20.0, 30.0];

    #[test]
    fn times_are_moved_by_what_the_server_said() {
        // The file was begun 100 s before the run; the run's machine is 5 s behind the server, the other 2 s ahead.
        let file = readings(1_000.0, -2.0, &[0.0, 60.0, 120.0, 180.0]);
        let run = readings(1_100.0, 5.0, &TEN);
        let found = Alignment::of(&file, &run, 30.0).expect("they fit");
        let moved = found.moved(112.0).expect("it is known");
        assert!((moved.at_s - 12.0).abs() < 1e-6 && (moved.uncertainty_s - 0.002).abs() < 1e-5, "{moved:?}");
        let part = found.part_s((40.0, 170.0), 30.0).expect("all of the run");
        assert!((part.0 - 100.0).abs() < 1e-6 && (part.1 - 130.0).abs() < 1e-6, "{part:?}");
        assert_eq!(found.part_s((0.0, 99.0), 30.0), None);
        let clocks = found.clocks(part);
        assert!((clocks.shift_s + 100.0).abs() < 1e-6 && clocks.drift_ppm.abs() < 1e-3, "{clocks:?}");
        assert!((clocks.ahead_s - 7.0).abs() < 1e-9, "{clocks:?}");
        assert_eq!((clocks.readings_of_file, clocks.readings_of_run), (4, 4));
        assert_eq!(found.moved(180.0 + AFTER_LAST_S + 1.0), None, "too long after the last reading");
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let run = readings(1_100.0, 0.0, &TEN);
        let fails =
            |file: &[ClockSample], run: &[ClockSample]| Alignment::of(file, run, 30.0).expect_err("no");
        assert_eq!(fails(&run, &[]), Misfit::RunNotRead);
        assert_eq!(fails(&[], &run), Misfit::FileNotRead);
        let later = fails(&readings(9_000.0, 0.0, &TEN), &run);
        assert_eq!(later, Misfit::Apart);
        let mut set = readings(1_100.0, 0.0, &TEN);
        set[2..].iter_mut().for_each(|one| one.server_unix_s += 7.0);
        assert_eq!(fails(&readings(1_100.0, 0.0, &TEN), &set), Misfit::RunJumped(10.0, 20.0));
        // Set back: which of both times a line belongs to cannot be known.
        let mut back = readings(1_080.0, 0.0, &[0.0, 30.0, 60.0, 70.0]);
        back[2..].iter_mut().for_each(|one| one.server_unix_s -= 20.0);
        assert_eq!(fails(&back, &run), Misfit::FileJumped(30.0, 60.0));
    }

    #[test]
    fn a_jump_before_the_run_does_no_harm() {
        let run = readings(1_100.0, 0.0, &TEN);
        let mut file = readings(900.0, 0.0, &[0.0, 50.0, 100.0, 150.0]);
        file[1..].iter_mut().for_each(|one| one.server_unix_s += 60.0);
        let found = Alignment::of(&file, &run, 30.0).expect("they fit");
        assert_eq!(found.moved(20.0), None, "before the jump the clock was another");
        let moved = found.moved(145.0).expect("it is known");
        assert!((moved.at_s - 5.0).abs() < 1e-6, "{moved:?}");
    }
}
