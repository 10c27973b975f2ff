//! Checks `[load]`.

use crate::{
    Plan, WorkloadPlan,
    fault::{Fault, fault},
};

/// Appends the faults of `[load]`.
pub(super) fn faults(plan: &Plan, faults: &mut Vec<Fault>) {
    let load = &plan.load;
    loaded(plan, faults);
    for (at, workload) in plan.workload.iter().enumerate() {
        // Numbers out of range would overflow.
        if faults.is_empty() {
            faults.extend(of_workload(plan, workload, &format!("workload[{at}].load")));
        }
    }
    let (scaleup, tpcc) = (plan.data.scaleup.is_some(), plan.data.tpcc.is_some());
    if !load.is_default() && !plan.data.loaded && !plan.has_tpcb() && !scaleup && !tpcc {
        let what = "the plan has [load] but loads no tables";
        faults.push(fault("load", what, "leave [load] out, or give `scale` in [data] a number"));
    }
    // Numbers out of range would overflow.
    if faults.is_empty() {
        faults.extend(load_of(plan));
    }
}

/// The fault of the options for loading a plan's tables.
pub(super) fn load_of(plan: &Plan) -> Option<Fault> {
    let load = &plan.load;
    let no_name = |name: &&(&str, &Option<String>)| {
        name.1.as_ref().is_some_and(|name| name.trim().is_empty() || name.contains('\0'))
    };
    let tablespaces = [("tablespace", &load.tablespace), ("index_tablespace", &load.index_tablespace)];
    if let Some((key, _)) = tablespaces.iter().find(no_name) {
        let what = format!("`{key}` names no tablespace");
        return Some(fault(format!("load.{key}"), what, "write its name, or leave it out"));
    }
    let request = plan.load_request(plan.data.scale.given()).unwrap_or_else(|| load.clone());
    request.conflict().map(|one| fault(format!("load.{}", one.key), one.what, one.hint))
}

/// The fault of the tables of a workload, with the options of `[load]` where it has none.
fn of_workload(plan: &Plan, workload: &WorkloadPlan, path: &str) -> Option<Fault> {
    let terms = workload.load.terms();
    let (option, _) = terms.first()?;
    let is_loaded = !plan.data.loaded && (plan.has_tpcb() || plan.data.scaleup.is_some());
    if !is_loaded {
        let what = format!(
            "`{option}` is about tables of TPC-B or scaleup that pgdyno loads, and the plan has none"
        );
        return Some(fault(path, what, "leave `load` out of the workload; subjects have it for all tables"));
    }
    if workload.load.unlogged {
        let what = "`unlogged` is the same for all workloads: it changes what a crash may lose";
        return Some(fault(format!("{path}.unlogged"), what, "write it into [load]"));
    }
    if plan.data.is_own() {
        let what = "tables of a workload are loaded between runs, but the plan's setup runs once";
        return Some(fault(path, what, "leave the setup out, or write a plan for each way of loading"));
    }
    let is_given = |name: &String| {
        plan.subject
            .iter()
            .any(|subject| subject.load.terms().iter().any(|(of_subject, _)| of_subject == name))
    };
    if let Some((name, _)) = terms.iter().find(|(name, _)| is_given(name)) {
        let what = format!("`{name}` is given for a workload and for a subject");
        return Some(fault(path, what, "vary it with one of them: between subjects it is compared"));
    }
    load_of(&plan.with_load(&workload.load.over(&plan.load)))
        .map(|fault| Fault { path: fault.path.replacen("load", path, 1), ..fault })
}

/// Appends the faults of tables that exist already.
fn loaded(plan: &Plan, faults: &mut Vec<Fault>) {
    if !plan.data.loaded {
        return;
    }
    if !plan.load.is_default() {
        let what = "the tables are loaded already, so options for loading them have no effect";
        faults.push(fault(
            "load",
            what,
            "leave [load] and its flags out, or let pgdyno load tables of its own",
        ));
    }
    let changes = plan.data.is_own() || plan.workload.iter().any(|workload| workload.reset.is_some());
    if changes {
        let what = "tables that are loaded already are used unchanged, but the plan has a setup or a reset";
        faults.push(fault("data.loaded", what, "leave both out, or let pgdyno load tables of its own"));
    }
}

#[cfg(test)]
mod tests {
    use crate::Plan;

    fn read(text: &str) -> Result<Plan, pgdyno_core::problem::Problem> {
        Plan::from_toml(&format!("name = \"x\"\n{text}"), "x.toml")
    }

    /// The same built-in script twice: on plain tables and on partitions.
    #[test]
    fn a_workload_has_tables_of_its_own() {
        let plan = read(
            "[load]\nfillfactor = 90\n[[workload]]\nname = \"plain\"\nscript = \"tpcb-like\"\n[[workload]]\n\
             name = \"parted\"\nscript = \"tpcb-like\"\nload = { partitions = 8 }",
        )
        .expect("it is right");
        let [plain, parted] = [0, 1].map(|at: usize| plan.workload[at].load.over(&plan.load));
        assert_eq!((plain.partitions, plain.fillfactor), (None, Some(90)));
        assert_eq!((parted.partitions, parted.fillfactor), (Some(8), Some(90)));
    }

    #[test]
    fn what_is_wrong_with_tables_of_a_workload_is_reported() {
        let of = |load: &str| format!("[[workload]]\nscript = \"tpcb-like\"\nload = {{ {load} }}\n");
        let plain = "[[workload]]\nscript = \"tpcb-like\"\n";
        for (text, said) in [
            (of("partition = 8"), "unknown key `partition` in `load` of [[workload]]"),
            (of("fillfactor = 4"), "4 is not between 10 and 100"),
            (of("unlogged = true"), "`unlogged` is the same for all workloads"),
            (of("partition_method = \"hash\""), "a partition method is given, but there are no partitions"),
            (
                format!("[data]\nloaded = true\n{}", of("partitions = 4")),
                "`partitions` is about tables of TPC-B",
            ),
            (
                format!("[data]\nscale = 1\nsetup_text = \"SELECT 1\"\n{}", of("partitions = 4")),
                "but the plan's setup runs once",
            ),
            (
                format!("{}[[subject]]\npg = \"18\"\nload = {{ partitions = 2 }}", of("partitions = 4")),
                "`partitions` is given for a workload and for a subject",
            ),
            (
                format!("{plain}{}", of("partitions = 4")),
                "tpcb-like over the prepared protocol is listed twice",
            ),
            (format!("{plain}name = \"w\""), "a built-in script cannot have a `name`"),
        ] {
            let problem = read(&text).expect_err(&text);
            assert!(problem.what.contains(said), "{text}: {}", problem.what);
        }
    }
}
