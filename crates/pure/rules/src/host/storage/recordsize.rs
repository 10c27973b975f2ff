//! `recordsize`.

use pgdyno_core::units::bytes;

use super::scope::server_block_bytes;
use super::zfs::{holds_only_wal, judge_datasets};
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Purpose, Standing, Today};

/// Above this, changing one block of 8 KiB writes more than eight times as much.
const LARGE: u64 = 64 << 10;

/// `recordsize`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "recordsize",
        also: &["recordsize=8K"],
        what: "The largest unit in which ZFS stores, checksums and compresses a file; 128 KiB by default.",
        today: Today::Depends,
        why: "A block that changes makes ZFS write the whole record, and read it first if it is not cached. A \
              record below the server's block splits it, which makes full_page_writes necessary. The server's \
              block (8 KiB) writes least, and compresses and scans worst; the documentation of OpenZFS names 32 \
              KiB, 64 KiB and the default as good with lz4. Large records suit scans, loads and WAL. It holds for \
              files written after it was set.",
        source: "zfsprops(7); OpenZFS documentation, Workload Tuning, PostgreSQL; OpenZFS issue 17258 on write \
                 amplification.",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let block = server_block_bytes(facts.host);
    judge_datasets(facts.host, |mount, zfs| {
        let record = zfs.record_bytes.filter(|&bytes| bytes > 0)?;
        let finding = if record < block || !record.is_multiple_of(block) {
            RULE.finding(
                Standing::Improve,
                format!("A block of the server ({}) is split between records.", bytes(block)),
            )
            .better(bytes(block))
        } else if holds_only_wal(facts.host, mount) {
            RULE.finding(Standing::Fine, "WAL is written in sequence, which suits records of any size.")
        } else if facts.purpose == Purpose::Oltp && record > LARGE.max(block) {
            RULE.finding(
                Standing::Improve,
                format!("A block that changes makes ZFS write up to {} times as much.", record / block),
            )
            .better(bytes(block.max(32 << 10)))
        } else {
            RULE.finding(Standing::Fine, format!("It holds {} blocks of the server, whole.", record / block))
        };
        Some(finding.seen(bytes(record)))
    })
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::{PgPurpose, ZfsDataset};

    use super::super::zfs::example::host;
    use super::*;
    use crate::host::example::{judged_for, with_directory};

    fn standing(purpose: Purpose, record_bytes: Option<u64>) -> Option<Standing> {
        let host = host(ZfsDataset { record_bytes, ..ZfsDataset::default() });
        judged_for(&RULE, &host, purpose).first().map(|finding| finding.standing)
    }

    #[test]
    fn records_are_compared_with_blocks_and_the_purpose() {
        for (purpose, record, expected) in [
            (Purpose::Oltp, Some(8 << 10), Some(Standing::Fine)),
            (Purpose::Oltp, Some(32 << 10), Some(Standing::Fine)),
            (Purpose::Oltp, Some(128 << 10), Some(Standing::Improve)),
            (Purpose::Olap, Some(128 << 10), Some(Standing::Fine)),
            (Purpose::Olap, Some(4 << 10), Some(Standing::Improve)),
            (Purpose::Oltp, Some(0), None),
            (Purpose::Oltp, None, None),
        ] {
            assert_eq!(standing(purpose, record), expected, "{purpose:?} {record:?}");
        }
    }

    #[test]
    fn wal_may_have_large_records() {
        let host = host(ZfsDataset { record_bytes: Some(128 << 10), ..ZfsDataset::default() });
        let host = with_directory(host, PgPurpose::Wal, "/data");
        assert_eq!(judged_for(&RULE, &host, Purpose::Oltp)[0].standing, Standing::Fine);
    }
}
