//! Differences between two subjects, with their reasons.

use std::collections::BTreeSet;

use pgdyno_core::{
    facts::{BuildFacts, ConnectionFacts, DurabilityTier, PoolerFacts, ServerFacts, same_build},
    host::Storage,
    results::{Difference, Why},
    units,
};
use pgdyno_rows::load::AccountsState;
use serde::Serialize;

use super::{
    difference::{Asked, AskedProgram, LoadedData, Side},
    settings,
};

/// Tolerated difference in size between identically loaded data, as a share, for free space maps and the like.
const SAME_SIZE: f64 = 0.01;

/// All differences between two subjects with their reasons, facts before settings. Facts known for only one of them are
/// not differences; [`super::Comparable`] lists them.
///
/// If compilers or flags differ, the result has a row `build` instead of `version`.
pub fn differences(a: &Side<'_>, b: &Side<'_>, asked: &Asked) -> Vec<Difference> {
    let mut found = Vec::new();
    if let (Some(of_a), Some(of_b)) = (a.server, b.server) {
        found.extend(of_programs(of_a, of_b, asked.program));
        found.extend(of_clusters(of_a, of_b, asked));
    }
    found.extend(of_surroundings(a, b, asked));
    found.extend(of_storage(a, b, asked));
    found.extend(of_data(a, b, asked));
    found.extend(settings::differences(a, b, asked));
    found
}

/// A difference of one fact; `None` if both are equal, or one of them is unknown.
fn row(what: &str, a: Option<String>, b: Option<String>, why: Why) -> Option<Difference> {
    let (a, b) = a.zip(b)?;
    (a != b).then(|| Difference { what: what.to_owned(), a: Some(a), b: Some(b), why: Some(why) })
}

fn of_programs(a: &ServerFacts, b: &ServerFacts, asked: AskedProgram) -> Vec<Difference> {
    // Differences of the build are requested only if two programs were given explicitly.
    let built = if asked == AskedProgram::Build { Why::Asked } else { Why::Besides };
    let fact = |what: &str, of: &dyn Fn(&ServerFacts) -> Option<String>, why| row(what, of(a), of(b), why);
    let bytes = |size: u64| Some(units::bytes(size));
    [
        identity(a, b, asked, built),
        fact("compiler", &|server| server.build.compiler.clone(), built)
            .filter(|_| a.build.has_compiler_of(&b.build) == Some(false)),
        flags(&a.build, &b.build, built),
        fact("features", &|server| Some(words(server.build.telling_features()?)), built),
        fact("patches", &|server| Some(patches(&server.build)), built),
        fact(
            "source",
            &|server| word(&server.source),
            if asked == AskedProgram::Nothing { Why::Besides } else { Why::Asked },
        ),
        fact("block size", &|server| bytes(server.block_bytes.into()), built),
        fact("WAL block size", &|server| bytes(server.wal_block_bytes?.into()), built),
        fact("table segment size", &|server| bytes(server.segment_bytes?), built),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The program: its version if the builds are equal, otherwise its build.
fn identity(a: &ServerFacts, b: &ServerFacts, asked: AskedProgram, built: Why) -> Option<Difference> {
    let version = |server: &ServerFacts| server.version.clone();
    match same_build(&a.build, &b.build) {
        Some(false) => row("build", Some(build_words(a)), Some(build_words(b)), built),
        _ if asked == AskedProgram::Nothing => {
            row("version", Some(version(a)), Some(version(b)), Why::Besides)
        }
        _ => row("version", Some(version(a)), Some(version(b)), Why::Asked),
    }
}

/// Version and name of a build.
fn build_words(server: &ServerFacts) -> String {
    let name = server.build.made.as_ref().map(|made| format!(", `{}`", made.name)).unwrap_or_default();
    format!("PostgreSQL {}{name}", server.version)
}

/// Flags of only one of the builds.
fn flags(a: &BuildFacts, b: &BuildFacts, why: Why) -> Option<Difference> {
    let (of_a, of_b) = a.telling_flags().zip(b.telling_flags())?;
    let only =
        |one: &BTreeSet<String>, other: &BTreeSet<String>| words(one.difference(other).map(String::as_str));
    row("flags", Some(only(&of_a, &of_b)), Some(only(&of_b, &of_a)), why)
}

fn patches(build: &BuildFacts) -> String {
    let patches = build.made.iter().flat_map(|made| &made.patches);
    let patches: Vec<_> = patches.map(|patch| format!("{} ({})", patch.name, patch.sha256)).collect();
    words(patches.iter().map(String::as_str))
}

/// Words separated by blanks, or `none`.
fn words<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let words: Vec<_> = words.into_iter().collect();
    if words.is_empty() { "none".to_owned() } else { words.join(" ") }
}

/// Properties fixed by initdb, and durability.
fn of_clusters(a: &ServerFacts, b: &ServerFacts, asked: &Asked) -> Vec<Difference> {
    let fact = |what: &str, of: &dyn Fn(&ServerFacts) -> Option<String>, why| row(what, of(a), of(b), why);
    let by_setting = |names: &[&str]| {
        let is_asked = asked.preset || names.iter().any(|name| asked.settings.contains(*name));
        if is_asked { Why::Asked } else { Why::Besides }
    };
    // Before 11 it was compiled in.
    let compiled = asked.program == AskedProgram::Build && a.version_num.min(b.version_num) < 110_000;
    let segment = if compiled { Why::Asked } else { Why::Besides };
    let database = |of: fn(&pgdyno_core::facts::DatabaseFacts) -> String| {
        move |server: &ServerFacts| server.database.as_ref().map(of)
    };
    [
        fact("WAL segment size", &|server| Some(units::bytes(server.wal_segment_bytes)), segment),
        fact("data checksums", &|server| Some(on_off(server.data_checksums)), Why::Besides),
        fact("encoding", &database(|of| of.encoding.clone()), Why::Besides),
        fact("locale", &database(|of| words([&*of.collate, &*of.ctype, &*of.provider])), Why::Besides),
        tiers(a, b, asked),
        fact(
            "shared_buffers",
            &|server| Some(units::bytes(server.shared_buffers_bytes)),
            by_setting(&["shared_buffers"]),
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Durability tiers. A script may be requested, but the weaker durability that it causes is not.
pub(super) fn tiers(a: &ServerFacts, b: &ServerFacts, asked: &Asked) -> Option<Difference> {
    let by_setting = ["fsync", "synchronous_commit", "full_page_writes"];
    let is_set = asked.preset || by_setting.iter().any(|name| asked.settings.contains(*name));
    // If locations were requested, one of them may be in memory; if unlogged tables were, one has them.
    let is_one = |tier: DurabilityTier| [a, b].iter().any(|server| server.durability == tier);
    let by_place = asked.places && is_one(DurabilityTier::InMemory);
    let by_load = asked.load.contains("unlogged") && is_one(DurabilityTier::Unlogged);
    let why = if is_set || by_place || by_load { Why::Asked } else { Why::Besides };
    let word = |server: &ServerFacts| Some(server.durability.short().to_owned());
    row("durability", word(a), word(b), why)
}

/// Client counts.
pub(super) fn clients(a: &Side<'_>, b: &Side<'_>, asked: &Asked) -> Option<Difference> {
    let why = if asked.clients { Why::Asked } else { Why::Besides };
    let count = |side: &Side<'_>| Some(side.clients?.to_string());
    row("clients", count(a), count(b), why)
}

/// Connection, client count and CPUs.
fn of_surroundings(a: &Side<'_>, b: &Side<'_>, asked: &Asked) -> Vec<Difference> {
    let fact = |what: &str, of: &dyn Fn(&Side<'_>) -> Option<String>| row(what, of(a), of(b), Why::Besides);
    let by_way = if asked.connection { Why::Asked } else { Why::Besides };
    let way = |what: &str, of: &dyn Fn(&ConnectionFacts) -> Option<String>| {
        let of = |side: &Side<'_>| side.connection.as_ref().and_then(of);
        row(what, of(a), of(b), by_way)
    };
    let or_none = |word: Option<String>| word.or_else(|| Some("none".to_owned()));
    [
        way("transport", &|way| word(&way.transport?)),
        way("encryption", &|way| or_none(way.encryption.clone())),
        way("pooler", &|way| or_none(way.pooler.as_ref().map(pooler))),
        way("standby", &|way| Some(if way.standby { "yes" } else { "no" }.to_owned())),
        clients(a, b, asked),
        fact("CPUs", &|side| Some(side.processors?.to_string())),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Storage of data and WAL. Two directories on one file system are not a difference.
fn of_storage(a: &Side<'_>, b: &Side<'_>, asked: &Asked) -> Vec<Difference> {
    let why = if asked.places { Why::Asked } else { Why::Besides };
    let own_wal = [a, b].iter().any(|side| side.server.is_some_and(|server| server.wal_storage.is_some()));
    let wal = wal_storage(a).zip(wal_storage(b)).filter(|(a, b)| own_wal && !a.is_of_file_system(b));
    let wal = wal.and_then(|(a, b)| row("storage of WAL", Some(place(a)), Some(place(b)), why));
    let Some((of_a, of_b)) = a.storage.zip(b.storage).filter(|(a, b)| !a.is_of_file_system(b)) else {
        return wal.into_iter().collect();
    };
    let fact = |what: &str, of: &dyn Fn(&Storage) -> Option<String>| row(what, of(of_a), of(of_b), why);
    [
        wal,
        fact("storage", &|storage| Some(place(storage))),
        fact("mount options", &|storage| storage.mount_options.clone()),
        fact("rotating disk", &|storage| storage.rotational.map(on_off)),
        fact("write cache", &|storage| storage.write_cache.clone()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Storage of WAL: that of the data, unless WAL has its own location.
fn wal_storage<'a>(side: &Side<'a>) -> Option<&'a Storage> {
    side.server.and_then(|server| server.wal_storage.as_ref()).or(side.storage)
}

/// Type, device and mount point of a file system.
fn place(storage: &Storage) -> String {
    let or = |fact: &Option<String>, other: &str| fact.clone().unwrap_or_else(|| other.to_owned());
    let (kind, device) = (or(&storage.filesystem, "unknown"), or(&storage.device, "no device"));
    format!("{kind} on {device} at {}", or(&storage.mount_point, &storage.path))
}

fn pooler(of: &PoolerFacts) -> String {
    let prepared = if of.keeps_prepared { ", keeps prepared statements" } else { "" };
    format!("{} in {} mode{prepared}", of.name.as_deref().unwrap_or("a pooler"), of.mode)
}

/// Amount and layout of the data.
fn of_data(a: &Side<'_>, b: &Side<'_>, asked: &Asked) -> Vec<Difference> {
    let Some((of_a, of_b)) = a.data.as_ref().zip(b.data.as_ref()) else { return Vec::new() };
    let fact =
        |what: &str, of: &dyn Fn(&LoadedData) -> String, why| row(what, Some(of(of_a)), Some(of(of_b)), why);
    // Method and format of the load follow from all its options.
    let loaded = if asked.load.is_empty() { Why::Besides } else { Why::Asked };
    let all = [
        fact("scale", &|data| data.scale.to_string(), Why::Besides),
        fact("rows", &|data| data.rows.to_string(), Why::Besides),
        fact("load", &|data| data.load.clone(), loaded),
    ];
    let mut found: Vec<_> = all.into_iter().flatten().collect();
    found.extend(of_options(of_a, of_b, asked));
    found.extend(size(of_a, of_b, asked));
    found.extend(fact("data in buffers", &|data| on_off(data.in_buffers), Why::Besides));
    found
}

/// Why an option of the load differs.
fn by_option(name: &str, asked: &Asked) -> Why {
    if asked.load.contains(name) { Why::Asked } else { Why::Besides }
}

/// Options of the load that show in the catalog of TPC-B's accounts.
const SEEN: [&str; 4] = ["partitions", "fillfactor", "unlogged", "foreign-keys"];

/// Begins the names of storage options.
const TABLE_OPTION: &str = "table-option ";

/// Options of the load: as the catalog has them, the others as they were requested.
fn of_options(a: &LoadedData, b: &LoadedData, asked: &Asked) -> Vec<Difference> {
    let accounts = |what: &str, of: &dyn Fn(&AccountsState) -> String, option: &str| {
        let of = |data: &LoadedData| data.accounts.as_ref().map(of);
        row(what, of(a), of(b), by_option(option, asked))
    };
    let of_table = asked.load.iter().find(|name| name.starts_with(TABLE_OPTION));
    let storage = of_table.map_or(SEEN[1], String::as_str);
    let yes_no = |is: bool| if is { "yes" } else { "no" }.to_owned();
    let seen = [
        accounts("partitions", &|of| of.partitions.to_string(), SEEN[0]),
        accounts("storage options", &|of| words(of.options.iter().map(String::as_str)), storage),
        accounts("access method", &|of| of.access_method.clone(), ""),
        accounts("unlogged tables", &|of| yes_no(of.unlogged), SEEN[2]),
        accounts("foreign keys", &|of| of.foreign_keys.to_string(), SEEN[3]),
    ];
    let is_seen = a.accounts.is_some() && b.accounts.is_some();
    let names: BTreeSet<&String> = a.options.keys().chain(b.options.keys()).collect();
    let others = names.into_iter().filter(|name| !is_seen || !SEEN.contains(&name.as_str()));
    let value =
        |data: &LoadedData, name| data.options.get(name).cloned().unwrap_or_else(|| "none".to_owned());
    let others = others.map(|name| {
        // `jobs` alone are driver threads.
        let what = if name == "jobs" { "load jobs".to_owned() } else { name.replace('-', " ") };
        row(&what, Some(value(a, name)), Some(value(b, name)), by_option(name, asked))
    });
    seen.into_iter().chain(others).flatten().collect()
}

/// Size of the data, the only fact that shows bloat. It follows from the options of the load, and from layouts that
/// differ between versions and block sizes.
fn size(a: &LoadedData, b: &LoadedData, asked: &Asked) -> Option<Difference> {
    let [small, large] = [a.size_bytes.min(b.size_bytes), a.size_bytes.max(b.size_bytes)];
    if (large - small) as f64 <= large as f64 * SAME_SIZE {
        return None;
    }
    let follows = asked.program != AskedProgram::Nothing || !asked.load.is_empty();
    let mib = |data: &LoadedData| format!("{:.1} MiB", data.size_bytes as f64 / f64::from(1 << 20));
    let why = if follows { Why::Asked } else { Why::Besides };
    row("size of the data", Some(mib(a)), Some(mib(b)), why)
}

/// A value as a word of the record.
fn word(value: &impl Serialize) -> Option<String> {
    serde_json::to_value(value).ok()?.as_str().map(str::to_owned)
}

fn on_off(on: bool) -> String {
    if on { "on" } else { "off" }.to_owned()
}

#[cfg(test)]
mod tests {
    use pgdyno_core::facts::{MadeFacts, Setting};

    use super::*;
    use crate::doubts::samples::server;

    fn set(name: &str, value: &str) -> Setting {
        Setting { name: name.into(), value: value.into(), source: "configuration file".into() }
    }

    fn lines(a: &ServerFacts, b: &ServerFacts) -> Vec<String> {
        let side = |server| Side { server: Some(server), ..Side::default() };
        let word = |value: Option<String>| value.unwrap_or_else(|| "–".into());
        let found = differences(&side(a), &side(b), &Asked::default()).into_iter();
        found.map(|d| format!("{}: {} | {}", d.what, word(d.a), word(d.b))).collect()
    }

    #[test]
    fn a_server_does_not_differ_from_itself() {
        let mut one = server();
        one.settings = vec![set("port", "5432"), set("work_mem", "4MB")];
        let mut other = one.clone();
        other.settings[0].value = "5433".into();
        other.data_directory = Some("/elsewhere".into());
        assert_eq!(lines(&one, &other), [""; 0]);
    }

    #[test]
    fn facts_and_settings_that_differ_are_named() {
        let (mut a, mut b) = (server(), server());
        b.version = "17.6".into();
        b.data_checksums = false;
        b.durability = DurabilityTier::AsyncCommit;
        a.settings = vec![set("jit", "off"), set("work_mem", "4MB")];
        b.settings = vec![set("work_mem", "64MB"), set("synchronous_commit", "off")];
        assert_eq!(
            lines(&a, &b),
            [
                "version: 18.4 | 17.6",
                "data checksums: on | off",
                "durability: full | async",
                "jit: off | –",
                "synchronous_commit: – | off",
                "work_mem: 4MB | 64MB"
            ]
        );
        b.defaults.as_mut().expect("it is known").insert("jit".into(), "on".into());
        assert!(lines(&a, &b).contains(&"jit: off | on".to_owned()), "defaults are shown with their values");
    }

    #[test]
    fn two_builds_are_not_called_two_versions() {
        let (a, mut b) = (server(), server());
        b.version = "17.6".into();
        b.build.cflags = Some("-Wall -g -Os".into());
        let made = MadeFacts { name: "small".into(), ..MadeFacts::default() };
        b.build.made = Some(made);
        let expected = [
            "build: PostgreSQL 18.4 | PostgreSQL 17.6, `small`",
            "flags: -O2 -fstack-protector-strong | -Os",
        ];
        assert_eq!(lines(&a, &b), expected);
    }

    #[test]
    fn warnings_and_paths_make_no_other_build() {
        let with = |cflags: &str| BuildFacts { cflags: Some(cflags.into()), ..server().build };
        let debian = with("-O2 -Wall -g -ffile-prefix-map=/build/postgresql-15=. -fno-strict-aliasing");
        let other = with("-fno-strict-aliasing -O2 -Wextra -ffile-prefix-map=/build/postgresql-18=.");
        assert_eq!(same_build(&debian, &other), Some(true));
        assert_eq!(same_build(&debian, &with("-O3 -fno-strict-aliasing")), Some(false));
        let clang = BuildFacts { compiler: Some("clang 19".into()), ..debian.clone() };
        assert_eq!(same_build(&debian, &clang), Some(false));
        assert_eq!(same_build(&debian, &BuildFacts::default()), None);
        let flags_alone = |cflags: &str| BuildFacts { compiler: None, ..with(cflags) };
        assert_eq!(same_build(&flags_alone("-O2"), &flags_alone("-Os")), Some(false));
        assert_eq!(same_build(&flags_alone("-O2"), &flags_alone("-O2")), None);
    }
}
