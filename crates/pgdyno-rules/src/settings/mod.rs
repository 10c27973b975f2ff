//! Rules of `postgresql.conf`.
