//! Options of `initdb`.

use super::rule::{Given, Rule};
use crate::{Finding, Page, Today};

/// Rules of this family, in the order in which they are printed.
pub const RULES: &[Rule] = &[
    Rule::of(Page {
        name: "--data-checksums",
        also: &["initdb --data-checksums", "initdb -k", "data_checksums", "--no-data-checksums"],
        what: "Each block has a checksum, which is verified when the block is read.",
        today: Today::Kept,
        why: "They find what disks, controllers and torn writes damaged, before it spreads into backups; they repair \
             nothing. initdb sets them by default since 18. They cost CPU time per block read or written, and WAL for \
             the first change of a hint bit of a page after each checkpoint. pg_checksums switches them on or off \
             while the server is stopped, since 12. Compare servers only if they agree in this. File systems with \
             checksums of their own (ZFS, btrfs) find the same below.",
        source: "PostgreSQL manual, initdb and Data Checksums; release notes of 18.",
        ..Page::EMPTY
    })
    .judges(judge_checksums),
    Rule::of(Page {
        name: "initdb -E",
        also: &["initdb --encoding", "--encoding", "SQL_ASCII"],
        what: "The encoding of new databases, unless CREATE DATABASE names another.",
        today: Today::Kept,
        why: "UTF8 is right for nearly all. SQL_ASCII, which was published for speed, means no encoding at all: bytes \
             above 127 are stored as they come, whatever clients believe, and cannot be converted later. Its gain \
             over UTF8 with locale C was not measured.",
        danger: "With SQL_ASCII, texts of several encodings mix unnoticed.",
        source: "PostgreSQL manual, Character Set Support.",
        ..Page::EMPTY
    }),
    Rule::of(Page {
        name: "--locale",
        also: &["initdb --locale"],
        what: "The locale of a cluster: order of texts, character classes, messages, formats.",
        today: Today::Depends,
        why: "C compares bytes, which is fastest, lets LIKE 'abc%' use an ordinary index, and never changes. A locale \
             of the C library may order otherwise after an upgrade of the system, which damages indexes on texts \
             until they are rebuilt. Since 17 there is --locale-provider=builtin with C.UTF-8, which is as fast and \
             as stable and knows upper and lower case of all letters. Queries that need the order of a language can \
             name a collation.",
        danger: "Indexes on texts that silently miss rows after an upgrade of the C library.",
        source: "PostgreSQL manual, Locale Support and initdb.",
        ..Page::EMPTY
    }),
    Rule::of(Page {
        name: "--lc-collate",
        also: &["initdb --lc-collate"],
        what: "The order of texts only; the other parts of the locale are set apart.",
        today: Today::Kept,
        why: "--lc-collate=C gives the fast, stable order of bytes. It is fixed for a database when it is created.",
        source: "PostgreSQL manual, initdb and Locale Support.",
        ..Page::EMPTY
    }),
    Rule::of(Page {
        name: "--lc-ctype",
        also: &["initdb --lc-ctype"],
        what: "What counts as a letter and what its upper case is; fixed for a database when it is created.",
        today: Today::Depends,
        why: "With C only ASCII letters are known to upper(), ILIKE and regular expressions. en_US.utf8 with an \
             order of C keeps comparisons fast. With the encoding SQL_ASCII, any locale is accepted and letters \
             beyond ASCII are not recognised.",
        source: "PostgreSQL manual, initdb and Locale Support.",
        ..Page::EMPTY
    }),
    Rule::of(Page {
        name: "--wal-segsize",
        also: &["initdb --wal-segsize", "wal_segment_size"],
        what: "The size of a file of WAL in MB: a power of two from 1 to 1024, 16 by default.",
        today: Today::Depends,
        why: "A server that writes hundreds of MB of WAL per second changes files ten times a second with 16; 64 to \
             256 lessen that and the number of files to archive. With 1024 an archive gets 1 GiB at a time, \
             archive_timeout writes as much, and min_wal_size must be at least two segments. max_wal_size should hold \
             many segments. The gain was not measured here. pg_resetwal --wal-segsize changes it, while the server is \
             stopped.",
        source: "PostgreSQL manual, initdb and WAL Configuration.",
        since_major: Some(11),
        ..Page::EMPTY
    }),
    Rule::of(Page {
        name: "initdb -X",
        also: &["initdb --waldir", "--waldir", "--xlogdir"],
        what: "The directory of WAL, to which a symbolic link in the data directory points; --xlogdir before 10.",
        today: Today::Depends,
        why: "It puts WAL on another file system: see wal device for when that pays. Backups and pg_rewind must know \
             it (pg_basebackup --waldir).",
        source: "PostgreSQL manual, initdb and WAL Internals.",
        ..Page::EMPTY
    }),
    Rule::of(Page {
        name: "initdb -U",
        also: &["initdb --username", "--username"],
        what: "The name of the first superuser; by default that of the user who runs initdb.",
        today: Today::Depends,
        why: "It has no effect on speed. postgres is what tools expect.",
        source: "PostgreSQL manual, initdb.",
        ..Page::EMPTY
    }),
];

fn judge_checksums(given: &Given<'_>) -> Option<Finding> {
    let setting = given.host.server.as_ref()?.settings.get("data_checksums")?;
    let finding = match setting.as_str() {
        "on" => given.fine("Damaged blocks are found when they are read."),
        "off" => given
            .improve("Damaged blocks are returned to queries and copied into backups unnoticed.")
            .recommend("on, by pg_checksums --enable while the server is stopped"),
        _ => return None,
    };
    Some(finding.present(setting))
}

#[cfg(test)]
mod tests {
    use crate::{
        Standing,
        host::testing::{booted, check_hosts, with_setting},
    };

    #[test]
    fn hosts_are_judged() {
        use Standing::{Fine, Improve};
        let with_checksums = |value: &str| with_setting(booted(&[]), "data_checksums", value);
        check_hosts(&[
            ("--data-checksums", with_checksums("on"), &[Fine]),
            ("--data-checksums", with_checksums("off"), &[Improve]),
            ("--data-checksums", with_checksums("inprogress"), &[]),
            ("--data-checksums", booted(&[]), &[]),
        ]);
    }
}
