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
    ("results/analysis/src/doubts/comparison.rs", &["ab"]),
    ("results/analysis/src/doubts/machine.rs", &["ab"]),
    ("command/pgdyno/src/detached/", LOADS),
    ("server/postgres/src/driving/", &["tpcc run"]),
    ("lab/src/join/observer_file.rs", &["observe"]),
    ("lab/src/join/", MEASURING),
    ("pure/layout/src/derive.rs", &["host layout"]),
    ("lab/src/existing_tables.rs", &["bench", "ab", "run"]),
    ("lab/src/experiment/command.rs", &["ab"]),
    ("lab/src/host_states.rs", &["run", "ab"]),
    ("lab/src/operation/disk.rs", &["disk clock"]),
    ("lab/src/operation/", LOADS),
    ("lab/src/restarts.rs", &["ab", "run"]),
    ("lab/src/prepare.rs", &["ab"]),
    ("lab/src/refuse_clients.rs", &["ab"]),
    ("lab/src/programs.rs", &["run"]),
    ("lab/src/resume.rs", &["resume"]),
    ("lab/src/session_settings.rs", &["ab"]),
    ("lab/src/table_sets.rs", &["tpcc run", "run"]),
    ("lab/src/", MEASURING),
    ("pure/plan/src/check/server.rs", SERVERS),
    ("pure/plan/src/preset/", SERVERS),
    ("pure/plan/src/", &["run"]),
    ("server/postgres/src/load/bulk/survey.rs", &["load tpcb", "load tpcc"]),
    ("server/postgres/src/load/bulk/", LOADS),
    ("server/postgres/src/load/copies/", &["load copy"]),
    ("server/postgres/src/load/schemas.rs", &["load tpcc"]),
    ("server/postgres/src/load/tpcc.rs", &["tpcc run", "run"]),
    ("server/postgres/src/load/", MEASURING),
    ("server/postgres/src/observe/replica.rs", &["bench", "ab", "run"]),
    ("server/postgres/src/verify/amcheck.rs", &["load verify"]),
    ("server/provision/src/bundle", SERVERS),
    ("server/provision/src/installation.rs", SERVERS),
    ("server/provision/src/process.rs", SERVERS),
    ("server/provision/src/registry.rs", &["up"]),
    // `allow` is a flag of `up` and a key of plans.
    ("server/provision/src/conf.rs", &["up", "run", "ab"]),
    ("server/provision/src/up.rs", &["up"]),
    ("results/record/src/", MEASURING),
    ("pure/rows/src/load/table_options.rs", MEASURING),
    // A number of rows or warehouses is that of the load of these tables, or of a plan.
    ("pure/rows/src/load/request.rs", &["run"]),
    ("pure/rows/src/load/size.rs", &["load scaleup", "run"]),
    ("command/top/src/", &["top"]),
];

/// Files whose flags are those of other programs, or are read and not advised.
const OTHERS: &[&str] = &[
    "results/analysis/src/doubts/keys.rs",
    "pure/core/src/facts/build.rs",
    // `useradd --system` is among its hints; --run-as is a flag of all that start servers.
    "server/provision/src/run_as.rs",
    "command/pgbench/",
    "server/build/src/",
    "server/provision/src/builds/",
    "server/provision/src/initdb.rs",
    // Options of systemctl in a unit that `up` prints.
    "server/provision/src/unit.rs",
    // Options of mkfs, LVM, md and the scripts themselves.
    "pure/layout/src/",
    // Options of initdb, configure, LVM and mkfs that pages explain.
    "pure/rules/src/",
    "results/record/src/redact.rs",
    "results/record/src/command.rs",
    "results/document/",
    "results/report/",
    "command/pgdyno/",
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

/// Whether a flag is advised to a command that has it, or is one of a command that the text names.
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
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    sources(&crates, &mut files);
    let mut wrong = Vec::new();
    let mut checked = 0;
    for file in files {
        let name = file.strip_prefix(&crates).expect("it is there").to_string_lossy().into_owned();
        // The narrower of two prefixes decides.
        let speakers = SPEAKERS.iter().find(|(prefix, _)| name.starts_with(prefix));
        let others = OTHERS.iter().filter(|other| name.starts_with(**other)).map(|other| other.len()).max();
        let is_of_others = others > speakers.map(|(prefix, _)| prefix.len());
        if is_of_others || !name.contains("/src/") || name.contains("/tests") {
            continue;
        }
        let source = fs::read_to_string(&file).expect("it can be read");
        for text in literals(&source).iter().filter(|text| text.contains(' ')) {
            let Some((_, speakers)) = speakers else {
                if flags(text).next().is_some() && !name.starts_with("server/postgres/src/probe/") {
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
