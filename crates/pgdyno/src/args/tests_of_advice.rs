//! The advice of all libraries, for every command that prints it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::used;
use crate::advice::flags;

const MEASURING: &[&str] = &["bench", "ab", "run", "tpcc run"];
const LOADS: &[&str] = &["load tpcb", "load scaleup", "load tpcc"];
const SERVERS: &[&str] = &["bench", "ab", "run", "tpcc run", "up"];

/// The commands that print the texts of a file; of several lines the first that fits.
const SPEAKERS: &[(&str, &[&str])] = &[
    ("pgdyno-analysis/src/doubts/comparison.rs", &["ab"]),
    ("pgdyno-analysis/src/doubts/machine.rs", &["ab"]),
    ("pgdyno-detached/src/", LOADS),
    ("pgdyno-driving/src/", &["tpcc run"]),
    ("pgdyno-join/src/observer_file.rs", &["observe"]),
    ("pgdyno-join/src/", MEASURING),
    ("pgdyno-layout/src/derive.rs", &["host layout"]),
    ("pgdyno-lab/src/existing_tables.rs", &["bench", "ab", "run"]),
    ("pgdyno-lab/src/experiment/command.rs", &["ab"]),
    ("pgdyno-lab/src/host_states.rs", &["run", "ab"]),
    ("pgdyno-lab/src/operation/disk.rs", &["disk clock"]),
    ("pgdyno-lab/src/operation/", LOADS),
    ("pgdyno-lab/src/restarts.rs", &["ab", "run"]),
    ("pgdyno-lab/src/prepare.rs", &["ab"]),
    ("pgdyno-lab/src/refuse_clients.rs", &["ab"]),
    ("pgdyno-lab/src/programs.rs", &["run"]),
    ("pgdyno-lab/src/resume.rs", &["resume"]),
    ("pgdyno-lab/src/session_settings.rs", &["ab"]),
    ("pgdyno-lab/src/table_sets.rs", &["tpcc run", "run"]),
    ("pgdyno-lab/src/", MEASURING),
    ("pgdyno-plan/src/check/server.rs", SERVERS),
    ("pgdyno-plan/src/preset/", SERVERS),
    ("pgdyno-plan/src/", &["run"]),
    ("pgdyno-postgres/src/load/bulk/survey.rs", &["load tpcb", "load tpcc"]),
    ("pgdyno-postgres/src/load/bulk/", LOADS),
    ("pgdyno-postgres/src/load/copies/", &["load copy"]),
    ("pgdyno-postgres/src/load/schemas.rs", &["load tpcc"]),
    ("pgdyno-postgres/src/load/tpcc.rs", &["tpcc run", "run"]),
    ("pgdyno-postgres/src/load/", MEASURING),
    ("pgdyno-postgres/src/observe/replica.rs", &["bench", "ab", "run"]),
    ("pgdyno-postgres/src/verify/amcheck.rs", &["load verify"]),
    ("pgdyno-provision/src/bundle", SERVERS),
    ("pgdyno-provision/src/installation.rs", SERVERS),
    ("pgdyno-provision/src/process.rs", SERVERS),
    ("pgdyno-provision/src/registry.rs", &["up"]),
    // `allow` is a flag of `up` and a key of plans.
    ("pgdyno-provision/src/conf.rs", &["up", "run", "ab"]),
    ("pgdyno-provision/src/up.rs", &["up"]),
    ("pgdyno-record/src/", MEASURING),
    ("pgdyno-rows/src/load/table_options.rs", MEASURING),
    // A number of rows or warehouses is that of the load of these tables, or of a plan.
    ("pgdyno-rows/src/load/plan.rs", &["run"]),
    ("pgdyno-rows/src/load/size.rs", &["load scaleup", "run"]),
    ("pgdyno-top/src/", &["top"]),
];

/// Files whose flags are those of other programs, or are read and not advised.
const OTHERS: &[&str] = &[
    "pgdyno-analysis/src/doubts/keys.rs",
    "pgdyno-core/src/facts/build.rs",
    // `useradd --system` is among its hints; --run-as is a flag of all that start servers.
    "pgdyno-provision/src/run_as.rs",
    "pgdyno-pgbench/",
    "pgdyno-provision/src/builds/",
    "pgdyno-provision/src/initdb.rs",
    // Options of systemctl in a unit that `up` prints.
    "pgdyno-provision/src/unit.rs",
    // Options of mkfs, LVM, md and the scripts themselves.
    "pgdyno-layout/src/",
    // Options of initdb, configure, LVM and mkfs that pages explain.
    "pgdyno-rules/src/",
    "pgdyno-record/src/redact.rs",
    "pgdyno-record/src/command.rs",
    "pgdyno-document/",
    "pgdyno-report/",
    "pgdyno/",
    "testkit/",
];

fn sources(under: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(under).expect("it can be read").flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => sources(&path, found),
            false if path.extension().is_some_and(|of| of == "rs") => found.push(path),
            false => {}
        }
    }
}

/// String literals of a source file without its tests and comments.
fn literals(source: &str) -> Vec<String> {
    let code = source.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code = lines.collect::<Vec<_>>().join("\n").replace("'\"'", "' '").replace("\\\"", "'");
    let quoted = code.split('"').skip(1).step_by(2);
    quoted.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" ").replace(" \\ ", " ")).collect()
}

/// Whether a flag is told to a command that has it, or is one of a command that the text names.
fn is_there(by: &str, text: &str, at: usize, flag: &str) -> bool {
    let before = &text[..at];
    let named = before.match_indices('`').map(|(tick, _)| &before[tick + 1..]).chain([before]);
    let of_named = named.map(|code| code.trim_start_matches("pgdyno ")).any(|code| {
        let named = used(&code.replace(['`', ','], " "));
        !named.name.is_empty() && named.has(flag)
    });
    of_named || used(by).has(flag)
}

/// Every flag in a text of the libraries is one of each command that prints it, after it is fitted.
#[test]
fn every_hint_names_flags_that_its_command_has() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for entry in fs::read_dir(&crates).expect("it can be read").flatten() {
        let of_crate = entry.path().join("src");
        if of_crate.is_dir() {
            sources(&of_crate, &mut files);
        }
    }
    let mut wrong = Vec::new();
    let mut checked = 0;
    for file in files {
        let name = file.strip_prefix(&crates).expect("it is there").to_string_lossy().into_owned();
        if OTHERS.iter().any(|other| name.starts_with(other)) || name.contains("/tests") {
            continue;
        }
        let source = fs::read_to_string(&file).expect("it can be read");
        for text in literals(&source).iter().filter(|text| text.contains(' ')) {
            let Some((_, speakers)) = SPEAKERS.iter().find(|(prefix, _)| name.starts_with(prefix)) else {
                if flags(text).next().is_some() && !name.starts_with("pgdyno-probe/") {
                    wrong.push(format!("{name}: who prints this? {text}"));
                }
                continue;
            };
            for by in *speakers {
                let fitted = used(by).fitted(text).into_owned();
                for (at, flag) in flags(&fitted) {
                    checked += 1;
                    if !is_there(by, &fitted, at, flag) {
                        wrong.push(format!("{name}: `{by}` has no {flag}: {fitted}"));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked > 100, "{checked}");
}

#[test]
fn a_flag_that_a_command_lacks_becomes_what_it_has() {
    let text = "use a smaller --scale, or choose another disk with --data, as `pgdyno up --data` does";
    let fitted = |by: &str| used(by).fitted(text).into_owned();
    assert_eq!(fitted("bench --clients 1"), text);
    assert!(fitted("run x.toml").starts_with("use a smaller scale in [data], or choose"));
    let of_ab = fitted("ab");
    assert!(of_ab.ends_with("with data= of an arm, as `pgdyno up --data` does"), "{of_ab}");
    assert_eq!(fitted("load tpcb"), text, "loads have no plan");
    assert_eq!(flags("a-- b --c-d=1 x--y --").collect::<Vec<_>>(), [(6, "--c-d")]);
}
