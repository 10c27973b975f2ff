//! Assigns processors to the driver and to the server.

use pgdyno_core::{cpus::CpuList, facts::Choice, host::Inventory, problem::Problem};

use super::facts::{BenchFacts, choose};
use crate::Plan;

/// The driver gets one of this many processors, and at least one.
const DRIVER_SHARE: usize = 4;

/// Processors assigned to the driver and to the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuSplit {
    /// Processor numbers of the driver, ascending; never empty.
    pub driver: Vec<u32>,
    /// Processor numbers of the server, ascending; empty if pgdyno does not pin the server.
    pub server: Vec<u32>,
    /// Whether driver and server share at least one processor.
    pub shared: bool,
}

impl CpuSplit {
    /// Number of processors that the server can use, as far as known.
    pub(super) fn server_count(&self, facts: &BenchFacts<'_>) -> usize {
        if self.server.is_empty() { usable(facts.host).len() } else { self.server.len() }
    }
}

/// The processors that can really be used in parallel: of those allowed, as many as the control group's CPU
/// quota covers.
pub(super) fn usable(host: &Inventory) -> Vec<u32> {
    let quota = host.kernel.cgroup.cpus.map_or(usize::MAX, |cpus| (cpus as usize).max(1));
    let allowed: Vec<u32> = host.allowed_cpus().into_iter().take(quota).collect();
    // A kernel that reports none still runs on one.
    if allowed.is_empty() { vec![0] } else { allowed }
}

/// Splits the processors as the plan says. By default the driver gets one of two or three, and a quarter of
/// four and more: the last ones, since interrupts tend to go to the first. A single processor is shared. A
/// server that pgdyno did not start is not moved.
///
/// # Errors
/// The plan names a processor that this process may not run on.
pub fn split(plan: &Plan, facts: &BenchFacts<'_>, choices: &mut Vec<Choice>) -> Result<CpuSplit, Problem> {
    let usable = usable(facts.host);
    let driver = given(plan.measure.driver_cpus.as_deref(), "driver_cpus", facts.host)?;
    let server = given(plan.server.cpus.as_deref(), "cpus of the server", facts.host)?;
    if !facts.own_server {
        let driver = driver.unwrap_or(usable);
        return Ok(CpuSplit { driver, server: Vec::new(), shared: facts.server_local });
    }
    let without = |taken: &[u32]| {
        let rest: Vec<u32> = usable.iter().copied().filter(|cpu| !taken.contains(cpu)).collect();
        if rest.is_empty() { usable.clone() } else { rest }
    };
    let (driver, server) = match (driver, server) {
        (Some(driver), Some(server)) => (driver, server),
        (Some(driver), None) => (driver.clone(), without(&driver)),
        (None, Some(server)) => (without(&server), server),
        (None, None) => {
            let driver = automatic(&usable).to_vec();
            (driver.clone(), without(&driver))
        }
    };
    let shared = driver.iter().any(|cpu| server.contains(cpu));
    say(plan, &driver, &server, shared, choices);
    Ok(CpuSplit { driver, server, shared })
}

/// The last quarter of the processors, at least one.
fn automatic(usable: &[u32]) -> &[u32] {
    let count = (usable.len() / DRIVER_SHARE).max(1);
    &usable[usable.len() - count..]
}

fn given(list: Option<&str>, what: &str, host: &Inventory) -> Result<Option<Vec<u32>>, Problem> {
    let Some(text) = list else { return Ok(None) };
    let cpus = text.parse::<CpuList>().map_err(|error| Problem::wrong_request(error.to_string()))?.into_vec();
    let allowed = host.allowed_cpus();
    match cpus.iter().find(|cpu| !allowed.contains(cpu)) {
        None => Ok(Some(cpus)),
        Some(cpu) => {
            let allowed = CpuList::of(allowed).map(|list| list.to_string()).unwrap_or_default();
            let problem = Problem::wrong_request(format!("{what}: pgdyno may not run on processor {cpu}"));
            Err(problem.hint(format!("this process may run on {allowed}")))
        }
    }
}

fn say(plan: &Plan, driver: &[u32], server: &[u32], shared: bool, choices: &mut Vec<Choice>) {
    let list = |cpus: &[u32]| CpuList::of(cpus.to_vec()).map(|list| list.to_string()).unwrap_or_default();
    let reason = |share: &str| match shared {
        true => "no processor can be set apart: driver and server slow each other down".to_owned(),
        false => format!("{share}, so that neither slows the other down"),
    };
    if plan.measure.driver_cpus.is_none() {
        choose(choices, "driver_cpus", list(driver), reason("a quarter of the processors, at least one"));
    }
    if plan.server.cpus.is_none() {
        choose(choices, "server_cpus", list(server), reason("the processors that the driver leaves"));
    }
}
