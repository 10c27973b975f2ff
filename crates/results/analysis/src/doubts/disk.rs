//! Disks that were measured, with figures that are partly of memory.

use pgdyno_core::disk::{
    Disk,
    io::{IoCache, IoNote, IoPattern},
};
use pgdyno_record::{Found, RunRecord};

use super::wording::doubt;
use crate::{Doubt, DoubtKind};

/// Reads and writes that something kept from the device although the page cache was not to be measured.
pub(super) fn served_from_memory(record: &RunRecord) -> Option<Doubt> {
    let disks = record.operations.iter().filter_map(|operation| match &operation.found {
        Found::Disk(disk) => Some(disk),
        _ => None,
    });
    let of_storage = disks.filter_map(pattern).filter(|(_, pattern, _)| pattern.cache != IoCache::Cached);
    let found = of_storage.filter_map(|(path, _, notes)| {
        // File systems in memory refuse O_DIRECT too.
        let in_memory = notes.iter().filter(|note| **note == IoNote::InMemory);
        let (why, advice) = in_memory.chain(notes).find_map(reason)?;
        Some((format!("in {path} {why}"), advice))
    });
    let (mut details, advice): (Vec<_>, Vec<_>) = found.unzip();
    details.sort();
    details.dedup();
    doubt(DoubtKind::DiskFromMemory, details.join("; "), advice.first()?, Vec::new())
}

/// Where it was measured, what was requested, and what was not as requested.
fn pattern(disk: &Disk) -> Option<(&str, &IoPattern, &[IoNote])> {
    match disk {
        Disk::Io(of) => Some((&of.path, &of.pattern, &of.notes)),
        Disk::Saturation(of) => Some((&of.path, &of.pattern, &of.notes)),
        Disk::Costs(of) => of.saturation.as_ref().map(|at| (&*at.path, &at.pattern, &*at.notes)),
        Disk::Sync(_) | Disk::Clock(_) => None,
    }
}

/// Why memory may have served it, with advice.
fn reason(note: &IoNote) -> Option<(String, &'static str)> {
    match note {
        IoNote::InMemory => Some((
            "the file was in memory: no device was measured".to_owned(),
            "Measure in a directory that is on a disk.",
        )),
        IoNote::BufferedInstead { .. } => Some((
            "O_DIRECT is refused: what was read may come from the page cache".to_owned(),
            "Measure on a file system that has O_DIRECT, or a file several times as large as memory.",
        )),
        IoNote::CachedBelow { file } => Some((
            format!(
                "a loop device keeps its file {file} in the page cache: the rates may be those of memory"
            ),
            "Let the loop device bypass the page cache, by direct I/O of losetup.",
        )),
        IoNote::ThreadsInstead { .. } | IoNote::PreconditionSkipped | IoNote::FewerCpus { .. } => None,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use pgdyno_core::disk::io::IoReport;

    use super::*;

    /// The kinds that are tested here.
    pub const OWN: [DoubtKind; 1] = [DoubtKind::DiskFromMemory];

    /// The doubt about a record of disks, whose reads at depth are changed before.
    fn doubt(change: impl Fn(&mut IoReport)) -> Option<Doubt> {
        let mut record = testkit::fixtures::operations().record;
        let disks = record.operations.iter_mut().filter_map(|operation| match &mut operation.found {
            Found::Disk(Disk::Io(of)) => Some(of),
            _ => None,
        });
        disks.for_each(|of| change(of));
        served_from_memory(&record)
    }

    #[test]
    fn what_memory_may_have_served_is_doubted() {
        let below = || IoNote::CachedBelow { file: "/disk.img".to_owned() };
        let refused = || IoNote::BufferedInstead { why: "EINVAL".to_owned() };
        for (note, said) in [(IoNote::InMemory, "in memory"), (below(), "/disk.img"), (refused(), "O_DIRECT")]
        {
            let found = doubt(|of| of.notes = vec![IoNote::PreconditionSkipped, note.clone()]);
            let found = found.expect("memory may have served it");
            assert_eq!(found.kind, OWN[0]);
            assert!(found.detail.starts_with("in /data01 ") && found.detail.contains(said), "{found:?}");
        }
    }

    #[test]
    fn a_directory_in_memory_is_named_as_such_whatever_follows_from_it() {
        let refused = IoNote::BufferedInstead { why: "EINVAL".to_owned() };
        let found = doubt(|of| of.notes = vec![refused.clone(), IoNote::InMemory]);
        let found = found.expect("it is in memory");
        assert!(
            found.detail.contains("no device was measured") && found.advice.contains("on a disk"),
            "{found:?}"
        );
    }

    #[test]
    fn devices_and_a_page_cache_that_was_to_be_measured_are_not() {
        assert_eq!(doubt(|_| ()), None);
        assert_eq!(doubt(|of| of.notes = vec![IoNote::PreconditionSkipped]), None);
        let cached = doubt(|of| {
            of.pattern.cache = IoCache::Cached;
            of.notes = vec![IoNote::InMemory];
        });
        assert_eq!(cached, None);
    }
}
