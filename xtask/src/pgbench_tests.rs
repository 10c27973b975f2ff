//! PostgreSQL's own tests of pgbench, against a pgbench and against pgdyno under that name.
//!
//! The tests stay in a source tree named by the caller. In addition, examples based on those of the manual are run by
//! both programs and compared.

mod examples;
mod tap;

use std::{
    env,
    ffi::OsString,
    fs,
    os::unix::{
        fs::{PermissionsExt, chown, symlink},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use clap::Args as ClapArgs;

use crate::{Failure, workspace};
use tap::Tap;

/// Flags of `cargo xtask pgbench-tests`.
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// Source tree of PostgreSQL: its src/bin/pgbench/t and src/test/perl are used as they are
    #[arg(long, value_name = "DIR")]
    source: PathBuf,
    /// Installation of the same release, for tests that need a server; without it, only tests without a server run
    #[arg(long, value_name = "DIR")]
    pg_install: Option<PathBuf>,
    /// pgbench to compare with [default: of the installation, otherwise of PATH]
    #[arg(long, value_name = "FILE")]
    pgbench: Option<PathBuf>,
    /// Only test scripts whose names contain this text
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Skip the comparison and test pgdyno alone
    #[arg(long)]
    alone: bool,
    /// Only the examples of the manual, run by both programs with the same seed
    #[arg(long, requires = "pg_install")]
    examples: bool,
    /// Keep the tests' files in this directory
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

/// Runs the tests against both; returns `Ok(false)` if pgdyno fails one.
pub fn run(args: &Args) -> Result<bool, Failure> {
    let pgdyno = workspace::pgdyno()?;
    if args.examples {
        return examples(args, &pgdyno);
    }
    let scripts = scripts(args)?;
    let mut worse = false;
    if !args.alone {
        let pgbench = reference(args)?;
        for script in &scripts {
            report("pgbench", script, &Bench { args, program: &pgbench, label: "pgbench" }.run(script)?);
        }
    }
    for script in &scripts {
        let tap = Bench { args, program: &pgdyno, label: "pgdyno" }.run(script)?;
        worse |= !tap.is_good();
        report("pgdyno", script, &tap);
    }
    let all = !args.alone && args.only.is_none() && args.pg_install.is_some();
    Ok((!all || examples(args, &pgdyno)?) && !worse)
}

/// Runs the examples of the manual with both programs.
fn examples(args: &Args, pgdyno: &Path) -> Result<bool, Failure> {
    let install = args.pg_install.as_deref().ok_or("the examples need --pg-install")?;
    examples::run(&reference(args)?, pgdyno, install)
}

/// The test scripts to run.
fn scripts(args: &Args) -> Result<Vec<PathBuf>, Failure> {
    let dir = args.source.join("src/bin/pgbench/t");
    let entries = fs::read_dir(&dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    let mut scripts: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    scripts.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let wanted = args.only.as_ref().is_none_or(|text| name.contains(text));
        name.ends_with(".pl") && wanted && (args.pg_install.is_some() || name.contains("no_server"))
    });
    scripts.sort();
    if scripts.is_empty() {
        Err(format!("no test script to run in {}", dir.display()).into())
    } else {
        Ok(scripts)
    }
}

fn reference(args: &Args) -> Result<PathBuf, Failure> {
    if let Some(pgbench) = &args.pgbench {
        return Ok(pgbench.clone());
    }
    let installed = args.pg_install.iter().map(|dir| dir.join("bin/pgbench"));
    let path = env::var_os("PATH").unwrap_or_default();
    let found = installed.chain(env::split_paths(&path).map(|dir| dir.join("pgbench")));
    found
        .into_iter()
        .find(|file| file.is_file())
        .ok_or_else(|| "no pgbench found: name one with --pgbench".into())
}

fn report(label: &str, script: &Path, tap: &Tap) {
    let name = script.file_name().unwrap_or_default().to_string_lossy();
    println!("{label:>8}  {name}  {} of {} checks passed", tap.passed, tap.passed + tap.failed.len());
    for failed in &tap.failed {
        println!("          failed: {failed}");
    }
    if let Some(why) = &tap.broken_off {
        println!("          {why}");
    }
}

/// A program under test.
struct Bench<'a> {
    args: &'a Args,
    program: &'a Path,
    label: &'a str,
}

impl Bench<'_> {
    fn run(&self, script: &Path) -> Result<Tap, Failure> {
        let place = Place::new(self.args.keep.as_deref(), self.label, script)?;
        let bin = place.dir().join("bin");
        fs::create_dir_all(&bin)?;
        // Copied, not linked: the user that runs the tests may not be able to read the original.
        let program = bin.join("program");
        fs::copy(self.program, &program)?;
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
        if !bin.join("pgbench").exists() {
            symlink("program", bin.join("pgbench"))?;
        }
        let mut perl = self.perl(script, place.dir(), &bin)?;
        if let Some((uid, gid)) = unprivileged() {
            for path in [place.dir(), &bin] {
                chown(path, Some(uid), Some(gid))?;
            }
            perl.uid(uid).gid(gid);
        }
        let output = perl.output().map_err(|error| format!("perl: {error}"))?;
        fs::write(place.dir().join("tap.txt"), &output.stdout)?;
        fs::write(place.dir().join("diagnostics.txt"), &output.stderr)?;
        let tap = Tap::read(&String::from_utf8_lossy(&output.stdout));
        if tap.passed == 0 && tap.failed.is_empty() {
            let why = tap.broken_off.clone().unwrap_or_default();
            let diagnostics = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{}: {why}\n{diagnostics}", script.display()).into());
        }
        Ok(tap)
    }

    /// Perl with the environment that PostgreSQL's makefiles set for such tests.
    fn perl(&self, script: &Path, dir: &Path, bin: &Path) -> Result<Command, Failure> {
        let source = self.args.source.canonicalize()?;
        let mut dirs = vec![bin.to_owned()];
        dirs.extend(self.args.pg_install.iter().map(|install| install.join("bin")));
        let path = env::var_os("PATH").unwrap_or_default();
        let path: OsString = env::join_paths(dirs.into_iter().chain(env::split_paths(&path)))?;
        let mut perl = Command::new("perl");
        perl.arg("-I").arg(source.join("src/test/perl")).arg("-I").arg(source.join("src/bin/pgbench"));
        perl.arg(source.join("src/bin/pgbench/t").join(script.file_name().unwrap_or_default()));
        perl.current_dir(dir).env("PATH", path).stdin(Stdio::null());
        perl.env("TESTDATADIR", dir.join("data")).env("TESTLOGDIR", dir.join("log"));
        // Sources before 16 use this variable, and without it write to the working directory by relative names.
        perl.env("TESTDIR", dir);
        perl.env("HOME", dir).env("TMPDIR", dir);
        if let Some(install) = &self.args.pg_install {
            perl.env("LD_LIBRARY_PATH", install.join("lib"));
            // The tests use it to prepare a cluster for Windows authentication; on other platforms it does nothing.
            let regress = install.join("lib/pgxs/src/test/regress/pg_regress");
            perl.env("PG_REGRESS", if regress.is_file() { regress } else { PathBuf::from("true") });
        }
        Ok(perl)
    }
}

/// A directory for one script's files.
enum Place {
    Kept(PathBuf),
    Temporary(tempfile::TempDir),
}

impl Place {
    fn new(keep: Option<&Path>, label: &str, script: &Path) -> Result<Self, Failure> {
        let place = match keep {
            None => Self::Temporary(tempfile::tempdir()?),
            Some(dir) => {
                let dir =
                    dir.join(format!("{label}-{}", script.file_stem().unwrap_or_default().to_string_lossy()));
                if dir.exists() {
                    return Err(format!("{} exists already", dir.display()).into());
                }
                fs::create_dir_all(&dir)?;
                Self::Kept(dir.canonicalize()?)
            }
        };
        fs::set_permissions(place.dir(), fs::Permissions::from_mode(0o755))?;
        Ok(place)
    }

    fn dir(&self) -> &Path {
        match self {
            Self::Kept(dir) => dir,
            Self::Temporary(dir) => dir.path(),
        }
    }
}

/// The user `postgres` or `nobody`, if this is root: PostgreSQL refuses to run as root.
fn unprivileged() -> Option<(u32, u32)> {
    let own = fs::metadata("/proc/self").ok().map(|own| std::os::unix::fs::MetadataExt::uid(&own))?;
    if own != 0 {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    ["postgres", "nobody"].iter().find_map(|name| {
        let line = users.lines().find(|line| line.split(':').next() == Some(*name))?;
        let mut fields = line.split(':').skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    })
}
