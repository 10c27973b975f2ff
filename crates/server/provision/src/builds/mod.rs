//! Builds of PostgreSQL in the cache: found by name, listed, removed. `pgdyno-build` makes them.
//!
//! A build is identified by the digest of all its inputs; a name points to such a digest, so that the same recipe under
//! a second name costs nothing. A complete build has a manifest, written last.

pub mod build_store;
mod kept;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use pgdyno_core::{facts::MadeFacts, problem::Problem};
use serde::{Deserialize, Serialize};
use strsim::jaro_winkler;

pub use build_store::{Phase, Unfinished};
pub use kept::{Kept, forget, kept};
pub use pgdyno_core::facts::PatchFacts as Patch;

use super::Dirs;
use build_store::BuildStore;

/// Least similarity (0 to 1) at which a known name is suggested for a mistyped one.
const ALIKE: f64 = 0.7;

/// A complete build.
#[derive(Debug, Clone, PartialEq)]
pub struct Build {
    /// Name of the build.
    pub name: String,
    /// Installation directory: the prefix it was configured with.
    pub dir: PathBuf,
    /// Inputs and circumstances of the build.
    pub manifest: Manifest,
}

impl Build {
    /// Directory of the programs.
    pub fn bindir(&self) -> PathBuf {
        self.dir.join("bin")
    }

    /// Facts of the build for a record.
    pub fn facts(&self) -> MadeFacts {
        let Manifest { source, source_sha256, cflags, configure, patches, .. } = self.manifest.clone();
        MadeFacts { name: self.name.clone(), source, source_sha256, cflags, configure, patches }
    }

    /// Log with the output of configure, compiler and installation.
    pub fn log_path(&self) -> PathBuf {
        self.dir.join(build_store::LOG)
    }
}

/// `build.json`, the last file written of a build: version, inputs and circumstances.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version as the program prints it, for example `18.6`.
    pub version: String,
    /// `server_version_num` of the build.
    pub version_num: u32,
    /// Source as requested: a directory, a tarball, or `debian:18`.
    pub source: String,
    /// SHA-256 of the tarball, or of all names and contents of the directory, in hexadecimal.
    pub source_sha256: String,
    /// Patches in the order in which they were applied.
    pub patches: Vec<Patch>,
    /// First line of the compiler's `--version`.
    pub compiler: String,
    /// Path of the compiler.
    pub cc: String,
    /// Flags given to the compiler, before those that PostgreSQL adds.
    pub cflags: String,
    /// All other options of configure or meson, without the prefix.
    pub configure: Vec<String>,
    /// Build system.
    pub system: BuildSystem,
    /// Data block size in KiB.
    pub block_kb: u32,
    /// WAL block size in KiB.
    pub wal_block_kb: u32,
    /// Segment size of relation files, in GiB.
    pub segment_gb: u32,
    /// Build time in seconds; after an interruption, that of the last attempt.
    pub made_s: f64,
    /// Completion time (RFC 3339).
    pub built_at: String,
}

impl Manifest {
    /// Compiler and version in two words, such as `gcc 12.2.0`; for an unknown compiler its first line.
    pub fn compiler_words(&self) -> String {
        let is_version = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.');
        let words = || self.compiler.split_whitespace();
        let name = ["clang", "gcc"].into_iter().find(|name| words().any(|word| word == *name));
        // gcc's own version comes last, after the distribution's; clang's is followed by its revision.
        match (name, words().rfind(is_version)) {
            (Some(name), Some(version)) => format!("{name} {version}"),
            _ => self.compiler.clone(),
        }
    }
}

/// Build system of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BuildSystem {
    /// `configure` and make.
    Autoconf,
    /// meson and ninja.
    Meson,
}

impl BuildSystem {
    /// Name in one word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Autoconf => "autoconf",
            Self::Meson => "meson",
        }
    }
}

/// Finds the complete build of a name.
///
/// # Errors
/// If there is none, with the nearest name; if it is unfinished, with how to continue; if its manifest cannot be read.
pub fn find(dirs: &Dirs, name: &str) -> Result<Build, Problem> {
    let store = BuildStore::new(dirs);
    if let Some(digest) = store.names().get(name).filter(|digest| store.is_complete(digest)) {
        return open(name, &store.made(digest));
    }
    match store.unfinished().into_iter().find(|unfinished| unfinished.name == name) {
        Some(unfinished) => Err(not_finished(&unfinished)),
        None => Err(unknown(dirs, name)),
    }
}

/// All complete builds by name; unreadable ones are left out.
pub fn all(dirs: &Dirs) -> Vec<Build> {
    let store = BuildStore::new(dirs);
    let names = store.names().into_iter();
    names.filter_map(|(name, digest)| open(&name, &store.made(&digest)).ok()).collect()
}

/// Builds that were begun and are not complete: running, interrupted, or failed.
pub fn unfinished(dirs: &Dirs) -> Vec<Unfinished> {
    BuildStore::new(dirs).unfinished()
}

fn open(name: &str, dir: &Path) -> Result<Build, Problem> {
    let path = dir.join(build_store::MANIFEST);
    let text = fs::read_to_string(&path).map_err(|error| unreadable(name, &path, &error))?;
    let manifest =
        serde_json::from_slice(text.as_bytes()).map_err(|error| unreadable(name, &path, &error.into()))?;
    Ok(Build { name: name.to_owned(), dir: dir.to_owned(), manifest })
}

fn unreadable(name: &str, path: &Path, error: &io::Error) -> Problem {
    Problem::could_not(format!("could not read the build `{name}`: {}: {error}", path.display()))
        .hint("`pgdyno build` with the same arguments makes it again")
}

fn not_finished(unfinished: &Unfinished) -> Problem {
    let name = &unfinished.name;
    let (what, hint) = match (unfinished.running, unfinished.phase) {
        (true, _) => ("is being made", "wait until it is complete; `pgdyno builds` shows it".to_owned()),
        (false, Phase::Failed) => {
            ("could not be made", format!("the reason is in {}", unfinished.log_path.display()))
        }
        (false, _) => ("was interrupted", "`pgdyno build` with the same arguments continues it".to_owned()),
    };
    Problem::wrong_request(format!("the build `{name}` is not complete: it {what}")).hint(hint)
}

fn unknown(dirs: &Dirs, name: &str) -> Problem {
    let problem = Problem::wrong_request(format!("there is no build `{name}`"));
    let known: Vec<String> = BuildStore::new(dirs).names().into_keys().collect();
    let score = |known: &String| jaro_winkler(known, name);
    let nearest = known.iter().filter(|known| score(known) >= ALIKE);
    match nearest.max_by(|a, b| score(a).total_cmp(&score(b))) {
        Some(nearest) => problem.hint(format!("did you mean `{nearest}`? `pgdyno builds` lists them")),
        None if known.is_empty() => problem.hint(format!("`pgdyno build {name} --source …` makes one")),
        None => problem.hint("`pgdyno builds` lists them"),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Directories under a temporary directory.
    pub fn dirs(root: &Path) -> Dirs {
        let [state, cache, runtime] = ["state", "cache", "run"].map(|name| root.join(name));
        Dirs { state, cache, runtime, templates: None }
    }

    /// Manifest of an example build.
    pub fn manifest() -> Manifest {
        Manifest {
            version: "18.6".into(),
            version_num: 180_006,
            source: "debian:18".into(),
            source_sha256: "00".repeat(32),
            patches: vec![Patch { name: "a.patch".into(), sha256: "11".repeat(32) }],
            compiler: "gcc (Debian 12.2.0-14) 12.2.0".into(),
            cc: "/usr/bin/gcc".into(),
            cflags: "-O2".into(),
            configure: vec!["--without-icu".into()],
            system: BuildSystem::Autoconf,
            block_kb: 8,
            wal_block_kb: 8,
            segment_gb: 1,
            made_s: 200.0,
            built_at: "2026-11-21T17:00:00Z".into(),
        }
    }

    fn complete(dirs: &Dirs, name: &str, digest: &str) {
        let store = BuildStore::new(dirs);
        fs::create_dir_all(store.made(digest)).expect("it can be made");
        let text = serde_json::to_vec(&manifest()).expect("it can be written");
        fs::write(store.made(digest).join(build_store::MANIFEST), text).expect("it can be written");
        store.point(name, digest).expect("it can be written");
    }

    #[test]
    fn compilers_are_named_in_two_words() {
        for (line, words) in [
            ("gcc (Debian 12.2.0-14+deb12u1) 12.2.0", "gcc 12.2.0"),
            ("Debian clang version 14.0.6", "clang 14.0.6"),
            ("clang version 17.0.0 (https://example.org/llvm 0f1e2d)", "clang 17.0.0"),
            ("my own compiler", "my own compiler"),
        ] {
            assert_eq!(Manifest { compiler: line.into(), ..manifest() }.compiler_words(), words);
        }
    }

    #[test]
    fn names_point_to_what_is_complete() {
        let root = tempfile::tempdir().expect("a temporary directory can be made");
        let dirs = dirs(root.path());
        let problem = find(&dirs, "fast").expect_err("there is none");
        assert!(problem.hint.is_some_and(|hint| hint.contains("pgdyno build fast")));
        complete(&dirs, "fast", "aa");
        complete(&dirs, "again", "aa");
        let build = find(&dirs, "fast").expect("it is complete");
        assert_eq!((build.manifest.clone(), build.bindir()), (manifest(), build.dir.join("bin")));
        let names: Vec<String> = all(&dirs).into_iter().map(|build| build.name).collect();
        assert_eq!(names, ["again", "fast"]);
        let problem = find(&dirs, "fats").expect_err("there is none");
        assert!(problem.hint.is_some_and(|hint| hint.contains("`fast`")));
        fs::remove_file(build.dir.join(build_store::MANIFEST)).expect("it is there");
        assert!(find(&dirs, "fast").is_err() && all(&dirs).is_empty(), "without a manifest it is none");
    }

    #[test]
    fn what_is_not_finished_says_how_to_continue() {
        let root = tempfile::tempdir().expect("a temporary directory can be made");
        let dirs = dirs(root.path());
        let store = BuildStore::new(&dirs);
        for (phase, words) in [(Phase::Compile, "continues it"), (Phase::Failed, "build.log")] {
            let state = build_store::State { name: "x".into(), source: "d".into(), uid: 0, phase };
            fs::create_dir_all(store.work("bb")).expect("it can be made");
            state.write(&store.work("bb")).expect("it can be written");
            let problem = find(&dirs, "x").expect_err("it is not complete");
            assert!(problem.what.contains("not complete"), "{problem}");
            assert!(problem.hint.is_some_and(|hint| hint.contains(words)));
        }
        assert_eq!(unfinished(&dirs).len(), 1);
    }
}
