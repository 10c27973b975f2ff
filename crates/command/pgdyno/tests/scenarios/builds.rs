//! Servers of builds: `up`, `bench` and `ab` with programs that lie where `pgdyno build` puts them. They are copies of
//! the bundle, so that nothing has to be compiled; what their manifests say is said here.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use pgdyno_analysis::{
    DoubtKind,
    compare::{Comparable, Fairness, Why},
};
use pgdyno_core::facts::ServerSource;
use pgdyno_provision::builds::{BuildSystem, Manifest, Patch};
use pgdyno_record::Run;

use crate::common::{OLDEST, Place, brief, holds_together, is_complete, left_out, text, tiny, word};

/// Where the bundle of PostgreSQL 18 is kept on this machine.
pub fn bundle() -> &'static Path {
    static BUNDLE: OnceLock<PathBuf> = OnceLock::new();
    BUNDLE.get_or_init(|| {
        let place = Place::new();
        place.done(&["up", "--pg", "18", "--bundle"]);
        let bindir = PathBuf::from(word(&place.only(), "bindir"));
        bindir.parent().expect("it is in a directory").to_owned()
    })
}

/// A place whose cache holds builds of these names and compiler flags.
fn with_builds(builds: &[(&str, &str)]) -> Place {
    let (place, bundle) = (Place::with_empty_cache(), bundle());
    for (at, (name, cflags)) in builds.iter().enumerate() {
        let digest = format!("{:02x}", 0xa0 + at);
        let root = place.path("cache/builds");
        fs::create_dir_all(root.join("made")).expect("it can be made");
        fs::create_dir_all(root.join("names")).expect("it can be made");
        let made = root.join("made").join(&digest);
        let copied = Command::new("cp").args(["-a"]).arg(bundle).arg(&made).status();
        assert!(copied.expect("cp can be run").success());
        write_manifest(&made, &manifest(cflags));
        fs::write(root.join("names").join(name), digest).expect("it can be written");
    }
    place
}

fn write_manifest(made: &Path, manifest: &Manifest) {
    let text = serde_json::to_vec(manifest).expect("it can be written");
    fs::write(made.join("build.json"), text).expect("it can be written");
}

fn manifest(cflags: &str) -> Manifest {
    Manifest {
        version: "18.6".into(),
        version_num: 180_006,
        source: "debian:18".into(),
        source_sha256: "5a".repeat(32),
        patches: vec![Patch { name: "fast.patch".into(), sha256: "7b".repeat(32) }],
        compiler: "gcc (Debian 12.2.0-14) 12.2.0".into(),
        cc: "/usr/bin/gcc".into(),
        cflags: cflags.into(),
        configure: vec!["--with-icu".into()],
        system: BuildSystem::Autoconf,
        block_kb: 8,
        wal_block_kb: 8,
        segment_gb: 1,
        made_s: 200.0,
        built_at: "2026-11-21T17:00:00Z".into(),
    }
}

#[test]
fn a_server_of_a_build_is_shown_with_its_name() {
    let place = with_builds(&[("quick", "-O3")]);
    let said = place.done(&["up", "--build", "quick"]);
    assert!(said.contains("(build `quick`) is running"), "{said}");
    let server = place.only();
    assert_eq!((word(&server, "source"), word(&server, "build")), ("built", "quick"));
    assert!(word(&server, "bindir").ends_with("cache/builds/made/a0/bin"), "{server}");
    assert!(place.done(&["up", "--build", "quick"]).contains("was already running"));
    let said = place.refused(&["up", "--build", "quack"], 2);
    assert!(said.contains("--build requests `quack`, but it has `quick`"), "{said}");
    place.done(&["down", "main"]);
    place.done(&["up"]);
    assert_eq!(word(&place.only(), "build"), "quick");
    let said = place.refused(&["up", "other", "--build", "quick", "--pg", "17"], 2);
    assert!(said.contains("--pg requests PostgreSQL 17, but the build `quick` is 18.6"), "{said}");
    let said = place.refused(&["up", "other", "--build", "quack"], 2);
    assert!(said.contains("there is no build `quack`") && said.contains("did you mean `quick`?"), "{said}");
    versions_show_it(&place);
}

fn versions_show_it(place: &Place) {
    let table = place.done(&["versions"]);
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    assert!(table.contains("build quick") && table.contains(", -O3\n"), "{table}");
    let json: serde_json::Value = serde_json::from_str(&place.done(&["versions", "--json"])).expect("JSON");
    let rows = json.as_array().expect("it is a list");
    let built = rows.iter().find(|row| row["build"] == "quick").expect("it is listed");
    assert_eq!((&built["source"], &built["block_bytes"]), (&"built".into(), &8_192.into()));
    assert_eq!(built["made"]["patches"][0]["name"], "fast.patch");
    let majors: std::collections::BTreeSet<_> = rows.iter().filter_map(|row| row["major"].as_str()).collect();
    assert!([OLDEST, "9.6", "10", "14", "18"].iter().all(|major| majors.contains(major)), "{majors:?}");
}

/// A setting counted in blocks is understood in those of the build, and refused before anything is made.
#[test]
fn blocks_are_those_of_the_build() {
    let place = with_builds(&[("wide", "-O2")]);
    let wide = Manifest { block_kb: 32, ..manifest("-O2") };
    write_manifest(&place.path("cache/builds/made/a0"), &wide);
    let said = place.refused(&["up", "--build", "wide", "--set", "shared_buffers=256kB"], 2);
    assert!(said.contains("is not an amount of memory of 512kB or more"), "{said}");
    assert!(said.contains("a number of 32kB blocks"), "{said}");
    assert!(place.done(&["versions"]).contains("blocks of 32 KiB"));
    place.nothing_is_left();
}

fn comparable(run: &Run) -> &Comparable {
    run.record.subjects[1].comparable.as_ref().expect("it was judged")
}

fn ab<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let short = ["--scale", "1", "--clients", "2", "--duration", brief(), "--warmup", "50ms"];
    let method = ["--blocks", "3", "-b", "select-only"];
    ["ab"].iter().chain(&short).chain(&method).chain(more).copied().collect()
}

/// The programs of a build are asked what they take before a cluster is made, and nothing of it is left.
#[test]
fn a_setting_that_a_build_refuses_is_a_wrong_request() {
    let place = with_builds(&[("quick", "-O3")]);
    let output = place.run(&["up", "--build", "quick", "--set", "max_connections=none"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("refuses the setting max_connections: "), "{said}");
    assert!(said.contains("invalid value") && said.contains("hint: "), "{said}");
    place.nothing_is_left();
}

/// Tests that `cargo test` leaves out and `.ci/run` runs.
mod long {
    use super::*;

    /// The same program from two directories is the same, however it came there.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn twins_are_alike_and_a_setting_of_one_is_what_was_asked() {
        let place = with_builds(&[("one", "-O2"), ("other", "-O2")]);
        let dirs = ["a0", "a1"].map(|digest| place.path(&format!("cache/builds/made/{digest}/bin")));
        let [one, other] = dirs.map(|dir| dir.display().to_string());
        place.done(&ab(&["--bindir", &one, "--bindir", &other]));
        let run = place.only_run();
        assert_eq!(comparable(&run).verdict, Fairness::Alike, "{:?}", run.record.subjects[1].differences);
        assert_eq!(run.record.subjects[1].differences, []);
        let place = with_builds(&[("one", "-O2")]);
        place.done(&ab(&["build=one,set:jit=on", "build=one,set:jit=off"]));
        let run = place.only_run();
        assert_eq!(
            (comparable(&run).verdict, &comparable(&run).asked[..]),
            (Fairness::AlikeButForWhatWasAsked, &["jit".to_owned()][..])
        );
    }

    /// An installed server against the bundle of its major: what differs is not the version.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_bundle_against_what_is_installed_differs_in_its_build() {
        let installed = Path::new("/usr/lib/postgresql/15/bin");
        if !installed.join("postgres").is_file() {
            left_out("PostgreSQL 15 is not installed on this machine");
            return;
        }
        let place = Place::new();
        place.done(&ab(&["bindir=/usr/lib/postgresql/15/bin", "pg=15,bundle"]));
        let run = place.only_run();
        let rows = &run.record.subjects[1].differences;
        let has = |what: &str| rows.iter().any(|row| row.what == what);
        assert!(has("build") && has("compiler") && has("flags") && !has("version"), "{rows:?}");
        let kinds: Vec<_> = run.record.doubts.iter().map(|doubt| doubt.kind).collect();
        assert!(kinds.contains(&DoubtKind::BuildDiffers) && kinds.contains(&DoubtKind::BuildNotOptimised));
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn a_bench_of_a_build_records_what_it_was_made_from() {
        let place = with_builds(&[("quick", "-O3 -march=native")]);
        place.done(&tiny(&["--build", "quick"]));
        let run = place.only_run();
        is_complete(&run);
        let server = run.record.subjects[0].server.as_ref().expect("it is recorded");
        assert_eq!(server.source, ServerSource::Built);
        let made = server.build.made.as_ref().expect("it is a build");
        assert_eq!((made.name.as_str(), made.patches.len()), ("quick", 1));
        assert_eq!(made.source_sha256, "5a".repeat(32));
        assert!(server.build.features.is_some() && server.wal_block_bytes == Some(8_192));
        assert_eq!(server.segment_bytes, Some(1 << 30));
        assert!(server.defaults.as_ref().is_some_and(|defaults| defaults.contains_key("jit")));
        // Lines break where they are full.
        let report = place.done(&["show", "last", "--full"]).split_whitespace().collect::<Vec<_>>().join(" ");
        for words in ["built by pgdyno", "quick from debian:18, SHA-256 5a5a", "fast.patch, SHA-256 7b7b"] {
            assert!(report.contains(words), "{words}: {report}");
        }
        let csv = place.done(&["report", "last", "--format", "csv"]);
        assert!(csv.lines().skip(1).all(|line| line.contains(",built,quick,")), "{csv}");
        place.nothing_is_left();
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn two_builds_of_other_flags_are_compared_as_builds() {
        let place = with_builds(&[("quick", "-O3"), ("usual", "-O2")]);
        place.done(&ab(&["--build", "usual", "--build", "quick"]));
        let run = place.only_run();
        holds_together(&run);
        let found = comparable(&run);
        assert_eq!(found.verdict, Fairness::AlikeButForWhatWasAsked, "{found:?}");
        assert_eq!(found.asked, ["build", "flags"]);
        let flags =
            run.record.subjects[1].differences.iter().find(|row| row.what == "flags").expect("they differ");
        assert_eq!((flags.a.as_deref(), flags.b.as_deref()), (Some("-O2"), Some("-O3")));
        assert_eq!(flags.why, Some(Why::Asked));
        assert!(run.record.doubts.iter().any(|doubt| doubt.kind == DoubtKind::BuildDiffers));
        assert_eq!(run.record.subjects[0].said, "build=usual");
        let sentence = "A and B are identical except the requested differences: build, flags";
        let report = place.done(&["show", "last", "--full"]);
        assert!(report.contains(sentence) && report.contains("  flags "), "{report}");
        let markdown = place.done(&["report", "last", "--format", "markdown"]);
        assert!(
            markdown.contains(sentence) && markdown.contains("| flags | -O2 | -O3 | requested |"),
            "{markdown}"
        );
        assert!(place.done(&["report", "last", "--out", "-"]).contains("/subjects/1/comparable/asked/0"));
        place.nothing_is_left();
    }
}
