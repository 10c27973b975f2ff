//! Source trees: listing, digest, copy, and ownership.

use std::{
    fs::{self, File, FileTimes},
    io,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::{Component, Path, PathBuf},
    time::SystemTime,
};

use pgdyno_core::problem::Problem;
use rustix::fs::{AtFlags, CWD, Gid, Uid, chownat};
use sha2::{Digest, Sha256};
use walkdir::WalkDir;

use pgdyno_provision::manifest::sha256_of;

use crate::digest_cache::{DigestCache, Stamp, is_settled};

/// Files that mark a build directory: a directory within a source that has one is left out.
const OF_BUILDS: [&str; 2] = ["config.status", "build.ninja"];
/// Files left in a source that was configured in place.
const OF_CONFIGURE: [&str; 3] = ["config.status", "src/Makefile.global", "src/include/pg_config.h"];

/// Entry of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Path within the tree.
    pub path: PathBuf,
    /// Type of the entry.
    pub kind: Kind,
    stamp: Stamp,
}

/// Type of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A directory.
    Dir,
    /// A plain file.
    File,
    /// A symbolic link to a path in the tree.
    Link(PathBuf),
}

/// Whether a link at a path within a tree stays inside the tree, judged by its text alone.
pub fn stays_inside(path: &Path, target: &Path) -> bool {
    let mut depth = path.components().count().saturating_sub(1);
    for part in target.components() {
        match part {
            Component::CurDir => {}
            Component::Normal(_) => depth += 1,
            Component::ParentDir if depth > 0 => depth -= 1,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return false,
        }
    }
    true
}

/// Lists a source directory in the order of paths, without git's history and build directories.
///
/// # Errors
/// If the source was configured in place, cannot be read, or has an entry that cannot be copied.
pub fn walk(root: &Path) -> Result<Vec<Entry>, Problem> {
    if let Some(left) = OF_CONFIGURE.iter().find(|name| root.join(name).exists()) {
        return Err(Problem::wrong_request(format!(
            "the source {} was configured in place, which spoils every other build of it",
            root.display()
        ))
        .detail(format!("found {left}"))
        .hint("run `make distclean` there, or give a tarball or another checkout (`git worktree add`)"));
    }
    let mut entries = Vec::new();
    descend(root, Path::new(""), &mut entries)?;
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(entries)
}

fn descend(root: &Path, at: &Path, entries: &mut Vec<Entry>) -> Result<(), Problem> {
    let unreadable = |error: io::Error| could_not_read(&root.join(at), &error);
    for entry in fs::read_dir(root.join(at)).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let (path, metadata) = (at.join(entry.file_name()), entry.metadata().map_err(unreadable)?);
        let stamp = Stamp::from_metadata(&metadata);
        // In a second git work tree `.git` is a file.
        if entry.file_name() == ".git" {
            continue;
        }
        if metadata.is_dir() {
            if OF_BUILDS.iter().any(|name| entry.path().join(name).exists()) {
                continue;
            }
            descend(root, &path, entries)?;
        }
        let kind = kind(root, &path, &metadata)?;
        entries.push(Entry { path, kind, stamp });
    }
    Ok(())
}

fn kind(root: &Path, path: &Path, metadata: &fs::Metadata) -> Result<Kind, Problem> {
    if metadata.is_dir() {
        return Ok(Kind::Dir);
    }
    if metadata.is_file() {
        return Ok(Kind::File);
    }
    let why = match fs::read_link(root.join(path)) {
        Ok(target) if stays_inside(path, &target) => return Ok(Kind::Link(target)),
        Ok(_) => "it is a link that leads out of the source",
        Err(_) => "it is neither a file nor a directory",
    };
    Err(Problem::wrong_request(format!("could not copy {}: {why}", root.join(path).display()))
        .hint("remove it, or give a source without it"))
}

fn could_not_read(path: &Path, error: &io::Error) -> Problem {
    Problem::could_not(format!("could not read the source {}: {error}", path.display()))
}

/// Digest of the metadata of all files: the files are the same if it is.
fn stamp(entries: &[Entry]) -> String {
    let mut hash = Sha256::new();
    // Directories are left out: their times change with their content, which is covered itself.
    for entry in entries.iter().filter(|entry| entry.kind != Kind::Dir) {
        hash_words(&mut hash, entry.path.as_os_str().as_encoded_bytes());
        entry.stamp.hash(&mut hash);
    }
    hex::encode(hash.finalize())
}

fn hash_words(hash: &mut Sha256, bytes: &[u8]) {
    hash.update((bytes.len() as u64).to_be_bytes());
    hash.update(bytes);
}

/// Digest of names and contents of a tree, cached while no file changes.
///
/// # Errors
/// If a file cannot be read.
pub fn digest(root: &Path, entries: &[Entry], cache: &DigestCache) -> Result<String, Problem> {
    let now = SystemTime::now();
    let stamp = stamp(entries);
    if let Some(known) = cache.get(root, "tree", &stamp) {
        return Ok(known);
    }
    let mut hash = Sha256::new();
    for entry in entries {
        hash_entry(&mut hash, root, entry)
            .map_err(|error| could_not_read(&root.join(&entry.path), &error))?;
    }
    let digest = hex::encode(hash.finalize());
    let newest = entries.iter().map(|entry| entry.stamp.changed_ns).max().unwrap_or_default();
    if is_settled(newest, now) {
        cache.put(root, "tree", &stamp, &digest);
    }
    Ok(digest)
}

fn hash_entry(hash: &mut Sha256, root: &Path, entry: &Entry) -> io::Result<()> {
    match &entry.kind {
        // Git has no directories, and an empty one changes nothing.
        Kind::Dir => return Ok(()),
        Kind::Link(target) => {
            hash_words(hash, b"link");
            hash_words(hash, target.as_os_str().as_encoded_bytes());
        }
        Kind::File => {
            hash_words(hash, if entry.stamp.mode & 0o100 == 0 { b"file" } else { b"program" });
            hash_words(hash, &sha256_of(&root.join(&entry.path))?);
        }
    }
    hash_words(hash, entry.path.as_os_str().as_encoded_bytes());
    Ok(())
}

/// Copies a tree with the modification times of its files, which make compares.
///
/// # Errors
/// If an entry cannot be copied, or the source changed meanwhile.
pub fn copy(root: &Path, entries: &[Entry], to: &Path) -> Result<(), Problem> {
    for entry in entries {
        copy_entry(root, entry, to).map_err(|error| {
            Problem::could_not(format!("could not copy {}: {error}", root.join(&entry.path).display()))
        })?;
    }
    if stamp(&walk(root)?) == stamp(entries) {
        return Ok(());
    }
    Err(Problem::could_not(format!("the source {} changed while it was copied", root.display()))
        .hint("try again when nothing writes there"))
}

fn copy_entry(root: &Path, entry: &Entry, to: &Path) -> io::Result<()> {
    let (from, to) = (root.join(&entry.path), to.join(&entry.path));
    match &entry.kind {
        Kind::Dir => fs::create_dir_all(to),
        Kind::Link(target) => symlink(target, to),
        Kind::File => {
            fs::copy(&from, &to)?;
            fs::set_permissions(&to, fs::Permissions::from_mode((entry.stamp.mode & 0o755) | 0o644))?;
            let modified = fs::metadata(&from)?.modified()?;
            File::options().write(true).open(&to)?.set_times(FileTimes::new().set_modified(modified))
        }
    }
}

/// Changes the owner of a tree, without following links.
///
/// # Errors
/// If another user owns an entry.
pub fn give(path: &Path, uid: u32, gid: u32) -> io::Result<()> {
    for entry in WalkDir::new(path) {
        let entry = entry?;
        let metadata = entry.metadata()?;
        if (metadata.uid(), metadata.gid()) != (uid, gid) {
            let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
            chownat(CWD, entry.path(), Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source() -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        for (name, text) in
            [("configure", "x"), ("src/a.c", "int a;"), (".git/HEAD", "x"), ("build/config.status", "x")]
        {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().expect("it has one")).expect("it can be made");
            fs::write(path, text).expect("it can be written");
        }
        symlink("a.c", dir.path().join("src/b.c")).expect("it can be made");
        dir
    }

    fn digest_of(root: &Path) -> String {
        let cache = DigestCache::new(root.join("nowhere/.git"));
        digest(root, &walk(root).expect("it can be walked"), &cache).expect("it can be read")
    }

    #[test]
    fn links_that_climb_out_are_known_by_their_words() {
        for (path, target, inside) in [
            ("a/b", "c", true),
            ("a/b", "../c", true),
            ("a/b", "../../c", false),
            ("a", "..", false),
            ("a", "/etc/passwd", false),
            ("a/b/c", "../../x/../../y", false),
            ("a/b/c", "./../../x", true),
        ] {
            assert_eq!(stays_inside(Path::new(path), Path::new(target)), inside, "{path} -> {target}");
        }
    }

    #[test]
    fn a_tree_is_known_by_what_is_in_it() {
        let (one, two) = (source(), source());
        assert_eq!(digest_of(one.path()), digest_of(two.path()));
        fs::write(two.path().join(".git/HEAD"), "y").expect("it can be written");
        fs::write(two.path().join("build/x.o"), "y").expect("it can be written");
        assert_eq!(digest_of(one.path()), digest_of(two.path()), "neither is source");
        fs::write(two.path().join("src/a.c"), "int b;").expect("it can be written");
        assert_ne!(digest_of(one.path()), digest_of(two.path()));
        fs::write(two.path().join("src/a.c"), "int a;").expect("it can be written");
        fs::rename(two.path().join("src/a.c"), two.path().join("src/c.c")).expect("it can be renamed");
        assert_ne!(digest_of(one.path()), digest_of(two.path()));
    }

    #[test]
    fn a_copy_is_the_same_tree_and_leaves_the_source_alone() {
        let (source, to) = (source(), tempfile::tempdir().expect("a temporary directory can be made"));
        let entries = walk(source.path()).expect("it can be walked");
        copy(source.path(), &entries, to.path()).expect("it can be copied");
        assert_eq!(digest_of(to.path()), digest_of(source.path()));
        assert!(!to.path().join(".git").exists() && !to.path().join("build").exists());
        let modified = |dir: &Path| {
            fs::metadata(dir.join("src/a.c")).and_then(|metadata| metadata.modified()).expect("it has one")
        };
        assert_eq!(modified(to.path()), modified(source.path()));
        assert_eq!(walk(source.path()).expect("it can be walked"), entries);
    }

    #[test]
    fn a_source_that_changes_meanwhile_is_not_copied() {
        let (source, to) = (source(), tempfile::tempdir().expect("a temporary directory can be made"));
        let entries = walk(source.path()).expect("it can be walked");
        fs::write(source.path().join("src/new.c"), "x").expect("it can be written");
        let problem = copy(source.path(), &entries, to.path()).expect_err("it changed");
        assert!(problem.what.contains("changed while"), "{problem}");
    }

    #[test]
    fn what_cannot_be_copied_is_named() {
        let dir = source();
        symlink("/etc/passwd", dir.path().join("src/secret.c")).expect("it can be made");
        let problem = walk(dir.path()).expect_err("it leads out");
        assert!(problem.what.contains("src/secret.c") && problem.what.contains("leads out"), "{problem}");
        let dir = source();
        fs::write(dir.path().join("config.status"), "x").expect("it can be written");
        let problem = walk(dir.path()).expect_err("it is configured");
        assert!(problem.hint.is_some_and(|hint| hint.contains("make distclean")));
    }
}
