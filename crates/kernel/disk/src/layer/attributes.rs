//! Between the status of files and the attributes of FUSE.

use std::time::{Duration, SystemTime};

use fuser::{Errno, FileAttr, FileType, INodeNo, TimeOrNow};
use rustix::fs::{self, Stat, Timespec, UTIME_NOW, UTIME_OMIT};

/// The answer for an error of a system call.
pub(crate) fn errno(error: rustix::io::Errno) -> Errno {
    Errno::from_i32(error.raw_os_error())
}

/// Attributes of a file by its status, under the number that the kernel knows it by.
pub(crate) fn attributes(number: INodeNo, stat: &Stat) -> FileAttr {
    let changed = time(stat.st_ctime, stat.st_ctime_nsec);
    FileAttr {
        ino: number,
        size: stat.st_size.cast_unsigned(),
        blocks: stat.st_blocks.cast_unsigned(),
        atime: time(stat.st_atime, stat.st_atime_nsec),
        mtime: time(stat.st_mtime, stat.st_mtime_nsec),
        ctime: changed,
        crtime: changed,
        kind: file_type(fs::FileType::from_raw_mode(stat.st_mode)),
        perm: (stat.st_mode & 0o7777) as u16,
        nlink: stat.st_nlink as u32,
        uid: stat.st_uid,
        gid: stat.st_gid,
        rdev: stat.st_rdev as u32,
        blksize: stat.st_blksize as u32,
        flags: 0,
    }
}

/// The type of a file; of directory entries of unknown type, which the kernel then looks up, that of a regular file.
pub(crate) fn file_type(of: fs::FileType) -> FileType {
    match of {
        fs::FileType::Directory => FileType::Directory,
        fs::FileType::Symlink => FileType::Symlink,
        fs::FileType::Fifo => FileType::NamedPipe,
        fs::FileType::Socket => FileType::Socket,
        fs::FileType::CharacterDevice => FileType::CharDevice,
        fs::FileType::BlockDevice => FileType::BlockDevice,
        fs::FileType::RegularFile | fs::FileType::Unknown => FileType::RegularFile,
    }
}

/// A time from seconds since 1970, which may be negative, and nanoseconds within them.
fn time(seconds: i64, nanoseconds: impl TryInto<u32>) -> SystemTime {
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let start = if seconds < 0 { SystemTime::UNIX_EPOCH - whole } else { SystemTime::UNIX_EPOCH + whole };
    start + Duration::from_nanos(u64::from(nanoseconds.try_into().unwrap_or_default()))
}

/// A time for `utimensat`: kept if absent.
pub(crate) fn timespec(time: Option<TimeOrNow>) -> Timespec {
    let special = |tv_nsec| Timespec { tv_sec: 0, tv_nsec };
    match time {
        None => special(UTIME_OMIT),
        Some(TimeOrNow::Now) => special(UTIME_NOW),
        Some(TimeOrNow::SpecificTime(time)) => since_1970(time),
    }
}

fn since_1970(time: SystemTime) -> Timespec {
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => Timespec { tv_sec: since.as_secs() as i64, tv_nsec: since.subsec_nanos().into() },
        Err(before) => {
            let before = before.duration();
            let borrow = i64::from(before.subsec_nanos() > 0);
            let tv_nsec = (-i64::from(before.subsec_nanos())).rem_euclid(1_000_000_000);
            Timespec { tv_sec: -(before.as_secs() as i64) - borrow, tv_nsec }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Also times before 1970.
        #[test]
        fn times_return_as_they_came(
            seconds in -10_000_000_000_i64..10_000_000_000,
            nanoseconds in 0_u32..1_000_000_000,
        ) {
            let back = timespec(Some(TimeOrNow::SpecificTime(time(seconds, nanoseconds))));
            prop_assert_eq!((back.tv_sec, back.tv_nsec), (seconds, i64::from(nanoseconds)));
        }
    }

    #[test]
    fn an_absent_time_is_kept() {
        assert_eq!(timespec(None).tv_nsec, UTIME_OMIT);
        assert_eq!(timespec(Some(TimeOrNow::Now)).tv_nsec, UTIME_NOW);
    }
}
