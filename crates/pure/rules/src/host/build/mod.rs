//! How a server was built and its cluster made.

mod checksums;
mod compiler;
mod configure;
mod initdb;

use super::Rule;

/// Rules of options of `initdb`, `configure` and the compiler, in the order in which they are printed.
pub const RULES: &[&Rule] = &[
    &checksums::RULE,
    &initdb::ENCODING,
    &initdb::LOCALE,
    &initdb::COLLATE,
    &initdb::CTYPE,
    &initdb::SEGMENT,
    &initdb::WAL_DIRECTORY,
    &initdb::USER,
    &configure::BLOCK,
    &configure::SEGMENT,
    &configure::PORT,
    &configure::PERL,
    &configure::PYTHON,
    &configure::TCL,
    &configure::OPENSSL,
    &configure::PAM,
    &configure::LDAP,
    &configure::LIBXML,
    &configure::LIBXSLT,
    &configure::THREADS,
    &compiler::O2,
    &compiler::O3,
    &compiler::NATIVE,
    &compiler::LTO,
    &compiler::STRICT_ENUMS,
];
