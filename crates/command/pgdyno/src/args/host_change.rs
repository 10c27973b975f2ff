//! `pgdyno host plan`, `apply`, `undo` and `status`.

use std::{path::Path, path::PathBuf, process::ExitCode};

use pgdyno_core::{
    host::{Change, Knob},
    problem::Problem,
    units::{plural, printable},
};
use pgdyno_knobs::{Item, Place, Plan, Standing, Verdict};
use pgdyno_lab::refuse_during_runs;
use pgdyno_rules::Check;

use super::host_of::{PurposeName, here};
use crate::{exit::Exit, interrupt, output};

/// What is to be changed.
#[derive(Debug, clap::Args)]
struct Wanted {
    /// Server of `pgdyno up`, or a data directory: recommend for it, and for the storage below it
    #[arg(long = "for", value_name = "SERVER|DIR")]
    server: Option<PathBuf>,
    /// What the server is for
    #[arg(long, value_name = "PURPOSE", default_value = "oltp")]
    purpose: PurposeName,
    /// Only the recommendations of these rules; may be repeated
    #[arg(long, value_name = "NAME", conflicts_with = "set")]
    only: Vec<String>,
    /// A kernel parameter, or a file of sysfs by its path, and its value, instead of recommendations; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = change)]
    set: Vec<Change>,
    /// Keep the changes until the next reboot only: write no files in /etc
    #[arg(long)]
    until_reboot: bool,
}

/// Flags of `pgdyno host plan`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Changes nothing. The script makes the same changes by hand, and stops where the values have changed \
    since.\n\n\
    Examples:\n  \
    pgdyno host plan --for main > tune.sh\n  \
    pgdyno host plan --files                     the files that would make it last\n  \
    pgdyno host plan --set vm.swappiness=1"
)]
pub struct PlanArgs {
    #[command(flatten)]
    wanted: Wanted,
    /// Print the files in /etc instead of the script
    #[arg(long)]
    files: bool,
    /// Print JSON
    #[arg(long, conflicts_with = "files")]
    json: bool,
}

/// Flags of `pgdyno host apply`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Needs root. Before the first change, the previous values are on disk in a journal, in \
    /var/lib/pgdyno/host; `pgdyno host undo` puts everything back, also after a kill. docs/host-changes.md describes \
    the changes."
)]
pub struct ApplyArgs {
    #[command(flatten)]
    wanted: Wanted,
}

/// Flags of `pgdyno host undo`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "What somebody else changed in between is listed and left. Exit status 1: something was left."
)]
pub struct UndoArgs {
    /// Put back also what somebody else changed in between
    #[arg(long)]
    force: bool,
}

/// A change that a flag asks for.
fn change(text: &str) -> Result<Change, String> {
    let (name, value) = text.split_once('=').ok_or("it has no `=`")?;
    if name.is_empty() || value.is_empty() {
        return Err("one side of the `=` is empty".to_owned());
    }
    let knob = match name.starts_with('/') {
        true => Knob::Sysfs(name.to_owned()),
        false => Knob::Sysctl(name.to_owned()),
    };
    Ok(Change { knob, value: value.to_owned() })
}

impl Wanted {
    /// The changes, and what is there now.
    fn plan(&self) -> Result<Plan, Problem> {
        let changes = if self.set.is_empty() { self.recommended()? } else { self.set.clone() };
        let plan = pgdyno_knobs::plan(&changes, Path::new("/"));
        Ok(if self.until_reboot { plan.until_reboot() } else { plan })
    }

    fn recommended(&self) -> Result<Vec<Change>, Problem> {
        let check = Check::of(&here(self.server.as_deref())?, self.purpose.into());
        let known = |name: &&String| !pgdyno_rules::host::rules().any(|rule| rule.page.is_of(name));
        if let Some(unknown) = self.only.iter().find(known) {
            return Err(Problem::wrong_request(format!("there is no rule `{}`", printable(unknown)))
                .hint("`pgdyno explain --list` lists all names"));
        }
        let is_wanted = |name: &str| self.only.is_empty() || self.only.iter().any(|only| only == name);
        let wanted = check.findings.into_iter().filter(|finding| is_wanted(&finding.name));
        Ok(wanted.filter_map(|finding| finding.change).collect())
    }
}

/// Prints what would change this host.
///
/// # Errors
/// There is no such server, directory or rule.
pub fn plan(args: &PlanArgs) -> Result<ExitCode, Problem> {
    let plan = args.wanted.plan()?;
    output::print(&if args.json {
        output::json(&plan)
    } else if args.files {
        plan.files().iter().map(|(path, text)| format!("# {}\n{text}\n", path.display())).collect()
    } else {
        plan.script()
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Changes this host as planned.
///
/// # Errors
/// The user is not root, a run is active, changes are applied already, or one failed: those before it are then undone.
pub fn apply(args: &ApplyArgs) -> Result<ExitCode, Problem> {
    refuse_during_runs("change the host")?;
    let plan = args.wanted.plan()?;
    let asked = !args.wanted.set.is_empty() || !args.wanted.only.is_empty();
    let left = plan.items.iter().filter(|item| item.verdict.objection().is_some());
    let left: String = left.map(|item| format!("left: {}\n", objection(item))).collect();
    // What is requested by name is refused with its reason; of recommendations those that can be applied are.
    let plan = if asked { plan } else { plan.applicable() };
    let stop = interrupt::on_interrupt_saying(
        "stopping after this change",
        "exited; `pgdyno host undo` puts all back",
    );
    let applied = pgdyno_knobs::apply(&plan, &Place::host(), &stop)?;
    let lines: String = applied
        .changed
        .iter()
        .map(|changed| {
            let partly = if changed.partly { ", not all of it" } else { "" };
            format!("{}: {} → {}{partly}\n", changed.name, changed.before, changed.became)
        })
        .collect();
    let end = match applied.changed.len() {
        0 => "nothing to change\n".to_owned(),
        count => format!("{} made; `pgdyno host undo` puts all back\n", plural(count as u64, "change")),
    };
    output::print(&printable_lines(&format!("{lines}{left}{end}")))?;
    Ok(ExitCode::SUCCESS)
}

/// Puts back what was applied.
///
/// # Errors
/// A run is active, the journal cannot be trusted, or something could not be restored: then it stays.
pub fn undo(args: &UndoArgs) -> Result<ExitCode, Problem> {
    refuse_during_runs("put the host back")?;
    let stop =
        interrupt::on_interrupt_saying("stopping after this change", "exited; run `pgdyno host undo` again");
    let undone = pgdyno_knobs::undo(&Place::host(), args.force, &stop)?;
    if !undone.found {
        output::print("nothing of this host was changed by pgdyno\n")?;
        return Ok(ExitCode::SUCCESS);
    }
    let restored = undone.restored.iter().map(|one| format!("{}: {} → {}\n", one.name, one.from, one.to));
    let left = undone.left.iter().map(|one| {
        format!(
            "left: {} is {}, which is neither what pgdyno had set ({}) nor what was there before ({})\n",
            one.name, one.present, one.ours, one.before
        )
    });
    let ended = undone.ended_by_reboot.iter().map(|name| format!("ended by the reboot: {name}\n"));
    let lines: String = restored.chain(ended).chain(left).collect();
    output::print(&printable_lines(&format!(
        "{lines}{} put back\n",
        plural(undone.restored.len() as u64, "value")
    )))?;
    Ok(Exit::of_check(undone.left.is_empty()).into())
}

/// Shows what is applied.
///
/// # Errors
/// The journal or a value cannot be read.
pub fn status() -> Result<ExitCode, Problem> {
    let status = pgdyno_knobs::status(&Place::host())?;
    if !status.found {
        output::print("nothing of this host was changed by pgdyno\n")?;
        return Ok(ExitCode::SUCCESS);
    }
    let lines = status.items.iter().map(|item| {
        let how = match item.standing {
            Standing::Applied => "as set by pgdyno",
            Standing::Partly => "set by pgdyno, not all of it",
            Standing::AsBefore => "as before",
            Standing::Foreign => "changed by somebody else since",
            Standing::Ended => "ended by the reboot",
        };
        format!("{}: {} ({how}; before: {})\n", item.name, item.present, item.before)
    });
    let unfinished = if status.unfinished { "interrupted: `pgdyno host undo` puts all back\n" } else { "" };
    output::print(&printable_lines(&format!("{}{unfinished}", lines.collect::<String>())))?;
    Ok(ExitCode::SUCCESS)
}

fn objection(item: &Item) -> String {
    let name = match &item.change.knob {
        Knob::Sysctl(name) | Knob::Sysfs(name) | Knob::BootWord(name) => name.clone(),
        Knob::LoginLimit { domain, item } => format!("{domain} {item}"),
        Knob::MountOption(point) => format!("options of {point}"),
    };
    match &item.verdict {
        Verdict::Refused(why) | Verdict::Irreversible(why) => format!("{name}: {why}"),
        other => format!("{name} {}", other.objection().unwrap_or_default()),
    }
}

/// Lines without what a terminal would obey.
fn printable_lines(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", printable(line))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_named_by_parameter_or_path() {
        let of = |text| change(text).expect("it is one");
        assert_eq!(of("vm.swappiness=1").knob, Knob::Sysctl("vm.swappiness".into()));
        assert_eq!(
            of("/sys/block/sda/queue/scheduler=none").knob,
            Knob::Sysfs("/sys/block/sda/queue/scheduler".into())
        );
        assert_eq!(of("kernel.sem=250 32000 32 128").value, "250 32000 32 128");
        assert!(change("vm.swappiness").is_err() && change("=1").is_err() && change("a=").is_err());
    }
}
