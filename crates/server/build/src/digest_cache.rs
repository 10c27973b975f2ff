//! Cache of facts about files, valid while their metadata stay the same, as in git's index: reading a source takes a
//! second, reading its metadata some milliseconds.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use pgdyno_core::problem::Problem;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use pgdyno_provision::safe::{make_open_dir, write_file};

/// Minimum age of a change to be cached. A file could change again within one tick of the kernel's file clock, at most
/// 10 ms, without a change of its metadata.
const SETTLED: Duration = Duration::from_millis(100);

/// Metadata that identify the state of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Size in bytes.
    pub size: u64,
    /// Inode number.
    pub inode: u64,
    /// Type and permissions.
    pub mode: u32,
    /// Modification time (mtime) in ns since 1970.
    pub modified_ns: i128,
    /// Change time (ctime) in ns since 1970; no program can set it back.
    pub changed_ns: i128,
}

impl Stamp {
    /// Takes the stamp of a file's metadata.
    pub fn from_metadata(metadata: &fs::Metadata) -> Self {
        let ns = |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
        Self {
            size: metadata.size(),
            inode: metadata.ino(),
            mode: metadata.mode(),
            modified_ns: ns(metadata.mtime(), metadata.mtime_nsec()),
            changed_ns: ns(metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Adds the stamp to a digest.
    pub fn hash(&self, hash: &mut Sha256) {
        hash.update(self.size.to_be_bytes());
        hash.update(self.inode.to_be_bytes());
        hash.update(self.mode.to_be_bytes());
        hash.update(self.modified_ns.to_be_bytes());
        hash.update(self.changed_ns.to_be_bytes());
    }
}

/// Whether a file last changed at `changed_ns` is old enough to be cached.
pub fn is_settled(changed_ns: i128, now: SystemTime) -> bool {
    let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    now.saturating_sub(SETTLED).as_nanos() as i128 > changed_ns
}

/// Cache in a directory.
#[derive(Debug, Clone)]
pub struct DigestCache {
    dir: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Remembered {
    path: PathBuf,
    stamp: String,
    value: String,
}

impl DigestCache {
    /// Uses `dir`, which need not exist.
    pub fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// Looks up a value whose metadata have the digest `stamp`.
    pub fn get(&self, path: &Path, what: &str, stamp: &str) -> Option<String> {
        let text = fs::read(self.file(path, what)).ok()?;
        let kept: Remembered = serde_json::from_slice(&text).ok()?;
        (kept.path == path && kept.stamp == stamp).then_some(kept.value)
    }

    /// Stores a value. Errors are ignored: an unwritable cache only costs time.
    pub fn put(&self, path: &Path, what: &str, stamp: &str, value: &str) {
        let (path, stamp, value) = (path.to_owned(), stamp.to_owned(), value.to_owned());
        let file = self.file(&path, what);
        if let Ok(text) = serde_json::to_vec(&Remembered { path, stamp, value }) {
            let _ = make_open_dir(&self.dir).and_then(|()| write_file(&file, &text, 0o644, None));
        }
    }

    /// Returns a value computed from one file, from the cache or else by computing it.
    ///
    /// # Errors
    /// If the file cannot be read or the value not be computed.
    pub fn for_file(
        &self,
        path: &Path,
        what: &str,
        find_out: impl FnOnce() -> Result<String, Problem>,
    ) -> Result<String, Problem> {
        let now = SystemTime::now();
        let canonical = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let Ok(metadata) = fs::metadata(&canonical) else { return find_out() };
        let stamp = Stamp::from_metadata(&metadata);
        let mut hash = Sha256::new();
        stamp.hash(&mut hash);
        let digest = hex::encode(hash.finalize());
        if let Some(value) = self.get(&canonical, what, &digest) {
            return Ok(value);
        }
        let value = find_out()?;
        if is_settled(stamp.changed_ns, now) {
            self.put(&canonical, what, &digest, &value);
        }
        Ok(value)
    }

    fn file(&self, path: &Path, what: &str) -> PathBuf {
        let mut hash = Sha256::new();
        hash.update(path.as_os_str().as_encoded_bytes());
        hash.update([0]);
        hash.update(what);
        self.dir.join(format!("{}.json", hex::encode(&hash.finalize()[..16])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_looked_at_once_until_it_changes() {
        let root = tempfile::tempdir().expect("a temporary directory can be made");
        let cache = DigestCache::new(root.path().join("remembered"));
        let path = root.path().join("file");
        fs::write(&path, "a").expect("it can be written");
        let read = |path: &Path| Ok(fs::read_to_string(path).expect("it is there"));
        let stamp = Stamp::from_metadata(&fs::metadata(&path).expect("it is there"));
        // A file written this instant is not cached yet.
        while !is_settled(stamp.changed_ns, SystemTime::now()) {
            assert_eq!(cache.for_file(&path, "content", || read(&path)), Ok("a".into()));
        }
        assert_eq!(cache.for_file(&path, "content", || read(&path)), Ok("a".into()));
        assert_eq!(cache.for_file(&path, "content", || panic!("it is remembered")), Ok("a".into()));
        assert_eq!(cache.for_file(&path, "other", || Ok("x".into())), Ok("x".into()));
        fs::write(&path, "b").expect("it can be written");
        assert_eq!(cache.for_file(&path, "content", || read(&path)), Ok("b".into()));
    }

    #[test]
    fn what_changed_just_now_is_not_settled() {
        let now = UNIX_EPOCH + Duration::from_secs(100);
        assert!(is_settled(99_000_000_000, now));
        assert!(!is_settled(99_950_000_000, now));
        assert!(!is_settled(101_000_000_000, now), "a file from the future");
    }
}
