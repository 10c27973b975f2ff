//! The pgbench personality: pgbench's options, scripts and output formats over pgdyno's driver.
//!
//! `getopt`, `flags` and `reading` read the command line into `options`, `check` says what it comes to; `init`
//! initializes, `run` benchmarks, `find_rate` benchmarks until it knows a rate; `format` makes every line that others
//! parse, from numbers alone.

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

pub use say::NAME;

use check::Request;
use options::Asked;
use say::{ExitResult, Say, print};

/// Whether a program called so is pgbench.
pub fn is_name(called: &OsString) -> bool {
    Path::new(called).file_name().is_some_and(|name| name == NAME)
}

/// Does what pgbench does with these words. `called` is how help calls the program, `argv0` what the system calls it;
/// `runs` is where run directories are kept, unless that is left to the environment.
pub fn main(
    called: &'static str,
    argv0: &str,
    words: Vec<OsString>,
    runs: Option<&Path>,
    program: Program,
) -> ExitCode {
    let words = words.into_iter().map(OsString::into_vec).collect();
    let kept = || std::env::var_os("PGDYNO_RUNS").filter(|runs| !runs.is_empty()).map(PathBuf::from);
    let runs = runs.map(Path::to_path_buf).or_else(kept).unwrap_or_else(|| "./pgdyno-runs".into());
    match work(called, argv0, words, &Lab { runs, program }) {
        Ok(()) => ExitCode::SUCCESS,
        Err(status) => ExitCode::from(status),
    }
}

fn work(called: &'static str, argv0: &str, words: Vec<Vec<u8>>, lab: &Lab) -> ExitResult<()> {
    let mut say = Say::on_stderr(called);
    let mut scripts = Scripts::default();
    if !reading::takes_setrandom(argv0, &words) {
        scripts.refuse_setrandom();
    }
    let env = |name: &str| std::env::var(name).ok();
    let mut take = |say: &Say, name: &str, text: &[u8]| parse(say, &mut scripts, name, text);
    let (mut options, operands) = match reading::read(&mut say, argv0, words, &env, &mut take)? {
        Asked::Help => return print(&say, &usage::help(called)),
        Asked::Version => return print(&say, &usage::version_line()),
        Asked::Shown => return Ok(()),
        Asked::Options(options, operands) => (options, operands),
    };
    if let Err(error) = scripts.check_protocol(options.protocol) {
        return refuse(&say, &error);
    }
    let request = check::check(&say, &mut options, &operands)?;
    let stop = signals::stop_on_interrupt(&say);
    match request {
        Request::Initialize(wanted) => {
            let what = "could not create connection for initialization";
            let mut session = connect::session(&say, &options, what)?;
            init::run(&say, &mut session, &wanted, options.quiet, &stop)
        }
        Request::Run => match &options.extras.find_rate {
            Some(limit) => find_rate::run(&say, &options, limit, scripts, &stop, lab),
            None => run::run(say, &options, scripts, &stop, lab),
        },
    }
}

/// Reads a script into those of the run.
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
