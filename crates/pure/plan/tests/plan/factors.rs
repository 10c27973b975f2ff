//! Factors: what their combinations are, and what cannot be one.

use pgdyno_plan::{Plan, WorkloadFiles};
use pgdyno_script::Protocol;

const WORKLOAD: &str = "[[workload]]\nscript = \"select-only\"\n";

fn read(text: &str) -> Plan {
    Plan::from_toml(&format!("name = \"x\"\n{text}\n"), "x.toml").expect(text)
}

fn expanded(text: &str) -> Plan {
    let plan = read(&format!("{text}\n{WORKLOAD}")).expanded().expect(text);
    assert!(plan.factor.is_empty() && plan.faults().is_empty(), "{:?}", plan.faults());
    plan
}

fn subjects(plan: &Plan) -> Vec<&str> {
    plan.subject.iter().filter_map(|subject| subject.name.as_deref()).collect()
}

#[test]
fn levels_of_a_server_are_subjects() {
    let plan = expanded("[[factor]]\nkey = \"server.pg\"\nlevels = [\"15\", \"18\"]");
    assert_eq!(subjects(&plan), ["pg=15", "pg=18"]);
    assert_eq!(plan.subject[1].pg.as_deref(), Some("18"));
    let plan = expanded(
        "[[factor]]\nkey = \"load.fillfactor\"\nlevels = [70, 100]\n\
         [[factor]]\nname = \"vacuum\"\nkey = \"server.settings.autovacuum\"\nlevels = [\"on\", \"off\"]",
    );
    let names = [
        "fillfactor=70, vacuum=on",
        "fillfactor=70, vacuum=off",
        "fillfactor=100, vacuum=on",
        "fillfactor=100, vacuum=off",
    ];
    assert_eq!(subjects(&plan), names);
    let second = &plan.subject[1];
    assert_eq!((second.load.fillfactor, second.settings["autovacuum"].as_str()), (Some(70), "off"));
}

/// A table sets several keys, adds to those of the subject, and has a name of its own.
#[test]
fn a_level_may_have_several_keys() {
    let plan = expanded(
        "[[subject]]\nname = \"old\"\npg = \"15\"\nsettings = { jit = \"off\" }\n\
         [[subject]]\nname = \"new\"\npg = \"18\"\n\
         [[factor]]\nkey = \"server\"\nlevels = [{ name = \"small\", settings = { work_mem = \"1MB\" } },\n\
         { name = \"large\", settings = { work_mem = \"64MB\" }, wal_segsize = 64 }]",
    );
    assert_eq!(subjects(&plan), ["old, small", "old, large", "new, small", "new, large"]);
    let large = &plan.subject[1];
    assert_eq!((large.settings["jit"].as_str(), large.settings["work_mem"].as_str()), ("off", "64MB"));
    assert_eq!((large.wal_segsize, plan.subject[2].settings.get("jit")), (Some(64), None));
}

#[test]
fn a_level_of_the_host_adds_to_what_the_plan_changes() {
    let plan = expanded(
        "[host]\napply = true\nset = { \"vm.swappiness\" = \"1\" }\n\
         [[factor]]\nkey = \"host.set.vm.dirty_background_ratio\"\nlevels = [\"1\", \"10\"]",
    );
    let set: Vec<_> =
        plan.subject[1].host.set.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(set, ["vm.dirty_background_ratio=10", "vm.swappiness=1"]);
    assert!(plan.subject.iter().all(|subject| subject.host.applies()));
}

#[test]
fn levels_of_sessions_are_workloads_that_take_turns() {
    let plan = read(
        "[[factor]]\nkey = \"variables.range\"\nlevels = [10, 1000]\n\
         [[factor]]\nkey = \"workload.protocol\"\nlevels = [\"simple\", \"prepared\"]\n\
         [[workload]]\nname = \"read\"\ntext = \"SELECT :range\"\n\
         [[workload]]\nname = \"write\"\ntext = \"SELECT -:range\"\ndefine = { n = 1 }",
    );
    let plan = plan.expanded().expect("they can be combined");
    let names: Vec<_> = plan.workload.iter().map(|workload| workload.title()).collect();
    assert_eq!(names[..4], ["read-10-simple", "read-10-prepared", "read-1000-simple", "read-1000-prepared"]);
    let of: Vec<_> = plan.workload.iter().filter_map(|workload| workload.of).collect();
    assert_eq!(of, [0, 0, 0, 0, 1, 1, 1, 1]);
    assert_eq!((plan.workload[4].protocol, plan.workload[4].define.len()), (Protocol::Simple, 2));
    let work = WorkloadFiles::without_files(&plan).expect("its variables are known").work;
    assert_eq!(work[3].definitions[0].value, "1000");
}

#[test]
fn a_built_in_script_keeps_its_name() {
    let plan = expanded("[[factor]]\nkey = \"workload.protocol\"\nlevels = [\"simple\", \"prepared\"]");
    let of: Vec<_> = plan.workload.iter().map(|workload| (workload.title(), workload.protocol)).collect();
    assert_eq!(of, [("select-only", Protocol::Simple), ("select-only", Protocol::Prepared)]);
}

/// The same plan, by hand and by factors.
#[test]
fn a_factor_says_what_can_be_written_out() {
    let by_hand = read(
        "[[workload]]\nname = \"r-1\"\ntext = \"SELECT :n\"\ndefine = { n = 1 }\n\
         [[workload]]\nname = \"r-2\"\ntext = \"SELECT :n\"\ndefine = { n = 2 }",
    );
    let by_factor = read(
        "[[factor]]\nkey = \"variables.n\"\nlevels = [1, 2]\n[[workload]]\nname = \"r\"\ntext = \"SELECT :n\"",
    );
    let mut plan = by_factor.expanded().expect("it can be");
    plan.workload.iter_mut().for_each(|workload| workload.of = None);
    assert_eq!(plan, by_hand);
}

#[test]
fn a_size_has_levels_of_its_own() {
    let text = "[[factor]]\nkey = \"variables.n\"\nlevels = [1, 2]\n[[workload]]\nname = \"r\"\ntext = \"SELECT :n\"\n\
                [size.large.levels]\nn = [100, 200, 300]";
    let large = read(text).at_size("large").and_then(Plan::expanded).expect("it has this size");
    assert_eq!((read(text).expanded().expect("it can be").workload.len(), large.workload.len()), (2, 3));
}

/// Factors that no plan can have, what is said of each, and a part of the hint.
const WRONG: [(&str, &str, &str); 15] = [
    (
        "[[factor]]\nkey = \"measure.clients\"\nlevels = [1, 2]",
        "x.toml:3:7: `measure.clients` cannot be a factor",
        "client counts are levels already",
    ),
    (
        "[[factor]]\nkey = \"workload.clients\"\nlevels = [[1], [2]]",
        "`workload.clients` cannot be a factor",
        "client counts are levels already",
    ),
    (
        "[[factor]]\nkey = \"measure.blocks\"\nlevels = [1, 2]",
        "`measure.blocks` cannot be a factor",
        "keys of server, host, load, workload and variables",
    ),
    (
        "[[factor]]\nkey = \"data.scale\"\nlevels = [1, 2]",
        "`data.scale` cannot be a factor",
        "keys of server",
    ),
    (
        "[[factor]]\nkey = \"server.prest\"\nlevels = [\"a\"]",
        "there is no key `server.prest`",
        "as in the plan",
    ),
    ("[[factor]]\nkey = \"server.pg\"\nlevels = []", "a factor has 1 to 64 levels, not 0", "compared"),
    (
        "[[factor]]\nkey = \"server.pg\"\nlevels = [\"18\", \"8\"]",
        "x.toml:4:10: level `8`: `8` is no version",
        "",
    ),
    (
        "[[factor]]\nkey = \"server.pg\"\nlevels = [18]",
        "level `18`: `server.pg` must be a text in quotes",
        "",
    ),
    (
        "[[factor]]\nkey = \"server\"\nlevels = [{ name = \"a\", pgs = \"18\" }]",
        "level `a`: unknown field `pgs`",
        "",
    ),
    (
        "[[factor]]\nkey = \"server.settings.port\"\nlevels = [\"1\", \"2\"]",
        "`port` is set by pgdyno itself",
        "",
    ),
    ("[[factor]]\nkey = \"server.pg\"\nlevels = [\"18\", \"18\"]", "two levels are called `18`", ""),
    (
        "[[factor]]\nkey = \"server.pg\"\nlevels = [\"18\"]\n[[factor]]\nkey = \"server.pg\"\nlevels = [\"15\"]",
        "two factors are called `pg`",
        "one [[factor]]",
    ),
    (
        "[[factor]]\nkey = \"server.pg\"\nlevels = [\"18\"]\n[size.s.levels]\nversion = [\"15\"]",
        "there is no factor `version`",
        "name a [[factor]]",
    ),
    (
        "[[factor]]\nkey = \"server.pg\"\nlevels = [\"18\"]\n[size.s.levels]\npg = [\"8\"]",
        "level `8`: `8` is no version",
        "",
    ),
    ("[[factor]]\nkey = \"server.pg\"\nlevel = [\"18\"]", "unknown key `level` in [[factor]]", "levels"),
];

#[test]
fn what_cannot_be_a_factor_is_reported_with_its_line() {
    let many = format!(
        "[[factor]]\nkey = \"server.settings.work_mem\"\nlevels = [{}]",
        (0..17).map(|n| format!("\"{n}MB\"")).collect::<Vec<_>>().join(", ")
    );
    let huge: String = ["work_mem", "temp_buffers", "wal_buffers", "maintenance_work_mem"]
        .map(|name| many.replace("work_mem", name))
        .join("\n");
    let combined = [
        (&many[..], "17 subjects are too many: at most 16 are possible", ""),
        (&huge[..], "the factors have 83521 combinations: at most 10000 are possible", "leave out levels"),
    ];
    for (text, said, hint) in WRONG.into_iter().chain(combined) {
        let text = format!("name = \"x\"\n{text}\n{WORKLOAD}");
        let problem = Plan::from_toml(&text, "x.toml").expect_err(&text);
        assert!(problem.what.contains(said), "{text}: {}", problem.what);
        assert!(problem.hint.as_deref().unwrap_or_default().contains(hint), "{text}: {:?}", problem.hint);
    }
}
