//! Directories of the kernel's file systems.

use std::{fs, path::Path, str::FromStr};

use super::file::{first_line, text};

/// Most names that are taken from a directory.
const MOST_NAMES: usize = 16_384;

/// The number on the first line of a file; `None` if there is none.
pub(super) fn number<T: FromStr>(dir: &Path, name: &str) -> Option<T> {
    first_line(dir, name)?.parse().ok()
}

/// The flag on the first line of a file: 0 or 1.
pub(super) fn flag(dir: &Path, name: &str) -> Option<bool> {
    match number(dir, name) {
        Some(0_u8) => Some(false),
        Some(1) => Some(true),
        _ => None,
    }
}

/// Names in a directory, in an order in which `sdb` comes before `sdaa`, and `dm-2` before `dm-10`; empty if it cannot
/// be read.
pub(super) fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten().take(MOST_NAMES);
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.file_name().to_str().map(str::to_owned)).collect();
    names.sort_by(|a, b| order(a).cmp(&order(b)));
    names
}

/// Names of a kind begin alike, and their numbers grow with their length.
pub(super) fn order(name: &str) -> (String, usize, &str) {
    (name.chars().take(2).collect(), name.len(), name)
}

/// The numbers that follow a prefix in the names of a directory, in ascending order: 0 and 1 of `node0`, `node1`.
pub(super) fn numbered(dir: &Path, prefix: &str) -> Vec<u32> {
    let names = names(dir);
    let mut numbers: Vec<u32> =
        names.iter().filter_map(|name| name.strip_prefix(prefix)?.parse().ok()).collect();
    numbers.sort_unstable();
    numbers
}

/// The last component of where a link leads, such as the driver of a device.
pub(super) fn link(dir: &Path, name: &str) -> Option<String> {
    Some(fs::read_link(dir.join(name)).ok()?.file_name()?.to_str()?.to_owned())
}

/// The text of a regular file. Others are not opened: a pipe would block.
pub(super) fn regular(path: &Path) -> Option<String> {
    fs::metadata(path).is_ok_and(|file| file.is_file()).then_some(())?;
    text(path.parent()?, path.file_name()?.to_str()?)
}

/// The selected word of a line such as `always [madvise] never`.
pub(super) fn bracketed(line: &str) -> Option<&str> {
    line.split_once('[')?.1.split_once(']').map(|(word, _)| word)
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::facts::tests::tree;

    #[test]
    fn the_selected_word_is_in_brackets() {
        for (line, word) in
            [("always [madvise] never", Some("madvise")), ("always madvise", None), ("[always", None)]
        {
            assert_eq!(bracketed(line), word, "{line}");
        }
    }

    #[test]
    fn names_are_in_the_order_in_which_people_count() {
        let mut names = ["sdaa", "dm-10", "sdb", "nvme10n1", "dm-2", "nvme2n1", "sda1", "sda"];
        names.sort_by(|a, b| order(a).cmp(&order(b)));
        assert_eq!(names, ["dm-2", "dm-10", "nvme2n1", "nvme10n1", "sda", "sdb", "sda1", "sdaa"]);
    }

    #[test]
    fn nonsense_is_no_number() {
        let root = tree(&[
            ("a", "12\n"),
            ("b", "x"),
            ("c", ""),
            ("d", "-1"),
            ("e", "1"),
            ("node3", ""),
            ("nodes", ""),
        ]);
        let root = root.path();
        assert_eq!(
            [number(root, "a"), number::<u64>(root, "b"), number(root, "c"), number(root, "d")],
            [Some(12), None, None, None]
        );
        assert_eq!((flag(root, "e"), flag(root, "a"), flag(root, "z")), (Some(true), None, None));
        assert_eq!(numbered(root, "node"), [3]);
        assert!(names(&root.join("nothing")).is_empty());
    }
}
