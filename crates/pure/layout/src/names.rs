//! Names that go into scripts: which are taken.
//!
//! Scripts quote every name as well. The character sets are narrow all the same: no tool behind a shell has to
//! cope with a blank, an option or a line break in a name.

use pgdyno_core::problem::Problem;

const LONGEST_PATH: usize = 255;
const LONGEST_SERIAL: usize = 128;
const LONGEST_NAME: usize = 32;

/// Checks the path of a device: below `/dev/`, of letters, digits and `. _ : + @ -`, no component beginning with `.` or
/// `-`.
pub fn device_path(path: &str) -> Result<(), Problem> {
    let wrong = || {
        Problem::wrong_request(format!("{path:?} is not accepted as the path of a disk")).hint(
            "paths begin with /dev/ and consist of letters, digits, '/', '.', '_', ':', '+', '@' and '-', such as \
             /dev/sdb or /dev/disk/by-id/…",
        )
    };
    let rest = path.strip_prefix("/dev/").filter(|_| path.len() <= LONGEST_PATH).ok_or_else(wrong)?;
    if rest.split('/').all(|part| is_component(part, b"._:+@-")) { Ok(()) } else { Err(wrong()) }
}

/// Checks a mount point: absolute, of letters, digits and `. _ -`, no component beginning with `.` or `-`.
pub fn mount_point(path: &str) -> Result<(), Problem> {
    let rest = path.strip_prefix('/').filter(|_| path.len() <= LONGEST_PATH);
    if rest.is_some_and(|rest| rest.split('/').all(|part| is_component(part, b"._-"))) {
        return Ok(());
    }
    Err(Problem::wrong_request(format!("{path:?} is not accepted as a mount point"))
        .hint("mount points are absolute and consist of letters, digits, '/', '.', '_' and '-'"))
}

/// Checks the name of a volume group, array or pool: lower-case letters, digits and `_`, a letter first; and none that
/// ZFS keeps for itself.
pub fn group(name: &str) -> Result<(), Problem> {
    let bytes = name.as_bytes();
    let fits = bytes.first().is_some_and(u8::is_ascii_lowercase)
        && bytes.len() <= LONGEST_NAME
        && bytes.iter().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'_');
    let kept = ["mirror", "raidz", "draid", "spare", "log"].iter().any(|word| name.starts_with(word));
    if fits && !kept {
        return Ok(());
    }
    Err(Problem::wrong_request(format!("{name:?} is not accepted as a name")).hint(
        "names consist of lower-case letters, digits and '_', begin with a letter, and not with mirror, raidz, draid, \
         spare or log, which ZFS keeps for itself",
    ))
}

/// Checks a serial number: printable ASCII without blanks at its ends, as the script compares it.
pub fn serial(serial: &str) -> Result<(), Problem> {
    let printable = serial.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    if printable && serial.trim() == serial && (1..=LONGEST_SERIAL).contains(&serial.len()) {
        return Ok(());
    }
    Err(Problem::wrong_request(format!("{serial:?} is not accepted as a serial number"))
        .hint("leave it out: the script then compares only the size of that disk"))
}

fn is_component(part: &str, others: &[u8]) -> bool {
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || others.contains(byte);
    !part.is_empty() && !part.starts_with(['.', '-']) && part.as_bytes().iter().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_disks_are_narrow() {
        for path in ["/dev/sdb", "/dev/nvme0n1", "/dev/disk/by-id/scsi-0QEMU_x:1+2", "/dev/cciss/c0d0"] {
            assert_eq!(device_path(path), Ok(()), "{path}");
        }
        let long = format!("/dev/{}", "a".repeat(300));
        let hostile = [
            "",
            "sdb",
            "/dev/",
            "/etc/passwd",
            "/dev/../etc/x",
            "/dev/sd b",
            "/dev/sdb;reboot",
            "/dev/$(x)",
            "/dev/`x`",
            "/dev/a'b",
            "/dev/a\"b",
            "/dev/a\nb",
            "/dev/-rf",
            "/dev//sdb",
            "/dev/sdb/",
            "/dev/é",
            "/dev/*",
            &long,
        ];
        for path in hostile {
            assert!(device_path(path).is_err(), "{path}");
        }
    }

    #[test]
    fn mount_points_names_and_serials_are_narrow() {
        assert_eq!(mount_point("/srv/pg/data01"), Ok(()));
        for path in ["", "srv", "/", "/srv/", "/srv/../x", "/srv/a b", "/srv/$x", "/srv/-x"] {
            assert!(mount_point(path).is_err(), "{path}");
        }
        assert_eq!(group("vgdata01"), Ok(()));
        for name in ["", "1vg", "Vg", "a-b", "a b", "mirror1", "log", "-x", &"a".repeat(33)] {
            assert!(group(name).is_err(), "{name}");
        }
        assert_eq!(serial("S3Z8 NB0K'70"), Ok(()));
        for text in ["", " x", "x ", "a\nb", "a\tb", "é"] {
            assert!(serial(text).is_err(), "{text:?}");
        }
    }
}
