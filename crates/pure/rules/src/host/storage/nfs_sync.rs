//! `sync` of NFS.

use super::scope::{judge_each, mounts_with};
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `sync` of NFS.
pub static RULE: Rule = Rule {
    page: Page {
        name: "nfs sync",
        also: &["nfs async"],
        what: "Of the mount: every write waits for the NFS server. Of the export on that server: it confirms only \
               what is safe.",
        today: Today::Depends,
        why: "The mount needs no sync: PostgreSQL calls fsync where it must, and async is sufficient and faster. \
              The export does need it: with async there, the NFS server confirms an fsync before the data is safe. \
              Only the NFS server shows its exports.",
        danger: "An export with async loses confirmed commits when the NFS server crashes.",
        source: "PostgreSQL manual, Creating a Database Cluster, NFS; exports(5).",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    judge_each(mounts_with(facts.host, &["nfs", "nfs4"]), |mount| {
        Some(match mount.option("sync") {
            Some(_) => RULE
                .finding(Standing::Improve, "Every write waits for the NFS server, where the server syncs by itself.")
                .seen("sync")
                .better("async"),
            None => RULE.finding(
                Standing::Unknown,
                "Whether the export is sync, which PostgreSQL needs, is known to the NFS server only (exportfs -v).",
            ),
        })
    })
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::PgPurpose;

    use super::*;
    use crate::host::example::{mount, mounted, standings, with_directory};

    #[test]
    fn the_export_is_unknown() {
        for (filesystem, options, expected) in [
            ("nfs4", "rw,hard", &[Standing::Unknown][..]),
            ("nfs4", "rw,sync,hard", &[Standing::Improve]),
            ("ext4", "rw,sync", &[]),
        ] {
            let host = with_directory(
                mounted(mount(filesystem, None, options), Vec::new()),
                PgPurpose::Wal,
                "/data",
            );
            assert_eq!(standings(&RULE, &host), expected, "{filesystem} {options}");
        }
    }
}
