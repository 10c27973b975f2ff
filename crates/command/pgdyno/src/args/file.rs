//! Reads files of the user: plans and scripts.

use std::{fs::File, io::Read, path::Path};

use pgdyno_core::{disk::PublishedFigure, problem::Problem, units};
use pgdyno_plan::{MAX_PLAN_BYTES, Plan, StoragePlan, WorkloadFiles, preset::Preset};
use pgdyno_script::{Risk, Scripts, risks};

/// Reads a plan, at one of its sizes if that is named, and its files.
///
/// # Errors
/// A file cannot be read, the plan or its SQL is invalid, or the SQL reaches beyond tables without `--trust`.
pub(super) fn read(path: &Path, size: Option<&str>, trusted: bool) -> Result<(Plan, WorkloadFiles), Problem> {
    let plan = plan(path, size)?;
    let files = workload_files(&plan, path, trusted)?;
    Ok((plan, files))
}

/// Reads a plan file, at one of its sizes if that is named, with a subject or a workload for every level of its
/// factors.
///
/// # Errors
/// The file cannot be read, or is no plan, or has no such size.
fn plan(path: &Path, size: Option<&str>) -> Result<Plan, Problem> {
    let text = text(path, "plan", "a plan is a TOML file in UTF-8: is this the right file?")?;
    let plan = Plan::from_toml(&text, &path.display().to_string())?;
    let plan = size.map_or_else(|| Ok(plan.clone()), |size| plan.clone().at_size(size))?;
    let mut plan = plan.expanded()?;
    let dir = path.parent().unwrap_or(Path::new("."));
    for server in plan.subject.iter_mut().chain([&mut plan.server]) {
        let file = server.preset.as_deref().filter(|preset| Preset::is_file(preset));
        server.preset = file.map(|file| dir.join(file).display().to_string()).or(server.preset.take());
    }
    plan.reference = plan.reference.map(|file| dir.join(file));
    at_absolute_dirs(&mut plan.storage);
    Ok(plan)
}

/// Reads the published figures that a plan shows next to its own.
///
/// # Errors
/// The file cannot be read, or has no such figures.
pub(super) fn published(plan: &Plan) -> Result<Vec<PublishedFigure>, Problem> {
    let Some(path) = &plan.reference else { return Ok(Vec::new()) };
    let text = text(path, "file", "the plan names it: is it a file of published figures in UTF-8?")?;
    pgdyno_plan::published(&text, &path.display().to_string(), &PROGRAMS)
}

/// Reads what is declared of storage.
///
/// # Errors
/// The file cannot be read, or declares nothing, or nothing right.
pub(super) fn declared(path: &Path) -> Result<StoragePlan, Problem> {
    let text = text(path, "file", "declared facts of storage are a TOML file: is this the right file?")?;
    let mut storage = StoragePlan::declared_in(&text, &path.display().to_string())?;
    at_absolute_dirs(&mut storage);
    Ok(storage)
}

/// Names directories as records do.
fn at_absolute_dirs(storage: &mut StoragePlan) {
    for dir in storage.declared.values_mut().filter_map(|declared| declared.dir.as_mut()) {
        if let Ok(absolute) = std::fs::canonicalize(&dir).or_else(|_| std::path::absolute(&dir)) {
            *dir = absolute;
        }
    }
}

/// Programs whose figures are those of `disk` stages.
const PROGRAMS: [&str; 3] = ["pg_test_fsync.", "pg_test_timing.", "fio."];

/// Reads a `postgresql.conf`.
///
/// # Errors
/// The file cannot be read.
pub(super) fn configuration(path: &Path) -> Result<String, Problem> {
    text(path, "configuration", "it is a postgresql.conf in UTF-8: is this the right file?")
}

/// Reads the files that a plan names, relative to the plan's directory.
fn workload_files(plan: &Plan, path: &Path, trusted: bool) -> Result<WorkloadFiles, Problem> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let files = WorkloadFiles::of(plan, &name, &mut |file| {
        text(&dir.join(file), "file", "the plan names it: is it SQL in UTF-8?")
    })?;
    let what = format!("could not run the plan {}", path.display());
    refuse_untrusted(&what, &files.risks(), trusted).map(|()| files)
}

/// Reads a script in pgbench's language.
///
/// # Errors
/// The file cannot be read, is no script, or reaches beyond tables without `--trust`.
pub(super) fn script(path: &Path, trusted: bool) -> Result<Scripts, Problem> {
    let text = text(path, "script", "a script is SQL in UTF-8 as for `pgbench -f`: is this the right file?")?;
    let scripts = Scripts::one(&path.display().to_string(), &text).map_err(|error| {
        let problem = Problem::from(error);
        if problem.hint.is_some() { problem } else { problem.hint("correct the script there") }
    })?;
    let risks: Vec<_> = scripts.iter().flat_map(risks).collect();
    let what = format!("could not use the script {}", path.display());
    refuse_untrusted(&what, &risks, trusted).map(|()| scripts)
}

/// Refuses SQL that reaches beyond tables unless it is trusted: a file from elsewhere could do anything here.
fn refuse_untrusted(what: &str, risks: &[Risk], trusted: bool) -> Result<(), Problem> {
    if trusted || risks.is_empty() {
        return Ok(());
    }
    let line = |risk: &Risk| format!("{}: {} ({})", risk.place, risk.command, risk.does);
    let what = format!("{what}: it reaches beyond tables");
    Err(Problem::wrong_request(what)
        .detail(risks.iter().map(line).collect::<Vec<_>>().join("\n"))
        .hint("read it; --trust allows it"))
}

/// Reads a text file, in bounded memory and never from a pipe or a device.
fn text(path: &Path, what: &str, hint: &str) -> Result<String, Problem> {
    let wrong = |why: &str| {
        Problem::wrong_request(format!("could not read the {what} {}: {why}", path.display())).hint(hint)
    };
    let metadata = std::fs::metadata(path).map_err(|error| wrong(&error.to_string()))?;
    if !metadata.is_file() {
        return Err(wrong("it is not a regular file"));
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
