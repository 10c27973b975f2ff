//! `pgdyno build`.

use std::{
    env,
    io::{self, IsTerminal},
    path::PathBuf,
    process::ExitCode,
};

use pgdyno_build::{CFLAGS, Event, Request};
use pgdyno_core::{problem::Problem, units};
use pgdyno_provision::builds::{Build, Manifest, Phase};
use serde_json::{Value, json};

use crate::{context::Context, interrupt::on_interrupt_saying, progress::Progress};

/// Flags of `pgdyno build`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Configures, compiles and installs a source tree with contrib, in pgdyno's cache; the source is not \
    changed. The same source, patches, options, flags and compiler are built once, whatever the name. The same \
    command continues an interrupted build, except for the files compiled last. Libraries (zlib, readline, lz4, \
    zstd, liburing) are used if they are installed; ICU, Perl, Python, Tcl, LLVM, documentation and translations are \
    left out unless --configure enables them.\n\n\
    Examples:\n  \
    pgdyno build pg18 --source debian:18\n  \
    pgdyno build fast --source debian:18 --cflags '-O3 -march=native -flto'\n  \
    pgdyno build clang --source postgresql-18.1.tar.bz2 --cc clang\n  \
    pgdyno build big --source ~/src/postgresql --with-blocksize 32 --patch fix.patch\n  \
    pgdyno build checked --source debian:18 --configure --enable-cassert"
)]
pub struct Args {
    /// Name of the build: up to 40 letters, digits, - and _
    name: String,
    /// Source: a directory, a tarball, or debian:18 (debian:18.1), fetched by apt from the distribution
    #[arg(long, value_name = "SOURCE")]
    source: String,
    /// Patch to apply with `patch -p1`; may be repeated
    #[arg(long, value_name = "FILE")]
    patch: Vec<PathBuf>,

    /// Compiler: gcc, clang, or a path [default: gcc, else clang]
    #[arg(long, value_name = "CC", help_heading = "Compiler")]
    cc: Option<String>,
    /// Compiler flags
    #[arg(long, value_name = "FLAGS", default_value = CFLAGS, allow_hyphen_values = true, help_heading = "Compiler")]
    cflags: String,
    /// Parallel compilers [default: the number of CPUs]
    #[arg(long, value_name = "N", help_heading = "Compiler", value_parser = clap::value_parser!(u32).range(1..=1024))]
    jobs: Option<u32>,
    /// User to build as (root only) [default: postgres, else nobody]
    #[arg(long, value_name = "USER", help_heading = "Compiler")]
    run_as: Option<String>,

    /// Data page size in KiB: 1, 2, 4, 8, 16 or 32
    #[arg(long, value_name = "KB", default_value_t = 8, help_heading = "Sizes")]
    with_blocksize: u32,
    /// WAL page size in KiB: 1, 2, 4, 8, 16, 32 or 64
    #[arg(long, value_name = "KB", default_value_t = 8, help_heading = "Sizes")]
    with_wal_blocksize: u32,
    /// Segment size in GiB: larger tables consist of several files
    #[arg(long, value_name = "GB", default_value_t = 1, help_heading = "Sizes")]
    with_segsize: u32,
    /// Further option for configure (or meson), such as --enable-cassert, or before 11 --with-wal-segsize=64; may be
    /// repeated
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true, help_heading = "Sizes")]
    configure: Vec<String>,

    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

impl Args {
    fn request(&self) -> Request {
        Request {
            cc: self.cc.clone(),
            cflags: Some(self.cflags.clone()),
            block_kb: self.with_blocksize,
            wal_block_kb: self.with_wal_blocksize,
            segment_gb: self.with_segsize,
            configure: self.configure.clone(),
            patches: self.patch.clone(),
            jobs: self.jobs,
            run_as: self.run_as.clone(),
            search_path: env::var_os("PATH"),
            stop: on_interrupt_saying(
                "stopping; what was compiled until the last few seconds is kept (Ctrl-C again to exit immediately)",
                "exited immediately; the same command continues the build",
            ),
            ..Request::named(&self.name, &self.source)
        }
    }
}

/// Runs `pgdyno build`.
///
/// # Errors
/// The problem to print.
pub fn run(args: &Args, _context: &Context) -> Result<ExitCode, Problem> {
    let mut reporter = Reporter::new();
    let build = pgdyno_build::make(&args.request(), &pgdyno_lab::dirs()?, &mut |event| reporter.event(event));
    reporter.progress.finish();
    let build = build?;
    if args.json {
        println!("{:#}", as_json(&build));
    } else {
        print(&build, &reporter);
    }
    Ok(ExitCode::SUCCESS)
}

/// A build as JSON: its manifest with its name and directories.
pub(super) fn as_json(build: &Build) -> Value {
    let mut value = json!({ "name": build.name, "dir": build.dir, "bindir": build.bindir() });
    let manifest = serde_json::to_value(&build.manifest).unwrap_or_default();
    if let (Value::Object(all), Value::Object(manifest)) = (&mut value, manifest) {
        all.extend(manifest);
    }
    value
}

/// Reports progress: on a terminal by a line that is updated in place, elsewhere by short lines.
struct Reporter {
    progress: Progress,
    terminal: bool,
    cached: bool,
    absent: Vec<String>,
    compiling: bool,
    quarter: u64,
}

impl Reporter {
    fn new() -> Self {
        Self {
            progress: Progress::new(),
            terminal: io::stderr().is_terminal(),
            cached: false,
            absent: Vec::new(),
            compiling: false,
            quarter: 0,
        }
    }

    fn event(&mut self, event: Event) {
        match event {
            Event::Waiting => self.stage("waiting: another pgdyno is making the same build"),
            Event::BuildingAsShared { user } => self.progress.warn(&format!(
                "the build runs as `{user}`, which other programs may use too; choose another user with --run-as"
            )),
            Event::Fetching { source } => self.stage(&format!("fetching the source of {source}")),
            Event::Source { source } => self.stage(&format!("preparing the source {source}")),
            Event::Resuming { phase } => {
                self.stage(&format!("resuming an interrupted build ({})", phase.word()));
            }
            Event::Absent { library, package } => self.absent.push(format!("{library} ({package})")),
            Event::Configuring { version } => self.stage(&format!("configuring PostgreSQL {version}")),
            Event::Compiling { done, total } => self.compiling(done, total),
            Event::Installing => self.stage("installing"),
            Event::Cached => self.cached = true,
            Event::Repointed { name } => {
                self.progress.warn(&format!("`{name}` was the name of another build until now"));
            }
        }
    }

    fn stage(&self, what: &str) {
        match self.terminal {
            true => self.progress.stage(what),
            false => eprintln!("{what}"),
        }
    }

    fn compiling(&mut self, done: u64, total: u64) {
        let first = !std::mem::replace(&mut self.compiling, true);
        if self.terminal {
            if first {
                self.progress.counted("compiling", total, "files");
            }
            self.progress.at(done.min(total));
        } else if first {
            eprintln!("compiling about {} files", units::count(total));
            self.quarter = 4 * done / total.max(1);
        } else if 4 * done / total.max(1) > self.quarter {
            self.quarter = 4 * done / total.max(1);
            eprintln!("compiled about {} % of them", (25 * self.quarter).min(100));
        }
    }
}

fn print(build: &Build, reporter: &Reporter) {
    let Build { name, manifest, .. } = build;
    let how = match reporter.cached {
        true => "was already built".to_owned(),
        false => format!("was built in {}", units::duration(manifest.made_s)),
    };
    println!("PostgreSQL {} {how}: `{name}`\n", manifest.version);
    let Manifest { source, compiler, cflags, block_kb, wal_block_kb, segment_gb, .. } = manifest;
    println!("  source    {source}{}", patches(manifest));
    println!("  compiler  {compiler}");
    println!("  flags     {cflags}");
    println!("  sizes     pages of {block_kb} KiB, of WAL {wal_block_kb} KiB, files of {segment_gb} GiB");
    println!("  options   {}", manifest.configure.join(" "));
    if !reporter.absent.is_empty() {
        println!(
            "  left out  {}: not installed (package of each in parentheses)",
            reporter.absent.join(", ")
        );
    }
    println!("  program   {}", build.bindir().display());
    println!("  log       {}", build.log_path().display());
    println!("  use       pgdyno up --build {name}, pgdyno bench --build {name}");
}

fn patches(manifest: &Manifest) -> String {
    let names: Vec<&str> = manifest.patches.iter().map(|patch| patch.name.as_str()).collect();
    if names.is_empty() { String::new() } else { format!(", patched by {}", names.join(", ")) }
}

/// State of an unfinished build, in words.
pub(super) fn doing(phase: Phase, running: bool) -> String {
    match (running, phase) {
        (true, phase) => format!("is being built ({})", phase.word()),
        (false, Phase::Failed) => "failed".to_owned(),
        (false, phase) => format!("was interrupted ({})", phase.word()),
    }
}
