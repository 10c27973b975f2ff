//! `pgdyno generate`, for `cargo xtask`: files made from the flags and from the types of the record.

use std::{fs, io, path::PathBuf, process::ExitCode};

use clap::ValueEnum;
use clap_complete::Shell;
use pgdyno_core::problem::Problem;

/// Flags of `pgdyno generate`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to write
    kind: Kind,
    /// Output directory, created if it does not exist
    dir: PathBuf,
}

/// What can be written.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Kind {
    /// pgdyno.1, and one page per sub-command
    Man,
    /// Completions for bash, zsh and fish
    Completions,
    /// JSON Schemas of plans and run directories
    Schemas,
    /// The pages of all rules, as Markdown
    Rules,
    /// The explanations of wait events, as Markdown
    WaitEvents,
}

/// Runs `pgdyno generate` for a command line.
///
/// # Errors
/// The directory cannot be written to.
pub fn run(args: &Args, cli: &clap::Command) -> Result<ExitCode, Problem> {
    let written = fs::create_dir_all(&args.dir).and_then(|()| match args.kind {
        Kind::Man => clap_mangen::generate_to(public(cli), &args.dir),
        Kind::Completions => completions(args, cli),
        Kind::Schemas => schemas(args),
        Kind::Rules => fs::write(args.dir.join("host-rules.md"), pgdyno_rules::book()),
        Kind::WaitEvents => fs::write(args.dir.join("wait-events.md"), pgdyno_rules::wait_events_page()),
    });
    written.map(|()| ExitCode::SUCCESS).map_err(|error| {
        Problem::could_not(format!("could not write to {}: {error}", args.dir.display()))
            .hint("name a directory that you may write to")
    })
}

/// The command line without its hidden sub-commands: the shells' generators would offer them.
fn public(cli: &clap::Command) -> clap::Command {
    let about = cli.get_about().cloned().unwrap_or_default();
    clap::Command::new("pgdyno")
        .version(env!("CARGO_PKG_VERSION"))
        .about(about)
        .args(cli.get_arguments().cloned())
        .subcommands(cli.get_subcommands().filter(|command| !command.is_hide_set()).cloned())
}

fn completions(args: &Args, cli: &clap::Command) -> io::Result<()> {
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        clap_complete::generate_to(shell, &mut public(cli), "pgdyno", &args.dir)?;
    }
    Ok(())
}

fn schemas(args: &Args) -> io::Result<()> {
    let plan = ("plan.schema.json", pgdyno_plan::schema());
    for (name, schema) in pgdyno_record::schemas()
        .into_iter()
        .chain([plan, pgdyno_top::schema()])
        .chain(pgdyno_core::probe::schemas())
    {
        fs::write(args.dir.join(name), format!("{schema:#}\n"))?;
    }
    Ok(())
}
