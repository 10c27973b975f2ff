//! Checks what a plan says of the host.

use crate::{
    HostPlan, Plan,
    fault::{Fault, fault, shown},
};

/// Appends the faults of what is said of the host.
pub(super) fn host(plan: &Plan, faults: &mut Vec<Fault>) {
    faults.extend(wrong(&plan.host, "host"));
    let subjects = plan.subject.iter().enumerate();
    faults.extend(subjects.filter_map(|(at, of)| wrong(&of.host, &format!("subject[{at}].host"))));
    if !plan.server.host.is_default() {
        let what = "`host` is a key of a [[subject]]";
        faults.push(fault("server.host", what, "write [host] for the runs of all subjects"));
    }
    if plan.host.applies() && plan.needs_no_server() {
        let what = "the host is changed for runs on a server, and the plan has none";
        faults.push(fault("host.apply", what, "change it with `pgdyno host apply` before"));
    }
}

/// Fault of the keys below this path.
fn wrong(host: &HostPlan, path: &str) -> Option<Fault> {
    if !host.set.is_empty() && !host.applies() {
        let hint = "write `apply = true`, too, or leave `set` out";
        return Some(fault(format!("{path}.set"), "values are given, but `apply` is not true", hint));
    }
    let no_value = |text: &str| text.trim().is_empty() || text.contains(['\0', '\n']);
    let (name, _) = host.set.iter().find(|(name, value)| no_value(name) || no_value(value))?;
    let what = format!("`{}` has no usable name or value", shown(name));
    Some(fault(format!("{path}.set"), what, "write such as \"vm.swappiness\" = \"1\""))
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
    fn what_is_wrong_is_reported() {
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
        let text =
            "name = \"x\"\n[host]\napply = true\n[data]\nscale = \"none\"\n[[stage]]\ndo = \"disk clock\"\n";
        let problem = Plan::from_toml(text, "x.toml").expect_err("there is no server");
        assert!(problem.what.contains("the plan has none"), "{}", problem.what);
    }
}
