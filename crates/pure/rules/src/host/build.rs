//! Options of `configure` and flags of the compiler. Meson, which builds PostgreSQL since 16, has others of the same
//! meaning.

use super::rule::Rule;
use crate::{Page, Today};

const INSTALLATION: &str = "PostgreSQL manual, Installation from Source Code, configure Options.";

/// A language for functions: of no effect where it is not used.
const fn language(name: &'static str, also: &'static [&'static str], what: &'static str) -> Rule {
    Rule::of(Page {
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

/// Rules of this family, in the order in which they are printed.
pub const RULES: &[Rule] = &[
    Rule::of(Page {
        name: "--with-blocksize",
        also: &["-Dblocksize", "--with-blocksize=32", "block_size"],
        what: "The block of tables and indexes in kB: 1, 2, 4, 8 (default), 16 or 32.",
        today: Today::Depends,
        why: "32 lets a table grow to 128 TiB instead of 32, and a scan read fewer, larger blocks; a short \
             transaction reads, locks, writes and logs (full_page_writes) four times as much. Since 17 reads are \
             combined up to io_combine_limit whatever the block. Clusters of different blocks do not understand each \
             other's files: no pg_upgrade, no physical replication between them, and hardly anybody tests other \
             blocks than 8.",
        danger: "A build that no package provides must be built again for each minor release.",
        source: INSTALLATION,
        ..Page::EMPTY
    }),
    Rule::of(Page {
        name: "--with-wal-segsize",
        what: "The size of a file of WAL in MB, fixed in the programs.",
        today: Today::Obsolete,
        why: "Since 11 initdb --wal-segsize sets it per cluster, and configure no longer knows the option. Before, it \
             was 1 to 64, and up to 1024 in 10.",
        source: "Release notes of PostgreSQL 10 and 11.",
        until_major: Some(11),
        ..Page::EMPTY
    }),
    Rule::of(Page {
        name: "--with-pgport",
        also: &["-Dpgport"],
        what: "The port that servers and clients of this build use by default; 5432 if not given.",
        today: Today::DefaultIsRight,
        why: "It has no effect on speed, and clients of other builds do not know it. Set port in postgresql.conf \
             instead.",
        source: INSTALLATION,
        ..Page::EMPTY
    }),
    language("--with-perl", &["-Dplperl"], "Builds PL/Perl, functions in Perl."),
    language(
        "--with-python",
        &["-Dplpython"],
        "Builds PL/Python, functions in Python (Python 2 only up to 14).",
    ),
    language("--with-tcl", &["-Dpltcl"], "Builds PL/Tcl, functions in Tcl."),
    Rule::of(Page {
        name: "--with-openssl",
        also: &["--with-ssl=openssl", "--with-ssl", "-Dssl"],
        what: "Builds encrypted connections (TLS); since 14 also spelt --with-ssl=openssl.",
        today: Today::Kept,
        why: "It costs nothing where connections are not encrypted. Where they are, results do not compare with plain \
             ones: say which they are. Packages have it.",
        source: INSTALLATION,
        ..Page::EMPTY
    }),
    Rule::of(Page {
        name: "--with-pam",
        also: &["-Dpam"],
        what: "Builds authentication by PAM.",
        today: Today::Depends,
        why: "It is used only by lines of pg_hba.conf that say pam, at the start of a connection.",
        source: INSTALLATION,
        ..Page::EMPTY
    }),
    Rule::of(Page {
        name: "--with-ldap",
        also: &["-Dldap"],
        what: "Builds authentication by LDAP, and looking up connection parameters there.",
        today: Today::Depends,
        why: "It is used only by lines of pg_hba.conf that say ldap, at the start of a connection.",
        source: INSTALLATION,
        ..Page::EMPTY
    }),
    Rule::of(Page {
        name: "--with-libxml",
        also: &["-Dlibxml"],
        what: "Builds the functions of the type xml.",
        today: Today::Depends,
        why: "It has no effect on statements without xml.",
        source: INSTALLATION,
        ..Page::EMPTY
    }),
    Rule::of(Page {
        name: "--with-libxslt",
        also: &["-Dlibxslt"],
        what: "Builds the stylesheet functions of the extension xml2.",
        today: Today::Depends,
        why: "It has no effect on statements that do not call them, and needs --with-libxml.",
        source: INSTALLATION,
        ..Page::EMPTY
    }),
    Rule::of(Page {
        name: "--enable-thread-safety",
        also: &["--disable-thread-safety"],
        what: "Makes libpq and ECPG safe for programs with threads.",
        today: Today::Obsolete,
        why: "It is the default since 9.0, and since 17 there is no other way: configure no longer knows the option.",
        source: "Release notes of PostgreSQL 9.0 and 17.",
        until_major: Some(17),
        ..Page::EMPTY
    }),
    Rule::of(Page {
        name: "-O2",
        also: &["CFLAGS -O2", "CFLAGS=-O2"],
        what: "The level of optimisation that configure chooses by itself.",
        today: Today::DefaultIsRight,
        why: "CFLAGS that are given to configure replace the default: a build with CFLAGS=-g alone is not optimised \
             at all, and its figures are worth nothing. Add flags by COPT or name -O2 as well.",
        source: "PostgreSQL manual, Installation from Source Code, configure Environment Variables and Developer \
                Options.",
        ..Page::EMPTY
    }),
    Rule::of(Page {
        name: "-O3",
        also: &["CFLAGS -O3", "CFLAGS=-O3"],
        what: "A higher level of optimisation: more inlining, more loops unrolled and vectorised.",
        today: Today::Depends,
        why: "PostgreSQL spends its time in many short functions, locks and system calls, where it changes little; \
             files with hot loops, such as those of checksums, are compiled with vectorisation anyway. Published \
             gains of a few percent came from single runs that changed other things as well. Measure both builds \
             alternately.",
        source: "PostgreSQL source, src/backend/storage/page/Makefile; GCC manual, Options That Control Optimization.",
        ..Page::EMPTY
    }),
    Rule::of(Page {
        name: "-march=native",
        also: &["CFLAGS -march=native"],
        what: "The compiler uses all instructions of the processor it runs on.",
        today: Today::Depends,
        why: "The instructions that matter most are used without it: PostgreSQL chooses CRC-32C since 9.5 and bit \
             counts since 12 when it starts. Results of floating point may differ in the last digit where \
             multiplication and addition are fused. Gains were not measured here.",
        danger: "The programs stop with an illegal instruction on an older processor, such as that of a standby.",
        source: "GCC manual, x86 Options; PostgreSQL source, src/port.",
        ..Page::EMPTY
    }),
    Rule::of(Page {
        name: "-flto",
        also: &["CFLAGS -flto", "-Db_lto"],
        what: "The compiler optimises all files of a program together when it links them.",
        today: Today::Depends,
        why: "It inlines functions of other files, such as those of memory contexts. Extensions are loaded later and \
             gain nothing; linking takes longer, and profiles show fewer functions. Some distributions build so by \
             default. Gains were not measured here.",
        source: "GCC manual, Options That Control Optimization.",
        ..Page::EMPTY
    }),
    Rule::of(Page {
        name: "-fstrict-enums",
        also: &["CFLAGS -fstrict-enums"],
        what: "The compiler assumes that an enumeration has only values between its members.",
        today: Today::NoEffect,
        why: "It is a flag of C++; PostgreSQL is written in C, but for a part of its JIT compiler. A difference that \
             was seen with it came from the compiler that was changed at the same time, or from chance.",
        source: "GCC manual, Options Controlling C++ Dialect; Clang command line reference.",
        ..Page::EMPTY
    }),
];
