//! `pgdyno clean`.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::ExitCode,
};

use pgdyno_core::{problem::Problem, units};
use pgdyno_host::procs;
use pgdyno_provision::{Dirs, Record, builds, bundle, registry, remove, remove_leftover};

use crate::detached::entry::{self, Entry, Home};
use crate::{context::Context, exit::Exit, problem, servers};

/// Flags of `pgdyno clean`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Lists servers, bundles, builds, the result of `selftest` and detached runs, with their sizes. With \
    --yes, these are removed: stopped servers with their data; bundles and builds that no running server uses; \
    remains of interrupted and failed builds; fetched sources; the selftest result; detached runs that are over from \
    the list of `ps`. Recorded runs are never removed."
)]
pub struct Args {
    /// Remove stopped servers with their data, unused bundles and builds, and the selftest result; cannot be undone
    #[arg(long)]
    yes: bool,
}

/// Something that takes disk space.
struct Kept {
    what: String,
    path: PathBuf,
    size_bytes: u64,
    /// Why it cannot be removed; `None` if it can.
    used: Option<String>,
    free: Free,
}

enum Free {
    Server(String),
    Leftover(String),
    Bundle,
    Build(builds::Kept),
    Selftest,
    Detached(Home),
}

/// Runs `pgdyno clean`.
///
/// # Errors
/// The problem to print.
pub fn run(args: &Args, _context: &Context) -> Result<ExitCode, Problem> {
    let dirs = pgdyno_lab::dirs()?;
    let (mut records, mut problems) = (Vec::new(), Vec::new());
    for record in registry::list(&dirs) {
        match record {
            Ok(record) => records.push(record),
            Err(problem) => problems.push(problem),
        }
    }
    let done = clean(args, &dirs, &records);
    for problem in &problems {
        problem::print(problem);
    }
    // Servers with unreadable records stay; all else is removed nevertheless.
    match (done, problems.is_empty()) {
        (Ok(_), false) => Ok(Exit::NotCompleted.into()),
        (done, _) => done,
    }
}

fn clean(args: &Args, dirs: &Dirs, records: &[Record]) -> Result<ExitCode, Problem> {
    let kept = kept(dirs, records);
    if kept.is_empty() {
        println!("pgdyno keeps nothing in {} and {}", dirs.state.display(), dirs.cache.display());
        return Ok(ExitCode::SUCCESS);
    }
    let freed = kept.iter().filter(|kept| kept.used.is_none());
    let total: u64 = freed.clone().map(|kept| kept.size_bytes).sum();
    if args.yes {
        for kept in freed {
            free(dirs, kept)?;
        }
        builds::forget(dirs).map_err(|error| {
            Problem::could_not(format!("could not remove the cached digests of sources: {error}"))
        })?;
    }
    kept.iter().for_each(|kept| print(kept, args.yes));
    match (args.yes, total) {
        (true, _) => println!("{} freed", units::bytes(total)),
        (false, _) => {
            println!("{} can be freed with `pgdyno clean --yes`; nothing was changed", units::bytes(total))
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn print(kept: &Kept, freed: bool) {
    let state = match (&kept.used, freed) {
        (Some(why), _) => format!("stays: {why}"),
        (None, true) => "freed".to_owned(),
        (None, false) => "can be freed".to_owned(),
    };
    println!("{:<24}{:>12}  {state}\n    {}", kept.what, units::bytes(kept.size_bytes), kept.path.display());
}

fn kept(dirs: &Dirs, records: &[Record]) -> Vec<Kept> {
    let servers = records.iter().map(|record| server(dirs, record));
    let unrecorded = unrecorded(dirs, records);
    let bundles = bundle::cached(&dirs.cache).into_iter().map(|bundle| Kept {
        what: format!("bundle {}", bundle.version),
        size_bytes: size(&bundle.dir),
        used: user_of(&bundle.dir, records),
        path: bundle.dir,
        free: Free::Bundle,
    });
    let builds = builds::kept(dirs).into_iter().map(|kept| Kept {
        what: kept.what.clone(),
        size_bytes: size(&kept.path),
        used: match kept.is_worked_on(dirs) {
            true => Some("it is being built".to_owned()),
            false => user_of(&kept.path, records),
        },
        path: kept.path.clone(),
        free: Free::Build(kept),
    });
    let runs = entry::list(dirs).into_iter().flatten().map(|(home, entry)| detached(home, &entry));
    servers.chain(unrecorded).chain(bundles).chain(builds).chain(selftest()).chain(runs).collect()
}

/// The entry of a detached run. What the run printed stays in its run directory.
fn detached(home: Home, entry: &Entry) -> Kept {
    Kept {
        what: format!("run `{}`", entry.name),
        path: home.path().to_owned(),
        size_bytes: size(home.path()),
        used: entry.status.pid().map(|pid| format!("it is running, process {pid}")),
        free: Free::Detached(home),
    }
}

/// The server or process that runs from a directory of programs, in words. Stopped servers do not count, since they are
/// removed as well.
fn user_of(dir: &Path, records: &[Record]) -> Option<String> {
    let uses = |record: &&Record| record.runs_from(dir) && record.status().pid().is_some();
    let server = records.iter().find(uses).map(|record| format!("server `{}` uses it", record.name));
    server.or_else(|| runs_from(dir).map(|pid| format!("process {pid} runs from it")))
}

/// The result of `pgdyno selftest`.
fn selftest() -> Option<Kept> {
    let path = pgdyno_lab::instrument::path().ok()?;
    let size_bytes = fs::metadata(&path).ok()?.blocks() * 512;
    Some(Kept { what: "selftest".to_owned(), path, size_bytes, used: None, free: Free::Selftest })
}

/// A process whose program is in a directory. Servers in other state directories may use the same bundles and builds.
fn runs_from(dir: &Path) -> Option<u32> {
    let program = |pid: &u32| procs::arguments(*pid).into_iter().next();
    procs::all().into_iter().find(|pid| program(pid).is_some_and(|program| program.starts_with(dir)))
}

fn server(dirs: &Dirs, record: &Record) -> Kept {
    let home = dirs.servers().join(&record.name);
    let outside = record.places().filter(|place| !place.path.starts_with(&home));
    let size_bytes = size(&home) + outside.map(|place| size(&place.path)).sum::<u64>();
    let status = record.status();
    Kept {
        what: format!("server `{}`", record.name),
        path: record.data.path.clone(),
        size_bytes,
        used: status.pid().map(|pid| format!("it is {}, process {pid}", status.word())),
        free: Free::Server(record.name.clone()),
    }
}

/// Server directories without a record, left by a crash before anything was started in them.
fn unrecorded(dirs: &Dirs, records: &[Record]) -> Vec<Kept> {
    let entries = fs::read_dir(dirs.servers()).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names
        .filter(|name| !records.iter().any(|record| record.name == *name))
        // An unreadable record still belongs to a server.
        .filter(|name| !may_exist(&dirs.servers().join(name).join("server.json")))
        .map(|name| {
            let path = dirs.servers().join(&name);
            let size_bytes = if path.is_symlink() { 0 } else { size(&path) };
            Kept { what: "leftover".to_owned(), path, size_bytes, used: None, free: Free::Leftover(name) }
        })
        .collect()
}

/// Whether a path exists, or might exist in a directory that this user cannot read.
fn may_exist(path: &Path) -> bool {
    fs::symlink_metadata(path).map_or_else(
        |error| !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
        |_| true,
    )
}

fn free(dirs: &Dirs, kept: &Kept) -> Result<(), Problem> {
    match &kept.free {
        Free::Server(name) => remove(dirs, name, &mut servers::print_event),
        Free::Leftover(name) => remove_leftover(dirs, name, &mut servers::print_event),
        Free::Bundle => fs::remove_dir_all(&kept.path).map_err(|error| not_removed(kept, &error)),
        Free::Build(build) => build.free(dirs).map_err(|error| not_removed(kept, &error)),
        Free::Selftest => fs::remove_file(&kept.path).map_err(|error| not_removed(kept, &error)),
        Free::Detached(home) => home.remove(),
    }
}

fn not_removed(kept: &Kept, error: &io::Error) -> Problem {
    Problem::could_not(format!("could not remove {}: {error}", kept.path.display()))
}

/// Disk space of the files under a directory, in bytes. Unreadable files count as 0.
pub(super) fn size(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let of = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => size(&entry.path()),
        Ok(metadata) => metadata.blocks() * 512,
        Err(_) => 0,
    };
    entries.map(of).sum()
}
