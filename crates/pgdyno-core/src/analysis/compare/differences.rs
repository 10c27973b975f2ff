//! In what two servers differ.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::facts::{BuildFacts, ServerFacts};

/// A fact or a setting that A and B do not share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// Its name: a setting's, or that of a fact such as `build`.
    pub what: String,
    /// What A has; absent where that is not known, or where a setting has its default.
    pub a: Option<String>,
    /// What B has.
    pub b: Option<String>,
}

/// Settings that two servers side by side cannot share, and those that only repeat a fact.
const ALWAYS_OWN: [&str; 11] = [
    "cluster_name",
    "config_file",
    "data_checksums",
    "data_directory",
    "external_pid_file",
    "hba_file",
    "ident_file",
    "log_directory",
    "log_filename",
    "port",
    "unix_socket_directories",
];

/// Options of a compiler that change no instruction: warnings, debugging, and paths of the place where it was built.
const HARMLESS: [&str; 6] =
    ["-W", "-g", "-ffile-prefix-map=", "-fdebug-prefix-map=", "-fmacro-prefix-map=", "-fdiagnostics"];

/// Whether two programs come from the same compiler with the same flags; `None` where that is not known.
pub fn same_build(a: &BuildFacts, b: &BuildFacts) -> Option<bool> {
    let compilers = a.compiler.as_ref().zip(b.compiler.as_ref()).map(|(a, b)| a == b);
    let cflags = a.cflags.as_deref().zip(b.cflags.as_deref()).map(|(a, b)| flags(a) == flags(b));
    // One difference is enough; to be alike, both must be known.
    match (compilers, cflags) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

/// The flags that may change what the program does, in any order.
fn flags(cflags: &str) -> BTreeSet<&str> {
    cflags.split_whitespace().filter(|flag| !HARMLESS.iter().any(|start| flag.starts_with(start))).collect()
}

/// All that differs between two servers, facts before settings.
///
/// Where compilers or flags differ, what is compared are two builds, and no line says `version`.
pub fn differences(a: &ServerFacts, b: &ServerFacts) -> Vec<Difference> {
    let facts = [
        program(a, b),
        fact("source", a, b, |server| word(&server.source)),
        fact("block size", a, b, |server| Some(server.block_bytes.to_string())),
        fact("WAL segment size", a, b, |server| Some(server.wal_segment_bytes.to_string())),
        fact("data checksums", a, b, |server| Some(on_off(server.data_checksums))),
        fact("durability", a, b, |server| Some(server.durability.short().to_owned())),
    ];
    facts.into_iter().flatten().chain(settings(a, b)).collect()
}

/// The program itself: by its version where the builds are alike, else as a build.
fn program(a: &ServerFacts, b: &ServerFacts) -> Option<Difference> {
    match same_build(&a.build, &b.build) {
        Some(false) => fact("build", a, b, |server| {
            let parts = [server.build.compiler.clone(), server.build.cflags.clone()];
            let parts = [Some(server.version.clone())].into_iter().chain(parts).flatten();
            Some(parts.collect::<Vec<_>>().join("; "))
        }),
        _ => fact("version", a, b, |server| Some(server.version.clone())),
    }
}

fn fact(
    what: &str,
    a: &ServerFacts,
    b: &ServerFacts,
    of: impl Fn(&ServerFacts) -> Option<String>,
) -> Option<Difference> {
    let (a, b) = (of(a), of(b));
    (a != b).then(|| Difference { what: what.to_owned(), a, b })
}

/// A word of the record.
fn word(value: &impl Serialize) -> Option<String> {
    serde_json::to_value(value).ok()?.as_str().map(str::to_owned)
}

fn on_off(on: bool) -> String {
    if on { "on" } else { "off" }.to_owned()
}

fn settings(a: &ServerFacts, b: &ServerFacts) -> impl Iterator<Item = Difference> {
    let value = |server: &ServerFacts, name: &str| {
        server.settings.iter().find(|setting| setting.name == name).map(|setting| setting.value.clone())
    };
    let names: BTreeSet<String> =
        a.settings.iter().chain(&b.settings).map(|setting| setting.name.clone()).collect();
    let own = |name: &String| ALWAYS_OWN.contains(&name.as_str());
    let differ: Vec<_> = names
        .into_iter()
        .filter(|name| !own(name))
        .map(|name| Difference { a: value(a, &name), b: value(b, &name), what: name })
        .filter(|difference| difference.a != difference.b)
        .collect();
    differ.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        analysis::doubts::samples::server,
        facts::{DurabilityTier, Setting},
    };

    fn set(name: &str, value: &str) -> Setting {
        Setting { name: name.into(), value: value.into(), source: "configuration file".into() }
    }

    fn lines(a: &ServerFacts, b: &ServerFacts) -> Vec<String> {
        let side = |value: Option<String>| value.unwrap_or_else(|| "–".into());
        differences(a, b).into_iter().map(|d| format!("{}: {} | {}", d.what, side(d.a), side(d.b))).collect()
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
    }

    #[test]
    fn two_builds_are_not_called_two_versions() {
        let (a, mut b) = (server(), server());
        b.version = "17.6".into();
        b.build.cflags = Some("-Wall -g -Os".into());
        let found = lines(&a, &b);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("build: 18.4; gcc 14; -Wall") && found[0].ends_with("-Os"), "{found:?}");
        assert!(!found[0].contains("version"));
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
