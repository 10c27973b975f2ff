//! `logbsize`.

use pgdyno_core::units::bytes;

use super::scope::{judge_each, mounts_with};
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `logbsize`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "logbsize",
        also: &["logbufs", "logbsize=262144", "logbsize=256k"],
        what: "The size of each buffer in memory for the log of XFS: 32 KiB to 256 KiB; there are 8 (logbufs).",
        today: Today::Depends,
        why: "Larger buffers merge more changes of metadata into one write of the log, which helps hosts that \
              create and remove very many files. A server flushes the log at each fsync of a file that grew, when \
              buffers are seldom full. The default is 32 KiB, or the stripe unit of the log. What 256 KiB brings a \
              server was not measured here; it costs 2 MiB of memory.",
        source: "Linux Documentation/admin-guide/xfs.rst (logbsize).",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    judge_each(mounts_with(facts.host, &["xfs"]), |mount| {
        let present = size(mount.option("logbsize")?)?;
        let reason = match present > 32 << 10 {
            true => "Larger buffers cost little memory, and help where very many files are created.",
            false => "It is the default, which serves a server that changes little metadata.",
        };
        Some(RULE.finding(Standing::Fine, reason).seen(bytes(present)))
    })
}

/// A size of XFS, such as `32k`, in bytes.
pub(super) fn size(text: &str) -> Option<u64> {
    let (digits, unit) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1 << 10),
        None => match text.strip_suffix(['m', 'M']) {
            Some(digits) => (digits, 1 << 20),
            None => (text, 1),
        },
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::example::{judged, mount, mounted};

    #[test]
    fn sizes_are_read() {
        for (text, expected) in [
            ("32k", Some(32768)),
            ("262144", Some(262_144)),
            ("16M", Some(16 << 20)),
            ("k", None),
            ("", None),
        ] {
            assert_eq!(size(text), expected, "{text}");
        }
        assert_eq!(size("18446744073709551615k"), None);
    }

    #[test]
    fn buffers_are_told() {
        for (options, present) in
            [("logbsize=32k", Some("32 KiB")), ("logbsize=262144", Some("256 KiB")), ("rw", None)]
        {
            let findings = judged(&RULE, &mounted(mount("xfs", Some("sda"), options), Vec::new()));
            assert_eq!(findings.first().and_then(|finding| finding.present.as_deref()), present, "{options}");
            assert!(findings.iter().all(|finding| finding.standing == Standing::Fine));
        }
    }
}
