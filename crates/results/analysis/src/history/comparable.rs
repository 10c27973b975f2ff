//! Which runs have a common history, and what else differs between them.

use pgdyno_core::{facts::ServerFacts, results::DoubtKind, units};
use pgdyno_record::{RunRecord, Status};

/// Why a run is not in the history of `last`; `None` if it is. With `one_build`, the server's build is the same in all.
pub fn why_not(record: &RunRecord, last: &RunRecord, one_build: bool) -> Option<String> {
    let refused = match () {
        () if record.status != Status::Complete => "it did not complete",
        () if record.comparison.is_some() || record.subjects.len() > 1 => "it compares several subjects",
        () if record.pgbench.is_some() => "it is one run of pgbench",
        () if record.cells.is_empty() || server(record).is_none() => "it has no result of a server",
        () => "",
    };
    if !refused.is_empty() {
        return Some(refused.to_owned());
    }
    let (then, now) = (terms(record), terms(last));
    let differs = then.into_iter().zip(now).find(|((_, then), (_, now))| then != now);
    if let Some(((what, then), (_, now))) = differs {
        return Some(format!("{what} {then}, not {now}"));
    }
    let (then, now) = (build_of(record), build_of(last));
    (one_build && then != now).then(|| format!("build {then}, not {now}"))
}

fn server(record: &RunRecord) -> Option<&ServerFacts> {
    record.subjects.first()?.server.as_ref()
}

/// What all runs of a history have in common: the plan as executed, and the hardware.
fn terms(record: &RunRecord) -> Vec<(&'static str, String)> {
    let plan = &record.plan;
    let seconds = |ns: u64| units::duration(ns as f64 / 1e9);
    let list = |numbers: &[u32]| numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let known = |text: Option<String>| text.unwrap_or_else(|| "none".to_owned());
    vec![
        ("machine", machine_of(record)),
        ("scale", known(plan.scale.map(units::count))),
        ("clients", list(&plan.clients)),
        ("driver threads", plan.jobs.to_string()),
        ("runs of", seconds(plan.duration_ns)),
        ("warm-up of", seconds(plan.warmup_ns)),
        ("rate", known(plan.rate_per_s.map(units::rate))),
        ("driver's CPUs", list(&plan.driver_cpus)),
        ("server's CPUs", list(&plan.server_cpus)),
        ("server", plan.server.clone()),
        ("transport", plan.transport.clone()),
        ("SQL", sql_of(record)),
        ("TPC-C", tpcc_of(record)),
    ]
}

/// The plan's own SQL, by the digests of its texts.
fn sql_of(record: &RunRecord) -> String {
    const SHOWN: usize = 8;
    let Some(files) = &record.material else { return "of pgdyno".to_owned() };
    let setup = files.setup.iter().flat_map(|setup| &setup.texts);
    let scripts = files
        .workloads
        .iter()
        .flat_map(|work| work.scripts.iter().map(|script| &script.text).chain(&work.reset));
    let digests = setup.chain(scripts).map(|text| text.sha256.chars().take(SHOWN).collect::<String>());
    let variables = files.setup.iter().map(|setup| &setup.variables);
    let variables = variables.chain(files.workloads.iter().map(|work| &work.variables)).flatten();
    digests.chain(variables.map(|(name, value)| format!("{name}={value}"))).collect::<Vec<_>>().join(" ")
}

/// How TPC-C ran; "none" without it.
fn tpcc_of(record: &RunRecord) -> String {
    let Some(tpcc) = record.runs.iter().find_map(|run| run.tpcc.as_ref()) else { return "none".to_owned() };
    let paced = if tpcc.paced { "paced" } else { "without think times" };
    let weights = tpcc.weights.map(|weight| weight.to_string()).join("/");
    format!("{} with {weights}, {paced}", units::plural(tpcc.warehouses, "warehouse"))
}

/// The hardware in words.
pub fn machine_of(record: &RunRecord) -> String {
    let host = &record.host;
    let model = host.cpu.model.clone().unwrap_or_else(|| "unknown CPU".to_owned());
    let cpus = units::plural(host.allowed_cpus().len() as u64, "CPU");
    // Rounded: a kernel reserves some of it, and another one more.
    let gib = (host.memory.total_bytes as f64 / f64::from(1 << 30)).round();
    format!("{model}, {cpus}, {gib} GiB")
}

/// The server's build in words: version, compiler and flags.
pub fn build_of(record: &RunRecord) -> String {
    let Some(server) = server(record) else { return "unknown".to_owned() };
    let build = &server.build;
    let made = build.made.as_ref().map(|made| format!("build {}", made.name));
    let compiler = build.compiler.as_ref().map(|compiler| {
        // `gcc (Debian 12.2.0-14) 12.2.0`: the packager's part says nothing that the version does not.
        let (name, version) = compiler.split_once(" (").map_or((compiler.as_str(), ""), |(name, rest)| {
            (name, rest.rsplit_once(") ").map_or("", |(_, version)| version))
        });
        format!("{name} {version}").trim().to_owned()
    });
    let level = build.cflags.as_ref().and_then(|flags| flags.split(' ').rfind(|flag| flag.starts_with("-O")));
    let parts = [made, compiler, level.map(str::to_owned)].into_iter().flatten().collect::<Vec<_>>();
    match parts.is_empty() {
        true => server.version.clone(),
        false => format!("{} ({})", server.version, parts.join(", ")),
    }
}

/// What changed from one run to another besides the plan and the build: `what: before → now`.
pub fn changed(before: &RunRecord, now: &RunRecord) -> Vec<String> {
    let (then, now) = (circumstances(before), circumstances(now));
    let names = then.iter().chain(&now).map(|(name, _)| name).collect::<std::collections::BTreeSet<_>>();
    let value = |of: &[(String, String)], name: &str| {
        let found = of.iter().find(|(known, _)| known == name);
        found.map_or_else(|| "default".to_owned(), |(_, value)| value.clone())
    };
    let pairs = names.into_iter().map(|name| (name, value(&then, name), value(&now, name)));
    pairs
        .filter(|(_, then, now)| then != now)
        .map(|(name, then, now)| format!("{name}: {then} → {now}"))
        .collect()
}

/// Facts that may explain a change.
fn circumstances(record: &RunRecord) -> Vec<(String, String)> {
    let host = &record.host;
    let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".to_owned());
    let storage = record.storage.as_ref();
    let mut all = vec![
        ("kernel".to_owned(), host.kernel.release.clone()),
        ("operating system".to_owned(), text(&host.os)),
        ("clock source".to_owned(), text(&host.kernel.clocks.current)),
        ("CPU governor".to_owned(), text(&host.cpu.governor)),
        ("pgdyno".to_owned(), format!("{} ({})", record.tool.version, record.tool.commit)),
        ("build".to_owned(), build_of(record)),
        ("file system".to_owned(), text(&storage.and_then(|of| of.filesystem.clone()))),
    ];
    let doubted = |kind: DoubtKind| record.doubts.iter().any(|doubt| doubt.kind == kind);
    let word = |kind| if doubted(kind) { "doubted" } else { "none" }.to_owned();
    all.push(("other load".to_owned(), word(DoubtKind::OtherLoad)));
    all.push(("steal".to_owned(), word(DoubtKind::CpuSteal)));
    if let Some(server) = server(record) {
        all.push(("durability".to_owned(), server.durability.short().to_owned()));
        let settings = server.settings.iter().map(|one| (one.name.clone(), one.value.clone()));
        all.extend(settings.filter(|(name, _)| !OF_EVERY_START.contains(&name.as_str())));
    }
    all
}

/// Settings that every start of an own server has its own values of.
const OF_EVERY_START: [&str; 6] =
    ["cluster_name", "config_file", "data_directory", "hba_file", "ident_file", "unix_socket_directories"];
