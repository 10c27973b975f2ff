//! Runs the fuzz targets on their corpus with a stable compiler.

#[path = "../../../../../../fuzz/checks/script.rs"]
mod check_of_scripts;

use std::{fs, path::Path};

use pgdyno_plan::fuzz::plan;
use pgdyno_wire::fuzz::{password_file, server_messages, service_file};

use check_of_scripts::script;

/// A fuzz target; returns whether it accepted the input, which many inputs must not be.
type Target = fn(&[u8]) -> bool;

const SCRIPTS: &[&str] = &[
    "tpcb",
    "expressions",
    "quotes",
    "pipeline",
    "results",
    "old",
    "many_variables",
    "bom",
    "backslash_at_the_end",
];
const PLANS: &[&str] = &["bench", "everything", "windows", "dotted", "least", "own_sql", "scaleup", "tpcc"];

/// Cuts inputs anywhere, and changes single bytes.
fn damage(bytes: &[u8], target: Target) {
    let step = (bytes.len() / 40).max(1);
    for cut in (0..bytes.len()).step_by(step) {
        let _ = target(&bytes[..cut]);
        for other in [0, b'\\', b'\'', b'"', b'[', 0xff] {
            let mut damaged = bytes.to_vec();
            damaged[cut] = other;
            let _ = target(&damaged);
        }
    }
}

fn read(name: &str, target: Target, taken: &[&str]) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fuzz/corpus").join(name);
    let inputs = fs::read_dir(corpus).unwrap_or_else(|error| panic!("{name}: {error}"));
    let (mut count, mut wrong) = (0, Vec::new());
    for input in inputs.flatten() {
        let file = input.file_name().to_string_lossy().into_owned();
        let bytes = fs::read(input.path()).expect("it can be read");
        if target(&bytes) != taken.contains(&file.as_str()) {
            wrong.push(file);
        }
        damage(&bytes, target);
        count += 1;
    }
    assert!(wrong.is_empty(), "{name}: taken or refused, and should not: {wrong:?}");
    assert!(count >= 6, "{name} has {count} inputs");
}

#[test]
fn the_corpus_is_read() {
    read("script", script, SCRIPTS);
    read("plan", plan, PLANS);
    read("password_file", password_file, &["usual", "not_utf8"]);
    read("service_file", service_file, &["usual", "empty_name", "windows"]);
}

/// Server messages may be accepted or refused; only panics count here.
#[test]
fn the_corpus_of_messages_is_read() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fuzz/corpus/server_messages");
    let inputs: Vec<_> = fs::read_dir(corpus).expect("it is there").flatten().collect();
    for input in &inputs {
        let bytes = fs::read(input.path()).expect("it can be read");
        let _ = server_messages(&bytes);
        damage(&bytes, server_messages);
    }
    assert!(inputs.len() >= 6, "{} inputs", inputs.len());
}
