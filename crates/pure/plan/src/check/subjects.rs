//! Checks the subjects of a plan.

use super::{load::load_of, server::one_server};
use crate::{
    MAX_SUBJECTS, Plan, ServerPlan,
    fault::{Fault, fault, shown},
};

/// Longest name of a subject, in characters.
const MAX_NAME: usize = 40;

/// Appends the faults of the subjects.
pub(super) fn subjects(plan: &Plan, faults: &mut Vec<Fault>) {
    if plan.subject.len() > MAX_SUBJECTS {
        let what =
            format!("{} subjects are too many: at most {MAX_SUBJECTS} are possible", plan.subject.len());
        faults.push(fault("subject", what, "all their servers run at once: compare fewer"));
    }
    if plan.subject.len() > 1 {
        let server = &plan.server;
        for (key, given) in [
            ("data", server.data.is_some()),
            ("waldir", server.waldir.is_some()),
            ("tablespaces", !server.tablespaces.is_empty()),
        ] {
            if given {
                let what = format!("several servers cannot share one `{key}`");
                let hint = format!("write `{key}` into each [[subject]], or leave it out");
                faults.push(fault(format!("server.{key}"), what, hint));
            }
        }
    }
    for (at, subject) in plan.subject.iter().enumerate() {
        let path = format!("subject[{at}]");
        let mut wrong = Vec::new();
        one_server(subject, &mut wrong);
        // Numbers out of range, found before, would overflow.
        if faults.is_empty() {
            wrong.extend(load(plan, subject));
        }
        faults.extend(
            wrong.into_iter().map(|fault| Fault { path: fault.path.replacen("server", &path, 1), ..fault }),
        );
        for (key, given) in
            [("data_checksums", subject.data_checksums.is_some()), ("cpus", subject.cpus.is_some())]
        {
            if given {
                let what = format!("`{key}` is the same for all subjects");
                faults.push(fault(format!("{path}.{key}"), what, "write it into [server]"));
            }
        }
        name(&path, subject, &plan.subject[..at], faults);
    }
}

/// Fault of the tables of a subject, with the options of `[load]` where it has none.
fn load(plan: &Plan, subject: &ServerPlan) -> Option<Fault> {
    let (option, _) = subject.load.terms().into_iter().next()?;
    if plan.data.loaded || (!plan.has_tpcb() && plan.data.scaleup.is_none() && plan.data.tpcc.is_none()) {
        let what = format!("`{option}` is about tables that pgdyno loads, and the plan loads none");
        return Some(fault("server.load", what, "leave `load` out of the subject"));
    }
    load_of(&plan.with_load(&subject.load.over(&plan.load)))
        .map(|fault| Fault { path: fault.path.replacen("load", "server.load", 1), ..fault })
}

fn name(path: &str, subject: &ServerPlan, before: &[ServerPlan], faults: &mut Vec<Fault>) {
    let Some(name) = &subject.name else { return };
    let path = format!("{path}.name");
    if name.trim().is_empty() || name.chars().count() > MAX_NAME || name.chars().any(char::is_control) {
        let what = format!("`{}` cannot name a subject", shown(name));
        faults.push(fault(path, what, format!("use one line of 1 to {MAX_NAME} characters")));
    } else if before.iter().any(|other| other.name.as_ref() == Some(name)) {
        let what = format!("two subjects are called `{}`", shown(name));
        faults.push(fault(path, what, "give each a name of its own"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORKLOAD: &str = "[[workload]]\nscript = \"select-only\"\n";

    fn read(text: &str) -> Result<Plan, pgdyno_core::problem::Problem> {
        Plan::from_toml(&format!("name = \"x\"\n{text}\n{WORKLOAD}"), "x.toml")
    }

    #[test]
    fn subjects_are_read_in_their_order() {
        let plan = read(
            "[[subject]]\nname = \"old\"\npg = \"9.6\"\n[[subject]]\nbuild = \"new\"\nsettings = { jit = \"off\" }",
        )
        .expect("it is right");
        let names: Vec<_> = plan.subject.iter().map(|subject| subject.name.as_deref()).collect();
        assert_eq!(names, [Some("old"), None]);
        assert_eq!(plan.subject[1].settings["jit"], "off");
    }

    /// Options of a subject are judged with those of `[load]`, which they override.
    #[test]
    fn a_subject_has_tables_of_its_own() {
        let plan = read(
            "[load]\npartition_method = \"hash\"\npartitions = 2\n[[subject]]\nload = { partitions = 8, \
             fillfactor = 70 }\n[[subject]]\nload.tablespace = \"t\"",
        )
        .expect("it is right");
        let [a, b] = [0, 1].map(|at: usize| plan.subject[at].load.over(&plan.load));
        assert_eq!((a.partitions, a.fillfactor, b.partitions), (Some(8), Some(70), Some(2)));
        assert_eq!(b.tablespace.as_deref(), Some("t"));
    }

    #[test]
    fn what_is_wrong_is_reported_with_its_line() {
        let many = "[[subject]]\npg = \"18\"\n".repeat(MAX_SUBJECTS + 1);
        for (text, said) in [
            ("[[subject]]\npgs = \"18\"", "x.toml:3:1: unknown key `pgs` in [[subject]]"),
            ("[subject]\npg = \"18\"", "`subject` must be a list of tables"),
            ("[[subject]]\npg = \"8\"", "x.toml:3:6: `8` is no version"),
            ("[[subject]]\nbuild = \"a\"\nbindir = \"/b\"", "`build` and `bindir` both"),
            ("[[subject]]\nbuild = \"a\"\nbundle = true", "`bundle` names the programs"),
            ("[server]\nbuild = \"a\"\nbundle = true", "`bundle` names the programs"),
            ("[server]\nname = \"a\"", "x.toml:3:8: `name` is a key of a [[subject]]"),
            ("[[subject]]\ncpus = \"0\"", "x.toml:3:8: `cpus` is the same for all subjects"),
            ("[[subject]]\ndata_checksums = true", "`data_checksums` is the same for all subjects"),
            ("[[subject]]\nsettings = { port = \"1\" }", "`port` is set by pgdyno itself"),
            ("[[subject]]\nname = \"\"", "cannot name a subject"),
            ("[[subject]]\npreset = \"tpcc\"", "x.toml:3:10: there is no preset `tpcc`"),
            ("[server]\npreset = \"\"", "`preset` names nothing"),
            ("[server]\nas_published = true", "`as_published` is said, but there is no preset"),
            ("[server]\nlisten = \"\"", "`listen` names no address"),
            ("[server]\nload.partitions = 4", "`load` is a key of a [[subject]]"),
            ("[[subject]]\nload.partition = 4", "unknown key `partition` in `load` of [[subject]]"),
            ("[[subject]]\nload.fillfactor = 4", "4 is not between 10 and 100"),
            (
                "[[subject]]\nload.partition_method = \"hash\"",
                "x.toml:3:25: a partition method is given, but there are no partitions",
            ),
            (
                "[data]\nloaded = true\n[[subject]]\nload.partitions = 4",
                "`partitions` is about tables that pgdyno loads, and the plan loads none",
            ),
            (
                "[[subject]]\nname = \"a\"\n[[subject]]\nname = \"a\"",
                "x.toml:5:8: two subjects are called `a`",
            ),
            ("[server]\ndata = \"/x\"\n[[subject]]\n[[subject]]", "several servers cannot share one `data`"),
            (&many, "17 subjects are too many: at most 16 are possible"),
        ] {
            let problem = read(text).expect_err(text);
            assert!(problem.what.contains(said), "{text}: {}", problem.what);
        }
    }
}
