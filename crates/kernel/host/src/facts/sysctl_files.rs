//! Files that set kernel parameters at boot (sysctl.d(5), sysctl.conf(5)).

use std::{collections::BTreeMap, path::Path};

use pgdyno_core::host::{SysctlLine, with_separators_swapped};

use super::dir::{names, regular};

/// Directories by precedence: a file hides those of the same name in later ones.
const DIRS: [&str; 4] = ["etc/sysctl.d", "run/sysctl.d", "usr/local/lib/sysctl.d", "usr/lib/sysctl.d"];
/// The file that procps reads after all others.
const LAST: &str = "etc/sysctl.conf";
/// Most files that are read, and most lines that are kept.
const MOST_FILES: usize = 256;
const MOST_LINES: usize = 2_048;

/// The lines in the order in which they are read.
pub(super) fn read(root: &Path) -> Vec<SysctlLine> {
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for dir in DIRS {
        let of_dir = names(&root.join(dir)).into_iter().filter(|name| name.ends_with(".conf"));
        // Debian and others link 99-sysctl.conf to the file that is read last in any case.
        for name in of_dir.filter(|name| name != "99-sysctl.conf") {
            files.entry(name.clone()).or_insert_with(|| format!("{dir}/{name}"));
        }
    }
    let all = files.into_values().take(MOST_FILES).chain([LAST.to_owned()]);
    let lines = all.flat_map(|file| lines(&file, &regular(&root.join(&file)).unwrap_or_default()));
    lines.take(MOST_LINES).collect()
}

/// `NAME = VALUE`; a `-` before the name ignores errors, and comments begin with `#` or `;`.
fn lines(file: &str, text: &str) -> Vec<SysctlLine> {
    let found = text.lines().filter_map(|line| {
        let line = line.trim();
        let (name, value) = line.split_once('=').filter(|_| !line.starts_with(['#', ';']))?;
        let name = name.trim().trim_start_matches('-');
        (!name.is_empty()).then(|| SysctlLine {
            file: format!("/{file}"),
            name: dotted(name),
            value: value.split_whitespace().collect::<Vec<_>>().join(" "),
        })
    });
    found.collect()
}

/// A name with dots. If the first separator is a slash, slashes separate, and dots belong to names of interfaces.
fn dotted(name: &str) -> String {
    match name.find(['.', '/']).map(|at| &name[at..=at]) {
        Some("/") => with_separators_swapped(name),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::facts::tests::tree;

    #[test]
    fn lines_are_in_the_order_in_which_they_are_read() {
        let root = tree(&[
            ("usr/lib/sysctl.d/50-default.conf", "vm.swappiness = 60\n"),
            ("usr/lib/sysctl.d/10-hidden.conf", "vm.swappiness = 1\n"),
            ("etc/sysctl.d/10-hidden.conf", "# nothing\n; nothing\n-kernel/sem=250  32000\t32 128\n"),
            ("etc/sysctl.d/99-sysctl.conf", "vm.swappiness = 2\n"),
            ("etc/sysctl.d/README", "vm.swappiness = 3\n"),
            ("etc/sysctl.conf", "vm.swappiness=10\nnet/ipv4/conf/eth0.1/rp_filter = 1\nnonsense\n= 1\n"),
        ]);
        let found: Vec<_> = read(root.path())
            .iter()
            .map(|line| format!("{} {} {}", line.file, line.name, line.value))
            .collect();
        assert_eq!(
            found,
            [
                "/etc/sysctl.d/10-hidden.conf kernel.sem 250 32000 32 128",
                "/usr/lib/sysctl.d/50-default.conf vm.swappiness 60",
                "/etc/sysctl.conf vm.swappiness 10",
                "/etc/sysctl.conf net.ipv4.conf.eth0/1.rp_filter 1",
            ]
        );
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(?s).{0,200}") {
            let _ = lines("x", &text);
        }
    }
}
