//! Reads whole kernel files.

use std::{fs, io::Read, path::Path};

/// Longest file that is read, in bytes: kernel files are small, and a wrong root must not fill memory.
const LONGEST: u64 = 8 << 20;

/// Reads the text of a file under `root`; `None` if it cannot be read.
pub(crate) fn text(root: &Path, path: &str) -> Option<String> {
    let mut bytes = Vec::new();
    fs::File::open(root.join(path)).ok()?.take(LONGEST).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Reads the first line of a file under `root`, trimmed; `None` if it is empty.
pub(crate) fn first_line(root: &Path, path: &str) -> Option<String> {
    let text = text(root, path)?;
    let line = text.lines().next()?.trim();
    (!line.is_empty()).then(|| line.to_owned())
}
