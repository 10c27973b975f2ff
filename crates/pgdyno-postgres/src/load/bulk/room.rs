//! Room on file systems while a load goes on: it ends while there is still some left, for the server and for everybody
//! else on the machine.

use std::time::{Duration, Instant};

use pgdyno_core::{problem::Problem, units};

use super::Room;

/// Pause between two looks.
const PAUSE: Duration = Duration::from_secs(1);
/// Looks for which what is left has to last, at the pace of the last one: ending a load takes a moment.
const LOOKS_AHEAD: u64 = 3;

/// Looks after file systems.
pub(super) struct Rooms {
    watched: Vec<Watched>,
    next: Instant,
}

#[derive(Debug, Clone)]
struct Watched {
    room: Room,
    /// Free at the last look.
    last_bytes: u64,
}

impl Rooms {
    /// Of a load that is about to begin.
    pub fn new(rooms: &[Room]) -> Self {
        let watched = rooms.iter().map(|room| Watched { room: room.clone(), last_bytes: room.free_bytes });
        Self { watched: watched.collect(), next: Instant::now() }
    }

    /// What the load must end for.
    pub fn tend(&mut self) -> Option<Problem> {
        let now = Instant::now();
        if now < self.next {
            return None;
        }
        self.next = now + PAUSE;
        self.watched.iter_mut().find_map(|watched| {
            let storage = pgdyno_host::facts::storage(&watched.room.dir).ok()?;
            watched.look(storage.available_bytes)
        })
    }
}

impl Watched {
    /// One look; the problem where there is too little left.
    fn look(&mut self, free_bytes: u64) -> Option<Problem> {
        let fallen_bytes = self.last_bytes.saturating_sub(free_bytes);
        self.last_bytes = free_bytes;
        let least_bytes = self.room.left_bytes.saturating_add(LOOKS_AHEAD.saturating_mul(fallen_bytes));
        (free_bytes < least_bytes).then(|| self.problem(free_bytes))
    }

    fn problem(&self, free_bytes: u64) -> Problem {
        let taken_bytes = self.room.free_bytes.saturating_sub(free_bytes);
        let needed_bytes = self.room.need_bytes.saturating_sub(taken_bytes);
        let [free, left, needed] = [free_bytes, self.room.left_bytes, needed_bytes].map(units::bytes);
        let dir = self.room.dir.display();
        Problem::could_not(format!("could not go on loading: only {free} are left under {dir}"))
            .detail(format!("up to {needed} are still needed there, and a load leaves {left} free"))
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
        assert!(watched(41 * MIB).look(41 * MIB).is_none());
        let problem = watched(500 * MIB).look(39 * MIB).expect("too little is left");
        assert_eq!(problem.what, "could not go on loading: only 39 MiB are left under /data");
        let detail = "up to 439 MiB are still needed there, and a load leaves 40 MiB free";
        assert_eq!(problem.detail.as_deref(), Some(detail));
    }

    #[test]
    fn a_fast_load_ends_earlier() {
        let mut fast = watched(500 * MIB);
        assert!(fast.look(400 * MIB).is_none(), "100 MiB a look: 340 have to be there");
        assert!(fast.look(300 * MIB).is_some());
    }
}
