//! What data and WAL lie on, and what an acknowledged commit is worth there.
//!
//! Seen to fail where the place of WAL, or that of tablespaces, is not looked at.

use std::{fs, os::unix::fs::PermissionsExt};

use pgdyno_analysis::DoubtKind;
use pgdyno_core::facts::DurabilityTier;
use pgdyno_record::RunRecord;

use crate::common::{OLDEST, Place, text, tiny, word};

/// A directory in memory, that servers may use.
fn in_memory() -> tempfile::TempDir {
    let dir = tempfile::tempdir_in("/dev/shm").expect("every Linux has it");
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).expect("it is ours");
    dir
}

/// The record of the run that these arguments make, and what was printed.
fn measured(place: &Place, args: &[&str]) -> (RunRecord, String) {
    let known = place.runs().len();
    let output = place.run(args);
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{args:?}: {said}");
    let mut runs = place.runs();
    assert_eq!(runs.len(), known + 1);
    runs.sort_by_key(|run| run.record.started_at.clone());
    (runs.pop().expect("it is recorded").record, said)
}

fn tier(record: &RunRecord) -> DurabilityTier {
    record.subjects[0].server.as_ref().expect("known").durability
}

/// A flush to memory writes nothing anywhere, whatever the settings promise.
fn wal_in_memory_is_never_durable(pg: &str) {
    let (place, memory) = (Place::new(), in_memory());
    let wal = memory.path().join("wal").display().to_string();
    let (record, said) = measured(&place, &tiny(&["--pg", pg, "--waldir", &wal, "--full"]));
    assert_eq!(tier(&record), DurabilityTier::InMemory);
    let storage = record.subjects[0].server.as_ref().and_then(|server| server.wal_storage.as_ref());
    assert_eq!(storage.and_then(|storage| storage.filesystem.as_deref()), Some("tmpfs"));
    let doubt = record.doubts.iter().find(|doubt| doubt.kind == DoubtKind::WeakDurability);
    assert!(doubt.expect("tpcb-like writes").advice.contains("--waldir"));
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("Durability none: data or WAL is in memory"), "{said}");
    assert!(said.contains("tmpfs on ") && !said.contains("survives a crash"), "{said}");
    place.nothing_is_left();
}

/// Tests that `cargo test` leaves out and `.ci/run` runs.
mod long {
    use super::*;

    /// One arm in memory is another question than one on a disk, unless that is what was asked.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn arms_in_other_places_are_distinguished() {
        let (place, memory) = (Place::new(), in_memory());
        let wal = format!("pg=18,waldir={}", memory.path().join("wal").display());
        let args = "ab --scale 1 --clients 1 --duration 1s --warmup 50ms --blocks 3 pg=18";
        let (record, said) = measured(&place, &args.split(' ').chain([&*wal]).collect::<Vec<_>>());
        let tiers = record.subjects.iter().map(|arm| arm.server.as_ref().expect("known").durability);
        assert_eq!(tiers.collect::<Vec<_>>(), [place.tier(), DurabilityTier::InMemory]);
        let differs =
            record.subjects[1].differences.iter().map(|difference| &*difference.what).collect::<Vec<_>>();
        assert!(differs.contains(&"storage of WAL"), "{differs:?} {said}");
        place.nothing_is_left();
    }

    /// A tablespace in memory is no harm until something that is measured lies in it.
    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn tables_in_memory_are_never_durable() {
        let (place, memory) = (Place::new(), in_memory());
        let space = format!("fast={}", memory.path().join("fast").display());
        place.done(&["up", "theirs", "--pg", "18", "--tablespace", &space]);
        let server = place.only();
        let port = server["port"].to_string();
        let there = ["-h", word(&server, "socket_dir"), "-p", &port, "-U", "postgres", "-d", "postgres"];
        let (record, _) = measured(&place, &tiny(&there));
        assert_eq!(tier(&record), place.tier());
        let (record, _) = measured(&place, &tiny(&[&there[..], &["--index-tablespace", "fast"]].concat()));
        assert_eq!(tier(&record), DurabilityTier::InMemory);
        place.done(&["down", "theirs", "--remove"]);
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn wal_of_the_newest_server_in_memory_is_never_durable() {
        wal_in_memory_is_never_durable("18");
    }

    #[test]
    #[ignore = "takes long: `.ci/run` runs it"]
    fn wal_of_the_oldest_server_in_memory_is_never_durable() {
        wal_in_memory_is_never_durable(OLDEST);
    }
}
