//! A file that nobody else has.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

/// Creates an empty file of mode 0600 in a directory and opens it for reading and writing.
///
/// # Errors
/// Those of `open(2)`. Names that exist are passed over: another measurement of this process, or one that was killed,
/// may have them.
pub fn create(dir: &Path) -> io::Result<(File, PathBuf)> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(0o600);
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = dir.join(format!("pgdyno-scratch.{}.{number}", std::process::id()));
        match options.open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            opened => return opened.map(|file| (file, path)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_exist_are_passed_over() {
        let dir = tempfile::tempdir_in("/var/tmp").expect("a directory");
        let number = |path: &Path| -> u32 {
            path.extension().and_then(|text| text.to_str()?.parse().ok()).expect("it ends in a number")
        };
        let (_, first) = create(dir.path()).expect("it can be made");
        for next in 1..=20 {
            std::fs::write(first.with_extension((number(&first) + next).to_string()), "of somebody else")
                .expect("it can be written");
        }
        let (mut file, second) = create(dir.path()).expect("another can be made");
        assert_ne!(first, second);
        let mut text = String::new();
        io::Read::read_to_string(&mut file, &mut text).expect("it can be read");
        assert_eq!(text, "", "nothing of somebody else was opened");
    }
}
