//! Scripts as they are printed. With `PGDYNO_ACCEPT` set, the files are rewritten: read the difference.

use std::{fs, path::Path};

use pgdyno_layout::{Disk, FilesystemKind, Manager, Raid, Request, derive, fstab, script, takedown_script};

use crate::{
    request::{GIB, TIB, disks, request, three_volumes},
    tools::shell,
};

/// Name, and request: each file system with each manager.
fn requests() -> Vec<(&'static str, Request)> {
    use FilesystemKind::{Ext4, Xfs, Zfs};
    let with_serials = |count| -> Vec<Disk> {
        let named =
            |(disk, number): (Disk, u32)| Disk { serial: Some(format!("S3Z8 NB0K 70{number}")), ..disk };
        disks(count, TIB).into_iter().zip(1..).map(named).collect()
    };
    let three = |mut request: Request| {
        request.volumes = three_volumes(64 * GIB);
        request
    };
    let snapshot = |mut request: Request| {
        request.snapshot = true;
        request
    };
    vec![
        ("ext4-lvm", snapshot(three(request(with_serials(4), Raid::Striped, Manager::Lvm, Ext4)))),
        ("ext4-md", three(request(disks(4, TIB), Raid::Parity, Manager::Md, Ext4))),
        ("ext4-none", three(request(disks(1, TIB), Raid::None, Manager::None, Ext4))),
        ("xfs-lvm", three(request(disks(4, TIB), Raid::MirroredStripes, Manager::Lvm, Xfs))),
        ("xfs-md", request(disks(4, TIB), Raid::MirroredStripes, Manager::Md, Xfs)),
        ("xfs-none", three(request(disks(3, TIB), Raid::None, Manager::None, Xfs))),
        ("zfs-none", three(request(disks(4, TIB), Raid::MirroredStripes, Manager::None, Zfs))),
        ("zfs-lvm", request(disks(4, TIB), Raid::Striped, Manager::Lvm, Zfs)),
        ("zfs-md", request(disks(4, TIB), Raid::Striped, Manager::Md, Zfs)),
    ]
}

fn golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var("PGDYNO_ACCEPT").is_ok() {
        fs::write(&path, text).expect("the directory is there");
    }
    let expected = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(text == expected, "{name} differs; accept with PGDYNO_ACCEPT=1 and read the difference");
}

#[test]
fn scripts_are_those_of_the_golden_files() {
    for (name, request) in requests() {
        match derive(&request) {
            Ok(layout) => {
                golden(&format!("{name}.sh"), &script(&layout));
                golden(&format!("{name}.takedown.sh"), &takedown_script(&layout));
                golden(&format!("{name}.fstab"), &fstab(&layout));
            }
            Err(problem) => {
                golden(
                    &format!("{name}.refused"),
                    &format!("{}\n{}\n", problem.what, problem.hint.unwrap_or_default()),
                );
            }
        }
    }
}

#[test]
fn a_shell_accepts_every_script() {
    for (name, request) in requests() {
        let Ok(layout) = derive(&request) else { continue };
        for text in [script(&layout), takedown_script(&layout)] {
            let said = shell(&["-n"], &text, &[]);
            assert!(said.ok, "{name}: {}", said.err);
        }
    }
}

#[test]
fn nothing_happens_without_the_word() {
    let request = &requests()[0].1;
    let layout = derive(request).expect("it is valid");
    for text in [script(&layout), takedown_script(&layout)] {
        for arguments in [&[][..], &["--yes"], &["--yes-erase-these-disks", "more"]] {
            let said = shell(&[], &text, arguments);
            assert!(!said.ok && said.out.is_empty(), "{}", said.out);
            assert!(
                said.err.contains("--yes-erase-these-disks") && said.err.contains("Nothing was changed.")
            );
        }
    }
}
