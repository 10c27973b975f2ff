//! List of the files of a cached bundle, to detect damage before use.
//!
//! The manifest is written when a bundle is unpacked. At every use sizes and change times are compared, which takes
//! milliseconds; contents are read only of files touched since, and of all files if there is no manifest.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Read},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::safe::write_file;

/// File in a bundle that lists all others.
const FILE: &str = "files.json";

/// Files of a bundle, by path within it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// SHA-256 of the archive in hexadecimal; empty if it is not known.
    pub archive: String,
    files: BTreeMap<String, Entry>,
}

/// A file or a symbolic link of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Entry {
    /// A plain file.
    File {
        size_bytes: u64,
        /// SHA-256 of the content in hexadecimal.
        sha256: String,
        executable: bool,
    },
    /// A symbolic link.
    Link { to: PathBuf },
}

impl Manifest {
    /// Lists all files under a directory, except those in `but`.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn from_files(dir: &Path, archive: &str, but: &[&str]) -> io::Result<Self> {
        let mut files = BTreeMap::new();
        collect(dir, "", &mut files)?;
        files.retain(|path, _| path != FILE && !but.contains(&path.as_str()));
        Ok(Self { archive: archive.to_owned(), files })
    }

    /// Reads the manifest of a directory; `None` if there is none or it is malformed.
    pub fn read(dir: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(dir.join(FILE)).ok()?).ok()
    }

    /// Writes the manifest into the directory. From now on, files changed later than this count as touched.
    ///
    /// # Errors
    /// If the manifest cannot be written.
    pub fn write(&self, dir: &Path) -> io::Result<()> {
        write_file(&dir.join(FILE), &serde_json::to_vec(self)?, 0o644, None)
    }

    /// SHA-256 over names and contents, in hexadecimal: the same wherever this archive is unpacked.
    pub fn digest(&self) -> String {
        // Serialising plain data with text keys cannot fail.
        hex::encode(Sha256::digest(serde_json::to_vec(&self.files).unwrap_or_default()))
    }

    /// Describes the first difference between the directory and this manifest; `None` if there is none. If files were
    /// touched but are unchanged, writes the manifest again, so that they are not read the next time.
    pub fn difference(&self, dir: &Path) -> Option<String> {
        let written = fs::metadata(dir.join(FILE)).map_or((0, 0), |file| (file.mtime(), file.mtime_nsec()));
        let mut touched = false;
        for (path, entry) in &self.files {
            match entry.look(&dir.join(path), written) {
                Look::Same => {}
                Look::Touched => {
                    touched = true;
                    if !entry.is_content_of(&dir.join(path)) {
                        return Some(format!("the content of {path} has changed"));
                    }
                }
                Look::Other(why) => return Some(format!("{path} {why}")),
            }
        }
        if touched {
            // If this user may not write the cache, the files are read again the next time.
            let _ = self.write(dir);
        }
        None
    }
}

/// Result of comparing a file's metadata.
enum Look {
    Same,
    /// The size matches, and the file was changed since the manifest was written.
    Touched,
    Other(String),
}

impl Entry {
    /// Compares metadata; `written` is the time of the manifest in seconds and nanoseconds since 1970.
    fn look(&self, path: &Path, written: (i64, i64)) -> Look {
        let metadata = match fs::symlink_metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Look::Other("is missing".to_owned());
            }
            Err(error) => return Look::Other(format!("cannot be inspected: {error}")),
        };
        match self {
            Self::Link { to } => match fs::read_link(path).is_ok_and(|has| has == *to) {
                true => Look::Same,
                false => Look::Other(format!("is not a link to {}", to.display())),
            },
            Self::File { .. } if !metadata.is_file() => Look::Other("is not a plain file".to_owned()),
            Self::File { size_bytes, .. } if metadata.len() != *size_bytes => {
                Look::Other(format!("has {} bytes and should have {size_bytes}", metadata.len()))
            }
            Self::File { executable: true, .. } if metadata.mode() & 0o111 == 0 => {
                Look::Other("is not executable".to_owned())
            }
            // Every change sets ctime, which no program can set back. The file clock has steps of milliseconds.
            Self::File { .. } if (metadata.ctime(), metadata.ctime_nsec()) >= written => Look::Touched,
            Self::File { .. } => Look::Same,
        }
    }

    fn is_content_of(&self, path: &Path) -> bool {
        match self {
            Self::File { sha256, .. } => sha256_of(path).is_ok_and(|found| hex::encode(found) == *sha256),
            Self::Link { .. } => true,
        }
    }
}

fn collect(dir: &Path, below: &str, files: &mut BTreeMap<String, Entry>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name().into_string().map_err(|_| io::Error::other("a name is not UTF-8"))?;
        let path = format!("{below}{name}");
        let metadata = fs::symlink_metadata(entry.path())?;
        if metadata.is_dir() {
            collect(&entry.path(), &format!("{path}/"), files)?;
        } else if metadata.is_symlink() {
            files.insert(path, Entry::Link { to: fs::read_link(entry.path())? });
        } else if metadata.is_file() {
            let executable = metadata.mode() & 0o111 != 0;
            let sha256 = hex::encode(sha256_of(&entry.path())?);
            files.insert(path, Entry::File { size_bytes: metadata.len(), sha256, executable });
        }
    }
    Ok(())
}

/// SHA-256 of the content of a file.
///
/// # Errors
/// If the file cannot be read.
pub fn sha256_of(path: &Path) -> io::Result<[u8; 32]> {
    let (mut file, mut hash, mut buffer) = (File::open(path)?, Sha256::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hash.finalize().into()),
            length => hash.update(&buffer[..length]),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn bundle() -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        fs::create_dir_all(dir.path().join("bin")).expect("it can be made");
        for name in ["bin/postgres", "bin/initdb", "note"] {
            fs::write(dir.path().join(name), name).expect("it can be written");
        }
        fs::set_permissions(dir.path().join("bin/initdb"), fs::Permissions::from_mode(0o755)).expect("ours");
        symlink("postgres", dir.path().join("bin/postmaster")).expect("a link can be made");
        Manifest::from_files(dir.path(), "aa", &["note"])
            .and_then(|manifest| manifest.write(dir.path()))
            .expect("it can be written");
        dir
    }

    fn difference(dir: &Path) -> Option<String> {
        Manifest::read(dir).expect("it is there").difference(dir)
    }

    #[test]
    fn every_kind_of_damage_is_reported() {
        type Damage = fn(&Path) -> io::Result<()>;
        let damages: [(Damage, &str); 7] = [
            (|dir| fs::remove_file(dir.join("bin/postgres")), "bin/postgres is missing"),
            (|dir| fs::write(dir.join("bin/postgres"), ""), "bin/postgres has 0 bytes and should have 12"),
            (
                |dir| fs::write(dir.join("bin/postgres"), "bin/POSTGRES"),
                "the content of bin/postgres has changed",
            ),
            (
                |dir| fs::set_permissions(dir.join("bin/initdb"), PermissionsExt::from_mode(0o644)),
                "is not executable",
            ),
            (
                |dir| {
                    fs::remove_file(dir.join("bin/initdb"))?;
                    fs::create_dir(dir.join("bin/initdb"))
                },
                "bin/initdb is not a plain file",
            ),
            (
                |dir| {
                    fs::remove_file(dir.join("bin/postmaster"))?;
                    symlink("/bin/sh", dir.join("bin/postmaster"))
                },
                "bin/postmaster is not a link to postgres",
            ),
            (|dir| fs::remove_dir_all(dir.join("bin")), " is missing"),
        ];
        for (damage, words) in damages {
            let dir = bundle();
            assert_eq!(difference(dir.path()), None);
            damage(dir.path()).expect("it can be damaged");
            let message = difference(dir.path());
            assert!(message.as_ref().is_some_and(|message| message.contains(words)), "{message:?} {words}");
        }
    }

    #[test]
    fn what_was_only_touched_is_whole_and_read_once() {
        let dir = bundle();
        let path = dir.path().join("bin/postgres");
        let before = fs::metadata(dir.path().join(FILE)).expect("it is there").ino();
        fs::write(&path, "bin/postgres").expect("it can be written");
        fs::write(dir.path().join("note"), "another").expect("it can be written");
        // Longer than a step of the file clock.
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert_eq!(difference(dir.path()), None);
        let after = fs::metadata(dir.path().join(FILE)).expect("it is there").ino();
        assert_ne!(before, after, "the manifest is as new as the file");
        assert_eq!(difference(dir.path()), None);
        assert_eq!(after, fs::metadata(dir.path().join(FILE)).expect("it is there").ino());
    }

    #[test]
    fn the_digest_is_that_of_names_and_contents() {
        let (one, other) = (bundle(), bundle());
        let digest = |dir: &Path| Manifest::from_files(dir, "x", &["note"]).expect("it can be read").digest();
        assert_eq!(digest(one.path()), digest(other.path()));
        fs::write(other.path().join("bin/postgres"), "bin/POSTGRES").expect("it can be written");
        assert_ne!(digest(one.path()), digest(other.path()));
        fs::write(one.path().join(FILE), "{").expect("it can be written");
        assert_eq!(Manifest::read(one.path()), None);
    }
}
