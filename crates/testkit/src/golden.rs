//! Golden files: texts that were read once and accepted.

use std::{env, fs, path::Path};

/// Compares a text with `tests/golden/NAME` of the crate whose directory this is (`env!("CARGO_MANIFEST_DIR")`). With
/// `PGDYNO_BLESS` set, the file is written first: read the difference before you commit it.
///
/// # Panics
///
/// If they differ, or if the file cannot be read or written.
pub fn golden(crate_dir: &str, name: &str, got: &str) {
    let path = Path::new(crate_dir).join("tests/golden").join(name);
    if env::var_os("PGDYNO_BLESS").is_some() {
        fs::write(&path, got).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
    let expected = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(expected == got, "{name} differs; PGDYNO_BLESS=1 accepts this:\n{got}");
}
