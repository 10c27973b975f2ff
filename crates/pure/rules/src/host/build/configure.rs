//! Options of `configure`; Meson, which builds PostgreSQL since 16, has others of the same meaning.

use crate::host::Rule;
use crate::host::compose::explained;
use crate::{Page, Today};

const INSTALLATION: &str = "PostgreSQL manual, Installation from Source Code, configure Options.";

/// `--with-blocksize`.
pub static BLOCK: Rule = explained(Page {
    name: "--with-blocksize",
    also: &["-Dblocksize", "--with-blocksize=32", "block_size"],
    what: "The block of tables and indexes in kB: 1, 2, 4, 8 (default), 16 or 32.",
    today: Today::Depends,
    why: "32 lets a table grow to 128 TiB instead of 32, and a scan read fewer, larger blocks; a short transaction \
          reads, locks, writes and logs (full_page_writes) four times as much. Since 17 reads are combined up to \
          io_combine_limit whatever the block. Clusters of different blocks do not understand each other's files: \
          no pg_upgrade, no physical replication between them, and hardly anybody tests other blocks than 8.",
    danger: "A build that no package provides must be built again for each minor release.",
    source: INSTALLATION,
    ..Page::EMPTY
});

/// `--with-wal-segsize`.
pub static SEGMENT: Rule = explained(Page {
    name: "--with-wal-segsize",
    also: &[],
    what: "The size of a file of WAL in MB, fixed in the programs.",
    today: Today::Obsolete,
    why: "Since 11 initdb --wal-segsize sets it per cluster, and configure no longer knows the option. Before, it \
          was 1 to 64, and up to 1024 in 10.",
    source: "Release notes of PostgreSQL 10 and 11.",
    until_major: Some(11),
    ..Page::EMPTY
});

/// `--with-pgport`.
pub static PORT: Rule = explained(Page {
    name: "--with-pgport",
    also: &["-Dpgport"],
    what: "The port that servers and clients of this build use unless told otherwise; 5432 by default.",
    today: Today::DefaultIsRight,
    why: "It has no effect on speed, and clients of other builds do not know it. Set port in postgresql.conf \
          instead.",
    source: INSTALLATION,
    ..Page::EMPTY
});

/// A language for functions: of no effect where it is not used.
const fn language(name: &'static str, also: &'static [&'static str], what: &'static str) -> Rule {
    explained(Page {
        name,
        also,
        what,
        today: Today::Depends,
        why: "It builds a module that is loaded when a function of the language is first called: without such \
              functions it has no effect on speed.",
        source: INSTALLATION,
        ..Page::EMPTY
    })
}

/// `--with-perl`.
pub static PERL: Rule = language("--with-perl", &["-Dplperl"], "Builds PL/Perl, functions in Perl.");

/// `--with-python`.
pub static PYTHON: Rule = language(
    "--with-python",
    &["-Dplpython"],
    "Builds PL/Python, functions in Python (Python 2 only up to 14).",
);

/// `--with-tcl`.
pub static TCL: Rule = language("--with-tcl", &["-Dpltcl"], "Builds PL/Tcl, functions in Tcl.");

/// `--with-openssl`.
pub static OPENSSL: Rule = explained(Page {
    name: "--with-openssl",
    also: &["--with-ssl=openssl", "--with-ssl", "-Dssl"],
    what: "Builds encrypted connections (TLS); since 14 also spelt --with-ssl=openssl.",
    today: Today::Kept,
    why: "It costs nothing where connections are not encrypted. Where they are, results do not compare with plain \
          ones: say which they are. Packages have it.",
    source: INSTALLATION,
    ..Page::EMPTY
});

/// `--with-pam`.
pub static PAM: Rule = explained(Page {
    name: "--with-pam",
    also: &["-Dpam"],
    what: "Builds authentication by PAM.",
    today: Today::Depends,
    why: "It is used only by lines of pg_hba.conf that say pam, at the start of a connection.",
    source: INSTALLATION,
    ..Page::EMPTY
});

/// `--with-ldap`.
pub static LDAP: Rule = explained(Page {
    name: "--with-ldap",
    also: &["-Dldap"],
    what: "Builds authentication by LDAP, and looking up connection parameters there.",
    today: Today::Depends,
    why: "It is used only by lines of pg_hba.conf that say ldap, at the start of a connection.",
    source: INSTALLATION,
    ..Page::EMPTY
});

/// `--with-libxml`.
pub static LIBXML: Rule = explained(Page {
    name: "--with-libxml",
    also: &["-Dlibxml"],
    what: "Builds the functions of the type xml.",
    today: Today::Depends,
    why: "It has no effect on statements without xml.",
    source: INSTALLATION,
    ..Page::EMPTY
});

/// `--with-libxslt`.
pub static LIBXSLT: Rule = explained(Page {
    name: "--with-libxslt",
    also: &["-Dlibxslt"],
    what: "Builds the stylesheet functions of the extension xml2.",
    today: Today::Depends,
    why: "It has no effect on statements that do not call them, and needs --with-libxml.",
    source: INSTALLATION,
    ..Page::EMPTY
});

/// `--enable-thread-safety`.
pub static THREADS: Rule = explained(Page {
    name: "--enable-thread-safety",
    also: &["--disable-thread-safety"],
    what: "Makes libpq and ECPG safe for programs with threads.",
    today: Today::Obsolete,
    why: "It is the default since 9.0, and since 17 there is no other way: configure no longer knows the option.",
    source: "Release notes of PostgreSQL 9.0 and 17.",
    until_major: Some(17),
    ..Page::EMPTY
});
