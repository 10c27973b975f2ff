//! `pgdyno run`.

use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
    process::ExitCode,
};

use pgdyno_core::{
    advice::bench::Level,
    plan::{MAX_PLAN_BYTES, Plan},
    problem::Problem,
    units,
};

use super::measure;
use crate::{context::Context, stages};

/// Flags of `pgdyno run`.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true, allow_negative_numbers = true)]
pub struct Args {
    /// The plan
    #[arg(value_name = "FILE.toml")]
    file: PathBuf,
    #[command(flatten)]
    measure: measure::Args,
}

/// Runs `pgdyno run`.
///
/// # Errors
/// What the user should read.
pub fn run(args: &Args, context: &Context) -> Result<ExitCode, Problem> {
    let text = read(&args.file)?;
    let plan = Plan::from_toml(&text, &args.file.display().to_string())?;
    let level = Level::of(&plan);
    stages::measure(&args.measure.job(plan, level)?, context)
}

/// Reads a plan file, in bounded memory and never from a pipe or a device.
fn read(path: &Path) -> Result<String, Problem> {
    let wrong = |why: &str| {
        let what = format!("could not read the plan {}: {why}", path.display());
        Problem::wrong_request(what).hint("a plan is a page of TOML in UTF-8: is this the right file?")
    };
    let metadata = std::fs::metadata(path).map_err(|error| wrong(&error.to_string()))?;
    if !metadata.is_file() {
        return Err(wrong("it is not a plain file"));
    }
    if metadata.len() > MAX_PLAN_BYTES as u64 {
        return Err(wrong(&format!("it has {}, more than 1 MiB", units::bytes(metadata.len()))));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| wrong(&error.to_string()))?;
    file.take(MAX_PLAN_BYTES as u64).read_to_end(&mut bytes).map_err(|error| wrong(&error.to_string()))?;
    String::from_utf8(bytes).map_err(|error| {
        let line =
            error.as_bytes()[..error.utf8_error().valid_up_to()].iter().filter(|&&b| b == b'\n').count() + 1;
        wrong(&format!("line {line} is not UTF-8"))
    })
}
