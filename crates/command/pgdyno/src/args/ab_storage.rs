//! Arms of a comparison that are directories: their storage is measured, without a server.

use pgdyno_analysis::compare::ComparedRate;
use pgdyno_core::problem::Problem;
use pgdyno_lab::{StorageOperation, StorageWork, SubjectWork};

use super::arm::Arm;

/// What both arms do if they are directories, compared by this rate; `None` if neither is one. `other` is a flag that
/// says nothing about storage, if one is given.
///
/// # Errors
/// Only one of them is a directory, or a flag is about servers, tables or clients.
pub(super) fn works(
    arms: &[Arm; 2],
    by: ComparedRate,
    other: Option<&'static str>,
) -> Result<Option<[SubjectWork; 2]>, Problem> {
    let by_storage = matches!(by, ComparedRate::Syncs | ComparedRate::Reads);
    let [Some(a), Some(b)] = arms.each_ref().map(|arm| arm.dir.as_ref()) else {
        return refuse_one(by_storage, arms);
    };
    refuse_others(arms, other)?;
    let operation = match by {
        ComparedRate::Reads => StorageOperation::Read,
        ComparedRate::Syncs => StorageOperation::Sync,
        ComparedRate::Tps | ComparedRate::NewOrders | ComparedRate::LoadedRows => {
            let what =
                "could not compare directories: their rate is that of synchronous writes, or of random reads";
            return Err(Problem::wrong_request(what).hint("--by syncs (the default), or --by reads"));
        }
    };
    Ok(Some([a, b].map(|dir| SubjectWork::Storage(StorageWork { dir: dir.clone(), operation }))))
}

/// Refuses a directory with an arm that is none, and rates of directories without any.
fn refuse_one(by_storage: bool, arms: &[Arm; 2]) -> Result<Option<[SubjectWork; 2]>, Problem> {
    let has_one = arms.iter().any(|arm| arm.dir.is_some());
    match (has_one, by_storage) {
        (false, false) => Ok(None),
        (true, _) => Err(Problem::wrong_request("could not compare a directory with a server")
            .hint("give both directories: pgdyno ab --dir A --dir B")),
        (false, true) => Err(Problem::wrong_request("could not compare storage: no directory is named")
            .hint("pgdyno ab --dir A --dir B --by syncs")),
    }
}

fn refuse_others(arms: &[Arm; 2], other: Option<&'static str>) -> Result<(), Problem> {
    let only = |arm: &Arm| *arm == Arm { dir: arm.dir.clone(), ..Arm::default() };
    let of_arms = (!arms.iter().all(only)).then_some("flags of servers, workloads and clients");
    let other = of_arms.or(other);
    match other {
        None => Ok(()),
        Some(what) => Err(Problem::wrong_request(format!(
            "could not use {what}: with --dir the storage of two directories is compared, without a server"
        ))
        .hint("leave them out; to compare servers on both, name their data directories: pgdyno ab data=A data=B")),
    }
}
