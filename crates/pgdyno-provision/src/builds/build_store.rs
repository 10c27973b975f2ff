//! Where builds are kept in the cache: `builds/` with names, complete builds, work trees, locks, what was
//! fetched and what is remembered.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::super::{
    Dirs,
    safe::{make_open_dir, open_lock, write_file},
};

/// Name of the file that makes a build complete.
pub const MANIFEST: &str = "build.json";
/// Name of the file that holds what configure, compiler and installation said.
pub const LOG: &str = "build.log";
/// Name of the file that tells what a work tree is for.
const STATE: &str = "state.json";

/// How far a build that is not complete has come: what was under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// The source is unpacked or copied, and patched.
    Source,
    /// The source is configured.
    Configure,
    /// It is compiled.
    Compile,
    /// It is installed.
    Install,
    /// It cannot be made.
    Failed,
}

impl Phase {
    /// One word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Configure => "configure",
            Self::Compile => "compile",
            Self::Install => "install",
            Self::Failed => "failed",
        }
    }
}

/// `state.json` of a work tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Name that it will have.
    pub name: String,
    /// The source as it was asked for.
    pub source: String,
    /// Number of the user who builds it.
    pub uid: u32,
    /// What is under way.
    pub phase: Phase,
}

impl State {
    /// What a work tree is for; `None` where it does not say.
    pub fn read(work: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(work.join(STATE)).ok()?).ok()
    }

    /// Writes it in one step.
    pub fn write(&self, work: &Path) -> io::Result<()> {
        write_file(&work.join(STATE), &serde_json::to_vec_pretty(self)?, 0o644, None)
    }
}

/// A build that was begun and is not complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfinished {
    /// Name that it will have.
    pub name: String,
    /// The source as it was asked for.
    pub source: String,
    /// What was under way.
    pub phase: Phase,
    /// Whether a pgdyno works on it now.
    pub running: bool,
    /// Its work tree.
    pub dir: PathBuf,
    /// What configure and compiler said.
    pub log_path: PathBuf,
}

/// The directories of builds in a cache.
#[derive(Debug, Clone)]
pub struct BuildStore {
    root: PathBuf,
}

impl BuildStore {
    /// Those of pgdyno's roots.
    pub fn of(dirs: &Dirs) -> Self {
        Self { root: dirs.cache.join("builds") }
    }

    /// Directory of all of them.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where the build of a digest is installed.
    pub fn made(&self, digest: &str) -> PathBuf {
        self.root.join("made").join(digest)
    }

    /// Where the build of a digest is worked on.
    pub fn work(&self, digest: &str) -> PathBuf {
        self.root.join("work").join(digest)
    }

    /// Where the sources of a package of the distribution are kept.
    pub fn fetched(&self, package: &str) -> PathBuf {
        self.root.join("fetched").join(package)
    }

    /// Where digests of contents are remembered.
    pub fn remembered(&self) -> PathBuf {
        self.root.join("remembered")
    }

    fn names_dir(&self) -> PathBuf {
        self.root.join("names")
    }

    /// Whether the build of a digest is complete.
    pub fn is_complete(&self, digest: &str) -> bool {
        self.made(digest).join(MANIFEST).is_file()
    }

    /// All names with the digest each points to.
    pub fn names(&self) -> BTreeMap<String, String> {
        let entry = |name: String| {
            let digest = fs::read_to_string(self.names_dir().join(&name)).ok()?;
            let digest = digest.trim();
            // It becomes a part of paths, some of which are removed.
            let hexadecimal = !digest.is_empty() && digest.chars().all(|c| c.is_ascii_hexdigit());
            hexadecimal.then(|| (name, digest.to_owned()))
        };
        children(&self.names_dir())
            .into_iter()
            .filter(|name| !name.ends_with(".new"))
            .filter_map(entry)
            .collect()
    }

    /// Lets a name point to a digest.
    pub fn point(&self, name: &str, digest: &str) -> io::Result<()> {
        make_open_dir(&self.names_dir())?;
        write_file(&self.names_dir().join(name), format!("{digest}\n").as_bytes(), 0o644, None)
    }

    /// Digests with something installed, complete or not.
    pub fn all_made(&self) -> Vec<String> {
        children(&self.root.join("made"))
    }

    /// Digests with a work tree.
    pub fn all_work(&self) -> Vec<String> {
        children(&self.root.join("work"))
    }

    /// Packages of which sources were fetched.
    pub fn all_fetched(&self) -> Vec<String> {
        children(&self.root.join("fetched"))
    }

    /// The lock of a digest: whoever has it may work in its directories. `None` where another process has it.
    pub fn try_lock(&self, digest: &str) -> io::Result<Option<File>> {
        let locks = self.root.join("locks");
        make_open_dir(&locks)?;
        let file = open_lock(&locks.join(digest))?;
        Ok(file.try_lock().is_ok().then_some(file))
    }

    /// Builds that were begun and are not complete, by name.
    pub fn unfinished(&self) -> Vec<Unfinished> {
        let entry = |digest: String| {
            // One that is complete has a work tree until that is removed.
            if self.is_complete(&digest) {
                return None;
            }
            let dir = self.work(&digest);
            let State { name, source, phase, .. } = State::read(&dir)?;
            // Locks are only looked at where there is a directory of them: looking makes nothing.
            let running = matches!(self.try_lock(&digest), Ok(None));
            Some(Unfinished { name, source, phase, running, log_path: dir.join(LOG), dir })
        };
        let mut found: Vec<Unfinished> = self.all_work().into_iter().filter_map(entry).collect();
        found.sort_by(|a, b| a.name.cmp(&b.name));
        found
    }

    /// Removes what is installed of a digest with the names that point to it. Its manifest goes first, so that
    /// no half of it counts as complete.
    pub fn remove_made(&self, digest: &str) -> io::Result<()> {
        let dir = self.made(digest);
        absent_is_fine(fs::remove_file(dir.join(MANIFEST)))?;
        for (name, _) in self.names().into_iter().filter(|(_, target)| target == digest) {
            absent_is_fine(fs::remove_file(self.names_dir().join(name)))?;
        }
        absent_is_fine(fs::remove_dir_all(dir))
    }

    /// Removes the work tree of a digest. What tells what it was for goes last.
    pub fn remove_work(&self, digest: &str) -> io::Result<()> {
        let dir = self.work(digest);
        for part in children(&dir).into_iter().filter(|part| part != STATE) {
            remove(&dir.join(part))?;
        }
        absent_is_fine(fs::remove_dir_all(dir))
    }
}

/// Removes a file, or a directory with all that is in it; what is not there needs nothing.
pub fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => absent_is_fine(fs::remove_dir_all(path)),
        Ok(_) => absent_is_fine(fs::remove_file(path)),
        Err(error) => absent_is_fine(Err(error)),
    }
}

fn absent_is_fine(result: io::Result<()>) -> io::Result<()> {
    result.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

fn children(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}
