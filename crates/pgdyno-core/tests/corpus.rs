//! The corpus of the fuzz targets, read with a stable compiler.

use std::{fs, path::Path};

use pgdyno_core::fuzz;

/// Whether everything was taken: many inputs are there because they must not be.
type Target = fn(&[u8]) -> bool;

#[test]
fn the_corpus_is_read() {
    let scripts = &[
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
    let plans = &["bench", "everything", "windows", "dotted", "least"];
    let targets: [(&str, Target, &[&str]); 2] =
        [("script", fuzz::script, scripts), ("plan", fuzz::plan, plans)];
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (name, target, taken) in targets {
        let inputs = fs::read_dir(corpus.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let (mut count, mut wrong) = (0, Vec::new());
        for input in inputs.flatten() {
            let file = input.file_name().to_string_lossy().into_owned();
            let bytes = fs::read(input.path()).expect("it can be read");
            if target(&bytes) != taken.contains(&file.as_str()) {
                wrong.push(format!("{name}/{file}"));
            }
            // Wherever it is cut, and whatever a byte of it becomes, no promise is broken.
            let step = (bytes.len() / 40).max(1);
            for cut in (0..bytes.len()).step_by(step) {
                let _ = target(&bytes[..cut]);
                for other in [0, b'\\', b'\'', b'"', b'[', 0xff] {
                    let mut damaged = bytes.clone();
                    damaged[cut] = other;
                    let _ = target(&damaged);
                }
            }
            count += 1;
        }
        assert!(wrong.is_empty(), "taken or refused, and should not: {wrong:?}");
        assert!(count >= 10, "{name} has {count} inputs");
    }
}
