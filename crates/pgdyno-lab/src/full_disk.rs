//! Which disk is full, where that is why something failed.
//!
//! A full disk shows in many ways: an error of the server, its end, a server that does not start. Whoever reads of it
//! wants to know which disk to look at.

use std::path::{Path, PathBuf};

use pgdyno_core::{problem::Problem, units};

use crate::{Job, Wanted, dirs};

/// Less than this is full: a server makes WAL in files of 16 MiB, and what it could not finish is gone when we look.
const FULL_BELOW_BYTES: u64 = 32 << 20;

/// Directories that a server of our own writes to; none where it is somebody else's.
pub fn places(job: &Job) -> Vec<PathBuf> {
    let of_one = |wanted: &Wanted| {
        let Wanted::Own(request) = wanted else { return Vec::new() };
        let data = request.data.clone().or_else(|| dirs().ok().map(|dirs| dirs.servers()));
        data.into_iter().chain(request.waldir.clone()).collect()
    };
    job.servers.iter().flat_map(of_one).collect()
}

/// How an error of the server ends when it found no room (SQLSTATE `disk_full`): what it gave back since may hide it.
const DISK_FULL: &str = "(SQLSTATE 53100)";
/// The system's word for it in the log of a server that did not start, which has no SQLSTATE; it runs in locale C.
const NO_SPACE: &str = "No space left on device";

/// Adds the full disk among those of `places`, if there is one.
pub fn explain(problem: Problem, places: &[PathBuf]) -> Problem {
    let free = places.iter().filter_map(|place| Some((free_bytes(place)?, place)));
    let Some((free, place)) = free.min() else { return problem };
    if free >= FULL_BELOW_BYTES && !tells(&problem) {
        return problem;
    }
    let seen = problem.detail.as_ref().map(|detail| format!("; {detail}")).unwrap_or_default();
    let full = format!("the disk of {} is full: {} are free now", place.display(), units::bytes(free));
    problem
        .detail(format!("{full}{seen}"))
        .hint("free space there, use a smaller --scale, or choose another disk with --data and --waldir")
}

/// Whether the server itself said so. Files of the record may lie on another disk: their errors begin with what could
/// not be written.
fn tells(problem: &Problem) -> bool {
    let of_record = problem.what.starts_with("could not write ");
    let texts = [Some(&problem.what), problem.detail.as_ref()];
    !of_record && texts.into_iter().flatten().any(|text| text.contains(DISK_FULL) || text.contains(NO_SPACE))
}

/// Free bytes of the disk under a path, or under the nearest directory above it that is there.
fn free_bytes(path: &Path) -> Option<u64> {
    let absolute = std::path::absolute(path).ok()?;
    let dir = absolute.ancestors().find(|dir| dir.is_dir())?;
    pgdyno_host::facts::storage(dir).ok().map(|storage| storage.available_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_with_room_explains_nothing() {
        let problem = Problem::could_not("could not work").detail("seen").hint("do");
        let places = [PathBuf::from("/"), PathBuf::from("/no/such/place")];
        assert_eq!(explain(problem.clone(), &places), problem);
        assert_eq!(explain(problem.clone(), &[]), problem);
    }

    #[test]
    fn the_servers_word_for_it_is_enough() {
        let problem = explain(Problem::could_not("could not load: x (SQLSTATE 53100)"), &["/".into()]);
        assert!(problem.detail.is_some_and(|detail| detail.starts_with("the disk of / is full: ")));
    }
}
