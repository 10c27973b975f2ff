//! Files of the kernel, read whole.

use std::{fs, io::Read, path::Path};

/// Longest file that is read here, in bytes: kernel files are small, and a wrong root must not fill memory.
const LONGEST: u64 = 8 << 20;

/// The text of a file under `root`, where it can be read.
pub(super) fn text(root: &Path, path: &str) -> Option<String> {
    let mut bytes = Vec::new();
    fs::File::open(root.join(path)).ok()?.take(LONGEST).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The first line of a file under `root`, trimmed; `None` where it is empty.
pub(super) fn first_line(root: &Path, path: &str) -> Option<String> {
    let text = text(root, path)?;
    let line = text.lines().next()?.trim();
    (!line.is_empty()).then(|| line.to_owned())
}
