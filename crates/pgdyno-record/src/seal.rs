//! The seal of a record: shows that it was edited after it was written. It is no signature: who edits a record can
//! make its seal anew.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Read},
    path::Path,
};

use pgdyno_analysis::edited;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::{RunRecord, SealRecord, names::RUN_JSON};

/// Name of the HTML report, which can be written anew at any time.
const REPORT: &str = "report.html";

/// `run.json` of a record with a seal that covers it and these files.
///
/// # Errors
/// The record cannot be written as JSON.
pub(crate) fn sealed(record: RunRecord, files: BTreeMap<String, String>) -> serde_json::Result<Vec<u8>> {
    let seal = SealRecord { sha256: String::new(), files };
    let mut json = serde_json::to_value(RunRecord { seal: Some(seal), ..record })?;
    json["seal"]["sha256"] = Value::from(digest(&json));
    let mut text = serde_json::to_vec_pretty(&json)?;
    text.push(b'\n');
    Ok(text)
}

/// The digest of a record without that in its seal.
fn digest(json: &Value) -> String {
    let mut unsealed = json.clone();
    if let Some(seal) = unsealed.get_mut("seal").and_then(Value::as_object_mut) {
        seal.remove("sha256");
    }
    unsealed.sort_all_objects();
    hex(&Sha256::digest(unsealed.to_string()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Digests of the files in a run directory, but for the record itself and the report.
///
/// # Errors
/// A file that cannot be read.
pub(crate) fn files(dir: &Path) -> io::Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if entry.file_type()?.is_file() && name != RUN_JSON && name != REPORT {
            files.insert(name, of_file(&entry.path())?);
        }
    }
    Ok(files)
}

fn of_file(path: &Path) -> io::Result<String> {
    let (mut file, mut hash, mut part) = (File::open(path)?, Sha256::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut part)? {
            0 => return Ok(hex(&hash.finalize())),
            bytes => hash.update(&part[..bytes]),
        }
    }
}

/// What of a record's seal does not hold, in words.
pub(crate) fn broken(json: &Value, record: &RunRecord) -> Option<String> {
    match &record.seal {
        None => Some("run.json has no seal, with which every record is written".to_owned()),
        Some(seal) if seal.sha256 == digest(json) => None,
        Some(_) => Some("run.json is not as it was written: its SHA-256 is not that of its seal".to_owned()),
    }
}

/// The files that are there and not as they were written, in words. One that is gone changes no figure.
pub(crate) fn broken_files(dir: &Path, record: &RunRecord) -> Vec<String> {
    let differs = |(name, sealed): &(&String, &String)| {
        let path = dir.join(name);
        path.is_file() && of_file(&path).is_ok_and(|found| found != **sealed)
    };
    let files = record.seal.iter().flat_map(|seal| &seal.files);
    files.filter(differs).map(|(name, _)| format!("{name} is not as it was written")).collect()
}

/// Adds the doubt about a record that was edited, if it was, to it and to its JSON: the last in the list, so that the
/// others keep their places.
pub(crate) fn doubt(broken: &[String], record: &mut RunRecord, json: &mut Value) {
    let Some(doubt) = edited::judge(broken, &record.runs, &record.counted_runs(), &record.cells) else {
        return;
    };
    if let (Some(doubts), Ok(doubt)) = (json["doubts"].as_array_mut(), serde_json::to_value(&doubt)) {
        doubts.push(doubt);
    }
    record.doubts.push(doubt);
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use pgdyno_analysis::DoubtKind;

    use super::*;
    use crate::{LATENCY_LOG, TIMELINE, fixtures, list, open};

    /// A run as it was written, whose figures agree with each other.
    fn written(runs: &Path) -> PathBuf {
        fixtures::complete().write(runs).expect("it is written")
    }

    /// What `open` says of the record's being edited, and what `list` does.
    fn told(path: &Path) -> (Option<String>, bool) {
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

    #[test]
    fn a_record_as_it_was_written_is_not_doubted() {
        let runs = tempfile::tempdir().expect("a directory");
        let path = written(runs.path());
        assert_eq!(told(&path), (None, false));
        // Blanks and the order of keys are nobody's figures; a report is written anew.
        edit(&path, Value::sort_all_objects);
        fs::write(path.join(REPORT), "anything").expect("it can be written");
        fs::remove_file(path.join(LATENCY_LOG)).expect("it is there");
        assert_eq!(told(&path), (None, false));
    }

    #[test]
    fn one_figure_that_was_edited_is_told() {
        let runs = tempfile::tempdir().expect("a directory");
        for pointer in [
            "/cells/0/latency/p99_ns",
            "/subjects/0/server/version",
            "/doubts/0/detail",
            "/runs/0/counts/failed",
        ] {
            let path = written(runs.path());
            edit(&path, |json| *json.pointer_mut(pointer).expect("it is there") = 7.into());
            // A word in the place of a number and the other way round is no record any more.
            if let Ok(run) = open(&path) {
                let doubt = run.record.doubts.last().expect("there is one");
                assert_eq!(doubt.kind, DoubtKind::Edited, "{pointer}");
                assert!(doubt.detail.contains("its SHA-256 is not that of its seal"), "{}", doubt.detail);
            }
            fs::remove_dir_all(path).expect("it is ours");
        }
        let path = written(runs.path());
        edit(&path, |json| json["cells"][0]["tps"]["value"] = 1e6.into());
        let (detail, listed) = told(&path);
        let detail = detail.expect("it is told");
        assert!(detail.contains("says 1000000.0 TPS of 3 blocks") && listed, "{detail}");
    }

    #[test]
    fn a_seal_made_anew_does_not_hide_a_cell_that_contradicts_its_blocks() {
        let runs = tempfile::tempdir().expect("a directory");
        let path = written(runs.path());
        edit(&path, |json| {
            json["cells"][1]["tps"]["value"] = 1e6.into();
            json["seal"]["sha256"] = digest(json).into();
        });
        let (detail, listed) = told(&path);
        let detail = detail.expect("it is told");
        assert!(!detail.contains("seal") && detail.contains("says 1000000.0 TPS") && listed, "{detail}");
    }

    #[test]
    fn a_record_without_its_seal_and_a_stream_that_was_edited_are_told() {
        let runs = tempfile::tempdir().expect("a directory");
        let path = written(runs.path());
        let stream = path.join(TIMELINE);
        let lines = fs::read_to_string(&stream).expect("it is there");
        fs::write(&stream, lines.lines().skip(1).map(|line| format!("{line}\n")).collect::<String>())
            .expect("it can be written");
        assert_eq!(told(&path), (Some("timeline.ndjson is not as it was written".to_owned()), false));
        edit(&path, |json| drop(json.as_object_mut().expect("an object").remove("seal")));
        let without = "run.json has no seal, with which every record is written";
        assert_eq!(told(&path), (Some(without.to_owned()), true));
    }
}
