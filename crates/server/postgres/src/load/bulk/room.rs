//! Watches free space during a load, and ends it while some is left for the server and other users of the machine.

use std::time::{Duration, Instant};

use pgdyno_core::{problem::Problem, units};

use super::Room;

/// Pause between two checks.
const PAUSE: Duration = Duration::from_secs(1);
/// Seconds for which the free space must last at the current pace, since ending a load takes a moment.
const SECONDS_AHEAD: f64 = 3.0;

/// Watches the free space of file systems.
pub(super) struct FreeSpaceWatch {
    watched: Vec<Watched>,
    last: Instant,
}

#[derive(Debug, Clone)]
struct Watched {
    room: Room,
    /// Free bytes at the last check.
    last_bytes: u64,
}

impl FreeSpaceWatch {
    /// A watcher for a load that is about to begin.
    pub fn new(rooms: &[Room]) -> Self {
        let watched = rooms.iter().map(|room| Watched { room: room.clone(), last_bytes: room.free_bytes });
        Self { watched: watched.collect(), last: Instant::now() }
    }

    /// Checks free space; returns the problem that must end the load, if any.
    pub fn tend(&mut self) -> Option<Problem> {
        let elapsed = self.last.elapsed();
        if elapsed < PAUSE {
            return None;
        }
        self.last += elapsed;
        self.watched.iter_mut().find_map(|watched| {
            let storage = pgdyno_host::facts::storage(&watched.room.dir).ok()?;
            watched.look(storage.available_bytes, elapsed)
        })
    }
}

impl Watched {
    /// One check, this long after the last one; the problem if too little is left. A load whose remaining need
    /// fits continues at any pace.
    fn look(&mut self, free_bytes: u64, elapsed: Duration) -> Option<Problem> {
        let pace = self.last_bytes.saturating_sub(free_bytes) as f64 / elapsed.as_secs_f64();
        self.last_bytes = free_bytes;
        let ahead_bytes = ((SECONDS_AHEAD * pace) as u64).min(self.needed_bytes(free_bytes));
        let least_bytes = self.room.left_bytes.saturating_add(ahead_bytes);
        (free_bytes < least_bytes).then(|| self.problem(free_bytes))
    }

    /// Most bytes that the load still needs, assuming that all space used since its beginning is its own.
    fn needed_bytes(&self, free_bytes: u64) -> u64 {
        let taken_bytes = self.room.free_bytes.saturating_sub(free_bytes);
        self.room.need_bytes.saturating_sub(taken_bytes)
    }

    fn problem(&self, free_bytes: u64) -> Problem {
        let needed_bytes = self.needed_bytes(free_bytes);
        let [free, left, needed] = [free_bytes, self.room.left_bytes, needed_bytes].map(units::bytes);
        let dir = self.room.dir.display();
        Problem::could_not(format!("could not continue the load: only {free} are left under {dir}"))
            .detail(format!("up to {needed} are still needed there, and {left} must stay free"))
            .hint("free space there")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn watched(free_bytes: u64) -> Watched {
        let room = Room { dir: "/data".into(), need_bytes: 900 * MIB, free_bytes, left_bytes: 40 * MIB };
        Watched { room, last_bytes: free_bytes }
    }

    #[test]
    fn a_load_ends_before_its_disk_is_full() {
        assert!(watched(41 * MIB).look(41 * MIB, PAUSE).is_none());
        let problem = watched(500 * MIB).look(39 * MIB, PAUSE).expect("too little is left");
        assert_eq!(problem.what, "could not continue the load: only 39 MiB are left under /data");
        let detail = "up to 439 MiB are still needed there, and 40 MiB must stay free";
        assert_eq!(problem.detail.as_deref(), Some(detail));
    }

    #[test]
    fn a_fast_load_ends_earlier() {
        let mut fast = watched(500 * MIB);
        assert!(fast.look(400 * MIB, PAUSE).is_none(), "100 MiB a second: 340 have to be there");
        assert!(fast.look(300 * MIB, PAUSE).is_some());
    }

    /// Checks may be far apart on a slow machine.
    #[test]
    fn a_pace_is_that_of_a_second() {
        let mut slow = watched(500 * MIB);
        assert!(slow.look(300 * MIB, 10 * PAUSE).is_none(), "20 MiB a second: 100 have to be there");
        assert!(slow.look(98 * MIB, 10 * PAUSE).is_some());
    }

    /// 440 MiB are needed, 40 must stay free, and 480 are there: an accepted load is completed at any pace.
    #[test]
    fn a_load_that_has_room_is_not_ended() {
        let room = Room { need_bytes: 440 * MIB, ..watched(480 * MIB).room };
        for step in [20, 110, 220, 440] {
            let mut fast = Watched { room: room.clone(), last_bytes: 480 * MIB };
            let frees = (1..=440 / step).map(|looks| 480 - looks * step);
            for free in frees {
                assert_eq!(fast.look(free * MIB, PAUSE), None, "{step} MiB a second, {free} MiB free");
            }
        }
    }
}
