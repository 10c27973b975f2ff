//! The facts of a host. What is unknown is left out.

use pgdyno_core::{facts::major_of, host::Inventory, units};
use pgdyno_document::{
    Document,
    block::{Block, Column, Fact, Row, Section, Table},
    figure::Format::{self, Bytes, Count, Identifier, Number, Percent, Text},
    phrase::{Phrase, joined, maybe, phrase},
};

use super::{document, limit, source, storage};
use crate::source::Place;

/// The facts of a host as a document.
pub fn facts(host: &Inventory) -> Document {
    let source = source(serde_json::to_value(host));
    let at = &source.root();
    let heading = phrase!["Host: ", at.figure("name", Text)];
    let sections = [
        section("System", of_system(host, at)),
        section("Processors", of_processors(host, at)),
        section("Memory", of_memory(host, at)),
        of_storage(host, at),
        of_network(host, at),
        section("Interrupts", of_interrupts(host, at)),
        of_server(host, at),
        of_login(host, at),
        section("Kernel parameters", of_map("kernel/sysctls", host.kernel.sysctls.keys(), at)),
        section("Settings of the server", of_settings(host, at)),
        of_blocked(host, at),
    ];
    document(
        at.figure("name", Text).into(),
        heading,
        Vec::new(),
        sections.into_iter().flatten().collect(),
        "pgdyno host facts",
    )
}

/// Facts under a title, but for empty ones; `None` if all are.
fn section(title: &'static str, facts: Vec<Fact>) -> Option<Section> {
    let known: Vec<Fact> = facts.into_iter().filter(|fact| !fact.text.is_empty()).collect();
    (!known.is_empty()).then(|| Section::new(title, vec![Block::facts(known)]))
}

/// A field as a fact, empty if it is absent.
fn field(label: &'static str, at: &Place<'_>, name: &str, format: Format) -> Fact {
    Fact::new(label, maybe("", at.figure(name, format).filter(|figure| !figure.text.is_empty()), ""))
}

fn list(at: &Place<'_>, name: &str, count: usize, separator: &str) -> Phrase {
    joined(at.texts(name, count, usize::MAX), separator)
}

/// Phrases that are not empty.
fn known(all: impl IntoIterator<Item = Phrase>) -> Phrase {
    joined(all.into_iter().filter(|phrase| !phrase.is_empty()), ", ")
}

fn of_system(host: &Inventory, at: &Place<'_>) -> Vec<Fact> {
    let kernel = at.at("kernel");
    let release = kernel.figure("release", Text).filter(|_| !host.kernel.release.is_empty());
    let clocks = list(&kernel.at("clocks"), "available", host.kernel.clocks.available.len(), ", ");
    let others = if clocks.is_empty() { clocks } else { phrase![" (available: ", clocks, ")"] };
    let group = kernel.at("cgroup");
    let limits = known([
        maybe("version ", group.figure("version", Count), ""),
        maybe("memory up to ", group.figure("memory_bytes", Bytes), ""),
        maybe("up to ", group.figure("cpus", Number), " CPUs"),
        maybe("up to ", group.figure("processes", Count), " processes"),
    ]);
    let pressure = (0..host.kernel.cgroup.pressure.len()).map(|index| {
        let at = group.at("pressure").at(index);
        let full = maybe(", full ", at.figure("full_share", Percent), "");
        phrase![at.figure("of", Text), " some ", at.figure("some_share", Percent), full]
    });
    vec![
        field("system", at, "os", Text),
        Fact::new("kernel", known([maybe("Linux ", release, ""), maybe("", at.figure("arch", Text), "")])),
        field("hypervisor", at, "cpu/hypervisor", Text),
        field("container", &kernel, "container", Text),
        field("init", &kernel, "init", Text),
        Fact::new("clock source", phrase![maybe("", kernel.figure("clocks/current", Text), ""), others]),
        Fact::new("boot line", list(&kernel, "boot_words", host.kernel.boot_words.len(), " ")),
        Fact::new("modules", list(&kernel, "modules", host.kernel.modules.len(), ", ")),
        Fact::new("control group", limits),
        Fact::new("pressure, last minute", joined(pressure, "; ")),
    ]
}

fn of_processors(host: &Inventory, at: &Place<'_>) -> Vec<Fact> {
    let cpu = at.at("cpu");
    let cores = known([
        maybe("", cpu.figure("cores", Count), many(host.cpu.cores, " core", " cores")),
        maybe("", cpu.figure("sockets", Count), many(host.cpu.sockets, " socket", " sockets")),
        multithreading(host, &cpu),
    ]);
    let nodes = (0..host.cpu.numa_nodes.len()).map(|index| {
        let at = cpu.at("numa_nodes").at(index);
        let memory = maybe(" with ", at.figure("memory_bytes", Bytes), "");
        phrase![at.figure("number", Identifier), ": CPUs ", at.figure("cpus", Text), memory]
    });
    let caches = (0..host.cpu.caches.len()).map(|index| {
        let at = cpu.at("caches").at(index);
        let level = phrase!["L", at.figure("level", Count), " ", at.figure("kind", Text), " "];
        let shared = at.figure("shared_by", Text).filter(|figure| figure.text.contains(['-', ',']));
        phrase![level, at.figure("size_bytes", Bytes), maybe(" shared by CPUs ", shared, "")]
    });
    let states = (0..host.cpu.idle_states.len()).map(|index| {
        let at = cpu.at("idle_states").at(index);
        let off = if host.cpu.idle_states[index].disabled { ", disabled" } else { "" };
        phrase![at.figure("name", Text), " (", at.figure("latency_us", Count), " µs", off, ")"]
    });
    let turbo = host
        .cpu
        .turbo
        .map_or("", |is_on| if is_on { "may exceed the nominal frequency" } else { "no turbo" });
    let frequency = known([
        maybe("driver ", cpu.figure("frequency_driver", Text), ""),
        maybe("governor ", cpu.figure("governor", Text), ""),
        turbo.into(),
    ]);
    let steal = known([
        maybe("", cpu.figure("steal_share", Percent), " of all time"),
        maybe(
            "",
            cpu.figure("steal_share_of_wanted", Percent),
            " of the time in which programs wanted a CPU",
        ),
    ]);
    let mut facts = vec![
        field("model", &cpu, "model", Text),
        Fact::new("CPUs", known([phrase![cpu.figure("logical", Count), " online"], cores])),
        Fact::new("NUMA nodes", joined(nodes, "; ")),
        Fact::new("caches of first CPU", joined(caches, "; ")),
        Fact::new("frequency", frequency),
        field("idle driver", &cpu, "idle_driver", Text),
        Fact::new("idle states", joined(states, ", ")),
        field("microcode", &cpu, "microcode", Text),
        Fact::new("CPU steal since boot", steal),
    ];
    facts.extend(of_vulnerabilities(host, at));
    facts
}

/// What `smt/control` says, in words where these are the kernel's abbreviations.
fn multithreading(host: &Inventory, cpu: &Place<'_>) -> Phrase {
    match host.cpu.smt_words().filter(|words| host.cpu.smt.as_deref() != Some(*words)) {
        Some(words) => format!("multithreading {words}").into(),
        None => maybe("multithreading ", cpu.figure("smt", Text), ""),
    }
}

/// Vulnerabilities with what the kernel does about each, and in one fact those that this processor does not have.
fn of_vulnerabilities(host: &Inventory, at: &Place<'_>) -> Vec<Fact> {
    let (absent, present): (Vec<&String>, Vec<&String>) =
        host.cpu.mitigations.keys().partition(|name| host.cpu.mitigations[*name] == NOT_AFFECTED);
    let mut facts = of_map("cpu/mitigations", present.into_iter(), at);
    let names = absent.iter().map(|name| units::printable(name).into_owned());
    facts.push(Fact::new("not affected by", names.collect::<Vec<_>>().join(", ")));
    facts
}

/// What the kernel says of a vulnerability that a processor does not have.
const NOT_AFFECTED: &str = "Not affected";

fn many(count: Option<u32>, one: &'static str, more: &'static str) -> &'static str {
    if count == Some(1) { one } else { more }
}

fn of_memory(host: &Inventory, at: &Place<'_>) -> Vec<Fact> {
    let memory = at.at("memory");
    let pools = (0..host.memory.huge_pages.len()).map(|index| {
        let at = memory.at("huge_pages").at(index);
        let free = phrase![at.figure("free", Count), " free, ", at.figure("reserved", Count), " reserved"];
        let more = phrase![", ", at.figure("overcommit", Count), " more if needed"];
        phrase![at.figure("total", Count), " of ", at.figure("page_bytes", Bytes), " (", free, more, ")"]
    });
    let transparent = memory.at("transparent");
    let shm = known([
        maybe("", memory.figure("shm_bytes", Bytes), ""),
        maybe("available ", memory.figure("shm_available_bytes", Bytes), ""),
    ]);
    vec![
        field("total", &memory, "total_bytes", Bytes),
        field("available", &memory, "available_bytes", Bytes),
        field("dirty", &memory, "dirty_bytes", Bytes),
        field("page tables", &memory, "page_tables_bytes", Bytes),
        field("committed", &memory, "committed_bytes", Bytes),
        field("commit limit", &memory, "commit_limit_bytes", Bytes),
        Fact::new("huge pages", joined(pools, "; ")),
        Fact::new(
            "transparent",
            known([
                maybe("", transparent.figure("enabled", Text), ""),
                maybe("defrag ", transparent.figure("defrag", Text), ""),
                maybe("shared memory ", transparent.figure("shared", Text), ""),
            ]),
        ),
        Fact::new("swap", swap(host, &memory)),
        Fact::new("/dev/shm", shm),
    ]
}

/// Swap areas; empty if it is unknown whether there are any.
fn swap(host: &Inventory, memory: &Place<'_>) -> Phrase {
    let Some(areas) = &host.memory.swaps else { return Phrase::default() };
    let swaps = areas.iter().enumerate().map(|(index, area)| {
        let at = memory.at("swaps").at(index);
        let name = maybe("", at.figure("name", Text).filter(|_| !area.name.is_empty()), " ");
        let kind = if area.is_compressed_memory { " in compressed memory" } else { "" };
        phrase![name, at.figure("size_bytes", Bytes), kind, ", used ", at.figure("used_bytes", Bytes)]
    });
    if areas.is_empty() { "none".into() } else { joined(swaps, "; ") }
}

fn of_storage(host: &Inventory, at: &Place<'_>) -> Option<Section> {
    let tree = storage::tree(host, at);
    (!tree.is_empty()).then(|| Section::new("Storage", vec![Block::Table(tree)]))
}

fn of_network(host: &Inventory, at: &Place<'_>) -> Option<Section> {
    let rows = (0..host.network.len()).map(|index| {
        let interface = &host.network[index];
        let at = at.at("network").at(index);
        let queues = known([
            maybe("", at.figure("queues/0", Count), " to receive"),
            maybe("", at.figure("queues/1", Count), " to transmit"),
            maybe("at most ", at.figure("most_queues", Count), ""),
        ]);
        let on = interface.offloads.iter().filter(|(_, is_on)| **is_on).map(|(name, _)| name.as_str());
        let on = on.collect::<Vec<_>>().join(", ");
        let offloads = if on.is_empty() { Phrase::default() } else { phrase!["offloads ", on] };
        let how = known([
            maybe("", at.figure("state", Text), ""),
            maybe("driver ", at.figure("driver", Text), ""),
            maybe("", at.figure("speed_mbit_s", Count), " Mbit/s"),
            maybe("MTU ", at.figure("mtu_bytes", Count), ""),
            offloads,
        ]);
        Row::new(true, [at.figure("name", Text).into(), queues.into(), how.into()])
    });
    let columns = vec![Column::words("interface"), Column::text("queues"), Column::text("how")];
    let table = Table::new(columns, rows.collect());
    (!table.is_empty()).then(|| Section::new("Network", vec![Block::Table(table)]))
}

fn of_interrupts(host: &Inventory, at: &Place<'_>) -> Vec<Fact> {
    let at = at.at("interrupts");
    let runs = host.interrupts.irqbalance_runs.map_or("", |runs| if runs { "runs" } else { "does not run" });
    let each = (0..host.interrupts.affinities.len()).map(|index| {
        let at = at.at("affinities").at(index);
        let place = if is_one_cpu(&host.interrupts.affinities[index].1) { " on CPU " } else { " on CPUs " };
        phrase![at.figure("0", Text), place, at.figure("1", Text)]
    });
    vec![
        Fact::new("irqbalance", runs),
        field("CPUs by default", &at, "default_affinity", Text),
        Fact::new("disks and networks", joined(each, "; ")),
    ]
}

fn is_one_cpu(list: &str) -> bool {
    list.trim().parse::<u32>().is_ok()
}

fn of_server(host: &Inventory, at: &Place<'_>) -> Option<Section> {
    let server = host.server.as_ref()?;
    let at = at.at("server");
    let mut facts = vec![
        field("process id", &at, "pid", Identifier),
        field("user", &at, "user", Text),
        Fact::new("PostgreSQL", server.version_num.map(major_of).unwrap_or_default()),
        field("unit", &at, "unit", Text),
        field("oom_score_adj", &at, "oom_score_adjustment", Text),
        field("memory in huge pages", &at, "huge_page_bytes", Bytes),
    ];
    facts.extend(
        server
            .limits
            .iter()
            .map(|(name, limit)| Fact::new(name.as_str(), limit::in_words(name, *limit, &at))),
    );
    section("Server", facts)
}

fn of_login(host: &Inventory, at: &Place<'_>) -> Option<Section> {
    let at = at.at("login");
    let rows = (0..host.login.lines.len()).map(|index| {
        let at = at.at("lines").at(index);
        let cells = ["domain", "kind", "item", "value", "file"].map(|name| at.figure(name, Text).into());
        Row::new(true, cells)
    });
    let names = ["domain", "type", "item", "value"].map(Column::words);
    let columns = names.into_iter().chain([Column::text("file")]).collect();
    let table = Table::new(columns, rows.collect());
    let title = phrase!["Limits of a login of ", at.figure("user", Text)];
    (!table.is_empty()).then(|| Section::new(title, vec![Block::Table(table)]))
}

/// The entries of a map of texts.
fn of_map<'a>(path: &str, names: impl Iterator<Item = &'a String>, at: &Place<'_>) -> Vec<Fact> {
    let at = at.at(path);
    let value = |name: &String| {
        // A slash or a tilde in a name is written otherwise in a JSON pointer.
        let figure = at.figure(name.replace('~', "~0").replace('/', "~1"), Text);
        Fact::new(units::printable(name).into_owned(), maybe("", figure.filter(|of| !of.text.is_empty()), ""))
    };
    names.map(value).collect()
}

fn of_settings(host: &Inventory, at: &Place<'_>) -> Vec<Fact> {
    host.server
        .as_ref()
        .map(|server| of_map("server/settings", server.settings.keys(), at))
        .unwrap_or_default()
}

fn of_blocked(host: &Inventory, at: &Place<'_>) -> Option<Section> {
    let facts = host.kernel.blocked.iter().enumerate().map(|(index, process)| {
        let at = at.at("kernel/blocked").at(index);
        let stack = list(&at, "stack", process.stack.len(), " < ");
        let waits = maybe("waits in ", at.figure("waits_in", Text), "");
        let waited = match process.waited_s {
            Some(seconds) if seconds > 0.0 => format!("for {} or longer", units::duration(seconds)),
            _ => String::new(),
        };
        let name = phrase![at.figure("name", Text), " ", at.figure("pid", Identifier)];
        let stack = if stack.is_empty() { stack } else { phrase!["stack ", stack] };
        Fact::new(name, known(["state D".into(), waits, waited.into(), stack]))
    });
    section("Processes that wait for a device", facts.collect())
}
