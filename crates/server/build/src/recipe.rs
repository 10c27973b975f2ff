//! Inputs of a build, and their digest.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
    process::Command,
};

use pgdyno_core::{facts::PatchFacts as Patch, problem::Problem, stop::Stop};
use sha2::{Digest, Sha256};

use crate::digest_cache::DigestCache;

/// Default compiler flags: PostgreSQL's own default, explicit so that it is recorded. `-g` would change no instruction,
/// and would cost space and time.
pub const CFLAGS: &str = "-O2";
/// Version of the recipe; raised when builds of the same inputs would come out different.
const FORMAT: u32 = 1;
/// Largest patch, in bytes.
const LONGEST_PATCH: u64 = 64 << 20;
/// Options that pgdyno sets itself, each with what to use instead.
const OWN: [(&str, &str); 6] = [
    ("--prefix", "NAME only: the recipe determines the directory"),
    ("--with-blocksize", "--with-blocksize"),
    ("--with-wal-blocksize", "--with-wal-blocksize"),
    ("--with-segsize", "--with-segsize"),
    ("CC", "--cc"),
    ("CFLAGS", "--cflags"),
];

/// Request for a build: [`Request::named`] makes one.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Name of the build: up to 40 letters, digits, `-` and `_`.
    pub name: String,
    /// Source: a directory, a tarball, or `debian:MAJOR` or `debian:VERSION`.
    pub source: String,
    /// Compiler: a name to look up in `search_path`, or a path; `None` is gcc, else clang, else cc.
    pub cc: Option<String>,
    /// Flags for the compiler; `None` is [`CFLAGS`].
    pub cflags: Option<String>,
    /// Data block size in KiB: 1, 2, 4, 8, 16 or 32.
    pub block_kb: u32,
    /// WAL block size in KiB: 1 to 64, a power of two.
    pub wal_block_kb: u32,
    /// Segment size of relation files in GiB, 1 to 1024.
    pub segment_gb: u32,
    /// More options for configure or meson.
    pub configure: Vec<String>,
    /// Patches, applied in this order with `patch -p1`.
    pub patches: Vec<PathBuf>,
    /// Parallel compiler jobs; `None` is one per CPU.
    pub jobs: Option<u32>,
    /// User to build as if root asks; `None` is `postgres`, else `nobody`.
    pub run_as: Option<String>,
    /// `PATH`, searched for compiler and tools.
    pub search_path: Option<OsString>,
    /// Stop request; the work tree stays for the next call.
    pub stop: Stop,
}

impl Request {
    /// Request for a build of a source with default settings.
    pub fn named(name: impl Into<String>, source: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            source: source.into(),
            block_kb: 8,
            wal_block_kb: 8,
            segment_gb: 1,
            ..Self::default()
        }
    }

    /// Finds a program by its path, or by name in `search_path`.
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        if name.contains('/') {
            return std::path::absolute(name).ok().filter(|path| path.is_file());
        }
        let dirs = self.search_path.as_ref().map(std::env::split_paths).into_iter().flatten();
        dirs.filter(|dir| dir.is_absolute()).map(|dir| dir.join(name)).find(|path| path.is_file())
    }

    /// Checks the request by itself, without looking at the machine.
    ///
    /// # Errors
    /// If the name, a size or an option is invalid.
    pub fn check(&self) -> Result<(), Problem> {
        check_name(&self.name)?;
        power_of_two("--with-blocksize", self.block_kb, 32)?;
        power_of_two("--with-wal-blocksize", self.wal_block_kb, 64)?;
        if !(1..=1024).contains(&self.segment_gb) {
            let what = format!("could not use --with-segsize {}: it is 1 to 1024 GiB", self.segment_gb);
            return Err(Problem::wrong_request(what).hint("PostgreSQL's default is 1"));
        }
        self.configure.iter().try_for_each(|option| check_option(option))
    }
}

fn check_name(name: &str) -> Result<(), Problem> {
    pgdyno_provision::registry::check_name(name).map_err(|problem| {
        let what = format!("`{name}` cannot be the name of a build");
        Problem { what, ..problem }
    })
}

fn power_of_two(flag: &str, size_kb: u32, most: u32) -> Result<(), Problem> {
    if size_kb.is_power_of_two() && size_kb <= most {
        return Ok(());
    }
    let what = format!("could not use {flag} {size_kb}: PostgreSQL takes powers of two from 1 to {most} KiB");
    Err(Problem::wrong_request(what).hint("its default is 8"))
}

fn check_option(option: &str) -> Result<(), Problem> {
    let name = option.split_once('=').map_or(option, |(name, _)| name);
    if let Some((_, flag)) = OWN.iter().find(|(own, _)| *own == name) {
        let what = format!("could not use --configure {option}: pgdyno sets it itself");
        return Err(Problem::wrong_request(what).hint(format!("use {flag}")));
    }
    if option.starts_with('-') || option.contains('=') {
        return Ok(());
    }
    Err(Problem::wrong_request(format!("could not use --configure {option}: it is not an option"))
        .hint("one option each, such as --configure --enable-cassert or --configure LDFLAGS=-fuse-ld=lld"))
}

/// The compiler of a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiler {
    /// Path of the compiler.
    pub path: PathBuf,
    /// Whole output of `--version`.
    pub words: String,
}

impl Compiler {
    /// Finds the compiler and its version, which is cached while the file stays the same.
    ///
    /// # Errors
    /// If the compiler does not exist, or prints no version.
    pub fn find(request: &Request, cache: &DigestCache) -> Result<Self, Problem> {
        let path = match &request.cc {
            Some(cc) => request.program(cc).ok_or_else(|| no_such_compiler(cc))?,
            None => ["gcc", "clang", "cc"].iter().find_map(|name| request.program(name)).ok_or_else(none)?,
        };
        let words = cache.for_file(&path, "--version", || ask(&path))?;
        Ok(Self { path, words })
    }

    /// First line of `--version`.
    pub fn first_line(&self) -> &str {
        self.words.lines().next().unwrap_or_default()
    }

    /// Archiver for objects of link-time optimisation, if there is one in the compiler's directory.
    pub fn lto_archiver(&self) -> Option<PathBuf> {
        let name = if self.words.contains("clang") { "llvm-ar" } else { "gcc-ar" };
        Some(self.path.with_file_name(name)).filter(|path| path.is_file())
    }
}

fn no_such_compiler(cc: &str) -> Problem {
    let problem = Problem::wrong_request(format!("there is no compiler `{cc}`"));
    let name = Path::new(cc).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    match ["gcc", "clang"].iter().find(|known| name.starts_with(**known)) {
        Some(_) => problem.hint(format!("`apt-get install {name}` installs it; or choose another with --cc")),
        None => problem.hint("--cc takes gcc, clang, or the path of a compiler"),
    }
}

fn none() -> Problem {
    Problem::could_not("no C compiler is installed").hint("`apt-get install gcc` installs one")
}

fn ask(path: &Path) -> Result<String, Problem> {
    let could_not = |why: String| {
        Problem::wrong_request(format!("could not use {} as a compiler", path.display()))
            .detail(why)
            .hint("--cc takes gcc, clang, or the path of a compiler")
    };
    let output = Command::new(path).arg("--version").env("LC_ALL", "C").output();
    let output = output.map_err(|error| could_not(error.to_string()))?;
    let words = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if output.status.success() && !words.is_empty() {
        return Ok(words);
    }
    Err(could_not(format!("`--version` prints nothing; {}", output.status)))
}

/// A patch and its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// Name and digest.
    pub patch: Patch,
    /// Content of the patch.
    pub bytes: Vec<u8>,
}

/// Reads patches into memory, so that what is digested is what is applied.
///
/// # Errors
/// If a file cannot be read or is not a patch.
pub fn read_patches(paths: &[PathBuf]) -> Result<Vec<Content>, Problem> {
    paths.iter().map(|path| read_patch(path)).collect()
}

fn read_patch(path: &Path) -> Result<Content, Problem> {
    let wrong = |why: String| {
        Problem::wrong_request(format!("could not read the patch {}: {why}", path.display()))
            .hint("--patch takes the output of `git diff` or `diff -u`, one file each")
    };
    if !fs::metadata(path).map_err(|error| wrong(error.to_string()))?.is_file() {
        return Err(wrong("it is not a plain file".into()));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| wrong(error.to_string()))?;
    file.take(LONGEST_PATCH).read_to_end(&mut bytes).map_err(|error| wrong(error.to_string()))?;
    if !bytes.split(|byte| *byte == b'\n').any(|line| line.starts_with(b"+++ ")) {
        return Err(wrong("it changes no file".into()));
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Content { patch: Patch { name, sha256: hex::encode(Sha256::digest(&bytes)) }, bytes })
}

/// All inputs of a build.
#[derive(Debug, Clone, Copy)]
pub struct Recipe<'a> {
    /// The request.
    pub request: &'a Request,
    /// SHA-256 of the source in hexadecimal.
    pub source_sha256: &'a str,
    /// Patches in order of application.
    pub patches: &'a [Content],
    /// Compiler.
    pub compiler: &'a Compiler,
    /// Optional libraries that are installed.
    pub libraries: &'a [&'static str],
}

impl Recipe<'_> {
    /// Flags for the compiler.
    pub fn cflags(&self) -> &str {
        self.request.cflags.as_deref().unwrap_or(CFLAGS)
    }

    /// Digest that identifies the build: 16 bytes in hexadecimal.
    pub fn digest(&self) -> String {
        let Request { block_kb, wal_block_kb, segment_gb, configure, .. } = self.request;
        let sizes = format!("{block_kb} {wal_block_kb} {segment_gb}");
        let cc = self.compiler.path.to_string_lossy();
        let mut words = vec![self.source_sha256, self.cflags(), &sizes, &cc, &self.compiler.words, "patches"];
        words.extend(self.patches.iter().map(|content| content.patch.sha256.as_str()));
        words.push("options");
        words.extend(configure.iter().map(String::as_str));
        words.push("libraries");
        words.extend(self.libraries);
        let mut hash = Sha256::new();
        hash.update(FORMAT.to_be_bytes());
        for word in words {
            // Hashed with its length, so that different lists of words cannot look alike.
            hash.update((word.len() as u64).to_be_bytes());
            hash.update(word);
        }
        hex::encode(&hash.finalize()[..16])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(change: impl Fn(&mut Request, &mut Compiler, &mut Vec<Content>)) -> String {
        let mut request = Request::named("a", "source");
        let mut compiler = Compiler { path: "/usr/bin/gcc".into(), words: "gcc 12.2.0".into() };
        let mut patches = Vec::new();
        change(&mut request, &mut compiler, &mut patches);
        let (request, compiler, patches) = (&request, &compiler, &patches[..]);
        Recipe { request, source_sha256: "ab", patches, compiler, libraries: &["zlib"] }.digest()
    }

    fn patch(sha256: &str) -> Content {
        Content { patch: Patch { name: "x".into(), sha256: sha256.into() }, bytes: Vec::new() }
    }

    #[test]
    fn all_that_changes_programs_changes_the_digest() {
        type Change = fn(&mut Request, &mut Compiler, &mut Vec<Content>);
        let changes: [Change; 11] = [
            |_, _, _| {},
            |request, _, _| request.cflags = Some("-O3".into()),
            |request, _, _| request.block_kb = 32,
            |request, _, _| request.wal_block_kb = 16,
            |request, _, _| request.segment_gb = 2,
            |request, _, _| request.configure = vec!["--enable-cassert".into()],
            |_, compiler, _| compiler.path = "/usr/bin/clang".into(),
            |_, compiler, _| compiler.words = "gcc 13".into(),
            |_, _, patches| patches.push(patch("1")),
            |_, _, patches| patches.extend([patch("1"), patch("2")]),
            |_, _, patches| patches.extend([patch("2"), patch("1")]),
        ];
        let all: std::collections::BTreeSet<String> = changes.iter().map(digest).collect();
        assert_eq!(all.len(), changes.len());
        assert!(all.iter().all(|digest| digest.len() == 32));
    }

    #[test]
    fn names_and_jobs_change_nothing() {
        let plain = digest(|_, _, _| {});
        assert_eq!(digest(|request, _, _| request.name = "b".into()), plain);
        assert_eq!(digest(|request, _, _| request.jobs = Some(9)), plain);
        assert_eq!(digest(|request, _, _| request.cflags = Some(CFLAGS.into())), plain);
        let renamed = |patches: &mut Vec<Content>, name: &str| {
            patches.push(Content { patch: Patch { name: name.into(), ..patch("1").patch }, ..patch("1") });
        };
        assert_eq!(
            digest(|_, _, patches| renamed(patches, "a")),
            digest(|_, _, patches| renamed(patches, "b"))
        );
    }

    #[test]
    fn sizes_and_options_that_cannot_be() {
        let check = |change: &dyn Fn(&mut Request)| {
            let mut request = Request::named("a", "s");
            change(&mut request);
            request.check().err().map(|problem| problem.what).unwrap_or_default()
        };
        assert_eq!(check(&|_| {}), "");
        for size in [0, 3, 12, 64] {
            assert!(
                check(&|request| request.block_kb = size).contains("powers of two from 1 to 32"),
                "{size}"
            );
        }
        assert_eq!(check(&|request| request.wal_block_kb = 64), "");
        assert!(check(&|request| request.wal_block_kb = 128).contains("from 1 to 64"));
        assert!(check(&|request| request.segment_gb = 0).contains("1 to 1024"));
        assert!(check(&|request| request.name = "../x".into()).contains("name of a build"));
        for (option, right) in [
            ("--enable-cassert", true),
            ("LDFLAGS=-s", true),
            ("--prefix=/usr", false),
            ("CFLAGS=-O3", false),
            ("--with-blocksize=16", false),
            ("cassert", false),
        ] {
            assert_eq!(
                check(&|request| request.configure = vec![option.into()]).is_empty(),
                right,
                "{option}"
            );
        }
    }

    #[test]
    fn a_patch_must_change_something() {
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        let path = dir.path().join("x.patch");
        assert!(read_patches(std::slice::from_ref(&path)).is_err(), "it is not there");
        fs::write(&path, "hello\n").expect("it can be written");
        let problem = read_patches(std::slice::from_ref(&path)).expect_err("it is none");
        assert!(problem.what.contains("changes no file"), "{problem}");
        fs::write(&path, "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n").expect("it can be written");
        assert_eq!(read_patches(&[path]).expect("it is one")[0].patch.name, "x.patch");
    }
}
