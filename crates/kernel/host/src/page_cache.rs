//! The kernel's page cache.

use std::{ffi::OsStr, fs, fs::File, io, path::Path};

use rustix::fs::{Advice, fadvise};

/// Drops the clean pages of a relation of PostgreSQL from the page cache: of the file with this name, its further
/// segments (`NAME.1`) and its maps (`NAME_vm`).
///
/// # Errors
/// The directory cannot be listed, or a file cannot be opened.
pub fn drop_relation(file: &Path) -> io::Result<()> {
    let (Some(dir), Some(name)) = (file.parent(), file.file_name().and_then(OsStr::to_str)) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(|other| belongs(other, name)) {
            fadvise(File::open(entry.path())?, 0, None, Advice::DontNeed)?;
        }
    }
    Ok(())
}

/// Whether a file is a segment or a fork of a relation.
fn belongs(file: &str, relation: &str) -> bool {
    file.strip_prefix(relation).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '_']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_and_forks_belong_to_a_relation() {
        for file in ["16384", "16384.1", "16384.131071", "16384_vm", "16384_fsm.1"] {
            assert!(belongs(file, "16384"), "{file}");
        }
        assert!(!belongs("163840", "16384") && !belongs("1638", "16384"));
    }

    #[test]
    fn a_missing_directory_is_an_error() {
        assert!(drop_relation(Path::new("/nonexistent/16384")).is_err());
    }
}
