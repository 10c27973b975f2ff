//! A record that was edited after it was written is shown as edited.

use std::{
    fs,
    path::{Path, PathBuf},
};

use pgdyno_core::results::DoubtKind;
use pgdyno_record::{LATENCY_LOG, RUN_JSON, RunRecord, TIMELINE, list, open};
use serde_json::Value;
use sha2::{Digest, Sha256};
use testkit::fixtures;

/// Writes a run whose figures agree with each other.
fn written(runs: &Path) -> PathBuf {
    fixtures::complete().write(runs).expect("it is written")
}

/// The detail of the doubt that `open` raises, and whether `list` raises one.
fn edited(path: &Path) -> (Option<String>, bool) {
    let edited = |record: &RunRecord| {
        let doubt = record.doubts.iter().find(|doubt| doubt.kind == DoubtKind::Edited);
        doubt.map(|doubt| doubt.detail.clone())
    };
    let run = open(path).expect("it can be read");
    let doubts = run.json["doubts"].as_array().expect("a list");
    assert_eq!(doubts.len(), run.record.doubts.len());
    let listed = list(path.parent().expect("it has one")).expect("it can be listed").remove(0);
    let listed = listed.record.expect("it can be read");
    (edited(&run.record), edited(&listed).is_some())
}

fn edit(path: &Path, change: impl Fn(&mut Value)) {
    let file = path.join(RUN_JSON);
    let mut json = serde_json::from_slice(&fs::read(&file).expect("it is there")).expect("JSON");
    change(&mut json);
    fs::write(&file, serde_json::to_vec(&json).expect("JSON")).expect("it can be written");
}

/// The digest of a seal, as docs/run-directory.md describes it.
fn digest(json: &Value) -> String {
    let mut unsealed = json.clone();
    unsealed["seal"].as_object_mut().expect("a seal").remove("sha256");
    unsealed.sort_all_objects();
    Sha256::digest(unsealed.to_string()).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_record_as_it_was_written_is_not_doubted() {
    let runs = tempfile::tempdir().expect("a directory");
    let path = written(runs.path());
    assert_eq!(edited(&path), (None, false));
    // White space, the order of keys and a rewritten report change no figure.
    edit(&path, Value::sort_all_objects);
    fs::write(path.join("report.html"), "anything").expect("it can be written");
    fs::remove_file(path.join(LATENCY_LOG)).expect("it is there");
    assert_eq!(edited(&path), (None, false));
}

#[test]
fn one_figure_that_was_edited_is_edited() {
    let runs = tempfile::tempdir().expect("a directory");
    for pointer in
        ["/cells/0/latency/p99_ns", "/subjects/0/server/version", "/doubts/0/detail", "/runs/0/counts/failed"]
    {
        let path = written(runs.path());
        edit(&path, |json| *json.pointer_mut(pointer).expect("it is there") = 7.into());
        // A word instead of a number, or a number instead of a word, makes the record unreadable.
        if let Ok(run) = open(&path) {
            let doubt = run.record.doubts.last().expect("there is one");
            assert_eq!(doubt.kind, DoubtKind::Edited, "{pointer}");
            assert!(doubt.detail.contains("its SHA-256 is not the one in its seal"), "{}", doubt.detail);
        }
        fs::remove_dir_all(path).expect("it is ours");
    }
    let path = written(runs.path());
    edit(&path, |json| json["cells"][0]["tps"]["value"] = 1e6.into());
    let (detail, listed) = edited(&path);
    let detail = detail.expect("there is a doubt");
    assert!(detail.contains("has 1000000.0 TPS from 3 blocks") && listed, "{detail}");
}

#[test]
fn a_recomputed_seal_does_not_hide_a_cell_that_contradicts_its_blocks() {
    let runs = tempfile::tempdir().expect("a directory");
    let path = written(runs.path());
    edit(&path, |json| {
        json["cells"][1]["tps"]["value"] = 1e6.into();
        json["seal"]["sha256"] = digest(json).into();
    });
    let (detail, listed) = edited(&path);
    let detail = detail.expect("there is a doubt");
    assert!(!detail.contains("seal") && detail.contains("has 1000000.0 TPS") && listed, "{detail}");
}

#[test]
fn a_record_without_its_seal_and_a_stream_that_was_edited_are_edited() {
    let runs = tempfile::tempdir().expect("a directory");
    let path = written(runs.path());
    let stream = path.join(TIMELINE);
    let lines = fs::read_to_string(&stream).expect("it is there");
    fs::write(&stream, lines.lines().skip(1).map(|line| format!("{line}\n")).collect::<String>())
        .expect("it can be written");
    assert_eq!(edited(&path), (Some("timeline.ndjson was changed after it was written".to_owned()), false));
    edit(&path, |json| drop(json.as_object_mut().expect("an object").remove("seal")));
    let without = "run.json has no seal, but pgdyno writes one into every record";
    assert_eq!(edited(&path), (Some(without.to_owned()), true));
}

/// Ten blocks of A and B were measured; the result is computed from eight of them.
#[test]
fn blocks_that_no_cell_sums_up_are_no_contradiction() {
    let runs = tempfile::tempdir().expect("a directory");
    let path = fixtures::cannot_tell().write(runs.path()).expect("it is written");
    assert_eq!(edited(&path), (None, false));
}

#[test]
fn a_new_seal_hides_neither_a_missing_block_nor_one_that_contradicts_its_counts() {
    type Change = fn(&mut Value);
    let faults: [(Change, &str); 2] = [
        (
            |json| drop(json["runs"].as_array_mut().expect("runs").remove(0)),
            "TPS from 3 blocks, but its 2 blocks give",
        ),
        (
            |json| json["runs"][1]["tps"] = 99_999.0.into(),
            "has 99999.0 TPS, but its transactions and time give",
        ),
    ];
    for (change, said) in faults {
        let runs = tempfile::tempdir().expect("a directory");
        let path = written(runs.path());
        edit(&path, |json| {
            change(json);
            json["seal"]["sha256"] = digest(json).into();
        });
        let (detail, listed) = edited(&path);
        let detail = detail.expect("it is doubted");
        assert!(detail.contains(said) && !detail.contains("SHA-256") && listed, "{detail}");
    }
}
