//! Layout of the builds in the cache: `builds/` with names, complete builds, work trees, locks, fetched sources and
//! cached digests.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use pgdyno_core::problem::Problem;
use serde::{Deserialize, Serialize};

use super::super::{
    Dirs,
    safe::{absent_is_fine, make_open_dir, open_lock, remove, write_file},
};

/// File whose presence makes a build complete.
pub const MANIFEST: &str = "build.json";
/// File with the output of configure, compiler and installation.
pub const LOG: &str = "build.log";
/// File that describes a work tree.
const STATE: &str = "state.json";

/// Stage that an incomplete build has reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// The source is being unpacked or copied, and patched.
    Source,
    /// The source is being configured.
    Configure,
    /// The source is being compiled.
    Compile,
    /// The build is being installed.
    Install,
    /// The build failed.
    Failed,
}

impl Phase {
    /// Name of the phase in one word.
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

/// Content of a work tree's `state.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Name of the build.
    pub name: String,
    /// Source as requested.
    pub source: String,
    /// ID of the user who builds.
    pub uid: u32,
    /// Present phase.
    pub phase: Phase,
}

impl State {
    /// Reads the state of a work tree; `None` if it has none.
    pub fn read(work: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(work.join(STATE)).ok()?).ok()
    }

    /// Writes the state atomically.
    pub fn write(&self, work: &Path) -> io::Result<()> {
        write_file(&work.join(STATE), &serde_json::to_vec_pretty(self)?, 0o644, None)
    }
}

/// A build that was begun and is not complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfinished {
    /// Name of the build.
    pub name: String,
    /// Source as requested.
    pub source: String,
    /// Phase when its state was last written.
    pub phase: Phase,
    /// Whether a pgdyno is working on the build now.
    pub running: bool,
    /// Work tree of the build.
    pub dir: PathBuf,
    /// Output of configure and compiler.
    pub log_path: PathBuf,
}

/// Directories of builds in the cache.
#[derive(Debug, Clone)]
pub struct BuildStore {
    root: PathBuf,
}

impl BuildStore {
    /// The store in pgdyno's cache directory.
    pub fn new(dirs: &Dirs) -> Self {
        Self { root: dirs.cache.join("builds") }
    }

    /// Directory that holds the whole store.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Directory in which the build of a digest is installed.
    pub fn made(&self, digest: &str) -> PathBuf {
        self.root.join("made").join(digest)
    }

    /// Work tree of a digest.
    pub fn work(&self, digest: &str) -> PathBuf {
        self.root.join("work").join(digest)
    }

    /// Directory for the sources of a distribution package.
    pub fn fetched(&self, package: &str) -> PathBuf {
        self.root.join("fetched").join(package)
    }

    /// Directory of the cached content digests.
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

    /// All names, each with its digest.
    pub fn names(&self) -> BTreeMap<String, String> {
        let entry = |name: String| {
            let digest = fs::read_to_string(self.names_dir().join(&name)).ok()?;
            let digest = digest.trim();
            // The digest becomes part of paths, some of which are removed.
            let hexadecimal = !digest.is_empty() && digest.chars().all(|c| c.is_ascii_hexdigit());
            hexadecimal.then(|| (name, digest.to_owned()))
        };
        children(&self.names_dir())
            .into_iter()
            .filter(|name| !name.ends_with(".new"))
            .filter_map(entry)
            .collect()
    }

    /// Points a name at a digest.
    pub fn point(&self, name: &str, digest: &str) -> io::Result<()> {
        make_open_dir(&self.names_dir())?;
        write_file(&self.names_dir().join(name), format!("{digest}\n").as_bytes(), 0o644, None)
    }

    /// Digests with an installed build, complete or not.
    pub fn all_made(&self) -> Vec<String> {
        children(&self.root.join("made"))
    }

    /// Digests with a work tree.
    pub fn all_work(&self) -> Vec<String> {
        children(&self.root.join("work"))
    }

    /// Packages whose sources were fetched.
    pub fn all_fetched(&self) -> Vec<String> {
        children(&self.root.join("fetched"))
    }

    /// Takes the lock of a digest, which allows work in its directories. `None` if another process holds it.
    pub fn try_lock(&self, digest: &str) -> io::Result<Option<File>> {
        let locks = self.root.join("locks");
        make_open_dir(&locks)?;
        let file = open_lock(&locks.join(digest))?;
        Ok(file.try_lock().is_ok().then_some(file))
    }

    /// Builds that were begun and are not complete, by name.
    pub fn unfinished(&self) -> Vec<Unfinished> {
        let entry = |digest: String| {
            // A complete build keeps its work tree until that is removed.
            if self.is_complete(&digest) {
                return None;
            }
            let dir = self.work(&digest);
            let State { name, source, phase, .. } = State::read(&dir)?;
            // Only an existing lock directory is checked, so that listing creates nothing.
            let running = matches!(self.try_lock(&digest), Ok(None));
            Some(Unfinished { name, source, phase, running, log_path: dir.join(LOG), dir })
        };
        let mut found: Vec<Unfinished> = self.all_work().into_iter().filter_map(entry).collect();
        found.sort_by(|a, b| a.name.cmp(&b.name));
        found
    }

    /// Removes the installed build of a digest and the names that point to it. The manifest goes first, so that a
    /// remainder does not count as complete.
    pub fn remove_made(&self, digest: &str) -> io::Result<()> {
        let dir = self.made(digest);
        absent_is_fine(fs::remove_file(dir.join(MANIFEST)))?;
        for (name, _) in self.names().into_iter().filter(|(_, target)| target == digest) {
            absent_is_fine(fs::remove_file(self.names_dir().join(name)))?;
        }
        absent_is_fine(fs::remove_dir_all(dir))
    }

    /// Removes the work tree of a digest. Its state file goes last.
    pub fn remove_work(&self, digest: &str) -> io::Result<()> {
        let dir = self.work(digest);
        for part in children(&dir).into_iter().filter(|part| part != STATE) {
            remove(&dir.join(part))?;
        }
        absent_is_fine(fs::remove_dir_all(dir))
    }
}

/// Error for a directory of the store that cannot be written.
pub fn unwritable(path: &Path, error: &io::Error) -> Problem {
    Problem::could_not(format!("could not write {}: {error}", path.display()))
        .hint("choose another directory with the environment variable PGDYNO_CACHE")
}

fn children(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}
