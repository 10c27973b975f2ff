//! Checks that a plan makes sense beyond its grammar.

mod host;
mod load;
mod measure;
mod ranges;
mod server;
mod stages;
mod subjects;
mod tpcc;
mod work;

use pgdyno_core::problem::Problem;

pub use server::OLDEST_PG;
pub use work::RESERVED;

use super::{
    Plan,
    fault::{Fault, fault, shown},
    levels,
};

impl Plan {
    /// All faults of the plan, numbers out of range first; empty if it is valid.
    pub fn faults(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        ranges::ranges(self, &mut faults);
        name(self, &mut faults);
        server::server(self, &mut faults);
        subjects::subjects(self, &mut faults);
        load::faults(self, &mut faults);
        stages::stages(self, &mut faults);
        host::host(self, &mut faults);
        self.storage.faults("storage.declared.", &mut faults);
        work::own_work(self, &mut faults);
        measure::clients(self, &mut faults);
        measure::rate(self, &mut faults);
        measure::times(self, &mut faults);
        // A level would repeat what is wrong without it.
        if faults.is_empty() {
            levels::faults(self, &mut faults);
        }
        faults
    }

    /// Checks a plan that was not read from a file.
    ///
    /// # Errors
    /// The first of [`Plan::faults`], as a wrong request.
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
