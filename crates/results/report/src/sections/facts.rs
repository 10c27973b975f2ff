//! Facts about the host, storage, servers, data and the run.

use pgdyno_core::{
    facts::{BuildFacts, ConnectionFacts, ServerFacts},
    host::Inventory,
};
use pgdyno_document::{
    block::{Block, Fact, Facts, Section},
    figure::Format::{
        Bytes, Count, Instant, Latency, Length, Nanoseconds, Number, Rate, Seconds, Text, Word,
    },
    phrase::{Phrase, joined, maybe, phrase},
};
use pgdyno_record::WorkloadFilesRecord;

use crate::{
    run::Run,
    sections::{footprint, load},
    source::Place,
};

/// All facts of the report. Missing facts are omitted.
pub fn section(run: &Run<'_>) -> Section {
    let root = run.root();
    let mut all = vec![machine(&run.record.host, &root.at("host"))];
    let shared = || storage("Storage".into(), &root.at("storage"), &run.subject(0).at("sync_check"));
    all.extend(run.record.storage.as_ref().map(|_| shared()));
    for (index, subject) in run.record.subjects.iter().enumerate() {
        let at = run.subject(index);
        let titled = |what: &str| phrase![what, run.whose(index)];
        all.extend(subject.server.as_ref().map(|of| server(of, &at.at("server"), titled("Server"))));
        let own = || storage(titled("Storage"), &at.at("storage"), &at.at("sync_check"));
        all.extend(subject.storage.as_ref().map(|_| own()));
        let connected = |of: &ConnectionFacts| connection(of, &at.at("connection"), titled("Connection"));
        all.extend(subject.connection.as_ref().map(connected));
    }
    let subjects = || run.record.subjects.iter().enumerate();
    all.extend(subjects().filter_map(|(index, of)| Some(load::facts(run, index, of.load.as_ref()?))));
    all.extend(subjects().flat_map(|(index, _)| load::of_workloads(run, index)));
    all.extend(
        subjects().filter(|(_, of)| of.existing.is_some()).map(|(index, _)| load::existing(run, index)),
    );
    all.extend(subjects().filter_map(|(index, of)| footprint::facts(run, index, of.held.as_ref()?)));
    all.extend(run.record.material.as_ref().map(|files| plan_sql(files, &root.at("material"))));
    all.extend(subjects().filter(|(_, of)| of.setup.is_some()).map(|(index, _)| setup(run, index)));
    all.push(if run.is_of_operations() { of_operations(&root) } else { of_run(&root) });
    Section::new("Facts", all.into_iter().map(Block::Facts).collect())
}

fn machine(host: &Inventory, at: &Place<'_>) -> Facts {
    let group = at.at("kernel/cgroup");
    let limit = |field: &str, format| maybe(", cgroup limit ", group.figure(field, format), "");
    let kernel = at.at("kernel");
    let (pools, size) = (&host.memory.huge_pages, host.memory.default_huge_page_bytes);
    let pool = pools.iter().position(|pool| Some(pool.page_bytes) == size).unwrap_or(0);
    let huge = at.at("memory/huge_pages").at(pool);
    let items = vec![
        Fact::new("CPU model", at.figure("cpu/model", Text)),
        Fact::new(
            "CPUs",
            phrase![at.figure("process/allowed_cpus", Length), " allowed", limit("cpus", Number)],
        ),
        Fact::new("memory", phrase![at.figure("memory/total_bytes", Bytes), limit("memory_bytes", Bytes)]),
        Fact::new(
            "system",
            phrase![
                at.figure("os", Text),
                ", kernel ",
                kernel.figure("release", Text),
                ", ",
                at.figure("arch", Text)
            ],
        ),
        Fact::new("virtual", virtualization(at)),
        Fact::new("clock", kernel.figure("clocks/current", Text)),
        Fact::new(
            "huge pages",
            phrase![
                huge.figure("total", Count),
                " of ",
                huge.figure("page_bytes", Bytes),
                ", transparent: ",
                at.figure("memory/transparent/enabled", Text),
            ],
        ),
    ];
    let governor = at.figure("cpu/governor", Text).map(|of| Fact::new("governor", Some(of)));
    Facts { title: "Host".into(), items: items.into_iter().chain(governor).collect() }
}

/// The container, whose limits are tighter, or else the hypervisor.
fn virtualization(at: &Place<'_>) -> Phrase {
    match (at.figure("kernel/container", Text), at.figure("cpu/hypervisor", Text)) {
        (None, unknown @ None) => unknown.into(),
        (None, hypervisor) => maybe("hypervisor (", hypervisor, ")"),
        (container, _) => maybe("container (", container, ")"),
    }
}

/// Storage, and the measured cost of a synchronous write.
fn storage(title: Phrase, at: &Place<'_>, sync: &Place<'_>) -> Facts {
    let backing = maybe(", a file on ", at.figure("backing/filesystem", Text), "");
    let items = vec![
        Fact::new("path", at.figure("path", Text)),
        Fact::new(
            "file system",
            phrase![at.figure("filesystem", Text), " on ", at.figure("device", Text), backing],
        ),
        Fact::new(
            "mounted at",
            phrase![at.figure("mount_point", Text), " (", at.figure("mount_options", Text), ")"],
        ),
        Fact::new("write cache", at.figure("write_cache", Text)),
        Fact::new(
            "size",
            phrase![at.figure("size_bytes", Bytes), ", free ", at.figure("available_bytes", Bytes)],
        ),
    ];
    let sync_write = sync.figure("rate_per_s", Rate).map(|rate| {
        let words = phrase![
            "p50 ",
            sync.figure("latency/p50_ns", Latency),
            ", max ",
            sync.figure("latency/max_ns", Latency),
            ", ",
            Some(rate),
            "/s (write of ",
            sync.figure("write_bytes", Bytes),
            " and fdatasync, ",
            sync.figure("latency/count", Count),
            " times)",
        ];
        Fact::new("sync write", words)
    });
    Facts { title, items: items.into_iter().chain(sync_write).collect() }
}

fn server(facts: &ServerFacts, at: &Place<'_>, title: Phrase) -> Facts {
    let version = phrase!["PostgreSQL ", at.figure("version", Text), ", ", at.figure("source", Word)];
    let mut items = vec![
        Fact::new("version", version),
        Fact::new("compiler", at.figure("build/compiler", Text)),
        Fact::new("flags", at.figure("build/cflags", Text)),
    ];
    items.extend(compiled(&facts.build, &at.at("build")));
    let block = phrase![
        at.figure("block_bytes", Bytes),
        maybe(", of WAL ", at.figure("wal_block_bytes", Bytes), ""),
        maybe(", table segment ", at.figure("segment_bytes", Bytes), ""),
        ", WAL segment ",
        at.figure("wal_segment_bytes", Bytes),
    ];
    items.extend([
        Fact::new("durability", facts.durability.label()),
        Fact::new("checksums", if facts.data_checksums { "on" } else { "off" }),
        Fact::new("block", block),
        Fact::new("shared buffers", at.figure("shared_buffers_bytes", Bytes)),
        Fact::new("data", at.figure("data_directory", Text)),
    ]);
    items.extend(facts.wal_storage.as_ref().map(|_| wal(&at.at("wal_storage"))));
    items.extend(facts.database.as_ref().map(|_| database(&at.at("database"))));
    Facts { title, items }
}

fn wal(at: &Place<'_>) -> Fact {
    let [path, filesystem, device, mounted] =
        ["path", "filesystem", "device", "mount_point"].map(|field| at.figure(field, Text));
    Fact::new("WAL", phrase![path, ": ", filesystem, " on ", device, ", mounted at ", mounted])
}

fn database(at: &Place<'_>) -> Fact {
    let [encoding, locale, provider] =
        ["encoding", "collate", "provider"].map(|field| at.figure(field, Text));
    Fact::new("database", phrase![encoding, ", locale ", locale, " by ", provider])
}

/// Compiled-in features, and the origin of a build by pgdyno. Unknown facts are omitted.
fn compiled(build: &BuildFacts, at: &Place<'_>) -> Vec<Fact> {
    let mut items = Vec::new();
    if let Some(features) = &build.features {
        let none = if features.is_empty() { "none of the known features" } else { "" };
        let list = at.texts("features", features.len(), usize::MAX);
        items.push(Fact::new("features", phrase![none, joined(list, ", ")]));
    }
    let Some(made) = &build.made else { return items };
    let at = at.at("made");
    let hash = |field: &str| maybe(", SHA-256 ", at.figure(field, Text), "");
    let from = maybe(" from ", at.figure("source", Text), "");
    items.push(Fact::new("build", phrase![at.figure("name", Text), from, hash("source_sha256")]));
    if !made.cflags.is_empty() {
        items.push(Fact::new("flags given", at.figure("cflags", Text)));
    }
    items.extend((0..made.patches.len()).map(|patch| {
        let name = at.figure(format!("patches/{patch}/name"), Text);
        Fact::new("patch", phrase![name, hash(&format!("patches/{patch}/sha256"))])
    }));
    items
}

/// The connection to an existing server.
fn connection(facts: &ConnectionFacts, at: &Place<'_>, title: Phrase) -> Facts {
    let known = |is: bool, field: &str, otherwise: &str| match is {
        true => at.figure(field, Text).into(),
        false => Phrase::from(otherwise),
    };
    let mut items = vec![Fact::new("encryption", known(facts.encryption.is_some(), "encryption", "none"))];
    if let Some(pooler) = &facts.pooler {
        let prepared = match pooler.keeps_prepared {
            true => " mode, supports prepared statements",
            false => " mode, does not support prepared statements",
        };
        let name = known(pooler.name.is_some(), "pooler/name", "unknown pooler");
        items.push(Fact::new("pooler", phrase![name, ", ", at.figure("pooler/mode", Text), prepared]));
    }
    items.extend(facts.standby.then(|| Fact::new("role", "standby")));
    let admin = || Fact::new("admin session", "separate connection string (--admin-dsn)");
    items.extend(facts.separate_admin.then(admin));
    Facts { title, items }
}

/// The SQL files of the plan with their digests.
fn plan_sql(files: &WorkloadFilesRecord, at: &Place<'_>) -> Facts {
    let texts = |at: Place<'_>, count: usize| {
        joined(
            (0..count).map(|index| {
                let [name, hash] = ["name", "sha256"].map(|field| at.at(index).figure(field, Text));
                phrase![name, " (SHA-256 ", hash, ")"]
            }),
            ", ",
        )
    };
    let setup = files.setup.as_ref();
    let setup = setup.map(|setup| Fact::new("setup", texts(at.at("setup/texts"), setup.texts.len())));
    let workloads = files.workloads.iter().enumerate().map(|(index, workload)| {
        let at = at.at("workloads").at(index);
        let scripts = texts(at.at("scripts"), workload.scripts.len());
        Fact::new("workload", phrase![at.figure("name", Text), ": ", scripts])
    });
    Facts { title: "The plan's own SQL".into(), items: setup.into_iter().chain(workloads).collect() }
}

/// Result of the plan's setup for a subject.
fn setup(run: &Run<'_>, index: usize) -> Facts {
    let at = run.subject(index).at("setup");
    let statements = phrase![at.figure("statements", Count), " in ", at.figure("statements_s", Seconds)];
    let tables = phrase![at.figure("tables", Count), ", ", at.figure("size_bytes", Bytes)];
    let items = vec![
        Fact::new("statements", statements),
        Fact::new("tables", tables),
        Fact::new("vacuum", at.figure("vacuum_s", Seconds)),
    ];
    Facts { title: phrase!["Setup", run.whose(index)], items }
}

/// A run that drove nothing.
fn of_operations(root: &Place<'_>) -> Facts {
    let at = root.at("plan");
    let tool = phrase![root.figure("tool/version", Text), ", commit ", root.figure("tool/commit", Text)];
    let connections = phrase![at.figure("jobs", Count), " at a time, over ", at.figure("transport", Word)];
    let mut items = vec![
        Fact::new("run", root.figure("id", Text)),
        Fact::new("started", root.figure("started_at", Instant)),
        Fact::new("connections", connections),
        Fact::new("server", at.figure("server", Word)),
    ];
    let seed = at.figure("seed", Text).filter(|seed| seed.value != 0);
    items.extend(seed.map(|seed| Fact::new("seed", Some(seed))));
    items.push(Fact::new("pgdyno", tool));
    Facts { title: "Run".into(), items }
}

fn of_run(root: &Place<'_>) -> Facts {
    let at = root.at("plan");
    let measured = phrase![
        at.figure("duration_ns", Nanoseconds),
        " after ",
        at.figure("warmup_ns", Nanoseconds),
        " of warm-up, blocks: ",
        at.figure("blocks", Count),
    ];
    let driver = phrase![
        "threads: ",
        at.figure("jobs", Count),
        ", over ",
        at.figure("transport", Word),
        ", waiting by ",
        at.figure("waiting", Word),
    ];
    let tool = phrase![root.figure("tool/version", Text), ", commit ", root.figure("tool/commit", Text)];
    let items = vec![
        Fact::new("run", root.figure("id", Text)),
        Fact::new("started", root.figure("started_at", Instant)),
        Fact::new("measured", measured),
        Fact::new("driver", driver),
        Fact::new("server", at.figure("server", Word)),
        Fact::new("seed", at.figure("seed", Text)),
        Fact::new("pgdyno", tool),
    ];
    Facts { title: "Run".into(), items }
}
