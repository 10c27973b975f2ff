//! The pgbench personality: pgbench's options, scripts and output formats over pgdyno's driver.
//!
//! `getopt`, `flags` and `reading` parse the command line into `options`, and `check` validates it. `init` initializes,
//! `run` benchmarks, `find_rate` searches for the highest rate. `format` makes every line that programs parse, from
//! numbers alone.

mod builtin;
mod check;
mod clients;
mod connect;
mod extras;
mod find_rate;
mod flags;
mod format;
mod getopt;
mod init;
mod limits;
mod logfile;
mod newfile;
mod numbers;
mod options;
mod progress;
mod reading;
mod record;
mod results;
mod run;
mod saving;
mod say;
mod seed;
mod signals;
mod steps;
mod usage;

use std::{
    ffi::OsString,
    os::unix::ffi::OsStringExt,
    path::{Path, PathBuf},
    process::ExitCode,
};

use pgdyno_lab::{Lab, Program};
use pgdyno_script::Scripts;

pub use saving::WriteReport;
pub use say::NAME;

use check::Request;
use options::Parsed;
use saving::Saving;
use say::{ExitResult, Say, print};

/// Whether a program of this name behaves as pgbench.
pub fn is_name(called: &OsString) -> bool {
    Path::new(called).file_name().is_some_and(|name| name == NAME)
}

/// What pgbench takes from the program that it is part of.
#[derive(Debug, Clone, Copy)]
pub struct Home<'a> {
    /// Directory for run directories; by default that of `PGDYNO_RUNS`.
    pub runs: Option<&'a Path>,
    /// The program.
    pub program: Program,
    /// Writes the report of a run that is saved.
    pub write_report: WriteReport,
}

/// Runs pgbench with these arguments. `called` is the name of the program in its help, `argv0` in errors of getopt.
pub fn main(called: &'static str, argv0: &str, args: Vec<OsString>, home: Home<'_>) -> ExitCode {
    let Home { runs, program, write_report } = home;
    let args = args.into_iter().map(OsString::into_vec).collect();
    let from_env = || std::env::var_os("PGDYNO_RUNS").filter(|runs| !runs.is_empty()).map(PathBuf::from);
    let runs = runs.map(Path::to_path_buf).or_else(from_env).unwrap_or_else(|| "./pgdyno-runs".into());
    match work(called, argv0, args, &Saving { lab: Lab { runs, program }, write_report }) {
        Ok(()) => ExitCode::SUCCESS,
        Err(status) => ExitCode::from(status),
    }
}

fn work(called: &'static str, argv0: &str, args: Vec<Vec<u8>>, saving: &Saving) -> ExitResult<()> {
    let mut say = Say::on_stderr(called);
    let mut scripts = Scripts::default();
    if !reading::takes_setrandom(argv0, &args) {
        scripts.refuse_setrandom();
    }
    let env = |name: &str| std::env::var(name).ok();
    let mut take = |say: &Say, name: &str, text: &[u8]| parse(say, &mut scripts, name, text);
    let (mut options, operands) = match reading::read(&mut say, argv0, args, &env, &mut take)? {
        Parsed::Help => return print(&say, &usage::help(called)),
        Parsed::Version => return print(&say, &usage::version_line()),
        Parsed::Shown => return Ok(()),
        Parsed::Options(options, operands) => (options, operands),
    };
    if let Err(error) = scripts.check_protocol(options.protocol) {
        return refuse(&say, &error);
    }
    let request = check::check(&say, &mut options, &operands)?;
    let stop = signals::stop_on_interrupt(&say);
    match request {
        Request::Initialize(initialization) => {
            let what = "could not create connection for initialization";
            let mut session = connect::session(&say, &options, what)?;
            init::run(&say, &mut session, &initialization, options.quiet, &stop)
        }
        Request::Run => match &options.extras.find_rate {
            Some(limit) => find_rate::run(&say, &options, limit, scripts, &stop, &saving.lab),
            None => run::run(say, &options, scripts, &stop, saving),
        },
    }
}

/// Parses a script and adds it to those of the run.
fn parse(say: &Say, scripts: &mut Scripts, name: &str, text: &[u8]) -> ExitResult<()> {
    match scripts.add(name, text) {
        Ok(script) => {
            script.notices.iter().for_each(|notice| say.warning(notice));
            Ok(())
        }
        Err(error) => refuse(say, &error),
    }
}

fn refuse(say: &Say, error: &pgdyno_script::ScriptError) -> ExitResult<()> {
    say.error(error.to_string());
    if let Some(excerpt) = &error.excerpt {
        say.raw(format!("{excerpt}\n"));
    }
    if let Some(hint) = &error.hint {
        say.hint(hint);
    }
    Err(1)
}
