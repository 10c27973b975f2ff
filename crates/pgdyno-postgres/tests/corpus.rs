//! The corpus of the fuzz targets, read with a stable compiler.

use std::{fs, path::Path};

use pgdyno_postgres::wire::fuzz;

/// Whether everything was taken: most inputs are there because they must not be.
type Target = fn(&[u8]) -> bool;

#[test]
fn the_corpus_is_read() {
    let targets: [(&str, Target, &[&str]); 3] = [
        ("server_messages", fuzz::server_messages, &[]),
        ("password_file", fuzz::password_file, &["usual", "escapes"]),
        ("service_file", fuzz::service_file, &["usual", "empty_name", "windows"]),
    ];
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (name, target, taken) in targets {
        let inputs = fs::read_dir(corpus.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut count = 0;
        for input in inputs.flatten() {
            let file = input.file_name().to_string_lossy().into_owned();
            let bytes = fs::read(input.path()).expect("it can be read");
            if taken.contains(&file.as_str()) {
                assert!(target(&bytes), "{name}/{file} was not taken");
            }
            // Whatever is in it, and wherever it is cut, nothing panics.
            let step = (bytes.len() / 40).max(1);
            (0..=bytes.len()).step_by(step).for_each(|cut| {
                let _ = target(&bytes[..cut]);
            });
            count += 1;
        }
        assert!(count >= 6, "{name} has {count} inputs");
    }
}
