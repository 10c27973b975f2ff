//! Scripts as they are printed, but for the functions that all of them begin with.

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

/// What every script begins with, whatever the layout is.
const FUNCTIONS: &str = include_str!("../../src/script/functions.sh");

fn golden(name: &str, text: &str) {
    testkit::golden(env!("CARGO_MANIFEST_DIR"), name, text);
}

/// A script with a line in place of its functions.
fn without_functions(script: &str) -> String {
    let (before, after) = script.split_once(FUNCTIONS.trim_end()).expect("it has all functions");
    format!("{before}# [functions.sh]{after}")
}

#[test]
fn scripts_are_those_of_the_golden_files() {
    for (name, request) in requests() {
        match derive(&request) {
            Ok(layout) => {
                golden(&format!("{name}.sh"), &without_functions(&script(&layout)));
                let takedown = takedown_script(&layout);
                golden(&format!("{name}.takedown.sh"), &without_functions(&takedown));
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
