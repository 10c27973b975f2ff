//! Computes and verifies the seal of a record, which shows whether the record was edited. It is not a signature: anyone
//! who edits a record can recompute its seal.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Read},
    path::Path,
};

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::{
    RunRecord, SealRecord, edited,
    names::{RUN_JSON, is_output},
};

/// Name of the HTML report.
const REPORT: &str = "report.html";

/// Whether the seal covers a file: not the report, which can be rewritten at any time, nor the output of a detached
/// run, which continues after its record is complete.
fn is_sealed(name: &str) -> bool {
    name != RUN_JSON && name != REPORT && !is_output(name)
}

/// The content of `run.json` for a record, with a seal that covers the record and these files.
///
/// # Errors
/// The record cannot be serialised.
pub(crate) fn sealed(record: RunRecord, files: BTreeMap<String, String>) -> serde_json::Result<Vec<u8>> {
    let seal = SealRecord { sha256: String::new(), files };
    let mut json = serde_json::to_value(RunRecord { seal: Some(seal), ..record })?;
    json["seal"]["sha256"] = Value::from(digest(&json));
    let mut text = serde_json::to_vec_pretty(&json)?;
    text.push(b'\n');
    Ok(text)
}

/// The digest of a record, computed without the digest in its seal.
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

/// Digests of the files in a run directory, except those that it does not cover.
///
/// # Errors
/// A file that cannot be read.
pub(crate) fn files(dir: &Path) -> io::Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if entry.file_type()?.is_file() && is_sealed(&name) {
            files.insert(name, file_digest(&entry.path())?);
        }
    }
    Ok(files)
}

/// SHA-256 of a file in hexadecimal.
pub(crate) fn file_digest(path: &Path) -> io::Result<String> {
    let (mut file, mut hash, mut part) = (File::open(path)?, Sha256::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut part)? {
            0 => return Ok(hex(&hash.finalize())),
            bytes => hash.update(&part[..bytes]),
        }
    }
}

/// Describes how a record violates its seal.
pub(crate) fn broken(json: &Value, record: &RunRecord) -> Option<String> {
    match &record.seal {
        None => Some("run.json has no seal, but pgdyno writes one into every record".to_owned()),
        Some(seal) if seal.sha256 == digest(json) => None,
        Some(_) => Some(
            "run.json was changed after it was written: its SHA-256 is not the one in its seal".to_owned(),
        ),
    }
}

/// Describes the files that were changed after they were written. Missing files are ignored: they change no figure.
pub(crate) fn broken_files(dir: &Path, record: &RunRecord) -> Vec<String> {
    let differs = |(name, sealed): &(&String, &String)| {
        let path = dir.join(name);
        path.is_file() && file_digest(&path).is_ok_and(|found| found != **sealed)
    };
    let files = record.seal.iter().flat_map(|seal| &seal.files);
    files.filter(differs).map(|(name, _)| format!("{name} was changed after it was written")).collect()
}

/// Appends a doubt to an edited record and to its JSON. It comes last, so that the indexes of the others stay valid.
pub(crate) fn doubt(broken: &[String], record: &mut RunRecord, json: &mut Value) {
    let Some(doubt) = edited::judge(broken, &record.runs, &record.counted_runs(), &record.cells) else {
        return;
    };
    if let (Some(doubts), Ok(doubt)) = (json["doubts"].as_array_mut(), serde_json::to_value(&doubt)) {
        doubts.push(doubt);
    }
    record.doubts.push(doubt);
}
