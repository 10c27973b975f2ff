//! Facts of the host, the storage, the server and the load.

use pgdyno_core::facts::{BuildFacts, ConnectionFacts, ServerFacts};
use pgdyno_record::{MaterialRecord, RunRecord};

use crate::{
    fact_group::FactGroup,
    figure::{
        Format::{self, Bytes, Count, Instant, Latency, Nanoseconds, Number, Rate, Seconds, Text, Word},
        Phrase, Source,
    },
    held, load,
    servers::whose,
};

/// All facts that a report shows, in groups. A group that the record knows nothing of is left out.
pub fn facts(record: &RunRecord, source: &Source) -> Vec<FactGroup> {
    let mut groups = vec![host(source)];
    let sync_check = "/subjects/0/sync_check";
    let shared = Phrase::of("Storage");
    groups.extend(record.storage.as_ref().map(|_| storage("/storage", sync_check, shared, source)));
    for (place, subject) in record.subjects.iter().enumerate() {
        let at = format!("/subjects/{place}");
        let titled = |what: &str| Phrase::of(what).then(whose(place, record, source));
        let of = subject.server.as_ref();
        groups.extend(of.map(|of| server(of, &format!("{at}/server"), titled("Server"), source)));
        let own = subject.storage.as_ref().map(|_| {
            let places = [format!("{at}/storage"), format!("{at}/sync_check")];
            storage(&places[0], &places[1], titled("Storage"), source)
        });
        groups.extend(own);
        let of = subject.connection.as_ref();
        groups.extend(of.map(|of| way(of, &format!("{at}/connection"), titled("Connection"), source)));
    }
    groups.extend(load::groups(record, source));
    groups.extend(held::groups(record, source));
    groups.extend(record.material.as_ref().map(|material| own(material, source)));
    let set_up = record.subjects.iter().enumerate().filter(|(_, subject)| subject.setup.is_some());
    groups.extend(set_up.map(|(place, _)| setup(place, record, source)));
    groups.push(run(source));
    groups
}

fn one(source: &Source, pointer: &str, format: Format) -> Phrase {
    Phrase::default().figure(source.figure(pointer, format))
}

fn host(source: &Source) -> FactGroup {
    let at = |pointer: &str, format| one(source, &format!("/host/{pointer}"), format);
    let limit = |pointer: &str, format| source.figure(format!("/host/{pointer}"), format);
    let items = vec![
        ("processor", at("cpu/model", Text)),
        (
            "processors",
            at("cpu/allowed", Format::Length).text(" may be used").maybe(
                ", control group allows ",
                limit("cgroup/cpus", Number),
                "",
            ),
        ),
        (
            "memory",
            at("memory/total_bytes", Bytes).maybe(
                ", control group allows ",
                limit("cgroup/memory_bytes", Bytes),
                "",
            ),
        ),
        (
            "system",
            at("os", Text).text(", kernel ").then(at("kernel", Text)).text(", ").then(at("arch", Text)),
        ),
        ("virtual", at("virtualization", Text)),
        ("clock", at("clocksource", Text)),
        ("governor", at("cpu/governor", Text)),
        (
            "huge pages",
            at("memory/huge_pages/total", Count)
                .text(" of ")
                .then(at("memory/huge_pages/page_bytes", Bytes))
                .text(", transparent: ")
                .then(at("memory/transparent_huge_pages", Text)),
        ),
    ];
    FactGroup { title: Phrase::of("Host"), items }
}

/// Storage and what a synchronous write costs there, where that was looked at, each by its place in the record.
fn storage(facts: &str, check: &str, title: Phrase, source: &Source) -> FactGroup {
    let at = |pointer: &str, format| one(source, &format!("{facts}/{pointer}"), format);
    let sync = |pointer: &str, format| one(source, &format!("{check}/{pointer}"), format);
    let backing = source.figure(format!("{facts}/backing/filesystem"), Text);
    let device = at("device", Text).maybe(", a file on ", backing, "");
    let items = vec![
        ("path", at("path", Text)),
        ("file system", at("filesystem", Text).text(" on ").then(device)),
        ("mounted at", at("mount_point", Text).text(" (").then(at("mount_options", Text)).text(")")),
        ("write cache", at("write_cache", Text)),
        ("size", at("size_bytes", Bytes).text(", free ").then(at("available_bytes", Bytes))),
        (
            "sync write",
            Phrase::of("p50 ")
                .then(sync("latency/p50_ns", Latency))
                .text(", max ")
                .then(sync("latency/max_ns", Latency))
                .text(", ")
                .then(sync("rate_per_s", Rate))
                .text("/s (write of ")
                .then(sync("write_bytes", Bytes))
                .text(" and fdatasync, ")
                .then(sync("latency/count", Count))
                .text(" times)"),
        ),
    ];
    FactGroup { title, items }
}

fn server(facts: &ServerFacts, below: &str, title: Phrase, source: &Source) -> FactGroup {
    let at = |pointer: &str, format| one(source, &format!("{below}/{pointer}"), format);
    let mut items = vec![
        ("version", Phrase::of("PostgreSQL ").then(at("version", Text)).text(", ").then(at("source", Word))),
        ("compiler", at("build/compiler", Text)),
        ("flags", at("build/cflags", Text)),
    ];
    items.extend(compiled(&facts.build, &format!("{below}/build"), source));
    items.extend([
        ("durability", Phrase::of(facts.durability.label())),
        ("checksums", Phrase::of(if facts.data_checksums { "on" } else { "off" })),
        (
            "block",
            at("block_bytes", Bytes)
                .maybe(", of WAL ", source.figure(format!("{below}/wal_block_bytes"), Bytes), "")
                .maybe(", table segment ", source.figure(format!("{below}/segment_bytes"), Bytes), "")
                .text(", WAL segment ")
                .then(at("wal_segment_bytes", Bytes)),
        ),
        ("shared buffers", at("shared_buffers_bytes", Bytes)),
        ("data", at("data_directory", Text)),
    ]);
    if facts.wal_storage.is_some() {
        let file_system =
            at("wal_storage/filesystem", Text).text(" on ").then(at("wal_storage/device", Text));
        let mounted = file_system.text(", mounted at ").then(at("wal_storage/mount_point", Text));
        items.push(("WAL", at("wal_storage/path", Text).text(": ").then(mounted)));
    }
    if facts.database.is_some() {
        let database = at("database/encoding", Text).text(", locale ").then(at("database/collate", Text));
        items.push(("database", database.text(" by ").then(at("database/provider", Text))));
    }
    FactGroup { title, items }
}

/// What was compiled in, and of a build of pgdyno's what it was made from. What is not known is left out.
fn compiled(build: &BuildFacts, below: &str, source: &Source) -> Vec<(&'static str, Phrase)> {
    let mut items = Vec::new();
    if let Some(features) = &build.features {
        let none = if features.is_empty() { "none of those looked at" } else { "" };
        let list = Phrase::of(none).list(source, &format!("{below}/features"), features.len(), usize::MAX);
        items.push(("features", list));
    }
    let Some(made) = &build.made else { return items };
    let of = |pointer: &str| source.figure(format!("{below}/made/{pointer}"), Text);
    let from = Phrase::default().figure(of("name")).maybe(" from ", of("source"), "");
    items.push(("build", from.maybe(", SHA-256 ", of("source_sha256"), "")));
    if !made.cflags.is_empty() {
        items.push(("flags given", Phrase::default().figure(of("cflags"))));
    }
    for at in 0..made.patches.len() {
        let patch = Phrase::default().figure(of(&format!("patches/{at}/name")));
        items.push(("patch", patch.maybe(", SHA-256 ", of(&format!("patches/{at}/sha256")), "")));
    }
    items
}

/// The way to a server that was already there. What is not there is left out, for nobody misses it.
fn way(connection: &ConnectionFacts, below: &str, title: Phrase, source: &Source) -> FactGroup {
    let at = |pointer: &str| one(source, &format!("{below}/{pointer}"), Text);
    let mut items = Vec::new();
    items.push(match connection.encryption {
        Some(_) => ("encryption", at("encryption")),
        None => ("encryption", Phrase::of("none")),
    });
    if let Some(pooler) = &connection.pooler {
        let name = match pooler.name {
            Some(_) => at("pooler/name"),
            None => Phrase::of("of a kind that is not known"),
        };
        let prepared = match pooler.keeps_prepared {
            true => " mode, prepared statements kept apart",
            false => " mode, prepared statements not kept apart",
        };
        items.push(("pooler", name.text(", ").then(at("pooler/mode")).text(prepared)));
    }
    if connection.standby {
        items.push(("role", Phrase::of("standby")));
    }
    if connection.separate_admin {
        items.push(("prepared by", Phrase::of("another connection (--admin-dsn)")));
    }
    FactGroup { title, items }
}

/// What the plan brought: its texts with their hashes.
fn own(material: &MaterialRecord, source: &Source) -> FactGroup {
    let at = |pointer: &str, format| one(source, &format!("/material/{pointer}"), format);
    let mut items = Vec::new();
    if let Some(setup) = &material.setup {
        items.push(("setup", texts("setup/texts", setup.texts.len(), source)));
    }
    for (index, workload) in material.workloads.iter().enumerate() {
        let name = at(&format!("workloads/{index}/name"), Text).text(": ");
        let scripts = texts(&format!("workloads/{index}/scripts"), workload.scripts.len(), source);
        items.push(("workload", name.then(scripts)));
    }
    FactGroup { title: Phrase::of("The plan's own SQL"), items }
}

/// What the plan's setup came to at a subject.
fn setup(place: usize, record: &RunRecord, source: &Source) -> FactGroup {
    let done = |field: &str, format| one(source, &format!("/subjects/{place}/setup/{field}"), format);
    let items = vec![
        ("statements", done("statements", Count).text(" in ").then(done("statements_s", Seconds))),
        ("tables", done("tables", Count).text(", ").then(done("size_bytes", Bytes))),
        ("vacuum", done("vacuum_s", Seconds)),
    ];
    FactGroup { title: Phrase::of("Setup").then(whose(place, record, source)), items }
}

/// Texts by name and hash.
fn texts(below: &str, count: usize, source: &Source) -> Phrase {
    (0..count).fold(Phrase::default(), |phrase, index| {
        let at = |field: &str| one(source, &format!("/material/{below}/{index}/{field}"), Text);
        let comma = if index > 0 { ", " } else { "" };
        phrase.text(comma).then(at("name")).text(" (SHA-256 ").then(at("sha256")).text(")")
    })
}

fn run(source: &Source) -> FactGroup {
    let at = |pointer: &str, format| one(source, &format!("/plan/{pointer}"), format);
    let items = vec![
        ("run", one(source, "/id", Text)),
        ("started", one(source, "/started_at", Instant)),
        (
            "measured",
            at("duration_ns", Nanoseconds)
                .text(" after ")
                .then(at("warmup_ns", Nanoseconds))
                .text(" of warm-up, blocks: ")
                .then(at("blocks", Count)),
        ),
        (
            "driver",
            Phrase::of("threads: ")
                .then(at("jobs", Count))
                .text(", over ")
                .then(at("transport", Word))
                .text(", waiting by ")
                .then(at("waiting", Word)),
        ),
        ("server", at("server", Word)),
        ("seed", at("seed", Text)),
        (
            "pgdyno",
            one(source, "/tool/version", Text).text(", commit ").then(one(source, "/tool/commit", Text)),
        ),
    ];
    FactGroup { title: Phrase::of("Run"), items }
}
