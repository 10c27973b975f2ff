//! Block after block, as WAL is written, into what was in the file before.

use std::{cell::Cell, fs::File, io, os::unix::fs::FileExt, time::Duration};

use pgdyno_core::disk::sync::FileState;
use rustix::{
    fs::{FallocateFlags, fallocate},
    io::Errno,
};

use super::{
    bench::{Bench, Ran},
    request::SEGMENT_BYTES,
    scratch::{Block, Scratch},
    timing::{Timed, repeat},
};

/// Writes blocks one after the other, each with `fdatasync`, to the second file. Whenever the file is full it is
/// prepared once more, outside of the time.
pub(super) fn run(bench: &Bench<'_>, state: FileState, write_bytes: u64) -> io::Result<Ran> {
    let Some(scratch) = bench.second else {
        return Ok(Ran::Unavailable("there is no file for it".to_owned()));
    };
    let (file, mut block) = (scratch.reopen(0)?, Block::random(write_bytes));
    let mut sum = Timed::none();
    while sum.took < bench.duration && sum.error.is_none() && !bench.stop.requested() {
        match prepare(scratch, state) {
            Err(error) if is_not_there(&error) => {
                return Ok(Ran::Unavailable(format!("the file system refuses it: {error}")));
            }
            prepared => prepared?,
        }
        sum.add(pass(&file, &mut block, bench.duration - sum.took, || bench.stop.requested()));
    }
    Ok(Ran::Timed { timed: sum, direct: None })
}

/// Writes the blocks of the file once, or until the duration is over.
fn pass(file: &File, block: &mut Block, duration: Duration, stopped: impl Fn() -> bool) -> Timed {
    let offset = Cell::new(0);
    let halted = || stopped() || offset.get() >= SEGMENT_BYTES;
    let length = block.len();
    repeat(duration, halted, || {
        file.write_all_at(block.next(), offset.replace(offset.get() + length))?;
        file.sync_data()
    })
}

/// Brings the file into the state.
fn prepare(scratch: &Scratch, state: FileState) -> io::Result<()> {
    let file = &scratch.file;
    match state {
        FileState::Growing => file.set_len(0)?,
        FileState::Allocated => {
            file.set_len(0)?;
            rustix::io::retry_on_intr(|| fallocate(file, FallocateFlags::empty(), 0, SEGMENT_BYTES))?;
        }
        FileState::ZeroFilled => {
            file.set_len(0)?;
            let zeros = Block::zeros(1 << 20);
            for chunk in 0..SEGMENT_BYTES / zeros.len() {
                file.write_all_at(zeros.bytes(), chunk * zeros.len())?;
            }
        }
        FileState::Recycled => {
            scratch.fill(SEGMENT_BYTES, &mut Block::chunk(), || true)?;
        }
    }
    file.sync_all()
}

fn is_not_there(error: &io::Error) -> bool {
    [Errno::OPNOTSUPP, Errno::NOSYS]
        .into_iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use pgdyno_core::stop::Stop;

    use super::*;

    #[test]
    fn each_state_is_what_it_says() {
        let dir = tempfile::tempdir_in("/var/tmp").expect("a directory");
        let scratch = Scratch::create(dir.path(), false).expect("it can be made");
        let seen = FileState::ALL.map(|state| {
            prepare(&scratch, state).expect("ext4, XFS and the like can do it");
            let is = scratch.file.metadata().expect("it is open");
            let mut byte = [0];
            let read = scratch.file.read_at(&mut byte, 4_095).expect("it can be read");
            (is.len(), is.blocks() > 0, read == 1 && byte[0] != 0)
        });
        let full = SEGMENT_BYTES;
        assert_eq!(seen[..3], [(0, false, false), (full, true, false), (full, true, false)]);
        assert_eq!((seen[3].0, seen[3].1), (full, true));
        let mut data = vec![0; 4_096];
        scratch.file.read_exact_at(&mut data, 8_192).expect("it can be read");
        assert!(data.iter().any(|byte| *byte != 0), "recycled data is no zeros");
    }

    #[test]
    fn a_pass_ends_where_the_file_does() {
        let dir = tempfile::tempdir_in("/var/tmp").expect("a directory");
        let scratch = Scratch::create(dir.path(), false).expect("it can be made");
        let (asked, ever) = (Cell::new(0), Duration::from_secs(3_600));
        let stopped = || asked.replace(asked.get() + 1) > 40;
        let timed = pass(&scratch.file, &mut Block::random(1 << 20), ever, stopped);
        assert_eq!((timed.latency.count(), timed.error.is_none()), (16, true));
        assert_eq!(scratch.file.metadata().expect("it is open").len(), SEGMENT_BYTES);
    }

    #[test]
    fn a_full_file_is_prepared_once_more() {
        let dir = tempfile::tempdir_in("/var/tmp").expect("a directory");
        let scratch = Scratch::create(dir.path(), false).expect("it can be made");
        let (stop, duration) = (Stop::default(), Duration::from_millis(200));
        let bench = Bench { scratch: &scratch, second: Some(&scratch), duration, stop: &stop };
        let ran = run(&bench, FileState::Growing, 1 << 20).expect("it can be executed");
        let Ran::Timed { timed, .. } = ran else { panic!("every file system can do it") };
        assert!(timed.took >= duration && timed.error.is_none());
        let length = scratch.file.metadata().expect("it is open").len();
        assert!(length > 0 && length <= SEGMENT_BYTES, "{length}");
        assert_eq!(length >> 20, (timed.latency.count() - 1) % 16 + 1);
    }
}
