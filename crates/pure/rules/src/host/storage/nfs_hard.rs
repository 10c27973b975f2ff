//! `hard` and `soft` of NFS.

use pgdyno_core::host::Knob;

use super::scope::{judge_each, mounts_with};
use crate::host::compose::Compose;
use crate::host::{Facts, Rule};
use crate::{Finding, Page, Standing, Today};

/// `hard`.
pub static RULE: Rule = Rule {
    page: Page {
        name: "hard",
        also: &["nfs hard", "soft", "softerr", "nfs"],
        what: "A request to an NFS server that does not answer is repeated for ever (hard) or fails after a while \
               (soft).",
        today: Today::Dangerous,
        why: "hard, the default, is the one firm requirement of PostgreSQL for NFS. With soft, an interruption of \
              the network makes reads and writes fail, and a failed fsync makes the server stop with PANIC (since \
              9.5.16, 9.6.12, 10.7 and 11.2).",
        danger: "With soft, data may be damaged at an interruption of the network.",
        source: "nfs(5), soft and hard; PostgreSQL manual, Creating a Database Cluster, NFS.",
        ..Page::EMPTY
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    judge_each(mounts_with(facts.host, &["nfs", "nfs4"]), |mount| {
        let soft = ["soft", "softerr"].into_iter().find(|&name| mount.option(name).is_some());
        match soft {
            Some(present) => Some(
                RULE.finding(
                    Standing::Dangerous,
                    "An interruption of the network makes writes of the server fail.",
                )
                .seen(present)
                .better("hard")
                .by(Knob::MountOption(mount.point.clone()), "hard"),
            ),
            None => mount.option("hard").map(|_| {
                RULE.finding(Standing::Fine, "Requests wait until the network is back.").seen("hard")
            }),
        }
    })
}

#[cfg(test)]
mod tests {
    use pgdyno_core::host::PgPurpose;

    use super::*;
    use crate::host::example::{mount, mounted, standings, with_directory};

    #[test]
    fn soft_mounts_of_a_server_are_found() {
        for (filesystem, options, expected) in [
            ("nfs4", "rw,hard,proto=tcp", &[Standing::Fine][..]),
            ("nfs4", "rw,soft,proto=tcp", &[Standing::Dangerous]),
            ("nfs", "rw,softerr", &[Standing::Dangerous]),
            ("nfs", "rw", &[]),
            ("ext4", "rw,soft", &[]),
        ] {
            let host = mounted(mount(filesystem, None, options), Vec::new());
            assert_eq!(standings(&RULE, &host), [], "no server was named: it may hold anything");
            let host = with_directory(host, PgPurpose::Data, "/data");
            assert_eq!(standings(&RULE, &host), expected, "{filesystem} {options}");
        }
    }
}
