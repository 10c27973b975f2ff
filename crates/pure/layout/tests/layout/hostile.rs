//! Hostile names do not break out of a script.

use pgdyno_layout::{FilesystemKind, Manager, Raid, derive, script, takedown_script};
use proptest::prelude::*;

use crate::{
    request::{TIB, disks, request},
    tools::shell,
};

/// Texts that would do something if they were not quoted.
const HOSTILE: [&str; 8] = [
    "'; touch pwned; '",
    "$(touch pwned)",
    "`touch pwned`",
    "\"; touch pwned; \"",
    "x && touch pwned #",
    "-rf *",
    "\\'; touch pwned; #",
    "END; touch pwned",
];

#[test]
fn hostile_serial_numbers_do_nothing() {
    for serial in HOSTILE {
        let mut request = request(disks(2, TIB), Raid::Striped, Manager::Lvm, FilesystemKind::Ext4);
        for disk in &mut request.disks {
            disk.path = "/dev/null".replace("null", "no_such_disk") + &disk.path[7..];
            disk.serial = Some(serial.to_owned());
        }
        let layout = derive(&request).expect("it is printable");
        let directory = tempfile::tempdir().expect("there is a directory for temporary files");
        let inside = format!("cd {}\nset -- --yes-erase-these-disks\n", directory.path().display());
        for text in [script(&layout), takedown_script(&layout)] {
            let said = shell(&[], &(inside.clone() + &text), &[]);
            assert!(!said.ok, "there is no such disk");
            assert!(!directory.path().join("pwned").exists(), "{serial}");
        }
    }
}

proptest! {
    #[test]
    fn names_are_refused_or_quoted(
        path in "/dev/(\\PC|[\n'\"$`;&|<> ]|[a-z]){1,12}", serial in "(\\PC|[\n'\"$`;&|<> ]|[a-z]){1,12}",
        mount in "/(\\PC|[\n'\"$`;&|<> ]|[a-z/]){1,12}", name in "[a-z][a-z0-9_ ;$'\n]{0,6}",
    ) {
        let mut request = request(disks(1, TIB), Raid::None, Manager::None, FilesystemKind::Ext4);
        request.disks[0].path = path.clone();
        request.disks[0].serial = Some(serial.clone());
        request.volumes[0].mount = Some(mount);
        request.name = name;
        let Ok(layout) = derive(&request) else { return Ok(()) };
        let text = script(&layout);
        let line = text.lines().find(|line| line.starts_with("identify /dev/")).expect("the disk is identified");
        let words = shlex::split(line).expect("quotes are balanced");
        prop_assert_eq!((words.len(), &words[1], &words[4]), (5, &path, &serial));
        for line in text.lines().filter(|line| line.starts_with("free_") || line.starts_with("step mkfs")) {
            prop_assert!(!line.contains([';', '`', '|', '&']), "{line}");
        }
    }

    #[test]
    fn most_hostile_paths_are_refused(path in "/dev/[a-z]*[ \n'\"$`;&|<>*?(){}\\\\!#~][a-z]*") {
        let mut request = request(disks(1, TIB), Raid::None, Manager::None, FilesystemKind::Ext4);
        request.disks[0].path = path;
        prop_assert!(derive(&request).is_err());
    }
}
