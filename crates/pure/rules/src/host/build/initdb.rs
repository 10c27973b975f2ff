//! Options of `initdb`.

use crate::host::Rule;
use crate::host::compose::explained;
use crate::{Page, Today};

/// `initdb -E`.
pub static ENCODING: Rule = explained(Page {
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
});

/// `initdb --locale`.
pub static LOCALE: Rule = explained(Page {
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
});

/// `initdb --lc-collate`.
pub static COLLATE: Rule = explained(Page {
    name: "--lc-collate",
    also: &["initdb --lc-collate"],
    what: "The order of texts only; the other parts of the locale are set apart.",
    today: Today::Kept,
    why: "--lc-collate=C gives the fast, stable order of bytes. It is fixed for a database when it is created.",
    source: "PostgreSQL manual, initdb and Locale Support.",
    ..Page::EMPTY
});

/// `initdb --lc-ctype`.
pub static CTYPE: Rule = explained(Page {
    name: "--lc-ctype",
    also: &["initdb --lc-ctype"],
    what: "What counts as a letter and what its upper case is; fixed for a database when it is created.",
    today: Today::Depends,
    why: "With C only ASCII letters are known to upper(), ILIKE and regular expressions. en_US.utf8 beside an \
          order of C keeps comparisons fast. With the encoding SQL_ASCII, any locale is accepted and letters \
          beyond ASCII are not recognised.",
    source: "PostgreSQL manual, initdb and Locale Support.",
    ..Page::EMPTY
});

/// `initdb --wal-segsize`.
pub static SEGMENT: Rule = explained(Page {
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
});

/// `initdb -X`.
pub static WAL_DIRECTORY: Rule = explained(Page {
    name: "initdb -X",
    also: &["initdb --waldir", "--waldir", "--xlogdir"],
    what: "The directory of WAL, to which a symbolic link in the data directory points; --xlogdir before 10.",
    today: Today::Depends,
    why: "It puts WAL on another file system: see wal device for when that pays. Backups and pg_rewind must know \
          it (pg_basebackup --waldir).",
    source: "PostgreSQL manual, initdb and WAL Internals.",
    ..Page::EMPTY
});

/// `initdb -U`.
pub static USER: Rule = explained(Page {
    name: "initdb -U",
    also: &["initdb --username", "--username"],
    what: "The name of the first superuser; by default that of the user who runs initdb.",
    today: Today::Depends,
    why: "It has no effect on speed. postgres is what tools expect.",
    source: "PostgreSQL manual, initdb.",
    ..Page::EMPTY
});
