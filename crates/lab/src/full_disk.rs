//! Explains a failure by a full disk, and names the disk.
//!
//! A full disk has many symptoms: an error of the server, a crash, a server that does not start. The user needs to know
//! which disk it is.

use std::path::{Path, PathBuf};

use pgdyno_core::{problem::Problem, units};

use crate::{Job, Wanted, dirs};

/// A disk with less free space is full: WAL segments have 16 MiB, and the one that could not be completed has been
/// removed by the time we check.
const FULL_BELOW_BYTES: u64 = 32 << 20;

/// Directories that an own server writes to; empty for an existing server.
fn written_dirs(job: &Job) -> Vec<PathBuf> {
    let of_one = |wanted: &Wanted| {
        let Wanted::Own(request) = wanted else { return Vec::new() };
        let data = request.data.clone().or_else(|| dirs().ok().map(|dirs| dirs.servers()));
        let tablespaces = request.tablespaces.iter().map(|(_, dir)| dir.clone());
        data.into_iter().chain(request.waldir.clone()).chain(tablespaces).collect()
    };
    job.servers.iter().flat_map(of_one).collect()
}

/// How the server's error ends when it ran out of space (SQLSTATE `disk_full`). Space freed since may hide the cause.
const DISK_FULL: &str = "(SQLSTATE 53100)";
/// The system's message in the log of a server that did not start, without SQLSTATE. The server runs in locale C.
const NO_SPACE: &str = "No space left on device";

/// Names the full disk among those that the job's own servers write to, if there is one.
pub fn explain(problem: Problem, job: &Job) -> Problem {
    name_disk(problem, &written_dirs(job))
}

fn name_disk(problem: Problem, dirs: &[PathBuf]) -> Problem {
    let free = dirs.iter().filter_map(|place| Some((free_bytes(place)?, place)));
    let Some((free, place)) = free.min() else { return problem };
    if free >= FULL_BELOW_BYTES && !reports_full_disk(&problem) {
        return problem;
    }
    let seen = problem.detail.as_ref().map(|detail| format!("; {detail}")).unwrap_or_default();
    let full = format!("the disk of {} is full: {} are free now", place.display(), units::bytes(free));
    problem
        .detail(format!("{full}{seen}"))
        .hint(
            "free space there, use a smaller --scale, or choose another disk with --data, --waldir or a tablespace",
        )
}

/// Whether the server itself reported a full disk. Files of the record may be on another disk; their errors begin with
/// "could not write".
fn reports_full_disk(problem: &Problem) -> bool {
    let of_record = problem.what.starts_with("could not write ");
    let texts = [Some(&problem.what), problem.detail.as_ref()];
    !of_record && texts.into_iter().flatten().any(|text| text.contains(DISK_FULL) || text.contains(NO_SPACE))
}

/// Free bytes of the disk under a path, or under its nearest existing parent.
fn free_bytes(path: &Path) -> Option<u64> {
    let absolute = std::path::absolute(path).ok()?;
    let dir = absolute.ancestors().find(|dir| dir.is_dir())?;
    pgdyno_host::facts::storage(dir).ok().map(|storage| storage.available_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_with_free_space_explains_nothing() {
        let problem = Problem::could_not("could not work").detail("seen").hint("do");
        let dirs = [PathBuf::from("/"), PathBuf::from("/no/such/place")];
        assert_eq!(name_disk(problem.clone(), &dirs), problem);
        assert_eq!(name_disk(problem.clone(), &[]), problem);
    }

    #[test]
    fn the_servers_error_is_enough() {
        let problem = name_disk(Problem::could_not("could not load: x (SQLSTATE 53100)"), &["/".into()]);
        assert!(problem.detail.is_some_and(|detail| detail.starts_with("the disk of / is full: ")));
    }
}
