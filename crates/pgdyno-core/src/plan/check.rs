//! What a plan must satisfy beyond its grammar.

use std::{collections::BTreeSet, time::Duration};

use super::{CpuList, Plan, ServerPlan, Span, check_work::own_work, load, subjects::subjects};
use crate::problem::Problem;

/// Largest scale factor: 10^13 accounts. Branches and tellers still fit their 32-bit keys.
pub const MAX_SCALE: u64 = 100_000_000;
/// Most clients of a cell.
pub const MAX_CLIENTS: u32 = 100_000;
/// Most client counts of a plan.
pub const MAX_CLIENT_COUNTS: usize = 64;
/// Most worker threads.
pub const MAX_JOBS: u32 = 1_024;
/// Most blocks.
pub const MAX_BLOCKS: u32 = 1_000;
/// Highest rate in transactions per second.
pub const MAX_RATE_PER_S: f64 = 1e12;
/// Shortest measured interval.
pub const MIN_DURATION: Duration = Duration::from_millis(100);
/// Longest warm-up.
pub const MAX_WARMUP: Duration = Duration::from_secs(24 * 3600);
/// Oldest major version that pgdyno measures.
pub const OLDEST_PG: (u32, u32) = (9, 6);

/// Settings that decide where a server listens and lives. pgdyno says them itself.
const OURS: &[&str] = &[
    "config_file",
    "data_directory",
    "external_pid_file",
    "hba_file",
    "ident_file",
    "listen_addresses",
    "port",
    "unix_socket_directories",
    "unix_socket_permissions",
];

/// One thing wrong with a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Where, as a dotted path with list positions from 0: `measure.clients[2]`.
    pub path: String,
    /// What is wrong, in one sentence without a full stop.
    pub what: String,
    /// What to do.
    pub hint: String,
}

pub(super) fn fault(path: impl Into<String>, what: impl Into<String>, hint: impl Into<String>) -> Fault {
    Fault { path: path.into(), what: what.into(), hint: hint.into() }
}

impl Plan {
    /// Everything that is wrong with the plan, in the order of its keys. Empty is good.
    pub fn faults(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        name(self, &mut faults);
        server(self, &mut faults);
        subjects(self, &mut faults);
        load::faults(self, &mut faults);
        own_work(self, &mut faults);
        clients(self, &mut faults);
        numbers(self, &mut faults);
        times(self, &mut faults);
        faults
    }

    /// Checks a plan that did not come from a file.
    ///
    /// # Errors
    /// The first of [`Plan::faults`] as a wrong request.
    pub fn validate(&self) -> Result<(), Problem> {
        match self.faults().into_iter().next() {
            None => Ok(()),
            Some(fault) => Err(Problem::wrong_request(fault.what).hint(fault.hint)),
        }
    }
}

fn name(plan: &Plan, faults: &mut Vec<Fault>) {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let first = plan.name.chars().next();
    let good = first.is_some_and(|c| c.is_ascii_alphanumeric()) && plan.name.chars().all(plain);
    if !good || plan.name.len() > 64 {
        faults.push(fault(
            "name",
            format!("`{}` cannot name a run directory", shown(&plan.name)),
            "use 1 to 64 letters, digits, dots, dashes and underscores, a letter or digit first",
        ));
    }
    if plan.description.chars().count() > 1_000 || plan.description.chars().any(char::is_control) {
        faults.push(fault(
            "description",
            "the description is not one sentence",
            "use one line of at most 1000 characters",
        ));
    }
}

fn server(plan: &Plan, faults: &mut Vec<Fault>) {
    one_server(&plan.server, faults);
    for (path, cpus) in
        [("server.cpus", &plan.server.cpus), ("measure.driver_cpus", &plan.measure.driver_cpus)]
    {
        if let Some(Err(error)) = cpus.as_deref().map(str::parse::<CpuList>) {
            faults.push(fault(path, error.to_string(), "write processors such as \"0-3,8\""));
        }
    }
}

/// Programs, directories and settings of a server.
pub(super) fn one_server(server: &ServerPlan, faults: &mut Vec<Fault>) {
    if let Some(fault) = server.pg.as_deref().and_then(version) {
        faults.push(fault);
    }
    faults.extend(build(server));
    for (key, path) in [("bindir", &server.bindir), ("data", &server.data), ("waldir", &server.waldir)] {
        if path.as_deref().is_some_and(|path| path.is_empty() || path.contains('\0')) {
            faults.push(fault(
                format!("server.{key}"),
                format!("`{key}` names no directory"),
                "write its path",
            ));
        }
    }
    if server.waldir.is_some() && server.waldir == server.data {
        faults.push(fault(
            "server.waldir",
            "the WAL directory is the data directory",
            "leave `waldir` out to keep WAL with the data",
        ));
    }
    settings(server, faults);
}

/// What is wrong with the name of a build, or with what stands beside it.
fn build(server: &ServerPlan) -> Option<Fault> {
    let name = server.build.as_deref()?;
    if name.is_empty() || name.chars().any(|c| c.is_control() || c == '/') {
        let what = format!("`{}` cannot be the name of a build", shown(name));
        return Some(fault("server.build", what, "write a name that `pgdyno builds` lists"));
    }
    let both = || fault("server.build", "`build` and `bindir` both name the programs", "keep one of them");
    server.bindir.is_some().then(both)
}

/// What is wrong with a version: `18`, `18.4`, `9.6` and `9.6.24` are right.
fn version(text: &str) -> Option<Fault> {
    let hint =
        "write a major version such as \"18\" or \"9.6\", or an exact one such as \"18.4\" or \"9.6.24\"";
    let number = |part: &str| {
        let plain = !part.is_empty() && part.len() <= 3 && part.bytes().all(|b| b.is_ascii_digit());
        plain.then(|| part.parse::<u32>().ok()).flatten()
    };
    let parts: Option<Vec<u32>> = text.split('.').map(number).collect();
    let wrong = || Some(fault("server.pg", format!("`{}` is no version of PostgreSQL", shown(text)), hint));
    let parts = match parts {
        Some(parts) if parts[0] >= 10 && parts.len() <= 2 => return None,
        Some(parts) if parts[0] < 10 && (2..=3).contains(&parts.len()) => parts,
        _ => return wrong(),
    };
    let old = (parts[0], parts[1]) < OLDEST_PG;
    if (parts[0], parts[1]) > OLDEST_PG {
        return wrong();
    }
    let (major, minor) = OLDEST_PG;
    old.then(|| {
        let what =
            format!("PostgreSQL {text} is too old: the oldest that pgdyno measures is {major}.{minor}");
        fault("server.pg", what, hint)
    })
}

fn settings(server: &ServerPlan, faults: &mut Vec<Fault>) {
    let mut seen = BTreeSet::new();
    for (name, value) in &server.settings {
        let path = format!("server.settings.{name}");
        let lower = name.to_ascii_lowercase();
        if !is_setting_name(name) {
            let what = format!("`{}` cannot be the name of a setting", shown(name));
            faults.push(fault(path, what, "use the names of postgresql.conf, such as work_mem"));
        } else if OURS.contains(&lower.as_str()) {
            let what = format!("`{lower}` is set by pgdyno itself");
            faults.push(fault(path, what, "say it with --data, --port or --listen"));
        } else if !seen.insert(lower) {
            let what = format!("the setting `{name}` is given twice in different letters");
            faults.push(fault(path, what, "names of settings do not depend on case: keep one"));
        } else if value.chars().any(char::is_control) {
            let what = format!("the value of `{name}` holds a control character");
            faults.push(fault(path, what, "write it on one line"));
        }
    }
}

/// Names as `guc-file.l` takes them: an identifier, or two joined by a dot for an extension's setting.
fn is_setting_name(name: &str) -> bool {
    let word = |part: &str| {
        let mut chars = part.chars();
        chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
            && chars.all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$'))
    };
    name.len() <= 63 && name.split('.').count() <= 2 && name.split('.').all(word)
}

fn clients(plan: &Plan, faults: &mut Vec<Fault>) {
    if let Some(clients) = plan.measure.clients.clone().given() {
        client_list("measure.clients", &clients, faults);
    }
}

/// Checks a list of client counts.
pub(super) fn client_list(path: &str, clients: &[u32], faults: &mut Vec<Fault>) {
    let hint = "write for example clients = [1, 8, 32]";
    if clients.is_empty() {
        faults.push(fault(path, "no client count is given", hint));
    }
    if clients.len() > MAX_CLIENT_COUNTS {
        let what = format!("{} client counts are more than {MAX_CLIENT_COUNTS}", clients.len());
        faults.push(fault(path, what, hint));
    }
    for (index, &count) in clients.iter().enumerate() {
        let path = format!("{path}[{index}]");
        if !(1..=MAX_CLIENTS).contains(&count) {
            let what = format!("{count} clients are not between 1 and {MAX_CLIENTS}");
            faults.push(fault(path, what, hint));
        } else if clients[..index].contains(&count) {
            let hint = "use `blocks` to run a cell more than once";
            faults.push(fault(path, format!("the client count {count} is there twice"), hint));
        }
    }
}

pub(super) fn numbers(plan: &Plan, faults: &mut Vec<Fault>) {
    if let Some(scale) = plan.data.scale.given().filter(|scale| !(1..=MAX_SCALE).contains(scale)) {
        let what = format!("the scale {scale} is not between 1 and {MAX_SCALE}");
        faults.push(fault("data.scale", what, "one unit of scale is 100,000 accounts, about 15 MiB"));
    }
    if let Some(jobs) = plan.measure.jobs.given().filter(|jobs| !(1..=MAX_JOBS).contains(jobs)) {
        let what = format!("{jobs} threads are not between 1 and {MAX_JOBS}");
        faults.push(fault("measure.jobs", what, "one thread for each processor of the driver is enough"));
    }
    let blocks = plan.measure.blocks;
    if !(1..=MAX_BLOCKS).contains(&blocks) {
        let what = format!("{blocks} blocks are not between 1 and {MAX_BLOCKS}");
        faults.push(fault("measure.blocks", what, "3 for a first look, 5 or more for publication"));
    }
    if let Some(rate) = plan.measure.rate.filter(|rate| !(*rate > 0.0 && *rate <= MAX_RATE_PER_S)) {
        let what = format!("the rate {rate} is not a number above 0 and at most {MAX_RATE_PER_S:e}");
        faults.push(fault("measure.rate", what, "leave `rate` out for a closed loop"));
    }
}

pub(super) fn times(plan: &Plan, faults: &mut Vec<Fault>) {
    let ms = |limit: Duration| Span::from_millis(limit.as_millis() as u64);
    let (duration, warmup) = (plan.measure.duration, plan.measure.warmup);
    if duration.as_duration() < MIN_DURATION {
        let what = format!("an interval of {duration} is shorter than {}", ms(MIN_DURATION));
        faults.push(fault("measure.duration", what, "5s shows something, 30s can be judged for steadiness"));
    }
    if warmup.as_duration() > MAX_WARMUP {
        let what = format!("a warm-up of {warmup} is longer than {}", ms(MAX_WARMUP));
        faults.push(fault("measure.warmup", what, "it precedes every run: keep it short"));
    }
}

/// A word of the user's as an error shows it: without control characters, at most 60 characters.
pub(super) fn shown(text: &str) -> String {
    let plain = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    let mut shown: String = text.chars().take(60).map(plain).collect();
    if text.chars().nth(60).is_some() {
        shown.push('…');
    }
    shown
}
