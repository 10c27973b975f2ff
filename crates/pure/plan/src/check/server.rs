//! Checks the server of a plan.

use std::collections::BTreeSet;

use pgdyno_core::cpus::CpuList;

use crate::{
    Plan, ServerPlan,
    fault::{Fault, fault, shown},
    preset::Preset,
};

/// Oldest major version that pgdyno supports.
pub const OLDEST_PG: (u32, u32) = (9, 5);

/// Settings that decide where a server listens and stores its files. pgdyno sets them itself.
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

/// Appends the faults of `[server]` and of processor lists.
pub(super) fn server(plan: &Plan, faults: &mut Vec<Fault>) {
    one_server(&plan.server, faults);
    if plan.server.name.is_some() {
        faults.push(fault("server.name", "`name` is a key of a [[subject]]", "leave it out"));
    }
    if !plan.server.load.is_default() {
        let what = "`load` is a key of a [[subject]]";
        faults.push(fault("server.load", what, "write [load] for the tables of all subjects"));
    }
    if plan.server.as_published && plan.server.preset.is_none() && plan.subject.is_empty() {
        let what = "`as_published` is said, but there is no preset";
        faults.push(fault("server.as_published", what, "name the preset, or leave it out"));
    }
    for (path, cpus) in
        [("server.cpus", &plan.server.cpus), ("measure.driver_cpus", &plan.measure.driver_cpus)]
    {
        if let Some(Err(error)) = cpus.as_deref().map(str::parse::<CpuList>) {
            faults.push(fault(path, error.to_string(), "write CPUs such as \"0-3,8\""));
        }
    }
}

/// Appends the faults of a server's programs, directories and settings.
pub(super) fn one_server(server: &ServerPlan, faults: &mut Vec<Fault>) {
    if let Some(fault) = server.pg.as_deref().and_then(version) {
        faults.push(fault);
    }
    faults.extend(build(server));
    if server.bundle && (server.build.is_some() || server.bindir.is_some()) {
        let what = "`bundle` names the programs, and so does `build` or `bindir`";
        faults.push(fault("server.bundle", what, "keep one of them"));
    }
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
    faults.extend(cluster(server));
    faults.extend(preset(server));
    faults.extend(network(server));
    settings(server, faults);
}

/// Fault of what is decided when a cluster is made.
fn cluster(server: &ServerPlan) -> Option<Fault> {
    if server.wal_segsize.is_some_and(|size| !size.is_power_of_two()) {
        let what = "the size of a WAL segment is no power of two";
        return Some(fault("server.wal_segsize", what, "write 1, 2, 4 and so on, up to 1024"));
    }
    let words = [
        ("encoding", &server.encoding),
        ("locale", &server.locale),
        ("collate", &server.collate),
        ("ctype", &server.ctype),
    ];
    let is_wrong = |word: &str| word.trim().is_empty() || word.chars().any(|c| c.is_control() || c == '\'');
    if let Some((key, _)) = words.iter().find(|(_, word)| word.as_deref().is_some_and(is_wrong)) {
        let what = format!("`{key}` has no usable value");
        return Some(fault(format!("server.{key}"), what, "write a name, or leave it out for the default"));
    }
    let no_dir = |(_, dir): &(&String, &String)| dir.trim().is_empty() || dir.contains('\0');
    server.tablespaces.iter().find(no_dir).map(|(name, _)| {
        let what = format!("the tablespace `{}` has no directory", shown(name));
        fault(format!("server.tablespaces.{name}"), what, "write its path")
    })
}

/// Fault of the name of a preset. A file is read later.
fn preset(server: &ServerPlan) -> Option<Fault> {
    let name = server.preset.as_deref()?;
    if name.is_empty() || name.chars().any(char::is_control) {
        let hint = "write the name of a preset, or the path of a postgresql.conf";
        return Some(fault("server.preset", "`preset` names nothing", hint));
    }
    let problem = (!Preset::is_file(name)).then(|| Preset::named(name).err()).flatten()?;
    Some(fault("server.preset", shown(&problem.what), problem.hint.unwrap_or_default()))
}

/// Fault of the addresses that a server listens on. Its program checks networks.
fn network(server: &ServerPlan) -> Option<Fault> {
    let is_wrong =
        |text: &String| text.trim().is_empty() || text.chars().any(|c| c.is_control() || c == '\'');
    if server.listen.as_ref().is_some_and(is_wrong) {
        let what = "`listen` names no address";
        return Some(fault(
            "server.listen",
            what,
            "write one, such as 127.0.0.1, or leave it out for a socket",
        ));
    }
    server.allow.iter().any(is_wrong).then(|| {
        let hint = "write networks such as 192.168.1.0/24, or leave it out";
        fault("server.allow", "`allow` names no network", hint)
    })
}

/// Fault of the name of a build, or of a `bindir` given with it.
fn build(server: &ServerPlan) -> Option<Fault> {
    let name = server.build.as_deref()?;
    if name.is_empty() || name.chars().any(|c| c.is_control() || c == '/') {
        let what = format!("`{}` cannot be the name of a build", shown(name));
        return Some(fault("server.build", what, "write a name that `pgdyno builds` lists"));
    }
    let both = || fault("server.build", "`build` and `bindir` both name the programs", "keep one of them");
    server.bindir.is_some().then(both)
}

/// The last major that has two numbers.
const LAST_OF_TWO_NUMBERS: (u32, u32) = (9, 6);

/// Fault of a version; `18`, `18.4`, `9.6` and `9.6.24` are valid.
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
    if (parts[0], parts[1]) > LAST_OF_TWO_NUMBERS {
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
            faults.push(fault(path, what, instead_of_ours(&lower)));
        } else if !seen.insert(lower) {
            let what = format!("the setting `{name}` is given twice in different letters");
            faults.push(fault(path, what, "names of settings do not depend on case: keep one"));
        } else if value.chars().any(char::is_control) {
            let what = format!("the value of `{name}` holds a control character");
            faults.push(fault(path, what, "write it on one line"));
        }
    }
}

/// What takes the place of a setting that pgdyno makes itself.
fn instead_of_ours(name: &str) -> &'static str {
    match name {
        "data_directory" => "use --data",
        "listen_addresses" => {
            "a plan has listen in [server], a comparison listen= of an arm, `pgdyno up` --listen"
        }
        "port" => {
            "leave it out: a free port is chosen; `pgdyno up --port` starts a server on one of your choice"
        }
        _ => "leave it out",
    }
}

/// Whether `guc-file.l` accepts the name: an identifier, or two joined by a dot for a setting of an extension.
fn is_setting_name(name: &str) -> bool {
    let word = |part: &str| {
        let mut chars = part.chars();
        chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
            && chars.all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$'))
    };
    name.len() <= 63 && name.split('.').count() <= 2 && name.split('.').all(word)
}
