//! The tests of pg_test_fsync (`src/bin/pg_test_fsync/pg_test_fsync.c`), system call by system call.

use std::{fs::File, io, os::unix::fs::FileExt};

use pgdyno_core::disk::sync::{FileState, SyncAction, SyncMethod};
use rustix::io::Errno;

use super::{
    bench::{Bench, Ran},
    next_blocks,
    request::SyncRequest,
    scratch::{Block, Scratch},
    timing::{repeat, repeat_sampled},
    writers,
};

/// What is written in pieces, in bytes.
const PIECES_BYTES: u64 = 16 << 10;

/// A test with the sizes of its writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Case {
    pub action: SyncAction,
    /// Bytes per write.
    pub write_bytes: u64,
    /// Writes per operation.
    pub writes: u32,
}

/// All tests of a request, in the order of pg_test_fsync.
pub(super) fn cases(request: &SyncRequest) -> Vec<Case> {
    let block = |action, writes| Case { action, write_bytes: request.block_bytes, writes };
    let methods = [1, 2].into_iter().flat_map(|writes| {
        SyncMethod::ALL.map(|method| block(SyncAction::Method { method, writes }, writes))
    });
    let pieces = [1, 2, 4, 8, 16].map(|writes| Case {
        action: SyncAction::Pieces { writes },
        write_bytes: PIECES_BYTES / u64::from(writes),
        writes,
    });
    let single = [SyncAction::WriteFsyncClose, SyncAction::WriteCloseFsync, SyncAction::Write];
    let writers = writer_counts(request.writers).into_iter().map(|writers| SyncAction::Writers { writers });
    let states = FileState::ALL.into_iter().filter(|_| request.file_states);
    let states = states.map(|state| SyncAction::Next { state });
    let blocks = single.into_iter().chain(writers).chain(states).map(|action| block(action, 1));
    methods.chain(pieces).chain(blocks).collect()
}

/// 1, 2, 4 and so on, and the most.
fn writer_counts(most: Option<u32>) -> Vec<u32> {
    let Some(most) = most else { return Vec::new() };
    let powers = std::iter::successors(Some(1_u32), |count| count.checked_mul(2));
    powers.take_while(|count| *count < most).chain([most]).collect()
}

impl Case {
    /// Executes the test.
    ///
    /// # Errors
    /// If it could not begin. An error in the middle is part of [`Timed`].
    pub(super) fn run(&self, bench: &Bench<'_>) -> io::Result<Ran> {
        match self.action {
            SyncAction::Method { method, .. } => self.run_method(method, bench),
            SyncAction::Pieces { .. } => self.run_opened(libc::O_SYNC, bench),
            SyncAction::WriteFsyncClose => self.run_buffered(bench, |block| write_sync_close(bench, block)),
            SyncAction::WriteCloseFsync => self.run_buffered(bench, |block| write_close_sync(bench, block)),
            SyncAction::Write => self.run_unsynced(bench),
            SyncAction::Writers { writers } => {
                let timed = writers::run(bench, writers, self.write_bytes)?;
                Ok(Ran::Timed { timed, direct: None })
            }
            SyncAction::Next { state } => next_blocks::run(bench, state, self.write_bytes),
        }
    }

    fn run_method(&self, method: SyncMethod, bench: &Bench<'_>) -> io::Result<Ran> {
        match (method, flags(method)) {
            (_, Some(flags)) => self.run_opened(flags, bench),
            (SyncMethod::Fdatasync, None) => self.run_synced_by(File::sync_data, bench),
            (SyncMethod::Fsync, None) => self.run_synced_by(File::sync_all, bench),
            (_, None) => Ok(Ran::Unavailable("Linux has no such method".to_owned())),
        }
    }

    /// Writes through the page cache, then a call.
    fn run_synced_by(&self, sync: impl Fn(&File) -> io::Result<()>, bench: &Bench<'_>) -> io::Result<Ran> {
        let file = bench.scratch.reopen(0)?;
        self.run_buffered(bench, |block| {
            self.write(&file, block)?;
            sync(&file)
        })
    }

    /// Writes to memory, which take little longer than a reading of the clock.
    fn run_unsynced(&self, bench: &Bench<'_>) -> io::Result<Ran> {
        let file = bench.scratch.reopen(0)?;
        let mut block = Block::random(self.write_bytes);
        let operation = || self.write(&file, &mut block);
        let timed = repeat_sampled(bench.duration, || bench.stop.requested(), operation);
        Ok(Ran::Timed { timed, direct: None })
    }

    fn run_buffered(
        &self,
        bench: &Bench<'_>,
        mut operation: impl FnMut(&mut Block) -> io::Result<()>,
    ) -> io::Result<Ran> {
        let mut block = Block::random(self.write_bytes);
        let timed = repeat(bench.duration, || bench.stop.requested(), || operation(&mut block));
        Ok(Ran::Timed { timed, direct: None })
    }

    /// Writes to a file that was opened to sync each of them.
    fn run_opened(&self, flags: i32, bench: &Bench<'_>) -> io::Result<Ran> {
        let mut block = Block::random(self.write_bytes);
        let (file, direct) = self.open_direct(flags, &mut block, bench.scratch)?;
        let operation = || self.write(&file, &mut block);
        let timed = repeat(bench.duration, || bench.stop.requested(), operation);
        Ok(Ran::Timed { timed, direct: Some(direct) })
    }

    /// Opens the file past the page cache if it can be written so: file systems refuse that when it is opened,
    /// devices with large sectors refuse small writes.
    fn open_direct(&self, flags: i32, block: &mut Block, scratch: &Scratch) -> io::Result<(File, bool)> {
        let direct = scratch.reopen(flags | libc::O_DIRECT);
        match direct.and_then(|file| self.write(&file, block).map(|()| file)) {
            Err(error) if refuses_direct(&error) => Ok((scratch.reopen(flags)?, false)),
            opened => opened.map(|file| (file, true)),
        }
    }

    /// The writes of one operation, one after the other from the start of the file.
    #[inline]
    fn write(&self, file: &File, block: &mut Block) -> io::Result<()> {
        for number in 0..u64::from(self.writes) {
            file.write_all_at(block.next(), number * self.write_bytes)?;
        }
        Ok(())
    }
}

/// Flags of `open(2)` by which a method syncs each write.
fn flags(method: SyncMethod) -> Option<i32> {
    match method {
        SyncMethod::OpenDatasync => Some(libc::O_DSYNC),
        SyncMethod::OpenSync => Some(libc::O_SYNC),
        SyncMethod::Fdatasync | SyncMethod::Fsync | SyncMethod::FsyncWritethrough => None,
    }
}

fn refuses_direct(error: &io::Error) -> bool {
    [Errno::INVAL, Errno::OPNOTSUPP]
        .into_iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

fn write_sync_close(bench: &Bench<'_>, block: &mut Block) -> io::Result<()> {
    let file = bench.scratch.reopen(0)?;
    file.write_all_at(block.next(), 0)?;
    file.sync_all()?;
    drop(file);
    // As pg_test_fsync does, so that both tests open and close as often.
    bench.scratch.reopen(0).map(drop)
}

fn write_close_sync(bench: &Bench<'_>, block: &mut Block) -> io::Result<()> {
    let file = bench.scratch.reopen(0)?;
    file.write_all_at(block.next(), 0)?;
    drop(file);
    bench.scratch.reopen(0)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pgdyno_core::stop::Stop;

    use super::*;

    #[test]
    fn the_order_is_that_of_pg_test_fsync() {
        let labels: Vec<String> =
            cases(&SyncRequest::new("/tmp")).iter().map(|case| case.action.label()).collect();
        let expected = [
            "open_datasync",
            "fdatasync",
            "fsync",
            "fsync_writethrough",
            "open_sync",
            "open_datasync, 2 writes",
            "fdatasync, 2 writes",
            "fsync, 2 writes",
            "fsync_writethrough, 2 writes",
            "open_sync, 2 writes",
            "open_sync, 1 x 16 KiB",
            "open_sync, 2 x 8 KiB",
            "open_sync, 4 x 4 KiB",
            "open_sync, 8 x 2 KiB",
            "open_sync, 16 x 1 KiB",
            "write, fsync, close",
            "write, close, fsync",
            "write",
        ];
        assert_eq!(labels, expected);
    }

    #[test]
    fn writers_double_up_to_the_most() {
        assert_eq!(writer_counts(None), [0; 0]);
        assert_eq!(writer_counts(Some(1)), [1]);
        assert_eq!(writer_counts(Some(8)), [1, 2, 4, 8]);
        assert_eq!(writer_counts(Some(6)), [1, 2, 4, 6]);
        assert_eq!(writer_counts(Some(64)), [1, 2, 4, 8, 16, 32, 64]);
    }

    #[test]
    fn pieces_make_16_kib_whatever_the_block() {
        let request = SyncRequest { block_bytes: 512, ..SyncRequest::new("/tmp") };
        let all = cases(&request);
        let pieces: Vec<_> =
            all.iter().filter(|case| matches!(case.action, SyncAction::Pieces { .. })).collect();
        assert_eq!(pieces.len(), 5);
        assert!(pieces.iter().all(|case| u64::from(case.writes) * case.write_bytes == PIECES_BYTES));
        assert!(all.iter().all(|case| pieces.contains(&case) || case.write_bytes == 512));
    }

    /// `O_SYNC` contains `O_DSYNC`, so that one could pass for the other.
    #[test]
    fn files_are_opened_as_their_methods_say() {
        let dir = tempfile::tempdir_in("/var/tmp").expect("a directory");
        for named in [false, true] {
            let scratch = Scratch::create(dir.path(), named).expect("it can be made");
            let opened = [(SyncMethod::OpenDatasync, libc::O_DSYNC), (SyncMethod::OpenSync, libc::O_SYNC)];
            for (method, wanted) in opened {
                let flags = flags(method).expect("it syncs by opening");
                let case = cases(&SyncRequest::new(dir.path()))[0];
                let mut block = Block::random(case.write_bytes);
                let (file, direct) = case.open_direct(flags, &mut block, &scratch).expect("it can be opened");
                let seen = rustix::fs::fcntl_getfl(&file).expect("it is open").bits().cast_signed();
                let wanted = wanted | if direct { libc::O_DIRECT } else { 0 };
                assert_eq!(seen & (libc::O_SYNC | libc::O_DIRECT), wanted);
            }
        }
    }

    /// Writes land where pg_test_fsync writes, and nowhere else.
    #[test]
    fn only_the_start_of_the_file_is_written() {
        let dir = tempfile::tempdir_in("/var/tmp").expect("a directory");
        let scratch = Scratch::create(dir.path(), false).expect("it can be made");
        scratch.fill(1 << 20, &mut Block::zeros(1 << 20), || true).expect("there is space");
        scratch.file.sync_all().expect("it can be synced");
        let stop = Stop::default();
        let bench =
            Bench { scratch: &scratch, second: None, duration: Duration::from_millis(1), stop: &stop };
        let mut after = vec![0; 1 << 20];
        for case in cases(&SyncRequest::new(dir.path())) {
            scratch.file.write_all_at(&vec![0; 1 << 20], 0).expect("there is space");
            scratch.file.sync_all().expect("it can be synced");
            let Ran::Timed { timed, .. } = case.run(&bench).expect("it can be executed") else {
                assert_eq!(case.action.label().split(',').next(), Some("fsync_writethrough"));
                continue;
            };
            assert!(timed.error.is_none() && timed.latency.count() > 0, "{:?}", case.action);
            scratch.file.read_exact_at(&mut after, 0).expect("it can be read");
            let end = (u64::from(case.writes) * case.write_bytes) as usize;
            assert!(
                after[..end].chunks(case.write_bytes as usize).all(|one| one.iter().any(|byte| *byte != 0))
            );
            // The first write that tries the way past the page cache has the same place.
            assert!(after[end..].iter().all(|byte| *byte == 0), "{:?}", case.action);
        }
    }
}
