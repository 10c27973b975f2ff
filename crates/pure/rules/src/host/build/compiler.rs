//! Flags of the compiler.

use crate::host::Rule;
use crate::host::compose::explained;
use crate::{Page, Today};

/// `-O2`.
pub static O2: Rule = explained(Page {
    name: "-O2",
    also: &["CFLAGS -O2", "CFLAGS=-O2"],
    what: "The level of optimisation that configure chooses by itself.",
    today: Today::DefaultIsRight,
    why: "CFLAGS that are given to configure replace the default: a build with CFLAGS=-g alone is not optimised at \
          all, and its figures are worth nothing. Add flags by COPT or name -O2 as well.",
    source: "PostgreSQL manual, Installation from Source Code, configure Environment Variables and Developer \
             Options.",
    ..Page::EMPTY
});

/// `-O3`.
pub static O3: Rule = explained(Page {
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
});

/// `-march=native`.
pub static NATIVE: Rule = explained(Page {
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
});

/// `-flto`.
pub static LTO: Rule = explained(Page {
    name: "-flto",
    also: &["CFLAGS -flto", "-Db_lto"],
    what: "The compiler optimises all files of a program together when it links them.",
    today: Today::Depends,
    why: "It inlines functions of other files, such as those of memory contexts. Extensions are loaded later and \
          gain nothing; linking takes longer, and profiles show fewer functions. Some distributions build so by \
          default. Gains were not measured here.",
    source: "GCC manual, Options That Control Optimization.",
    ..Page::EMPTY
});

/// `-fstrict-enums`.
pub static STRICT_ENUMS: Rule = explained(Page {
    name: "-fstrict-enums",
    also: &["CFLAGS -fstrict-enums"],
    what: "The compiler assumes that an enumeration has only values between its members.",
    today: Today::NoEffect,
    why: "It is a flag of C++; PostgreSQL is written in C, but for a part of its JIT compiler. A difference that \
          was seen with it came from the compiler that was changed at the same time, or from chance.",
    source: "GCC manual, Options Controlling C++ Dialect; Clang command line reference.",
    ..Page::EMPTY
});
