//! Installed PostgreSQL servers.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use pgdyno_core::{
    facts::{BuildFacts, COMPILED_BY, compiler, features_of_configure},
    problem::Problem,
};

use super::version::{OLDEST, Wanted, parse_program_version};

/// Programs of a server and their version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installation {
    /// Directory of `postgres` and `initdb`.
    pub bindir: PathBuf,
    /// `server_version_num`.
    pub version_num: u32,
    /// The version as the program prints it, for example `15.19` or `19devel`.
    pub version: String,
}

/// Inspects the programs in a directory.
///
/// # Errors
/// If `postgres` or `initdb` is missing, does not run (a missing shared library is named), or is too old.
pub fn inspect(bindir: &Path) -> Result<Installation, Problem> {
    for program in ["postgres", "initdb"] {
        if !bindir.join(program).is_file() {
            return Err(Problem::wrong_request(format!("there is no {program} in {}", bindir.display()))
                .hint(
                    "give the directory that holds postgres and initdb, such as /usr/lib/postgresql/15/bin",
                ));
        }
    }
    let (version_num, version) = ask_version(&bindir.join("postgres"))?;
    ask_version(&bindir.join("initdb"))?;
    if version_num < OLDEST {
        return Err(Problem::wrong_request(format!(
            "PostgreSQL {version} in {} is too old",
            bindir.display()
        ))
        .hint("pgdyno starts servers from 9.5 on"));
    }
    let bindir = fs::canonicalize(bindir).unwrap_or_else(|_| bindir.to_owned());
    Ok(Installation { bindir, version_num, version })
}

fn ask_version(program: &Path) -> Result<(u32, String), Problem> {
    let could_not = |detail: String| {
        let missing = detail.contains("shared libraries");
        let problem = Problem::could_not(format!("could not run {}", program.display())).detail(detail);
        if missing {
            problem.hint("install the library named above, or choose another server with --pg or --bindir")
        } else {
            problem
        }
    };
    let output = Command::new(program).arg("--version").env_clear().stdin(Stdio::null()).output();
    let output = output.map_err(|error| could_not(error.to_string()))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    parse_program_version(&said).ok_or_else(|| could_not(format!("{said}{complaint}").trim().to_owned()))
}

/// Finds the installed servers, the newest first. Directories whose programs do not run are skipped.
///
/// `path` is the `PATH` to search.
pub fn find(path: Option<&OsStr>) -> Vec<Installation> {
    let mut seen = BTreeSet::new();
    let mut found: Vec<Installation> = candidates(path)
        .into_iter()
        .filter_map(|dir| fs::canonicalize(dir).ok())
        // Links to one program count as one server.
        .filter(|dir| fs::canonicalize(dir.join("postgres")).is_ok_and(|program| seen.insert(program)))
        .filter_map(|dir| inspect(&dir).ok())
        .collect();
    found.sort_by_key(|installation| std::cmp::Reverse(installation.version_num));
    found
}

/// Directories to search: those of packages (Debian, the PostgreSQL yum repository) and of source builds, then `PATH`,
/// then the directory that its `pg_config` names.
fn candidates(path: Option<&OsStr>) -> Vec<PathBuf> {
    let mut dirs = subdirectories("/usr/lib/postgresql", "");
    dirs.extend(subdirectories("/usr", "pgsql-"));
    let mut dirs: Vec<PathBuf> = dirs.into_iter().map(|dir| dir.join("bin")).collect();
    dirs.push(PathBuf::from("/usr/local/pgsql/bin"));
    let on_path: Vec<PathBuf> = path.map(std::env::split_paths).into_iter().flatten().collect();
    let pg_config = on_path.iter().map(|dir| dir.join("pg_config")).find(|program| program.is_file());
    dirs.extend(on_path);
    dirs.extend(pg_config.and_then(|program| pg_config_bindir(&program)));
    dirs
}

fn subdirectories(parent: &str, prefix: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix));
    let mut dirs: Vec<PathBuf> = named.map(|entry| entry.path()).collect();
    dirs.sort();
    dirs
}

fn pg_config_bindir(program: &Path) -> Option<PathBuf> {
    let output = Command::new(program).arg("--bindir").stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(PathBuf::from(text.trim())).filter(|dir| dir.is_absolute())
}

/// Compiler flag used in every version, which identifies the `CFLAGS` in a program file.
const EVERY_CFLAGS: &str = "-Wmissing-prototypes";
/// Length in bytes of a string that may end with the text of `version()`.
const VERSION_TEXT_BYTES: std::ops::Range<usize> = 40..600;
/// Longest program that is searched, in bytes.
const LONGEST_PROGRAM: u64 = 256 << 20;

/// How the programs in a directory were compiled, as far as it shows without running a server: the texts of
/// `pg_config()` and `version()` are strings in `postgres` itself. Of features only those are known that configure was
/// given; of a Meson build, none.
pub fn build(bindir: &Path) -> BuildFacts {
    let read = || -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        fs::File::open(bindir.join("postgres"))?.take(LONGEST_PROGRAM).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let program = read().unwrap_or_default();
    let mut facts = BuildFacts::default();
    for bytes in program.split(|byte| *byte == 0) {
        // Few strings begin like the ones searched for: the others are not even decoded.
        match bytes {
            [b'-', ..] => keep(&mut facts.cflags, bytes, |text| text.contains(EVERY_CFLAGS)),
            [b' ', b'\'', ..] | [b'\'', ..] => {
                keep(&mut facts.configure, bytes, |text| text.contains("'--") && text.ends_with('\''));
            }
            _ if facts.compiler.is_none() => facts.compiler = compiler_in(bytes),
            _ => {}
        }
    }
    let features =
        |configure: &String| features_of_configure(configure).into_iter().map(str::to_owned).collect();
    facts.features = facts.configure.as_ref().map(features);
    facts
}

/// The compiler, if a string of a program ends with the text of `version()`; a constant without a terminating zero may
/// precede it.
fn compiler_in(bytes: &[u8]) -> Option<String> {
    if !VERSION_TEXT_BYTES.contains(&bytes.len()) {
        return None;
    }
    let at = bytes.windows(COMPILED_BY.len()).position(|window| window == COMPILED_BY.as_bytes())?;
    compiler(std::str::from_utf8(&bytes[at..]).ok()?).map(str::to_owned)
}

/// Keeps the first text for which `is_it` holds.
fn keep(slot: &mut Option<String>, bytes: &[u8], is_it: impl Fn(&str) -> bool) {
    if slot.is_none() {
        let text = std::str::from_utf8(bytes).ok().filter(|text| is_it(text));
        *slot = text.map(|text| text.trim().to_owned());
    }
}

/// The first of `installed`, which are sorted newest first, that matches the request.
pub fn choose(installed: &[Installation], wanted: Option<Wanted>) -> Option<&Installation> {
    installed.iter().find(|installation| wanted.is_none_or(|wanted| wanted.matches(installation.version_num)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn fake(root: &Path, name: &str, answer: &str) -> PathBuf {
        let dir = root.join(name);
        fs::create_dir_all(&dir).expect("a directory can be made");
        for program in ["postgres", "initdb"] {
            let file = dir.join(program);
            let script = dir.join(format!("{program}.sh"));
            fs::write(&script, format!("#!/bin/sh\n{answer}\n")).expect("a script can be written");
            fs::set_permissions(&script, fs::Permissions::from_mode(0o755))
                .expect("it can be made executable");
            // Copied by another process: a file that this one has open for writing may be inherited by a child of
            // another test, and then cannot be executed ("text file busy").
            let copied = Command::new("cp").arg("-p").arg(&script).arg(&file).status();
            assert!(copied.is_ok_and(|status| status.success()), "it can be copied");
        }
        dir
    }

    #[test]
    fn programs_are_inspected() {
        let root = tempfile::tempdir().expect("a temporary directory can be made");
        let good = fake(root.path(), "good", "echo 'postgres (PostgreSQL) 17.2'");
        assert_eq!(inspect(&good).expect("it answers").version_num, 170_002);
        let old = fake(root.path(), "old", "echo 'postgres (PostgreSQL) 9.4.26'");
        assert!(inspect(&old).expect_err("it is too old").what.contains("too old"));
        let broken = fake(
            root.path(),
            "broken",
            "echo 'error while loading shared libraries: libxml2.so.2' >&2; exit 127",
        );
        let problem = inspect(&broken).expect_err("it does not run");
        assert!(problem.detail.expect("it says why").contains("libxml2.so.2"));
        assert!(inspect(root.path()).expect_err("nothing is there").what.contains("no postgres"));
    }

    #[test]
    fn how_it_was_compiled_is_in_the_program() {
        let root = tempfile::tempdir().expect("a temporary directory can be made");
        assert_eq!(build(root.path()), BuildFacts::default());
        let program = b"\x7fELF\0\xff\xfe\0-Wall -Wmissing-prototypes -g -Os\0-x\0\
            \xcd\xe4?PostgreSQL 18.6 on x86_64-pc-linux-gnu, compiled by gcc (Debian 12.2.0-14) 12.2.0, 64-bit\0\
             'PYTHON=/p' '--prefix=/p' '--with-lz4' '--with-blocksize=32'\0rest";
        fs::write(root.path().join("postgres"), program).expect("it can be written");
        let facts = build(root.path());
        assert_eq!(facts.optimised_for_speed(), Some(false));
        assert_eq!(facts.compiler.as_deref(), Some("gcc (Debian 12.2.0-14) 12.2.0"));
        assert_eq!(facts.features, Some(vec!["lz4".to_owned()]));
        assert!(facts.configure.is_some_and(|configure| configure.contains("--with-blocksize=32")));
    }

    #[test]
    fn the_compiler_is_in_the_version() {
        let text = "PostgreSQL 15.4 (Debian 15.4-1) on x86_64-pc-linux-gnu, \
                    compiled by gcc (Debian 12.2.0-14) 12.2.0, 64-bit";
        assert_eq!(compiler(text), Some("gcc (Debian 12.2.0-14) 12.2.0"));
        assert_eq!(compiler("PostgreSQL 99"), None);
    }

    #[test]
    fn the_newest_that_matches_is_chosen() {
        let root = tempfile::tempdir().expect("a temporary directory can be made");
        let a = fake(root.path(), "a", "echo 'postgres (PostgreSQL) 77.2'");
        let b = fake(root.path(), "b", "echo 'postgres (PostgreSQL) 88.1'");
        let path = std::env::join_paths([&a, &b, &a]).expect("the names can be joined");
        let found = find(Some(&path));
        assert_eq!(choose(&found, None).map(|i| i.version_num), Some(880_001));
        assert_eq!(choose(&found, Some(Wanted::Major(770_000))).map(|i| i.version_num), Some(770_002));
        assert_eq!(choose(&found, Some(Wanted::Exact(770_003))), None);
        assert_eq!(found.iter().filter(|i| i.version_num == 770_002).count(), 1);
    }
}
