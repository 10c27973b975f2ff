//! `/proc/self/mountinfo` (`proc_pid_mountinfo(5)`).

use std::{
    ffi::OsString,
    fs, io,
    os::unix::ffi::OsStringExt,
    path::{Path, PathBuf},
};

use super::file::text;

/// One mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    /// Device as `major:minor`.
    pub device_number: String,
    /// Directory within the file system that is mounted.
    pub root: PathBuf,
    /// Mount point.
    pub mount_point: PathBuf,
    /// Options of this mount.
    pub options: String,
    /// File system type.
    pub filesystem: String,
    /// Mounted device or other source, for example `/dev/vda`.
    pub source: String,
    /// Options of the file system.
    pub super_options: String,
}

/// Reads all mounts of this process, in the kernel's order.
pub(super) fn read(root: &Path) -> Vec<Mount> {
    parse(&text(root, "proc/self/mountinfo").unwrap_or_default())
}

/// Parses all mounts, in the kernel's order; malformed lines are left out.
pub(super) fn parse(text: &str) -> Vec<Mount> {
    text.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<Mount> {
    let (front, back) = line.split_once(" - ")?;
    let mut front = front.split(' ').skip(2);
    let mut back = back.split(' ');
    Some(Mount {
        device_number: front.next()?.to_owned(),
        root: unescape(front.next()?),
        mount_point: unescape(front.next()?),
        options: front.next()?.to_owned(),
        filesystem: back.next()?.to_owned(),
        source: unescape(back.next()?).to_string_lossy().into_owned(),
        super_options: back.next().unwrap_or_default().to_owned(),
    })
}

/// Decodes octal escapes: the kernel writes space, tab, newline and backslash as three octal digits.
pub(super) fn unescape(text: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let digits = tail.get(..3).filter(|_| *first == b'\\').and_then(octal);
        bytes.push(digits.unwrap_or(*first));
        rest = if digits.is_some() { &tail[3..] } else { tail };
    }
    PathBuf::from(OsString::from_vec(bytes))
}

fn octal(digits: &[u8]) -> Option<u8> {
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok()
}

/// The mount that holds a path: the deepest mount point above it; of several equal ones, the last mounted.
pub(super) fn holding<'a>(mounts: &'a [Mount], path: &Path) -> Option<&'a Mount> {
    let above = mounts.iter().filter(|mount| path.starts_with(&mount.mount_point));
    above.max_by_key(|mount| mount.mount_point.components().count())
}

/// Finds the mount that holds a path, or its nearest existing ancestor. The kernel's files are taken from under `root`.
pub(crate) fn mount_of(root: &Path, path: &Path) -> Option<Mount> {
    let there = nearest_existing(path).ok()?;
    holding(&read(root), &there).cloned()
}

/// The deepest existing ancestor of a path, or the path itself, without links.
pub(super) fn nearest_existing(path: &Path) -> io::Result<PathBuf> {
    let absolute = std::path::absolute(path)?;
    let there = absolute.ancestors().find_map(|ancestor| fs::canonicalize(ancestor).ok());
    Ok(there.unwrap_or_else(|| PathBuf::from("/")))
}

/// Name of a block device, given as `major:minor`, in `/sys/class/block`; `None` for file systems without a device of
/// their own, which have major number 0.
pub(super) fn device_name(root: &Path, device_number: &str) -> Option<String> {
    (!device_number.starts_with("0:")).then_some(())?;
    let device = fs::canonicalize(root.join("sys/dev/block").join(device_number)).ok()?;
    // sysfs writes `!` for the `/` of names such as `cciss/c0d0`.
    Some(device.file_name()?.to_str()?.replace('!', "/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
28 27 8:17 / /data rw,noatime shared:2 master:1 - xfs /dev/sdb1 rw,attr2
29 27 0:40 /sub /data/with\\040space rw - btrfs /dev/sdc rw
30 27 0:41 / /data rw - tmpfs tmpfs rw
nonsense
";

    #[test]
    fn mounts_are_read() {
        let mounts = parse(TEXT);
        assert_eq!(mounts.len(), 4);
        assert_eq!(mounts[1].device_number, "8:17");
        assert_eq!(mounts[1].options, "rw,noatime");
        assert_eq!(mounts[1].super_options, "rw,attr2");
        assert_eq!(mounts[2].mount_point, Path::new("/data/with space"));
    }

    #[test]
    fn the_deepest_and_last_mount_holds_a_path() {
        let mounts = parse(TEXT);
        let at = |path: &str| holding(&mounts, Path::new(path)).map(|mount| mount.filesystem.as_str());
        assert_eq!(at("/home"), Some("ext4"));
        assert_eq!(at("/database"), Some("ext4"));
        assert_eq!(at("/data/x"), Some("tmpfs"));
        assert_eq!(at("/data/with space/y"), Some("btrfs"));
    }

    #[test]
    fn escapes_that_are_none_stay() {
        for (text, path) in [("a\\", "a\\"), ("\\04", "\\04"), ("\\999", "\\999"), ("\\134x", "\\x")] {
            assert_eq!(unescape(text), Path::new(path));
        }
    }
}
