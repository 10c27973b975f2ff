//! `[host]`: what of the host is changed for the runs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Plan,
    fault::{Fault, fault, shown},
};

/// What a plan expects of values.
const VALUES: &str = "a table of names with their values in quotes, such as { \"vm.swappiness\" = \"1\" }";

/// What of the host is changed for the runs, and put back after them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HostPlan {
    /// Whether the host is changed; the command line must have `--allow-host-changes`, too, and root must give it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apply: Option<bool>,
    /// Kernel parameters, and files of sysfs by their paths, with the values to set. Default: what `pgdyno host check`
    /// recommends.
    #[schemars(extend("x-expects" = VALUES))]
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, String>,
}

impl HostPlan {
    /// The host as it is, whatever else is said.
    pub fn unchanged() -> Self {
        Self { apply: Some(false), ..Self::default() }
    }

    /// The host as recommended.
    pub fn recommended() -> Self {
        Self { apply: Some(true), ..Self::default() }
    }

    /// Whether nothing is said of the host.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the host is changed.
    pub fn applies(&self) -> bool {
        self.apply == Some(true)
    }

    /// This, or the other where nothing is said of the host.
    #[must_use]
    pub fn over(&self, other: &Self) -> Self {
        if self.is_default() { other.clone() } else { self.clone() }
    }

    /// Fault of the keys below this path.
    fn fault(&self, path: &str) -> Option<Fault> {
        if !self.set.is_empty() && !self.applies() {
            let hint = "write `apply = true`, too, or leave `set` out";
            return Some(fault(format!("{path}.set"), "values are given, but `apply` is not true", hint));
        }
        let no_value = |text: &str| text.trim().is_empty() || text.contains(['\0', '\n']);
        let (name, _) = self.set.iter().find(|(name, value)| no_value(name) || no_value(value))?;
        let what = format!("`{}` has no usable name or value", shown(name));
        Some(fault(format!("{path}.set"), what, "write such as \"vm.swappiness\" = \"1\""))
    }
}

impl Plan {
    /// Appends the faults of what is said of the host.
    pub(super) fn host_faults(&self, faults: &mut Vec<Fault>) {
        faults.extend(self.host.fault("host"));
        let subjects = self.subject.iter().enumerate();
        faults.extend(subjects.filter_map(|(at, of)| of.host.fault(&format!("subject[{at}].host"))));
        if !self.server.host.is_default() {
            let what = "`host` is a key of a [[subject]]";
            faults.push(fault("server.host", what, "write [host] for the runs of all subjects"));
        }
        if self.host.applies() && self.needs_no_server() {
            let what = "the host is changed for runs on a server, and the plan has none";
            faults.push(fault("host.apply", what, "change it with `pgdyno host apply` before"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Plan, pgdyno_core::problem::Problem> {
        Plan::from_toml(&format!("name = \"x\"\n{text}\n[[workload]]\nscript = \"select-only\"\n"), "x.toml")
    }

    #[test]
    fn a_subject_goes_over_the_plan() {
        let plan = read(
            "[host]\napply = true\n[[subject]]\nhost.apply = false\n[[subject]]\n[[subject]]\n\
             host = { apply = true, set = { \"vm.swappiness\" = \"1\" } }",
        )
        .expect("it is right");
        let [a, b, c] = [0, 1, 2].map(|at: usize| plan.subject[at].host.over(&plan.host));
        assert_eq!((a, b), (HostPlan::unchanged(), HostPlan::recommended()));
        assert_eq!(c.set["vm.swappiness"], "1");
    }

    #[test]
    fn what_is_wrong_is_told() {
        for (text, said) in [
            ("[host]\nset = { \"vm.swappiness\" = \"1\" }", "values are given, but `apply` is not true"),
            ("[host]\napply = true\nset = { \"vm.swappiness\" = \"\" }", "no usable name or value"),
            ("[server]\nhost.apply = true", "`host` is a key of a [[subject]]"),
            ("[[subject]]\nhost.set = { a = \"1\" }", "values are given, but `apply` is not true"),
            ("[host]\napplied = true", "unknown key `applied` in [host]"),
        ] {
            let problem = read(text).expect_err(text);
            assert!(problem.what.contains(said), "{text}: {}", problem.what);
        }
        let text = "name = \"x\"\n[host]\napply = true\n[[stage]]\naction = \"disk clock\"\n";
        let problem = Plan::from_toml(text, "x.toml").expect_err("there is no server");
        assert!(problem.what.contains("the plan has none"), "{}", problem.what);
    }
}
